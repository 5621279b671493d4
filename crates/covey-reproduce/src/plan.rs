//! What is to be simulated: workloads and runs, each once however many findings need it.

use covey_core::Fabric;
use covey_emulate::{Emulation, Simulator as Emulated};
use covey_report::Live;
use covey_sim::{Observer, SimError, Simulator};
use covey_trace::{Availability, Workload};

use crate::learning::{self, Learned, Watch};
use crate::numbers;
use crate::published::Paper;

/// A workload of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(usize);

/// A run of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId(usize);

/// Which simulator runs a policy.
#[derive(Debug, Clone, PartialEq)]
pub enum Sim {
    /// The exact one, with ports of so many bits per second.
    Exact {
        /// Bits per second.
        port_rate_bps: f64,
        /// What is there of processors.
        cpu: Availability,
        /// Whether coflows wait for their parents' ends.
        barrier: bool,
    },
    /// Another, emulated.
    Emulated(Emulated),
    /// None: the coordinator, live.
    Live(LiveRun),
    /// None: real flows between emulated hosts.
    Testbed(OnHosts),
}

/// How a workload is replayed against a live coordinator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveRun {
    /// The scheduling interval δ in seconds. CPU time is measured by interval, and agents report once
    /// in each.
    pub interval_s: f64,
    /// Whether agents report what flows have sent in every interval, even where the policy does not
    /// need it.
    pub reports_always: bool,
}

/// How a workload comes to emulated hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnHosts {
    /// Whether it is folded and scaled to fit them, and then only every so many-th coflow of it is taken.
    pub fold: Option<usize>,
    /// The part of flows' bytes that a compressor makes of them; 1 if they cannot be made smaller.
    pub ratio: f64,
}

impl Sim {
    /// The exact simulator at 1 Gbps with whole processors.
    pub fn exact() -> Self {
        Self::at(1e9)
    }

    /// The same with ports of other speed.
    pub fn at(port_rate_bps: f64) -> Self {
        Self::Exact { port_rate_bps, cpu: Availability::default(), barrier: true }
    }
}

/// On a testbed, flows that nobody schedules.
pub const TCP: &str = "tcp";

/// A policy on a workload in a simulator.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The workload.
    pub trace: TraceId,
    /// The simulator.
    pub sim: Sim,
    /// The policy, as on the command line; on a testbed also [`TCP`].
    pub policy: String,
    /// What to find out beside completion times.
    pub watch: Watch,
}

/// A workload with its name.
#[derive(Debug)]
struct Trace {
    name: String,
    workload: Workload,
    /// Whether it is what the paper had, or made of it as the paper says.
    is_the_papers: bool,
}

/// Workloads, and what is run on them.
#[derive(Debug, Default)]
pub struct Plan {
    traces: Vec<Trace>,
    runs: Vec<Run>,
}

/// What a run found.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// CCTs in seconds, in the order of the workload.
    pub ccts_s: Vec<f64>,
    /// FCTs in seconds, in the order of the workload; empty unless [`Watch::Flows`].
    pub fcts_s: Vec<f64>,
    /// When each flow ended, in seconds of the trace; empty unless [`Watch::Flows`].
    pub flow_ends_s: Vec<f64>,
    /// What was learnt of each coflow; empty unless asked for.
    pub learned: Vec<Option<Learned>>,
    /// Bytes that compression saved.
    pub saved_bytes: f64,
    /// The parameters in force.
    pub params: Vec<(String, String)>,
    /// What a live run found, which finds nothing else.
    pub live: Option<Live>,
    /// Bytes that hosts gave to their links, headers and what else they said included, if they were counted.
    pub wire_bytes: Option<f64>,
}

impl Plan {
    /// Adds a workload. `is_the_papers` tells whether what is found on it can be compared.
    pub fn add(&mut self, name: &str, workload: Workload, is_the_papers: bool) -> TraceId {
        self.traces.push(Trace { name: name.to_owned(), workload, is_the_papers });
        TraceId(self.traces.len() - 1)
    }

    /// A workload that the paper defines, whatever trace was given; the one of that name if there
    /// is one.
    pub fn own(&mut self, name: &str, workload: Workload) -> TraceId {
        let known = self.traces.iter().position(|trace| trace.name == name);
        known.map_or_else(|| self.add(name, workload, true), TraceId)
    }

