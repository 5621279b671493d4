//! Which entries of a kept plan have a step on an allocation pass.
//!
//! Of thousands of coflows present few have anything, for each takes all of some link. A pass makes
//! a *step* at each entry that has something and finds another amount, at each that is new or has
//! changed, and at each place from which one has gone. All other entries wait: flow by flow for
//! both links of a flow, or, where a coflow needs all its links, for one of those at which nothing
//! is left. When such a link opens and the flow's other link is open too, the entry is *called*. So
//! a pass costs as much as changes, however many entries wait. With few entries it costs less to
//! look at all of them: the `Allocator` says from how many on steps are made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::left_by_rank::LeftByRank;
use super::target::PlacedEntry;
use crate::free_capacity::FreeCapacity;
use covey_core::Demand;
use covey_core::LinkId;
use covey_core::OptionalIndex;
use covey_core::Rank;
use covey_core::sets::bits::{bits, set_bit};
use covey_core::sets::link_set::LinkSet;
use covey_core::sets::sorted::Sorted;

/// What an entry that has gone from its place had found and left at a link, in bytes per second.
#[derive(Debug, Clone, Copy)]
pub struct Footprint {
    pub link: LinkId,
    pub before: f64,
    pub after: f64,
}

/// A link for which an entry waits, and the other link of the flow that waits; none if the coflow
/// waits for this link alone.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    link: u32,
    other: OptionalIndex,
}

impl Wait {
    /// A flow waits for both its links.
    pub fn for_both(link: u32, other: u32) -> [Wait; 2] {
        [(link, other), (other, link)]
            .map(|(link, other)| Wait { link, other: OptionalIndex::some(other) })
    }

    /// A coflow waits for a link.
    pub fn for_one(link: u32) -> Wait {
        Wait { link, other: OptionalIndex::NONE }
    }
}

/// One step of a pass.
#[derive(Debug)]
pub enum PassStep {
    /// An entry that had something on the previous pass.
    Stays(PlacedEntry),
    /// An entry that has come, or has changed.
    Comes(PlacedEntry),
    /// An entry that has waited and is called.
    Called(Rank),
    /// A place from which an entry has gone, with its [footprints](PassSteps::footprint).
    Gone(Range<usize>),
}

/// All steps of a pass, in order.
#[derive(Debug, Default)]
pub struct PassSteps {
    stepping: Stepping,
    /// New entries. Last first, once the pass has begun.
    coming: Vec<PlacedEntry>,
    /// Places from which entries have gone, with their footprints. Last first, once the pass has
    /// begun.
    gone: Vec<(Rank, Range<usize>)>,
    footprints: Vec<Footprint>,
    /// By link, the entries that wait for it, each with the other link of the flow that waits, if a
    /// flow does.
    waiting: Vec<Sorted<(Rank, OptionalIndex), ()>>,
    left: LeftByRank,
    /// The next entries to be called at links that have opened: place, link and the flow's other
    /// link.
    calls: BinaryHeap<Reverse<(Rank, u32, OptionalIndex)>>,
    /// By link, the place in its latest entry of `calls`. Others that are listed for it do not
    /// count any more.
    called: Vec<Option<Rank>>,
    /// The place that the pass has come to.
    at: Rank,
}

/// The entries that have something.
#[derive(Debug, Default)]
struct Stepping {
    /// The entries of the previous pass. This pass has passed the first `passed` of them.
    previous: Vec<PlacedEntry>,
    passed: usize,
    /// The entries of this pass so far.
    current: Vec<PlacedEntry>,
}

