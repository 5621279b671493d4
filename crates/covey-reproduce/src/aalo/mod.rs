//! Aalo (SIGCOMM 2015).
//!
//! Its simulator is not public, so all is a *fair comparison* in the exact simulator; of its
//! evaluation we have §6.2 to §7.2.1 in part, and what others tell of the rest. Aalo is as it is
//! described there: weighted queues, coordinated every 8 ms.

mod bins;
mod coordination;
mod distance;
mod sensitivity;
mod stages;

use crate::item::Item;

/// What is reproduced, in the order of the paper.
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
        "It is measured on a testbed; in a fluid a coordinator decides in no time.",
    ),
];
