//! The hosts' processors: which flow each compresses, and when that has no raw bytes left.
//!
//! A processor compresses one flow at a time, at the codec's speed times the share of it that is
//! there. It serves coflows in the order of the plan, and of the first one that has something for it
//! the longest flow, or the first registered, as the plan says; a coflow that comes to stand before
//! another takes over at once. Which flows are to be compressed (Swallow, Eq. 3) is decided when a
//! coflow is first served, when a flow starts, and when the processor's share changes.
//!
//! What happens to a flow meanwhile is told in [`Compressed`](covey_core::Compressed). One that is
//! not to be sent is *held*: the engine takes it out of what allocators see until its raw bytes are
//! exhausted.

use covey_core::state::State;
use covey_core::{CoflowId, Compression, PortId, Ranking, Time};
use covey_trace::Availability;

use crate::integration::{CoflowFluids, Network};

/// Sizes that differ by less, relatively, are the same: who is compressed first is not for rounding to say.
const SAME_SIZE: f64 = 1.0 + 1e-9;

/// A flow that is compressed at present.
#[derive(Debug, Clone, Copy)]
struct Job {
    coflow: CoflowId,
    position: u32,
    overlap: bool,
    ratio: f64,
    /// Share of the processor that is there.
    share: f64,
    /// Raw bytes compressed in a second.
    speed: f64,
    /// Raw bytes left, at the time `since`.
    raw: f64,
    since: Time,
}

/// A flow to be held (taken out of what allocators see) or let go again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Toggle {
    pub coflow: CoflowId,
    pub position: usize,
    pub hold: bool,
}

/// What is to be compressed of one coflow.
#[derive(Debug, Default)]
struct Work {
    compression: Option<Compression>,
    /// The plan in which the coflow was met last.
    plan: u64,
    /// Hosts that compress a flow of it, or could; a bit each.
    hosts: Vec<u64>,
    /// By local sender, positions of flows that wait for the processor; the first to be served is
    /// the last.
    waiting: Vec<Vec<u32>>,
}

/// The processors of all hosts.
#[derive(Debug, Default)]
pub(crate) struct Processors {
    /// The shares of processors over time.
    availability: Availability,
    /// How many changes of `availability` have come.
    changes_done: usize,
    /// By [`CoflowId`].
    work: Vec<Work>,
    /// Coflows that are compressed, in the order of the plan.
    order: Vec<CoflowId>,
    plan: u64,
    /// What a new plan says, while it is taken over.
    asked: Vec<(CoflowId, Compression)>,
    /// Flows that started at this moment, of coflows that are compressed.
    started: Vec<(CoflowId, usize)>,
    /// What each host compresses, by host.
    jobs: Vec<Option<Job>>,
    /// When each host's job has no raw bytes left, by host.
    ends: Vec<Time>,
    /// The earliest of `ends`.
    next_end: Time,
    /// Whether processors may have to serve other flows than they do.
    stale: bool,
    /// Working memory: hosts that have got a job, one bit each.
    taken: Vec<u64>,
    /// Flows to be held or let go.
    toggles: Vec<Toggle>,
}

impl Processors {
    /// Sets the shares of processors for all runs from now on.
    pub(crate) fn set_availability(&mut self, availability: Availability) {
        self.availability = availability;
    }

    /// Processors of `ports` hosts without work.
    pub(crate) fn clear(&mut self, ports: usize) {
        self.changes_done = 0;
        self.work.iter_mut().for_each(|work| work.compression = None);
        self.order.clear();
        self.started.clear();
        self.jobs.clear();
        self.jobs.resize(ports, None);
        self.ends.clear();
        self.ends.resize(ports, Time::NEVER);
        self.next_end = Time::NEVER;
        self.stale = false;
        self.taken.clear();
        self.taken.resize(ports.div_ceil(64), 0);
        self.toggles.clear();
    }

    /// The next moment at which raw bytes are exhausted or the share of a processor changes; never
    /// if nothing is compressed.
    pub(crate) fn next(&self) -> Time {
        if self.order.is_empty() {
            return Time::NEVER;
        }
        let change = self.availability.changes().get(self.changes_done);
        self.next_end.min(change.map_or(Time::NEVER, |change| Time::from_secs(change.time_s)))
    }

    /// Takes what is to be held and to be let go.
    pub(crate) fn take_toggles(&mut self) -> Vec<Toggle> {
        std::mem::take(&mut self.toggles)
    }

    /// Gives the memory of [`Processors::take_toggles`] back.
    pub(crate) fn keep(&mut self, mut toggles: Vec<Toggle>) {
        toggles.clear();
        self.toggles = toggles;
    }

