//! One coflow as a fluid: rates are constant between two rounds, and are integrated when they are
//! read.
//!
//! A [`CoflowAllocation`] gives a flow the rate `min(water level of its links) + y Λ + own`, where
//! `y = left / scale`. While a flow is compressed and sent, its compression rate counts as one of
//! its own rates: it reduces the bytes left, but does not count as sent.
//!
//! Flows are clients of [`Services`]:
//!
//! - A flow with a rate by *water level* alone is attached to the link that limits it.
//! - A flow with a rate of its *own* has a private limit, whose level is the sum of all its rates.
//! - A flow with a rate in *proportion* to its bytes left alone (Λ) is not attached: see
//!   [`proportional`](super::proportional). A flow that also has, or had, a rate of its own keeps
//!   its share in proportion: it sends at the rates that the allocator has booked. What it has sent
//!   beyond the scale counts towards `y` when shares are decided again: for flows whose own rate
//!   has stopped, when a flow of the coflow ends; for all flows, before the policy looks.

use std::cell::Cell;

use covey_alloc::{CoflowAllocation, FlowRate};
use covey_core::state::Progress;
use covey_core::{Demand, Time, rounded_bytes};

use super::super::readings::Pace;
use super::super::services::Services;
use super::longest::Longest;
use super::private::{Private, PrivateLimits};
use super::proportional::Proportional;

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
    /// Links by local number, if they have levels, then private limits. The clients are positions.
    pub(super) services: Services,
    /// The number of links that have levels.
    links: usize,
    /// Whether flows may have begun, or levels have been paused, since flows were attached last.
    is_incomplete: bool,
    private: PrivateLimits,
    pub(super) proportional: Proportional,
    /// Whether shares in proportion to bytes left are held as booked; see the module.
    holds: bool,
    pub(super) longest: Cell<Longest>,
}

