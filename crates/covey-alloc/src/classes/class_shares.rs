//! All flows in classes: max-min fairness within a class, strict precedence between classes.

use super::membership::Membership;
use crate::error::PlanError;
use crate::measure::Measure;
use crate::water::bundles::Bundles;
use crate::water::water_levels::{MAX_DENSE_LINKS, WaterLevels};
use covey_core::state::State;
use covey_core::{CoflowId, LinkId, OptionalIndex};
use covey_core::{Group, Rank, Ranking};

/// A flow that has another bundle than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rebundled {
    /// Its coflow.
    pub coflow: CoflowId,
    /// Its position in the coflow's [`Demand`](covey_core::Demand).
    pub position: u32,
    /// The bundle before; none if the flow had no class, or has started.
    pub from: Option<u32>,
    /// The bundle now; none if the flow has no class.
    pub to: Option<u32>,
}

/// Where a bundle gets its rate: a link, in a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The class, from 0.
    pub class: usize,
    /// The link.
    pub link: usize,
}

/// All flows present, in classes ([`Layers::Classes`](covey_core::Layers::Classes)). One class of
/// all flows is max-min fairness by flow in any fabric.
///
/// The flows of one class on one path are a *bundle*. A bundle's rate is the water level of the
/// link to which it is attached.
#[derive(Debug, Default)]
pub struct ClassShares {
    /// What a flow counts for.
    measure: Measure,
    membership: Membership,
    bundles: Bundles,
    /// By class; from `begun` on, memory of earlier runs.
    classes: Vec<WaterLevels>,
    /// Number of classes that have had flows.
    begun: usize,
    capacity: Vec<f64>,
    /// The bundle of each flow, by coflow and position.
    bundle_of: Vec<Vec<OptionalIndex>>,
    /// Flows that have started, or whose class may have changed.
    unsorted: Vec<(CoflowId, u32)>,
    rebundled: Vec<Rebundled>,
}

impl ClassShares {
    /// No flows on links of these capacities. Flows share max-min, or links are divided in
    /// proportion to sizes.
    pub(crate) fn clear(&mut self, measure: Measure, capacity: &[f64]) {
        self.measure = measure;
        self.membership.clear();
        self.bundles.clear(measure == Measure::Size);
        self.capacity.clear();
        self.capacity.extend_from_slice(capacity);
        // A class begins with its first flow, in this run as in the first one: the results are
        // equal to the last bit.
        self.begun = 0;
        self.bundle_of.iter_mut().for_each(Vec::clear);
        self.unsorted.clear();
        self.rebundled.clear();
    }

    /// Reads a plan that was written again.
    pub(crate) fn read_plan(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        self.membership.read(state, ranking)?;
        for &id in state.present() {
            let active = state.coflow(id).demand().active();
            self.unsorted.extend(active.map(|position| (id, position as u32)));
        }
        Ok(())
    }

    /// Reads what has changed in a plan that is kept.
    pub(crate) fn read_edits(
        &mut self,
        state: &State,
        ranking: &Ranking,
        edits: &[(Rank, Group)],
    ) -> Result<(), PlanError> {
        for &(rank, group) in edits {
            self.membership.edit(state, ranking, rank, group)?;
        }
        for &(_, group) in edits {
            let unsorted = &mut self.unsorted;
            match group {
                Group::AllFlows => {}
                Group::Coflow(id) if state.is_present(id) => {
                    let active = state.coflow(id).demand().active();
                    unsorted.extend(active.map(|position| (id, position as u32)));
                }
                Group::CoflowAt(id, link) if state.is_present(id) => {
                    let demand = state.coflow(id).demand();
                    if demand.set().contains(link.index()) {
                        let local = demand.local(link.index());
                        demand.each_active_at(local, |p| unsorted.push((id, p as u32)));
                    }
                }
                Group::Flow(flow) if state.is_present(flow.coflow) => {
                    let position = state.coflow(flow.coflow).demand().position(flow.index);
                    unsorted.push((flow.coflow, position as u32));
                }
                Group::Coflow(_) | Group::CoflowAt(..) | Group::Flow(_) => {}
            }
        }
        Ok(())
    }

    /// A flow has started.
    pub(crate) fn join(&mut self, id: CoflowId, position: usize) {
        self.unsorted.push((id, position as u32));
    }

    /// A flow has ended.
    pub(crate) fn leave(&mut self, state: &State, id: CoflowId, position: usize) {
        if let Some(bundle) = self.bundle(id, position) {
            self.bundle_of[id.index()][position] = OptionalIndex::NONE;
            self.remove_from(bundle, self.weight(state, id, position));
        }
    }

    /// What a flow counts for.
    fn weight(&self, state: &State, id: CoflowId, position: usize) -> f64 {
        self.measure.of(state.coflow(id).progress().size[position])
    }

    /// A coflow has left; or nothing that was found out about it holds any more, if it is present.
    pub(crate) fn forget(&mut self, state: &State, id: CoflowId) {
        if let Some(flows) = self.bundle_of.get_mut(id.index()) {
            let mut flows = std::mem::take(flows);
            for (position, bundle) in flows.drain(..).enumerate() {
                if let Some(bundle) = bundle.get() {
                    self.remove_from(bundle, self.weight(state, id, position));
                }
            }
            self.bundle_of[id.index()] = flows;
        }
        self.unsorted.retain(|&(coflow, _)| coflow != id);
        if state.is_present(id) {
            let active = state.coflow(id).demand().active();
            self.unsorted.extend(active.map(|position| (id, position as u32)));
        } else {
            self.membership.forget(id);
        }
    }

