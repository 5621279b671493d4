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
}
