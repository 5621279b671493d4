//! The coordinator with its I/O.

mod admit;
mod agents;
mod command;
mod config;
mod decide;
mod jobs;
mod joining;
mod metrics;
mod problems;
mod push;
mod relays;
mod rest;
mod route;
mod serving;
mod shared;
mod trunk;
mod write;

pub use config::{ServeError, ServerConfig};
pub use serving::Server;
