//! Rates in proportion to the bytes left of each flow.
//!
//! A flow's rate is `y Λ`. Here `y = left / scale` at the last takeover of rates, and Λ is the
//! minimum level of its links. The lowest level of all flows is the level of the scale: while all
//! flows have it, only the scale falls, however many flows there are. Flows with a higher level are
//! *raised*. A read subtracts the bytes that a raised flow has sent beyond the scale from its `y`,
//! and raises its level by the same factor, so its rate stays.

use covey_alloc::{ByLeft, CoflowAllocation};
use covey_core::state::Progress;
use covey_core::{Demand, OptionalIndex};

/// The levels of one coflow.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// The lowest level of a flow; zero if there are no rates by size.
    pub lowest: f64,
    /// The highest level of a flow.
    pub highest: f64,
    /// Level of each local link; empty when all flows have the lowest.
    by_link: Vec<f64>,
    /// [`ByLeft::limits`], if some flows are raised.
    limits: Vec<OptionalIndex>,
    /// By local link, `y Λ` of all flows. It stays while levels rise.
    used: Vec<f64>,
    /// Seconds over the scale whose bytes are written back, but not yet reported to the allocator.
    passed: f64,
    /// Working memory: by local link, the part of what is left that flows keep which the link limits.
    kept: Vec<f64>,
}

impl Levels {
    /// No rates by size.
    pub(super) fn clear(&mut self) {
        self.lowest = 0.0;
        self.highest = 0.0;
        self.by_link.clear();
        self.limits.clear();
        self.used.clear();
        self.passed = 0.0;
    }

    /// Replaces the levels by those of `allocation`.
    pub(super) fn replace(&mut self, demand: &Demand, allocation: &CoflowAllocation) {
        self.passed = 0.0;
        let none = ByLeft { lowest: 0.0, highest: 0.0, levels: &[], limits: &[] };
        let levels = allocation.by_left().unwrap_or(none);
        if levels == self.get() {
            return;
        }
        self.lowest = levels.lowest;
        self.highest = levels.highest;
        self.by_link.clear();
        self.by_link.extend_from_slice(levels.levels);
        self.limits.clear();
        self.limits.extend_from_slice(levels.limits);
        self.used.clear();
        if !self.limits.is_empty() {
            self.used.extend((0..demand.links().len()).map(|l| allocation.used_by_left(l)));
        }
    }

