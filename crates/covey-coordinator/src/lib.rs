//! Drives a coflow scheduling policy in real time.
//!
//! The [`Core`] is a state machine without I/O and clock: requests, messages of agents and the time come
//! in; records for the journal, answers, and schedules for agents go out. In it a [`Driver`] tells the
//! policy what happens, exactly as the simulator would. The `server` around them (a feature) has
//! the sockets, the journal's files and the clock.

mod coflows;
mod core;
mod driver;
#[cfg(feature = "server")]
mod journal;
mod layers;
mod record;
mod request;
#[cfg(feature = "server")]
mod server;
mod slot;

pub use coflows::Unused;
pub use core::{Config, Core, Counts, Event, Lsn, Output, Population, RequestId};
pub use driver::Driver;
pub use layers::LayerOf;
pub use record::{Key, Lease, Record, Summary};
pub use request::{Answer, Reply, Request};
pub use slot::SessionId;

#[cfg(feature = "server")]
pub use journal::{Damage, Inspection, JournalError, Repaired, inspect, repair};
#[cfg(feature = "server")]
pub use server::{Authority, ServeError, Server, ServerConfig};
