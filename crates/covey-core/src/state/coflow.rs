//! The facts about one coflow.

use std::collections::BTreeMap;

use crate::compression::codec::Compression;
use crate::compression::compressed::Compressed;
use crate::demand::Demand;
use crate::state::lineage::Lineage;
use crate::state::observed::Observed;
use crate::values::ids::{CoflowId, PortId, TenantId};
use crate::values::time::Time;

/// What is known of a coflow when it is registered.
///
/// The default is a coflow that arrives at the origin of time with weight 1.
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
    /// Compressed bytes for each raw byte of its flows, above 0, if that is known; 1 if it is not
    /// to be compressed.
    pub ratio: Option<f64>,
    /// To whom it belongs.
    pub tenant: TenantId,
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
            ratio: None,
            tenant: TenantId::default(),
        }
    }
}

impl Registration {
    /// The number of the coflow's flow `index`, by which a fabric chooses its path. No other flow
    /// of the run bears it.
    pub fn flow_number(&self, index: u32) -> u64 {
        self.seq << 32 | u64::from(index)
    }
}

/// One flow of a registration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSpec {
    /// Sending port.
    pub src: PortId,
    /// Receiving port.
    pub dst: PortId,
    /// Bytes to send; NaN if that is not known before the flow has ended.
    pub bytes: f64,
}

/// A flow that has started and belongs to no coflow yet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Newcomer {
    /// Its number, which no other flow of the run bears.
    pub number: u64,
    /// Its ends and its size.
    pub spec: FlowSpec,
    /// What a policy without labels sees of it.
    pub observed: Observed,
}

/// The facts about one coflow.
#[derive(Debug)]
pub struct CoflowState {
    /// What it was registered with.
    pub registration: Registration,
    /// Its unfinished flows, and the links they need.
    pub(super) demand: Demand,
    /// What is left to send.
    pub(super) progress: Progress,
    /// What compression has made of its flows.
    pub(super) compressed: Compressed,
    /// Compressed bytes for each raw byte of flows of which that was said, by index; NaN for
    /// others.
    pub(super) ratios: Vec<f64>,
    /// Whether it is among those present.
    pub(super) present: bool,
    /// Number of flows started so far.
    pub(super) started: u32,
    /// How often a flow could be sent from then on that could not be sent before.
    pub(super) begun: u32,
    pub(super) finished: Finished,
    /// Bytes that flows had sent when they had to begin again.
    pub(super) lost_bytes: f64,
    /// Bytes sent over all flows, as last reported, and when that was true.
    pub(super) attained: (f64, Time),
    /// Serial numbers of the coflows that it depends on, in the order in which they were given.
    pub(super) parents: Vec<u64>,
    /// The indices of flows that have joined from another coflow, ascending, and their numbers.
    pub(super) joined: Vec<(u32, u64)>,
    /// Places for flows of another coflow that may join.
    pub(super) reserved: Reserved,
    /// Flows that are not served because their hosts are away, by index, with the bytes left of
    /// each.
    pub(super) suspended: BTreeMap<u32, f64>,
}

/// Places in a coflow for flows of another coflow, in its order, so that they need not be added one
/// by one, and keep the form of a shuffle.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reserved {
    /// The other coflow; its id may be that of another one by now.
    pub of: Option<CoflowId>,
    /// The index of the place for its first flow.
    pub first: u32,
    /// The number of places that are not taken.
    pub free: u32,
}

/// The flows of a coflow that have ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Finished {
    /// Number of the flows.
    pub flows: u32,
    /// Bytes of all of them.
    pub bytes: f64,
    /// Bytes of the longest of them.
    pub longest: f64,
}

/// Bytes of each flow of one coflow, total and left.
///
/// Bytes left at a position are `left[position] * scale`. A coflow that is sent in proportion to
/// what is left (MADD) only changes `scale`.
#[derive(Debug, Default)]
pub struct Progress {
    /// Size of each flow in bytes, by position.
    pub size: Vec<f64>,
    /// Bytes left over `scale`, by position; NaN before the flow has started and while it is
    /// suspended, infinite after its end. Both survive subtraction and lose every comparison for
    /// the least.
    pub left: Vec<f64>,
    /// Factor of all numbers of bytes left.
    pub scale: f64,
    /// Bytes left over `scale`, of all active flows at each local link.
    pub link_left: Vec<f64>,
}

impl Progress {
    /// Adds up what is left of the active flows at each link.
    pub fn add_up_links(&mut self, demand: &Demand) {
        self.link_left.fill(0.0);
        for p in demand.active() {
            demand.path(p).for_each(|l| self.link_left[l] += self.left[p]);
        }
    }
}

impl CoflowState {
    pub(super) fn vacant() -> CoflowState {
        CoflowState {
            registration: Registration::default(),
            demand: Demand::default(),
            progress: Progress::default(),
            compressed: Compressed::default(),
            ratios: Vec::new(),
            present: false,
            started: 0,
            begun: 0,
            finished: Finished::default(),
            lost_bytes: 0.0,
            attained: (0.0, Time::ZERO),
            parents: Vec::new(),
            joined: Vec::new(),
            reserved: Reserved::default(),
            suspended: BTreeMap::new(),
        }
    }

