//! Exact max-min fairness.
//!
//! An allocation is max-min fair when no flow can get more without taking from one that has no more (Bertsekas and
//! Gallager, Data Networks, §6.5). It follows that every link has a *water level*, and that a flow's rate is the
//! least level on its path. So a level is kept for each link instead of a rate for each flow.
//!
//! Progressive filling fixes the link with the smallest share (what is free over the number of flows whose rate is
//! open), gives its open flows that rate, and goes on. Between senders and receivers, one round fixes many links:
//! to fix a sender only raises the shares of receivers, and leaves those of other senders alone. So all senders
//! whose share is no larger than the smallest share of a receiver are fixed together, and the reverse.

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use super::shuffle_rows::ShuffleRows;
use crate::alloc::error::PlanError;
use crate::alloc::flow_rate::Single;
use crate::bits::{bits, has_bit};
use crate::demand::Demand;
use crate::plan::Rule;
use crate::simd::{bitmask, minimum};

/// Shares that differ by less than this, relatively, are fixed in one round (each at its own
/// level): equal shares differ in the last bits after many subtractions.
const SAME_ROUND: f64 = 1.0 + 1e-12;

/// Level of a link that limits nobody, in bytes per second. Finite, so that infinitely much left
/// minus any service stays infinitely much.
pub const UNLIMITED: f64 = 1e300;

#[derive(Debug)]
pub struct MaxMin;

impl SharingRule for MaxMin {
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64],
        rates: &mut Rates,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        rates.clear();
        let demand = flows.demand();
        if flows.is_by_link() {
            if flows.rows.is_empty() {
                flows.rows.tell_apart(demand);
            }
            let filling = &mut scratch.max_min;
            fill(&Shuffle { demand, rows: flows.rows }, free, filling);
            rates.levels.extend_from_slice(&filling.level);
            free.iter_mut().zip(&filling.free).for_each(|(free, rest)| *free = rest.max(0.0));
        } else {
            flows.select(&mut scratch.positions);
            by_path(demand, free, &mut rates.singles, scratch);
        }
        Ok(())
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        Some(Rule::MaxMin)
    }
}

/// The links at one end of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Senders,
    Receivers,
}

/// Flows between senders `0..S` and receivers `S..S + R`.
pub trait Incidence {
    fn senders(&self) -> usize;
    /// Adds to `open` the flows at each link.
    fn count(&self, open: &mut Vec<f64>);
    /// For every open flow between a link of `fixed` (all of `side`) and a link of the other side:
    /// takes the fixed link's level from the other's `free` and one from its `open`.
    fn relieve(&self, side: Side, fixed: &[u32], filling: &mut Filling);
}

/// Working memory of [`fill`], and its result.
#[derive(Debug, Default)]
pub struct Filling {
    /// Capacity not yet promised to a flow.
    pub free: Vec<f64>,
    /// Flows whose rate is open.
    pub open: Vec<f64>,
    /// Level of each link; [`UNLIMITED`] where the link is nobody's bottleneck.
    pub level: Vec<f64>,
    /// `free / open`; infinite once the link is fixed or has no open flow.
    share: Vec<f64>,
    fixed: Vec<u32>,
    /// Receivers, a bit each: those that are open or those that are fixed.
    mask: Vec<u64>,
    /// What is fixed of each row of a shuffle.
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

/// Fills links of capacity `capacity` to max-min fairness; the levels are left in
/// `filling.level`, and the capacity not used in `filling.free`.
pub fn fill(incidence: &impl Incidence, capacity: &[f64], filling: &mut Filling) {
    let (senders, links) = (incidence.senders(), capacity.len());
    filling.free.clear();
    filling.free.extend_from_slice(capacity);
    filling.open.clear();
    incidence.count(&mut filling.open);
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
        incidence.relieve(side, &fixed[..count], filling);
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
    /// Those of `demand`.
    pub rows: &'a ShuffleRows,
}

impl Incidence for Shuffle<'_> {
    fn senders(&self) -> usize {
        self.demand.senders()
    }

    fn count(&self, open: &mut Vec<f64>) {
        open.extend(self.demand.count().iter().map(|&flows| f64::from(flows)));
    }

    fn relieve(&self, side: Side, fixed: &[u32], filling: &mut Filling) {
        filling.sum.clear();
        filling.sum.resize(self.rows.senders().len(), RowSum::default());
        match side {
            Side::Senders => self.relieve_receivers(fixed, filling),
            Side::Receivers => self.relieve_senders(fixed, filling),
        }
    }
}

impl Shuffle<'_> {
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
        mask.extend(shares.map(|shares| bitmask(shares.iter().map(|share| *share < f64::INFINITY))));
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

/// The same for flows at `scratch.positions`, over paths of any number of links: one bottleneck share a round.
fn by_path(
    demand: &Demand,
    free: &mut [f64],
    singles: &mut Vec<Single>,
    scratch: &mut RuleScratch,
) {
    scratch.count(demand, free.len());
    let RuleScratch { positions: flows, open: unfixed, numbers: rates, .. } = scratch;
    rates.clear();
    rates.resize(flows.len(), f64::NAN);
    loop {
        let share = |l: usize| free[l].max(0.0) / f64::from(unfixed[l]);
        let least =
            (0..free.len()).filter(|&l| unfixed[l] > 0).map(share).fold(f64::INFINITY, f64::min);
        if least == f64::INFINITY {
            break;
        }
        let limit = least * (1.0 + 1e-12);
        // Decide with the shares at the start of the round who is fixed; only then take.
        for (i, &p) in flows.iter().enumerate() {
            let open = rates[i].is_nan();
            if open && demand.path(p as usize).any(|l| share(l) <= limit) {
                rates[i] = -least;
            }
        }
        for (i, &p) in flows.iter().enumerate() {
            if rates[i].is_sign_negative() && !rates[i].is_nan() {
                rates[i] = least;
                for l in demand.path(p as usize) {
                    free[l] -= least;
                    unfixed[l] -= 1;
                }
            }
        }
    }
    for (&position, &rate) in flows.iter().zip(&*rates) {
        if rate > 0.0 {
            singles.push(Single { position, rate });
        }
    }
    free.iter_mut().for_each(|f| *f = f.max(0.0));
}
