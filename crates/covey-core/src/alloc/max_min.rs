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
const UNLIMITED: f64 = 1e300;

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
    mask: Vec<u64>,
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
    let least = |shares: &[f64]| shares.iter().copied().fold(f64::INFINITY, f64::min);
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

impl Incidence for Demand {
    fn senders(&self) -> usize {
        Demand::senders(self)
    }

    fn flows(&self, link: usize) -> f64 {
        f64::from(self.count()[link])
    }

    fn relieve(&self, side: Side, fixed: &[u32], filling: &mut Filling) {
        let Filling { free, open, level, share, mask, .. } = filling;
        let senders = Demand::senders(self);
        match side {
            Side::Senders => {
                for &s in fixed {
                    let level = level[s as usize];
                    for p in self.active_in_row(s as usize) {
                        let r = self.receiver_of(p);
                        free[r] -= level;
                        open[r] -= 1.0;
                    }
                }
            }
            Side::Receivers => {
                mask.clear();
                mask.resize(self.receivers().div_ceil(64), 0);
                for &r in fixed {
                    let k = r as usize - senders;
                    mask[k / 64] |= 1 << (k % 64);
                }
                for s in (0..senders).filter(|&s| share[s] < f64::INFINITY) {
                    let mut relieve = |r: usize| {
                        free[s] -= level[r];
                        open[s] -= 1.0;
                    };
                    if self.is_regular(s) {
                        let row = self.row_bits(s).iter().zip(&*mask).map(|(row, mask)| row & mask);
                        bits(row).for_each(|k| relieve(senders + k));
                    } else {
                        self.active_in_row(s)
                            .map(|p| self.receiver_of(p))
                            .filter(|&r| mask[(r - senders) / 64] >> ((r - senders) % 64) & 1 == 1)
                            .for_each(&mut relieve);
                    }
                }
            }
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
