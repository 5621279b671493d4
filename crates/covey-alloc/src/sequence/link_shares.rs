//! Which share of each link is a coflow's own ([`Ranking::link_shares`](covey_core::Ranking)).
//!
//! Few links have been divided in another way since the previous plan. A plan that is kept names
//! them; in another plan all links are compared. Only links that differ are looked at.

use crate::error::PlanError;
use covey_core::state::State;
use covey_core::{CoflowId, LinkId};

/// A sum of shares that is more than a link by more than rounding explains.
const TOO_MUCH: f64 = 1.0 + 1e-9;

/// Shares of links by coflow.
#[derive(Debug, Default)]
pub struct LinkShares {
    /// What the plan said when it was last read.
    read: covey_core::LinkShares,
    /// Links that the plan divides in another way since then; one may occur more than once.
    divided: Vec<LinkId>,
    shares: SharesByCoflow,
    /// Working memory: the shares of a link before, and now.
    before: Vec<(CoflowId, f64)>,
    now: Vec<(CoflowId, f64)>,
}

/// The shares of each coflow, and where they differ from those that were read before.
#[derive(Debug, Default)]
struct SharesByCoflow {
    /// Share by coflow and by local link, from 0 to 1; empty for coflows without any.
    share: Vec<Vec<f64>>,
    /// By coflow, the links at which its share differs from what was read before: bits of the words
    /// of [`Demand::set`](covey_core::Demand::set). Empty if there are none.
    dirty: Vec<Vec<u64>>,
    /// The coflows whose `dirty` is not empty.
    dirty_coflows: Vec<CoflowId>,
    /// Coflows with a share of the present link, and what that was before.
    parts: Vec<(CoflowId, f64)>,
    /// By coflow, whether it is among `parts`.
    has_part: Vec<bool>,
}

impl LinkShares {
    /// Takes all shares back. To be called when what was read no longer holds: after an error, and
    /// when coflows have left.
    pub fn forget(&mut self) {
        self.read.clear();
        self.shares.share.iter_mut().for_each(Vec::clear);
    }

    /// The plan divides these links in another way.
    pub fn note(&mut self, links: &[LinkId]) {
        self.divided.extend_from_slice(links);
    }

    /// Reads the shares of all links.
    pub fn read_all(
        &mut self,
        state: &State,
        plan: &covey_core::LinkShares,
    ) -> Result<(), PlanError> {
        let LinkShares { read, divided, .. } = &mut *self;
        divided.clear();
        let all = (0..read.links().max(plan.links()) as u32).map(LinkId);
        divided.extend(all.filter(|&link| !read.of(link).eq(plan.of(link))));
        self.read_noted(state, plan)
    }

    /// Reads the shares of the links that were noted. The rest of the plan has been read.
    pub fn read_noted(
        &mut self,
        state: &State,
        plan: &covey_core::LinkShares,
    ) -> Result<(), PlanError> {
        let LinkShares { read, divided, shares, before, now } = self;
        shares.start(state);
        for link in divided.drain(..) {
            for (list, all) in [(&mut *before, &*read), (&mut *now, plan)] {
                list.clear();
                list.extend(all.of(link));
            }
            shares.divide(state, link, before, now)?;
            read.replace(link, now);
        }
        Ok(())
    }

    /// A coflow's share of one of its local links.
    pub fn of(&self, coflow: CoflowId, local: usize) -> f64 {
        self.shares.share[coflow.index()].get(local).copied().unwrap_or(0.0)
    }

    /// Links of which the coflow has another share than before: bits of the words of
    /// [`Demand::set`](covey_core::Demand::set), or nothing if there are none.
    pub fn dirty_of(&self, coflow: CoflowId) -> &[u64] {
        &self.shares.dirty[coflow.index()]
    }
}

impl SharesByCoflow {
    fn start(&mut self, state: &State) {
        self.forget_changes();
        let slots = state.slots().max(self.share.len());
        self.share.resize_with(slots, Vec::new);
        self.dirty.resize_with(slots, Vec::new);
        self.has_part.resize(slots, false);
    }

    fn forget_changes(&mut self) {
        self.dirty_coflows.drain(..).for_each(|id| self.dirty[id.index()].clear());
    }

    /// Divides a link in another way than before.
    fn divide(
        &mut self,
        state: &State,
        link: LinkId,
        was: &[(CoflowId, f64)],
        is: &[(CoflowId, f64)],
    ) -> Result<(), PlanError> {
        let set = |id: CoflowId| state.coflow(id).demand().set();
        // A share of a link that a coflow does not use has no effect.
        for &(coflow, _) in was {
            if let Some(local) = set(coflow).get(link.index()) {
                let before = std::mem::take(&mut self.share[coflow.index()][local]);
                self.note(coflow, before);
            }
        }
        let mut sum = 0.0;
        let mut result = Ok(());
        for &(coflow, share) in is {
            if !state.is_present(coflow) {
                result = Err(PlanError::Absent(coflow));
                break;
            }
            sum += share;
            // `!(a && b)` also refuses what is not a number.
            let is_there = link.index() < state.fabric().links();
            if !(is_there && share >= 0.0 && sum <= TOO_MUCH) {
                result = Err(PlanError::LinkShare { link, share: sum });
                break;
            }
            if !set(coflow).contains(link.index()) {
                continue;
            }
            let all = &mut self.share[coflow.index()];
            all.resize(state.coflow(coflow).demand().links().len(), 0.0);
            all[set(coflow).local(link.index())] += share;
            self.note(coflow, 0.0);
        }
        while let Some((coflow, before)) = self.parts.pop() {
            self.has_part[coflow.index()] = false;
            let local = set(coflow).local(link.index());
            if self.share[coflow.index()][local] != before {
                let dirty = &mut self.dirty[coflow.index()];
                if dirty.is_empty() {
                    dirty.resize(set(coflow).words().len(), 0);
                    self.dirty_coflows.push(coflow);
                }
                dirty[set(coflow).word_of(link.index())] |= 1 << (link.index() % 64);
            }
        }
        result
    }

    /// Writes down what share of the present link a coflow had, unless that is done.
    fn note(&mut self, coflow: CoflowId, before: f64) {
        if !std::mem::replace(&mut self.has_part[coflow.index()], true) {
            self.parts.push((coflow, before));
        }
    }
}
