//! `covey compare`: several policies on the same trace.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use covey_experiment::{Contender, Recordings, Scene, Setup, baseline, cores};
use covey_report::{
    Comparison, OverSeeds, PublishedValue, Results, Run, Seeds, Timelines, differing, write_json,
};

use crate::comparison::{Outputs, print};
use crate::experiment::Arguments;
use crate::explain::named;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::{invocation, output};

/// More seeds say nothing new.
const MOST_SEEDS: u64 = 1000;

/// Compare policies on a trace
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey compare builtin:fb-like --report report.html
  covey compare trace.txt --policies sebf,aalo,aalo:queues=strict,delta=0 --baseline aalo
  covey compare trace.txt --policies fair,philae:thin=5 --json
  covey compare trace.txt --policies aalo,sebf --fabric leaf-spine:leaves=10,spines=2,hosts=15
  covey compare builtin:fb-like --report report.html --timelines
  covey compare trace.txt --figures figures --style page
  covey compare builtin:fb-like:coflows=100 --policies fair,covey,sebf --seeds 20
  covey compare trace.txt --policies fair,aalo --against published.csv
  covey compare trace.txt --results results.json
  covey compare trace.txt --policies fair,aalo,coda --rung mixed-denser --metric metric.json
In the list, key=value belongs to the policy before it. `covey policies` lists the policies and
their parameters.")]
pub struct Compare {
    /// The policies, each NAME[:key=value,…]
    #[arg(long, value_name = "LIST", default_value = "covey,fair,fifo,aalo,philae,sebf,sincronia")]
    policies: String,
    /// The baseline, one of the listed policies [default: fair if listed, else the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    #[command(flatten)]
    setup: Arguments,
    #[command(flatten)]
    outputs: Outputs,
    /// Also show in the page of --report who sends when at each port, and explain the slowest
    /// coflows, which simulates every policy again
    #[arg(long, requires = "report", conflicts_with = "seeds")]
    timelines: bool,
    /// Explain a coflow in the timelines, by its id; may be given several times
    #[arg(long, value_name = "ID", requires = "timelines")]
    coflow: Vec<String>,
    /// Set published values beside ours: a CSV file with the columns policy, metric (a number of
    /// --json, such as cct_s.mean or speedup.mean_of_means), value and tolerance (5% or 0.05). The
    /// exit status is 1 if any differs. A published value is of one trace, so not with --seeds
    #[arg(long, value_name = "FILE.csv", conflicts_with = "seeds")]
    against: Option<PathBuf>,
    /// Number of policies simulated at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Compare on this many traces, which differ by their seed: that of --seed, and those after it.
    /// The table then says how certain each difference is. Not with --against, --timelines,
    /// --per-coflow and --jct-shares, which are of one trace
    #[arg(long, value_name = "N", conflicts_with_all = ["per_coflow", "jct_shares"])]
    seeds: Option<u64>,
}

