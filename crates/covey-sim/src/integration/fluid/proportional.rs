//! Rates in proportion to the bytes left of each flow.
//!
//! A flow's rate is `y Λ`. Here `y = left / scale`, and Λ is the least level of its links. All
//! flows that one link limits end at the same moment, whatever their sizes: `scale / Λ` seconds
//! from now. So only these seconds are kept of a link. As they pass, each of its flows sends the
//! part of its bytes left that has passed of them.
//!
//! The flows that end last have the lowest level. While all flows do, only the scale falls, however
//! many they are. Flows that end earlier are *raised*: they also send beyond the scale, which a
//! read subtracts from their `y`.

use covey_alloc::CoflowAllocation;
use covey_core::state::Progress;
use covey_core::{Demand, OptionalIndex};

/// The rates of one coflow's flows.
#[derive(Debug)]
pub(crate) struct Proportional {
    /// The lowest level of a flow; zero if there are no such rates. Time does not change it.
    lowest: f64,
    /// Seconds until the first end of a flow; infinite if there is none.
    first_s: f64,
    /// Seconds until the flows end that a local link limits; empty when all flows have the lowest
    /// level.
    seconds: Vec<f64>,
    /// The link that limits each flow, if some flows are raised.
    limits: Vec<OptionalIndex>,
    /// Bytes per second that all flows send over a local link, if some flows are raised.
    used: Vec<f64>,
    /// Seconds whose bytes are written back, but not yet reported to the allocator.
    unreported_s: f64,
    /// Working memory: by local link, the part of `y` that its flows keep.
    parts: Vec<f64>,
}

impl Proportional {
    /// No such rates.
    pub(super) fn none() -> Proportional {
        Proportional {
            lowest: 0.0,
            first_s: f64::INFINITY,
            seconds: Vec::new(),
            limits: Vec::new(),
            used: Vec::new(),
            unreported_s: 0.0,
            parts: Vec::new(),
        }
    }

    /// No such rates any more.
    pub(super) fn clear(&mut self) {
        self.lowest = 0.0;
        self.first_s = f64::INFINITY;
        self.seconds.clear();
        self.unreported_s = 0.0;
    }

    /// Takes over the rates of `allocation`. All flows are written back.
    pub(super) fn replace(&mut self, demand: &Demand, allocation: &CoflowAllocation, scale: f64) {
        self.clear();
        let Some(rates) = allocation.by_left().filter(|rates| rates.highest > 0.0) else { return };
        self.lowest = rates.lowest;
        self.first_s = scale / rates.highest;
        self.seconds.extend(rates.levels.iter().map(|level| scale / level));
        self.limits.clear();
        self.limits.extend_from_slice(rates.limits);
        self.used.clear();
        if self.are_raised() {
            self.used.extend((0..demand.links().len()).map(|l| allocation.used_by_left(l)));
        }
    }

    /// Whether some flows end earlier than others.
    pub(super) fn are_raised(&self) -> bool {
        !self.seconds.is_empty()
    }

    /// Seconds until the first end of a flow; infinite if there is none.
    pub(super) fn first_s(&self) -> f64 {
        self.first_s
    }

    /// Λ of the flow at `position`.
    pub(super) fn level(&self, position: usize, scale: f64) -> f64 {
        let limit = self.limits.get(position).filter(|_| self.are_raised());
        match limit.and_then(|limit| limit.get()) {
            Some(limit) => (scale / self.seconds[limit as usize]).min(f64::MAX),
            None => self.lowest,
        }
    }

    /// Seconds for which raised flows have sent since the last call, over the scale.
    pub(super) fn take_unreported(&mut self, scale: f64) -> f64 {
        std::mem::take(&mut self.unreported_s) / scale
    }

    /// Writes back the bytes sent in `dt` seconds.
    pub(super) fn advance(&mut self, demand: &Demand, progress: &mut Progress, dt: f64) {
        let before = progress.scale;
        // At its end the coflow has nothing left. But a scale of zero would lose the flows that
        // have yet to start, and time decides which flows end, not bytes.
        progress.scale = (before - dt * self.lowest).max(before * f64::EPSILON);
        let any_ends = self.first_s <= dt;
        self.first_s -= dt;
        if !self.are_raised() || dt <= 0.0 {
            return;
        }
        self.unreported_s += dt;
        let scales = before / progress.scale;
        self.parts.clear();
        for seconds in &mut self.seconds {
            self.parts.push(((1.0 - dt / *seconds) * scales).max(f64::EPSILON));
            *seconds = (*seconds - dt).max(f64::MIN_POSITIVE);
        }
        for row in (0..demand.senders()).filter(|&s| demand.count()[s] > 0).map(|s| demand.row(s)) {
            // What is left of flows that are not active is no number, or infinite, and stays so.
            for (left, limit) in progress.left[row.clone()].iter_mut().zip(&self.limits[row]) {
                *left *= limit.get().map_or(1.0, |limit| self.parts[limit as usize]);
            }
        }
        if any_ends {
            // Such flows have sent no more than they had.
            return progress.add_up_links(demand);
        }
        let sent = self.used.iter().map(|used| used * dt / progress.scale);
        for ((left, sent), count) in progress.link_left.iter_mut().zip(sent).zip(demand.count()) {
            // Where all flows have ended nothing is left, whatever rounding has made of what they
            // used.
            *left = if *count > 0 { *left * scales - sent } else { *left };
        }
    }

