//! Flows by path: flows that cross the same links in the same order form a queue.
//!
//! The memory depends on the paths that have flows, not on the number of pairs of ports. Paths have
//! any length, and two flows between the same ports may have different ones. A queue is found by a
//! hash of its path. Nothing goes through the queues in the order of the hash.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::flow_order::Member;
use super::queue::Queue;
use covey_core::OptionalIndex;

/// The paths that have flows. Each has an id, which is used again when its last flow has gone.
#[derive(Debug, Default)]
pub struct PathQueues {
    /// By queue, its flows.
    queues: Vec<Queue<Member>>,
    /// By queue, where its path is in `links`.
    path: Vec<(u32, u32)>,
    /// The links of all paths.
    links: Vec<u32>,
    /// By queue, the hash of its path.
    hash: Vec<u64>,
    /// By the last bits of a hash, the first queue with it.
    first: Vec<OptionalIndex>,
    /// By queue, the next one with the same last bits.
    next: Vec<OptionalIndex>,
    /// By the length of their paths, the ids that are free. The lowest is taken first.
    vacant: Vec<BinaryHeap<Reverse<u32>>>,
    /// Number of queues.
    count: usize,
}

impl PathQueues {
    /// No flows. The memory is kept.
    pub fn clear(&mut self) {
        self.first.fill(OptionalIndex::NONE);
        self.count = 0;
        self.vacant.iter_mut().for_each(BinaryHeap::clear);
        for queue in (0..self.queues.len()).rev() {
            self.queues[queue].clear();
            self.vacate(queue);
        }
    }

    /// The queue of a path, if it has flows.
    pub fn find(&self, path: impl Iterator<Item = u32> + Clone) -> Option<usize> {
        self.find_hashed(hash(path.clone()), path)
    }

    fn find_hashed(&self, hash: u64, path: impl Iterator<Item = u32> + Clone) -> Option<usize> {
        let mut next = *self.first.get(self.bucket(hash))?;
        while let Some(queue) = next.get() {
            let q = queue as usize;
            if self.hash[q] == hash && path.clone().eq(self.links(q).iter().copied()) {
                return Some(q);
            }
            next = self.next[q];
        }
        None
    }

    fn bucket(&self, hash: u64) -> usize {
        hash as usize & self.first.len().wrapping_sub(1)
    }

    /// The links of a queue's path.
    #[inline]
    pub fn links(&self, queue: usize) -> &[u32] {
        let (start, end) = self.path[queue];
        &self.links[start as usize..end as usize]
    }

    /// A queue's first flow.
    #[inline]
    pub fn first(&self, queue: usize) -> Option<&Member> {
        self.queues[queue].first()
    }

    /// The same, to be changed into one that is still the first.
    #[inline]
    pub fn first_mut(&mut self, queue: usize) -> Option<&mut Member> {
        self.queues[queue].first_mut()
    }

    /// Ids of queues are below this: so long are lists by queue.
    pub fn bound(&self) -> usize {
        self.queues.len()
    }

    /// Adds a flow to the queue of its path. Returns the id of the queue.
    pub fn push(&mut self, path: impl Iterator<Item = u32> + Clone, member: Member) -> usize {
        let hash = hash(path.clone());
        let found = self.find_hashed(hash, path.clone());
        let queue = found.unwrap_or_else(|| self.enter(hash, path));
        self.queues[queue].push(member);
        queue
    }

    fn enter(&mut self, hash: u64, path: impl Iterator<Item = u32> + Clone) -> usize {
        if self.count >= self.first.len() {
            self.grow();
        }
        self.count += 1;
        let length = path.clone().count();
        let vacant = self.vacant.get_mut(length).and_then(BinaryHeap::pop);
        let queue = vacant.map_or(self.queues.len(), |Reverse(queue)| queue as usize);
        if vacant.is_none() {
            let start = self.links.len() as u32;
            self.links.extend(path);
            self.path.push((start, self.links.len() as u32));
            self.hash.push(hash);
            self.next.push(OptionalIndex::NONE);
            self.queues.push(Queue::default());
        } else {
            let start = self.path[queue].0 as usize;
            self.links[start..].iter_mut().zip(path).for_each(|(to, link)| *to = link);
            self.hash[queue] = hash;
        }
        self.chain(queue);
        queue
    }

