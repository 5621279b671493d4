//! What can be wrong with a fabric.

use thiserror::Error;

/// Why a fabric cannot be made.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FabricError {
    /// A capacity is not a finite number above zero.
    #[error(
        "link {link} has capacity {capacity}: expected a finite number of bytes per second above zero"
    )]
    Capacity {
        /// The link.
        link: usize,
        /// What was given.
        capacity: f64,
    },
    /// A path uses a link that does not exist.
    #[error("the path from port {src} to port {dst} uses link {link}, which does not exist")]
    UnknownLink {
        /// Source port.
        src: u32,
        /// Destination port.
        dst: u32,
        /// The link, numbered from 0 among the inner links.
        link: u32,
    },
    /// A path uses a link more than once.
    #[error("the path from port {src} to port {dst} uses link {link} twice")]
    LinkTwice {
        /// Source port.
        src: u32,
        /// Destination port.
        dst: u32,
        /// The link, numbered from 0 among the inner links.
        link: u32,
    },
    /// A number that describes a topology is out of range.
    #[error("{name}: expected {expected}, found {found}")]
    Parameter {
        /// What it is the number of.
        name: &'static str,
        /// The valid numbers.
        expected: &'static str,
        /// What was given.
        found: u32,
    },
    /// Two hosts have no path between them.
    #[error("there is no path from host {src} to host {dst}")]
    NoPath {
        /// Source port.
        src: u32,
        /// Destination port.
        dst: u32,
    },
    /// Flows cannot be divided over all shortest paths of this topology.
    #[error(
        "spray needs a fat-tree or a leaf-spine: in other networks the links of a switch may carry unequal shares"
    )]
    Spray,
    /// A latency is not a finite number of at least zero, or their number is not that of the links.
    #[error(
        "the latencies of links must be finite numbers of seconds of at least zero, one for each link"
    )]
    Latency,
}
