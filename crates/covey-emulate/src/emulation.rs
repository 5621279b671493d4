//! Emulated simulators and their policies, by the names that users give.

use covey_core::suggest::did_you_mean;
use covey_trace::Workload;
use covey_trace::results::Outcome;

use crate::error::EmulationError;
use crate::philae_authors::{Estimate, Parameters};
use crate::{coflowsim, philae_authors};

/// An emulated simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Simulator {
    /// [`coflowsim`].
    CoflowSim,
    /// [`philae_authors`].
    PhilaeAuthors,
}

impl Simulator {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::CoflowSim => "coflowsim",
            Self::PhilaeAuthors => "philae-authors",
        }
    }

    /// The rate of each of its ports, in bits per second.
    pub fn port_rate_bps(self) -> f64 {
        match self {
            Self::CoflowSim => coflowsim::CAPACITY_BPS,
            Self::PhilaeAuthors => philae_authors::CAPACITY_BPS,
        }
    }

    /// Its policies, under Covey's names for them.
    fn policies(self) -> &'static [&'static str] {
        match self {
            Self::CoflowSim => {
                &["fair", "pfp", "fifo", "scf", "ncf", "lcf", "sebf", "aalo", "aalo-oracle"]
            }
            Self::PhilaeAuthors => &["philae"],
        }
    }
}

/// A policy in an emulated simulator.
#[derive(Debug, Clone, PartialEq)]
pub struct Emulation {
    simulator: Simulator,
    name: &'static str,
    params: Vec<(String, String)>,
    run: Run,
}

/// The program and the policy that are run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Run {
    CoflowSim(coflowsim::Policy),
    PhilaeAuthors(Parameters),
}

/// The error if a text does not name a policy of an emulated simulator.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EmulationSpecError {
    /// The simulator does not have the policy.
    #[error("policy '{name}' with --sim {simulator}: expected one of {known}{}", did_you_mean(*.meant))]
    Policy {
        /// The name in the text.
        name: String,
        /// The simulator.
        simulator: &'static str,
        /// The policies that the simulator has.
        known: String,
        /// The policy that the user may mean.
        meant: Option<&'static str>,
    },
    /// The policy does not have the parameter, or not with this value.
    #[error("policy {policy} with --sim {simulator}: expected {expected}, found '{found}'")]
    Param {
        /// The policy.
        policy: &'static str,
        /// The simulator.
        simulator: &'static str,
        /// The expected text.
        expected: String,
        /// The given text.
        found: String,
    },
}

impl Emulation {
    /// The policy `name` or `name:key=value,…` in `simulator`. CoflowSim's DARK is `aalo`; it takes
    /// no parameters. `philae` has the `order` of the paper's Table 3, A, B, C or D, `ties` among
    /// ports, `reversed` or `by-port`, and `pilots`, `thin`, `K`, `q1` and `E` as Covey's own has
    /// them.
    ///
    /// # Errors
    /// The policy, the parameter or the value does not exist in the simulator. The message lists
    /// those that do.
    pub fn new(simulator: Simulator, spec: &str) -> Result<Self, EmulationSpecError> {
        let spec = &covey_sched::normalized(spec);
        let (name, given) = spec.split_once(':').unwrap_or((spec, ""));
        let policies = simulator.policies();
        let name = policies.iter().find(|known| **known == name).copied().ok_or_else(|| {
            EmulationSpecError::Policy {
                name: name.to_owned(),
                simulator: simulator.name(),
                known: policies.join(", "),
                meant: covey_sched::suggestion(name, policies),
            }
        })?;
        let bad = |(expected, found)| EmulationSpecError::Param {
            policy: name,
            simulator: simulator.name(),
            expected,
            found,
        };
        if spec.ends_with([':', ',']) {
            let expected = format!("key=value after '{}'", &spec[spec.len() - 1..]);
            return Err(bad((expected, String::new())));
        }
        let mut params = vec![("sim".to_owned(), simulator.name().to_owned())];
        let run = match simulator {
            Simulator::CoflowSim if !given.is_empty() => {
                return Err(bad(("no parameters".to_owned(), given.to_owned())));
            }
            Simulator::CoflowSim => Run::CoflowSim(match name {
                "fair" => coflowsim::Policy::Fair,
                "pfp" => coflowsim::Policy::Pfp,
                "fifo" => coflowsim::Policy::Fifo,
                "scf" => coflowsim::Policy::Scf,
                "ncf" => coflowsim::Policy::Ncf,
                "lcf" => coflowsim::Policy::Lcf,
                "aalo" => coflowsim::Policy::Dark,
                "aalo-oracle" => coflowsim::Policy::DarkOracle,
                _ => coflowsim::Policy::Sebf,
            }),
            Simulator::PhilaeAuthors => {
                let with = Parameters::parse(given).map_err(bad)?;
                params.extend(with.pairs());
                Run::PhilaeAuthors(with)
            }
        };
        Ok(Self { simulator, name, params, run })
    }

    /// The policy's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The simulator.
    pub fn simulator(&self) -> Simulator {
        self.simulator
    }

    /// The simulator and all parameters with the values in force, for reports.
    pub fn params(&self) -> &[(String, String)] {
        &self.params
    }

