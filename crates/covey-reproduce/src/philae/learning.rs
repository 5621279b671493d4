//! Figures 1 and 3: the cost of learning a coflow's size, and the error of the estimate.

use covey_report::{Figure, Plot};
use covey_trace::MB;

use super::comparison::{aalo, philae};
use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning, Section};
use crate::learning::Learned;
use crate::numbers::{mean, percent, percentile};
use crate::plan::{Results, RunId};
use crate::plots::cdf;

pub(super) const FIGURE_1: Item = Item {
    place: "Figure 1",
    section: "8.2",
    shows: "the part of its CCT after which a coflow's right queue is known",
    plan: Planning::Runs(|planner| {
        let aalo = aalo(&mut planner.plan, planner.trace);
        let philae = philae(&mut planner.plan, planner.trace, "philae");
        Ok(Box::new(move |results, section| figure_1(aalo, philae, results, section)))
    }),
};

/// What each policy learnt about a coflow, and the coflow's CCT in seconds under that policy.
struct LearnedByBoth {
    aalo: (Learned, f64),
    philae: (Learned, f64),
}

fn figure_1(
    aalo: RunId,
    philae: RunId,
    results: &Results<'_>,
    section: &mut Section,
) -> Result<(), String> {
    let workload = results.plan.workload(results.plan.get(aalo).trace);
    let (with_aalo, with_philae) = (results.get(aalo)?, results.get(philae)?);
    let mut both = Vec::new();
    for (k, coflow) in workload.coflows.iter().enumerate() {
        // Philae samples no thin coflow, and Aalo moves no coflow that ends in its first queue.
        let Some(Some(sampled)) = with_philae.learned.get(k).copied() else { continue };
        if coflow.size_bytes() <= 10.0 * MB {
            continue;
        }
        let cct_s = with_aalo.ccts_s[k];
        // A coflow that ends before Aalo's next decision never reaches its right queue.
        let never = Learned { after_s: cct_s, sent: coflow.size_bytes(), size: None };
        let found = with_aalo.learned.get(k).copied().flatten().unwrap_or(never);
        both.push(LearnedByBoth { aalo: (found, cct_s), philae: (sampled, with_philae.ccts_s[k]) });
    }
    let part = |(learned, cct_s): (Learned, f64)| 100.0 * learned.after_s / cct_s;
    let aalo_parts: Vec<f64> = both.iter().map(|b| part(b.aalo)).collect();
    let philae_parts: Vec<f64> = both.iter().map(|b| part(b.philae)).collect();
    let times: Vec<f64> = both.iter().map(|b| b.aalo.0.after_s / b.philae.0.after_s).collect();
    let bytes: Vec<f64> = both.iter().map(|b| b.aalo.0.sent / b.philae.0.sent).collect();
    section.note(format!(
        "{} coflows count: they are wider than 7 flows, so Philae samples them, and larger than 10 MB, so \
         Aalo moves them. Aalo knows the right queue when the coflow has sent enough to enter it, and Philae \
         when the last pilot has ended.",
        both.len()
    ));
    let fair = Setting::FairComparison;
    let runs = [aalo, philae];
    let published = |row, column| results.published("Figure 1", row, column);
    section.add(
        Finding::new(
            "Philae: part of CCT of 63 % of the coflows",
            fair,
            &runs,
            percentile(&philae_parts, 63.0),
        )
        .unit("%")
        .published(published("Philae", "part of CCT"), 0.5)
        .why(WHY_PHILAE),
    );
    section.add(
        Finding::new(
            "Aalo: part of CCT of 63 % of the coflows",
            fair,
            &runs,
            percentile(&aalo_parts, 63.0),
        )
        .unit("%")
        .published(published("Aalo", "part of CCT"), 0.25)
        .why(WHY_AALO),
    );
    section.add(
        Finding::new(
            "Aalo: coflows with more than 20 % of CCT",
            fair,
            &runs,
            percent(&aalo_parts, |p| p > 20.0),
        )
        .unit("%")
        .published(published("Aalo", "above 20 % of CCT"), 0.25)
        .why(WHY_SHARE),
    );
    for (what, row, ratios) in [("time", "time", &times), ("bytes", "bytes", &bytes)] {
        section.add(
            Finding::new(
                format!("{what} until the queue is known, Aalo over Philae, median"),
                fair,
                &runs,
                percentile(ratios, 50.0),
            )
            .published(published(row, "P50"), 0.25)
            .why(WHY_RATIO),
        );
    }
    section.figures.push(cdf(
        "Learning overhead",
        ["time until the right queue is known (% of CCT)", "coflows"],
        Some(20.0),
        vec![("Aalo".to_owned(), aalo_parts), ("Philae".to_owned(), philae_parts)],
        "Each coflow's time until its queue is known, divided by its CCT. The line is at 20 %.",
    ));
    Ok(())
}

