//! All flows by priority: few run at any time, each at a rate of its own, and only these are
//! followed. The allocator keeps their bytes left.

use covey_alloc::{Running, RunningFlows};
use covey_core::state::State;
use covey_core::{FlowId, Time};

use super::integrator::{FlowAt, Integrator, Network, left_in, write_left};

/// The time of the last update of the running flows, and the time of their next end.
#[derive(Debug, Default)]
pub(super) struct PriorityFlows {
    anchor: Time,
    next: Time,
}

impl PriorityFlows {
    /// Bytes left of an active flow at `now`.
    pub(super) fn left(
        &self,
        state: &State,
        flows: Option<&RunningFlows>,
        flow: FlowAt,
        now: Time,
    ) -> f64 {
        match flows.and_then(|flows| flows.iter().find(|running| place(running) == flow)) {
            Some(running) => running.left - running.rate * (now - self.anchor),
            None => left_in(state, flow),
        }
    }

    /// Updates the bytes left of the flows; no flow may end before `now`.
    fn advance(&mut self, flows: &mut RunningFlows, now: Time) {
        let dt = now - self.anchor;
        if dt > 0.0 {
            self.anchor = now;
            let (left, rates) = flows.left_mut();
            for (left, rate) in left.iter_mut().zip(rates) {
                *left -= rate * dt;
            }
        }
    }
}

impl Integrator for PriorityFlows {
    /// The allocator has taken the flows over.
    fn begin(&mut self, _: &mut Network<'_>) {}

    /// The bytes left were written back before the plan came into force.
    fn end(&mut self, _: &mut Network<'_>) {}

    fn next_end(&self) -> Time {
        self.next
    }

    fn find_ending(&mut self, network: &mut Network<'_>, ending: &mut Vec<FlowAt>) {
        if !self.next.due(network.now) {
            return;
        }
        self.prepare(network);
        let Some(flows) = network.allocator.priority_flows() else { return };
        let slack = self.anchor.slack_s();
        let finished = flows.iter().filter(|flow| flow.left <= flow.rate * slack);
        ending.extend(finished.map(|flow| place(&flow)));
        ending.sort_unstable();
    }

    fn prepare(&mut self, network: &mut Network<'_>) {
        if let Some(flows) = network.allocator.priority_flows_mut() {
            self.advance(flows, network.now);
        }
    }

    fn install(&mut self, network: &mut Network<'_>) {
        let Some(flows) = network.allocator.priority_flows_mut() else { return };
        flows.stopped().iter().for_each(|flow| write_back(network.state, *flow));
        self.anchor = network.now;
        let (left, rates) = flows.left_mut();
        let rest = left.iter().zip(rates).map(|(left, rate)| left / rate);
        let least = rest.fold(f64::INFINITY, |least, rest| if rest < least { rest } else { least });
        self.next = network.now + least.max(0.0);
    }

    fn write_back(&mut self, network: &mut Network<'_>) {
        self.prepare(network);
        let Network { state, allocator, .. } = network;
        if let Some(flows) = allocator.priority_flows() {
            flows.iter().for_each(|flow| write_back(state, flow));
        }
    }

    fn before_toggles(&mut self, network: &mut Network<'_>, holds: bool) {
        if holds {
            self.write_back(network);
        } else {
            self.prepare(network);
        }
    }

    fn restart(&mut self, network: &mut Network<'_>, flow: FlowId) {
        self.write_back(network);
        network.state.restart(flow);
        // The flow is enqueued again.
        let position = network.state.coflow(flow.coflow).demand().position(flow.index);
        network.allocator.adjust(network.state, flow.coflow, position, -1.0);
        network.allocator.adjust(network.state, flow.coflow, position, 1.0);
    }
}

fn write_back(state: &mut State, flow: Running) {
    write_left(state, place(&flow), flow.left);
}

fn place(flow: &Running) -> FlowAt {
    FlowAt { coflow: flow.coflow, position: flow.position }
}
