//! Flows whose rate is the lesser level of their two links, each hung at the link that limits it.
//!
//! A link's *service* is the integral of its level: what a flow that it limits has been sent since
//! the flow was hung there. So a flow with `left` bytes that is hung at a link of service `v` ends
//! when the service reaches `v + left`, its *target*, whatever the level does until then; and of all
//! flows at a link the one with the least target ends next. A change of a link's level costs the
//! same for one flow as for thousands. Only a flow whose lesser level becomes the other one is moved:
//! its target is written in terms of the other link's service.

mod laid;

use covey_core::alloc::LevelChange;
use covey_core::state::Progress;
use covey_core::{Demand, Time, differences, minimum, positions_where, rounded_bytes};

pub(crate) use laid::Laid;

/// Flows between senders, the links `0..S`, and receivers, `S..S + R`, each with a number; and the
/// service at which each ends: its target, at one of its links.
pub(crate) trait Flows {
    /// What tells where flows are, if it is kept elsewhere.
    type Layout;
    fn senders(&self, layout: &Self::Layout) -> usize;
    fn receivers(&self, layout: &Self::Layout) -> usize;
    /// Numbers of flows are less than this.
    fn bound(&self, layout: &Self::Layout) -> usize;
    /// Sender and receiver of a flow.
    fn ends(&self, layout: &Self::Layout, flow: usize) -> (usize, usize);
    /// No flow has a target.
    fn clear(&mut self, layout: &Self::Layout);
    /// A flow's target at its receiver or its sender; infinite if it has none there.
    fn target(&self, flow: usize, at_receiver: bool) -> f64;
    fn set_target(&mut self, flow: usize, at_receiver: bool, target: f64);
    /// The targets at a link, infinite ones among them.
    fn targets(&self, layout: &Self::Layout, link: usize) -> &[f64];
    /// The flow that has the `k`th of these, if it is one's.
    fn flow(&self, layout: &Self::Layout, link: usize, k: usize) -> Option<usize>;
    /// Where the `k`th of these has its other end, among the senders or among the receivers, if flows at
    /// the link are so few that it is best to look at each.
    fn few(&self, link: usize) -> Option<&[u32]>;
    /// Adds to `flows` those between a link and some of those at the other side, or more.
    fn between(&self, layout: &Self::Layout, link: usize, others: &[u32], flows: &mut Vec<u32>);
}

/// A link of the coflow and the flows that hang there.
#[derive(Debug, Clone, Copy)]
struct Limit {
    /// Service up to `since`; no more than what one flow can have been sent, as it starts from zero
    /// when the first flow is hung here.
    service: f64,
    since: Time,
    /// Flows that hang here.
    flows: u32,
    /// The least target among them, or a lesser one if `stale`.
    least: f64,
    /// Whether `least` or the level has changed since the next end was worked out.
    changed: bool,
    stale: bool,
}

/// Flows by the link that limits them.
#[derive(Debug, Default)]
pub(crate) struct Levels<F = Laid> {
    /// Level of each local link in bytes per second; empty when no rates are given by level.
    level: Vec<f64>,
    /// The levels before these, while levels change or are paused; else the same.
    before: Vec<f64>,
    /// Whether nothing is sent until there are levels again.
    paused: bool,
    limits: Vec<Limit>,
    /// When the next of the flows at each link ends.
    next: Vec<Time>,
    /// The flows. A target is at the link where its flow hangs, and infinite where none does.
    pub flows: F,
    /// Whether the flow hangs at its receiver.
    at_receiver: Vec<bool>,
    /// Links that are to be looked at again.
    pending: Vec<u32>,
    /// Working memory: links whose level changes, those of them whose flows may come to hang elsewhere,
    /// links of the other side that some link's level has crossed, and flows that may move or that end.
    changed: Vec<u32>,
    crossing: Vec<u32>,
    crossed: Vec<u32>,
    moving: Vec<u32>,
    open: Open,
    /// Whether flows have started that do not hang yet.
    incomplete: bool,
}

