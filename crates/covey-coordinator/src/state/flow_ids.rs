//! The ids of flows, and which flows they are.

use covey_proto::{FlowId, FlowKey, FlowName};
use imbl::OrdMap;

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

/// The ids of the flows of all coflows that are present. An id is given once. A copy shares them
/// until they change.
#[derive(Debug, Default, Clone)]
pub(super) struct FlowIds {
    next: u64,
    /// By the first id of each run: the coflow, and the run.
    runs: OrdMap<u64, (u64, IdRun)>,
    /// Former names of flows that have changed their coflow, and the flows' ids.
    former: OrdMap<FlowName, FlowId>,
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

    /// The ids of so many flows: those that a record names, each run by its first id and its
    /// length. A record of a version without ids names none: its flows take the next ids, in
    /// reading order.
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

    /// Notes the ids of flows of a coflow, from the flow at `index` on. Returns them as runs.
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

    /// The flow at `index` has left a coflow, with its id. The ended flow that the coflow keeps in
    /// its place gets the id `id`. `runs` are the runs of the coflow.
    pub fn replace(&mut self, coflow: u64, runs: &mut Vec<IdRun>, index: u32, id: u64) {
        let behind = runs.partition_point(|run| run.index <= index);
        let Some(at) = behind.checked_sub(1) else { return };
        let IdRun { index: start, first, count } = runs[at];
        let before = index - start;
        let parts = [
            IdRun { index: start, first, count: before },
            IdRun { index, first: id, count: 1 },
            IdRun {
                index: index + 1,
                first: first + u64::from(before) + 1,
                count: count - before - 1,
            },
        ];
        let parts: Vec<IdRun> = parts.into_iter().filter(|run| run.count > 0).collect();
        self.runs.remove(&first);
        self.runs.extend(parts.iter().map(|run| (run.first, (coflow, *run))));
        runs.splice(at..behind, parts);
    }

    /// A flow that has changed its coflow was named so before.
    pub fn add_former(&mut self, name: FlowName, id: FlowId) {
        self.former.insert(name, id);
    }

    /// Forgets the ids of flows, and their former names.
    pub fn remove(&mut self, runs: &[IdRun], former: impl Iterator<Item = FlowName>) {
        for run in runs {
            self.runs.remove(&run.first);
        }
        former.for_each(|name| _ = self.former.remove(&name));
    }

    /// The flow that a message names, by its present coflow and index. `None` for an id that no
    /// flow of a coflow that is present has, and for the number of a flow that is in no coflow.
    pub fn key(&self, name: impl Into<FlowName>) -> Option<FlowKey> {
        let name = name.into();
        let id = name.id().or_else(|| self.former.get(&name).copied());
        let Some(FlowId(id)) = id else { return name.key() };
        let (_, (coflow, run)) = self.runs.get_prev(&id)?;
        let offset = u32::try_from(id - run.first).ok().filter(|offset| *offset < run.count)?;
        Some(FlowKey { coflow: *coflow, flow: run.index + offset })
    }

    /// The coflow to which the flow with an id belongs.
    pub fn coflow(&self, id: u64) -> Option<u64> {
        self.key(FlowId(id)).map(|key| key.coflow)
    }

    /// The coflows to which the flows with these ids belong.
    pub fn coflows(&self, ids: &[u64]) -> impl Iterator<Item = u64> {
        ids.iter().filter_map(|&id| self.coflow(id))
    }

    /// How many runs and former names there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.runs.len() + self.former.len()
    }
}
