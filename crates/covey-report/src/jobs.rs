//! Jobs: groups of coflows, and their completion times.

use std::collections::HashMap;

use covey_trace::Workload;

use crate::Run;

/// The job of each coflow.
///
/// Coflows for which the trace names the same job form one job. Among the others, coflows that are
/// connected by waiting for parents form one job. A coflow without either is a job of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jobs {
    /// The number of each coflow's job.
    of_coflow: Vec<usize>,
    count: usize,
}

impl Jobs {
    /// The jobs of `workload`; `None` if no coflow has a job or a parent.
    pub fn of(workload: &Workload) -> Option<Jobs> {
        let coflows = &workload.coflows;
        if coflows.iter().all(|coflow| coflow.job.is_none() && coflow.parents.is_empty()) {
            return None;
        }
        // A union-find forest: each coflow points to an earlier coflow of its job, the first to
        // itself.
        let mut leader: Vec<usize> = (0..coflows.len()).collect();
        let mut first_named: HashMap<&str, usize> = HashMap::new();
        for (index, coflow) in coflows.iter().enumerate() {
            if let Some(job) = &coflow.job {
                leader[index] = *first_named.entry(job).or_insert(index);
                continue;
            }
            for &parent in &coflow.parents {
                if coflows[parent as usize].job.is_none() {
                    let (a, b) = (root(&leader, index), root(&leader, parent as usize));
                    leader[a.max(b)] = a.min(b);
                }
            }
        }
        let mut number = HashMap::new();
        let mut of_coflow = Vec::with_capacity(coflows.len());
        for index in 0..coflows.len() {
            let next = number.len();
            of_coflow.push(*number.entry(root(&leader, index)).or_insert(next));
        }
        Some(Jobs { of_coflow, count: number.len() })
    }

    /// Number of jobs.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Job completion times in seconds, in the order of the jobs' first coflows. A job lasts from
    /// the first arrival of its coflows to their last end.
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

/// The first coflow of a coflow's job, as far as `leader` connects them.
fn root(leader: &[usize], mut coflow: usize) -> usize {
    while leader[coflow] != coflow {
        coflow = leader[coflow];
    }
    coflow
}

/// Job completion times in seconds, one for each coflow, if each coflow is the shuffle of a job
/// that also computes (Philae, ATC 2019, §9.2). A job that spends the share φ of its time in
/// shuffle takes `cct_ref / φ` under the reference. The rest of that time it computes, under every
/// policy. The lists are completion times in seconds under the reference and under the policy.
pub fn jcts_by_share_s(reference_s: &[f64], ccts_s: &[f64], shares: &[f64]) -> Vec<f64> {
    let ccts_s = reference_s.iter().zip(ccts_s);
    ccts_s.zip(shares).map(|((cct_ref, cct), share)| cct_ref / share - cct_ref + cct).collect()
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
        Jobs::of(&Workload::new(1, coflows))
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
            (&[1], None), // waits for a named job, but is not part of it
        ]);
        let of_coflow = vec![0, 1, 2, 0, 1, 0, 3];
        assert_eq!(found, Some(Jobs { of_coflow, count: 4 }));
    }
}
