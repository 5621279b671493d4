//! Backfill: the entries of a plan share what all of them together have left over.
//!
//! The walk over the entries gives each coflow a provisional share. Then the coflows are visited in the
//! same order once more. Each adds what is spare at its links to its provisional share, and shares the
//! sum among its flows by a rule that leaves nothing idle which the coflow could use ([`again`]).
//!
//! The result depends on the order, on what is left of each flow and on capacities, not on what
//! happened before. It does not depend on the time at which it is worked out either: MADD and
//! [`Rule::Proportional`] give rates that stay as bytes are sent, until a flow starts or ends.

use std::mem::take;

use super::grant::{CoflowAllocation, Which};
use super::kept::{Waits, coflow_of};
use super::matching::set;
use super::part::Part;
use super::turns::{Footprint, Links, Looker, Turn, Turns};
use super::walk::worth;
use super::{Allocator, PlanError, Work, can_send, idle};
use crate::demand::{Demand, bits};
use crate::ids::{CoflowId, LinkId};
use crate::plan::{Backfill, Entry, Group, Rank, Ranking, Rule};
use crate::state::State;

/// What rounding makes of an amount at a link, as a part of its capacity.
const ROUNDING: f64 = 1e-12;

/// What nobody has taken, by link of the fabric, after the coflows that have been visited so far.
#[derive(Debug, Default)]
pub(super) struct Spare {
    /// Residues of rounding count as nothing. Holds at the links that have `moved`.
    now: Vec<f64>,
    /// Links at which that differs from what it was at this turn in the walk before, a bit each; and, at
    /// these, whether anything is left.
    moved: Vec<u64>,
    open: Vec<u64>,
    /// What somebody finds who has come to a new place.
    free: Vec<f64>,
    pub turns: Turns,
}

impl Spare {
    /// Finds out what is spare at the links of `demand` before the present place.
    fn find_free(
        &mut self,
        state: &State,
        grants: &[CoflowAllocation],
        demand: &Demand,
        turns: &mut Turns,
    ) {
        turns.find_free(state, demand, &mut self.free, |looker| {
            &grants[coflow_of(looker.entry.group).index()].spare.rest
        });
        demand.set().common(&self.moved).for_each(|(link, _)| self.free[link] = self.now[link]);
    }

    fn links(&self) -> Links<'_> {
        Links { moved: &self.moved, open: &self.open }
    }
}

/// What was spare at a coflow's links at its last turn, and what it left of that.
#[derive(Debug, Default)]
pub(super) struct SpareAt {
    found: Vec<f64>,
    rest: Vec<f64>,
    /// Local links at which it has found another amount than at the turn before.
    differs: Vec<u32>,
    /// Whether the coflow has had its turn since its flows last changed.
    is_settled: bool,
    /// Whether it is one of those who have a turn, or waits, in a plan that is kept.
    stays: bool,
    pub waits: Waits,
}

impl SpareAt {
    pub fn clear(&mut self) {
        self.found.clear();
        self.rest.clear();
        self.is_settled = false;
        self.stays = false;
    }

    /// The coflow leaves its place, and those behind it are to find what it had.
    pub fn leave_place(&mut self, rank: Rank, links: &[LinkId], turns: &mut Turns) {
        if self.stays && self.found != self.rest {
            turns.leave(rank, links, self.found.iter().copied(), self.rest.iter().copied());
        }
    }

    /// The coflow's flows have changed.
    pub fn touch(&mut self) {
        self.is_settled = false;
    }

    /// Takes down what is spare now. Nothing has moved behind the coflow, unless it leaves another
    /// amount. At a place that is `new` it is what [`Spare::find_free`] has found. Returns whether nothing
    /// is known of the turn before.
    fn find(&mut self, demand: &Demand, is_new: bool, spare: &mut Spare) -> bool {
        self.differs.clear();
        if self.found.is_empty() {
            let now = if is_new { &spare.free } else { &spare.now };
            self.found.extend(demand.links().iter().map(|link| now[link.index()]));
            self.rest.clone_from(&self.found);
            self.differs.extend(0..self.found.len() as u32);
            return true;
        }
        for (link, l) in demand.set().common(&spare.moved) {
            if std::mem::replace(&mut self.found[l], spare.now[link]) != spare.now[link] {
                self.differs.push(l as u32);
            }
        }
        for word in demand.set().words() {
            spare.moved[word.at as usize] &= !word.bits;
        }
        false
    }

