//! Workloads from easy to contrived: rungs of the ladder, made of the trace that the user gave.

use covey_trace::TraceError;
use covey_trace::observe;
use covey_trace::transform::{Scale, fold};

use crate::item::Planner;
use crate::plan::TraceId;

/// Seed of the workloads.
const SEED: u64 = 1;

/// The rungs of the ladder on which policies are compared, from easy to contrived.
pub(super) const COMPARED: [&str; 5] =
    ["trace", "mixed-denser", "batches", "batches-noise", "contrived"];

/// Ports of the rungs. With noise each flow starts by itself, and the Facebook trace has 706,397 of
/// them.
const PORTS: u32 = 30;

/// What is to be said of rungs.
pub(super) const ON_RUNGS: &str = "Rungs are made of the trace folded onto 30 ports, with sizes in the same proportion and flows \
    of a coflow between the same two ports as one.";

/// The workload of a rung, made of the trace that the user gave.
pub(super) fn rung(planner: &mut Planner, name: &str) -> Result<TraceId, TraceError> {
    let rung = observe::rung(name)?;
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
