//! Progressive filling of links in proportion to what is left of each flow.
//!
//! A round fixes the link with the lowest share (what is free over the bytes left of its open
//! flows), gives its open flows that level, and goes on. To fix senders raises the shares of
//! receivers and leaves other senders alone, so one round fixes all senders whose share is no
//! larger than the lowest share of a receiver, and the reverse. That holds where no flow crosses an
//! inner link; [`by_size_on_paths`](super::by_size_on_paths) serves the others.

use super::kept_by_size::Kept;
use crate::flow_rate::BySize;
use covey_core::Demand;
use covey_core::sets::simd::minimum;

/// Shares that differ by less than this, relatively, are fixed in one round: equal shares differ in
/// the last bits after many subtractions.
const SAME_ROUND: f64 = 1.0 + 1e-12;

/// Where subtractions leave less than this of what was there, the bytes left are summed up again.
const CANCELLED: f64 = 1e-6;

/// The level of a link that limits no flow.
pub const UNLIMITED: f64 = f64::MAX;

/// The levels of one coflow.
#[derive(Debug, Default)]
pub struct LevelsBySize {
    /// By local link, in bytes per second for each unit of
    /// [`Progress::left`](covey_core::state::Progress::left).
    pub levels: Vec<f64>,
    /// See [`BySize::limits`].
    pub limits: Vec<u32>,
    /// The lowest level of a flow.
    pub lowest: f64,
    /// The highest level of a flow.
    pub highest: f64,
    /// On paths with inner links, what the next decision goes on from.
    pub kept: Kept,
}

/// Working memory of [`LevelsBySize::fill`].
#[derive(Debug, Default)]
pub struct ProportionalFilling {
    /// What is left of each flow by position, zero unless the flow is open.
    left: Vec<f64>,
    links: FillingColumns,
    fixed: Vec<u32>,
}

/// Numbers by local link.
#[derive(Debug, Default)]
struct FillingColumns {
    /// Bytes per second that are not promised to a flow yet.
    free: Vec<f64>,
    /// Number of open flows.
    flows: Vec<f64>,
    /// What is left of the open flows.
    open: Vec<f64>,
    /// What was left of them when no link was fixed, or when `open` was last summed up.
    all: Vec<f64>,
    /// `free / open`; infinite once the link is fixed or has no open flow. The other numbers of
    /// such a link are stale.
    share: Vec<f64>,
}

impl LevelsBySize {
    /// Withdraws all rates.
    pub fn clear(&mut self) {
        self.levels.clear();
        self.limits.clear();
        self.kept.clear();
        self.lowest = 0.0;
        self.highest = 0.0;
    }

    /// The coflow has been sent for `seconds` over the scale, and what is left says so: levels rise
    /// so that rates stay.
    pub fn pass(&mut self, seconds: f64) {
        let lowest = self.lowest;
        let raise = |level: f64| BySize::raise(lowest, level, seconds);
        self.levels.iter_mut().for_each(|level| *level = raise(*level));
        self.highest = raise(self.highest);
    }

    /// Whether all flows have the same level.
    pub fn is_uniform(&self) -> bool {
        self.highest <= self.lowest * SAME_ROUND
    }

    /// Shares `free` (capacity at the local links) among the active flows, of which `left` is left
    /// by position. Leaves in `free` what they do not use. No flow crosses an inner link.
    pub fn fill(
        &mut self,
        demand: &Demand,
        left: &[f64],
        free: &mut [f64],
        filling: &mut ProportionalFilling,
    ) {
        filling.start(demand, left, free);
        self.clear();
        self.levels.resize(free.len(), UNLIMITED);
        let mut lowest = f64::INFINITY;
        while let Some(round) = filling.find_lowest(demand.senders()) {
            lowest = lowest.min(round);
            for l in filling.fixed.iter().map(|&l| l as usize) {
                let level = filling.links.share[l];
                self.levels[l] = level;
                self.highest = self.highest.max(level);
                free[l] = 0.0;
            }
            filling.fix(demand);
            filling.share_out(demand, round);
        }
        let rest = free.iter_mut().zip(&filling.links.free).zip(&self.levels);
        for ((free, rest), _) in rest.filter(|(_, level)| **level == UNLIMITED) {
            *free = rest.max(0.0);
        }
        self.lowest = lowest;
        if self.highest == 0.0 {
            self.clear();
        }
    }
}

impl ProportionalFilling {
    /// All active flows are open.
    fn start(&mut self, demand: &Demand, left: &[f64], before: &[f64]) {
        let is_active = demand.are_active();
        let open = |left: f64, is_active: bool| if is_active { left } else { 0.0 };
        self.left.resize(left.len(), 0.0);
        let links = &mut self.links;
        links.free.clear();
        links.free.extend_from_slice(before);
        links.flows.clear();
        links.flows.extend(demand.count().iter().map(|&flows| f64::from(flows)));
        links.open.clear();
        links.open.resize(before.len(), 0.0);
        if demand.is_shuffle() {
            let (of_senders, of_receivers) = links.open.split_at_mut(demand.senders());
            let receivers = demand.receivers();
            let rows = self.left.chunks_exact_mut(receivers).zip(left.chunks_exact(receivers));
            let rows = rows.zip(is_active.chunks_exact(receivers));
            // Row by row, each while it is at hand.
            for (at_sender, ((row, left), is_active)) in of_senders.iter_mut().zip(rows) {
                let flows = row.iter_mut().zip(left).zip(is_active).zip(&mut *of_receivers);
                for (((here, left), is_active), at_receiver) in flows {
                    *here = open(*left, *is_active);
                    *at_receiver += *here;
                }
                *at_sender = sum(row);
            }
        } else {
            let both = left.iter().zip(is_active);
            for (here, (left, is_active)) in self.left.iter_mut().zip(both) {
                *here = open(*left, *is_active);
            }
            for p in demand.active() {
                demand.path(p).for_each(|l| links.open[l] += left[p]);
            }
        }
        links.all.clone_from(&links.open);
        links.share.clear();
        links.share.resize(before.len(), 0.0);
        links.share_out(0.0);
    }

