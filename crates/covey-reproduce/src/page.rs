//! The report as a page.

use covey_report::{Appendix, Cell, Grid, Part, Row, appendix_page};

use crate::finding::Verdict;
use crate::report::{Number, Report, Told};
use crate::reproduction::Means;
use crate::text::{difference, published, value};

/// What the settings of simulations are.
const SETTINGS: &str = "Every number says in what setting it was found. In the fair comparison everything runs in \
    Covey's one exact simulator, with ports of 1 Gbps unless something else is said. In the \
    paper's setting other simulators are emulated, with their quirks: coflowsim (admission in \
    epochs of 10.24 s, seconds of 1024 ms, ports of 128 MiB/s, flows of at least 1 MiB, rates \
    only at coflow events) and philae-authors (134,217 B/ms, cycles of 8 ms, arrivals in bins \
    of 10.24 s, weighted slots).";

impl Report {
    /// A self-contained HTML page, with `command`, the command line that makes it again.
    pub fn html_page(&self, command: &str) -> String {
        let mut lead = vec![
            format!("“{}”, {}. Trace: {}.", self.title, self.venue, self.trace),
            match self.by {
                Means::Simulation => SETTINGS,
                Means::Live => {
                    "Every number was measured live: the coordinator in a process of its own, and an \
                     agent for each port that sends on paper, all on one machine."
                }
                Means::Testbed => {
                    "Every number was measured with real flows, under agents and a coordinator, between \
                     emulated hosts on one machine."
                }
            }
            .to_owned(),
            "A value holds if it is within the rule that stands with it; the rules were set beside the \
             code of each item, with the reasons for what differs."
                .to_owned(),
        ];
        lead.extend(self.not_comparable());
        lead.push(self.tally());
        let overview = Grid {
            columns: ["where", "what it shows", "holds", "differs", "not comparable"]
                .map(str::to_owned)
                .into(),
            rows: self.sections.iter().map(overview).collect(),
        };
        let parts = self.sections.iter().map(part).collect();
        let title = format!("{}: the evaluation again", capital(&self.paper));
        let appendix = Appendix { title, lead, overview: Some(overview), parts };
        appendix_page(&appendix, command)
    }
}

fn overview(section: &Told) -> Row {
    let count = |verdict: Verdict| {
        let number = section.findings.iter().filter(|f| f.verdict == verdict).count();
        Cell::Short(if number == 0 { "–".to_owned() } else { number.to_string() })
    };
    let shows = match &section.cannot {
        Some(why) => format!("{}. Not shown: {why}", section.shows),
        None => section.shows.to_owned(),
    };
    let cells = vec![
        Cell::Words(section.place.to_owned()),
        Cell::Words(shows),
        count(Verdict::Holds),
        count(Verdict::Differs),
        count(Verdict::NotComparable),
    ];
    Row { cells, note: String::new() }
}

fn part(section: &Told) -> Part {
    let mut before = vec![format!("Discussed in section {}.", section.section)];
    before.extend(section.cannot.iter().map(|why| format!("Not shown: {why}")));
    before.extend(section.notes.iter().cloned());
    let columns = ["what", "setting", "published", "ours", "difference", "rule", "verdict"];
    let table = Grid {
        columns: columns.map(str::to_owned).into(),
        rows: section.findings.iter().map(row).collect(),
    };
    let terms = section.runs.iter().map(|run| {
        let mean = run.mean_cct_s.map_or(String::new(), |mean| format!("; mean CCT {mean:.4} s"));
        let what = format!(
            "{} simulator, {:.4} Gbps, {}: {}{mean}",
            run.simulator,
            run.port_rate_bps / 1e9,
            run.trace,
            run.policy
        );
        (run.name.clone(), what)
    });
    Part {
        heading: format!("{}: {}", section.place, section.shows),
        before,
        table: Some(table).filter(|table| !table.rows.is_empty()),
        figures: section.figures.clone(),
        terms: terms.collect(),
    }
}

fn row(number: &Number) -> Row {
    let verdict = match number.verdict {
        Verdict::Holds => Some(true),
        Verdict::Differs => Some(false),
        Verdict::NotComparable | Verdict::NotPublished => None,
    };
    let cells = vec![
        Cell::Words(number.what.clone()),
        Cell::Label(number.setting.name().to_owned()),
        match number.says {
            Some(_) => Cell::Words(published(number)),
            None => Cell::Short(published(number)),
        },
        Cell::Short(value(number.ours, number.unit)),
        Cell::Short(difference(number)),
        Cell::Short(number.rule.clone()),
        Cell::Verdict(verdict, number.verdict.name().to_owned()),
    ];
    Row { cells, note: number.why.to_owned() }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
