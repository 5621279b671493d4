//! Flows in classes: a flow's rate is the water level of the link that limits its bundle.
//!
//! A link's *service* in a class is the integral of its level there. A bundle's service is that of the link
//! to which it is attached, plus a *base* that changes when the bundle is attached elsewhere. A flow ends when
//! its bundle's service reaches the flow's *target*. Where links are divided by size, both count in parts of the
//! flow's size. So a change of a level costs the same for one flow as for
//! thousands, and so does a bundle's move to another link.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_core::alloc::{ClassShares, Limit, Measure};
use covey_core::state::State;
use covey_core::{CoflowId, FlowId, LinkId, Ordered, Time, Traffic, Wake};

use super::bundle_flows::{BundleFlows, Member};
use super::integrator::{Integrator, Network, write_left};
use super::next_ends::NextEnds;
use super::tallies::{Services, Tallies};

const NONE: u32 = u32::MAX;

/// The flows of one bundle.
#[derive(Debug)]
struct Bundle {
    /// The number of the link and class to which the bundle is attached.
    service: u32,
    /// The bundle's service is that of the link plus this, in bytes.
    base: f64,
    flows: BundleFlows,
}

impl Default for Bundle {
    fn default() -> Bundle {
        Bundle { service: NONE, base: 0.0, flows: BundleFlows::None }
    }
}

impl Bundle {
    /// What the link's service has to reach for the next end, if there is one.
    fn key(&self) -> Option<Ordered> {
        Some(Ordered(self.flows.first()?.target.0 - self.base))
    }
}

/// The service of a link in a class, and the bundles attached to it.
#[derive(Debug, Default)]
struct Service {
    /// Bytes up to `since`.
    bytes: f64,
    since: Time,
    /// Bytes per second from `since` on.
    level: f64,
    /// Next ends of bundles. An entry counts if it is its bundle's key, and the bundle is attached here.
    ends: BinaryHeap<Reverse<(Ordered, u32)>>,
    /// The number of entries up to which those that do not count stay.
    many: u32,
    /// The first of the ends that count, if it is known; infinite if there is none.
    ///
    /// Most often only the level has changed, and neither the list nor a bundle has to be read: on four fifths of the
    /// Facebook trace `stream` takes 54.8 instead of 56.5 s of CPU with `fat-tree:k=48,place=rack` (the least of two).
    first: f64,
    is_first_known: bool,
}

impl Service {
    fn at(&self, now: Time) -> f64 {
        self.bytes + self.level * (now - self.since)
    }

    /// Removes ends that do not count, and makes room for a third as many again as those that do.
    ///
    /// Lists that double take 7 MB more of four strict classes on `fat-tree:k=8` with the Facebook trace: there are
    /// 3,072.
    fn make_room(&mut self, counts: impl Fn(&(Ordered, u32)) -> bool) {
        self.ends.retain(|Reverse(end)| counts(end));
        let many = 4 + self.ends.len() * 4 / 3;
        self.ends.reserve_exact(many - self.ends.len());
        self.many = many as u32;
    }
}

/// All services at a time.
struct ServicesAt<'a> {
    services: &'a [Service],
    now: Time,
}

impl Services for ServicesAt<'_> {
    fn now(&self, service: usize) -> (f64, f64) {
        let service = &self.services[service];
        (service.at(self.now), service.level)
    }
}

/// All flows that have a class.
#[derive(Debug, Default)]
pub(crate) struct ClassFlows {
    now: Time,
    links: usize,
    /// Bytes left are divided by what a flow counts for.
    measure: Measure,
    /// By class and link.
    services: Vec<Service>,
    next: NextEnds,
    /// By number of the bundle.
    bundles: Vec<Bundle>,
    tallies: Tallies,
    /// By [`CoflowId`] and position, the targets of flows; NaN if a flow is in no bundle. The allocator knows in which
    /// a flow is.
    targets: Vec<Vec<f64>>,
    /// Services whose next end has to be worked out again.
    pending: Vec<u32>,
    is_pending: Vec<bool>,
    /// Working memory: flows that change their bundle, with bytes left.
    moving: Vec<(CoflowId, u32, u32, f64)>,
    /// Working memory: services that are due; bundles that count in a new tally.
    due: Vec<u32>,
}