    /// The coflow leaves `rest` at some of its links, and at the others what it left before.
    fn leave(
        &mut self,
        demand: &Demand,
        links: impl Iterator<Item = usize>,
        rest: impl Fn(usize) -> f64,
        capacity: &[f64],
        spare: &mut Spare,
    ) {
        for l in links {
            let link = demand.links()[l].index();
            spare.now[link] = rest(l);
            spare.now[link] = worth(&spare.now, capacity, link);
            if is_same(spare.now[link], self.rest[l], capacity[link]) {
                spare.now[link] = self.rest[l];
            } else {
                self.rest[l] = spare.now[link];
                set(&mut spare.moved, link, true);
            }
            set(&mut spare.open, link, spare.now[link] > 0.0);
        }
    }

    /// Whether anything is spare, at a link where something else was, for a flow that is to be sent.
    fn opens(&self, demand: &Demand) -> bool {
        let count = demand.count();
        self.differs.iter().any(|&l| self.found[l as usize] > 0.0 && count[l as usize] > 0)
    }

    /// The coflow leaves all that it has found. If it did so the last time too (`again`), only what
    /// differs is looked at: with [`SpareAt::opens`], which spares a look at all links, a quarter of
    /// the user CPU of `graviton` on the Facebook trace.
    fn leave_all(&mut self, demand: &Demand, again: bool, capacity: &[f64], spare: &mut Spare) {
        let (found, differs) = (take(&mut self.found), take(&mut self.differs));
        if again {
            let differs = differs.iter().map(|&l| l as usize);
            self.leave(demand, differs, |l| found[l], capacity, spare);
        } else {
            self.leave(demand, 0..found.len(), |l| found[l], capacity, spare);
        }
        (self.found, self.differs) = (found, differs);
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
        spare.open.resize(spare.moved.len(), 0);
        for link in bits(spare.moved.iter().copied()).take_while(|&link| link < capacity.len()) {
            set(&mut spare.open, link, spare.now[link] > 0.0);
        }
        let result = if self.kept.is_on {
            self.share_spare_by_turns(state, ranking, &mut spare)
        } else {
            let mut entries = ranking.entries.iter().map(|(_, entry)| entry);
            entries.try_for_each(|entry| match entry.group {
                Group::Coflow(id) => {
                    self.share_spare(state, id, entry, ranking.backfill, false, &mut spare)
                }
                _ => Ok(()),
            })
        };
        self.spare = spare;
        result
    }

    /// The same for those who have a turn, of a plan that is kept.
    fn share_spare_by_turns(
        &mut self,
        state: &State,
        ranking: &Ranking,
        spare: &mut Spare,
    ) -> Result<(), PlanError> {
        let mut turns = std::mem::take(&mut spare.turns);
        for &looker in &self.kept.served {
            let mine = &mut self.grants[coflow_of(looker.entry.group).index()].spare;
            if !mine.stays {
                mine.waits.end(looker.rank, &mut turns);
                turns.come(looker);
            }
        }
        turns.start(spare.links(), &spare.now);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(turn) = self.next_spare_turn(state, spare, &mut turns)
        {
            result = self.take_spare_turn(state, ranking, turn, spare, &mut turns);
        }
        turns.end();
        spare.turns = turns;
        result
    }

    fn next_spare_turn(&self, state: &State, spare: &Spare, turns: &mut Turns) -> Option<Turn> {
        let Spare { moved, open, .. } = spare;
        turns.next(Links { moved, open }, |looker| {
            let id = coflow_of(looker.entry.group);
            let CoflowAllocation { spare: mine, provisional, .. } = &self.grants[id.index()];
            mine.is_settled
                && provisional.decided_in != self.walk
                && !state.coflow(id).demand().set().meets(moved)
        })
    }

