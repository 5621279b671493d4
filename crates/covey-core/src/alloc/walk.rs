//! One walk over the entries of a plan, and what can be skipped on it.
//!
//! While a plan stays in force, each coflow keeps what it found free at its links and what it left.
//! A walk carries along the set of links at which what is free has *moved* since the walk before. A
//! coflow whose flows have not changed and at whose links nothing has moved is passed by; one that
//! shares anew adds the links where it leaves another amount, and takes out those where it does not.

use super::grant::Which;
use super::kept::coflow_of;
use super::matching::set;
use super::part::Part;
use super::turns::{Links, Looker, Turns};
use super::{Allocator, NEGLIGIBLE, PlanError, Work};
use crate::demand::Demand;
use crate::ids::CoflowId;
use crate::lanes::word;
use crate::plan::{Entry, Group, Rank, Ranking};
use crate::state::{CoflowState, State};

/// Whose turn it is on a walk.
#[derive(Clone, Copy)]
struct Turn<'a> {
    state: &'a State,
    id: CoflowId,
    which: Which,
    entry: &'a Entry,
}

impl Allocator {
    /// Nobody is served yet.
    pub(super) fn start_walk(&mut self, state: &State) {
        self.changed.clear();
        self.walk += 1;
        if self.grants.len() < state.slots() {
            self.grants.resize_with(state.slots(), Default::default);
        }
        while let Some(id) = self.compression_changed.pop() {
            if state.is_present(id) {
                self.report(id);
            }
        }
        self.is_new = std::mem::take(&mut self.replanned) || self.walk == 1;
        self.afresh = self.is_new;
        let capacity = state.fabric().capacity();
        self.moved.clear();
        self.moved.resize(capacity.len().div_ceil(64), 0);
        self.open.resize(self.moved.len(), 0);
        if self.afresh {
            self.moved.fill(u64::MAX);
            self.free.clear();
            self.free.extend_from_slice(capacity);
            self.find_open(capacity);
        }
    }

    /// Brings `open` up to date at the links that have moved.
    pub(super) fn find_open(&mut self, capacity: &[f64]) {
        let amounts = self.free.chunks(64).zip(capacity.chunks(64));
        for ((open, moved), (free, capacity)) in self.open.iter_mut().zip(&self.moved).zip(amounts)
        {
            if *moved != 0 {
                *open = word(free.iter().zip(capacity).map(|(free, all)| *free > all * NEGLIGIBLE));
            }
        }
    }

