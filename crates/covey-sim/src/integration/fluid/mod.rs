//! One coflow as a fluid.

mod coflow_fluid;
mod first_flow;
mod longest;
mod private;
mod proportional;

pub(super) use coflow_fluid::Fluid;
