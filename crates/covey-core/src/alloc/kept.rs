//! A walk over a plan that is kept: only over those who have a [turn](super::turns).
//!
//! What has changed in the plan, and whose flows have, is known before the walk. Whoever has moved to
//! another place leaves what he found and left at the old one, so that those behind it learn what has
//! moved there; at the new place he finds what those before him have left.

use super::grant::Which;
use super::idle;
use super::matching::set;
use super::turns::{Footprint, Links, Looker, Turn, Turns, Wait};
use super::walk::{self, worth};
use super::{Allocator, NEGLIGIBLE, PlanError};
use crate::demand::Demand;
use crate::ids::{CoflowId, LinkId};
use crate::plan::{Entry, Group, Rank, Ranking};
use crate::state::State;

/// What is remembered of a plan that is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Whether the plan is.
    pub is_on: bool,
    /// Places where groups have come or gone, and coflows whose flows have changed, since the walk before.
    pub edits: Vec<(Rank, Group)>,
    touched: Vec<CoflowId>,
    /// Who has a turn: by layer where layers share links, else of all.
    pub turns: Vec<Turns>,
    pub by_layer: bool,
    /// By layer and link, how many entries have flows there, where layers share links.
    pub claims: Vec<Vec<u32>>,
    /// Coflows that had a turn on this walk, in order.
    pub served: Vec<Looker>,
    /// By link, what somebody finds who has come to a new place.
    found: Vec<f64>,
    /// The links of whoever has a turn that had opened before it: bits of the words of his links.
    pub opened: Vec<u64>,
    /// The same of those that had moved.
    moved: Vec<u64>,
}

/// Where a part stands in the plan.
#[derive(Debug, Default)]
pub(super) struct Place {
    at: Option<(Rank, Group)>,
    /// Whether it has had no turn at this place yet.
    is_new: bool,
    /// Links at which it waits, if it does.
    waits: Waits,
    /// The links of which it counts among those that share them, where layers do.
    pub claims: Vec<u32>,
}

impl Place {
    pub fn rank(&self) -> Option<Rank> {
        self.at.map(|(rank, _)| rank)
    }
}

/// The links at which somebody waits.
#[derive(Debug, Default)]
pub(super) struct Waits {
    pub is: bool,
    at: Vec<Wait>,
}

impl Waits {
    /// Waits at links that `find` finds, unless it finds none that would do.
    pub fn begin(
        &mut self,
        rank: Rank,
        turns: &mut Turns,
        find: impl FnOnce(&Turns, &mut Vec<Wait>) -> bool,
    ) -> bool {
        self.at.clear();
        self.is = find(turns, &mut self.at);
        if self.is {
            turns.wait(rank, &self.at);
        }
        self.is
    }

    pub fn end(&mut self, rank: Rank, turns: &mut Turns) {
        if std::mem::take(&mut self.is) {
            turns.wake(rank, &self.at);
        }
    }
}

impl Kept {
    /// Somebody has had a turn after which a coflow may share something else of what is spare.
    pub fn serve(&mut self, looker: Looker) {
        if let Group::Coflow(_) = looker.entry.group {
            self.served.push(looker);
        }
    }

    /// No plan is kept.
    pub fn clear(&mut self) {
        self.is_on = false;
        self.edits.clear();
        self.touched.clear();
    }

    /// All links of whoever has a turn count as moved before it.
    pub fn all_moved(&mut self, state: &State, looker: Looker) {
        let demand = state.coflow(coflow_of(looker.entry.group)).demand();
        self.moved.clear();
        self.moved.resize(demand.set().words().len(), u64::MAX);
    }

    /// Which of the turns a place is among.
    fn turns_at(&self, rank: Rank) -> usize {
        if self.by_layer { rank.layer() as usize } else { 0 }
    }

    /// The flows of a coflow have changed.
    pub fn touch(&mut self, id: CoflowId) {
        if self.is_on && self.touched.last() != Some(&id) {
            self.touched.push(id);
        }
    }
}

/// The coflow that a group is of; none, of everything.
pub(super) fn coflow_of(group: Group) -> CoflowId {
    match group {
        Group::Coflow(id) | Group::CoflowAt(id, _) => id,
        Group::Flow(flow) => flow.coflow,
        Group::AllFlows => CoflowId(u32::MAX),
    }
}

impl Allocator {
    /// Brings up to date who has a turn.
    pub(super) fn follow_plan(
        &mut self,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        self.kept.served.clear();
        let mut edits = std::mem::take(&mut self.kept.edits);
        let mut touched = std::mem::take(&mut self.kept.touched);
        let result = if self.afresh {
            self.start_anew(state);
            Ok(())
        } else {
            self.follow_edits(state, ranking, &edits, &touched)
        };
        edits.clear();
        touched.clear();
        (self.kept.edits, self.kept.touched) = (edits, touched);
        result
    }

