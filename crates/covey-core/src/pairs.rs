//! Flows by pair of ports. The memory depends on the pairs that have flows, not on the number of
//! ports.
//!
//! Each link has a [`Row`] with an entry for each port at the other side to which it has flows. A
//! row with few entries is a list by port. A row with many is *spread*: it has an entry for every
//! port, so that a loop over it and over numbers of all ports compiles to vector instructions.
//! Entries come by port in both forms, so that results are the same to the bit.

use std::array;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A row is spread when it has entries for more than one port in `SPREAD`, and becomes a list again
/// when it has entries for less than one in `LISTED`. On 5,000 ports with a million flows, which
/// are between one pair in 25, `fair` took 1.5 GB with all rows spread, and takes 0.2 with lists;
/// `wss` took 7.5 s of CPU, and takes 2.
const SPREAD: usize = 4;
const LISTED: usize = 8;

/// One link's entries, by the port at the other side. An entry is a tag, which is not the default
/// one, and `COLUMNS` numbers. Where a spread row has no entry, its tag is the default one and its
/// numbers are infinite.
#[derive(Debug)]
pub struct Row<T, const COLUMNS: usize> {
    /// Number of entries.
    entries: usize,
    /// Number of ports at the other side.
    all: usize,
    is_spread: bool,
    /// Ports of a list, ascending.
    ports: Vec<u32>,
    tags: Vec<T>,
    columns: [Vec<f64>; COLUMNS],
}

impl<T, const COLUMNS: usize> Default for Row<T, COLUMNS> {
    fn default() -> Self {
        Row {
            entries: 0,
            all: 0,
            is_spread: false,
            ports: Vec::new(),
            tags: Vec::new(),
            columns: array::from_fn(|_| Vec::new()),
        }
    }
}

impl<T: Copy + Default + PartialEq, const COLUMNS: usize> Row<T, COLUMNS> {
    /// No entries, of a link with `all` ports at the other side.
    pub fn clear(&mut self, all: usize) {
        (self.entries, self.all, self.is_spread) = (0, all, false);
        self.resize(0);
        self.ports.clear();
    }

    fn resize(&mut self, places: usize) {
        self.tags.resize(places, T::default());
        self.columns.iter_mut().for_each(|column| column.resize(places, f64::INFINITY));
    }

    /// Ports of the entries, ascending; `None` if the row is spread, so that the place of an entry
    /// is its port.
    #[inline]
    pub fn ports(&self) -> Option<&[u32]> {
        (!self.is_spread).then_some(&*self.ports)
    }

    /// Tags by place.
    #[inline]
    pub fn tags(&self) -> &[T] {
        &self.tags
    }

    /// Numbers of a column by place.
    #[inline]
    pub fn column(&self, column: usize) -> &[f64] {
        &self.columns[column]
    }

    #[inline]
    fn find(&self, port: usize) -> Option<usize> {
        if self.is_spread {
            (self.tags[port] != T::default()).then_some(port)
        } else {
            self.ports.binary_search(&(port as u32)).ok()
        }
    }

    /// The tag of a port's entry; the default one if there is none.
    #[inline]
    pub fn tag(&self, port: usize) -> T {
        self.find(port).map_or(T::default(), |place| self.tags[place])
    }

    /// Changes the tag of a port's entry. An entry that changes to the default tag is removed.
    /// Where there is no entry, `change` is given the default tag, and the new entry has infinite
    /// numbers.
    #[inline]
    pub fn change_tag(&mut self, port: usize, change: impl FnOnce(T) -> T) {
        let place = self.find(port);
        let tag = change(place.map_or(T::default(), |place| self.tags[place]));
        match place {
            Some(place) if tag == T::default() => self.remove(place),
            Some(place) => self.tags[place] = tag,
            None if tag == T::default() => {}
            None => self.insert(port, tag),
        }
    }

    /// The numbers of a port's entry; infinite if there is none.
    #[inline]
    pub fn get(&self, port: usize) -> [f64; COLUMNS] {
        // A spread row has infinite numbers where there is no entry.
        let place = if self.is_spread { Some(port) } else { self.find(port) };
        match place {
            Some(place) => array::from_fn(|column| self.columns[column][place]),
            None => [f64::INFINITY; COLUMNS],
        }
    }