    /// Makes a queue the first one with the last bits of its hash.
    fn chain(&mut self, queue: usize) {
        let bucket = self.bucket(self.hash[queue]);
        let first = OptionalIndex::some(queue as u32);
        self.next[queue] = std::mem::replace(&mut self.first[bucket], first);
    }

    /// Twice as many chains. No queue is in one of them that has no flows.
    fn grow(&mut self) {
        let buckets = 2 * self.first.len().max(32);
        self.first.clear();
        self.first.resize(buckets, OptionalIndex::NONE);
        for queue in 0..self.queues.len() {
            if self.queues[queue].first().is_some() {
                self.chain(queue);
            }
        }
    }

    /// Removes the first flow of a queue, and the queue if that was its last flow.
    pub fn pop(&mut self, queue: usize) {
        self.queues[queue].pop();
        self.leave_if_empty(queue);
    }

    /// Removes the flow of a queue for which `is_it` returns true, of which there is at most one;
    /// and the queue if that was its last flow.
    pub fn remove(&mut self, queue: usize, is_it: impl Fn(&Member) -> bool) {
        self.queues[queue].remove(is_it);
        self.leave_if_empty(queue);
    }

    fn leave_if_empty(&mut self, queue: usize) {
        if self.queues[queue].first().is_some() {
            return;
        }
        self.count -= 1;
        let after = self.next[queue];
        let bucket = self.bucket(self.hash[queue]);
        let mut link = &mut self.first[bucket];
        while let Some(other) = link.get().filter(|&other| other as usize != queue) {
            link = &mut self.next[other as usize];
        }
        *link = after;
        self.vacate(queue);
    }

    fn vacate(&mut self, queue: usize) {
        let length = self.links(queue).len();
        self.vacant.resize_with(self.vacant.len().max(length + 1), BinaryHeap::new);
        self.vacant[length].push(Reverse(queue as u32));
    }
}

/// A number that paths rarely share.
fn hash(path: impl Iterator<Item = u32>) -> u64 {
    let mix = |hash: u64, link: u32| {
        (hash ^ u64::from(link)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    };
    let hash = path.fold(0x243f_6a88_85a3_08d3, mix);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::all_flows::flow_order::Priority;
    use covey_core::CoflowId;
    use covey_core::OptionalIndex;
    use covey_core::Ordered;

    /// Pseudo-random numbers below a bound.
    fn numbers() -> impl FnMut(u32) -> u32 {
        let mut seed = 1_u32;
        move |below| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        }
    }

    fn member(number: u64) -> Member {
        let priority = Priority { key: number, number };
        Member {
            priority,
            coflow: CoflowId(0),
            position: 0,
            slot: OptionalIndex::NONE,
            left: Ordered(1.0),
        }
    }

    #[test]
    fn paths_of_any_length_have_their_flows_the_first_first() {
        let mut next = numbers();
        let mut queues = PathQueues::default();
        for _ in 0..2 {
            queues.clear();
            let mut map = BTreeMap::<Vec<u32>, BTreeSet<u64>>::new();
            for number in 1..6000 {
                let path: Vec<u32> = (0..1 + next(4)).map(|_| next(7)).collect();
                let found = queues.find(path.iter().copied());
                assert_eq!(found.is_some(), map.contains_key(&path), "{path:?}");
                if next(5) < if number % 2000 < 1000 { 4 } else { 1 } {
                    let number = u64::from(next(100)) << 32 | number;
                    let queue = queues.push(path.iter().copied(), member(number));
                    assert_eq!(queues.links(queue), path);
                    map.entry(path.clone()).or_default().insert(number);
                } else if let Some(queue) = found {
                    let numbers = map.get_mut(&path).unwrap();
                    let which = *numbers.iter().nth(next(numbers.len() as u32) as usize).unwrap();
                    if next(2) == 0 {
                        queues.pop(queue);
                        numbers.pop_first();
                    } else {
                        queues.remove(queue, |member| member.priority.number == which);
                        numbers.remove(&which);
                    }
                }
                map.retain(|_, numbers| !numbers.is_empty());
                if let Some(numbers) = map.get(&path) {
                    let queue = queues.find(path.iter().copied()).unwrap();
                    let first = queues.first(queue).map(|member| member.priority.number);
                    assert_eq!(first.as_ref(), numbers.first());
                }
            }
            assert!(queues.bound() > 64, "the chains grew");
        }
    }
}
