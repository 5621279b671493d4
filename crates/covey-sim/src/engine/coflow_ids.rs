//! The driver's ids of the trace's coflows.

use std::collections::BTreeMap;

use covey_core::state::State;
use covey_core::{CoflowId, FlowId};
use covey_trace::{FlowOf, Workload};

/// The ids of coflows that are present, and the indices of coflows in the trace.
#[derive(Debug, Default)]
pub(super) struct CoflowIds {
    /// The id of each coflow that has been registered, by index in the trace; the last id of a
    /// coflow that has ended.
    ids: Vec<Option<CoflowId>>,
    /// The index in the trace of each coflow, by [`CoflowId`].
    trace_indices: Vec<u32>,
    /// The number of flows of all coflows before each coflow, by index in the trace.
    first_flow: Vec<usize>,
    /// By number among all flows of the trace, the id of each flow; `None` if the flow belongs to
    /// no coflow. Empty unless the policy puts flows into groups of its own.
    flows: Vec<Option<FlowId>>,
    /// Where flows have moved: the index in its coflow before all moves, by the flow with its
    /// present index.
    moved: BTreeMap<FlowOf, u32>,
    /// The present index of each flow that has moved.
    present: BTreeMap<FlowOf, u32>,
}

impl CoflowIds {
    /// Resets the ids: no coflow of the workload is present. Returns the workload's number of
    /// flows.
    pub fn clear(&mut self, workload: &Workload) -> usize {
        self.ids.clear();
        self.ids.resize(workload.coflows.len(), None);
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
        self.flows.resize(flows, None);
    }

    /// Flows have got these ids.
    pub fn rename(&mut self, state: &State, flows: &[FlowId]) {
        for &flow in flows {
            let number = self.number(flow_in_trace(state, flow));
            self.flows[number] = Some(flow);
        }
    }

    /// Sets the id of the coflow at an index in the trace.
    pub fn set(&mut self, trace_index: u32, id: CoflowId) {
        if self.trace_indices.len() <= id.index() {
            self.trace_indices.resize(id.index() + 1, 0);
        }
        self.trace_indices[id.index()] = trace_index;
        self.ids[trace_index as usize] = Some(id);
    }

    /// Forgets the id of a flow that has ended, given its number among all flows. Another flow may
    /// get the id.
    pub fn end_flow(&mut self, number: usize) {
        if let Some(flow) = self.flows.get_mut(number) {
            *flow = None;
        }
    }

    /// The id of a flow, if it belongs to a coflow.
    pub fn flow(&self, flow: FlowOf) -> Option<FlowId> {
        if let Some(followed) = self.flows.get(self.number(flow)) {
            return *followed;
        }
        let coflow = self.ids[flow.coflow as usize]?;
        Some(FlowId { coflow, index: self.present_index(flow) })
    }

    /// A flow of the trace begins again elsewhere. Returns its index in the coflow from now on.
    pub fn move_flow(&mut self, workload: &Workload, flow: FlowOf) -> u32 {
        let at = |index: u32| FlowOf { flow: index, ..flow };
        let of_coflow = self.moved.range(at(0)..=at(u32::MAX));
        let width = workload.coflows[flow.coflow as usize].width() as u32;
        let index = width + of_coflow.count() as u32;
        self.moved.insert(at(index), flow.flow);
        self.present.insert(flow, index);
        index
    }

    /// The index in its coflow of a flow that the trace names so.
    pub fn present_index(&self, flow: FlowOf) -> u32 {
        self.present.get(&flow).copied().unwrap_or(flow.flow)
    }

    /// A flow as the trace names it, from its present index, which a move may have changed.
    pub fn in_trace(&self, flow: FlowOf) -> FlowOf {
        FlowOf { flow: self.moved.get(&flow).copied().unwrap_or(flow.flow), ..flow }
    }

    /// The index in the trace of a coflow.
    pub fn trace_index(&self, id: CoflowId) -> u32 {
        self.trace_indices[id.index()]
    }

    /// Number of a flow among all flows of the trace.
    pub fn number(&self, flow: FlowOf) -> usize {
        let flow = if self.moved.is_empty() { flow } else { self.in_trace(flow) };
        self.first_flow[flow.coflow as usize] + flow.flow as usize
    }
}

/// The number by which a flow that arrives is known to core.
pub(super) fn flow_number(flow: FlowOf) -> u64 {
    u64::from(flow.coflow) << 32 | u64::from(flow.flow)
}

/// The place of a flow in the trace, with the index in its coflow that it may have by a move.
pub(super) fn flow_in_trace(state: &State, id: FlowId) -> FlowOf {
    let (coflow, flow) = state.coflow(id.coflow).named_place(id.index);
    FlowOf { coflow, flow }
}
