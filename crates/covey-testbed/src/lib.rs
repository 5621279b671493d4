//! Emulated hosts on one machine, and replay of traces over real sockets between them.
//!
//! A [`Lab`] is a set of hosts: network namespaces behind switches with shaped links, or, without
//! the privileges for that, processes on loopback. [`replay`] runs one contender in it: coordinator
//! and agents are the real programs, each host has a process ([`host`]) whose flows are real
//! connections made by the client library, and every byte is checked where it arrives. The result
//! is an `Outcome`, like the simulator's.

mod background;
mod cluster;
mod error;
mod faults;
mod host;
mod lab;
mod links;
mod marks;
mod network;
mod pattern;
mod processes;
mod replay;
mod scratch;
mod setup;

pub use error::TestbedError;
pub use faults::{Broken, Fault};
pub use host::{Host, Scheduling, host};
pub use lab::{Lab, warden};
pub use links::{Core, Links, Switch};
pub use network::{PAYLOAD, TOOLS};
pub use replay::{Found, replay};
pub use setup::{Replay, Scheduler};
