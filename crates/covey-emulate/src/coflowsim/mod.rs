//! [CoflowSim](https://github.com/coflow/coflowsim), the field's standard simulator.
//!
//! **Units.** A second has 1024 "ms"; a port carries 2^30 bit/s, which is 128 MiB/s; a quantum is 8
//! ms, the time for 1 MiB. A trace's milliseconds are read as its own. Results here are in seconds
//! of 1024 ms, so a sum of CCTs times 1024 equals the number that the program prints.
//!
//! **Time.** At the start of each epoch of 10,240 ms CoflowSim admits every coflow that arrives
//! within it, so up to an epoch early; the CCT counts from there. Then it runs quanta one by one.
//! When no coflow is left, it skips the rest of the epoch. A flow ends at the end of a quantum.
//! CoflowSim calculates rates after admissions and after a quantum in which a coflow ended, and at
//! no other time. Capacity that single flows free stays unused.
//!
//! **Rounding.** CoflowSim counts bytes left by flow and by reducer, and bytes sent by coflow, in
//! double precision, quantum by quantum. The counts drift apart. A residue decides whether a coflow
//! counts as blocked, whether a reducer has ended, and whether a coflow has passed a queue's limit.
//! The emulation reproduces every rounding, in CoflowSim's order of additions (`repeat`), without
//! running every step.

mod cluster;
mod dark;
mod fair;
mod flows;
mod job;
mod live;
mod moves;
mod moving;
mod policy;
mod ports;
mod ranked;
mod repeat;
mod scale;
mod shortest_first;

pub use policy::{Policy, run};
pub use scale::CAPACITY_BPS;
