//! The event loop: workload + fabric + policy → outcome.
//!
//! Between two moments all rates are constant, so the next moment (a flow ends, a coflow arrives, a
//! policy wants to be called) is solved for, not stepped to. All that happens within
//! [`Time::RESOLUTION_S`] is one moment: the policy is told everything, asked for its plan once,
//! and rates are shared once.

mod arrivals;
mod compression;
mod ends;
mod rates;
mod wakes;

use covey_core::alloc::Allocator;
use covey_core::state::State;
use covey_core::{
    Answer, AnyPolicy, CoflowId, Fabric, FlowId, Knowledge, LinkId, Plan, Policy, Time, View,
};
use covey_trace::{Availability, Workload};

use crate::calendar::Calendar;
use crate::dags::Dags;
use crate::error::SimError;
use crate::integration::{Integration, Integrator};
use crate::observer::{Observer, Round};
use crate::outcome::{CoflowOutcome, Outcome};
use crate::processors::Processors;
use wakes::Watch;

/// A policy that is called this often in a row while nothing is sent and nothing is to come, or at
/// one moment, will never serve again.
const PATIENCE: u32 = 10_000;

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
                integration: Integration::default(),
                shows_left: false,
                processors: Processors::default(),
                now: Time::ZERO,
                watch: Watch::default(),
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

    /// The same where the allocator walks a plan that is kept by turns from so many entries on
    /// ([`Allocator::by_turns_above`]): the outcome does not depend on it.
    #[must_use]
    pub fn by_turns_above(mut self, many: usize) -> Simulator {
        self.engine.allocator = Allocator::by_turns_above(many);
        self
    }

    /// The same with processors that are there for compressing only in part.
    #[must_use]
    pub fn with_processors(mut self, availability: Availability) -> Simulator {
        self.engine.processors.set_availability(availability);
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
            AnyPolicy::Clairvoyant(policy) => self.engine.run(run, policy.as_mut())?,
            AnyPolicy::NonClairvoyant(policy) => self.engine.run(run, policy.as_mut())?,
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

#[derive(Debug)]
struct Engine {
    state: State,
    allocator: Allocator,
    integration: Integration,
    /// Whether the policy may look at what is left of flows.
    shows_left: bool,
    processors: Processors,
    now: Time,
    watch: Watch,
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
        self.integration.clear();
        self.watch.clear();
        self.processors.clear(self.state.fabric().ports() as usize);
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
        self.shows_left = K::SEES_SIZES && !wants.sizes_only;
        let mut plan = Plan::<K>::default();
        self.integration.coflows_mut().set_limits(policy.link_limits());
        let mut idle = 0;
        let mut stands_still = false;
        loop {
            let next = self.next_moment(plan.wakes_mut());
            if !next.comes() || idle > PATIENCE {
                return self.check_all_ended(&run, next.comes() && stands_still);
            }
            stands_still = next <= self.now;
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
                self.refresh(wants);
                replaced = policy.plan(&self.view(), &mut plan) == Answer::Replaced;
                self.state.settle();
                if replaced {
                    if self.integration.needs_write_back(plan.ranking()) {
                        self.advance_all();
                    }
                    self.allocator.read_edits(&mut plan);
                }
            }
            self.compress(replaced.then_some(plan.ranking()));
            self.share(plan.ranking(), &run)?;
            if self.integration.is_flow_level() && plan.wakes().wait_for_bytes() {
                return Err(SimError::BytesOfACrowd {
                    policy: run.name.to_owned(),
                    time_s: self.now.as_secs(),
                });
            }
            let (state, allocator) = (&self.state, &self.allocator);
            let round = Round { now: self.now, done: self.done, state, allocator };
            if run.observer.round(&round).is_break() {
                return Err(SimError::Interrupted);
            }
            idle = if self.is_idle() || stands_still { idle + 1 } else { 0 };
        }
    }

    fn view<K: Knowledge>(&self) -> View<'_, K> {
        View::new(&self.state, self.now)
    }

    /// Whether coflows wait, nothing is sent, and nothing will change that but the policy.
    fn is_idle(&self) -> bool {
        self.integration.is_idle() && !self.calendar.next().min(self.processors.next()).comes()
    }

    /// At the end every coflow must have ended. `stands_still` says whether it is the end because no
    /// time passes any more.
    fn check_all_ended(&self, run: &Run<'_>, stands_still: bool) -> Result<(), SimError> {
        let Some(place) = self.outcome.coflows.iter().position(|c| c.completion_s.is_infinite())
        else {
            return Ok(());
        };
        if stands_still {
            let policy = run.name.to_owned();
            return Err(SimError::StandsStill { policy, time_s: self.now.as_secs() });
        }
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
