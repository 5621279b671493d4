//! Stream: nobody is in charge (docs/no-coordinator.md).
//!
//! Receivers give coflows their priorities, by the state machine of the simulator's policy
//! `stream`, and tell senders on the connections of flows. Senders mark packets with them, and tell
//! receivers what they know of others. Switches serve the marked packets strictly by priority.

mod arrival;
mod host;
mod ids;
mod marking;
mod mode;
mod receiving;
mod replies;
mod sending;

pub(crate) use arrival::Arrival;
pub(crate) use host::Host;
pub(crate) use ids::{UNREGISTERED, new_id};
pub(crate) use marking::Marking;
pub(crate) use replies::refuse;

pub use mode::Mode;
