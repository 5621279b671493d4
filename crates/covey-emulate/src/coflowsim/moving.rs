//! The movement of flows within an epoch, under policies that do not distinguish coflows.

use super::job::Reducer;

/// A policy's movement of flows within an epoch.
pub(super) trait Moving {
    /// Admits the flows of the reducer `number` of a coflow.
    fn admit(&mut self, coflow: usize, number: usize, reducer: &Reducer);
    /// Advances until flows or reducers end, but at most by `quanta`. Returns the quanta passed.
    fn advance(&mut self, quanta: u64, ended: &mut Ended) -> u64;
}

/// The flows and reducers that have ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub flows: Vec<FlowId>,
    /// Ended reducers with open flows, each as coflow and number. CoflowSim ends a reducer by its
    /// own count of bytes; its flows still move, and take their share.
    pub reducers: Vec<[usize; 2]>,
}

/// A flow, by the numbers of its coflow, its reducer there, and its mapper.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowId {
    pub coflow: usize,
    pub reducer: usize,
    pub mapper: usize,
}
