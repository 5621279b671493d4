//! Philae (USENIX ATC 2019).
//!
//! *Fair comparison*: Aalo and Philae as the paper describes them (weighted queues, Aalo decides
//! every 8 ms), both in the exact simulator. *Paper's setting*: the source of the published ratios,
//! which compare Aalo and others in CoflowSim with Philae in its authors' own simulator.

mod bound;
mod comparison;
mod coordinator;
mod failures;
mod jobs;
mod learning;
mod orders;
mod others;
mod pilots;
mod sensitivity;
mod skew;

use crate::item::Item;

pub use coordinator::LIVE_ITEMS;
pub use jobs::TESTBED_ITEMS;

/// The items that simulation reproduces, in the order of the paper.
pub const ITEMS: &[Item] = &[
    learning::FIGURE_1,
    bound::EQUATION_1,
    Item::not_shown(
        "Table 1",
        "5",
        "how often coordinator and agents interact",
        "A fluid simulation has no messages; --live counts them.",
    ),
    pilots::TABLE_2,
    learning::FIGURE_3,
    failures::SECTION_4_6,
    orders::TABLE_3,
    others::FIGURE_4A,
    others::FIGURE_4B,
    skew::FIGURE_4C,
    skew::FIGURE_4D,
    others::TABLE_4,
    others::FIGURE_5,
    sensitivity::FIGURE_7A,
    sensitivity::FIGURE_7B,
    sensitivity::FIGURE_7C,
    jobs::SECTION_9_2,
    jobs::FIGURE_6,
    jobs::TABLE_5,
    Item::not_shown(
        "Table 6",
        "9.3",
        "processor time of the coordinator in an interval",
        "In a fluid simulation decisions take no time; --live measures their time.",
    ),
    Item::not_shown(
        "Table 7",
        "9.3",
        "intervals in which the coordinator was too slow",
        "In a fluid simulation decisions take no time; --live measures their time.",
    ),
    Item::not_shown(
        "Section 9.3",
        "9.3",
        "speed-up over Aalo on 900 ports: 2.72× of the mean, 9.78× at P90",
        "The paper attributes the gain beyond that on 150 ports to Aalo's overloaded coordinator. A fluid simulation has no coordinator.",
    ),
];
