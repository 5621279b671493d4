//! Lengths of a coflow's unfinished flows, estimated from its finished ones.
//!
//! Flows to one receiver are often alike, or flows from one sender: partitions are uneven, or input
//! splits are. So a flow's length is estimated as a product, `mean of its group × factor of its
//! other end`, where groups are the flows at one receiver or at one sender, whichever explains more
//! of the variance. Both are shrunk towards what all flows together say. A group of `n` finished
//! flows is trusted by `n / (n + k)`, where `k` is the variance within groups over the variance
//! between them (empirical Bayes; the variances by the method of moments of a one-way random-effects
//! model).

use covey_core::LinkId;

/// Limits of `k`: groups are never taken to be all alike inside, nor all the same.
const K_MIN: f64 = 0.02;
const K_MAX: f64 = 50.0;
/// `k` where finished flows do not tell: one a group, or all in one group.
const K_UNKNOWN: f64 = 0.5;

/// Means of values by group, shrunk towards their own mean.
#[derive(Debug, Default)]
struct Groups {
    /// By link: number of values, and first their sum, then the shrunk mean.
    count: Vec<f64>,
    mean: Vec<f64>,
    /// Links with values, in order of their first value.
    used: Vec<u32>,
    /// The mean of a group without values.
    grand: f64,
    /// Variance between groups.
    between: f64,
}

impl Groups {
    fn clear(&mut self, links: usize) {
        self.count.clear();
        self.count.resize(links, 0.0);
        self.mean.clear();
        self.mean.resize(links, 0.0);
        self.used.clear();
        (self.grand, self.between) = (0.0, 0.0);
    }

    /// Takes these values, each of the group at a link, in place of all before.
    fn fit(&mut self, values: impl Iterator<Item = (u32, f64)>) {
        for &link in &self.used {
            self.count[link as usize] = 0.0;
            self.mean[link as usize] = 0.0;
        }
        self.used.clear();
        let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for (link, value) in values {
            let l = link as usize;
            if self.count[l] == 0.0 {
                self.used.push(link);
            }
            self.count[l] += 1.0;
            self.mean[l] += value;
            n += 1.0;
            sum += value;
            squares += value * value;
        }
        let groups = self.used.len() as f64;
        let (mut explained, mut count_squares) = (0.0, 0.0);
        for &link in &self.used {
            let (count, sum) = (self.count[link as usize], self.mean[link as usize]);
            explained += sum * sum / count;
            count_squares += count * count;
        }
        let mut k = K_UNKNOWN;
        self.between = 0.0;
        if groups > 1.0 && n > groups {
            let within = ((squares - explained) / (n - groups)).max(0.0);
            let among = (explained - sum * sum / n) / (groups - 1.0);
            let per_group = (n - count_squares / n) / (groups - 1.0);
            self.between = ((among - within) / per_group).max(0.0);
            k = if self.between > 0.0 {
                (within / self.between).clamp(K_MIN, K_MAX)
            } else {
                K_MAX
            };
        }
        let (mut means, mut weights) = (0.0, 0.0);
        for &link in &self.used {
            let (count, sum) = (self.count[link as usize], self.mean[link as usize]);
            means += sum / (count + k);
            weights += count / (count + k);
        }
        self.grand = if weights > 0.0 { means / weights } else { 0.0 };
        for &link in &self.used {
            let l = link as usize;
            self.mean[l] = (self.mean[l] + k * self.grand) / (self.count[l] + k);
        }
    }

    fn mean(&self, link: u32) -> f64 {
        if self.count[link as usize] > 0.0 { self.mean[link as usize] } else { self.grand }
    }
}

/// A finished flow: its links, and its bytes.
#[derive(Debug, Clone, Copy)]
struct Sample {
    ends: [u32; 2],
    bytes: f64,
}

/// The finished flows of a coflow, and what they tell of the others.
#[derive(Debug, Default)]
pub struct Lengths {
    samples: Vec<Sample>,
    /// Bytes by sender and by receiver, and the factors of the other side.
    bytes: [Groups; 2],
    factors: Groups,
    /// Which end of a flow tells more: 0 the sender, 1 the receiver.
    side: usize,
}

impl Lengths {
    /// Nothing is known; `links` is their number in the fabric.
    pub fn clear(&mut self, links: usize) {
        self.samples.clear();
        self.bytes.iter_mut().for_each(|groups| groups.clear(links));
        self.factors.clear(links);
    }

