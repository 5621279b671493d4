//! All flows present as one group, whatever coflow they belong to: what schedulers that do not
//! know coflows serve.

use super::max_min::{self, Filling};
use crate::ids::LinkId;

/// Numbers of flows between each pair of ports, and the level of each link under max-min fairness.
///
/// Memory is quadratic in the number of ports: 8 bytes a pair.
#[derive(Debug, Default)]
pub struct Crowd {
    ports: usize,
    /// `flows[src * ports + dst]`, and the transpose behind it.
    flows: Vec<f32>,
    count: Vec<f64>,
    filling: Filling,
}

impl Crowd {
    pub(super) fn clear(&mut self, ports: usize) {
        self.ports = ports;
        self.flows.clear();
        self.flows.resize(2 * ports * ports, 0.0);
        self.count.clear();
        self.count.resize(2 * ports, 0.0);
    }

    /// Adds (`by = 1`) or removes (`by = -1`) a flow between an egress and an ingress link.
    pub(super) fn adjust(&mut self, egress: LinkId, ingress: LinkId, by: f32) {
        let (src, dst) = (egress.index(), ingress.index() - self.ports);
        self.flows[src * self.ports + dst] += by;
        self.flows[(self.ports + dst) * self.ports + src] += by;
        self.count[src] += f64::from(by);
        self.count[self.ports + dst] += f64::from(by);
    }

    pub(super) fn fill(&mut self, capacity: &[f64]) {
        let mut filling = std::mem::take(&mut self.filling);
        max_min::fill(self, capacity, &mut filling);
        self.filling = filling;
    }

    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Level of each link in bytes per second: a flow's rate is the lesser level of its two links.
    pub fn level(&self) -> &[f64] {
        &self.filling.level
    }

    pub(super) fn count(&self, link: usize) -> f64 {
        self.count[link]
    }

    /// Flows between a link and each port on the other side.
    pub(super) fn flows_with(&self, link: usize) -> &[f32] {
        &self.flows[link * self.ports..(link + 1) * self.ports]
    }
}
