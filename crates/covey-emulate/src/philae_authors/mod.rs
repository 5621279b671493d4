//! The simulator of Philae's authors
//! ([coflowPhilae/simulator](https://github.com/coflowPhilae/simulator)), in which the paper
//! measured Philae.
//!
//! **Units.** A port carries 134,217 bytes a millisecond, a cycle is 8 ms, and a flow's bytes are
//! whole. Results here are in seconds of 1000 ms.
//!
//! **Time.** When the clock is a multiple of 10,240 ms, every coflow that arrives within the next
//! bin starts; its CCT counts from there. A flow gets both its ports for a cycle or nothing, and
//! ends at a cycle's end.
//!
//! **Queues.** The program serves thin coflows, least contention first; then pilots; then the main
//! queue whose turn it is; then the other main queues from the first. A coflow of the main queues
//! is in the queue of its present key, and enters a queue at the end. For a coflow, each free
//! sender, in the coflow's order, sends to the first free receiver.
//!
//! **Ties.** The program sorts ports by their active pilots and compares with `<=`, for which the
//! C++ standard promises nothing; the common library reverses ports with equally many ([`Ties`]). A
//! pilot that is the last flow of its coflow stays counted at its ports for ever. Both affect the
//! choice of pilots, and so the results. On the public Facebook trace order D has a mean CCT of
//! 28.17 s as emulated here, the number that the authors' program prints, and 28.25 s with ties by
//! number of port. If pilots were not counted for ever, the means would be 27.01 s and 29.75 s.

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