    /// Runs the emulation. A coflow's CCT counts from its admission, which may be before its
    /// arrival; times are in the simulator's own seconds.
    ///
    /// # Errors
    /// The simulator cannot represent the workload, or does not finish it.
    pub fn run(&self, workload: &Workload) -> Result<Outcome, EmulationError> {
        Ok(self.run_with_estimates(workload)?.0)
    }

    /// Checks that nothing happens to the cluster.
    fn check(&self, workload: &Workload) -> Result<(), EmulationError> {
        let simulator = match self.run {
            Run::CoflowSim(_) => "CoflowSim",
            Run::PhilaeAuthors(_) => "Philae's simulator",
        };
        if workload.events.is_empty() { Ok(()) } else { Err(EmulationError::Events { simulator }) }
    }

    /// Like [`run`](Self::run), with the estimate of each coflow under a policy that samples.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub fn run_with_estimates(
        &self,
        workload: &Workload,
    ) -> Result<(Outcome, Vec<Option<Estimate>>), EmulationError> {
        self.check(workload)?;
        let phase_s = phase_s(workload);
        let mut shifted = workload.clone();
        shifted.coflows.iter_mut().for_each(|coflow| coflow.arrival_s += phase_s);
        let (mut outcome, estimates) = match self.run {
            Run::CoflowSim(policy) => {
                (coflowsim::run(&shifted, policy)?, vec![None; workload.coflows.len()])
            }
            Run::PhilaeAuthors(with) => philae_authors::run_with_estimates(&shifted, with)?,
        };
        let coflows = outcome.coflows.iter_mut();
        let times = coflows.flat_map(|it| [&mut it.release_s, &mut it.completion_s]);
        let times = times.chain(&mut outcome.flow_start_s).chain(&mut outcome.flow_completion_s);
        times.for_each(|time_s| *time_s -= phase_s);
        Ok((outcome, estimates))
    }
}

/// Seconds from the start of a bin, in which both simulators admit coflows, to the origin. They bin
/// arrivals from the zero of the trace's clock, which may be so far away that they never come to
/// the first coflow. A coflow that arrives at the end of a bin is admitted with it.
fn phase_s(workload: &Workload) -> f64 {
    const BIN_MS: f64 = 10_240.0;
    let origin_ms = (workload.origin.as_secs() * 1e3).round();
    match origin_ms % BIN_MS {
        phase_ms if phase_ms == 0.0 && origin_ms > 0.0 => BIN_MS / 1e3,
        phase_ms => phase_ms / 1e3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_may_start_at_any_bin() {
        let run = |start_ms: u64| {
            let arrivals = [0, 1_000, 10_240, 11_000, 40_000];
            let lines = (0..)
                .zip(arrivals)
                .map(|(id, ms)| format!("{id} {} 1 0 1 1:50.0\n", start_ms + ms));
            let text = format!("2 5\n{}", lines.collect::<String>());
            let workload = covey_trace::read(text.as_bytes(), "t").expect("a trace");
            ["fair", "sebf"].map(|name| {
                let emulation = Emulation::new(Simulator::CoflowSim, name).expect("a policy");
                let outcome = emulation.run(&workload).expect("a run");
                outcome.coflows.iter().map(|coflow| coflow.cct_s()).collect::<Vec<f64>>()
            })
        };
        for start_ms in [0, 1, 5_000, 10_240] {
            let bins = 10_240 * 166_000_000;
            let (near, far) = (run(start_ms + 10_240), run(start_ms + bins));
            for (near, far) in near.iter().flatten().zip(far.iter().flatten()) {
                assert!((near - far).abs() < 1e-9, "{near} {far}");
            }
        }
    }

    #[test]
    fn every_listed_policy_is_a_different_one() {
        let mut runs = Vec::new();
        for simulator in [Simulator::CoflowSim, Simulator::PhilaeAuthors] {
            for name in simulator.policies() {
                let run = Emulation::new(simulator, name).map(|emulation| emulation.run);
                assert!(run.is_ok() && !runs.contains(&run), "{name}");
                runs.push(run);
            }
        }
    }

    #[test]
    fn parameters_are_shown_with_the_simulator() {
        let spec = "philae:order=A,pilots=const:2,q1=4MiB";
        let philae = Emulation::new(Simulator::PhilaeAuthors, spec).expect("a policy");
        let shown: Vec<_> = philae.params().iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            shown.join(" "),
            "sim=philae-authors order=A ties=reversed pilots=const:2 thin=7 K=10 q1=4MiB E=10"
        );
    }

    #[test]
    fn unknown_policies_and_parameters_are_refused() {
        let refusal = |simulator, spec| {
            Emulation::new(simulator, spec).err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(
            refusal(Simulator::CoflowSim, "philae"),
            "policy 'philae' with --sim coflowsim: expected one of \
             fair, pfp, fifo, scf, ncf, lcf, sebf, aalo, aalo-oracle"
        );
        assert_eq!(
            refusal(Simulator::CoflowSim, "aalo:K=10"),
            "policy aalo with --sim coflowsim: expected no parameters, found 'K=10'"
        );
        assert_eq!(
            refusal(Simulator::PhilaeAuthors, "philae:order=E"),
            "policy philae with --sim philae-authors: expected order=A, B, C or D, found 'order=E'"
        );
        assert_eq!(
            refusal(Simulator::PhilaeAuthors, "philae:T=7"),
            "policy philae with --sim philae-authors: expected the parameters order, ties, pilots, \
             thin, K, q1, E, found 'T=7'"
        );
    }
}
