//! A plan that stays in force: what has changed in it, and which entries have a step on the next
//! pass.
//!
//! Changes of the plan and of coflows are known before the pass. An entry
//! that has moved leaves behind what it found and left at its old place, so that those behind that
//! place learn what is dirty there. At its new place it finds what those before it have left.

use super::allocations::Allocations;
use super::claims::Claims;
use super::idle;
use super::pass_steps::PassSteps;
use super::target::{self, AllocationPart, PlacedEntry, coflow_of};
use crate::error::PlanError;
use crate::free_capacity::{FreeCapacity, NEGLIGIBLE};
use covey_core::Demand;
use covey_core::state::State;
use covey_core::{CoflowId, LinkId};
use covey_core::{Entry, Group, Rank, Ranking};

/// What is remembered of a plan that is kept.
#[derive(Debug, Default)]
pub struct SteppedPlan {
    /// Whether a plan is kept. Otherwise everything else is stale.
    pub goes_by_steps: bool,
    /// Places where groups have come or gone since the previous pass.
    pub edits: Vec<(Rank, Group)>,
    /// Coflows whose flows have changed since the previous pass.
    touched: Vec<CoflowId>,
    /// The steps: of each layer where layers have weights, else of all layers together.
    pub steps: Vec<PassSteps>,
    pub by_layer: bool,
    /// By layer, how many entries have flows on each link, where layers have weights.
    pub claims: Vec<Claims>,
    /// By link, what an entry finds that has come to a new place.
    pub found: Vec<f64>,
    /// The links of the present entry that were dirty and open before it: bits of the words of its
    /// links.
    pub open_before: Vec<u64>,
    /// The links of the present entry that were dirty before it, in the same form.
    pub dirty_before: Vec<u64>,
}

impl SteppedPlan {
    /// No plan is kept.
    pub fn clear(&mut self) {
        self.goes_by_steps = false;
        self.edits.clear();
        self.touched.clear();
    }

    /// The flows of a coflow have changed.
    pub fn touch(&mut self, id: CoflowId) {
        if self.goes_by_steps && self.touched.last() != Some(&id) {
            self.touched.push(id);
        }
    }

    /// All links of an entry count as dirty before it.
    pub fn set_all_dirty(&mut self, demand: &Demand) {
        self.dirty_before.clear();
        self.dirty_before.resize(demand.set().words().len(), u64::MAX);
    }

    /// Number of the steps that a place belongs to.
    fn steps_at(&self, rank: Rank) -> usize {
        if self.by_layer { rank.layer() as usize } else { 0 }
    }