    /// Nobody has a place.
    fn start_anew(&mut self, state: &State) {
        self.kept.turns.iter_mut().for_each(Turns::clear);
        self.spare.turns.clear();
        self.kept.claims.iter_mut().for_each(Vec::clear);
        for &id in state.present() {
            let grant = &mut self.grants[id.index()];
            grant.spare.waits.is = false;
            grant.spare.clear();
            for part in grant.parts_mut() {
                part.place.at = None;
                part.place.waits.is = false;
                part.place.claims.clear();
            }
        }
    }

    fn follow_edits(
        &mut self,
        state: &State,
        ranking: &Ranking,
        edits: &[(Rank, Group)],
        touched: &[CoflowId],
    ) -> Result<(), PlanError> {
        let stands_there =
            |rank, group| ranking.entries.get(&rank).filter(|entry| entry.group == group);
        for &(rank, group) in edits {
            if let Some(entry) = stands_there(rank, group) {
                self.put(state, ranking, rank, entry)?;
            }
        }
        for &(rank, group) in edits {
            if stands_there(rank, group).is_none() {
                self.take_out(state, rank, group);
            }
        }
        for &id in touched.iter().filter(|id| state.is_present(**id)) {
            self.rouse(state, ranking, id);
        }
        Ok(())
    }

    /// The part of a grant that an entry decides.
    fn part_of(&mut self, group: Group) -> Which {
        if let Group::Coflow(_) = group {
            return self.whole();
        }
        let pieces = &mut self.grants[coflow_of(group).index()].pieces;
        let stands = |place: &Place| place.at.is_some_and(|(_, other)| other == group);
        let known = pieces.iter().position(|piece| stands(&piece.place));
        let piece = known.or_else(|| pieces.iter().position(|piece| piece.place.at.is_none()));
        Which::Piece(piece.unwrap_or_else(|| {
            pieces.push(Default::default());
            pieces.len() - 1
        }))
    }

    /// All parts of a grant.
    fn parts_of(&self, id: CoflowId) -> impl Iterator<Item = Which> + use<> {
        let pieces = self.grants[id.index()].pieces.len();
        [Which::Main, Which::Provisional].into_iter().chain((0..pieces).map(Which::Piece))
    }

    /// A group has come to a place.
    fn put(
        &mut self,
        state: &State,
        ranking: &Ranking,
        rank: Rank,
        entry: &Entry,
    ) -> Result<(), PlanError> {
        walk::checked(state, entry.group)?;
        let id = coflow_of(entry.group);
        let which = self.part_of(entry.group);
        if let Some((old, group)) = self.grants[id.index()].part(which).place.at {
            let is_twice =
                old != rank && ranking.entries.get(&old).is_some_and(|other| other.group == group);
            if is_twice {
                return Err(PlanError::Twice(id));
            }
            let links = state.coflow(id).demand().links();
            self.leave(links, id, which);
        }
        let looker = Looker::new(rank, *entry, which, state.coflow(id).demand());
        self.stand(state, looker);
        let k = self.kept.turns_at(rank);
        self.kept.turns.resize_with(self.kept.turns.len().max(k + 1), Turns::default);
        self.kept.turns[k].come(looker);
        Ok(())
    }

    /// A part stands at a place from now on.
    pub(super) fn stand(&mut self, state: &State, looker: Looker) {
        let id = coflow_of(looker.entry.group);
        let place = &mut self.grants[id.index()].part_mut(looker.which).place;
        place.at = Some((looker.rank, looker.entry.group));
        place.is_new = true;
        self.claim(state, looker.rank, looker.entry.group, looker.which);
    }

    /// A group has gone from a place.
    fn take_out(&mut self, state: &State, rank: Rank, group: Group) {
        let id = coflow_of(group);
        if id.index() >= self.grants.len() || !state.is_present(id) {
            return;
        }
        let which = self.part_of(group);
        if self.grants[id.index()].part(which).place.at != Some((rank, group)) {
            return;
        }
        self.leave(state.coflow(id).demand().links(), id, which);
        let walk = self.walk;
        let grant = &mut self.grants[id.index()];
        let part = grant.part_mut(which);
        let had_something = !part.is_empty();
        part.clear();
        part.decided_in = walk;
        if which == Which::Provisional {
            grant.main.clear();
            grant.main.decided_in = walk;
            grant.settle(true, walk);
            self.report(id);
        } else if had_something {
            self.report(id);
        }
    }

