//! The plan of a reproduction: workloads and runs, each listed once however many findings use it.

use std::borrow::Cow;

use covey_core::Observed;
use covey_emulate::{Emulation, Simulator as Emulated};
use covey_report::Live;
use covey_sim::{Observer, SimError, Simulator};
use covey_topology::Network;
use covey_trace::{Availability, Workload};

use crate::learning::{self, Learned, Recording};
use crate::numbers;
use crate::published::Paper;
use crate::spark::SparkRuns;

/// Identifies a workload of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(usize);

/// Identifies a run of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId(usize);

/// Where a policy runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Platform {
    /// In the exact simulator.
    Exact {
        /// The network, in a form that [`Network::open`] reads.
        fabric: String,
        /// Speed of each port in bits per second.
        port_rate_bps: f64,
        /// The share of each port's processor that is available for compression, over time.
        cpu: Availability,
        /// Whether a coflow waits until its parents have ended.
        barrier: bool,
    },
    /// In an emulation of another simulator.
    Emulated(Emulated),
    /// On a live coordinator with simulated hosts.
    Live(LiveRun),
    /// On a testbed: real flows between emulated hosts.
    Testbed(TestbedRun),
}

/// How a workload is replayed against a live coordinator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveRun {
    /// The scheduling interval δ in seconds. CPU time is measured per interval, and agents report
    /// once per interval.
    pub interval_s: f64,
    /// Whether agents report bytes sent in every interval, even if the policy does not need these
    /// reports.
    pub reports_always: bool,
}

/// How a workload is replayed on emulated hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestbedRun {
    /// `Some(n)`: the workload is folded and scaled to fit the hosts, and only every `n`-th coflow
    /// is replayed. `None`: the workload is replayed unchanged.
    pub fold: Option<usize>,
    /// Compressed size over original size of the flows' data; 1 for incompressible data.
    pub ratio: f64,
    /// The hosts and their links.
    pub network: TestbedNetwork,
}

/// The emulated network of a testbed run. Links have 100 Mbit/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestbedNetwork {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of strict queues at links' ends; `None`: one for each class selector, and plain
    /// traffic last.
    pub switch_queues: Option<u32>,
    /// Share of each link that background traffic takes, from each host to the next.
    pub background: f64,
}

impl Default for TestbedNetwork {
    fn default() -> Self {
        Self { hosts: 16, switch_queues: None, background: 0.0 }
    }
}

impl Platform {
    /// The exact simulator of a big switch, with ports of 1 Gbps and whole processors for
    /// compression.
    pub fn exact() -> Self {
        Self::at(1e9)
    }

    /// The exact simulator of a big switch, with ports of another speed.
    pub fn at(port_rate_bps: f64) -> Self {
        Self::on(BIG_SWITCH, port_rate_bps)
    }

    /// The exact simulator of another network, with ports of this speed.
    pub fn on(fabric: &str, port_rate_bps: f64) -> Self {
        let (fabric, cpu) = (fabric.to_owned(), Availability::default());
        Self::Exact { fabric, port_rate_bps, cpu, barrier: true }
    }
}

/// The network in which only ports limit rates.
pub const BIG_SWITCH: &str = "big-switch";

/// The name of a testbed run in which no policy schedules the flows.
pub const TCP: &str = "tcp";

/// A policy on a workload and a platform.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The workload.
    pub trace: TraceId,
    /// Where the policy runs.
    pub platform: Platform,
    /// The policy as written on the command line; on a testbed also [`TCP`].
    pub policy: String,
    /// What the run records besides CCTs.
    pub recording: Recording,
}

/// A workload with its name.
#[derive(Debug)]
struct Trace {
    name: String,
    workload: Workload,
    /// How its flows appear to policies that do not see coflows, in the order of the trace; empty
    /// if only hosts and starts are known.
    appearing: Vec<Observed>,
    /// Whether the workload is the paper's trace, or derived from it as the paper describes.
    is_papers_trace: bool,
    /// Whether it is the same whatever trace is given.
    is_own: bool,
}

/// Workloads and the runs on them.
#[derive(Debug, Default)]
pub struct Plan {
    traces: Vec<Trace>,
    runs: Vec<Run>,
    codecs: Vec<HostCodec>,
    spark: Option<SparkRuns>,
}

