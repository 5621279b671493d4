//! Policies on a workload: what `simulate` does with one and `compare` with several.

use std::ops::RangeInclusive;
use std::time::Instant;

use clap::{ArgAction, Args, ValueEnum};
use covey_core::{AnyPolicy, Compression, Fabric, units};
use covey_report::{Run, RunInfo};
use covey_reproduce::emulate::{self, Emulation};
use covey_sim::bound::{bounds, on_the_wire};
use covey_sim::{Outcome, SimError, Simulator};
use covey_trace::{Availability, Workload};

use crate::failure::Failure;
use crate::parallel::{self, Task};
use crate::progress::Progress;

/// Speeds of ports that make sense, in bits per second. Far outside of them times are too large or
/// too small to tell one event from the next.
const PORT_RATE_BPS: RangeInclusive<f64> = 1.0..=1e15;
/// The speed where none is given.
pub const PORT_RATE: &str = "1gbps";

/// The speed of ports that `--port-rate` says, in bytes per second.
pub fn port_rate(text: &str) -> Result<f64, Failure> {
    let rate = units::parse_rate(text).map_err(|e| Failure::Input(format!("--port-rate: {e}")))?;
    if PORT_RATE_BPS.contains(&(rate * 8.0)) {
        return Ok(rate);
    }
    Err(Failure::argument("--port-rate", "a speed from 1bps to 1000tbps", format!("'{text}'")))
}

/// What is simulated, and on what network.
#[derive(Debug, Args)]
pub struct Setup {
    /// The workload: a trace file, - for standard input, or builtin:NAME[:key=value,…]
    #[arg(value_name = "TRACE")]
    trace: String,
    /// The network: on a big switch only the ports limit
    #[arg(long, value_enum, default_value_t = Topology::BigSwitch)]
    fabric: Topology,
    /// Speed of each port in each direction: 1gbps, 100mbps, 128MiB/s [default: 1gbps, or that of
    /// the simulator that --sim emulates]
    #[arg(long, value_name = "RATE")]
    port_rate: Option<String>,
    /// Share of each port's processor that is there for compressing: a number from 0 to 1, or a
    /// CSV file with the header port,from_s,share and a line for each change (a port of * means all)
    #[arg(long, value_name = "SHARE|FILE", default_value = "1")]
    cpu: String,
    /// The simulator: the exact one solves for the moment of every event; the others emulate those
    /// in which papers were measured, with their quirks
    #[arg(long, value_enum, default_value_t = Clock::Exact)]
    sim: Clock,
    /// Whether coflows wait for their parents' ends. Without a barrier they are released when they
    /// arrive, and parents only order them (Aalo)
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    barrier: bool,
    /// Seed for policies that have a parameter `seed`, and for builtin traces, unless they say
    /// another
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// The value of `--fabric`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Topology {
    // Only ports limit: the network between them carries everything.
    BigSwitch,
}

/// The value of `--sim`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Clock {
    // In continuous time, event by event.
    Exact,
    // Like CoflowSim.
    Coflowsim,
    // Like the simulator of Philae's authors.
    PhilaeAuthors,
}

/// A policy that is to be simulated.
pub struct Contender {
    /// As the user wrote it.
    pub label: String,
    /// The policy's name.
    pub name: String,
    /// Its parameters.
    params: Vec<(String, String)>,
    /// How it has flows compressed, if it does.
    compression: Option<Compression>,
    /// What that means.
    policy: Simulated,
}

/// A policy in the exact simulator, or in another.
enum Simulated {
    Exactly(AnyPolicy),
    Emulated(Emulation),
}

/// A workload and the network it runs on.
pub struct Experiment {
    trace: String,
    workload: Workload,
    port_rate_bps: f64,
    fabric: Fabric,
    barrier: bool,
    emulated: bool,
    processors: Availability,
}

impl Setup {
    /// The policy that `spec` says.
    pub fn contender(&self, spec: &str) -> Result<Contender, Failure> {
        let label = spec.to_owned();
        if let Some(simulator) = self.emulated() {
            let emulation = Emulation::new(simulator, spec)?;
            let (name, params) = (emulation.name().to_owned(), emulation.params().to_vec());
            let policy = Simulated::Emulated(emulation);
            return Ok(Contender { label, name, params, compression: None, policy });
        }
        let mut built = covey_sched::build(spec)?;
        let seeded = built.info.params.iter().any(|p| p.name == "seed");
        if let (true, Some(seed)) = (seeded, self.seed) {
            let (name, given) = spec.split_once(':').unwrap_or((spec, ""));
            if !given.split(',').any(|item| item.starts_with("seed=")) {
                built = covey_sched::build(&format!("{name}:{given},seed={seed}"))?;
            }
        }
        let name = built.info.name.to_owned();
        let policy = Simulated::Exactly(built.policy);
        let (params, compression) = (built.params, built.compression);
        Ok(Contender { label, name, params, compression, policy })
    }

    /// The simulator to be emulated, if it is not to be the exact one.
    pub fn emulated(&self) -> Option<emulate::Simulator> {
        match self.sim {
            Clock::Exact => None,
            Clock::Coflowsim => Some(emulate::Simulator::CoflowSim),
            Clock::PhilaeAuthors => Some(emulate::Simulator::PhilaeAuthors),
        }
    }

    /// The speed of ports in bytes per second.
    pub fn port_rate(&self) -> Result<f64, Failure> {
        let emulated = self.emulated();
        let text = match (&self.port_rate, emulated) {
            (Some(text), _) => text,
            (None, None) => PORT_RATE,
            (None, Some(simulator)) => return Ok(simulator.port_rate_bps() / 8.0),
        };
        let rate = port_rate(text)?;
        if let Some(simulator) = emulated
            && rate * 8.0 != simulator.port_rate_bps()
        {
            let (bps, name) = (simulator.port_rate_bps(), simulator.name());
            let expected = format!("{bps}bps, which is that of --sim {name}");
            return Err(Failure::argument("--port-rate", expected, format!("'{text}'")));
        }
        Ok(rate)
    }

