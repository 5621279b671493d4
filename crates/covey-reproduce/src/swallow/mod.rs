//! Swallow (IPDPS 2018).
//!
//! *Fair comparison*: FVDF as the paper describes it, with Covey's model of processors and
//! compression (docs/compression.md), and other policies, all in the exact simulator. *Paper's
//! setting*: CoflowSim, and a closed form that is equivalent to the public code of FVDF in
//! CoflowSim (`closed_form.rs`). The *testbed* repeats what the paper measured in its deployment,
//! and *Spark* repeats it with applications.

mod bandwidth;
mod closed_form;
mod codecs;
mod custom;
mod deployment;
mod example;
mod flows;
mod headline;
mod sizes;
mod slices;
mod spark;
mod sums;
mod throughput;

use crate::item::Item;

pub use deployment::TESTBED_ITEMS;
pub use spark::SPARK_ITEMS;

/// The items that simulation reproduces, in the order of the paper.
pub const ITEMS: &[Item] = &[
    headline::HEADLINE,
    sizes::FIGURE_1,
    Item::not_shown(
        "Table I",
        "II",
        "compressed and raw bytes of a block of eleven applications",
        "It is measured on data of HiBench; --testbed generates data with the same compression ratios, and --spark \
         shows what applications like HiBench's write.",
    ),
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
    Item::not_shown(
        "Table VII",
        "VI-B2",
        "traffic with and without Swallow, on a cluster",
        "Links carry no headers in a fluid simulation; --testbed counts bytes on real links.",
    ),
    Item::not_shown(
        "Table VIII",
        "VI-B2",
        "time of garbage collection",
        "It is measured on a cluster; a fluid simulation has no memory to collect. --spark shows it.",
    ),
    Item::not_shown(
        "Figure 7(a)",
        "VI-B1",
        "completion time of stages of jobs, on a cluster",
        "It is measured on a cluster; --testbed sends real shuffles, and --spark shows those of Spark.",
    ),
    Item::not_shown(
        "Figure 7(b)",
        "VI-B1",
        "traffic that is saved, on clusters",
        "Links carry no headers in a fluid simulation; --testbed counts bytes on real links.",
    ),
    slices::FIGURE_7C,
];
