//! Whose turn it is, in a plan that is kept.
//!
//! Of thousands of coflows present few have anything, for each takes all of some link. A walk looks at those
//! (they *stay*), at those that have come or changed, and at places where somebody has gone. All others
//! wait: flow by flow at both ends of a flow, or, where a coflow needs all its links, at one of them where
//! nothing is left. Where such a link has opened behind those before it, and a flow's other end is open there
//! too, the coflow is *called*. So a walk costs as much as changes, however many wait.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::grant::Which;
use super::kept::coflow_of;
use crate::demand::{Demand, bits};
use crate::ids::LinkId;
use crate::plan::{Entry, Rank};
use crate::sorted::Sorted;
use crate::state::State;

/// Who has a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looker {
    pub rank: Rank,
    pub entry: Entry,
    pub which: Which,
    /// Whether he uses many links: of what such a one leaves there is no list ([`Turns::pass`]).
    pub is_wide: bool,
}

impl Looker {
    pub fn new(rank: Rank, entry: Entry, which: Which, demand: &Demand) -> Looker {
        Looker { rank, entry, which, is_wide: demand.links().len() > WIDE }
    }
}

/// More links than this are many.
const WIDE: usize = 32;

/// What somebody found and left at a link who has gone from a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Footprint {
    pub link: LinkId,
    pub before: f64,
    pub after: f64,
}

/// In place of the other end of a flow: the coflow waits for one link alone.
const NO_LINK: u32 = u32::MAX;

/// A link at which somebody waits, and the other end of the flow that does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    link: u32,
    other: u32,
}

impl Wait {
    /// A flow waits for both its ends.
    pub fn for_both(link: u32, other: u32) -> [Wait; 2] {
        [Wait { link, other }, Wait { link: other, other: link }]
    }

    /// A coflow waits for a link.
    pub fn for_one(link: u32) -> Wait {
        Wait { link, other: NO_LINK }
    }
}

/// A turn.
#[derive(Debug)]
pub(super) enum Turn {
    /// Of one who stays.
    Stays(Looker),
    /// Of one who has come, or has changed; or has waited, and is called.
    Comes(Looker),
    Called(Rank),
    /// The place of one who has gone, with his [footprints](Turns::footprint).
    Gone(Range<usize>),
}

/// The links that have moved so far on a walk, and those where anything is left.
#[derive(Clone, Copy)]
pub(super) struct Links<'a> {
    pub moved: &'a [u64],
    pub open: &'a [u64],
}

impl Links<'_> {
    /// Whether anything is left at a link that has moved.
    pub fn if_moved(&self, link: usize) -> Option<bool> {
        let (word, bit) = (link / 64, link % 64);
        (self.moved[word] >> bit & 1 == 1).then(|| self.open[word] >> bit & 1 == 1)
    }

    /// Takes down at which links of a set something is left where something else was: bits of its words.
    pub fn opened(&self, set: &crate::links::Links, opened: &mut Vec<u64>) {
        opened.clear();
        let words = set.words().iter();
        opened
            .extend(words.map(|word| {
                word.bits & self.moved[word.at as usize] & self.open[word.at as usize]
            }));
    }

    /// Whether something is left at a link where something else was.
    fn has_opened(&self, link: usize) -> bool {
        self.if_moved(link) == Some(true)
    }
}

/// All turns of a walk, in order.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Those who stay, of the walk before; how many of them have had their turn; and those of this walk
    /// so far.
    stay: Vec<Looker>,
    passed: usize,
    next: Vec<Looker>,
    /// Last first, once the walk has begun.
    come: Vec<Looker>,
    gone: Vec<(Rank, Range<usize>)>,
    footprints: Vec<Footprint>,
    /// By link, those who wait there, each with the other end of the flow that waits, or [`NO_LINK`].
    waiting: Vec<Sorted<(Rank, u32), ()>>,
    /// By link, what is left behind each who takes something there and is not wide, in order; and behind
    /// those who are wide, where nothing is left though they found something, or the reverse.
    left: Vec<Vec<(Rank, f64)>>,
    /// By link, what the first is offered.
    base: Vec<f64>,
    /// Working memory: who has left what is free at a link.
    from: Vec<Rank>,
    /// The next to be called at links that have opened: the place, the link and the other end. And, by link,
    /// the place; others that are listed for it do not count any more.
    calls: BinaryHeap<Reverse<(Rank, u32, u32)>>,
    called: Vec<Option<Rank>>,
    /// The place that the walk has come to.
    at: Rank,
}

impl Turns {
    /// Forgets everybody.
    pub fn clear(&mut self) {
        self.stay.clear();
        self.next.clear();
        self.come.clear();
        self.passed = 0;
        self.gone.clear();
        self.footprints.clear();
        self.waiting.iter_mut().for_each(Sorted::clear);
        self.left.iter_mut().for_each(Vec::clear);
        self.end_calls();
    }

