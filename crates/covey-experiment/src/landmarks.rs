//! Lower bounds of a workload, and what Sincronia's order would reach if ports did not depend on
//! each other.

use covey_report::Landmarks;
use covey_sched::bssi::Bssi;
use covey_sim::bound::{bounds, loads, uncoupled_cct_s};
use covey_topology::Network;
use covey_trace::Workload;

/// What a lower bound needs, and what it cannot use: a [static](Workload::is_static) workload, and
/// others.
pub const NO_BOUND: [&str; 2] = [
    "a trace without events and attempts: what they leave of the links and of the flows is not in the bound",
    "some",
];

/// The bounds of the static workload called `name`, on a network whose ports have `rate` bytes per
/// second.
pub fn landmarks(workload: &Workload, network: &Network, rate: f64, name: &str) -> Landmarks {
    let fabric = network.fabric();
    let mut bssi = Bssi::default();
    for (coflow, loads) in workload.coflows.iter().zip(loads(workload, fabric)) {
        bssi.add(coflow.weight, loads.into_iter());
    }
    let uncoupled = uncoupled_cct_s(workload, fabric, bssi.order());
    let bounds = bounds(workload, fabric);
    Landmarks::of(workload, [name, network.spec()], rate * 8.0, &bounds, &uncoupled)
}