impl<F: Flows> Levels<F> {
    /// Whether no rates are given by level.
    pub(crate) fn is_empty(&self) -> bool {
        self.level.is_empty()
    }

    /// No rates; what has been sent must have been written down.
    pub(crate) fn clear(&mut self) {
        self.level.clear();
        self.incomplete = false;
    }

    /// A flow has started.
    pub(crate) fn started(&mut self) {
        self.incomplete = !self.is_empty();
    }

    /// Whether flows have started that do not hang yet.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// When the next flow ends.
    pub(crate) fn next(&self) -> Time {
        if self.is_empty() {
            return Time::NEVER;
        }
        minimum(Time::NEVER, &self.next)
    }

    /// The lesser level of a flow's two links.
    pub(crate) fn rate(&self, layout: &F::Layout, position: usize) -> f64 {
        self.level[self.link(layout, position)]
    }

    /// No flow has a higher rate.
    pub(crate) fn fastest(&self, layout: &F::Layout) -> f64 {
        let greatest = |levels: &[f64]| levels.iter().fold(0.0, |a: f64, &b| a.max(b));
        let (senders, receivers) =
            self.level.split_at(self.flows.senders(layout).min(self.level.len()));
        greatest(senders).min(greatest(receivers))
    }

    /// Bytes left of an active flow at `now`.
    pub(crate) fn left(&self, layout: &F::Layout, position: usize, now: Time) -> f64 {
        self.target(position) - self.service(self.link(layout, position), now)
    }

    /// Takes `bytes` that a flow has been sent beside its level.
    pub(crate) fn take(&mut self, layout: &F::Layout, position: usize, bytes: f64) {
        let target = self.target(position) - bytes;
        if target < f64::INFINITY && bytes > 0.0 {
            let l = self.link(layout, position);
            self.set_target(position, target);
            self.limits[l].least = self.limits[l].least.min(target);
            self.look_again(l);
        }
    }

    /// Works out anew when flows end after [`Levels::take`] and [`Levels::end`].
    pub(crate) fn settle(&mut self, layout: &F::Layout) {
        while let Some(l) = self.pending.pop() {
            let l = l as usize;
            if std::mem::take(&mut self.limits[l].stale) {
                self.limits[l].least = self.least(layout, l);
            }
            let Limit { service, since, least, .. } = self.limits[l];
            self.limits[l].changed = false;
            self.next[l] = if self.level[l] > 0.0 && least < f64::INFINITY {
                since + ((least - service) / self.level[l]).max(0.0)
            } else {
                Time::NEVER
            };
        }
    }

    /// Sends nothing from `now` on, until there are other levels. The flows hang where they do, so that a
    /// coflow whose turn comes and goes costs a step for each link, not for each flow.
    pub(crate) fn pause(&mut self, now: Time) {
        for (limit, level) in self.limits.iter_mut().zip(&mut self.level) {
            let service = limit.service + *level * (now - limit.since);
            limit.service = rounded_bytes(service, *level);
            limit.since = now;
            *level = 0.0;
        }
        self.next.fill(Time::NEVER);
        self.paused = true;
    }

    /// Makes `levels` those of the links from `now` on, where there were some before; they differ at
    /// `changes`, if that is told.
    pub(crate) fn change(
        &mut self,
        layout: &F::Layout,
        levels: &[f64],
        changes: Option<&[LevelChange]>,
        now: Time,
    ) {
        self.changed.clear();
        self.crossing.clear();
        if std::mem::take(&mut self.paused) {
            self.changed.extend(0..levels.len() as u32);
            differences(&self.before, levels, &mut self.crossing);
        } else if let Some(changes) = changes {
            let crossing = changes.iter().filter(|change| change.crosses);
            self.crossing.extend(crossing.map(|change| change.link));
            self.changed.extend(changes.iter().map(|change| change.link));
        } else {
            differences(&self.level, levels, &mut self.changed);
            self.crossing.extend_from_slice(&self.changed);
        }
        for l in self.changed.iter().map(|&l| l as usize) {
            let limit = &mut self.limits[l];
            limit.service += self.level[l] * (now - limit.since);
            limit.since = now;
            look_again(limit, &mut self.pending, l);
            self.level[l] = levels[l];
        }
        debug_assert_eq!(self.level, levels);
        self.move_flows(layout, now);
        for l in self.changed.iter().map(|&l| l as usize) {
            self.before[l] = self.level[l];
        }
        self.settle(layout);
    }

