//! BSSI: bottleneck, select, scale, iterate (Sincronia, SIGCOMM 2018, §3.1).
//!
//! A primal-dual order of coflows, built from the back: find the most loaded link among the coflows
//! not yet placed; place last the one whose weight is least for its load there; let it pay for the
//! others' weights; go on. Any work-conserving allocation in that order is a 4-approximation of the
//! least weighted sum of completion times when all coflows arrive together.

use covey_core::LinkId;

/// Loads, prices and weights that differ by less than this, relatively, are the same: rounding does not
/// break ties.
const SAME: f64 = 1e-9;

/// Loads of coflows on links, and working memory.
#[derive(Debug, Default)]
pub struct Bssi {
    /// Dense number of each link, in order of first use; so the order of equals does not depend on
    /// how ports are numbered.
    dense: Vec<u32>,
    used: Vec<LinkId>,
    /// (coflow, dense link, load), coflow by coflow.
    loads: Vec<(usize, f64)>,
    start: Vec<usize>,
    weight: Vec<f64>,
    total: Vec<f64>,
    at_bottleneck: Vec<f64>,
    placed: Vec<bool>,
    order: Vec<usize>,
}

impl Bssi {
    /// Forgets all coflows.
    pub fn clear(&mut self) {
        for link in self.used.drain(..) {
            self.dense[link.index()] = u32::MAX;
        }
        self.loads.clear();
        self.start.clear();
        self.weight.clear();
    }

    /// Adds a coflow with its weight and its load (seconds of work) on each link it uses. Coflows
    /// are to be added in order of arrival, which breaks ties.
    pub fn add(&mut self, weight: f64, loads: impl Iterator<Item = (LinkId, f64)>) {
        self.start.push(self.loads.len());
        self.weight.push(weight);
        for (link, load) in loads.filter(|(_, load)| *load > 0.0) {
            if self.dense.len() <= link.index() {
                self.dense.resize(link.index() + 1, u32::MAX);
            }
            let dense = &mut self.dense[link.index()];
            if *dense == u32::MAX {
                *dense = self.used.len() as u32;
                self.used.push(link);
            }
            self.loads.push((*dense as usize, load));
        }
    }

    /// The order: numbers of coflows as added, first to be served first.
    pub fn order(&mut self) -> &[usize] {
        let coflows = self.weight.len();
        self.start.push(self.loads.len());
        self.total.clear();
        self.total.resize(self.used.len(), 0.0);
        for &(link, load) in &self.loads {
            self.total[link] += load;
        }
        self.placed.clear();
        self.placed.resize(coflows, false);
        self.order.clear();
        for _ in 0..coflows {
            let last = self.last_of_the_rest();
            self.placed[last] = true;
            self.order.push(last);
            for &(link, load) in &self.loads[self.start[last]..self.start[last + 1]] {
                self.total[link] -= load;
            }
        }
        self.start.pop();
        self.order.reverse();
        &self.order
    }

    /// Chooses who is last among those not placed, and scales the weights of the others.
    fn last_of_the_rest(&mut self) -> usize {
        let coflows = self.weight.len();
        let most = self.total.iter().copied().fold(0.0, f64::max);
        // The first of the most loaded links.
        let bottleneck = self.total.iter().position(|total| *total >= most * (1.0 - SAME));
        self.at_bottleneck.clear();
        self.at_bottleneck.extend((0..coflows).map(|c| {
            let loads = &self.loads[self.start[c]..self.start[c + 1]];
            let here = loads.iter().find(|(link, _)| Some(*link) == bottleneck);
            if self.placed[c] { 0.0 } else { here.map_or(0.0, |(_, load)| *load) }
        }));
        let price = |c: usize| self.weight[c] / self.at_bottleneck[c];
        let here = |c: &usize| self.at_bottleneck[*c] > 0.0;
        let least = (0..coflows).filter(here).map(price).fold(f64::INFINITY, f64::min);
        // The last of those with the least price.
        let last = (0..coflows).rev().filter(here).find(|&c| price(c) <= least * (1.0 + SAME));
        match last {
            Some(last) => {
                let price = price(last);
                for (weight, load) in self.weight.iter_mut().zip(&self.at_bottleneck) {
                    let rest = *weight - price * load;
                    *weight = if rest > *weight * SAME { rest } else { 0.0 };
                }
                last
            }
            // Nobody has work left: keep the order of arrival.
            None => (0..coflows).rev().find(|&c| !self.placed[c]).unwrap_or(0),
        }
    }
}
