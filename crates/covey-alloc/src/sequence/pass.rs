//! One allocation pass over the entries of a plan, and what it can pass over.
//!
//! While a plan stays in force, each entry keeps what it found free at its links and what it left.
//! A pass carries along the set of *dirty* links: those at which another amount is free than at the
//! same point of the previous pass. An entry whose flows have not changed and whose links are not
//! dirty is passed over. An entry that shares again makes dirty the links at which it leaves
//! another amount, and clean those at which it does not.

use super::served::ServedEntries;
use crate::error::PlanError;
use crate::free_capacity::{FreeCapacity, usable};
use crate::kept::allocations::Allocations;
use crate::kept::asleep::Sleepers;
use crate::kept::entry_allocation::Scratch;
use crate::kept::idle::OpenFlowSearch;
use crate::kept::target::{AllocationPart, PlacedEntry, checked};
use covey_core::CoflowId;
use covey_core::state::State;
use covey_core::{Entry, Group};

/// The state of an allocation pass, and what is kept from pass to pass for all ways of sequencing.
#[derive(Debug, Default)]
pub struct Pass {
    pub coflows: Allocations,
    /// What the entries so far have left.
    pub free: FreeCapacity,
    pub served: ServedEntries,
    pub sleepers: Sleepers,
    /// Whether coflows may fall asleep on this pass.
    pub may_sleep: bool,
    /// Whether the plan of this pass is new.
    pub is_new_plan: bool,
    /// Whether nothing that is remembered of the order of entries holds.
    pub is_from_scratch: bool,
    pub scratch: Scratch,
    pub search: OpenFlowSearch,
}

/// An entry that is served.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub state: &'a State,
    pub id: CoflowId,
    pub which: AllocationPart,
    pub entry: &'a Entry,
}

impl Pass {
    /// Begins a pass: no entry has been served.
    pub fn start(&mut self, state: &State, is_new_plan: bool) {
        self.coflows.start_pass(state.slots());
        self.is_new_plan = is_new_plan || self.coflows.pass == 1;
        self.is_from_scratch = self.is_new_plan;
        self.free.start(state.fabric().capacity(), self.is_from_scratch);
    }

