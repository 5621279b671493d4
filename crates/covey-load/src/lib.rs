//! Loads a live coordinator and measures its cost.
//!
//! The coordinator is a process of its own ([`Coordinator`]), so that its CPU and memory are
//! measured alone. Hosts are simulated ([`Hosts`]): each has a real agent with a real connection,
//! and its flows keep to the schedule in real time, but send no bytes. They may join through a
//! [`Relay`]. [`replay`] drives a workload through both.

mod coordinator;
mod entry;
mod error;
mod host;
mod metrics;
mod relay;
mod replay;

pub use coordinator::Coordinator;
pub use entry::AgentEntry;
pub use error::LoadError;
pub use host::{Hosts, Sizes, all_joined};
pub use metrics::Metrics;
pub use relay::Relay;
pub use replay::{Replay, register, registration, replay};
