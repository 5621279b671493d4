//! The ids of flows, and which flows they are.

use std::collections::BTreeMap;

use covey_proto::{FlowId, FlowKey};

/// Flows of a coflow whose ids and indices go up together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdRun {
    /// The index of the first flow.
    pub index: u32,
    /// Its id.
    pub first: u64,
    /// How many flows they are.
    pub count: u32,
}

impl IdRun {
    /// The id of the flow with this index.
    pub fn id_of(self, index: u32) -> FlowId {
        FlowId(self.first + u64::from(index - self.index))
    }
}

/// The ids of the flows of all coflows that are present. An id is given once.
#[derive(Debug, Default)]
pub(super) struct FlowIds {
    next: u64,
    /// By the first id of each run: the coflow, and the run.
    runs: BTreeMap<u64, (u64, IdRun)>,
}

impl FlowIds {
    /// Gives ids to so many flows; none to no flows.
    pub fn give(&mut self, count: usize) -> Vec<(u64, u32)> {
        let first = self.next;
        self.next += count as u64;
        if count == 0 { Vec::new() } else { vec![(first, count as u32)] }
    }

    /// The id that is given next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Gives no id below this one.
    pub fn skip_to(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    /// The ids of so many flows: those that a record names, each run by its first id and its length. A
    /// record of a version without ids names none: its flows take the next ids, in reading order.
    pub fn of_record(&mut self, named: &[(u64, u32)], count: usize) -> Vec<u64> {
        let run = |&(first, count): &(u64, u32)| first..first + u64::from(count);
        let mut ids: Vec<u64> = named.iter().flat_map(run).collect();
        if ids.len() != count {
            let given = self.give(count);
            ids = given.iter().flat_map(run).collect();
        }
        self.skip_to(ids.iter().max().map_or(0, |last| last + 1));
        ids
    }

    /// These are the ids of flows of a coflow, from this index on.
    pub fn insert(&mut self, coflow: u64, index: u32, ids: &[u64]) -> Vec<IdRun> {
        let mut runs: Vec<IdRun> = Vec::new();
        for (index, &id) in (index..).zip(ids) {
            match runs.last_mut() {
                Some(run) if run.first + u64::from(run.count) == id => run.count += 1,
                _ => runs.push(IdRun { index, first: id, count: 1 }),
            }
        }
        self.runs.extend(runs.iter().map(|run| (run.first, (coflow, *run))));
        runs
    }

    /// Forgets the ids of flows.
    pub fn remove(&mut self, runs: &[IdRun]) {
        for run in runs {
            self.runs.remove(&run.first);
        }
    }

    /// The flow that a message names, by coflow and index.
    pub fn key(&self, name: FlowKey) -> Option<FlowKey> {
        let Some(FlowId(id)) = name.id() else { return Some(name) };
        let (_, (coflow, run)) = self.runs.range(..=id).next_back()?;
        let offset = u32::try_from(id - run.first).ok().filter(|offset| *offset < run.count)?;
        Some(FlowKey { coflow: *coflow, flow: run.index + offset })
    }

    /// How many runs there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.runs.len()
    }
}
