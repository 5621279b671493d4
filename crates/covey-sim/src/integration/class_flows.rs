//! Flows in classes: a flow's rate is the water level of the link that limits its bundle.
//!
//! The limits are the links in each class, and the clients of [`Services`] are bundles. A bundle's
//! own service is that of the link to which it is attached, plus a *base* that changes when the
//! bundle is attached elsewhere. A flow ends when its bundle's service reaches the flow's *target*.
//! Where links are divided by size, both count in parts of the flow's size. So a bundle's move to
//! another link costs the same for one flow as for thousands.

use covey_alloc::Traffic;
use covey_alloc::{ClassShares, Limit, Measure};
use covey_core::state::State;
use covey_core::{CoflowId, FlowId, LinkId, Ordered, Time, Wake};

use super::bundle_flows::{BundleFlows, Member};
use super::integrator::{FlowAt, Integrator, Network, left_in, write_left};
use super::readings::{Due, Pace};
use super::services::{Reading, Services};
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

/// A flow that comes into a bundle.
#[derive(Debug, Clone, Copy)]
struct Moving {
    flow: FlowAt,
    bundle: u32,
    /// Bytes.
    left: f64,
}

/// A flow's place in a bundle.
#[derive(Debug, Clone, Copy)]
struct Seat {
    bundle: u32,
    /// The flow ends when the bundle's service is this.
    target: f64,
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
    /// By [`CoflowId`] and position, the targets of flows; NaN if a flow is in no bundle. The
    /// allocator knows in which a flow is.
    targets: Vec<Vec<f64>>,
    /// Working memory.
    moving: Vec<Moving>,
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

    /// The service of the limit to which a bundle with flows is attached, up to `now`.
    fn reading(&self, bundle: u32, now: Time) -> Reading {
        self.services.reading(bundle as usize, now).expect("a bundle with flows is attached")
    }

