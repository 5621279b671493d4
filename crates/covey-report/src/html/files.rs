//! The figures of a comparison as files for a paper or a talk.

use super::figures::{draw, keys};
use crate::palette::{COLOURS, DASHES, styles};
use crate::table::Table;
use crate::{Bin, Comparison, Figure, OverSeeds, Plot, SeedsSpeedup, mean_cct_by_bin};
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

/// For what figures are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FigureStyle {
    /// A column of a page with two: 85 mm.
    #[default]
    Column,
    /// The width of a page: 170 mm.
    Page,
    /// A slide: 250 mm, with thick lines.
    Talk,
}

impl FigureStyle {
    /// Width in millimetres, size of letters and width of lines in units of the drawing, of which
    /// 560 are the width.
    fn sizes(self) -> (f64, f64, f64) {
        match self {
            FigureStyle::Column => (85.0, 20.0, 2.5),
            FigureStyle::Page => (170.0, 12.0, 1.5),
            FigureStyle::Talk => (250.0, 20.0, 3.5),
        }
    }
}

/// Width of a drawing in its units, height of a line of the legend, and room above a drawing for
/// letters larger than those of pages.
const WIDTH: f64 = 560.0;
const LINE: f64 = 24.0;
const ABOVE: f64 = 6.0;

/// Figures and table of a comparison: the name of each file, and what is in it. Each figure is an
/// SVG with the CSV of what it shows; the table is there for LaTeX and for Markdown.
pub fn figure_files(comparison: &Comparison, style: FigureStyle) -> Vec<(String, String)> {
    let mut table = Table::of(comparison);
    // It differs from run to run.
    table.columns.retain(|column| column.heading[0] != "wall");
    files(&figures(comparison), &table, style)
}

/// The same of a comparison over seeds.
pub fn seeds_figure_files(compared: &OverSeeds, style: FigureStyle) -> Vec<(String, String)> {
    let base = compared.baseline();
    let others = compared.speedups().iter().enumerate().filter(|(place, _)| *place != base);
    let curve = |(place, it): (usize, &SeedsSpeedup)| {
        (it.label.clone(), compared.by_seed(place).collect::<Vec<f64>>())
    };
    let figure = Figure {
        title: format!("Speed-ups over {}, seed by seed", compared.speedups()[base].label),
        caption: String::new(),
        plot: Plot::Cdf {
            x: "speed-up of the mean CCT".to_owned(),
            of: "seeds".to_owned(),
            mark: Some(1.0),
            curves: others.map(curve).collect(),
        },
    };
    let figures = if compared.speedups().len() > 1 { vec![("seeds", figure)] } else { Vec::new() };
    files(&figures, &compared.table(), style)
}

