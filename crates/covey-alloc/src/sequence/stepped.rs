//! Strict order in a plan that is kept: only entries that have a
//! [step](crate::kept::pass_steps) are served.

use super::pass::{Pass, Request};
use crate::error::PlanError;
use crate::kept::pass_steps::{PassStep, PassSteps};
use crate::kept::stepped_plan::SteppedPlan;
use crate::kept::target::{PlacedEntry, coflow_of};
use covey_core::Demand;
use covey_core::state::State;
use covey_core::{Entry, Rank, Ranking};

/// A pass over a plan that is kept.
pub struct SteppedPass<'a> {
    pub pass: &'a mut Pass,
    pub stepped: &'a mut SteppedPlan,
    pub state: &'a State,
    pub ranking: &'a Ranking,
}

impl SteppedPass<'_> {
    /// Serves all entries, and writes down which wait and which have a step on the next pass.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn serve_all<'a>(
        &mut self,
        k: usize,
        entries: impl Iterator<Item = &'a (Rank, Entry)>,
    ) -> Result<(), PlanError> {
        let all = &mut self.stepped.steps;
        all.resize_with(all.len().max(k + 1), PassSteps::default);
        let mut steps = std::mem::take(&mut all[k]);
        steps.start_from_scratch(&self.pass.free);
        for (rank, entry) in entries {
            steps.go_to(*rank);
            let which = self.pass.serve(self.state, entry)?;
            let demand = self.state.coflow(coflow_of(entry.group)).demand();
            let placed = PlacedEntry { rank: *rank, entry: *entry, which };
            self.stepped.stand(&mut self.pass.coflows, self.state, placed);
            self.stepped.set_all_dirty(demand);
            self.end_step(placed, demand, &mut steps);
        }
        steps.end();
        self.stepped.steps[k] = steps;
        Ok(())
    }

    /// Serves the entries that have a step.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn serve_steps(&mut self, k: usize) -> Result<(), PlanError> {
        let Some(steps) = self.stepped.steps.get_mut(k) else { return Ok(()) };
        let mut steps = std::mem::take(steps);
        steps.start(&self.pass.free);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(step) = self.next_step(&mut steps)
        {
            result = self.take_step(step, &mut steps);
        }
        steps.end();
        self.stepped.steps[k] = steps;
        result
    }

    fn next_step(&self, steps: &mut PassSteps) -> Option<PassStep> {
        let Pass { coflows, free, .. } = &*self.pass;
        steps.next(free, |PlacedEntry { entry, which, .. }| {
            let id = coflow_of(entry.group);
            coflows[id].part(*which).decided == Some((entry.group, entry.rule))
                && !self.state.coflow(id).demand().set().meets(free.dirty.words())
        })
    }

    fn take_step(&mut self, step: PassStep, steps: &mut PassSteps) -> Result<(), PlanError> {
        let (placed, stays) = match step {
            PassStep::Gone(footprints) => {
                let capacity = self.state.fabric().capacity();
                footprints.for_each(|k| steps.pass_gone(k, capacity, &mut self.pass.free));
                return Ok(());
            }
            PassStep::Stays(placed) => (placed, true),
            PassStep::Comes(placed) => (placed, false),
            PassStep::Called(rank) => {
                let Some(&entry) = self.ranking.entries.get(&rank) else { return Ok(()) };
                let which = self.stepped.part_or_new(&mut self.pass.coflows, entry.group);
                let id = coflow_of(entry.group);
                self.pass.coflows[id].part_mut(which).place.waits.end(rank, steps);
                (PlacedEntry { rank, entry, which }, false)
            }
        };
        let PlacedEntry { entry, which, .. } = placed;
        let id = placed.coflow();
        let demand = self.state.coflow(id).demand();
        let Pass { coflows, free, search, .. } = &mut *self.pass;
        free.open_and_dirty_in(demand.set(), &mut self.stepped.open_before);
        self.stepped.dirty_before.clear();
        let dirty = demand.set().words().iter().map(|word| free.dirty.words()[word.at as usize]);
        self.stepped.dirty_before.extend(dirty);
        let part = coflows[id].part_mut(which);
        let is_idle = part.idle.is();
        if stays && is_idle && part.decided == Some((entry.group, entry.rule)) {
            let may_send = part.idle.see(demand, free.dirty.words(), &free.open);
            if !may_send || !part.idle.can_send(demand, &entry, search) {
                steps.stay(placed);
                return Ok(());
            }
        }
        if stays && !is_idle {
            self.pass.serve_part(Request { state: self.state, id, which, entry: &entry })?;
        } else {
            self.stepped.dirty_before.fill(u64::MAX);
            self.serve_at_new_place(placed, demand, steps)?;
        }
        self.end_step(placed, demand, steps);
        steps.call_at(demand.set(), &self.stepped.open_before, &self.pass.free);
        Ok(())
    }

    /// An entry has had its step: it is looked at on the next pass, or waits from now on.
    fn end_step(&mut self, placed: PlacedEntry, demand: &Demand, steps: &mut PassSteps) {
        let Pass { coflows, free, .. } = &mut *self.pass;
        let capacity = self.state.fabric().capacity();
        self.stepped.end_step(coflows, demand, placed, steps, free, capacity);
    }

    /// Serves an entry at a place where no entry had anything on the previous pass.
    fn serve_at_new_place(
        &mut self,
        placed: PlacedEntry,
        demand: &Demand,
        steps: &mut PassSteps,
    ) -> Result<(), PlanError> {
        let PlacedEntry { entry, which, .. } = placed;
        let id = placed.coflow();
        let Pass { coflows, free, search, scratch, .. } = &mut *self.pass;
        let may_idle = coflows.may_idle(which, &entry);
        let pass = coflows.pass;
        let part = coflows[id].part_mut(which);
        part.confirmed_in = pass;
        if may_idle {
            part.idle.set_open(demand, |link| steps.is_open(link, free));
            if !part.idle.can_send(demand, &entry, search) {
                let had_something = !part.is_empty();
                part.fall_idle();
                part.decided = Some((entry.group, entry.rule));
                if had_something {
                    part.decided_in = pass;
                    if coflows[id].counts(which) {
                        coflows.report(id);
                    }
                }
                return Ok(());
            }
        }
        part.idle.end();
        if part.before.is_empty() {
            part.decided = None;
        }
        let found = &mut self.stepped.found;
        steps.find_free(demand, free, found);
        let capacity = self.state.fabric().capacity();
        let part = coflows[id].part_mut(which);
        part.find(demand, None, found, capacity, &mut scratch.changes);
        if part.after.is_empty() {
            part.after.clone_from(&part.before);
        }
        self.pass.decide_at_new_place(self.state, &placed)
    }
}
