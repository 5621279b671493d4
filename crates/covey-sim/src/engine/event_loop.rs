//! The events of a simulation: the world of its driver.

use covey_core::state::{FlowSpec, Registration};
use covey_core::{
    Answer, CoflowId, Driver, Event, FlowId, Group, PortId, Rank, Ranking, Sender, Time, Traffic,
    Wake, Wakes, World,
};
use covey_trace::Workload;

use super::coflow_ids::CoflowIds;
use super::records::Records;
use super::transfers::Transfers;
use super::wake_watch::{Sent, WakeWatch};
use crate::calendar::Calendar;
use crate::dags::Dags;
use crate::error::SimError;

/// The state of an engine. Later runs use its memory again.
#[derive(Debug, Default)]
pub(super) struct Parts {
    calendar: Calendar,
    dags: Dags,
    ids: CoflowIds,
    pub transfers: Transfers,
    pub records: Records,
    watch: WakeWatch,
    /// Working memory: the flows that end in this round, by position.
    ending: Vec<(CoflowId, usize)>,
    /// Whether the policy may see bytes left of flows.
    shows_left: bool,
    /// Whether the policy reads bytes sent by coflows.
    shows_sent: bool,
}

/// A workload on its way through the network.
pub(super) struct Engine<'a> {
    workload: &'a Workload,
    parts: &'a mut Parts,
}

impl<'a> Engine<'a> {
    /// An engine before the first event. With a `barrier` coflows wait for their parents.
    ///
    /// # Errors
    /// [`SimError::Cycle`].
    pub fn start(
        parts: &'a mut Parts,
        workload: &'a Workload,
        driver: &Driver<'_>,
        barrier: bool,
    ) -> Result<Engine<'a>, SimError> {
        let ports = driver.traffic().state().fabric().ports() as usize;
        parts.transfers.clear(ports, driver.link_limits());
        parts.watch.clear();
        parts.calendar.fill(workload, barrier);
        parts.dags.fill(workload, &parts.calendar)?;
        let flows = parts.ids.clear(workload);
        parts.records.clear(workload.coflows.len(), flows);
        parts.shows_left = driver.sees_sizes() && !driver.wants().sizes_only;
        parts.shows_sent = driver.wants().attained;
        Ok(Engine { workload, parts })
    }

    /// The time of the next round; never if there are no more events.
    pub fn next_round(&mut self, driver: &mut Driver<'_>) -> Time {
        let Parts { calendar, transfers, watch, dags, .. } = &mut *self.parts;
        let others = calendar.next().min(transfers.next_end());
        let (traffic, wakes) = driver.traffic_and_wakes();
        let fresh = watch.take_fresh(wakes);
        transfers.watch(traffic, wakes, fresh);
        let first = watch.next(wakes, &sent(transfers, dags, traffic), others);
        // A wake-up that was asked for too late is due now.
        others.min(first).max(traffic.now())
    }

    /// The records of the run.
    pub fn records(&mut self) -> &mut Records {
        &mut self.parts.records
    }

    /// Whether bytes of coflows are not known: all flows are followed as one group.
    pub fn knows_no_coflows(&self) -> bool {
        self.parts.transfers.is_flow_level() && self.parts.transfers.classes().is_none()
    }

    /// Whether flows are in classes, where bytes of a flow are not known.
    pub fn serves_classes(&self) -> bool {
        self.parts.transfers.classes().is_some()
    }

    /// Whether coflows wait, no flow sends, and only the policy can change that.
    pub fn is_idle(&self) -> bool {
        self.parts.transfers.is_idle() && !self.parts.calendar.next().comes()
    }

    /// The first coflow that has not ended although there are no more events, and whether it has
    /// been released.
    pub fn stuck(&self, traffic: &Traffic) -> Option<(&str, bool)> {
        let first = self.parts.records.first_unfinished()?;
        let released = traffic.state().present().first().map(|&id| self.parts.ids.trace_index(id));
        let trace_index = released.map_or(first, |trace_index| trace_index as usize);
        Some((&self.workload.coflows[trace_index].id, released.is_some()))
    }

    fn release(&mut self, traffic: &mut Traffic, trace_index: u32) -> CoflowId {
        let coflow = &self.workload.coflows[trace_index as usize];
        let parts = &mut *self.parts;
        let now = traffic.now();
        let (lineage, inherited_bytes) = parts.dags.of(trace_index);
        let registration = Registration {
            seq: u64::from(trace_index),
            // To the policy a coflow arrives when it is released.
            arrival: now,
            weight: coflow.weight,
            deadline_s: coflow.deadline_s,
            lineage,
            inherited_bytes,
        };
        let flows = coflow.flows.iter().map(|f| FlowSpec {
            src: PortId(f.src),
            dst: PortId(f.dst),
            bytes: f.bytes,
        });
        let id = traffic.register(registration, flows);
        let parents = coflow.parents.iter().map(|&parent| u64::from(parent));
        traffic.state_mut().set_parents(id, parents);
        parts.dags.begin(lineage, id);
        parts.watch.add(Sender::Dag(lineage.external));
        parts.transfers.admit(traffic, id);
        parts.ids.set(trace_index, id);
        parts.records.release(trace_index, now);
        for (index, flow) in (0..).zip(&coflow.flows) {
            let start = now + flow.start_s;
            parts.records.start_flow(parts.ids.number(trace_index, index), start);
            if start.due(now) {
                parts.start(traffic, FlowId { coflow: id, index });
            } else {
                parts.calendar.start_later(start, trace_index, index);
            }
        }
        let width = coflow.flows.len();
        for restart in coflow.restarts.iter().filter(|restart| (restart.flow as usize) < width) {
            parts.calendar.restart_later(now + restart.at_s, trace_index, restart.flow);
        }
        id
    }
}

