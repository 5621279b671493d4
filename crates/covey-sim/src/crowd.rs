//! All flows as one fluid, for policies that do not tell coflows apart.
//!
//! Flows between the same two ports share one rate, the lesser level of the two links, times what
//! each counts for; left is counted in the same unit, bytes or sizes of the flow. So of each pair of
//! ports only the flow that ends next is followed, by [`Levels`] as if it were one of a coflow with a
//! flow between any two ports; the others have had the same service since they joined.

use std::cmp::Ordering;

use covey_core::alloc::{FlowFairShare, Measure};
use covey_core::pairs::Pairs;
use covey_core::state::State;
use covey_core::{CoflowId, Time};

use crate::levels::{Flows, Levels};

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

/// The flows of each pair of ports, by targets of the service that the pair has had. Of each pair the
/// first is one of the flows that [`Levels`] follows: its target there is the number in the rows.
type Members = Pairs<Member, 1>;

impl Flows for Members {
    type Layout = ();

    fn senders(&self, (): &()) -> usize {
        self.ports()
    }

    fn receivers(&self, (): &()) -> usize {
        self.ports()
    }

    fn bound(&self, (): &()) -> usize {
        self.bound()
    }

    #[inline]
    fn ends(&self, (): &(), pair: usize) -> (usize, usize) {
        self.links(pair).into()
    }

    fn clear(&mut self, (): &()) {
        self.clear(self.ports());
    }

    #[inline]
    fn target(&self, pair: usize, at_receiver: bool) -> f64 {
        let [target] = self.get(pair, usize::from(at_receiver));
        target
    }

    #[inline]
    fn set_target(&mut self, pair: usize, at_receiver: bool, target: f64) {
        self.set(pair, usize::from(at_receiver), [target]);
    }

    fn targets(&self, (): &(), link: usize) -> &[f64] {
        self.row(link).column(0)
    }

    fn flow(&self, (): &(), link: usize, k: usize) -> Option<usize> {
        self.at(link, k)
    }

    fn few(&self, link: usize) -> Option<&[u32]> {
        self.row(link).ports()
    }

    fn between(&self, (): &(), link: usize, others: &[u32], flows: &mut Vec<u32>) {
        let pairs = others.iter().filter_map(|&other| self.at(link, other as usize));
        flows.extend(pairs.map(|pair| pair as u32));
    }
}

/// The flows of every pair of ports.
#[derive(Debug, Default)]
pub(crate) struct CrowdFluid {
    measure: Measure,
    anchor: Time,
    /// Follows the flow of each pair that ends next.
    levels: Levels<Members>,
    /// Working memory: pairs of which flows end.
    ending: Vec<usize>,
}

impl CrowdFluid {
    pub(crate) fn clear(&mut self, measure: Measure, ports: usize, now: Time) {
        self.measure = measure;
        self.anchor = now;
        self.levels.flows.clear(ports);
        self.levels.start(&(), std::iter::repeat_n(0.0, 2 * ports), now);
    }

    /// What flows count for.
    pub(crate) fn measure(&self) -> Measure {
        self.measure
    }

    /// When the next flow ends if rates stay.
    pub(crate) fn next(&self) -> Time {
        self.levels.next()
    }

    /// The links between which a flow is sent.
    fn links(state: &State, coflow: CoflowId, position: usize) -> (usize, usize) {
        let demand = state.coflow(coflow).demand();
        let (s, r) = demand.ends(position);
        (demand.links()[s].index(), demand.links()[r].index())
    }

    /// The service that each flow of a pair has had.
    fn served(&self, pair: usize) -> f64 {
        let left = self.levels.left(&(), pair, self.anchor);
        self.first(pair).map_or(0.0, |first| first.target - left)
    }

    /// Adds a flow with what is left of it. The anchor must be the present moment.
    pub(crate) fn join(&mut self, state: &State, coflow: CoflowId, position: usize) {
        let (egress, ingress) = Self::links(state, coflow, position);
        let progress = state.coflow(coflow).progress();
        let unit = self.measure.of(progress.size[position]);
        let left = progress.left[position] * progress.scale / unit;
        let served = match self.levels.flows.find(egress, ingress) {
            Some(pair) => self.stop_following(pair),
            None => 0.0,
        };
        let target = served + left;
        let member = Member { target, coflow, position: position as u32 };
        let pair = self.levels.flows.push(egress, ingress, member);
        self.levels.make_room(&());
        self.follow_first(pair, target - left);
    }

    /// Takes a flow out. What is left of it is what was written back last.
    pub(crate) fn leave(&mut self, state: &State, coflow: CoflowId, position: usize) {
        let (egress, ingress) = Self::links(state, coflow, position);
        let Some(pair) = self.levels.flows.find(egress, ingress) else { return };
        let served = self.stop_following(pair);
        let is_it = |m: &Member| m.coflow == coflow && m.position as usize == position;
        self.levels.flows.remove(pair, is_it);
        self.follow_first(pair, served);
    }

    /// Follows no flow of a pair; returns the service that the pair has had.
    fn stop_following(&mut self, pair: usize) -> f64 {
        let served = self.served(pair);
        self.levels.end(&(), pair);
        served
    }

    /// Follows the first flow of a pair of which none is followed.
    fn follow_first(&mut self, pair: usize, served: f64) {
        if let Some(first) = self.first(pair) {
            self.levels.join(&(), pair, first.target - served, self.anchor);
        }
    }

    fn first(&self, pair: usize) -> Option<Member> {
        self.levels.flows.queue(pair).first().copied()
    }

    /// Moves the anchor to `now`; no flow may end before it.
    pub(crate) fn advance(&mut self, now: Time) {
        self.anchor = self.anchor.max(now);
    }

    /// Removes the flows that end at the anchor and calls `finished` with each.
    pub(crate) fn take_finished(&mut self, mut finished: impl FnMut(CoflowId, usize)) {
        let mut ending = std::mem::take(&mut self.ending);
        ending.clear();
        self.levels.finish(&(), self.anchor, |pair| ending.push(pair));
        for &pair in &ending {
            let level = self.levels.rate(&(), pair);
            let slack = 2.0 * level * self.anchor.slack_s();
            let Some(served) = self.first(pair).map(|first| first.target) else { continue };
            while let Some(first) = self.first(pair).filter(|m| m.target - served <= slack) {
                finished(first.coflow, first.position as usize);
                self.levels.flows.pop(pair);
            }
            self.follow_first(pair, served);
        }
        self.ending = ending;
    }

    /// Takes over the levels that `crowd` gives from the anchor on.
    pub(crate) fn install(&mut self, crowd: &FlowFairShare) {
        self.levels.change(&(), crowd.level(), None, self.anchor);
    }

    /// Writes what is left of every flow at the anchor into `state`.
    pub(crate) fn write_back(&self, state: &mut State) {
        for pair in 0..self.levels.flows.bound() {
            let served = self.served(pair);
            for member in self.levels.flows.queue(pair).iter() {
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