    /// Serves the entries of a line, one after another: all of them, or those of a kept plan, with the
    /// `turns` of that number, that have a turn.
    pub(super) fn serve_line<'a>(
        &mut self,
        state: &State,
        ranking: &Ranking,
        turns: usize,
        entries: impl Iterator<Item = &'a (Rank, Entry)>,
    ) -> Result<(), PlanError> {
        if !self.kept.is_on {
            return entries
                .into_iter()
                .try_for_each(|(_, entry)| self.serve(state, entry).map(drop));
        }
        if !self.afresh {
            return self.walk_turns(state, ranking, turns);
        }
        self.kept.turns.resize_with(self.kept.turns.len().max(turns + 1), Turns::default);
        let mut all = std::mem::take(&mut self.kept.turns[turns]);
        let links = Links { moved: &self.moved, open: &self.open };
        all.start_anew(links, &self.free);
        for (rank, entry) in entries {
            all.go_to(*rank);
            let which = self.serve(state, entry)?;
            let demand = state.coflow(coflow_of(entry.group)).demand();
            let looker = Looker::new(*rank, *entry, which, demand);
            self.stand(state, looker);
            self.kept.all_moved(state, looker);
            self.kept.serve(looker);
            self.end_turn(state, looker, &mut all);
        }
        all.end();
        self.kept.turns[turns] = all;
        Ok(())
    }

    /// Serves one entry from what is free. Returns which part of the grant it decides.
    fn serve(&mut self, state: &State, entry: &Entry) -> Result<Which, PlanError> {
        if let Group::Coflow(id) = entry.group
            && self.sleeps_on(id, entry)?
        {
            return Ok(self.whole());
        }
        checked(state, entry.group)?;
        match entry.group {
            Group::AllFlows => Err(PlanError::AllFlows),
            Group::Coflow(id) => {
                let which = self.whole();
                if self.grants[id.index()].part(which).walk == self.walk {
                    return Err(PlanError::Twice(id));
                }
                self.serve_part(state, id, which, entry)?;
                Ok(which)
            }
            Group::CoflowAt(id, _) => self.serve_piece(state, id, entry),
            Group::Flow(flow) => self.serve_piece(state, flow.coflow, entry),
        }
    }

    /// What an entry for a whole coflow decides.
    pub(super) fn whole(&self) -> Which {
        if self.shares_spare { Which::Provisional } else { Which::Main }
    }

    fn serve_piece(
        &mut self,
        state: &State,
        id: CoflowId,
        entry: &Entry,
    ) -> Result<Which, PlanError> {
        let grant = &mut self.grants[id.index()];
        if grant.pieces_walk != self.walk {
            grant.pieces_walk = self.walk;
            grant.pieces_met = 0;
        }
        grant.pieces_met += 1;
        if grant.pieces.len() < grant.pieces_met {
            grant.pieces.push(Part::default());
        }
        let which = Which::Piece(grant.pieces_met - 1);
        self.serve_part(state, id, which, entry)?;
        Ok(which)
    }

    /// Serves the flows of an entry, unless nothing has changed since this was last decided.
    pub(super) fn serve_part(
        &mut self,
        state: &State,
        id: CoflowId,
        which: Which,
        entry: &Entry,
    ) -> Result<(), PlanError> {
        let part = self.grants[id.index()].part_mut(which);
        part.walk = self.walk;
        let touched = part.decided != Some((entry.group, entry.rule));
        let demand = state.coflow(id).demand();
        if touched || demand.set().meets(&self.moved) {
            let turn = Turn { state, id, which, entry };
            if self.grants[id.index()].part(which).idle.is() {
                self.serve_idle(turn)?;
            } else {
                self.look_and_decide(turn)?;
            }
        }
        if !self.grants[id.index()].part(which).is_empty() {
            self.chain.takers.push((id, which));
        }
        Ok(())
    }

    /// Serves a coflow that could send nothing.
    fn serve_idle(&mut self, turn: Turn<'_>) -> Result<(), PlanError> {
        let Turn { state, id, which, entry } = turn;
        let (demand, capacity) = (state.coflow(id).demand(), state.fabric().capacity());
        let may_idle = self.may_idle(which, entry);
        let part = self.grants[id.index()].part_mut(which);
        let may_send = part.idle.see(demand, &self.moved, &self.open)
            || part.decided != Some((entry.group, entry.rule));
        let stays = !may_send || !part.idle.can_send(demand, entry, &mut self.chain);
        if stays && may_idle {
            part.decided = Some((entry.group, entry.rule));
            self.fall_asleep(state, id, which, entry);
            return Ok(());
        }
        part.idle.end();
        part.decided = None;
        if self.afresh {
            return self.look_and_decide(turn);
        }
        let free = self.chain.free(state, &self.grants, demand);
        let grant = &mut self.grants[id.index()];
        for (l, link) in demand.links().iter().enumerate() {
            // What its own parts of links have given it is not free.
            let own = if which == Which::Main { grant.provisional.used(l) } else { 0.0 };
            grant.part_mut(which).before.push(worth(free, capacity, link.index()) + own);
        }
        let part = grant.part_mut(which);
        part.after.clone_from(&part.before);
        self.work.moved.clear();
        self.work.found.clear();
        // What has moved before it has moved behind it, too, where it takes nothing.
        self.decide(turn)
    }

    /// Finds out what is free for an entry, and serves it if that or its flows have changed.
    fn look_and_decide(&mut self, turn: Turn<'_>) -> Result<(), PlanError> {
        let Turn { state, id, which, .. } = turn;
        let (demand, capacity) = (state.coflow(id).demand(), state.fabric().capacity());
        let part = self.grants[id.index()].part_mut(which);
        let moved = (!self.afresh).then_some(&*self.moved);
        part.look(demand, moved, &self.free, capacity, &mut self.work);
        if !self.afresh {
            for word in demand.set().words() {
                self.moved[word.at as usize] &= !word.bits;
            }
        }
        self.decide(turn)
    }

    /// Serves an entry for which is free what its part of the grant says, and was something else
    /// before at `work.moved`.
    fn decide(&mut self, turn: Turn<'_>) -> Result<(), PlanError> {
        let Turn { state, id, which, entry } = turn;
        self.share_found(turn)?;
        let (demand, capacity) = (state.coflow(id).demand(), state.fabric().capacity());
        let afresh = self.afresh;
        let Allocator { grants, free, open, moved, work, .. } = &mut *self;
        let part = grants[id.index()].part_mut(which);
        let mut leave = |link: usize, after: f64| {
            free[link] = after;
            set(open, link, after > capacity[link] * NEGLIGIBLE);
        };
        if afresh {
            for (link, after) in demand.links().iter().zip(&part.after) {
                leave(link.index(), *after);
            }
        } else {
            for l in work.changed.iter().map(|&l| l as usize) {
                let link = demand.links()[l].index();
                moved[link / 64] |= 1 << (link % 64);
                leave(link, part.after[l]);
            }
        }
        if part.is_empty() && self.may_idle(which, entry) {
            self.grants[id.index()].part_mut(which).wait(demand);
        }
        Ok(())
    }

    /// The same at a place where nobody was served on the walk before: what is left behind it is another
    /// amount where something is taken.
    pub(super) fn decide_new(&mut self, state: &State, looker: Looker) -> Result<(), PlanError> {
        let Looker { entry, which, .. } = looker;
        let id = coflow_of(entry.group);
        self.share_found(Turn { state, id, which, entry: &entry })?;
        let (demand, capacity) = (state.coflow(id).demand(), state.fabric().capacity());
        let part = self.grants[id.index()].part_mut(which);
        for (l, link) in demand.links().iter().map(|link| link.index()).enumerate() {
            let (before, after) = (part.before[l], part.after[l]);
            if before != after || self.moved[link / 64] >> (link % 64) & 1 == 1 {
                set(&mut self.moved, link, true);
                self.free[link] = after;
                set(&mut self.open, link, after > capacity[link] * NEGLIGIBLE);
            }
        }
        if part.is_empty() && self.may_idle(which, &entry) {
            self.grants[id.index()].part_mut(which).wait(demand);
        }
        Ok(())
    }

    /// Shares what an entry has found, if that or its flows have changed.
    fn share_found(&mut self, turn: Turn<'_>) -> Result<(), PlanError> {
        let Turn { state, id, which, entry } = turn;
        let capacity = state.fabric().capacity();
        let part = self.grants[id.index()].part_mut(which);
        self.work.changed.clear();
        if part.decided != Some((entry.group, entry.rule)) || !self.work.moved.is_empty() {
            part.decided_in = self.walk;
            let grant = &mut self.grants[id.index()];
            let is_new = grant.decide(which, state.coflow(id), entry, &mut self.work, capacity)?;
            if is_new && grant.counts(which) {
                self.report(id);
            }
        }
        Ok(())
    }

    /// Takes back what coflows had that the plan no longer serves.
    pub(super) fn end_walk(&mut self, state: &State) {
        if self.afresh {
            let walk = self.walk;
            for &id in state.present() {
                let mut withdrawn = false;
                if self.asleep.get(id.index()).is_some_and(|asleep| asleep.is_seen(walk)) {
                    continue;
                }
                self.wake(id);
                for part in self.grants[id.index()].parts_mut().filter(|part| part.walk != walk) {
                    withdrawn |= !part.is_empty();
                    part.decided_in = walk;
                    part.clear();
                }
                if withdrawn {
                    self.report(id);
                }
            }
        }
        for id in &self.changed {
            self.grants[id.index()].conclude();
        }
        self.work.ended.clear();
    }

    /// Adds a coflow to those that have changed, once.
    pub(super) fn report(&mut self, id: CoflowId) {
        let grant = &mut self.grants[id.index()];
        if grant.reported != self.walk {
            grant.reported = self.walk;
            self.changed.push(id);
        }
    }
}