    /// Changes the numbers of a port's entry.
    #[inline]
    pub fn set(&mut self, port: usize, numbers: [f64; COLUMNS]) {
        if let Some(place) = self.find(port) {
            for (column, number) in self.columns.iter_mut().zip(numbers) {
                column[place] = number;
            }
        }
    }

    fn insert(&mut self, port: usize, tag: T) {
        self.entries += 1;
        if !self.is_spread && self.entries * SPREAD > self.all {
            self.spread();
        }
        if self.is_spread {
            self.tags[port] = tag;
            return;
        }
        let place = self.ports.partition_point(|&other| (other as usize) < port);
        self.ports.insert(place, port as u32);
        self.tags.insert(place, tag);
        self.columns.iter_mut().for_each(|column| column.insert(place, f64::INFINITY));
    }

    fn remove(&mut self, place: usize) {
        self.entries -= 1;
        if self.is_spread {
            self.tags[place] = T::default();
            self.columns.iter_mut().for_each(|column| column[place] = f64::INFINITY);
            if self.entries * LISTED < self.all {
                self.list();
            }
        } else {
            self.ports.remove(place);
            self.tags.remove(place);
            self.columns.iter_mut().for_each(|column| _ = column.remove(place));
        }
    }

    /// Moves each entry of the list to the place of its port.
    fn spread(&mut self) {
        self.is_spread = true;
        self.resize(self.all);
        // The last first, so that no entry moves to where another one still is.
        for (place, port) in self.ports.drain(..).enumerate().rev() {
            let port = port as usize;
            if place != port {
                self.tags[port] = std::mem::take(&mut self.tags[place]);
                for column in &mut self.columns {
                    column[port] = std::mem::replace(&mut column[place], f64::INFINITY);
                }
            }
        }
    }

    /// Moves the entries together.
    fn list(&mut self) {
        self.is_spread = false;
        for port in 0..self.all {
            if self.tags[port] != T::default() {
                let place = self.ports.len();
                self.tags[place] = self.tags[port];
                self.columns.iter_mut().for_each(|column| column[place] = column[port]);
                self.ports.push(port as u32);
            }
        }
        self.resize(self.entries);
    }
}

/// Members of one pair, the least first. Most pairs have one at a time, which takes no memory of
/// its own.
#[derive(Debug)]
pub struct Queue<M> {
    first: Option<M>,
    rest: BinaryHeap<Reverse<M>>,
}

impl<M> Default for Queue<M> {
    fn default() -> Self {
        Queue { first: None, rest: BinaryHeap::new() }
    }
}

impl<M: Ord + Copy> Queue<M> {
    /// The least.
    #[inline]
    pub fn first(&self) -> Option<&M> {
        self.first.as_ref()
    }

    /// The least, to be changed into one that is still the least.
    #[inline]
    pub fn first_mut(&mut self) -> Option<&mut M> {
        self.first.as_mut()
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.first = None;
        self.rest.clear();
    }

    /// All members, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &M> {
        self.first.iter().chain(self.rest.iter().map(|Reverse(member)| member))
    }

    /// Adds a member.
    pub fn push(&mut self, member: M) {
        let later = match self.first {
            Some(first) if first <= member => Some(member),
            _ => self.first.replace(member),
        };
        if let Some(later) = later {
            self.rest.push(Reverse(later));
        }
    }

    /// Removes the least.
    pub fn pop(&mut self) {
        self.first = self.rest.pop().map(|Reverse(member)| member);
    }

    /// Removes the member for which `is_it` returns true, of which there is at most one.
    pub fn remove(&mut self, is_it: impl Fn(&M) -> bool) {
        if self.first.as_ref().is_some_and(&is_it) {
            self.pop();
        } else {
            self.rest.retain(|Reverse(member)| !is_it(member));
        }
    }
}

/// The pairs of ports that have members. Each has an id, its [`Queue`], and an entry in the rows of
/// both its links: sending ports are the links `0..ports`, receiving ports `ports..2 * ports`.
///
/// An id is used again when the last member of its pair has gone.
#[derive(Debug)]
pub struct Pairs<M, const COLUMNS: usize> {
    ports: usize,
    /// By link. The tag is the id of the pair, plus 1.
    rows: Vec<Row<u32, COLUMNS>>,
    /// By pair, its links, sender first.
    links: Vec<[u32; 2]>,
    /// By pair, its members.
    queues: Vec<Queue<M>>,
    /// Ids that are free.
    vacant: Vec<u32>,
}