    /// A flow between two links has ended.
    pub fn add(&mut self, ends: (LinkId, LinkId), bytes: f64) {
        self.samples.push(Sample { ends: [ends.0.0, ends.1.0], bytes });
    }

    /// Number of finished flows.
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    /// Estimates anew from all flows that have ended.
    pub fn fit(&mut self) {
        for (side, groups) in self.bytes.iter_mut().enumerate() {
            groups.fit(self.samples.iter().map(|s| (s.ends[side], s.bytes)));
        }
        self.side = usize::from(self.bytes[1].between >= self.bytes[0].between);
        let (own, other) = (self.side, 1 - self.side);
        let groups = &self.bytes[own];
        let ratio = |s: &Sample| {
            let length = groups.mean(s.ends[own]);
            if length > 0.0 { s.bytes / length } else { 1.0 }
        };
        self.factors.fit(self.samples.iter().map(|s| (s.ends[other], ratio(s))));
    }

    /// Which end of a flow gives its group: 0 the sender, 1 the receiver.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Mean length in bytes of the flows at a link of the side that gives groups.
    pub fn length(&self, link: LinkId) -> f64 {
        self.bytes[self.side].mean(link.0)
    }

    /// By how much flows at a link of the other side are longer than their groups say.
    pub fn factor(&self, link: LinkId) -> f64 {
        self.factors.mean(link.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What flows between senders 0.. and receivers 100.. of these lengths tell.
    fn lengths(flows: &[(u32, u32, f64)]) -> Lengths {
        let mut lengths = Lengths::default();
        lengths.clear(200);
        flows.iter().for_each(|&(s, r, bytes)| lengths.add((LinkId(s), LinkId(100 + r)), bytes));
        lengths.fit();
        lengths
    }

    fn of(lengths: &Lengths, sender: u32, receiver: u32) -> f64 {
        let ends = [LinkId(sender), LinkId(100 + receiver)];
        lengths.length(ends[lengths.side()]) * lengths.factor(ends[1 - lengths.side()])
    }

    #[test]
    fn one_flow_tells_of_all() {
        let known = lengths(&[(0, 0, 7.0)]);
        assert!((of(&known, 3, 4) - 7.0).abs() < 1e-9);
    }

    #[test]
    fn flows_to_one_receiver_are_taken_to_be_alike_when_they_are() {
        let known = lengths(&[(0, 0, 1.0), (1, 0, 1.0), (0, 1, 9.0), (1, 1, 9.0)]);
        assert_eq!(known.side(), 1);
        assert!((of(&known, 2, 0) - 1.0).abs() < 0.1, "{}", of(&known, 2, 0));
        assert!((of(&known, 2, 1) - 9.0).abs() < 0.3);
        assert!((of(&known, 2, 2) - 5.0).abs() < 0.3, "a receiver of which nothing is known");
    }

    #[test]
    fn flows_from_one_sender_are_taken_to_be_alike_when_they_are() {
        let known = lengths(&[(0, 0, 1.0), (0, 1, 1.0), (1, 0, 9.0), (1, 1, 9.0)]);
        assert_eq!(known.side(), 0);
        assert!((of(&known, 1, 2) - 9.0).abs() < 0.3);
    }

    #[test]
    fn lengths_are_products_when_both_ends_matter() {
        let pairs = (0..4).flat_map(|s| (0..4).map(move |r| (s, r)));
        let product = |s: u32, r: u32| f64::from((1 + s) * (1 + 3 * r));
        let flows: Vec<_> = pairs.map(|(s, r)| (s, r, product(s, r))).collect();
        let known = lengths(&flows);
        let error = |length: &dyn Fn(u32, u32) -> f64| -> f64 {
            flows.iter().map(|&(s, r, bytes)| (length(s, r) - bytes).abs()).sum()
        };
        let by_product = error(&|s, r| of(&known, s, r));
        // Exact means of the flows to a receiver.
        let by_receiver = error(&|_, r| 2.5 * f64::from(1 + 3 * r));
        assert!(by_product < by_receiver / 2.0, "{by_product} instead of {by_receiver}");
    }

    #[test]
    fn groups_that_differ_by_chance_are_trusted_little() {
        let known = lengths(&[(0, 0, 1.0), (1, 0, 9.0), (2, 1, 2.0), (3, 1, 8.0), (4, 1, 5.0)]);
        assert!((of(&known, 9, 0) - 5.0).abs() < 0.5, "{}", of(&known, 9, 0));
    }
}
