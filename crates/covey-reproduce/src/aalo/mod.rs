//! Aalo (SIGCOMM 2015).
//!
//! The authors' simulator is not public, so all runs are a *fair comparison* in the exact
//! simulator. Our text of the evaluation has parts of §6.2 to §7.2.1; the rest is known from other
//! papers. Aalo runs as described there: weighted queues, coordinated every 8 ms.

mod bins;
mod coordination;
mod distance;
mod live;
mod sensitivity;
mod stages;
mod testbed;

use crate::item::Item;

pub use live::LIVE_ITEMS;
pub use testbed::TESTBED_ITEMS;

/// The items that simulation reproduces, in the order of the paper.
pub const ITEMS: &[Item] = &[
    distance::SECTION_7_2,
    bins::TABLE_2,
    bins::TABLE_3,
    coordination::FIGURE_8,
    coordination::FIGURE_9,
    distance::OPTIMAL,
    stages::TABLE_4,
    stages::SECTION_7_4,
    sensitivity::QUEUES,
    sensitivity::DELTA,
    Item::not_shown(
        "Section 7.6",
        "7.6",
        "time in which 100 machines synchronize: 8 ms",
        "Decisions take no time in a fluid simulation. docs/measurements/coordinator.md has a real coordinator with \
         10,000 and 40,000 agents.",
    ),
];
