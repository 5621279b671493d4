//! What lies between the ports of a network.

use std::fmt::Debug;

use crate::values::ids::{LinkId, PortId};

/// The structure inside a fabric: which inner links a flow crosses.
///
/// A topology numbers its inner links from 0. It knows neither the ports' own links nor capacities;
/// [`Fabric`](super::Fabric) adds both. A path is worked out from the structure each time it is
/// asked for, so a topology takes no memory for each pair of ports unless its routes are listed by
/// hand.
pub trait Topology: Debug + Send + Sync {
    /// Appends to `path` the inner links that a flow from `src` to `dst` crosses, in order. Each
    /// occurs once and is below the number of inner capacities that the fabric was made with.
    ///
    /// `flow` is a number that no other flow of the run bears. A topology with several paths
    /// between two ports chooses by it (ECMP). The same call always gives the same path.
    fn inner_path(&self, src: PortId, dst: PortId, flow: u64, path: &mut Vec<LinkId>);

    /// The tier of an inner link, such as `edge up`. Reports sum up the links of a tier.
    fn tier(&self, _link: u32) -> &str {
        "inner"
    }

    /// A name for an inner link that no other inner link has.
    fn link_name(&self, link: u32) -> String {
        format!("inner {link}")
    }

    /// A name for a host, by its port.
    fn host_name(&self, port: PortId) -> String {
        format!("host {}", port.0)
    }

    /// The number of the switch that a host's links lead to. Without such switches, each port has
    /// one to itself.
    fn edge_switch(&self, port: PortId) -> u32 {
        port.0
    }

    /// Whether a host has other links than one out and one in. All its links are inner links then,
    /// and its port stands for the set of them: it must have a capacity that limits nothing.
    fn is_set_of_links(&self, _port: PortId) -> bool {
        false
    }
}

/// A non-blocking switch: it has no inner links, so only ports can be a bottleneck.
#[derive(Debug, Clone, Copy)]
pub struct BigSwitch;

impl Topology for BigSwitch {
    fn inner_path(&self, _: PortId, _: PortId, _: u64, _: &mut Vec<LinkId>) {}
}
