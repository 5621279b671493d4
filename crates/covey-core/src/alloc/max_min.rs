//! Exact max-min fairness between senders and receivers.
//!
//! An allocation is max-min fair when no flow can get more without taking from one that has no
//! more (Bertsekas and Gallager, Data Networks, §6.5). It follows that every link has a *level* and
//! that a flow's rate is the least level of the links on its path: the levels are what is computed
//! and kept, one a link rather than one rate a flow.
//!
//! Progressive filling fixes the link with the smallest share (what is free over the number of
//! flows whose rate is open), gives its open flows that rate, and goes on. Between senders and
//! receivers many links can be fixed in one round: fixing a sender only raises the shares of
//! receivers, and leaves those of other senders alone. So all senders whose share is no larger than
//! the smallest share of a receiver are fixed together, and the other way round.

use super::{Side, crowd::Crowd};
use crate::demand::{Demand, bits};

/// Shares that differ by less than this, relatively, are fixed in one round (each at its own
/// level): equal shares differ in the last bits after many subtractions.
const TOGETHER: f64 = 1.0 + 1e-12;

/// Level of a link that limits nobody, in bytes per second. Finite, so that infinitely much left
/// minus any service stays infinitely much.
pub(super) const UNLIMITED: f64 = 1e300;

/// Flows between senders `0..S` and receivers `S..S + R`.
pub(super) trait Incidence {
    fn senders(&self) -> usize;
    /// Open flows at each link at the start.
    fn flows(&self, link: usize) -> f64;
    /// For every open flow between a link of `fixed` (all of `side`) and a link of the other side:
    /// takes the fixed link's level from the other's `free` and one from its `open`.
    fn relieve(&self, side: Side, fixed: &[u32], filling: &mut Filling);
}

/// Working memory of [`fill`], and its result.
#[derive(Debug, Default)]
pub(super) struct Filling {
    /// Capacity not yet promised to a flow.
    pub free: Vec<f64>,
    /// Flows whose rate is open.
    pub open: Vec<f64>,
    /// Level of each link; [`UNLIMITED`] where the link is nobody's bottleneck.
    pub level: Vec<f64>,
    /// `free / open`; infinite once the link is fixed or has no open flow.
    share: Vec<f64>,
    fixed: Vec<u32>,
    /// The fixed receivers as bits, and those among them that a sender has flows to.
    mask: Vec<u64>,
    masked: Vec<u64>,
}

/// Fills links of capacity `capacity` to max-min fairness; the levels are left in
/// `filling.level`, and the capacity not used in `filling.free`.
pub(super) fn fill(incidence: &impl Incidence, capacity: &[f64], filling: &mut Filling) {
    let (senders, links) = (incidence.senders(), capacity.len());
    filling.free.clear();
    filling.free.extend_from_slice(capacity);
    filling.open.clear();
    filling.open.extend((0..links).map(|l| incidence.flows(l)));
    filling.level.clear();
    filling.level.resize(links, UNLIMITED);
    filling.share.clear();
    filling.share.extend(
        filling
            .free
            .iter()
            .zip(&filling.open)
            .map(|(f, n)| if *n > 0.0 { f / n } else { f64::INFINITY }),
    );
    loop {
        let (by_senders, by_receivers) =
            (least(&filling.share[..senders]), least(&filling.share[senders..]));
        if by_senders == f64::INFINITY && by_receivers == f64::INFINITY {
            return;
        }
        let (side, limit) = if by_senders <= by_receivers {
            (Side::Senders, by_receivers.max(by_senders))
        } else {
            (Side::Receivers, by_senders)
        };
        let (these, others) = match side {
            Side::Senders => (0..senders, senders..links),
            Side::Receivers => (senders..links, 0..senders),
        };
        let mut fixed = std::mem::take(&mut filling.fixed);
        fixed.clear();
        for l in these {
            let share = filling.share[l];
            if share <= limit * TOGETHER && share < f64::INFINITY {
                filling.level[l] = share;
                filling.share[l] = f64::INFINITY;
                fixed.push(l as u32);
            }
        }
        incidence.relieve(side, &fixed, filling);
        for &l in &fixed {
            filling.free[l as usize] = 0.0;
        }
        filling.fixed = fixed;
        for l in others {
            if filling.share[l] < f64::INFINITY {
                // Less than half a flow open means none: counts are whole but for rounding.
                filling.share[l] = if filling.open[l] > 0.5 {
                    filling.free[l].max(0.0) / filling.open[l]
                } else {
                    f64::INFINITY
                };
            }
        }
    }
}

