//! Figures 6(e) and 6(f): the gain of FVDF over SEBF, by bandwidth and by compressor.

use covey_trace::{Availability, Change};

use super::closed_form;
use super::custom::custom;
use crate::finding::{BETTER, Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::plan::{BIG_SWITCH, Plan, Platform, RunId, TraceId};
use crate::plots::curves;

/// Bandwidths in bits per second, each with its row of published gains if there is one.
const RATES: [(f64, Option<&str>); 4] =
    [(100e6, Some("poor")), (500e6, Some("megabit")), (1e9, Some("1 Gbps")), (10e9, None)];

/// The smallest idle share of the processor in Figure 2, at 10 Gbps.
const IDLE: f64 = 0.3077;

/// Covey's variants of FVDF: name, share of processors available, and policy.
const OURS: [(&str, f64, &str); 4] = [
    ("fvdf, whole processors", 1.0, "fvdf"),
    ("fvdf, 30.77 % of processors", IDLE, "fvdf"),
    ("fvdf without growing priorities", 1.0, "fvdf:logbase=1"),
    ("fvdf, sent while compressed", 1.0, "fvdf:overlap=true"),
];

/// Plans a run with a share of each processor available for compression.
fn run(plan: &mut Plan, trace: TraceId, port_rate_bps: f64, share: f64, policy: &str) -> RunId {
    let change = Change { time_s: 0.0, port: None, share };
    let cpu = if share < 1.0 { Availability::new(vec![change]) } else { Availability::default() };
    let fabric = BIG_SWITCH.to_owned();
    plan.run_on(Platform::Exact { fabric, port_rate_bps, cpu, barrier: true }, trace, policy)
}

pub(super) const FIGURE_6E: Item = Item {
    place: "Figure 6(e)",
    section: "VI-A2",
    shows: "speed-up of FVDF over SEBF in mean CCT, by bandwidth",
    plan: Planning::Runs(|planner| {
        let trace = custom(planner)?;
        let runs = RATES.map(|(rate, row)| {
            let sebf = run(&mut planner.plan, trace, rate, 1.0, "sebf");
            let ours =
                OURS.map(|(_, share, policy)| run(&mut planner.plan, trace, rate, share, policy));
            (rate, row, sebf, ours)
        });
        Ok(Box::new(move |results, section| {
            section.note(
                "All runs are on the workload of Table VI. The paper's setting is a closed form that is \
                 equivalent to the public code of FVDF: p m + 1 - p with p = 0.855, m = α / (1 + 0.48 α) and \
                 α = 625 MB/s over the bandwidth. The paper's gains are thus one constant factor on every \
                 rate, with SEBF's order. In the fair comparison each processor compresses one flow at a \
                 time, with LZ4 at 785 MB/s to 62.15 %, and FVDF uses its own order.",
            );
            let published = |row: Option<&str>| {
                row.and_then(|row| results.published("Figure 6(e)", row, "at most"))
            };
            let mut drawn: Vec<(String, Vec<[f64; 2]>)> =
                vec![("closed form".to_owned(), Vec::new())];
            drawn.extend(OURS.map(|(name, ..)| (name.to_owned(), Vec::new())));
            let mut sum = 0.0;
            for (rate, row, sebf, ours) in runs {
                let at = match row {
                    Some(row) => format!("{} Mbps ({row})", rate / 1e6),
                    None => format!("{} Mbps", rate / 1e6),
                };
                let closed = closed_form::gain(rate / 8.0);
                sum += closed;
                drawn[0].1.push([rate / 1e6, closed]);
                let what = format!("closed form at {at}");
                let finding = Finding::new(what, Setting::PapersSetting, &[], closed);
                section.add(match row {
                    Some(_) => finding.published(published(row), 0.01).check(),
                    None => finding
                        .says(
                            "compression is disabled, FVDF is close to SEBF",
                            Rule::Between(0.99, 1.01),
                        )
                        .check(),
                });
                for ((name, share, policy), (run, curve)) in
                    OURS.iter().zip(ours.iter().zip(&mut drawn[1..]))
                {
                    let gain = results.gain(sebf, *run)?;
                    curve.1.push([rate / 1e6, gain]);
                    let what = format!("{name}, at {at}");
                    let finding = Finding::new(what, Setting::FairComparison, &[sebf, *run], gain);
                    let compresses = results.get(*run)?.saved_bytes > 0.0;
                    section.add(match row {
                        Some(_) => finding
                            .published(published(row), 0.06)
                            .why(why(compresses, *share, gain)),
                        None => finding
                            .says("FVDF is close to SEBF", Rule::Between(0.9, 1.1))
                            .why(why_10(compresses, policy)),
                    });
                }
            }
            section.add(
                Finding::new(
                    "closed form, mean of the four",
                    Setting::PapersSetting,
                    &[],
                    sum / 4.0,
                )
                .published(results.published("Figure 6(e)", "mean", "at most"), 0.01)
                .check(),
            );
            section.figures.push(curves(
                "Speed-up of FVDF over SEBF",
                ["bandwidth (Mbps)", "speed-up of the mean CCT"],
                drawn,
                "The closed form of the paper's code, and FVDF with a model of processors.",
            ));
            Ok(())
        }))
    }),
};

fn why(compresses: bool, share: f64, gain: f64) -> &'static str {
    match compresses {
        true if share < 1.0 && gain < 1.0 => WAITING_COMPRESSED,
        true => COMPRESSED,
        false => NOTHING_COMPRESSED,
    }
}