    fn take_spare_turn(
        &mut self,
        state: &State,
        ranking: &Ranking,
        turn: Turn,
        spare: &mut Spare,
        turns: &mut Turns,
    ) -> Result<(), PlanError> {
        let (looker, is_new) = match turn {
            Turn::Gone(footprints) => {
                footprints.for_each(|k| pass_gone(turns.footprint(k), spare, turns));
                return Ok(());
            }
            Turn::Stays(looker) => (looker, false),
            Turn::Comes(looker) => (looker, true),
            Turn::Called(rank) => {
                let Some(&entry) = ranking.entries.get(&rank) else { return Ok(()) };
                let id = coflow_of(entry.group);
                self.grants[id.index()].spare.waits.end(rank, turns);
                let demand = state.coflow(id).demand();
                (Looker::new(rank, entry, Which::Provisional, demand), true)
            }
        };
        let id = coflow_of(looker.entry.group);
        let demand = state.coflow(id).demand();
        let is_empty = self.grants[id.index()].provisional.is_empty();
        let may_get = |rule| idle::may_get(demand, rule, |link| turns.is_open(link, spare.links()));
        if is_new && is_empty && !again(looker.entry.rule, false).is_some_and(may_get) {
            self.wait_for_spare(state, looker, spare, turns);
            return Ok(());
        }
        if is_new {
            spare.find_free(state, &self.grants, demand, turns);
            self.grants[id.index()].spare.clear();
        }
        spare.links().opened(demand.set(), &mut self.kept.opened);
        self.share_spare(state, id, &looker.entry, ranking.backfill, is_new, spare)?;
        self.end_spare_turn(state, looker, spare, turns);
        turns.call_at(demand.set(), &self.kept.opened, spare.links());
        Ok(())
    }

    /// Whoever has had a turn stays, or waits from now on.
    fn end_spare_turn(
        &mut self,
        state: &State,
        looker: Looker,
        spare: &mut Spare,
        turns: &mut Turns,
    ) {
        let id = coflow_of(looker.entry.group);
        let demand = state.coflow(id).demand();
        let grant = &self.grants[id.index()];
        let is_idle =
            grant.provisional.is_empty() && (grant.is_provisional || grant.main.is_empty());
        let waits = is_idle && self.wait_for_spare(state, looker, spare, turns);
        let mine = &mut self.grants[id.index()].spare;
        let links = demand.links().iter().map(|link| link.index());
        if waits {
            // Rounding may have made a difference between what it found and what it left.
            return links.for_each(|link| turns.pass(link, 0.0, 0.0, false));
        }
        mine.stays = true;
        turns.stay(looker);
        links
            .enumerate()
            .for_each(|(l, link)| turns.pass(link, mine.found[l], mine.rest[l], looker.is_wide));
    }

    /// Has a coflow wait that got nothing. Returns whether it can.
    fn wait_for_spare(
        &mut self,
        state: &State,
        looker: Looker,
        spare: &Spare,
        turns: &mut Turns,
    ) -> bool {
        let id = coflow_of(looker.entry.group);
        let demand = state.coflow(id).demand();
        let grant = &mut self.grants[id.index()];
        let waits = grant.spare.waits.begin(looker.rank, turns, |turns, links| {
            let closed = |link| turns.closed(link, spare.links());
            again(looker.entry.rule, false).is_none_or(|rule| {
                idle::blocked_at(demand, looker.entry.group, rule, closed, links)
            })
        });
        if waits {
            grant.spare.clear();
            grant.main.clear();
            if grant.settle(true, self.walk) {
                self.report(id);
            }
        }
        waits
    }

