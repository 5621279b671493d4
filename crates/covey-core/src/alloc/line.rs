//! All flows present in one line: one after another, each takes all that is free on its links.
//!
//! Schedulers that serve flows one by one (first come first served, shortest remaining first) have no
//! order of coflows but one of flows, of which there may be hundreds of thousands. They are kept by
//! pair of ports. Of the flows of a pair only the first in line can run: what it takes fills one of
//! the two links. So a moment deals with the first flow of each pair, and of those only with the ones
//! that it concerns.
//!
//! When a flow ends, what it leaves at its two links goes to others behind it. A link is then *open*
//! from the flow's place in line on: whoever had a share of the link behind that place gives it back,
//! and open links find out who is next in line, nearest place first. One is in line for a link if the
//! link at its other end is not full, or filled by somebody behind. That somebody gives its share
//! back, and so the link at his other end is open in turn. A place that has been dealt with is never
//! looked at again, for what is open is always behind it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::{NEGLIGIBLE, ends};
use crate::ids::{CoflowId, LinkId};
use crate::pairs::Pairs;
use crate::rounding::rounded_bytes;
use crate::state::State;
use crate::time::Time;

/// A flow's place in line: less is nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// What decides.
    key: u64,
    /// The number under which the flow joined, from 1, which breaks ties.
    number: u64,
}

/// Before everybody, and behind everybody.
const FRONT: Place = Place { key: 0, number: 0 };
const NOWHERE: Place = Place { key: u64::MAX, number: u64::MAX };
/// In place of a pair: not looked for yet.
const NOBODY: u32 = u32::MAX;
/// In place of a slot: does not run.
const WAITS: u32 = u32::MAX;

/// Who goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Precedence {
    /// Who joined first.
    #[default]
    Oldest,
    /// Who has the fewest bytes left; ties: who joined first.
    Shortest,
}

/// A flow that runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Running {
    /// Its coflow.
    pub coflow: CoflowId,
    /// Its position in the coflow's [`Demand`](crate::Demand).
    pub position: u32,
    /// Bytes per second.
    pub rate: f64,
    /// Bytes left.
    pub left: f64,
}

/// A flow in the line of its pair of ports, by its place.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Member {
    place: Place,
    coflow: CoflowId,
    position: u32,
    /// If it is the first of its pair and runs, where it is among those that run; or [`WAITS`].
    slot: u32,
    /// Bytes left when it last did not run.
    left: f64,
}

impl Eq for Member {}

impl PartialOrd for Member {
    fn partial_cmp(&self, other: &Member) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Member {
    fn cmp(&self, other: &Member) -> Ordering {
        self.place.cmp(&other.place)
    }
}

/// The first flow of a pair, as one of the pair's links sees it.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    place: Place,
    pair: u32,
    /// The pair's other link.
    other: u32,
}

/// The power of two below what the fastest link carries in a nanosecond: bytes left are compared in
/// multiples of this, as moments so close are one. Whole bytes stay whole below 8 Gbps.
fn grain(capacity: &[f64]) -> f64 {
    let fastest = capacity.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    // 125 MB/s make an eighth of a byte, but for rounding.
    libm::exp2(libm::floor(libm::log2(fastest * Time::RESOLUTION_S * (1.0 + 1e-9))))
}

