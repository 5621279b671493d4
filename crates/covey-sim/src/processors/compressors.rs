//! The hosts' processors: the flow that each compresses, and the time at which it has no raw bytes
//! left.
//!
//! A processor compresses one flow at a time, at the codec's speed times the available share of the
//! processor. It serves the first coflow of the plan that has a flow for it: the longest such flow
//! or the first registered one, as the plan says. A coflow that moves ahead of another takes over
//! at once. The decision which flows to compress (Swallow, Eq. 3) is made when a coflow is first
//! served, when a flow starts, and when the processor's share changes. If it compares with the
//! bandwidth that coflows before it leave, it is made again for all coflows of the plan at these
//! times and with each plan.
//!
//! [`Compressed`](covey_core::Compressed) describes such a flow. A flow that is not sent while it
//! is compressed is *held*: allocators do not see it until its raw bytes are exhausted.

use covey_core::state::State;
use covey_core::{CoflowId, Compression, PortId, Ranking, Remaining, Time};
use covey_trace::Availability;

use super::jobs::{Job, Jobs};
use super::shares::Shares;
use crate::integration::{CoflowFluids, FlowAt, Network};

/// Sizes that differ by a smaller factor are the same: rounding must not decide which flow is
/// compressed first.
const SAME_SIZE: f64 = 1.0 + 1e-9;

/// A flow that will be held (hidden from allocators) or let go again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Toggle {
    pub coflow: CoflowId,
    /// The flow's position in its coflow's demand.
    pub position: usize,
    /// Whether the flow will be held.
    pub hold: bool,
}

/// The flows of one coflow that will be compressed.
#[derive(Debug, Default)]
struct Compressing {
    /// How they are compressed; `None` if the coflow's flows are sent as they are.
    compression: Option<Compression>,
    /// Number of the last plan that named the coflow.
    plan: u64,
    /// Hosts that compress a flow of the coflow, or could do so; one bit each.
    hosts: Vec<u64>,
    /// Positions of flows that wait for the processor, by local sender; the last is served first.
    waiting: Vec<Vec<u32>>,
}

/// The processors of all hosts.
#[derive(Debug, Default)]
pub(crate) struct Processors {
    shares: Shares,
    /// By [`CoflowId`].
    work: Vec<Compressing>,
    /// Coflows that are compressed, in the order of the plan.
    order: Vec<CoflowId>,
    /// Number of the plan in force.
    plan: u64,
    /// Working memory: the coflows that a new plan names.
    asked: Vec<(CoflowId, Compression)>,
    /// Flows of coflows that are compressed, which started in this round.
    started: Vec<FlowAt>,
    /// Whether to decide again for all coflows of which the decision depends on those before.
    is_undecided: bool,
    /// Working memory: what coflows before one leave.
    remaining: Remaining,
    /// Working memory: the unfinished flows of a coflow, by position, and whether to compress each.
    decided: Vec<(usize, bool)>,
    jobs: Jobs,
    /// Whether processors may have to change the flows that they serve.
    stale: bool,
    /// Working memory: hosts that have got a job, one bit each.
    taken: Vec<u64>,
    /// Flows that will be held or let go.
    toggles: Vec<Toggle>,
}

impl Processors {
    /// Sets the shares of processors for all runs from now on.
    pub(crate) fn set_availability(&mut self, availability: Availability) {
        self.shares.set(availability);
    }

    /// Processors of `ports` hosts without work.
    pub(crate) fn clear(&mut self, ports: usize) {
        self.shares.clear();
        self.work.iter_mut().for_each(|work| work.compression = None);
        self.order.clear();
        self.started.clear();
        self.is_undecided = false;
        self.jobs.clear(ports);
        self.stale = false;
        self.taken.clear();
        self.taken.resize(ports.div_ceil(64), 0);
        self.toggles.clear();
    }

    /// The time at which the next job runs out of raw bytes or a share changes; never if nothing is
    /// compressed.
    pub(crate) fn next(&self) -> Time {
        if self.order.is_empty() {
            return Time::NEVER;
        }
        self.jobs.next_end().min(self.shares.next())
    }

    /// Takes the flows that will be held or let go.
    pub(crate) fn take_toggles(&mut self) -> Vec<Toggle> {
        std::mem::take(&mut self.toggles)
    }