    /// A coflow of which nothing has been sent. `bytes` come by number of the flow.
    pub(super) fn reset(&mut self, arrival: Time, bytes: impl Iterator<Item = f64>) {
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
        self.ratios.clear();
        self.present = true;
        self.started = 0;
        self.begun = 0;
        self.finished = Finished::default();
        self.lost_bytes = 0.0;
        self.attained = (0.0, arrival);
        self.joined.clear();
        self.reserved = Reserved::default();
        self.suspended.clear();
    }

    /// Its flows that can be sent, and the links they need: all unfinished ones but those that are
    /// held to be compressed first.
    pub fn demand(&self) -> &Demand {
        &self.demand
    }

    /// Its unfinished flows, those that are held included.
    pub fn unfinished(&self) -> &Demand {
        self.compressed.unfinished().unwrap_or(&self.demand)
    }

    /// What compression has made of its flows.
    pub fn compressed(&self) -> &Compressed {
        &self.compressed
    }

    /// The flows that are not served because a host or a link is away, by index, ascending.
    pub fn suspended(&self) -> impl Iterator<Item = u32> {
        self.suspended.keys().copied()
    }

    /// Bytes that flows had sent when they had to begin again.
    pub fn lost_bytes(&self) -> f64 {
        self.lost_bytes
    }

    /// Whether a flow is not served because a host or a link is away.
    pub fn is_suspended(&self, index: u32) -> bool {
        self.suspended.contains_key(&index)
    }

    /// Bytes left of the flow at a position that is suspended.
    fn suspended_left(&self, position: usize) -> Option<f64> {
        if self.suspended.is_empty() {
            return None;
        }
        self.suspended.get(&self.demand.index(position)).copied()
    }

    /// Bytes left of an unfinished flow: its volume, when it is compressed.
    pub fn left(&self, position: usize) -> f64 {
        if let Some(left) = self.suspended_left(position) {
            return left;
        }
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

    /// Compressed bytes for each raw byte of a flow: its own, else its coflow's, if that was said;
    /// else what `compression` makes of a flow of its size. 1 is a flow that is not compressible.
    pub fn ratio(&self, position: usize, compression: &Compression) -> f64 {
        let own = self.ratios.get(self.demand.index(position) as usize);
        let said = own.copied().filter(|own| !own.is_nan()).or(self.registration.ratio);
        said.unwrap_or_else(|| compression.ratio(self.progress.size[position]))
    }

    /// The number of a flow. It stays the flow's when the flow changes its coflow; no other flow
    /// bears it.
    #[inline]
    pub fn flow_number(&self, index: u32) -> u64 {
        match self.joined.binary_search_by_key(&index, |(joined, _)| *joined) {
            Ok(at) => self.joined[at].1,
            Err(_) => self.registration.flow_number(index),
        }
    }

    /// Under which coflow and index an application or a trace knows a flow. The first number is
    /// that coflow's [`Registration::seq`]. It is this coflow unless the flow has joined from
    /// another one.
    #[inline]
    pub fn named_place(&self, index: u32) -> (u32, u32) {
        let number = self.flow_number(index);
        ((number >> 32) as u32, number as u32)
    }

    /// Whether flows have joined from elsewhere.
    pub fn has_joined_flows(&self) -> bool {
        !self.joined.is_empty()
    }

    /// [`Registration::seq`] of the coflows that it depends on, as far as they were given.
    pub fn parents(&self) -> &[u64] {
        &self.parents
    }

    /// Bytes that the flow at a position has sent, as far as progress tells; 0 before it has
    /// started.
    pub fn sent_at(&self, position: usize) -> f64 {
        let (size, left) = (self.progress.size[position], self.progress.left[position]);
        if left == f64::INFINITY {
            return size;
        }
        if let Some(left) = self.suspended_left(position) {
            return (size - left).max(0.0);
        }
        // NaN if the flow has not started or its size is not known.
        (size - left * self.progress.scale).max(0.0)
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
        self.finished.flows
    }

    /// Bytes of the flows that have ended.
    pub fn finished_bytes(&self) -> f64 {
        self.finished.bytes
    }

    /// Bytes sent so far over all flows, and when that was true.
    pub fn attained(&self) -> (f64, Time) {
        self.attained
    }

    /// Size of the longest flow that has ended, in bytes; 0 when none has.
    pub fn finished_longest(&self) -> f64 {
        self.finished.longest
    }

    /// Bytes sent by all flows, lost ones included, as far as progress tells; those that
    /// compression saved were not.
    pub fn sent(&self) -> f64 {
        let (size, left) = (&self.progress.size, &self.progress.left);
        let unfinished = self.demand.active().map(|p| size[p] - left[p] * self.progress.scale);
        let of_suspended = |(&index, left): (&u32, &f64)| size[self.demand.position(index)] - left;
        let suspended: f64 = self.suspended.iter().map(of_suspended).sum();
        let unfinished = unfinished.sum::<f64>() + suspended;
        let sent = self.finished.bytes + self.lost_bytes + unfinished;
        if !self.compressed.is_on() {
            return sent;
        }
        let held = self.compressed.held_flows().map(|(p, volume)| size[p] - volume);
        sent + held.sum::<f64>() - self.compressed.saved()
    }

    /// Whether every flow registered has started and ended.
    pub fn is_over(&self) -> bool {
        (self.finished.flows + self.reserved.free) as usize == self.demand.width()
    }
}
