//! Workloads: what is to be sent, when, and between which ports.
//!
//! A [`Workload`] is plain data. Readers make one from a trace file, generators from a seed;
//! the simulator and the statistics read it.

mod workload;

pub use workload::{Coflow, Flow, Workload};
