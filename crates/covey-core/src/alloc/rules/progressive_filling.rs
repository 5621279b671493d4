//! Progressive filling of links to max-min fairness.
//!
//! A round fixes the link with the smallest share (what is free over the number of flows whose rate
//! is open), gives its open flows that rate, and filling goes on. Between senders and receivers,
//! one round fixes many links: to fix a sender only raises the shares of receivers, and leaves
//! those of other senders alone. So all senders whose share is no larger than the smallest share of
//! a receiver are fixed together, and the reverse.

use super::shuffle_rows::ShuffleRows;
use crate::bits::{bits, has_bit};
use crate::demand::Demand;
use crate::simd::{bitmask, minimum};

/// Shares that differ by less than this, relatively, are fixed in one round, each at its own level:
/// equal shares differ in the last bits after many subtractions.
const SAME_ROUND: f64 = 1.0 + 1e-12;

/// Level of a link that limits no flow, in bytes per second. It is finite, so that infinitely much
/// left minus any service stays infinitely much.
pub const UNLIMITED: f64 = 1e300;

/// The links at one end of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Senders,
    Receivers,
}

/// Working memory of [`fill`], and its result.
#[derive(Debug, Default)]
pub struct Filling {
    /// Bytes per second of each link that are not promised to a flow yet.
    pub free: Vec<f64>,
    /// By link, the number of flows whose rate is open.
    pub open: Vec<f64>,
    /// Level of each link in bytes per second; [`UNLIMITED`] where the link limits no flow.
    pub level: Vec<f64>,
    /// `free / open`; infinite once the link is fixed or has no open flow.
    share: Vec<f64>,
    /// The links that are fixed in this round.
    fixed: Vec<u32>,
    /// Receivers, a bit each: those that are open or those that are fixed.
    mask: Vec<u64>,
    /// For each row of a shuffle, the flows that are fixed in this round.
    sum: Vec<RowSum>,
}

/// Levels of some flows, added up, and how many they are.
#[derive(Debug, Default, Clone, Copy)]
struct RowSum {
    levels: f64,
    flows: f64,
}

impl RowSum {
    fn add(&mut self, level: f64) {
        self.levels += level;
        self.flows += 1.0;
    }
}

/// Fills links of some `capacity` to max-min fairness. Leaves the levels in `filling.level`, and
/// the capacity that is not used in `filling.free`.
pub fn fill(shuffle: &Shuffle<'_>, capacity: &[f64], filling: &mut Filling) {
    let (senders, links) = (shuffle.demand.senders(), capacity.len());
    filling.free.clear();
    filling.free.extend_from_slice(capacity);
    filling.open.clear();
    filling.open.extend(shuffle.demand.count().iter().map(|&flows| f64::from(flows)));
    filling.level.clear();
    filling.level.resize(links, UNLIMITED);
    filling.share.clear();
    filling.share.resize(links, 0.0);
    filling.share_out(0..links);
    filling.fixed.resize(links, 0);
    loop {
        let (by_senders, by_receivers) = (
            minimum(f64::INFINITY, &filling.share[..senders]),
            minimum(f64::INFINITY, &filling.share[senders..]),
        );
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
        let limit = (limit * SAME_ROUND).min(f64::MAX);
        let mut count = 0;
        // Every link is written down, to be overwritten unless it is fixed: no branch to mispredict.
        for (share, l) in filling.share[these.clone()].iter().zip(these) {
            fixed[count] = l as u32;
            count += usize::from(*share <= limit);
        }
        for l in fixed[..count].iter().map(|&l| l as usize) {
            filling.level[l] = std::mem::replace(&mut filling.share[l], f64::INFINITY);
        }
        shuffle.relieve(side, &fixed[..count], filling);
        for &l in &fixed[..count] {
            filling.free[l as usize] = 0.0;
        }
        filling.fixed = fixed;
        filling.share_out(others);
    }
}

