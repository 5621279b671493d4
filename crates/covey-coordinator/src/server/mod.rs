//! The coordinator with its I/O.

mod accept;
mod agents;
mod authority;
mod clients;
mod command;
mod config;
mod decide;
mod jobs;
mod metrics;
mod outbox;
mod push;
mod rest;
mod serving;
mod shared;
mod write;

pub use authority::Authority;
pub use config::{ServeError, ServerConfig};
pub use serving::Server;
