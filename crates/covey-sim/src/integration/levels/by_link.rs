//! Flows whose rate is the lowest water level of their links, each attached to the link that limits it.
//!
//! A link's *service* is the integral of its level: the bytes sent by a flow that the link limits,
//! since the flow was attached. So a flow with `left` bytes that is attached to a link of service
//! `v` ends when the service reaches `v + left`, its *target*, whatever the level does until then.
//! Of all flows at a link, the one with the lowest target ends next. A change of a link's level
//! costs the same for one flow as for thousands. A flow moves only when another link begins to
//! limit it: its target is then converted to the other link's service.
//!
//! The allocator tells which flows move, or all flows are looked at.

use covey_core::alloc::CoflowAllocation;
use covey_core::state::Progress;
use covey_core::{Demand, Time, minimum, positions_where, rounded_bytes};

use super::ends::Ends;
use super::laid::Laid;

/// A link and the flows that are attached to it.
#[derive(Debug, Clone, Copy)]
struct Limit {
    /// Bytes of service up to `since`. The service starts from zero with the first flow, so it is
    /// at most the bytes that one flow can have sent.
    service: f64,
    since: Time,
    /// The number of attached flows.
    flows: u32,
    /// The lowest of their targets, or a lower value if `stale`.
    least: f64,
    /// Whether `least` or the level has changed since the next end was computed.
    changed: bool,
    /// Whether the flow with the target `least` may be detached.
    stale: bool,
}

/// Flows by the link that limits them.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// Water level of each local link in bytes per second; empty when no rates are given by level.
    level: Vec<f64>,
    /// The previous levels while levels change or are paused; otherwise equal to `levels`.
    before: Vec<f64>,
    /// Whether flows are paused until there are levels again.
    paused: bool,
    /// By local link.
    limits: Vec<Limit>,
    /// The time of the next end of a flow attached to each link, by local link.
    next: Ends,
    /// The flows. A flow's target is kept for the link to which the flow is attached; it is
    /// infinite for all other flows.
    flows: Laid,
    /// By its number, the link to which a flow is attached, or was last.
    at: Vec<u32>,
    /// Links whose next end has to be computed again.
    pending: Vec<u32>,
    /// Whether flows have started that are not attached yet.
    incomplete: bool,
    /// Working memory: links whose level changes.
    changed: Vec<u32>,
    /// Working memory: flows that may move to another link, or that end.
    moving: Vec<u32>,
}

impl Levels {
    /// Whether no rates are given by level.
    pub(crate) fn is_empty(&self) -> bool {
        self.level.is_empty()
    }

    /// Removes all rates. Bytes sent must have been written back.
    pub(crate) fn clear(&mut self) {
        self.level.clear();
        self.incomplete = false;
    }

    /// A flow has started.
    pub(crate) fn started(&mut self) {
        self.incomplete = !self.is_empty();
    }

    /// Whether flows have started that are not attached yet.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// The time of the next end of a flow.
    pub(crate) fn next(&self) -> Time {
        if self.is_empty() {
            return Time::NEVER;
        }
        self.next.first()
    }

    /// The level of the link that limits a flow.
    pub(crate) fn rate(&self, position: usize) -> f64 {
        self.level[self.link(position)]
    }

    /// A bound on the rates of all flows.
    pub(crate) fn fastest(&self) -> f64 {
        let limiting = self.limits.iter().zip(&self.level).filter(|(limit, _)| limit.flows > 0);
        limiting.fold(0.0, |a: f64, (_, &b)| a.max(b))
    }

    /// Bytes left of an active flow at `now`.
    pub(crate) fn left(&self, demand: &Demand, position: usize, now: Time) -> f64 {
        self.target(demand, position) - self.service(self.link(position), now)
    }

