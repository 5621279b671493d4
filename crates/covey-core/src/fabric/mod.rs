//! The network: ports, directed links with capacities, and the path of each flow.
//!
//! [`Fabric`] is what the rest of Covey sees. A [`Topology`] says what lies between the ports; each
//! is a file here. Links and ports are converted into each other only by [`Fabric`].

mod ecmp;
mod error;
mod fat_tree;
mod graph;
mod latency;
mod leaf_spine;
mod network;
mod routes;
mod topology;

pub use ecmp::{Ecmp, EcmpMode};
pub use error::FabricError;
pub use fat_tree::FatTree;
pub use graph::{Graph, GraphParts};
pub use leaf_spine::LeafSpine;
pub use network::Fabric;
pub use routes::Routes;
pub use topology::{BigSwitch, Topology};
