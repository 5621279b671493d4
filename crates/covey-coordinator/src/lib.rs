//! Drives a coflow scheduling policy in real time.
//!
//! The [`CoordinatorState`] is a state machine without I/O and clock: requests, messages of agents
//! and the time come in; records for the journal, answers, and schedules for agents go out. In it a
//! [`Driver`] tells the policy what happens, exactly as the simulator would. The `server` around
//! them (a feature) has the sockets, the journal's files and the clock. A `Relay` carries the
//! sessions of many agents over one connection.

#[cfg(feature = "server")]
mod connections;
mod driver;
#[cfg(feature = "server")]
mod journal;
mod layers;
mod ranges;
mod record;
mod recording;
#[cfg(feature = "server")]
mod relay;
mod request;
#[cfg(feature = "server")]
mod server;
mod state;

pub use driver::{Driver, Scheduler};
pub use layers::LayerOf;
pub use record::{Digest, Key, Lease, Record, Registrant, Summary};
pub use recording::Recorder;
pub use request::{Answer, Client, List, MakePage, Reply, Request};
pub use state::{
    Config, CoordinatorState, Counts, Event, Held, Look, Lsn, Output, Population, RequestId, Seen,
    SessionId, Unused,
};

#[cfg(feature = "server")]
pub use journal::{Copied, Damage, Inspection, JournalError, Repaired};
#[cfg(feature = "server")]
pub use journal::{inspect, repair, restore, snapshot};
#[cfg(feature = "server")]
pub use relay::{Relay, RelayConfig, RelayError};
#[cfg(feature = "server")]
pub use server::{Control, ServeError, Server, ServerConfig};