    /// Subtracts `bytes` from a flow's bytes left: the flow has sent them in addition to its level.
    pub(crate) fn take(&mut self, demand: &Demand, position: usize, bytes: f64) {
        let target = self.target(demand, position) - bytes;
        if target < f64::INFINITY && bytes > 0.0 {
            let l = self.link(position);
            self.set_target(demand, position, target);
            self.limits[l].least = self.limits[l].least.min(target);
            self.look_again(l);
        }
    }

    /// Computes the ends of flows, after [`Levels::take`] and [`Levels::end`].
    pub(crate) fn compute_ends(&mut self, demand: &Demand) {
        while let Some(l) = self.pending.pop() {
            let l = l as usize;
            if std::mem::take(&mut self.limits[l].stale) {
                self.limits[l].least = self.least(demand, l);
            }
            let Limit { service, since, least, .. } = self.limits[l];
            self.limits[l].changed = false;
            let next = if self.level[l] > 0.0 && least < f64::INFINITY {
                since + ((least - service) / self.level[l]).max(0.0)
            } else {
                Time::NEVER
            };
            self.next.set(l, next);
        }
        self.next.settle();
    }

    /// Pauses all flows from `now` on, until there are levels again. The flows stay attached, so a
    /// coflow that is served on and off costs a step for each link, not for each flow.
    pub(crate) fn pause(&mut self, now: Time) {
        for (limit, level) in self.limits.iter_mut().zip(&mut self.level) {
            let service = limit.service + *level * (now - limit.since);
            limit.service = rounded_bytes(service, *level);
            limit.since = now;
            *level = 0.0;
        }
        self.next.forget();
        self.paused = true;
    }

    /// Replaces the levels of the links from `now` on by those of an `allocation`, which may tell where they differ.
    /// There must be levels already.
    fn change(&mut self, demand: &Demand, allocation: &CoflowAllocation, now: Time) {
        let levels = allocation.water_levels();
        let changes = allocation.water_level_changes().filter(|_| !self.paused);
        let changed = &mut self.changed;
        changed.clear();
        if std::mem::take(&mut self.paused) {
            changed.extend(0..levels.len() as u32);
        } else if let Some(changes) = changes {
            changed.extend_from_slice(changes);
        } else {
            changed.extend(differing(&self.level, levels));
        }
        for l in changed.iter().map(|&l| l as usize) {
            let limit = &mut self.limits[l];
            limit.service += self.level[l] * (now - limit.since);
            limit.since = now;
            look_again(limit, &mut self.pending, l);
            self.level[l] = levels[l];
        }
        debug_assert_eq!(self.level, levels);
        if changes.is_some() {
            for &position in allocation.moved_flows() {
                self.move_to_limit(demand, position as usize, allocation, now);
            }
        } else if allocation.tells_limits() {
            for position in 0..self.at.len() {
                self.move_to_limit(demand, position, allocation, now);
            }
        } else {
            self.move_flows(demand, now);
        }
        for l in self.changed.iter().map(|&l| l as usize) {
            self.before[l] = self.level[l];
        }
        self.compute_ends(demand);
    }

    /// Begins with these levels, and no flow attached.
    pub(crate) fn start(&mut self, demand: &Demand, levels: impl Iterator<Item = f64>, now: Time) {
        self.level.clear();
        self.level.extend(levels);
        self.before.clone_from(&self.level);
        self.limits.clear();
        self.limits.resize(self.level.len(), Limit::unused(now));
        self.next.start(self.level.len());
        self.pending.clear();
        self.paused = false;
        self.flows.clear(demand);
        self.at.clear();
        self.at.resize(demand.width(), 0);
    }

