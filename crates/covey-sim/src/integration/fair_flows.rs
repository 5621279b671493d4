//! All flows as one group that shares fairly, for policies that do not distinguish coflows.
//!
//! Flows between the same two ports have one rate: the lower water level of the two links, times
//! the flow's weight. Bytes left are divided by the same weight: 1, or the size of the flow. So the
//! integrator follows only the next end of a flow for each pair of ports. [`Levels`] follows these
//! flows as if they were one coflow with a flow between any two ports. The other flows of a pair
//! have had the same service since they joined.

use covey_core::alloc::Measure;
use covey_core::pairs::Pairs;
use covey_core::state::State;
use covey_core::{CoflowId, FlowId, Ordered, Time};

use super::integrator::{Integrator, Network, write_left};
use super::levels::{Flows, Levels};

/// A flow that ends when the service of its pair reaches `target`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    target: Ordered,
    coflow: CoflowId,
    position: u32,
}

/// The flows of each pair of ports, by targets of the service that the pair has had. [`Levels`]
/// follows the first flow of each pair: its target there is the number in the rows.
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

    fn are_on_paths(&self, (): &()) -> bool {
        false
    }

    #[inline]
    fn lowest(&self, (): &(), pair: usize, levels: &[f64]) -> usize {
        let [s, r] = self.links(pair);
        if levels[r] <= levels[s] { r } else { s }
    }

    fn clear(&mut self, (): &()) {
        self.clear(self.ports());
    }

    #[inline]
    fn target(&self, (): &(), pair: usize, link: usize) -> f64 {
        let [target] = self.get(pair, usize::from(link >= self.ports()));
        target
    }

    #[inline]
    fn set_target(&mut self, (): &(), pair: usize, link: usize, target: f64) {
        self.set(pair, usize::from(link >= self.ports()), [target]);
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
pub(super) struct FairFlows {
    /// The weights by which bytes left are divided.
    measure: Measure,
    /// The time of the last update of the flows.
    anchor: Time,
    /// Follows the flow of each pair that ends next.
    levels: Levels<Members>,
    /// Working memory: pairs of which flows end.
    ending: Vec<usize>,
}

impl FairFlows {
    /// The weights of flows.
    pub(super) fn measure(&self) -> Measure {
        self.measure
    }

    /// The two links of a flow.
    fn links(state: &State, coflow: CoflowId, position: usize) -> (usize, usize) {
        let demand = state.coflow(coflow).demand();
        let (s, r) = demand.ends(position);
        (demand.links()[s].index(), demand.links()[r].index())
    }

    /// The service so far of each flow of a pair.
    fn served(&self, pair: usize) -> f64 {
        let left = self.levels.left(&(), pair, self.anchor);
        self.first(pair).map_or(0.0, |first| first.target.0 - left)
    }

    /// Adds a flow with its bytes left. The anchor must be the present time.
    fn join(&mut self, state: &State, coflow: CoflowId, position: usize) {
        let (egress, ingress) = Self::links(state, coflow, position);
        let progress = state.coflow(coflow).progress();
        let unit = self.measure.of(progress.size[position]);
        let left = progress.left[position] * progress.scale / unit;
        let served = match self.levels.flows.find(egress, ingress) {
            Some(pair) => self.stop_following(pair),
            None => 0.0,
        };
        let target = served + left;
        let member = Member { target: Ordered(target), coflow, position: position as u32 };
        let pair = self.levels.flows.push(egress, ingress, member);
        self.levels.make_room(&());
        self.follow_first(pair, target - left);
    }

    /// Removes a flow.
    fn leave(&mut self, state: &State, coflow: CoflowId, position: usize) {
        let (egress, ingress) = Self::links(state, coflow, position);
        let Some(pair) = self.levels.flows.find(egress, ingress) else { return };
        let served = self.stop_following(pair);
        let is_it = |m: &Member| m.coflow == coflow && m.position as usize == position;
        self.levels.flows.remove(pair, is_it);
        self.follow_first(pair, served);
    }

    /// Stops following a pair; returns its service so far.
    fn stop_following(&mut self, pair: usize) -> f64 {
        let served = self.served(pair);
        self.levels.end(&(), pair);
        served
    }

    /// Follows the first flow of a pair of which none is followed.
    fn follow_first(&mut self, pair: usize, served: f64) {
        if let Some(first) = self.first(pair) {
            self.levels.join(&(), pair, first.target.0 - served, self.anchor);
        }
    }

    fn first(&self, pair: usize) -> Option<Member> {
        self.levels.flows.queue(pair).first().copied()
    }

    /// Moves the anchor to `now`; no flow may end before it.
    fn advance(&mut self, now: Time) {
        self.anchor = self.anchor.max(now);
    }

    /// Removes the flows that end at the anchor, and adds them to `finished`.
    fn take_finished(&mut self, finished: &mut Vec<(CoflowId, usize)>) {
        let mut ending = std::mem::take(&mut self.ending);
        ending.clear();
        self.levels.finish(&(), self.anchor, |pair| ending.push(pair));
        for &pair in &ending {
            let level = self.levels.rate(pair);
            let slack = 2.0 * level * self.anchor.slack_s();
            let Some(served) = self.first(pair).map(|first| first.target.0) else { continue };
            while let Some(first) = self.first(pair).filter(|m| m.target.0 - served <= slack) {
                finished.push((first.coflow, first.position as usize));
                self.levels.flows.pop(pair);
            }
            self.follow_first(pair, served);
        }
        self.ending = ending;
    }
}

impl Integrator for FairFlows {
    fn begin(&mut self, network: &mut Network<'_>) {
        let state = &*network.state;
        let ports = state.fabric().ports() as usize;
        self.measure =
            network.allocator.flow_fair_share().map_or(Measure::Number, |flows| flows.measure());
        self.anchor = network.now;
        self.levels.flows.clear(ports);
        self.levels.start(&(), std::iter::repeat_n(0.0, 2 * ports), network.now);
        for &id in state.present() {
            for position in state.coflow(id).demand().active() {
                self.join(state, id, position);
            }
        }
    }

    fn end(&mut self, network: &mut Network<'_>) {
        self.write_back(network);
    }

    fn next_end(&self) -> Time {
        self.levels.next()
    }

    fn find_ending(&mut self, network: &mut Network<'_>, ending: &mut Vec<(CoflowId, usize)>) {
        if self.next_end().due(network.now) {
            self.advance(network.now);
            self.take_finished(ending);
            ending.sort_unstable();
        }
    }

    fn prepare(&mut self, _: &mut Network<'_>) {}

    fn install(&mut self, network: &mut Network<'_>) {
        self.advance(network.now);
        if let Some(flows) = network.allocator.flow_fair_share() {
            self.levels.change(&(), flows.level(), None, self.anchor);
        }
    }

    fn write_back(&mut self, network: &mut Network<'_>) {
        self.advance(network.now);
        for pair in 0..self.levels.flows.bound() {
            let served = self.served(pair);
            for member in self.levels.flows.queue(pair).iter() {
                let coflow = network.state.coflow(member.coflow);
                let unit = self.measure.of(coflow.progress().size[member.position as usize]);
                let left = (member.target.0 - served) * unit;
                write_left(network.state, member.coflow, member.position, left);
            }
        }
    }

    fn joined(&mut self, network: &mut Network<'_>, id: CoflowId, position: usize) {
        self.advance(network.now);
        self.join(network.state, id, position);
    }

    fn before_toggles(&mut self, network: &mut Network<'_>, holds: bool) {
        if holds {
            self.write_back(network);
        } else {
            self.advance(network.now);
        }
    }

    fn hold(&mut self, network: &mut Network<'_>, id: CoflowId, position: usize) -> f64 {
        self.leave(network.state, id, position);
        let progress = network.state.coflow(id).progress();
        progress.left[position] * progress.scale
    }

    fn restart(&mut self, network: &mut Network<'_>, flow: FlowId) {
        self.write_back(network);
        network.state.restart(flow);
        self.begin(network);
    }
}