    /// Returns the memory of [`Processors::take_toggles`].
    pub(crate) fn keep(&mut self, mut toggles: Vec<Toggle>) {
        toggles.clear();
        self.toggles = toggles;
    }

    /// Ends the jobs whose raw bytes are exhausted, and changes shares.
    pub(crate) fn advance(&mut self, network: &mut Network<'_>, flows: &CoflowFluids) {
        if self.jobs.next_end().due(network.now) {
            for host in 0..self.jobs.hosts() {
                if self.jobs.end(host).due(network.now) {
                    self.exhaust(host, network, flows);
                }
            }
            self.jobs.find_next_end();
        }
        while let Some(change) = self.shares.pop(network.now) {
            let hosts = match change.port {
                Some(port) => port as usize..port as usize + 1,
                None => 0..self.jobs.hosts(),
            };
            for host in hosts {
                let port = PortId(host as u32);
                if network.state.processor(port) != change.share {
                    self.stop(host, network, flows);
                    network.state.set_processor(port, change.share);
                    self.decide_at(host, network.state);
                }
            }
        }
    }

    /// A host's job has no raw bytes left.
    fn exhaust(&mut self, host: usize, network: &mut Network<'_>, flows: &CoflowFluids) {
        self.record(host, network, flows);
        let Some(job) = self.jobs.take(host) else { return };
        let position = job.position as usize;
        let compressed = network.state.compressed_mut(job.coflow);
        if job.overlap {
            network.allocator.set_compression_rate(job.coflow, position, 0.0);
        } else {
            compressed.compress_held(position, job.raw, job.ratio);
            compressed.account(job.raw * (1.0 - job.ratio), 0.0);
            self.toggles.push(Toggle { coflow: job.coflow, position, hold: false });
        }
        compressed.set_raw(position, 0.0);
        self.stale = true;
    }

    /// Records the bytes that a host has compressed up to now.
    fn record(&mut self, host: usize, network: &mut Network<'_>, flows: &CoflowFluids) {
        let Some(mut job) = self.jobs.get(host) else { return };
        let dt = (network.now - job.since).max(0.0);
        if dt == 0.0 {
            return;
        }
        job.since = network.now;
        let position = job.position as usize;
        let raw = (job.speed * dt).min(job.raw);
        job.raw -= raw;
        let less = raw * (1.0 - job.ratio);
        let mut end = self.jobs.end(host);
        if job.overlap {
            job.raw = job.raw.min(volume(network, flows, job.coflow, position));
            end = network.now + job.raw / job.speed;
        }
        self.jobs.set(host, job, end);
        let compressed = network.state.compressed_mut(job.coflow);
        compressed.account(less, job.share * dt);
        if job.overlap {
            compressed.set_raw(position, job.raw);
        } else {
            compressed.compress_held(position, raw, job.ratio);
        }
    }

    /// Records the bytes that all hosts have compressed up to now.
    pub(crate) fn record_all(&mut self, network: &mut Network<'_>, flows: &CoflowFluids) {
        if !self.order.is_empty() {
            (0..self.jobs.hosts()).for_each(|host| self.record(host, network, flows));
        }
    }

    /// Records the bytes left of flows that are sent and compressed. Call it before the rates of
    /// their coflows change.
    pub(crate) fn before_rates_change(&mut self, network: &mut Network<'_>, flows: &CoflowFluids) {
        if self.order.is_empty() {
            return;
        }
        for k in 0..network.allocator.changed().len() {
            self.settle_coflow(network.allocator.changed()[k], network, flows);
        }
    }

    /// Records the bytes that hosts have compressed of a coflow's flows that are sent meanwhile.
    fn settle_coflow(&mut self, coflow: CoflowId, network: &mut Network<'_>, flows: &CoflowFluids) {
        if !self.compression(coflow).is_some_and(|compression| compression.overlap) {
            return;
        }
        for host in 0..self.jobs.hosts() {
            if self.jobs.serves(host, coflow) {
                self.record(host, network, flows);
            }
        }
        self.jobs.find_next_end();
    }

    /// A flow has started.
    pub(crate) fn flow_started(&mut self, coflow: CoflowId, position: usize) {
        if self.compression(coflow).is_some() {
            self.started.push(FlowAt::new(coflow, position));
        }
    }

