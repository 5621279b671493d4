//! Stream (ICNP).
//!
//! The authors' simulator is not public, so all runs are a *fair comparison* in the exact
//! simulator, on the FatTrees of the paper. Baraat is `fifo-lm`, fair sharing `fair`, and Aalo has
//! four strict queues in switches. On the testbed, receivers decide and senders mark real packets.

mod baraat;
mod bursts;
mod categories;
mod coflows;
mod conservation;
mod contest;
mod ecmp;
mod equations;
mod networks;
mod queues;
mod stages;
mod starvation;
mod testbed;
mod times;
mod waves;
mod workloads;

use crate::item::Item;

pub use testbed::TESTBED_ITEMS;

/// The items that simulation reproduces, in the order of the paper.
pub const ITEMS: &[Item] = &[
    coflows::FIGURE_1A,
    coflows::FIGURE_1B,
    coflows::FIGURE_1C,
    Item::not_shown(
        "Figure 1(d)",
        "II",
        "distribution of the size of coflows at Bing",
        "Its data is of another paper (Baraat, SIGCOMM 2014), and not in the text we have.",
    ),
    equations::EQUATION_2,
    stages::SECTION_3C,
    equations::ALGORITHM_1,
    starvation::SECTION_3D,
    equations::THEOREM_1,
    Item::not_shown(
        "Figure 5",
        "IV-A",
        "gain over TCP on a testbed of 8 servers",
        "It is measured: `covey reproduce stream --testbed` does that.",
    ),
    ecmp::SECTION_4A,
    networks::TABLE_1,
    waves::TABLE_2,
    coflows::TABLE_3,
    networks::FIGURE_6A,
    networks::FIGURE_6B,
    networks::FIGURE_6C,
    networks::FIGURE_6D,
    categories::WHOLE,
    categories::FIGURE_7,
    waves::FIGURE_8,
    bursts::FIGURE_9,
    bursts::FIGURE_10,
    baraat::LM_EFFECT,
    queues::FIGURE_11,
    stages::FIGURE_12,
    stages::FIGURE_13,
    queues::FIGURE_14,
    conservation::CONSERVATION,
];
