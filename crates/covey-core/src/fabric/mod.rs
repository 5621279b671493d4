//! The network: ports, directed links with capacities, and the path of each flow.
//!
//! [`Fabric`] is what the rest of Covey sees. A [`Topology`] says what lies between the ports; each is a file
//! here. Links and ports are converted into each other only by [`Fabric`].

mod error;
mod network;
mod routes;
mod topology;

pub use error::FabricError;
pub use network::Fabric;
pub use routes::Routes;
pub use topology::{BigSwitch, Topology};