    /// A flow restarts: the decision to compress it is made again, and it may be sent until then.
    pub(crate) fn restart(
        &mut self,
        coflow: CoflowId,
        position: usize,
        network: &mut Network<'_>,
        flows: &CoflowFluids,
    ) {
        if !network.state.coflow(coflow).unfinished().is_active(position) {
            return;
        }
        self.stop_all_of(coflow, network, flows);
        let sender = network.state.coflow(coflow).demand().sender_of(position);
        self.work[coflow.index()].waiting[sender].retain(|&p| p as usize != position);
        self.stale = true;
        self.toggles.push(Toggle { coflow, position, hold: false });
        self.flow_started(coflow, position);
    }

    /// A flow has ended, maybe while it was compressed.
    pub(crate) fn flow_ended(
        &mut self,
        coflow: CoflowId,
        position: usize,
        network: &mut Network<'_>,
        flows: &CoflowFluids,
    ) {
        if self.compression(coflow).is_none() {
            return;
        }
        let demand = network.state.coflow(coflow).demand();
        let host = demand.links()[demand.sender_of(position)].index();
        let is_it = |job: Job| job.coflow == coflow && job.position as usize == position;
        if self.jobs.get(host).is_some_and(is_it) {
            self.record(host, network, flows);
            network.allocator.set_compression_rate(coflow, position, 0.0);
            self.jobs.take(host);
            self.jobs.find_next_end();
            self.stale = true;
        }
    }

    /// A coflow has ended: its id may be used again.
    pub(crate) fn forget(&mut self, coflow: CoflowId) {
        let work = self.work.get_mut(coflow.index());
        if work.is_some_and(|work| work.compression.take().is_some()) {
            self.order.retain(|&c| c != coflow);
        }
    }

    fn compression(&self, coflow: CoflowId) -> Option<Compression> {
        self.work.get(coflow.index()).and_then(|work| work.compression)
    }

    /// Follows a new plan, if there is one, and decides whether to compress flows that have
    /// started.
    pub(crate) fn plan(
        &mut self,
        ranking: Option<&Ranking>,
        network: &mut Network<'_>,
        flows: &CoflowFluids,
    ) {
        let is_of_use = |ranking: &&Ranking| ranking.compresses() || !self.order.is_empty();
        if let Some(ranking) = ranking.filter(is_of_use) {
            self.replan(ranking, network, flows);
        }
        while let Some(flow) = self.started.pop() {
            let (coflow, position) = (flow.coflow, flow.place());
            let demand = network.state.coflow(coflow).unfinished();
            let Some(compression) = self.compression(coflow) else { continue };
            if compression.follows_others() {
                self.is_undecided = true;
            } else if demand.is_active(position) {
                let sender = demand.sender_of(position);
                self.decide(coflow, position, network.state);
                self.sort(coflow, sender, network.state);
                self.stale = true;
            }
        }
        if std::mem::take(&mut self.is_undecided) {
            self.decide_by_order(network, flows);
        }
    }

    /// Decides again, in the order of the plan, which flows are compressed.
    fn decide_by_order(&mut self, network: &mut Network<'_>, flows: &CoflowFluids) {
        let mut remaining = std::mem::take(&mut self.remaining);
        remaining.begin(network.state);
        for k in 0..self.order.len() {
            let id = self.order[k];
            let Some(compression) = self.compression(id) else { continue };
            if compression.follows_others() {
                self.decide_coflow(id, &compression, &mut remaining, network, flows);
            } else {
                let demand = network.state.coflow(id).demand();
                remaining.take(demand, demand.active());
            }
        }
        self.remaining = remaining;
        self.stale = true;
    }

    /// Decides again which flows of a coflow are compressed, and goes on to the next coflow.
    fn decide_coflow(
        &mut self,
        id: CoflowId,
        compression: &Compression,
        remaining: &mut Remaining,
        network: &mut Network<'_>,
        flows: &CoflowFluids,
    ) {
        let mut decided = std::mem::take(&mut self.decided);
        decided.clear();
        let coflow = network.state.coflow(id);
        let (demand, senders) = (coflow.demand(), coflow.demand().senders());
        for sender in 0..senders {
            decided.extend(coflow.unfinished().active_in_row(sender).map(|position| {
                let bandwidth = remaining.of(demand, position);
                (position, network.state.compressing_pays(id, position, compression, bandwidth))
            }));
        }
        let sent = decided.iter().filter(|(_, pays)| !pays).map(|&(position, _)| position);
        remaining.take(demand, sent);
        let pays = |position| decided.iter().any(|&(other, pays)| other == position && pays);
        for host in 0..self.jobs.hosts() {
            let job = self.jobs.get(host).filter(|job| job.coflow == id);
            if job.is_some_and(|job| !pays(job.position as usize)) {
                self.stop(host, network, flows);
            }
        }
        self.work[id.index()].waiting[..senders].iter_mut().for_each(Vec::clear);
        for &(position, pays) in &decided {
            self.apply(id, position, pays, compression, network.state);
        }
        (0..senders).for_each(|sender| self.sort(id, sender, network.state));
        self.decided = decided;
    }

