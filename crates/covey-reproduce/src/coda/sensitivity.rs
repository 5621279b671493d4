//! §6.4: the diameter of late binding, and the radius of clustering.

use crate::finding::{Finding, LEAST_GAIN, Rule, Setting};
use crate::item::{Item, Planning};
use crate::plots::curves;

use super::rungs::{ON_RUNGS, rung};

/// The rung on which parameters vary: coflows overlap, and most flows are identified.
const RUNG: &str = "mixed-denser";

/// An item for one parameter: its values, and the policy for each.
macro_rules! sweep {
    ($place:literal, $shows:literal, $axis:literal, $values:expr, $policy:expr, $claim:expr) => {
        Item {
            place: $place,
            section: "6.4",
            shows: $shows,
            plan: Planning::Runs(|planner| {
                let trace = rung(planner, RUNG)?;
                let fair = planner.plan.exact(trace, "fair");
                let runs = $values.map(|value: f64| {
                    let policy: String = $policy(value);
                    (value, planner.plan.exact(trace, &policy))
                });
                Ok(Box::new(move |results, section| {
                    section.note(format!("On the rung `{RUNG}` of the ladder. The other parameters have their defaults."));
                    section.note(ON_RUNGS);
                    let mut points = Vec::new();
                    let claim: Option<(&'static str, &'static str)> = $claim;
                    let least = results.gain(fair, runs[0].1)? * LEAST_GAIN;
                    let least = (least * 1e3).round() / 1e3;
                    for (value, run) in runs {
                        let gain = results.gain(fair, run)?;
                        let what = format!("{} = {value}", $axis);
                        let found =
                            Finding::new(what, Setting::FairComparison, &[fair, run], gain);
                        section.add(match claim.filter(|_| run != runs[0].1) {
                            Some((says, why)) => found.says(says, Rule::AtLeast(least)).why(why),
                            None => found,
                        });
                        points.push([value, gain]);
                    }
                    section.figures.push(curves(
                        "CODA's gain over per-flow fairness",
                        [$axis, "gain in mean CCT"],
                        vec![($axis.to_owned(), points)],
                        "In units of the metric.",
                    ));
                    Ok(())
                }))
            }),
        }
    };
}

pub(super) const DIAMETER: Item = sweep!(
    "Section 6.4, d",
    "gain over per-flow fairness by the diameter of late binding",
    "d",
    [1.0, 1.05, 1.1, 1.25, 1.5, 2.0],
    |d| format!("coda:confidence=0,d={d}"),
    Some((
        "a wide range of diameters is beneficial: better than with the least",
        "Nearly no flow is left out of its coflow here, so that a larger diameter only adds wrong ones."
    ))
);

pub(super) const RADIUS: Item = sweep!(
    "Section 6.4, radius",
    "gain over per-flow fairness by the radius of clustering",
    "eps",
    [0.3, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5],
    |eps| format!("coda:confidence=0,eps={eps},tau={},d={eps}", eps / 2.0),
    None
);
