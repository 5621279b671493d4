//! Jobs: coflows that belong together, and how long they take.

use std::collections::HashMap;

use covey_trace::Workload;

use crate::Run;

/// The job of each coflow, or nothing where the workload has none.
///
/// Coflows with the same job in the trace are one job. Of the others, those that wait for each other
/// are one, and a coflow that waits for none and for which none waits is a job of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jobs {
    /// Number of the job, by coflow.
    of_coflow: Vec<usize>,
    count: usize,
}

impl Jobs {
    /// The jobs of `workload`; `None` where no coflow names a job or a parent.
    pub fn of(workload: &Workload) -> Option<Jobs> {
        let coflows = &workload.coflows;
        if coflows.iter().all(|coflow| coflow.job.is_none() && coflow.parents.is_empty()) {
            return None;
        }
        // Each coflow leads to an earlier known one of its job, the first to itself.
        let mut leads_to: Vec<usize> = (0..coflows.len()).collect();
        let mut first_named: HashMap<&str, usize> = HashMap::new();
        for (place, coflow) in coflows.iter().enumerate() {
            if let Some(job) = &coflow.job {
                leads_to[place] = *first_named.entry(job).or_insert(place);
                continue;
            }
            for &parent in &coflow.parents {
                if coflows[parent as usize].job.is_none() {
                    let (a, b) = (root(&leads_to, place), root(&leads_to, parent as usize));
                    leads_to[a.max(b)] = a.min(b);
                }
            }
        }
        let mut number = HashMap::new();
        let mut of_coflow = Vec::with_capacity(coflows.len());
        for place in 0..coflows.len() {
            let next = number.len();
            of_coflow.push(*number.entry(root(&leads_to, place)).or_insert(next));
        }
        Some(Jobs { of_coflow, count: number.len() })
    }

    /// Number of jobs.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Job completion times in seconds, in order of the jobs' first coflows: from the first arrival
    /// of a job's coflows to their last end.
    pub fn jcts_s(&self, run: &Run<'_>) -> Vec<f64> {
        let mut spans = vec![(f64::INFINITY, f64::NEG_INFINITY); self.count];
        let coflows = run.workload().coflows.iter().zip(&run.outcome().coflows);
        for (&job, (coflow, outcome)) in self.of_coflow.iter().zip(coflows) {
            let (first, last) = &mut spans[job];
            *first = first.min(coflow.arrival_s);
            *last = last.max(outcome.completion_s);
        }
        spans.into_iter().map(|(first, last)| last - first).collect()
    }
}

fn root(leads_to: &[usize], mut place: usize) -> usize {
    while leads_to[place] != place {
        place = leads_to[place];
    }
    place
}

/// Job completion times where each coflow is the shuffle of a job that computes as well (Philae, ATC
/// 2019, §9.2): a job that spends the share φ of its time in shuffle takes `cct_ref / φ` under the
/// reference, and computes for the rest of that, whatever the policy. Seconds, one a coflow.
pub fn jcts_by_share_s(reference: &Run<'_>, run: &Run<'_>, shares: &[f64]) -> Vec<f64> {
    let ccts = reference.ccts_s().zip(run.ccts_s());
    ccts.zip(shares).map(|((cct_ref, cct), share)| cct_ref / share - cct_ref + cct).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::{Coflow, Flow};

    fn jobs(coflows: &[(&[u32], Option<&str>)]) -> Option<Jobs> {
        let flow = Flow { src: 0, dst: 0, bytes: 1.0, start_s: 0.0 };
        let coflow = |(id, &(parents, job)): (usize, &(&[u32], Option<&str>))| Coflow {
            parents: parents.to_vec(),
            job: job.map(str::to_owned),
            ..Coflow::new(id.to_string(), 0.0, vec![flow])
        };
        let coflows = coflows.iter().enumerate().map(coflow).collect();
        Jobs::of(&Workload { ports: 1, coflows })
    }

    #[test]
    fn jobs_are_named_or_wait_for_each_other() {
        assert_eq!(jobs(&[(&[], None), (&[], None)]), None);
        let found = jobs(&[
            (&[3], None), // 0: waits for 3
            (&[], Some("q")),
            (&[], None), // alone
            (&[], None),
            (&[], Some("q")),
            (&[3], None),
            (&[1], None), // waits for a named job, but is none of it
        ]);
        let of_coflow = vec![0, 1, 2, 0, 1, 0, 3];
        assert_eq!(found, Some(Jobs { of_coflow, count: 4 }));
    }
}
