//! The facts about the coflows that are present, kept by whoever drives a policy.
//!
//! A driver registers coflows, starts and finishes their flows, and writes down what has been sent.
//! Policies never see this type: they get a [`View`](crate::View) of it, which grants what they may
//! know.

use crate::compressed::Compressed;
use crate::demand::{Builder, Demand};
use crate::domains::Domains;
use crate::fabric::Fabric;
use crate::ids::{CoflowId, FlowId, LinkId, PortId};
use crate::lineage::Lineage;
use crate::time::Time;

/// All coflows present, and the fabric they share.
#[derive(Debug)]
pub struct State {
    fabric: Fabric,
    domains: Domains,
    slots: Vec<CoflowState>,
    present: Vec<CoflowId>,
    vacant: Vec<CoflowId>,
    builder: Builder,
    /// Share of each port's processor that is there for compressing; empty where all of it is.
    processors: Vec<f64>,
}

/// What a coflow brings with it when it is registered.
///
/// The default is a coflow of which nothing is said: it arrives at the origin with weight 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Registration {
    /// Position in the trace, or serial number of the registration; breaks ties.
    pub seq: u64,
    /// When it may start.
    pub arrival: Time,
    /// Weight in a weighted mean of completion times.
    pub weight: f64,
    /// Time allowed from arrival to completion, in seconds.
    pub deadline_s: Option<f64>,
    /// Where it stands among the coflows it depends on.
    pub lineage: Lineage,
    /// Bytes that coflows of its DAG which had ended by then had sent.
    pub inherited_bytes: f64,
}

impl Default for Registration {
    fn default() -> Registration {
        Registration {
            seq: 0,
            arrival: Time::ZERO,
            weight: 1.0,
            deadline_s: None,
            lineage: Lineage::default(),
            inherited_bytes: 0.0,
        }
    }
}

/// One flow of a registration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSpec {
    /// Sending port.
    pub src: PortId,
    /// Receiving port.
    pub dst: PortId,
    /// Bytes to send, as far as known; NaN where nobody knows before the flow has ended.
    pub bytes: f64,
}

/// The facts about one coflow.
#[derive(Debug)]
pub struct CoflowState {
    /// What it was registered with.
    pub registration: Registration,
    /// Its unfinished flows, and the links they need.
    demand: Demand,
    /// What is left to send.
    progress: Progress,
    compressed: Compressed,
    present: bool,
    started: u32,
    /// Times that a flow could be sent that could not before.
    begun: u32,
    finished: u32,
    finished_bytes: f64,
    /// Bytes that flows had sent when they had to begin anew.
    lost_bytes: f64,
    /// Bytes sent so far, over all flows, and when that was true.
    attained: f64,
    attained_as_of: Time,
    /// Size of the longest flow that has ended.
    finished_longest: f64,
}

/// Bytes of each flow of one coflow, total and left.
///
/// Bytes left at a position are `left[position] * scale`. A coflow that is sent in proportion to
/// what is left (MADD) only changes `scale`.
#[derive(Debug, Default)]
pub struct Progress {
    /// Size of each flow in bytes, by position.
    pub size: Vec<f64>,
    /// Bytes left over `scale`, by position; NaN before the flow has started, infinite after its
    /// end. Both survive subtraction and lose every comparison for the least.
    pub left: Vec<f64>,
    /// See [`Progress`].
    pub scale: f64,
    /// Bytes left over `scale`, of all active flows at each local link.
    pub link_left: Vec<f64>,
}