fn sent<'a>(transfers: &'a Transfers, dags: &'a Dags, traffic: &'a Traffic) -> Sent<'a> {
    let (coflows, classes) = (transfers.coflows(), transfers.classes());
    Sent { coflows, classes, dags, state: traffic.state(), now: traffic.now() }
}

impl Parts {
    /// Starts a flow; one without bytes ends at once.
    fn start(&mut self, traffic: &mut Traffic, flow: FlowId) {
        let position = traffic.state().coflow(flow.coflow).demand().position(flow.index);
        if !self.transfers.start(traffic, flow) {
            self.end_flow(traffic, flow.coflow, position);
        }
        self.transfers.note_start(flow.coflow, position);
    }

    fn end_flow(&mut self, traffic: &mut Traffic, id: CoflowId, position: usize) {
        self.transfers.before_end(traffic, id, position);
        traffic.finish(id, position);
        let (now, coflow) = (traffic.now(), traffic.state().coflow(id));
        let trace_index = self.ids.trace_index(id);
        let index = coflow.demand().index(position);
        self.records.end_flow(self.ids.number(trace_index, index), now);
        if coflow.is_over() {
            self.records.end_coflow(trace_index, coflow.compressed(), now);
        }
    }

    /// Whether a flow of the coflow at `trace_index` has started and not ended. The coflow may have
    /// left, and its id may be that of another.
    fn is_under_way(&self, traffic: &Traffic, trace_index: u32, flow: FlowId) -> bool {
        if self.records.has_ended(trace_index) {
            return false;
        }
        let demand = traffic.state().coflow(flow.coflow).demand();
        demand.is_active(demand.position(flow.index))
    }
}