    /// Has a coflow share what it has and, if it is offered it, what is spare; unless neither has
    /// changed. At a place that is `new` it finds what [`Spare::find_free`] has found.
    fn share_spare(
        &mut self,
        state: &State,
        id: CoflowId,
        entry: &Entry,
        backfill: Backfill,
        is_new: bool,
        spare: &mut Spare,
    ) -> Result<(), PlanError> {
        let (coflow, capacity) = (state.coflow(id), state.fabric().capacity());
        let demand = coflow.demand();
        let grant = &mut self.grants[id.index()];
        let CoflowAllocation { main, provisional, is_provisional, spare: mine, .. } = &mut *grant;
        if self.afresh {
            mine.clear();
        }
        let is_first = mine.find(demand, is_new, spare);
        let has_other_share = provisional.decided_in == self.walk;
        let was_settled = std::mem::replace(&mut mine.is_settled, true);
        if was_settled && mine.differs.is_empty() && !has_other_share {
            return Ok(());
        }
        let is_empty = provisional.is_empty();
        let could_not_send = was_settled && !has_other_share && is_empty && *is_provisional;
        let can_send = || (!could_not_send || mine.opens(demand)) && can_send(demand, &mine.found);
        let rule = again(entry.rule, !is_empty)
            .filter(|_| backfill == Backfill::Greedy || is_empty)
            .filter(|_| !is_empty || can_send());
        let Some(rule) = rule else {
            mine.leave_all(demand, *is_provisional, capacity, spare);
            main.clear();
            main.walk = self.walk;
            if grant.settle(true, self.walk) {
                self.report(id);
            }
            return Ok(());
        };
        main.walk = self.walk;
        let entry = Entry { rule, ..*entry };
        let knows_nothing = main.before.is_empty();
        let is_new = is_first || knows_nothing;
        let links = mine.found.len();
        if is_new || has_other_share || !provisional.is_empty() {
            main.find(demand, provisional, 0..links, &mine.found, capacity, &mut self.work);
        } else {
            let differs = mine.differs.iter().map(|&l| l as usize);
            main.find(demand, provisional, differs, &mine.found, capacity, &mut self.work);
        }
        let is_same = main.decided == Some((entry.group, entry.rule));
        let stays = is_same && !knows_nothing && self.work.moved.is_empty();
        let settles = grant.settle(false, self.walk);
        if !stays {
            grant.main.decided_in = self.walk;
            if grant.decide(Which::Main, coflow, &entry, &mut self.work, capacity)? {
                self.report(id);
            }
        }
        if settles {
            self.report(id);
        }
        let CoflowAllocation { main, spare: mine, .. } = &mut self.grants[id.index()];
        if is_new {
            mine.leave(demand, 0..links, |l| main.after[l], capacity, spare);
        } else {
            let changed = self.work.changed.iter().map(|&l| l as usize);
            mine.leave(demand, changed, |l| main.after[l], capacity, spare);
        }
        Ok(())
    }
}

/// What is spare where somebody has gone is what those before it have left.
fn pass_gone(gone: Footprint, spare: &mut Spare, turns: &mut Turns) {
    let link = gone.link.index();
    let now = if spare.links().if_moved(link).is_some() { spare.now[link] } else { gone.before };
    let moves = now != gone.after;
    turns.pass(link, 0.0, 0.0, false);
    set(&mut spare.moved, link, moves);
    if moves {
        spare.now[link] = now;
        set(&mut spare.open, link, now > 0.0);
        turns.call(link, spare.links());
    }
}

/// Whether two amounts at a link differ by rounding alone. Provisional shares fall as flows are raised,
/// and what is spare grows by the same: their sum stays, but for that.
fn is_same(a: f64, b: f64, capacity: f64) -> bool {
    (a - b).abs() <= capacity * ROUNDING
}

impl Part {
    /// Makes the sum of what the `provisional` part uses and what is `spare` what is found at some local
    /// `links`; at the others neither has changed. Leaves in `work.moved` the links at which that is
    /// another amount than before, and in `work.found` what it was there.
    fn find(
        &mut self,
        demand: &Demand,
        provisional: &Part,
        links: impl Iterator<Item = usize>,
        spare: &[f64],
        capacity: &[f64],
        work: &mut Work,
    ) {
        work.moved.clear();
        work.found.clear();
        work.changed.clear();
        let is_new = self.before.is_empty();
        self.idle.end();
        self.before.resize(spare.len(), 0.0);
        for l in links {
            let now = provisional.used(l) + spare[l];
            let before = self.before[l];
            if is_new {
                self.before[l] = now;
            } else if !is_same(before, now, capacity[demand.links()[l].index()]) {
                self.before[l] = now;
                work.moved.push(l as u32);
                work.found.push(before);
            }
        }
    }
}