impl State {
    /// No coflows yet.
    pub fn new(fabric: Fabric) -> State {
        let mut domains = Domains::default();
        domains.clear(fabric.links());
        State {
            domains,
            fabric,
            slots: Vec::new(),
            present: Vec::new(),
            vacant: Vec::new(),
            builder: Builder::default(),
            processors: Vec::new(),
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
        self.processors.clear();
        self.domains.clear(self.fabric.links());
        self.vacant.clear();
        self.vacant.extend((0..self.slots.len() as u32).rev().map(CoflowId));
    }

    /// Share of a port's processor that is there for compressing, of one as fast as the codec says; all of
    /// it unless told.
    pub fn processor(&self, port: PortId) -> f64 {
        self.processors.get(port.index()).copied().unwrap_or(1.0)
    }

    /// Writes down what share of a port's processor is there for compressing.
    pub fn set_processor(&mut self, port: PortId, share: f64) {
        self.processors.resize(self.fabric.ports() as usize, 1.0);
        self.processors[port.index()] = share;
    }

    /// Coflows present, in order of arrival.
    pub fn present(&self) -> &[CoflowId] {
        &self.present
    }

    /// Whether a coflow is present.
    pub fn is_present(&self, id: CoflowId) -> bool {
        self.slots.get(id.index()).is_some_and(|coflow| coflow.present)
    }

    /// An upper bound of the numbers of coflows in use: arrays by [`CoflowId`] have this length.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The facts about a coflow.
    pub fn coflow(&self, id: CoflowId) -> &CoflowState {
        &self.slots[id.index()]
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
        self.present.push(id);
        let coflow = &mut self.slots[id.index()];
        coflow.registration = registration;
        coflow.demand.rebuild(
            &self.fabric,
            flows.clone().map(|f| (f.src, f.dst)),
            &mut self.builder,
        );
        coflow.reset(registration.arrival, flows.map(|f| f.bytes));
        self.domains.enter(coflow.demand.links());
        id
    }

    /// Starts a flow.
    pub fn start(&mut self, flow: FlowId) {
        self.note(flow.coflow);
        let coflow = &mut self.slots[flow.coflow.index()];
        let p = coflow.demand.position(flow.index);
        if coflow.demand.unfinished() == 0 {
            // Nothing refers to the scale, which may have become very small.
            coflow.progress.scale = 1.0;
        }
        coflow.demand.start(p);
        if coflow.compressed.is_on() {
            coflow.compressed.unfinished.start(p);
        }
        coflow.started += 1;
        coflow.begun += 1;
        let left = coflow.progress.size[p] / coflow.progress.scale;
        coflow.progress.left[p] = left;
        for l in coflow.demand.path(p) {
            coflow.progress.link_left[l] += left;
        }
    }

    /// Lets an active flow begin anew: what it has sent, which progress must tell, is lost.
    pub fn restart(&mut self, flow: FlowId) {
        self.note(flow.coflow);
        let coflow = &mut self.slots[flow.coflow.index()];
        let p = coflow.demand.position(flow.index);
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

    /// Adds flows to a coflow that is present and not compressed, behind those it has; none of the new
    /// ones has started. Positions and local links change, so that allocators must forget all
    /// they know ([`Allocator::clear`](crate::alloc::Allocator::clear)).
    pub fn extend(&mut self, id: CoflowId, flows: impl Iterator<Item = FlowSpec> + Clone) {
        let coflow = &mut self.slots[id.index()];
        let old = coflow.demand.clone();
        let before = (0..old.width() as u32).map(|index| {
            let (s, r) = old.ends(old.position(index));
            (PortId(old.links()[s].0), PortId(old.links()[r].0 - self.fabric.ports()))
        });
        let ends = before.chain(flows.clone().map(|f| (f.src, f.dst)));
        coflow.demand.rebuild(&self.fabric, ends, &mut self.builder);
        if old.links().is_empty() {
            self.domains.enter(coflow.demand.links());
        } else {
            self.domains.join(coflow.demand.links());
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

    /// Writes down the size of a flow that was not known, before its end.
    pub fn set_size(&mut self, flow: FlowId, bytes: f64) {
        let coflow = &mut self.slots[flow.coflow.index()];
        coflow.progress.size[coflow.demand.position(flow.index)] = bytes;
    }

    /// Takes an active flow out of what is served, until [`State::resume`]: its host is away. Calls
    /// `drained` as [`State::finish`] does. Not for coflows that are compressed.
    pub fn suspend(&mut self, flow: FlowId, mut drained: impl FnMut(LinkId)) {
        self.note(flow.coflow);
        let coflow = &mut self.slots[flow.coflow.index()];
        let p = coflow.demand.position(flow.index);
        coflow.demand.finish(p);
        for l in coflow.demand.path(p) {
            if coflow.demand.count()[l] == 0 {
                coflow.progress.link_left[l] = 0.0;
                drained(coflow.demand.links()[l]);
            } else {
                coflow.progress.link_left[l] -= coflow.progress.left[p];
            }
        }
    }

    /// Puts a flow back into what is served.
    pub fn resume(&mut self, flow: FlowId) {
        self.note(flow.coflow);
        let coflow = &mut self.slots[flow.coflow.index()];
        let p = coflow.demand.position(flow.index);
        coflow.demand.start(p);
        coflow.begun += 1;
        for l in coflow.demand.path(p) {
            coflow.progress.link_left[l] += coflow.progress.left[p];
        }
    }

    /// Ends the flow at a position of a coflow. Calls `drained` with each link at which the
    /// coflow has no unfinished flow any more.
    pub fn finish(&mut self, id: CoflowId, position: usize, mut drained: impl FnMut(LinkId)) {
        self.note(id);
        let coflow = &mut self.slots[id.index()];
        coflow.demand.finish(position);
        coflow.finished += 1;
        coflow.finished_bytes += coflow.progress.size[position];
        coflow.finished_longest = coflow.finished_longest.max(coflow.progress.size[position]);
        let left = std::mem::replace(&mut coflow.progress.left[position], f64::INFINITY);
        let holds = coflow.compressed.is_on();
        if holds {
            coflow.compressed.unfinished.finish(position);
        }
        for l in coflow.demand.path(position) {
            if coflow.demand.count()[l] == 0 {
                coflow.progress.link_left[l] = 0.0;
                if !holds || coflow.compressed.unfinished.count()[l] == 0 {
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
        self.note(id);
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
        self.note(id);
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

    /// What compression has made of a coflow, to be brought up to date.
    pub fn compressed_mut(&mut self, id: CoflowId) -> &mut Compressed {
        &mut self.slots[id.index()].compressed
    }

    /// Takes a coflow out of [`State::present`]; its facts stay readable until
    /// [`State::release`].
    pub fn retire(&mut self, id: CoflowId) {
        self.present.retain(|&c| c != id);
        let coflow = &mut self.slots[id.index()];
        coflow.present = false;
        if let Some(&link) = coflow.demand.links().first() {
            self.domains.leave(link);
        }
    }

    /// The policy is told of something that concerns a coflow, beside its arrival and its end.
    pub fn stir(&mut self, id: CoflowId) {
        if let Some(&link) = self.slots[id.index()].demand.links().first() {
            self.domains.stir(link);
        }
    }

    /// Something has happened to a coflow that may change rates, beside starts and ends of its flows.
    pub fn note(&mut self, id: CoflowId) {
        if let Some(&link) = self.slots[id.index()].demand.links().first() {
            self.domains.note(link);
        }
    }

    /// Something has happened that may change the rates of all.
    pub fn note_all(&mut self) {
        self.domains.note_all();
    }

    /// Whether anything has happened, since rates were last shared, among the coflows that one with
    /// this link can have met.
    pub fn is_eventful(&self, link: LinkId) -> bool {
        self.domains.is_eventful(link)
    }

    /// Rates have been shared.
    pub fn end_moment(&mut self) {
        self.domains.end_moment();
    }

    /// [`State::stir`] for all coflows of the DAG with this external id.
    pub fn stir_dag(&mut self, external: u64) {
        for k in 0..self.present.len() {
            let id = self.present[k];
            if self.slots[id.index()].registration.lineage.external == external {
                self.stir(id);
            }
        }
    }

    /// Whether, since the last plan, the policy was told of anything among the coflows that this one
    /// can have met: those with which it shares a link, and those that these share one with, and so on.
    pub fn is_stirred(&self, id: CoflowId) -> bool {
        let link = self.slots[id.index()].demand.links().first();
        link.is_none_or(|&link| self.domains.is_stirred(link))
    }

    /// Whether two coflows can have met, or others through which one may matter to the other.
    pub fn may_meet(&self, a: CoflowId, b: CoflowId) -> bool {
        let domain = |id: CoflowId| {
            let link = self.slots[id.index()].demand.links().first();
            link.map(|&link| self.domains.of(link))
        };
        domain(a) == domain(b)
    }

    /// The policy has made a plan.
    pub fn settle(&mut self) {
        self.domains.settle();
    }

    /// Gives the number of a retired coflow back for use by another.
    pub fn release(&mut self, id: CoflowId) {
        self.vacant.push(id);
    }

    /// Writes down that a coflow had sent `bytes` in all at the moment `as_of`.
    pub fn report(&mut self, id: CoflowId, bytes: f64, as_of: Time) {
        let coflow = &mut self.slots[id.index()];
        coflow.attained = bytes;
        coflow.attained_as_of = as_of;
    }

    /// What is left of a coflow, to be brought up to date.
    pub fn progress_mut(&mut self, id: CoflowId) -> (&Demand, &mut Progress) {
        let coflow = &mut self.slots[id.index()];
        (&coflow.demand, &mut coflow.progress)
    }
}

impl CoflowState {
    fn vacant() -> CoflowState {
        CoflowState {
            registration: Registration::default(),
            demand: Demand::default(),
            progress: Progress::default(),
            compressed: Compressed::default(),
            present: false,
            started: 0,
            begun: 0,
            finished: 0,
            finished_bytes: 0.0,
            lost_bytes: 0.0,
            attained: 0.0,
            attained_as_of: Time::ZERO,
            finished_longest: 0.0,
        }
    }

    /// A coflow of which nothing has been sent. `bytes` come by number of the flow.
    fn reset(&mut self, arrival: Time, bytes: impl Iterator<Item = f64>) {
        let progress = &mut self.progress;
        progress.scale = 1.0;
        progress.left.clear();
        progress.left.resize(self.demand.width(), f64::NAN);
        progress.size.clear();
        progress.size.resize(self.demand.width(), 0.0);
        for (index, bytes) in bytes.enumerate() {
            progress.size[self.demand.position(index as u32)] = bytes;
        }
        progress.link_left.clear();
        progress.link_left.resize(self.demand.links().len(), 0.0);
        self.compressed.clear();
        self.present = true;
        self.started = 0;
        self.begun = 0;
        self.finished = 0;
        self.finished_bytes = 0.0;
        self.lost_bytes = 0.0;
        self.attained = 0.0;
        self.attained_as_of = arrival;
        self.finished_longest = 0.0;
    }

    /// Its flows that can be sent, and the links they need: all unfinished ones but those that are
    /// held to be compressed first.
    pub fn demand(&self) -> &Demand {
        &self.demand
    }

    /// Its unfinished flows, those that are held included.
    pub fn unfinished(&self) -> &Demand {
        if self.compressed.is_on() { &self.compressed.unfinished } else { &self.demand }
    }

    /// What compression has made of its flows.
    pub fn compressed(&self) -> &Compressed {
        &self.compressed
    }

    /// Bytes left of an unfinished flow: its volume, when it is compressed.
    pub fn left(&self, position: usize) -> f64 {
        if self.compressed.is_on()
            && let Some(volume) = self.compressed.held(position)
        {
            return volume;
        }
        self.progress.left[position] * self.progress.scale
    }

    /// Raw bytes left of an unfinished flow.
    pub fn raw_left(&self, position: usize) -> f64 {
        let left = self.left(position);
        if self.compressed.is_on() { self.compressed.raw(position, left) } else { left }
    }

    /// What is left to send.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Flows started so far.
    pub fn started(&self) -> u32 {
        self.started
    }

    /// Times that flows have begun that allocators may serve: at their start, and when they are let
    /// go again.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    /// Flows ended so far.
    pub fn finished(&self) -> u32 {
        self.finished
    }

    /// Bytes of the flows that have ended.
    pub fn finished_bytes(&self) -> f64 {
        self.finished_bytes
    }

    /// Bytes sent so far over all flows, and when that was true.
    pub fn attained(&self) -> (f64, Time) {
        (self.attained, self.attained_as_of)
    }

    /// Size of the longest flow that has ended, in bytes; 0 when none has.
    pub fn finished_longest(&self) -> f64 {
        self.finished_longest
    }

    /// Bytes sent by all flows, lost ones included, as far as progress tells; those that
    /// compression saved were not.
    pub fn sent(&self) -> f64 {
        let (size, left) = (&self.progress.size, &self.progress.left);
        let unfinished = self.demand.active().map(|p| size[p] - left[p] * self.progress.scale);
        let sent = self.finished_bytes + self.lost_bytes + unfinished.sum::<f64>();
        if !self.compressed.is_on() {
            return sent;
        }
        let held = self.compressed.held_flows().map(|(p, volume)| size[p] - volume);
        sent + held.sum::<f64>() - self.compressed.saved()
    }

    /// Whether every flow registered has started and ended.
    pub fn is_over(&self) -> bool {
        self.finished as usize == self.demand.width()
    }
}
