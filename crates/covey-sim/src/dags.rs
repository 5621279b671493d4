//! The DAG of each coflow, and the bytes that each DAG has sent.

use std::collections::BTreeMap;

use covey_core::CoflowId;
use covey_core::lineage::{Lineage, Lineages};
use covey_trace::Workload;

use crate::calendar::Calendar;
use crate::error::SimError;

/// Lineages of all coflows.
#[derive(Debug, Default)]
pub(crate) struct Dags {
    /// The lineage of each coflow, by index in the trace.
    lineage: Vec<Lineage>,
    /// Bytes sent by the coflows of each DAG that have ended, by DAG.
    sent: Vec<f64>,
    /// The coflows of each DAG that are present, by DAG.
    present: Vec<Vec<CoflowId>>,
    /// Working memory: indices in the trace, parents before children.
    order: Vec<u32>,
    /// Working memory: how many parents of each coflow have no lineage yet, by index in the trace.
    parents_awaited: Vec<u32>,
}

impl Dags {
    /// Gives each coflow its lineage: first the coflows without parents, in order of arrival, then
    /// each other coflow after its parents, whenever it arrives. The coflows of one job that have
    /// no parents are the first of one DAG.
    ///
    /// # Errors
    /// [`SimError::Cycle`].
    pub(crate) fn fill(
        &mut self,
        workload: &Workload,
        calendar: &Calendar,
    ) -> Result<(), SimError> {
        let coflows = &workload.coflows;
        self.parents_awaited.clear();
        self.parents_awaited.extend(coflows.iter().map(|c| c.parents.len() as u32));
        self.lineage.clear();
        self.lineage.resize(coflows.len(), Lineage::default());
        self.order.clear();
        self.order.extend((0..).zip(coflows).filter(|(_, c)| c.parents.is_empty()).map(|(k, _)| k));
        self.order.sort_unstable_by(|&a, &b| {
            let arrival = |trace_index: u32| coflows[trace_index as usize].arrival_s;
            arrival(a).total_cmp(&arrival(b)).then(a.cmp(&b))
        });

        let mut ids = Lineages::default();
        let mut first_of_job: BTreeMap<&str, Lineage> = BTreeMap::new();
        let mut next = 0;
        while let Some(&trace_index) = self.order.get(next) {
            next += 1;
            let coflow = &coflows[trace_index as usize];
            let parents = coflow.parents.iter().map(|&parent| self.lineage[parent as usize]);
            self.lineage[trace_index as usize] = match &coflow.job {
                Some(job) if coflow.parents.is_empty() => {
                    *first_of_job.entry(job).or_insert_with(|| ids.register([]))
                }
                _ => ids.register(parents),
            };
            for &child in calendar.children(trace_index) {
                let awaited = &mut self.parents_awaited[child as usize];
                *awaited -= 1;
                if *awaited == 0 {
                    self.order.push(child);
                }
            }
        }
        self.sent.clear();
        self.sent.resize(ids.dags() as usize, 0.0);
        self.present.iter_mut().for_each(Vec::clear);
        self.present.resize_with(ids.dags() as usize, Vec::new);
        match self.parents_awaited.iter().position(|&awaited| awaited > 0) {
            Some(trace_index) => Err(SimError::Cycle { coflow: coflows[trace_index].id.clone() }),
            None => Ok(()),
        }
    }

    /// The lineage of the coflow at an index in the trace, and the bytes that ended coflows of its
    /// DAG have sent.
    pub(crate) fn of(&self, trace_index: u32) -> (Lineage, f64) {
        let lineage = self.lineage[trace_index as usize];
        (lineage, self.sent[lineage.external as usize])
    }

    /// A coflow is released, or a group of the policy's own making has begun.
    pub(crate) fn begin(&mut self, lineage: Lineage, id: CoflowId) {
        let external = lineage.external as usize;
        if self.sent.len() <= external {
            self.sent.resize(external + 1, 0.0);
            self.present.resize_with(external + 1, Vec::new);
        }
        self.present[external].push(id);
    }

    /// A coflow that has sent `bytes` has ended.
    pub(crate) fn end(&mut self, lineage: Lineage, id: CoflowId, bytes: f64) {
        self.present[lineage.external as usize].retain(|&c| c != id);
        self.sent[lineage.external as usize] += bytes;
    }

    /// The coflows of a DAG that are present, and the bytes that its ended coflows have sent.
    pub(crate) fn get(&self, external: u64) -> Option<(&[CoflowId], f64)> {
        Some((self.present.get(external as usize)?, *self.sent.get(external as usize)?))
    }
}