    /// Moves the flows that a link limits now of which the level has changed, or does not any more.
    fn move_flows(&mut self, demand: &Demand, now: Time) {
        let lowest = self.level.iter().fold(f64::INFINITY, |a: f64, &b| a.min(b));
        let highest = self.fastest();
        let mut moving = std::mem::take(&mut self.moving);
        for k in 0..self.changed.len() {
            let l = self.changed[k] as usize;
            let falls = self.level[l] < self.before[l];
            // No flow has a higher level, or no link has a lower one.
            if if falls { highest <= self.level[l] } else { self.level[l] <= lowest } {
                continue;
            }
            let targets = self.flows.targets(demand, l).iter().enumerate();
            let flow = |k: usize| self.flows.flow(demand, l, k) as u32;
            moving.clear();
            if falls {
                let above = |&flow: &u32| self.level[self.link(flow as usize)] > self.level[l];
                moving.extend(targets.map(|(k, _)| flow(k)).filter(above));
            } else {
                let attached = targets.filter(|(_, target)| **target < f64::INFINITY);
                moving.extend(attached.map(|(k, _)| flow(k)));
            }
            moving.iter().for_each(|&flow| self.move_flow(demand, flow as usize, now));
        }
        self.moving = moving;
    }

    /// Attaches a flow to the link that limits it, if it is attached to the other one.
    fn move_flow(&mut self, demand: &Demand, position: usize, now: Time) {
        let link = self.flows.lowest(demand, position, &self.level);
        self.move_to(demand, position, link, now);
    }

    /// Attaches a flow to the link that limits it by what `allocation` says, if it is attached to another one.
    fn move_to_limit(
        &mut self,
        demand: &Demand,
        position: usize,
        allocation: &CoflowAllocation,
        now: Time,
    ) {
        match allocation.limit(position) {
            Some(link) => self.move_to(demand, position, link, now),
            None => self.move_flow(demand, position, now),
        }
    }

    fn move_to(&mut self, demand: &Demand, position: usize, link: usize, now: Time) {
        if self.at[position] as usize == link {
            return;
        }
        let target = self.target(demand, position);
        if target < f64::INFINITY {
            let left = target - self.service(self.link(position), now);
            self.detach(demand, position, target);
            self.attach(demand, position, link, left, now);
        }
    }

    /// Attaches a flow with `left` bytes to the link that limits it.
    fn attach_to_lowest(&mut self, demand: &Demand, position: usize, left: f64, now: Time) {
        // At the end of a pause, flows move by the levels before it.
        let level = if self.paused { &self.before } else { &self.level };
        let link = self.flows.lowest(demand, position, level);
        self.attach(demand, position, link, left, now);
    }

    /// Attaches a flow with `left` bytes to a link.
    fn attach(&mut self, demand: &Demand, position: usize, l: usize, left: f64, now: Time) {
        self.at[position] = l as u32;
        if self.limits[l].flows == 0 {
            let Limit { changed, .. } = self.limits[l];
            self.limits[l] = Limit { changed, ..Limit::unused(now) };
        }
        let target = self.service(l, now) + left;
        self.set_target(demand, position, target);
        self.limits[l].flows += 1;
        self.limits[l].least = self.limits[l].least.min(target);
        self.look_again(l);
    }

    /// Detaches a flow, which has this target.
    fn detach(&mut self, demand: &Demand, position: usize, target: f64) {
        let l = self.link(position);
        self.limits[l].flows -= 1;
        self.limits[l].stale |= target <= self.limits[l].least;
        self.look_again(l);
        self.set_target(demand, position, f64::INFINITY);
    }

    /// Whether a flow is sent at a level.
    pub(crate) fn is_attached(&self, demand: &Demand, position: usize) -> bool {
        !self.is_empty() && self.target(demand, position) < f64::INFINITY
    }

    /// Continues a flow, which may be detached, with `left` bytes.
    pub(crate) fn join(&mut self, demand: &Demand, position: usize, left: f64, now: Time) {
        if !self.is_attached(demand, position) {
            self.attach_to_lowest(demand, position, left, now);
        }
    }

    /// A flow has ended.
    pub(crate) fn end(&mut self, demand: &Demand, position: usize) {
        let target = self.target(demand, position);
        if target < f64::INFINITY {
            self.detach(demand, position, target);
        }
    }