impl Fluid {
    /// No rates.
    pub(crate) fn new() -> Fluid {
        Fluid {
            anchor: Time::ZERO,
            sent: 0.0,
            rate: 0.0,
            next: Time::NEVER,
            services: Services::default(),
            links: 0,
            is_incomplete: false,
            private: PrivateLimits::default(),
            proportional: Proportional::none(),
            holds: false,
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
        self.proportional.clear();
        self.holds = false;
        self.detach_all();
    }

    fn detach_all(&mut self) {
        self.services.clear();
        self.links = 0;
        self.is_incomplete = false;
        self.private.clear(0);
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
    pub(crate) fn left(&self, progress: &Progress, position: usize, now: Time) -> f64 {
        let left = self.services.missing(position, now).unwrap_or_else(|| {
            let level = self.proportional.level(position, progress.scale);
            progress.left[position] * (progress.scale - level * (now - self.anchor))
        });
        left.max(0.0)
    }

    /// The time at which the coflow will have sent `bytes` if rates stay.
    pub(crate) fn when_sent(&self, bytes: f64) -> Time {
        Pace { sent: self.sent, rate: self.rate }.when(bytes, self.anchor)
    }

    /// Whether some flows send out of proportion to their bytes left while others send in
    /// proportion, so proportions change with time.
    pub(crate) fn is_out_of_proportion(&self) -> bool {
        self.holds && !self.private.is_empty()
    }

    /// Whether flows send or will end, or bytes are not written back.
    pub(crate) fn is_moving(&self) -> bool {
        self.rate != 0.0 || self.next.comes() || self.is_raised() || !self.private.is_empty()
    }

    /// Whether some flows send faster than in proportion to the bytes left of all.
    pub(crate) fn is_raised(&self) -> bool {
        self.proportional.are_raised()
    }

    /// Seconds for which raised flows have sent since the last call, over the `scale`. Their bytes
    /// are written back.
    pub(crate) fn take_unreported(&mut self, scale: f64) -> f64 {
        self.proportional.take_unreported(scale)
    }

    /// Moves the anchor of the state that all flows share.
    fn move_anchor(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        let dt = (now - self.anchor).max(0.0);
        self.anchor = self.anchor.max(now);
        self.sent += self.rate * dt;
        self.proportional.advance(demand, progress, dt);
    }

    /// Writes back the bytes left of every flow at `now`. No flow may end before `now`.
    pub(crate) fn advance(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        self.move_anchor(demand, progress, now);
        if self.links > 0 {
            return self.write_all_back(demand, progress, now);
        }
        for limit in self.private.all() {
            let Some(flow) = self.private.flow(limit) else { continue };
            self.write_back(demand, progress, flow, now);
            if self.holds && flow.rate == 0.0 {
                self.vacate(limit);
            }
        }
        if self.holds {
            // Bytes left have changed, and so what they count for.
            for limit in self.private.all() {
                self.set_private_level(demand, progress, &[], limit, now);
            }
        }
    }

    /// Writes back the bytes left of every flow, where links have levels.
    fn write_all_back(&self, demand: &Demand, progress: &mut Progress, now: Time) {
        for p in demand.active() {
            if let Some(left) = self.services.missing(p, now) {
                progress.left[p] = left / progress.scale;
            }
        }
        progress.add_up_links(demand);
    }

    /// Writes back the bytes left of a flow with a private limit.
    fn write_back(&self, demand: &Demand, progress: &mut Progress, flow: Private, now: Time) {
        let p = flow.position;
        let limit = self.services.limit_of(p).filter(|_| demand.is_active(p));
        let missing = self.services.missing(p, now);
        let Some((limit, missing)) = limit.zip(missing) else { return };
        let mut left = missing / progress.scale;
        if progress.scale == 1.0 {
            left = rounded_bytes(left, self.services.level(limit));
        }
        let sent = std::mem::replace(&mut progress.left[p], left) - left;
        demand.whole_path(p).iter().for_each(|&l| progress.link_left[l as usize] -= sent);
    }

    /// Calls `finished` with the position of every flow that ends at `now`, twice if the flow has a
    /// share in proportion and a private limit.
    pub(crate) fn finish(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        now: Time,
        mut finished: impl FnMut(usize),
    ) {
        let mut any = false;
        let seconds = (now - self.anchor).max(0.0) + now.slack_s();
        self.proportional.finish(demand, progress.scale, seconds, |position| {
            finished(position);
            any = true;
        });
        self.move_anchor(demand, progress, now);
        let Fluid { services, links, private, .. } = self;
        services.take_ends(now, |services, position, _| {
            if let Some(limit) = services.limit_of(position).filter(|limit| limit >= links) {
                private.vacate(limit);
            }
            services.detach(position);
            finished(position);
            any = true;
        });
        if self.holds && any {
            self.write_stopped_back(demand, progress, now);
        }
        self.services.update();
        // Rounding may put a flow's end a little after `now`: that end is still to come.
        self.next = self.next_end();
    }

    /// Writes back the bytes left of flows whose own rates have stopped.
    fn write_stopped_back(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        for limit in self.private.all() {
            if let Some(flow) = self.private.flow(limit).filter(|flow| flow.rate == 0.0) {
                self.write_back(demand, progress, flow, now);
                self.vacate(limit);
            }
        }
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
        if self.links == 0 {
            self.advance(demand, progress, now);
        }
        let left = self.left(progress, position, now);
        match self.private_limit_of(position) {
            Some(limit) => self.vacate(limit),
            None => self.services.detach(position),
        }
        left
    }

    /// A flow that was held may be sent again.
    pub(crate) fn let_go(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        if self.links == 0 {
            self.advance(demand, progress, now);
        }
        self.is_incomplete = true;
    }

    /// A flow is about to start.
    pub(crate) fn start(&mut self, demand: &Demand, progress: &mut Progress, now: Time) {
        self.advance(demand, progress, now);
        self.is_incomplete = true;
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
        let holds = allocation.by_left().is_some();
        let pauses = self.links > 0 && allocation.is_empty();
        if (pauses || (self.links == 0) == levels.is_empty()) && self.holds == holds {
            self.move_anchor(demand, progress, now);
        } else {
            self.advance(demand, progress, now);
            self.detach_all();
            self.holds = holds;
        }
        if pauses {
            self.pause(now);
        } else if !levels.is_empty() {
            self.follow_levels(demand, progress, allocation, now);
        }
        self.proportional.replace(demand, allocation, progress.scale);
        self.follow_single_rates(demand, progress, allocation, now);
        self.services.update();
        self.rate = allocation.total();
        self.next = self.next_end();
        self.longest.set(self.longest.get().carry(now, || self.fastest()));
    }

    /// Makes all levels zero until there are levels again. The flows stay attached, so a coflow
    /// that is served on and off costs a step for each link, not for each flow.
    fn pause(&mut self, now: Time) {
        for link in 0..self.links {
            self.services.round(link, now);
            self.services.set_level(link, 0.0, now);
        }
        self.is_incomplete = true;
    }

    /// Takes over levels of links, and attaches flows to the links that limit them.
    fn follow_levels(
        &mut self,
        demand: &Demand,
        progress: &Progress,
        allocation: &CoflowAllocation,
        now: Time,
    ) {
        let levels = allocation.water_levels();
        let begins = self.links == 0 || std::mem::take(&mut self.is_incomplete);
        if self.links == 0 {
            self.links = levels.len();
            self.services.grow(self.links, now);
            self.private.clear(self.links);
        }
        if let Some(changes) = allocation.water_level_changes().filter(|_| !begins) {
            for l in changes.iter().map(|&l| l as usize) {
                self.services.set_level(l, levels[l], now);
            }
            for &position in allocation.moved_flows() {
                self.attach_to_limit(demand, progress, allocation, position as usize, now);
            }
            return;
        }
        let looks_at_all = begins || allocation.keeps_limits();
        for (l, &level) in levels.iter().enumerate() {
            if level != self.services.level(l) {
                self.services.set_level(l, level, now);
                if !looks_at_all {
                    demand.each_active_at(l, |position| {
                        self.attach_to_limit(demand, progress, allocation, position, now);
                    });
                }
            }
        }
        for position in demand.active().filter(|_| looks_at_all) {
            self.attach_to_limit(demand, progress, allocation, position, now);
        }
    }

    /// Attaches a flow without a private limit to the link that limits it, if it is attached
    /// elsewhere.
    fn attach_to_limit(
        &mut self,
        demand: &Demand,
        progress: &Progress,
        allocation: &CoflowAllocation,
        position: usize,
        now: Time,
    ) {
        let link = allocation.limit(demand, position);
        let stays = |at: usize| at == link || at >= self.links;
        if demand.is_active(position) && !self.services.limit_of(position).is_some_and(stays) {
            let left = self.services.missing(position, now);
            let left = left.unwrap_or(progress.left[position] * progress.scale);
            self.services.attach(position, link, left, now);
        }
    }

    /// Takes over the flows' own rates and those of compression. A flow gets a private limit with
    /// its first one.
    fn follow_single_rates(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        allocation: &CoflowAllocation,
        now: Time,
    ) {
        if allocation.single_rates_may_repeat() {
            self.private.all().for_each(|limit| self.round_left(progress, limit, now));
        }
        self.private.stop_all();
        let compression = allocation.compression_rates().iter();
        let compression = compression.map(|c| FlowRate { position: c.position, rate: c.rate });
        let rates = allocation.single_rates().chain(compression).filter(|flow| flow.rate > 0.0);
        for FlowRate { position, rate } in rates {
            let p = position as usize;
            let limit = self.private_limit_of(p).unwrap_or_else(|| {
                let left = self.left(progress, p, now);
                self.private.begin(&mut self.services, p, left, now)
            });
            self.private.add_rate(limit, rate);
        }
        let levels = allocation.water_levels();
        for limit in self.private.all() {
            self.end_if_stopped(demand, progress, allocation, limit, now);
            self.set_private_level(demand, progress, levels, limit, now);
        }
    }

    /// Rounds what is left of a flow with a private limit, so that errors do not add up where flows
    /// take turns.
    fn round_left(&mut self, progress: &Progress, limit: usize, now: Time) {
        let Some(flow) = self.private.flow(limit).filter(|_| progress.scale == 1.0) else { return };
        if let Some(left) = self.services.missing(flow.position, now) {
            let left = rounded_bytes(left, self.services.level(limit));
            self.services.attach(flow.position, limit, left, now);
        }
    }

    /// Takes a private limit from a flow that has no rate of its own any more, but not where shares
    /// are held as booked.
    fn end_if_stopped(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        allocation: &CoflowAllocation,
        limit: usize,
        now: Time,
    ) {
        let Some(flow) = self.private.flow(limit).filter(|flow| flow.rate == 0.0) else { return };
        let position = flow.position;
        if self.holds && demand.is_active(position) {
            return;
        }
        let missing = self.services.missing(position, now).filter(|_| demand.is_active(position));
        match missing.filter(|_| self.links > 0) {
            Some(left) => {
                let link = allocation.limit(demand, position);
                self.services.attach(position, link, left, now);
            }
            None => self.write_back(demand, progress, flow, now),
        }
        self.vacate(limit);
    }

    /// Gives a private limit the level of all rates of its flow together. `levels` are those of
    /// links.
    fn set_private_level(
        &mut self,
        demand: &Demand,
        progress: &Progress,
        levels: &[f64],
        limit: usize,
        now: Time,
    ) {
        let Some(flow) = self.private.flow(limit) else { return };
        let p = flow.position;
        let by_level = if !levels.is_empty() {
            demand.path(p).map(|l| levels[l]).fold(f64::INFINITY, f64::min)
        } else if self.holds {
            progress.left[p] * self.proportional.level(p, progress.scale)
        } else {
            0.0
        };
        if self.services.level(limit) != flow.rate + by_level {
            self.round_left(progress, limit, now);
            self.services.set_level(limit, flow.rate + by_level, now);
        }
    }

    /// Takes a private limit from its flow.
    fn vacate(&mut self, limit: usize) {
        if let Some(flow) = self.private.flow(limit) {
            if self.services.limit_of(flow.position) == Some(limit) {
                self.services.detach(flow.position);
            }
            self.private.vacate(limit);
        }
    }

    /// The private limit of a flow, if it has one.
    fn private_limit_of(&self, position: usize) -> Option<usize> {
        self.services.limit_of(position).filter(|limit| *limit >= self.links)
    }

    /// The maximum rate of a flow, in bytes per second.
    pub(super) fn fastest(&self) -> f64 {
        if self.proportional.first_s() < f64::INFINITY {
            // Such a rate depends on what is left of the flow: no bound is kept.
            return f64::INFINITY;
        }
        self.services.fastest()
    }

    /// The time of the next end of a flow, by all rates together.
    fn next_end(&self) -> Time {
        self.services.next().min(self.anchor + self.proportional.first_s())
    }
}
