//! Philae against others, mostly against Aalo: its runs, and the reasons why ratios differ.

use covey_trace::MB;

use crate::finding::{Finding, Setting};
use crate::item::Planner;
use crate::learning::Recording;
use crate::numbers::percentile;
use crate::plan::{Plan, Platform, Results, Run, RunId, TestbedRun, TraceId};

/// How far our speed-ups may be from published ones: an independent emulation came within 6 %.
pub(super) const TOLERANCE: f64 = 0.06;

/// Why means differ in the fair comparison.
pub(super) const ONE_FRAMEWORK: &str = "The published ratio is one between two simulators. CoflowSim's Aalo moves a \
    coflow only when one arrives or ends, by one queue at a time, and leaves ports idle that flows have \
    freed. In one exact framework Aalo does better, so Philae gains less.";

/// Why means differ in the paper's setting where coflows have been left out.
pub(super) const FEWER_EVENTS: &str = "With fewer coflows there are fewer arrivals and ends, at which alone \
    CoflowSim moves coflows between queues and shares anew; its policies get slower by that, and Philae's \
    gain larger than published. How the paper ran these workloads is not told.";

/// Why percentiles of single speed-ups differ.
pub(super) const PERCENTILES: &str = "Half of the coflows are small and end after a few milliseconds, or quanta, \
    under both policies. Neither public simulator has an Aalo that is slow for them, which the published \
    percentiles would need. (0.977 is equally many quanta, in seconds of 1024 and of 1000 ms.)";

/// The reason for a difference from Aalo in a column and a setting.
pub(super) fn why(column: &str, setting: Setting) -> &'static str {
    match (column, setting) {
        ("P50" | "P90", _) => PERCENTILES,
        (_, Setting::FairComparison | Setting::Live | Setting::Testbed) => ONE_FRAMEWORK,
        (_, Setting::PapersSetting) => {
            "Which flows are pilots depends on ties among ports, which C++ leaves open; it moves the mean \
             by some percent."
        }
    }
}

/// Aalo in the exact simulator, watched for when it has found the right queue.
pub(super) fn aalo(plan: &mut Plan, trace: TraceId) -> RunId {
    let recording = Recording::LastQueue { first: 10.0 * MB, factor: 10.0 };
    plan.run(Run { trace, platform: Platform::exact(), policy: "aalo".to_owned(), recording })
}

/// Philae in the exact simulator, watched for its estimates.
pub(super) fn philae(plan: &mut Plan, trace: TraceId, policy: &str) -> RunId {
    let (policy, recording) = (policy.to_owned(), Recording::SizeEstimates);
    plan.run(Run { trace, platform: Platform::exact(), policy, recording })
}

/// Philae against others, in one of the settings.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    pub setting: Setting,
    pub base: RunId,
    pub philae: RunId,
}

impl Comparison {
    /// Aalo against a Philae on a workload, in both settings.
    pub fn with_aalo(plan: &mut Plan, trace: TraceId, policy: &str) -> [Comparison; 2] {
        [
            Comparison {
                setting: Setting::FairComparison,
                base: aalo(plan, trace),
                philae: philae(plan, trace, policy),
            },
            Comparison {
                setting: Setting::PapersSetting,
                base: plan.coflowsim(trace, "aalo"),
                philae: plan.authors(trace, policy),
            },
        ]
    }

    /// The same with real flows.
    pub fn on_testbed(planner: &mut Planner, trace: TraceId) -> Comparison {
        let testbed_run = TestbedRun { fold: Some(planner.every), ratio: 1.0 };
        let mut run = |policy: &str| {
            let (platform, policy) = (Platform::Testbed(testbed_run), policy.to_owned());
            planner.plan.run(Run { trace, platform, policy, recording: Recording::CctsOnly })
        };
        Comparison { setting: Setting::Testbed, base: run("aalo"), philae: run("philae") }
    }

    /// The speed-up of the mean CCT, and percentiles of those of single coflows.
    pub fn speedup(&self, column: &str, results: &Results<'_>) -> Result<f64, String> {
        let ratios = || results.ratios(self.base, self.philae);
        Ok(match column {
            "P50" => percentile(&ratios()?, 50.0),
            "P90" => percentile(&ratios()?, 90.0),
            _ => results.gain(self.base, self.philae)?,
        })
    }

    /// A speed-up as a finding, beside what is published at a place in a row and a column.
    pub fn finding(
        &self,
        what: String,
        [place, row, column]: [&str; 3],
        results: &Results<'_>,
    ) -> Result<Finding, String> {
        let ours = self.speedup(column, results)?;
        let published = results.published(place, row, column);
        Ok(Finding::new(what, self.setting, &[self.base, self.philae], ours)
            .published(published, TOLERANCE))
    }
}