    /// Makes `levels` those of the links; no flow hangs yet.
    pub(crate) fn start(
        &mut self,
        layout: &F::Layout,
        levels: impl Iterator<Item = f64>,
        now: Time,
    ) {
        self.level.clear();
        self.level.extend(levels);
        self.before.clone_from(&self.level);
        self.limits.clear();
        self.limits.resize(self.level.len(), Limit::unused(now));
        self.next.clear();
        self.next.resize(self.level.len(), Time::NEVER);
        self.pending.clear();
        self.paused = false;
        self.flows.clear(layout);
        self.at_receiver.clear();
        self.make_room(layout);
    }

    /// To be called before a flow hangs whose number is new.
    pub(crate) fn make_room(&mut self, layout: &F::Layout) {
        self.at_receiver.resize(self.flows.bound(layout), false);
    }

    /// Moves the flows whose lesser level is now that of the other link.
    fn move_flows(&mut self, layout: &F::Layout, now: Time) {
        let senders = self.flows.senders(layout);
        let links = senders + self.flows.receivers(layout);
        let mut moving = std::mem::take(&mut self.moving);
        if self.crossing.iter().any(|&l| (l as usize) < senders) {
            self.open.find(&self.before[senders..links], &self.level[senders..links]);
        }
        for k in 0..self.crossing.len() {
            let l = self.crossing[k] as usize;
            moving.clear();
            if l < senders {
                self.crossed_by_sender(layout, l, senders..links, &mut moving);
            } else {
                self.crossed_by_receiver(layout, l, senders, &mut moving);
            }
            moving.iter().for_each(|&flow| self.move_flow(layout, flow as usize, now));
        }
        self.moving = moving;
    }

    /// Adds flows of a sender whose level has crossed that of their receiver to `moving`, and maybe
    /// others.
    fn crossed_by_sender(
        &mut self,
        layout: &F::Layout,
        l: usize,
        receivers: std::ops::Range<usize>,
        moving: &mut Vec<u32>,
    ) {
        let (was, is) = (self.before[l], self.level[l]);
        let crosses = |before: f64, after: f64| (before <= was) != (after <= is);
        if let Some(few) = self.flows.few(l) {
            let others = (&self.before[receivers.clone()], &self.level[receivers]);
            let crossed = few_crossings(few, others, crosses);
            moving.extend(crossed.filter_map(|k| Some(self.flows.flow(layout, l, k)? as u32)));
            return;
        }
        self.crossed.clear();
        crossings((&self.open.before, &self.open.after), crosses, &mut self.crossed);
        for other in &mut self.crossed {
            *other = self.open.receivers[*other as usize];
        }
        self.flows.between(layout, l, &self.crossed, moving);
    }

    /// The same for a receiver.
    fn crossed_by_receiver(
        &mut self,
        layout: &F::Layout,
        l: usize,
        senders: usize,
        moving: &mut Vec<u32>,
    ) {
        let (was, is) = (self.before[l], self.level[l]);
        let crosses = |before: f64, after: f64| (was <= before) != (is <= after);
        let others = (&self.before[..senders], &self.level[..senders]);
        if let Some(few) = self.flows.few(l) {
            let crossed = few_crossings(few, others, crosses);
            moving.extend(crossed.filter_map(|k| Some(self.flows.flow(layout, l, k)? as u32)));
            return;
        }
        self.crossed.clear();
        crossings(others, crosses, &mut self.crossed);
        self.flows.between(layout, l, &self.crossed, moving);
    }

