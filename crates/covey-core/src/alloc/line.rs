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
use std::ops::Range;

use super::{NEGLIGIBLE, ends};
use crate::ids::{CoflowId, LinkId};
use crate::lanes;
use crate::rounding::rounded_bytes;
use crate::state::State;
use crate::time::Time;

/// A flow's place in line: less is nearer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    /// What decides; never negative.
    key: f64,
    /// The number under which the flow joined, from 1, which breaks ties. Whole, and so exact up to
    /// 2^53.
    number: f64,
}

/// Before everybody, and behind everybody.
const FRONT: Place = Place { key: 0.0, number: 0.0 };
const NOWHERE: Place = Place { key: f64::INFINITY, number: f64::INFINITY };
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
    /// Bytes left when it last did not run.
    left: f64,
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Place) -> Ordering {
        self.key.total_cmp(&other.key).then(self.number.total_cmp(&other.number))
    }
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

/// The power of two below what the fastest link carries in a nanosecond: bytes left are compared in
/// multiples of this, as moments so close are one. Whole bytes stay whole below 8 Gbps.
fn grain(capacity: &[f64]) -> f64 {
    let fastest = capacity.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    // 125 MB/s make an eighth of a byte, but for rounding.
    libm::exp2(libm::floor(libm::log2(fastest * Time::RESOLUTION_S * (1.0 + 1e-9))))
}

/// All flows present, those that run, and at what rates.
///
/// Memory is quadratic in the number of ports: some 64 bytes a pair.
#[derive(Debug, Default)]
pub struct Line {
    ports: usize,
    precedence: Precedence,
    capacity: Vec<f64>,
    /// See [`grain`].
    grain: f64,
    /// Flows that have joined so far.
    joined: f64,
    /// Flows that have started since the last allocation.
    coming: Vec<(CoflowId, u32)>,
    /// Links on which flows have ended since then, with their places.
    freed: Vec<(usize, Place)>,
    /// The flows of each pair `src * ports + dst`.
    members: Vec<BinaryHeap<Reverse<Member>>>,
    /// Place of the first flow of each pair, as each link sees it: at `link * ports + other port`.
    /// [`NOWHERE`] where there is none or it runs.
    first: Places,
    /// Where each pair's first flow is among those that run, or [`WAITS`].
    slot: Vec<u32>,
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
    filled_at: Places,
    /// The place behind which each link is open; [`NOWHERE`] for links that are not.
    open: Vec<Place>,
    /// Place of each link's latest entry in `next`; [`NOWHERE`] for links that are not open.
    ahead: Vec<Place>,
    /// Up to which place a link is worth looking at from the other side: nobody behind the one that
    /// filled it is in line for it, and an open egress link looks by itself at all behind `ahead`.
    limit: Places,
    /// Open links, each with who is next in line for it, or with a place before which nobody is.
    next: BinaryHeap<Reverse<(Place, u32, u32)>>,
    /// Flows that have given their links back since the last allocation.
    stopped: Vec<Running>,
}

