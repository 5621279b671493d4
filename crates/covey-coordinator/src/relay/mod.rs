//! A relay: one connection to the coordinator, with the sessions of many agents.
//!
//! A relay listens as the coordinator does, and asks agents for the same credentials. What an agent
//! and the coordinator say to each other it passes on as it is. It keeps no state of its own: when
//! its connection to the coordinator ends, it closes those of its agents, which join again.

mod agents;
mod config;
mod probes;
mod relaying;
mod uplink;

pub use config::{RelayConfig, RelayError};
pub use relaying::Relay;
