//! The comparison of several policies on the same workload.

use crate::certainty::{Certainty, Interval, Over};
use crate::json::or_nan;
use crate::stats::{Distribution, mean, percentile, sorted};
use crate::{
    Claim, Coflows, Error, Jobs, PublishedError, PublishedValue, Run, Summary, Timelines,
    jcts_by_share_s,
};
use covey_topology::Tier;
use covey_trace::shuffle_shares;
use serde::{Deserialize, Serialize};

/// Several runs on one workload, compared with one of them, the baseline.
///
/// `Serialize` gives the object of `compare --json`, `Display` the table for a terminal. What
/// [`Results`](crate::Results) keeps has the coflows, too, and can be read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Kept")]
pub struct Comparison {
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
    /// How busy the workload keeps the links of each tier; none if only ports limit rates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tiers: Vec<Tier>,
    #[serde(skip)]
    coflows: Coflows,
    #[serde(skip)]
    baseline: usize,
    #[serde(skip)]
    timelines: Option<Timelines>,
}

/// What a kept comparison is made from again. What follows from that is not read.
#[derive(Deserialize)]
struct Kept {
    results: Vec<Summary>,
    speedups: Vec<Speedup>,
    baseline_label: String,
    jct_shares: Option<u64>,
    #[serde(default)]
    against: Vec<Claim>,
    #[serde(default)]
    tiers: Vec<Tier>,
    coflows: Coflows,
}

/// The speed-up of a policy over the baseline. Above 1 the policy is faster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// Name of the policy.
    pub policy: String,
    /// Baseline's mean CCT divided by the policy's.
    #[serde(deserialize_with = "or_nan")]
    pub mean_of_means: f64,
    /// Median of the [ratios](Comparison::ratios) of single coflows.
    #[serde(deserialize_with = "or_nan")]
    pub p50: f64,
    /// 90th percentile of these ratios.
    #[serde(deserialize_with = "or_nan")]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JctSpeedup {
    /// Baseline's mean JCT divided by the policy's.
    #[serde(deserialize_with = "or_nan")]
    pub mean_of_means: f64,
    /// Median of the ratios of single jobs.
    #[serde(deserialize_with = "or_nan")]
    pub p50: f64,
    /// 90th percentile of these ratios.
    #[serde(deserialize_with = "or_nan")]
    pub p90: f64,
}

