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
//! previous [pass](super::pass), or when the set of layers with flows there has changed. A layer
//! looks at a dirty link only if it has flows there, or had some on the previous pass.

use super::pass::Pass;
use super::strict::serve_in_order;
use crate::error::PlanError;
use crate::kept::stepped_plan::SteppedPlan;
use crate::kept::target::{checked, each_link};
use covey_core::sets::marked_links::MarkedLinks;
use covey_core::state::State;
use covey_core::{Entry, Group, Ranking};

/// What is remembered of each layer, in order.
#[derive(Debug, Default)]
pub struct WeightedLayers {
    layers: Vec<Layer>,
    /// Links at which the first layer is offered another amount than on the previous pass, or
    /// layers share in another way.
    first: MarkedLinks,
    /// Links that are dirty behind the layers served so far.
    dirty: MarkedLinks,
    /// What these layers leave, valid at dirty links.
    rest: Vec<f64>,
    /// Working memory: links at which a layer has another amount kept back than on the previous
    /// pass.
    changed: MarkedLinks,
}

#[derive(Debug, Default)]
struct Layer {
    weight: f64,
    /// Links on which the layer has flows, now and on the previous pass.
    present: MarkedLinks,
    before: MarkedLinks,
    /// What the layer is offered of each link: nothing where it has no flows.
    offered: Vec<f64>,
    /// What its entries served so far leave of that, valid at dirty links, and zero where it has no
    /// flows.
    free: Vec<f64>,
    /// What it leaves of `offered`.
    left: Vec<f64>,
    /// What is kept back for the layers after it.
    kept_back: Vec<f64>,
}

impl WeightedLayers {
    /// Serves the entries layer by layer.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn serve(
        &mut self,
        pass: &mut Pass,
        stepped: &mut SteppedPlan,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        if let Some(&weight) = ranking.weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
            return Err(PlanError::Weight(weight));
        }
        let capacity = state.fabric().capacity();
        let used = ranking.weights.len();
        self.start(pass, stepped, state, ranking)?;
        let mut entries = ranking.entries.iter().peekable();
        for k in 0..used {
            let (layer, below) = self.layers[k..used].split_at_mut(1);
            let layer = &mut layer[0];
            layer.see(&self.dirty, &mut pass.free.dirty);
            layer.offer(below, &pass.free.dirty, &self.rest, &mut self.changed);
            let of_layer = std::iter::from_fn(|| entries.next_if(|(_, e)| e.layer as usize == k));
            layer.lend(pass);
            pass.free.refresh_open(capacity);
            pass.served.start();
            let result = serve_in_order(pass, stepped, state, ranking, k, of_layer);
            layer.lend(pass);
            result?;
            layer.leave(&self.first, &self.changed, &mut pass.free.dirty);
            layer.pass_down(&pass.free.dirty, &mut self.dirty, &mut self.rest);
        }
        pass.free.dirty.copy(&self.dirty);
        std::mem::swap(&mut pass.free.amount, &mut self.rest);
        Ok(())
    }

    /// Begins a pass: finds out on which links each layer has flows, and at which links layers
    /// share in another way.
    fn start(
        &mut self,
        pass: &mut Pass,
        stepped: &SteppedPlan,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        let used = ranking.weights.len();
        self.layers.resize_with(self.layers.len().max(used), Layer::default);
        for (layer, weight) in self.layers.iter_mut().zip(&ranking.weights) {
            layer.start(state.fabric().links());
            layer.weight = *weight;
        }
        if stepped.goes_by_steps && !pass.is_from_scratch {
            for (layer, claims) in self.layers.iter_mut().zip(&stepped.claims) {
                layer.present.extend(claims.links());
            }
        } else {
            for (_, entry) in ranking.entries.iter() {
                self.layers[entry.layer as usize].find_links(state, entry)?;
            }
        }
        let capacity = state.fabric().capacity();
        self.first.start(capacity.len());
        self.changed.start(capacity.len());
        self.dirty.copy(&pass.free.dirty);
        if pass.is_from_scratch {
            self.rest.clear();
            self.rest.extend_from_slice(capacity);
        } else {
            // Where a layer has come or gone, all layers share in another way.
            for layer in &self.layers[..used] {
                self.first.insert_differences(&layer.present, &layer.before);
            }
            self.dirty.copy(&self.first);
            self.first.iter().for_each(|link| self.rest[link] = capacity[link]);
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
            // Zeros cost nothing until a page is written.
            for amounts in [&mut self.offered, &mut self.free, &mut self.left, &mut self.kept_back]
            {
                *amounts = vec![0.0; links];
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

    /// The links at which the layer has flows or had some, among 64 neighbours.
    fn links_in(&self, at: usize) -> u64 {
        self.present.words()[at] | self.before.words()[at]
    }

    /// Makes `mine`, which the entries of the layer go by, those of the `dirty` links where it has
    /// flows or had some.
    fn see(&self, dirty: &MarkedLinks, mine: &mut MarkedLinks) {
        mine.clear();
        for at in dirty.used_words() {
            mine.insert_all(at, dirty.words()[at] & self.links_in(at));
        }
    }

    /// Divides the `rest` of dirty links between this layer and those `below`. At other links, all
    /// amounts are those of the previous pass. Makes `changed` the links at which another amount is
    /// kept back than on the previous pass.
    fn offer(
        &mut self,
        below: &[Layer],
        dirty: &MarkedLinks,
        rest: &[f64],
        changed: &mut MarkedLinks,
    ) {
        changed.clear();
        for link in dirty.iter() {
            let kept = if self.present.contains(link) {
                let there = below.iter().filter(|layer| layer.present.contains(link));
                let after: f64 = there.map(|layer| layer.weight).sum();
                if after > 0.0 { rest[link] * (after / (self.weight + after)) } else { 0.0 }
            } else {
                rest[link]
            };
            self.offered[link] = rest[link] - kept;
            self.free[link] = self.offered[link];
            if self.kept_back[link] != kept {
                self.kept_back[link] = kept;
                changed.insert(link);
            }
        }
    }

    /// Gives the pass the layer's amounts, or takes them back.
    fn lend(&mut self, pass: &mut Pass) {
        std::mem::swap(&mut pass.served.offered, &mut self.offered);
        std::mem::swap(&mut pass.free.amount, &mut self.free);
    }

    /// Notes what the layer leaves at links that are `dirty` behind its entries. Adds the links at
    /// which the layers after it have to look again all the same: what is kept back there has
    /// `changed`, or they are among the `first`.
    fn leave(&mut self, first: &MarkedLinks, changed: &MarkedLinks, dirty: &mut MarkedLinks) {
        dirty.iter().for_each(|link| self.left[link] = self.free[link]);
        dirty.extend(changed);
        for at in first.used_words() {
            dirty.insert_all(at, first.words()[at] & self.links_in(at));
        }
    }

    /// Makes `rest` what is left behind the layer, and `dirty` the links at which that has changed:
    /// `mine`, of those at which the layer has looked.
    fn pass_down(&self, mine: &MarkedLinks, dirty: &mut MarkedLinks, rest: &mut [f64]) {
        mine.iter().for_each(|link| rest[link] = self.left[link] + self.kept_back[link]);
        dirty.retain(|at| !self.links_in(at));
        dirty.extend(mine);
    }
}
