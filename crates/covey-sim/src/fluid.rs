//! One coflow as a fluid: constant rates between moments, integrated when somebody looks.
//!
//! A coflow's [`Grant`] gives each flow the rate `min(level of its two links) + left / Γ + single`.
//! Bytes left are kept as they were at the `anchor`; [`Fluid::advance`] moves it. The Γ part needs
//! no work per flow: with `left = y · scale`, only `scale` shrinks, and what a single rate takes on
//! top is taken from that flow's `y`.

use covey_core::alloc::{Grant, Single};
use covey_core::state::Progress;
use covey_core::{Demand, Time};

/// Below this the scale is multiplied into the flows, so that it never vanishes.
const SMALLEST_SCALE: f64 = 1e-6;

/// The rates of one coflow since the anchor.
#[derive(Debug)]
pub(crate) struct Fluid {
    /// Moment at which progress is true.
    anchor: Time,
    /// Bytes sent up to the anchor.
    sent: f64,
    /// Bytes per second of the whole coflow.
    rate: f64,
    /// When the next flow ends at these rates.
    next: Time,
    levels: Vec<f64>,
    /// 1 / level.
    inverse: Vec<f64>,
    /// Use of each local link by the rates given by level.
    used: Vec<f64>,
    inverse_gamma: f64,
    /// At most one a flow.
    singles: Vec<Single>,
}

impl Fluid {
    pub(crate) fn new() -> Fluid {
        Fluid {
            anchor: Time::ZERO,
            sent: 0.0,
            rate: 0.0,
            next: Time::NEVER,
            levels: Vec::new(),
            inverse: Vec::new(),
            used: Vec::new(),
            inverse_gamma: 0.0,
            singles: Vec::new(),
        }
    }

    /// No rates, and `sent` bytes sent up to `now`.
    pub(crate) fn resume(&mut self, now: Time, sent: f64) {
        self.anchor = now;
        self.sent = sent;
        self.halt();
    }

    /// No rates.
    pub(crate) fn halt(&mut self) {
        self.rate = 0.0;
        self.next = Time::NEVER;
        self.levels.clear();
        self.inverse_gamma = 0.0;
        self.singles.clear();
    }

    /// When the next flow ends if rates stay.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Bytes per second of the whole coflow.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Bytes sent up to `now`.
    pub(crate) fn sent(&self, now: Time) -> f64 {
        self.sent + self.rate * (now - self.anchor)
    }

    /// When `bytes` will have been sent if rates stay.
    pub(crate) fn when_sent(&self, bytes: f64) -> Time {
        let missing = bytes - self.sent;
        if missing <= 0.0 {
            self.anchor
        } else if self.rate > 0.0 {
            self.anchor + missing / self.rate
        } else {
            Time::NEVER
        }
    }

    /// Whether flows are sent in proportion to what is left of them, so that Γ changes with time.
    pub(crate) fn is_by_size(&self) -> bool {
        self.inverse_gamma > 0.0
    }

    /// Brings progress to `now`. No flow may end before `now`.
    pub(crate) fn advance(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        let dt = now - self.anchor;
        if dt <= 0.0 {
            return;
        }
        self.anchor = now;
        if self.rate == 0.0 {
            return;
        }
        self.sent += self.rate * dt;
        if self.inverse_gamma > 0.0 {
            // At its end the coflow has nothing left: a scale of zero would lose the flows that are
            // yet to start, and which flows end is decided by time, not by bytes.
            let rest = 1.0 - dt * self.inverse_gamma;
            progress.scale *= rest.max(f64::EPSILON);
            self.inverse_gamma /= rest.max(f64::EPSILON);
        }
        let by_scale = dt / progress.scale;
        if !self.levels.is_empty() {
            self.advance_by_level(demand, progress, by_scale);
        }
        for single in &self.singles {
            let p = single.position as usize;
            progress.left[p] -= single.rate * by_scale;
            demand.path(p).for_each(|l| progress.link_left[l] -= single.rate * by_scale);
        }
        if progress.scale < SMALLEST_SCALE {
            progress.left.iter_mut().for_each(|left| *left *= progress.scale);
            progress.link_left.iter_mut().for_each(|left| *left *= progress.scale);
            progress.scale = 1.0;
        }
    }

    fn advance_by_level(&self, demand: &Demand, progress: &mut Progress, by_scale: f64) {
        for (left, used) in progress.link_left.iter_mut().zip(&self.used) {
            *left -= used * by_scale;
        }
        let receivers = &self.levels[demand.senders()..];
        for s in self.sending(demand) {
            let row = demand.row(s);
            let level = self.levels[s];
            let left = &mut progress.left[row.clone()];
            if demand.is_regular(s) {
                for (left, &other) in left.iter_mut().zip(receivers) {
                    *left -= (if other < level { other } else { level }) * by_scale;
                }
            } else {
                for (left, &r) in left.iter_mut().zip(&demand.receiver_links()[row]) {
                    *left -= self.levels[r as usize].min(level) * by_scale;
                }
            }
        }
    }

