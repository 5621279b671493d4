//! `covey reproduce`: a paper's evaluation again.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use covey_experiment::cores;
use covey_experiment::reproduction::{self, STAND_IN};
use covey_report::write_json;
use covey_reproduce::reproduction::Selection;

use crate::failure::Failure;
use crate::output;
use crate::progress::Bar;

/// Repeat a paper's evaluation: published values, ours, and whether they hold
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey reproduce philae --trace FB2010-1Hr-150-0.txt --report philae.html
  covey reproduce philae --trace FB2010-1Hr-150-0.txt --table 3
  covey reproduce swallow --figure 4
  covey reproduce swallow --table VI --json
  covey reproduce aalo --trace FB2010-1Hr-150-0.txt
The papers used an hour of a Facebook cluster, which is public (README tells where) and not included.
Without it builtin:fb-like stands in, and what was found on it cannot be compared with published
values. Examples and workloads that the papers define themselves need no trace.")]
pub struct Reproduce {
    /// The paper
    #[arg(value_enum)]
    paper: Name,
    /// The Facebook trace, or what is to stand for it
    #[arg(long, value_name = "TRACE", default_value = STAND_IN)]
    trace: String,
    /// Only this table, such as 3 or VI
    #[arg(long, value_name = "N", conflicts_with = "figure")]
    table: Option<String>,
    /// Only this figure, such as 4 or 4a
    #[arg(long, value_name = "N")]
    figure: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write a page with tables and figures that needs no other file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// The papers that can be repeated.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    // USENIX ATC 2019.
    Philae,
    // IPDPS 2018.
    Swallow,
    // SIGCOMM 2015.
    Aalo,
}

impl Reproduce {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        let plan = reproduction::plan(self.paper(), &self.selection(), &self.trace)?;
        if let Some(file) = &self.report {
            output::check(file)?;
        }
        let bar = Bar::new(reproduction::coflows(&plan));
        let report = reproduction::reproduce(plan, cores(), &bar)?;
        drop(bar);
        if let Some(file) = &self.report {
            let page = report.html_page(&output::command());
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        output::print(
            |out| {
                if self.json { write_json(&report, out) } else { write!(out, "{report}") }
            },
        )
    }

    fn paper(&self) -> &'static str {
        match self.paper {
            Name::Philae => "philae",
            Name::Swallow => "swallow",
            Name::Aalo => "aalo",
        }
    }

    fn selection(&self) -> Selection {
        match (&self.table, &self.figure) {
            (Some(number), _) => Selection::Table(number.clone()),
            (None, Some(number)) => Selection::Figure(number.clone()),
            (None, None) => Selection::All,
        }
    }
}
