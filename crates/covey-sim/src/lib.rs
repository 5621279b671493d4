//! An exact, event-driven fluid simulator of coflows.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod bound;
mod calendar;
mod dags;
mod engine;
mod error;
mod explanation;
mod integration;
mod observer;
mod processors;
mod queues;
mod timeline;

pub use engine::{Simulator, simulate};
pub use error::SimError;
pub use explanation::Explainer;
pub use observer::{Observer, Round};
pub use queues::Queues;
pub use timeline::Timeline;
