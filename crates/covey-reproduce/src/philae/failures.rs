//! Section 4.6: completion times while hosts fail and flows have second attempts.

use covey_trace::TraceError;
use covey_trace::transform::{Failures, failures};

use crate::finding::{Finding, Setting};
use crate::item::{Item, Planner, Planning};
use crate::numbers::mean;
use crate::plan::RunId;
use crate::plots::curves;

/// The policies: Philae as it is by default and with the size that the section describes, Aalo,
/// Covey's own, and one that knows all sizes.
const POLICIES: [&str; 5] = ["philae", "philae:size=left", "aalo", "covey", "sebf"];

/// Hours between two failures of a host, on average.
const MTBF_H: [f64; 2] = [6.0, 1.5];

/// The share of flows with a second attempt, and the seconds after which it starts.
const ATTEMPTS: (f64, f64) = (0.001, 20.0);

const SEEDS: [u64; 2] = [1, 2];

pub(super) const SECTION_4_6: Item = Item {
    place: "Section 4.6",
    section: "4.6",
    shows: "mean CCT while hosts fail and return, and stragglers have second attempts",
    plan: Planning::Runs(|planner| {
        let without = POLICIES.map(|policy| planner.plan.exact(planner.trace, policy));
        let mut kinds: Vec<(String, f64, Vec<Runs>)> = Vec::new();
        for mtbf_h in MTBF_H {
            let how = Failures {
                mtbf_s: Some(mtbf_h * 3600.0),
                mttr_s: 60.0,
                lose: 0.5,
                ..Failures::default()
            };
            let kind = format!("a failure of each host in {mtbf_h} h");
            kinds.push((kind, 1.0 / mtbf_h, with(planner, &how)?));
        }
        let (attempts, after_s) = ATTEMPTS;
        let how = Failures {
            mtbf_s: Some(6.0 * 3600.0),
            lose: 0.5,
            attempts,
            after_s,
            ..Failures::default()
        };
        let kind =
            format!("a failure in 6 h, and second attempts of {} % of flows", 100.0 * attempts);
        kinds.push((kind, f64::NAN, with(planner, &how)?));
        Ok(Box::new(move |results, section| {
            section.note(format!(
                "The paper has no numbers for this section. Hosts fail at random (covey trace failures, seeds {} to \
                 {}), and return after a minute on average. After half of the failures flows begin again; after the \
                 others they go on. A second attempt starts {after_s} s after its flow, at another host; the first to \
                 end makes the other needless. Each number is the mean of the seeds.",
                SEEDS[0],
                SEEDS[SEEDS.len() - 1],
            ));
            let mut lines: Vec<(String, Vec<[f64; 2]>)> =
                POLICIES.iter().map(|policy| ((*policy).to_owned(), Vec::new())).collect();
            for (k, policy) in POLICIES.iter().enumerate() {
                let base = results.mean(without[k])?;
                let what = format!("{policy}, no failures, mean CCT");
                let runs = [without[k]];
                section.add(Finding::new(what, Setting::FairComparison, &runs, base).unit("s"));
                lines[k].1.push([0.0, base]);
                for (kind, rate, runs) in &kinds {
                    let of_policy: Vec<RunId> = runs.iter().map(|seed| seed[k]).collect();
                    let means: Result<Vec<f64>, String> =
                        of_policy.iter().map(|&run| results.mean(run)).collect();
                    let ours = mean(&means?);
                    let what = format!("{policy}, {kind}, mean CCT");
                    let setting = Setting::FairComparison;
                    section.add(Finding::new(what, setting, &of_policy, ours).unit("s"));
                    let what = format!("{policy}, {kind}, over that without failures");
                    section.add(Finding::new(what, setting, &of_policy, ours / base));
                    if rate.is_finite() {
                        lines[k].1.push([*rate, ours]);
                    }
                }
            }
            section.figures.push(curves(
                "Mean CCT by the rate of failures",
                ["failures of each host, 1/h", "mean CCT, s"],
                lines,
                "Hosts return after a minute on average. The mean of the seeds.",
            ));
            Ok(())
        }))
    }),
};

/// A run of each policy.
type Runs = [RunId; POLICIES.len()];

/// Plans all policies on the trace with failures, for each seed.
fn with(planner: &mut Planner, how: &Failures) -> Result<Vec<Runs>, TraceError> {
    let with = |seed| {
        let how = Failures { seed, ..how.clone() };
        let hours = how.mtbf_s.unwrap_or_default() / 3600.0;
        let name = format!("failures in {hours} h, attempts {}, seed {seed}", how.attempts);
        let trace = planner.plan.derived(&name, planner.trace, |trace| failures(trace, &how))?;
        Ok(POLICIES.map(|policy| planner.plan.exact(trace, policy)))
    };
    SEEDS.into_iter().map(with).collect()
}
