//! Builds the figures of a report.

use covey_report::{Figure, Plot};

use crate::finding::{Finding, Published, Setting};
use crate::numbers::thinned;

/// A curve of more values is drawn through this number of points.
const MAX_POINTS: usize = 500;

/// Draws findings as bars. Each label has a group of bars: published, fair comparison, paper's
/// setting.
pub fn bars(title: &str, x: &str, findings: &[Finding]) -> Figure {
    let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
    for finding in findings {
        let existing = groups.iter().position(|(what, _)| *what == finding.what);
        let group = existing.unwrap_or_else(|| {
            groups.push((finding.what.clone(), vec![f64::NAN; 3]));
            groups.len() - 1
        });
        let bars = &mut groups[group].1;
        if let Published::Value(value) = finding.published {
            bars[0] = value;
        }
        match finding.setting {
            Setting::FairComparison => bars[1] = finding.ours,
            Setting::PapersSetting => bars[2] = finding.ours,
            Setting::Live | Setting::Testbed | Setting::Spark => {}
        }
    }
    let unit = findings.first().map_or("", |finding| finding.unit);
    let series = ["published", "fair comparison", "paper's setting"].map(str::to_owned).into();
    let caption = "Published values beside ours. Bars begin at 1, or at the edge of the plot if all values are \
                   above or below 1; the axis is logarithmic."
        .to_owned();
    Figure {
        title: title.to_owned(),
        caption,
        plot: Plot::Bars { x: x.to_owned(), unit: unit.to_owned(), series, groups },
    }
}

/// Draws cumulative distributions, with an optional vertical line at `mark`. `x` labels the axis
/// and `of` names what is counted.
pub fn cdf(
    title: &str,
    [x, of]: [&str; 2],
    mark: Option<f64>,
    curves: Vec<(String, Vec<f64>)>,
    caption: &str,
) -> Figure {
    let curves =
        curves.into_iter().map(|(name, values)| (name, thinned(&values, MAX_POINTS))).collect();
    let plot = Plot::Cdf { x: x.to_owned(), of: of.to_owned(), mark, curves };
    Figure { title: title.to_owned(), caption: caption.to_owned(), plot }
}

/// Draws curves through points. `x` and `y` label the axes.
pub fn curves(
    title: &str,
    [x, y]: [&str; 2],
    curves: Vec<(String, Vec<[f64; 2]>)>,
    caption: &str,
) -> Figure {
    let plot = Plot::Curves { x: x.to_owned(), y: y.to_owned(), curves };
    Figure { title: title.to_owned(), caption: caption.to_owned(), plot }
}
