//! Links that their own nodes divide ([`Layers::ByNode`](crate::Layers::ByNode)).
//!
//! First each coflow is served from the parts of links that are its own: max-min, or by whatever rule
//! its entry has. No two coflows meet there, so no order matters, and a flow gets what both of its
//! ends would give it. Then what is not used, because the other end of a flow gives less, is offered
//! to all coflows in the order of the plan: each shares anew what it had and what is spare by then.
//!
//! Nodes divide their links anew all the time, but few of them at a moment. While the plan serves the
//! same coflows in the same order, only those are looked at for which the parts of links have changed,
//! and then those that find another amount spare (see [`walk`](super::walk)).

use super::grant::{Grant, Which};
use super::{Allocator, PlanError};
use crate::demand::bits;
use crate::ids::CoflowId;
use crate::plan::{Backfill, Entry, Group, Portion, Ranking};
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
    /// Links at which some coflow uses another amount of its parts.
    moved_anywhere: Vec<u64>,
    /// Links of one coflow at which it may find another amount free.
    moved_of_one: Vec<u64>,
    /// What a coflow used before.
    used: Vec<f64>,
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
            for all in [&mut self.free, &mut self.chain.base] {
                all.clear();
                all.extend_from_slice(state.fabric().capacity());
            }
        }
        portions.moved_anywhere.clear();
        portions.moved_anywhere.resize(links.div_ceil(64), 0);
        for entry in &ranking.entries {
            self.serve_parts(state, entry, portions)?;
        }
        self.find_spare(state, ranking, portions);
        for entry in &ranking.entries {
            self.serve_again(state, entry, portions)?;
        }
        self.forgot = false;
        Ok(())
    }

    /// Serves a coflow from its parts of links, and finds out where it uses another amount.
    fn serve_parts(
        &mut self,
        state: &State,
        entry: &Entry,
        portions: &mut Portions,
    ) -> Result<(), PlanError> {
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
            return Ok(());
        }
        let links = demand.links();
        portions.used.clear();
        portions.used.extend((0..links.len()).map(|l| provisional.used(l)));
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
        for (l, link) in links.iter().map(|link| link.index()).enumerate() {
            let used = provisional.used(l);
            if self.afresh || used != portions.used[l] {
                portions.moved_anywhere[link / 64] |= 1 << (link % 64);
            }
            if link >= ports {
                self.chain.base[link] -= used;
            }
        }
        Ok(())
    }

    /// Adds up what nobody uses of his part, where that may have changed.
    fn find_spare(&mut self, state: &State, ranking: &Ranking, portions: &Portions) {
        let (capacity, ports) = (state.fabric().capacity(), 2 * state.fabric().ports() as usize);
        let moved = || bits(portions.moved_anywhere.iter().copied());
        let spare = &mut self.chain.base;
        moved().filter(|&link| link < ports).for_each(|link| spare[link] = capacity[link]);
        for entry in &ranking.entries {
            let Group::Coflow(id) = entry.group else { continue };
            let demand = state.coflow(id).demand();
            let both = demand.link_bits().iter().zip(&portions.moved_anywhere);
            for link in bits(both.map(|(links, moved)| links & moved)).filter(|&l| l < ports) {
                spare[link] -= self.grants[id.index()].provisional.used(demand.local(link));
            }
        }
        for link in moved() {
            spare[link] = spare[link].max(0.0);
            self.free[link] = spare[link];
        }
        self.chain.start();
        self.moved.copy_from_slice(&portions.moved_anywhere);
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
        let demand = state.coflow(id).demand();
        // Where somebody uses another amount of his parts `free` has to be right for everybody, though
        // the coflow at hand may find what it found before.
        for (moved, anywhere) in self.moved.iter_mut().zip(&portions.moved_anywhere) {
            *moved |= anywhere;
        }
        let Grant { main, provisional, .. } = &self.grants[id.index()];
        if main.idle.is() && provisional.is_empty() {
            return self.serve_part(state, id, Which::Main, entry);
        }
        let here = &mut portions.moved_of_one;
        here.clear();
        here.extend(self.moved.iter().zip(demand.link_bits()).map(|(moved, links)| moved & links));
        for link in bits(here.iter().copied()) {
            self.free[link] += provisional.used(demand.local(link));
        }
        self.serve_part(state, id, Which::Main, entry)?;
        let main = &self.grants[id.index()].main;
        if !main.idle.is() {
            for link in bits(here.iter().copied()) {
                self.free[link] = main.after[demand.local(link)];
            }
        }
        Ok(())
    }
}
