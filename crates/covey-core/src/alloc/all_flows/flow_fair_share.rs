//! All flows present share the links alike, or each by its size.

use crate::alloc::exact_sum::ExactSum;
use crate::alloc::measure::Measure;
use crate::alloc::rules::progressive_filling::{self, Filling, Incidence, Side};
use crate::ids::LinkId;
use crate::pairs::Row;

/// The numbers of flows between ports, and the water level of each link.
///
/// A flow's rate is what it counts for times the lower level of its two links.
#[derive(Debug, Default)]
pub struct FlowFairShare {
    measure: Measure,
    ports: usize,
    /// By link, the number of flows to each port at the other side, as tags. Under
    /// [`Measure::Number`].
    flows: Vec<Row<f32, 0>>,
    /// Number of flows at each link.
    count: Vec<f64>,
    /// Sum of the sizes of the flows at each link, in bytes. Under [`Measure::Size`].
    size: Vec<ExactSum>,
    filling: Filling,
}

impl FlowFairShare {
    pub(in crate::alloc) fn clear(&mut self, measure: Measure, ports: usize) {
        self.measure = measure;
        self.ports = ports;
        let sums = match measure {
            Measure::Number => 0,
            Measure::Size => 2 * ports,
        };
        self.flows.resize_with(2 * ports, Row::default);
        self.flows.iter_mut().for_each(|row| row.clear(ports));
        self.size.clear();
        self.size.resize(sums, ExactSum::default());
        self.count.clear();
        self.count.resize(2 * ports, 0.0);
    }

    /// Adds (`by = 1`) or removes (`by = -1`) a flow between an egress and an ingress link.
    pub(in crate::alloc) fn adjust(&mut self, egress: LinkId, ingress: LinkId, size: f64, by: f32) {
        for link in [egress.index(), ingress.index()] {
            self.count[link] += f64::from(by);
            if let Some(sum) = self.size.get_mut(link) {
                sum.add(size * f64::from(by));
            }
        }
        if self.measure == Measure::Number {
            let ends = (egress.index(), ingress.index());
            for (link, port) in [(ends.0, ends.1 - self.ports), (ends.1, ends.0)] {
                self.flows[link].change_tag(port, |flows| flows + by);
            }
        }
    }

    pub(in crate::alloc) fn fill(&mut self, capacity: &[f64]) {
        let mut filling = std::mem::take(&mut self.filling);
        match self.measure {
            Measure::Number => progressive_filling::fill(self, capacity, &mut filling),
            Measure::Size => {
                let links = capacity.iter().zip(&self.size).zip(&self.count);
                filling.level.clear();
                filling.level.extend(links.map(|((capacity, size), &count)| {
                    if count > 0.5 {
                        capacity / size.value()
                    } else {
                        progressive_filling::UNLIMITED
                    }
                }));
            }
        }
        self.filling = filling;
    }

    /// What flows count for.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Level of each link: a flow's rate is what it counts for times the lower level of its two
    /// links. In bytes per second; under [`Measure::Size`] per byte of size.
    pub fn level(&self) -> &[f64] {
        &self.filling.level
    }
}

impl Incidence for FlowFairShare {
    fn senders(&self) -> usize {
        self.ports()
    }

    fn count(&self, open: &mut Vec<f64>) {
        open.extend_from_slice(&self.count);
    }

    fn relieve(&self, side: Side, fixed: &[u32], filling: &mut Filling) {
        let other = match side {
            Side::Senders => self.ports()..2 * self.ports(),
            Side::Receivers => 0..self.ports(),
        };
        let (free, open) = (&mut filling.free[other.clone()], &mut filling.open[other]);
        for &l in fixed {
            let level = filling.level[l as usize];
            let row = &self.flows[l as usize];
            let take = |free: &mut f64, open: &mut f64, n: f32| {
                *free -= level * f64::from(n);
                *open -= f64::from(n);
            };
            if let Some(ports) = row.ports() {
                for (&port, &n) in ports.iter().zip(row.tags()) {
                    take(&mut free[port as usize], &mut open[port as usize], n);
                }
            } else {
                let links = free.iter_mut().zip(&mut *open);
                links.zip(row.tags()).for_each(|((free, open), &n)| take(free, open, n));
            }
        }
    }
}