    /// Before a pass, works out which entries have a step.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn follow_plan(
        &mut self,
        coflows: &mut Allocations,
        state: &State,
        ranking: &Ranking,
        is_from_scratch: bool,
    ) -> Result<(), PlanError> {
        let mut edits = std::mem::take(&mut self.edits);
        let mut touched = std::mem::take(&mut self.touched);
        let result = if is_from_scratch {
            self.start_from_scratch(coflows, state);
            Ok(())
        } else {
            self.follow_edits(coflows, state, ranking, &edits, &touched)
        };
        edits.clear();
        touched.clear();
        (self.edits, self.touched) = (edits, touched);
        result
    }

    /// No entry has a place.
    fn start_from_scratch(&mut self, coflows: &mut Allocations, state: &State) {
        self.steps.iter_mut().for_each(PassSteps::clear);
        self.claims.iter_mut().for_each(Claims::clear);
        for &id in state.present() {
            let allocation = &mut coflows[id];
            allocation.parts_mut().for_each(|part| part.place.forget());
        }
    }

    /// Moves entries as the plan was edited, and gives a step to those whose flows have changed.
    fn follow_edits(
        &mut self,
        coflows: &mut Allocations,
        state: &State,
        ranking: &Ranking,
        edits: &[(Rank, Group)],
        touched: &[CoflowId],
    ) -> Result<(), PlanError> {
        let stands_there =
            |rank, group| ranking.entries.get(&rank).filter(|entry| entry.group == group);
        // First those that have come: `take_out` must find a group that has moved at its new place.
        for &(rank, group) in edits {
            if let Some(entry) = stands_there(rank, group) {
                self.put(coflows, state, ranking, rank, entry)?;
            }
        }
        for &(rank, group) in edits {
            if stands_there(rank, group).is_none() {
                self.take_out(coflows, state, rank, group);
            }
        }
        for &id in touched.iter().filter(|id| state.is_present(**id)) {
            self.rouse(coflows, state, ranking, id);
        }
        Ok(())
    }

    /// The part of a coflow's allocation that an entry for a group decides. An entry for some flows
    /// that has none yet gets a vacant part, or else a new one.
    pub fn part_or_new(&self, coflows: &mut Allocations, group: Group) -> AllocationPart {
        if let Group::Coflow(_) = group {
            return coflows.whole();
        }
        AllocationPart::Subset(coflows[coflow_of(group)].subsets.of(group))
    }

    /// A group has come to a place.
    fn put(
        &mut self,
        coflows: &mut Allocations,
        state: &State,
        ranking: &Ranking,
        rank: Rank,
        entry: &Entry,
    ) -> Result<(), PlanError> {
        let demand = target::checked(state, entry.group)?.demand();
        let id = coflow_of(entry.group);
        let which = self.part_or_new(coflows, entry.group);
        if let Some((old, group)) = coflows[id].part(which).place.at {
            let is_twice =
                old != rank && ranking.entries.get(&old).is_some_and(|other| other.group == group);
            if is_twice {
                return Err(PlanError::Twice(id));
            }
            self.leave(coflows, demand.links(), id, which);
        }
        let placed = PlacedEntry { rank, entry: *entry, which };
        self.stand(coflows, state, placed);
        let k = self.steps_at(rank);
        self.steps.resize_with(self.steps.len().max(k + 1), PassSteps::default);
        self.steps[k].come(placed);
        Ok(())
    }

    /// An entry stands at a place from now on.
    pub fn stand(&mut self, coflows: &mut Allocations, state: &State, placed: PlacedEntry) {
        let (id, group) = (placed.coflow(), placed.entry.group);
        let place = &mut coflows[id].part_mut(placed.which).place;
        place.at = Some((placed.rank, group));
        place.is_new = true;
        self.claim(coflows, state, placed.rank, group, placed.which);
    }

    /// A group has gone from a place, and what it had there goes back. Nothing happens if the group
    /// already stands elsewhere, since [`SteppedPlan::put`] comes first, or if its coflow has gone,
    /// since [`SteppedPlan::leave_all`] has done it then.
    fn take_out(&mut self, coflows: &mut Allocations, state: &State, rank: Rank, group: Group) {
        let id = coflow_of(group);
        // All flows as one group belong to no coflow, and have no part.
        if coflows.get_mut(id).is_none() || !state.is_present(id) {
            return;
        }
        let which = self.part_or_new(coflows, group);
        if coflows[id].part(which).place.at != Some((rank, group)) {
            return;
        }
        self.leave(coflows, state.coflow(id).demand().links(), id, which);
        let pass = coflows.pass;
        let allocation = &mut coflows[id];
        let part = allocation.part_mut(which);
        let had_something = !part.is_empty();
        part.clear();
        // Otherwise `CoflowAllocation::water_level_changes` would say that nothing has changed.
        part.decided_in = pass;
        if had_something {
            coflows.report(id);
        }
    }

    /// All entries of a coflow leave their places. The next pass looks them up again.
    pub fn leave_all(&mut self, coflows: &mut Allocations, state: &State, id: CoflowId) {
        let Some(allocation) = coflows.get_mut(id) else { return };
        for which in allocation.all_parts() {
            if let Some(at) = coflows[id].part(which).place.at {
                self.edits.push(at);
                self.leave(coflows, state.coflow(id).demand().links(), id, which);
            }
        }
    }

    /// An entry leaves its place. Those behind it are to find what it had.
    fn leave(
        &mut self,
        coflows: &mut Allocations,
        links: &[LinkId],
        id: CoflowId,
        which: AllocationPart,
    ) {
        self.unclaim(coflows, id, which);
        let allocation = &mut coflows[id];
        let part = allocation.part_mut(which);
        let Some((rank, _)) = part.place.at.take() else { return };
        let k = self.steps_at(rank);
        let steps = &mut self.steps[k];
        if part.place.waits.is_waiting() {
            part.place.waits.end(rank, steps);
        } else if part.place.is_new {
            steps.cancel(rank);
        } else {
            steps.remove(rank);
            if !part.is_empty() {
                let (before, left) = (part.before.iter(), part.all_left().iter());
                steps.leave(rank, links, before.copied(), left.copied());
            }
        }
    }

    /// The flows of a coflow have changed. Where an entry of it waits, it has a step on the next
    /// pass.
    fn rouse(&mut self, coflows: &mut Allocations, state: &State, ranking: &Ranking, id: CoflowId) {
        for which in coflows[id].all_parts() {
            let place = &mut coflows[id].part_mut(which).place;
            let Some((rank, group)) = place.at else { continue };
            if place.waits.is_waiting() {
                let k = self.steps_at(rank);
                place.waits.end(rank, &mut self.steps[k]);
                if let Some(entry) = ranking.entries.get(&rank) {
                    self.steps[k].come(PlacedEntry { rank, entry: *entry, which });
                }
            }
            self.unclaim(coflows, id, which);
            self.claim(coflows, state, rank, group, which);
        }
    }

    /// With weighted layers, counts an entry among those of its layer that have flows on links.
    fn claim(
        &mut self,
        coflows: &mut Allocations,
        state: &State,
        rank: Rank,
        group: Group,
        which: AllocationPart,
    ) {
        if !self.by_layer {
            return;
        }
        let k = rank.layer() as usize;
        self.claims.resize_with(self.claims.len().max(k + 1), Claims::default);
        let counts = &mut self.claims[k];
        counts.grow(state.fabric().links());
        let id = coflow_of(group);
        let demand = state.coflow(id).demand();
        let claims = &mut coflows[id].part_mut(which).place.claims;
        claims.clear();
        if let Group::Coflow(_) = group {
            let used = demand.links().iter().zip(demand.count()).filter(|(_, count)| **count > 0);
            claims.extend(used.map(|(link, _)| link.0));
        } else {
            target::each_link(demand, group, |link| claims.push(link as u32));
        }
        claims.iter().for_each(|&link| counts.add(link as usize));
    }

    /// Takes back what an entry has claimed in the layer where it stands.
    fn unclaim(&mut self, coflows: &mut Allocations, id: CoflowId, which: AllocationPart) {
        let place = &mut coflows[id].part_mut(which).place;
        if let Some((rank, _)) = place.at.filter(|_| self.by_layer) {
            let counts = &mut self.claims[rank.layer() as usize];
            place.claims.drain(..).for_each(|link| counts.remove(link as usize));
        }
    }

    /// An entry has had its step among `steps`. It is looked at on the next pass, or waits from now
    /// on.
    pub fn end_step(
        &self,
        coflows: &mut Allocations,
        demand: &Demand,
        placed: PlacedEntry,
        steps: &mut PassSteps,
        free: &FreeCapacity,
        capacity: &[f64],
    ) {
        let group = placed.entry.group;
        let part = coflows[placed.coflow()].part_mut(placed.which);
        part.place.is_new = false;
        let has_nothing = part.before.is_empty();
        let dirty = self.dirty_before.iter().zip(demand.set().words());
        let dirty = dirty.map(|(before, word)| {
            let now = free.dirty.words()[word.at as usize];
            word.bits & if has_nothing { u64::MAX } else { before | now }
        });
        for (link, l) in demand.set().common_words(dirty) {
            let negligible = capacity[link] * NEGLIGIBLE;
            let amount = |amounts: &[f64]| {
                amounts.get(l).map_or(0.0, |&a| if a > negligible { a } else { 0.0 })
            };
            steps.record(link, amount(&part.before), amount(&part.after));
        }
        let waits = part.idle.is()
            && part.place.waits.begin(placed.rank, steps, |steps, links| {
                let closed = |link| steps.closed(link, free);
                idle::blocked_at(demand, group, placed.entry.rule, closed, links)
            });
        if !waits {
            steps.stay(placed);
        }
    }
}