impl PassSteps {
    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.stepping.previous.clear();
        self.stepping.current.clear();
        self.stepping.passed = 0;
        self.coming.clear();
        self.gone.clear();
        self.footprints.clear();
        self.waiting.iter_mut().for_each(Sorted::clear);
        self.left.clear();
        self.end_calls();
    }

    fn end_calls(&mut self) {
        while let Some(Reverse((_, link, _))) = self.calls.pop() {
            self.called[link as usize] = None;
        }
    }

    /// An entry has a step on the next pass.
    pub fn come(&mut self, placed: PlacedEntry) {
        self.coming.push(placed);
    }

    /// The entry at a place had something, and is there no more.
    pub fn remove(&mut self, rank: Rank) {
        let entries = &mut self.stepping.previous;
        if let Ok(k) = entries.binary_search_by(|placed| placed.rank.cmp(&rank)) {
            entries.remove(k);
        }
    }

    /// An entry that was to come to a place does not.
    pub fn cancel(&mut self, rank: Rank) {
        self.coming.retain(|placed| placed.rank != rank);
    }

    /// An entry has gone that had found `before` and left `after` at `links`.
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

    /// An entry waits for some links until [`PassSteps::stop_waiting`].
    pub fn wait(&mut self, rank: Rank, links: &[Wait]) {
        for wait in links {
            self.waiting[wait.link as usize].insert((rank, wait.other), ());
        }
    }

    /// An entry waits no more for the links for which it did.
    pub fn stop_waiting(&mut self, rank: Rank, links: &[Wait]) {
        for wait in links {
            self.waiting[wait.link as usize].remove(&(rank, wait.other));
        }
    }

    /// Makes `found` what is left before the present place at the links of `demand`.
    pub fn find_free(&self, demand: &Demand, free: &FreeCapacity, found: &mut Vec<f64>) {
        self.left.find_before(self.at, demand, found);
        let dirty = demand.set().common(free.dirty.words());
        dirty.for_each(|(link, _)| found[link] = free.amount[link]);
    }

    /// Whether anything is left at a link before a place from the present one on, as far as that is
    /// known.
    fn is_open_before(&self, link: usize, rank: Rank, free: &FreeCapacity) -> bool {
        free.is_open_if_dirty(link).unwrap_or_else(|| self.left.was_open_before(link, rank))
    }

    /// The same of the other link of a flow, if there is a flow.
    fn is_other_open_before(&self, other: OptionalIndex, rank: Rank, free: &FreeCapacity) -> bool {
        other.get().is_none_or(|other| self.is_open_before(other as usize, rank, free))
    }

    /// Whether anything is left at a link before the present place.
    pub fn is_open(&self, link: usize, free: &FreeCapacity) -> bool {
        self.is_open_before(link, self.at, free)
    }

    /// The place since which nothing has been left at a link before the present place: the first of
    /// all, where nothing was left from the beginning. `None` if something is left.
    pub fn closed(&self, link: usize, free: &FreeCapacity) -> Option<Rank> {
        (!self.is_open(link, free)).then(|| self.left.closed_since(link, self.at))
    }

    /// The entry at the present place has `found` something at a link and left `rest` of it.
    /// Residues of rounding count as nothing.
    pub fn record(&mut self, link: usize, found: f64, rest: f64) {
        self.left.record(self.at, link, found, rest);
    }

    /// An entry has gone from the present place: what is left there is what those before it leave.
    pub fn pass_gone(&mut self, gone: usize, capacity: &[f64], free: &mut FreeCapacity) {
        let Footprint { link, before, after } = self.footprints[gone];
        let link = link.index();
        let now = if free.is_dirty(link) { free.amount[link] } else { before };
        let differs = now != after;
        self.record(link, 0.0, 0.0);
        free.dirty.set(link, differs);
        if differs {
            free.amount[link] = now;
            let is_open = free.usable(capacity, link) > 0.0;
            set_bit(&mut free.open, link, is_open);
            self.call(link, free);
        }
    }

    /// Begins a pass that serves all entries, of which the first is offered `free`.
    pub fn start_from_scratch(&mut self, free: &FreeCapacity) {
        self.clear();
        self.begin(free);
    }

    fn begin(&mut self, free: &FreeCapacity) {
        let count = free.amount.len();
        self.at = Rank::default();
        self.left.start(free);
        self.waiting.resize_with(count, Sorted::default);
        self.called.resize(count, None);
    }

    /// Such a pass has come to a place.
    pub fn go_to(&mut self, rank: Rank) {
        self.at = rank;
    }

    /// Begins a pass of which the first entry is offered another amount than before at dirty links.
    pub fn start(&mut self, free: &FreeCapacity) {
        self.begin(free);
        self.stepping.passed = 0;
        self.stepping.current.clear();
        self.coming.sort_unstable_by_key(|placed| Reverse(placed.rank));
        self.gone.sort_unstable_by_key(|(rank, _)| Reverse(*rank));
        for link in free.dirty.iter() {
            self.call(link, free);
        }
    }

    /// If a link is dirty and open, calls the first entry behind the present place that waits for
    /// it and may get something.
    pub fn call(&mut self, link: usize, free: &FreeCapacity) {
        if !free.is_open_and_dirty(link) {
            return;
        }
        let mut behind =
            self.waiting[link].after((self.at, OptionalIndex::NONE)).map(|&(key, ())| key);
        let is_open = |other: OptionalIndex, rank| self.is_other_open_before(other, rank, free);
        let first = behind.find(|&(rank, other)| is_open(other, rank));
        if let Some((rank, other)) = first
            && self.called[link].is_none_or(|called| rank < called)
        {
            self.called[link] = Some(rank);
            self.calls.push(Reverse((rank, link as u32, other)));
        }
    }

    /// Calls an entry for each link of a set that is dirty and open, and was not when `before` was
    /// written down by [`FreeCapacity::open_and_dirty_in`].
    pub fn call_at(&mut self, set: &LinkSet, before: &[u64], free: &FreeCapacity) {
        for (word, before) in set.words().iter().zip(before) {
            let at = word.at as usize;
            let new = word.bits & free.dirty.words()[at] & free.open[at] & !before;
            bits([new].into_iter()).for_each(|bit| self.call(64 * at + bit, free));
        }
    }

    /// The next step. Entries of which `stays` says that nothing has changed for them are passed
    /// over.
    pub fn next(
        &mut self,
        free: &FreeCapacity,
        mut stays: impl FnMut(&PlacedEntry) -> bool,
    ) -> Option<PassStep> {
        let coming = self.coming.last().map(|placed| placed.rank);
        let gone = self.gone.last().map(|(rank, _)| *rank);
        let called = self.next_called(free);
        let other = [coming, gone, called].into_iter().flatten().min();
        while let Some(placed) = self.stepping.previous.get(self.stepping.passed)
            && other.is_none_or(|other| placed.rank < other)
        {
            self.stepping.passed += 1;
            if stays(placed) {
                self.stepping.current.push(*placed);
                continue;
            }
            self.at = placed.rank;
            return Some(PassStep::Stays(*placed));
        }
        let rank = other?;
        self.at = rank;
        // The entry that has gone stood there before the one that has come.
        if gone == Some(rank) {
            return self.gone.pop().map(|(_, footprints)| PassStep::Gone(footprints));
        }
        if coming == Some(rank) {
            return self.coming.pop().map(PassStep::Comes);
        }
        Some(PassStep::Called(rank))
    }

    /// The place of the next entry that is called, and for which the links that it waits for are
    /// still open.
    fn next_called(&mut self, free: &FreeCapacity) -> Option<Rank> {
        loop {
            let &Reverse((rank, link, other)) = self.calls.peek()?;
            let waits = rank > self.at && self.waiting[link as usize].get(&(rank, other)).is_some();
            let is_open = || {
                self.is_open_before(link as usize, rank, free)
                    && self.is_other_open_before(other, rank, free)
            };
            if waits && is_open() {
                return Some(rank);
            }
            self.calls.pop();
            if self.called[link as usize] == Some(rank) {
                self.called[link as usize] = None;
                self.call(link as usize, free);
            }
        }
    }

    /// An entry that had a step has something, and is looked at on the next pass.
    pub fn stay(&mut self, placed: PlacedEntry) {
        self.stepping.current.push(placed);
    }

    /// Ends a pass.
    pub fn end(&mut self) {
        let Stepping { previous, current, .. } = &mut self.stepping;
        std::mem::swap(previous, current);
        current.clear();
        current.reserve(previous.capacity());
        self.footprints.clear();
        self.end_calls();
    }
}