/// How fast and how small a codec is on this machine, as an agent measures it.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCodec {
    /// Covey's name of the codec.
    pub name: String,
    /// Raw bytes per second that a whole processor compresses.
    pub speed: f64,
    /// Compressed bytes for each raw byte.
    pub ratio: f64,
}

/// The result of a run.
#[derive(Debug, Clone, Default)]
pub struct RunResult {
    /// CCTs in seconds, in the order of the workload.
    pub ccts_s: Vec<f64>,
    /// The end of each coflow in seconds since the start of the trace, in the order of the
    /// workload; empty for live runs and on a testbed.
    pub ends_s: Vec<f64>,
    /// FCTs in seconds, in the order of the workload; empty unless [`Recording::FlowTimes`].
    pub fcts_s: Vec<f64>,
    /// The end of each flow in seconds since the start of the trace; empty unless
    /// [`Recording::FlowTimes`].
    pub flow_ends_s: Vec<f64>,
    /// What the policy learnt about each coflow; empty unless the run records it.
    pub learned: Vec<Option<Learned>>,
    /// Bytes that were not sent thanks to compression.
    pub saved_bytes: f64,
    /// The policy's parameters, defaults included.
    pub params: Vec<(String, String)>,
    /// The measurements of a live run, which leaves all other fields empty.
    pub live: Option<Live>,
    /// Bytes on all links, including headers and control messages, if they were counted.
    pub wire_bytes: Option<f64>,
}

impl Plan {
    /// Sets what was measured of the codecs on this machine.
    pub(crate) fn set_codecs(&mut self, codecs: Vec<HostCodec>) {
        self.codecs = codecs;
    }

    /// What was measured of a codec on this machine, if it was.
    pub fn codec(&self, name: &str) -> Option<&HostCodec> {
        self.codecs.iter().find(|codec| codec.name == name)
    }

    /// Sets what was measured on a cluster of Spark.
    pub(crate) fn set_spark(&mut self, runs: SparkRuns) {
        self.spark = Some(runs);
    }

    /// What was measured on a cluster of Spark, if anything was.
    pub fn spark(&self) -> Option<&SparkRuns> {
        self.spark.as_ref()
    }

    /// Adds a workload. Results on it are compared with published values if `is_papers_trace`.
    pub fn add(&mut self, name: &str, workload: Workload, is_papers_trace: bool) -> TraceId {
        let (name, appearing) = (name.to_owned(), Vec::new());
        self.traces.push(Trace { name, workload, appearing, is_papers_trace, is_own: false });
        TraceId(self.traces.len() - 1)
    }

    /// Adds a workload that the paper itself defines, independent of the given trace. Returns the
    /// existing workload of that name if the plan has one.
    pub fn defined_by_paper(&mut self, name: &str, workload: Workload) -> TraceId {
        let existing = self.traces.iter().position(|trace| trace.name == name);
        let id = existing.map_or_else(|| self.add(name, workload, true), TraceId);
        self.traces[id.0].is_own = true;
        id
    }

    /// Adds a workload that `make` derives from `of`. Returns the existing workload of that name if
    /// the plan has one. Results are comparable if those on `of` are.
    ///
    /// # Errors
    /// The error of `make`.
    pub fn derived<E>(
        &mut self,
        name: &str,
        of: TraceId,
        make: impl FnOnce(&Workload) -> Result<Workload, E>,
    ) -> Result<TraceId, E> {
        if let Some(existing) = self.traces.iter().position(|trace| trace.name == name) {
            return Ok(TraceId(existing));
        }
        let workload = make(self.workload(of))?;
        let Trace { is_papers_trace, is_own, .. } = self.traces[of.0];
        let id = self.add(name, workload, is_papers_trace);
        self.traces[id.0].is_own = is_own;
        Ok(id)
    }

    /// As [`derived`](Self::derived), for a workload of which it matters how its flows appear. No
    /// paper says how its flows appeared: the reasons for differences name that.
    ///
    /// # Errors
    /// The error of `make`.
    pub fn appearing<E>(
        &mut self,
        name: &str,
        of: TraceId,
        make: impl FnOnce(&Workload) -> Result<(Workload, Vec<Observed>), E>,
    ) -> Result<TraceId, E> {
        if let Some(existing) = self.traces.iter().position(|trace| trace.name == name) {
            return Ok(TraceId(existing));
        }
        let (workload, appearing) = make(self.workload(of))?;
        let Trace { is_papers_trace, is_own, .. } = self.traces[of.0];
        let name = name.to_owned();
        self.traces.push(Trace { name, workload, appearing, is_papers_trace, is_own });
        Ok(TraceId(self.traces.len() - 1))
    }

