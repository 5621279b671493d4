//! CODA (SIGCOMM 2016).
//!
//! Nobody has published code of it, and our text has parts of §4.2 to §6. All runs are a *fair comparison* in the
//! exact simulator. The text does not say how the paper's challenging workloads are made; we use the
//! [ladder](covey_trace::observe::LADDER) instead, so these results are beside the published ones without a verdict.

mod identification;
mod scheduling;
mod sensitivity;
mod workload;

use covey_trace::TraceError;
use covey_trace::observe::LADDER;
use covey_trace::transform::{Scale, fold};

use crate::item::{Item, Planner};
use crate::plan::TraceId;

/// The items that simulation reproduces, in the order of the paper.
pub const ITEMS: &[Item] = &[
    Item::not_shown(
        "Section 3",
        "3",
        "identification is 600 × faster than DBSCAN and 5 × faster than R-DBSCAN; learning adds 40 % of accuracy",
        "A reproduction does not measure time. The page on identification has these numbers (`make identification`).",
    ),
    workload::FIGURE_7,
    identification::FIGURE_8,
    scheduling::SECTION_6,
    scheduling::CHALLENGING,
    scheduling::DESIGN,
    scheduling::JOBS,
    sensitivity::DIAMETER,
    sensitivity::RADIUS,
    Item::not_shown(
        "Section 6.2",
        "6.2",
        "gain of 2.4 × (p95 5.1 ×) over per-flow fairness, accuracy over 95 %, on a testbed of 40 servers",
        "Agents do not announce flows without coflows yet.",
    ),
];

/// Seed of the workloads.
const SEED: u64 = 1;

/// The rungs of the ladder on which policies are compared, from easy to contrived.
const COMPARED: [&str; 5] = ["trace", "mixed-denser", "batches", "batches-noise", "contrived"];

/// Ports of the rungs. With noise each flow starts by itself, and the Facebook trace has 706,397 of them.
const PORTS: u32 = 30;

/// What is to be said of rungs.
const ON_RUNGS: &str = "Rungs are made of the trace folded onto 30 ports, with sizes in the same proportion and flows \
    of a coflow between the same two ports as one.";

/// The workload of a rung, made of the trace that the user gave.
fn rung(planner: &mut Planner, name: &str) -> Result<TraceId, TraceError> {
    let rung = LADDER.iter().find(|rung| rung.name == name).unwrap_or(&LADDER[0]);
    let full_name = format!("{name} on {PORTS} ports");
    planner.plan.appearing(&full_name, planner.trace, |workload| {
        let size = f64::from(PORTS) / f64::from(workload.ports);
        let folded = match workload.ports > PORTS {
            true => &fold(workload, Scale { time: 1.0, size, ports: Some(PORTS) })?,
            false => workload,
        };
        rung.workload(folded, SEED)
    })
}
