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

use super::grant::Which;
use super::kept::coflow_of;
use super::matching::set;
use super::{Allocator, PlanError, walk};
use crate::demand::{Demand, bits};
use crate::ids::CoflowId;
use crate::lanes::word;
use crate::plan::{Entry, Group, Rank, Ranking};
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
        let used = ranking.weights.len();
        shares.layers.resize_with(shares.layers.len().max(used), Layer::default);
        for (layer, weight) in shares.layers.iter_mut().zip(&ranking.weights) {
            layer.start(links);
            layer.weight = *weight;
        }
        if self.kept.is_on && !self.afresh {
            for (layer, claims) in shares.layers.iter_mut().zip(&self.kept.claims) {
                layer.find_claimed(claims);
            }
        } else {
            for (_, entry) in ranking.entries.iter() {
                shares.layers[entry.layer as usize].find_links(state, entry)?;
            }
        }
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
        let mut entries = ranking.entries.iter().peekable();
        for k in 0..used {
            let (layer, below) = shares.layers[k..used].split_at_mut(1);
            let moved = bits(self.moved.iter().copied()).take_while(|&link| link < links);
            layer[0].offer(below, moved, &mut self.free);
            self.find_open(state.fabric().capacity());
            self.chain.start();
            std::mem::swap(&mut self.chain.base, &mut layer[0].offered);
            let of_layer = std::iter::from_fn(|| entries.next_if(|(_, e)| e.layer as usize == k));
            self.serve_line(state, ranking, k, of_layer)?;
            std::mem::swap(&mut self.chain.base, &mut layer[0].offered);
            layer[0].pass_down(&mut self.moved, &mut self.free);
        }
        Ok(())
    }
}

/// The links that the flows of a group use, which is a part of a coflow; a link more than once if several
/// do.
fn each_link_of_a_part(demand: &Demand, group: Group, mut visit: impl FnMut(usize)) {
    let links_of = |position: usize| demand.path(position).map(|l| demand.links()[l].index());
    match group {
        Group::AllFlows | Group::Coflow(_) => {}
        Group::CoflowAt(_, link) => {
            let crosses = |l: usize| demand.links()[l] == link;
            let here = demand.active().filter(|&p| demand.path(p).any(crosses));
            here.flat_map(links_of).for_each(visit);
        }
        Group::Flow(flow) => {
            let position = Some(demand.position(flow.index)).filter(|&p| demand.is_active(p));
            position.into_iter().flat_map(links_of).for_each(&mut visit);
        }
    }
}

impl Allocator {
    /// An entry of a plan that is kept counts among those that share the links where its flows are.
    pub(super) fn claim(&mut self, state: &State, rank: Rank, group: Group, which: Which) {
        if !self.kept.by_layer {
            return;
        }
        let k = rank.layer() as usize;
        let layers = &mut self.kept.claims;
        layers.resize_with(layers.len().max(k + 1), Vec::new);
        let counts = &mut layers[k];
        counts.resize(state.fabric().links(), 0);
        let id = coflow_of(group);
        let demand = state.coflow(id).demand();
        let claims = &mut self.grants[id.index()].part_mut(which).place.claims;
        claims.clear();
        if let Group::Coflow(_) = group {
            let used = demand.links().iter().zip(demand.count()).filter(|(_, count)| **count > 0);
            claims.extend(used.map(|(link, _)| link.0));
        } else {
            each_link_of_a_part(demand, group, |link| claims.push(link as u32));
        }
        claims.iter().for_each(|&link| counts[link as usize] += 1);
    }

    /// Takes back what an entry has claimed in the layer where it stands.
    pub(super) fn unclaim(&mut self, id: CoflowId, which: Which) {
        let place = &mut self.grants[id.index()].part_mut(which).place;
        if let Some(rank) = place.rank().filter(|_| self.kept.by_layer) {
            let counts = &mut self.kept.claims[rank.layer() as usize];
            place.claims.drain(..).for_each(|link| counts[link as usize] -= 1);
        }
    }
}

impl Layer {
    /// Begins a walk: nobody is known to have flows in the layer.
    fn start(&mut self, links: usize) {
        std::mem::swap(&mut self.present, &mut self.before);
        self.present.clear();
        self.present.resize(links.div_ceil(64), 0);
        self.before.resize(links.div_ceil(64), 0);
        self.moved.clear();
        self.moved.resize(links.div_ceil(64), 0);
        self.offered.resize(links, 0.0);
        self.kept.resize(links, 0.0);
        self.left.resize(links, 0.0);
    }

    /// Adds the links where an entry has flows.
    fn find_links(&mut self, state: &State, entry: &Entry) -> Result<(), PlanError> {
        let demand = walk::checked(state, entry.group)?.demand();
        if let Group::AllFlows | Group::Coflow(_) = entry.group {
            for (word, active) in demand.set().words().iter().zip(demand.active_links()) {
                self.present[word.at as usize] |= active;
            }
        } else {
            each_link_of_a_part(demand, entry.group, |link| set(&mut self.present, link, true));
        }
        Ok(())
    }

    /// Adds the links that entries have claimed.
    fn find_claimed(&mut self, claims: &[u32]) {
        for (present, claims) in self.present.iter_mut().zip(claims.chunks(64)) {
            *present = word(claims.iter().map(|claims| *claims > 0));
        }
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
