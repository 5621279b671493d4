//! Links that their own nodes divide ([`Layers::PerPort`](covey_core::Layers::PerPort)): ports, and switches
//! inside the fabric.
//!
//! First each coflow is served from its own shares of links, max-min or by the rule of its entry.
//! No two coflows meet there, so the order does not matter, and a flow gets what every link of its
//! path would give it. Then what is not used, because another link of a flow gives less, is offered to
//! all coflows in the order of the plan: each shares again what it had and what is spare by then.
//!
//! Nodes divide their links all the time, but few of them in one round. While the plan serves the
//! same coflows in the same order, shares are looked at only where they have changed, and so is what is
//! spare: a link is *dirty* if another amount is spare there than at the same point of the previous pass. Of
//! a coflow's links most stay clean, but seldom all of them. Its rates mostly stay. So a coflow is served
//! again only when what it leaves at a dirty link is out of the [`Bounds`] between which its rates stay.

use super::bounds::Bounds;
use super::link_shares::LinkShares;
use super::pass::{Pass, Request};
use crate::error::PlanError;
use crate::free_capacity::{FreeCapacity, NEGLIGIBLE};
use crate::kept::target::{Which, checked};
use covey_core::sets::bits::set_bit;
use covey_core::sets::marked_links::MarkedLinks;
use covey_core::state::State;
use covey_core::{CoflowId, LinkId};
use covey_core::{Entry, Group, Ranking, Rule};

/// Shares of links by coflow, and working memory.
#[derive(Debug, Default)]
pub struct PerPort {
    /// The pass that last served per port, and its entries.
    pass: u64,
    entries: Vec<Entry>,
    shares: LinkShares,
    /// Whether a coflow has left since the last pass that served per port.
    is_stale: bool,
    /// By coflow.
    bounds: Vec<Bounds>,
    /// Memory of bounds that are not kept any more.
    pool: Vec<Bounds>,
    /// What no coflow uses of its own shares, by link.
    spare: Vec<f64>,
    /// Links at which this is another amount than on the previous pass, a bit each.
    dirty: MarkedLinks,
    /// The coflows with bounds that this pass has come to, in order.
    passed: Vec<CoflowId>,
    /// Working memory: links of a coflow at which it is not known what is spare.
    unknown: MarkedLinks,
    /// What the present coflow finds at its links, by local link, and by link of the fabric.
    offered: Vec<f64>,
    found: Vec<f64>,
}

impl PerPort {
    /// The memory of a coflow no longer holds.
    pub fn forget(&mut self) {
        self.is_stale = true;
    }

    /// The plan, which is kept, divides these links in another way.
    pub fn links_divided(&mut self, links: &[LinkId]) {
        self.shares.note(links);
    }

    /// Serves all coflows as the nodes have divided their links.
    ///
    /// # Errors
    /// When the plan is wrong.
    pub fn serve(
        &mut self,
        pass: &mut Pass,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        // After an error the next pass does not follow this one.
        let previous = std::mem::take(&mut self.pass);
        self.start(pass, state, ranking, previous + 1 == pass.coflows.pass)?;
        let mut any_changed = pass.is_from_scratch;
        for (_, entry) in ranking.entries.iter() {
            any_changed |= self.serve_shares(pass, state, entry)?;
        }
        if any_changed {
            self.offer_spare(&mut pass.free, state.fabric().capacity());
            for (_, entry) in ranking.entries.iter() {
                self.serve_again(pass, state, entry)?;
            }
        }
        self.is_stale = false;
        self.pass = pass.coflows.pass;
        Ok(())
    }

