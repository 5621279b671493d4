//! The simulator of Philae's authors ([coflowPhilae/simulator](https://github.com/coflowPhilae/simulator)),
//! in which the paper measured Philae.
//!
//! **Units.** A port carries 134,217 bytes a millisecond, a cycle is 8 ms, and a flow's bytes are
//! whole. Results here are in seconds of 1000 ms.
//!
//! **Time.** When the clock is a multiple of 10,240 ms, every coflow that arrives within the next
//! bin starts; its CCT counts from there. A flow gets both its ports for a cycle or nothing, and
//! ends at a cycle's end.
//!
//! **Queues.** Thin coflows, least contention first; then pilots; then the main queue whose turn it
//! is; then the other main queues from the first. A coflow of the main queues is in the queue that
//! its key says now, at the end when it has just come. Inside a queue, by position: for each free
//! sender in the coflow's order the first free receiver.
//!
//! **Ties.** Ports are sorted by their active pilots with `<=` for the order, for which the C++
//! standard promises nothing; the common library reverses ports with equally many ([`Ties`]). A
//! pilot that is the last flow of its coflow stays counted at its ports for ever. Neither should
//! matter, but which flows are pilots does: on the public Facebook trace order D has a mean CCT of
//! 28.17 s as emulated here, which is what the authors' program prints; 28.25 s with ties by number
//! of port; and if pilots were not counted for ever, 27.01 s and 29.75 s.

mod coflow;
mod parameters;
mod pilots;
mod queues;
mod record;
mod scale;
mod serving;
mod simulator;
mod slots;

pub use parameters::{Order, Parameters, Pilots, Ties};
pub use record::Estimate;
pub use scale::CAPACITY_BPS;
pub use simulator::{run, run_with_estimates};