    /// Finds the links that are fixed in the next round. Returns the lowest share; `None` if no
    /// link is open.
    fn find_lowest(&mut self, senders: usize) -> Option<f64> {
        let share = &self.links.share;
        let of_senders = minimum(f64::INFINITY, &share[..senders]);
        let of_receivers = minimum(f64::INFINITY, &share[senders..]);
        let lowest = of_senders.min(of_receivers);
        if lowest == f64::INFINITY {
            return None;
        }
        let (these, limit) = if of_senders <= of_receivers {
            (0..senders, of_receivers)
        } else {
            (senders..share.len(), of_senders)
        };
        let limit = (limit * SAME_ROUND).min(f64::MAX);
        self.fixed.clear();
        self.fixed.extend(these.filter(|&l| share[l] <= limit).map(|l| l as u32));
        Some(lowest)
    }

    /// Gives the open flows of the links that are fixed the level of their link.
    fn fix(&mut self, demand: &Demand) {
        let fixed = std::mem::take(&mut self.fixed);
        if !demand.is_shuffle() {
            fixed.iter().for_each(|&l| self.fix_path(demand, l as usize));
        } else if fixed[0] < demand.senders() as u32 {
            fixed.iter().for_each(|&s| self.fix_sender(demand, s as usize));
        } else {
            self.fix_receivers(demand, &fixed);
        }
        for &l in &fixed {
            self.links.share[l as usize] = f64::INFINITY;
            self.links.flows[l as usize] = 0.0;
        }
        self.fixed = fixed;
    }

    fn fix_path(&mut self, demand: &Demand, l: usize) {
        let level = self.links.share[l];
        demand.each_active_at(l, |p| {
            let left = std::mem::take(&mut self.left[p]);
            if left > 0.0 {
                for k in demand.path(p).filter(|&k| k != l) {
                    self.links.flows[k] -= 1.0;
                    self.links.open[k] -= left;
                    self.links.free[k] -= left * level;
                }
            }
        });
    }

    /// The same for one sender of a shuffle.
    fn fix_sender(&mut self, demand: &Demand, s: usize) {
        let (senders, receivers) = (demand.senders(), demand.receivers());
        let FillingColumns { free, flows, open, share, .. } = &mut self.links;
        let level = share[s];
        let row = &self.left[s * receivers..][..receivers];
        let at = free[senders..].iter_mut().zip(&mut open[senders..]).zip(&mut flows[senders..]);
        for (((free, open), flows), left) in at.zip(row) {
            *free -= left * level;
            *open -= left;
            *flows -= if *left > 0.0 { 1.0 } else { 0.0 };
        }
    }

    /// The same for some receivers of a shuffle.
    fn fix_receivers(&mut self, demand: &Demand, fixed: &[u32]) {
        let (senders, receivers) = (demand.senders(), demand.receivers());
        let FillingColumns { free, flows, open, share, .. } = &mut self.links;
        let rows = self.left.chunks_exact(receivers);
        for (s, row) in rows.enumerate() {
            if flows[s] < 0.5 {
                continue;
            }
            for r in fixed.iter().map(|&r| r as usize) {
                let left = row[r - senders];
                free[s] -= left * share[r];
                open[s] -= left;
                flows[s] -= if left > 0.0 { 1.0 } else { 0.0 };
            }
        }
    }

    /// Works out the shares of open links. No flow's level is below `lowest` any more.
    fn share_out(&mut self, demand: &Demand, lowest: f64) {
        let FillingColumns { flows, open, all, .. } = &mut self.links;
        for l in 0..flows.len() {
            if flows[l] > 0.5 && open[l] < all[l] * CANCELLED {
                open[l] = 0.0;
                demand.each_active_at(l, |p| {
                    let is_open = demand.path(p).all(|k| flows[k] > 0.5);
                    open[l] += if is_open { self.left[p] } else { 0.0 };
                });
                all[l] = open[l];
            }
        }
        self.links.share_out(lowest);
    }
}

impl FillingColumns {
    fn share_out(&mut self, lowest: f64) {
        let both = self.free.iter().zip(&self.open).zip(&self.flows);
        for (share, ((free, open), flows)) in self.share.iter_mut().zip(both) {
            let is_open = (*flows > 0.5) & (*share < f64::INFINITY);
            let now = (free / open).max(lowest);
            *share = if is_open { now } else { f64::INFINITY };
        }
    }
}

/// Sum of all numbers, in a form that compiles to vector instructions.
fn sum(all: &[f64]) -> f64 {
    const LANES: usize = 8;
    let (chunks, rest) = all.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, number)| *lane += number);
    }
    lanes.into_iter().chain(rest.iter().copied()).sum()
}