fn files(
    figures: &[(&'static str, Figure)],
    table: &Table,
    style: FigureStyle,
) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (name, figure) in figures {
        files.push((format!("{name}.svg"), svg(figure, style)));
        files.push((format!("{name}.csv"), csv(&figure.plot)));
    }
    files.push(("table.tex".to_owned(), latex(table)));
    files.push(("table.md".to_owned(), markdown(table)));
    files
}

fn figures(comparison: &Comparison) -> Vec<(&'static str, Figure)> {
    let labels: Vec<String> = comparison.summaries().iter().map(|it| it.label.clone()).collect();
    let base = &labels[comparison.baseline()];
    let figure =
        |title: &str, plot| Figure { title: title.to_owned(), caption: String::new(), plot };
    let ccts = labels.iter().cloned().zip(comparison.coflows().cct_s.iter().cloned());
    let ccts: Vec<(String, Vec<f64>)> = ccts.collect();
    let (x, of) = ("CCT (s)".to_owned(), "coflows".to_owned());
    let tail = Plot::Tail { x: x.clone(), of: of.clone(), curves: ccts.clone() };
    let cct = Plot::Cdf { x, of: of.clone(), mark: None, curves: ccts };
    let mut all = vec![
        ("cct", figure("Coflow completion times", cct)),
        ("tail", figure("The tail of coflow completion times", tail)),
    ];
    if labels.len() < 2 {
        return all;
    }
    let others = labels.iter().enumerate().filter(|(place, _)| *place != comparison.baseline());
    let curve =
        |(place, label): (usize, &String)| (label.clone(), comparison.ratios(place).collect());
    let curves = others.map(curve).collect();
    let x = "speed-up of a coflow".to_owned();
    let speedup = Plot::Cdf { x, of, mark: Some(1.0), curves };
    all.push(("speedup", figure(&format!("Speed-ups over {base}"), speedup)));
    let places = 0..labels.len();
    let means: Vec<_> = places.map(|place| mean_cct_by_bin(comparison.coflows(), place)).collect();
    let group = |(k, bin): (usize, &Bin)| {
        let base_s = means[comparison.baseline()][k].mean_cct_s;
        (bin.name().to_owned(), means.iter().map(|of| base_s / of[k].mean_cct_s).collect())
    };
    let plot = Plot::Bars {
        x: "speed-up of the mean CCT".to_owned(),
        unit: "×".to_owned(),
        series: labels.clone(),
        groups: Bin::ALL.iter().enumerate().map(group).collect(),
    };
    all.push(("bins", figure(&format!("Speed-ups over {base} by kind of coflow"), plot)));
    all
}

/// A figure as a file that needs no other.
fn svg(figure: &Figure, style: FigureStyle) -> String {
    let (drawing, _) = draw(&figure.title, &figure.plot);
    let drawing = drawing.into_string();
    let height = drawn_height(&drawing);
    let sized = format!("<svg width=\"{WIDTH}\" height=\"{height}\"");
    let drawing = drawing.replacen("<svg", &sized, 1);
    let keys: Vec<(String, Markup)> = keys(&figure.plot);
    let whole = ABOVE + height + LINE * keys.len() as f64 + 8.0;
    let width_mm = style.sizes().0;
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 " (-ABOVE) " " (WIDTH) " " (whole) }
            width={ (width_mm) "mm" } height={ (format!("{:.2}", width_mm * whole / WIDTH)) "mm" }
            role="img" aria-label=(figure.title) {
            style { (PreEscaped(rules(style, &figure.plot))) }
            rect y=(-ABOVE) width=(WIDTH) height=(whole) fill="#ffffff" {}
            (PreEscaped(drawing))
            @for (k, (name, sample)) in (0_u32..).zip(&keys) {
                @let top = height + LINE * f64::from(k);
                g transform={ "translate(60 " (top) ")" } { (sample) }
                text x="100" y=(top + 11.0) { (name) }
            }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", picture.into_string())
}

/// The height of a drawing, as its `viewBox` says.
fn drawn_height(drawing: &str) -> f64 {
    let numbers = drawing.split("viewBox=\"").nth(1).and_then(|rest| rest.split('"').next());
    let height = numbers.and_then(|numbers| numbers.split(' ').nth(3));
    height.and_then(|height| height.parse().ok()).unwrap_or(WIDTH)
}

fn rules(style: FigureStyle, plot: &Plot) -> String {
    let (_, letters, line) = style.sizes();
    let mut css = format!(
        "text{{font:{letters}px sans-serif;fill:#1a1a1a}}.middle{{text-anchor:middle}}.end{{text-anchor:end}}\
         .grid{{stroke:#e5e5e5}}.grid.major{{stroke:#c8c8c8}}.mark{{stroke:#1a1a1a;stroke-width:1.5}}\
         .curve{{fill:none;stroke-width:{line};stroke-linejoin:round}}"
    );
    for (k, colour) in COLOURS.iter().enumerate() {
        let colour = colour.light;
        let _ = write!(css, ".curve.c{k},.dot.c{k}{{stroke:{colour}}}");
    }
    if let Plot::Bars { series, .. } = plot {
        // Classes of bars are places in the list.
        let labels: Vec<&str> = series.iter().map(String::as_str).collect();
        for (k, style) in styles(&labels, None).into_iter().enumerate() {
            let _ = write!(css, ".bar.c{k}{{fill:{}}}", COLOURS[style.colour].light);
        }
    }
    for (k, dashes) in DASHES.iter().enumerate().filter(|(_, dashes)| !dashes.is_empty()) {
        let lengths: Vec<String> = dashes.iter().map(f64::to_string).collect();
        let _ = write!(css, ".curve.d{k}{{stroke-dasharray:{}}}", lengths.join(" "));
    }
    css
}

/// What a figure shows: a row for each value.
fn csv(plot: &Plot) -> String {
    let mut rows = Vec::new();
    let head: &[&str] = match plot {
        Plot::Cdf { curves, .. } | Plot::Tail { curves, .. } => {
            for (name, values) in curves {
                let sorted = crate::stats::sorted(values.iter().copied());
                let all = sorted.len() as f64;
                let share = |k: usize| match plot {
                    Plot::Tail { .. } => (all - k as f64) / all,
                    _ => (k + 1) as f64 / all,
                };
                let row = |(k, value): (usize, &f64)| {
                    vec![name.clone(), value.to_string(), share(k).to_string()]
                };
                rows.extend(sorted.iter().enumerate().map(row));
            }
            &["policy", "value", "share"]
        }
        Plot::Bars { series, groups, .. } => {
            for (group, values) in groups {
                let row = |(name, value): (&String, &f64)| {
                    vec![group.clone(), name.clone(), value.to_string()]
                };
                rows.extend(series.iter().zip(values).map(row));
            }
            &["group", "policy", "value"]
        }
        Plot::Scatter { points: curves, .. } | Plot::Curves { curves, .. } => {
            for (name, points) in curves {
                let row = |[x, y]: &[f64; 2]| vec![name.clone(), x.to_string(), y.to_string()];
                rows.extend(points.iter().map(row));
            }
            &["name", "x", "y"]
        }
    };
    let mut out = csv::Writer::from_writer(Vec::new());
    // Nothing that is written to memory fails.
    let _ = out.write_record(head);
    rows.iter().for_each(|row| drop(out.write_record(row)));
    out.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn latex(table: &Table) -> String {
    let escaped = |text: &str| {
        let mut escaped = String::new();
        for c in text.chars() {
            match c {
                '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
                '\\' => escaped.push_str("\\textbackslash{}"),
                '~' => escaped.push_str("\\textasciitilde{}"),
                '^' => escaped.push_str("\\textasciicircum{}"),
                '–' => escaped.push_str("--"),
                '∞' => escaped.push_str("$\\infty$"),
                '<' | '>' => escaped.extend(['$', c, '$']),
                c => escaped.push(c),
            }
        }
        escaped
    };
    let row = |first: &str, cells: &mut dyn Iterator<Item = &String>| {
        let cells: Vec<String> = cells.map(|cell| escaped(cell)).collect();
        format!("{} & {} \\\\\n", escaped(first), cells.join(" & "))
    };
    let columns = || table.columns.iter();
    let mut tex = format!("\\begin{{tabular}}{{l{}}}\n\\hline\n", "r".repeat(table.columns.len()));
    tex += &row("policy", &mut columns().map(|column| &column.heading[0]));
    tex += &row("", &mut columns().map(|column| &column.heading[1]));
    tex += "\\hline\n";
    for (k, label) in table.labels.iter().enumerate() {
        tex += &row(label, &mut columns().map(|column| &column.cells[k]));
    }
    tex + "\\hline\n\\end{tabular}\n"
}

fn markdown(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let with = |first: &str, cells: Vec<String>| {
        let escaped = first.replace('|', "\\|");
        row(std::iter::once(escaped).chain(cells).collect())
    };
    let headings = table.columns.iter().map(|column| column.heading.join(" ")).collect();
    let mut text = with("policy", headings);
    text += &format!("|---|{}\n", "--:|".repeat(table.columns.len()));
    for (k, label) in table.labels.iter().enumerate() {
        text += &with(label, table.columns.iter().map(|column| column.cells[k].clone()).collect());
    }
    text
}