    /// Serves one entry from what is free. Returns the part of its coflow's allocation that it
    /// decides.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn serve(&mut self, state: &State, entry: &Entry) -> Result<AllocationPart, PlanError> {
        if let Group::Coflow(id) = entry.group
            && self.sleepers.sleeps_on(&mut self.coflows, &self.free, id, entry)?
        {
            return Ok(self.coflows.whole());
        }
        checked(state, entry.group)?;
        let (id, which) = match entry.group {
            Group::AllFlows => return Err(PlanError::AllFlows),
            Group::Coflow(id) => {
                let which = self.coflows.whole();
                if self.coflows[id].part(which).confirmed_in == self.coflows.pass {
                    return Err(PlanError::Twice(id));
                }
                (id, which)
            }
            Group::CoflowAt(id, _) => (id, self.next_subset(id)),
            Group::Flow(flow) => (flow.coflow, self.next_subset(flow.coflow)),
        };
        self.serve_part(Request { state, id, which, entry })?;
        Ok(which)
    }

    /// The part that the coflow's next entry for some of its flows decides. A coflow that sleeps
    /// wakes: only one that is served as a whole and nowhere else may sleep.
    fn next_subset(&mut self, id: CoflowId) -> AllocationPart {
        self.sleepers.wake(&mut self.coflows, id);
        let pass = self.coflows.pass;
        AllocationPart::Subset(self.coflows[id].subsets.take_next(pass))
    }

    /// Serves the flows of an entry, unless nothing has changed since the previous decision.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn serve_part(&mut self, request: Request<'_>) -> Result<(), PlanError> {
        let Request { state, id, which, entry } = request;
        let pass = self.coflows.pass;
        let part = self.coflows[id].part_mut(which);
        part.confirmed_in = pass;
        let touched = part.decided != Some((entry.group, entry.rule));
        if touched || state.coflow(id).demand().set().meets(self.free.dirty.words()) {
            if part.idle.is() {
                self.serve_idle(request)?;
            } else {
                self.find_and_decide(request)?;
            }
        }
        if !self.coflows[id].part(which).is_empty() {
            self.served.push(id, which);
        }
        Ok(())
    }

    /// Serves an idle coflow.
    fn serve_idle(&mut self, request: Request<'_>) -> Result<(), PlanError> {
        let Request { state, id, which, entry } = request;
        let (demand, capacity) = (state.coflow(id).demand(), state.fabric().capacity());
        let may_idle = self.coflows.may_idle(which, entry);
        let part = self.coflows[id].part_mut(which);
        let may_send = part.idle.see(demand, self.free.dirty.words(), &self.free.open)
            || part.decided != Some((entry.group, entry.rule));
        let stays = !may_send || !part.idle.can_send(demand, entry, &mut self.search);
        if stays && may_idle {
            part.decided = Some((entry.group, entry.rule));
            if self.may_sleep {
                self.sleepers.fall_asleep(&self.coflows, state, id, which, entry);
            }
            return Ok(());
        }
        part.idle.end();
        part.decided = None;
        if self.is_from_scratch {
            return self.find_and_decide(request);
        }
        let free = self.served.free(state, &self.coflows, demand);
        let allocation = &mut self.coflows[id];
        for (l, link) in demand.links().iter().enumerate() {
            // Capacity that its own shares of links have given it is not free.
            let own =
                if which == AllocationPart::Main { allocation.provisional.used(l) } else { 0.0 };
            allocation.part_mut(which).before.push(usable(free, capacity, link.index()) + own);
        }
        let part = allocation.part_mut(which);
        part.after.clone_from(&part.before);
        self.scratch.changes.start(demand.links().len());
        // Links that are dirty before the coflow are dirty behind it, too, where it takes nothing.
        self.decide(request)
    }

    /// Finds out what is free for an entry, and serves it if that or its flows have changed.
    fn find_and_decide(&mut self, request: Request<'_>) -> Result<(), PlanError> {
        let Request { state, id, which, .. } = request;
        let (demand, capacity) = (state.coflow(id).demand(), state.fabric().capacity());
        let FreeCapacity { amount, dirty, .. } = &mut self.free;
        let part = self.coflows[id].part_mut(which);
        let changes = &mut self.scratch.changes;
        if self.is_from_scratch {
            part.find(demand, None, amount, capacity, changes);
        } else {
            part.find(demand, Some(dirty.words()), amount, capacity, changes);
            for word in demand.set().words() {
                dirty.remove_all(word.at as usize, word.bits);
            }
        }
        self.decide(request)
    }

    /// Serves an entry that has found what is free, and leaves the rest in `free`.
    fn decide(&mut self, request: Request<'_>) -> Result<(), PlanError> {
        let Request { state, id, which, entry } = request;
        self.share_found(request)?;
        let (demand, capacity) = (state.coflow(id).demand(), state.fabric().capacity());
        let (free, after) = (&mut self.free, &self.coflows[id].part(which).after);
        if self.is_from_scratch {
            for (link, after) in demand.links().iter().zip(after) {
                free.leave(link.index(), *after, capacity);
            }
        } else {
            free.leave_dirty(demand, &self.scratch.changes.dirty_after, after, capacity);
        }
        self.may_begin_idle(request.state, id, which, entry);
        Ok(())
    }

    /// Serves an entry that has found what is free at a place where no entry was on the previous
    /// pass. The capacity left behind it changes wherever it takes something.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn decide_at_new_place(
        &mut self,
        state: &State,
        placed: &PlacedEntry,
    ) -> Result<(), PlanError> {
        let PlacedEntry { entry, which, .. } = placed;
        let (id, which) = (placed.coflow(), *which);
        self.share_found(Request { state, id, which, entry })?;
        let (demand, capacity) = (state.coflow(id).demand(), state.fabric().capacity());
        let (free, part) = (&mut self.free, self.coflows[id].part(which));
        for (l, link) in demand.links().iter().map(|link| link.index()).enumerate() {
            let (before, after) = (part.before[l], part.after[l]);
            if before != after || free.dirty.contains(link) {
                free.dirty.insert(link);
                free.leave(link, after, capacity);
            }
        }
        self.may_begin_idle(state, id, which, entry);
        Ok(())
    }

    /// An entry that got nothing is idle from now on, if its rule allows that.
    fn may_begin_idle(
        &mut self,
        state: &State,
        id: CoflowId,
        which: AllocationPart,
        entry: &Entry,
    ) {
        if self.coflows[id].part(which).is_empty() && self.coflows.may_idle(which, entry) {
            self.coflows[id].part_mut(which).begin_idle(state.coflow(id).demand());
        }
    }

    /// Shares what an entry has found, if that or its flows have changed.
    fn share_found(&mut self, request: Request<'_>) -> Result<(), PlanError> {
        let Request { state, id, which, entry } = request;
        let capacity = state.fabric().capacity();
        let pass = self.coflows.pass;
        let allocation = &mut self.coflows[id];
        let part = allocation.part_mut(which);
        self.scratch.changes.dirty_after.clear();
        let touched = part.decided != Some((entry.group, entry.rule));
        if touched || !self.scratch.changes.dirty.is_empty() {
            part.decided_in = pass;
            let coflow = state.coflow(id);
            let is_new = allocation.decide(which, coflow, entry, &mut self.scratch, capacity)?;
            if is_new && allocation.counts(which) {
                self.coflows.report(id);
            }
        }
        Ok(())
    }

    /// Ends a pass: takes back what coflows had that the plan no longer serves.
    pub fn end(&mut self, state: &State) {
        if self.is_from_scratch {
            let pass = self.coflows.pass;
            for &id in state.present() {
                if self.sleepers.was_seen(id, pass) {
                    continue;
                }
                self.sleepers.wake(&mut self.coflows, id);
                let mut withdrawn = false;
                let parts = self.coflows[id].parts_mut();
                for part in parts.filter(|part| part.confirmed_in != pass) {
                    withdrawn |= !part.is_empty();
                    part.decided_in = pass;
                    part.clear();
                }
                if withdrawn {
                    self.coflows.report(id);
                }
            }
        }
    }
}