impl ClassFlows {
    /// What flows count for. Bytes of coflows are counted only where every flow counts the same.
    pub(crate) fn measure(&self) -> Measure {
        self.measure
    }

    fn number(&self, limit: Limit) -> usize {
        limit.class * self.links + limit.link
    }

    fn grow(&mut self, shares: &ClassShares) {
        let services = shares.classes() * self.links;
        let now = self.now;
        self.services.resize_with(services.max(self.services.len()), || Service {
            since: now,
            ..Service::default()
        });
        self.is_pending.resize(self.services.len(), false);
        self.next.grow(services);
    }

    /// The service of a bundle, and its bytes up to now.
    fn place(&self, bundle: u32) -> (usize, f64) {
        let service = self.bundles[bundle as usize].service as usize;
        (service, self.services[service].at(self.now))
    }

    /// A flow counts from now on in the tallies of its coflow (`by = 1`), or not any more (`by = -1`).
    fn count(&mut self, state: &State, flow: (CoflowId, u32), at: (usize, f64), by: i32) {
        if !self.tallies.is_empty() {
            self.tallies.count(state, flow, at, by);
        }
    }

    /// The bytes for which a wake-up waits are to be counted.
    pub(crate) fn watch(&mut self, traffic: &Traffic, wake: Wake) {
        self.now = traffic.now();
        let state = traffic.state();
        match wake {
            Wake::WhenSent(id, _) => self.begin_tally(traffic, id, None),
            Wake::WhenPassed(id, link, _) => self.begin_tally(traffic, id, Some(link)),
            Wake::WhenDagSent(..) if !self.tallies.counts_all => {
                self.tallies.counts_all = true;
                state.present().iter().for_each(|&id| self.begin_tally(traffic, id, None));
            }
            Wake::WhenDagSent(..) | Wake::At(_) | Wake::WhenFlowSent(..) => {}
        }
    }

    /// A coflow has arrived; none of its flows has sent anything.
    pub(crate) fn admit(&mut self, state: &State, id: CoflowId, now: Time) {
        if self.tallies.counts_all {
            self.tallies.begin(state, id, None, 0.0, now);
        }
    }

    /// A coflow has left.
    pub(crate) fn forget(&mut self, id: CoflowId) {
        self.tallies.forget(id);
    }

    /// Begins to count the bytes of a coflow, in all or through a link.
    fn begin_tally(&mut self, traffic: &Traffic, id: CoflowId, link: Option<LinkId>) {
        let (state, shares) = (traffic.state(), traffic.allocator().class_shares());
        if self.tallies.has(id, link) || !state.is_present(id) {
            return;
        }
        let coflow = state.coflow(id);
        let demand = coflow.demand();
        if link.is_some_and(|link| !demand.set().contains(link.index())) {
            return;
        }
        let mut sent = 0.0;
        let mut at = std::mem::take(&mut self.due);
        at.clear();
        let mut look_at = |position: usize| {
            // What was sent when it was last written down. A flow that has not started has sent nothing.
            sent += coflow.sent_at(position);
            if let Some((bundle, target)) = shares.and_then(|it| self.seat(it, id, position)) {
                let left = self.left(state, (bundle, target), id, position);
                sent += left_in(state, id, position) - left;
                at.push(bundle);
            }
        };
        match link {
            Some(link) => demand.each_flow_at(demand.local(link.index()), look_at),
            None => (0..demand.width()).for_each(&mut look_at),
        }
        self.tallies.begin(state, id, link, sent, self.now);
        for &bundle in &at {
            let place = self.place(bundle);
            self.tallies.count_one(id, link, place);
        }
        self.due = at;
    }

    /// The bundle of a flow, and its target, if it is in one.
    fn seat(&self, shares: &ClassShares, id: CoflowId, position: usize) -> Option<(u32, f64)> {
        let target = *self.targets.get(id.index())?.get(position)?;
        let bundle = shares.bundle(id, position)?;
        (!target.is_nan()).then_some((bundle, target))
    }

    /// Bytes left of a flow that is in a bundle and has a target.
    fn left(
        &self,
        state: &State,
        (bundle, target): (u32, f64),
        id: CoflowId,
        position: usize,
    ) -> f64 {
        let served = self.served(&self.bundles[bundle as usize]);
        (target - served) * self.unit(state, id, position as u32)
    }