    /// Ends the flows' compression whose raw bytes are exhausted, and changes shares.
    pub(crate) fn advance(&mut self, network: &mut Network<'_>, flows: &CoflowFluids) {
        if self.next_end.due(network.now) {
            for host in 0..self.jobs.len() {
                if self.ends[host].due(network.now) {
                    self.exhaust(host, network, flows);
                }
            }
            self.find_next_end();
        }
        while let Some(&change) = self.availability.changes().get(self.changes_done) {
            if !Time::from_secs(change.time_s).due(network.now) {
                break;
            }
            self.changes_done += 1;
            let hosts = match change.port {
                Some(port) => port as usize..port as usize + 1,
                None => 0..self.jobs.len(),
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

    /// No raw bytes are left of the flow that a host compresses.
    fn exhaust(&mut self, host: usize, network: &mut Network<'_>, flows: &CoflowFluids) {
        self.settle(host, network, flows);
        let Some(job) = self.jobs[host].take() else { return };
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
        self.ends[host] = Time::NEVER;
        self.stale = true;
    }

    /// Writes down what a host has compressed up to `network.now`.
    fn settle(&mut self, host: usize, network: &mut Network<'_>, flows: &CoflowFluids) {
        let Some(job) = &mut self.jobs[host] else { return };
        let dt = (network.now - job.since).max(0.0);
        if dt == 0.0 {
            return;
        }
        job.since = network.now;
        let position = job.position as usize;
        let raw = (job.speed * dt).min(job.raw);
        job.raw -= raw;
        let less = raw * (1.0 - job.ratio);
        if job.overlap {
            job.raw = job.raw.min(volume(network.state, flows, job.coflow, position, network.now));
            self.ends[host] = network.now + job.raw / job.speed;
        }
        let compressed = network.state.compressed_mut(job.coflow);
        compressed.account(less, job.share * dt);
        if job.overlap {
            compressed.set_raw(position, job.raw);
        } else {
            compressed.compress_held(position, raw, job.ratio);
        }
    }

    /// Writes down what all hosts have compressed up to `network.now`.
    pub(crate) fn settle_all(&mut self, network: &mut Network<'_>, flows: &CoflowFluids) {
        if !self.order.is_empty() {
            (0..self.jobs.len()).for_each(|host| self.settle(host, network, flows));
        }
    }

    /// The rates of some coflows are about to change: writes down before that what is left of their
    /// flows that are sent and compressed.
    pub(crate) fn before_rates_change(&mut self, network: &mut Network<'_>, flows: &CoflowFluids) {
        if self.order.is_empty() {
            return;
        }
        for k in 0..network.allocator.changed().len() {
            self.settle_coflow(network.allocator.changed()[k], network, flows);
        }
    }

    /// Writes down what hosts have compressed of a coflow's flows that are sent meanwhile.
    fn settle_coflow(&mut self, coflow: CoflowId, network: &mut Network<'_>, flows: &CoflowFluids) {
        if !self.compression(coflow).is_some_and(|compression| compression.overlap) {
            return;
        }
        for host in 0..self.jobs.len() {
            if self.jobs[host].is_some_and(|job| job.coflow == coflow) {
                self.settle(host, network, flows);
            }
        }
        self.find_next_end();
    }

    /// A flow has started.
    pub(crate) fn flow_started(&mut self, coflow: CoflowId, position: usize) {
        if self.compression(coflow).is_some() {
            self.started.push((coflow, position));
        }
    }

    /// A flow begins anew: it is decided about again, and may be sent until then.
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
        for host in 0..self.jobs.len() {
            if self.jobs[host].is_some_and(|job| job.coflow == coflow) {
                self.stop(host, network, flows);
            }
        }
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
        if self.jobs[host].is_some_and(is_it) {
            self.settle(host, network, flows);
            network.allocator.set_compression_rate(coflow, position, 0.0);
            self.jobs[host] = None;
            self.ends[host] = Time::NEVER;
            self.find_next_end();
            self.stale = true;
        }
    }

    /// A coflow has ended: its number may be used again.
    pub(crate) fn forget(&mut self, coflow: CoflowId) {
        let work = self.work.get_mut(coflow.index());
        if work.is_some_and(|work| work.compression.take().is_some()) {
            self.order.retain(|&c| c != coflow);
        }
    }

    fn compression(&self, coflow: CoflowId) -> Option<Compression> {
        self.work.get(coflow.index()).and_then(|work| work.compression)
    }

    /// Takes over what a new plan says, if there is one, and decides about flows that have started.
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
        while let Some((coflow, position)) = self.started.pop() {
            let demand = network.state.coflow(coflow).unfinished();
            if self.compression(coflow).is_some() && demand.is_active(position) {
                let sender = demand.sender_of(position);
                self.decide(coflow, position, network.state);
                self.sort(coflow, sender, network.state);
                self.stale = true;
            }
        }
    }

    fn replan(&mut self, ranking: &Ranking, network: &mut Network<'_>, flows: &CoflowFluids) {
        self.plan += 1;
        self.order.clear();
        self.stale = true;
        self.work.resize_with(network.state.slots(), Work::default);
        let mut asked = std::mem::take(&mut self.asked);
        asked.extend(ranking.compressed(network.state.present()));
        for (id, compression) in asked.drain(..) {
            if network.state.is_present(id) {
                self.admit(id, compression, network, flows);
            }
        }
        self.asked = asked;
    }

    /// A coflow's first entry in a plan is to be compressed.
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
        let before = self.work[id.index()].compression.replace(compression);
        if before == Some(compression) {
            return;
        }
        if before.is_some() {
            for host in 0..self.jobs.len() {
                if self.jobs[host].is_some_and(|job| job.coflow == id) {
                    self.stop(host, network, flows);
                }
            }
        }
        network.state.compress(id);
        let senders = network.state.coflow(id).demand().senders();
        let work = &mut self.work[id.index()];
        work.hosts.clear();
        work.hosts.resize(self.taken.len(), 0);
        if work.waiting.len() < senders {
            work.waiting.resize_with(senders, Vec::new);
        }
        for sender in 0..senders {
            self.decide_row(id, sender, network.state);
        }
    }