    /// Whatever stands somewhere for a coflow leaves; its entries are looked up again.
    pub(super) fn leave_all(&mut self, state: &State, id: CoflowId) {
        if id.index() >= self.grants.len() {
            return;
        }
        for which in self.parts_of(id) {
            if let Some(at) = self.grants[id.index()].part(which).place.at {
                self.kept.edits.push(at);
                self.leave(state.coflow(id).demand().links(), id, which);
            }
        }
    }

    /// A part leaves its place, and those behind it are to find what it had.
    fn leave(&mut self, links: &[LinkId], id: CoflowId, which: Which) {
        self.unclaim(id, which);
        let grant = &mut self.grants[id.index()];
        let part = grant.part_mut(which);
        let Some((rank, _)) = part.place.at.take() else { return };
        let k = self.kept.turns_at(rank);
        let turns = &mut self.kept.turns[k];
        if part.place.waits.is {
            part.place.waits.end(rank, turns);
        } else if part.place.is_new {
            turns.cancel(rank);
        } else {
            turns.remove(rank);
            if !part.is_empty() {
                turns.leave(rank, links, part.before.iter().copied(), part.rest());
            }
        }
        if which == Which::Provisional {
            let (mine, turns) = (&mut grant.spare, &mut self.spare.turns);
            if mine.waits.is {
                mine.waits.end(rank, turns);
            } else {
                turns.remove(rank);
                mine.leave_place(rank, links, turns);
            }
            mine.clear();
        }
    }

    /// The flows of a coflow have changed: where it waits, it does so for other reasons.
    fn rouse(&mut self, state: &State, ranking: &Ranking, id: CoflowId) {
        for which in self.parts_of(id) {
            let place = &mut self.grants[id.index()].part_mut(which).place;
            let Some((rank, group)) = place.at else { continue };
            if place.waits.is {
                let k = self.kept.turns_at(rank);
                place.waits.end(rank, &mut self.kept.turns[k]);
                if let Some(entry) = ranking.entries.get(&rank) {
                    let demand = state.coflow(id).demand();
                    self.kept.turns[k].come(Looker::new(rank, *entry, which, demand));
                }
            }
            self.unclaim(id, which);
            self.claim(state, rank, group, which);
        }
    }

    /// Serves those who have a turn.
    pub(super) fn walk_turns(
        &mut self,
        state: &State,
        ranking: &Ranking,
        k: usize,
    ) -> Result<(), PlanError> {
        let Some(turns) = self.kept.turns.get_mut(k) else { return Ok(()) };
        let mut turns = std::mem::take(turns);
        turns.start(Links { moved: &self.moved, open: &self.open }, &self.free);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(turn) = self.next_turn(state, &mut turns)
        {
            result = self.take_turn(state, ranking, turn, &mut turns);
        }
        turns.end();
        self.kept.turns[k] = turns;
        result
    }

    fn next_turn(&mut self, state: &State, turns: &mut Turns) -> Option<Turn> {
        let Allocator { moved, open, grants, .. } = self;
        turns.next(Links { moved, open }, |Looker { entry, which, .. }| {
            let id = coflow_of(entry.group);
            let part = grants[id.index()].part(*which);
            part.decided == Some((entry.group, entry.rule))
                && !state.coflow(id).demand().set().meets(moved)
        })
    }

    fn take_turn(
        &mut self,
        state: &State,
        ranking: &Ranking,
        turn: Turn,
        turns: &mut Turns,
    ) -> Result<(), PlanError> {
        let was_called = matches!(turn, Turn::Called(_));
        let (looker, stays) = match turn {
            Turn::Gone(footprints) => {
                footprints.for_each(|k| self.pass_gone(state, turns.footprint(k), turns));
                return Ok(());
            }
            Turn::Stays(looker) => (looker, true),
            Turn::Comes(looker) => (looker, false),
            Turn::Called(rank) => {
                let Some(&entry) = ranking.entries.get(&rank) else { return Ok(()) };
                let which = self.part_of(entry.group);
                let id = coflow_of(entry.group);
                self.grants[id.index()].part_mut(which).place.waits.end(rank, turns);
                (Looker::new(rank, entry, which, state.coflow(id).demand()), false)
            }
        };
        let Looker { entry, which, .. } = looker;
        let id = coflow_of(entry.group);
        let demand = state.coflow(id).demand();
        let links = Links { moved: &self.moved, open: &self.open };
        links.opened(demand.set(), &mut self.kept.opened);
        self.kept.moved.clear();
        let moved = demand.set().words().iter().map(|word| self.moved[word.at as usize]);
        self.kept.moved.extend(moved);
        let part = self.grants[id.index()].part_mut(which);
        let is_idle = part.idle.is();
        if stays && is_idle && part.decided == Some((entry.group, entry.rule)) {
            let may_send = part.idle.see(demand, &self.moved, &self.open);
            if !may_send || !part.idle.can_send(demand, &entry, &mut self.chain) {
                turns.stay(looker);
                return Ok(());
            }
        }
        if stays && !is_idle {
            self.serve_part(state, id, which, &entry)?;
        } else {
            self.kept.moved.fill(u64::MAX);
            self.serve_new(state, looker, turns)?;
        }
        // Who was called in vain and waits on has nothing new to share.
        if !(was_called && self.grants[id.index()].part(which).idle.is()) {
            self.kept.serve(looker);
        }
        self.end_turn(state, looker, turns);
        let set = demand.set();
        let links = Links { moved: &self.moved, open: &self.open };
        turns.call_at(set, &self.kept.opened, links);
        Ok(())
    }

