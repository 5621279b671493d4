//! Flows in classes: a flow's rate is the water level of the link that limits its bundle.
//!
//! The limits are the links in each class, and the clients of [`Services`] are bundles. A bundle's own service is
//! that of the link to which it is attached, plus a *base* that changes when the bundle is attached elsewhere. A flow
//! ends when its bundle's service reaches the flow's *target*. Where links are divided by size, both count in parts of
//! the flow's size. So a bundle's move to another link costs the same for one flow as for thousands.

use covey_alloc::Traffic;
use covey_alloc::{ClassShares, Limit, Measure};
use covey_core::state::State;
use covey_core::{CoflowId, FlowId, LinkId, Ordered, Time, Wake};

use super::bundle_flows::{BundleFlows, Member};
use super::integrator::{Integrator, Network, left_in, write_left};
use super::services::Services;
use super::tallies::Tallies;

/// The flows of one bundle.
#[derive(Debug, Default)]
struct Bundle {
    /// The bundle's service is that of the link plus this, in bytes.
    base: f64,
    flows: BundleFlows,
}

impl Bundle {
    /// Tells the services when the next flow of this bundle ends.
    fn aim(&self, services: &mut Services, bundle: usize) {
        match self.flows.first() {
            Some(first) => services.set_target(bundle, first.target.0 - self.base),
            None => services.detach(bundle),
        }
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
    services: Services,
    /// By number of the bundle.
    bundles: Vec<Bundle>,
    tallies: Tallies,
    /// By [`CoflowId`] and position, the targets of flows; NaN if a flow is in no bundle. The allocator knows in which
    /// a flow is.
    targets: Vec<Vec<f64>>,
    /// Working memory: flows that change their bundle, with bytes left.
    moving: Vec<(CoflowId, u32, u32, f64)>,
    /// Working memory: bundles that count in a new tally.
    counted: Vec<u32>,
}

impl ClassFlows {
    /// What flows count for. Bytes of coflows are counted only where every flow counts the same.
    pub(crate) fn measure(&self) -> Measure {
        self.measure
    }

    fn number(&self, limit: Limit) -> usize {
        limit.class * self.links + limit.link
    }