    /// Reads the workload and lays the network.
    pub fn load(self) -> Result<Experiment, Failure> {
        let rate = self.port_rate()?;
        let emulated = self.emulated().is_some();
        let trace = self.seeded_trace();
        let workload = covey_trace::open(&trace)?;
        let Topology::BigSwitch = self.fabric;
        let fabric = Fabric::big_switch(workload.ports, rate)
            .map_err(|e| Failure::Input(format!("--port-rate: {e}")))?;
        let processors = Availability::open(&self.cpu, workload.ports)?;
        let trace = if trace == "-" { "standard input".to_owned() } else { trace };
        let barrier = self.barrier;
        Ok(Experiment {
            trace,
            workload,
            port_rate_bps: rate * 8.0,
            fabric,
            barrier,
            emulated,
            processors,
        })
    }

    /// The trace, with the seed if it is a builtin one that says none.
    fn seeded_trace(&self) -> String {
        let builtin = self.trace.strip_prefix("builtin:");
        match (builtin.map(|spec| spec.split_once(':').unwrap_or((spec, ""))), self.seed) {
            (Some((name, given)), Some(seed))
                if !given.split(',').any(|item| item.starts_with("seed=")) =>
            {
                let joint = if given.is_empty() { "" } else { "," };
                format!("builtin:{name}:{given}{joint}seed={seed}")
            }
            _ => self.trace.clone(),
        }
    }
}

impl Experiment {
    /// Simulates every policy, and bounds all schedules if `bounded`, `jobs` of these at a time.
    /// The runs are in the order of the policies. Other simulators change the workload, so there is
    /// no bound for them.
    pub fn run(
        &self,
        contenders: Vec<Contender>,
        bounded: bool,
        jobs: usize,
    ) -> Result<Vec<Run<'_>>, Failure> {
        let progress = Progress::new(contenders.len() * self.workload.coflows.len());
        let mut bound_s: Vec<(Option<Compression>, f64)> = Vec::new();
        if bounded && !self.emulated {
            for contender in &contenders {
                let compression = contender.compression;
                if bound_s.iter().all(|(known, _)| *known != compression) {
                    bound_s.push((compression, f64::NAN));
                }
            }
        }
        let compressions: Vec<_> = contenders.iter().map(|c| c.compression).collect();
        let mut simulated = Vec::new();
        simulated.resize_with(contenders.len(), || None);

        let mut tasks: Vec<Task<'_>> = Vec::new();
        for (compression, bound_s) in &mut bound_s {
            let compression = *compression;
            tasks.push(Box::new(move || *bound_s = self.bound_s(compression)));
        }
        for (contender, place) in contenders.into_iter().zip(&mut simulated) {
            let progress = &progress;
            tasks.push(Box::new(move || *place = Some(self.simulate(contender, progress))));
        }
        parallel::run(tasks, jobs);
        drop(progress);

        let mut runs = Vec::new();
        let mut failure = None;
        for (result, compression) in simulated.into_iter().zip(compressions) {
            let Some(result) = result else { continue };
            match result {
                Ok(Some((outcome, info))) => {
                    let bound = bound_s.iter().find(|(known, _)| *known == compression);
                    let lower_bound_mean_cct_s = bound.map(|(_, bound_s)| *bound_s);
                    let info = RunInfo { lower_bound_mean_cct_s, ..info };
                    runs.push(Run::new(&self.workload, outcome, info)?);
                }
                Ok(None) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(runs), Err)
    }

    /// The least mean CCT that any schedule could have that compresses like this, in seconds.
    fn bound_s(&self, compression: Option<Compression>) -> f64 {
        let (egress, ingress) = self.fabric.capacity().split_at(self.workload.ports as usize);
        let Some(compression) = compression else {
            return bounds(&self.workload, egress, ingress).mean_cct_s;
        };
        let wire = on_the_wire(&self.workload, &self.fabric, &compression, &self.processors);
        bounds(&wire, egress, ingress).mean_cct_s
    }

    /// Simulates one policy; none if it was stopped because another failed.
    fn simulate(
        &self,
        contender: Contender,
        progress: &Progress,
    ) -> Result<Option<(Outcome, RunInfo)>, Failure> {
        let Contender { label, name, params, policy, .. } = contender;
        let started = Instant::now();
        let result = match policy {
            Simulated::Exactly(mut policy) => {
                let mut watch = progress.watch();
                let mut simulator = Simulator::new(self.fabric.clone())
                    .barrier(self.barrier)
                    .with_processors(self.processors.clone());
                match simulator.run(&self.workload, &label, &mut policy, &mut watch) {
                    Err(SimError::Interrupted) => return Ok(None),
                    result => result.map_err(Failure::from),
                }
            }
            Simulated::Emulated(emulation) => {
                let result = emulation.run(&self.workload);
                progress.advance(self.workload.coflows.len());
                result.map_err(Failure::from)
            }
        };
        let outcome = result.inspect_err(|_| progress.fail())?;
        let info = RunInfo {
            policy: name,
            params,
            label,
            trace: self.trace.clone(),
            fabric: "big-switch".to_owned(),
            port_rate_bps: self.port_rate_bps,
            lower_bound_mean_cct_s: None,
            wall_s: started.elapsed().as_secs_f64(),
            pipelined: !self.barrier,
        };
        Ok(Some((outcome, info)))
    }
}

/// How many tasks the machine can do at a time.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
