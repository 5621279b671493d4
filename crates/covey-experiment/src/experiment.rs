//! An experiment: several policies on one workload and network.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use covey_core::{AnyPolicy, Codec, Compression, Observed};
use covey_report::{Run, RunInfo};
use covey_sim::bound::{bounds, on_the_wire};
use covey_sim::{Explainer, Observer, Round, SimError, Simulator};
use covey_topology::{Network, Tier};
use covey_trace::results::{Explanation, Outcome};
use covey_trace::{Availability, Workload};

use crate::contender::Simulated;
use crate::parallel::{self, Task};
use crate::progress::Watch;
use crate::tenants::Tenants;
use crate::{Contender, Error, Progress, Setup, outside};

/// A workload and the network on which policies are simulated.
pub struct Experiment<'a> {
    workload: &'a Workload,
    trace: String,
    port_rate_bps: f64,
    network: Network,
    barrier: bool,
    emulated: bool,
    processors: Availability,
    appearing: Option<&'a [Observed]>,
    /// Empty if only ports limit rates.
    tiers: Vec<Tier>,
    /// If tenants share the network.
    tenants: Option<Tenants>,
}

impl<'a> Experiment<'a> {
    /// An experiment with a workload on the network of `setup`. The workload's ports are the
    /// network's hosts: [`Setup::place`] makes both. Reports show `trace` as the workload's name.
    ///
    /// # Errors
    /// If the speed of ports, the network, or the share of processors is invalid.
    pub fn new(
        workload: &'a Workload,
        trace: impl Into<String>,
        setup: &Setup,
    ) -> Result<Experiment<'a>, Error> {
        Experiment::on(setup.network(workload.ports)?, workload, trace, setup)
    }

    /// [`Experiment::new`] on a network that [`Setup::place`] has made.
    ///
    /// # Errors
    /// If the speed of ports, the share of processors or the weight of a tenant is out of range.
    pub fn on(
        network: Network,
        workload: &'a Workload,
        trace: impl Into<String>,
        setup: &Setup,
    ) -> Result<Experiment<'a>, Error> {
        Ok(Experiment {
            workload,
            trace: setup.described(trace.into()),
            port_rate_bps: setup.port_rate()? * 8.0,
            tiers: match network.has_inner_links() {
                true => Tier::loads(workload, network.fabric()),
                false => Vec::new(),
            },
            network,
            barrier: setup.barrier,
            emulated: setup.emulated.is_some(),
            appearing: None,
            tenants: setup.tenants_of(workload)?,
            processors: Availability::open(&setup.cpu, workload.ports, workload.origin)?,
        })
    }

    /// Sets how the flows of the workload appear to policies that do not see coflows: see
    /// [`Scene::appearing`](crate::Scene::appearing).
    #[must_use]
    pub fn appearing(mut self, flows: Option<&'a [Observed]>) -> Experiment<'a> {
        self.appearing = flows;
        self
    }

    /// Simulates every contender, and calculates lower bounds if `bounded`, with `jobs` tasks at a
    /// time. The runs are in the order of the contenders. Emulated simulators change the workload,
    /// so their runs have no bound; nor do runs of a workload with events or attempts.
    ///
    /// # Errors
    /// The first error in the order of the contenders, or [`SimError::Interrupted`] if `progress`
    /// stops the simulations.
    pub fn run(
        &self,
        contenders: Vec<Contender>,
        bounded: bool,
        jobs: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<Run<'a>>, Error> {
        let mut bound_s: Vec<(Option<Compression>, f64)> = Vec::new();
        if bounded && !self.emulated && self.workload.is_static() {
            for contender in &contenders {
                let compression = contender.compression;
                if bound_s.iter().all(|(known, _)| *known != compression) {
                    bound_s.push((compression, f64::NAN));
                }
            }
        }
        let compressions: Vec<_> = contenders.iter().map(|c| c.compression).collect();
        let failed = AtomicBool::new(false);
        let mut simulated = Vec::new();
        simulated.resize_with(contenders.len(), || None);

        let mut tasks: Vec<Task<'_>> = Vec::new();
        for (compression, bound_s) in &mut bound_s {
            let compression = *compression;
            tasks.push(Box::new(move || *bound_s = self.bound_s(compression)));
        }
        for (contender, slot) in contenders.into_iter().zip(&mut simulated) {
            let failed = &failed;
            tasks.push(Box::new(move || {
                let result = self.simulate(contender, Watch::new(progress, failed));
                if result.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
                *slot = Some(result);
            }));
        }
        parallel::run(tasks, jobs);

        let mut runs = Vec::new();
        let (mut failure, mut interrupted) = (None, None);
        for (result, compression) in simulated.into_iter().zip(compressions) {
            match result {
                Some(Ok((outcome, info))) => {
                    let bound = bound_s.iter().find(|(known, _)| *known == compression);
                    let lower_bound_mean_cct_s = bound.map(|(_, bound_s)| *bound_s);
                    let info = RunInfo { lower_bound_mean_cct_s, ..info };
                    runs.push(Run::new(self.workload, outcome, info)?);
                }
                // A failed run interrupts the others. Its error is the one to return.
                Some(Err(Error::Sim(SimError::Interrupted))) => {
                    interrupted = Some(Error::Sim(SimError::Interrupted));
                }
                Some(Err(error)) => failure = failure.or(Some(error)),
                None => {}
            }
        }
        failure.or(interrupted).map_or(Ok(runs), |error| Err(outside::fault_or(error)))
    }

    /// The lower bound in seconds of the mean CCT of any schedule with this compression.
    fn bound_s(&self, compression: Option<Compression>) -> f64 {
        let fabric = self.network.fabric();
        let Some(compression) = compression else {
            return bounds(self.workload, fabric).mean_cct_s;
        };
        let wire = on_the_wire(self.workload, fabric, &compression, &self.processors);
        bounds(&wire, fabric).mean_cct_s
    }

    /// The weights of the trace's tenants, if they share the network.
    fn tenant_weights(&self) -> Vec<f64> {
        let Some(tenants) = &self.tenants else { return Vec::new() };
        let weight = |name| tenants.weight_of(name).expect("a tenant of the trace");
        covey_report::tenants(self.workload).iter().map(weight).collect()
    }

    /// Simulates a policy, and again to explain the completion times of the coflows that `which`
    /// chooses by the outcome. `twice` is the same contender, made twice. The explanations are in
    /// the order of the choice.
    ///
    /// # Errors
    /// If the workload has events or attempts, a simulator is emulated, or a simulation fails.
    pub fn explain(
        &self,
        [first, second]: [Contender; 2],
        which: impl FnOnce(&Outcome) -> Vec<u32>,
        progress: &dyn Progress,
    ) -> Result<(Run<'a>, Vec<Explanation>), Error> {
        let failed = AtomicBool::new(false);
        self.check_explains(&second)?;
        let (outcome, info) = self.simulate(first, Watch::new(progress, &failed))?;
        let explanations = self.explain_outcome(second, &outcome, &which(&outcome), progress)?;
        Ok((Run::new(self.workload, outcome, info)?, explanations))
    }

    /// Explains the completion times of some coflows, by their indices, in a simulation of the same
    /// contender that had this outcome.
    ///
    /// # Errors
    /// As [`Experiment::explain`].
    pub fn explain_outcome(
        &self,
        contender: Contender,
        outcome: &Outcome,
        coflows: &[u32],
        progress: &dyn Progress,
    ) -> Result<Vec<Explanation>, Error> {
        self.check_explains(&contender)?;
        let Contender { label, policy: Simulated::Exactly(policy), again, measured_codec, .. } =
            contender
        else {
            unreachable!("it was checked")
        };
        let policy = self.divided(policy, again, &label)?;
        let failed = AtomicBool::new(false);
        let mut explainer = Explainer::new(self.workload, self.network.fabric(), outcome, coflows);
        let watch = Watch::new(progress, &failed);
        let mut both = TwoObservers { watch, other: &mut explainer };
        self.run_exactly(&label, policy, measured_codec, &mut both)?;
        Ok(explainer.into_explanations())
    }

    /// Checks that completion times under a contender can be explained.
    fn check_explains(&self, contender: &Contender) -> Result<(), Error> {
        if !self.workload.is_static() {
            let expected = "a trace without events and attempts, to explain completion times";
            return Err(Error::argument("trace", expected, "some"));
        }
        if matches!(contender.policy, Simulated::Emulated(_)) {
            let expected = "exact, which alone explains completion times";
            return Err(Error::argument("sim", expected, "another"));
        }
        Ok(())
    }

    /// Whether completion times can be explained.
    pub(crate) fn explains(&self) -> bool {
        self.workload.is_static() && !self.emulated
    }

    /// The workload.
    pub fn workload(&self) -> &'a Workload {
        self.workload
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// A policy, or an instance of it for each tenant if tenants share the network.
    fn divided(
        &self,
        policy: AnyPolicy,
        again: Option<Box<dyn FnMut() -> AnyPolicy + Send>>,
        label: &str,
    ) -> Result<AnyPolicy, Error> {
        match &self.tenants {
            Some(tenants) => tenants.divide(policy, again, label),
            None => Ok(policy),
        }
    }

    /// Simulates a policy by the exact simulator.
    fn run_exactly(
        &self,
        label: &str,
        mut policy: AnyPolicy,
        measured_codec: Option<Codec>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let mut simulator = Simulator::new(self.network.fabric().clone())
            .barrier(self.barrier)
            .with_measured_codec(measured_codec)
            .with_processors(self.processors.clone());
        if let Some(tenants) = &self.tenants {
            simulator = simulator.with_tenants(tenants.of_coflow.clone());
        }
        if let (Some(flows), AnyPolicy::Unlabelled(_)) = (self.appearing, &policy) {
            simulator = simulator.with_appearance(flows.to_vec());
        }
        Ok(simulator.run(self.workload, label, &mut policy, observer)?)
    }

    /// Simulates one contender.
    fn simulate(
        &self,
        contender: Contender,
        mut watch: Watch<'_>,
    ) -> Result<(Outcome, RunInfo), Error> {
        let Contender { label, name, params, policy, observer, measured_codec, again, .. } =
            contender;
        let knows_sizes = match &policy {
            Simulated::Exactly(policy) => Some(matches!(policy, AnyPolicy::Clairvoyant(_))),
            Simulated::Emulated(_) => None,
        };
        let started = Instant::now();
        let outcome = match policy {
            Simulated::Exactly(policy) => {
                let policy = self.divided(policy, again, &label)?;
                match observer {
                    Some(mut other) => {
                        let mut both = TwoObservers { watch, other: other.as_mut() };
                        self.run_exactly(&label, policy, measured_codec, &mut both)?
                    }
                    None => self.run_exactly(&label, policy, measured_codec, &mut watch)?,
                }
            }
            Simulated::Emulated(emulation) => {
                let outcome = emulation.run(self.workload)?;
                watch.report(self.workload.coflows.len());
                outcome
            }
        };
        let info = RunInfo {
            policy: name,
            params,
            label,
            knows_sizes,
            trace: self.trace.clone(),
            fabric: self.network.spec().to_owned(),
            port_rate_bps: self.port_rate_bps,
            lower_bound_mean_cct_s: None,
            wall_s: started.elapsed().as_secs_f64(),
            pipelined: !self.barrier,
            tiers: self.tiers.clone(),
            tenant_weights: self.tenant_weights(),
        };
        Ok((outcome, info))
    }
}

/// Forwards rounds to two observers.
struct TwoObservers<'w, 'o> {
    watch: Watch<'w>,
    other: &'o mut dyn Observer,
}

impl Observer for TwoObservers<'_, '_> {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        self.watch.round(round)?;
        self.other.round(round)
    }
}
