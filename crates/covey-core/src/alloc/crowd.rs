//! All flows present as one group, whatever coflow they belong to: what schedulers that do not
//! know coflows serve.

use super::max_min::{self, Filling};
use crate::ids::LinkId;
use crate::pairs::Row;

/// What a flow counts for at its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// Every flow the same: max-min fairness.
    #[default]
    Number,
    /// Its size: each link is divided in proportion, and what a flow cannot use is left idle.
    Size,
}

impl Measure {
    /// What a flow of `size` bytes counts for, and so what its rate is at a level of 1.
    pub fn of(self, size: f64) -> f64 {
        match self {
            Measure::Number => 1.0,
            Measure::Size => size,
        }
    }
}

/// Flows between ports, and the level of each link.
#[derive(Debug, Default)]
pub struct Crowd {
    measure: Measure,
    ports: usize,
    /// Flows between each link and each port at the other side, as tags. Under [`Measure::Number`].
    flows: Vec<Row<f32, 0>>,
    /// Flows at each link.
    count: Vec<f64>,
    /// Sizes of the flows at each link. Under [`Measure::Size`].
    size: Vec<Sum>,
    filling: Filling,
}

impl Crowd {
    pub(super) fn clear(&mut self, measure: Measure, ports: usize) {
        self.measure = measure;
        self.ports = ports;
        let sums = match measure {
            Measure::Number => 0,
            Measure::Size => 2 * ports,
        };
        self.flows.resize_with(2 * ports, Row::default);
        self.flows.iter_mut().for_each(|row| row.clear(ports));
        self.size.clear();
        self.size.resize(sums, Sum::default());
        self.count.clear();
        self.count.resize(2 * ports, 0.0);
    }

    /// Adds (`by = 1`) or removes (`by = -1`) a flow between an egress and an ingress link.
    pub(super) fn adjust(&mut self, egress: LinkId, ingress: LinkId, size: f64, by: f32) {
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

    pub(super) fn fill(&mut self, capacity: &[f64]) {
        let mut filling = std::mem::take(&mut self.filling);
        match self.measure {
            Measure::Number => max_min::fill(self, capacity, &mut filling),
            Measure::Size => {
                let links = capacity.iter().zip(&self.size).zip(&self.count);
                filling.level.clear();
                filling.level.extend(links.map(|((capacity, size), &count)| {
                    if count > 0.5 { capacity / size.value() } else { max_min::UNLIMITED }
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

    /// Level of each link: a flow's rate is what it counts for times the lesser level of its two
    /// links. In bytes per second; under [`Measure::Size`] per byte of size.
    pub fn level(&self) -> &[f64] {
        &self.filling.level
    }

    /// Flows at each link.
    pub(super) fn counts(&self) -> &[f64] {
        &self.count
    }

    /// Flows between a link and each port on the other side.
    pub(super) fn flows_with(&self, link: usize) -> &Row<f32, 0> {
        &self.flows[link]
    }
}

/// A sum with what rounding loses kept beside it (Knuth's two-sum), so that a byte is still exact
/// after terabytes have been added and taken away.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    rounded: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        let before = self.rounded;
        self.rounded += term;
        let added = self.rounded - before;
        self.lost += (before - (self.rounded - added)) + (term - added);
    }

    fn value(&self) -> f64 {
        self.rounded + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terabytes_leave_behind_is_exact() {
        let mut sum = Sum::default();
        let large = [1e12 / 3.0, 7e13 / 11.0, 1e15 / 7.0];
        large.iter().for_each(|&size| sum.add(size));
        sum.add(0.1);
        large.iter().for_each(|&size| sum.add(-size));
        assert!((sum.value() / 0.1 - 1.0).abs() < 1e-12, "{}", sum.value());
    }
}
