//! Runs simulations.

use covey_alloc::Allocator;
use covey_alloc::{Driver, Traffic};
use covey_core::{AnyPolicy, Codec, Fabric, Observed, TenantId, Time};
use covey_trace::observe::{HOSTS_ALONE, appear};
use covey_trace::{Availability, Workload};

use super::world::{Parts, SimulatedWorld};
use crate::error::SimError;
use crate::observer::{Observer, Round};
use covey_trace::results::Outcome;

/// Maximum number of rounds in a row without progress: all at one time, or without a flow that
/// sends and an event that is due. A policy that needs more will never serve again.
const PATIENCE: u32 = 10_000;

/// Simulates `workload` on `fabric` under `policy`; errors call the policy `name`.
///
/// # Errors
/// The workload does not fit the fabric, it lasts so long that an `f64` cannot tell times apart, or
/// the policy's plan cannot be executed or leaves a coflow without service for ever.
pub fn simulate(
    workload: &Workload,
    fabric: &Fabric,
    name: &str,
    policy: &mut AnyPolicy,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    Simulator::new(fabric.clone()).run(workload, name, policy, observer)
}

/// A simulator that keeps its memory from run to run: a repeated run allocates only its
/// [`Outcome`].
#[derive(Debug)]
pub struct Simulator {
    fabric: Fabric,
    /// Number of entries of a plan above which the allocator makes incremental passes, if set.
    by_steps_above: Option<usize>,
    /// Whether coflows wait for their parents.
    barrier: bool,
    measured_codec: Option<Codec>,
    /// How flows appear to policies that do not see coflows, if that was said.
    appearing: Option<Vec<Observed>>,
    /// The tenant of each coflow, in the order of the trace; empty if all belong to one tenant.
    tenants: Vec<TenantId>,
    /// Memory for the next run.
    traffic: Option<Traffic>,
    parts: Parts,
}

impl Simulator {
    /// A simulator of one fabric.
    pub fn new(fabric: Fabric) -> Simulator {
        Simulator {
            fabric,
            by_steps_above: None,
            barrier: true,
            measured_codec: None,
            appearing: None,
            tenants: Vec::new(),
            traffic: None,
            parts: Parts::default(),
        }
    }

    /// Sets whether a coflow with parents waits for their ends; it does by default. Without a
    /// barrier stages are pipelined: a coflow is released when it arrives, and its parents only
    /// order it ([`View::lineage`](covey_core::View::lineage)).
    #[must_use]
    pub fn barrier(mut self, barrier: bool) -> Simulator {
        self.barrier = barrier;
        self
    }

    /// Sets the number of entries above which the allocator makes incremental passes over a kept
    /// plan ([`Allocator::by_steps_above`]). The outcome does not depend on it.
    #[must_use]
    pub fn by_steps_above(mut self, many: usize) -> Simulator {
        self.by_steps_above = Some(many);
        self.traffic = None;
        self
    }

    /// Sets the available shares of processors for compression.
    #[must_use]
    pub fn with_processors(mut self, availability: Availability) -> Simulator {
        self.parts.transfers.set_availability(availability);
        self
    }

    /// Sets the compressor that was measured on the hosts: policies that compress use its speed and
    /// ratio.
    #[must_use]
    pub fn with_measured_codec(mut self, codec: Option<Codec>) -> Simulator {
        self.measured_codec = codec;
        self
    }

    /// Sets how the flows of the workload appear to a policy that does not see coflows: one for
    /// each flow, in the order of the trace. Starts are those of the simulation. By default only
    /// hosts and starts are known.
    #[must_use]
    pub fn with_appearance(mut self, flows: Vec<Observed>) -> Simulator {
        self.appearing = Some(flows);
        self
    }

