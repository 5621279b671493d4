//! A table or figure of a paper: what is run for it, and what is found.

use covey_report::Figure;
use covey_trace::TraceError;

use crate::finding::Finding;
use crate::plan::{Plan, Results, TraceId};
use crate::published::Paper;

/// A table, figure, section or equation of a paper.
pub struct Item {
    /// Where it is, such as `Table 3` or `Figure 4(a)`.
    pub place: &'static str,
    /// The section that discusses it.
    pub section: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// How it is found.
    pub plan: Planning,
}

/// How an item is found.
pub enum Planning {
    /// A function plans its runs, and returns what makes findings of their results.
    Runs(fn(&mut Lab) -> Result<Evaluate, TraceError>),
    /// It cannot be found, for this reason.
    Cannot(&'static str),
}

impl Item {
    /// An item that cannot be found, with the reason.
    pub const fn cannot(
        place: &'static str,
        section: &'static str,
        shows: &'static str,
        why: &'static str,
    ) -> Self {
        Self { place, section, shows, plan: Planning::Cannot(why) }
    }
}

/// Makes findings of results.
pub type Evaluate = Box<dyn FnOnce(&Results<'_>, &mut Section) -> Result<(), String> + Send + Sync>;

/// What items plan with.
pub struct Lab {
    /// Workloads and runs.
    pub plan: Plan,
    /// The trace that was given, at best the paper's.
    pub trace: TraceId,
    /// What was published.
    pub paper: Paper,
    /// On a testbed: only every so many-th of what there is many of, to be quick.
    pub every: usize,
}

/// What was found of an item.
#[derive(Debug, Default)]
pub struct Section {
    /// What was done, a paragraph each.
    pub notes: Vec<String>,
    /// The numbers.
    pub findings: Vec<Finding>,
    /// The drawings.
    pub figures: Vec<Figure>,
    /// Why there is nothing of it, if so.
    pub cannot: Option<String>,
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
