//! The gain of FVDF over SEBF, which the abstract gives, on the trace.

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::numbers::percentile;
use crate::plan::{Platform, RunId};

/// A rule of FVDF, or another in its place, and the policy.
type Variant = (&'static str, &'static str);

const CAPACITY: Variant =
    ("compressing compared with the capacity of the path", "fvdf:bandwidth=capacity");
const NO_P: Variant = ("no P", "fvdf:logbase=1");
const WAIT: Variant = ("a bounded wait in the place of P", "fvdf:starvation=wait");

/// A bandwidth at which FVDF is compared with SEBF.
struct Bandwidth {
    /// Bits per second of each port.
    rate_bps: f64,
    /// The bandwidth's row of published gains in Figure 6(e); `None` if the paper has none.
    row: Option<&'static str>,
    /// Variants that are compared with SEBF as well.
    others: &'static [Variant],
}

const BANDWIDTHS: [Bandwidth; 3] = [
    Bandwidth { rate_bps: 100e6, row: Some("poor"), others: &[NO_P, WAIT] },
    Bandwidth {
        rate_bps: 1e9,
        row: Some("1 Gbps"),
        others: &[
            CAPACITY,
            NO_P,
            ("P grows by 1.01", "fvdf:logbase=1.01"),
            ("P grows by 1.05", "fvdf:logbase=1.05"),
            ("P grows by 1000", "fvdf:logbase=1000"),
            WAIT,
            ("SEBF's order, compressed", "sebf:compress=lz4"),
            ("order of arrival, compressed", "fifo:share=madd,compress=lz4"),
        ],
    },
    Bandwidth {
        rate_bps: 10e9,
        row: None,
        others: &[CAPACITY, NO_P, ("no P, capacity", "fvdf:logbase=1,bandwidth=capacity"), WAIT],
    },
];

pub(super) const HEADLINE: Item = Item {
    place: "Abstract",
    section: "Abstract, VI",
    shows: "speed-up of FVDF over SEBF in mean CCT on the trace, by bandwidth",
    plan: Planning::Runs(|planner| {
        let trace = planner.trace;
        let plan = &mut planner.plan;
        let runs = BANDWIDTHS.map(|Bandwidth { rate_bps, row, others }| {
            let mut at = |policy: &str| plan.run_on(Platform::at(rate_bps), trace, policy);
            let (sebf, fvdf) = (at("sebf"), at("fvdf"));
            let others: Vec<(&str, RunId)> =
                others.iter().map(|(name, policy)| (*name, at(policy))).collect();
            (rate_bps, row, sebf, fvdf, others)
        });
        Ok(Box::new(move |results, section| {
            section.note(NOTE);
            for (rate_bps, row, sebf, fvdf, others) in runs {
                let at = format!("at {} Mbps", rate_bps / 1e6);
                let of = |what: String, run: RunId| -> Result<Finding, String> {
                    let gain = results.gain(sebf, run)?;
                    Ok(Finding::new(what, Setting::FairComparison, &[sebf, run], gain))
                };
                let finding = of(format!("fvdf, {at}"), fvdf)?;
                let published = |row| results.published("Figure 6(e)", row, "at most");
                section.add(match row {
                    Some(row) => finding.published(published(row), 0.06).why(WHY),
                    None => finding.says("FVDF is close to SEBF", Rule::Between(0.9, 1.1)).why(WHY),
                });
                for (name, run) in &others {
                    section.add(of(format!("{name}, {at}"), *run)?);
                }
                for (name, run) in [("sebf", sebf), ("fvdf", fvdf)].into_iter().chain(others) {
                    let p95 = percentile(&results.get(run)?.ccts_s, 95.0);
                    for (number, ours) in [("mean CCT", results.mean(run)?), ("P95", p95)] {
                        let what = format!("{name}, {at}, {number}");
                        let found = Finding::new(what, Setting::FairComparison, &[run], ours);
                        section.add(found.unit("s"));
                    }
                }
            }
            Ok(())
        }))
    }),
};

const NOTE: &str = "The paper's gain of 1.47 is the mean of the gains in Figure 6(e), which are one constant factor. These \
    runs are of FVDF itself, on another trace. Gains without a published value have one rule of FVDF replaced.";
const WHY: &str = "P makes a coflow that has seen 38 arrivals and ends go before one that is a thousand times smaller. At \
    1 Gbps the mean grows with the growth of P up to that of the order of arrival. Without P, or with a bounded wait in \
    its place, FVDF is faster than SEBF.";
