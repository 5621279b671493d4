//! `covey explain`: how completion times came about, and what ports carry at a time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Args;
use covey_core::suggest::{did_you_mean, nearest};
use covey_experiment::{Experiment, Scene, Setup};
use covey_report::{Explained, Explanations, Moment, write_json};
use covey_sim::Timeline;
use covey_trace::Workload;
use covey_trace::results::Outcome;

use crate::experiment::Arguments;
use crate::failure::Failure;
use crate::output;
use crate::progress::Bar;
use crate::quantity;
use crate::simulate::only;

/// The times that `--at` may be.
const AT: [&str; 2] = ["0s", "1000000h"];

/// The number of coflows that are explained if none is named.
const SLOWEST: usize = 3;

/// Explain how completion times came about
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey explain builtin:fb-like
  covey explain trace.txt --policy aalo --coflow 17
  covey explain trace.txt --policy covey --slowest 10 --compare fair
  covey explain trace.txt --policy sebf --coflow 17 --json
  covey explain trace.txt --coflow 17 --picture why.svg
  covey explain trace.txt --policy aalo --at 300s
  covey explain --live 17 --coordinator 10.0.0.1:7420 --credentials covey-client
The parts of a completion time add up to it. docs/command-line.md says what each means.")]
pub struct Explain {
    /// The policy, with parameters that differ from their defaults
    #[arg(long, value_name = "NAME[:key=value,…]", default_value = "covey")]
    policy: String,
    /// The id of a coflow to explain; may be given several times [default: the slowest ones]
    #[arg(long, value_name = "ID", conflicts_with = "slowest")]
    coflow: Vec<String>,
    /// Explain the coflows with the longest completion times, this many [default: 3]
    #[arg(long, value_name = "N")]
    slowest: Option<usize>,
    /// Another policy, under which the same coflows are explained
    #[arg(long, value_name = "NAME[:key=value,…]")]
    compare: Option<String>,
    /// Instead of coflows: say which ports were full at this time of the trace, and by whom
    #[arg(long, value_name = "TIME", conflicts_with_all = ["coflow", "slowest", "compare", "picture"])]
    at: Option<String>,
    #[command(flatten)]
    setup: Arguments,
    #[cfg(feature = "live")]
    #[command(flatten)]
    live: crate::live::Live,
    /// Print JSON instead of text: an object, or a list of them if there are several explanations
    #[arg(long)]
    json: bool,
    /// Write a picture with a bar for each explanation
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,
}

impl Explain {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        #[cfg(feature = "live")]
        if let Some(id) = self.live.id {
            return print(&self.live.explain(id)?, self.json);
        }
        let setup = self.setup.setup();
        let mut specs = vec![only(&self.policy)?];
        if let Some(other) = &self.compare {
            specs.push(only(other).map_err(|_| {
                let found = format!("'{other}'");
                Failure::argument("--compare", "one policy", found)
            })?);
        }
        for spec in &specs {
            setup.contender(spec)?;
        }
        let at_s = self.at.as_ref().map(|at| quantity::time_within("--at", at, AT)).transpose()?;
        if self.slowest == Some(0) {
            return Err(Failure::argument("--slowest", "at least 1", "0"));
        }
        if let Some(file) = &self.picture {
            output::check_format("--picture", file, &["svg"])?;
            self.setup.check_apart([("--picture", file.as_path())])?;
        }
        if setup.emulated.is_some() {
            let expected = "exact, which alone explains completion times";
            return Err(Failure::argument("--sim", expected, "another"));
        }
        let scene = self.setup.open()?;
        if let Some(at_s) = at_s {
            return self.moment(&setup, &scene, at_s);
        }
        if !scene.workload.is_static() {
            let expected = "a trace without events and attempts, whose flows keep their paths";
            return Err(Failure::argument("TRACE", expected, "some"));
        }
        let named = named(&self.coflow, &scene.workload)?;
        let explanations = self.explain(&setup, &scene, &specs, named)?;
        if let Some(file) = &self.picture {
            let picture = explanations.svg();
            output::write(file, |out| out.write_all(picture.as_bytes()))?;
        }
        print(&explanations, self.json)
    }

    /// What the ports carry at a time.
    fn moment(&self, setup: &Setup, scene: &Scene, at_s: f64) -> Result<(), Failure> {
        let timeline = Arc::new(Mutex::new(Timeline::at_both_ends()));
        let contender = setup.contender(&self.policy)?;
        let contender = contender.watched_by(Box::new(Arc::clone(&timeline)));
        for run in self.setup.run(scene, vec![contender], false, 1)? {
            let timeline = timeline.lock().map(|mut it| std::mem::take(&mut *it));
            let spans = timeline.unwrap_or_default().into_spans();
            let moment = Moment::of(&run, scene.network.fabric(), &spans, at_s);
            output::print(|out| {
                if self.json { write_json(&moment, out) } else { write!(out, "{moment}") }
            })?;
        }
        Ok(())
    }

    fn explain(
        &self,
        setup: &Setup,
        scene: &Scene,
        specs: &[String],
        named: Vec<u32>,
    ) -> Result<Explanations, Failure> {
        let source = setup.seeded_source(&self.setup.source()?);
        let Scene { network, workload, appearing } = scene;
        let experiment = Experiment::on(network.clone(), workload, source.name(), setup)?;
        let experiment = experiment.appearing(appearing.as_deref());
        let all = specs.iter().map(|spec| setup.contender(spec)).collect::<Result<Vec<_>, _>>()?;
        for line in setup.without_effect(self.setup.first(), workload, &all) {
            output::note(&line);
        }
        let bar = Bar::policies(2 * specs.len(), workload.coflows.len());
        let mut chosen = named;
        let mut by_policy = Vec::new();
        for spec in specs {
            let twice = [setup.contender(spec)?, setup.contender(spec)?];
            let choose = |outcome: &Outcome| {
                if chosen.is_empty() {
                    chosen = outcome.slowest(self.slowest.unwrap_or(SLOWEST));
                }
                chosen.clone()
            };
            let (run, explanations) = experiment.explain(twice, choose, &bar)?;
            let fabric = network.fabric();
            let explained = explanations.iter().map(|it| Explained::of(&run, it, fabric));
            by_policy.push(explained.collect());
        }
        Ok(Explanations::new(by_policy))
    }
}

/// Indices of the coflows that `--coflow` names.
pub fn named(ids: &[String], workload: &Workload) -> Result<Vec<u32>, Failure> {
    let index = |id: &String| {
        let found = (0..).zip(&workload.coflows).find(|(_, coflow)| coflow.id == *id);
        found.map(|(index, _)| index).ok_or_else(|| {
            let known = workload.coflows.iter().map(|coflow| coflow.id.as_str());
            let expected = format!("the id of one of the {} coflows", workload.coflows.len());
            let found = format!("'{id}'{}", did_you_mean(nearest(id, known)));
            Failure::argument("--coflow", expected, found)
        })
    };
    ids.iter().map(index).collect()
}

fn print(explanations: &Explanations, json: bool) -> Result<(), Failure> {
    output::print(
        |out| {
            if json { write_json(explanations, out) } else { write!(out, "{explanations}") }
        },
    )
}
