//! One coflow as a fluid: constant rates between moments, integrated when somebody looks.
//!
//! A coflow's [`Grant`] gives a flow the rate `min(level of its links) + y Λ + single`, where
//! `y = left / scale`. While a flow is compressed and sent, what compression takes from what is left
//! of it counts among its single rates, but not as sent. Three ways to integrate, by what the grant holds:
//!
//! - *Single rates*: each running flow has its own anchor and its own end; what runs on unchanged
//!   is not touched.
//! - *By size* (Λ): see [`by_size`]. What a single rate sends on top is kept apart, and the flow's
//!   share by size stays, so that what the allocator has booked is what is sent. It counts towards `y`
//!   when shares are decided anew: for flows that have stopped, when a flow of the coflow ends; for
//!   all, before the policy looks.
//! - *Levels*: each flow hangs at the link that limits it ([`Levels`]); a link whose level changes
//!   costs the same whatever the number of its flows.

mod by_size;
mod longest;

use std::cell::Cell;

use covey_core::alloc::{Grant, Single};
use covey_core::state::Progress;
use covey_core::{Demand, Time, rounded_bytes};

use crate::levels::Levels;

/// A flow with a rate of its own.
#[derive(Debug, Clone, Copy)]
struct Running {
    position: u32,
    rate: f64,
    /// Bytes sent at this and earlier rates that are not written down, up to `since`.
    extra: f64,
    since: Time,
    /// When it ends, if it keeps all its rates.
    end: Time,
}

/// The rates of one coflow since the anchor.
#[derive(Debug)]
pub(crate) struct Fluid {
    anchor: Time,
    /// Bytes sent up to the anchor.
    sent: f64,
    /// Bytes per second of the whole coflow.
    rate: f64,
    /// When the next flow ends at these rates.
    next: Time,
    levels: Levels,
    by_size: by_size::Levels,
    /// Whether shares by size are held as booked; see above.
    holds: bool,
    /// Whether compression lessens what is left of some flows.
    shrinks: bool,
    /// At most one a flow.
    running: Vec<Running>,
    /// Under shares by size, flows that ran and have bytes that are not written down.
    stopped: Vec<Running>,
    /// The list before, or working memory.
    spare: Vec<Running>,
    singles: Vec<Single>,
    longest: Cell<longest::Longest>,
}

impl Fluid {
    pub(crate) fn new() -> Fluid {
        Fluid {
            anchor: Time::ZERO,
            sent: 0.0,
            rate: 0.0,
            next: Time::NEVER,
            levels: Levels::default(),
            by_size: by_size::Levels::default(),
            holds: false,
            shrinks: false,
            running: Vec::new(),
            stopped: Vec::new(),
            spare: Vec::new(),
            singles: Vec::new(),
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
        self.shrinks = false;
        self.running.clear();
        self.stopped.clear();
    }

    /// When the next flow ends if rates stay.
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

    /// What is left of an unfinished flow at `now`, which is not written down.
    pub(crate) fn left(
        &self,
        demand: &Demand,
        progress: &Progress,
        position: usize,
        now: Time,
    ) -> f64 {
        let level = self.by_size.of(demand, position);
        let mut left = progress.left[position] * (progress.scale - level * (now - self.anchor));
        if self.levels.hangs(position) {
            left = self.levels.left(demand, position, now);
        }
        let own = self.running.iter().chain(&self.stopped);
        for flow in own.filter(|flow| flow.position as usize == position) {
            left -= flow.extra + flow.rate * (now - flow.since);
        }
        left.max(0.0)
    }

    /// When `bytes` will have been sent if rates stay.
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

    /// Whether flows are sent out of proportion to what is left of them while others are sent in
    /// proportion, so that proportions change with time.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.holds && !(self.running.is_empty() && self.stopped.is_empty())
    }

    /// Whether anything is sent, will end, or is not written down.
    pub(crate) fn is_moving(&self) -> bool {
        self.rate != 0.0
            || self.next.comes()
            || self.is_raised()
            || !(self.running.is_empty() && self.stopped.is_empty())
    }

    /// Whether some flows are sent faster than in proportion to what is left of all.
    pub(crate) fn is_raised(&self) -> bool {
        self.by_size.are_raised()
    }

    /// Seconds over the scale for which raised flows have been sent since this was asked last. What they
    /// have sent is written down.
    pub(crate) fn take_passed(&mut self) -> f64 {
        self.by_size.take_passed()
    }

    /// Moves the anchor of what all flows have in common.
    fn pass(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        let dt = (now - self.anchor).max(0.0);
        self.anchor = self.anchor.max(now);
        self.sent += self.rate * dt;
        self.by_size.pass(demand, progress, dt);
    }

