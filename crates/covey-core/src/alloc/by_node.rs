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

use super::grant::{Grant, Which};
use super::part::Part;
use super::{Allocator, NEGLIGIBLE, PlanError, idle};
use crate::demand::bits;
use crate::ids::{CoflowId, LinkId};
use crate::plan::{Backfill, Entry, Group, Portion, Ranking, Rule};
use crate::state::State;

/// More than a link in sum, by more than rounding explains.
const TOO_MUCH: f64 = 1.0 + 1e-9;

/// Parts of links by coflow, and working memory.
#[derive(Debug, Default)]
pub(super) struct Portions {
    links: usize,
    /// The walk that last served by node, and whom.
    walk: u64,
    entries: Vec<Entry>,
    /// `share[coflow * links + link]`, and where it is not zero.
    share: Vec<f64>,
    given: Vec<usize>,
    /// The shares and their places before, while new ones are read.
    share_before: Vec<f64>,
    given_before: Vec<usize>,
    sum: Vec<f64>,
    /// Links (a bit each, by coflow) at which a coflow's part differs from the walk before.
    moved: Vec<u64>,
    /// By coflow.
    bounds: Vec<Bounds>,
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
                let open = free.iter().zip(capacity).map(|(free, all)| *free > all * NEGLIGIBLE);
                open.enumerate().fold(0, |word, (k, open)| word | u64::from(open) << k)
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
    /// The coflow uses nothing and has no links.
    fn clear(&mut self, links: usize) {
        let all = [(&mut self.own, 0.0), (&mut self.adds, 0.0), (&mut self.slack, f64::INFINITY)];
        for (column, value) in all {
            column.clear();
            column.resize(links, value);
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
    /// leaves at its `links`. All of it is `new` after [`Bounds::clear`].
    fn set(
        &mut self,
        part: &Part,
        links: &[LinkId],
        (free, left): (&[f64], &mut [f64]),
        capacity: &[f64],
        new: bool,
    ) {
        for (link, rest) in links.iter().map(|link| link.index()).zip(part.rest()) {
            left[link] = rest;
            self.adds[link] = rest - free[link];
        }
        let mut set_slack = |l: usize| {
            let link = links[l].index();
            self.slack[link] = part.slack(l, capacity[link] * NEGLIGIBLE);
        };
        match part.level_changes() {
            Some(changes) if !new => {
                changes.iter().for_each(|change| set_slack(change.link as usize))
            }
            _ => (0..links.len()).for_each(set_slack),
        }
    }
}

impl Portions {
    fn words(&self) -> usize {
        self.links.div_ceil(64)
    }

    fn read(&mut self, state: &State, portions: &[Portion]) -> Result<(), PlanError> {
        self.links = state.fabric().links();
        let places = state.slots() * self.links;
        std::mem::swap(&mut self.share, &mut self.share_before);
        std::mem::swap(&mut self.given, &mut self.given_before);
        self.share.resize(places, 0.0);
        self.share_before.resize(places, 0.0);
        self.moved.clear();
        self.moved.resize(state.slots() * self.words(), 0);
        self.sum.clear();
        self.sum.resize(self.links, 0.0);
        for &Portion { coflow, link, share } in portions {
            if !state.is_present(coflow) {
                return Err(PlanError::Absent(coflow));
            }
            let sum = self.sum.get_mut(link.index()).ok_or(PlanError::Portion { link, share })?;
            *sum += share;
            // `!(a && b)` also refuses what is not a number.
            if !(share >= 0.0 && *sum <= TOO_MUCH) {
                return Err(PlanError::Portion { link, share: *sum });
            }
            let at = coflow.index() * self.links + link.index();
            self.share[at] += share;
            self.given.push(at);
        }
        let words = self.words();
        for &at in self.given.iter().chain(&self.given_before) {
            if self.share[at] != self.share_before[at] {
                let (coflow, link) = (at / self.links, at % self.links);
                self.moved[coflow * words + link / 64] |= 1 << (link % 64);
            }
        }
        self.given_before.drain(..).for_each(|at| self.share_before[at] = 0.0);
        Ok(())
    }

    fn of(&self, coflow: CoflowId, link: usize) -> f64 {
        self.share[coflow.index() * self.links + link]
    }

    fn moved_of(&self, coflow: CoflowId) -> &[u64] {
        let words = self.words();
        &self.moved[coflow.index() * words..][..words]
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
        let mut portions = std::mem::take(&mut self.portions);
        let result = self.serve_portions(state, ranking, &mut portions);
        portions.walk = if result.is_ok() { self.walk } else { 0 };
        self.portions = portions;
        result
    }

    fn serve_portions(
        &mut self,
        state: &State,
        ranking: &Ranking,
        portions: &mut Portions,
    ) -> Result<(), PlanError> {
        if self.is_new || portions.walk == 0 {
            portions.read(state, &ranking.portions)?;
        } else {
            portions.moved.fill(0);
        }
        let (links, ports) = (state.fabric().links(), 2 * state.fabric().ports() as usize);
        // Links inside the fabric are nobody's, and what is left over is handed out by another rule:
        // there what is not looked at would be missing.
        let goes_on = portions.walk + 1 == self.walk
            && portions.entries == ranking.entries
            && !self.forgot
            && links == ports
            && ranking.backfill == Backfill::None;
        self.afresh = !goes_on;
        if self.afresh {
            portions.entries.clone_from(&ranking.entries);
            portions.moved.fill(u64::MAX);
            for all in [&mut self.free, &mut self.chain.base, &mut portions.spare] {
                all.clear();
                all.extend_from_slice(state.fabric().capacity());
            }
        }
        self.chain.start();
        portions.bounds.resize_with(state.slots().max(portions.bounds.len()), Bounds::default);
        portions.found.resize(links, 0.0);
        portions.left.resize(links, 0.0);
        let mut any_moves = self.afresh;
        for entry in &ranking.entries {
            any_moves |= self.serve_parts(state, entry, portions)?;
        }
        if any_moves {
            for (free, spare) in self.free.iter_mut().zip(&portions.spare) {
                *free = spare.max(0.0);
            }
            portions.open.is_known = false;
            for entry in &ranking.entries {
                self.serve_again(state, entry, portions)?;
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
        portions: &mut Portions,
    ) -> Result<bool, PlanError> {
        let Group::Coflow(id) = entry.group else { return Err(PlanError::PartByNode) };
        let demand = super::walk::checked(state, entry.group)?.demand();
        let (capacity, ports) = (state.fabric().capacity(), 2 * state.fabric().ports() as usize);
        self.moved.copy_from_slice(portions.moved_of(id));
        let moved =
            || self.moved.iter().zip(demand.link_bits()).map(|(moved, links)| moved & links);
        let provisional = &mut self.grants[id.index()].provisional;
        if provisional.walk == self.walk {
            return Err(PlanError::Twice(id));
        }
        let touched = provisional.decided != Some((entry.group, entry.rule));
        if !touched && bits(moved()).next().is_none() {
            provisional.walk = self.walk;
            return Ok(false);
        }
        for link in bits(moved()) {
            self.free[link] = if link < ports {
                capacity[link] * portions.of(id, link)
            } else {
                // First come first served.
                self.chain.base[link]
            };
        }
        self.serve_part(state, id, Which::Provisional, entry)?;
        let provisional = &self.grants[id.index()].provisional;
        let bounds = &mut portions.bounds[id.index()];
        if self.afresh {
            bounds.clear(portions.links);
        }
        for (link, own) in demand.links().iter().map(|link| link.index()).zip(provisional.uses()) {
            portions.spare[link] += bounds.set_own(link, own);
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
        portions: &mut Portions,
    ) -> Result<(), PlanError> {
        let Group::Coflow(id) = entry.group else { return Err(PlanError::PartByNode) };
        let Grant { main, provisional, .. } = &mut self.grants[id.index()];
        main.walk = self.walk;
        let touched = main.decided != Some((entry.group, entry.rule));
        let was_idle = main.idle.is();
        if was_idle && provisional.is_empty() {
            let demand = state.coflow(id).demand();
            let open = portions.open.at(&self.free, state.fabric().capacity());
            let may_send = main.idle.find(demand, open) || touched;
            if !may_send || !main.idle.can_send(demand, entry.rule, &mut self.chain) {
                main.decided = Some((entry.group, entry.rule));
                return Ok(());
            }
        }
        let stay = portions.bounds[id.index()].pass(&self.free, &mut portions.left);
        if self.afresh || touched || was_idle || !stay {
            self.decide_again(state, id, entry, portions)?;
        }
        std::mem::swap(&mut self.free, &mut portions.left);
        portions.open.is_known = false;
        Ok(())
    }

    /// Serves a coflow from what it has found, and works out its bounds.
    fn decide_again(
        &mut self,
        state: &State,
        id: CoflowId,
        entry: &Entry,
        portions: &mut Portions,
    ) -> Result<(), PlanError> {
        let Portions { bounds, found, left, .. } = portions;
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
        bounds.set(part, demand.links(), (&self.free, left), capacity, self.afresh);
        if idle::may_be(entry.rule) && part.is_empty() {
            part.idle.begin(demand, &part.before);
            part.before.clear();
            part.after.clear();
        }
        Ok(())
    }
}
