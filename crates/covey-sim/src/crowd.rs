//! All flows as one fluid, for policies that do not tell coflows apart.
//!
//! Flows between the same two ports share one rate, the lesser level of the two links, times what
//! each counts for; left is counted in the same unit, bytes or sizes of the flow. So of each pair of
//! ports only the flow that ends next is followed, by [`Levels`] as if it were one of a coflow with a
//! flow between any two ports; the others have had the same service since they joined.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

use covey_core::alloc::{Crowd, Measure};
use covey_core::state::State;
use covey_core::{CoflowId, Time};

use crate::levels::{Layout, Levels};

/// A flow that ends when the service of its pair reaches `target`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Member {
    target: f64,
    coflow: CoflowId,
    position: u32,
}

impl Eq for Member {}

impl PartialOrd for Member {
    fn partial_cmp(&self, other: &Member) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Member {
    fn cmp(&self, other: &Member) -> Ordering {
        let key = |m: &Member| (m.coflow, m.position);
        self.target.total_cmp(&other.target).then(key(self).cmp(&key(other)))
    }
}

/// All pairs of ports, as flows laid out by sender.
#[derive(Debug, Default, Clone, Copy)]
struct Pairs {
    ports: usize,
}

impl Layout for Pairs {
    fn senders(&self) -> usize {
        self.ports
    }

    fn receivers(&self) -> usize {
        self.ports
    }

    fn width(&self) -> usize {
        self.ports * self.ports
    }

    fn row(&self, sender: usize) -> Range<usize> {
        sender * self.ports..(sender + 1) * self.ports
    }

    fn is_regular(&self, _: usize) -> bool {
        true
    }

    fn ends(&self, pair: usize) -> (usize, usize) {
        (pair / self.ports, self.ports + pair % self.ports)
    }
}

/// The flows of every pair of ports.
#[derive(Debug, Default)]
pub(crate) struct CrowdFluid {
    measure: Measure,
    pairs: Pairs,
    anchor: Time,
    /// Follows the flow of each pair that ends next.
    levels: Levels,
    /// The flows of each pair; their targets are of the service that the pair has had.
    members: Vec<BinaryHeap<Reverse<Member>>>,
    /// Working memory: pairs of which flows end.
    ending: Vec<usize>,
}

impl CrowdFluid {
    pub(crate) fn clear(&mut self, measure: Measure, ports: usize, now: Time) {
        self.measure = measure;
        self.pairs = Pairs { ports };
        self.anchor = now;
        self.levels.start(&self.pairs, std::iter::repeat_n(0.0, 2 * ports), now);
        self.members.iter_mut().for_each(BinaryHeap::clear);
        self.members.resize_with(ports * ports, BinaryHeap::new);
    }

    /// What flows count for.
    pub(crate) fn measure(&self) -> Measure {
        self.measure
    }

    /// When the next flow ends if rates stay.
    pub(crate) fn next(&self) -> Time {
        self.levels.next()
    }

    fn pair(&self, state: &State, coflow: CoflowId, position: usize) -> usize {
        let demand = state.coflow(coflow).demand();
        let egress = demand.links()[demand.sender_of(position)].index();
        let ingress = demand.links()[demand.receiver_of(position)].index();
        egress * self.pairs.ports + ingress - self.pairs.ports
    }

    /// The service that each flow of a pair has had.
    fn served(&self, pair: usize) -> f64 {
        self.members[pair].peek().map_or(0.0, |Reverse(first)| {
            first.target - self.levels.left(&self.pairs, pair, self.anchor)
        })
    }

    /// Adds a flow with what is left of it. The anchor must be the present moment.
    pub(crate) fn join(&mut self, state: &State, coflow: CoflowId, position: usize) {
        let pair = self.pair(state, coflow, position);
        let progress = state.coflow(coflow).progress();
        let unit = self.measure.of(progress.size[position]);
        let left = progress.left[position] * progress.scale / unit;
        let target = self.served(pair) + left;
        self.members[pair].push(Reverse(Member { target, coflow, position: position as u32 }));
        self.hang_first(pair, target - left);
    }

    /// Takes a flow out. What is left of it is what was written back last.
    pub(crate) fn leave(&mut self, state: &State, coflow: CoflowId, position: usize) {
        let pair = self.pair(state, coflow, position);
        let served = self.served(pair);
        let is_it = |m: &Member| m.coflow == coflow && m.position as usize == position;
        self.members[pair].retain(|Reverse(member)| !is_it(member));
        self.hang_first(pair, served);
    }

    /// Follows the first flow of a pair, and no other.
    fn hang_first(&mut self, pair: usize, served: f64) {
        self.levels.end(&self.pairs, pair);
        if let Some(Reverse(first)) = self.members[pair].peek() {
            self.levels.join(&self.pairs, pair, first.target - served, self.anchor);
        }
    }

    /// Moves the anchor to `now`; no flow may end before it.
    pub(crate) fn advance(&mut self, now: Time) {
        self.anchor = self.anchor.max(now);
    }

    /// Removes the flows that end at the anchor and calls `finished` with each.
    pub(crate) fn take_finished(&mut self, mut finished: impl FnMut(CoflowId, usize)) {
        let mut ending = std::mem::take(&mut self.ending);
        ending.clear();
        self.levels.finish(&self.pairs, self.anchor, |pair| ending.push(pair));
        for &pair in &ending {
            let level = self.levels.rate(&self.pairs, pair);
            let members = &mut self.members[pair];
            let Some(Reverse(first)) = members.peek() else { continue };
            let (served, slack) = (first.target, 2.0 * level * self.anchor.slack_s());
            while let Some(Reverse(first)) = members.peek().filter(|m| m.0.target - served <= slack)
            {
                finished(first.coflow, first.position as usize);
                members.pop();
            }
            self.hang_first(pair, served);
        }
        self.ending = ending;
    }

    /// Takes over the levels that `crowd` gives from the anchor on.
    pub(crate) fn install(&mut self, crowd: &Crowd) {
        self.levels.change(&self.pairs, crowd.level(), None, self.anchor);
    }

    /// Writes what is left of every flow at the anchor into `state`.
    pub(crate) fn write_back(&self, state: &mut State) {
        for (pair, members) in self.members.iter().enumerate() {
            let served = self.served(pair);
            for Reverse(member) in members {
                let (demand, progress) = state.progress_mut(member.coflow);
                let p = member.position as usize;
                let unit = self.measure.of(progress.size[p]);
                let left = (member.target - served) * unit / progress.scale;
                let less = progress.left[p] - left;
                progress.left[p] = left;
                demand.path(p).for_each(|l| progress.link_left[l] -= less);
            }
        }
    }
}