    /// Writes down what is left of every flow at `now`. No flow may end before `now`.
    pub(crate) fn advance(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        self.pass(demand, progress, now);
        for flow in self.running.iter_mut().chain(&mut self.stopped) {
            flow.settle(demand, progress, &mut self.levels, now);
        }
        self.stopped.clear();
        if !self.levels.is_empty() {
            self.levels.settle(demand);
            self.levels.write_down(demand, progress, now);
        }
        if self.holds {
            self.find_ends(demand, progress, now);
        }
    }

    /// Writes down what is left where it is needed and calls `finished` with the position of every
    /// flow that ends at `now`; with the same flow twice if it has a level and a rate of its own.
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
                running.settle(demand, progress, &mut self.levels, now);
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
                stopped.write_down(demand, progress);
            }
        }
        if !self.levels.is_empty() {
            for running in self.running.iter().filter(|running| running.end.due(now)) {
                self.levels.end(demand, running.position as usize);
            }
            self.levels.finish(demand, now, finished);
        }
        // Rounding may leave a flow a little beyond `now`; then it is still to come.
        self.next = self.next_end(progress);
    }

    /// A flow has started.
    pub(crate) fn started(&mut self) {
        self.levels.started();
    }

    /// Takes a flow out that is not to be sent for a while, and returns what is left of it. The
    /// rates are to be decided anew.
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

    /// Takes a flow in that has `left` bytes left and may be sent again.
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

    /// Takes over the rates of `grant` from `now` on.
    pub(crate) fn install(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        grant: &Grant,
        now: Time,
    ) {
        let pauses = !self.levels.is_empty() && grant.is_empty();
        let goes_on = (pauses || self.levels.is_empty() == grant.levels().is_empty())
            && !self.levels.is_incomplete()
            && self.holds == grant.by_size().is_some();
        let shrinks = !grant.shrinks().is_empty();
        let shrank = std::mem::replace(&mut self.shrinks, shrinks);
        let changes = grant.changes().filter(|_| goes_on && !shrinks && !shrank);
        if goes_on && (changes.is_some() || !grant.may_repeat()) {
            self.pass(demand, progress, now);
        } else {
            self.advance(demand, progress, now);
            self.levels.clear();
            self.running.clear();
            self.holds = grant.by_size().is_some();
        }
        if pauses {
            self.levels.pause(now);
        } else if !grant.levels().is_empty() {
            let changes = grant.level_changes();
            self.levels.replace(demand, progress, grant.levels(), changes, now);
        }
        if self.by_size.replace(grant.by_size()) {
            self.find_ends(demand, progress, now);
        }
        if let Some(changes) = changes {
            self.change_running(demand, progress, changes, now);
        } else if grant.may_repeat() || shrinks {
            let mut singles = std::mem::take(&mut self.singles);
            merged(grant, &mut singles);
            self.replace_running(demand, progress, singles.iter().copied(), now);
            self.singles = singles;
        } else {
            self.replace_running(demand, progress, grant.singles(), now);
        }
        if !self.levels.is_empty() {
            self.levels.settle(demand);
            self.find_ends(demand, progress, now);
        }
        self.rate = grant.total();
        self.next = self.next_end(progress);
        self.carry_longest(demand, now);
    }

    /// Finds out anew when flows end that have bytes that are not written down.
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

    /// Gives flows other rates of their own. `changes` come in the order of `running`, those of flows
    /// that begin last.
    fn change_running(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        changes: impl Iterator<Item = Single>,
        now: Time,
    ) {
        let mut running = std::mem::take(&mut self.running);
        // All before `next` are looked at; those of them that run on are the first `kept`.
        let (mut kept, mut next) = (0, 0);
        let before = running.len();
        for single in changes {
            let ahead = &running[next..before];
            let at = ahead.iter().position(|flow| flow.position == single.position);
            let met = at.map_or(before, |k| next + k);
            if kept < next {
                running.copy_within(next..met, kept);
            }
            kept += met - next;
            next = met;
            if met < before {
                let mut flow = running[met];
                next += 1;
                if single.rate > 0.0 {
                    self.change_rate(demand, progress, &mut flow, single.rate, now);
                    running[kept] = flow;
                    kept += 1;
                } else {
                    self.stop(demand, progress, &mut flow, now);
                }
            } else if single.rate > 0.0 {
                let mut flow = self.begun(single.position, now);
                self.change_rate(demand, progress, &mut flow, single.rate, now);
                running.push(flow);
            }
        }
        running.drain(kept..next);
        self.running = running;
        // See `replace_running`.
        self.spare.reserve_exact(self.running.capacity());
    }

    /// A flow that is to have a rate of its own.
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
                flow.settle(demand, progress, &mut self.levels, now);
            }
            flow.set_rate(rate, now);
            flow.end = self.end(demand, progress, flow);
        }
    }

    /// Makes `singles` the flows with a rate of their own. Those that keep their rate, in the same
    /// order as before, are not touched.
    fn replace_running(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        singles: impl Iterator<Item = Single>,
        now: Time,
    ) {
        let mut before = std::mem::replace(&mut self.running, std::mem::take(&mut self.spare));
        self.running.clear();
        let mut rest = before.iter_mut();
        for single in singles {
            let mut flow = None;
            // Whoever is passed over here has stopped, or is met again below: then it is found among
            // the stopped, or is written down.
            for old in rest.by_ref() {
                if old.position == single.position {
                    flow = Some(*old);
                    break;
                }
                self.stop(demand, progress, old, now);
            }
            let mut flow = flow.unwrap_or_else(|| self.begun(single.position, now));
            self.change_rate(demand, progress, &mut flow, single.rate, now);
            self.running.push(flow);
        }
        rest.for_each(|old| self.stop(demand, progress, old, now));
        // The two lists take turns: let neither be the one that has to grow again.
        before.clear();
        self.spare = before;
        self.spare.reserve_exact(self.running.capacity());
    }

    /// Ends a flow's rate of its own.
    fn stop(&mut self, demand: &Demand, progress: &mut Progress, flow: &mut Running, now: Time) {
        if !self.holds {
            flow.settle(demand, progress, &mut self.levels, now);
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

    /// When the next flow ends, all rates together.
    fn next_end(&self, progress: &Progress) -> Time {
        let mut next = earliest(earliest(Time::NEVER, &self.running), &self.stopped);
        if self.by_size.highest > 0.0 {
            next = next.min(self.anchor + progress.scale / self.by_size.highest);
        }
        next.min(self.levels.next())
    }

    /// When a flow ends, all its rates together, if its extra bytes are as of the anchor.
    fn end(&self, demand: &Demand, progress: &Progress, flow: &Running) -> Time {
        let position = flow.position as usize;
        if !self.levels.is_empty() {
            let left = self.levels.left(demand, position, self.anchor) - flow.extra;
            return self.anchor + left.max(0.0) / (self.levels.rate(demand, position) + flow.rate);
        }
        let left = progress.left[position];
        let rate = left * self.by_size.of(demand, position) + flow.rate;
        self.anchor + (left * progress.scale - flow.extra).max(0.0) / rate
    }
}

/// The earliest end among some flows, or `first` if that is earlier.
fn earliest(first: Time, flows: &[Running]) -> Time {
    const LANES: usize = 4;
    let earlier = |a: Time, b: Time| if b < a { b } else { a };
    // Several at a time, for no comparison to wait for the one before.
    let mut lanes = [first; LANES];
    let chunks = flows.chunks_exact(LANES);
    for (lane, flow) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = earlier(*lane, flow.end);
    }
    for chunk in chunks {
        for k in 0..LANES {
            lanes[k] = earlier(lanes[k], chunk[k].end);
        }
    }
    lanes.into_iter().fold(first, earlier)
}

