//! All flows as one fluid, for policies that do not tell coflows apart.
//!
//! Flows between the same two ports share one rate, the lesser level of the two links, times what
//! each counts for; left is counted in the same unit, bytes or sizes of the flow. So per pair
//! of ports a counter of the service that each of its flows has had is enough, and of its flows the
//! one that ends next. What changes at every moment is a dense row per sender.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use covey_core::alloc::{Crowd, Measure};
use covey_core::state::State;
use covey_core::{CoflowId, Time};

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

/// The flows of every pair of ports.
#[derive(Debug, Default)]
pub(crate) struct CrowdFluid {
    measure: Measure,
    ports: usize,
    anchor: Time,
    next: Time,
    /// When the next flow of each sender ends.
    row_next: Vec<Time>,
    /// Service until the next flow of each pair ends; infinite where there is none.
    need: Vec<f64>,
    members: Vec<BinaryHeap<Reverse<Member>>>,
    level: Vec<f64>,
    /// 1 / level.
    inverse: Vec<f64>,
}

impl CrowdFluid {
    pub(crate) fn clear(&mut self, measure: Measure, ports: usize, now: Time) {
        self.measure = measure;
        self.ports = ports;
        self.anchor = now;
        self.next = Time::NEVER;
        self.need.clear();
        self.need.resize(ports * ports, f64::INFINITY);
        self.members.iter_mut().for_each(BinaryHeap::clear);
        self.members.resize_with(ports * ports, BinaryHeap::new);
        self.level.clear();
        self.level.resize(2 * ports, 0.0);
    }

    /// What flows count for.
    pub(crate) fn measure(&self) -> Measure {
        self.measure
    }

    /// When the next flow ends if rates stay.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    fn pair(&self, state: &State, coflow: CoflowId, position: usize) -> usize {
        let demand = state.coflow(coflow).demand();
        let egress = demand.links()[demand.sender_of(position)].index();
        let ingress = demand.links()[demand.receiver_of(position)].index();
        egress * self.ports + ingress - self.ports
    }

    /// Adds a flow with what is left of it. The anchor must be the present moment.
    pub(crate) fn join(&mut self, state: &State, coflow: CoflowId, position: usize) {
        let pair = self.pair(state, coflow, position);
        let progress = state.coflow(coflow).progress();
        let unit = self.measure.of(progress.size[position]);
        let left = progress.left[position] * progress.scale / unit;
        let members = &mut self.members[pair];
        let served = members.peek().map_or(0.0, |Reverse(first)| first.target - self.need[pair]);
        members.push(Reverse(Member { target: served + left, coflow, position: position as u32 }));
        self.need[pair] = self.need[pair].min(left);
    }

    /// Takes a flow out. What is left of it is what was written back last.
    pub(crate) fn leave(&mut self, state: &State, coflow: CoflowId, position: usize) {
        let pair = self.pair(state, coflow, position);
        let members = &mut self.members[pair];
        let served = members.peek().map_or(0.0, |Reverse(first)| first.target - self.need[pair]);
        let is_it = |m: &Member| m.coflow == coflow && m.position as usize == position;
        members.retain(|Reverse(member)| !is_it(member));
        let next = members.peek().map_or(f64::INFINITY, |Reverse(first)| first.target - served);
        self.need[pair] = next;
    }

    /// Moves the anchor to `now`; no flow may end before it.
    pub(crate) fn advance(&mut self, now: Time) {
        let dt = now - self.anchor;
        if dt <= 0.0 {
            return;
        }
        self.anchor = now;
        let (senders, receivers) = self.level.split_at(self.ports);
        for (need, &level) in self.need.chunks_exact_mut(self.ports).zip(senders) {
            for (need, &other) in need.iter_mut().zip(receivers) {
                *need -= (if other < level { other } else { level }) * dt;
            }
        }
    }

    /// Removes the flows that end at the anchor and calls `finished` with each.
    pub(crate) fn take_finished(&mut self, mut finished: impl FnMut(CoflowId, usize)) {
        let (senders, receivers) = self.inverse.split_at(self.ports);
        for (src, &inverse) in senders.iter().enumerate() {
            if !self.row_next[src].due(self.anchor) {
                continue;
            }
            for (dst, &other) in receivers.iter().enumerate() {
                let pair = src * self.ports + dst;
                if self.need[pair] * inverse.max(other) > self.anchor.slack_s() {
                    continue;
                }
                let slack = self.anchor.slack_s() / inverse.max(other);
                let members = &mut self.members[pair];
                let served =
                    members.peek().map_or(0.0, |Reverse(first)| first.target - self.need[pair]);
                self.need[pair] = f64::INFINITY;
                while let Some(Reverse(first)) = members.peek() {
                    if first.target - served > slack {
                        self.need[pair] = first.target - served;
                        break;
                    }
                    finished(first.coflow, first.position as usize);
                    members.pop();
                }
            }
        }
    }

    /// Takes over the levels that `crowd` gives from the anchor on.
    pub(crate) fn install(&mut self, crowd: &Crowd) {
        self.level.clear();
        self.level.extend_from_slice(crowd.level());
        self.inverse.clear();
        self.inverse.extend(self.level.iter().map(|level| 1.0 / level));
        let (senders, receivers) = self.inverse.split_at(self.ports);
        self.row_next.clear();
        self.row_next.extend(
            self.need
                .chunks_exact(self.ports)
                .zip(senders)
                .map(|(need, &inverse)| self.anchor + least_product(need, receivers, inverse)),
        );
        self.next = self.row_next.iter().copied().min().unwrap_or(Time::NEVER);
    }

    /// Writes what is left of every flow at the anchor into `state`.
    pub(crate) fn write_back(&self, state: &mut State) {
        for (members, &need) in self.members.iter().zip(&self.need) {
            let served = members.peek().map_or(0.0, |Reverse(first)| first.target - need);
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

/// Least of `left[k] * max(other[k], inverse)`, in a form that compiles to vector instructions. NaN
/// (a flow yet to start, or an ended one nobody limits) is never the least.
fn least_product(left: &[f64], other: &[f64], inverse: f64) -> f64 {
    const LANES: usize = 8;
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let greater = |a: f64, b: f64| if a > b { a } else { b };
    let mut least = [f64::INFINITY; LANES];
    let (lefts, others) = (left.chunks_exact(LANES), other.chunks_exact(LANES));
    let rest = lefts.remainder().iter().zip(others.remainder());
    for (k, (&left, &other)) in rest.enumerate() {
        least[k] = lesser(left * greater(other, inverse), least[k]);
    }
    for (left, other) in lefts.zip(others) {
        for k in 0..LANES {
            least[k] = lesser(left[k] * greater(other[k], inverse), least[k]);
        }
    }
    least.into_iter().fold(f64::INFINITY, lesser)
}