    /// The workload of that name, made by `make` if there is none yet; it can be compared if `of`
    /// can.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn derived<E>(
        &mut self,
        name: &str,
        of: TraceId,
        make: impl FnOnce(&Workload) -> Result<Workload, E>,
    ) -> Result<TraceId, E> {
        if let Some(known) = self.traces.iter().position(|trace| trace.name == name) {
            return Ok(TraceId(known));
        }
        let workload = make(self.workload(of))?;
        Ok(self.add(name, workload, self.traces[of.0].is_the_papers))
    }

    /// Adds a run, unless it is there already.
    pub fn run(&mut self, run: Run) -> RunId {
        let known = self.runs.iter().position(|other| *other == run);
        RunId(known.unwrap_or_else(|| {
            self.runs.push(run);
            self.runs.len() - 1
        }))
    }

    /// Adds a policy in the exact simulator at 1 Gbps.
    pub fn exact(&mut self, trace: TraceId, policy: &str) -> RunId {
        let policy = policy.to_owned();
        self.run(Run { trace, sim: Sim::exact(), policy, watch: Watch::Nothing })
    }

    /// Adds a policy of CoflowSim.
    pub fn coflowsim(&mut self, trace: TraceId, policy: &str) -> RunId {
        let sim = Sim::Emulated(Emulated::CoflowSim);
        self.run(Run { trace, sim, policy: policy.to_owned(), watch: Watch::Nothing })
    }

    /// Adds a policy of the simulator of Philae's authors.
    pub fn authors(&mut self, trace: TraceId, policy: &str) -> RunId {
        let sim = Sim::Emulated(Emulated::PhilaeAuthors);
        self.run(Run { trace, sim, policy: policy.to_owned(), watch: Watch::Estimates })
    }

    /// A workload.
    pub fn workload(&self, trace: TraceId) -> &Workload {
        &self.traces[trace.0].workload
    }

    /// The name of a workload.
    pub fn name(&self, trace: TraceId) -> &str {
        &self.traces[trace.0].name
    }

    /// Whether what is found on a workload can be compared with what was published.
    pub fn is_the_papers(&self, trace: TraceId) -> bool {
        self.traces[trace.0].is_the_papers
    }

    /// All runs, in the order they were asked for.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = RunId> + use<> {
        (0..self.runs.len()).map(RunId)
    }

    /// What a run is.
    pub fn of(&self, run: RunId) -> &Run {
        &self.runs[run.0]
    }

    /// Number of coflows of a run.
    pub fn coflows(&self, run: RunId) -> usize {
        self.workload(self.of(run).trace).coflows.len()
    }

    /// Does a run, `observer` looking on where it is exact.
    ///
    /// # Errors
    /// What is wrong with the policy, or with the workload for this simulator, in one line.
    pub fn measure(&self, run: RunId, observer: &mut dyn Observer) -> Result<Measured, String> {
        let run = self.of(run);
        let workload = self.workload(run.trace);
        let (outcome, learned, params) = match &run.sim {
            Sim::Exact { port_rate_bps, cpu, barrier } => {
                let fabric = Fabric::big_switch(workload.ports, port_rate_bps / 8.0);
                let fabric = fabric.map_err(|error| error.to_string())?;
                let built = covey_sched::build(&run.policy).map_err(|error| error.to_string())?;
                let (mut policy, learned) = learning::watched(built.policy, run.watch, workload);
                let mut simulator =
                    Simulator::new(fabric).barrier(*barrier).with_processors(cpu.clone());
                let outcome = simulator.run(workload, &run.policy, &mut policy, observer);
                let outcome = outcome.map_err(|error: SimError| error.to_string())?;
                (outcome, learned.take(), built.params)
            }
            Sim::Emulated(simulator) => {
                let emulation = Emulation::new(*simulator, &run.policy);
                let emulation = emulation.map_err(|error| error.to_string())?;
                let (outcome, estimates) =
                    emulation.run_with_estimates(workload).map_err(|error| error.to_string())?;
                let learned = estimates.into_iter().map(|e| e.map(Learned::from)).collect();
                (outcome, learned, emulation.params().to_vec())
            }
            Sim::Live(_) => return Err("it is to be run live".to_owned()),
            Sim::Testbed(_) => return Err("it is to be run on a testbed".to_owned()),
        };
        let mut measured = Measured {
            ccts_s: outcome.coflows.iter().map(|coflow| coflow.cct_s()).collect(),
            learned,
            saved_bytes: outcome.compression.iter().map(|c| c.saved_bytes).sum(),
            params,
            ..Measured::default()
        };
        if run.watch == Watch::Flows {
            let ends = &outcome.flow_completion_s;
            measured.fcts_s = ends.iter().zip(&outcome.flow_start_s).map(|(e, s)| e - s).collect();
            measured.flow_ends_s = outcome.flow_completion_s;
        }
        Ok(measured)
    }
}

/// What all runs of a plan found.
#[derive(Debug)]
pub struct Results<'a> {
    /// The plan.
    pub plan: &'a Plan,
    paper: &'a Paper,
    measured: Vec<Result<Measured, String>>,
}

impl<'a> Results<'a> {
    /// What the runs of `plan` found, in their order, for findings about `paper`.
    pub fn new(plan: &'a Plan, paper: &'a Paper, measured: Vec<Result<Measured, String>>) -> Self {
        Self { plan, paper, measured }
    }

    /// What the paper has at a place in a row and a column.
    pub fn published(&self, place: &str, row: &str, column: &str) -> Option<f64> {
        self.paper.value(place, row, column)
    }

    /// What a run found.
    ///
    /// # Errors
    /// Why it found nothing.
    pub fn of(&self, run: RunId) -> Result<&Measured, String> {
        match self.measured.get(run.0) {
            Some(Ok(measured)) => Ok(measured),
            Some(Err(error)) => Err(format!("{}: {error}", self.plan.of(run).policy)),
            None => Err("the run was not done".to_owned()),
        }
    }

    /// The mean CCT of a run in seconds.
    ///
    /// # Errors
    /// See [`of`](Self::of).
    pub fn mean(&self, run: RunId) -> Result<f64, String> {
        Ok(numbers::mean(&self.of(run)?.ccts_s))
    }

    /// How many times larger the mean CCT is under `base` than under `run`.
    ///
    /// # Errors
    /// See [`of`](Self::of).
    pub fn gain(&self, base: RunId, run: RunId) -> Result<f64, String> {
        Ok(self.mean(base)? / self.mean(run)?)
    }

    /// The same coflow by coflow, in the order of the workload.
    ///
    /// # Errors
    /// See [`of`](Self::of).
    pub fn ratios(&self, base: RunId, run: RunId) -> Result<Vec<f64>, String> {
        let ratio = |(base, run): (&f64, &f64)| if base == run { 1.0 } else { base / run };
        let (base, run) = (&self.of(base)?.ccts_s, &self.of(run)?.ccts_s);
        Ok(base.iter().zip(run).map(ratio).collect())
    }
}