impl Running {
    /// Changes the flow's own rate.
    fn set_rate(&mut self, rate: f64, now: Time) {
        if now > self.since {
            self.extra += self.rate * (now - self.since);
        }
        self.since = now;
        self.rate = rate;
    }

    /// Writes down what the flow's own rates have sent up to `now`.
    fn settle(&mut self, demand: &Demand, progress: &mut Progress, levels: &mut Levels, now: Time) {
        self.set_rate(self.rate, now);
        if levels.is_empty() {
            self.write_down(demand, progress);
        } else {
            levels.take(demand, self.position as usize, self.extra);
        }
        self.extra = 0.0;
    }

    /// Takes the extra bytes from what is left.
    fn write_down(&self, demand: &Demand, progress: &mut Progress) {
        let p = self.position as usize;
        if !demand.is_active(p) {
            return;
        }
        let mut sent = self.extra / progress.scale;
        if progress.scale == 1.0 {
            sent = progress.left[p] - rounded_bytes(progress.left[p] - sent, self.rate);
        }
        progress.left[p] -= sent;
        if demand.is_bipartite() {
            let (s, r) = demand.ends(p);
            progress.link_left[s] -= sent;
            progress.link_left[r] -= sent;
        } else {
            demand.path(p).for_each(|l| progress.link_left[l] -= sent);
        }
    }
}

/// The single rates of a grant and those of compression, at most one a flow, into `singles`.
fn merged(grant: &Grant, singles: &mut Vec<Single>) {
    singles.clear();
    singles.extend(grant.singles().chain(grant.shrinks().iter().copied()));
    if grant.may_repeat() || !grant.shrinks().is_empty() {
        singles.sort_unstable_by_key(|single| single.position);
        singles.dedup_by(|second, first| {
            let same = first.position == second.position;
            if same {
                first.rate += second.rate;
            }
            same
        });
    }
}