    /// Calls `finished` with every active flow that ends within `seconds`, if `scale` holds now.
    pub(super) fn finish(
        &self,
        demand: &Demand,
        scale: f64,
        seconds: f64,
        finished: impl FnMut(usize),
    ) {
        if self.first_s <= seconds {
            let ends = |position: &usize| self.level(*position, scale) * seconds >= scale;
            demand.active().filter(ends).for_each(finished);
        }
    }
}

#[cfg(test)]
mod tests {
    use covey_core::state::{FlowSpec, Registration, State};
    use covey_core::{CoflowId, Ecmp, EcmpMode, FatTree, FlowId, PortId};

    use super::*;

    /// A coflow with a flow that has ended, and one of 8 bytes that crosses other links.
    fn two_flows() -> (State, CoflowId, usize) {
        let fabric = FatTree::new(4, Ecmp { mode: EcmpMode::Flow, seed: 1 }).unwrap();
        let mut state = State::new(fabric.fabric(1.0, 1.0).unwrap());
        let flow = |src, dst| FlowSpec { src: PortId(src), dst: PortId(dst), bytes: 8.0 };
        let flows = [flow(0, 9), flow(2, 14)];
        let coflow = state.register(Registration::default(), flows.into_iter());
        let position = |index| state.coflow(coflow).demand().position(index);
        let (ended, running) = (position(0), position(1));
        state.start(FlowId { coflow, index: 0 });
        state.start(FlowId { coflow, index: 1 });
        state.finish(coflow, ended, |_| {});
        (state, coflow, running)
    }

    /// One link limits a flow, which ends in 8 seconds, and none the other. Nobody has the lowest
    /// level.
    fn one_raised(demand: &Demand, position: usize) -> Proportional {
        let links = demand.links().len();
        let limit = demand.ends(position).1;
        let mut rates = Proportional { first_s: 8.0, ..Proportional::none() };
        rates.seconds = vec![f64::MIN_POSITIVE; links];
        rates.seconds[limit] = 8.0;
        rates.limits = vec![OptionalIndex::NONE; demand.width()];
        rates.limits[position] = OptionalIndex::some(limit as u32);
        // What rounding has left of the rate of the flow that has ended.
        rates.used = vec![1e-17; links];
        demand.path(position).for_each(|l| rates.used[l] = 1.0);
        rates
    }

    /// MADD reserves a rate for whatever is left of a link's flows, however little.
    #[test]
    fn a_link_whose_flows_have_ended_has_nothing_left() {
        for steps in [vec![4.0], vec![1.0, 3.0]] {
            let (mut state, coflow, position) = two_flows();
            let (demand, progress) = state.progress_mut(coflow);
            let mut rates = one_raised(demand, position);
            steps.iter().for_each(|dt| rates.advance(demand, progress, *dt));
            assert_eq!(progress.left[position], 4.0);
            assert_eq!(rates.level(position, progress.scale), 0.25);
            assert_eq!(rates.take_unreported(progress.scale), 4.0);
            for (l, left) in progress.link_left.iter().enumerate() {
                let expected = if demand.count()[l] > 0 { 4.0 } else { 0.0 };
                assert_eq!(*left, expected, "at local link {l}");
            }
        }
    }

    #[test]
    fn a_flow_that_ends_has_sent_no_more_than_it_had() {
        let (mut state, coflow, position) = two_flows();
        let (demand, progress) = state.progress_mut(coflow);
        let mut rates = one_raised(demand, position);
        let mut ending = Vec::new();
        rates.finish(demand, progress.scale, 7.9, |p| ending.push(p));
        assert!(ending.is_empty());
        rates.finish(demand, progress.scale, 8.5, |p| ending.push(p));
        assert_eq!(ending, [position]);
        rates.advance(demand, progress, 8.5);
        assert!(progress.left[position] > 0.0);
        demand.path(position).for_each(|l| assert!(progress.link_left[l] >= 0.0));
    }

    #[test]
    fn flows_that_end_together_only_change_the_scale() {
        let (mut state, coflow, position) = two_flows();
        let (demand, progress) = state.progress_mut(coflow);
        let mut rates = Proportional { lowest: 0.125, first_s: 8.0, ..Proportional::none() };
        rates.advance(demand, progress, 6.0);
        assert_eq!((progress.scale, progress.left[position]), (0.25, 8.0));
        assert_eq!(rates.first_s(), 2.0);
        assert_eq!(rates.level(position, progress.scale), 0.125);
    }
}
