//! `covey simulate`: one policy in detail.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Args;
use covey_experiment::{NO_BOUND, cores};
use covey_report::{Summary, write_json, write_per_coflow_csv, write_per_flow_csv, write_perfetto};
use covey_sim::{Observer, Queues, Round, Timeline};

use crate::experiment::Arguments;
use crate::failure::Failure;
use crate::output;

/// Simulate one policy on a trace
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey simulate builtin:fb-like
  covey simulate trace.txt --policy aalo:queues=strict,delta=0 --port-rate 10gbps --bound
  covey simulate trace.txt --policy philae --json --per-coflow philae.csv
  covey simulate trace.txt --policy aalo --sim coflowsim
  covey simulate trace.txt --policy sebf --fabric fat-tree:k=8,oversub=4,place=rack
  covey simulate trace.txt --policy aalo --trace-out run.pftrace
  covey simulate trace.txt --policy coda --rung mixed --metric metric.json
`covey policies` lists the policies and their parameters.")]
pub struct Simulate {
    /// The policy, with parameters that differ from their defaults
    #[arg(long, value_name = "NAME[:key=value,…]", default_value = "covey")]
    policy: String,
    #[command(flatten)]
    setup: Arguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write a CSV file with a line for each coflow
    #[arg(long, value_name = "FILE.csv")]
    per_coflow: Option<PathBuf>,
    /// Write a CSV file with a line for each flow
    #[arg(long, value_name = "FILE.csv")]
    per_flow: Option<PathBuf>,
    /// Write what happens when as a trace for Perfetto's viewer, ui.perfetto.dev
    #[arg(long, value_name = "FILE.pftrace")]
    trace_out: Option<PathBuf>,
    /// Also compute a mean completion time that no schedule can beat
    #[arg(long)]
    bound: bool,
}

impl Simulate {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let setup = self.setup.setup();
        let mut contender = setup.contender(&only(&self.policy)?)?;
        if self.bound && setup.emulated.is_some() {
            return Err(Failure::argument("--bound", "--sim exact with it", "another"));
        }
        if self.per_coflow.is_some() && self.per_coflow == self.per_flow {
            let expected = "a file other than that of --per-coflow";
            return Err(Failure::argument("--per-flow", expected, "the same"));
        }
        for (option, file) in [("--per-coflow", &self.per_coflow), ("--per-flow", &self.per_flow)] {
            let Some(file) = file else { continue };
            output::check_format(option, file, output::TABLE)?;
            self.setup.check_apart([(option, file.as_path())])?;
        }
        let recording = Arc::<Mutex<Recording>>::default();
        if let Some(file) = &self.trace_out {
            if setup.emulated.is_some() {
                return Err(Failure::argument("--trace-out", "--sim exact with it", "another"));
            }
            output::check_format("--trace-out", file, &["pftrace", "perfetto-trace", "pb"])?;
            self.setup.check_apart([("--trace-out", file.as_path())])?;
            contender = contender.watched_by(Box::new(Arc::clone(&recording)));
        }
        let scene = self.setup.open()?;
        if self.bound && !scene.workload.is_static() {
            return Err(Failure::argument("--bound", NO_BOUND[0], NO_BOUND[1]));
        }
        for run in self.setup.run(&scene, vec![contender], self.bound, cores())? {
            if let Some(file) = &self.per_coflow {
                output::write(file, |out| write_per_coflow_csv(&run, out))?;
            }
            if let Some(file) = &self.per_flow {
                output::write(file, |out| write_per_flow_csv(&run, out))?;
            }
            if let Some(file) = &self.trace_out {
                let recording = recording.lock().map(|mut it| std::mem::take(&mut *it));
                let Recording { timeline, queues } = recording.unwrap_or_default();
                let (spans, queues) = (timeline.into_spans(), queues.into_steps());
                let fabric = scene.network.fabric();
                output::write(file, |out| write_perfetto(&run, fabric, &spans, &queues, out))?;
            }
            let summary = Summary::of(&run);
            output::print(|out| {
                if self.json { write_json(&summary, out) } else { write!(out, "{summary}") }
            })?;
        }
        Ok(())
    }
}

/// What a trace for Perfetto shows.
#[derive(Debug, Default)]
struct Recording {
    timeline: Timeline,
    queues: Queues,
}

impl Observer for Recording {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        self.timeline.round(round)?;
        self.queues.round(round)
    }
}

/// The one policy of a list.
pub fn only(list: &str) -> Result<String, Failure> {
    match covey_sched::split_list(list).as_slice() {
        [one] => Ok(one.clone()),
        // The policy's own error says that parameters must not end with a comma.
        [one, more @ ..] if more.iter().all(String::is_empty) => Ok(format!("{one},")),
        _ => {
            let expected = "one policy (covey compare takes several)";
            Err(Failure::argument("--policy", expected, format!("'{list}'")))
        }
    }
}
