//! Networks as users name them, for every front end.
//!
//! [`Network::open`] makes a network from a text such as `fat-tree:k=8,ecmp=pair` or
//! `file:site.txt`. [`Network::place`] makes hosts of that network from the ports of a trace.
//! [`Tier::loads`] says how busy a workload keeps its links, and [`LinkLoad::all`] says it of each
//! link.
//!
//! ```
//! use covey_topology::{Network, Tier};
//! let workload = covey_trace::open("builtin:fb-like:coflows=20")?;
//! let network = Network::open("fat-tree:k=8,oversub=2", workload.ports, 125e6)?;
//! let (workload, note) = network.place(workload);
//! assert_eq!(workload.ports, 128);
//! assert!(note.is_some_and(|text| text.contains("150 ports on 128 hosts")));
//! let tiers = Tier::loads(&workload, network.fabric());
//! assert_eq!(tiers[1].tier, "edge up");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod file;
mod load;
mod network;
mod parameters;
mod place;

pub use error::TopologyError;
pub use file::{FileTopology, read};
pub use load::{LinkLoad, Tier};
pub use network::Network;
pub use place::Place;