/// The least of some shares, in a form that compiles to vector instructions.
fn least(shares: &[f64]) -> f64 {
    const LANES: usize = 8;
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let chunks = shares.chunks_exact(LANES);
    let rest = chunks.remainder().iter().copied().fold(f64::INFINITY, lesser);
    let mut lanes = [f64::INFINITY; LANES];
    for chunk in chunks {
        for (lane, share) in lanes.iter_mut().zip(chunk) {
            *lane = lesser(*share, *lane);
        }
    }
    lanes.into_iter().fold(rest, lesser)
}

impl Incidence for Demand {
    fn senders(&self) -> usize {
        Demand::senders(self)
    }

    fn flows(&self, link: usize) -> f64 {
        f64::from(self.count()[link])
    }

    fn relieve(&self, side: Side, fixed: &[u32], filling: &mut Filling) {
        match side {
            Side::Senders => self.relieve_receivers(fixed, filling),
            Side::Receivers => self.relieve_senders(fixed, filling),
        }
    }
}

/// In a shuffle most senders have flows to the same receivers; their rows are the same words, and
/// one sum serves them all.
impl Demand {
    fn relieve_receivers(&self, fixed: &[u32], filling: &mut Filling) {
        let Filling { free, open, level, .. } = filling;
        let same_row = |a: &u32, b: &u32| {
            let (a, b) = (*a as usize, *b as usize);
            self.is_regular(a) && self.is_regular(b) && self.row_bits(a) == self.row_bits(b)
        };
        for same in fixed.chunk_by(same_row) {
            let sum: f64 = same.iter().map(|&s| level[s as usize]).sum();
            for p in self.active_in_row(same[0] as usize) {
                let r = self.receiver_of(p);
                free[r] -= sum;
                open[r] -= same.len() as f64;
            }
        }
    }

    fn relieve_senders(&self, fixed: &[u32], filling: &mut Filling) {
        let Filling { free, open, level, share, mask, masked, .. } = filling;
        let senders = Demand::senders(self);
        mask.clear();
        mask.resize(self.receivers().div_ceil(64), 0);
        for k in fixed.iter().map(|&r| r as usize - senders) {
            mask[k / 64] |= 1 << (k % 64);
        }
        masked.clear();
        let (mut sum, mut count) = (0.0, 0.0);
        for s in (0..senders).filter(|&s| share[s] < f64::INFINITY) {
            let row = self.row_bits(s);
            if !self.is_regular(s) {
                let relieved = self
                    .active_in_row(s)
                    .map(|p| self.receiver_of(p))
                    .filter(|&r| mask[(r - senders) / 64] >> ((r - senders) % 64) & 1 == 1);
                for r in relieved {
                    free[s] -= level[r];
                    open[s] -= 1.0;
                }
                continue;
            }
            let words = row.iter().zip(&*mask).map(|(row, mask)| row & mask);
            if !words.clone().eq(masked.iter().copied()) {
                masked.clear();
                masked.extend(words);
                sum = bits(masked.iter().copied()).map(|k| level[senders + k]).sum();
                count = masked.iter().map(|word| f64::from(word.count_ones())).sum();
            }
            free[s] -= sum;
            open[s] -= count;
        }
    }
}

impl Incidence for Crowd {
    fn senders(&self) -> usize {
        self.ports()
    }

    fn flows(&self, link: usize) -> f64 {
        self.count(link)
    }

    fn relieve(&self, side: Side, fixed: &[u32], filling: &mut Filling) {
        let other = match side {
            Side::Senders => self.ports()..2 * self.ports(),
            Side::Receivers => 0..self.ports(),
        };
        let (free, open) = (&mut filling.free[other.clone()], &mut filling.open[other]);
        for &l in fixed {
            let level = filling.level[l as usize];
            let flows = self.flows_with(l as usize);
            for ((free, open), &n) in free.iter_mut().zip(&mut *open).zip(flows) {
                *free -= level * f64::from(n);
                *open -= f64::from(n);
            }
        }
    }
}
