//! All coflows that are present.

use super::coflow::{CoflowState, Finished, FlowSpec, Newcomer, Progress, Registration, Reserved};
use super::dirty::Dirty;
use super::part::Part;
use crate::compression::codec::{Codec, Compression};
use crate::compression::compressed::Compressed;
use crate::demand::{Builder, Demand};
use crate::fabric::Fabric;
use crate::values::ids::{CoflowId, FlowId, LinkId, PortId};
use crate::values::time::Time;

/// All coflows present, and the fabric they share.
#[derive(Debug)]
pub struct State {
    fabric: Fabric,
    dirty: Dirty,
    /// By [`CoflowId`].
    slots: Vec<CoflowState>,
    /// The coflows that are present, in the order of [`State::order`].
    present: Vec<CoflowId>,
    /// Ids that are not in use.
    vacant: Vec<CoflowId>,
    /// Flows that have started and belong to no coflow yet, in order of their starts.
    newcomers: Vec<Newcomer>,
    /// Working memory.
    builder: Builder,
    /// Share of each port's processor that is available for compressing; empty if all of it is.
    processors: Vec<f64>,
    /// The speed and the ratio of the hosts' compressor, if they were measured.
    measured_codec: Option<Codec>,
    /// Bytes per second that links carry beside the coflows, by link; empty if none.
    other_traffic: Vec<f64>,
}