    /// Whoever has had a turn stays, or waits from now on.
    pub(super) fn end_turn(&mut self, state: &State, looker: Looker, turns: &mut Turns) {
        let id = coflow_of(looker.entry.group);
        let demand = state.coflow(id).demand();
        let part = self.grants[id.index()].part_mut(looker.which);
        part.place.is_new = false;
        let capacity = state.fabric().capacity();
        let has_nothing = part.before.is_empty();
        let moved = self.kept.moved.iter().zip(demand.set().words());
        let moved = moved.map(|(before, word)| {
            word.bits & if has_nothing { u64::MAX } else { before | self.moved[word.at as usize] }
        });
        for (link, l) in demand.set().common_words(moved) {
            let negligible = capacity[link] * NEGLIGIBLE;
            let amount = |amounts: &[f64]| {
                amounts.get(l).map_or(0.0, |&a| if a > negligible { a } else { 0.0 })
            };
            turns.pass(link, amount(&part.before), amount(&part.after), looker.is_wide);
        }
        let now = Links { moved: &self.moved, open: &self.open };
        let waits = part.idle.is()
            && part.place.waits.begin(looker.rank, turns, |turns, links| {
                let closed = |link| turns.closed(link, now);
                idle::blocked_at(demand, looker.entry.group, looker.entry.rule, closed, links)
            });
        if !waits {
            turns.stay(looker);
        }
    }

    /// What is free where somebody has gone is what those before it have left.
    fn pass_gone(&mut self, state: &State, gone: Footprint, turns: &mut Turns) {
        let (link, capacity) = (gone.link.index(), state.fabric().capacity());
        let has_moved = self.moved[link / 64] >> (link % 64) & 1 == 1;
        let now = if has_moved { self.free[link] } else { gone.before };
        let moves = now != gone.after;
        turns.pass(link, 0.0, 0.0, false);
        set(&mut self.moved, link, moves);
        if moves {
            self.free[link] = now;
            set(&mut self.open, link, worth(&self.free, capacity, link) > 0.0);
            turns.call(link, Links { moved: &self.moved, open: &self.open });
        }
    }

    /// Finds out what is free at the present place, at the links of `demand`.
    fn find_free(&mut self, state: &State, demand: &Demand, turns: &mut Turns) {
        let Allocator { kept, grants, moved, free, .. } = self;
        turns.find_free(state, demand, &mut kept.found, |looker| {
            let part = grants[coflow_of(looker.entry.group).index()].part(looker.which);
            if part.is_empty() { &[] } else { &part.after }
        });
        demand.set().common(moved).for_each(|(link, _)| kept.found[link] = free[link]);
    }

    /// Serves somebody at a place where nobody had anything on the walk before.
    fn serve_new(
        &mut self,
        state: &State,
        looker: Looker,
        turns: &mut Turns,
    ) -> Result<(), PlanError> {
        let Looker { entry, which, .. } = looker;
        let id = coflow_of(entry.group);
        let (demand, capacity) = (state.coflow(id).demand(), state.fabric().capacity());
        let may_wait = self.may_idle(which, &entry);
        let links = Links { moved: &self.moved, open: &self.open };
        let part = self.grants[id.index()].part_mut(which);
        part.walk = self.walk;
        if may_wait {
            part.idle.set_open(demand, |link| turns.is_open(link, links));
            if !part.idle.can_send(demand, &entry, &mut self.chain) {
                let had_something = !part.is_empty();
                part.fall_idle();
                part.decided = Some((entry.group, entry.rule));
                if had_something {
                    part.decided_in = self.walk;
                    if self.grants[id.index()].counts(which) {
                        self.report(id);
                    }
                }
                return Ok(());
            }
        }
        part.idle.end();
        if part.before.is_empty() {
            part.decided = None;
        }
        self.find_free(state, demand, turns);
        let part = self.grants[id.index()].part_mut(which);
        let found = &self.kept.found;
        part.look(demand, None, found, capacity, &mut self.work);
        if part.after.is_empty() {
            part.after.clone_from(&part.before);
        }
        self.decide_new(state, looker)
    }
}
