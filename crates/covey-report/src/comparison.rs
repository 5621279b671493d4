//! The comparison of several policies on the same workload.

use crate::certainty::{Certainty, Interval, Over};
use crate::stats::{Distribution, mean, percentile, sorted};
use crate::{Claim, Error, Jobs, PublishedError, PublishedValue, Run, Summary, jcts_by_share_s};
use covey_trace::shuffle_shares;
use serde::Serialize;

/// Several runs on one workload, compared with one of them, the baseline.
///
/// `Serialize` gives the object of `compare --json`, `Display` the table for a terminal.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison<'a> {
    /// Name of the baseline's policy.
    #[serde(rename = "baseline")]
    baseline_policy: String,
    results: Vec<Summary>,
    speedups: Vec<Speedup>,
    baseline_label: String,
    certainty: Certainty,
    /// Seed of the shares of time in shuffle, if JCTs are calculated from shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    jct_shares: Option<u64>,
    /// Published values beside ours, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    against: Vec<Claim>,
    #[serde(skip)]
    runs: Vec<Run<'a>>,
    #[serde(skip)]
    baseline: usize,
}

/// The speed-up of a policy over the baseline. Above 1 the policy is faster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Speedup {
    /// Name of the policy.
    pub policy: String,
    /// Baseline's mean CCT divided by the policy's.
    pub mean_of_means: f64,
    /// Median of the [ratios](Comparison::ratios) of single coflows.
    pub p50: f64,
    /// 90th percentile of these ratios.
    pub p90: f64,
    /// The policy as the user typed it.
    pub label: String,
    /// The speed-up of job completion times, if the workload has jobs.
    pub jct: Option<JctSpeedup>,
    /// The interval of `mean_of_means`, over the coflows; none for the baseline and for fewer than
    /// two coflows.
    pub interval: Option<Interval>,
}

/// The speed-up of jobs over the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JctSpeedup {
    /// Baseline's mean JCT divided by the policy's.
    pub mean_of_means: f64,
    /// Median of the ratios of single jobs.
    pub p50: f64,
    /// 90th percentile of these ratios.
    pub p90: f64,
}

impl<'a> Comparison<'a> {
    /// Compares `runs` with the run at index `baseline`.
    ///
    /// # Errors
    ///
    /// [`Error::NoRuns`], [`Error::Baseline`] if `baseline` is out of range, or
    /// [`Error::WorkloadsDiffer`].
    pub fn new(runs: Vec<Run<'a>>, baseline: usize) -> Result<Self, Error> {
        let first = runs.first().ok_or(Error::NoRuns)?;
        let base =
            runs.get(baseline).ok_or(Error::Baseline { index: baseline, runs: runs.len() })?;
        for run in &runs {
            let (a, b) = (first.workload(), run.workload());
            if !std::ptr::eq(a, b) && a != b {
                let [first, label] = [first, run].map(|r| r.info().label.clone());
                return Err(Error::WorkloadsDiffer { first, label });
            }
        }
        let results: Vec<Summary> = runs.iter().map(Summary::of).collect();
        let jobs = Jobs::of(first.workload());
        let base_mean_s = results[baseline].cct_s.mean;
        let ccts_s: Vec<Vec<f64>> = runs.iter().map(|run| run.ccts_s().collect()).collect();
        let interval = |base: usize, run: usize| Interval::of_pairs(&ccts_s[base], &ccts_s[run]);
        let speedups = runs.iter().zip(&results).enumerate().map(|(place, (run, summary))| {
            let ratios = sorted(ratios(base, run));
            Speedup {
                policy: summary.policy.clone(),
                mean_of_means: ratio(base_mean_s, summary.cct_s.mean),
                p50: percentile(&ratios, 50.0),
                p90: percentile(&ratios, 90.0),
                label: summary.label.clone(),
                jct: jobs.as_ref().map(|jobs| JctSpeedup::of(&jobs.jcts_s(base), jobs.jcts_s(run))),
                interval: interval(baseline, place).filter(|_| place != baseline),
            }
        });
        let speedups = speedups.collect();
        let labels: Vec<&str> = results.iter().map(|it| it.label.as_str()).collect();
        let means_s: Vec<f64> = results.iter().map(|it| it.cct_s.mean).collect();
        let basis = (Over::Coflows, first.workload().coflows.len());
        let certainty = Certainty::of(basis, &labels, &means_s, interval);
        let info = base.info();
        let (baseline_policy, baseline_label) = (info.policy.clone(), info.label.clone());
        let jct_shares = None;
        Ok(Self {
            baseline_policy,
            results,
            speedups,
            baseline_label,
            certainty,
            jct_shares,
            against: Vec::new(),
            runs,
            baseline,
        })
    }

