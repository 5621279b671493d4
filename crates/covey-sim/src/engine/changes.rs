//! What the cluster does to flows: hosts and links fail and return, flows move, begin again, or are
//! not needed.

use covey_alloc::{Change, Traffic};
use covey_core::state::FlowSpec;
use covey_core::{CoflowId, Event, FlowId, Time};
use covey_trace::{FlowOf, Happening, Part};

use super::coflow_ids::{flow_in_trace, flow_number};
use super::world::SimulatedWorld;

/// Where a flow is that has not ended.
enum Place {
    /// The flow's coflow is not there, or the flow has not started and the policy does not see
    /// coflows.
    NotYet,
    /// The flow belongs to no coflow.
    Newcomer,
    /// The flow is in a coflow.
    Member(FlowId),
}

impl SimulatedWorld<'_> {
    /// Takes the next change of the cluster that comes by now.
    pub(super) fn take_change(&mut self, traffic: &mut Traffic) -> Option<Change> {
        loop {
            if let Some(change) = self.strand(traffic) {
                return Some(change);
            }
            if let Some(flow) = self.parts.cluster.needless.pop() {
                if self.cancel(traffic, flow) {
                    return Some(Change::Happened(None));
                }
                continue;
            }
            if self.parts.records.unended() == 0 {
                return None;
            }
            let event = self.parts.cluster.pop(self.workload, traffic.now())?;
            if let Some(change) = self.happen(traffic, &event.what) {
                return Some(change);
            }
        }
    }

    /// Flows that have started without a path wait.
    fn strand(&mut self, traffic: &mut Traffic) -> Option<Change> {
        let mut flows = std::mem::take(&mut self.parts.cluster.stranded);
        flows.retain(|flow| {
            let coflow = traffic.state().coflow(flow.coflow);
            coflow.demand().is_active(coflow.demand().position(flow.index))
        });
        flows.sort_unstable();
        flows.dedup();
        (!flows.is_empty()).then(|| {
            self.interrupt(traffic);
            Change::Suspended(flows)
        })
    }

    fn happen(&mut self, traffic: &mut Traffic, what: &Happening) -> Option<Change> {
        match what {
            Happening::Fail { part, loses } => self.fail(traffic, part, *loses),
            Happening::Return { part } => self.restore(traffic, part),
            Happening::Move { flow, src, dst } => self.move_flow(traffic, *flow, *src, *dst),
            Happening::Cancel { flow } => {
                self.cancel(traffic, *flow).then_some(Change::Happened(None))
            }
            Happening::Restart { flow } => {
                self.parts.calendar.restart_later(traffic.now(), *flow);
                None
            }
        }
    }

    /// A part of the network carries nothing any more: the flows that need it wait.
    fn fail(&mut self, traffic: &mut Traffic, part: &Part, loses: bool) -> Option<Change> {
        if !self.parts.cluster.fail(part) {
            return None;
        }
        let state = traffic.state();
        let mut active = Vec::new();
        for &coflow in state.present() {
            let demand = state.coflow(coflow).demand();
            let flows = demand.active().map(|p| FlowId { coflow, index: demand.index(p) });
            active.extend(flows.filter(|&flow| self.parts.cluster.needs(part, state, flow)));
        }
        if loses {
            let others = suspended(traffic);
            let others =
                others.into_iter().filter(|&flow| self.parts.cluster.needs(part, state, flow));
            for flow in active.iter().copied().chain(others) {
                let flow = self.parts.ids.in_trace(flow_in_trace(state, flow));
                self.parts.calendar.restart_later(traffic.now(), flow);
            }
        }
        (!active.is_empty()).then(|| {
            self.interrupt(traffic);
            Change::Suspended(active)
        })
    }

    /// A part of the network carries flows again.
    fn restore(&mut self, traffic: &mut Traffic, part: &Part) -> Option<Change> {
        if !self.parts.cluster.restore(part) {
            return None;
        }
        let mut flows = suspended(traffic);
        flows.retain(|&flow| self.parts.cluster.has_path(traffic.state(), flow));
        (!flows.is_empty()).then(|| {
            self.interrupt(traffic);
            Change::Resumed(flows)
        })
    }

    /// Nobody needs a flow any more. Returns whether that ends it.
    fn cancel(&mut self, traffic: &mut Traffic, flow: FlowOf) -> bool {
        if self.parts.records.has_flow_ended(self.parts.ids.number(flow)) {
            return false;
        }
        match self.place(traffic, flow) {
            Place::NotYet => {
                self.parts.cluster.cancel_early(flow);
                return false;
            }
            Place::Newcomer => traffic.state_mut().forget_newcomer(self.present_number(flow)),
            Place::Member(id) => {
                self.interrupt(traffic);
                let sent = traffic.cancel(id);
                self.parts.records.waste(flow.coflow, sent);
            }
        }
        self.record_cancelled(flow, traffic.now());
        self.record_end(flow, None, traffic.now());
        true
    }

    /// A flow has ended because nobody needs it.
    pub(super) fn record_cancelled(&mut self, flow: FlowOf, now: Time) {
        let number = self.parts.ids.number(flow);
        self.parts.records.cancel(number, now);
    }

    /// A flow begins again between other ports, with all of its bytes.
    fn move_flow(
        &mut self,
        traffic: &mut Traffic,
        flow: FlowOf,
        src: Option<u32>,
        dst: Option<u32>,
    ) -> Option<Change> {
        if self.parts.records.has_flow_ended(self.parts.ids.number(flow)) {
            return None;
        }
        let spec = &self.workload.coflows[flow.coflow as usize].flows[flow.flow as usize];
        let place = self.place(traffic, flow);
        let number = self.present_number(flow);
        self.parts.cluster.move_flow(flow, spec, src, dst);
        match place {
            Place::NotYet => None,
            Place::Newcomer => {
                traffic.state_mut().forget_newcomer(number);
                self.parts.ids.move_flow(self.workload, flow);
                self.let_arrive(traffic, flow);
                Some(Change::Happened(Some(Event::FlowsArrived)))
            }
            Place::Member(id) => {
                let event = self.move_member(traffic, flow, id);
                Some(Change::Happened(event))
            }
        }
    }

    /// A flow of a coflow that is present begins again between other ports.
    fn move_member(&mut self, traffic: &mut Traffic, flow: FlowOf, id: FlowId) -> Option<Event> {
        self.interrupt(traffic);
        let coflow = traffic.state().coflow(id.coflow);
        let demand = coflow.demand();
        let is_active = demand.is_active(demand.position(id.index));
        let has_started = is_active || coflow.is_suspended(id.index);
        let before = demand.links().to_vec();
        let sent = traffic.cancel(id);
        self.parts.records.waste(flow.coflow, sent);
        let index = self.parts.ids.move_flow(self.workload, flow);
        if !self.parts.sees_coflows {
            self.parts.ids.end_flow(self.parts.ids.number(flow));
            self.let_arrive(traffic, flow);
            return Some(Event::FlowsArrived);
        }
        let spec = &self.workload.coflows[flow.coflow as usize].flows[flow.flow as usize];
        let spec: FlowSpec = self.parts.cluster.spec(flow, spec);
        let named = FlowId {
            coflow: id.coflow,
            index: traffic.state().coflow(id.coflow).demand().width() as u32,
        };
        if self.parts.regroups {
            // The coflow may be a group of the policy's own making.
            let number = flow_number(FlowOf { flow: index, ..flow });
            traffic.state_mut().expect_joined(id.coflow, std::iter::once(number));
        }
        traffic.extend(id.coflow, std::iter::once(spec));
        if self.parts.regroups {
            self.parts.ids.rename(traffic.state(), &[named]);
        }
        self.parts.transfers.extended(traffic, id.coflow, &before);
        if !has_started {
            return None;
        }
        self.start_flow(traffic, named);
        Some(Event::FlowsStarted(id.coflow))
    }

    fn place(&self, traffic: &Traffic, flow: FlowOf) -> Place {
        if !self.parts.records.is_released(flow.coflow) {
            return Place::NotYet;
        }
        let id = self.parts.ids.flow(flow);
        if self.parts.sees_coflows {
            return id.map_or(Place::NotYet, Place::Member);
        }
        let number = self.present_number(flow);
        let newcomers = traffic.state().newcomers();
        if newcomers.iter().any(|newcomer| newcomer.number == number) {
            return Place::Newcomer;
        }
        match id.filter(|id| flow_number(flow_in_trace(traffic.state(), *id)) == number) {
            Some(id) => Place::Member(id),
            None => Place::NotYet,
        }
    }

    /// The number by which a flow is known to core that belongs to no coflow of the trace there.
    pub(super) fn present_number(&self, flow: FlowOf) -> u64 {
        flow_number(FlowOf { flow: self.parts.ids.present_index(flow), ..flow })
    }

    /// Has all rates decided again from nothing.
    pub(super) fn interrupt(&mut self, traffic: &mut Traffic) {
        self.parts.transfers.interrupt(traffic);
        self.parts.watch.look_again();
    }

    /// Flows that have started wait if they have no path.
    pub(super) fn look_for_paths(&mut self, traffic: &Traffic, flows: &[FlowId]) {
        if !self.parts.cluster.is_whole() {
            let state = traffic.state();
            let stranded = flows.iter().filter(|flow| !self.parts.cluster.has_path(state, **flow));
            let stranded: Vec<FlowId> = stranded.copied().collect();
            self.parts.cluster.stranded.extend(stranded);
        }
    }

    /// The first coflow that waits for a part of the network.
    pub(super) fn first_waiting(&self, traffic: &Traffic) -> Option<&str> {
        let state = traffic.state();
        let waits = |id: &&CoflowId| state.coflow(**id).suspended().next().is_some();
        let id = *state.present().iter().find(waits)?;
        let index = state.coflow(id).suspended().next()?;
        let flow = flow_in_trace(state, FlowId { coflow: id, index });
        Some(&self.workload.coflows[flow.coflow as usize].id)
    }
}

/// The flows that wait for hosts or links, coflow by coflow.
fn suspended(traffic: &Traffic) -> Vec<FlowId> {
    let state = traffic.state();
    let of = |&coflow: &CoflowId| {
        state.coflow(coflow).suspended().map(move |index| FlowId { coflow, index })
    };
    state.present().iter().flat_map(of).collect()
}