    fn replan(&mut self, ranking: &Ranking, network: &mut Network<'_>, flows: &CoflowFluids) {
        self.plan += 1;
        self.order.clear();
        self.stale = true;
        self.is_undecided = false;
        self.work.resize_with(network.state.slots(), Compressing::default);
        let mut asked = std::mem::take(&mut self.asked);
        asked.extend(ranking.compressed(network.state.present()));
        for (id, compression) in asked.drain(..) {
            if network.state.is_present(id) {
                self.admit(id, compression, network, flows);
            }
        }
        self.asked = asked;
    }

    /// The plan compresses a coflow. Only its first entry with compression counts.
    fn admit(
        &mut self,
        id: CoflowId,
        compression: Compression,
        network: &mut Network<'_>,
        flows: &CoflowFluids,
    ) {
        if self.work[id.index()].plan == self.plan {
            return;
        }
        self.work[id.index()].plan = self.plan;
        self.order.push(id);
        self.is_undecided |= compression.follows_others();
        let before = self.work[id.index()].compression.replace(compression);
        if before == Some(compression) {
            return;
        }
        if before.is_some() {
            self.stop_all_of(id, network, flows);
        }
        network.state.compress(id);
        let senders = network.state.coflow(id).demand().senders();
        let work = &mut self.work[id.index()];
        work.hosts.clear();
        work.hosts.resize(self.taken.len(), 0);
        if work.waiting.len() < senders {
            work.waiting.resize_with(senders, Vec::new);
        }
        if compression.follows_others() {
            return;
        }
        for sender in 0..senders {
            self.decide_row(id, sender, network.state);
        }
    }

    /// Decides again which flows of a host are compressed.
    fn decide_at(&mut self, host: usize, state: &State) {
        for k in 0..self.order.len() {
            let id = self.order[k];
            let demand = state.coflow(id).demand();
            if self.compression(id).is_some_and(|compression| compression.follows_others()) {
                self.is_undecided = true;
            } else if demand.set().contains(host) {
                self.decide_row(id, demand.local(host), state);
            }
        }
        self.stale = true;
    }

    /// Decides again which flows of a sender are compressed; none of them may have a job.
    fn decide_row(&mut self, id: CoflowId, sender: usize, state: &State) {
        self.work[id.index()].waiting[sender].clear();
        for position in state.coflow(id).unfinished().active_in_row(sender) {
            self.decide(id, position, state);
        }
        self.sort(id, sender, state);
    }

    /// Decides whether a flow is compressed (Eq. 3), and whether it is held.
    fn decide(&mut self, id: CoflowId, position: usize, state: &State) {
        let Some(compression) = self.compression(id) else { return };
        let bandwidth = state.path_capacity(id, position);
        let pays = state.compressing_pays(id, position, &compression, bandwidth);
        self.apply(id, position, pays, &compression, state);
    }

    /// Has a flow compressed or not, as decided.
    fn apply(
        &mut self,
        id: CoflowId,
        position: usize,
        pays: bool,
        compression: &Compression,
        state: &State,
    ) {
        let demand = state.coflow(id).demand();
        let sender = demand.sender_of(position);
        let host = demand.links()[sender].index();
        let has_job = self
            .jobs
            .get(host)
            .is_some_and(|job| job.coflow == id && job.position as usize == position);
        if pays && !has_job {
            let work = &mut self.work[id.index()];
            work.waiting[sender].push(position as u32);
            work.hosts[host / 64] |= 1 << (host % 64);
        }
        let hold = pays && !compression.overlap;
        if hold == demand.is_active(position) {
            self.toggles.push(Toggle { coflow: id, position, hold });
        }
    }

