//! The coordinator without its I/O: what happens comes in, what has to be done comes out.
//!
//! [`CoordinatorState`] consists of parts. Each part has its own file, fields and invariants; the files
//! below add the procedures that need several parts, each using only those above it.

// Parts.
mod agent;
mod agents;
mod assignments;
mod awaited_bytes;
mod coflows;
mod config;
mod dirty;
mod effects;
mod flow_ids;
mod flows;
mod journal_queue;
mod leases;
mod memory;
mod reservations;

// The whole, and what it does.
mod apply;
mod coordinator;
mod ends;
mod following;
mod leasing;
mod lifecycle;
mod messages;
mod processors;
mod progress;
mod publish;
mod queries;
mod requests;
mod round;
mod sessions;
mod snapshot;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use coordinator::CoordinatorState;
pub use effects::{Counts, Event, Lsn, Output, Population, RequestId, SessionId};
pub use flows::Unused;