impl Line {
    /// Nobody is in line.
    pub(super) fn clear(&mut self, precedence: Precedence, ports: usize, capacity: &[f64]) {
        let (pairs, links) = (ports * ports, 2 * ports);
        self.ports = ports;
        self.precedence = precedence;
        self.capacity.clear();
        self.capacity.extend_from_slice(capacity);
        self.grain = grain(capacity);
        self.joined = 0.0;
        self.coming.clear();
        self.freed.clear();
        self.members.iter_mut().for_each(BinaryHeap::clear);
        self.members.resize_with(pairs, BinaryHeap::new);
        self.first.clear(2 * pairs);
        self.slot.clear();
        self.slot.resize(pairs, WAITS);
        self.who.clear();
        self.pair.clear();
        self.place.clear();
        self.left.clear();
        self.rate.clear();
        self.at.iter_mut().for_each(Vec::clear);
        self.at.resize_with(links, Vec::new);
        self.free.clear();
        self.free.extend_from_slice(capacity);
        self.filled_at.clear(links);
        self.limit.clear(links);
        self.open.clear();
        self.open.resize(links, NOWHERE);
        self.ahead.clear();
        self.ahead.resize(links, NOWHERE);
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
    pub(super) fn rate(&self, state: &State, id: CoflowId, position: usize) -> f64 {
        let slot = self.slot[self.pair_of(state, id, position)];
        match self.who.get(slot as usize) {
            Some(who) if *who == (id, position as u32) => self.rate[slot as usize],
            _ => 0.0,
        }
    }

    fn pair_of(&self, state: &State, id: CoflowId, position: usize) -> usize {
        let (egress, ingress) = ends(state.coflow(id).demand(), position);
        egress.index() * self.ports + ingress.index() - self.ports
    }

    /// The two links of a pair, and where they keep its place in `first`.
    fn links_of(&self, pair: usize) -> [(usize, usize); 2] {
        let (src, dst) = (pair / self.ports, pair % self.ports);
        let ingress = self.ports + dst;
        [(src, pair), (ingress, ingress * self.ports + src)]
    }

    /// A flow has started; it joins with the next allocation.
    pub(super) fn join(&mut self, id: CoflowId, position: usize) {
        self.coming.push((id, position as u32));
    }

    /// The place of a flow with so many bytes left.
    fn place_with(&self, left: f64, number: f64) -> Place {
        let key = match self.precedence {
            Precedence::Oldest => number,
            Precedence::Shortest => (left.max(0.0) / self.grain).round_ties_even(),
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
        let pair = self.pair_of(state, id, position);
        let is_this = |m: &Member| (m.coflow, m.position) == flow;
        if self.members[pair].peek().is_some_and(|Reverse(first)| is_this(first)) {
            self.members[pair].pop();
            if self.slot[pair] != WAITS {
                // Whoever it kept waiting was behind it, and with nothing left it is before all others.
                let before = self.stop(pair);
                let place = self.place_with(0.0, before.number);
                let links = self.links_of(pair).map(|(link, _)| (link, place));
                self.freed.extend(links);
            }
            self.see_first(pair);
        } else {
            self.members[pair].retain(|Reverse(member)| !is_this(member));
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
        let links = self.links_of(pair);
        self.first.get(pair) == place
            && links.iter().all(|&(link, _)| place <= self.filled_at.get(link))
    }

    /// Brings the places of those that run, and among whom something has happened, up to date with what
    /// is left of them.
    ///
    /// They only move forward, and so stay before all whom they keep waiting. But where several share
    /// a link, one may have overtaken another; then everybody is looked at anew.
    fn look_at_places(&mut self, state: &State) {
        let mut shared = false;
        for slot in 0..self.who.len() {
            let [(link, _), _] = self.links_of(self.pair[slot] as usize);
            if !state.is_eventful(LinkId(link as u32)) {
                continue;
            }
            let before = self.place[slot];
            self.place[slot] = self.place_with(self.left[slot], before.number);
            for (link, _) in self.links_of(self.pair[slot] as usize) {
                if self.filled_at.get(link) == before {
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
        let pair = self.pair_of(state, coflow, position as usize);
        let progress = state.coflow(coflow).progress();
        let left = progress.left[position as usize] * progress.scale;
        self.joined += 1.0;
        let place = self.place_with(left, self.joined);
        let slot = self.slot[pair] as usize;
        let runs_first = self.place.get(slot).copied();
        let waits_first = self.members[pair].peek().map_or(NOWHERE, |Reverse(first)| first.place);
        let first = runs_first.unwrap_or(waits_first);
        if place < first && runs_first.is_some() {
            let given_back = self.give_back(pair);
            for (link, _) in self.links_of(pair) {
                self.open_from(link, given_back);
            }
        }
        if let (Some(runs), Some(mut first)) = (runs_first, self.members[pair].peek_mut()) {
            first.0.place = runs;
        }
        self.members[pair].push(Reverse(Member { place, coflow, position, left }));
        if place < first {
            self.see_first(pair);
            let links = self.links_of(pair).map(|(link, _)| link);
            if links.iter().all(|&link| place <= self.filled_at.get(link)) {
                for link in links {
                    self.open_from(link, Place { number: place.number - 1.0, ..place });
                }
            }
        }
    }

    /// Shows a pair's first flow, which does not run, to its links.
    fn see_first(&mut self, pair: usize) {
        let place = self.members[pair].peek().map_or(NOWHERE, |Reverse(first)| first.place);
        for (_, seen) in self.links_of(pair) {
            self.first.set(seen, place);
        }
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
            let slot = self.slot[pair as usize] as usize;
            if self.place[slot] <= place {
                break;
            }
            let [(egress, _), (ingress, _)] = self.links_of(pair as usize);
            let given_back = self.give_back(pair as usize);
            let other = if egress == link { ingress } else { egress };
            self.open_from(other, given_back);
        }
    }

    /// The first flow of a pair gives back what it has and is in line again. Returns its place.
    fn give_back(&mut self, pair: usize) -> Place {
        let mut running = self.running_at(self.slot[pair] as usize);
        running.left = rounded_bytes(running.left, running.rate);
        let place = self.stop(pair);
        if let Some(mut first) = self.members[pair].peek_mut() {
            // Nearer than before, so it stays the first.
            first.0.place = place;
            first.0.left = running.left;
        }
        self.see_first(pair);
        self.stopped.push(running);
        place
    }

    /// Takes what it has from a flow that runs. Returns its place.
    fn stop(&mut self, pair: usize) -> Place {
        let slot = std::mem::replace(&mut self.slot[pair], WAITS) as usize;
        self.who.swap_remove(slot);
        self.pair.swap_remove(slot);
        self.left.swap_remove(slot);
        self.rate.swap_remove(slot);
        let place = self.place.swap_remove(slot);
        if let Some(&moved) = self.pair.get(slot) {
            self.slot[moved as usize] = slot as u32;
        }
        for (link, _) in self.links_of(pair) {
            self.at[link].retain(|&other| other as usize != pair);
            let rates = self.at[link].iter().map(|&p| self.rate[self.slot[p as usize] as usize]);
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
        self.filled_at.set(link, place);
        self.set_limit(link);
    }

    fn set_limit(&mut self, link: usize) {
        let filled_at = self.filled_at.get(link);
        let is_egress = link < self.ports;
        self.limit.set(link, if is_egress { filled_at.min(self.ahead[link]) } else { filled_at });
    }

    /// Who is next in line for an open link: place and pair. Whoever waits between two open links is
    /// found by the egress link alone.
    fn next_in_line(&self, link: usize) -> Option<(Place, usize)> {
        let from = self.open[link];
        if from == NOWHERE {
            return None;
        }
        let ports = self.ports;
        let others = if link < ports { ports..2 * ports } else { 0..ports };
        let seen = link * ports..(link + 1) * ports;
        let (other, place) = self.first.nearest(seen, from, &self.limit, others)?;
        let pair = if link < ports { link * ports + other } else { other * ports + link - ports };
        Some((place, pair))
    }

    /// The first flow of a pair takes all that is free on its links.
    fn serve(&mut self, pair: usize, place: Place) {
        let links = self.links_of(pair).map(|(link, _)| link);
        for link in links {
            self.clear_behind(link, place);
        }
        let Some(Reverse(first)) = self.members[pair].peek() else { return };
        let rate = self.free[links[0]].min(self.free[links[1]]);
        self.slot[pair] = self.who.len() as u32;
        self.who.push((first.coflow, first.position));
        self.pair.push(pair as u32);
        self.place.push(place);
        self.left.push(first.left);
        self.rate.push(rate);
        for (_, seen) in self.links_of(pair) {
            self.first.set(seen, NOWHERE);
        }
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

/// Places, in a form of which vector instructions find the nearest.
#[derive(Debug, Default)]
struct Places {
    key: Vec<f64>,
    number: Vec<f64>,
}

impl Places {
    /// [`NOWHERE`], so many times.
    fn clear(&mut self, count: usize) {
        for half in [&mut self.key, &mut self.number] {
            half.clear();
            half.resize(count, f64::INFINITY);
        }
    }

    fn get(&self, k: usize) -> Place {
        Place { key: self.key[k], number: self.number[k] }
    }

    fn set(&mut self, k: usize, place: Place) {
        self.key[k] = place.key;
        self.number[k] = place.number;
    }

    /// The nearest place of a range, and its number therein, that is behind `from` and not behind its
    /// counterpart among `limits`.
    fn nearest(
        &self,
        range: Range<usize>,
        from: Place,
        limits: &Places,
        of_limits: Range<usize>,
    ) -> Option<(usize, Place)> {
        let places = (&self.key[range.clone()], &self.number[range]);
        let limits = (&limits.key[of_limits.clone()], &limits.number[of_limits]);
        let mut key = from.key;
        loop {
            key = least_between(key, places.0, limits.0);
            if key == f64::INFINITY {
                return None;
            }
            // Among equal keys numbers decide, also whether one is in range at all.
            let after = if key > from.key { FRONT.number } else { from.number };
            let number = least_number(key, after, places, limits);
            if number < f64::INFINITY {
                let nearest = lanes::position(places.1, number)?;
                return Some((nearest, Place { key, number }));
            }
            key = key.next_up();
        }
    }
}

/// The least of `keys` that is neither below `least` nor above its counterpart in `limits`, or
/// infinite; in a form that compiles to vector instructions.
fn least_between(least: f64, keys: &[f64], limits: &[f64]) -> f64 {
    let worth = |[key, limit]: [f64; 2]| {
        if (key >= least) & (key <= limit) { key } else { f64::INFINITY }
    };
    lanes::least_of([keys, limits], worth)
}

/// The least number behind `after` of those places whose key is `key` and that are not behind their
/// counterparts in `limits`, or infinite; likewise.
fn least_number(
    key: f64,
    after: f64,
    (keys, numbers): (&[f64], &[f64]),
    (limit_keys, limit_numbers): (&[f64], &[f64]),
) -> f64 {
    let worth = |[own, number, limit, limit_number]: [f64; 4]| {
        let before = (key < limit) | (key == limit) & (number <= limit_number);
        if (own == key) & (number > after) & before { number } else { f64::INFINITY }
    };
    lanes::least_of([keys, numbers, limit_keys, limit_numbers], worth)
}
