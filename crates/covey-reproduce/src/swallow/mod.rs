//! Swallow (IPDPS 2018).
//!
//! *Fair comparison*: FVDF as the paper describes it, with Covey's model of processors and
//! compression (docs/compression.md), against others in the exact simulator. *Paper's setting*:
//! CoflowSim, and the closed form to which the public code of FVDF in it amounts
//! (`closed_form.rs`). The *testbed* has what the paper measured in its deployment.

mod bandwidth;
mod closed_form;
mod codecs;
mod deployment;
mod example;
mod flows;
mod slices;
mod sums;
mod throughput;

use covey_trace::{TraceError, builtin};

use crate::plan::TraceId;
use crate::reproduction::{Item, Lab, cannot};

pub use deployment::TESTBED_ITEMS;

/// What is reproduced by simulation, in the order of the paper.
pub const ITEMS: &[Item] = &[
    Item {
        place: "Table I",
        section: "II",
        shows: "compressed and raw bytes of a block of eleven applications",
        plan: |_| {
            cannot("It is measured on data of HiBench; --testbed makes data that shrink alike.")
        },
    },
    example::FIGURE_4,
    codecs::TABLE_II,
    codecs::TABLE_III,
    flows::FIGURE_6A,
    flows::FIGURE_6B,
    flows::FIGURE_6C,
    flows::FIGURE_6D,
    bandwidth::FIGURE_6E,
    bandwidth::FIGURE_6F,
    throughput::TABLE_V,
    sums::TABLE_VI,
    Item {
        place: "Table VII",
        section: "VI-B2",
        shows: "traffic with and without Swallow, on a cluster",
        plan: |_| cannot("Links carry no headers in a fluid; --testbed counts bytes on real ones."),
    },
    Item {
        place: "Table VIII",
        section: "VI-B2",
        shows: "time of garbage collection",
        plan: |_| cannot("It is measured on a cluster; a fluid has no memory."),
    },
    Item {
        place: "Figure 7(a)",
        section: "VI-B1",
        shows: "completion time of stages of jobs, on a cluster",
        plan: |_| cannot("It is measured on a cluster; --testbed sends real shuffles."),
    },
    Item {
        place: "Figure 7(b)",
        section: "VI-B1",
        shows: "traffic that is saved, on clusters",
        plan: |_| cannot("Links carry no headers in a fluid; --testbed counts bytes on real ones."),
    },
    slices::FIGURE_7C,
];

/// The workload of Table VI: what CoflowSim makes when it is given no trace.
fn custom(lab: &mut Lab) -> Result<TraceId, TraceError> {
    const NAME: &str = "builtin:coflowsim-custom";
    let made = builtin("coflowsim-custom")?;
    // It does not depend on the trace that was given.
    Ok(lab.plan.own(NAME, made))
}
