//! Tables 2 and 3: gains by class of jobs and by bin of coflows.

use covey_report::Bin;
use covey_trace::{Stats, shuffle_shares};

use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning};
use crate::jobs::SEEDS;
use crate::numbers::mean;
use crate::plots::bars;

/// The share of time in shuffle at which each class of jobs begins, and the name of the class.
const CLASSES: [(f64, &str); 4] =
    [(0.0, "below 25 %"), (0.25, "25-49 %"), (0.5, "50-74 %"), (0.75, "75 % and more")];

pub(super) const TABLE_2: Item = Item {
    place: "Table 2",
    section: "7.1",
    shows: "jobs by time in shuffle, and Aalo's gain in their JCT over per-flow fairness",
    plan: Planning::Runs(|planner| {
        let [aalo, fair] = ["aalo", "fair"].map(|policy| planner.plan.exact(planner.trace, policy));
        Ok(Box::new(move |results, section| {
            section.note(format!(
                "The table is missing in the text we have; Philae (9.2) repeats its shares: 61, 13, 14 and 12 % \
                 of the jobs. Gains are of the mean JCT, where JCT = CCT₀/φ − CCT₀ + CCT and φ is the share \
                 of time in shuffle under fairness. They are means over {SEEDS} seeds."
            ));
            let (base, ours) = (&results.get(fair)?.ccts_s, &results.get(aalo)?.ccts_s);
            for (k, (from, name)) in CLASSES.into_iter().enumerate() {
                let below = CLASSES.get(k + 1).map_or(f64::INFINITY, |(share, _)| *share);
                let mut gains = Vec::new();
                for seed in 1..=SEEDS {
                    let mut sums = [0.0; 2];
                    let shares = shuffle_shares(base.len(), seed);
                    for ((base, ours), share) in base.iter().zip(ours).zip(shares) {
                        if (from..below).contains(&share) {
                            sums[0] += base / share;
                            sums[1] += base / share - base + ours;
                        }
                    }
                    gains.push(sums[0] / sums[1]);
                }
                let what = format!("JCT of jobs with {name} in shuffle");
                let gain = mean(&gains);
                section.add(Finding::new(what, Setting::FairComparison, &[fair, aalo], gain));
            }
            section.figures.push(bars("Gain in mean JCT", "gain", &section.findings));
            Ok(())
        }))
    }),
};

pub(super) const TABLE_3: Item = Item {
    place: "Table 3",
    section: "7.1",
    shows: "coflows by length (5 MB) and width (50 flows), and Aalo's gain in each bin",
    plan: Planning::Runs(|planner| {
        let trace = planner.trace;
        let [aalo, fair, sebf] =
            ["aalo", "fair", "sebf"].map(|policy| planner.plan.exact(trace, policy));
        Ok(Box::new(move |results, section| {
            section.note(
                "The table's shares are missing in the text we have. They are of a trace of a whole day, of \
                 which one hour is public. Gains are of the mean CCT in a bin; Aalo is faster above 1.",
            );
            let workload = results.plan.workload(trace);
            let stats = Stats::of(workload);
            for bin in &stats.by_length_and_width {
                for (kind, share) in [("coflows", bin.coflow_share), ("bytes", bin.byte_share)] {
                    let what = format!("{}: share of the {kind}", bin.name);
                    let finding = Finding::new(what, Setting::FairComparison, &[], 100.0 * share);
                    section.add(finding.on(trace).unit("%"));
                }
            }
            let shares = section.findings.len();
            for (name, base) in [("per-flow fairness", fair), ("Varys", sebf)] {
                let (base_s, ours_s) = (&results.get(base)?.ccts_s, &results.get(aalo)?.ccts_s);
                for bin in Bin::ALL {
                    let of_bin = |ccts: &[f64]| -> f64 {
                        let inside = workload.coflows.iter().zip(ccts);
                        inside.filter(|(c, _)| Bin::of(c) == bin).map(|(_, cct)| cct).sum()
                    };
                    let what = format!("{}: gain over {name}", bin.name());
                    let gain = of_bin(base_s) / of_bin(ours_s);
                    section.add(Finding::new(what, Setting::FairComparison, &[base, aalo], gain));
                }
            }
            section.figures.push(bars(
                "Aalo's gain in mean CCT",
                "gain",
                &section.findings[shares..],
            ));
            Ok(())
        }))
    }),
};
