//! Figures 7(a) to 7(c): speed-ups for several values of Philae's parameters. Aalo keeps its
//! defaults.

use super::comparison::Comparison;
use crate::finding::{BETTER, Finding, Rule, Setting};
use crate::item::{Item, Planner, Planning, Section};
use crate::plan::Results;
use crate::plots::curves;

/// The values of a parameter, each with the comparison of Philae with Aalo in both settings.
type Sweep = Vec<(u32, [Comparison; 2])>;

/// Plans Philae with each of the values. The value `default` shares its run with other items.
fn sweep(planner: &mut Planner, values: &[u32], default: u32, spec: fn(u32) -> String) -> Sweep {
    let one = |&value: &u32| {
        let policy = if value == default { "philae".to_owned() } else { spec(value) };
        (value, Comparison::with_aalo(&mut planner.plan, planner.trace, &policy))
    };
    values.iter().map(one).collect()
}

/// The points (value, speed-up) of a column in one setting.
fn points(
    sweep: &Sweep,
    setting: usize,
    column: &str,
    results: &Results<'_>,
) -> Result<Vec<[f64; 2]>, String> {
    let one = |(value, comparisons): &(u32, [Comparison; 2])| {
        Ok([f64::from(*value), comparisons[setting].speedup(column, results)?])
    };
    sweep.iter().map(one).collect()
}

/// Draws the speed-ups of the mean CCT and the median speed-ups over the values.
fn draw(
    x: &str,
    sweep: &Sweep,
    results: &Results<'_>,
    section: &mut Section,
) -> Result<(), String> {
    let mut drawn = Vec::new();
    for (setting, name) in ["fair comparison", "paper's setting"].into_iter().enumerate() {
        for column in ["mean of CCTs", "P50"] {
            let points = points(sweep, setting, column, results)?;
            // The axis is logarithmic and cannot show 0.
            let points = points.into_iter().map(|[x, y]| [x.max(0.5), y]).collect();
            drawn.push((format!("{column}, {name}"), points));
        }
    }
    let caption = "Speed-up of Philae over Aalo. Aalo's parameters do not change.";
    section.figures.push(curves("Speed-up over Aalo", [x, "speed-up"], drawn, caption));
    Ok(())
}

/// Makes findings from the points of a column, in each setting. All runs of the sweep count as
/// their source.
fn over_all(
    sweep: &Sweep,
    column: &str,
    results: &Results<'_>,
    mut find: impl FnMut(Setting, Vec<[f64; 2]>) -> Vec<Finding>,
) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for setting in 0..2 {
        let runs: Vec<_> =
            sweep.iter().flat_map(|(_, p)| [p[setting].base, p[setting].philae]).collect();
        let kind = sweep.first().map_or(Setting::FairComparison, |(_, p)| p[setting].setting);
        for finding in find(kind, points(sweep, setting, column, results)?) {
            findings.push(Finding { runs: runs.clone(), ..finding });
        }
    }
    Ok(findings)
}

/// The speed-up at the value `x`; NaN if there is none.
fn at(points: &[[f64; 2]], x: f64) -> f64 {
    points.iter().find(|point| point[0] == x).map_or(f64::NAN, |point| point[1])
}

/// The greatest difference from the speed-up at the value `x`, in percent of the latter.
fn spread(points: &[[f64; 2]], x: f64) -> f64 {
    let base = at(points, x);
    points.iter().map(|point| 100.0 * (point[1] / base - 1.0).abs()).fold(0.0, f64::max)
}

pub(super) const FIGURE_7A: Item = Item {
    place: "Figure 7(a)",
    section: "8.6",
    shows: "the limit of thin coflows",
    plan: Planning::Runs(|planner| {
        let sweep = sweep(planner, &[0, 3, 7, 30], 7, |thin| format!("philae:thin={thin}"));
        Ok(Box::new(move |results, section| {
            let means = over_all(&sweep, "mean of CCTs", results, |setting, points| {
                let what = "mean of CCTs: greatest difference from that at 7";
                vec![
                    Finding::new(what, setting, &[], spread(&points, 7.0))
                        .unit("%")
                        .says("the mean hardly changes", Rule::AtMost(5.0))
                        .why(WHY_7A),
                ]
            })?;
            let medians = over_all(&sweep, "P50", results, |setting, points| {
                let (before, after) =
                    (at(&points, 7.0) / at(&points, 0.0), at(&points, 30.0) / at(&points, 7.0));
                vec![
                    Finding::new("P50 at 7 over that at 0", setting, &[], before)
                        .says("P50 grows up to 7", Rule::AtLeast(1.02))
                        .why(WHY_7A),
                    Finding::new("P50 at 30 over that at 7", setting, &[], after)
                        .says("P50 tapers off after 7", Rule::AtMost(1.02))
                        .why(WHY_7A),
                ]
            })?;
            section.findings = [means, medians].concat();
            draw("limit of thin coflows (flows)", &sweep, results, section)
        }))
    }),
};

const WHY_7A: &str = "P50 is near 1 for each limit (see Table 3). In the authors' program another limit selects \
    other pilots, which change the mean in either direction, and by more than published.";

pub(super) const FIGURE_7B: Item = Item {
    place: "Figure 7(b)",
    section: "8.6",
    shows: "the limit of the first queue",
    plan: Planning::Runs(|planner| {
        let sweep = sweep(planner, &[2, 4, 10, 16, 32, 64], 10, |q1| format!("philae:q1={q1}MiB"));
        Ok(Box::new(move |results, section| {
            section.findings = over_all(&sweep, "mean of CCTs", results, |setting, points| {
                let what = "mean of CCTs: greatest difference from that at 10 MB";
                vec![
                    Finding::new(what, setting, &[], spread(&points, 10.0))
                        .unit("%")
                        .says("within 8 % of that for 10 MB", Rule::AtMost(8.0))
                        .why(WHY_7B),
                ]
            })?;
            draw("limit of the first queue (MB)", &sweep, results, section)
        }))
    }),
};

const WHY_7B: &str = "A few coflows of terabytes decide the mean. It depends on the limits between which these \
    coflows fall: the mean goes up and down as in the paper, but further.";

/// The number of queues for a factor. The last limit is at least that of ten queues with a factor
/// of 10. The paper says: "as E grows, the number of queues decreases".
fn queues(factor: u32) -> u32 {
    2 + (8.0 / f64::from(factor).log10()).ceil() as u32
}

pub(super) const FIGURE_7C: Item = Item {
    place: "Figure 7(c)",
    section: "8.6",
    shows: "the factor between queues",
    plan: Planning::Runs(|planner| {
        let sweep = sweep(planner, &[2, 4, 10, 64], 10, |factor| {
            format!("philae:K={},E={factor}", queues(factor))
        });
        Ok(Box::new(move |results, section| {
            section.findings = over_all(&sweep, "mean of CCTs", results, |setting, points| {
                vec![
                    Finding::new(
                        "mean of CCTs: at 2 over that at 64",
                        setting,
                        &[],
                        at(&points, 2.0) / at(&points, 64.0),
                    )
                    .says("smaller factors perform better", BETTER),
                    Finding::new(
                        "mean of CCTs: at 2 over that at 10",
                        setting,
                        &[],
                        at(&points, 2.0) / at(&points, 10.0),
                    )
                    .says("smaller factors perform better", BETTER),
                ]
            })?;
            draw("factor between queues", &sweep, results, section)
        }))
    }),
};
