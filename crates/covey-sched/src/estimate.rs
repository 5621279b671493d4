//! Lengths of a coflow's unfinished flows, estimated from its finished ones.
//!
//! Flows to one receiver are often alike, or flows from one sender, because partitions or input
//! splits are uneven. So the length of a flow is estimated as the product of a factor of its sender
//! and a factor of its receiver. Both come from the logarithms of the finished flows' bytes:
//!
//! 1. Each side's shrunk group means (`shrinkage.rs`) are computed, a group being the flows at one
//!    port. The side with the larger variance between its groups explains more and keeps its means.
//! 2. The other side gets the shrunk group means of the residuals.
//! 3. The means are exponentiated and scaled by one factor, so that the estimates of the finished
//!    flows add up to their bytes. On a log scale alone a few giants among many small flows would
//!    not count.
//!
//! Finished flows are a biased sample, because short flows end first. The *inequality* says how far
//! lengths vary beyond what the ports explain: 0 if the ports explain all, 1 if lengths vary as an
//! exponential distribution does, or more. Bytes sent by flows that have not ended raise all
//! estimates by that part ([`Lengths::censoring`]).
//!
//! Sums over finished flows are kept, and each flow is added once. Nothing is subtracted, so
//! rounding does not accumulate. Sums that depend on the means of both sides are made again at each
//! fit, in two passes over the finished flows.

use covey_core::{LinkId, LinkSet};

use crate::shrinkage::{GroupSums, Means};

/// Two variances between groups are equal if they differ by no more than this share.
const SAME: f64 = 1e-9;
/// The inequality of a coflow of which nothing is known: half of the way from 0 to 1. The second
/// constant is the number of spare flows that count as much as this prior.
const USUAL_INEQUALITY: f64 = 0.5;
const USUAL_FLOWS: f64 = 5.0;
/// The largest factor by which bytes in flight raise estimates.
const MAX_CENSORED: f64 = 10.0;

/// A finished flow: the numbers of its sender and its receiver, and its bytes.
#[derive(Debug, Clone, Copy)]
struct Sample {
    ends: [u32; 2],
    bytes: f64,
}

/// The finished flows of a coflow, and what follows from them for the others.
#[derive(Debug, Default)]
pub struct Lengths {
    samples: Vec<Sample>,
    /// The senders and the receivers of finished flows, numbered in order of first appearance.
    ports: [LinkSet; 2],
    /// Bytes of all finished flows, and the sum of their squares.
    bytes: f64,
    squares: f64,
    /// Logarithms of bytes by sender and by receiver, relative to the first flow's.
    logs: [GroupSums; 2],
    first_log: f64,
    /// The factors of senders and of receivers. The product of two is an estimate.
    numbers: [Means; 2],
    inequality: f64,
    /// Working memory: residuals by port of the other side, and what was subtracted from the
    /// logarithms.
    residuals: GroupSums,
    taken: Vec<f64>,
}

impl Lengths {
    /// Nothing is known: all factors are 1.
    pub fn clear(&mut self) {
        self.samples.clear();
        (self.bytes, self.squares, self.inequality) = (0.0, 0.0, 0.0);
        self.ports.iter_mut().for_each(LinkSet::clear);
        self.logs.iter_mut().for_each(GroupSums::clear);
        self.numbers.iter_mut().for_each(|numbers| numbers.clear(1.0));
    }

    /// Adds a flow that has ended, between two links, egress and ingress.
    pub fn add(&mut self, ends: (LinkId, LinkId), bytes: f64) {
        let mut number = |side: usize, link: LinkId| self.ports[side].insert(link.index()) as u32;
        let ends = [number(0, ends.0), number(1, ends.1)];
        let log = libm::log(bytes.max(1.0));
        if self.samples.is_empty() {
            self.first_log = log;
        }
        for (sums, end) in self.logs.iter_mut().zip(ends) {
            sums.add(end, log - self.first_log);
        }
        self.bytes += bytes;
        self.squares += bytes * bytes;
        self.samples.push(Sample { ends, bytes });
    }

