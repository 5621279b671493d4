//! Max-min fairness from nothing, by progressive filling, on paths of any number of links.
//!
//! All rates rise evenly, each by what its flow counts for. A round fixes the links that are full
//! first: those with the lowest share, which is what is free over what their open flows count for.
//! It gives their open flows that level, and goes on. Only the shares of links that these flows
//! cross change, so a round costs as much as it fixes: each flow's path is read twice in all,
//! whatever the number of rounds. The lowest share is kept for each 64 links.

use std::ops::Deref;

use covey_core::sets::bits::{bits, set_bit};
use covey_core::sets::simd::{bitmask, minimum};

/// Shares that differ by less than this, relatively, are fixed in one round: equal shares differ in
/// the last bits after many subtractions.
const SAME_ROUND: f64 = 1.0 + 1e-12;

/// Where subtractions leave less than this part of what open flows counted for, that is added up
/// again.
const CANCELLED: f64 = 1e-3;

/// Flows with numbers below some `width`, which share links with numbers of their own.
pub trait Flows {
    /// The links that a flow crosses.
    fn path(&self, flow: usize) -> impl Deref<Target = [u32]>;

    /// What a flow counts for.
    fn weight(&self, flow: usize) -> f64;

    /// Whether what flows count for adds up without rounding.
    fn has_exact_sums(&self) -> bool;

    /// Calls `visit` with the set and each flow of the set that crosses a link. `visit` may take
    /// the flow out.
    fn each_at(&self, link: usize, set: &mut [u64], visit: impl FnMut(&mut [u64], usize));
}

/// What is open at one link.
#[derive(Debug, Clone, Copy, Default)]
struct OpenLink {
    /// Bytes per second that are not promised to a flow yet.
    free: f64,
    /// What the open flows count for.
    weight: f64,
    /// Number of open flows.
    flows: u32,
}

/// One filling, and working memory for the next.
#[derive(Debug, Default)]
pub struct Filling {
    /// Open flows, a bit each: those that have no level yet.
    open: Vec<u64>,
    links: Vec<OpenLink>,
    /// By link, what its open flows counted for when that was last added up; empty if sums are
    /// exact.
    summed: Vec<f64>,
    /// By link, `free / weight`; infinite once the link is fixed or has no open flow.
    share: Vec<f64>,
    /// The lowest of each 64 shares.
    lowest: Vec<f64>,
    /// Links that have other numbers than when their share was worked out, a bit each: rounds of
    /// wide coflows on large networks touch few.
    touched: Vec<u64>,
    /// The links that are fixed in this round.
    fixed: Vec<u32>,
}

impl Filling {
    /// Begins: `free` is the capacity of each link in bytes per second, and no flow is open.
    pub fn start(&mut self, width: usize, free: impl Iterator<Item = f64>) {
        self.links.clear();
        self.links.extend(free.map(|free| OpenLink { free, ..OpenLink::default() }));
        self.open.clear();
        self.open.resize(width.div_ceil(64), 0);
    }

    /// A flow is to get a rate.
    #[inline]
    pub fn open(&mut self, flows: &impl Flows, flow: usize) {
        set_bit(&mut self.open, flow, true);
        let weight = flows.weight(flow);
        for &l in flows.path(flow).iter() {
            let link = &mut self.links[l as usize];
            link.weight += weight;
            link.flows += 1;
        }
    }

    /// Gives each open flow a level. Calls `fixes` with the flow, the link that limits it and the
    /// level: never lower than in the calls before. What the flows do not use is [`Filling::rest`].
    pub fn fill(&mut self, flows: &impl Flows, mut fixes: impl FnMut(usize, usize, f64)) {
        self.sum_up(flows);
        while let Some(lowest) = self.find_lowest() {
            for k in 0..self.fixed.len() {
                let l = self.fixed[k] as usize;
                self.fix(flows, l, |flow, level| fixes(flow, l, level));
            }
            for k in 0..self.fixed.len() {
                let l = self.fixed[k] as usize;
                self.links[l] = OpenLink::default();
                set_bit(&mut self.touched, l, true);
            }
            self.share_out(flows, lowest);
        }
    }

    /// What the flows leave, by link.
    pub fn rest(&self) -> impl Iterator<Item = f64> + '_ {
        self.links.iter().map(|link| if link.free > 0.0 { link.free } else { 0.0 })
    }

    /// No link is fixed.
    fn sum_up(&mut self, flows: &impl Flows) {
        let links = self.links.len();
        self.summed.clear();
        if !flows.has_exact_sums() {
            self.summed.extend(self.links.iter().map(|link| link.weight));
        }
        self.share.clear();
        self.share.resize(links, f64::INFINITY);
        self.lowest.clear();
        self.lowest.resize(links.div_ceil(64), f64::INFINITY);
        self.touched.clear();
        let some =
            self.links.chunks(64).map(|some| bitmask(some.iter().map(|link| link.flows > 0)));
        self.touched.extend(some);
        self.share_out(flows, 0.0);
    }

    /// Finds the links that are fixed in the next round. Returns the lowest share; `None` if no
    /// link is open.
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
    fn fix(&mut self, flows: &impl Flows, l: usize, mut fixes: impl FnMut(usize, f64)) {
        let Filling { open, links, share, touched, .. } = self;
        let level = share[l];
        flows.each_at(l, open, |open, flow| {
            set_bit(open, flow, false);
            fixes(flow, level);
            let weight = flows.weight(flow);
            // The link itself is closed once all its flows are.
            for &k in flows.path(flow).iter().filter(|&&k| k as usize != l) {
                let link = &mut links[k as usize];
                link.flows -= 1;
                link.weight -= weight;
                link.free -= weight * level;
                touched[k as usize / 64] |= 1 << (k % 64);
            }
        });
    }

    /// Works out the shares of links that were touched: no less than `lowest`.
    fn share_out(&mut self, flows: &impl Flows, lowest: f64) {
        let Filling { open, links, summed, share, touched, .. } = self;
        for (word, touched) in touched.iter_mut().enumerate().filter(|(_, links)| **links != 0) {
            let here = std::mem::take(touched);
            for l in bits([here].into_iter()).map(|k| 64 * word + k) {
                let link = &mut links[l];
                if summed.get(l).is_some_and(|summed| link.weight < summed * CANCELLED) {
                    link.weight = 0.0;
                    flows.each_at(l, open, |_, flow| link.weight += flows.weight(flow));
                    summed[l] = link.weight;
                }
                let now = (link.free / link.weight).max(lowest);
                share[l] = if link.flows > 0 { now } else { f64::INFINITY };
            }
            let here = &share[64 * word..];
            self.lowest[word] = minimum(f64::INFINITY, &here[..here.len().min(64)]);
        }
    }
}
