//! One coflow as a fluid: constant rates between moments, integrated when somebody looks.
//!
//! A coflow's [`Grant`] gives a flow the rate `min(level of its two links) + y κ + single`, where
//! `y = left / scale`. Three ways to integrate, by what the grant holds:
//!
//! - *Single rates*: each running flow has its own anchor and its own end; what runs on unchanged
//!   is not touched.
//! - *MADD* (κ): only `scale` shrinks, by κ a second, whatever the number of flows. What a single
//!   rate sends on top is kept apart, and the flow's share under MADD stays, so that what the
//!   allocator has booked is what is sent. It counts towards `y` when MADD is decided anew: for
//!   flows that have stopped, when a flow of the coflow ends; for all, before the policy looks.
//! - *Levels*: rows of flows, a sender at a time, in a form that compiles to vector instructions.
//!   Each row has its own anchor; one whose rates go on unchanged is not touched.

use covey_core::alloc::{Grant, Single};
use covey_core::state::Progress;
use covey_core::{Demand, Time};

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
    levels: Vec<f64>,
    /// 1 / level.
    inverse: Vec<f64>,
    /// Use of each local link by the rates given by level.
    used: Vec<f64>,
    /// κ.
    madd: f64,
    /// Whether shares under MADD are held as booked; see above.
    holds: bool,
    /// What is left of each sender's flows, their single rates aside, was written down then; and
    /// when the next of them ends.
    row_since: Vec<Time>,
    row_next: Vec<Time>,
    /// At most one a flow.
    running: Vec<Running>,
    /// Under MADD, flows that ran and have bytes that are not written down.
    stopped: Vec<Running>,
    /// The list before, or working memory.
    spare: Vec<Running>,
    singles: Vec<Single>,
}

impl Fluid {
    pub(crate) fn new() -> Fluid {
        Fluid {
            anchor: Time::ZERO,
            sent: 0.0,
            rate: 0.0,
            next: Time::NEVER,
            levels: Vec::new(),
            inverse: Vec::new(),
            used: Vec::new(),
            madd: 0.0,
            holds: false,
            row_since: Vec::new(),
            row_next: Vec::new(),
            running: Vec::new(),
            stopped: Vec::new(),
            spare: Vec::new(),
            singles: Vec::new(),
        }
    }

    /// No rates, and `sent` bytes sent up to `now`.
    pub(crate) fn resume(&mut self, now: Time, sent: f64) {
        self.anchor = now;
        self.sent = sent;
        self.halt();
    }

