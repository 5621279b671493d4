//! Which part of each link is a coflow's own ([`Ranking::portions`](crate::Ranking)).
//!
//! A new plan names the portions of all links, but few links have been divided anew since the plan
//! before. Both lists are compared, and only links where they differ are looked at.

use super::PlanError;
use crate::ids::{CoflowId, LinkId};
use crate::plan::Portion;
use crate::state::State;

/// More than a link in sum, by more than rounding explains.
const TOO_MUCH: f64 = 1.0 + 1e-9;

/// Parts of links by coflow.
#[derive(Debug, Default)]
pub(super) struct Portions {
    /// By link; and the list before, while another is read.
    list: Vec<Portion>,
    before: Vec<Portion>,
    shares: Shares,
}

/// The shares that a list comes to, and where they are others than before.
#[derive(Debug, Default)]
struct Shares {
    /// By coflow, and by local link; empty for those without any.
    share: Vec<Vec<f64>>,
    /// Links at which a coflow's part differs from the list before, by coflow: bits of the words of
    /// [`Demand::set`](crate::Demand::set). Empty where it does nowhere.
    moved: Vec<Vec<u64>>,
    /// The coflows of which `moved` is not empty.
    movers: Vec<CoflowId>,
    /// Coflows with a part of the link at hand, and what that was before.
    parts: Vec<(CoflowId, f64)>,
    /// The same coflows by number, to find one fast.
    has_part: Vec<bool>,
}

impl Portions {
    /// Gives nobody anything, for when what was read no longer holds: after an error, and when
    /// coflows have left.
    pub fn forget(&mut self) {
        self.list.clear();
        self.shares.share.iter_mut().for_each(Vec::clear);
    }

    /// Reads the list of a new plan.
    pub fn read(&mut self, state: &State, portions: &[Portion]) -> Result<(), PlanError> {
        let Portions { list, before, shares } = self;
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
            // What is the same about the link has been passed.
            let (of_was, rest_of_was) = portions_of(link, was, was_at);
            let (of_is, rest_of_is) = portions_of(link, is, is_at);
            shares.divide(state, link, of_was, of_is)?;
            (was, is) = (rest_of_was, rest_of_is);
            (was_at, is_at) = (0, 0);
        }
    }

    /// The next walk is over the plan that was read last.
    pub fn stay(&mut self) {
        self.shares.forget_moves();
    }

    /// A coflow's share of a link of its own.
    pub fn of(&self, coflow: CoflowId, local: usize) -> f64 {
        self.shares.share[coflow.index()].get(local).copied().unwrap_or(0.0)
    }

    /// Links of which the coflow has another share than before: bits of the words of
    /// [`Demand::set`](crate::Demand::set), none if it has none.
    pub fn moved_of(&self, coflow: CoflowId) -> &[u64] {
        &self.shares.moved[coflow.index()]
    }
}

/// The portions of a link, some of which may come just before `at` in `list` and the others after it, and
/// those after them.
fn portions_of(link: LinkId, list: &[Portion], at: usize) -> (&[Portion], &[Portion]) {
    let first = list[..at].iter().rposition(|portion| portion.link != link).map_or(0, |k| k + 1);
    let count = list[first..].iter().take_while(|portion| portion.link == link).count();
    list[first..].split_at(count)
}

impl Shares {
    fn start(&mut self, state: &State) {
        self.forget_moves();
        let slots = state.slots().max(self.share.len());
        self.share.resize_with(slots, Vec::new);
        self.moved.resize_with(slots, Vec::new);
        self.has_part.resize(slots, false);
    }

    fn forget_moves(&mut self) {
        self.movers.drain(..).for_each(|id| self.moved[id.index()].clear());
    }

    /// A link is divided in another way than before.
    fn divide(
        &mut self,
        state: &State,
        link: LinkId,
        was: &[Portion],
        is: &[Portion],
    ) -> Result<(), PlanError> {
        let set = |id: CoflowId| state.coflow(id).demand().set();
        // What a coflow has of a link that it does not use is of no use to it.
        for &Portion { coflow, .. } in was {
            if let Some(local) = set(coflow).get(link.index()) {
                let before = std::mem::take(&mut self.share[coflow.index()][local]);
                self.note(coflow, before);
            }
        }
        let mut sum = 0.0;
        let mut result = Ok(());
        for &Portion { coflow, share, .. } in is {
            if !state.is_present(coflow) {
                result = Err(PlanError::Absent(coflow));
                break;
            }
            sum += share;
            // `!(a && b)` also refuses what is not a number.
            let is_there = link.index() < state.fabric().links();
            if !(is_there && share >= 0.0 && sum <= TOO_MUCH) {
                result = Err(PlanError::Portion { link, share: sum });
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
                let moved = &mut self.moved[coflow.index()];
                if moved.is_empty() {
                    moved.resize(set(coflow).words().len(), 0);
                    self.movers.push(coflow);
                }
                moved[set(coflow).word_of(link.index())] |= 1 << (link.index() % 64);
            }
        }
        result
    }

    /// Takes down what a coflow had of the link at hand, unless that is done.
    fn note(&mut self, coflow: CoflowId, before: f64) {
        if !std::mem::replace(&mut self.has_part[coflow.index()], true) {
            self.parts.push((coflow, before));
        }
    }
}