    /// Senders with unfinished flows that have a rate by level.
    fn sending<'a>(&'a self, demand: &'a Demand) -> impl Iterator<Item = usize> + 'a {
        (0..demand.senders()).filter(|&s| demand.count()[s] > 0 && self.levels[s] > 0.0)
    }

    /// Calls `finished` with the position of every flow that ends at the anchor.
    pub(crate) fn finished(
        &self,
        demand: &Demand,
        progress: &Progress,
        mut finished: impl FnMut(usize),
    ) {
        if self.inverse_gamma > 0.0 && 1.0 / self.inverse_gamma <= Time::RESOLUTION_S {
            demand.active().for_each(finished);
            return;
        }
        for single in &self.singles {
            let p = single.position as usize;
            let due = self.seconds_left(demand, progress, single) <= Time::RESOLUTION_S;
            if due && demand.is_active(p) {
                finished(p);
            }
        }
        if !self.levels.is_empty() {
            let receivers = &self.inverse[demand.senders()..];
            for s in self.sending(demand) {
                let row = demand.row(s);
                let inverse = self.inverse[s];
                let due = |left: f64, other: f64| {
                    left * progress.scale * inverse.max(other) <= Time::RESOLUTION_S
                };
                if demand.is_regular(s) {
                    for (p, (&left, &other)) in
                        row.clone().zip(progress.left[row].iter().zip(receivers))
                    {
                        if due(left, other) {
                            finished(p);
                        }
                    }
                } else {
                    for p in row {
                        if due(progress.left[p], self.inverse[demand.receiver_of(p)]) {
                            finished(p);
                        }
                    }
                }
            }
        }
    }

    /// Takes over the rates of `grant` from the anchor on.
    pub(crate) fn install(&mut self, demand: &Demand, progress: &Progress, grant: &Grant) {
        self.levels.clear();
        self.levels.extend_from_slice(grant.levels());
        self.inverse.clear();
        self.inverse.extend(self.levels.iter().map(|level| 1.0 / level));
        self.used.clear();
        self.used.extend_from_slice(grant.used_by_level());
        self.inverse_gamma = grant.inverse_gamma();
        self.singles.clear();
        self.singles.extend(grant.singles());
        if grant.may_repeat() {
            self.singles.sort_unstable_by_key(|s| s.position);
            self.singles.dedup_by(|second, first| {
                let same = first.position == second.position;
                if same {
                    first.rate += second.rate;
                }
                same
            });
        }
        self.rate = (0..demand.senders()).map(|s| grant.used(s)).sum();
        self.next = self.anchor + self.seconds_to_next(demand, progress);
    }

    /// Seconds from the anchor to the next end of a flow.
    fn seconds_to_next(&self, demand: &Demand, progress: &Progress) -> f64 {
        let mut least =
            if self.inverse_gamma > 0.0 { 1.0 / self.inverse_gamma } else { f64::INFINITY };
        for single in &self.singles {
            least = least.min(self.seconds_left(demand, progress, single));
        }
        if !self.levels.is_empty() {
            let receivers = &self.inverse[demand.senders()..];
            for s in self.sending(demand) {
                let row = demand.row(s);
                let inverse = self.inverse[s];
                let in_row = if demand.is_regular(s) {
                    least_product(&progress.left[row], receivers, inverse)
                } else {
                    row.map(|p| progress.left[p] * self.inverse[demand.receiver_of(p)].max(inverse))
                        .fold(f64::INFINITY, f64::min)
                };
                least = least.min(in_row * progress.scale);
            }
        }
        least
    }

    /// Seconds from the anchor to the end of a flow with a rate of its own, all its rates together.
    fn seconds_left(&self, demand: &Demand, progress: &Progress, single: &Single) -> f64 {
        let position = single.position as usize;
        let left = progress.left[position] * progress.scale;
        let mut rate = left * self.inverse_gamma + single.rate;
        if !self.levels.is_empty() {
            rate += demand.path(position).map(|l| self.levels[l]).fold(f64::INFINITY, f64::min);
        }
        left / rate
    }
}

/// Least of `left[k] * max(other[k], inverse)`, in a form that compiles to vector instructions. NaN
/// (a flow yet to start, or an ended one nobody limits) is never the least.
pub(crate) fn least_product(left: &[f64], other: &[f64], inverse: f64) -> f64 {
    const LANES: usize = 8;
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let greater = |a: f64, b: f64| if a > b { a } else { b };
    let mut least = [f64::INFINITY; LANES];
    let (lefts, others) = (left.chunks_exact(LANES), other.chunks_exact(LANES));
    let rest = lefts.remainder().iter().zip(others.remainder());
    for (k, (&left, &other)) in rest.enumerate() {
        least[k] = lesser(left * greater(other, inverse), least[k]);
    }
    for (left, other) in lefts.zip(others) {
        for k in 0..LANES {
            least[k] = lesser(left[k] * greater(other[k], inverse), least[k]);
        }
    }
    least.into_iter().fold(f64::INFINITY, lesser)
}