    /// Hangs a flow at the link that limits it, if that is not where it hangs.
    fn move_flow(&mut self, layout: &F::Layout, position: usize, now: Time) {
        let (s, r) = self.flows.ends(layout, position);
        let at_receiver = self.level[r] <= self.level[s];
        if self.at_receiver[position] == at_receiver {
            return;
        }
        let target = self.target(position);
        if target < f64::INFINITY {
            let left = target - self.service(self.link(layout, position), now);
            self.unhang(layout, position, target);
            self.hang(layout, position, left, now);
        }
    }

    fn hang(&mut self, layout: &F::Layout, position: usize, left: f64, now: Time) {
        let (s, r) = self.flows.ends(layout, position);
        // The order of the levels before a pause is what flows are moved from when it ends.
        let level = if self.paused { &self.before } else { &self.level };
        self.at_receiver[position] = level[r] <= level[s];
        let l = self.link(layout, position);
        if self.limits[l].flows == 0 {
            let Limit { changed, .. } = self.limits[l];
            self.limits[l] = Limit { changed, ..Limit::unused(now) };
        }
        let target = self.service(l, now) + left;
        self.set_target(position, target);
        self.limits[l].flows += 1;
        self.limits[l].least = self.limits[l].least.min(target);
        self.look_again(l);
    }

    /// Hangs a flow nowhere, of which this is the target.
    fn unhang(&mut self, layout: &F::Layout, position: usize, target: f64) {
        let l = self.link(layout, position);
        self.limits[l].flows -= 1;
        self.limits[l].stale |= target <= self.limits[l].least;
        self.look_again(l);
        self.set_target(position, f64::INFINITY);
    }

    /// Whether a flow is sent at a level.
    pub(crate) fn hangs(&self, position: usize) -> bool {
        !self.is_empty() && self.target(position) < f64::INFINITY
    }

    /// A flow goes on with `left` bytes that did not hang anywhere.
    pub(crate) fn join(&mut self, layout: &F::Layout, position: usize, left: f64, now: Time) {
        if !self.hangs(position) {
            self.hang(layout, position, left, now);
        }
    }

    /// A flow has ended.
    pub(crate) fn end(&mut self, layout: &F::Layout, position: usize) {
        let target = self.target(position);
        if target < f64::INFINITY {
            self.unhang(layout, position, target);
        }
    }

    /// Ends the flows that end at `now` by their level, and calls `finished` with each.
    pub(crate) fn finish(
        &mut self,
        layout: &F::Layout,
        now: Time,
        mut finished: impl FnMut(usize),
    ) {
        let mut ending = std::mem::take(&mut self.moving);
        for l in 0..self.next.len() {
            if !self.next[l].due(now) {
                continue;
            }
            let service = self.service(l, now);
            self.limits[l].service = service;
            self.limits[l].since = now;
            self.look_again(l);
            let bound = service + self.level[l] * now.slack_s();
            let targets = self.flows.targets(layout, l).iter().enumerate();
            let due = targets.filter(|(_, target)| **target <= bound);
            ending.clear();
            ending.extend(due.filter_map(|(k, _)| Some(self.flows.flow(layout, l, k)? as u32)));
            for p in ending.iter().map(|&p| p as usize) {
                self.end(layout, p);
                finished(p);
            }
        }
        self.moving = ending;
        self.settle(layout);
    }

    /// The least target of the flows that hang at a link.
    fn least(&self, layout: &F::Layout, l: usize) -> f64 {
        if self.limits[l].flows == 0 {
            return f64::INFINITY;
        }
        minimum(f64::INFINITY, self.flows.targets(layout, l))
    }

    /// Service at which a flow ends, of the link where it hangs; infinite if it does not.
    fn target(&self, position: usize) -> f64 {
        self.flows.target(position, self.at_receiver[position])
    }

