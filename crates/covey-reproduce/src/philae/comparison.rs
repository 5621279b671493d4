//! Compares Philae with other policies: the runs, the speed-ups, and the reasons for differences.

use covey_trace::MB;

use crate::finding::{Finding, Setting};
use crate::item::{Planner, Section};
use crate::learning::Recording;
use crate::numbers::percentile;
use crate::plan::{Plan, Results, RunId, TraceId};
use crate::plots::bars;

/// The share by which our speed-ups may differ from published ones. An independent emulation came
/// within 6 %.
pub(super) const TOLERANCE: f64 = 0.06;

/// The reason for different means in the fair comparison.
pub(super) const ONE_FRAMEWORK: &str = "The published ratio compares two simulators. CoflowSim's Aalo moves coflows between \
    queues only when a coflow arrives or ends, and by one queue at a time; it leaves ports idle after \
    flows end. In the exact simulator Aalo is faster, so Philae gains less.";

/// The reason for different means in the paper's setting, on workloads without some of the coflows.
pub(super) const FEWER_EVENTS: &str = "CoflowSim moves coflows between queues and assigns rates only when a coflow \
    arrives or ends. Fewer coflows mean fewer such events, so its policies get slower, and Philae's gain \
    is larger than published. The paper does not say how it ran these workloads.";

/// The reason for different percentiles of the speed-ups of single coflows.
pub(super) const PERCENTILES: &str = "Half of the coflows are small and end after a few milliseconds, or quanta, \
    under both policies. The published percentiles would need an Aalo that is slow for small coflows, and \
    no public simulator has one. (0.977 means equal numbers of quanta, in seconds of 1024 and of 1000 ms.)";

/// The reason for a different speed-up over Aalo, by column and setting.
pub(super) fn why(column: &str, setting: Setting) -> &'static str {
    match (column, setting) {
        ("P50" | "P90", _) => PERCENTILES,
        (_, Setting::PapersSetting) => {
            "The order of equally busy ports decides which flows are pilots, and C++ does not define this order. \
             The choice of pilots changes the mean by some percent."
        }
        _ => ONE_FRAMEWORK,
    }
}

/// The columns of most tables: percentiles of the speed-ups of single coflows, and the speed-up of
/// the mean.
pub(super) const COLUMNS: [&str; 3] = ["P50", "P90", "mean of CCTs"];

/// Adds a plot to a section: those of its findings that are speed-ups of the mean CCT.
pub(super) fn plot_means(title: &str, section: &mut Section) {
    let all = section.findings.iter();
    let means: Vec<Finding> = all.filter(|f| f.what.ends_with("CCTs")).cloned().collect();
    section.figures.push(bars(title, "speed-up", &means));
}

/// Plans Aalo in the exact simulator, and records when each coflow enters its last queue.
pub(super) fn aalo(plan: &mut Plan, trace: TraceId) -> RunId {
    let recording = Recording::LastQueue { first: 10.0 * MB, factor: 10.0 };
    plan.exact_recording(trace, "aalo", recording)
}

/// Plans Philae in the exact simulator, and records its estimates of sizes.
pub(super) fn philae(plan: &mut Plan, trace: TraceId, policy: &str) -> RunId {
    plan.exact_recording(trace, policy, Recording::SizeEstimates)
}

/// Two runs in one setting: Philae and another policy.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    pub setting: Setting,
    pub base: RunId,
    pub philae: RunId,
}

impl Comparison {
    /// Plans Aalo, and Philae as `policy` specifies it, on a workload in both settings of
    /// simulations.
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

    /// Plans Aalo and Philae on a workload on the testbed.
    pub fn on_testbed(planner: &mut Planner, trace: TraceId) -> Comparison {
        let [base, philae] = planner.on_testbed(trace, ["aalo", "philae"]);
        Comparison { setting: Setting::Testbed, base, philae }
    }

    /// The speed-up of the mean CCT, or for columns `P50` and `P90` that percentile of the
    /// speed-ups of single coflows.
    pub fn speedup(&self, column: &str, results: &Results<'_>) -> Result<f64, String> {
        let ratios = || results.ratios(self.base, self.philae);
        Ok(match column {
            "P50" => percentile(&ratios()?, 50.0),
            "P90" => percentile(&ratios()?, 90.0),
            _ => results.gain(self.base, self.philae)?,
        })
    }

    /// The finding for a speed-up, with the published value at a place, row and column.
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
