//! The driver's ids of the trace's coflows.

use covey_core::{CoflowId, FlowId};
use covey_trace::Workload;

/// The ids of coflows that are present, and the indices of coflows in the trace.
#[derive(Debug, Default)]
pub(super) struct CoflowIds {
    /// The id of each coflow, by index in the trace; the last id of a coflow that has ended.
    ids: Vec<CoflowId>,
    /// The index in the trace of each coflow, by [`CoflowId`].
    trace_indices: Vec<u32>,
    /// The number of flows of all coflows before each coflow, by index in the trace.
    first_flow: Vec<usize>,
}

impl CoflowIds {
    /// Resets the ids: no coflow of the workload is present. Returns the workload's number of
    /// flows.
    pub fn clear(&mut self, workload: &Workload) -> usize {
        self.ids.clear();
        self.ids.resize(workload.coflows.len(), CoflowId(u32::MAX));
        self.first_flow.clear();
        let mut flows = 0;
        for coflow in &workload.coflows {
            self.first_flow.push(flows);
            flows += coflow.flows.len();
        }
        flows
    }

    /// Sets the id of the coflow at an index in the trace.
    pub fn set(&mut self, trace_index: u32, id: CoflowId) {
        if self.trace_indices.len() <= id.index() {
            self.trace_indices.resize(id.index() + 1, 0);
        }
        self.trace_indices[id.index()] = trace_index;
        self.ids[trace_index as usize] = id;
    }

    /// The id of a flow, from its coflow's index in the trace and its own index in the coflow.
    pub fn flow(&self, trace_index: u32, index: u32) -> FlowId {
        FlowId { coflow: self.ids[trace_index as usize], index }
    }

    /// The index in the trace of a coflow.
    pub fn trace_index(&self, id: CoflowId) -> u32 {
        self.trace_indices[id.index()]
    }

    /// Number of a flow among all flows of the trace.
    pub fn number(&self, trace_index: u32, index: u32) -> usize {
        self.first_flow[trace_index as usize] + index as usize
    }
}