    /// Writes the bytes left of the flows of one coflow into the state, but not what is left at links, which nobody
    /// reads before all flows are written.
    pub(crate) fn write_back_of(&mut self, network: &mut Network<'_>, id: CoflowId) {
        self.now = network.now;
        let Some(shares) = network.allocator.class_shares() else { return };
        let Some(targets) = self.targets.get(id.index()) else { return };
        let (_, progress) = network.state.progress_mut(id);
        let flows = targets.iter().zip(shares.bundles_of(id)).enumerate();
        for (position, (target, &bundle)) in flows.filter(|(_, (target, _))| !target.is_nan()) {
            let Some(bundle) = self.bundles.get(bundle as usize) else { continue };
            let unit = self.measure.of(progress.size[position]);
            let served = self.served(bundle);
            progress.left[position] = (target - served) * unit / progress.scale;
        }
    }

    /// Bytes that a coflow has sent by `now`, its rate and the rate that its links allow in bytes per second, if
    /// it is counted.
    pub(crate) fn sent_and_rates(&self, id: CoflowId, now: Time) -> (f64, f64, f64) {
        self.tallies.sent(id, None, &ServicesAt { services: &self.services, now })
    }

    /// The time at which a coflow will have sent so many bytes, in all or through a link, if rates stay, and a time
    /// before which it cannot have sent them. The first need not be exact if it is not earlier than `limit`.
    pub(crate) fn when_sent(
        &self,
        (id, link): (CoflowId, Option<LinkId>),
        bytes: f64,
        (now, limit): (Time, Time),
    ) -> (Time, Time) {
        let services = ServicesAt { services: &self.services, now };
        self.tallies.when((id, link), bytes, (now, limit), &services)
    }

    /// Takes all flows out of their bundles.
    fn empty_bundles(&mut self) {
        for bundle in &mut self.bundles {
            (bundle.service, bundle.base) = (NONE, 0.0);
            bundle.flows.clear();
        }
        self.targets.iter_mut().for_each(Vec::clear);
    }

    /// Sets the target of a flow: NaN if it is in no bundle any more.
    fn set_target(&mut self, id: CoflowId, position: u32, target: f64) {
        if self.targets.len() <= id.index() {
            self.targets.resize_with(id.index() + 1, Vec::new);
        }
        let (targets, position) = (&mut self.targets[id.index()], position as usize);
        if targets.len() <= position {
            targets.resize(position + 1, f64::NAN);
        }
        targets[position] = target;
    }

    /// What a flow counts for.
    fn unit(&self, state: &State, coflow: CoflowId, position: u32) -> f64 {
        self.measure.of(state.coflow(coflow).progress().size[position as usize])
    }

    fn look_again(&mut self, service: u32) {
        if !std::mem::replace(&mut self.is_pending[service as usize], true) {
            self.pending.push(service);
        }
    }

    /// Service of a bundle up to now.
    fn served(&self, bundle: &Bundle) -> f64 {
        bundle.base + self.services[bundle.service as usize].at(self.now)
    }

    /// Bytes left of a flow that is taken out of its bundle.
    fn take_out(&mut self, state: &State, bundle: u32, coflow: CoflowId, position: u32) -> f64 {
        let Some(it) = self.bundles.get_mut(bundle as usize) else { return 0.0 };
        let Some(target) = it.flows.remove(coflow, position) else { return 0.0 };
        self.set_target(coflow, position, f64::NAN);
        let left = target - self.served(&self.bundles[bundle as usize]);
        let left = left * self.unit(state, coflow, position);
        self.count(state, (coflow, position), self.place(bundle), -1);
        self.find_key(bundle);
        left.max(0.0)
    }

    /// Works out when the next flow of a bundle ends.
    fn find_key(&mut self, bundle: u32) {
        let it = &self.bundles[bundle as usize];
        if it.service == NONE {
            return;
        }
        let service = it.service;
        let there = &mut self.services[service as usize];
        there.is_first_known = false;
        if let Some(key) = it.key() {
            if there.ends.len() >= there.many as usize {
                there.make_room(|end| counts(&self.bundles, service, end));
            }
            there.ends.push(Reverse((key, bundle)));
        }
        self.look_again(service);
    }