const WHY_PHILAE: &str = "A larger part than published, but still a small one: pilots wait at their ports \
    for thin coflows and for pilots of other coflows.";
const WHY_AALO: &str = "A larger part than published. Here coflows count if both policies have to learn \
    their size; the paper's selection and its Aalo are not public. The direction is the paper's.";
const WHY_SHARE: &str = "More coflows than published, for the same reason as the larger part of the CCT: other coflows \
    count, and the paper's Aalo is not public.";
const WHY_RATIO: &str = "About half of the published ratio. Philae's bytes here include the flows that work \
    conservation sends beside the pilots.";

pub(super) const FIGURE_3: Item = Item {
    place: "Figure 3",
    section: "8.2",
    shows: "estimated against actual coflow sizes",
    plan: Planning::Runs(|planner| {
        let exact = philae(&mut planner.plan, planner.trace, "philae");
        let authors = planner.plan.authors(planner.trace, "philae");
        Ok(Box::new(move |results, section| {
            section.note(
                "Errors are over all coflows. Thin coflows have no error, since all their flows are pilots. \
                 Only this reading gives the published errors: over sampled coflows alone, errors are twice \
                 as large.",
            );
            figure_3(exact, Setting::FairComparison, results, section)?;
            figure_3(authors, Setting::PapersSetting, results, section)
        }))
    }),
};

/// Actual and estimated sizes in bytes of the sampled coflows of a run.
fn sizes(run: RunId, results: &Results<'_>) -> Result<Vec<[f64; 2]>, String> {
    let workload = results.plan.workload(results.plan.get(run).trace);
    let learned = &results.get(run)?.learned;
    let both = workload.coflows.iter().zip(learned).filter_map(|(coflow, learned)| {
        let size = learned.as_ref()?.size?;
        Some([coflow.size_bytes(), size])
    });
    Ok(both.collect())
}

/// Relative errors of the estimated sizes of a run, ascending, over all coflows. The size of a thin
/// coflow has no error, since all its flows are pilots. This reading gives the published errors;
/// over sampled coflows alone, errors are twice as large.
pub(super) fn errors(run: RunId, results: &Results<'_>) -> Result<Vec<f64>, String> {
    let sizes = sizes(run, results)?;
    let mut errors: Vec<f64> = sizes.iter().map(|[a, e]| (e / a - 1.0).abs()).collect();
    errors.resize(results.get(run)?.ccts_s.len(), 0.0);
    errors.sort_unstable_by(f64::total_cmp);
    Ok(errors)
}

fn figure_3(
    run: RunId,
    setting: Setting,
    results: &Results<'_>,
    section: &mut Section,
) -> Result<(), String> {
    let errors = errors(run, results)?;
    let all = results.get(run)?.ccts_s.len();
    let published = |row, column| results.published("Figure 3", row, column);
    let sampled = sizes(run, results)?.len();
    let unsampled = 100.0 * (all - sampled) as f64 / all as f64;
    section.add(
        Finding::new("coflows without pilots", setting, &[run], unsampled)
            .unit("%")
            .published(published("coflows", "share"), 0.03),
    );
    for (column, share) in [("100%", 1.0), ("99%", 0.99), ("95%", 0.95)] {
        let best = &errors[..(errors.len() as f64 * share) as usize];
        let deviation =
            mean(&best.iter().map(|e| (e - mean(best)).powi(2)).collect::<Vec<_>>()).sqrt();
        for (row, ours) in [("mean", mean(best)), ("standard deviation", deviation)] {
            let what = format!("relative error, {row}, best {column}");
            section.add(
                Finding::new(what, setting, &[run], ours)
                    .unit("")
                    .published(published(row, column), 0.2)
                    .why(WHY_ERROR),
            );
        }
    }
    let over_sampled = errors.iter().sum::<f64>() / sampled as f64;
    let what = "relative error, mean, over sampled coflows alone";
    section.add(Finding::new(what, setting, &[run], over_sampled).unit(""));
    let points = sizes(run, results)?.iter().map(|both| both.map(|bytes| bytes / MB)).collect();
    section.figures.push(Figure {
        title: format!("Estimated against actual sizes, {}", setting.name()),
        caption: "Each point is a sampled coflow. On the line the estimate is exact.".to_owned(),
        plot: Plot::Scatter {
            x: "actual size (MB)".to_owned(),
            y: "estimated size (MB)".to_owned(),
            points: vec![("coflows".to_owned(), points)],
        },
    });
    Ok(())
}

const WHY_ERROR: &str = "The error depends on which flows are pilots, and the paper does not say how it orders \
    equally busy ports. Flows to different reducers have different sizes.";
