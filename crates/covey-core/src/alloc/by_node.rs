//! Links that their own nodes divide ([`Layers::ByNode`](crate::Layers::ByNode)).
//!
//! First each coflow is served from the parts of links that are its own: max-min, or by whatever rule
//! its entry has. No two coflows meet there, so no order matters, and a flow gets what both of its
//! ends would give it. Then what is not used, because the other end of a flow gives less, is offered
//! to all coflows in the order of the plan: each shares anew what it had and what is spare by then.

use super::{Allocator, PlanError};
use crate::ids::CoflowId;
use crate::plan::{Entry, Group, Portion, Ranking};
use crate::state::State;

/// More than a link in sum, by more than rounding explains.
const TOO_MUCH: f64 = 1.0 + 1e-9;

/// Parts of links by coflow, and working memory.
#[derive(Debug, Default)]
pub(super) struct Portions {
    links: usize,
    /// `share[coflow * links + link]`, and where it is not zero.
    share: Vec<f64>,
    given: Vec<usize>,
    sum: Vec<f64>,
    spare: Vec<f64>,
}

impl Portions {
    fn read(&mut self, state: &State, portions: &[Portion]) -> Result<(), PlanError> {
        self.links = state.fabric().links();
        self.given.drain(..).for_each(|at| self.share[at] = 0.0);
        self.share.resize(state.slots() * self.links, 0.0);
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
        Ok(())
    }

    fn of(&self, coflow: CoflowId, link: usize) -> f64 {
        self.share[coflow.index() * self.links + link]
    }
}

impl Allocator {
    /// Serves all coflows as the nodes have divided their links. Leaves in `free` what nobody uses.
    pub(super) fn serve_by_node(
        &mut self,
        state: &State,
        ranking: &Ranking,
    ) -> Result<(), PlanError> {
        let mut portions = std::mem::take(&mut self.portions);
        portions.read(state, &ranking.portions)?;
        let capacity = state.fabric().capacity();
        // Parts move with every flow that ends.
        self.afresh = true;
        self.moved.fill(u64::MAX);
        self.free.clear();
        self.free.extend_from_slice(capacity);
        let ports = 2 * state.fabric().ports() as usize;
        portions.spare.clear();
        portions.spare.extend_from_slice(capacity);
        for entry in &ranking.entries {
            let Group::Coflow(id) = entry.group else { return Err(PlanError::PartByNode) };
            let links = super::walk::checked(state, entry.group)?.demand().links();
            for link in links.iter().map(|link| link.index()) {
                // Links inside the fabric are nobody's: first come first served.
                self.free[link] = if link < ports {
                    capacity[link] * portions.of(id, link)
                } else {
                    portions.spare[link]
                };
            }
            if self.grants[id.index()].provisional.walk == self.walk {
                return Err(PlanError::Twice(id));
            }
            self.serve_part(state, id, |grant| &mut grant.provisional, entry)?;
            let provisional = &self.grants[id.index()].provisional;
            for (l, link) in links.iter().enumerate() {
                portions.spare[link.index()] -= provisional.used(l);
            }
        }
        for spare in &mut portions.spare {
            *spare = spare.max(0.0);
        }
        for entry in &ranking.entries {
            if let Group::Coflow(id) = entry.group {
                self.serve_again(state, id, entry, &mut portions.spare)?;
            }
        }
        self.free.copy_from_slice(&portions.spare);
        self.portions = portions;
        Ok(())
    }

    /// Serves a coflow from what its provisional part uses and what is spare, and leaves in `spare`
    /// what it does not use.
    fn serve_again(
        &mut self,
        state: &State,
        id: CoflowId,
        entry: &Entry,
        spare: &mut [f64],
    ) -> Result<(), PlanError> {
        let links = state.coflow(id).demand().links();
        let provisional = &self.grants[id.index()].provisional;
        for (l, link) in links.iter().enumerate() {
            self.free[link.index()] = spare[link.index()] + provisional.used(l);
        }
        self.serve_part(state, id, |grant| &mut grant.main, entry)?;
        for link in links {
            spare[link.index()] = self.free[link.index()];
        }
        Ok(())
    }
}
