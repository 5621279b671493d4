//! Weighted layers, in one pass from the first layer to the last.
//!
//! Let w be the weights. At each link, layer k is offered the part w_k / Σ w_j of what the layers
//! before it have left, where the sum is over the layers j ≥ k that have flows there. The rest is
//! kept back for the layers after it, and so is what layer k does not use. If the layers from k on
//! have in all a share of the link, they still have at least that share of it after layer k has
//! taken at most its part. So each layer is offered at least w_k / Σ w_j over all layers with flows
//! there, and the last layer all that is left.
//!
//! A link is dirty for a layer when the layers before it leave another amount there than on the
//! previous [pass](super::pass), or when the set of layers with flows there has changed.

use super::pass::Pass;
use super::strict::serve_in_order;
use crate::alloc::error::PlanError;
use crate::alloc::kept::kept_plan::KeptPlan;
use crate::alloc::kept::target::{checked, each_link};
use crate::marked_links::MarkedLinks;
use crate::plan::{Entry, Group, Ranking};
use crate::state::State;

/// What is remembered of each layer, in order.
#[derive(Debug, Default)]
pub struct WeightedLayers {
    layers: Vec<Layer>,
    /// Links at which the first layer is offered another amount than on the previous pass, or
    /// layers share in another way.
    dirty: MarkedLinks,
}

#[derive(Debug, Default)]
struct Layer {
    weight: f64,
    /// Links on which the layer has flows, now and on the previous pass.
    present: MarkedLinks,
    before: MarkedLinks,
    /// What the layer is offered of each link.
    offered: Vec<f64>,
    /// What is kept back for the layers after it.
    kept_back: Vec<f64>,
    /// What it leaves of `offered`.
    left: Vec<f64>,
    /// Links at which another amount is kept back than on the previous pass.
    changed: Vec<usize>,
}

impl WeightedLayers {
    /// Serves the entries layer by layer.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn serve(
        &mut self,
        pass: &mut Pass,
        kept: &mut KeptPlan,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        if let Some(&weight) = ranking.weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
            return Err(PlanError::Weight(weight));
        }
        let capacity = state.fabric().capacity();
        let used = ranking.weights.len();
        self.start(pass, kept, state, ranking)?;
        let mut entries = ranking.entries.iter().peekable();
        for k in 0..used {
            let (layer, below) = self.layers[k..used].split_at_mut(1);
            let layer = &mut layer[0];
            layer.offer(below, &pass.free.dirty, &mut pass.free.amount);
            pass.free.refresh_open(capacity);
            pass.served.start();
            std::mem::swap(&mut pass.served.offered, &mut layer.offered);
            let of_layer = std::iter::from_fn(|| entries.next_if(|(_, e)| e.layer as usize == k));
            serve_in_order(pass, kept, (state, ranking), k, of_layer)?;
            std::mem::swap(&mut pass.served.offered, &mut layer.offered);
            layer.pass_down(&self.dirty, &mut pass.free.dirty, &mut pass.free.amount);
        }
        Ok(())
    }

    /// Begins a pass: finds out on which links each layer has flows, and at which links layers
    /// share in another way.
    fn start(
        &mut self,
        pass: &mut Pass,
        kept: &KeptPlan,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        let used = ranking.weights.len();
        self.layers.resize_with(self.layers.len().max(used), Layer::default);
        for (layer, weight) in self.layers.iter_mut().zip(&ranking.weights) {
            layer.start(state.fabric().links());
            layer.weight = *weight;
        }
        if kept.is_on && !pass.is_from_scratch {
            for (layer, claims) in self.layers.iter_mut().zip(&kept.claims) {
                layer.present.copy(claims.links());
            }
        } else {
            for (_, entry) in ranking.entries.iter() {
                self.layers[entry.layer as usize].find_links(state, entry)?;
            }
        }
        let dirty = &mut pass.free.dirty;
        self.dirty.start(state.fabric().links());
        if !pass.is_from_scratch {
            // Where a layer has come or gone, all layers share in another way.
            for layer in &self.layers[..used] {
                dirty.insert_differences(&layer.present, &layer.before);
            }
            self.dirty.copy(dirty);
            let capacity = state.fabric().capacity();
            dirty.iter().for_each(|link| pass.free.amount[link] = capacity[link]);
        }
        Ok(())
    }
}

impl Layer {
    /// Begins a pass: the layer has no flows so far.
    fn start(&mut self, links: usize) {
        std::mem::swap(&mut self.present, &mut self.before);
        self.present.start(links);
        if self.offered.len() != links {
            self.before.start(links);
            for amounts in [&mut self.offered, &mut self.kept_back, &mut self.left] {
                amounts.clear();
                amounts.resize(links, 0.0);
            }
        }
    }

    /// Adds the links where an entry has flows.
    fn find_links(&mut self, state: &State, entry: &Entry) -> Result<(), PlanError> {
        let demand = checked(state, entry.group)?.demand();
        if let Group::AllFlows | Group::Coflow(_) = entry.group {
            for (word, active) in demand.set().words().iter().zip(demand.active_links()) {
                self.present.insert_all(word.at as usize, *active);
            }
        } else {
            each_link(demand, entry.group, |link| self.present.insert(link));
        }
        Ok(())
    }

    /// Takes from `free` what is kept back for the layers `below`, at dirty links.
    fn offer(&mut self, below: &[Layer], dirty: &MarkedLinks, free: &mut [f64]) {
        self.changed.clear();
        for link in dirty.iter() {
            let kept = if self.present.contains(link) {
                let there = below.iter().filter(|layer| layer.present.contains(link));
                let after: f64 = there.map(|layer| layer.weight).sum();
                if after > 0.0 { free[link] * (after / (self.weight + after)) } else { 0.0 }
            } else {
                free[link]
            };
            free[link] -= kept;
            self.offered[link] = free[link];
            if self.kept_back[link] != kept {
                self.kept_back[link] = kept;
                self.changed.push(link);
            }
        }
    }

    /// Puts back into `free` what was kept back, at links where this or what the layer leaves has
    /// changed, and those that were dirty for the first layer.
    fn pass_down(&mut self, first: &MarkedLinks, dirty: &mut MarkedLinks, free: &mut [f64]) {
        dirty.iter().for_each(|link| self.left[link] = free[link]);
        first.used_words().for_each(|at| dirty.insert_all(at, first.words()[at]));
        self.changed.iter().for_each(|&link| dirty.insert(link));
        dirty.iter().for_each(|link| free[link] = self.left[link] + self.kept_back[link]);
    }
}