    fn end_calls(&mut self) {
        while let Some(Reverse((_, link, _))) = self.calls.pop() {
            self.called[link as usize] = None;
        }
    }

    /// Somebody is to have a turn on the next walk.
    pub fn come(&mut self, looker: Looker) {
        self.come.push(looker);
    }

    /// Whoever stays at a place does so no more.
    pub fn remove(&mut self, rank: Rank) {
        if let Ok(k) = self.stay.binary_search_by(|looker| looker.rank.cmp(&rank)) {
            self.stay.remove(k);
        }
    }

    /// Whoever was to come to a place does not.
    pub fn cancel(&mut self, rank: Rank) {
        self.come.retain(|looker| looker.rank != rank);
    }

    /// Somebody has gone who had found and left something at `links`.
    pub fn leave(
        &mut self,
        rank: Rank,
        links: &[LinkId],
        before: impl Iterator<Item = f64>,
        after: impl Iterator<Item = f64>,
    ) {
        let first = self.footprints.len();
        let all = links.iter().zip(before.zip(after));
        let all = all.map(|(&link, (before, after))| Footprint { link, before, after });
        self.footprints.extend(all);
        self.gone.push((rank, first..self.footprints.len()));
    }

    /// One of the footprints of those who have gone.
    pub fn footprint(&self, k: usize) -> Footprint {
        self.footprints[k]
    }

    /// Somebody waits at some links; until [`Turns::wake`].
    pub fn wait(&mut self, rank: Rank, at: &[Wait]) {
        for wait in at {
            self.waiting[wait.link as usize].insert((rank, wait.other), ());
        }
    }

    /// Somebody waits no more at the links at which he did.
    pub fn wake(&mut self, rank: Rank, at: &[Wait]) {
        for wait in at {
            self.waiting[wait.link as usize].remove(&(rank, wait.other));
        }
    }

