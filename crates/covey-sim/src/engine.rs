//! The event loop: workload + fabric + policy → outcome.
//!
//! Between two moments all rates are constant, so the next moment (a flow ends, a coflow arrives, a
//! policy wants to be called) is solved for, not stepped to. All that happens within
//! [`Time::RESOLUTION_S`] is one moment: the policy is told everything, asked for its plan once,
//! and rates are shared once.

use std::ops::ControlFlow;

use covey_core::alloc::{Allocator, Crowd, Measure};
use covey_core::state::{FlowSpec, Registration, State};
use covey_core::{
    Answer, AnyPolicy, CoflowId, Fabric, FlowId, Knowledge, LinkId, Plan, Policy, PortId, Ranking,
    Time, View, Wake, Wants,
};
use covey_trace::{Availability, Workload};

use crate::calendar::Calendar;
use crate::crowd::CrowdFluid;
use crate::dags::Dags;
use crate::error::SimError;
use crate::fluid::Fluid;
use crate::line::{self, LineFluid};
use crate::meters::Meters;
use crate::outcome::{CoflowOutcome, CompressionOutcome, Outcome};
use crate::processors::Processors;

/// A policy that is called this often in a row while nothing is sent and nothing is to come, or at
/// one moment, will never serve again.
const PATIENCE: u32 = 10_000;

/// Somebody who looks on: for progress, checks and recordings.
pub trait Observer {
    /// Rates have been shared at `now`; they hold until the next call. `done` coflows have ended.
    /// Breaking stops the simulation with [`SimError::Interrupted`].
    fn moment(
        &mut self,
        now: Time,
        done: usize,
        state: &State,
        rates: &Allocator,
    ) -> ControlFlow<()>;
}

/// Nobody looks on.
impl Observer for () {
    fn moment(&mut self, _: Time, _: usize, _: &State, _: &Allocator) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Simulates `workload` on `fabric` under `policy`; `name` is the policy's in errors.
///
/// # Errors
/// When the workload does not fit the fabric, or the policy's plan cannot be carried out or leaves
/// a coflow without service for ever.
pub fn simulate(
    workload: &Workload,
    fabric: &Fabric,
    name: &str,
    policy: &mut AnyPolicy,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    Simulator::new(fabric.clone()).run(workload, name, policy, observer)
}

/// A simulator that keeps its memory from run to run: the same run again allocates only its
/// [`Outcome`].
#[derive(Debug)]
pub struct Simulator {
    engine: Engine,
}

impl Simulator {
    /// A simulator of one fabric.
    pub fn new(fabric: Fabric) -> Simulator {
        Simulator {
            engine: Engine {
                state: State::new(fabric),
                allocator: Allocator::default(),
                fluids: Vec::new(),
                meters: Meters::default(),
                crowd: CrowdFluid::default(),
                line: LineFluid::default(),
                held_in: Held::Fluids,
                availability: Availability::default(),
                processors: Processors::default(),
                now: Time::ZERO,
                barrier: true,
                calendar: Calendar::default(),
                dags: Dags::default(),
                id_of: Vec::new(),
                place_of: Vec::new(),
                first_flow: Vec::new(),
                ending: Vec::new(),
                ended: Ended::default(),
                outcome: Outcome::default(),
                done: 0,
            },
        }
    }

    /// Whether a coflow with parents waits for their ends, as it does unless this says otherwise.
    /// Without a barrier stages are pipelined: a coflow is released when it arrives, and its
    /// parents only order it ([`View::lineage`]).
    #[must_use]
    pub fn barrier(mut self, barrier: bool) -> Simulator {
        self.engine.barrier = barrier;
        self
    }

    /// The same with processors that are there for compressing only in part.
    #[must_use]
    pub fn with_processors(mut self, availability: Availability) -> Simulator {
        self.engine.availability = availability;
        self
    }

