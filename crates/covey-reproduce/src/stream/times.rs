//! Completion times of jobs: of several stages, or of the receivers of one coflow.

use std::collections::HashMap;

use covey_trace::Workload;
use covey_trace::stats::{SizeClass, SizeTable};

use crate::plan::{Results, RunId};

/// The coflows of a workload by job. A coflow without a job is a job of its own.
pub struct Jobs {
    /// By coflow, the number of its job; jobs are numbered by their first coflow.
    of_coflow: Vec<usize>,
    count: usize,
}

impl Jobs {
    /// The jobs of `workload`.
    pub fn of(workload: &Workload) -> Self {
        let mut numbers = HashMap::new();
        let number = workload.coflows.iter().map(|coflow| {
            let next = numbers.len();
            *numbers.entry(coflow.job.as_ref().unwrap_or(&coflow.id)).or_insert(next)
        });
        let of_coflow = number.collect();
        Self { of_coflow, count: numbers.len() }
    }

    /// The bytes of each job.
    pub fn bytes(&self, workload: &Workload) -> Vec<f64> {
        let mut bytes = vec![0.0; self.count];
        for (job, coflow) in self.of_coflow.iter().zip(&workload.coflows) {
            bytes[*job] += coflow.size_bytes();
        }
        bytes
    }

    /// The class of each job by its bytes.
    pub fn classes(&self, workload: &Workload, table: SizeTable) -> Vec<SizeClass> {
        self.bytes(workload).into_iter().map(|bytes| SizeClass::of(bytes, table)).collect()
    }

    /// The time of each job in seconds: from the first arrival of its coflows to the last of
    /// `ends_s`.
    fn times_s(&self, workload: &Workload, ends_s: &[f64]) -> Vec<f64> {
        let mut spans = vec![(f64::INFINITY, f64::NEG_INFINITY); self.count];
        for ((job, coflow), end_s) in self.of_coflow.iter().zip(&workload.coflows).zip(ends_s) {
            let (first, last) = &mut spans[*job];
            *first = first.min(coflow.arrival_s);
            *last = last.max(*end_s);
        }
        spans.into_iter().map(|(first, last)| last - first).collect()
    }
}

/// The time of each job of a run, in seconds.
///
/// # Errors
/// Why the run failed.
pub fn times(results: &Results<'_>, run: RunId) -> Result<Vec<f64>, String> {
    let workload = results.plan.workload(results.plan.get(run).trace);
    Ok(Jobs::of(workload).times_s(workload, &results.get(run)?.ends_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::{Coflow, Flow};

    #[test]
    fn a_job_lasts_from_its_first_arrival_to_its_last_end() {
        let coflow = |id: &str, job: Option<&str>, arrival_s, bytes| {
            let flow = Flow { src: 0, dst: 1, bytes, start_s: 0.0 };
            let job = job.map(str::to_owned);
            Coflow { job, ..Coflow::new(id.to_owned(), arrival_s, vec![flow]) }
        };
        let gb = 1e9;
        let coflows = vec![
            coflow("a", Some("j"), 1.0, gb),
            coflow("b", None, 2.0, 1.0),
            coflow("c", Some("j"), 3.0, gb),
        ];
        let workload = Workload::new(2, coflows);
        let jobs = Jobs::of(&workload);
        assert_eq!(jobs.count, 2);
        assert_eq!(jobs.times_s(&workload, &[9.0, 4.0, 8.0]), [8.0, 2.0]);
        let classes = jobs.classes(&workload, SizeTable::ManyToOne);
        assert_eq!(classes, [SizeClass::III, SizeClass::I]);
    }
}
