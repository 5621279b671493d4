//! The simulated world: what happens to a workload in each round of its driver.

use covey_alloc::{Change, Driver, Traffic, World};
use covey_core::state::{Newcomer, Registration};
use covey_core::{
    Answer, CoflowId, Compressed, Event, FlowId, Group, Observed, Rank, Ranking, Sender, TenantId,
    Time, Wake, Wakes,
};
use covey_trace::{FlowOf, Workload};

use super::cluster::Cluster;
use super::coflow_ids::{CoflowIds, flow_in_trace};
use super::records::Records;
use super::transfers::Transfers;
use super::wake_watch::{Sent, WakeWatch};
use crate::calendar::Calendar;
use crate::dags::Dags;
use crate::error::SimError;
use crate::integration::FlowAt;

/// The state of a simulated world. Later runs use its memory again.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) calendar: Calendar,
    pub(super) cluster: Cluster,
    dags: Dags,
    pub(super) ids: CoflowIds,
    pub transfers: Transfers,
    pub records: Records,
    pub(super) watch: WakeWatch,
    /// Working memory: the flows that end in this round.
    ending: Vec<FlowAt>,
    /// Whether the policy may see bytes left of flows.
    shows_left: bool,
    /// Whether the policy reads bytes sent by coflows.
    shows_sent: bool,
    /// Whether the policy puts flows into groups of its own. A group then does not end with a
    /// coflow of the workload.
    pub(super) regroups: bool,
    /// The number of the policy's coflows that have left.
    departed: usize,
    /// Whether the policy sees coflows. If not, flows arrive by themselves.
    pub(super) sees_coflows: bool,
    /// How flows appear to a policy that does not see coflows, by their numbers among all flows of
    /// the trace.
    observed: Vec<Observed>,
    /// The tenant of each coflow, in the order of the trace; coflows beyond these belong to the
    /// first tenant.
    pub(super) tenants: Vec<TenantId>,
}

/// A workload on its way through the network.
pub(super) struct SimulatedWorld<'a> {
    pub(super) workload: &'a Workload,
    pub(super) parts: &'a mut Parts,
}

