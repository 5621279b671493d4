//! A table or figure of a paper: how its runs are planned and its findings made.

use covey_report::Figure;
use covey_trace::TraceError;

use crate::finding::Finding;
use crate::plan::{Plan, Platform, Results, RunId, TestbedNetwork, TestbedRun, TraceId};
use crate::published::Paper;

/// A table, figure, section or equation of a paper.
pub struct Item {
    /// The name in the paper, such as `Table 3` or `Figure 4(a)`.
    pub place: &'static str,
    /// The section that discusses it.
    pub section: &'static str,
    /// What the item shows.
    pub shows: &'static str,
    /// How the item is reproduced.
    pub plan: Planning,
}

/// How an item is reproduced.
pub enum Planning {
    /// The function plans the item's runs and returns the function that evaluates their results.
    Runs(fn(&mut Planner) -> Result<Evaluate, TraceError>),
    /// The item is not reproduced, for this reason.
    NotShown(&'static str),
}

impl Item {
    /// An item that is not reproduced, with the reason.
    pub const fn not_shown(
        place: &'static str,
        section: &'static str,
        shows: &'static str,
        why: &'static str,
    ) -> Self {
        Self { place, section, shows, plan: Planning::NotShown(why) }
    }
}

/// Turns results into findings.
pub type Evaluate = Box<dyn FnOnce(&Results<'_>, &mut Section) -> Result<(), String> + Send + Sync>;

/// Everything an item needs to plan its runs.
pub struct Planner {
    /// Collects workloads and runs.
    pub plan: Plan,
    /// The trace that the user gave: the paper's trace or a substitute.
    pub trace: TraceId,
    /// The paper's published values.
    pub paper: Paper,
    /// On a testbed, only every `every`-th coflow or application is sent; 1 elsewhere.
    pub every: usize,
}

impl Planner {
    /// Plans policies, or [`TCP`](crate::plan::TCP), on the testbed of default hosts, to which the
    /// workload is folded.
    pub fn on_testbed<const N: usize>(
        &mut self,
        trace: TraceId,
        policies: [&str; N],
    ) -> [RunId; N] {
        let run =
            TestbedRun { fold: Some(self.every), ratio: 1.0, network: TestbedNetwork::default() };
        policies.map(|policy| self.plan.run_on(Platform::Testbed(run), trace, policy))
    }
}

/// The findings of an item, with notes and figures.
#[derive(Debug, Default)]
pub struct Section {
    /// How the findings were made, one paragraph each.
    pub notes: Vec<String>,
    /// The numbers.
    pub findings: Vec<Finding>,
    /// The plots.
    pub figures: Vec<Figure>,
    /// Why the item is not reproduced; `None` if it is.
    pub not_shown: Option<String>,
}

impl Section {
    /// Adds a paragraph.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds a finding.
    pub fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
}