    /// The number of the link and class to which a bundle with flows is attached, and the service there up to `now`.
    fn place(&self, bundle: u32, now: Time) -> (usize, f64) {
        let limit =
            self.services.limit_of(bundle as usize).expect("a bundle with flows is attached");
        (limit, self.services.served(limit, now))
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
        let mut at = std::mem::take(&mut self.counted);
        at.clear();
        let mut look_at = |position: usize| {
            // What was sent when it was last written down. A flow that has not started has sent nothing.
            sent += coflow.sent_at(position);
            if let Some((bundle, target)) = shares.and_then(|it| self.seat(it, id, position)) {
                let left = (target - self.served(bundle, self.now))
                    * self.unit(state, id, position as u32);
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
            let place = self.place(bundle, self.now);
            self.tallies.count_one(id, link, place);
        }
        self.counted = at;
    }

    /// The bundle of a flow, and its target, if it is in one.
    fn seat(&self, shares: &ClassShares, id: CoflowId, position: usize) -> Option<(u32, f64)> {
        let target = *self.targets.get(id.index())?.get(position)?;
        let bundle = shares.bundle(id, position)?;
        (!target.is_nan()).then_some((bundle, target))
    }

    /// Bytes left of an active flow at `now`.
    pub(super) fn left(
        &self,
        state: &State,
        shares: Option<&ClassShares>,
        (id, position): (CoflowId, usize),
        now: Time,
    ) -> f64 {
        let seat = shares.and_then(|shares| self.seat(shares, id, position));
        seat.map_or_else(
            || left_in(state, id, position),
            |(bundle, target)| {
                (target - self.served(bundle, now)) * self.unit(state, id, position as u32)
            },
        )
    }

    /// Writes the bytes left of the flows of one coflow into the state, but not what is left at links, which nobody
    /// reads before all flows are written.
    pub(crate) fn write_back_of(&mut self, network: &mut Network<'_>, id: CoflowId) {
        self.now = network.now;
        let Some(shares) = network.allocator.class_shares() else { return };
        let Some(targets) = self.targets.get(id.index()) else { return };
        let (_, progress) = network.state.progress_mut(id);
        let flows = targets.iter().zip(shares.bundles_of(id)).enumerate();
        for (position, (target, bundle)) in flows.filter(|(_, (target, _))| !target.is_nan()) {
            let Some(bundle) = bundle.get() else { continue };
            if self.services.limit_of(bundle as usize).is_some() {
                let unit = self.measure.of(progress.size[position]);
                progress.left[position] =
                    (target - self.served(bundle, self.now)) * unit / progress.scale;
            }
        }
    }

    /// Bytes that a coflow has sent by `now`, its rate and the rate that its links allow in bytes per second, if
    /// it is counted.
    pub(crate) fn sent_and_rates(&self, id: CoflowId, now: Time) -> (f64, f64, f64) {
        self.tallies.sent(id, None, now, &self.services)
    }

    /// The time at which a coflow will have sent so many bytes, in all or through a link, if rates stay, and a time
    /// before which it cannot have sent them. The first need not be exact if it is not earlier than `limit`.
    pub(crate) fn when_sent(
        &self,
        (id, link): (CoflowId, Option<LinkId>),
        bytes: f64,
        (now, limit): (Time, Time),
    ) -> (Time, Time) {
        self.tallies.when((id, link), bytes, (now, limit), &self.services)
    }

    /// Takes all flows out of their bundles.
    fn empty_bundles(&mut self) {
        self.services.clear();
        self.bundles.iter_mut().for_each(|bundle| bundle.flows.clear());
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

    /// Service of a bundle with flows up to `now`.
    fn served(&self, bundle: u32, now: Time) -> f64 {
        self.bundles[bundle as usize].base + self.place(bundle, now).1
    }

    /// Bytes left of a flow that is taken out of its bundle.
    fn take_out(&mut self, state: &State, bundle: u32, coflow: CoflowId, position: u32) -> f64 {
        let Some(it) = self.bundles.get_mut(bundle as usize) else { return 0.0 };
        let Some(target) = it.flows.remove(coflow, position) else { return 0.0 };
        self.set_target(coflow, position, f64::NAN);
        let left = (target - self.served(bundle, self.now)) * self.unit(state, coflow, position);
        self.count(state, (coflow, position), self.place(bundle, self.now), -1);
        self.bundles[bundle as usize].aim(&mut self.services, bundle as usize);
        left.max(0.0)
    }

    /// Attaches a bundle that has flows to where the allocator has it.
    fn attach(&mut self, state: &State, shares: &ClassShares, bundle: u32) {
        let Some(first) = self.bundles.get(bundle as usize).and_then(|it| it.flows.first()) else {
            return;
        };
        let (to, from) = (self.number(shares.limit(bundle)), self.place(bundle, self.now));
        if from.0 == to {
            return;
        }
        let left = first.target.0 - self.served(bundle, self.now);
        let target = self.services.attach(bundle as usize, to, left, self.now);
        self.bundles[bundle as usize].base = first.target.0 - target;
        if !self.tallies.is_empty() {
            let new = self.place(bundle, self.now);
            for member in self.bundles[bundle as usize].flows.iter() {
                self.tallies.recount(state, (member.coflow, member.position), (from, new));
            }
        }
    }

    /// Adds a flow with `left` bytes to a bundle.
    fn add(
        &mut self,
        state: &State,
        shares: &ClassShares,
        bundle: u32,
        (coflow, position): (CoflowId, u32),
        left: f64,
    ) {
        let number = bundle as usize;
        if self.bundles.len() <= number {
            self.bundles.resize_with(number + 1, Bundle::default);
        }
        let left = left / self.unit(state, coflow, position);
        let is_first = self.bundles[number].flows.is_empty();
        let target = if is_first { left } else { self.served(bundle, self.now) + left };
        let it = &mut self.bundles[number];
        it.flows.push(Member { target: Ordered(target), coflow, position });
        if is_first {
            let limit = shares.limit(bundle);
            let limit = limit.class * self.links + limit.link;
            it.base = target - self.services.attach(number, limit, left, self.now);
        } else {
            it.aim(&mut self.services, number);
        }
        self.set_target(coflow, position, target);
        self.count(state, (coflow, position), self.place(bundle, self.now), 1);
    }

    /// Takes the flows that end now out of their bundles, and adds them to `ending`.
    fn take_finished(&mut self, state: &State, ending: &mut Vec<(CoflowId, usize)>) {
        let ClassFlows { now, services, bundles, targets, tallies, .. } = self;
        services.take_ends(*now, |services, bundle, reached| {
            let it = &mut bundles[bundle];
            while let Some(first) = it.flows.first()
                && first.target.0 - it.base <= reached
            {
                let (id, position) = (first.coflow, first.position);
                ending.push((id, position as usize));
                it.flows.pop();
                targets[id.index()][position as usize] = f64::NAN;
                if let Some(limit) = services.limit_of(bundle).filter(|_| !tallies.is_empty()) {
                    tallies.count(state, (id, position), (limit, services.served(limit, *now)), -1);
                }
            }
            it.aim(services, bundle);
        });
    }
}

impl Integrator for ClassFlows {
    fn begin(&mut self, network: &mut Network<'_>) {
        self.now = network.now;
        self.empty_bundles();
        let shares = network.allocator.class_shares();
        self.links = shares.map_or(0, ClassShares::links);
        self.measure = shares.map_or(Measure::Number, ClassShares::measure);
        self.tallies.clear();
    }

    fn end(&mut self, network: &mut Network<'_>) {
        self.write_back(network);
        self.empty_bundles();
    }

    fn next_end(&self) -> Time {
        self.services.next()
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
        self.services.grow(shares.classes() * self.links, self.now);
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
            self.attach(state, shares, bundle);
        }
        for limit in shares.changed_levels() {
            // No flow is attached where the level is infinite.
            let level = Some(shares.level(limit)).filter(|level| *level < f64::INFINITY);
            self.services.set_level(self.number(limit), level.unwrap_or(0.0), self.now);
        }
        for &(coflow, position, bundle, left) in &moving {
            self.add(state, shares, bundle, (coflow, position), left);
        }
        self.moving = moving;
        self.services.update();
    }

    fn write_back(&mut self, network: &mut Network<'_>) {
        self.now = network.now;
        for (number, bundle) in (0..).zip(&self.bundles) {
            if bundle.flows.is_empty() {
                continue;
            }
            let served = self.served(number, self.now);
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
                self.services.update();
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