impl State {
    /// No coflows yet.
    pub fn new(fabric: Fabric) -> State {
        let mut dirty = Dirty::default();
        dirty.clear(fabric.links());
        State {
            fabric,
            dirty,
            slots: Vec::new(),
            present: Vec::new(),
            vacant: Vec::new(),
            newcomers: Vec::new(),
            builder: Builder::default(),
            processors: Vec::new(),
            measured_codec: None,
            other_traffic: Vec::new(),
        }
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Forgets all coflows and keeps the memory they used, so that the same history again takes
    /// no new memory.
    pub fn clear(&mut self) {
        for id in self.present.drain(..) {
            self.slots[id.index()].present = false;
        }
        self.newcomers.clear();
        self.dirty.clear(self.fabric.links());
        self.processors.clear();
        self.other_traffic.clear();
        self.measured_codec = None;
        self.vacant.clear();
        self.vacant.extend((0..self.slots.len() as u32).rev().map(CoflowId));
    }

    /// The speed and the ratio of the hosts' compressor, if they were measured.
    pub fn measured_codec(&self) -> Option<Codec> {
        self.measured_codec
    }

    /// Writes down the measured speed and ratio of the hosts' compressor.
    pub fn set_measured_codec(&mut self, codec: Option<Codec>) {
        self.measured_codec = codec;
    }

    /// Share of a port's processor that is available for compressing, of a processor as fast as the
    /// codec says. It is 1 unless set.
    pub fn processor(&self, port: PortId) -> f64 {
        self.processors.get(port.index()).copied().unwrap_or(1.0)
    }

    /// Writes down what share of a port's processor is available for compressing.
    pub fn set_processor(&mut self, port: PortId, share: f64) {
        self.processors.resize(self.fabric.ports() as usize, 1.0);
        self.processors[port.index()] = share;
    }

    /// Bytes per second that links carry beside the coflows, by link; empty if none.
    pub fn other_traffic(&self) -> &[f64] {
        &self.other_traffic
    }

    /// Writes down how many bytes per second a link carries beside the coflows.
    pub fn set_other_traffic(&mut self, link: LinkId, rate: f64) {
        self.other_traffic.resize(self.fabric.links(), 0.0);
        self.other_traffic[link.index()] = rate;
    }

    /// Coflows present, in the order of [`State::order`].
    pub fn present(&self) -> &[CoflowId] {
        &self.present
    }

    /// Exchanges the capacity of links and the list of coflows that are present with those of a
    /// part of the network. Whoever swaps swaps back: all else stays as it is.
    pub fn swap(&mut self, part: &mut Part) {
        self.fabric.swap_capacity(&mut part.capacity);
        std::mem::swap(&mut self.present, &mut part.present);
    }

    /// Whether a coflow is present.
    pub fn is_present(&self, id: CoflowId) -> bool {
        self.slots.get(id.index()).is_some_and(|coflow| coflow.present)
    }

    /// One more than the greatest id that was ever in use: arrays by [`CoflowId`] have this length.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The facts about a coflow.
    pub fn coflow(&self, id: CoflowId) -> &CoflowState {
        &self.slots[id.index()]
    }

    /// The key by which coflows present are in order: arrival, then place in the trace.
    pub fn order(&self, id: CoflowId) -> (Time, u64) {
        let registration = &self.slots[id.index()].registration;
        (registration.arrival, registration.seq)
    }

    /// Flows that have started and belong to no coflow yet, in order of their starts.
    pub fn newcomers(&self) -> &[Newcomer] {
        &self.newcomers
    }

    /// A flow has started that belongs to no coflow.
    pub fn arrive(&mut self, newcomer: Newcomer) {
        self.newcomers.push(newcomer);
    }

    /// A newcomer has ended, or nobody knows of it any more, before a policy has put it into a
    /// group.
    pub fn forget_newcomer(&mut self, number: u64) {
        self.newcomers.retain(|newcomer| newcomer.number != number);
    }

    /// Removes the newcomers with these numbers. Returns them, in the order of `numbers`.
    ///
    /// # Panics
    /// If a number occurs twice, or no newcomer has it.
    pub fn take_newcomers(&mut self, numbers: &[u64]) -> Vec<Newcomer> {
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_unstable_by_key(|&k| numbers[k]);
        let mut taken: Vec<Option<Newcomer>> = vec![None; numbers.len()];
        self.newcomers.retain(|newcomer| {
            let place = order.binary_search_by_key(&newcomer.number, |&k| numbers[k]);
            place.map(|place| taken[order[place]] = Some(*newcomer)).is_err()
        });
        taken.into_iter().map(|taken| taken.expect("a number of one newcomer")).collect()
    }

    /// Adds a coflow. None of its flows has started. Ports must exist in the fabric.
    pub fn register(
        &mut self,
        registration: Registration,
        flows: impl Iterator<Item = FlowSpec> + Clone,
    ) -> CoflowId {
        let id = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(CoflowState::vacant());
            CoflowId(self.slots.len() as u32 - 1)
        });
        self.slots[id.index()].registration = registration;
        // Mostly at the end.
        let order = self.order(id);
        let last = self.present.last().is_none_or(|&last| self.order(last) <= order);
        let place = if last { self.present.len() } else { self.place_of(order) };
        self.present.insert(place, id);
        let coflow = &mut self.slots[id.index()];
        coflow.demand.rebuild(
            &self.fabric,
            |index| registration.flow_number(index),
            flows.clone().map(|f| (f.src, f.dst)),
            &mut self.builder,
        );
        coflow.reset(registration.arrival, flows.map(|f| f.bytes));
        coflow.parents.clear();
        self.dirty.domains_mut().enter(coflow.demand.links());
        id
    }

    /// Writes down how many compressed bytes a flow has for each raw byte, whatever the codec:
    /// above 0, and 1 if it is not compressible.
    pub fn set_ratio(&mut self, flow: FlowId, ratio: f64) {
        let coflow = &mut self.slots[flow.coflow.index()];
        let needed = flow.index as usize + 1;
        if coflow.ratios.len() < needed {
            coflow.ratios.resize(needed, f64::NAN);
        }
        coflow.ratios[flow.index as usize] = ratio;
    }

    /// Writes down which coflows, named by [`Registration::seq`], one depends on.
    pub fn set_parents(&mut self, id: CoflowId, parents: impl Iterator<Item = u64>) {
        let coflow = &mut self.slots[id.index()];
        coflow.parents.clear();
        coflow.parents.extend(parents);
    }

    /// Starts a flow.
    pub fn start(&mut self, flow: FlowId) {
        self.note_event(flow.coflow);
        let coflow = &mut self.slots[flow.coflow.index()];
        let p = coflow.demand.position(flow.index);
        if coflow.demand.unfinished() == 0 {
            // Nothing refers to the scale, which may have become very small.
            coflow.progress.scale = 1.0;
        }
        coflow.demand.start(p);
        if let Some(unfinished) = coflow.compressed.unfinished_mut() {
            unfinished.start(p);
        }
        coflow.started += 1;
        coflow.begun += 1;
        let left = coflow.progress.size[p] / coflow.progress.scale;
        coflow.progress.left[p] = left;
        for l in coflow.demand.path(p) {
            coflow.progress.link_left[l] += left;
        }
    }

    /// Lets an active flow begin again: what it has sent is lost. Its progress must be up to date.
    pub fn restart(&mut self, flow: FlowId) {
        self.note_event(flow.coflow);
        let coflow = &mut self.slots[flow.coflow.index()];
        let p = coflow.demand.position(flow.index);
        if let Some(left) = coflow.suspended.get_mut(&flow.index) {
            let size = coflow.progress.size[p];
            coflow.lost_bytes += size - std::mem::replace(left, size);
        }
        if !coflow.demand.is_active(p) {
            return;
        }
        // The scale may have become very small.
        let progress = &mut coflow.progress;
        let scale = std::mem::replace(&mut progress.scale, 1.0);
        for left in progress.left.iter_mut().chain(&mut progress.link_left) {
            *left *= scale;
        }
        let sent = progress.size[p] - progress.left[p];
        progress.left[p] = progress.size[p];
        for l in coflow.demand.path(p) {
            progress.link_left[l] += sent;
        }
        coflow.lost_bytes += sent;
        if coflow.compressed.is_on() {
            coflow.compressed.set_raw(p, coflow.progress.size[p]);
        }
    }

    /// Adds flows to a coflow that is present and not compressed, behind those it has; none of the
    /// new ones has started. Positions and local links change, so that allocators must forget all
    /// they know (`Allocator::clear` of `covey-alloc`).
    pub fn extend(&mut self, id: CoflowId, flows: impl Iterator<Item = FlowSpec> + Clone) {
        let coflow = &mut self.slots[id.index()];
        let old = coflow.demand.clone();
        let before = (0..old.width() as u32).map(|index| {
            let (s, r) = old.ends(old.position(index));
            let port = |l: usize| self.fabric.port_of(old.links()[l]).expect("an end of a path");
            (port(s), port(r))
        });
        let ends = before.chain(flows.clone().map(|f| (f.src, f.dst)));
        let mut demand = std::mem::take(&mut coflow.demand);
        let number = |index| coflow.flow_number(index);
        demand.rebuild(&self.fabric, number, ends, &mut self.builder);
        coflow.demand = demand;
        if old.links().is_empty() {
            self.dirty.domains_mut().enter(coflow.demand.links());
        } else {
            self.dirty.domains_mut().join(coflow.demand.links());
        }
        let was = std::mem::take(&mut coflow.progress);
        let (demand, progress) = (&mut coflow.demand, &mut coflow.progress);
        progress.scale = was.scale;
        progress.size.resize(demand.width(), 0.0);
        progress.left.resize(demand.width(), f64::NAN);
        progress.link_left.resize(demand.links().len(), 0.0);
        for index in 0..old.width() as u32 {
            let (from, to) = (old.position(index), demand.position(index));
            progress.size[to] = was.size[from];
            progress.left[to] = was.left[from];
            if old.is_active(from) {
                demand.start(to);
                for l in demand.path(to) {
                    progress.link_left[l] += was.left[from];
                }
            }
        }
        for (index, flow) in (old.width() as u32..).zip(flows) {
            progress.size[demand.position(index)] = flow.bytes;
        }
    }

    /// The coflow's next flows, which [`State::extend`] adds, have joined from elsewhere, with
    /// these numbers.
    pub fn expect_joined(&mut self, id: CoflowId, numbers: impl Iterator<Item = u64>) {
        let coflow = &mut self.slots[id.index()];
        let first = coflow.demand.width() as u32;
        coflow.joined.extend((first..).zip(numbers));
    }

    /// Reserves places in a coflow for all flows of another one. Positions change as with
    /// [`State::extend`].
    pub fn reserve(&mut self, id: CoflowId, of: CoflowId) {
        let other = self.coflow(of);
        let (demand, size) = (other.demand(), &other.progress().size);
        let all = 0..demand.width() as u32;
        let port = |link| self.fabric.port_of(link).expect("an end of a path");
        let spec = |index| {
            let p = demand.position(index);
            let (egress, ingress) = demand.end_links(p);
            FlowSpec { src: port(egress), dst: port(ingress), bytes: size[p] }
        };
        let flows: Vec<FlowSpec> = all.clone().map(spec).collect();
        let numbers: Vec<u64> = all.map(|index| other.flow_number(index)).collect();
        let (first, free) = (self.coflow(id).demand().width() as u32, flows.len() as u32);
        self.expect_joined(id, numbers.into_iter());
        self.extend(id, flows.into_iter());
        self.slots[id.index()].reserved = Reserved { of: Some(of), first, free };
    }

    /// Takes the place that is reserved in a coflow for a flow of another one with this number.
    /// Returns its index.
    pub fn take_place(&mut self, id: CoflowId, from: FlowId, number: u64) -> Option<u32> {
        let coflow = &mut self.slots[id.index()];
        let Reserved { of, first, .. } = coflow.reserved;
        let index = first + from.index;
        let is_here = of == Some(from.coflow)
            && (index as usize) < coflow.demand.width()
            && coflow.flow_number(index) == number
            && coflow.progress.left[coflow.demand.position(index)].is_nan();
        is_here.then(|| {
            coflow.reserved.free -= 1;
            index
        })
    }

    /// A flow that has just started has sent so many bytes before.
    pub fn set_sent_before(&mut self, flow: FlowId, sent: f64) {
        let coflow = &mut self.slots[flow.coflow.index()];
        let p = coflow.demand.position(flow.index);
        let sent = sent / coflow.progress.scale;
        coflow.progress.left[p] -= sent;
        for l in coflow.demand.path(p) {
            coflow.progress.link_left[l] -= sent;
        }
    }

    /// An active flow leaves its coflow, of which it has sent so many bytes. It counts as ended
    /// there, with that size, but its bytes are no longer the coflow's. Calls `drained` as
    /// [`State::finish`] does.
    pub fn withdraw(&mut self, flow: FlowId, sent: f64, drained: impl FnMut(LinkId)) {
        self.set_size(flow, sent);
        let coflow = &self.slots[flow.coflow.index()];
        let (before, position) = (coflow.finished, coflow.demand.position(flow.index));
        self.finish(flow.coflow, position, drained);
        let coflow = &mut self.slots[flow.coflow.index()];
        coflow.finished = Finished { flows: before.flows + 1, ..before };
    }

    /// Writes down the size of a flow that was not known, before its end.
    pub fn set_size(&mut self, flow: FlowId, bytes: f64) {
        let coflow = &mut self.slots[flow.coflow.index()];
        coflow.progress.size[coflow.demand.position(flow.index)] = bytes;
    }

    /// Takes an active flow out of what is served, until [`State::resume`]: its host is away, or a
    /// link of its path. Calls `drained` as [`State::finish`] does. Not for coflows that are
    /// compressed.
    pub fn suspend(&mut self, flow: FlowId, mut drained: impl FnMut(LinkId)) {
        self.note_event(flow.coflow);
        let coflow = &mut self.slots[flow.coflow.index()];
        let p = coflow.demand.position(flow.index);
        coflow.demand.finish(p);
        let left = std::mem::replace(&mut coflow.progress.left[p], f64::NAN);
        coflow.suspended.insert(flow.index, left * coflow.progress.scale);
        for l in coflow.demand.path(p) {
            if coflow.demand.count()[l] == 0 {
                coflow.progress.link_left[l] = 0.0;
                drained(coflow.demand.links()[l]);
            } else {
                coflow.progress.link_left[l] -= left;
            }
        }
    }

    /// Puts a flow back into what is served.
    pub fn resume(&mut self, flow: FlowId) {
        self.note_event(flow.coflow);
        let coflow = &mut self.slots[flow.coflow.index()];
        let p = coflow.demand.position(flow.index);
        let Some(left) = coflow.suspended.remove(&flow.index) else { return };
        if coflow.demand.unfinished() == 0 {
            // As in `start`.
            coflow.progress.scale = 1.0;
        }
        coflow.demand.start(p);
        coflow.begun += 1;
        let left = left / coflow.progress.scale;
        coflow.progress.left[p] = left;
        for l in coflow.demand.path(p) {
            coflow.progress.link_left[l] += left;
        }
    }

    /// Ends the flow at a position of a coflow. Calls `drained` with each link at which the
    /// coflow has no unfinished flow any more.
    #[inline]
    pub fn finish(&mut self, id: CoflowId, position: usize, mut drained: impl FnMut(LinkId)) {
        self.note_event(id);
        let coflow = &mut self.slots[id.index()];
        coflow.demand.finish(position);
        let (finished, size) = (&mut coflow.finished, coflow.progress.size[position]);
        finished.flows += 1;
        finished.bytes += size;
        finished.longest = finished.longest.max(size);
        let left = std::mem::replace(&mut coflow.progress.left[position], f64::INFINITY);
        if let Some(unfinished) = coflow.compressed.unfinished_mut() {
            unfinished.finish(position);
        }
        for l in coflow.demand.path(position) {
            if coflow.demand.count()[l] == 0 {
                coflow.progress.link_left[l] = 0.0;
                let unfinished = coflow.compressed.unfinished();
                if unfinished.is_none_or(|unfinished| unfinished.count()[l] == 0) {
                    drained(coflow.demand.links()[l]);
                }
            } else {
                coflow.progress.link_left[l] -= left;
            }
        }
    }

    /// The coflow is compressed from now on.
    pub fn compress(&mut self, id: CoflowId) {
        let coflow = &mut self.slots[id.index()];
        if !coflow.compressed.is_on() {
            coflow.compressed.begin(&coflow.demand, &coflow.progress.size);
        }
    }

    /// Hides a flow of a compressed coflow, of which `volume` bytes are left, from allocators.
    pub fn hold(&mut self, id: CoflowId, position: usize, volume: f64) {
        self.note_event(id);
        let coflow = &mut self.slots[id.index()];
        coflow.demand.finish(position);
        let left = std::mem::replace(&mut coflow.progress.left[position], f64::NAN);
        for l in coflow.demand.path(position) {
            let rest = &mut coflow.progress.link_left[l];
            *rest = if coflow.demand.count()[l] == 0 { 0.0 } else { *rest - left };
        }
        coflow.compressed.hold(position, volume);
    }

    /// Shows a flow that was held to allocators again.
    pub fn let_go(&mut self, id: CoflowId, position: usize) {
        self.note_event(id);
        let coflow = &mut self.slots[id.index()];
        if coflow.demand.unfinished() == 0 {
            // As in `start`.
            coflow.progress.scale = 1.0;
        }
        coflow.demand.start(position);
        coflow.begun += 1;
        let left = coflow.compressed.let_go(position) / coflow.progress.scale;
        coflow.progress.left[position] = left;
        for l in coflow.demand.path(position) {
            coflow.progress.link_left[l] += left;
        }
    }

    /// The least capacity on the path of the flow at a position of a coflow, in bytes per second.
    pub fn path_capacity(&self, id: CoflowId, position: usize) -> f64 {
        let demand = self.coflow(id).demand();
        let capacity = self.fabric().capacity();
        let path = demand.path(position).map(|l| capacity[demand.links()[l].index()]);
        path.fold(f64::INFINITY, f64::min)
    }

    /// Whether the unfinished flow at a position of a coflow is to be compressed: if some of it is
    /// raw, or its size is not known, and if its host's processor takes bytes away faster than they
    /// would be sent at `bandwidth` bytes per second (Swallow, Eq. 3).
    pub fn compressing_pays(
        &self,
        id: CoflowId,
        position: usize,
        compression: &Compression,
        bandwidth: f64,
    ) -> bool {
        let coflow = self.coflow(id);
        let demand = coflow.demand();
        let host = demand.links()[demand.sender_of(position)];
        let is_exhausted = coflow.raw_left(position) <= 0.0;
        let share = self.processor(PortId(host.0));
        let ratio = coflow.ratio(position, compression);
        !is_exhausted && compression.pays(share, ratio, bandwidth)
    }

    /// What compression has made of a coflow, to be brought up to date.
    pub fn compressed_mut(&mut self, id: CoflowId) -> &mut Compressed {
        self.dirty.note_change(id);
        &mut self.slots[id.index()].compressed
    }

    /// Takes a coflow out of [`State::present`]; its facts stay readable until
    /// [`State::release`].
    pub fn retire(&mut self, id: CoflowId) {
        // Drivers give every coflow an order of its own; tests may not.
        let first = self.place_of(self.order(id));
        let place = self.present[first..].iter().position(|&other| other == id);
        place.map(|place| self.present.remove(first + place));
        let coflow = &mut self.slots[id.index()];
        coflow.present = false;
        if let Some(&link) = coflow.demand.links().first() {
            self.dirty.domains_mut().leave(link);
        }
    }

    /// The place among those present of the first that is not before `order`.
    fn place_of(&self, order: (Time, u64)) -> usize {
        self.present.partition_point(|&other| self.order(other) < order)
    }

    /// Gives the id of a retired coflow back for use by another.
    pub fn release(&mut self, id: CoflowId) {
        self.vacant.push(id);
    }

    /// Writes down that a coflow had sent `bytes` in all at the time `as_of`.
    pub fn report(&mut self, id: CoflowId, bytes: f64, as_of: Time) {
        self.dirty.note_change(id);
        let coflow = &mut self.slots[id.index()];
        coflow.attained = (bytes, as_of);
    }

    /// What is left of a coflow, to be brought up to date.
    pub fn progress_mut(&mut self, id: CoflowId) -> (&Demand, &mut Progress) {
        self.dirty.note_change(id);
        let coflow = &mut self.slots[id.index()];
        (&coflow.demand, &mut coflow.progress)
    }

    fn first_link(&self, id: CoflowId) -> Option<LinkId> {
        self.slots[id.index()].demand.links().first().copied()
    }

    /// The policy is told of something that concerns a coflow, beside its arrival and its end.
    pub fn mark_dirty(&mut self, id: CoflowId) {
        if let Some(link) = self.first_link(id) {
            self.dirty.domains_mut().mark_dirty(link);
        }
    }

    /// Something has happened to a coflow that may change rates, beside starts and ends of its
    /// flows.
    pub fn note_event(&mut self, id: CoflowId) {
        self.dirty.note_event(id, self.first_link(id));
    }

    /// Something has happened that may change the rates of all coflows.
    pub fn note_event_everywhere(&mut self) {
        self.dirty.domains_mut().note_event_everywhere();
    }

    /// Whether anything has happened, since links were last shared, among the coflows that one with
    /// this link can have met.
    pub fn has_events(&self, link: LinkId) -> bool {
        self.dirty.domains().has_events(link)
    }

    /// Links have been shared: the scheduling round is over.
    pub fn end_round(&mut self) {
        self.dirty.domains_mut().end_round();
    }

    /// Whether, since the last plan, the policy was told of anything among the coflows that this
    /// one can have met: those with which it shares a link, those with which these share one, and
    /// so on.
    pub fn is_dirty(&self, id: CoflowId) -> bool {
        self.first_link(id).is_none_or(|link| self.dirty.domains().is_dirty(link))
    }

    /// Whether two coflows can have met, directly or through a chain of others.
    pub fn may_meet(&self, a: CoflowId, b: CoflowId) -> bool {
        let domain = |id: CoflowId| self.first_link(id).map(|link| self.dirty.domains().of(link));
        domain(a) == domain(b)
    }

    /// Whether a coflow can have met those that use a link.
    pub fn reaches(&self, id: CoflowId, link: LinkId) -> bool {
        let domains = self.dirty.domains();
        self.first_link(id).is_some_and(|first| domains.of(first) == domains.of(link))
    }

    /// Coflows whose flows, or what is left of them, may have changed since the last plan, in no
    /// particular order; some of them may have gone.
    pub fn changed(&self) -> &[CoflowId] {
        self.dirty.changed()
    }

    /// The policy has made a plan: no coflow is dirty or changed any more.
    pub fn clear_dirty(&mut self) {
        self.dirty.clear_dirty();
    }
}