    /// A flow counts from now on in the tallies of its coflow (`by = 1`), or not any more (`by =
    /// -1`).
    fn count(&mut self, state: &State, flow: FlowAt, at: Reading, by: i32) {
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
            // Bytes sent as of the last write-back. A flow that has not started has sent nothing.
            sent += coflow.sent_at(position);
            let flow = FlowAt::new(id, position);
            if let Some(seat) = shares.and_then(|shares| self.seat(shares, flow)) {
                sent += left_in(state, flow) - self.left_at(state, seat, flow, self.now);
                at.push(seat.bundle);
            }
        };
        match link {
            Some(link) => demand.each_flow_at(demand.local(link.index()), look_at),
            None => (0..demand.width()).for_each(&mut look_at),
        }
        self.tallies.begin(state, id, link, sent, self.now);
        for &bundle in &at {
            self.tallies.count_one(id, link, self.reading(bundle, self.now));
        }
        self.counted = at;
    }

    /// The place of a flow, if it is in a bundle.
    fn seat(&self, shares: &ClassShares, flow: FlowAt) -> Option<Seat> {
        let target = *self.targets.get(flow.coflow.index())?.get(flow.place())?;
        let bundle = shares.bundle(flow.coflow, flow.place())?;
        (!target.is_nan()).then_some(Seat { bundle, target })
    }

    /// Bytes left at `now` of a flow in a bundle.
    fn left_at(&self, state: &State, seat: Seat, flow: FlowAt, now: Time) -> f64 {
        (seat.target - self.served(seat.bundle, now)) * self.unit(state, flow)
    }

    /// Bytes left of an active flow at `now`.
    pub(super) fn left(
        &self,
        state: &State,
        shares: Option<&ClassShares>,
        flow: FlowAt,
        now: Time,
    ) -> f64 {
        match shares.and_then(|shares| self.seat(shares, flow)) {
            Some(seat) => self.left_at(state, seat, flow, now),
            None => left_in(state, flow),
        }
    }

    /// Writes the bytes left of one coflow's flows into the state, but not the bytes left at its
    /// links: nobody reads these before all flows are written back.
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

    /// A coflow's bytes sent and its rate, and the bytes per second that its links allow; all zero
    /// if no tally counts the whole coflow.
    pub(crate) fn pace(&self, id: CoflowId, now: Time) -> (Pace, f64) {
        self.tallies.pace(id, now, &self.services)
    }

    /// When a coflow will have sent so many bytes, in all or through a link.
    pub(crate) fn when_sent(
        &self,
        id: CoflowId,
        link: Option<LinkId>,
        bytes: f64,
        now: Time,
        horizon: Time,
    ) -> Due {
        self.tallies.when(id, link, bytes, now, horizon, &self.services)
    }

    /// Takes all flows out of their bundles.
    fn empty_bundles(&mut self) {
        self.services.clear();
        self.bundles.iter_mut().for_each(|bundle| bundle.flows.clear());
        self.targets.iter_mut().for_each(Vec::clear);
    }

    /// Sets the target of a flow: NaN if it is in no bundle any more.
    fn set_target(&mut self, flow: FlowAt, target: f64) {
        let (coflow, position) = (flow.coflow.index(), flow.place());
        if self.targets.len() <= coflow {
            self.targets.resize_with(coflow + 1, Vec::new);
        }
        let targets = &mut self.targets[coflow];
        if targets.len() <= position {
            targets.resize(position + 1, f64::NAN);
        }
        targets[position] = target;
    }

    /// What a flow counts for.
    fn unit(&self, state: &State, flow: FlowAt) -> f64 {
        self.measure.of(state.coflow(flow.coflow).progress().size[flow.place()])
    }

    /// Service of a bundle with flows up to `now`.
    fn served(&self, bundle: u32, now: Time) -> f64 {
        self.bundles[bundle as usize].base + self.reading(bundle, now).served
    }

    /// Bytes left of a flow that is taken out of its bundle.
    fn take_out(&mut self, state: &State, bundle: u32, flow: FlowAt) -> f64 {
        let Some(it) = self.bundles.get_mut(bundle as usize) else { return 0.0 };
        let Some(target) = it.flows.remove(flow) else { return 0.0 };
        self.set_target(flow, f64::NAN);
        let left = self.left_at(state, Seat { bundle, target }, flow, self.now);
        self.count(state, flow, self.reading(bundle, self.now), -1);
        self.bundles[bundle as usize].aim(&mut self.services, bundle as usize);
        left.max(0.0)
    }

    /// Attaches a bundle that has flows to where the allocator has it.
    fn attach(&mut self, state: &State, shares: &ClassShares, bundle: u32) {
        let Some(first) = self.bundles.get(bundle as usize).and_then(|it| it.flows.first()) else {
            return;
        };
        let (to, from) = (self.number(shares.limit(bundle)), self.reading(bundle, self.now));
        if from.limit == to {
            return;
        }
        let left = first.target.0 - self.served(bundle, self.now);
        let target = self.services.attach(bundle as usize, to, left, self.now);
        self.bundles[bundle as usize].base = first.target.0 - target;
        if !self.tallies.is_empty() {
            let to = self.reading(bundle, self.now);
            for member in self.bundles[bundle as usize].flows.iter() {
                self.tallies.recount(state, member.flow, from, to);
            }
        }
    }

    /// Adds a flow to a bundle.
    fn add(&mut self, state: &State, shares: &ClassShares, moving: Moving) {
        let Moving { flow, bundle, left } = moving;
        let number = bundle as usize;
        if self.bundles.len() <= number {
            self.bundles.resize_with(number + 1, Bundle::default);
        }
        let left = left / self.unit(state, flow);
        let is_first = self.bundles[number].flows.is_empty();
        let target = if is_first { left } else { self.served(bundle, self.now) + left };
        let it = &mut self.bundles[number];
        it.flows.push(Member { target: Ordered(target), flow });
        if is_first {
            let limit = self.number(shares.limit(bundle));
            let from = self.services.attach(number, limit, left, self.now);
            self.bundles[number].base = target - from;
        } else {
            it.aim(&mut self.services, number);
        }
        self.set_target(flow, target);
        self.count(state, flow, self.reading(bundle, self.now), 1);
    }

    /// Takes the flows that end now out of their bundles, and adds them to `ending`.
    fn take_finished(&mut self, state: &State, ending: &mut Vec<FlowAt>) {
        let ClassFlows { now, services, bundles, targets, tallies, .. } = self;
        services.take_ends(*now, |services, bundle, reached| {
            let it = &mut bundles[bundle];
            while let Some(first) = it.flows.first()
                && first.target.0 - it.base <= reached
            {
                let flow = first.flow;
                ending.push(flow);
                it.flows.pop();
                targets[flow.coflow.index()][flow.place()] = f64::NAN;
                if let Some(at) = services.reading(bundle, *now).filter(|_| !tallies.is_empty()) {
                    tallies.count(state, flow, at, -1);
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

    fn find_ending(&mut self, network: &mut Network<'_>, ending: &mut Vec<FlowAt>) {
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
            let flow = FlowAt { coflow: it.coflow, position: it.position };
            let left = match it.from {
                Some(from) => self.take_out(state, from, flow),
                None => left_in(state, flow),
            };
            match it.to {
                Some(bundle) => moving.push(Moving { flow, bundle, left }),
                None => write_left(state, flow, left),
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
        for &flow in &moving {
            self.add(state, shares, flow);
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
                let left = (member.target.0 - served) * self.unit(network.state, member.flow);
                let (_, progress) = network.state.progress_mut(member.flow.coflow);
                progress.left[member.flow.place()] = left / progress.scale;
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

    fn hold(&mut self, network: &mut Network<'_>, flow: FlowAt) -> f64 {
        self.now = network.now;
        let shares = network.allocator.class_shares();
        match shares.and_then(|shares| shares.bundle(flow.coflow, flow.place())) {
            Some(bundle) => {
                let left = self.take_out(network.state, bundle, flow);
                self.services.update();
                left
            }
            None => left_in(network.state, flow),
        }
    }

    fn restart(&mut self, network: &mut Network<'_>, flow: FlowId) {
        let position = network.state.coflow(flow.coflow).demand().position(flow.index);
        let at = FlowAt::new(flow.coflow, position);
        let left = self.hold(network, at);
        write_left(network.state, at, left);
        network.state.restart(flow);
        // The flow starts again, in its class.
        network.allocator.adjust(network.state, flow.coflow, position, -1.0);
        network.allocator.adjust(network.state, flow.coflow, position, 1.0);
    }
}