impl Filling {
    /// Works out the shares of links that are not fixed.
    fn share_out(&mut self, links: std::ops::Range<usize>) {
        let (free, open) = (&self.free[links.clone()], &self.open[links.clone()]);
        for ((share, &free), &open) in self.share[links].iter_mut().zip(free).zip(open) {
            // Less than half a flow open means none: counts are whole but for rounding.
            let is_open = (open > 0.5) & (*share < f64::INFINITY);
            let free = if free > 0.0 { free } else { 0.0 };
            *share = if is_open { free / open } else { f64::INFINITY };
        }
    }
}

/// The flows of one coflow.
pub struct Shuffle<'a> {
    pub demand: &'a Demand,
    /// The rows of `demand`.
    pub rows: &'a ShuffleRows,
}

impl Shuffle<'_> {
    /// For each open flow between a link of `fixed` (all of `side`) and a link of the other side,
    /// takes the fixed link's level from the `free` of the other link, and one from its `open`.
    fn relieve(&self, side: Side, fixed: &[u32], filling: &mut Filling) {
        filling.sum.clear();
        filling.sum.resize(self.rows.senders().len(), RowSum::default());
        match side {
            Side::Senders => self.relieve_receivers(fixed, filling),
            Side::Receivers => self.relieve_senders(fixed, filling),
        }
    }

    fn relieve_receivers(&self, fixed: &[u32], filling: &mut Filling) {
        let senders = self.demand.senders();
        let Filling { free, open, level, share, mask, sum, .. } = filling;
        let row = |s: u32| self.rows.of()[s as usize] as usize;
        for same in fixed.chunk_by(|&a, &b| row(a) == row(b)) {
            let sum = &mut sum[row(same[0])];
            sum.levels += same.iter().map(|&s| level[s as usize]).sum::<f64>();
            sum.flows += same.len() as f64;
        }
        let is_open = |r: usize| share[r] < f64::INFINITY;
        mask.clear();
        let shares = share[senders..].chunks(64);
        mask.extend(
            shares.map(|shares| bitmask(shares.iter().map(|share| *share < f64::INFINITY))),
        );
        for (sum, &s) in sum.iter().zip(self.rows.senders()).filter(|(sum, _)| sum.flows > 0.0) {
            let mut take = |r: usize| {
                free[r] -= sum.levels;
                open[r] -= sum.flows;
            };
            let s = s as usize;
            if self.demand.is_regular(s) {
                let words =
                    self.demand.row_bits(s).iter().zip(&*mask).map(|(row, mask)| row & mask);
                bits(words).for_each(|k| take(senders + k));
            } else {
                let receivers = self.demand.active_in_row(s).map(|p| self.demand.receiver_of(p));
                receivers.filter(|&r| is_open(r)).for_each(take);
            }
        }
    }

    fn relieve_senders(&self, fixed: &[u32], filling: &mut Filling) {
        let Filling { free, open, level, mask, sum, .. } = filling;
        let senders = self.demand.senders();
        let any = fixed.iter().any(|&r| level[r as usize] > 0.0);
        mask.clear();
        mask.resize(self.demand.receivers().div_ceil(64), 0);
        for k in fixed.iter().map(|&r| r as usize - senders) {
            mask[k / 64] |= 1 << (k % 64);
        }
        for (sum, &s) in sum.iter_mut().zip(self.rows.senders()) {
            let s = s as usize;
            if self.demand.is_regular(s) {
                let words =
                    self.demand.row_bits(s).iter().zip(&*mask).map(|(row, mask)| row & mask);
                // Links with nothing free are many, and they add nothing.
                sum.levels =
                    if any { bits(words.clone()).map(|k| level[senders + k]).sum() } else { 0.0 };
                sum.flows = words.map(|word| f64::from(word.count_ones())).sum();
            } else {
                let receivers = self.demand.active_in_row(s).map(|p| self.demand.receiver_of(p));
                let is_fixed = |k: usize| has_bit(mask, k);
                receivers.filter(|r| is_fixed(r - senders)).for_each(|r| sum.add(level[r]));
            }
        }
        for ((free, open), row) in free.iter_mut().zip(open).zip(self.rows.of()) {
            let sum = &sum[*row as usize];
            *free -= sum.levels;
            *open -= sum.flows;
        }
    }
}
