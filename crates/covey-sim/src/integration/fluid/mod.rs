//! One coflow as a fluid.

mod by_size;
mod coflow_fluid;
mod first_flow;
mod longest;

pub(super) use coflow_fluid::Fluid;