impl<M, const COLUMNS: usize> Default for Pairs<M, COLUMNS> {
    fn default() -> Self {
        Pairs {
            ports: 0,
            rows: Vec::new(),
            links: Vec::new(),
            queues: Vec::new(),
            vacant: Vec::new(),
        }
    }
}

impl<M: Ord + Copy, const COLUMNS: usize> Pairs<M, COLUMNS> {
    /// No pairs.
    pub fn clear(&mut self, ports: usize) {
        self.ports = ports;
        self.rows.resize_with(2 * ports, Row::default);
        self.rows.iter_mut().for_each(|row| row.clear(ports));
        self.queues.iter_mut().for_each(Queue::clear);
        // Each run uses the same ids in the same order.
        self.vacant.clear();
        self.vacant.extend((0..self.queues.len() as u32).rev());
    }

    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Ids of pairs are less than this.
    pub fn bound(&self) -> usize {
        self.queues.len()
    }

    /// The links of a pair, sender first.
    #[inline]
    pub fn links(&self, pair: usize) -> [usize; 2] {
        self.links[pair].map(|link| link as usize)
    }

    /// A link's row.
    #[inline]
    pub fn row(&self, link: usize) -> &Row<u32, COLUMNS> {
        &self.rows[link]
    }

    /// The pair of an entry in a link's row; `None` where a spread row has no entry.
    #[inline]
    pub fn at(&self, link: usize, place: usize) -> Option<usize> {
        (self.rows[link].tags[place] as usize).checked_sub(1)
    }

    /// The pair between two links, if it has members.
    #[inline]
    pub fn find(&self, egress: usize, ingress: usize) -> Option<usize> {
        (self.rows[egress].tag(ingress - self.ports) as usize).checked_sub(1)
    }

    /// The numbers of a pair in the row of its `end`: 0 for the sender's, 1 for the receiver's.
    #[inline]
    pub fn get(&self, pair: usize, end: usize) -> [f64; COLUMNS] {
        let (link, port) = self.entry(pair, end);
        self.rows[link].get(port)
    }

    /// Changes the numbers of a pair in the row of its `end`.
    #[inline]
    pub fn set(&mut self, pair: usize, end: usize, numbers: [f64; COLUMNS]) {
        let (link, port) = self.entry(pair, end);
        self.rows[link].set(port, numbers);
    }

    /// The link at an end of a pair, and the port of the pair's entry there.
    #[inline]
    fn entry(&self, pair: usize, end: usize) -> (usize, usize) {
        let [egress, ingress] = self.links(pair);
        if end == 0 { (egress, ingress - self.ports) } else { (ingress, egress) }
    }

    /// A pair's members.
    #[inline]
    pub fn queue(&self, pair: usize) -> &Queue<M> {
        &self.queues[pair]
    }

    /// A pair's members, to change the first.
    #[inline]
    pub fn queue_mut(&mut self, pair: usize) -> &mut Queue<M> {
        &mut self.queues[pair]
    }

    /// Adds a member to the pair between two links. Returns the id of the pair.
    pub fn push(&mut self, egress: usize, ingress: usize, member: M) -> usize {
        let pair = self.find(egress, ingress).unwrap_or_else(|| self.enter(egress, ingress));
        self.queues[pair].push(member);
        pair
    }

    fn enter(&mut self, egress: usize, ingress: usize) -> usize {
        let links = [egress as u32, ingress as u32];
        let pair = match self.vacant.pop() {
            Some(pair) => pair as usize,
            None => {
                self.links.push(links);
                self.queues.push(Queue::default());
                self.queues.len() - 1
            }
        };
        self.links[pair] = links;
        self.rows[egress].change_tag(ingress - self.ports, |_| pair as u32 + 1);
        self.rows[ingress].change_tag(egress, |_| pair as u32 + 1);
        pair
    }

    /// Removes the first member of a pair, and the pair if that was its last member.
    pub fn pop(&mut self, pair: usize) {
        self.queues[pair].pop();
        self.leave_if_empty(pair);
    }

    /// Removes the member of a pair for which `is_it` returns true, of which there is at most one;
    /// and the pair if that was its last member.
    pub fn remove(&mut self, pair: usize, is_it: impl Fn(&M) -> bool) {
        self.queues[pair].remove(is_it);
        self.leave_if_empty(pair);
    }