    /// See [`simulate`].
    ///
    /// # Errors
    /// See [`simulate`].
    pub fn run(
        &mut self,
        workload: &Workload,
        name: &str,
        policy: &mut AnyPolicy,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, SimError> {
        self.engine.prepare(workload)?;
        let run = Run { workload, name, observer };
        match policy {
            AnyPolicy::Sized(policy) => self.engine.run(run, policy.as_mut())?,
            AnyPolicy::Unsized(policy) => self.engine.run(run, policy.as_mut())?,
        }
        Ok(std::mem::take(&mut self.engine.outcome))
    }
}

/// What one run is about.
struct Run<'a> {
    workload: &'a Workload,
    name: &'a str,
    observer: &'a mut dyn Observer,
}

/// What ended since the policy was last told.
#[derive(Debug, Default)]
struct Ended {
    flows: Vec<FlowId>,
    drained: Vec<(CoflowId, LinkId)>,
    coflows: Vec<CoflowId>,
}

/// Where the flows are whose progress is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Fluids,
    Crowd,
    Line,
}

#[derive(Debug)]
struct Engine {
    state: State,
    allocator: Allocator,
    /// By [`CoflowId`].
    fluids: Vec<Fluid>,
    meters: Meters,
    crowd: CrowdFluid,
    line: LineFluid,
    held_in: Held,
    availability: Availability,
    processors: Processors,
    now: Time,
    /// Whether coflows wait for their parents.
    barrier: bool,
    calendar: Calendar,
    dags: Dags,
    /// The number of each coflow while it is present, by place in the trace; and the reverse.
    id_of: Vec<CoflowId>,
    place_of: Vec<u32>,
    /// Number of each coflow's first flow among all flows, by place in the trace.
    first_flow: Vec<usize>,
    /// Flows (by position) that end at this moment.
    ending: Vec<(CoflowId, usize)>,
    ended: Ended,
    outcome: Outcome,
    done: usize,
}

impl Engine {
    fn prepare(&mut self, workload: &Workload) -> Result<(), SimError> {
        let fabric = self.state.fabric();
        if workload.ports > fabric.ports() {
            return Err(SimError::Ports { workload: workload.ports, fabric: fabric.ports() });
        }
        self.state.clear();
        self.allocator.clear();
        self.held_in = Held::Fluids;
        self.processors.clear(self.state.fabric().ports() as usize, &self.availability);
        self.now = Time::ZERO;
        self.calendar.fill(workload, self.barrier);
        self.dags.fill(workload, &self.calendar)?;
        self.id_of.clear();
        self.id_of.resize(workload.coflows.len(), CoflowId(u32::MAX));
        self.first_flow.clear();
        let mut flows = 0;
        for coflow in &workload.coflows {
            self.first_flow.push(flows);
            flows += coflow.flows.len();
        }
        let never = CoflowOutcome { release_s: f64::INFINITY, completion_s: f64::INFINITY };
        self.outcome = Outcome {
            coflows: vec![never; workload.coflows.len()],
            flow_completion_s: vec![f64::INFINITY; flows],
            flow_start_s: vec![f64::INFINITY; flows],
            events: 0,
            compression: Vec::new(),
        };
        self.done = 0;
        Ok(())
    }

    fn run<K: Knowledge>(
        &mut self,
        run: Run<'_>,
        policy: &mut dyn Policy<K>,
    ) -> Result<(), SimError> {
        let wants = policy.wants();
        let mut plan = Plan::<K>::default();
        self.meters.start(policy.link_limits());
        let mut idle = 0;
        loop {
            let next = self.next_moment(plan.wakes());
            if !next.comes() || idle > PATIENCE {
                return self.check_all_ended(&run);
            }
            let stands_still = next <= self.now;
            self.now = next;
            self.outcome.events += 1;

            self.end_flows();
            self.advance_processors();
            let mut told = self.tell_ends(&run, policy, wants);
            told |= self.begin(&run, policy, wants);
            told |= self.tell_ends(&run, policy, wants);
            told |= self.wake(&mut plan, policy, wants);
            told |= self.tell_limits(policy, wants);
            let mut replaced = false;
            if told {
                self.refresh::<K>(wants);
                replaced = policy.plan(&self.view(), &mut plan) == Answer::Replaced;
                if replaced {
                    if self.held_in == Held::Line || line::is_asked_for(plan.ranking()) {
                        self.advance_all();
                    }
                    self.allocator.replan();
                }
            }
            self.compress(replaced.then_some(plan.ranking()));
            self.share(plan.ranking(), &run)?;
            if self.is_together() && plan.wakes().iter().any(|w| !matches!(w, Wake::At(_))) {
                return Err(SimError::BytesOfACrowd {
                    policy: run.name.to_owned(),
                    time_s: self.now.as_secs(),
                });
            }
            let look = run.observer.moment(self.now, self.done, &self.state, &self.allocator);
            if look.is_break() {
                return Err(SimError::Interrupted);
            }
            idle = if self.is_idle() || stands_still { idle + 1 } else { 0 };
        }
    }

