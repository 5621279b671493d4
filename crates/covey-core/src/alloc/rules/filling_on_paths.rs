//! Progressive filling on paths of any number of links, in proportion to a weight of each flow.
//!
//! A round fixes the links with the lowest share (what is free over the weights of their open flows), gives
//! their open flows that level, and goes on. Only the shares of links that these flows cross change, so a
//! round costs as much as it fixes: each flow's path is read twice in all, whatever the number of rounds.
//! The lowest share is kept for each 64 links.
//!
//! A flow that crosses a link where nothing is free gets nothing, and is left out from the start. In a plan of
//! many coflows these are most flows: those before have filled some link on their path.

use crate::bits::{bits, has_bit, set_bit};
use crate::demand::Demand;
use crate::simd::{bitmask, minimum};

/// Shares that differ by less than this, relatively, are fixed in one round: equal shares differ in
/// the last bits after many subtractions.
const SAME_ROUND: f64 = 1.0 + 1e-12;

/// Where subtractions leave less than this of what was there, weights are summed up again.
const CANCELLED: f64 = 1e-6;

/// What is open at one local link.
#[derive(Debug, Clone, Copy, Default)]
struct OpenLink {
    /// Bytes per second that are not promised to a flow yet.
    free: f64,
    /// Weights of the open flows.
    weights: f64,
    /// The same when no link was fixed, or when `weights` was last summed up.
    all: f64,
    /// Number of open flows.
    flows: u32,
}

/// Working memory of [`PathFilling::fill`].
#[derive(Debug, Default)]
pub struct PathFilling {
    /// Open flows: those that have no level yet, and of whose links none was full at the start. By position, a
    /// bit each.
    open: Vec<u64>,
    /// Number of flows that were open at the start.
    opened: usize,
    links: Vec<OpenLink>,
    /// By local link, `free / weights`; infinite once the link is fixed or has no open flow.
    share: Vec<f64>,
    /// The lowest of each 64 shares.
    lowest: Vec<f64>,
    /// Links with other numbers than when their share was worked out, a bit each.
    touched: Vec<u64>,
    /// The links that are fixed in this round.
    fixed: Vec<u32>,
}

/// Calls `visit` with the active flows at whose ends something is free, ascending: no others can be sent. `open` is
/// working memory.
fn each_with_open_ends(
    demand: &Demand,
    free: &[f64],
    open: &mut Vec<u64>,
    mut visit: impl FnMut(usize),
) {
    let (senders, receivers) = (demand.senders(), demand.receivers());
    open.clear();
    let of_receivers = free[senders..senders + receivers].chunks(64);
    open.extend(of_receivers.map(|free| bitmask(free.iter().map(|free| *free > 0.0))));
    for s in (0..senders).filter(|&s| free[s] > 0.0 && demand.count()[s] > 0) {
        if demand.is_regular(s) {
            let row = demand.row_bits(s).iter().zip(&*open).map(|(row, open)| row & open);
            let start = demand.row(s).start;
            bits(row).for_each(|k| visit(start + k));
        } else {
            let open = |&p: &usize| has_bit(open, demand.receiver_of(p) - senders);
            demand.active_in_row(s).filter(open).for_each(&mut visit);
        }
    }
}

/// Which flows [`PathFilling::fill`] serves.
#[derive(Clone, Copy)]
pub enum Served<'a> {
    /// All active ones.
    All,
    /// Those at these positions.
    At(&'a [u32]),
}

impl PathFilling {
    /// Shares `free` (capacity at the local links) among some flows, each with its weight. Calls
    /// `fixes` with each position that gets something, the link that limits the flow, and that link's level:
    /// rate over weight. What they do not use is [`PathFilling::rest`].
    pub fn fill(
        &mut self,
        demand: &Demand,
        flows: Served<'_>,
        weight: impl Fn(usize) -> f64,
        free: &[f64],
        mut fixes: impl FnMut(usize, usize, f64),
    ) {
        self.start(demand, flows, &weight, free);
        // No flow's level is below that of an earlier round.
        while let Some(lowest) = self.find_lowest() {
            for k in 0..self.fixed.len() {
                let l = self.fixed[k] as usize;
                self.fix(demand, l, &weight, |position, level| fixes(position, l, level));
            }
            for k in 0..self.fixed.len() {
                let l = self.fixed[k] as usize;
                (self.links[l].flows, self.links[l].free) = (0, 0.0);
                self.touched[l / 64] |= 1 << (l % 64);
            }
            self.share_out(demand, &weight, lowest);
        }
    }