    /// Begins a pass, which `follows` the last one that served per port.
    fn start(
        &mut self,
        pass: &mut Pass,
        state: &State,
        ranking: &Ranking,
        follows: bool,
    ) -> Result<(), PlanError> {
        let follows = follows && !self.is_stale;
        if !follows {
            self.shares.forget();
        }
        if pass.is_new_plan || !follows {
            self.shares.read_all(state, &ranking.link_shares)?;
        } else {
            self.shares.read_noted(state, &ranking.link_shares)?;
        }
        let capacity = state.fabric().capacity();
        let goes_on =
            follows && self.entries.iter().eq(ranking.entries.iter().map(|(_, entry)| entry));
        pass.is_from_scratch = !goes_on;
        if pass.is_from_scratch {
            self.entries.clear();
            self.entries.extend(ranking.entries.iter().map(|&(_, entry)| entry));
            for all in [&mut pass.free.amount, &mut self.spare] {
                all.clear();
                all.extend_from_slice(capacity);
            }
            self.dirty.start(capacity.len());
            self.dirty.fill();
        }
        pass.served.start();
        self.passed.clear();
        self.bounds.resize_with(state.slots().max(self.bounds.len()), Bounds::default);
        self.pool.reserve(self.bounds.len() - self.pool.len());
        self.found.resize(capacity.len(), 0.0);
        Ok(())
    }

    /// Offers what is spare to all coflows. `free` is that from here on.
    fn offer_spare(&mut self, free: &mut FreeCapacity, capacity: &[f64]) {
        std::mem::swap(&mut free.dirty, &mut self.dirty);
        self.dirty.clear();
        let FreeCapacity { amount, dirty, .. } = &mut *free;
        for link in dirty.iter() {
            amount[link] = self.spare[link].max(0.0);
        }
        free.refresh_open(capacity);
    }

    /// Serves a coflow from its own shares of links, if they or its flows have changed. Returns
    /// whether they have.
    fn serve_shares(
        &mut self,
        pass: &mut Pass,
        state: &State,
        entry: &Entry,
    ) -> Result<bool, PlanError> {
        let Group::Coflow(id) = entry.group else { return Err(PlanError::PartPerPort) };
        let demand = checked(state, entry.group)?.demand();
        let capacity = state.fabric().capacity();
        let number = pass.coflows.pass;
        let provisional = &mut pass.coflows[id].provisional;
        if provisional.confirmed_in == number {
            return Err(PlanError::Twice(id));
        }
        let touched = provisional.decided != Some((entry.group, entry.rule));
        let dirty = self.shares.dirty_of(id);
        if !touched && dirty.is_empty() && !pass.is_from_scratch {
            provisional.confirmed_in = number;
            return Ok(false);
        }
        for (k, word) in demand.set().words().iter().enumerate() {
            let here = dirty.get(k).copied().unwrap_or(0);
            let here = if pass.is_from_scratch { word.bits } else { here };
            pass.free.dirty.set_word(word.at as usize, here);
        }
        let free = &mut pass.free;
        for (link, l) in demand.set().common(free.dirty.words()) {
            free.amount[link] = capacity[link] * self.shares.of(id, l);
            set_bit(&mut free.open, link, free.amount[link] > capacity[link] * NEGLIGIBLE);
        }
        pass.serve_part(Request { state, id, which: Which::Provisional, entry })?;
        let provisional = &pass.coflows[id].provisional;
        let bounds = &mut self.bounds[id.index()];
        if pass.is_from_scratch {
            bounds.end(&mut self.pool);
        }
        if provisional.is_empty() && !bounds.are_kept() {
            return Ok(true);
        }
        bounds.begin(demand, capacity.len(), &mut self.pool);
        let PerPort { spare, dirty, .. } = self;
        match provisional.written().filter(|_| !pass.is_from_scratch) {
            Some(written) => {
                for l in written.iter().map(|&l| l as usize) {
                    bounds.set_own(demand, l, provisional.used(l), (spare, dirty));
                }
            }
            None => bounds.set_all_own(demand, provisional, (spare, dirty)),
        }
        Ok(true)
    }

