//! The fabric: directed links with capacities, and the path each pair of ports uses.

use crate::ids::{LinkId, PortId};
use thiserror::Error;

/// Links with capacities, and a path for every pair of ports.
///
/// Every path starts with the source's egress link and ends with the destination's ingress link.
/// Egress links have the numbers `0..ports`, ingress links `ports..2 * ports`, and links inside the
/// fabric follow. The *big switch* has no inner links: only ports can be a bottleneck.
#[derive(Debug, Clone, PartialEq)]
pub struct Fabric {
    ports: u32,
    capacity: Vec<f64>,
    /// Inner links of the pair `src * ports + dst`; empty for the big switch.
    inner: Vec<Box<[LinkId]>>,
}

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
        /// The link.
        link: u32,
    },
}

impl Fabric {
    /// A non-blocking switch with `ports` ports whose links all carry `rate` bytes per second.
    ///
    /// # Errors
    /// When `rate` is not a finite number above zero.
    pub fn big_switch(ports: u32, rate: f64) -> Result<Fabric, FabricError> {
        let per_port = vec![rate; ports as usize];
        Fabric::big_switch_with(&per_port, &per_port)
    }

    /// A non-blocking switch with the given capacities (bytes per second) of its egress and ingress
    /// links; as many ports as the shorter of the two.
    ///
    /// # Errors
    /// When a capacity is not a finite number above zero.
    pub fn big_switch_with(egress: &[f64], ingress: &[f64]) -> Result<Fabric, FabricError> {
        let ports = egress.len().min(ingress.len());
        let capacity = [&egress[..ports], &ingress[..ports]].concat();
        checked(&capacity)?;
        Ok(Fabric { ports: ports as u32, capacity, inner: Vec::new() })
    }

    /// A fabric with inner links: `inner_capacity` gives their capacities in bytes per second, and
    /// `inner_path(src, dst)` the inner links (numbered from 0) that a pair of ports crosses.
    ///
    /// # Errors
    /// When a capacity is not a finite number above zero, or a path uses a link that does not exist.
    pub fn with_paths(
        ports: u32,
        rate: f64,
        inner_capacity: &[f64],
        inner_path: impl Fn(PortId, PortId) -> Vec<u32>,
    ) -> Result<Fabric, FabricError> {
        let mut capacity = vec![rate; 2 * ports as usize];
        capacity.extend_from_slice(inner_capacity);
        checked(&capacity)?;
        let mut inner = Vec::new();
        for src in 0..ports {
            for dst in 0..ports {
                let path = inner_path(PortId(src), PortId(dst));
                if let Some(&link) = path.iter().find(|&&l| l as usize >= inner_capacity.len()) {
                    return Err(FabricError::UnknownLink { src, dst, link });
                }
                inner.push(path.into_iter().map(|l| LinkId(2 * ports + l)).collect());
            }
        }
        Ok(Fabric { ports, capacity, inner })
    }

    /// Number of ports.
    pub fn ports(&self) -> u32 {
        self.ports
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.capacity.len()
    }

    /// Capacity of every link, in bytes per second.
    pub fn capacity(&self) -> &[f64] {
        &self.capacity
    }

    /// The link out of a port.
    pub fn egress(&self, port: PortId) -> LinkId {
        LinkId(port.0)
    }

    /// The link into a port.
    pub fn ingress(&self, port: PortId) -> LinkId {
        LinkId(self.ports + port.0)
    }

    /// The links between a source's egress and a destination's ingress link.
    pub fn inner_path(&self, src: PortId, dst: PortId) -> &[LinkId] {
        if self.inner.is_empty() {
            &[]
        } else {
            &self.inner[src.index() * self.ports as usize + dst.index()]
        }
    }
}

fn checked(capacity: &[f64]) -> Result<(), FabricError> {
    match capacity.iter().position(|c| !(c.is_finite() && *c > 0.0)) {
        Some(link) => Err(FabricError::Capacity { link, capacity: capacity[link] }),
        None => Ok(()),
    }
}