    /// No rates.
    pub(crate) fn halt(&mut self) {
        self.rate = 0.0;
        self.row_next.clear();
        self.next = Time::NEVER;
        self.levels.clear();
        self.madd = 0.0;
        self.holds = false;
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

    /// Moves the anchor of what all flows have in common.
    fn pass(&mut self, progress: &mut Progress, now: Time) {
        let dt = (now - self.anchor).max(0.0);
        self.anchor = self.anchor.max(now);
        self.sent += self.rate * dt;
        if self.madd > 0.0 {
            // At its end the coflow has nothing left: a scale of zero would lose the flows that are
            // yet to start, and which flows end is decided by time, not by bytes.
            let rest = progress.scale - dt * self.madd;
            progress.scale = rest.max(progress.scale * f64::EPSILON);
        }
        if !self.levels.is_empty() && dt > 0.0 {
            let by_scale = dt / progress.scale;
            for (left, used) in progress.link_left.iter_mut().zip(&self.used) {
                *left -= used * by_scale;
            }
        }
    }

    /// Writes down what is left of every flow at `now`. No flow may end before `now`.
    pub(crate) fn advance(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        self.pass(progress, now);
        if !self.levels.is_empty() {
            for s in 0..demand.senders() {
                self.advance_row(demand, progress, s, now);
            }
        }
        for flow in self.running.iter_mut().chain(&mut self.stopped) {
            flow.settle(demand, progress, now);
        }
        self.stopped.clear();
        if self.holds {
            self.find_ends(demand, progress, now);
        }
    }

    /// Writes down what is left of a sender's flows, their single rates aside.
    fn advance_row(&mut self, demand: &Demand, progress: &mut Progress, s: usize, now: Time) {
        let by_scale = (now - self.row_since[s]) / progress.scale;
        self.row_since[s] = now;
        let level = self.levels[s];
        if by_scale == 0.0 || level == 0.0 || demand.count()[s] == 0 {
            return;
        }
        let row = demand.row(s);
        let left = &mut progress.left[row.clone()];
        if demand.is_regular(s) {
            for (left, &other) in left.iter_mut().zip(&self.levels[demand.senders()..]) {
                *left -= (if other < level { other } else { level }) * by_scale;
            }
        } else {
            for (left, &r) in left.iter_mut().zip(&demand.receiver_links()[row]) {
                *left -= self.levels[r as usize].min(level) * by_scale;
            }
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
        self.pass(progress, now);
        let slack = now.slack_s();
        if self.madd > 0.0 && progress.scale / self.madd <= slack {
            // Single rates end with the flows; nothing of them is left to be written down.
            self.running.clear();
            self.stopped.clear();
            demand.active().for_each(finished);
            return;
        }
        let mut any = false;
        for running in self.running.iter_mut().filter(|running| running.end.due(now)) {
            if !self.holds {
                running.settle(demand, progress, now);
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
            for s in 0..demand.senders() {
                if !self.row_next[s].due(now) {
                    continue;
                }
                self.advance_row(demand, progress, s, now);
                for p in demand.active_in_row(s) {
                    let inverse = self.inverse[s].max(self.inverse[demand.receiver_of(p)]);
                    if progress.left[p] * progress.scale * inverse <= slack {
                        finished(p);
                    }
                }
                self.row_next[s] = self.next_in_row(demand, progress, s, now);
            }
        }
        // Rounding may leave a flow a little beyond `now`; then it is still to come.
        self.next = self.next_end(progress);
    }

    /// A flow of a sender has started at `now`: the sender's row is to be looked at again.
    pub(crate) fn started(&mut self, sender: usize, now: Time) {
        if let Some(next) = self.row_next.get_mut(sender) {
            *next = now;
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
        let levels = (!self.levels.is_empty(), !grant.levels().is_empty());
        let has_singles = !self.running.is_empty() || grant.singles().next().is_some();
        if levels == (true, true) && !has_singles {
            self.pass(progress, now);
            self.replace_levels(demand, progress, grant, now);
        } else if levels == (false, false)
            && !grant.may_repeat()
            && self.holds == grant.is_by_size()
        {
            self.pass(progress, now);
            self.change_madd(demand, progress, grant.madd(), now);
            self.replace_running(demand, progress, grant.singles(), now);
        } else {
            self.advance(demand, progress, now);
            self.levels.clear();
            self.levels.resize(grant.levels().len(), 0.0);
            self.row_since.clear();
            self.row_since.resize(demand.senders(), now);
            if levels.1 {
                self.replace_levels(demand, progress, grant, now);
            }
            self.madd = grant.madd();
            self.holds = grant.is_by_size();
            self.running.clear();
            let mut singles = std::mem::take(&mut self.singles);
            merged(grant, &mut singles);
            self.replace_running(demand, progress, singles.iter().copied(), now);
            self.singles = singles;
        }
        self.rate = grant.total();
        self.next = self.next_end(progress);
    }

    /// Makes the grant's levels those of the links, and finds out when the next flow of each sender
    /// ends. A row is left alone when its own level stays and no level below that changes.
    fn replace_levels(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        grant: &Grant,
        now: Time,
    ) {
        let senders = demand.senders();
        let new = grant.levels();
        let least_changed = self.levels[senders..]
            .iter()
            .zip(&new[senders..])
            .filter(|(old, new)| old != new)
            .map(|(old, new)| old.min(*new))
            .fold(f64::INFINITY, f64::min);
        self.inverse.clear();
        self.inverse.extend(new.iter().map(|level| 1.0 / level));
        self.row_next.resize(senders, Time::NEVER);
        for (s, &level) in new[..senders].iter().enumerate() {
            let goes_on = self.levels[s] == level && least_changed >= level;
            if goes_on && !self.row_next[s].due(now) {
                continue;
            }
            self.advance_row(demand, progress, s, now);
            self.row_next[s] = self.next_in_row(demand, progress, s, now);
        }
        self.row_next.truncate(senders);
        self.levels.clear();
        self.levels.extend_from_slice(new);
        self.used.clear();
        self.used.extend((0..demand.links().len()).map(|l| grant.used_by_level(l)));
    }

    /// Changes κ.
    fn change_madd(&mut self, demand: &Demand, progress: &Progress, madd: f64, now: Time) {
        if self.madd != madd {
            self.madd = madd;
            self.find_ends(demand, progress, now);
        }
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
            let mut flow = flow.or_else(|| self.take_stopped(single.position)).unwrap_or(Running {
                position: single.position,
                rate: f64::NAN,
                extra: 0.0,
                since: now,
                end: Time::NEVER,
            });
            if flow.rate != single.rate {
                if !self.holds {
                    flow.settle(demand, progress, now);
                }
                flow.set_rate(single.rate, now);
                flow.end = self.end(demand, progress, &flow);
            }
            self.running.push(flow);
        }
        rest.for_each(|old| self.stop(demand, progress, old, now));
        // The two lists take turns: let neither be the one that has to grow again.
        before.clear();
        before.reserve(self.running.len());
        self.spare = before;
    }

    /// Ends a flow's rate of its own.
    fn stop(&mut self, demand: &Demand, progress: &mut Progress, flow: &mut Running, now: Time) {
        if !self.holds {
            flow.settle(demand, progress, now);
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

    /// When the next flow of a sender ends, if what is left of them is as of `now`. Levels are those
    /// in `inverse`.
    fn next_in_row(&self, demand: &Demand, progress: &Progress, s: usize, now: Time) -> Time {
        let inverse = self.inverse[s];
        if demand.count()[s] == 0 || inverse == f64::INFINITY {
            return Time::NEVER;
        }
        let row = demand.row(s);
        let least = if demand.is_regular(s) {
            least_product(&progress.left[row], &self.inverse[demand.senders()..], inverse)
        } else {
            row.map(|p| progress.left[p] * self.inverse[demand.receiver_of(p)].max(inverse))
                .fold(f64::INFINITY, f64::min)
        };
        now + least * progress.scale
    }

    /// When the next flow ends, all rates together.
    fn next_end(&self, progress: &Progress) -> Time {
        let mut next = earliest(earliest(Time::NEVER, &self.running), &self.stopped);
        if self.madd > 0.0 {
            next = next.min(self.anchor + progress.scale / self.madd);
        }
        if !self.levels.is_empty() {
            next = self.row_next.iter().fold(next, |a, &b| if b < a { b } else { a });
        }
        next
    }

    /// When a flow ends, all its rates together, if its extra bytes are as of the anchor.
    fn end(&self, demand: &Demand, progress: &Progress, flow: &Running) -> Time {
        let position = flow.position as usize;
        let left = progress.left[position];
        let mut rate = left * self.madd + flow.rate;
        if !self.levels.is_empty() {
            rate += demand.path(position).map(|l| self.levels[l]).fold(f64::INFINITY, f64::min);
        }
        self.anchor + (left * progress.scale - flow.extra).max(0.0) / rate
    }
}

/// The earliest end among some flows, or `first` if that is earlier.
fn earliest(first: Time, flows: &[Running]) -> Time {
    flows.iter().fold(first, |next, flow| if flow.end < next { flow.end } else { next })
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
    fn settle(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        self.set_rate(self.rate, now);
        self.write_down(demand, progress);
        self.extra = 0.0;
    }

    /// Takes the extra bytes from what is left.
    fn write_down(&self, demand: &Demand, progress: &mut Progress) {
        let p = self.position as usize;
        if !demand.is_active(p) {
            return;
        }
        let sent = self.extra / progress.scale;
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

/// The single rates of a grant, at most one a flow, into `singles`.
fn merged(grant: &Grant, singles: &mut Vec<Single>) {
    singles.clear();
    singles.extend(grant.singles());
    if grant.may_repeat() {
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

/// Least of `left[k] * max(other[k], inverse)`, in a form that compiles to vector instructions. NaN
/// (a flow yet to start, or an ended one nobody limits) is never the least.
pub(crate) fn least_product(left: &[f64], other: &[f64], inverse: f64) -> f64 {
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