/// All flows present, those that run, and at what rates.
#[derive(Debug, Default)]
pub struct Line {
    ports: usize,
    precedence: Precedence,
    capacity: Vec<f64>,
    /// See [`grain`].
    grain: f64,
    /// Flows that have joined so far.
    joined: u64,
    /// Flows that have started since the last allocation.
    coming: Vec<(CoflowId, u32)>,
    /// Links on which flows have ended since then, with their places.
    freed: Vec<(usize, Place)>,
    /// The flows of each pair.
    pairs: Pairs<Member, 0>,
    /// The first flows of the pairs at each link, the nearest last, since it goes first. Those that run
    /// are where they were when they last waited, so that a flow that stops and goes on costs no more.
    waiting: Vec<Vec<Waiting>>,
    /// The flows that run: who, which pair, place, bytes left, bytes per second.
    who: Vec<(CoflowId, u32)>,
    pair: Vec<u32>,
    place: Vec<Place>,
    left: Vec<f64>,
    rate: Vec<f64>,
    /// Pairs that run at each link, by place.
    at: Vec<Vec<u32>>,
    /// Capacity left at each link, and the place of the flow that filled it.
    free: Vec<f64>,
    filled_at: Vec<Place>,
    /// The place behind which each link is open; [`NOWHERE`] for links that are not.
    open: Vec<Place>,
    /// Place of each link's latest entry in `next`; [`NOWHERE`] for links that are not open.
    ahead: Vec<Place>,
    /// Up to which place a link is worth looking at from the other side: nobody behind the one that
    /// filled it is in line for it, and an open egress link looks by itself at all behind `ahead`.
    limit: Vec<Place>,
    /// Open links, each with who is next in line for it, or with a place before which nobody is.
    next: BinaryHeap<Reverse<(Place, u32, u32)>>,
    /// Flows that have given their links back since the last allocation.
    stopped: Vec<Running>,
}

impl Line {
    /// Nobody is in line.
    pub(super) fn clear(&mut self, precedence: Precedence, ports: usize, capacity: &[f64]) {
        let links = 2 * ports;
        self.ports = ports;
        self.precedence = precedence;
        self.capacity.clear();
        self.capacity.extend_from_slice(capacity);
        self.grain = grain(capacity);
        self.joined = 0;
        self.coming.clear();
        self.freed.clear();
        self.pairs.clear(ports);
        self.waiting.iter_mut().for_each(Vec::clear);
        self.waiting.resize_with(links, Vec::new);
        self.who.clear();
        self.pair.clear();
        self.place.clear();
        self.left.clear();
        self.rate.clear();
        self.at.iter_mut().for_each(Vec::clear);
        self.at.resize_with(links, Vec::new);
        self.free.clear();
        self.free.extend_from_slice(capacity);
        for places in [&mut self.filled_at, &mut self.open, &mut self.ahead, &mut self.limit] {
            places.clear();
            places.resize(links, NOWHERE);
        }
        self.next.clear();
        self.stopped.clear();
    }