impl Comparison {
    /// Compares `runs` with the run at index `baseline`.
    ///
    /// # Errors
    ///
    /// [`Error::NoRuns`], [`Error::Baseline`] if `baseline` is out of range, or
    /// [`Error::WorkloadsDiffer`].
    pub fn new(runs: &[Run<'_>], baseline: usize) -> Result<Self, Error> {
        let first = runs.first().ok_or(Error::NoRuns)?;
        let base =
            runs.get(baseline).ok_or(Error::Baseline { index: baseline, runs: runs.len() })?;
        for run in runs {
            let (a, b) = (first.workload(), run.workload());
            if !std::ptr::eq(a, b) && a != b {
                let [first, label] = [first, run].map(|r| r.info().label.clone());
                return Err(Error::WorkloadsDiffer { first, label });
            }
        }
        let results = runs.iter().map(Summary::of).collect();
        let tiers = base.info().tiers.clone();
        let mut comparison = Self::of(results, Coflows::of(runs), tiers, baseline);
        if let Some(jobs) = Jobs::of(first.workload()) {
            let base_s = jobs.jcts_s(base);
            for (speedup, run) in comparison.speedups.iter_mut().zip(runs) {
                speedup.jct = Some(JctSpeedup::of(&base_s, jobs.jcts_s(run)));
            }
        }
        Ok(comparison)
    }

    /// A comparison of at least one policy, without jobs.
    fn of(results: Vec<Summary>, coflows: Coflows, tiers: Vec<Tier>, baseline: usize) -> Self {
        let ccts_s = &coflows.cct_s;
        let interval = |base: usize, run: usize| Interval::of_pairs(&ccts_s[base], &ccts_s[run]);
        let speedups = results.iter().enumerate().map(|(place, summary)| {
            let ratios = sorted(ratios(&ccts_s[baseline], &ccts_s[place]));
            Speedup {
                policy: summary.policy.clone(),
                mean_of_means: ratio(results[baseline].cct_s.mean, summary.cct_s.mean),
                p50: percentile(&ratios, 50.0),
                p90: percentile(&ratios, 90.0),
                label: summary.label.clone(),
                jct: None,
                interval: interval(baseline, place).filter(|_| place != baseline),
            }
        });
        let speedups = speedups.collect();
        let labels: Vec<&str> = results.iter().map(|it| it.label.as_str()).collect();
        let means_s: Vec<f64> = results.iter().map(|it| it.cct_s.mean).collect();
        let basis = (Over::Coflows, coflows.count());
        let certainty = Certainty::of(basis, &labels, &means_s, interval);
        let base = &results[baseline];
        Self {
            baseline_policy: base.policy.clone(),
            baseline_label: base.label.clone(),
            results,
            speedups,
            certainty,
            jct_shares: None,
            against: Vec::new(),
            tiers,
            coflows,
            baseline,
            timelines: None,
        }
    }

    /// Treats each coflow as the shuffle of a job that also computes. Each job spends a share of
    /// its time in shuffle under the baseline; `seed` draws these shares from the published ones.
    /// The JCTs of these jobs ([`jcts_by_share_s`]) replace those of jobs in the trace.
    #[must_use]
    pub fn with_jct_shares(mut self, seed: u64) -> Self {
        let ccts_s = &self.coflows.cct_s;
        let base = &ccts_s[self.baseline];
        let shares = shuffle_shares(base.len(), seed);
        let base_s = jcts_by_share_s(base, base, &shares);
        for ((ccts_s, summary), speedup) in
            ccts_s.iter().zip(&mut self.results).zip(&mut self.speedups)
        {
            let jcts_s = jcts_by_share_s(base, ccts_s, &shares);
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

    /// Adds the timelines of the runs, which the page shows.
    #[must_use]
    pub fn with_timelines(self, timelines: Timelines) -> Self {
        Self { timelines: Some(timelines), ..self }
    }

    /// The timelines given to [`with_timelines`](Self::with_timelines), if any.
    pub fn timelines(&self) -> Option<&Timelines> {
        self.timelines.as_ref()
    }

    /// The seed given to [`with_jct_shares`](Self::with_jct_shares), if any.
    pub fn jct_shares(&self) -> Option<u64> {
        self.jct_shares
    }

    /// The coflows, and their completion times under each policy.
    pub fn coflows(&self) -> &Coflows {
        &self.coflows
    }

    /// How busy the workload keeps the links of each tier; none if only ports limit rates.
    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }

    /// Place of the baseline among the policies.
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

    /// The baseline's CCT divided by that under a policy, by its place, for each coflow in the
    /// order of the workload.
    ///
    /// The ratio is 1 for a coflow that took no time in both runs, and infinite for one that took
    /// no time under the policy only.
    pub fn ratios(&self, policy: usize) -> impl Iterator<Item = f64> {
        ratios(&self.coflows.cct_s[self.baseline], &self.coflows.cct_s[policy])
    }
}

impl TryFrom<Kept> for Comparison {
    type Error = String;

    fn try_from(kept: Kept) -> Result<Self, String> {
        let Kept { results, speedups, baseline_label, jct_shares, against, tiers, coflows } = kept;
        let of_policies = [
            ("speedups", speedups.len(), results.len()),
            ("coflows.cct_s", coflows.cct_s.len(), results.len()),
        ];
        if let Some((list, found, expected)) = of_policies.iter().find(|(_, a, b)| a != b) {
            return Err(format!(
                "{list}: expected {expected} of them, one a result, found {found}"
            ));
        }
        if let Some(list) = coflows.incomplete() {
            return Err(format!("coflows.{list}: expected a value for each of coflows.id"));
        }
        let baseline = results.iter().position(|it| it.label == baseline_label);
        let baseline = baseline.ok_or_else(|| {
            format!("baseline_label: expected a label of the results, found '{baseline_label}'")
        })?;
        let mut comparison = Self::of(results, coflows, tiers, baseline);
        for (own, kept) in comparison.speedups.iter_mut().zip(speedups) {
            own.jct = kept.jct;
        }
        Ok(Self { jct_shares, against, ..comparison })
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

fn ratios(base_s: &[f64], ccts_s: &[f64]) -> impl Iterator<Item = f64> {
    base_s.iter().zip(ccts_s).map(|(&base_s, &cct_s)| ratio(base_s, cct_s))
}

/// `base_s / other_s`; 1 if both are equal, even if both are 0.
fn ratio(base_s: f64, other_s: f64) -> f64 {
    if base_s == other_s { 1.0 } else { base_s / other_s }
}
