//! CODA (SIGCOMM 2016).
//!
//! Nobody has published code of it, and our text has parts of §4.2 to §6. All runs are a *fair
//! comparison* in the exact simulator. The text does not say how the paper's challenging workloads
//! are made; we use the [ladder](covey_trace::observe::LADDER) instead, and say so where results
//! differ. The paper schedules by whatever is found, so the policy is not asked for confidence.

mod identification;
mod rungs;
mod scheduling;
mod sensitivity;
mod testbed;
mod workload;

use crate::item::Item;

pub use testbed::TESTBED_ITEMS;

/// The items that simulation reproduces, in the order of the paper.
pub const ITEMS: &[Item] = &[
    Item::not_shown(
        "Section 3",
        "3",
        "identification is 600 × faster than DBSCAN and 5 × faster than R-DBSCAN; learning adds 40 % of accuracy",
        "A reproduction does not measure time. The page on identification has these numbers (`make measure WHAT=identification`).",
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
        "A simulation has no programs. docs/attach.md has two shuffles of unmodified programs and a trace, \
         under `covey attach`.",
    ),
];
