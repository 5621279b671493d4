//! Links that their own nodes divide ([`Layers::PerPort`](crate::Layers::PerPort)): ports, and switches
//! inside the fabric.
//!
//! First each coflow is served from its own shares of links, max-min or by the rule of its entry.
//! No two coflows meet there, so the order does not matter, and a flow gets what every link of its
//! path would give it. Then what is not used, because another link of a flow gives less, is offered to
//! all coflows in the order of the plan: each shares again what it had and what is spare by then.
//!
//! Nodes divide their links all the time, but few of them in one round. While the plan serves the
//! same coflows in the same order, shares are looked at only where they have changed. Spare capacity
//! then changes at many links and for all coflows behind them (under `fifo-lm` on the Facebook
//! trace, at 77 of a coflow's links in each pass), but rates mostly stay. So a coflow is served
//! again only when what it finds at a link has left the [`Bounds`] between which its rates stay.

use super::link_shares::LinkShares;
use super::pass::{Pass, Request};
use crate::alloc::error::PlanError;
use crate::alloc::free_capacity::{NEGLIGIBLE, open_links};
use crate::alloc::kept::entry_allocation::EntryAllocation;
use crate::alloc::kept::target::{Which, checked};
use crate::bits::set_bit;
use crate::ids::{CoflowId, LinkId};
use crate::plan::{Entry, Group, Ranking, Rule};
use crate::state::State;

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
    /// What the present coflow finds at each link of the fabric.
    found: Vec<f64>,
    /// What it leaves.
    left: Vec<f64>,
    open: OpenLinks,
}

/// Links at which something is free, a bit each.
#[derive(Debug, Default)]
struct OpenLinks {
    links: Vec<u64>,
    /// Whether `links` is up to date.
    is_known: bool,
}

impl OpenLinks {
    /// The links at which something is `free`.
    fn at(&mut self, free: &[f64], capacity: &[f64]) -> &[u64] {
        if !std::mem::replace(&mut self.is_known, true) {
            self.links.clear();
            let chunks = free.chunks(64).zip(capacity.chunks(64));
            self.links.extend(chunks.map(|(free, capacity)| open_links(free, capacity)));
        }
        &self.links
    }
}

/// What a coflow takes and leaves at each link of the fabric, and the amounts between which its
/// rates stay.
#[derive(Debug, Default)]
struct Bounds {
    /// Bytes per second that it uses of its own shares.
    own: Vec<f64>,
    /// How much more is spare behind it than before it, as it uses less than its own shares;
    /// negative if more.
    adds: Vec<f64>,
    /// The rates stay while the coflow leaves no less than nothing and no more than this.
    slack: Vec<f64>,
}

impl Bounds {
    /// Whether bounds are kept. They are for a coflow that gets anything.
    fn are_kept(&self) -> bool {
        !self.own.is_empty()
    }

    /// Unless bounds are kept, begins with those of a coflow that uses nothing, of so many links of
    /// the fabric. Returns whether it did.
    fn begin(&mut self, links: usize, pool: &mut Vec<Bounds>) -> bool {
        if self.are_kept() {
            return false;
        }
        *self = pool.pop().unwrap_or_default();
        let all = [(&mut self.own, 0.0), (&mut self.adds, 0.0), (&mut self.slack, f64::INFINITY)];
        for (column, value) in all {
            column.clear();
            column.resize(links, value);
        }
        true
    }

    /// The coflow gets nothing. Its bounds are not kept, as they take much memory.
    fn end(&mut self, pool: &mut Vec<Bounds>) {
        if self.are_kept() {
            pool.push(std::mem::take(self));
        }
    }

    /// Makes `left` what the coflow leaves of what is `free` if its rates stay. Returns whether
    /// they do.
    fn pass(&self, free: &[f64], left: &mut [f64]) -> bool {
        let mut stay = true;
        let links = free.iter().zip(&self.adds).zip(&self.slack);
        for (left, ((free, adds), slack)) in left.iter_mut().zip(links) {
            *left = free + adds;
            stay &= (*left >= 0.0) & (*left <= *slack);
        }
        stay
    }

    /// The coflow uses another amount of its own share of a link. Returns how much less that is.
    fn set_own(&mut self, link: usize, own: f64) -> f64 {
        let less = std::mem::replace(&mut self.own[link], own) - own;
        self.adds[link] -= less;
        less
    }

    /// The coflow has been given `part` where others have left `free`. Makes `left` what it leaves
    /// at its `links`. The bounds are `new` where none were kept.
    fn set(
        &mut self,
        part: &EntryAllocation,
        links: &[LinkId],
        (free, left): (&[f64], &mut [f64]),
        capacity: &[f64],
        new: bool,
    ) {
        for (link, rest) in links.iter().zip(part.rest()) {
            left[link.index()] = rest;
        }
        for (adds, (left, free)) in self.adds.iter_mut().zip(left.iter().zip(free)) {
            *adds = left - free;
        }
        let slack = part.slack();
        let told = part.level_changes().filter(|_| !new);
        let all = if told.is_none() { 0..links.len() } else { 0..0 };
        for l in told.into_iter().flatten().map(|change| change.link as usize).chain(all) {
            let link = links[l].index();
            self.slack[link] = slack(l, capacity[link] * NEGLIGIBLE);
        }
    }
}