    fn leave_if_empty(&mut self, pair: usize) {
        if self.queues[pair].first.is_none() {
            let [egress, ingress] = self.links(pair);
            self.rows[egress].change_tag(ingress - self.ports, |_| 0);
            self.rows[ingress].change_tag(egress, |_| 0);
            self.vacant.push(pair as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Pseudo-random numbers below a bound.
    fn numbers() -> impl FnMut(usize) -> usize {
        let mut seed = 1_u32;
        move |below| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        }
    }

    #[test]
    fn a_row_is_a_map_in_both_its_forms() {
        const ALL: usize = 40;
        let mut next = numbers();
        let (mut row, mut map) = (Row::<u32, 2>::default(), BTreeMap::new());
        let mut forms = 0;
        row.clear(ALL);
        for step in 0..4000 {
            // More come for a while, then more go.
            let (port, comes) = (next(ALL), next(16) < if step % 400 < 200 { 14 } else { 1 });
            let was_spread = row.ports().is_none();
            row.change_tag(port, |tag| {
                assert_eq!(tag, map.get(&port).map_or(0, |(tag, _)| *tag));
                if comes { step + 1 } else { 0 }
            });
            match comes {
                true => map.entry(port).or_insert((0, [f64::INFINITY; 2])).0 = step + 1,
                false => drop(map.remove(&port)),
            }
            forms += usize::from(row.ports().is_none() != was_spread);
            let port = next(ALL);
            let numbers = [f64::from(step), next(100) as f64];
            row.set(port, numbers);
            map.entry(port).and_modify(|entry| entry.1 = numbers);
            for port in 0..ALL {
                let (tag, numbers) = map.get(&port).copied().unwrap_or((0, [f64::INFINITY; 2]));
                assert_eq!((row.tag(port), row.get(port)), (tag, numbers));
            }
            let entries = row.tags().iter().zip(row.column(0)).zip(row.column(1));
            let found =
                entries.filter(|((tag, _), _)| **tag != 0).map(|((&tag, &a), &b)| (tag, [a, b]));
            assert!(found.eq(map.values().copied()), "by port");
            if let Some(ports) = row.ports() {
                assert!(ports.iter().map(|&port| port as usize).eq(map.keys().copied()));
                assert!(row.tags().len() == ports.len() && row.column(0).len() == ports.len());
            }
        }
        assert!(forms > 10, "{forms}");
    }

    #[test]
    fn pairs_have_their_members_the_least_first() {
        const PORTS: usize = 9;
        let mut next = numbers();
        let mut pairs = Pairs::<usize, 1>::default();
        for _ in 0..2 {
            pairs.clear(PORTS);
            let mut map = BTreeMap::<(usize, usize), BTreeSet<usize>>::new();
            for member in 0..2000 {
                let ends = (next(PORTS), PORTS + next(PORTS));
                if next(2) == 0 {
                    let key = (next(100) << 20) + member;
                    let pair = pairs.push(ends.0, ends.1, key);
                    assert_eq!(pairs.links(pair), [ends.0, ends.1]);
                    map.entry(ends).or_default().insert(key);
                } else if let Some(members) = map.get_mut(&ends) {
                    let pair = pairs.find(ends.0, ends.1).unwrap();
                    let which = members.iter().nth(next(members.len())).copied().unwrap();
                    if next(2) == 0 {
                        pairs.pop(pair);
                        members.pop_first();
                    } else {
                        pairs.remove(pair, |&member| member == which);
                        members.remove(&which);
                    }
                }
                map.retain(|_, members| !members.is_empty());
                for (egress, ingress) in (0..PORTS * PORTS).map(|k| (k / PORTS, PORTS + k % PORTS))
                {
                    let members = map.get(&(egress, ingress));
                    let pair = pairs.find(egress, ingress);
                    assert_eq!(pair.is_some(), members.is_some());
                    if let (Some(pair), Some(members)) = (pair, members) {
                        assert_eq!(pairs.queue(pair).first(), members.first());
                        let mut all: Vec<usize> = pairs.queue(pair).iter().copied().collect();
                        all.sort_unstable();
                        assert!(all.iter().eq(members));
                        let row = pairs.row(ingress);
                        let place = row.ports().map_or(Some(egress), |ports| {
                            ports.iter().position(|&port| port as usize == egress)
                        });
                        assert_eq!(pairs.at(ingress, place.unwrap()), Some(pair));
                    }
                }
            }
            assert!(pairs.bound() <= PORTS * PORTS);
        }
    }
}
