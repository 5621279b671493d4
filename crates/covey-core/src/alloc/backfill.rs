//! Backfill: the entries of a plan share what all of them together have left over.
//!
//! The walk over the entries gives each coflow a provisional share. Then the coflows are visited in the
//! same order once more. Each adds what is spare at its links to its provisional share, and shares the
//! sum among its flows by a rule that leaves nothing idle which the coflow could use ([`again`]).
//!
//! The result depends on the order, on what is left of each flow and on capacities, not on what
//! happened before. It does not depend on the time at which it is worked out either: MADD and
//! [`Rule::Proportional`] give rates that stay as bytes are sent, until a flow starts or ends.

use super::grant::{Grant, Which};
use super::matching::set;
use super::part::Part;
use super::walk::worth;
use super::{Allocator, PlanError, Work, can_send};
use crate::demand::{Demand, bits};
use crate::ids::CoflowId;
use crate::plan::{Backfill, Entry, Group, Ranking, Rule};
use crate::state::State;

/// What nobody has taken, by link of the fabric, after the coflows that have been visited so far.
#[derive(Debug, Default)]
pub(super) struct Spare {
    /// Residues of rounding count as nothing. Holds at the links that have `moved`.
    now: Vec<f64>,
    /// Links at which that differs from what it was at this turn in the walk before, a bit each.
    moved: Vec<u64>,
}

/// What was spare at a coflow's links at its last turn, and what it left of that.
#[derive(Debug, Default)]
pub(super) struct SpareAt {
    found: Vec<f64>,
    rest: Vec<f64>,
}

impl SpareAt {
    pub fn clear(&mut self) {
        self.found.clear();
        self.rest.clear();
    }

    /// Takes down what is spare now. Returns whether that is another amount anywhere.
    fn find(&mut self, demand: &Demand, spare: &Spare) -> bool {
        if self.found.is_empty() {
            self.found.extend(demand.links().iter().map(|link| spare.now[link.index()]));
            self.rest.clone_from(&self.found);
            return true;
        }
        let here = demand.link_bits().iter().zip(&spare.moved).map(|(links, moved)| links & moved);
        let mut differs = false;
        for link in bits(here) {
            let found = &mut self.found[demand.local(link)];
            differs |= std::mem::replace(found, spare.now[link]) != spare.now[link];
        }
        differs
    }

    /// The coflow leaves all that it has found.
    fn leave_all(&mut self, demand: &Demand, capacity: &[f64], spare: &mut Spare) {
        let found = std::mem::take(&mut self.found);
        self.leave(demand, found.iter().copied(), capacity, spare);
        self.found = found;
    }

    /// The coflow leaves `rest` at its links.
    fn leave(
        &mut self,
        demand: &Demand,
        rest: impl Iterator<Item = f64>,
        capacity: &[f64],
        spare: &mut Spare,
    ) {
        for ((was, rest), link) in self.rest.iter_mut().zip(rest).zip(demand.links()) {
            let link = link.index();
            spare.now[link] = rest;
            spare.now[link] = worth(&spare.now, capacity, link);
            let moves = std::mem::replace(was, spare.now[link]) != spare.now[link];
            set(&mut spare.moved, link, moves);
        }
    }
}

/// The rule by which a coflow shares what it has and what is spare; `None` if it keeps to what it has.
fn again(rule: Rule, has_something: bool) -> Option<Rule> {
    match rule {
        Rule::Hold | Rule::Rate(_) => None,
        Rule::Madd | Rule::MaddWithin(_) => Some(Rule::Proportional),
        Rule::Equal => Some(Rule::MaxMin),
        // Matching has taken all that its flows can use together.
        Rule::Matching | Rule::MatchingByLoad if has_something => None,
        // Nothing ties the rates of flows together here, and one at full rate ends early.
        Rule::AllOrNone if !has_something => Some(Rule::Matching),
        Rule::AllOrNone => Some(Rule::MaxMin),
        rule => Some(rule),
    }
}

impl Allocator {
    /// Nothing is provisional any more.
    pub(super) fn settle_all(&mut self, state: &State) {
        for &id in state.present() {
            if self.grants[id.index()].settle(false, self.walk) {
                self.report(id);
            }
        }
    }

    /// Shares what all entries have left over. To be called when each has been served provisionally.
    pub(super) fn backfill(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        let mut spare = std::mem::take(&mut self.spare);
        let capacity = state.fabric().capacity();
        spare.moved.clone_from(&self.moved);
        spare.now.resize(capacity.len(), 0.0);
        for link in bits(self.moved.iter().copied()).take_while(|&link| link < capacity.len()) {
            spare.now[link] = worth(&self.free, capacity, link);
        }
        let entries = ranking.entries.iter();
        let mut coflows = entries.filter_map(|entry| match entry.group {
            Group::Coflow(id) => Some((id, entry)),
            _ => None,
        });
        let result = coflows.try_for_each(|(id, entry)| {
            self.share_spare(state, id, entry, ranking.backfill, &mut spare)
        });
        self.spare = spare;
        result
    }

    /// Has a coflow share what it has and, if it is offered it, what is spare; unless neither has
    /// changed.
    fn share_spare(
        &mut self,
        state: &State,
        id: CoflowId,
        entry: &Entry,
        backfill: Backfill,
        spare: &mut Spare,
    ) -> Result<(), PlanError> {
        let (coflow, capacity) = (state.coflow(id), state.fabric().capacity());
        let demand = coflow.demand();
        let grant = &mut self.grants[id.index()];
        let Grant { main, provisional, spare: mine, .. } = &mut *grant;
        if self.afresh {
            mine.clear();
        }
        let has_changed = mine.find(demand, spare) || provisional.decided_in == self.walk;
        let is_empty = provisional.is_empty();
        let rule = again(entry.rule, !is_empty)
            .filter(|_| backfill == Backfill::Greedy || is_empty)
            .filter(|_| !is_empty || can_send(demand, &mine.found));
        let Some(rule) = rule else {
            if has_changed || !main.is_empty() {
                mine.leave_all(demand, capacity, spare);
            }
            main.clear();
            main.walk = self.walk;
            if grant.settle(true, self.walk) {
                self.report(id);
            }
            return Ok(());
        };
        main.walk = self.walk;
        let entry = Entry { rule, ..*entry };
        if main.decided == Some((entry.group, entry.rule)) && !has_changed {
            return Ok(());
        }
        main.find(provisional, &mine.found, &mut self.work);
        main.decided_in = self.walk;
        let settles = grant.settle(false, self.walk);
        if grant.decide(Which::Main, coflow, &entry, &mut self.work, capacity)? || settles {
            self.report(id);
        }
        let Grant { main, spare: mine, .. } = &mut self.grants[id.index()];
        mine.leave(demand, main.rest(), capacity, spare);
        Ok(())
    }
}

impl Part {
    /// Makes what the `provisional` part uses, with what is `spare`, what is found at the local links.
    /// Leaves in `work.moved` the links at which that is another amount than
    /// before, and in `work.found` what it was there.
    fn find(&mut self, provisional: &Part, spare: &[f64], work: &mut Work) {
        work.moved.clear();
        work.found.clear();
        let is_new = self.before.is_empty();
        self.idle.end();
        self.before.resize(spare.len(), 0.0);
        for (l, spare) in spare.iter().enumerate() {
            let now = provisional.used(l) + spare;
            let before = std::mem::replace(&mut self.before[l], now);
            if before != now && !is_new {
                work.moved.push(l as u32);
                work.found.push(before);
            }
        }
    }
}
