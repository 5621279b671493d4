//! Leaf switches with hosts, each connected to every spine switch.

use super::ecmp::{Ecmp, EcmpMode, Forwarded};
use super::{Fabric, FabricError, Topology};
use crate::values::ids::{LinkId, PortId};

/// Most hosts of a leaf-spine network, and most links between its switches in one direction.
const MAX: u32 = 1 << 24;

/// A network of two tiers: `leaves` switches with `hosts` hosts each, and `spines` switches, each
/// connected to every leaf. Host `h` is at leaf `h / hosts`.
///
/// A flow to another leaf goes up to one spine and down again. [`EcmpMode::Modulo`] takes the spine
/// `(src + dst) mod spines`. With [`EcmpMode::Spray`] all uplinks of a leaf carry the same load and
/// are one link of `spines` times the capacity; so are those down to a leaf.
/// [`FatTree`](super::FatTree) says why that is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafSpine {
    leaves: u32,
    spines: u32,
    hosts: u32,
    ecmp: Ecmp,
}

impl LeafSpine {
    /// A network of `leaves` leaves with `hosts` hosts each, and `spines` spines.
    ///
    /// # Errors
    /// [`FabricError::Parameter`] if one of the numbers is 0, or there are more than 2^24 hosts or
    /// links between switches.
    pub fn new(leaves: u32, spines: u32, hosts: u32, ecmp: Ecmp) -> Result<LeafSpine, FabricError> {
        for (name, found) in [("leaves", leaves), ("spines", spines), ("hosts", hosts)] {
            if found == 0 {
                return Err(FabricError::Parameter { name, expected: "at least 1", found });
            }
        }
        for (name, found) in [("hosts", hosts), ("spines", spines)] {
            if leaves.checked_mul(found).is_none_or(|product| product > MAX) {
                let expected = "no more than 16777216 divided by the number of leaves";
                return Err(FabricError::Parameter { name, expected, found });
            }
        }
        Ok(LeafSpine { leaves, spines, hosts, ecmp })
    }

    /// Number of hosts of all leaves.
    pub fn hosts(&self) -> u32 {
        self.leaves * self.hosts
    }

    /// The whole network. Hosts' links carry `rate` bytes per second, links between leaves and
    /// spines `uplink`.
    ///
    /// # Errors
    /// [`FabricError::Capacity`] if a capacity is not a finite number above zero.
    pub fn fabric(self, rate: f64, uplink: f64) -> Result<Fabric, FabricError> {
        let hosts = vec![rate; self.hosts() as usize];
        let bundled = if self.sprays() { f64::from(self.spines) } else { 1.0 };
        let inner = vec![bundled * uplink; 2 * self.ups() as usize];
        Fabric::new(&hosts, &hosts, &inner, self)
    }

    fn sprays(&self) -> bool {
        self.ecmp.mode == EcmpMode::Spray
    }

    /// Number of links, or bundles, from leaves to spines.
    fn ups(&self) -> u32 {
        if self.sprays() { self.leaves } else { self.leaves * self.spines }
    }
}

impl Topology for LeafSpine {
    fn inner_path(&self, src: PortId, dst: PortId, flow: u64, path: &mut Vec<LinkId>) {
        let [from, to] = [src.0 / self.hosts, dst.0 / self.hosts];
        if from == to {
            return;
        }
        let [up, down] = if self.sprays() {
            [from, to]
        } else {
            let of = Forwarded { src: src.0, dst: dst.0, flow };
            let sum = u64::from(src.0) + u64::from(dst.0);
            let spine = self.ecmp.choose(from, of, sum, self.spines);
            [from, to].map(|leaf| leaf * self.spines + spine)
        };
        path.extend([LinkId(up), LinkId(self.ups() + down)]);
    }

    fn tier(&self, link: u32) -> &str {
        if link < self.ups() { "leaf up" } else { "leaf down" }
    }

    fn link_name(&self, link: u32) -> String {
        let n = link % self.ups();
        let (leaf, spine) = (n / self.spines, n % self.spines);
        match (self.sprays(), link < self.ups()) {
            (true, true) => format!("leaf {n} to {} spines", self.spines),
            (true, false) => format!("{} spines to leaf {n}", self.spines),
            (false, true) => format!("leaf {leaf} to spine {spine}"),
            (false, false) => format!("spine {spine} to leaf {leaf}"),
        }
    }

    fn edge_switch(&self, port: PortId) -> u32 {
        port.0 / self.hosts
    }
}