    /// Makes `free` what is free before the present place at the links of `demand`, as far as they have not
    /// moved: `after` tells what a wide one has left, by local link.
    pub fn find_free<'a>(
        &mut self,
        state: &'a State,
        demand: &Demand,
        free: &mut Vec<f64>,
        after: impl Fn(&Looker) -> &'a [f64],
    ) {
        free.resize(self.base.len(), 0.0);
        self.from.resize(self.base.len(), Rank::default());
        for link in demand.links().iter().map(|link| link.index()) {
            let last = self.left[link].iter().rev().find(|(rank, _)| *rank < self.at);
            let last = last.copied().unwrap_or((Rank::default(), self.base[link]));
            (self.from[link], free[link]) = last;
        }
        for looker in self.next.iter().filter(|looker| looker.is_wide) {
            let after = after(looker);
            let taker = state.coflow(coflow_of(looker.entry.group)).demand();
            for (link, l) in taker.set().shared(demand.set()).filter(|_| !after.is_empty()) {
                if self.from[link] < looker.rank {
                    free[link] = after[l];
                }
            }
        }
    }

    fn was_open_at(&self, link: usize, rank: Rank) -> bool {
        let last = self.left[link].iter().rev().find(|(other, _)| *other < rank);
        last.map_or(self.base[link], |(_, rest)| *rest) > 0.0
    }

    /// Whether anything is left at a link before a place, from the present one on, as far as that is known.
    fn is_open_at(&self, link: usize, rank: Rank, links: Links<'_>) -> bool {
        links.if_moved(link).unwrap_or_else(|| self.was_open_at(link, rank))
    }

    /// Whether anything is left at a link before the present place.
    pub fn is_open(&self, link: usize, links: Links<'_>) -> bool {
        self.is_open_at(link, self.at, links)
    }

    /// Since which place, before the present one, nothing has been left at a link: the first of all, where
    /// nothing was from the beginning; `None` if something is left.
    pub fn closed(&self, link: usize, links: Links<'_>) -> Option<Rank> {
        if self.is_open(link, links) {
            return None;
        }
        let takers = self.left[link].iter().rev().filter(|(other, _)| *other < self.at);
        let last = takers.take_while(|(_, rest)| *rest == 0.0).last();
        Some(last.map_or(Rank::default(), |(rank, _)| *rank))
    }

    /// Who stands at the present place has found something at a link, and has left something; residues of
    /// rounding count as nothing.
    pub fn pass(&mut self, link: usize, found: f64, rest: f64, is_wide: bool) {
        let is_listed = if is_wide { (found > 0.0) != (rest > 0.0) } else { found != rest };
        let left = &mut self.left[link];
        if left.is_empty() && !is_listed {
            return;
        }
        let k = left.partition_point(|(rank, _)| *rank < self.at);
        let is_there = left.get(k).is_some_and(|(rank, _)| *rank == self.at);
        match (is_there, is_listed) {
            (true, true) => left[k].1 = rest,
            (false, true) => left.insert(k, (self.at, rest)),
            (true, false) => _ = left.remove(k),
            (false, false) => {}
        }
    }

    /// Begins a walk on which everybody has a turn, of whom the first is offered `free` at each link.
    pub fn start_anew(&mut self, links: Links<'_>, free: &[f64]) {
        self.clear();
        self.begin(links, free);
    }

    fn begin(&mut self, links: Links<'_>, free: &[f64]) {
        let count = free.len();
        self.at = Rank::default();
        self.base.resize(count, 0.0);
        self.left.resize_with(count, Vec::new);
        self.waiting.resize_with(count, Sorted::default);
        self.called.resize(count, None);
        for link in bits(links.moved.iter().copied()).take_while(|&link| link < count) {
            self.base[link] = if links.has_opened(link) { free[link] } else { 0.0 };
        }
    }

    /// It is somebody's turn at a place, on such a walk.
    pub fn go_to(&mut self, rank: Rank) {
        self.at = rank;
    }

    /// Begins a walk of whom the first is offered something else than before at the links that have moved.
    pub fn start(&mut self, links: Links<'_>, free: &[f64]) {
        self.begin(links, free);
        self.passed = 0;
        self.next.clear();
        self.come.sort_unstable_by_key(|looker| Reverse(looker.rank));
        self.gone.sort_unstable_by_key(|(rank, _)| Reverse(*rank));
        for link in bits(links.moved.iter().copied()).take_while(|&link| link < free.len()) {
            self.call(link, links);
        }
    }

    /// A link has moved and is open now, which it was not: the first behind the present place who waits there
    /// and may get something is to be called.
    pub fn call(&mut self, link: usize, links: Links<'_>) {
        if !links.has_opened(link) {
            return;
        }
        let mut behind = self.waiting[link].after((self.at, NO_LINK)).map(|&(key, ())| key);
        let is_open =
            |other: u32, rank| other == NO_LINK || self.is_open_at(other as usize, rank, links);
        let first = behind.find(|&(rank, other)| is_open(other, rank));
        if let Some((rank, other)) = first
            && self.called[link].is_none_or(|called| rank < called)
        {
            self.called[link] = Some(rank);
            self.calls.push(Reverse((rank, link as u32, other)));
        }
    }

    /// Calls whoever waits at links of a set that have opened, and had not when that was taken down.
    pub fn call_at(&mut self, set: &crate::links::Links, before: &[u64], links: Links<'_>) {
        for (word, before) in set.words().iter().zip(before) {
            let at = word.at as usize;
            let new = word.bits & links.moved[at] & links.open[at] & !before;
            bits([new].into_iter()).for_each(|bit| self.call(64 * at + bit, links));
        }
    }

    /// The next turn. Those of whom nobody else is to decide, for `stays` says so, go on to stay.
    pub fn next(
        &mut self,
        links: Links<'_>,
        mut stays: impl FnMut(&Looker) -> bool,
    ) -> Option<Turn> {
        let come = self.come.last().map(|looker| looker.rank);
        let gone = self.gone.last().map(|(rank, _)| *rank);
        let called = self.next_called(links);
        let other = [come, gone, called].into_iter().flatten().min();
        while let Some(looker) = self.stay.get(self.passed)
            && other.is_none_or(|other| looker.rank < other)
        {
            self.passed += 1;
            if stays(looker) {
                self.next.push(*looker);
                continue;
            }
            self.at = looker.rank;
            return Some(Turn::Stays(*looker));
        }
        let rank = other?;
        self.at = rank;
        // Who has gone was there before whoever has come.
        if gone == Some(rank) {
            return self.gone.pop().map(|(_, footprints)| Turn::Gone(footprints));
        }
        if come == Some(rank) {
            return self.come.pop().map(Turn::Comes);
        }
        Some(Turn::Called(rank))
    }

    /// The next place of somebody who is called, as far as the links for which he waits are still open there.
    fn next_called(&mut self, links: Links<'_>) -> Option<Rank> {
        loop {
            let &Reverse((rank, link, other)) = self.calls.peek()?;
            let is_open =
                |link: u32| link == NO_LINK || self.is_open_at(link as usize, rank, links);
            let waits = rank > self.at && self.waiting[link as usize].get(&(rank, other)).is_some();
            if waits && is_open(link) && is_open(other) {
                return Some(rank);
            }
            self.calls.pop();
            if self.called[link as usize] == Some(rank) {
                self.called[link as usize] = None;
                self.call(link as usize, links);
            }
        }
    }

    /// Somebody who had a turn stays.
    pub fn stay(&mut self, looker: Looker) {
        self.next.push(looker);
    }

    /// Ends a walk.
    pub fn end(&mut self) {
        std::mem::swap(&mut self.stay, &mut self.next);
        self.next.clear();
        self.next.reserve(self.stay.capacity());
        self.footprints.clear();
        self.end_calls();
    }
}
