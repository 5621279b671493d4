//! Ports and links with numbers and capacities.

use std::ops::Range;
use std::sync::Arc;

use super::latency::Latency;
use super::{BigSwitch, FabricError, Topology};
use crate::values::ids::{LinkId, PortId};

/// Ports, directed links with capacities, and the path of each flow.
///
/// Every path starts with the source's egress link and ends with the destination's ingress link.
/// Where a host has several links, these two stand for the sets of its links out and in, and limit
/// nothing: the links themselves are inner links, and views, bounds and sharing rules find them on
/// the paths. With `n` ports, egress links have the numbers `0..n`, ingress links `n..2 * n`, and
/// the inner links of the topology follow. Only this type relies on that order: all others ask it.
#[derive(Debug, Clone)]
pub struct Fabric {
    ports: u32,
    /// Bytes per second, by [`LinkId`].
    capacity: Vec<f64>,
    latency: Latency,
    topology: Arc<dyn Topology>,
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
        Fabric::new(egress, ingress, &[], BigSwitch)
    }

    /// Ports with the given capacities (bytes per second) of their egress and ingress links, as
    /// many as the shorter of the two, connected by the inner links of `topology`.
    ///
    /// # Errors
    /// When a capacity is not a finite number above zero.
    pub fn new(
        egress: &[f64],
        ingress: &[f64],
        inner: &[f64],
        topology: impl Topology + 'static,
    ) -> Result<Fabric, FabricError> {
        let ports = egress.len().min(ingress.len());
        let capacity = [&egress[..ports], &ingress[..ports], inner].concat();
        match capacity.iter().position(|c| !(c.is_finite() && *c > 0.0)) {
            Some(link) => Err(FabricError::Capacity { link, capacity: capacity[link] }),
            None => {
                let (latency, topology) = (Latency::Uniform(0.0), Arc::new(topology));
                Ok(Fabric { ports: ports as u32, capacity, latency, topology })
            }
        }
    }

    /// The same network with links that take `seconds` to pass on what enters them. Without this,
    /// links take no time.
    ///
    /// # Errors
    /// [`FabricError::Latency`] unless `seconds` is a finite number of at least zero.
    pub fn with_latency(self, seconds: f64) -> Result<Fabric, FabricError> {
        self.with(Latency::Uniform(seconds + 0.0))
    }

    /// The same network with a latency for each link, in seconds, by its number.
    ///
    /// # Errors
    /// [`FabricError::Latency`] unless there is one for each link, finite and of at least zero.
    pub fn with_latencies(self, seconds: Vec<f64>) -> Result<Fabric, FabricError> {
        if seconds.len() != self.links() {
            return Err(FabricError::Latency);
        }
        self.with(Latency::ByLink(seconds))
    }

    fn with(self, latency: Latency) -> Result<Fabric, FabricError> {
        if !latency.is_valid() {
            return Err(FabricError::Latency);
        }
        Ok(Fabric { latency, ..self })
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

    /// Exchanges the capacities of all links.
    pub(crate) fn swap_capacity(&mut self, capacity: &mut Vec<f64>) {
        std::mem::swap(&mut self.capacity, capacity);
    }

    /// The link out of a port.
    pub fn egress(&self, port: PortId) -> LinkId {
        LinkId(port.0)
    }

    /// The link into a port.
    pub fn ingress(&self, port: PortId) -> LinkId {
        LinkId(self.ports + port.0)
    }

    /// Numbers of all egress links, in the order of their ports.
    pub fn egress_links(&self) -> Range<usize> {
        0..self.ports as usize
    }

    /// Numbers of all ingress links, in the order of their ports.
    pub fn ingress_links(&self) -> Range<usize> {
        self.ports as usize..2 * self.ports as usize
    }

    /// Numbers of the links between ports.
    pub fn inner_links(&self) -> Range<usize> {
        2 * self.ports as usize..self.links()
    }

    /// The port whose egress or ingress link this is; none of an inner link.
    pub fn port_of(&self, link: LinkId) -> Option<PortId> {
        match link.0.checked_sub(self.ports) {
            None => Some(PortId(link.0)),
            Some(port) if port < self.ports => Some(PortId(port)),
            Some(_) => None,
        }
    }

    /// Appends to `path` the links that a flow crosses between its source's egress and its
    /// destination's ingress link. `flow` is a number that no other flow of the run bears.
    pub fn inner_path(&self, src: PortId, dst: PortId, flow: u64, path: &mut Vec<LinkId>) {
        let from = path.len();
        self.topology.inner_path(src, dst, flow, path);
        path[from..].iter_mut().for_each(|link| link.0 += 2 * self.ports);
    }

    /// Appends to `path` all links that a flow crosses, from its source's egress link to its
    /// destination's ingress link. `flow` is a number that no other flow of the run bears.
    pub fn path(&self, src: PortId, dst: PortId, flow: u64, path: &mut Vec<LinkId>) {
        path.push(self.egress(src));
        self.inner_path(src, dst, flow, path);
        path.push(self.ingress(dst));
    }

    /// Seconds that what a flow sends takes from its source to its destination: the sum of the
    /// latencies of the links of its path.
    pub fn path_latency(&self, src: PortId, dst: PortId, flow: u64) -> f64 {
        if self.latency.is_zero() {
            return 0.0;
        }
        let mut path = Vec::new();
        self.path(src, dst, flow, &mut path);
        path.iter().map(|&link| self.latency(link)).sum()
    }

    /// Seconds that a link takes to pass on what enters it.
    pub fn latency(&self, link: LinkId) -> f64 {
        self.latency.of(link.index())
    }

    /// The tier of a link, such as `host up` or `edge up`: reports sum up the links of a tier.
    pub fn tier(&self, link: LinkId) -> &str {
        match link.0.checked_sub(2 * self.ports) {
            Some(inner) => self.topology.tier(inner),
            None if link.0 < self.ports => "host up",
            None => "host down",
        }
    }

    /// A name for a link that no other link has, such as `edge 3 to agg 1`.
    pub fn link_name(&self, link: LinkId) -> String {
        match (link.0.checked_sub(2 * self.ports), self.port_of(link)) {
            (Some(inner), _) => self.topology.link_name(inner),
            (_, Some(port)) => format!("{} {}", self.topology.host_name(port), self.end_of(link)),
            (None, None) => unreachable!("a link belongs to a port or is an inner one"),
        }
    }

    /// Whether a link exists. Where a host has several links out or in, its own egress and ingress
    /// link stand for the set of them, and limit nothing.
    pub fn is_link(&self, link: LinkId) -> bool {
        self.port_of(link).is_none_or(|port| !self.topology.is_set_of_links(port))
    }

    fn end_of(&self, link: LinkId) -> &'static str {
        if link.0 < self.ports { "up" } else { "down" }
    }

    /// The number of the switch that a port's links lead to. On a big switch each port has one to
    /// itself.
    pub fn edge_switch(&self, port: PortId) -> u32 {
        self.topology.edge_switch(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Routes;

    #[test]
    fn links_and_ports_are_each_others() -> Result<(), FabricError> {
        let routes = Routes::new(2, [(PortId(0), PortId(2), vec![1, 0])])?;
        let fabric = Fabric::new(&[1.0; 3], &[2.0; 3], &[3.0, 4.0], routes)?;
        for port in (0..3).map(PortId) {
            assert_eq!(fabric.port_of(fabric.egress(port)), Some(port));
            assert_eq!(fabric.port_of(fabric.ingress(port)), Some(port));
            assert!(fabric.egress_links().contains(&fabric.egress(port).index()));
            assert!(fabric.ingress_links().contains(&fabric.ingress(port).index()));
        }
        assert_eq!((fabric.port_of(LinkId(6)), fabric.inner_links()), (None, 6..8));
        let mut path = vec![LinkId(99)];
        fabric.inner_path(PortId(0), PortId(2), 0, &mut path);
        fabric.inner_path(PortId(2), PortId(0), 0, &mut path);
        assert_eq!(path, [99, 7, 6].map(LinkId));
        Ok(())
    }
}