impl<'a> SimulatedWorld<'a> {
    /// The world before the first event. With a `barrier` coflows wait for their parents.
    /// `appearing` is how flows appear to a policy that does not see coflows, in the order of the
    /// trace; other policies do not ask for it.
    ///
    /// # Errors
    /// [`SimError::Cycle`] and [`SimError::Part`].
    pub fn start(
        parts: &'a mut Parts,
        workload: &'a Workload,
        appearing: impl IntoIterator<Item = Observed>,
        driver: &Driver<'_>,
        barrier: bool,
    ) -> Result<SimulatedWorld<'a>, SimError> {
        let ports = driver.traffic().state().fabric().ports() as usize;
        parts.cluster.fill(workload, driver.traffic().state().fabric())?;
        parts.transfers.clear(ports, driver.link_thresholds());
        parts.transfers.compresses = parts.cluster.is_static();
        parts.watch.clear();
        parts.calendar.fill(workload, barrier);
        parts.dags.fill(workload, &parts.calendar)?;
        let flows = parts.ids.clear(workload);
        parts.records.clear(workload, flows);
        parts.regroups = driver.wants().regroups;
        parts.departed = 0;
        parts.observed.clear();
        if parts.regroups {
            parts.ids.follow_flows(flows);
        }
        parts.sees_coflows = driver.sees_coflows();
        if !parts.sees_coflows {
            parts.observed.extend(appearing);
        }
        parts.shows_left = driver.sees_sizes() && !driver.wants().sizes_only;
        parts.shows_sent = driver.wants().attained;
        Ok(SimulatedWorld { workload, parts })
    }

    /// The time of the next round; never if there are no more events.
    pub fn next_round(&mut self, driver: &mut Driver<'_>) -> Time {
        let Parts { calendar, cluster, transfers, watch, dags, records, .. } = &mut *self.parts;
        let mut others = calendar.next().min(transfers.next_end());
        if !cluster.stranded.is_empty() {
            others = driver.traffic().now();
        } else if records.unended() > 0 {
            others = others.min(cluster.next());
        }
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

    /// The number of the policy's coflows that have left.
    pub fn departed(&self) -> usize {
        self.parts.departed
    }

    /// Whether coflows wait, no flow sends, and only the policy can change that.
    pub fn is_idle(&self) -> bool {
        let next = self.parts.calendar.next().min(self.parts.cluster.next());
        self.parts.transfers.is_idle() && !next.comes()
    }

    /// The number of coflows that have not ended, and that of all.
    pub fn unended(&self) -> (usize, usize) {
        (self.parts.records.unended(), self.workload.coflows.len())
    }

    /// The first coflow that has not ended although there are no more events, and whether it has
    /// been released.
    pub fn stuck(&self, traffic: &Traffic) -> Option<(&str, bool)> {
        let first = self.parts.records.first_unfinished()?;
        if self.parts.regroups {
            let is_released = self.parts.records.is_released(first as u32);
            return Some((&self.workload.coflows[first].id, is_released));
        }
        let released = traffic.state().present().first().map(|&id| self.parts.ids.trace_index(id));
        let trace_index = released.map_or(first, |trace_index| trace_index as usize);
        Some((&self.workload.coflows[trace_index].id, released.is_some()))
    }

    /// Releases a coflow. Returns the event of which the policy is to be told.
    fn release(&mut self, traffic: &mut Traffic, trace_index: u32) -> Event {
        let named = self.parts.sees_coflows.then(|| self.register(traffic, trace_index));
        let coflow = &self.workload.coflows[trace_index as usize];
        let now = traffic.now();
        self.parts.records.release(trace_index, now);
        for (index, flow) in (0..).zip(&coflow.flows) {
            let parts = &mut *self.parts;
            let start = now + flow.start_s;
            let in_trace = FlowOf { coflow: trace_index, flow: index };
            parts.records.start_flow(parts.ids.number(in_trace), start);
            if !start.due(now) {
                parts.calendar.start_later(start, in_trace);
            } else if let Some(coflow) = named {
                self.start_flow(traffic, FlowId { coflow, index });
            } else {
                self.let_arrive(traffic, in_trace);
            }
        }
        let width = coflow.flows.len();
        for restart in coflow.restarts.iter().filter(|restart| (restart.flow as usize) < width) {
            let flow = FlowOf { coflow: trace_index, flow: restart.flow };
            self.parts.calendar.restart_later(now + restart.at_s, flow);
        }
        named.map_or(Event::FlowsArrived, Event::CoflowArrived)
    }

    /// Registers a coflow under its name.
    fn register(&mut self, traffic: &mut Traffic, trace_index: u32) -> CoflowId {
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
            ratio: coflow.compressible.ratio_of_coflow(),
            tenant: parts.tenants.get(trace_index as usize).copied().unwrap_or_default(),
        };
        let flows = (0..).zip(&coflow.flows);
        let cluster = &parts.cluster;
        let flows = flows
            .map(|(index, flow)| cluster.spec(FlowOf { coflow: trace_index, flow: index }, flow));
        let id = traffic.register(registration, flows);
        let parents = coflow.parents.iter().map(|&parent| u64::from(parent));
        traffic.state_mut().set_parents(id, parents);
        for &(index, ratio) in coflow.compressible.own_ratios() {
            traffic.state_mut().set_ratio(FlowId { coflow: id, index }, ratio);
        }
        parts.dags.begin(lineage, id);
        parts.watch.add(Sender::Dag(lineage.external));
        parts.transfers.admit(traffic, id);
        parts.ids.set(trace_index, id);
        if parts.regroups {
            let flows = (0..coflow.flows.len() as u32).map(|index| FlowId { coflow: id, index });
            parts.ids.rename(traffic.state(), &flows.collect::<Vec<_>>());
        }
        id
    }

    /// A flow of a coflow under its name starts; one without bytes ends at once.
    pub(super) fn start_flow(&mut self, traffic: &mut Traffic, flow: FlowId) {
        let position = traffic.state().coflow(flow.coflow).demand().position(flow.index);
        if !self.parts.transfers.start(traffic, flow) {
            self.end_flow(traffic, flow.coflow, position);
        }
        self.parts.transfers.note_start(flow.coflow, position);
        self.look_for_paths(traffic, &[flow]);
    }

    /// A flow starts whose coflow the policy does not see; one without bytes ends at once.
    pub(super) fn let_arrive(&mut self, traffic: &mut Traffic, in_trace: FlowOf) {
        let flow = &self.workload.coflows[in_trace.coflow as usize].flows[in_trace.flow as usize];
        let now = traffic.now();
        let spec = self.parts.cluster.spec(in_trace, flow);
        if spec.bytes <= 0.0 {
            self.carried(in_trace, now);
            return self.record_end(in_trace, None, now);
        }
        let seen = self.parts.observed[self.parts.ids.number(in_trace)];
        traffic.state_mut().arrive(Newcomer {
            number: self.present_number(in_trace),
            spec,
            observed: Observed { start_s: now.as_secs(), ..seen },
        });
    }

    fn end_flow(&mut self, traffic: &mut Traffic, id: CoflowId, position: usize) {
        self.parts.transfers.before_end(traffic, id, position);
        traffic.finish(id, position);
        let coflow = traffic.state().coflow(id);
        let index = coflow.demand().index(position);
        let in_trace = flow_in_trace(traffic.state(), FlowId { coflow: id, index });
        let in_trace = self.parts.ids.in_trace(in_trace);
        self.carried(in_trace, traffic.now());
        self.record_end(in_trace, Some(coflow.compressed()), traffic.now());
    }

    /// Accounts for a flow that has ended: as cancelled if nobody needed it before it started, or
    /// its bytes as wasted if another attempt of its transfer has carried them.
    #[inline]
    fn carried(&mut self, in_trace: FlowOf, now: Time) {
        if self.parts.cluster.is_cancelled(in_trace) {
            return self.record_cancelled(in_trace, now);
        }
        if self.parts.cluster.ended(in_trace) {
            let coflow = &self.workload.coflows[in_trace.coflow as usize];
            let bytes = coflow.flows[in_trace.flow as usize].bytes;
            self.parts.records.waste(in_trace.coflow, bytes);
        }
    }

    #[inline]
    pub(super) fn record_end(&mut self, in_trace: FlowOf, made: Option<&Compressed>, now: Time) {
        let parts = &mut *self.parts;
        let (trace_index, number) = (in_trace.coflow, parts.ids.number(in_trace));
        parts.ids.end_flow(number);
        if !parts.records.end_flow(trace_index, number, now) {
            return;
        }
        parts.records.end_coflow(trace_index, made, now);
        if parts.regroups {
            // No group's end says so.
            parts.calendar.release_children(self.workload, trace_index, now);
            parts.records.count_done();
        }
    }

    /// Whether a flow has started and not ended. The coflow of that name may have left, and its id
    /// may be that of another.
    fn under_way(&self, traffic: &Traffic, in_trace: FlowOf) -> Option<FlowId> {
        let flow = self.parts.ids.flow(in_trace)?;
        if self.parts.records.has_ended(in_trace.coflow) {
            return None;
        }
        let coflow = traffic.state().coflow(flow.coflow);
        let is_active = coflow.demand().is_active(coflow.demand().position(flow.index));
        let is_under_way = is_active || coflow.is_suspended(flow.index);
        let named = self.parts.ids.in_trace(flow_in_trace(traffic.state(), flow));
        (is_under_way && named == in_trace).then_some(flow)
    }

    /// A flow under way begins again.
    fn restart(&mut self, traffic: &mut Traffic, in_trace: FlowOf, flow: FlowId) {
        let lost = |traffic: &Traffic| traffic.state().coflow(flow.coflow).lost_bytes();
        let before = lost(traffic);
        if traffic.state().coflow(flow.coflow).is_suspended(flow.index) {
            self.interrupt(traffic);
            traffic.restart(flow);
        } else {
            self.parts.transfers.restart(traffic, flow);
        }
        self.parts.records.waste(in_trace.coflow, lost(traffic) - before);
    }
}