    /// Number of finished flows.
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    /// Calculates estimates from all flows that have ended.
    pub fn fit(&mut self) {
        for (sums, means) in self.logs.iter().zip(&mut self.numbers) {
            sums.shrink(means);
        }
        let [senders, receivers] = [0, 1].map(|side| self.numbers[side].between);
        let own = usize::from(receivers * (1.0 + SAME) >= senders);
        self.fit_residuals(own, 1 - own);
        self.numbers.iter_mut().for_each(|means| means.map(libm::exp));
        self.scale(own);
    }

    /// Fits the `other` side to what the means of its `own` side leave of each flow.
    fn fit_residuals(&mut self, own: usize, other: usize) {
        let means = &self.numbers[own];
        self.taken.clear();
        self.taken.resize(self.ports[other].count(), 0.0);
        for sample in &self.samples {
            self.taken[sample.ends[other] as usize] += means.of(sample.ends[own]);
        }
        let squares = self.logs[own].residual_squares(means);
        self.residuals.assign_residuals(&self.logs[other], &self.taken, squares);
        self.residuals.shrink(&mut self.numbers[other]);
    }

    /// Scales one side so that the estimates of the finished flows add up to their bytes, and finds
    /// how far the flows vary around them.
    fn scale(&mut self, side: usize) {
        let (mut sum, mut squares, mut products) = (0.0, 0.0, 0.0);
        for &Sample { ends: [sender, receiver], bytes } in &self.samples {
            let estimate = self.numbers[0].of(sender) * self.numbers[1].of(receiver);
            sum += estimate;
            squares += estimate * estimate;
            products += estimate * bytes;
        }
        let scale = self.bytes / sum;
        self.numbers[side].map(|number| number * scale);
        // The squared errors, and the squares, of the scaled estimates.
        let errors = self.squares + scale * (scale * squares - 2.0 * products);
        squares *= scale * scale;
        self.find_inequality(if squares > 0.0 { errors.max(0.0) / squares } else { 0.0 });
    }

    /// Calculates the inequality. `cv2` is the squared coefficient of variation of the finished
    /// flows around their estimates. As many flows as there are factors to fit carry no
    /// information.
    fn find_inequality(&mut self, cv2: f64) {
        let flows = self.samples.len();
        let ports: usize = self.ports.iter().map(LinkSet::count).sum();
        let spare = (flows + 1).saturating_sub(ports) as f64;
        let own = if spare > 0.0 { cv2 * flows as f64 } else { 0.0 };
        let usual = USUAL_FLOWS * USUAL_INEQUALITY;
        self.inequality = ((own + usual) / (spare + USUAL_FLOWS)).min(1.0);
    }

    /// How unequal flows with the same ports are, from 0 to 1; 0 while nothing is known.
    pub fn inequality(&self) -> f64 {
        self.inequality
    }

    /// The factor by which flows are longer than the product of their ports' factors, when
    /// unfinished flows have sent `in_flight` bytes.
    ///
    /// With an inequality of 1 the estimate becomes the most likely one of an exponential
    /// distribution: bytes of all flows, finished or not, over the number of finished flows. With 0
    /// the factor is 1.
    pub fn censoring(&self, in_flight: f64) -> f64 {
        if in_flight == 0.0 {
            return 1.0;
        }
        1.0 + self.inequality * (in_flight / self.bytes).min(MAX_CENSORED)
    }

    /// The factor of a port. The factor of a sender times that of a receiver is the length in bytes
    /// of a flow between them, before [`Lengths::censoring`]. `side` is 0 for the egress link of a
    /// sender, 1 for the ingress link of a receiver.
    pub fn number(&self, side: usize, link: LinkId) -> f64 {
        match self.ports[side].get(link.index()) {
            Some(number) => self.numbers[side].of(number as u32),
            None => self.numbers[side].unseen(),
        }
    }
}

#[cfg(test)]
mod tests;
