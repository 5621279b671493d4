//! Links that their own nodes divide ([`Layers::PerPort`](covey_core::Layers::PerPort)): ports, and
//! switches inside the fabric.
//!
//! First each coflow is served from its own shares of links, max-min or by the rule of its entry.
//! No two coflows meet there, so the order does not matter, and a flow gets what every link of its
//! path would give it. Then what is not used, because another link of a flow gives less, is offered
//! to all coflows in the order of the plan: each shares again what it had and what is spare by
//! then, as in [`backfill`](super::backfill).
//!
//! Nodes divide their links all the time, but few of them in one round. While the plan serves the
//! same coflows in the same order, shares are looked at only where they have changed.

use super::backfill::SpareSharing;
use super::link_shares::LinkShares;
use super::pass::{Pass, Request};
use crate::error::PlanError;
use crate::free_capacity::NEGLIGIBLE;
use crate::kept::target::{AllocationPart, checked};
use covey_core::LinkId;
use covey_core::sets::bits::set_bit;
use covey_core::sets::marked_links::MarkedLinks;
use covey_core::state::State;
use covey_core::{Entry, Group, Ranking};

/// Shares of links by coflow, and working memory.
#[derive(Debug, Default)]
pub struct PerPort {
    /// The pass that last served per port, and its entries.
    pass: u64,
    entries: Vec<Entry>,
    shares: LinkShares,
    /// Whether a coflow has left since the last pass that served per port.
    is_stale: bool,
    /// What no coflow uses of its own shares, by link.
    spare: Vec<f64>,
    /// Links at which this is another amount than on the previous pass.
    dirty: MarkedLinks,
    /// Working memory: what a coflow used of its own shares on the previous pass, by local link.
    used: Vec<f64>,
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
        sharing: &mut SpareSharing,
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
            std::mem::swap(&mut pass.free.dirty, &mut self.dirty);
            self.dirty.clear();
            pass.free.dirty.iter().for_each(|link| pass.free.amount[link] = self.spare[link]);
            sharing.share(pass, state, ranking, None)?;
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
        self.used.clear();
        if !pass.is_from_scratch {
            self.used.extend(pass.coflows[id].provisional.uses());
        }
        self.used.resize(demand.links().len(), 0.0);
        pass.serve_part(Request { state, id, which: AllocationPart::Provisional, entry })?;
        let now = pass.coflows[id].provisional.uses();
        for (link, (used, now)) in demand.links().iter().zip(self.used.iter().zip(now)) {
            if *used != now {
                self.spare[link.index()] += used - now;
                self.dirty.insert(link.index());
            }
        }
        Ok(true)
    }
}