fn sent<'a>(transfers: &'a Transfers, dags: &'a Dags, traffic: &'a Traffic) -> Sent<'a> {
    Sent { flows: transfers.integration(), dags, traffic }
}

impl World for SimulatedWorld<'_> {
    fn end_flows(&mut self, traffic: &mut Traffic) {
        let mut ending = std::mem::take(&mut self.parts.ending);
        ending.clear();
        self.parts.transfers.find_ending(traffic, &mut ending);
        for &flow in &ending {
            // A flow with a rate of its own beside a level is found twice.
            if traffic.state().coflow(flow.coflow).demand().is_active(flow.place()) {
                self.end_flow(traffic, flow.coflow, flow.place());
            }
        }
        self.parts.ending = ending;
        self.parts.transfers.advance_processors(traffic);
    }

    fn next_change(&mut self, traffic: &mut Traffic) -> Option<Change> {
        self.take_change(traffic)
    }

    fn begin_next(&mut self, traffic: &mut Traffic) -> Option<Event> {
        let now = traffic.now();
        if let Some(trace_index) = self.parts.calendar.pop_release(now) {
            return Some(self.release(traffic, trace_index));
        }
        while let Some(in_trace) = self.parts.calendar.pop_start(now) {
            if self.parts.records.has_flow_ended(self.parts.ids.number(in_trace)) {
                // The flow was cancelled before it started.
                continue;
            }
            if self.parts.sees_coflows {
                let flow = self.parts.ids.flow(in_trace).expect("a flow of a registered coflow");
                self.start_flow(traffic, flow);
                return Some(Event::FlowsStarted(flow.coflow));
            }
            self.let_arrive(traffic, in_trace);
            return Some(Event::FlowsArrived);
        }
        while let Some(in_trace) = self.parts.calendar.pop_restart(now) {
            if let Some(flow) = self.under_way(traffic, in_trace) {
                self.restart(traffic, in_trace, flow);
                return Some(Event::FlowRestarted(flow));
            }
        }
        None
    }

    fn take_due(&mut self, traffic: &Traffic, wakes: &mut Wakes, due: &mut Vec<(u64, Wake)>) {
        let Parts { transfers, watch, dags, .. } = &mut *self.parts;
        watch.take_due(wakes, &sent(transfers, dags, traffic), due);
    }

    fn find_thresholds_reached(&mut self, traffic: &Traffic, reached: &mut Vec<Event>) {
        let (state, now) = (traffic.state(), traffic.now());
        let coflows = self.parts.transfers.coflows_mut();
        coflows.find_thresholds_reached(state, now);
        for k in 0..coflows.found().len() {
            let id = coflows.found()[k];
            coflows.take_thresholds_reached(id, state.coflow(id), now, |link, bytes| {
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
        let Parts { calendar, ids, transfers, records, regroups, departed, .. } = &mut *self.parts;
        *departed += 1;
        transfers.forget(id);
        if !*regroups {
            calendar.release_children(self.workload, ids.trace_index(id), traffic.now());
            records.count_done();
        }
    }

    fn before_regrouping(&mut self, traffic: &mut Traffic, coflows: &[CoflowId]) {
        if self.parts.transfers.is_flow_level() {
            self.interrupt(traffic);
        } else {
            self.parts.transfers.before_regrouping(traffic, coflows);
        }
    }

    fn group_begun(&mut self, traffic: &Traffic, id: CoflowId) {
        let Parts { dags, watch, transfers, .. } = &mut *self.parts;
        let lineage = traffic.state().coflow(id).registration.lineage;
        dags.begin(lineage, id);
        watch.add(Sender::Dag(lineage.external));
        transfers.admit(traffic, id);
    }

    fn regrouped(&mut self, traffic: &mut Traffic, flows: &[FlowId]) {
        self.parts.ids.rename(traffic.state(), flows);
        for &flow in flows {
            let in_trace = flow_in_trace(traffic.state(), flow);
            let compressible = &self.workload.coflows[in_trace.coflow as usize].compressible;
            if let Some(ratio) = compressible.ratio_of(in_trace.flow) {
                traffic.state_mut().set_ratio(flow, ratio);
            }
        }
        self.look_for_paths(traffic, flows);
    }

    fn plan_changed(
        &mut self,
        traffic: &mut Traffic,
        ranking: &Ranking,
        _: Option<&[(Rank, Group)]>,
    ) {
        if !self.parts.transfers.compresses && ranking.compresses() {
            self.parts.records.leave_uncompressed();
        }
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
