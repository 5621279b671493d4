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
    links: usize,
    /// `share[coflow * links + link]`.
    share: Vec<f64>,
    /// Links (a bit each, by coflow) at which a coflow's part differs from the list before.
    moved: Vec<u64>,
    /// Places in `share` that belong to the link at hand, and what was there.
    places: Vec<(usize, f64)>,
}

impl Portions {
    /// Gives nobody anything, for when what was read no longer holds: after an error, and when
    /// coflows have left.
    pub fn forget(&mut self) {
        self.list.clear();
        self.shares.share.clear();
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
        self.shares.moved.fill(0);
    }

    /// All coflows are to look at their parts of all links.
    pub fn all_move(&mut self) {
        self.shares.moved.fill(u64::MAX);
    }

    /// A coflow's share of a link.
    pub fn of(&self, coflow: CoflowId, link: usize) -> f64 {
        self.shares.share[coflow.index() * self.shares.links + link]
    }

    /// Links, a bit each, of which the coflow has another share than before.
    pub fn moved_of(&self, coflow: CoflowId) -> &[u64] {
        let words = self.shares.words();
        &self.shares.moved[coflow.index() * words..][..words]
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
        self.links = state.fabric().links();
        self.share.resize(state.slots() * self.links, 0.0);
        self.moved.clear();
        self.moved.resize(state.slots() * self.words(), 0);
    }

    fn words(&self) -> usize {
        self.links.div_ceil(64)
    }

    /// A link is divided in another way than before.
    fn divide(
        &mut self,
        state: &State,
        link: LinkId,
        was: &[Portion],
        is: &[Portion],
    ) -> Result<(), PlanError> {
        let (links, words) = (self.links, self.words());
        let place = |portion: &Portion| portion.coflow.index() * links + link.index();
        self.places.clear();
        for portion in was {
            let before = std::mem::take(&mut self.share[place(portion)]);
            self.places.push((place(portion), before));
        }
        let mut sum = 0.0;
        for portion in is {
            if !state.is_present(portion.coflow) {
                return Err(PlanError::Absent(portion.coflow));
            }
            sum += portion.share;
            // `!(a && b)` also refuses what is not a number.
            if link.index() >= links || !(portion.share >= 0.0 && sum <= TOO_MUCH) {
                return Err(PlanError::Portion { link, share: sum });
            }
            let at = place(portion);
            if self.places.iter().all(|(place, _)| *place != at) {
                self.places.push((at, 0.0));
            }
            self.share[at] += portion.share;
        }
        for &(at, before) in &self.places {
            if self.share[at] != before {
                let (coflow, link) = (at / links, at % links);
                self.moved[coflow * words + link / 64] |= 1 << (link % 64);
            }
        }
        Ok(())
    }
}