    /// Sets the tenant of each coflow, in the order of the trace; coflows beyond `tenants` belong
    /// to the first tenant. Tenants count only for a policy that
    /// [`for_each_tenant`](covey_core::for_each_tenant) has made.
    #[must_use]
    pub fn with_tenants(mut self, tenants: Vec<TenantId>) -> Simulator {
        self.tenants = tenants;
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
        if workload.ports > self.fabric.ports() {
            let fabric = self.fabric.ports();
            return Err(SimError::Ports { workload: workload.ports, fabric });
        }
        check_resolution(workload, &self.fabric)?;
        let mut traffic = self.traffic.take().unwrap_or_else(|| {
            let allocator =
                self.by_steps_above.map_or_else(Default::default, Allocator::by_steps_above);
            Traffic::with_allocator(self.fabric.clone(), allocator)
        });
        traffic.clear();
        traffic.state_mut().set_measured_codec(self.measured_codec);
        let mut driver = Driver::borrowing(traffic, policy);
        let appearing = match &self.appearing {
            _ if driver.sees_coflows() => Vec::new(),
            Some(flows) if flows.len() == workload.num_flows() => flows.clone(),
            Some(flows) => {
                let (workload, appearing) = (workload.num_flows(), flows.len());
                return Err(SimError::Appearance { workload, appearing });
            }
            None => appear(workload, &HOSTS_ALONE),
        };
        self.parts.tenants.clone_from(&self.tenants);
        let run =
            SimulatedWorld::start(&mut self.parts, workload, appearing, &driver, self.barrier);
        let result = run.and_then(|mut world| run_all(&mut world, &mut driver, name, observer));
        self.traffic = Some(driver.into_traffic());
        result.map(|()| self.parts.records.take())
    }
}

/// The part of the shortest flow's own time by which a time may be wrong.
const TOLERANCE: f64 = 1e-3;

/// Checks that times are exact to a nanosecond throughout the workload, or to a small part of the
/// time that the shortest flow takes.
fn check_resolution(workload: &Workload, fabric: &Fabric) -> Result<(), SimError> {
    let starts = workload
        .coflows
        .iter()
        .flat_map(|coflow| coflow.flows.iter().map(|flow| coflow.arrival_s + flow.start_s));
    let last = Time::from_secs(starts.fold(0.0, |last, start| f64::max(last, start.abs())));
    let slack_s = last.slack_s();
    if slack_s <= Time::RESOLUTION_S {
        return Ok(());
    }
    let flows = workload.coflows.iter().flat_map(|coflow| &coflow.flows);
    let bytes = flows.map(|flow| flow.bytes).filter(|&bytes| bytes > 0.0);
    let fastest = fabric.capacity().iter().copied().fold(0.0, f64::max);
    let shortest_s = bytes.fold(f64::INFINITY, f64::min) / fastest;
    if slack_s <= TOLERANCE * shortest_s {
        return Ok(());
    }
    let span_s = last.as_secs();
    Err(SimError::Resolution { span_s, resolution_s: span_s.next_up() - span_s, shortest_s })
}

/// Runs one round after another until there are no more events.
fn run_all(
    world: &mut SimulatedWorld<'_>,
    driver: &mut Driver<'_>,
    policy: &str,
    observer: &mut dyn Observer,
) -> Result<(), SimError> {
    let policy = || policy.to_owned();
    let mut idle = 0;
    let mut stands_still = false;
    loop {
        let next = world.next_round(driver);
        if !next.comes() || idle > PATIENCE {
            let has_stopped = next.comes() && stands_still;
            return check_all_ended(world, driver.traffic(), policy(), has_stopped);
        }
        stands_still = next <= driver.traffic().now();
        world.records().count_round();
        let time_s = next.as_secs();
        let decided = driver.round(next, world);
        decided.map_err(|source| SimError::Plan { policy: policy(), time_s, source })?;
        let traffic = driver.traffic();
        let (state, allocator) = (traffic.state(), traffic.allocator());
        let (done, departed) = (world.records().done(), world.departed());
        let ranking = driver.ranking();
        let round = Round { now: next, done, departed, ranking, state, allocator, driver };
        if observer.round(&round).is_break() {
            return Err(SimError::Interrupted);
        }
        idle = if world.is_idle() || stands_still { idle + 1 } else { 0 };
    }
}

/// Checks that every coflow has ended at the end of the run. `has_stopped` is true if the run ended
/// because time no longer advances.
fn check_all_ended(
    world: &SimulatedWorld<'_>,
    traffic: &Traffic,
    policy: String,
    has_stopped: bool,
) -> Result<(), SimError> {
    let Some((coflow, is_released)) = world.stuck(traffic) else { return Ok(()) };
    if let Some(coflow) = world.first_waiting(traffic).map(str::to_owned) {
        let (unfinished, coflows) = world.unended();
        let time_s = traffic.now().as_secs();
        return Err(SimError::NeverReturns { policy, time_s, unfinished, coflows, coflow });
    }
    let (coflow, time_s) = (coflow.to_owned(), traffic.now().as_secs());
    Err(if has_stopped {
        SimError::StandsStill { policy, time_s }
    } else if is_released {
        SimError::Stalled { policy, time_s, coflow }
    } else {
        SimError::Cycle { coflow }
    })
}
