//! Weighted layers, in one pass down.
//!
//! With w the weights, layer k is offered at each link, of what the layers before it have left, the
//! part w_k over the sum of w_j of all layers j ≥ k that have flows there. The rest is kept back
//! for the layers after it, and so is what layer k does not use. If the layers from k on have in
//! all a share of the link, they still have at least that share of it after layer k has taken at
//! most its part: so each layer is offered at least w_k / Σ w_j over all layers with flows there,
//! and the last of them all that is left.
//!
//! On a walk over the entries (see [`walk`](super::walk)) what a layer finds at a link moves when
//! what the layers before it have left does, or when the set of layers with flows there changes.

use super::{Allocator, PlanError, walk};
use crate::demand::bits;
use crate::plan::{Entry, Group, Ranking};
use crate::state::State;

/// What is remembered of each layer, by its place among those with entries.
#[derive(Debug, Default)]
pub(super) struct Shares {
    layers: Vec<Layer>,
}

#[derive(Debug, Default)]
struct Layer {
    weight: f64,
    /// Links (a bit each) where it has flows, now and in the walk before.
    present: Vec<u64>,
    before: Vec<u64>,
    /// What it is offered of each link, what is kept back for the layers after it, and what it leaves
    /// of the former.
    offered: Vec<f64>,
    kept: Vec<f64>,
    left: Vec<f64>,
    /// Links where another amount is kept back than in the walk before, or other layers share.
    moved: Vec<u64>,
}

impl Allocator {
    /// Serves the entries layer by layer.
    pub(super) fn serve_weighted(
        &mut self,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        if let Some(&weight) = ranking.weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
            return Err(PlanError::Weight(weight));
        }
        let mut shares = std::mem::take(&mut self.shares);
        let result = self.serve_layers(state, ranking, &mut shares);
        self.shares = shares;
        result
    }

    fn serve_layers(
        &mut self,
        state: &State,
        ranking: &Ranking,
        shares: &mut Shares,
    ) -> Result<(), PlanError> {
        let links = state.fabric().links();
        let layers = || ranking.entries.chunk_by(|a, b| a.layer == b.layer);
        for (k, entries) in layers().enumerate() {
            if shares.layers.len() <= k {
                shares.layers.push(Layer::default());
            }
            shares.layers[k].find_links(state, entries, links)?;
            shares.layers[k].weight = ranking.weights[entries[0].layer as usize];
        }
        let used = layers().count();
        if !self.afresh {
            // Where a layer has come or gone, all of them share anew.
            for layer in &shares.layers[..used] {
                for (w, (now, before)) in layer.present.iter().zip(&layer.before).enumerate() {
                    self.moved[w] |= now ^ before;
                }
            }
            for layer in &mut shares.layers[..used] {
                layer.moved.copy_from_slice(&self.moved);
            }
            let capacity = state.fabric().capacity();
            bits(self.moved.iter().copied()).for_each(|link| self.free[link] = capacity[link]);
        }
        for (k, entries) in layers().enumerate() {
            let (layer, below) = shares.layers[k..used].split_at_mut(1);
            let moved = bits(self.moved.iter().copied()).take_while(|&link| link < links);
            layer[0].offer(below, moved, &mut self.free);
            self.find_open(state.fabric().capacity());
            self.chain.start();
            std::mem::swap(&mut self.chain.base, &mut layer[0].offered);
            for entry in entries {
                self.serve(state, entry)?;
            }
            std::mem::swap(&mut self.chain.base, &mut layer[0].offered);
            layer[0].pass_down(&mut self.moved, &mut self.free);
        }
        Ok(())
    }
}

impl Layer {
    /// Finds out where the entries of the layer have flows.
    fn find_links(
        &mut self,
        state: &State,
        entries: &[Entry],
        links: usize,
    ) -> Result<(), PlanError> {
        std::mem::swap(&mut self.present, &mut self.before);
        self.present.clear();
        self.present.resize(links.div_ceil(64), 0);
        self.before.resize(links.div_ceil(64), 0);
        self.moved.clear();
        self.moved.resize(links.div_ceil(64), 0);
        self.offered.resize(links, 0.0);
        self.kept.resize(links, 0.0);
        self.left.resize(links, 0.0);
        for entry in entries {
            let demand = walk::checked(state, entry.group)?.demand();
            // A part of a coflow claims only the links that it uses.
            let mut claim = |position: usize| {
                for link in demand.path(position).map(|l| demand.links()[l].index()) {
                    self.present[link / 64] |= 1 << (link % 64);
                }
            };
            match entry.group {
                Group::Everything | Group::Coflow(_) => {
                    for (word, active) in demand.set().words().iter().zip(demand.active_links()) {
                        self.present[word.at as usize] |= active;
                    }
                }
                Group::CoflowAt(_, link) => {
                    let crosses = |l: usize| demand.links()[l] == link;
                    demand.active().filter(|&p| demand.path(p).any(crosses)).for_each(claim);
                }
                Group::Flow(flow) => {
                    Some(demand.position(flow.index))
                        .filter(|&p| demand.is_active(p))
                        .into_iter()
                        .for_each(&mut claim);
                }
            }
        }
        Ok(())
    }

    fn is_at(&self, link: usize) -> bool {
        self.present[link / 64] >> (link % 64) & 1 == 1
    }

    /// Takes from `free` what is kept back for the layers `below`, at the links that have moved.
    fn offer(&mut self, below: &[Layer], moved: impl Iterator<Item = usize>, free: &mut [f64]) {
        for link in moved {
            let after: f64 = below.iter().filter(|b| b.is_at(link)).map(|b| b.weight).sum();
            let kept = if !self.is_at(link) {
                free[link]
            } else if after > 0.0 {
                free[link] * (after / (self.weight + after))
            } else {
                0.0
            };
            free[link] -= kept;
            self.offered[link] = free[link];
            if self.kept[link] != kept {
                self.kept[link] = kept;
                self.moved[link / 64] |= 1 << (link % 64);
            }
        }
    }

    /// Puts back into `free` what was kept back, at the links where this or what the layer leaves
    /// has moved.
    fn pass_down(&mut self, moved: &mut [u64], free: &mut [f64]) {
        let links = self.left.len();
        for link in bits(moved.iter().copied()).take_while(|&link| link < links) {
            self.left[link] = free[link];
        }
        for (moved, kept) in moved.iter_mut().zip(&self.moved) {
            *moved |= kept;
        }
        for link in bits(moved.iter().copied()).take_while(|&link| link < links) {
            free[link] = self.left[link] + self.kept[link];
        }
    }
}
