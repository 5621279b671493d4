//! One coflow as a fluid: rates are constant between two rounds, and are integrated when they are
//! read.
//!
//! A [`CoflowAllocation`] gives a flow the rate `min(water level of its links) + y Λ + own`, where
//! `y = left / scale`. While a flow is compressed and sent, its compression rate counts as one of
//! its own rates: it reduces the bytes left, but does not count as sent. There are three ways to
//! integrate, by the form of the allocation:
//!
//! - *Own rates*: each running flow has its own anchor and its own end. A flow whose rate stays
//!   costs nothing.
//! - *By size* (Λ): see [`by_size`]. The extra bytes of an own rate are kept separately, and the
//!   flow's share by size stays. So the flow sends at the rates that the allocator has booked. The
//!   extra bytes count towards `y` when shares are decided again: for flows that have stopped, when
//!   a flow of the coflow ends; for all flows, before the policy looks.
//! - *Water levels*: each flow is attached to the link that limits it ([`Levels`]). A link whose
//!   level changes costs the same, however many flows it limits.

use std::cell::Cell;

use covey_core::alloc::{CoflowAllocation, FlowRate};
use covey_core::state::Progress;
use covey_core::{Demand, Time};

use super::super::levels::Levels;
use super::by_size;
use super::longest::Longest;
use super::running::{Running, earliest};

/// The rates of one coflow since the anchor.
#[derive(Debug)]
pub(crate) struct Fluid {
    pub(super) anchor: Time,
    /// Bytes sent up to the anchor.
    sent: f64,
    /// Bytes per second of the whole coflow.
    rate: f64,
    /// The time of the next end of a flow at these rates.
    next: Time,
    pub(super) levels: Levels,
    pub(super) by_size: by_size::Levels,
    /// Whether shares by size are held as booked; see the module.
    holds: bool,
    /// Whether compression reduces the bytes left of some flows.
    is_compressed: bool,
    /// Flows with a rate of their own, at most one each.
    pub(super) running: Vec<Running>,
    /// Under shares by size, flows that ran and have bytes that are not written back.
    pub(super) stopped: Vec<Running>,
    /// Working memory: the flows with rates of their own before or after a change.
    memory: Memory,
    pub(super) longest: Cell<Longest>,
}

/// Working memory of a [`Fluid`].
#[derive(Debug, Default)]
struct Memory {
    running: Vec<Running>,
    rates: Vec<FlowRate>,
}

impl Fluid {
    /// No rates.
    pub(crate) fn new() -> Fluid {
        Fluid {
            anchor: Time::ZERO,
            sent: 0.0,
            rate: 0.0,
            next: Time::NEVER,
            levels: Levels::default(),
            by_size: by_size::Levels::default(),
            holds: false,
            is_compressed: false,
            running: Vec::new(),
            stopped: Vec::new(),
            memory: Memory::default(),
            longest: Cell::default(),
        }
    }

    /// No rates, and `sent` bytes sent up to `now`.
    pub(crate) fn resume(&mut self, now: Time, sent: f64) {
        self.anchor = now;
        self.sent = sent;
        self.longest.take();
        self.halt();
    }

    /// No rates.
    pub(crate) fn halt(&mut self) {
        self.rate = 0.0;
        self.next = Time::NEVER;
        self.levels.clear();
        self.by_size.clear();
        self.holds = false;
        self.is_compressed = false;
        self.running.clear();
        self.stopped.clear();
    }

    /// The time of the next end of a flow if rates stay.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Bytes per second of the whole coflow.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Bytes sent up to `now`.
    pub(crate) fn sent(&self, now: Time) -> f64 {
        self.sent + self.rate * (now - self.anchor)
    }

    /// Bytes left of an unfinished flow at `now`, whether or not they are written back.
    pub(crate) fn left(
        &self,
        demand: &Demand,
        progress: &Progress,
        position: usize,
        now: Time,
    ) -> f64 {
        let level = self.by_size.of(demand, position);
        let mut left = progress.left[position] * (progress.scale - level * (now - self.anchor));
        if self.levels.is_attached(demand, position) {
            left = self.levels.left(demand, position, now);
        }
        let own = self.running.iter().chain(&self.stopped);
        for flow in own.filter(|flow| flow.position as usize == position) {
            left -= flow.sent(now);
        }
        left.max(0.0)
    }

