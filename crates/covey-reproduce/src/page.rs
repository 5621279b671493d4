//! The report as an HTML page.

use covey_report::{Appendix, Cell, CellKind, Grid, Part, Row, appendix_page};

use crate::finding::{LEAST_GAIN, Verdict};
use crate::report::Method;
use crate::report::{ItemReport, Number, Report, RunReport};
use crate::text::{SPARK, difference, published, value};

/// Explains the settings of simulations.
const SETTINGS: &str = "Each number names its setting. In the fair comparison all policies run in Covey's exact \
    simulator, with ports of 1 Gbps unless another speed is given. In the \
    paper's setting Covey emulates other simulators, including their quirks: coflowsim (admission in \
    epochs of 10.24 s, seconds of 1024 ms, ports of 128 MiB/s, flows of at least 1 MiB, rates \
    only at coflow events) and philae-authors (134,217 B/ms, cycles of 8 ms, arrivals in bins \
    of 10.24 s, weighted slots).";

impl Report {
    /// A self-contained HTML page. The page shows `command`, the command line that repeats it.
    pub fn html_page(&self, command: &str) -> String {
        let mut lead = vec![
            self.tally(),
            match self.by {
                Method::Spark => format!("“{}”, {}. {}.", self.title, self.venue, self.trace),
                _ => format!("“{}”, {}. Trace: {}.", self.title, self.venue, self.trace),
            },
            match self.by {
                Method::Simulation => SETTINGS,
                Method::Live => {
                    "Every number was measured on a live coordinator in a process of its own. Each port \
                     has a simulated agent that reports transfers without sending data. All run on \
                     one machine."
                }
                Method::Testbed => {
                    "Every number was measured with real flows between emulated hosts on one machine, \
                     scheduled by a real coordinator through real agents."
                }
                Method::Spark => SPARK,
            }
            .to_owned(),
            format!(
                "A published value holds if ours satisfies the rule below it. A claimed gain needs at least \
                 {LEAST_GAIN}. A check is counted apart, because only a mistake in Covey could break it: its \
                 value is given by the paper and read back, follows by hand or by proof, or is that of another \
                 program of ours. The code of each item sets its rules, and gives the reasons for values that \
                 differ."
            ),
        ];
        lead.extend(self.not_comparable());
        let counted = self.counted();
        let appendix = Appendix {
            title: format!("{}: the evaluation repeated", capitalized(&self.paper)),
            lead,
            contents_columns: counted.iter().map(|verdict| verdict.name().to_owned()).collect(),
            parts: self.sections.iter().map(|section| part(section, &counted)).collect(),
        };
        appendix_page(&appendix, command)
    }

    /// The verdicts that occur in the report. The table of contents counts these.
    fn counted(&self) -> Vec<Verdict> {
        let all = || self.sections.iter().flat_map(|section| &section.findings);
        let occurs = |verdict: &Verdict| all().any(|found| found.verdict == *verdict);
        let verdicts = [Verdict::Holds, Verdict::Differs, Verdict::NotComparable, Verdict::Check];
        verdicts.into_iter().filter(occurs).collect()
    }
}

fn part(section: &ItemReport, counted: &[Verdict]) -> Part {
    let mut before = vec![format!("Discussed in section {}.", section.section)];
    let cannot = section.cannot.iter().map(|why| format!("Not shown: {why}"));
    before.extend(cannot.chain(section.notes.iter().cloned()));
    // The section's number shares a paragraph with the first note.
    if before.len() > 1 {
        let first = before.remove(1);
        before[0] = format!("{} {first}", before[0]);
    }
    let columns = vec![
        Cell::new(CellKind::Words, "what").with("setting"),
        short("published").with("rule"),
        short("ours").with("difference"),
        Cell::new(CellKind::Verdict(None), "verdict"),
    ];
    let table = Grid { columns, rows: section.findings.iter().map(row).collect() };
    Part {
        name: section.place.to_owned(),
        shows: section.shows.to_owned(),
        contents_cells: counted.iter().map(|verdict| count(section, *verdict)).collect(),
        before,
        table: Some(table).filter(|table| !table.rows.is_empty()),
        figures: section.figures.clone(),
        terms: section.runs.iter().map(|run| (run.name.clone(), run_details(run))).collect(),
    }
}

fn count(section: &ItemReport, verdict: Verdict) -> String {
    let number = section.findings.iter().filter(|f| f.verdict == verdict).count();
    if number == 0 { "–".to_owned() } else { number.to_string() }
}

fn run_details(run: &RunReport) -> String {
    let mean = run.mean_cct_s.map_or(String::new(), |mean| format!("; mean CCT {mean:.4} s"));
    let rate = run.port_rate_bps / 1e9;
    format!("{} simulator, {rate:.4} Gbps, {}: {}{mean}", run.simulator, run.trace, run.policy)
}

fn short(text: impl Into<String>) -> Cell {
    Cell::new(CellKind::Short, text)
}

fn row(number: &Number) -> Row {
    let verdict = match number.verdict {
        Verdict::Holds => Some(true),
        Verdict::Differs => Some(false),
        Verdict::Check | Verdict::NotComparable | Verdict::NotPublished => None,
    };
    let kind = if number.says.is_some() { CellKind::Words } else { CellKind::Short };
    let cells = vec![
        Cell::new(CellKind::Words, &number.what).with(number.setting.name()),
        Cell::new(kind, published(number)).with(&number.rule),
        short(value(number.ours, number.unit)).with(difference(number)),
        Cell::new(CellKind::Verdict(verdict), number.verdict.name()),
    ];
    Row { cells, note: number.why.to_owned() }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