    fn get(&self) -> ByLeft<'_> {
        let (levels, limits) = (&self.by_link, &self.limits);
        ByLeft { lowest: self.lowest, highest: self.highest, levels, limits }
    }

    /// Whether some flows have a higher level than others.
    pub(super) fn are_raised(&self) -> bool {
        !self.by_link.is_empty()
    }

    /// Λ of the flow at `position`.
    #[inline]
    pub(super) fn of(&self, position: usize) -> f64 {
        self.get().level(position)
    }

    /// Seconds over the scale that have passed since the last call.
    pub(super) fn take_passed(&mut self) -> f64 {
        std::mem::take(&mut self.passed)
    }

    /// Writes back the bytes sent in `dt` seconds at these levels.
    pub(super) fn pass(&mut self, demand: &Demand, progress: &mut Progress, dt: f64) {
        if self.lowest > 0.0 {
            // At its end the coflow has nothing left. But a scale of zero would lose the flows that
            // have yet to start, and time decides which flows end, not bytes.
            let rest = progress.scale - dt * self.lowest;
            progress.scale = rest.max(progress.scale * f64::EPSILON);
        }
        if self.are_raised() && dt > 0.0 {
            let seconds = dt / progress.scale;
            self.write_back(demand, progress, seconds);
            let lowest = self.lowest;
            let raise = |level: f64| ByLeft::raise(lowest, level, seconds);
            self.by_link.iter_mut().for_each(|level| *level = raise(*level));
            self.highest = raise(self.highest);
            // Equal to both intervals in one step.
            self.passed += seconds + lowest * self.passed * seconds;
        }
    }

    /// Subtracts from every raised flow the bytes that its level beyond the lowest has sent in `dt`
    /// seconds over the scale. All flows that one link limits send the same part of what they have left, and what all
    /// flows send over a link is known. So no path is read, but those of flows at their end.
    fn write_back(&mut self, demand: &Demand, progress: &mut Progress, dt: f64) {
        let lowest = self.lowest;
        for ((left, used), count) in
            progress.link_left.iter_mut().zip(&self.used).zip(demand.count())
        {
            // Where all flows have ended nothing is left, whatever rounding has made of what they used.
            *left -= if *count > 0 { (used - *left * lowest) * dt } else { 0.0 };
        }
        self.kept.clear();
        self.kept.extend(self.by_link.iter().map(|&level| 1.0 - ByLeft::sent(lowest, level, dt)));
        let kept = &self.kept;
        let at_end = 1.0 - ByLeft::sent(0.0, f64::MAX, 1.0);
        let any_at_end = 1.0 - ByLeft::sent(lowest, self.highest, dt) <= at_end;
        let sends = |&s: &usize| demand.count()[s] > 0 && self.by_link[s] > lowest;
        for s in (0..demand.senders()).filter(sends) {
            if any_at_end {
                for p in demand.active_in_row(s) {
                    let Some(l) = self.limits[p].get() else { continue };
                    let l = l as usize;
                    if kept[l] <= at_end {
                        let sent = (self.by_link[l] - lowest) * dt - (1.0 - kept[l]);
                        let too_much = progress.left[p] * sent;
                        let path = demand.whole_path(p);
                        path.iter().for_each(|&k| progress.link_left[k as usize] += too_much);
                    }
                }
            }
            // Flows of full links keep all that they have. Whether a flow is active is not asked: what is left of
            // others is no number, and stays.
            let row = demand.row(s);
            for (left, limit) in progress.left[row.clone()].iter_mut().zip(&self.limits[row]) {
                *left *= limit.get().map_or(1.0, |l| kept[l as usize]);
            }
        }
    }

    /// Calls `finished` with every active flow that ends within `seconds`, if `scale` holds now.
    pub(super) fn finish(
        &mut self,
        demand: &Demand,
        scale: f64,
        seconds: f64,
        finished: impl FnMut(usize),
    ) {
        let ends = |level: f64| level * seconds >= scale;
        if !self.are_raised() {
            if ends(self.lowest) {
                demand.active().for_each(finished);
            }
            return;
        }
        if ends(self.highest) {
            demand.active().filter(|&position| ends(self.of(position))).for_each(finished);
        }
    }
}

#[cfg(test)]
mod tests {
    use covey_core::state::{FlowSpec, Registration, State};
    use covey_core::{Ecmp, EcmpMode, FatTree, FlowId, PortId};

    use super::*;

    /// MADD reserves a rate for whatever is left of a link's flows, however little.
    #[test]
    fn a_link_whose_flows_have_ended_has_nothing_left() {
        let fabric = FatTree::new(4, Ecmp { mode: EcmpMode::Flow, seed: 1 }).unwrap();
        let mut state = State::new(fabric.fabric(1.0, 1.0).unwrap());
        let flow = |src, dst| FlowSpec { src: PortId(src), dst: PortId(dst), bytes: 8.0 };
        let flows = [flow(0, 9), flow(2, 14)];
        let coflow = state.register(Registration::default(), flows.into_iter());
        let ends_at =
            |index: u32| (FlowId { coflow, index }, state.coflow(coflow).demand().position(index));
        let [(ended, at_end), (running, position)] = [0, 1].map(ends_at);
        state.start(ended);
        state.start(running);
        state.finish(coflow, at_end, |_| {});
        let (demand, progress) = state.progress_mut(coflow);
        let links = demand.links().len();
        let limit = demand.ends(position).1;
        let mut levels = Levels { highest: 0.125, ..Levels::default() };
        levels.by_link = vec![f64::MAX; links];
        levels.by_link[limit] = 0.125;
        levels.limits = vec![OptionalIndex::NONE; demand.width()];
        levels.limits[position] = OptionalIndex::some(limit as u32);
        // What rounding has left of the rate of the flow that has ended.
        levels.used = vec![1e-17; links];
        demand.path(position).for_each(|l| levels.used[l] = 1.0);
        levels.pass(demand, progress, 4.0);
        assert_eq!(progress.left[position], 4.0);
        for (l, left) in progress.link_left.iter().enumerate() {
            let expected = if demand.count()[l] > 0 { 4.0 } else { 0.0 };
            assert_eq!(*left, expected, "at local link {l}");
        }
    }
}