    /// The time at which the coflow will have sent `bytes` if rates stay.
    pub(crate) fn when_sent(&self, bytes: f64) -> Time {
        let missing = bytes - self.sent;
        if missing <= 0.0 {
            self.anchor
        } else if self.rate > 0.0 {
            self.anchor + missing / self.rate
        } else {
            Time::NEVER
        }
    }

    /// Whether some flows send out of proportion to their bytes left while others send in
    /// proportion, so proportions change with time.
    pub(crate) fn is_out_of_proportion(&self) -> bool {
        self.holds && !(self.running.is_empty() && self.stopped.is_empty())
    }

    /// Whether flows send or will end, or bytes are not written back.
    pub(crate) fn is_moving(&self) -> bool {
        self.rate != 0.0
            || self.next.comes()
            || self.is_raised()
            || !(self.running.is_empty() && self.stopped.is_empty())
    }

    /// Whether some flows send faster than in proportion to the bytes left of all.
    pub(crate) fn is_raised(&self) -> bool {
        self.by_size.are_raised()
    }

    /// Seconds over the scale for which raised flows have sent since the last call. Their bytes are
    /// written back.
    pub(crate) fn take_passed(&mut self) -> f64 {
        self.by_size.take_passed()
    }

    /// Moves the anchor of the state that all flows share.
    fn pass(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        let dt = (now - self.anchor).max(0.0);
        self.anchor = self.anchor.max(now);
        self.sent += self.rate * dt;
        self.by_size.pass(demand, progress, dt);
    }

    /// Writes back the bytes left of every flow at `now`. No flow may end before `now`.
    pub(crate) fn advance(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        self.pass(demand, progress, now);
        for flow in self.running.iter_mut().chain(&mut self.stopped) {
            flow.bring_up_to_date(demand, progress, &mut self.levels, now);
        }
        self.stopped.clear();
        if !self.levels.is_empty() {
            self.levels.compute_ends(demand);
            self.levels.write_back(demand, progress, now);
        }
        if self.holds {
            self.find_ends(demand, progress, now);
        }
    }

    /// Calls `finished` with the position of every flow that ends at `now`, twice if the flow has a
    /// level and a rate of its own. Writes back bytes left where needed.
    pub(crate) fn finish(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        now: Time,
        mut finished: impl FnMut(usize),
    ) {
        let mut any = false;
        let seconds = (now - self.anchor).max(0.0) + now.slack_s();
        self.by_size.finish(demand, progress.scale, seconds, |position| {
            finished(position);
            any = true;
        });
        self.pass(demand, progress, now);
        for running in self.running.iter_mut().filter(|running| running.end.due(now)) {
            if !self.holds {
                running.bring_up_to_date(demand, progress, &mut self.levels, now);
            }
            finished(running.position as usize);
            any = true;
        }
        for stopped in self.stopped.iter().filter(|stopped| stopped.end.due(now)) {
            finished(stopped.position as usize);
            any = true;
        }
        if any {
            for stopped in self.stopped.drain(..).filter(|stopped| !stopped.end.due(now)) {
                stopped.write_back(demand, progress);
            }
        }
        if !self.levels.is_empty() {
            for running in self.running.iter().filter(|running| running.end.due(now)) {
                self.levels.end(demand, running.position as usize);
            }
            self.levels.finish(demand, now, finished);
        }
        // Rounding may put a flow's end a little after `now`: that end is still to come.
        self.next = self.next_end(progress);
    }

    /// A flow has started.
    pub(crate) fn started(&mut self) {
        self.levels.started();
    }

    /// Removes a flow that is not sent for a while, and returns its bytes left. The rates have to
    /// be decided again.
    pub(crate) fn hold(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        position: usize,
        now: Time,
    ) -> f64 {
        if self.levels.is_empty() {
            self.advance(demand, progress, now);
            return progress.left[position] * progress.scale;
        }
        let left = self.left(demand, progress, position, now);
        self.levels.end(demand, position);
        left
    }

