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
//! - What the next coflow finds:
//!   [`FoundSpare::leave`](crate::kept::found_spare::FoundSpare::leave).
//!
//! Where ports divide their links, [`PerPort`](super::per_port) has each coflow share again by the
//! rule of its entry. `backfill` in `reference.rs` is the same in its slow and obvious form.
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
use crate::kept::target::AllocationPart;
use crate::rules::list;
use crate::rules::sharing::can_send;
use covey_core::CoflowId;
use covey_core::Demand;
use covey_core::state::State;
use covey_core::{Entry, Group, Ranking, Rule};

/// What no coflow has taken.
#[derive(Debug, Default)]
pub struct SpareSharing {
    /// After the coflows visited so far. Amounts are without negligible residues.
    spare: FreeCapacity,
}

impl SpareSharing {
    /// Shares what all entries have left `free`, after each has been served provisionally. Where
    /// ports divide their links, `backfill` is `None`: each coflow shares again by the rule of its
    /// entry.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn share(
        &mut self,
        pass: &mut Pass,
        state: &State,
        ranking: &Ranking,
        backfill: Option<covey_core::Backfill>,
    ) -> Result<(), PlanError> {
        self.start(&pass.free, state.fabric().capacity());
        let mut visit = Visit { pass, state, backfill, spare: &mut self.spare };
        ranking.entries.iter().try_for_each(|(_, entry)| match entry.group {
            Group::Coflow(id) => visit.visit(id, entry),
            _ => Ok(()),
        })
    }

    /// The spare capacity is what the entries have left `free`.
    fn start(&mut self, free: &FreeCapacity, capacity: &[f64]) {
        let FreeCapacity { amount, dirty, .. } = &mut self.spare;
        dirty.copy(&free.dirty);
        amount.resize(capacity.len(), 0.0);
        dirty.iter().for_each(|link| amount[link] = free.usable(capacity, link));
    }
}

/// Backfill of one round.
struct Visit<'a> {
    pass: &'a mut Pass,
    state: &'a State,
    /// `None` where ports divide their links.
    backfill: Option<covey_core::Backfill>,
    spare: &'a mut FreeCapacity,
}

impl Visit<'_> {
    /// The rule by which a coflow shares what it has and what is spare; `None` if it keeps what it
    /// has.
    fn rule_of(&self, entry: Rule, has_something: bool) -> Option<Rule> {
        let in_backfill = list::with(entry, |rule| rule.in_backfill(has_something));
        match self.backfill {
            None => Some(entry),
            Some(covey_core::Backfill::Greedy) => in_backfill,
            Some(_) => in_backfill.filter(|_| !has_something),
        }
    }

    /// Shares among a coflow's flows what it has and, if backfill is for it, what is spare. Does
    /// nothing if neither has changed since the previous pass.
    fn visit(&mut self, id: CoflowId, entry: &Entry) -> Result<(), PlanError> {
        let (coflow, capacity) = (self.state.coflow(id), self.state.fabric().capacity());
        let demand = coflow.demand();
        let is_empty = self.pass.coflows[id].provisional.is_empty();
        let rule = self.rule_of(entry.rule, !is_empty);
        let Pass { coflows, scratch, is_from_scratch, .. } = &mut *self.pass;
        let spare = &mut *self.spare;
        let pass = coflows.pass;
        let allocation = &mut coflows[id];
        let mine = &mut allocation.spare;
        if *is_from_scratch {
            mine.clear();
        }
        let is_first = mine.find(demand, spare);
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
            is_reported |=
                allocation.decide(AllocationPart::Main, coflow, &entry, scratch, capacity)?;
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

/// Offers `main` the sum of what the `provisional` part uses and what is `spare`, at some local
/// `links`; at the others neither has changed. Leaves in `changes` the links at which the sum has
/// changed.
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