    /// The flows that run.
    pub fn running(&self) -> impl Iterator<Item = Running> + '_ {
        (0..self.who.len()).map(|slot| self.running_at(slot))
    }

    fn running_at(&self, slot: usize) -> Running {
        let (coflow, position) = self.who[slot];
        Running { coflow, position, rate: self.rate[slot], left: self.left[slot] }
    }

    /// Flows that ran before the last allocation and may not run since, with what was left of them
    /// then.
    pub fn stopped(&self) -> &[Running] {
        &self.stopped
    }

    /// Bytes left of the flows that run, in the order of [`Line::running`], and their rates. To be
    /// brought up to date before an allocation.
    pub fn left_mut(&mut self) -> (&mut [f64], &[f64]) {
        (&mut self.left, &self.rate)
    }

    /// Rate of a flow in bytes per second.
    pub(super) fn rate_of(&self, state: &State, id: CoflowId, position: usize) -> f64 {
        let slot = self.pair_of(state, id, position).map_or(WAITS, |pair| self.slot(pair));
        match self.who.get(slot as usize) {
            Some(who) if *who == (id, position as u32) => self.rate[slot as usize],
            _ => 0.0,
        }
    }

    /// Where a pair's first flow is among those that run, or [`WAITS`].
    fn slot(&self, pair: usize) -> u32 {
        self.pairs.queue(pair).first().map_or(WAITS, |first| first.slot)
    }

    fn set_slot(&mut self, pair: usize, slot: usize) {
        if let Some(first) = self.pairs.queue_mut(pair).first_mut() {
            first.slot = slot as u32;
        }
    }

    /// The pair of a flow that is in line.
    fn pair_of(&self, state: &State, id: CoflowId, position: usize) -> Option<usize> {
        let (egress, ingress) = ends(state.coflow(id).demand(), position);
        self.pairs.find(egress.index(), ingress.index())
    }

    /// A flow has started; it joins with the next allocation.
    pub(super) fn join(&mut self, id: CoflowId, position: usize) {
        self.coming.push((id, position as u32));
    }

    /// The place of a flow with so many bytes left.
    fn place_with(&self, left: f64, number: u64) -> Place {
        let key = match self.precedence {
            Precedence::Oldest => number,
            Precedence::Shortest => (left.max(0.0) / self.grain).round_ties_even() as u64,
        };
        Place { key, number }
    }

    /// A flow has ended.
    pub(super) fn leave(&mut self, state: &State, id: CoflowId, position: usize) {
        let flow = (id, position as u32);
        if let Some(at) = self.coming.iter().rposition(|coming| *coming == flow) {
            self.coming.remove(at);
            return;
        }
        let Some(pair) = self.pair_of(state, id, position) else { return };
        let is_this = |m: &Member| (m.coflow, m.position) == flow;
        if self.pairs.queue(pair).first().is_some_and(is_this) {
            if self.slot(pair) != WAITS {
                // Whoever it kept waiting was behind it, and with nothing left it is before all others.
                let before = self.stop(pair);
                let place = self.place_with(0.0, before.number);
                self.freed.extend(self.pairs.links(pair).map(|link| (link, place)));
            }
            self.hide(pair);
            self.pairs.pop(pair);
            self.show(pair);
        } else {
            self.pairs.remove(pair, is_this);
        }
    }

    /// Lets the flows in line take what is free. Bytes left of those that run are up to date.
    pub(super) fn advance(&mut self, state: &State) {
        self.stopped.clear();
        if self.precedence == Precedence::Shortest {
            self.look_at_places(state);
        }
        while let Some((link, place)) = self.freed.pop() {
            self.open_from(link, place);
        }
        let mut coming = std::mem::take(&mut self.coming);
        for (id, position) in coming.drain(..) {
            self.seat(state, id, position);
        }
        self.coming = coming;
        while let Some(Reverse((place, link, pair))) = self.next.pop() {
            if pair != NOBODY && self.is_in_line(pair as usize, place) {
                self.serve(pair as usize, place);
                continue;
            }
            match self.next_in_line(link as usize) {
                Some((place, pair)) => {
                    self.set_ahead(link as usize, place);
                    self.next.push(Reverse((place, link, pair as u32)));
                }
                None => self.set_open(link as usize, NOWHERE),
            }
        }
    }

    /// Whether a pair's first flow, in `place` when it was found, still waits there for links that are
    /// not filled before it.
    fn is_in_line(&self, pair: usize, place: Place) -> bool {
        let first = self.pairs.queue(pair).first();
        first.is_some_and(|first| first.slot == WAITS && first.place == place)
            && self.pairs.links(pair).iter().all(|&link| place <= self.filled_at[link])
    }

    /// Brings the places of those that run, and among whom something has happened, up to date with what
    /// is left of them.
    ///
    /// They only move forward, and so stay before all whom they keep waiting. But where several share
    /// a link, one may have overtaken another; then everybody is looked at anew.
    fn look_at_places(&mut self, state: &State) {
        let mut shared = false;
        for slot in 0..self.who.len() {
            let links = self.pairs.links(self.pair[slot] as usize);
            if !state.has_events(LinkId(links[0] as u32)) {
                continue;
            }
            let before = self.place[slot];
            self.place[slot] = self.place_with(self.left[slot], before.number);
            for link in links {
                if self.filled_at[link] == before {
                    self.set_filled_at(link, self.place[slot]);
                }
                shared |= self.at[link].len() > 1;
            }
        }
        if shared {
            for link in 0..self.at.len() {
                while let Some(&pair) = self.at[link].last() {
                    self.give_back(pair as usize);
                }
                self.open_from(link, FRONT);
            }
        }
    }

    /// A flow joins the line of its pair.
    fn seat(&mut self, state: &State, coflow: CoflowId, position: u32) {
        let (egress, ingress) = ends(state.coflow(coflow).demand(), position as usize);
        let links = [egress.index(), ingress.index()];
        let progress = state.coflow(coflow).progress();
        let left = progress.left[position as usize] * progress.scale;
        self.joined += 1;
        let place = self.place_with(left, self.joined);
        let mut first = NOWHERE;
        if let Some(pair) = self.pairs.find(links[0], links[1]) {
            let runs = self.place.get(self.slot(pair) as usize).copied();
            if let Some(runs) = runs {
                self.move_first(pair, runs);
            }
            first = self.pairs.queue(pair).first().map_or(NOWHERE, |first| first.place);
            if place < first && runs.is_some() {
                let given_back = self.give_back(pair);
                links.iter().for_each(|&link| self.open_from(link, given_back));
            }
            if place < first {
                self.hide(pair);
            }
        }
        let member = Member { place, coflow, position, slot: WAITS, left };
        let pair = self.pairs.push(links[0], links[1], member);
        if place < first {
            self.show(pair);
            if links.iter().all(|&link| place <= self.filled_at[link]) {
                for link in links {
                    self.open_from(link, Place { number: place.number - 1, ..place });
                }
            }
        }
    }

    /// Gives a pair's first flow another place, which is nearer.
    fn move_first(&mut self, pair: usize, place: Place) {
        if self.pairs.queue(pair).first().is_some_and(|first| first.place != place) {
            self.hide(pair);
            if let Some(first) = self.pairs.queue_mut(pair).first_mut() {
                first.place = place;
            }
            self.show(pair);
        }
    }

    /// Shows a pair's first flow, if it has any, to its links.
    fn show(&mut self, pair: usize) {
        let Some(Member { place, .. }) = self.pairs.queue(pair).first().copied() else { return };
        let [egress, ingress] = self.pairs.links(pair);
        for (link, other) in [(egress, ingress), (ingress, egress)] {
            let (pair, other) = (pair as u32, other as u32);
            let at = self.behind(link, place);
            self.waiting[link].insert(at, Waiting { place, pair, other });
        }
    }

    /// Hides a pair's first flow from its links.
    fn hide(&mut self, pair: usize) {
        let Some(Member { place, .. }) = self.pairs.queue(pair).first().copied() else { return };
        for link in self.pairs.links(pair) {
            let at = self.behind(link, place);
            self.waiting[link].remove(at);
        }
    }

    /// So many of [`Line::waiting`] at a link are behind a place.
    fn behind(&self, link: usize, place: Place) -> usize {
        let waiting = &self.waiting[link];
        let all = waiting.len();
        // Mostly few are nearer: from the nearest on in steps that double, for what is far is not in
        // the processor's caches.
        let mut step = 1;
        while step <= all && waiting[all - step].place <= place {
            step *= 2;
        }
        let (from, to) = (all.saturating_sub(step), all - step / 2);
        from + waiting[from..to].partition_point(|waiting| waiting.place > place)
    }

    /// Whoever has a share of the link behind `place` gives it back, and the link is open from there
    /// on.
    fn open_from(&mut self, link: usize, place: Place) {
        self.clear_behind(link, place);
        if self.open[link] == NOWHERE || place < self.open[link] {
            self.set_open(link, place);
            self.next.push(Reverse((place, link as u32, NOBODY)));
        }
    }

    /// Whoever has a share of the link behind `place` gives it back.
    fn clear_behind(&mut self, link: usize, place: Place) {
        while let Some(&pair) = self.at[link].last() {
            let slot = self.slot(pair as usize) as usize;
            if self.place[slot] <= place {
                break;
            }
            let [egress, ingress] = self.pairs.links(pair as usize);
            let given_back = self.give_back(pair as usize);
            let other = if egress == link { ingress } else { egress };
            self.open_from(other, given_back);
        }
    }

    /// The first flow of a pair gives back what it has and is in line again. Returns its place.
    fn give_back(&mut self, pair: usize) -> Place {
        let mut running = self.running_at(self.slot(pair) as usize);
        running.left = rounded_bytes(running.left, running.rate);
        let place = self.stop(pair);
        // Nearer than before, so it stays the first.
        self.move_first(pair, place);
        if let Some(first) = self.pairs.queue_mut(pair).first_mut() {
            first.left = running.left;
        }
        self.stopped.push(running);
        place
    }

    /// Takes what it has from a flow that runs. Returns its place.
    fn stop(&mut self, pair: usize) -> Place {
        let slot = self.slot(pair) as usize;
        self.set_slot(pair, WAITS as usize);
        self.who.swap_remove(slot);
        self.pair.swap_remove(slot);
        self.left.swap_remove(slot);
        self.rate.swap_remove(slot);
        let place = self.place.swap_remove(slot);
        if let Some(&moved) = self.pair.get(slot) {
            self.set_slot(moved as usize, slot);
        }
        for link in self.pairs.links(pair) {
            self.at[link].retain(|&other| other as usize != pair);
            let rates = self.at[link].iter().map(|&p| self.rate[self.slot(p as usize) as usize]);
            self.free[link] = self.capacity[link] - rates.sum::<f64>();
            self.set_filled_at(link, NOWHERE);
        }
        place
    }

    fn set_open(&mut self, link: usize, place: Place) {
        self.open[link] = place;
        self.set_ahead(link, place);
    }

    fn set_ahead(&mut self, link: usize, place: Place) {
        self.ahead[link] = place;
        self.set_limit(link);
    }

    fn set_filled_at(&mut self, link: usize, place: Place) {
        self.filled_at[link] = place;
        self.set_limit(link);
    }

    fn set_limit(&mut self, link: usize) {
        let filled_at = self.filled_at[link];
        let is_egress = link < self.ports;
        self.limit[link] = if is_egress { filled_at.min(self.ahead[link]) } else { filled_at };
    }

    /// Who is next in line for an open link: place and pair. Whoever waits between two open links is
    /// found by the egress link alone.
    fn next_in_line(&self, link: usize) -> Option<(Place, usize)> {
        let from = self.open[link];
        if from == NOWHERE {
            return None;
        }
        let mut behind = self.waiting[link][..self.behind(link, from)].iter().rev();
        let is_in_line = |waiting: &&Waiting| {
            waiting.place <= self.limit[waiting.other as usize]
                && self.slot(waiting.pair as usize) == WAITS
        };
        let next = behind.find(is_in_line)?;
        Some((next.place, next.pair as usize))
    }

    /// The first flow of a pair takes all that is free on its links.
    fn serve(&mut self, pair: usize, place: Place) {
        let links = self.pairs.links(pair);
        for link in links {
            self.clear_behind(link, place);
        }
        let Some(first) = self.pairs.queue(pair).first().copied() else { return };
        let rate = self.free[links[0]].min(self.free[links[1]]);
        self.set_slot(pair, self.who.len());
        self.who.push((first.coflow, first.position));
        self.pair.push(pair as u32);
        self.place.push(place);
        self.left.push(first.left);
        self.rate.push(rate);
        for link in links {
            self.at[link].push(pair as u32);
            self.free[link] -= rate;
            if self.free[link] > self.capacity[link] * NEGLIGIBLE {
                self.set_open(link, place);
                self.next.push(Reverse((place, link as u32, NOBODY)));
            } else {
                self.free[link] = 0.0;
                self.set_filled_at(link, place);
                self.set_open(link, NOWHERE);
            }
        }
    }
}
