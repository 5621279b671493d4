//! The progress of flows: rates are constant between two rounds and are integrated in bulk.

mod bundle_flows;
mod class_flows;
mod coflows;
mod fluid;
mod integrator;
mod meters;
mod modes;
mod moving;
mod next_ends;
mod priority_flows;
mod readings;
mod services;
mod tallies;

pub(crate) use coflows::CoflowFluids;
pub(crate) use integrator::{FlowAt, Network};
pub(crate) use modes::Integration;
pub(crate) use readings::{Due, Pace};