    /// Sorts the waiting flows of a sender: the last is served first.
    fn sort(&mut self, id: CoflowId, sender: usize, state: &State) {
        let longest_first = self.compression(id).is_some_and(|c| c.longest_first);
        let size = &state.coflow(id).progress().size;
        let waiting = &mut self.work[id.index()].waiting[sender];
        if !longest_first {
            return waiting.sort_unstable_by(|a, b| b.cmp(a));
        }
        waiting.sort_unstable_by(|&a, &b| size[a as usize].total_cmp(&size[b as usize]));
        let is_same = |a: &u32, b: &u32| size[*b as usize] <= size[*a as usize] * SAME_SIZE;
        for same in waiting.chunk_by_mut(is_same) {
            same.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Gives each processor to the first coflow that has a flow for it. Call it after the held
    /// flows are as decided.
    pub(crate) fn assign(&mut self, network: &mut Network<'_>, flows: &CoflowFluids) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.taken.fill(0);
        for k in 0..self.order.len() {
            let id = self.order[k];
            for word in 0..self.taken.len() {
                let mut hosts = self.work[id.index()].hosts[word] & !self.taken[word];
                while hosts != 0 {
                    let bit = hosts & hosts.wrapping_neg();
                    hosts &= !bit;
                    let host = word * 64 + bit.trailing_zeros() as usize;
                    if self.serve(host, id, network, flows) {
                        self.taken[word] |= bit;
                    } else {
                        self.work[id.index()].hosts[word] &= !bit;
                    }
                }
            }
        }
        for host in 0..self.jobs.hosts() {
            if self.jobs.get(host).is_some() && self.taken[host / 64] >> (host % 64) & 1 == 0 {
                self.stop(host, network, flows);
            }
        }
        self.jobs.find_next_end();
    }

    /// Makes a host compress a flow of a coflow. Returns whether the coflow has a flow for it.
    fn serve(
        &mut self,
        host: usize,
        id: CoflowId,
        network: &mut Network<'_>,
        flows: &CoflowFluids,
    ) -> bool {
        if self.jobs.serves(host, id) {
            return true;
        }
        let Some(compression) = self.compression(id) else { return false };
        let coflow = network.state.coflow(id);
        let waiting = &mut self.work[id.index()].waiting[coflow.demand().local(host)];
        // Flows that were sent meanwhile may have ended.
        let unfinished = coflow.unfinished();
        while waiting.pop_if(|position| !unfinished.is_active(*position as usize)).is_some() {}
        let Some(position) = waiting.pop() else { return false };
        self.stop(host, network, flows);
        let coflow = network.state.coflow(id);
        let share = network.state.processor(PortId(host as u32));
        let ratio = coflow.ratio(position as usize, &compression);
        let volume = volume(network, flows, id, position as usize);
        let speed = compression.codec.speed * share;
        let raw = coflow.compressed().raw(position as usize, volume);
        let overlap = compression.overlap;
        let job =
            Job { coflow: id, position, overlap, ratio, share, speed, raw, since: network.now };
        self.jobs.set(host, job, network.now + raw / speed);
        if overlap {
            network.allocator.set_compression_rate(id, position as usize, speed * (1.0 - ratio));
        }
        true
    }

    /// Makes all hosts stop compressing flows of a coflow.
    fn stop_all_of(&mut self, id: CoflowId, network: &mut Network<'_>, flows: &CoflowFluids) {
        for host in 0..self.jobs.hosts() {
            if self.jobs.serves(host, id) {
                self.stop(host, network, flows);
            }
        }
    }

    /// Makes a host stop compressing a flow, which waits from now on.
    fn stop(&mut self, host: usize, network: &mut Network<'_>, flows: &CoflowFluids) {
        self.record(host, network, flows);
        let Some(job) = self.jobs.take(host) else { return };
        if job.overlap {
            network.allocator.set_compression_rate(job.coflow, job.position as usize, 0.0);
        }
        let sender = network.state.coflow(job.coflow).demand().local(host);
        self.work[job.coflow.index()].waiting[sender].push(job.position);
    }
}

/// Volume of an unfinished flow.
fn volume(network: &Network<'_>, flows: &CoflowFluids, id: CoflowId, position: usize) -> f64 {
    match network.state.coflow(id).compressed().held(position) {
        Some(volume) => volume,
        None => flows.left(network.state, FlowAt::new(id, position), network.now),
    }
}