    /// Serves a coflow from what it uses of its own shares and what is spare. Leaves in `pass.free` what
    /// is spare behind it, at dirty links.
    fn serve_again(
        &mut self,
        pass: &mut Pass,
        state: &State,
        entry: &Entry,
    ) -> Result<(), PlanError> {
        let Group::Coflow(id) = entry.group else { return Err(PlanError::PartPerPort) };
        let number = pass.coflows.pass;
        let allocation = &mut pass.coflows[id];
        let (main, provisional) = (&mut allocation.main, &allocation.provisional);
        main.confirmed_in = number;
        let touched = main.decided != Some((entry.group, entry.rule));
        let was_idle = main.idle.is();
        let demand = state.coflow(id).demand();
        let capacity = state.fabric().capacity();
        if was_idle && provisional.is_empty() {
            let FreeCapacity { dirty, open, .. } = &pass.free;
            let may_send = main.idle.see(demand, dirty.words(), open) || touched;
            if !may_send || !main.idle.can_send(demand, entry, &mut pass.search) {
                main.decided = Some((entry.group, entry.rule));
                self.bounds[id.index()].end(&mut self.pool);
                return Ok(());
            }
        }
        self.bounds[id.index()].begin(demand, capacity.len(), &mut self.pool);
        let is_new = !self.bounds[id.index()].knows_spare;
        if is_new && !pass.is_from_scratch {
            self.find_spare(state, id);
        }
        let bounds = &mut self.bounds[id.index()];
        bounds.knows_spare = true;
        let stay = bounds.pass(demand, &mut pass.free, capacity);
        if is_new || touched || was_idle || !stay {
            self.decide_again(pass, state, id, entry, is_new)?;
        }
        if self.bounds[id.index()].are_kept() {
            self.passed.push(id);
        }
        Ok(())
    }

    /// Finds what is spare before a coflow that has begun to get something.
    fn find_spare(&mut self, state: &State, id: CoflowId) {
        let demand = state.coflow(id).demand();
        let mut mine = std::mem::take(&mut self.bounds[id.index()]);
        for (mine, link) in mine.spare.iter_mut().zip(demand.links()) {
            *mine = self.spare[link.index()].max(0.0);
        }
        // What the last coflow has left at a link is spare there.
        let PerPort { unknown, passed, bounds, .. } = self;
        unknown.start(state.fabric().links());
        demand.set().words().iter().for_each(|it| unknown.insert_all(it.at as usize, it.bits));
        for &before in passed.iter().rev() {
            if unknown.is_empty() {
                break;
            }
            let (theirs, set) = (&bounds[before.index()], state.coflow(before).demand().set());
            for (link, l) in set.common(unknown.words()) {
                mine.spare[demand.set().local(link)] = theirs.left(l);
            }
            set.words().iter().for_each(|it| unknown.remove_all(it.at as usize, it.bits));
        }
        self.bounds[id.index()] = mine;
    }

    /// Serves a coflow from what it has found, and works out its bounds, which may be `new`.
    fn decide_again(
        &mut self,
        pass: &mut Pass,
        state: &State,
        id: CoflowId,
        entry: &Entry,
        is_new: bool,
    ) -> Result<(), PlanError> {
        let PerPort { bounds, pool, found, offered, .. } = self;
        let bounds = &mut bounds[id.index()];
        let (coflow, capacity) = (state.coflow(id), state.fabric().capacity());
        let demand = coflow.demand();
        let number = pass.coflows.pass;
        let allocation = &mut pass.coflows[id];
        let part = &mut allocation.main;
        let changes = &mut pass.scratch.changes;
        changes.start(demand.links().len());
        if is_new || !bounds.offer_stale(part, demand, entry, capacity) {
            bounds.find_all(demand, capacity, offered);
            if entry.rule == Rule::MaxMin {
                part.offer(offered);
            } else {
                demand
                    .links()
                    .iter()
                    .zip(offered)
                    .for_each(|(link, free)| found[link.index()] = *free);
                part.find(demand, None, found, capacity, changes);
            }
        }
        part.decided = None;
        part.idle.end();
        part.decided_in = number;
        if allocation.decide(Which::Main, coflow, entry, &mut pass.scratch, capacity)? {
            pass.coflows.report(id);
        }
        let may_idle = pass.coflows.may_idle(Which::Main, entry);
        let allocation = &mut pass.coflows[id];
        bounds.set(&allocation.main, demand, &mut pass.free, capacity, is_new);
        if allocation.main.is_empty() && may_idle {
            allocation.main.begin_idle(demand);
            if allocation.provisional.is_empty() {
                bounds.end(pool);
            }
        }
        Ok(())
    }
}