impl Part {
    /// Makes `free` what is there at the coflow's links. What it uses stays the same.
    pub(super) fn offer(&mut self, free: impl ExactSizeIterator<Item = f64>) {
        self.before.resize(free.len(), 0.0);
        self.after.resize(free.len(), 0.0);
        for ((before, after), free) in self.before.iter_mut().zip(&mut self.after).zip(free) {
            *after += free - std::mem::replace(before, free);
        }
    }

    /// Brings `before` up to date at the links that have moved (`None`: all of them), negligible
    /// residues left out. Leaves in `work.moved` the local links at which it is another amount, and
    /// in `work.found` what it was there.
    pub(super) fn look(
        &mut self,
        demand: &Demand,
        moved: Option<&[u64]>,
        free: &[f64],
        capacity: &[f64],
        work: &mut Work,
    ) {
        let Work { moved: differs, found, .. } = work;
        let worth = |link: usize| worth(free, capacity, link);
        differs.clear();
        found.clear();
        if self.before.is_empty() {
            self.before.extend(demand.links().iter().map(|link| worth(link.index())));
            return;
        }
        let mut look_at = |l: usize, link: usize| {
            let now = worth(link);
            let before = std::mem::replace(&mut self.before[l], now);
            if before != now {
                differs.push(l as u32);
                found.push(before);
            }
        };
        if let Some(moved) = moved {
            for (link, l) in demand.set().common(moved) {
                look_at(l, link);
            }
        } else {
            for (l, link) in demand.links().iter().enumerate() {
                look_at(l, link.index());
            }
        }
    }
}

/// What is free at a link, negligible residues left out.
pub(super) fn worth(free: &[f64], capacity: &[f64], link: usize) -> f64 {
    if free[link] > capacity[link] * NEGLIGIBLE { free[link] } else { 0.0 }
}

/// The facts about the coflow that a group belongs to.
pub(super) fn checked(state: &State, group: Group) -> Result<&CoflowState, PlanError> {
    if group == Group::AllFlows {
        return Err(PlanError::AllFlows);
    }
    let id = coflow_of(group);
    if !state.is_present(id) {
        return Err(PlanError::Absent(id));
    }
    let coflow = state.coflow(id);
    match group {
        Group::Flow(flow) if flow.index as usize >= coflow.demand().width() => {
            Err(PlanError::Absent(id))
        }
        _ => Ok(coflow),
    }
}