impl PerPort {
    /// The memory of a coflow no longer holds.
    pub fn forget(&mut self) {
        self.is_stale = true;
    }

    /// Serves all coflows as the nodes have divided their links. Leaves in `pass.free` what no
    /// coflow uses.
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
            for (free, spare) in pass.free.amount.iter_mut().zip(&self.spare) {
                *free = spare.max(0.0);
            }
            self.open.is_known = false;
            for (_, entry) in ranking.entries.iter() {
                self.serve_again(pass, state, entry)?;
            }
        }
        pass.free.dirty.fill();
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
            self.shares.read(state, &ranking.link_shares)?;
        } else {
            self.shares.stay();
        }
        let links = state.fabric().links();
        let goes_on =
            follows && self.entries.iter().eq(ranking.entries.iter().map(|(_, entry)| entry));
        pass.is_from_scratch = !goes_on;
        if pass.is_from_scratch {
            self.entries.clear();
            self.entries.extend(ranking.entries.iter().map(|&(_, entry)| entry));
            for all in [&mut pass.free.amount, &mut self.spare] {
                all.clear();
                all.extend_from_slice(state.fabric().capacity());
            }
        }
        pass.served.start();
        self.bounds.resize_with(state.slots().max(self.bounds.len()), Bounds::default);
        self.pool.reserve(self.bounds.len() - self.pool.len());
        self.found.resize(links, 0.0);
        self.left.resize(links, 0.0);
        Ok(())
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
        let dirty = self.shares.dirty_of(id);
        for (k, word) in demand.set().words().iter().enumerate() {
            let here = dirty.get(k).copied().unwrap_or(0);
            let here = if pass.is_from_scratch { word.bits } else { here };
            pass.free.dirty.remove_all(word.at as usize, u64::MAX);
            pass.free.dirty.insert_all(word.at as usize, here);
        }
        let number = pass.coflows.pass;
        let provisional = &mut pass.coflows[id].provisional;
        if provisional.confirmed_in == number {
            return Err(PlanError::Twice(id));
        }
        let touched = provisional.decided != Some((entry.group, entry.rule));
        if !touched && !demand.set().meets(pass.free.dirty.words()) {
            provisional.confirmed_in = number;
            return Ok(false);
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
        bounds.begin(capacity.len(), &mut self.pool);
        for (link, own) in demand.links().iter().map(|link| link.index()).zip(provisional.uses()) {
            self.spare[link] += bounds.set_own(link, own);
        }
        Ok(true)
    }

    /// Serves a coflow from what it uses of its own shares and what is spare. Leaves in `pass.free`
    /// what it does not use.
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
        if was_idle && provisional.is_empty() {
            let demand = state.coflow(id).demand();
            let open = self.open.at(&pass.free.amount, state.fabric().capacity());
            let may_send = main.idle.find(demand, open) || touched;
            if !may_send || !main.idle.can_send(demand, entry, &mut pass.search) {
                main.decided = Some((entry.group, entry.rule));
                return Ok(());
            }
        }
        let free = &mut pass.free.amount;
        let bounds = &mut self.bounds[id.index()];
        let is_new = bounds.begin(free.len(), &mut self.pool) || pass.is_from_scratch;
        let stay = bounds.pass(free, &mut self.left);
        if is_new || touched || was_idle || !stay {
            self.decide_again(pass, state, id, entry, is_new)?;
        }
        std::mem::swap(&mut pass.free.amount, &mut self.left);
        self.open.is_known = false;
        Ok(())
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
        let PerPort { bounds, pool, found, left, .. } = self;
        let bounds = &mut bounds[id.index()];
        let (coflow, capacity) = (state.coflow(id), state.fabric().capacity());
        let demand = coflow.demand();
        let free = &pass.free.amount;
        let all = free.iter().zip(&bounds.own).zip(capacity);
        for (found, ((free, own), capacity)) in found.iter_mut().zip(all) {
            let all = free + own;
            *found = if all > capacity * NEGLIGIBLE { all } else { 0.0 };
        }
        let number = pass.coflows.pass;
        let allocation = &mut pass.coflows[id];
        let part = &mut allocation.main;
        let changes = &mut pass.scratch.changes;
        if entry.rule == Rule::MaxMin {
            part.offer(demand.links().iter().map(|link| found[link.index()]));
            changes.dirty.clear();
            changes.previous_free.clear();
        } else {
            part.find(demand, None, found, capacity, changes);
        }
        part.decided = None;
        part.idle.end();
        part.decided_in = number;
        if allocation.decide(Which::Main, coflow, entry, &mut pass.scratch, capacity)? {
            pass.coflows.report(id);
        }
        let may_idle = pass.coflows.may_idle(Which::Main, entry);
        let allocation = &mut pass.coflows[id];
        bounds.set(&allocation.main, demand.links(), (free, left), capacity, is_new);
        if allocation.main.is_empty() && may_idle {
            allocation.main.begin_idle(demand);
            if allocation.provisional.is_empty() {
                bounds.end(pool);
            }
        }
        Ok(())
    }
}