    /// Adds a flow that has `left` bytes left and may be sent again.
    pub(crate) fn let_go(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        position: usize,
        left: f64,
        now: Time,
    ) {
        if self.levels.is_empty() {
            self.advance(demand, progress, now);
        } else {
            self.levels.join(demand, position, left, now);
        }
    }

    /// Takes over the rates of `allocation` from `now` on.
    pub(crate) fn install(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        allocation: &CoflowAllocation,
        now: Time,
    ) {
        let levels = allocation.water_levels();
        let holds = allocation.by_size().is_some();
        let pauses = !self.levels.is_empty() && allocation.is_empty();
        let goes_on = (pauses || self.levels.is_empty() == levels.is_empty())
            && !self.levels.is_incomplete()
            && self.holds == holds;
        let is_compressed = !allocation.compression_rates().is_empty();
        let was_compressed = std::mem::replace(&mut self.is_compressed, is_compressed);
        let changes = allocation.own_rate_changes();
        let changes = changes.filter(|_| goes_on && !is_compressed && !was_compressed);
        if goes_on && (changes.is_some() || !allocation.own_rates_may_repeat()) {
            self.pass(demand, progress, now);
        } else {
            self.advance(demand, progress, now);
            self.levels.clear();
            self.running.clear();
            self.holds = holds;
        }
        if pauses {
            self.levels.pause(now);
        } else if !levels.is_empty() {
            self.levels.replace(demand, progress, allocation, now);
        }
        if self.by_size.replace(demand, allocation) {
            self.find_ends(demand, progress, now);
        }
        if let Some(changes) = changes {
            self.change_running(demand, progress, changes, now);
        } else if is_compressed || allocation.own_rates_may_repeat() {
            let mut rates = std::mem::take(&mut self.memory.rates);
            merge_own_rates(allocation, &mut rates);
            self.replace_running(demand, progress, rates.iter().copied(), now);
            self.memory.rates = rates;
        } else {
            self.replace_running(demand, progress, allocation.own_rates(), now);
        }
        if !self.levels.is_empty() {
            self.levels.compute_ends(demand);
            self.find_ends(demand, progress, now);
        }
        self.rate = allocation.total();
        self.next = self.next_end(progress);
        self.longest.set(self.longest.get().carry(now, || self.fastest()));
    }

    /// Computes again the ends of flows with bytes that are not written back.
    fn find_ends(&mut self, demand: &Demand, progress: &Progress, now: Time) {
        let mut running = std::mem::take(&mut self.running);
        let mut stopped = std::mem::take(&mut self.stopped);
        for flow in running.iter_mut().chain(&mut stopped) {
            flow.set_rate(flow.rate, now);
            flow.end = self.end(demand, progress, flow);
        }
        self.running = running;
        self.stopped = stopped;
    }

    /// Gives flows other rates of their own. `changes` are in the order of `running`; flows that
    /// begin are last.
    fn change_running(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        changes: impl Iterator<Item = FlowRate>,
        now: Time,
    ) {
        let mut running = std::mem::take(&mut self.running);
        // All flows before `next` have been processed; the first `kept` of them go on running.
        let (mut kept, mut next) = (0, 0);
        let before = running.len();
        for change in changes {
            let ahead = &running[next..before];
            let at = ahead.iter().position(|flow| flow.position == change.position);
            let met = at.map_or(before, |k| next + k);
            if kept < next {
                running.copy_within(next..met, kept);
            }
            kept += met - next;
            next = met;
            if met < before {
                let mut flow = running[met];
                next += 1;
                if change.rate > 0.0 {
                    self.change_rate(demand, progress, &mut flow, change.rate, now);
                    running[kept] = flow;
                    kept += 1;
                } else {
                    self.stop(demand, progress, &mut flow, now);
                }
            } else if change.rate > 0.0 {
                let mut flow = self.begun(change.position, now);
                self.change_rate(demand, progress, &mut flow, change.rate, now);
                running.push(flow);
            }
        }
        running.drain(kept..next);
        self.running = running;
        // As in `replace_running`.
        self.memory.running.reserve_exact(self.running.capacity());
    }

    /// A flow that gets a rate of its own.
    fn begun(&mut self, position: u32, now: Time) -> Running {
        let never = Running { position, rate: f64::NAN, extra: 0.0, since: now, end: Time::NEVER };
        self.take_stopped(position).unwrap_or(never)
    }

