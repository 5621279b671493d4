//! What one coflow still wants to send, and over which links.

mod active_flows;
mod builder;
mod coflow_demand;
mod flow_counts;
mod layout;
mod lists;
mod local_links;
mod paths;

pub use builder::Builder;
pub use coflow_demand::Demand;
