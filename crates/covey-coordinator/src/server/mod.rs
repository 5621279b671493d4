//! The coordinator with its I/O.

mod admit;
mod agents;
mod audit;
mod body;
mod caller;
mod change;
mod command;
mod config;
mod decide;
mod events;
mod heard;
mod histogram;
mod jobs;
mod joined_relays;
mod joining;
mod metrics;
mod problems;
mod push;
mod rate;
mod record;
mod relays;
mod requests;
mod rest;
mod route;
mod runnable;
mod serving;
mod shared;
mod switch;
mod trunk;
mod write;

pub use change::Control;
pub use config::{ServeError, ServerConfig};
pub use serving::Server;
