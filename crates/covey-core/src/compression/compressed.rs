//! What compression has made of a coflow's flows so far.
//!
//! A flow has `d` raw bytes left and `D` compressed ones; `V = d + D` is what the network would
//! have to carry if nothing more were compressed. [`Progress`](crate::state::Progress) has `V`;
//! what is kept here is `d`.
//!
//! Compressed bytes are sent before raw ones. While `c` raw bytes a second are compressed and `b`
//! bytes a second are sent, compressed bytes wait as long as there are any, so `d` falls at `c`.
//! When there are none (`b > ξ c`), the network takes what is made and `b - ξ c` raw bytes beside
//! it: `V = d`, and it falls at `b + c (1 - ξ)`, as `V` does in the other case too. So `V` needs no
//! knowledge of `D`, and after a time `t` of constant rates
//!
//! ```text
//! V(t) = V(0) - (b + c (1 - ξ)) t
//! d(t) = min(V(t), d(0) - c t)
//! ```
//!
//! The raw bytes are exhausted at `d(0) / c` unless the flow ends before that, with `V = d` to the
//! last. Without compression, `c = 0`, `D = 0` and `d = V` always; so the raw bytes of a flow are
//! the smaller of `V` and a number that is written down only when compression has a part in it.
//!
//! Where a flow is compressed first and sent then, it is *held*: among the coflow's unfinished
//! flows, but not among those that allocators see. Its volume is kept here meanwhile.

use crate::demand::Demand;

/// The flows of one coflow that is compressed.
#[derive(Debug, Default)]
pub struct Compressed {
    /// Whether the coflow is compressed.
    is_on: bool,
    /// All unfinished flows, those that are held included, once the coflow is compressed. It is in
    /// a box because few coflows are compressed: each of the others takes 0.6 KB less.
    unfinished: Option<Box<Demand>>,
    /// Raw bytes of each flow, as long as no more than its volume; by position.
    raw: Vec<f64>,
    /// Volume of each flow that is held; NaN for others.
    held: Vec<f64>,
    /// Volume of the flows that are held, by local link.
    held_at: Vec<f64>,
    /// Number of the flows that are held, by local link.
    count_at: Vec<u32>,
    /// Bytes that did not have to be sent.
    saved: f64,
    /// Seconds of whole processors that compressing took.
    cpu_s: f64,
}

impl Compressed {
    /// Whether the coflow is compressed.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    pub(crate) fn clear(&mut self) {
        self.is_on = false;
        self.saved = 0.0;
        self.cpu_s = 0.0;
    }

    /// Begins: nothing is compressed, and nothing held.
    pub(crate) fn begin(&mut self, demand: &Demand, size: &[f64]) {
        self.is_on = true;
        Demand::clone_from(self.unfinished.get_or_insert_default(), demand);
        self.raw.clear();
        self.raw.extend_from_slice(size);
        self.held.clear();
        self.held.resize(size.len(), f64::NAN);
        self.held_at.clear();
        self.held_at.resize(demand.links().len(), 0.0);
        self.count_at.clear();
        self.count_at.resize(demand.links().len(), 0);
    }

    /// All unfinished flows of a coflow that is compressed, those that are held included.
    pub(crate) fn unfinished(&self) -> Option<&Demand> {
        self.unfinished.as_deref().filter(|_| self.is_on)
    }

    /// [`Compressed::unfinished`], to start and end flows.
    pub(crate) fn unfinished_mut(&mut self) -> Option<&mut Demand> {
        self.unfinished.as_deref_mut().filter(|_| self.is_on)
    }

    /// Raw bytes of a flow of this volume.
    pub fn raw(&self, position: usize, volume: f64) -> f64 {
        self.raw[position].min(volume)
    }

    /// Writes down the raw bytes of a flow.
    pub fn set_raw(&mut self, position: usize, raw: f64) {
        self.raw[position] = raw;
    }

    /// Volume of a flow that is held.
    pub fn held(&self, position: usize) -> Option<f64> {
        let volume = self.held[position];
        (!volume.is_nan()).then_some(volume)
    }

    /// Volume of the flows held at each local link.
    pub fn held_at(&self) -> &[f64] {
        &self.held_at
    }

    /// Keeps the volume of a flow that allocators are no longer to see.
    pub(crate) fn hold(&mut self, position: usize, volume: f64) {
        self.held[position] = volume;
        self.raw[position] = self.raw[position].min(volume);
        for l in self.unfinished.iter().flat_map(|unfinished| unfinished.path(position)) {
            self.held_at[l] += volume;
            self.count_at[l] += 1;
        }
    }

    /// Lets a flow go, and returns its volume.
    pub(crate) fn let_go(&mut self, position: usize) -> f64 {
        let volume = std::mem::replace(&mut self.held[position], f64::NAN);
        for l in self.unfinished.iter().flat_map(|unfinished| unfinished.path(position)) {
            self.count_at[l] -= 1;
            // Sums and differences leave a residue of rounding.
            self.held_at[l] = if self.count_at[l] == 0 { 0.0 } else { self.held_at[l] - volume };
        }
        volume
    }

    /// `raw` bytes of a flow that is held have been compressed to `ratio` of their size.
    pub fn compress_held(&mut self, position: usize, raw: f64, ratio: f64) {
        let less = raw * (1.0 - ratio);
        self.raw[position] -= raw;
        self.held[position] -= less;
        let path = self.unfinished.iter().flat_map(|unfinished| unfinished.path(position));
        path.for_each(|l| self.held_at[l] -= less);
    }

    /// Adds to what compression has saved and cost.
    pub fn account(&mut self, saved: f64, cpu_s: f64) {
        self.saved += saved;
        self.cpu_s += cpu_s;
    }

    /// Bytes that need not be sent thanks to compression so far.
    pub fn saved(&self) -> f64 {
        self.saved
    }

    /// Seconds of whole processors that compression has taken so far.
    pub fn cpu_s(&self) -> f64 {
        self.cpu_s
    }

    /// Volume of all flows held, and their raw size.
    pub(crate) fn held_flows(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let held = self.held.iter().copied().enumerate();
        held.filter(|(_, volume)| !volume.is_nan())
    }
}
