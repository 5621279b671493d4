//! The same policies on several traces, which differ by their seed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::certainty::{Certainty, Interval, Over, geometric_mean};
use crate::stats::mean;
use crate::table::{INTERVAL, Table, column};
use crate::text::wrapped;
use crate::units::decimals;
use crate::{Comparison, Error, Speedup, Summary};

/// Comparisons of the same policies with the same baseline, one for each seed.
///
/// `Serialize` gives the object of `compare --seeds --json`, `Display` the table for a terminal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Kept")]
pub struct OverSeeds {
    /// Name of the baseline's policy.
    #[serde(rename = "baseline")]
    baseline_policy: String,
    /// Its place among the policies.
    #[serde(skip)]
    baseline: usize,
    baseline_label: String,
    trace: String,
    runs: Vec<Seeded>,
    speedups: Vec<SeedsSpeedup>,
    certainty: Certainty,
}

/// What kept comparisons are made from again.
#[derive(Deserialize)]
struct Kept {
    baseline_label: String,
    trace: String,
    runs: Vec<Seeded>,
}

/// What a comparison found with one seed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Seeded {
    seed: u64,
    results: Vec<Summary>,
    speedups: Vec<Speedup>,
}

/// The speed-up of a policy over the baseline, over all seeds. Above 1 the policy is faster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeedsSpeedup {
    /// Name of the policy.
    pub policy: String,
    /// The policy as the user typed it.
    pub label: String,
    /// The mean of the seeds' mean CCTs, in seconds.
    pub mean_cct_s: f64,
    /// The geometric mean of the seeds' speed-ups of the mean CCT.
    pub mean_of_means: f64,
    /// The interval of `mean_of_means`; none for the baseline and for one seed.
    pub interval: Option<Interval>,
    /// The geometric mean of the seeds' medians of the speed-ups of single coflows.
    pub p50: f64,
}

/// Comparisons of the same policies with the same baseline, while they are made.
#[derive(Debug, Clone)]
pub struct Seeds {
    trace: String,
    baseline: usize,
    runs: Vec<Seeded>,
}

impl Seeds {
    /// None yet, on the trace of this name.
    pub fn on(trace: String) -> Seeds {
        Seeds { trace, baseline: 0, runs: Vec::new() }
    }

    /// Adds what a comparison found with a seed.
    pub fn add(&mut self, seed: u64, comparison: &Comparison) {
        self.baseline = comparison.baseline();
        let results = comparison.summaries().to_vec();
        self.runs.push(Seeded { seed, results, speedups: comparison.speedups().to_vec() });
    }

    /// The result over all seeds added.
    ///
    /// # Errors
    /// [`Error::NoRuns`] without comparisons.
    pub fn finish(self) -> Result<OverSeeds, Error> {
        OverSeeds::of(self)
    }
}

impl OverSeeds {
    fn of(Seeds { trace, baseline, runs }: Seeds) -> Result<OverSeeds, Error> {
        let first = runs.first().ok_or(Error::NoRuns)?;
        let each = |of: &dyn Fn(&Seeded) -> f64| -> Vec<f64> { runs.iter().map(of).collect() };
        let interval = |base: usize, own: usize| {
            let mean_s = |run: &Seeded, place: usize| run.results[place].cct_s.mean;
            Interval::of_speedups(&each(&|run| mean_s(run, base) / mean_s(run, own)))
        };
        let speedups = first.results.iter().enumerate().map(|(place, summary)| SeedsSpeedup {
            policy: summary.policy.clone(),
            label: summary.label.clone(),
            mean_cct_s: mean(&each(&|run| run.results[place].cct_s.mean)),
            mean_of_means: geometric_mean(&each(&|run| run.speedups[place].mean_of_means)),
            interval: interval(baseline, place).filter(|_| place != baseline),
            p50: geometric_mean(&each(&|run| run.speedups[place].p50)),
        });
        let speedups: Vec<SeedsSpeedup> = speedups.collect();
        let labels: Vec<&str> = speedups.iter().map(|it| it.label.as_str()).collect();
        let means_s: Vec<f64> = (0..labels.len())
            .map(|place| geometric_mean(&each(&|run| run.results[place].cct_s.mean)))
            .collect();
        let certainty = Certainty::of((Over::Seeds, runs.len()), &labels, &means_s, interval);
        let base = &speedups[baseline];
        let (baseline_policy, baseline_label) = (base.policy.clone(), base.label.clone());
        Ok(OverSeeds {
            baseline_policy,
            baseline,
            baseline_label,
            trace,
            runs,
            speedups,
            certainty,
        })
    }

