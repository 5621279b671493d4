//! Backfill: the coflows of a plan share what all entries together have left.
//!
//! The pass over the entries gives each coflow a provisional share. Then backfill visits the
//! coflows that the plan names as a whole in the same order once more. Each adds what is *spare* at
//! its links to its provisional share, and shares the sum among its flows.
//!
//! - Which coflow gets something: `Visit::visit`, where it filters the rule.
//! - How much it is offered: `find`, link by link.
//! - How its flows share that: each rule's
//!   [`in_backfill`](crate::rules::sharing::SharingRule::in_backfill) names a rule that leaves
//!   nothing idle which the coflow could use.
//! - What the next coflow finds: [`FoundSpare::leave`](crate::kept::found_spare::FoundSpare::leave).
//!
//! Where ports divide their links, [`PerPort`](super::per_port) has each coflow share again by the rule of its entry.
//! `backfill` in `tests/allocators/common/naive.rs` is the same in its slow and obvious form.
//!
//! The result depends on the order, on what is left of each flow and on capacities, not on what
//! happened before. It does not depend on the time of the round either: MADD and
//! [`Rule::Proportional`](covey_core::Rule::Proportional) give rates that stay as bytes are sent,
//! until a flow starts or ends.

use super::pass::Pass;
use crate::error::PlanError;
use crate::free_capacity::FreeCapacity;
use crate::kept::changes::Changes;
use crate::kept::entry_allocation::EntryAllocation;
use crate::kept::found_spare::is_same;
use crate::kept::idle;
use crate::kept::kept_plan::KeptPlan;
use crate::kept::pass_steps::{PassStep, PassSteps};
use crate::kept::target::{PlacedEntry, Which, coflow_of};
use crate::rules::list;
use crate::rules::sharing::can_send;
use covey_core::CoflowId;
use covey_core::Demand;
use covey_core::sets::bits::set_bit;
use covey_core::state::State;
use covey_core::{Entry, Group, Ranking, Rule};

/// What no coflow has taken.
#[derive(Debug, Default)]
pub struct SpareSharing {
    /// After the coflows visited so far. Amounts are without negligible residues.
    spare: FreeCapacity,
    /// By link, what a coflow finds that has come to a new place.
    found: Vec<f64>,
}

/// The rule by which a coflow shares what it has and what is spare; `None` if it keeps what it has.
fn rule_of(entry: Rule, has_something: bool) -> Option<Rule> {
    list::with(entry, |rule| rule.in_backfill(has_something))
}

impl SpareSharing {
    /// Shares what all entries have left, after each has been served provisionally.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn share(
        &mut self,
        pass: &mut Pass,
        kept: &mut KeptPlan,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        self.start(&pass.free, state.fabric().capacity());
        if kept.is_on {
            let mut steps = std::mem::take(&mut kept.backfill_steps);
            let mut visit = Visit { pass, state, kind: Some(ranking.backfill), sharing: self };
            let result = visit.visit_steps(kept, ranking, &mut steps);
            kept.backfill_steps = steps;
            result
        } else {
            Visit { pass, state, kind: Some(ranking.backfill), sharing: self }.visit_all(ranking)
        }
    }

    /// Where ports divide their links: has each coflow share again, by the rule of its entry, what it has from its
    /// own shares of links and what is left `free`.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn share_again(
        &mut self,
        pass: &mut Pass,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        self.start(&pass.free, state.fabric().capacity());
        Visit { pass, state, kind: None, sharing: self }.visit_all(ranking)
    }

    /// The spare capacity is what the entries have left `free`.
    fn start(&mut self, free: &FreeCapacity, capacity: &[f64]) {
        let FreeCapacity { amount, dirty, open } = &mut self.spare;
        dirty.copy(&free.dirty);
        amount.resize(capacity.len(), 0.0);
        open.resize(free.open.len(), 0);
        for link in dirty.iter() {
            amount[link] = free.usable(capacity, link);
            set_bit(open, link, amount[link] > 0.0);
        }
    }
}

/// Backfill of one round.
struct Visit<'a> {
    pass: &'a mut Pass,
    state: &'a State,
    /// `None` where ports divide their links.
    kind: Option<covey_core::Backfill>,
    sharing: &'a mut SpareSharing,
}

