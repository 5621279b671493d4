//! Which share of each link is a coflow's own ([`Ranking::link_shares`](crate::Ranking)).
//!
//! A new plan names the shares of all links, but few links have been divided in another way since
//! the previous plan. Both lists are compared, and only links where they differ are looked at.

use crate::alloc::error::PlanError;
use crate::ids::{CoflowId, LinkId};
use crate::plan::LinkShare;
use crate::state::State;

/// A sum of shares that is more than a link by more than rounding explains.
const TOO_MUCH: f64 = 1.0 + 1e-9;

/// Shares of links by coflow.
#[derive(Debug, Default)]
pub struct LinkShares {
    /// The list of the plan, by link.
    list: Vec<LinkShare>,
    /// The previous list, while another is read.
    before: Vec<LinkShare>,
    shares: SharesByCoflow,
}

/// The shares that a list comes to, and where they differ from the previous list.
#[derive(Debug, Default)]
struct SharesByCoflow {
    /// Share by coflow and by local link, from 0 to 1; empty for coflows without any.
    share: Vec<Vec<f64>>,
    /// By coflow, the links at which its share differs from the previous list: bits of the words of
    /// [`Demand::set`](crate::Demand::set). Empty if there are none.
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
        self.list.clear();
        self.shares.share.iter_mut().for_each(Vec::clear);
    }

    /// Reads the list of a new plan.
    pub fn read(&mut self, state: &State, portions: &[LinkShare]) -> Result<(), PlanError> {
        let LinkShares { list, before, shares } = self;
        shares.start(state);
        std::mem::swap(list, before);
        list.clear();
        list.extend_from_slice(portions);
        if !list.is_sorted_by_key(|portion| portion.link) {
            list.sort_by_key(|portion| portion.link);
        }
        let (mut was, mut is) = (&**before, &**list);
        let (mut was_at, mut is_at) = (0, 0);
        loop {
            let both = was[was_at..].iter().zip(&is[is_at..]);
            let same = both.take_while(|(was, is)| was == is).count();
            was_at += same;
            is_at += same;
            let differ = [was.get(was_at), is.get(is_at)];
            let Some(link) = differ.into_iter().flatten().map(|portion| portion.link).min() else {
                return Ok(());
            };
            // Equal shares of the link have been passed.
            let (of_was, rest_of_was) = shares_of(link, was, was_at);
            let (of_is, rest_of_is) = shares_of(link, is, is_at);
            shares.divide(state, link, of_was, of_is)?;
            (was, is) = (rest_of_was, rest_of_is);
            (was_at, is_at) = (0, 0);
        }
    }

    /// The next pass is over the plan that was read last: no share changes.
    pub fn stay(&mut self) {
        self.shares.forget_changes();
    }

    /// A coflow's share of one of its local links.
    pub fn of(&self, coflow: CoflowId, local: usize) -> f64 {
        self.shares.share[coflow.index()].get(local).copied().unwrap_or(0.0)
    }

    /// Links of which the coflow has another share than before: bits of the words of
    /// [`Demand::set`](crate::Demand::set), or nothing if there are none.
    pub fn dirty_of(&self, coflow: CoflowId) -> &[u64] {
        &self.shares.dirty[coflow.index()]
    }
}

/// The shares of a link, some of which may come just before `at` in `list` and the others after it;
/// and the shares after them.
fn shares_of(link: LinkId, list: &[LinkShare], at: usize) -> (&[LinkShare], &[LinkShare]) {
    let first = list[..at].iter().rposition(|portion| portion.link != link).map_or(0, |k| k + 1);
    let count = list[first..].iter().take_while(|portion| portion.link == link).count();
    list[first..].split_at(count)
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
        was: &[LinkShare],
        is: &[LinkShare],
    ) -> Result<(), PlanError> {
        let set = |id: CoflowId| state.coflow(id).demand().set();
        // A share of a link that a coflow does not use has no effect.
        for &LinkShare { coflow, .. } in was {
            if let Some(local) = set(coflow).get(link.index()) {
                let before = std::mem::take(&mut self.share[coflow.index()][local]);
                self.note(coflow, before);
            }
        }
        let mut sum = 0.0;
        let mut result = Ok(());
        for &LinkShare { coflow, share, .. } in is {
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
