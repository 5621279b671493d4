//! Which coflow of the trace is which coflow of the driver.

use covey_core::{CoflowId, FlowId};
use covey_trace::Workload;

/// The ids of coflows that are present, and the places of coflows in the trace.
#[derive(Debug, Default)]
pub(super) struct CoflowIds {
    /// By place in the trace; of a coflow that has ended, its last id.
    ids: Vec<CoflowId>,
    /// By [`CoflowId`].
    places: Vec<u32>,
    /// How many flows the coflows before each coflow have, by place in the trace.
    first_flow: Vec<usize>,
}

impl CoflowIds {
    /// No coflow of the workload is present. Returns how many flows it has.
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

    /// The coflow at a place in the trace has this id from now on.
    pub fn set(&mut self, place: u32, id: CoflowId) {
        if self.places.len() <= id.index() {
            self.places.resize(id.index() + 1, 0);
        }
        self.places[id.index()] = place;
        self.ids[place as usize] = id;
    }

    /// The flow with an index in the coflow at a place in the trace.
    pub fn flow(&self, place: u32, index: u32) -> FlowId {
        FlowId { coflow: self.ids[place as usize], index }
    }

    /// Place in the trace of a coflow.
    pub fn place(&self, id: CoflowId) -> u32 {
        self.places[id.index()]
    }

    /// Number of a flow among all flows of the trace.
    pub fn number(&self, place: u32, index: u32) -> usize {
        self.first_flow[place as usize] + index as usize
    }
}
