//! Stream beside the three schedulers that the paper compares it with.

use covey_trace::stats::{SizeClass, SizeTable};
use covey_trace::{TraceError, Workload};

use super::times::{Jobs, times};
use crate::finding::{Finding, Setting};
use crate::item::{Planner, Section};
use crate::numbers::{mean, percentile};
use crate::plan::{Platform, Results, RunId, TraceId};

/// Stream with four queues.
pub const STREAM: &str = "stream:K=4";
/// The schedulers that the paper compares Stream with: its name for each, and the policy. All have
/// four queues.
pub const OTHERS: [(&str, &str); 3] =
    [("Baraat", "fifo-lm"), ("FS", "fair"), ("Aalo", "aalo:K=4,queues=classes,delta=0")];
/// The smallest FatTree of the paper.
pub const EIGHT_PODS: &str = "fat-tree:k=8";
/// Speeds of ports: the paper's name, and bits per second.
pub const SPEEDS: [(&str, f64); 2] = [("1G", 1e9), ("10G", 1e10)];
/// A published gain is reproduced within this share of it.
pub const WITHIN: f64 = 0.1;

/// Runs of Stream and of the others on one workload.
pub struct Contest {
    trace: TraceId,
    table: SizeTable,
    stream: RunId,
    others: [RunId; 3],
}

/// Which jobs a number is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The mean over all jobs.
    Mean,
    /// The 95th percentile of all jobs.
    P95,
    /// The mean over the jobs of a class.
    Class(SizeClass),
}

/// The mean over the smallest coflows, which the paper calls mice without a definition.
pub const MICE: Of = Of::Class(SizeClass::I);

impl Of {
    /// The name in labels.
    pub fn name(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::P95 => "P95".to_owned(),
            Self::Class(class) => format!("class {}", class.name()),
        }
    }
}

impl Contest {
    /// Plans the runs.
    pub fn plan(
        planner: &mut Planner,
        trace: TraceId,
        table: SizeTable,
        fabric: &str,
        port_rate_bps: f64,
    ) -> Self {
        let mut run =
            |policy: &str| planner.plan.run_on(Platform::on(fabric, port_rate_bps), trace, policy);
        let (stream, others) = (run(STREAM), OTHERS.map(|(_, policy)| run(policy)));
        Self { trace, table, stream, others }
    }

    /// The run of Stream.
    pub fn stream(&self) -> RunId {
        self.stream
    }

    /// The run of `OTHERS[other]`.
    pub fn other(&self, other: usize) -> RunId {
        self.others[other]
    }

    /// The runs that a gain over `OTHERS[other]` comes from.
    pub fn runs(&self, other: usize) -> [RunId; 2] {
        [self.others[other], self.stream]
    }

    /// The time under `OTHERS[other]` divided by that under Stream; `None` if the class has no
    /// jobs.
    ///
    /// # Errors
    /// Why a run failed.
    pub fn gain(&self, results: &Results<'_>, other: usize, of: Of) -> Result<Option<f64>, String> {
        let workload = results.plan.workload(self.trace);
        let time = |run| one_time(results, run, workload, self.table, of);
        Ok(time(self.others[other])?.zip(time(self.stream)?).map(|(other, ours)| other / ours))
    }

    /// Adds gains over all others as numbers without a published value.
    ///
    /// # Errors
    /// Why a run failed.
    pub fn add_ours(
        &self,
        results: &Results<'_>,
        section: &mut Section,
        label: &str,
        of: &[Of],
    ) -> Result<(), String> {
        (0..OTHERS.len())
            .try_for_each(|other| self.add_ours_over(results, section, label, other, of))
    }

    /// Adds gains over `OTHERS[other]` as numbers without a published value.
    ///
    /// # Errors
    /// Why a run failed.
    pub fn add_ours_over(
        &self,
        results: &Results<'_>,
        section: &mut Section,
        label: &str,
        other: usize,
        of: &[Of],
    ) -> Result<(), String> {
        for &of in of {
            section.findings.extend(self.finding(results, label, other, of)?);
        }
        Ok(())
    }

    /// A finding on a gain; `None` if the class has no jobs.
    ///
    /// # Errors
    /// Why a run failed.
    pub fn finding(
        &self,
        results: &Results<'_>,
        label: &str,
        other: usize,
        of: Of,
    ) -> Result<Option<Finding>, String> {
        let gain = self.gain(results, other, of)?;
        let what = format!("{label}, {}: gain over {}", of.name(), OTHERS[other].0);
        let runs = self.runs(other);
        Ok(gain.map(|gain| Finding::new(what, Setting::FairComparison, &runs, gain)))
    }
}

/// The time of the chosen jobs under a run; `None` without such jobs.
///
/// # Errors
/// Why the run failed.
pub fn one_time(
    results: &Results<'_>,
    run: RunId,
    workload: &Workload,
    table: SizeTable,
    of: Of,
) -> Result<Option<f64>, String> {
    let all = times(results, run)?;
    let Of::Class(class) = of else {
        return Ok(Some(if of == Of::P95 { percentile(&all, 95.0) } else { mean(&all) }));
    };
    let classes = Jobs::of(workload).classes(workload, table);
    let chosen = all.iter().zip(classes).filter(|(_, of)| *of == class).map(|(time, _)| *time);
    let chosen: Vec<f64> = chosen.collect();
    Ok((!chosen.is_empty()).then(|| mean(&chosen)))
}

/// The greatest of several gains, or the least over Aalo, which is the faster one in the paper.
///
/// # Errors
/// Why a run failed.
pub fn extreme(
    contests: &[Contest],
    results: &Results<'_>,
    other: usize,
    of: Of,
) -> Result<Option<Finding>, String> {
    let name = OTHERS[other].0;
    let (word, pick): (_, fn(f64, f64) -> f64) =
        if name == "Aalo" { ("least", f64::min) } else { ("greatest", f64::max) };
    let mut found = None;
    let mut runs = Vec::new();
    for contest in contests {
        runs.extend(contest.runs(other));
        found = contest.gain(results, other, of)?.into_iter().chain(found).reduce(pick);
    }
    let what = format!("{word} {} gain over {name}", of.name());
    Ok(found.map(|gain| Finding::new(what, Setting::FairComparison, &runs, gain)))
}

/// Plans a contest of many-to-one coflows in eight pods for each speed.
///
/// # Errors
/// The error of `make`.
pub fn at_both_speeds(
    planner: &mut Planner,
    table: SizeTable,
    make: impl FnOnce(&mut Planner) -> Result<TraceId, TraceError>,
) -> Result<[Contest; 2], TraceError> {
    let trace = make(planner)?;
    Ok(SPEEDS.map(|(_, bps)| Contest::plan(planner, trace, table, EIGHT_PODS, bps)))
}
