//! Links that their own nodes divide ([`Layers::ByNode`](crate::Layers::ByNode)).
//!
//! First each coflow is served from the parts of links that are its own: max-min, or by whatever rule
//! its entry has. No two coflows meet there, so no order matters, and a flow gets what both of its
//! ends would give it. Then what is not used, because the other end of a flow gives less, is offered
//! to all coflows in the order of the plan: each shares anew what it had and what is spare by then.
//!
//! Nodes divide their links anew all the time, but few of them at a moment. While the plan serves the
//! same coflows in the same order, parts are looked at only where they have changed. What is spare
//! changes at many links then, and for all in the line, but mostly not so that rates do: a coflow is
//! served again only when what it finds at a link has left the [`Bounds`] between which its rates stay.

use super::grant::{CoflowAllocation, Which};
use super::matching::set;
use super::part::Part;
use super::portions::Portions;
use super::{Allocator, NEGLIGIBLE, PlanError};
use crate::ids::{CoflowId, LinkId};
use crate::lanes::word;
use crate::plan::{Entry, Group, Ranking, Rule};
use crate::state::State;

/// Parts of links by coflow, and working memory.
#[derive(Debug, Default)]
pub(super) struct ByNode {
    /// The walk that last served by node, and whom.
    walk: u64,
    entries: Vec<Entry>,
    portions: Portions,
    /// By coflow; and memory of those that are not kept any more.
    bounds: Vec<Bounds>,
    pool: Vec<Bounds>,
    /// What nobody uses of his part, by link.
    spare: Vec<f64>,
    /// What the coflow at hand finds at each link of the fabric, and what it leaves.
    found: Vec<f64>,
    left: Vec<f64>,
    open: Open,
}

/// Links where something is free, a bit each.
#[derive(Debug, Default)]
struct Open {
    links: Vec<u64>,
    /// Whether that is so at present.
    is_known: bool,
}

impl Open {
    /// Where there is something `free`.
    fn at(&mut self, free: &[f64], capacity: &[f64]) -> &[u64] {
        if !std::mem::replace(&mut self.is_known, true) {
            self.links.clear();
            self.links.extend(free.chunks(64).zip(capacity.chunks(64)).map(|(free, capacity)| {
                word(free.iter().zip(capacity).map(|(free, all)| *free > all * NEGLIGIBLE))
            }));
        }
        &self.links
    }
}

/// What a coflow takes and leaves at each link of the fabric, and between what amounts its rates stay.
#[derive(Debug, Default)]
struct Bounds {
    /// What it uses of its own parts.
    own: Vec<f64>,
    /// How much more is spare behind it than before it, as it uses less than its own parts, or more.
    adds: Vec<f64>,
    /// Its rates stay while it leaves no less than nothing and no more than this.
    slack: Vec<f64>,
}

impl Bounds {
    /// Whether they are kept, as they are of a coflow that gets anything.
    fn are_kept(&self) -> bool {
        !self.own.is_empty()
    }

    /// Unless they are kept, the coflow uses nothing, of so many links of the fabric. Returns whether
    /// that is new.
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

    /// The coflow gets nothing: what it would take to say so is not kept, for that is much.
    fn end(&mut self, pool: &mut Vec<Bounds>) {
        if self.are_kept() {
            pool.push(std::mem::take(self));
        }
    }

    /// Makes `left` what the coflow leaves of what is `free` if its rates stay. Returns whether they do.
    fn pass(&self, free: &[f64], left: &mut [f64]) -> bool {
        let mut stay = true;
        let links = free.iter().zip(&self.adds).zip(&self.slack);
        for (left, ((free, adds), slack)) in left.iter_mut().zip(links) {
            *left = free + adds;
            stay &= (*left >= 0.0) & (*left <= *slack);
        }
        stay
    }

    /// The coflow uses another amount of its own part of a link. Returns how much less that is.
    fn set_own(&mut self, link: usize, own: f64) -> f64 {
        let less = std::mem::replace(&mut self.own[link], own) - own;
        self.adds[link] -= less;
        less
    }