fn why_10(compresses: bool, policy: &str) -> &'static str {
    match compresses {
        true if policy.contains("overlap") => COMPRESSED_AT_10,
        true => NOTHING_REMAINS,
        false => NOTHING_COMPRESSED,
    }
}

const COMPRESSED: &str = "LZ4 at the paper's 62.15 % gains at most 1.61 for any flow. The code behind the figure \
    compresses to 48 %, has a processor for each flow, and sends while it compresses. Here a host \
    compresses one flow at a time.";
const COMPRESSED_AT_10: &str = "Compressing a flow while it is sent does not delay the flow, so compression pays \
    at any bandwidth. The paper disables compression at 10 Gbps.";
const NOTHING_REMAINS: &str = "By Equations 2 and 3 a coflow that waits is compressed at any bandwidth, since none remains \
    for it. The paper disables compression at 10 Gbps.";
const WAITING_COMPRESSED: &str = "Here compression pays only where others leave less than 91 MB/s. A flow that is \
    compressed sends nothing meanwhile, and a host compresses one flow at a time. Where bandwidth is compared \
    with the capacity of the path, nothing is compressed, and the gain is 1.";
const NOTHING_COMPRESSED: &str = "Nothing is compressed, so only FVDF's order counts. FVDF orders coflows by their \
    slowest flow alone (Equation 8); SEBF also considers how many flows share a port.";

pub(super) const FIGURE_6F: Item = Item {
    place: "Figure 6(f)",
    section: "VI-A2",
    shows: "speed-up of FVDF over SEBF by compressor",
    plan: Planning::Runs(|planner| {
        let trace = custom(planner)?;
        let sebf = planner.plan.exact(trace, "sebf");
        let runs = ["lz4", "lzo", "snappy", "lzf", "zstd"].map(|codec| {
            let plain = planner.plan.exact(trace, &format!("fvdf:codec={codec}"));
            let overlap = planner.plan.exact(trace, &format!("fvdf:codec={codec},overlap=true"));
            (codec, [("compressed, then sent", plain), ("sent while compressed", overlap)])
        });
        Ok(Box::new(move |results, section| {
            section
                .note("All runs are on the workload of Table VI at 1 Gbps, with whole processors.");
            for (codec, variants) in runs {
                for (variant, run) in variants {
                    let what = format!("{codec}, {variant}");
                    let gain = results.gain(sebf, run)?;
                    section.add(
                        Finding::new(what, Setting::FairComparison, &[sebf, run], gain)
                            .says("FVDF is better than SEBF with each format", BETTER),
                    );
                }
            }
            Ok(())
        }))
    }),
};