impl Visit<'_> {
    /// Visits all coflows that the plan names as a whole.
    fn visit_all(&mut self, ranking: &Ranking) -> Result<(), PlanError> {
        ranking.entries.iter().try_for_each(|(_, entry)| match entry.group {
            Group::Coflow(id) => self.visit(id, entry, false),
            _ => Ok(()),
        })
    }

    /// The rule by which a coflow shares what it has and what is spare; `None` if it keeps what it has.
    fn rule_of(&self, entry: Rule, has_something: bool) -> Option<Rule> {
        match self.kind {
            None => Some(entry),
            Some(covey_core::Backfill::Greedy) => rule_of(entry, has_something),
            Some(_) => rule_of(entry, has_something).filter(|_| !has_something),
        }
    }

    /// In a plan that is kept, visits the coflows that have a step.
    fn visit_steps(
        &mut self,
        kept: &mut KeptPlan,
        ranking: &Ranking,
        steps: &mut PassSteps,
    ) -> Result<(), PlanError> {
        for &placed in &kept.served {
            let mine = &mut self.pass.coflows[placed.coflow()].spare;
            if !mine.has_step {
                mine.waits.end(placed.rank, steps);
                steps.come(placed);
            }
        }
        steps.start(&self.sharing.spare);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(step) = self.next_step(steps)
        {
            result = self.take_step(step, kept, ranking, steps);
        }
        steps.end();
        result
    }

    fn next_step(&self, steps: &mut PassSteps) -> Option<PassStep> {
        let spare = &self.sharing.spare;
        steps.next(spare, |placed| {
            let id = placed.coflow();
            let allocation = &self.pass.coflows[id];
            allocation.spare.is_visited
                && allocation.provisional.decided_in != self.pass.coflows.pass
                && !self.state.coflow(id).demand().set().meets(spare.dirty.words())
        })
    }

    fn take_step(
        &mut self,
        step: PassStep,
        kept: &mut KeptPlan,
        ranking: &Ranking,
        steps: &mut PassSteps,
    ) -> Result<(), PlanError> {
        let (placed, is_new) = match step {
            PassStep::Gone(footprints) => {
                let capacity = self.state.fabric().capacity();
                footprints.for_each(|k| steps.pass_gone(k, capacity, &mut self.sharing.spare));
                return Ok(());
            }
            PassStep::Stays(placed) => (placed, false),
            PassStep::Comes(placed) => (placed, true),
            PassStep::Called(rank) => {
                let Some(&entry) = ranking.entries.get(&rank) else { return Ok(()) };
                let id = coflow_of(entry.group);
                self.pass.coflows[id].spare.waits.end(rank, steps);
                let demand = self.state.coflow(id).demand();
                (PlacedEntry::new(rank, entry, Which::Provisional, demand), true)
            }
        };
        let id = placed.coflow();
        let demand = self.state.coflow(id).demand();
        let is_empty = self.pass.coflows[id].provisional.is_empty();
        let spare = &self.sharing.spare;
        let may_get = |rule| idle::may_get(demand, rule, |link| steps.is_open(link, spare));
        if is_new && is_empty && !rule_of(placed.entry.rule, false).is_some_and(may_get) {
            self.wait(placed, steps);
            return Ok(());
        }
        if is_new {
            let coflows = &self.pass.coflows;
            steps.find_free(self.state, demand, spare, &mut self.sharing.found, |placed| {
                &coflows[placed.coflow()].spare.rest
            });
            self.pass.coflows[id].spare.clear();
        }
        self.sharing.spare.open_and_dirty_in(demand.set(), &mut kept.opened);
        self.visit(id, &placed.entry, is_new)?;
        self.end_step(placed, demand, steps);
        steps.call_at(demand.set(), &kept.opened, &self.sharing.spare);
        Ok(())
    }

    /// A coflow has had its step: it is looked at on the next pass, or waits from now on.
    fn end_step(&mut self, placed: PlacedEntry, demand: &Demand, steps: &mut PassSteps) {
        let id = placed.coflow();
        let allocation = &self.pass.coflows[id];
        let is_idle = allocation.provisional.is_empty()
            && (allocation.is_provisional || allocation.main.is_empty());
        let waits = is_idle && self.wait(placed, steps);
        let mine = &mut self.pass.coflows[id].spare;
        let links = demand.links().iter().map(|link| link.index());
        if waits {
            // Rounding may have made a difference between what it found and what it left.
            return links.for_each(|link| steps.record(link, 0.0, 0.0, false));
        }
        mine.has_step = true;
        steps.stay(placed);
        for (l, link) in links.enumerate() {
            steps.record(link, mine.found[l], mine.rest[l], placed.is_wide);
        }
    }

    /// A coflow that got nothing waits, if it can. Returns whether it does.
    fn wait(&mut self, placed: PlacedEntry, steps: &mut PassSteps) -> bool {
        let id = placed.coflow();
        let Entry { group, rule, .. } = placed.entry;
        let demand = self.state.coflow(id).demand();
        let coflows = &mut self.pass.coflows;
        let pass = coflows.pass;
        let allocation = &mut coflows[id];
        let waits = allocation.spare.waits.begin(placed.rank, steps, |steps, links| {
            let closed = |link| steps.closed(link, &self.sharing.spare);
            rule_of(rule, false)
                .is_none_or(|rule| idle::blocked_at(demand, group, rule, closed, links))
        });
        if waits {
            allocation.spare.clear();
            allocation.main.clear();
            if allocation.set_provisional(true, pass) {
                coflows.report(id);
            }
        }
        waits
    }

    /// Shares among a coflow's flows what it has and, if backfill is for it, what is spare. Does nothing
    /// if neither has changed since the previous pass. `at_new_place` says that no entry was at this
    /// place then; what the coflow finds there is in `found`.
    fn visit(&mut self, id: CoflowId, entry: &Entry, at_new_place: bool) -> Result<(), PlanError> {
        let (coflow, capacity) = (self.state.coflow(id), self.state.fabric().capacity());
        let demand = coflow.demand();
        let is_empty = self.pass.coflows[id].provisional.is_empty();
        let rule = self.rule_of(entry.rule, !is_empty);
        let Pass { coflows, scratch, is_from_scratch, .. } = &mut *self.pass;
        let SpareSharing { spare, found } = &mut *self.sharing;
        let pass = coflows.pass;
        let allocation = &mut coflows[id];
        let mine = &mut allocation.spare;
        if *is_from_scratch {
            mine.clear();
        }
        let is_first = mine.find(demand, at_new_place.then_some(&**found), spare);
        let has_other_share = allocation.provisional.decided_in == pass;
        let was_visited = std::mem::replace(&mut mine.is_visited, true);
        if was_visited && mine.dirty.is_empty() && !has_other_share {
            return Ok(());
        }
        let could_not_send =
            was_visited && !has_other_share && is_empty && allocation.is_provisional;
        let can_send =
            || (!could_not_send || mine.may_open(demand)) && can_send(demand, &mine.found);
        // Spare capacity is for a coflow whose rule takes it, and that can send then.
        let rule = rule.filter(|_| !is_empty || can_send());
        let Some(rule) = rule else {
            mine.leave_all(demand, allocation.is_provisional, capacity, spare);
            allocation.main.clear();
            allocation.main.confirmed_in = pass;
            if allocation.set_provisional(true, pass) {
                coflows.report(id);
            }
            return Ok(());
        };
        let main = &mut allocation.main;
        main.confirmed_in = pass;
        let entry = Entry { rule, ..*entry };
        let knows_nothing = main.before.is_empty();
        let is_new = is_first || knows_nothing;
        let links = mine.found.len();
        let (provisional, changes) = (&allocation.provisional, &mut scratch.changes);
        if is_new || has_other_share || !is_empty {
            find(main, demand, provisional, 0..links, &mine.found, capacity, changes);
        } else {
            let dirty = mine.dirty.iter().map(|&l| l as usize);
            find(main, demand, provisional, dirty, &mine.found, capacity, changes);
        }
        let is_same = main.decided == Some((entry.group, entry.rule));
        let stays = is_same && !knows_nothing && changes.dirty.is_empty();
        let mut is_reported = allocation.set_provisional(false, pass);
        if !stays {
            allocation.main.decided_in = pass;
            is_reported |= allocation.decide(Which::Main, coflow, &entry, scratch, capacity)?;
        }
        let (main, mine) = (&allocation.main, &mut allocation.spare);
        if is_new {
            mine.leave(demand, 0..links, |l| main.after[l], capacity, spare);
        } else {
            let dirty = scratch.changes.dirty_after.iter();
            mine.leave(demand, dirty, |l| main.after[l], capacity, spare);
        }
        if is_reported {
            coflows.report(id);
        }
        Ok(())
    }
}

/// Offers `main` the sum of what the `provisional` part uses and what is `spare`, at some local `links`;
/// at the others neither has changed. Leaves in `changes` the links at which the sum has changed.
fn find(
    main: &mut EntryAllocation,
    demand: &Demand,
    provisional: &EntryAllocation,
    links: impl Iterator<Item = usize>,
    spare: &[f64],
    capacity: &[f64],
    changes: &mut Changes,
) {
    changes.start(spare.len());
    let is_new = main.before.is_empty();
    main.idle.end();
    main.before.resize(spare.len(), 0.0);
    for l in links {
        let now = provisional.used(l) + spare[l];
        let before = main.before[l];
        if is_new {
            main.before[l] = now;
        } else if !is_same(before, now, capacity[demand.links()[l].index()]) {
            changes.find(l, &mut main.before[l], now);
        }
    }
}
