//! How flows move within an epoch, under policies that know flows and no coflows.

use super::job::Reducer;

/// How flows move within an epoch.
pub(super) trait Moving {
    /// Admits the flows of the reducer `number` of a coflow.
    fn admit(&mut self, coflow: usize, number: usize, reducer: &Reducer);
    /// Moves on until flows or reducers end, but at most by `quanta`; returns the quanta passed.
    fn advance(&mut self, quanta: u64, ended: &mut Ended) -> u64;
}

/// What has ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub flows: Vec<FlowId>,
    /// Coflow and number of reducers of which flows are left. CoflowSim ends a reducer when its own
    /// count of bytes says so; its flows still move, and take their share.
    pub reducers: Vec<[usize; 2]>,
}

/// A flow, by number of its coflow, of its reducer there, and of its mapper.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowId {
    pub coflow: usize,
    pub reducer: usize,
    pub mapper: usize,
}
