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
use super::{Allocator, PlanError};
use crate::demand::{Demand, bits};
use crate::ids::CoflowId;
use crate::plan::{Backfill, Entry, Group, Ranking, Rule};
use crate::state::State;

/// What nobody has taken, by link of the fabric.
#[derive(Debug, Default)]
pub(super) struct Spare {
    /// After the walk over the entries; residues of rounding count as nothing.
    after_entries: Vec<f64>,
    /// After the coflows that have been visited so far.
    now: Vec<f64>,
    /// Egress and ingress links at which there is something now, a bit each.
    open: [Vec<u64>; 2],
}

impl Spare {
    /// Takes down what is `free` at those links that have `moved`.
    fn update(&mut self, moved: &[u64], free: &[f64], capacity: &[f64]) {
        let links = capacity.len();
        self.after_entries.resize(links, 0.0);
        for link in bits(moved.iter().copied()).take_while(|&link| link < links) {
            self.after_entries[link] = worth(free, capacity, link);
        }
        self.now.clone_from(&self.after_entries);
    }

    fn find_open(&mut self, ports: usize) {
        for open in &mut self.open {
            open.clear();
            open.resize(self.now.len().div_ceil(64), 0);
        }
        for link in 0..2 * ports {
            set(&mut self.open[link / ports], link, self.now[link] > 0.0);
        }
    }

    /// Whether some sender and some receiver with unfinished flows have something.
    fn can_send(&self, demand: &Demand) -> bool {
        let any = |open: &[u64]| demand.active_links().iter().zip(open).any(|(a, b)| a & b != 0);
        self.open.iter().all(|open| any(open))
    }

    /// A coflow has left `rest` at its links.
    fn take(&mut self, demand: &Demand, rest: impl Iterator<Item = f64>, capacity: &[f64], ports: usize) {
        for (link, rest) in demand.links().iter().map(|link| link.index()).zip(rest) {
            self.now[link] = rest;
            self.now[link] = worth(&self.now, capacity, link);
            if link < 2 * ports {
                set(&mut self.open[link / ports], link, self.now[link] > 0.0);
            }
        }
    }
}

/// The rule by which a coflow shares what it has and what is spare.
fn again(rule: Rule, has_something: bool) -> Rule {
    match rule {
        Rule::Madd | Rule::MaddWithin(_) => Rule::Proportional,
        Rule::AllOrNone if !has_something => Rule::Matching,
        Rule::Equal | Rule::AllOrNone => Rule::MaxMin,
        rule => rule,
    }
}

impl Allocator {
    /// Shares what all entries have left over. To be called when each has been served provisionally.
    pub(super) fn backfill(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        let mut spare = std::mem::take(&mut self.spare);
        spare.update(&self.moved, &self.free, state.fabric().capacity());
        spare.find_open(state.fabric().ports() as usize);
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

    /// Has a coflow share what it has and, if it is offered it, what is spare.
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
        let Grant { main, provisional, .. } = &mut self.grants[id.index()];
        main.walk = self.walk;
        let is_fixed = matches!(entry.rule, Rule::Hold | Rule::Rate(_));
        let is_offered =
            !is_fixed && (backfill == Backfill::Greedy || provisional.is_empty());
        let entry = Entry { rule: again(entry.rule, !provisional.is_empty()), ..*entry };
        if provisional.is_empty() && !(is_offered && spare.can_send(demand)) {
            let had_something = !main.is_empty();
            main.clear();
            main.decided = Some((entry.group, entry.rule));
            main.decided_in = self.walk;
            if had_something {
                self.report(id);
            }
            return Ok(());
        }
        let is_new = main.before.is_empty() || main.decided != Some((entry.group, entry.rule));
        let spare_at = |link: usize| if is_offered { spare.now[link] } else { 0.0 };
        self.work.find(main, provisional, demand, spare_at);
        if is_new || !self.work.moved.is_empty() {
            main.decided_in = self.walk;
            let grant = &mut self.grants[id.index()];
            if grant.decide(Which::Main, coflow, &entry, &mut self.work, capacity)? {
                self.report(id);
            }
        }
        if is_offered {
            let rest = self.grants[id.index()].main.rest();
            spare.take(demand, rest, capacity, state.fabric().ports() as usize);
        }
        Ok(())
    }
}

impl super::Work {
    /// Makes the sum of what the `provisional` part uses and what is spare what `main` finds at the
    /// local links. Leaves in `moved` the links at which that is another amount than before, and in
    /// `found` what it was there.
    fn find(
        &mut self,
        main: &mut Part,
        provisional: &Part,
        demand: &Demand,
        spare_at: impl Fn(usize) -> f64,
    ) {
        self.moved.clear();
        self.found.clear();
        let is_new = main.before.is_empty();
        main.idle.end();
        main.before.resize(demand.links().len(), 0.0);
        for (l, link) in demand.links().iter().enumerate() {
            let now = provisional.used(l) + spare_at(link.index());
            let before = std::mem::replace(&mut main.before[l], now);
            if before != now && !is_new {
                self.moved.push(l as u32);
                self.found.push(before);
            }
        }
    }
}