    /// Treats each coflow as the shuffle of a job that also computes. Each job spends a share of
    /// its time in shuffle under the baseline; `seed` draws these shares from the published ones.
    /// The JCTs of these jobs ([`jcts_by_share_s`]) replace those of jobs in the trace.
    #[must_use]
    pub fn with_jct_shares(mut self, seed: u64) -> Self {
        let base = &self.runs[self.baseline];
        let shares = shuffle_shares(base.workload().coflows.len(), seed);
        let base_s = jcts_by_share_s(base, base, &shares);
        for ((run, summary), speedup) in
            self.runs.iter().zip(&mut self.results).zip(&mut self.speedups)
        {
            let jcts_s = jcts_by_share_s(base, run, &shares);
            summary.jobs = Some(jcts_s.len());
            summary.jct_s = Some(Distribution::of(jcts_s.iter().copied()));
            speedup.jct = Some(JctSpeedup::of(&base_s, jcts_s));
        }
        self.jct_shares = Some(seed);
        self
    }

    /// Sets published values, which the file `name` has, beside those of the comparison.
    ///
    /// # Errors
    ///
    /// A metric is none of the comparison's.
    pub fn against(
        mut self,
        values: Vec<PublishedValue>,
        name: &str,
    ) -> Result<Self, PublishedError> {
        let both = self.results.iter().zip(&self.speedups);
        let policies: Vec<_> =
            both.map(|(result, speedup)| (result.label.as_str(), result, speedup)).collect();
        self.against = PublishedValue::beside(values, name, &policies)?;
        Ok(self)
    }

    /// The published values beside ours; empty without [`against`](Self::against).
    pub fn claims(&self) -> &[Claim] {
        &self.against
    }

    /// The seed given to [`with_jct_shares`](Self::with_jct_shares), if any.
    pub fn jct_shares(&self) -> Option<u64> {
        self.jct_shares
    }

    /// The runs, in the order given.
    pub fn runs(&self) -> &[Run<'a>] {
        &self.runs
    }

    /// Index of the baseline in [`runs`](Self::runs).
    pub fn baseline(&self) -> usize {
        self.baseline
    }

    /// The statistics of each run, in the order of the runs.
    pub fn summaries(&self) -> &[Summary] {
        &self.results
    }

    /// The speed-up of each run, in the order of the runs; the baseline's is 1.
    pub fn speedups(&self) -> &[Speedup] {
        &self.speedups
    }

    /// Which differences of means are certain.
    pub fn certainty(&self) -> &Certainty {
        &self.certainty
    }

    /// The baseline's CCT divided by that of `run`, for each coflow in the order of the workload.
    ///
    /// The ratio is 1 for a coflow that took no time in both runs, and infinite for one that took
    /// no time in `run` only.
    pub fn ratios(&self, run: &Run<'_>) -> impl Iterator<Item = f64> {
        ratios(&self.runs[self.baseline], run)
    }
}

impl JctSpeedup {
    fn of(base_s: &[f64], jcts_s: Vec<f64>) -> Self {
        let ratios = base_s.iter().zip(&jcts_s).map(|(&base_s, &jct_s)| ratio(base_s, jct_s));
        let ratios = sorted(ratios);
        Self {
            mean_of_means: ratio(mean(base_s), mean(&jcts_s)),
            p50: percentile(&ratios, 50.0),
            p90: percentile(&ratios, 90.0),
        }
    }
}

fn ratios(baseline: &Run<'_>, run: &Run<'_>) -> impl Iterator<Item = f64> {
    baseline.ccts_s().zip(run.ccts_s()).map(|(base_s, cct_s)| ratio(base_s, cct_s))
}

/// `base_s / other_s`; 1 if both are equal, even if both are 0.
fn ratio(base_s: f64, other_s: f64) -> f64 {
    if base_s == other_s { 1.0 } else { base_s / other_s }
}
