//! BSSI: bottleneck, select, scale, iterate (Sincronia, SIGCOMM 2018, §3.1).
//!
//! A primal-dual order of coflows, built from the back. Repeat: find the most loaded link among the
//! coflows not yet ranked; place last the coflow there with the least weight for its load; let that
//! coflow pay for the others' weights. Any work-conserving allocation in this order is a
//! 4-approximation of the least weighted sum of completion times when all coflows arrive together.

use covey_core::{LinkId, OptionalIndex};

/// Loads, prices and weights whose relative difference is below this are equal, because rounding
/// must not break ties.
const SAME: f64 = 1e-9;

/// Loads of coflows on links, and working memory.
#[derive(Debug, Default)]
pub struct Bssi {
    /// Number of each link, in order of first use. The order of equals then does not depend on how
    /// ports are numbered.
    dense: Vec<OptionalIndex>,
    used: Vec<LinkId>,
    /// Pairs (link, load), coflow by coflow; and the index at which each coflow's pairs begin.
    loads: Vec<(usize, f64)>,
    start: Vec<usize>,
    /// The same by link, as pairs (coflow, load), coflows in order of arrival. A coflow that has
    /// been ranked is removed when the list is next read.
    at: Vec<Vec<(usize, f64)>>,
    weight: Vec<f64>,
    total: Vec<f64>,
    ranked: Vec<bool>,
    order: Vec<usize>,
}

impl Bssi {
    /// Forgets all coflows.
    pub fn clear(&mut self) {
        for link in self.used.drain(..) {
            self.dense[link.index()] = OptionalIndex::NONE;
        }
        self.at.iter_mut().for_each(Vec::clear);
        self.loads.clear();
        self.start.clear();
        self.weight.clear();
    }

    /// Adds a coflow with its weight and its load (seconds of work) on each link it uses. Coflows
    /// must be added in order of arrival, which breaks ties.
    pub fn add(&mut self, weight: f64, loads: impl Iterator<Item = (LinkId, f64)>) {
        self.start.push(self.loads.len());
        self.weight.push(weight);
        for (link, load) in loads.filter(|(_, load)| *load > 0.0) {
            if self.dense.len() <= link.index() {
                self.dense.resize(link.index() + 1, OptionalIndex::NONE);
            }
            let dense = &mut self.dense[link.index()];
            let link = dense.get().unwrap_or_else(|| {
                let new = self.used.len() as u32;
                *dense = OptionalIndex::some(new);
                self.used.push(link);
                new
            }) as usize;
            self.loads.push((link, load));
            self.at.resize_with(self.used.len().max(self.at.len()), Vec::new);
            self.at[link].push((self.weight.len() - 1, load));
        }
    }

    /// The order, as the numbers under which coflows were added, the first to be served first.
    pub fn order(&mut self) -> &[usize] {
        let coflows = self.weight.len();
        self.start.push(self.loads.len());
        self.total.clear();
        self.total.resize(self.used.len(), 0.0);
        for &(link, load) in &self.loads {
            self.total[link] += load;
        }
        self.ranked.clear();
        self.ranked.resize(coflows, false);
        self.order.clear();
        for _ in 0..coflows {
            let last = self.last_of_the_rest();
            self.ranked[last] = true;
            self.order.push(last);
            for &(link, load) in &self.loads[self.start[last]..self.start[last + 1]] {
                self.total[link] -= load;
            }
        }
        self.start.pop();
        self.order.reverse();
        &self.order
    }

    /// Chooses the last of the coflows not yet ranked, and scales the weights of the others.
    fn last_of_the_rest(&mut self) -> usize {
        let max = self.total.iter().copied().fold(0.0, f64::max);
        // The first of the most loaded links that have a coflow not yet ranked.
        let bottleneck = self.total.iter().position(|total| *total >= max * (1.0 - SAME));
        let Bssi { at, ranked, weight, .. } = self;
        let mut none = Vec::new();
        let here = bottleneck.map_or(&mut none, |link| &mut at[link]);
        here.retain(|&(c, _)| !ranked[c]);
        let price = |&(c, load): &(usize, f64)| weight[c] / load;
        let min = here.iter().map(price).fold(f64::INFINITY, f64::min);
        // The last of the coflows with the smallest price.
        match here.iter().rev().find(|at| price(at) <= min * (1.0 + SAME)).copied() {
            Some(last) => {
                let price = price(&last);
                for &(c, load) in &*here {
                    let rest = weight[c] - price * load;
                    weight[c] = if rest > weight[c] * SAME { rest } else { 0.0 };
                }
                last.0
            }
            // No coflow has work left: keep the order of arrival.
            None => (0..ranked.len()).rev().find(|&c| !ranked[c]).unwrap_or(0),
        }
    }
}
