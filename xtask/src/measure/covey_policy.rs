//! Policies on several workloads, and covey beside the clairvoyant sebf on more seeds. `covey
//! trace` makes the workloads from the trace. One simulation runs at a time.

use clap::Args;

use crate::Result;
use crate::input::Trace;
use crate::page::Output;
use crate::program::{Covey, progress};
use crate::results::Comparison;
use crate::scratch::Scratch;
use crate::table::{Table, code};

/// The policies. Aalo has no interval: the default takes longer, and its mean differs by less than
/// 1 %.
const POLICIES: &str =
    "covey,philae,aalo:queues=strict,delta=0,sincronia,sebf:share=matching-by-load";
/// Those of the second table.
const PAIR: &str = "covey,sebf:share=matching-by-load";

/// Measure covey beside others on many workloads
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    trace: Trace,
    #[command(flatten)]
    output: Output,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        self.output.report("docs/covey-policy.md", "covey-policy", || self.tables())
    }

    fn tables(&self) -> Result<String> {
        let bench = Bench { covey: Covey::find()?, trace: &self.trace.path };
        let mut workloads = Table::new(
            1,
            [
                "workload",
                "`covey`",
                "`philae`",
                "`aalo`",
                "`sincronia`",
                "`sebf`",
                "bound",
                "`covey` / `sebf`",
            ],
        );
        let mut row = |name: &str, means_s: Means| {
            let mut cells = vec![name.to_owned()];
            let values_s = means_s.policies.iter().chain([&means_s.bound]);
            cells.extend(values_s.map(|value_s| format!("{value_s:.2}")));
            cells.push(format!("{:.3}", means_s.ratio()));
            workloads.row(cells);
        };
        row(&code(self.trace.name()), bench.means(bench.trace, POLICIES)?);
        for (command, note) in [
            ("filter --min-width 8", ""),
            ("mantri", ""),
            ("skew --sigma 0.3 --seed 1", ""),
            ("skew --sigma 0.3 --seed 2", ""),
            ("skew --sigma 0.3 --seed 3", ""),
            ("skew --sigma 1 --seed 1", ""),
            ("skew --sigma 1 --seed 2", ""),
            ("skew --sigma 1 --seed 3", ""),
            ("burst", ""),
            ("scale --time 2", " (load × 0.5)"),
            ("scale --time 2/3", " (load × 1.5)"),
        ] {
            row(&format!("`{command}`{note}"), bench.derived(command, POLICIES)?);
        }
        for seed in 1..=5 {
            let trace = format!("builtin:fb-like:seed={seed}");
            row(&code(&trace), bench.means(&trace, POLICIES)?);
        }
        row("`replicate 6`", bench.derived("replicate 6", POLICIES)?);

        let mut seeds = Table::new(1, ["`covey` / `sebf`", "seeds", "mean", "largest"]);
        let mut row = |name: &str, means_s: Result<Vec<Means>>| -> Result {
            let ratios: Vec<f64> = means_s?.iter().map(Means::ratio).collect();
            let (count, largest) = (ratios.len(), ratios.iter().copied().fold(0.0, f64::max));
            let mean = ratios.iter().sum::<f64>() / count as f64;
            seeds.row([
                code(name),
                count.to_string(),
                format!("{mean:.3}"),
                format!("{largest:.3}"),
            ]);
            Ok(())
        };
        for (command, count) in [("mantri", 5), ("skew --sigma 1", 9)] {
            let of_seed = |seed| bench.derived(&format!("{command} --seed {seed}"), PAIR);
            row(command, (1..=count).map(of_seed).collect())?;
        }
        let of_seed = |seed| bench.means(&format!("builtin:fb-like:seed={seed}"), PAIR);
        row("builtin:fb-like", (1..=10).map(of_seed).collect())?;
        Ok(format!("{workloads}\n{seeds}"))
    }
}

/// Mean CCTs, in seconds.
struct Means {
    /// Of each policy. The first is covey, and the last is sebf.
    policies: Vec<f64>,
    bound: f64,
}

impl Means {
    /// The mean of covey, in that of sebf.
    fn ratio(&self) -> f64 {
        self.policies[0] / self.policies[self.policies.len() - 1]
    }
}

struct Bench<'a> {
    covey: Covey,
    trace: &'a str,
}

impl Bench<'_> {
    /// The means of policies on a trace.
    fn means(&self, trace: &str, policies: &str) -> Result<Means> {
        progress(trace);
        self.compare(trace, policies)
    }

    fn compare(&self, trace: &str, policies: &str) -> Result<Means> {
        let options = ["--policies", policies, "--baseline", "covey", "--jobs", "1", "--json"];
        let run = self.covey.run(["compare", trace].into_iter().chain(options))?;
        let results = run.json::<Comparison>()?.results;
        let bound = results.iter().find_map(|it| it.lower_bound_mean_cct_s).ok_or("no bound")?;
        Ok(Means { policies: results.iter().map(|it| it.cct_s.mean).collect(), bound })
    }

    /// The same on the output of `covey trace`, whose command and options `command` has.
    fn derived(&self, command: &str, policies: &str) -> Result<Means> {
        progress(command);
        let scratch = Scratch::new()?;
        let file = scratch.path("workload.jsonl")?;
        self.covey.transform(self.trace, command, &file)?;
        self.compare(&file, policies)
    }
}