    /// How the flows of a workload appear, in the order of the trace; empty if only hosts and
    /// starts are known.
    pub fn observed(&self, trace: TraceId) -> &[Observed] {
        &self.traces[trace.0].appearing
    }

    /// Adds a run, or returns the equal run that the plan already has.
    pub fn run(&mut self, run: Run) -> RunId {
        let existing = self.runs.iter().position(|other| *other == run);
        RunId(existing.unwrap_or_else(|| {
            self.runs.push(run);
            self.runs.len() - 1
        }))
    }

    /// Adds a run that records CCTs only.
    pub fn run_on(&mut self, platform: Platform, trace: TraceId, policy: &str) -> RunId {
        let policy = policy.to_owned();
        self.run(Run { trace, platform, policy, recording: Recording::CctsOnly })
    }

    /// Adds a run in the exact simulator at 1 Gbps.
    pub fn exact(&mut self, trace: TraceId, policy: &str) -> RunId {
        self.run_on(Platform::exact(), trace, policy)
    }

    /// Adds a run in the exact simulator at 1 Gbps that records more than CCTs.
    pub fn exact_recording(&mut self, trace: TraceId, policy: &str, recording: Recording) -> RunId {
        let policy = policy.to_owned();
        self.run(Run { trace, platform: Platform::exact(), policy, recording })
    }

    /// Adds a run in the emulation of CoflowSim.
    pub fn coflowsim(&mut self, trace: TraceId, policy: &str) -> RunId {
        self.run_on(Platform::Emulated(Emulated::CoflowSim), trace, policy)
    }

    /// Adds a run in the emulation of the simulator of Philae's authors.
    pub fn authors(&mut self, trace: TraceId, policy: &str) -> RunId {
        let platform = Platform::Emulated(Emulated::PhilaeAuthors);
        self.run(Run {
            trace,
            platform,
            policy: policy.to_owned(),
            recording: Recording::SizeEstimates,
        })
    }

    /// Moves all runs in the exact simulator to another network. No result can be compared with
    /// published values then.
    pub fn move_to(&mut self, network: &str) {
        for run in &mut self.runs {
            if let Platform::Exact { fabric, .. } = &mut run.platform {
                network.clone_into(fabric);
            }
        }
        self.traces.iter_mut().for_each(|trace| trace.is_papers_trace = false);
    }

    /// The workload `trace`.
    pub fn workload(&self, trace: TraceId) -> &Workload {
        &self.traces[trace.0].workload
    }

    /// The name of the workload `trace`.
    pub fn name(&self, trace: TraceId) -> &str {
        &self.traces[trace.0].name
    }

    /// Whether the workload `trace` is the same whatever trace is given.
    pub fn is_own(&self, trace: TraceId) -> bool {
        self.traces[trace.0].is_own
    }

    /// Whether results on the workload `trace` can be compared with published values.
    pub fn is_papers_trace(&self, trace: TraceId) -> bool {
        self.traces[trace.0].is_papers_trace
    }