    /// Attaches a bundle to where the allocator has it.
    fn attach(&mut self, state: &State, shares: &ClassShares, bundle: u32) {
        if self.bundles.len() <= bundle as usize {
            self.bundles.resize_with(bundle as usize + 1, Bundle::default);
        }
        let to = self.number(shares.limit(bundle)) as u32;
        let from = self.bundles[bundle as usize].service;
        if from == to {
            return;
        }
        let it = &self.bundles[bundle as usize];
        let served = if it.flows.is_empty() { 0.0 } else { self.served(it) };
        let base = served - self.services[to as usize].at(self.now);
        if !self.tallies.is_empty() {
            let new = (to as usize, self.services[to as usize].at(self.now));
            for member in it.flows.iter() {
                let (flow, old) = ((member.coflow, member.position), self.place(bundle));
                self.tallies.recount(state, flow, (old, new));
            }
        }
        if from != NONE {
            self.services[from as usize].is_first_known = false;
        }
        let it = &mut self.bundles[bundle as usize];
        (it.service, it.base) = (to, base);
        self.find_key(bundle);
    }

    /// Works out the next ends that may have changed.
    fn find_ends(&mut self) {
        while let Some(number) = self.pending.pop() {
            self.is_pending[number as usize] = false;
            let bundles = &self.bundles;
            let service = &mut self.services[number as usize];
            if !std::mem::replace(&mut service.is_first_known, true) {
                let ends = &mut service.ends;
                while ends.peek().is_some_and(|Reverse(end)| !counts(bundles, number, end)) {
                    ends.pop();
                }
                service.first = ends.peek().map_or(f64::INFINITY, |Reverse((key, _))| key.0);
            }
            let next = if service.first < f64::INFINITY && service.level > 0.0 {
                service.since + ((service.first - service.bytes) / service.level).max(0.0)
            } else {
                Time::NEVER
            };
            self.next.set(number as usize, next);
        }
        self.next.update();
    }

    /// Takes the flows that end now out of their bundles, and adds them to `ending`.
    fn take_finished(&mut self, state: &State, ending: &mut Vec<(CoflowId, usize)>) {
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        self.next.find_due(self.now, &mut due);
        for &number in &due {
            let service = &self.services[number as usize];
            let served = service.at(self.now) + service.level * self.now.slack_s();
            while let Some(&Reverse((key, bundle))) = self.services[number as usize].ends.peek() {
                let counts = counts(&self.bundles, number, &(key, bundle));
                if counts && key.0 > served {
                    break;
                }
                self.services[number as usize].ends.pop();
                if !counts {
                    continue;
                }
                let it = &mut self.bundles[bundle as usize];
                while let Some(first) = it.flows.first()
                    && first.target.0 - it.base <= served
                {
                    ending.push((first.coflow, first.position as usize));
                    it.flows.pop();
                    self.targets[first.coflow.index()][first.position as usize] = f64::NAN;
                    if !self.tallies.is_empty() {
                        let at = (number as usize, self.services[number as usize].at(self.now));
                        let flow = (first.coflow, first.position);
                        self.tallies.count(state, flow, at, -1);
                    }
                }
                self.find_key(bundle);
            }
            self.services[number as usize].is_first_known = false;
            self.look_again(number);
        }
        self.due = due;
        self.find_ends();
    }
}

impl Integrator for ClassFlows {
    fn begin(&mut self, network: &mut Network<'_>) {
        self.now = network.now;
        for service in &mut self.services {
            (service.bytes, service.since, service.level) = (0.0, network.now, 0.0);
            service.ends.clear();
            (service.many, service.is_first_known) = (0, false);
        }
        self.empty_bundles();
        self.pending.clear();
        self.is_pending.fill(false);
        let shares = network.allocator.class_shares();
        self.links = shares.map_or(0, ClassShares::links);
        self.measure = shares.map_or(Measure::Number, ClassShares::measure);
        self.next.clear(self.services.len());
        self.tallies.clear();
    }

    fn end(&mut self, network: &mut Network<'_>) {
        self.write_back(network);
        self.empty_bundles();
    }

    fn next_end(&self) -> Time {
        self.next.first()
    }