    fn view<K: Knowledge>(&self) -> View<'_, K> {
        View::new(&self.state, self.now)
    }

    /// The earliest moment at which anything happens.
    fn next_moment(&self, wakes: &[Wake]) -> Time {
        let mut next = self.calendar.next().min(self.next_end()).min(self.processors.next());
        for wake in wakes {
            next = next.min(match *wake {
                Wake::At(time) => time,
                Wake::WhenSent(id, bytes) => self.fluids[id.index()].when_sent(bytes),
                Wake::WhenDagSent(external, bytes) => {
                    when_dag_sent(&self.dags, &self.fluids, self.now, external, bytes)
                }
                Wake::WhenFlowSent(id, bytes) => {
                    self.fluids[id.index()].when_flow_sent(self.state.coflow(id), bytes, next)
                }
            });
        }
        // What was asked for too late has come now.
        next.max(self.now)
    }

    /// When the next flow ends if rates stay.
    fn next_end(&self) -> Time {
        match self.held_in {
            Held::Crowd => self.crowd.next(),
            Held::Line => self.line.next(),
            Held::Fluids => {
                let next =
                    |&id: &CoflowId| self.fluids[id.index()].next().min(self.meters.next(id));
                self.state.present().iter().map(next).fold(Time::NEVER, Time::min)
            }
        }
    }

    /// Whether flows are followed all together rather than coflow by coflow.
    fn is_together(&self) -> bool {
        self.held_in != Held::Fluids
    }

    /// Brings flows that are followed all together up to date.
    fn advance_together(&mut self) {
        match (self.held_in, self.allocator.line_mut()) {
            (Held::Crowd, _) => self.crowd.advance(self.now),
            (Held::Line, Some(line)) => self.line.advance(line, self.now),
            _ => {}
        }
    }

    /// Ends the flows that end at this moment.
    fn end_flows(&mut self) {
        self.ending.clear();
        if self.is_together() {
            if self.next_end().due(self.now) {
                self.advance_together();
                let ending = &mut self.ending;
                match (self.held_in, self.allocator.line()) {
                    (Held::Line, Some(line)) => self.line.find_finished(line, ending),
                    _ => self.crowd.take_finished(|id, position| ending.push((id, position))),
                }
                // By coflow and flow, whatever their ports.
                self.ending.sort_unstable();
            }
        } else {
            for k in 0..self.state.present().len() {
                let id = self.state.present()[k];
                let fluid = &mut self.fluids[id.index()];
                if fluid.next().due(self.now) {
                    let (demand, progress) = self.state.progress_mut(id);
                    fluid.finish(demand, progress, self.now, |p| self.ending.push((id, p)));
                }
            }
        }
        for k in 0..self.ending.len() {
            let (id, position) = self.ending[k];
            // A flow with a rate of its own beside a level is found twice.
            if self.state.coflow(id).demand().is_active(position) {
                self.end_flow(id, position);
            }
        }
    }

    fn end_flow(&mut self, id: CoflowId, position: usize) {
        let place = self.place_of[id.index()] as usize;
        let index = self.state.coflow(id).demand().index(position);
        let (state, allocator) = (&mut self.state, &mut self.allocator);
        self.processors.flow_ended(id, position, state, allocator, &self.fluids, self.now);
        let drained = &mut self.ended.drained;
        self.state.finish(id, position, |link| drained.push((id, link)));
        self.allocator.touch(id);
        self.allocator.adjust(&self.state, id, position, -1.0);
        self.outcome.flow_completion_s[self.first_flow[place] + index as usize] =
            self.now.as_secs();
        self.ended.flows.push(FlowId { coflow: id, index });
        if self.state.coflow(id).is_over() {
            self.ended.coflows.push(id);
            self.outcome.coflows[place].completion_s = self.now.as_secs();
            let compressed = self.state.coflow(id).compressed();
            if compressed.is_on() {
                let all = &mut self.outcome.compression;
                all.resize(self.outcome.coflows.len(), CompressionOutcome::default());
                all[place] = CompressionOutcome {
                    saved_bytes: compressed.saved(),
                    cpu_s: compressed.cpu_s(),
                };
            }
        }
    }

    /// Brings the processors to this moment.
    fn advance_processors(&mut self) {
        self.processors.advance(&mut self.state, &mut self.allocator, &self.fluids, self.now);
        self.hold_and_let_go();
    }

    /// Has processors compress what the plan in force says; a new one if there is one.
    fn compress(&mut self, ranking: Option<&Ranking>) {
        let (state, allocator) = (&mut self.state, &mut self.allocator);
        self.processors.plan(ranking, state, allocator, &self.fluids, self.now);
        self.hold_and_let_go();
        self.processors.assign(&mut self.state, &mut self.allocator, &self.fluids, self.now);
    }

    /// Takes flows that are to be compressed first out of what is shared, and puts back those that
    /// have been.
    fn hold_and_let_go(&mut self) {
        let toggles = self.processors.take_toggles();
        if self.is_together() && !toggles.is_empty() {
            self.advance_together();
            if toggles.iter().any(|toggle| toggle.hold) {
                self.write_back();
            }
        }
        for toggle in &toggles {
            let (id, position) = (toggle.coflow, toggle.position);
            let coflow = self.state.coflow(id);
            // Two things that happen at one moment may ask for the same.
            if toggle.hold != coflow.demand().is_active(position) {
                continue;
            }
            let volume = coflow.left(position);
            let (demand, progress) = self.state.progress_mut(id);
            let fluid = &mut self.fluids[id.index()];
            self.allocator.touch(id);
            if toggle.hold {
                let left = fluid.hold(demand, progress, position, self.now);
                if self.held_in == Held::Crowd {
                    self.crowd.leave(&self.state, id, position);
                }
                self.state.hold(id, position, left);
                self.allocator.adjust(&self.state, id, position, -1.0);
            } else {
                fluid.let_go(demand, progress, position, volume, self.now);
                self.state.let_go(id, position);
                self.allocator.adjust(&self.state, id, position, 1.0);
                if self.held_in == Held::Crowd {
                    self.crowd.join(&self.state, id, position);
                }
            }
        }
        self.processors.keep(toggles);
    }

    /// Tells the policy what has ended, and lets ended coflows go. Returns whether it was told
    /// anything.
    fn tell_ends<K: Knowledge>(
        &mut self,
        run: &Run<'_>,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        let mut ended = std::mem::take(&mut self.ended);
        let told = !ended.coflows.is_empty()
            || (wants.flow_ends && !ended.flows.is_empty())
            || (wants.port_drains && !ended.drained.is_empty());
        for &id in &ended.coflows {
            let sent = self.sent(id);
            self.state.report(id, sent, self.now);
            self.dags.end(self.state.coflow(id).registration.lineage, id, sent);
            self.state.retire(id);
        }
        if told {
            self.refresh::<K>(wants);
            let view = self.view();
            if wants.flow_ends {
                ended.flows.iter().for_each(|&flow| policy.flow_ended(flow, &view));
            }
            if wants.port_drains {
                // Flows that started at the same moment may use the link again.
                let drained = ended.drained.iter().filter(|(id, link)| {
                    self.state.coflow(*id).unfinished().unfinished_at(*link) == 0
                });
                drained.for_each(|&(id, link)| policy.port_drained(id, link, &view));
            }
            ended.coflows.iter().for_each(|&id| policy.coflow_ended(id, &view));
        }
        for &id in &ended.coflows {
            self.calendar.release_children(run.workload, self.place_of[id.index()], self.now);
            self.allocator.forget(id);
            self.processors.forget(id);
            self.fluids[id.index()].halt();
            self.state.release(id);
            self.done += 1;
        }
        ended.flows.clear();
        ended.drained.clear();
        ended.coflows.clear();
        self.ended = ended;
        told
    }

    /// Releases coflows and starts flows whose time has come. Returns whether there were any.
    fn begin<K: Knowledge>(
        &mut self,
        run: &Run<'_>,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        let mut told = false;
        while let Some(place) = self.calendar.pop_release(self.now) {
            let id = self.release(run.workload, place);
            self.refresh::<K>(wants);
            policy.coflow_arrived(id, &self.view());
            told = true;
        }
        while let Some((place, index)) = self.calendar.pop_start(self.now) {
            let id = self.id_of[place as usize];
            self.start(FlowId { coflow: id, index });
            self.refresh::<K>(wants);
            policy.flows_started(id, &self.view());
            told = true;
        }
        while let Some((place, index)) = self.calendar.pop_restart(self.now) {
            let flow = FlowId { coflow: self.id_of[place as usize], index };
            if self.is_under_way(place, flow) {
                self.restart(flow);
                self.refresh::<K>(wants);
                policy.flow_restarted(flow, &self.view());
                told = true;
            }
        }
        told
    }

    /// Whether a flow of the coflow at `place` has started and not ended. The coflow may have left,
    /// and its number been given to another.
    fn is_under_way(&self, place: u32, flow: FlowId) -> bool {
        if self.outcome.coflows[place as usize].completion_s.is_finite() {
            return false;
        }
        let demand = self.state.coflow(flow.coflow).demand();
        demand.is_active(demand.position(flow.index))
    }

    /// Lets a flow that is under way begin anew.
    fn restart(&mut self, flow: FlowId) {
        let id = flow.coflow;
        if self.state.coflow(id).compressed().is_on() {
            let position = self.state.coflow(id).demand().position(flow.index);
            let (state, allocator) = (&mut self.state, &mut self.allocator);
            self.processors.restart(id, position, state, allocator, &self.fluids, self.now);
            self.hold_and_let_go();
        }
        if self.is_together() {
            self.advance_all();
            self.state.restart(flow);
            if self.held_in == Held::Crowd {
                self.gather();
            } else {
                // It joins the line again.
                let position = self.state.coflow(id).demand().position(flow.index);
                self.allocator.adjust(&self.state, id, position, -1.0);
                self.allocator.adjust(&self.state, id, position, 1.0);
            }
            return;
        }
        let fluid = &mut self.fluids[id.index()];
        let (demand, progress) = self.state.progress_mut(id);
        fluid.advance(demand, progress, self.now);
        let sent = fluid.sent(self.now);
        fluid.resume(self.now, sent);
        self.state.restart(flow);
        // Nothing that was found out about its ends holds any more.
        self.allocator.forget(id);
    }

    fn release(&mut self, workload: &Workload, place: u32) -> CoflowId {
        let coflow = &workload.coflows[place as usize];
        let (lineage, inherited_bytes) = self.dags.of(place);
        let registration = Registration {
            seq: u64::from(place),
            arrival: self.now,
            weight: coflow.weight,
            deadline_s: coflow.deadline_s,
            lineage,
            inherited_bytes,
        };
        let flows = coflow.flows.iter().map(|f| FlowSpec {
            src: PortId(f.src),
            dst: PortId(f.dst),
            bytes: f.bytes,
        });
        let id = self.state.register(registration, flows);
        self.dags.begin(lineage, id);
        if self.fluids.len() <= id.index() {
            self.fluids.resize_with(id.index() + 1, Fluid::new);
            self.place_of.resize(id.index() + 1, 0);
        }
        self.fluids[id.index()].resume(self.now, 0.0);
        self.meters.reset(id, self.state.coflow(id), self.now);
        self.place_of[id.index()] = place;
        self.id_of[place as usize] = id;
        self.outcome.coflows[place as usize].release_s = self.now.as_secs();
        let first = self.first_flow[place as usize];
        for (index, flow) in coflow.flows.iter().enumerate() {
            let start = self.now + flow.start_s;
            self.outcome.flow_start_s[first + index] = start.as_secs();
            if start.due(self.now) {
                self.start(FlowId { coflow: id, index: index as u32 });
            } else {
                self.calendar.start_later(start, place, index as u32);
            }
        }
        let width = coflow.flows.len();
        for restart in coflow.restarts.iter().filter(|restart| (restart.flow as usize) < width) {
            self.calendar.restart_later(self.now + restart.at_s, place, restart.flow);
        }
        id
    }

    /// Starts a flow; one without bytes ends at once.
    fn start(&mut self, flow: FlowId) {
        let id = flow.coflow;
        let position = self.state.coflow(id).demand().position(flow.index);
        let (demand, progress) = self.state.progress_mut(id);
        let fluid = &mut self.fluids[id.index()];
        fluid.advance(demand, progress, self.now);
        fluid.started();
        self.state.start(flow);
        self.allocator.touch(id);
        self.allocator.adjust(&self.state, id, position, 1.0);
        if self.state.coflow(id).progress().size[position] <= 0.0 {
            self.end_flow(id, position);
        } else if self.held_in == Held::Crowd {
            self.crowd.advance(self.now);
            self.crowd.join(&self.state, id, position);
        }
        self.processors.flow_started(id, position);
    }

    /// Calls the policy for wake-ups that have come. Returns whether there were any.
    fn wake<K: Knowledge>(
        &mut self,
        plan: &mut Plan<K>,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        let mut told = false;
        loop {
            let (now, fluids, dags) = (self.now, &self.fluids, &self.dags);
            let state = &self.state;
            let due = plan.take_due(|wake| match *wake {
                Wake::At(time) => time.due(now),
                Wake::WhenSent(id, bytes) => fluids[id.index()].when_sent(bytes).due(now),
                Wake::WhenDagSent(external, bytes) => {
                    when_dag_sent(dags, fluids, now, external, bytes).due(now)
                }
                Wake::WhenFlowSent(id, bytes) => {
                    let soon = now + 2.0 * now.slack_s();
                    fluids[id.index()].when_flow_sent(state.coflow(id), bytes, soon).due(now)
                }
            });
            let Some(wake) = due else { return told };
            self.refresh::<K>(wants);
            told = true;
            match wake {
                Wake::At(_) => policy.woke(&self.view()),
                Wake::WhenSent(id, bytes) => policy.bytes_reached(id, bytes, &self.view()),
                Wake::WhenDagSent(external, bytes) => {
                    policy.dag_bytes_reached(external, bytes, &self.view());
                }
                Wake::WhenFlowSent(id, bytes) => {
                    policy.flow_bytes_reached(id, bytes, &self.view());
                }
            }
        }
    }

    /// Tells the policy which limits coflows have reached at their links. Returns whether there were
    /// any.
    fn tell_limits<K: Knowledge>(&mut self, policy: &mut dyn Policy<K>, wants: Wants) -> bool {
        let mut told = false;
        for k in 0..self.state.present().len() {
            let id = self.state.present()[k];
            if self.meters.next(id).due(self.now) {
                self.refresh::<K>(wants);
                let view = View::new(&self.state, self.now);
                let tell = |link, bytes| policy.link_bytes_reached(id, link, bytes, &view);
                self.meters.take_reached(id, self.state.coflow(id), self.now, tell);
                told = true;
            }
        }
        told
    }

    /// Brings what the policy may look at up to date.
    fn refresh<K: Knowledge>(&mut self, wants: Wants) {
        if (K::SEES_SIZES && !wants.sizes_only) || (wants.attained && self.is_together()) {
            self.advance_all();
        }
        if wants.attained {
            for k in 0..self.state.present().len() {
                let id = self.state.present()[k];
                let sent = self.sent(id);
                self.state.report(id, sent, self.now);
            }
        }
    }

    /// Bytes that a coflow has sent; in a crowd, as of when that was last written back.
    fn sent(&self, id: CoflowId) -> f64 {
        if self.is_together() {
            self.state.coflow(id).sent()
        } else {
            self.fluids[id.index()].sent(self.now)
        }
    }

    fn advance_all(&mut self) {
        self.processors.settle_all(&mut self.state, &self.fluids, self.now);
        if self.is_together() {
            self.advance_together();
            self.write_back();
            return;
        }
        for k in 0..self.state.present().len() {
            let id = self.state.present()[k];
            let fluid = &mut self.fluids[id.index()];
            let (demand, progress) = self.state.progress_mut(id);
            if fluid.is_disturbed() {
                self.allocator.touch(id);
            }
            fluid.advance(demand, progress, self.now);
        }
    }

    /// Writes what is left of flows that are followed all together into the state.
    fn write_back(&mut self) {
        match (self.held_in, self.allocator.line()) {
            (Held::Crowd, _) => self.crowd.write_back(&mut self.state),
            (Held::Line, Some(line)) => line::write_back(line.running(), &mut self.state),
            _ => {}
        }
    }

    /// Shares the links anew and takes the rates over.
    fn share(&mut self, ranking: &Ranking, run: &Run<'_>) -> Result<(), SimError> {
        if self.held_in == Held::Line {
            self.advance_together();
        }
        self.allocator.allocate(&self.state, ranking).map_err(|source| SimError::Plan {
            policy: run.name.to_owned(),
            time_s: self.now.as_secs(),
            source,
        })?;
        let held_in = match (self.allocator.crowd(), self.allocator.line()) {
            (Some(_), _) => Held::Crowd,
            (_, Some(_)) => Held::Line,
            _ => Held::Fluids,
        };
        let crowd = self.allocator.crowd().filter(|_| self.held_in == Held::Crowd);
        let measured_anew = crowd.is_some_and(|crowd| crowd.measure() != self.crowd.measure());
        if held_in != self.held_in || measured_anew {
            self.change_representation(held_in);
        }
        if let Some(crowd) = self.allocator.crowd() {
            self.crowd.advance(self.now);
            self.crowd.install(crowd);
        }
        if let Some(line) = self.allocator.line_mut() {
            line::write_back(line.stopped().iter().copied(), &mut self.state);
            self.line.install(line, self.now);
        }
        for &id in self.allocator.changed() {
            self.processors.before_rates_change(id, &mut self.state, &self.fluids, self.now);
            let fluid = &mut self.fluids[id.index()];
            let (demand, progress) = self.state.progress_mut(id);
            fluid.install(demand, progress, self.allocator.grant(id), self.now);
            self.meters.install(id, demand, self.allocator.grant(id), self.now);
        }
        Ok(())
    }

    /// Follows flows coflow by coflow, or all together in one of two ways. Who is to stand in line, or
    /// stood in it, is up to date.
    fn change_representation(&mut self, held_in: Held) {
        if self.held_in != Held::Line {
            self.advance_all();
        }
        if held_in == Held::Crowd {
            self.gather();
        }
        for &id in self.state.present() {
            if held_in == Held::Fluids {
                let sent = self.state.coflow(id).sent();
                self.fluids[id.index()].resume(self.now, sent);
            } else {
                self.fluids[id.index()].halt();
            }
        }
        self.held_in = held_in;
    }

    /// Makes a crowd of all flows, of which the state tells what is left.
    fn gather(&mut self) {
        let measure = self.allocator.crowd().map_or(Measure::Number, Crowd::measure);
        self.crowd.clear(measure, self.state.fabric().ports() as usize, self.now);
        for &id in self.state.present() {
            for position in self.state.coflow(id).demand().active() {
                self.crowd.join(&self.state, id, position);
            }
        }
    }

    /// Whether coflows wait, nothing is sent, and nothing will change that but the policy.
    fn is_idle(&self) -> bool {
        let nothing_sent = if self.is_together() {
            !self.next_end().comes()
        } else {
            self.state.present().iter().all(|id| self.fluids[id.index()].rate() == 0.0)
        };
        nothing_sent && !self.calendar.next().min(self.processors.next()).comes()
    }

    /// At the end every coflow must have ended.
    fn check_all_ended(&self, run: &Run<'_>) -> Result<(), SimError> {
        let Some(place) = self.outcome.coflows.iter().position(|c| c.completion_s.is_infinite())
        else {
            return Ok(());
        };
        let stuck = self.state.present().first().map(|id| self.place_of[id.index()] as usize);
        let coflow = run.workload.coflows[stuck.unwrap_or(place)].id.clone();
        Err(match stuck {
            Some(_) => SimError::Stalled {
                policy: run.name.to_owned(),
                time_s: self.now.as_secs(),
                coflow,
            },
            None => SimError::Cycle { coflow },
        })
    }
}

/// When the coflows of a DAG will have sent `bytes` together, if rates stay.
fn when_dag_sent(dags: &Dags, fluids: &[Fluid], now: Time, external: u64, bytes: f64) -> Time {
    let Some((present, ended)) = dags.get(external) else { return Time::NEVER };
    if let &[id] = present {
        // The same moment however often it is asked for.
        return fluids[id.index()].when_sent(bytes - ended);
    }
    let fluids = || present.iter().map(|id| &fluids[id.index()]);
    let missing = bytes - ended - fluids().map(|fluid| fluid.sent(now)).sum::<f64>();
    let rate: f64 = fluids().map(Fluid::rate).sum();
    if missing <= 0.0 {
        now
    } else if rate > 0.0 {
        now + missing / rate
    } else {
        Time::NEVER
    }
}