    /// Number of flows of the last [`PathFilling::fill`] that crossed no full link.
    pub fn opened(&self) -> usize {
        self.opened
    }

    /// What the flows leave of `free`, by local link.
    pub fn rest(&self) -> impl Iterator<Item = f64> + '_ {
        self.links.iter().map(|link| if link.free > 0.0 { link.free } else { 0.0 })
    }

    /// The flows that can be sent are open, and no link is fixed.
    fn start(
        &mut self,
        demand: &Demand,
        flows: Served<'_>,
        weight: &impl Fn(usize) -> f64,
        free: &[f64],
    ) {
        self.open.clear();
        self.open.resize(demand.width().div_ceil(64), 0);
        self.links.clear();
        self.links.extend(free.iter().map(|&free| OpenLink { free, ..OpenLink::default() }));
        self.opened = 0;
        let PathFilling { open, opened, links, touched, .. } = self;
        let mut look_at = |position: usize| {
            let (path, weight) = (demand.path(position), weight(position));
            if weight > 0.0 && path.clone().all(|l| links[l].free > 0.0) {
                set_bit(open, position, true);
                *opened += 1;
                path.for_each(|l| {
                    links[l].weights += weight;
                    links[l].flows += 1;
                });
            }
        };
        match flows {
            Served::All => each_with_open_ends(demand, free, touched, look_at),
            Served::At(positions) => positions.iter().for_each(|&p| look_at(p as usize)),
        }
        links.iter_mut().for_each(|link| link.all = link.weights);
        self.share.clear();
        self.share.resize(free.len(), f64::INFINITY);
        self.lowest.clear();
        self.lowest.resize(free.len().div_ceil(64), f64::INFINITY);
        self.touched.clear();
        self.touched.resize(self.lowest.len(), 0);
        for (l, link) in self.links.iter().enumerate() {
            self.touched[l / 64] |= u64::from(link.flows > 0) << (l % 64);
        }
        self.share_out(demand, weight, 0.0);
    }

    /// Finds the links that are fixed in the next round. Returns the lowest share; `None` if no link is
    /// open.
    fn find_lowest(&mut self) -> Option<f64> {
        let lowest = minimum(f64::INFINITY, &self.lowest);
        if lowest == f64::INFINITY {
            return None;
        }
        let limit = (lowest * SAME_ROUND).min(f64::MAX);
        self.fixed.clear();
        for (word, _) in self.lowest.iter().enumerate().filter(|(_, lowest)| **lowest <= limit) {
            let shares = self.share[64 * word..].iter().take(64).enumerate();
            let here = shares.filter(|(_, share)| **share <= limit);
            self.fixed.extend(here.map(|(k, _)| (64 * word + k) as u32));
        }
        Some(lowest)
    }

    /// Gives the open flows of a link its share as their level.
    fn fix(
        &mut self,
        demand: &Demand,
        l: usize,
        weight: &impl Fn(usize) -> f64,
        mut fixes: impl FnMut(usize, f64),
    ) {
        let PathFilling { open, links, share, touched, .. } = self;
        let level = share[l];
        demand.each_at(l, open, |open, position| {
            set_bit(open, position, false);
            fixes(position, level);
            let weight = weight(position);
            demand.path(position).for_each(|k| {
                links[k].flows -= 1;
                links[k].weights -= weight;
                links[k].free -= weight * level;
                touched[k / 64] |= 1 << (k % 64);
            });
        });
    }

    /// Works out the shares of links that were touched: no less than `lowest`.
    fn share_out(&mut self, demand: &Demand, weight: &impl Fn(usize) -> f64, lowest: f64) {
        let PathFilling { open, links, share, touched, .. } = self;
        for (word, touched) in touched.iter_mut().enumerate().filter(|(_, touched)| **touched != 0)
        {
            for l in bits([*touched].into_iter()).map(|k| 64 * word + k) {
                let link = &mut links[l];
                if link.flows > 0 && link.weights < link.all * CANCELLED {
                    link.weights = 0.0;
                    demand.each_at(l, open, |_, position| link.weights += weight(position));
                    link.all = link.weights;
                }
                let now = (link.free / link.weights).max(lowest);
                share[l] = if link.flows > 0 { now } else { f64::INFINITY };
            }
            *touched = 0;
            let here = &share[64 * word..];
            self.lowest[word] = minimum(f64::INFINITY, &here[..here.len().min(64)]);
        }
    }
}
