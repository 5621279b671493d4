//! Tables for notebooks.

use std::fmt::Display;

use covey_report::{Distribution, Speedup, Summary};
use covey_reproduce::report::{ItemReport, Number, Report};
use covey_trace::{MB, Stats};

/// A table, with a heading for each column and the first cell of each row as the row's heading.
pub fn table(head: &[impl AsRef<str>], rows: &[Vec<String>]) -> String {
    let head: String = head.iter().map(|cell| element("th", cell.as_ref())).collect();
    let rows: String = rows.iter().map(|row| format!("<tr>{}</tr>", cells(row))).collect();
    format!("<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
}

fn cells(row: &[String]) -> String {
    let (first, others) = row.split_at(row.len().min(1));
    let heading = first.iter().map(|cell| element("th", cell));
    heading.chain(others.iter().map(|cell| element("td", cell))).collect()
}

/// Paragraphs.
pub fn notes(notes: impl IntoIterator<Item = impl Display>) -> String {
    notes.into_iter().map(|note| element("p", &note.to_string())).collect()
}

fn element(name: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<{name}>{text}</{name}>")
}

/// A number with four digits that say something, or all of a large whole number.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    format!("{value:.*}", (3 - magnitude).clamp(0, 9) as usize)
}

fn row(label: &str, values: impl IntoIterator<Item = f64>) -> Vec<String> {
    std::iter::once(label.to_owned()).chain(values.into_iter().map(number)).collect()
}

/// The sentences below the table of a text.
fn sentences(text: &str) -> String {
    notes(text.split_once("\n\n").map_or("", |(_, below)| below).lines())
}

/// One policy on one trace.
pub fn summary(summary: &Summary) -> String {
    let each = [
        ("CCT (s)", Some(summary.cct_s)),
        ("FCT (s)", Some(summary.fct_s)),
        ("JCT (s)", summary.jct_s),
    ];
    let of = |d: Distribution| [d.mean, d.p50, d.p90, d.p95, d.p99, d.max];
    let rows: Vec<_> =
        each.into_iter().filter_map(|(label, values)| Some(row(label, of(values?)))).collect();
    let head = ["", "mean", "p50", "p90", "p95", "p99", "max"];
    table(&head, &rows) + &sentences(&summary.to_string())
}

/// A column of a comparison: its heading, and its value if the policy has one.
type Column = (&'static str, fn(&Summary, &Speedup) -> Option<f64>);

const COLUMNS: [Column; 13] = [
    ("mean CCT (s)", |run, _| Some(run.cct_s.mean)),
    ("p50 (s)", |run, _| Some(run.cct_s.p50)),
    ("p95 (s)", |run, _| Some(run.cct_s.p95)),
    ("p99 (s)", |run, _| Some(run.cct_s.p99)),
    ("max (s)", |run, _| Some(run.cct_s.max)),
    ("speed-up of mean", |_, speedup| Some(speedup.mean_of_means)),
    ("speed-up, median", |_, speedup| Some(speedup.p50)),
    ("mean / bound", |run, _| run.mean_over_bound()),
    ("weighted CCT (s)", |run, _| run.weighted_mean_cct_s),
    ("mean JCT (s)", |run, _| run.jct_s.map(|jct| jct.mean)),
    ("speed-up of JCT, median", |_, speedup| speedup.jct.as_ref().map(|jct| jct.p50)),
    ("deadlines met", |run, _| run.deadlines_met.map(|met| met as f64)),
    ("simulated in (s)", |run, _| Some(run.wall_s)),
];

/// Several policies on one trace.
pub fn comparison(comparison: &covey_report::Comparison) -> String {
    let runs = || comparison.summaries().iter().zip(comparison.speedups());
    let columns = COLUMNS.iter().filter(|(_, of)| runs().any(|(run, s)| of(run, s).is_some()));
    let columns: Vec<_> = columns.collect();
    let head: Vec<_> = [""].into_iter().chain(columns.iter().map(|(name, _)| *name)).collect();
    let rows = runs().map(|(run, speedup)| {
        row(&run.label, columns.iter().map(|(_, of)| of(run, speedup).unwrap_or(f64::NAN)))
    });
    table(&head, &rows.collect::<Vec<_>>()) + &sentences(&comparison.to_string())
}

/// Several policies on several traces, which differ by their seed.
pub fn over_seeds(compared: &covey_report::OverSeeds) -> String {
    let head = ["", "mean CCT (s)", "speed-up of mean", "95 %, from", "to", "speed-up, median"];
    let rows = compared.speedups().iter().map(|it| {
        let end = |of: fn(covey_report::Interval) -> f64| it.interval.map_or(f64::NAN, of);
        let ends = [end(|interval| interval.low), end(|interval| interval.high)];
        row(&it.label, [it.mean_cct_s, it.mean_of_means, ends[0], ends[1], it.p50])
    });
    table(&head, &rows.collect::<Vec<_>>()) + &sentences(&compared.to_string())
}

/// A trace.
pub fn stats(name: &str, stats: &Stats) -> String {
    let each = [
        ("gap between arrivals (s)", stats.gap_s, 1.0),
        ("width (flows)", stats.width, 1.0),
        ("longest flow (MB)", stats.length_bytes, MB),
        ("size (MB)", stats.size_bytes, MB),
        ("longest over shortest flow", stats.skew, 1.0),
    ];
    let rows = each.into_iter().filter_map(|(label, quantiles, unit)| {
        let q = quantiles?;
        let values = [q.min, q.p10, q.p50, q.p90, q.p99, q.max, q.mean];
        Some(row(label, values.map(|value| value / unit)))
    });
    let head = ["", "min", "p10", "p50", "p90", "p99", "max", "mean"];
    let facts = format!(
        "{name}: {} coflows, {} flows, {} MB over {} ports, arriving from {} s to {} s. 1 MB = 1,048,576 bytes.",
        stats.coflows,
        stats.flows,
        number(stats.bytes / MB),
        stats.ports,
        number(stats.first_arrival_s.as_secs()),
        number(stats.last_arrival_s.as_secs()),
    );
    table(&head, &rows.collect::<Vec<_>>()) + &notes([facts])
}

/// What was found of a paper.
pub fn report(report: &Report) -> String {
    let title = element("h3", &format!("{}, {}", report.title, report.venue));
    title + &report.sections.iter().map(section).collect::<String>()
}

fn section(told: &ItemReport) -> String {
    let title = format!("{} (section {}): {}", told.place, told.section, told.shows);
    let why = told.cannot.as_ref().map(|why| format!("Not shown: {why}"));
    let head = ["", "setting", "published", "ours", "difference", "verdict"];
    let rows: Vec<_> = told.findings.iter().map(finding).collect();
    let found = if rows.is_empty() { String::new() } else { table(&head, &rows) };
    element("h4", &title) + &notes(why.iter().chain(&told.notes)) + &found
}

fn finding(found: &Number) -> Vec<String> {
    let with_unit = |value| format!("{} {}", number(value), found.unit).trim_end().to_owned();
    let published = found.published.map(with_unit).or_else(|| found.says.clone());
    vec![
        found.what.clone(),
        found.setting.name().to_owned(),
        published.unwrap_or_default(),
        with_unit(found.ours),
        found.difference.map_or(String::new(), |d| format!("{:+.1} %", 100.0 * d)),
        found.verdict.name().to_owned(),
    ]
}