impl World for Engine<'_> {
    fn end_flows(&mut self, traffic: &mut Traffic) {
        let parts = &mut *self.parts;
        parts.ending.clear();
        parts.transfers.find_ending(traffic, &mut parts.ending);
        for k in 0..parts.ending.len() {
            let (id, position) = parts.ending[k];
            // A flow with a rate of its own beside a level is found twice.
            if traffic.state().coflow(id).demand().is_active(position) {
                parts.end_flow(traffic, id, position);
            }
        }
        parts.transfers.advance_processors(traffic);
    }

    fn begin_next(&mut self, traffic: &mut Traffic) -> Option<Event> {
        let now = traffic.now();
        if let Some(trace_index) = self.parts.calendar.pop_release(now) {
            return Some(Event::CoflowArrived(self.release(traffic, trace_index)));
        }
        let parts = &mut *self.parts;
        if let Some((trace_index, index)) = parts.calendar.pop_start(now) {
            let flow = parts.ids.flow(trace_index, index);
            parts.start(traffic, flow);
            return Some(Event::FlowsStarted(flow.coflow));
        }
        while let Some((trace_index, index)) = parts.calendar.pop_restart(now) {
            let flow = parts.ids.flow(trace_index, index);
            if parts.is_under_way(traffic, trace_index, flow) {
                parts.transfers.restart(traffic, flow);
                return Some(Event::FlowRestarted(flow));
            }
        }
        None
    }

    fn take_due(&mut self, traffic: &Traffic, wakes: &mut Wakes, due: &mut Vec<(u64, Wake)>) {
        let Parts { transfers, watch, dags, .. } = &mut *self.parts;
        watch.take_due(wakes, &sent(transfers, dags, traffic), due);
    }

    fn find_limits_reached(&mut self, traffic: &Traffic, reached: &mut Vec<Event>) {
        let (state, now) = (traffic.state(), traffic.now());
        let coflows = self.parts.transfers.coflows_mut();
        coflows.find_limits_reached(state, now);
        for k in 0..coflows.found().len() {
            let id = coflows.found()[k];
            coflows.take_limits_reached(id, state.coflow(id), now, |link, bytes| {
                reached.push(Event::LinkBytesReached(id, link, bytes));
            });
        }
    }

    fn refresh(&mut self, traffic: &mut Traffic) {
        let Parts { transfers, shows_left, shows_sent, .. } = &mut *self.parts;
        if *shows_left || (*shows_sent && transfers.is_flow_level()) {
            transfers.write_left(traffic);
        }
        if *shows_sent {
            transfers.report_sent(traffic);
        }
    }

    fn refresh_flows(&mut self, traffic: &mut Traffic, coflows: &[CoflowId]) {
        self.parts.transfers.write_left_of(traffic, coflows);
    }

    fn bytes_sent(&mut self, traffic: &Traffic, id: CoflowId) -> f64 {
        let Parts { transfers, watch, dags, .. } = &mut *self.parts;
        let sent = transfers.sent(traffic, id);
        let lineage = traffic.state().coflow(id).registration.lineage;
        dags.end(lineage, id, sent);
        watch.add(Sender::Dag(lineage.external));
        sent
    }

    fn coflow_left(&mut self, traffic: &Traffic, id: CoflowId) {
        let Parts { calendar, ids, transfers, records, .. } = &mut *self.parts;
        calendar.release_children(self.workload, ids.trace_index(id), traffic.now());
        transfers.forget(id);
        records.count_done();
    }

    fn plan_changed(
        &mut self,
        traffic: &mut Traffic,
        ranking: &Ranking,
        _: Option<&[(Rank, Group)]>,
    ) {
        self.parts.transfers.plan_changed(traffic, ranking);
    }

    fn before_sharing(&mut self, traffic: &mut Traffic, ranking: &Ranking, answer: Answer) {
        self.parts.transfers.before_sharing(traffic, ranking, answer);
    }

    fn rates_changed(&mut self, traffic: &mut Traffic) {
        let Parts { transfers, watch, shows_left, .. } = &mut *self.parts;
        for &id in transfers.take_rates(traffic, *shows_left) {
            watch.add(Sender::Coflow(id));
            let external = traffic.state().coflow(id).registration.lineage.external;
            watch.add(Sender::Dag(external));
        }
    }
}