    fn set_target(&mut self, position: usize, target: f64) {
        self.flows.set_target(position, self.at_receiver[position], target);
    }

    /// The link at which a flow hangs.
    fn link(&self, layout: &F::Layout, position: usize) -> usize {
        let (s, r) = self.flows.ends(layout, position);
        if self.at_receiver[position] { r } else { s }
    }

    fn service(&self, l: usize, now: Time) -> f64 {
        let Limit { service, since, .. } = self.limits[l];
        service + self.level[l] * (now - since)
    }

    fn look_again(&mut self, l: usize) {
        look_again(&mut self.limits[l], &mut self.pending, l);
    }
}

impl Levels {
    /// Writes down what is left of every flow at `now`.
    pub(crate) fn write_down(&self, demand: &Demand, progress: &mut Progress, now: Time) {
        progress.link_left.fill(0.0);
        for p in demand.active() {
            if self.target(p) < f64::INFINITY {
                progress.left[p] = self.left(demand, p, now) / progress.scale;
            }
            let (s, r) = demand.ends(p);
            progress.link_left[s] += progress.left[p];
            progress.link_left[r] += progress.left[p];
        }
    }

    /// Makes `levels` those of the links from `now` on; they differ at `changes`, if that is told. If
    /// there were none, what is left of the flows must have been written down.
    pub(crate) fn replace(
        &mut self,
        demand: &Demand,
        progress: &Progress,
        levels: &[f64],
        changes: Option<&[LevelChange]>,
        now: Time,
    ) {
        if self.is_empty() {
            self.start(demand, levels.iter().copied(), now);
            for p in demand.active() {
                self.hang(demand, p, progress.left[p] * progress.scale, now);
            }
            self.settle(demand);
        } else {
            self.change(demand, levels, changes, now);
        }
    }
}

/// Receivers with a level, now or before. The flows to the others hang there, and stay: of two links with
/// the same level the receiver limits.
#[derive(Debug, Default)]
struct Open {
    receivers: Vec<u32>,
    /// Their levels.
    before: Vec<f64>,
    after: Vec<f64>,
}

impl Open {
    fn find(&mut self, before: &[f64], after: &[f64]) {
        self.receivers.resize(before.len(), 0);
        self.before.resize(before.len(), 0.0);
        self.after.resize(before.len(), 0.0);
        let mut count = 0;
        // Every receiver is written down, to be overwritten unless it is open: no branch to mispredict.
        for (k, (&before, &after)) in before.iter().zip(after).enumerate() {
            self.receivers[count] = k as u32;
            self.before[count] = before;
            self.after[count] = after;
            count += usize::from((before > 0.0) | (after > 0.0));
        }
        self.receivers.truncate(count);
        // Nobody passes a receiver that has no level: with some of these no numbers are left over that
        // do not fill vectors.
        for levels in [&mut self.before, &mut self.after] {
            levels.truncate(count);
            levels.resize(count.next_multiple_of(16), 0.0);
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

fn look_again(limit: &mut Limit, pending: &mut Vec<u32>, l: usize) {
    if !std::mem::replace(&mut limit.changed, true) {
        pending.push(l as u32);
    }
}

/// Adds to `places` those at which `crosses` holds of the levels before and after.
fn crossings(
    (before, after): (&[f64], &[f64]),
    crosses: impl Fn(f64, f64) -> bool,
    places: &mut Vec<u32>,
) {
    places.extend(positions_where(before, after, crosses).map(|k| k as u32));
}

/// The places in a list of links of one side, at which `crosses` holds of their levels before and after.
fn few_crossings<'a>(
    links: &'a [u32],
    (before, after): (&'a [f64], &'a [f64]),
    crosses: impl Fn(f64, f64) -> bool + 'a,
) -> impl Iterator<Item = usize> + 'a {
    let crossed = move |link: &u32| crosses(before[*link as usize], after[*link as usize]);
    links.iter().enumerate().filter(move |(_, link)| crossed(link)).map(|(k, _)| k)
}