    fn find_ending(&mut self, network: &mut Network<'_>, ending: &mut Vec<(CoflowId, usize)>) {
        self.now = network.now;
        if self.next_end().due(network.now) {
            self.take_finished(network.state, ending);
            ending.sort_unstable();
        }
    }

    fn prepare(&mut self, _: &mut Network<'_>) {}

    fn install(&mut self, network: &mut Network<'_>) {
        self.now = network.now;
        let Network { state, allocator, .. } = network;
        let Some(shares) = allocator.class_shares() else { return };
        self.grow(shares);
        // A number of a bundle may belong to another one now, so all flows are taken out first.
        let mut moving = std::mem::take(&mut self.moving);
        moving.clear();
        for it in shares.rebundled() {
            let left = match it.from {
                Some(from) => self.take_out(state, from, it.coflow, it.position),
                None => left_in(state, it.coflow, it.position as usize),
            };
            match it.to {
                Some(to) => moving.push((it.coflow, it.position, to, left)),
                None => write_left(state, it.coflow, it.position, left),
            }
        }
        for bundle in shares.moved_bundles() {
            if shares.has_flows(bundle) {
                self.attach(state, shares, bundle);
            }
        }
        for limit in shares.changed_levels() {
            let number = self.number(limit);
            let service = &mut self.services[number];
            service.bytes = service.at(self.now);
            service.since = self.now;
            // No flow is attached where the level is infinite.
            let level = shares.level(limit);
            let level = if level < f64::INFINITY { level } else { 0.0 };
            service.level = level;
            self.look_again(number as u32);
        }
        for &(coflow, position, bundle, left) in &moving {
            let left = left / self.unit(state, coflow, position);
            let target = Ordered(self.served(&self.bundles[bundle as usize]) + left);
            let member = Member { target, coflow, position };
            let it = &mut self.bundles[bundle as usize];
            it.flows.push(member);
            let is_first = it.flows.first() == Some(member);
            self.set_target(coflow, position, target.0);
            self.count(state, (coflow, position), self.place(bundle), 1);
            if is_first {
                self.find_key(bundle);
            }
        }
        self.moving = moving;
        self.find_ends();
    }

    fn write_back(&mut self, network: &mut Network<'_>) {
        self.now = network.now;
        for bundle in self.bundles.iter().filter(|bundle| !bundle.flows.is_empty()) {
            let served = self.served(bundle);
            for member in bundle.flows.iter() {
                let unit = self.unit(network.state, member.coflow, member.position);
                let (_, progress) = network.state.progress_mut(member.coflow);
                let left = (member.target.0 - served) * unit;
                progress.left[member.position as usize] = left / progress.scale;
            }
        }
        for k in 0..network.state.present().len() {
            let (demand, progress) = network.state.progress_mut(network.state.present()[k]);
            progress.add_up_links(demand);
        }
    }

    fn before_toggles(&mut self, network: &mut Network<'_>, holds: bool) {
        if holds {
            self.write_back(network);
        }
    }

    fn hold(&mut self, network: &mut Network<'_>, id: CoflowId, position: usize) -> f64 {
        self.now = network.now;
        let bundle = network.allocator.class_shares().and_then(|it| it.bundle(id, position));
        match bundle {
            Some(bundle) => {
                let left = self.take_out(network.state, bundle, id, position as u32);
                self.find_ends();
                left
            }
            None => left_in(network.state, id, position),
        }
    }

    fn restart(&mut self, network: &mut Network<'_>, flow: FlowId) {
        let position = network.state.coflow(flow.coflow).demand().position(flow.index);
        let left = self.hold(network, flow.coflow, position);
        write_left(network.state, flow.coflow, position as u32, left);
        network.state.restart(flow);
        // The flow starts again, in its class.
        network.allocator.adjust(network.state, flow.coflow, position, -1.0);
        network.allocator.adjust(network.state, flow.coflow, position, 1.0);
    }
}

/// Whether an end of a service is the next one of a bundle that is attached there.
fn counts(bundles: &[Bundle], service: u32, &(key, bundle): &(Ordered, u32)) -> bool {
    let it = &bundles[bundle as usize];
    it.service == service && it.key() == Some(key)
}

fn left_in(state: &State, id: CoflowId, position: usize) -> f64 {
    let progress = state.coflow(id).progress();
    progress.left[position] * progress.scale
}