    fn remove_from(&mut self, bundle: u32, weight: f64) {
        let class = &mut self.classes[self.bundles.class(bundle)];
        if self.bundles.flows(bundle) > 1 {
            class.weigh(&self.bundles, bundle, -weight);
            self.bundles.remove_one(bundle, weight);
        } else {
            class.leave(&mut self.bundles, bundle);
            self.bundles.remove(bundle);
        }
    }

    fn add_to(&mut self, class: u32, path: impl Iterator<Item = LinkId>, weight: f64) -> u32 {
        while self.begun <= class as usize {
            if self.begun == self.classes.len() {
                self.classes.push(WaterLevels::default());
            }
            let (before, new) = self.classes.split_at_mut(self.begun);
            // Tables of sizes would not be exact: their numbers have 24 bits.
            let is_dense =
                self.measure == Measure::Number && self.capacity.len() <= MAX_DENSE_LINKS;
            new[0].clear(self.capacity.iter().copied(), is_dense);
            if self.measure == Measure::Size {
                new[0].divide_in_proportion();
            }
            if let Some(before) = before.last_mut() {
                new[0].offer(before.all_spare());
                before.note_touched();
            }
            self.begun += 1;
        }
        let (bundle, is_new) = self.bundles.add(class, path, weight);
        let class = &mut self.classes[class as usize];
        if is_new {
            class.join(&mut self.bundles, bundle);
        } else {
            class.weigh(&self.bundles, bundle, weight);
        }
        bundle
    }

    /// Puts flows into the bundles of their classes.
    fn sort(&mut self, state: &State) {
        let mut unsorted = std::mem::take(&mut self.unsorted);
        for &(id, position) in &unsorted {
            let demand = state.coflow(id).demand();
            if !demand.is_active(position as usize) {
                continue;
            }
            let path = demand.path(position as usize).map(|l| demand.links()[l]);
            let index = demand.index(position as usize);
            let class = self.membership.class(id, index, path.clone());
            if self.bundle_of.len() <= id.index() {
                self.bundle_of.resize_with(id.index() + 1, Vec::new);
            }
            let bundles = &mut self.bundle_of[id.index()];
            bundles.resize(bundles.len().max(demand.width()), OptionalIndex::NONE);
            let from = bundles[position as usize].get();
            if from.map(|bundle| self.bundles.class(bundle) as u32) == class {
                continue;
            }
            let weight = self.weight(state, id, position as usize);
            let to = class.map(|class| self.add_to(class, path, weight));
            self.rebundled.push(Rebundled { coflow: id, position, from, to });
            self.bundle_of[id.index()][position as usize] = to.into();
            if let Some(from) = from {
                self.remove_from(from, weight);
            }
        }
        unsorted.clear();
        self.unsorted = unsorted;
    }

    /// Works out the rates.
    pub(crate) fn share(&mut self, state: &State) {
        self.classes[..self.begun].iter_mut().for_each(WaterLevels::clear_changes);
        self.rebundled.clear();
        self.sort(state);
        let mut rest = &mut self.classes[..self.begun];
        while let Some((class, after)) = rest.split_first_mut() {
            class.balance(&mut self.bundles);
            class.hand_on(after.first_mut());
            rest = after;
        }
    }

    /// The bundle of a flow; none if it has no class.
    pub fn bundle(&self, id: CoflowId, position: usize) -> Option<u32> {
        self.bundle_of.get(id.index())?.get(position)?.get()
    }

    /// The bundles of a coflow's flows, by position, as far as any of them has had one.
    pub fn bundles_of(&self, id: CoflowId) -> &[OptionalIndex] {
        self.bundle_of.get(id.index()).map_or(&[], |bundles| bundles)
    }

    /// Number of links of the fabric.
    pub fn links(&self) -> usize {
        self.capacity.len()
    }

    /// Number of classes that have had flows.
    pub fn classes(&self) -> usize {
        self.begun
    }

    /// Where a bundle gets its rate.
    pub fn limit(&self, bundle: u32) -> Limit {
        let link = self.bundles.attached(bundle) as usize;
        Limit { class: self.bundles.class(bundle), link }
    }

    /// The water level of a link in a class, in bytes per second; infinite where it limits no flow.
    pub fn level(&self, limit: Limit) -> f64 {
        self.classes[limit.class].levels()[limit.link]
    }

    /// What a flow counts for: its rate is that times its bundle's.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// The rate of each flow of a bundle, in bytes per second for each unit that the flow counts
    /// for.
    pub fn rate_of(&self, bundle: u32) -> f64 {
        self.level(self.limit(bundle))
    }

    /// The flows whose bundles were changed last: each once, in the order in which they changed.
    pub fn rebundled(&self) -> &[Rebundled] {
        &self.rebundled
    }

    /// The links whose levels have changed last, some of them twice.
    pub fn changed_levels(&self) -> impl Iterator<Item = Limit> + '_ {
        self.classes[..self.begun].iter().enumerate().flat_map(|(class, levels)| {
            levels.changes().levels.iter().map(move |&link| Limit { class, link: link as usize })
        })
    }

    /// The bundles that were attached elsewhere last, some of them twice. Some may have no flow any
    /// more.
    pub fn moved_bundles(&self) -> impl Iterator<Item = u32> + '_ {
        self.classes[..self.begun]
            .iter()
            .flat_map(|levels| levels.changes().bundles.iter().copied())
    }
}