    /// The speed-up of each policy.
    pub fn speedups(&self) -> &[SeedsSpeedup] {
        &self.speedups
    }

    /// Which differences are certain.
    pub fn certainty(&self) -> &Certainty {
        &self.certainty
    }

    /// The name of the trace, without the seed.
    pub fn trace(&self) -> &str {
        &self.trace
    }

    /// The place of the baseline.
    pub fn baseline(&self) -> usize {
        self.baseline
    }

    /// The seeds.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().map(|run| run.seed)
    }

    /// The seeds in words.
    pub(crate) fn range(&self) -> String {
        let [first, last] = [self.runs.first(), self.runs.last()];
        let seed = |run: Option<&Seeded>| run.map_or(0, |run| run.seed);
        format!("seeds {} to {}", seed(first), seed(last))
    }

    /// The speed-up of the mean CCT of a policy, by its place, with each seed.
    pub fn by_seed(&self, place: usize) -> impl Iterator<Item = f64> + '_ {
        self.runs.iter().map(move |run| run.speedups[place].mean_of_means)
    }

    pub(crate) fn table(&self) -> Table {
        let means_s = |place: usize| self.runs.iter().map(move |run| run.results[place].cct_s.mean);
        let times = |heading, of: &dyn Fn(usize) -> f64| {
            let values: Vec<f64> = (0..self.speedups.len()).map(of).collect();
            let decimals = decimals(values.iter().copied());
            column(heading, values, decimals)
        };
        let interval = |it: &SeedsSpeedup| it.interval.map_or("-".to_owned(), |it| it.to_string());
        let mut columns = vec![
            times(["mean", "CCT, s"], &|place| self.speedups[place].mean_cct_s),
            times(["least", "of a seed"], &|place| means_s(place).fold(f64::INFINITY, f64::min)),
            times(["most", "of a seed"], &|place| means_s(place).fold(0.0, f64::max)),
            column(["speed-up", "of mean"], self.speedups.iter().map(|it| it.mean_of_means), 2),
            column(INTERVAL, [], 0),
            column(["speed-up", "median"], self.speedups.iter().map(|it| it.p50), 2),
        ];
        columns[4].cells = self.speedups.iter().map(interval).collect();
        let over_bound = |place: usize| {
            let each = self.runs.iter().map(|run| run.results[place].mean_over_bound());
            each.collect::<Option<Vec<f64>>>().map(|each| mean(&each))
        };
        let over_bound: Vec<Option<f64>> = (0..self.speedups.len()).map(over_bound).collect();
        if over_bound.iter().any(Option::is_some) {
            let values = over_bound.into_iter().map(|value| value.unwrap_or(f64::NAN));
            columns.push(column(["mean", "/ bound"], values, 3));
        }
        Table { columns, labels: self.speedups.iter().map(|it| it.label.clone()).collect() }
    }
}

impl TryFrom<Kept> for OverSeeds {
    type Error = String;

    fn try_from(Kept { baseline_label, trace, runs }: Kept) -> Result<Self, String> {
        let first = runs.first().ok_or("runs: expected at least one, found none")?;
        let labels = |run: &Seeded| -> Vec<String> {
            run.results.iter().map(|result| result.label.clone()).collect()
        };
        let expected = labels(first);
        for run in &runs {
            let of_speedups = run.speedups.iter().map(|speedup| &speedup.label);
            if labels(run) != expected || !of_speedups.eq(&expected) {
                let seed = run.seed;
                return Err(format!("runs: seed {seed}: expected the policies of the first seed"));
            }
        }
        let baseline = expected.iter().position(|label| *label == baseline_label);
        let baseline = baseline.ok_or_else(|| {
            format!("baseline_label: expected a label of the results, found '{baseline_label}'")
        })?;
        Seeds { trace, baseline, runs }.finish().map_err(|error| error.to_string())
    }
}

impl fmt::Display for OverSeeds {
    /// The table of `compare --seeds`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table().write(out)?;
        let over = format!(
            "Speed-ups over {}: geometric means over the {} of {}.",
            self.baseline_label,
            self.range(),
            self.trace
        );
        writeln!(out, "\n{}", wrapped(&over))?;
        writeln!(out, "{}", wrapped(&self.certainty.to_string()))
    }
}