    /// Decides anew about all flows of a host.
    fn decide_at(&mut self, host: usize, state: &State) {
        for k in 0..self.order.len() {
            let id = self.order[k];
            let demand = state.coflow(id).demand();
            if demand.set().contains(host) {
                self.decide_row(id, demand.local(host), state);
            }
        }
        self.stale = true;
    }

    /// Decides anew about all flows of a sender, none of which is compressed at present.
    fn decide_row(&mut self, id: CoflowId, sender: usize, state: &State) {
        self.work[id.index()].waiting[sender].clear();
        for position in state.coflow(id).unfinished().active_in_row(sender) {
            self.decide(id, position, state);
        }
        self.sort(id, sender, state);
    }

    /// Decides whether a flow is to be compressed (Eq. 3), and so whether it is held.
    fn decide(&mut self, id: CoflowId, position: usize, state: &State) {
        let coflow = state.coflow(id);
        let Some(compression) = self.compression(id) else { return };
        let demand = coflow.demand();
        let sender = demand.sender_of(position);
        let host = demand.links()[sender].index();
        let pays = state.compressing_pays(id, position, &compression);
        let work = &mut self.work[id.index()];
        if pays {
            work.waiting[sender].push(position as u32);
            work.hosts[host / 64] |= 1 << (host % 64);
        }
        let hold = pays && !compression.overlap;
        if hold == demand.is_active(position) {
            self.toggles.push(Toggle { coflow: id, position, hold });
        }
    }

    /// Puts those of a sender's flows last that are to be served first.
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

    /// Gives every processor to the first coflow that has something for it. To be called when flows
    /// are held as decided.
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
        for host in 0..self.jobs.len() {
            if self.jobs[host].is_some() && self.taken[host / 64] >> (host % 64) & 1 == 0 {
                self.stop(host, network, flows);
            }
        }
        self.find_next_end();
    }

    /// Has a host compress a flow of a coflow. Returns whether there is one.
    fn serve(
        &mut self,
        host: usize,
        id: CoflowId,
        network: &mut Network<'_>,
        flows: &CoflowFluids,
    ) -> bool {
        if self.jobs[host].is_some_and(|job| job.coflow == id) {
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
        let ratio = compression.ratio(coflow.progress().size[position as usize]);
        let volume = volume(network.state, flows, id, position as usize, network.now);
        let speed = compression.codec.speed * share;
        let raw = coflow.compressed().raw(position as usize, volume);
        let overlap = compression.overlap;
        let job =
            Job { coflow: id, position, overlap, ratio, share, speed, raw, since: network.now };
        self.jobs[host] = Some(job);
        self.ends[host] = network.now + raw / speed;
        if overlap {
            network.allocator.set_compression_rate(id, position as usize, speed * (1.0 - ratio));
        }
        true
    }

    /// Has a host stop compressing a flow, which waits from now on.
    fn stop(&mut self, host: usize, network: &mut Network<'_>, flows: &CoflowFluids) {
        self.settle(host, network, flows);
        let Some(job) = self.jobs[host].take() else { return };
        self.ends[host] = Time::NEVER;
        if job.overlap {
            network.allocator.set_compression_rate(job.coflow, job.position as usize, 0.0);
        }
        let sender = network.state.coflow(job.coflow).demand().local(host);
        self.work[job.coflow.index()].waiting[sender].push(job.position);
    }

    fn find_next_end(&mut self) {
        self.next_end = self.ends.iter().fold(Time::NEVER, |a, &b| if b < a { b } else { a });
    }
}

/// Volume of an unfinished flow at `now`.
fn volume(state: &State, flows: &CoflowFluids, id: CoflowId, position: usize, now: Time) -> f64 {
    match state.coflow(id).compressed().held(position) {
        Some(volume) => volume,
        None => flows.left(state, id, position, now),
    }
}