    /// Changes a flow's own rate.
    fn change_rate(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        flow: &mut Running,
        rate: f64,
        now: Time,
    ) {
        if flow.rate != rate {
            if !self.holds {
                flow.bring_up_to_date(demand, progress, &mut self.levels, now);
            }
            flow.set_rate(rate, now);
            flow.end = self.end(demand, progress, flow);
        }
    }

    /// Replaces the flows with a rate of their own. A flow that keeps its rate costs nothing if the
    /// flows come in the same order as before.
    fn replace_running(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        rates: impl Iterator<Item = FlowRate>,
        now: Time,
    ) {
        let mut before =
            std::mem::replace(&mut self.running, std::mem::take(&mut self.memory.running));
        self.running.clear();
        let mut rest = before.iter_mut();
        for own in rates {
            let mut flow = None;
            // A skipped flow has stopped, or comes later; then it is found among the stopped flows,
            // or it was written back.
            for old in rest.by_ref() {
                if old.position == own.position {
                    flow = Some(*old);
                    break;
                }
                self.stop(demand, progress, old, now);
            }
            let mut flow = flow.unwrap_or_else(|| self.begun(own.position, now));
            self.change_rate(demand, progress, &mut flow, own.rate, now);
            self.running.push(flow);
        }
        rest.for_each(|old| self.stop(demand, progress, old, now));
        // The two lists take turns: both get the larger capacity, so that neither grows later.
        before.clear();
        self.memory.running = before;
        self.memory.running.reserve_exact(self.running.capacity());
    }

    /// Ends a flow's rate of its own.
    fn stop(&mut self, demand: &Demand, progress: &mut Progress, flow: &mut Running, now: Time) {
        if !self.holds {
            flow.bring_up_to_date(demand, progress, &mut self.levels, now);
        } else if demand.is_active(flow.position as usize) {
            flow.set_rate(0.0, now);
            flow.end = self.end(demand, progress, flow);
            self.stopped.push(*flow);
        }
    }

    fn take_stopped(&mut self, position: u32) -> Option<Running> {
        let at = self.stopped.iter().position(|stopped| stopped.position == position)?;
        Some(self.stopped.swap_remove(at))
    }

    /// The maximum rate of a flow, in bytes per second.
    pub(super) fn fastest(&self) -> f64 {
        // A flow's rate by size is in proportion to its bytes left: no bound is kept.
        let by_size = if self.by_size.highest > 0.0 { f64::INFINITY } else { 0.0 };
        let own = self.running.iter().map(|flow| flow.rate).fold(0.0, f64::max);
        self.levels.fastest() + by_size + own
    }

    /// The time of the next end of a flow, by all rates together.
    fn next_end(&self, progress: &Progress) -> Time {
        let mut next = earliest(earliest(Time::NEVER, &self.running), &self.stopped);
        if self.by_size.highest > 0.0 {
            next = next.min(self.anchor + progress.scale / self.by_size.highest);
        }
        next.min(self.levels.next())
    }

    /// The time at which a flow ends by all its rates together. Its extra bytes must be as of the
    /// anchor.
    fn end(&self, demand: &Demand, progress: &Progress, flow: &Running) -> Time {
        let position = flow.position as usize;
        if !self.levels.is_empty() {
            let left = self.levels.left(demand, position, self.anchor) - flow.extra;
            return self.anchor + left.max(0.0) / (self.levels.rate(position) + flow.rate);
        }
        let left = progress.left[position];
        let rate = left * self.by_size.of(demand, position) + flow.rate;
        self.anchor + (left * progress.scale - flow.extra).max(0.0) / rate
    }
}

/// Replaces `rates` by the flows' own rates and those of compression, at most one a flow.
fn merge_own_rates(allocation: &CoflowAllocation, rates: &mut Vec<FlowRate>) {
    let compression = allocation.compression_rates().iter();
    let compression = compression.map(|c| FlowRate { position: c.position, rate: c.rate });
    rates.clear();
    rates.extend(allocation.own_rates().chain(compression));
    FlowRate::merge(rates);
}