    /// Ends the flows that end at `now` by their level, and calls `finished` with each.
    pub(crate) fn finish(&mut self, demand: &Demand, now: Time, mut finished: impl FnMut(usize)) {
        let mut ending = std::mem::take(&mut self.moving);
        let mut from = 0;
        while let Some(l) = self.next.due(from, now) {
            from = l + 1;
            let service = self.service(l, now);
            self.limits[l].service = service;
            self.limits[l].since = now;
            self.look_again(l);
            let bound = service + self.level[l] * now.slack_s();
            let targets = self.flows.targets(demand, l).iter().enumerate();
            let due = targets.filter(|(_, target)| **target <= bound);
            ending.clear();
            ending.extend(due.map(|(k, _)| self.flows.flow(demand, l, k) as u32));
            for p in ending.iter().map(|&p| p as usize) {
                self.end(demand, p);
                finished(p);
            }
        }
        self.moving = ending;
        self.compute_ends(demand);
    }

    /// The lowest target of the flows attached to a link.
    fn least(&self, demand: &Demand, l: usize) -> f64 {
        if self.limits[l].flows == 0 {
            return f64::INFINITY;
        }
        minimum(f64::INFINITY, self.flows.targets(demand, l))
    }

    /// The service, of the link to which a flow is attached, at which the flow ends; infinite if it
    /// is detached.
    fn target(&self, demand: &Demand, position: usize) -> f64 {
        self.flows.target(demand, position, self.link(position))
    }

    fn set_target(&mut self, demand: &Demand, position: usize, target: f64) {
        self.flows.set_target(demand, position, self.link(position), target);
    }

    /// The link to which a flow is attached.
    fn link(&self, position: usize) -> usize {
        self.at[position] as usize
    }

    fn service(&self, l: usize, now: Time) -> f64 {
        let Limit { service, since, .. } = self.limits[l];
        service + self.level[l] * (now - since)
    }

    fn look_again(&mut self, l: usize) {
        look_again(&mut self.limits[l], &mut self.pending, l);
    }

    /// Writes back the bytes left of every flow at `now`.
    pub(crate) fn write_back(&self, demand: &Demand, progress: &mut Progress, now: Time) {
        progress.link_left.fill(0.0);
        for p in demand.active() {
            if self.target(demand, p) < f64::INFINITY {
                progress.left[p] = self.left(demand, p, now) / progress.scale;
            }
            let (s, r) = demand.ends(p);
            progress.link_left[s] += progress.left[p];
            progress.link_left[r] += progress.left[p];
            demand.inner_path(p).for_each(|l| progress.link_left[l] += progress.left[p]);
        }
    }

    /// Replaces the levels of the links from `now` on by those of an allocation. If there were no levels, the bytes
    /// left of the flows must have been written back.
    pub(crate) fn replace(
        &mut self,
        demand: &Demand,
        progress: &Progress,
        allocation: &CoflowAllocation,
        now: Time,
    ) {
        let levels = allocation.water_levels();
        if self.is_empty() {
            self.start(demand, levels.iter().copied(), now);
            let tells_limits = allocation.tells_limits();
            for p in demand.active() {
                let known = if tells_limits { allocation.limit(p) } else { None };
                let link = known.unwrap_or_else(|| self.flows.lowest(demand, p, levels));
                self.attach(demand, p, link, progress.left[p] * progress.scale, now);
            }
            self.compute_ends(demand);
        } else {
            self.change(demand, allocation, now);
        }
    }
}

impl Limit {
    fn unused(now: Time) -> Limit {
        Limit {
            service: 0.0,
            since: now,
            flows: 0,
            least: f64::INFINITY,
            changed: false,
            stale: false,
        }
    }
}

/// The links of which two lists of levels have another one.
fn differing(before: &[f64], now: &[f64]) -> impl Iterator<Item = u32> {
    positions_where(before, now, |before, now| before != now).map(|l| l as u32)
}

fn look_again(limit: &mut Limit, pending: &mut Vec<u32>, l: usize) {
    if !std::mem::replace(&mut limit.changed, true) {
        pending.push(l as u32);
    }
}