    /// All runs, in the order in which they were added.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = RunId> + use<> {
        (0..self.runs.len()).map(RunId)
    }

    /// The run `run`.
    pub fn get(&self, run: RunId) -> &Run {
        &self.runs[run.0]
    }

    /// Number of coflows of a run.
    pub fn coflows(&self, run: RunId) -> usize {
        self.workload(self.get(run).trace).coflows.len()
    }

    /// Simulates a run. `observer` follows runs in the exact simulator only.
    ///
    /// # Errors
    /// One line that says what is wrong with the policy, or why the simulator cannot take the
    /// workload.
    pub fn measure(&self, run: RunId, observer: &mut dyn Observer) -> Result<RunResult, String> {
        let run = self.get(run);
        let workload = self.workload(run.trace);
        let (outcome, learned, params) = match &run.platform {
            Platform::Exact { fabric, port_rate_bps, cpu, barrier } => {
                let network = Network::open(fabric, workload.ports, port_rate_bps / 8.0);
                let network = network.map_err(|error| error.to_string())?;
                let workload = match network.has_inner_links() {
                    true => Cow::Owned(network.place(workload.clone()).0),
                    false => Cow::Borrowed(workload),
                };
                let workload = workload.as_ref();
                let fabric = network.fabric().clone();
                let built = covey_sched::build(&run.policy).map_err(|error| error.to_string())?;
                let (mut policy, learned) =
                    learning::with_recording(built.policy, run.recording, workload);
                let mut simulator =
                    Simulator::new(fabric).barrier(*barrier).with_processors(cpu.clone());
                if !self.observed(run.trace).is_empty() {
                    simulator = simulator.with_appearance(self.observed(run.trace).to_vec());
                }
                let outcome = simulator.run(workload, &run.policy, &mut policy, observer);
                let outcome = outcome.map_err(|error: SimError| error.to_string())?;
                (outcome, learned.take(), built.params)
            }
            Platform::Emulated(simulator) => {
                let emulation = Emulation::new(*simulator, &run.policy);
                let emulation = emulation.map_err(|error| error.to_string())?;
                let (outcome, estimates) =
                    emulation.run_with_estimates(workload).map_err(|error| error.to_string())?;
                let learned = estimates.into_iter().map(|e| e.map(Learned::from)).collect();
                (outcome, learned, emulation.params().to_vec())
            }
            Platform::Live(_) => return Err("this run needs a live coordinator".to_owned()),
            Platform::Testbed(_) => return Err("this run needs a testbed".to_owned()),
        };
        let mut result = RunResult {
            ccts_s: outcome.coflows.iter().map(|coflow| coflow.cct_s()).collect(),
            ends_s: outcome.coflows.iter().map(|coflow| coflow.completion_s).collect(),
            learned,
            saved_bytes: outcome.compression.iter().map(|c| c.saved_bytes).sum(),
            params,
            ..RunResult::default()
        };
        if run.recording == Recording::FlowTimes {
            let ends = &outcome.flow_completion_s;
            result.fcts_s = ends.iter().zip(&outcome.flow_start_s).map(|(e, s)| e - s).collect();
            result.flow_ends_s = outcome.flow_completion_s;
        }
        Ok(result)
    }
}

/// The results of all runs of a plan.
#[derive(Debug)]
pub struct Results<'a> {
    /// The plan.
    pub plan: &'a Plan,
    paper: &'a Paper,
    run_results: Vec<Result<RunResult, String>>,
}

impl<'a> Results<'a> {
    /// The results of the runs of `plan`, in their order, for findings about `paper`.
    pub fn new(
        plan: &'a Plan,
        paper: &'a Paper,
        run_results: Vec<Result<RunResult, String>>,
    ) -> Self {
        Self { plan, paper, run_results }
    }

    /// The value that the paper published at `place` in a row and a column.
    pub fn published(&self, place: &str, row: &str, column: &str) -> Option<f64> {
        self.paper.value(place, row, column)
    }

    /// The result of a run.
    ///
    /// # Errors
    /// Why the run failed.
    pub fn get(&self, run: RunId) -> Result<&RunResult, String> {
        match self.run_results.get(run.0) {
            Some(Ok(result)) => Ok(result),
            Some(Err(error)) => Err(format!("{}: {error}", self.plan.get(run).policy)),
            None => Err("the run was not executed".to_owned()),
        }
    }

    /// The mean CCT of a run in seconds.
    ///
    /// # Errors
    /// Why a run failed.
    pub fn mean(&self, run: RunId) -> Result<f64, String> {
        Ok(numbers::mean(&self.get(run)?.ccts_s))
    }

    /// The mean CCT under `base` divided by that under `run`.
    ///
    /// # Errors
    /// Why a run failed.
    pub fn gain(&self, base: RunId, run: RunId) -> Result<f64, String> {
        Ok(self.mean(base)? / self.mean(run)?)
    }

    /// The CCT under `base` divided by that under `run`, for each coflow in the order of the
    /// workload.
    ///
    /// # Errors
    /// Why a run failed.
    pub fn ratios(&self, base: RunId, run: RunId) -> Result<Vec<f64>, String> {
        let ratio = |(base, run): (&f64, &f64)| if base == run { 1.0 } else { base / run };
        let (base, run) = (&self.get(base)?.ccts_s, &self.get(run)?.ccts_s);
        Ok(base.iter().zip(run).map(ratio).collect())
    }
}
