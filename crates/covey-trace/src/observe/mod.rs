//! Labelled flows as a collector of flow records sees the flows of a workload: with addresses and
//! ports. They serve to measure how well coflows are identified, and to train that.

mod ends;
mod flows;
mod framework;
mod ladder;
mod recorded;

pub use flows::{Appearance, HOSTS_ALONE, Labelled, appear, observe, start_as_observed};
pub use framework::Framework;
pub use ladder::{Arrivals, LADDER, Rung, rung};
pub use recorded::recorded;
