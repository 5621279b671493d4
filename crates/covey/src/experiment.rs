//! The arguments that choose workload, network and simulator.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum};
use covey_emulate::Simulator;
use covey_experiment::{Contender, Experiment, FABRIC, Scene, Setup};
use covey_report::Run;
use covey_trace::Source;

use crate::failure::Failure;
use crate::input::Input;
use crate::output;
use crate::progress::Bar;

/// Workload, network and simulator.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// The network, with the way in which ports of the trace become its hosts: big-switch (only
    /// ports limit rates), fat-tree:k=8,oversub=1,ecmp=flow,place=spread,
    /// leaf-spine:leaves=8,spines=4,hosts=16,uplink=10gbps, or file:TOPOLOGY; docs/fabrics.md
    /// has all parameters
    #[arg(long, value_name = "FABRIC", default_value = FABRIC)]
    fabric: String,
    /// Speed of each port in each direction: 1gbps, 100mbps, 128MiB/s [default: 1gbps, or that of
    /// the simulator that --sim emulates]
    #[arg(long, alias = "link-rate", value_name = "RATE")]
    port_rate: Option<String>,
    /// Share of each port's processor available for compressing: a number from 0 to 1, or a CSV
    /// file with the header port,from_s,share and a line for each change (* is all ports)
    #[arg(long, value_name = "SHARE|FILE", default_value = "1")]
    cpu: String,
    /// The simulator: exact calculates the time of every event; the others emulate the papers'
    /// simulators with their quirks
    #[arg(long, value_enum, ignore_case = true, default_value_t = Clock::Exact)]
    sim: Clock,
    /// Whether coflows wait for their parents to end. Without a barrier coflows are released at
    /// their arrival, and parents only affect their order (Aalo)
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    barrier: bool,
    /// Seed for policies with a parameter `seed` and for builtin traces, unless they set their own,
    /// and for --rung [default for --rung: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// A rung of the ladder of `covey trace records`. It changes when coflows arrive and flows
    /// start. It also gives flows the addresses and ports that policies without labels (coda) see;
    /// without a rung they see hosts and starts alone
    #[arg(long, value_name = "NAME")]
    rung: Option<String>,
    /// The metric by which coda compares flows, a file that `covey identify --train` wrote
    /// [default: one that needs no training]
    #[arg(long, value_name = "FILE")]
    metric: Option<PathBuf>,
    /// Divide every link among the tenants of the trace by these weights; each has an instance of
    /// the policy [default: tenants count for nothing]
    #[arg(long, value_name = "NAME=WEIGHT,…")]
    tenants: Option<String>,
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

impl Arguments {
    /// The setup of the experiment, without the trace.
    pub fn setup(&self) -> Setup {
        Setup {
            fabric: self.fabric.clone(),
            port_rate: self.port_rate.clone(),
            cpu: self.cpu.clone(),
            emulated: match self.sim {
                Clock::Exact => None,
                Clock::Coflowsim => Some(Simulator::CoflowSim),
                Clock::PhilaeAuthors => Some(Simulator::PhilaeAuthors),
            },
            barrier: self.barrier,
            seed: self.seed,
            rung: self.rung.clone(),
            metric: self.metric.clone(),
            tenants: self.tenants.clone(),
        }
    }

    /// The same with a seed.
    pub fn seeded(&self, seed: u64) -> Arguments {
        Arguments { seed: Some(seed), ..self.clone() }
    }

    /// The seeds of `count` runs, from that of the arguments on.
    pub fn seeds(&self, count: u64) -> std::ops::Range<u64> {
        let first = self.seed.unwrap_or(1);
        first..first.saturating_add(count)
    }

    /// What is read.
    pub fn source(&self) -> Result<Source, Failure> {
        self.input.source()
    }

    /// Whether names are taken out of all results.
    pub fn is_anonymous(&self) -> bool {
        self.input.is_anonymous()
    }

    /// Whether a file to read is not there.
    pub fn is_missing(&self) -> bool {
        self.input.is_missing()
    }

    /// The first file that is read.
    pub fn first(&self) -> &str {
        self.input.first()
    }

    /// Refuses an output that is the trace itself, with the option that names it.
    pub fn check_apart<'a>(
        &self,
        outputs: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> Result<(), Failure> {
        outputs.into_iter().try_for_each(|(option, file)| self.input.check_apart(option, file))
    }

    /// Makes the network, and reads the workload with the network's hosts as its ports. Says on
    /// standard error if several ports of the trace share a host.
    pub fn open(&self) -> Result<Scene, Failure> {
        Ok(self.setup().open(&self.input.source()?, output::note)?)
    }

    /// Simulates every policy on the scene, `jobs` at a time, with a progress bar.
    pub fn run<'a>(
        &self,
        scene: &'a Scene,
        contenders: Vec<Contender>,
        bounded: bool,
        jobs: usize,
    ) -> Result<Vec<Run<'a>>, Failure> {
        let experiment = self.experiment(scene)?;
        let bar = Bar::policies(contenders.len(), scene.workload.coflows.len());
        self.run_in(&experiment, contenders, bounded, jobs, &bar)
    }

    /// The experiment on the scene.
    pub fn experiment<'a>(&self, scene: &'a Scene) -> Result<Experiment<'a>, Failure> {
        let setup = self.setup();
        let name = setup.seeded_source(&self.input.source()?).name();
        let Scene { network, workload, appearing } = scene;
        let experiment = Experiment::on(network.clone(), workload, name, &setup)?;
        Ok(experiment.appearing(appearing.as_deref()))
    }

    /// Simulates every policy of an experiment, `jobs` at a time.
    pub fn run_in<'a>(
        &self,
        experiment: &Experiment<'a>,
        contenders: Vec<Contender>,
        bounded: bool,
        jobs: usize,
        bar: &Bar,
    ) -> Result<Vec<Run<'a>>, Failure> {
        let workload = experiment.workload();
        for line in self.setup().without_effect(self.input.first(), workload, &contenders) {
            output::note(&line);
        }
        let runs = experiment.run(contenders, bounded, jobs, bar)?;
        for run in runs.iter().filter(|run| run.outcome().left_uncompressed) {
            let label = &run.info().label;
            output::note(&format!(
                "{label}: nothing is compressed, because the trace has events or attempts"
            ));
        }
        Ok(runs)
    }
}
