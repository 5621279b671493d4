//! Simulation: workload + fabric + policy → outcome.
//!
//! Between two scheduling rounds all rates are constant, so the simulator computes the time of the
//! next round and makes no time steps. A round begins when a flow ends, a coflow arrives, or a time
//! or a number of bytes is reached for which the policy waits. All events within
//! [`Time::RESOLUTION_S`](covey_core::Time::RESOLUTION_S) is one round.
//! [`Driver::round`](covey_alloc::Driver::round) has the order of events in a round, and the
//! [simulated world](world::SimulatedWorld) supplies the events.

mod changes;
mod cluster;
mod coflow_ids;
mod records;
mod simulator;
mod transfers;
mod wake_calendar;
mod wake_watch;
mod world;

pub use simulator::{Simulator, simulate};
