//! Figures 3 and 4: two coflows under six policies.

use covey_trace::{Availability, Change, Coflow, Flow, Workload};

use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning};
use crate::learning::Recording;
use crate::numbers::mean;
use crate::plan::{BIG_SWITCH, Platform, Run};
use crate::plots::bars;

/// The start of each flow, which is the order in which FIFO serves them.
type Starts = [f64; 5];

const TOGETHER: Starts = [0.0; 5];
/// The figure's FIFO serves the first coflow's flow first on one channel and the second coflow's
/// flow first on another. This delay sets these orders and is too small to change a printed digit.
const LATER: f64 = 1e-8;
const FIFO: Starts = [0.0, 0.0, LATER, LATER, 0.0];

/// The coflows of Figure 3 in units of data and time. The three channels share no port.
fn example(starts: Starts) -> Workload {
    let flow = |port: u32, bytes: f64, start_s: f64| Flow { src: port, dst: port, bytes, start_s };
    let [a, b, c, d, e] = starts;
    let first = vec![flow(0, 4.0, a), flow(1, 4.0, b), flow(2, 2.0, c)];
    let second = vec![flow(0, 2.0, d), flow(2, 3.0, e)];
    let coflows = [("C1", first), ("C2", second)];
    let coflow = |(id, flows): (&str, Vec<Flow>)| Coflow::new(id.to_owned(), 0.0, flows);
    Workload::new(3, coflows.map(coflow).into())
}

/// The processors are idle, and can compress, from 0 to 1 and from 3 to 3.5.
fn idle() -> Availability {
    let change = |(time_s, share)| Change { time_s, port: None, share };
    Availability::new([(0.0, 1.0), (1.0, 0.0), (3.0, 1.0), (3.5, 0.0)].map(change).into())
}

/// FVDF with the figure's ratio, 47.59 %, sending while it compresses. At this speed compression
/// removes one unit of data in one unit of time: it compresses 1 / (1 - 0.4759) bytes, here in
/// bits.
const FVDF: &str = "fvdf:codec=15.264262545bps:0.4759,overlap=true";

/// The rows of the figure, each with its policy.
const POLICIES: [(&str, &str); 6] = [
    ("PFF", "fair"),
    ("WSS", "wss"),
    ("FIFO", "fifo-flow"),
    ("PFP", "pfp"),
    ("SEBF", "sebf:share=matching"),
    ("FVDF", FVDF),
];

pub(super) const FIGURE_4: Item = Item {
    place: "Figure 4",
    section: "II",
    shows: "the example of Figure 3 under six policies",
    plan: Planning::Runs(|planner| {
        let plan = &mut planner.plan;
        let together = plan.defined_by_paper("Figure 3", example(TOGETHER));
        let in_line = plan.defined_by_paper("Figure 3, FIFO's order", example(FIFO));
        let runs = POLICIES.map(|(row, policy)| {
            let trace = if row == "FIFO" { in_line } else { together };
            let cpu = if row == "FVDF" { idle() } else { Availability::default() };
            // Ports send one unit of data, a byte, per unit of time.
            let fabric = BIG_SWITCH.to_owned();
            let platform = Platform::Exact { fabric, port_rate_bps: 8.0, cpu, barrier: true };
            (
                row,
                plan.run(Run {
                    trace,
                    platform,
                    policy: policy.to_owned(),
                    recording: Recording::FlowTimes,
                }),
            )
        });
        Ok(Box::new(move |results, section| {
            section.note(
                "The text does not say which flow is on which channel. Only one placement gives all six pairs: \
                 channel 1 has the flows of 4 and 2, channel 2 that of 4, and channel 3 those of 2 and 3 (of \
                 C1 and C2). FVDF's pair requires that flows are sent while they are compressed, which \
                 contradicts the paper's Pseudocode 2 and Equation 3. The text says that WSS and PFF have \
                 the same mean CCT; our result is the figure's 6.",
            );
            for (row, run) in runs {
                let measured = results.get(run)?;
                let means =
                    [("mean FCT", mean(&measured.fcts_s)), ("mean CCT", mean(&measured.ccts_s))];
                for (column, ours) in means {
                    let published = results.published("Figure 4", row, column);
                    section.add(
                        Finding::new(
                            format!("{row}, {column}"),
                            Setting::FairComparison,
                            &[run],
                            ours,
                        )
                        .unit("")
                        .published(published, 1e-6),
                    );
                }
            }
            let plot = bars("Mean FCT and CCT", "units of time", &section.findings);
            section.figures.push(plot);
            Ok(())
        }))
    }),
};
