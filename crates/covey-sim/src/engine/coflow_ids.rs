//! The driver's ids of the trace's coflows.

use std::collections::BTreeMap;

use covey_core::state::State;
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
    /// Where the policy puts flows into groups of its own: the id of each flow, by its number among all flows of the
    /// trace.
    flows: Vec<FlowId>,
    /// Where flows have moved: their coflow in the trace, and the flow's index in it after the move, with the one before
    /// all moves.
    moved: BTreeMap<(u32, u32), u32>,
    /// The present index of each flow that has moved.
    present: BTreeMap<(u32, u32), u32>,
}

/// The id of a flow that belongs to no coflow.
const NOWHERE: FlowId = FlowId { coflow: CoflowId(u32::MAX), index: 0 };

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
        self.flows.clear();
        self.moved.clear();
        self.present.clear();
        flows
    }

    /// The policy puts flows into groups of its own: the ids of so many flows are followed.
    pub fn follow_flows(&mut self, flows: usize) {
        self.flows.resize(flows, NOWHERE);
    }

    /// Flows have got these ids.
    pub fn rename(&mut self, state: &State, flows: &[FlowId]) {
        for &flow in flows {
            let number = self.number(flow_in_trace(state, flow));
            self.flows[number] = flow;
        }
    }

    /// Sets the id of the coflow at an index in the trace.
    pub fn set(&mut self, trace_index: u32, id: CoflowId) {
        if self.trace_indices.len() <= id.index() {
            self.trace_indices.resize(id.index() + 1, 0);
        }
        self.trace_indices[id.index()] = trace_index;
        self.ids[trace_index as usize] = id;
    }

    /// A flow has ended, by its number among all flows: its id may be that of another one.
    pub fn end_flow(&mut self, number: usize) {
        if let Some(flow) = self.flows.get_mut(number) {
            *flow = NOWHERE;
        }
    }

    /// The id of a flow, from its coflow's index in the trace and its own index in the coflow; nothing if it belongs
    /// to no coflow.
    pub fn flow(&self, (trace_index, index): (u32, u32)) -> Option<FlowId> {
        let place = self.present_index((trace_index, index));
        let named = FlowId { coflow: self.ids[trace_index as usize], index: place };
        let flow = self.flows.get(self.number((trace_index, index))).copied().unwrap_or(named);
        (flow.coflow != NOWHERE.coflow).then_some(flow)
    }

    /// A flow of the trace begins again elsewhere. Returns its index in the coflow from now on.
    pub fn move_flow(&mut self, workload: &Workload, (trace_index, index): (u32, u32)) -> u32 {
        let of_coflow = self.moved.range((trace_index, 0)..=(trace_index, u32::MAX));
        let width = workload.coflows[trace_index as usize].width() as u32;
        let place = width + of_coflow.count() as u32;
        self.moved.insert((trace_index, place), index);
        self.present.insert((trace_index, index), place);
        place
    }

    /// The index in its coflow of a flow that the trace names so.
    pub fn present_index(&self, flow: (u32, u32)) -> u32 {
        self.present.get(&flow).copied().unwrap_or(flow.1)
    }

    /// A flow as the trace names it, from its coflow in the trace and its index there, which it may have by a move.
    pub fn in_trace(&self, (trace_index, index): (u32, u32)) -> (u32, u32) {
        (trace_index, self.moved.get(&(trace_index, index)).copied().unwrap_or(index))
    }

    /// The index in the trace of a coflow.
    pub fn trace_index(&self, id: CoflowId) -> u32 {
        self.trace_indices[id.index()]
    }

    /// Number of a flow among all flows of the trace.
    pub fn number(&self, flow: (u32, u32)) -> usize {
        let (trace_index, index) = if self.moved.is_empty() { flow } else { self.in_trace(flow) };
        self.first_flow[trace_index as usize] + index as usize
    }
}

/// The number by which a flow that arrives is known to core.
pub(super) fn flow_number((trace_index, index): (u32, u32)) -> u64 {
    u64::from(trace_index) << 32 | u64::from(index)
}

/// The place of a flow in the trace: the index of its coflow, and its own in the coflow.
pub(super) fn flow_in_trace(state: &State, flow: FlowId) -> (u32, u32) {
    state.coflow(flow.coflow).named_place(flow.index)
}