impl Compare {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let results = Results::of(invocation::command(), None);
        let results = run_all(std::slice::from_ref(&self), results)?;
        let json = self.outputs.shown.json;
        match (json, results.comparisons(), results.over_seeds()) {
            (true, [one], _) => output::print(|out| write_json(one, out))?,
            (true, _, [one]) => output::print(|out| write_json(one, out))?,
            _ => print(&results, json)?,
        }
        verdict(&results)
    }

    /// Whether names are taken out of all results.
    pub fn is_anonymous(&self) -> bool {
        self.setup.is_anonymous()
    }

    /// The runs, and their timelines if asked for.
    fn runs<'a>(
        &self,
        scene: &'a Scene,
        contenders: Vec<Contender>,
        jobs: usize,
    ) -> Result<(Vec<Run<'a>>, Option<Timelines>), Failure> {
        if !self.timelines {
            return Ok((self.setup.run(scene, contenders, true, jobs)?, None));
        }
        let named = named(&self.coflow, &scene.workload)?;
        let experiment = self.setup.experiment(scene)?;
        let bar = Bar::policies(2 * contenders.len(), scene.workload.coflows.len());
        let (contenders, recordings) = Recordings::of(contenders);
        let runs = self.setup.run_in(&experiment, contenders, true, jobs, &bar)?;
        let again = self.setup.setup().contenders(&self.policies)?;
        let timelines = recordings.timelines(&experiment, &runs, again, &named, jobs, &bar)?;
        Ok((runs, Some(timelines)))
    }

    /// The same comparison with each seed.
    fn over_seeds(
        &self,
        seeds: u64,
        contenders: &[Contender],
        baseline: usize,
        jobs: usize,
    ) -> Result<OverSeeds, Failure> {
        if !(2..=MOST_SEEDS).contains(&seeds) {
            let expected = format!("a number from 2 to {MOST_SEEDS}");
            return Err(Failure::argument("--seeds", expected, seeds.to_string()));
        }
        let unseeded = Setup { seed: None, ..self.setup.setup() };
        if !unseeded.uses_seed(self.setup.first(), contenders) {
            let expected =
                "a builtin trace that names no seed, a policy that draws at random, or a rung";
            let found = "a trace that is the same for every seed";
            return Err(Failure::argument("--seeds", expected, found));
        }
        let mut all = Seeds::on(self.setup.source()?.name());
        for seed in self.setup.seeds(seeds) {
            let setup = self.setup.seeded(seed);
            let scene = setup.open()?;
            let runs = setup.run(&scene, setup.setup().contenders(&self.policies)?, true, jobs)?;
            all.add(seed, &Comparison::new(&runs, baseline)?);
        }
        Ok(all.finish()?)
    }
}

/// Runs comparisons that differ by their trace only, adds them to `results`, and writes their
/// outputs.
pub fn run_all(all: &[Compare], mut results: Results) -> Result<Results, Failure> {
    let asked = &all[0];
    let contenders = || asked.setup.setup().contenders(&asked.policies);
    let first = contenders()?;
    let baseline = baseline(asked.baseline.as_deref(), &first)?;
    if asked.timelines && asked.setup.setup().emulated.is_some() {
        return Err(Failure::argument("--timelines", "--sim exact with it", "another"));
    }
    let labels: Vec<&str> = first.iter().map(|c| c.label.as_str()).collect();
    asked.outputs.check(&labels)?;
    let published = asked.against.as_deref().map(|file| read(file, &labels)).transpose()?;
    if let Some(without_file) = all.iter().find(|compare| compare.setup.is_missing()) {
        without_file.setup.open()?;
    }
    let jobs = asked.jobs.map_or_else(cores, NonZeroUsize::get);
    for compare in all {
        if let Some(seeds) = compare.seeds {
            results.add_over_seeds(compare.over_seeds(seeds, &first, baseline, jobs)?);
            continue;
        }
        let scene = compare.setup.open()?;
        let (runs, timelines) = compare.runs(&scene, contenders()?, jobs)?;
        let mut comparison = Comparison::new(&runs, baseline)?;
        if let Some(timelines) = timelines {
            comparison = comparison.with_timelines(timelines);
        }
        if let Some((values, name)) = &published {
            comparison = comparison.against(values.clone(), name)?;
        }
        results.add(asked.outputs.complete(comparison)?);
        asked.outputs.write_tables(&runs, all.len() > 1)?;
    }
    asked.outputs.write(&results)?;
    Ok(results)
}

/// An error if a published value differs.
pub fn verdict(results: &Results) -> Result<(), Failure> {
    match results.comparisons().iter().map(|it| differing(it.claims())).sum() {
        0_usize => Ok(()),
        1 => Err(Failure::Other("1 published value differs".to_owned())),
        many => Err(Failure::Other(format!("{many} published values differ"))),
    }
}

/// The published values of a file, and its name.
fn read(file: &Path, labels: &[&str]) -> Result<(Vec<PublishedValue>, String), Failure> {
    let name = file.display().to_string();
    let opened = File::open(file).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
    Ok((PublishedValue::read(opened, &name, labels)?, name))
}