    /// What the coflow has been given by `part` where others have left `free`; makes `left` what it
    /// leaves at its `links`. All of it is `new` where nothing was kept.
    fn set(
        &mut self,
        part: &Part,
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

impl Allocator {
    /// Serves all coflows as the nodes have divided their links. Leaves in `free` what nobody uses,
    /// if somebody is to have it.
    pub(super) fn serve_by_node(
        &mut self,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        let mut nodes = std::mem::take(&mut self.by_node);
        let result = self.serve_portions(state, ranking, &mut nodes);
        nodes.walk = if result.is_ok() { self.walk } else { 0 };
        self.by_node = nodes;
        result
    }

    fn serve_portions(
        &mut self,
        state: &State,
        ranking: &Ranking,
        nodes: &mut ByNode,
    ) -> Result<(), PlanError> {
        // What is remembered is of the walk before, and of coflows that are still there.
        let follows = nodes.walk + 1 == self.walk && !self.forgot;
        if !follows {
            nodes.portions.forget();
        }
        if self.is_new || !follows {
            nodes.portions.read(state, &ranking.portions)?;
        } else {
            nodes.portions.stay();
        }
        let (links, ports) = (state.fabric().links(), 2 * state.fabric().ports() as usize);
        // Links inside the fabric are nobody's: there what is not looked at would be missing.
        let goes_on = follows
            && nodes.entries.iter().eq(ranking.entries.iter().map(|(_, entry)| entry))
            && links == ports;
        self.afresh = !goes_on;
        if self.afresh {
            nodes.entries.clear();
            nodes.entries.extend(ranking.entries.iter().map(|&(_, entry)| entry));
            for all in [&mut self.free, &mut self.chain.base, &mut nodes.spare] {
                all.clear();
                all.extend_from_slice(state.fabric().capacity());
            }
        }
        self.chain.start();
        nodes.bounds.resize_with(state.slots().max(nodes.bounds.len()), Bounds::default);
        nodes.pool.reserve(nodes.bounds.len() - nodes.pool.len());
        nodes.found.resize(links, 0.0);
        nodes.left.resize(links, 0.0);
        let mut any_moves = self.afresh;
        for (_, entry) in ranking.entries.iter() {
            any_moves |= self.serve_parts(state, entry, nodes)?;
        }
        if any_moves {
            for (free, spare) in self.free.iter_mut().zip(&nodes.spare) {
                *free = spare.max(0.0);
            }
            nodes.open.is_known = false;
            for (_, entry) in ranking.entries.iter() {
                self.serve_again(state, entry, nodes)?;
            }
        }
        self.moved.fill(u64::MAX);
        self.forgot = false;
        Ok(())
    }

    /// Serves a coflow from its parts of links, if they or its flows have changed. Returns whether they
    /// have.
    fn serve_parts(
        &mut self,
        state: &State,
        entry: &Entry,
        nodes: &mut ByNode,
    ) -> Result<bool, PlanError> {
        let Group::Coflow(id) = entry.group else { return Err(PlanError::PartByNode) };
        let demand = super::walk::checked(state, entry.group)?.demand();
        let (capacity, ports) = (state.fabric().capacity(), 2 * state.fabric().ports() as usize);
        let moved = nodes.portions.moved_of(id);
        for (k, word) in demand.set().words().iter().enumerate() {
            let here = moved.get(k).copied().unwrap_or(0);
            self.moved[word.at as usize] = if self.afresh { u64::MAX } else { here };
        }
        let provisional = &mut self.grants[id.index()].provisional;
        if provisional.walk == self.walk {
            return Err(PlanError::Twice(id));
        }
        let touched = provisional.decided != Some((entry.group, entry.rule));
        if !touched && !demand.set().meets(&self.moved) {
            provisional.walk = self.walk;
            return Ok(false);
        }
        for (link, l) in demand.set().common(&self.moved) {
            self.free[link] = if link < ports {
                capacity[link] * nodes.portions.of(id, l)
            } else {
                // First come first served.
                self.chain.base[link]
            };
        }
        for (link, _) in demand.set().common(&self.moved) {
            set(&mut self.open, link, super::walk::worth(&self.free, capacity, link) > 0.0);
        }
        self.serve_part(state, id, Which::Provisional, entry)?;
        let provisional = &self.grants[id.index()].provisional;
        let bounds = &mut nodes.bounds[id.index()];
        if self.afresh {
            bounds.end(&mut nodes.pool);
        }
        if provisional.is_empty() && !bounds.are_kept() {
            return Ok(true);
        }
        bounds.begin(capacity.len(), &mut nodes.pool);
        for (link, own) in demand.links().iter().map(|link| link.index()).zip(provisional.uses()) {
            nodes.spare[link] += bounds.set_own(link, own);
            if link >= ports {
                self.chain.base[link] -= own;
            }
        }
        Ok(true)
    }

    /// Serves a coflow from what it uses of its parts and what is spare, and leaves in `free` what it
    /// does not use.
    fn serve_again(
        &mut self,
        state: &State,
        entry: &Entry,
        nodes: &mut ByNode,
    ) -> Result<(), PlanError> {
        let Group::Coflow(id) = entry.group else { return Err(PlanError::PartByNode) };
        let CoflowAllocation { main, provisional, .. } = &mut self.grants[id.index()];
        main.walk = self.walk;
        let touched = main.decided != Some((entry.group, entry.rule));
        let was_idle = main.idle.is();
        if was_idle && provisional.is_empty() {
            let demand = state.coflow(id).demand();
            let open = nodes.open.at(&self.free, state.fabric().capacity());
            let may_send = main.idle.find(demand, open) || touched;
            if !may_send || !main.idle.can_send(demand, entry, &mut self.chain) {
                main.decided = Some((entry.group, entry.rule));
                return Ok(());
            }
        }
        let bounds = &mut nodes.bounds[id.index()];
        let is_new = bounds.begin(self.free.len(), &mut nodes.pool) || self.afresh;
        let stay = bounds.pass(&self.free, &mut nodes.left);
        if is_new || touched || was_idle || !stay {
            self.decide_again(state, id, entry, nodes, is_new)?;
        }
        std::mem::swap(&mut self.free, &mut nodes.left);
        nodes.open.is_known = false;
        Ok(())
    }

    /// Serves a coflow from what it has found, and works out its bounds, which may be `new`.
    fn decide_again(
        &mut self,
        state: &State,
        id: CoflowId,
        entry: &Entry,
        nodes: &mut ByNode,
        is_new: bool,
    ) -> Result<(), PlanError> {
        let ByNode { bounds, pool, found, left, .. } = nodes;
        let bounds = &mut bounds[id.index()];
        let (coflow, capacity) = (state.coflow(id), state.fabric().capacity());
        let demand = coflow.demand();
        let all = self.free.iter().zip(&bounds.own).zip(capacity);
        for (found, ((free, own), capacity)) in found.iter_mut().zip(all) {
            let all = free + own;
            *found = if all > capacity * NEGLIGIBLE { all } else { 0.0 };
        }
        let part = &mut self.grants[id.index()].main;
        if entry.rule == Rule::MaxMin {
            part.offer(demand.links().iter().map(|link| found[link.index()]));
            self.work.moved.clear();
            self.work.found.clear();
        } else {
            part.look(demand, None, found, capacity, &mut self.work);
        }
        part.decided = None;
        part.idle.end();
        part.decided_in = self.walk;
        let grant = &mut self.grants[id.index()];
        if grant.decide(Which::Main, coflow, entry, &mut self.work, capacity)? {
            self.report(id);
        }
        let part = &mut self.grants[id.index()].main;
        bounds.set(part, demand.links(), (&self.free, left), capacity, is_new);
        if part.is_empty() && self.may_idle(Which::Main, entry) {
            self.grants[id.index()].main.wait(demand);
            if self.grants[id.index()].provisional.is_empty() {
                bounds.end(pool);
            }
        }
        Ok(())
    }
}
