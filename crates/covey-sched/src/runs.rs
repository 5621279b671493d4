//! Coflows by a key. A coflow moves when its key changes; equal keys are tied by rule.
//!
//! Keys are tied as [`rank::sort`](crate::rank::sort) ties them: keys that equal the smallest key
//! of a run form this run, in order of arrival. A coflow's position therefore depends on its
//! neighbours, as far as keys follow each other closely. When a coflow arrives or leaves, only
//! these neighbours are looked at.
//!
//! Keys of coflows that are served change all the time, but their order seldom does. So a coflow's
//! rank in the plan is a label, which it keeps as long as the label is between those of its
//! neighbours.

mod keys;
mod labels;
mod positions;

use covey_core::{CoflowId, Rank, Time};

use crate::rank::Tie;
use keys::Keys;
use labels::{Label, Labels};
use positions::Positions;

/// The coflows by their keys. Keys decide positions, and positions decide labels.
#[derive(Debug)]
pub(crate) struct Runs {
    keys: Keys,
    positions: Positions,
    labels: Labels,
    /// The layer of the plan that the ranks are in.
    layer: u32,
    /// Coflows whose ranks in the plan have changed, and their ranks.
    ranked: Vec<(CoflowId, Rank)>,
}

impl Runs {
    pub fn new(tie: Tie, layer: u32) -> Runs {
        Runs {
            keys: Keys::new(tie),
            positions: Positions::default(),
            labels: Labels::default(),
            layer,
            ranked: Vec::new(),
        }
    }

    /// Gives a coflow a key, or another key.
    pub fn set(&mut self, coflow: CoflowId, key: f64, order: (Time, u64)) {
        self.keys.set(coflow, key, order);
    }

    /// The key of a coflow.
    pub fn key(&self, coflow: CoflowId) -> Option<f64> {
        self.keys.of(coflow)
    }

    /// Removes a coflow.
    pub fn remove(&mut self, coflow: CoflowId) {
        self.keys.remove(coflow);
        if self.positions.remove(coflow) {
            self.labels.remove(coflow);
        }
    }

    /// The coflows whose ranks in the plan have changed since the last call, each with its new
    /// rank. All of them must leave their old ranks before any takes its new one.
    pub fn changed_ranks(&mut self) -> &[(CoflowId, Rank)] {
        self.keys.divide_changed(&mut self.positions);
        self.positions.sort_moved();
        let relabelled = self.labels.label_moved(&self.positions);
        self.ranked.clear();
        self.ranked.extend(relabelled.map(|(coflow, label)| (coflow, as_rank(self.layer, label))));
        self.positions.forget_moved();
        &self.ranked
    }
}

/// A label as a rank in the plan.
fn as_rank(layer: u32, label: Label) -> Rank {
    Rank::of_numbers(layer, [(label >> 64) as u64, label as u64], (Time::ZERO, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank;

    #[test]
    fn a_coflow_that_arrives_has_few_others_relabelled() {
        // Behind all others, before all others, and where there are others on both sides.
        let ranks: [fn(u32) -> f64; 3] =
            [f64::from, |k| -f64::from(k), |k| 1.0 + 1.0 / f64::from(k)];
        for key in ranks {
            let mut runs = Runs::new(Tie::Relative, 0);
            let mut relabelled = 0;
            for k in 1..5000 {
                runs.set(CoflowId(k), 1e6 * key(k), (Time::ZERO, u64::from(k)));
                relabelled += runs.changed_ranks().len();
            }
            assert!(relabelled < 5000 * 20, "{relabelled}");
            let labels = runs.positions.coflows().map(|coflow| runs.labels.of(coflow));
            assert!(labels.is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn ranks_that_are_kept_are_those_of_all_keys_sorted() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for tie in [Tie::Absolute, Tie::Relative] {
            let mut runs = Runs::new(tie, 0);
            let mut keys: Vec<Option<f64>> = vec![None; 30];
            let mut ranks = vec![None; 30];
            for _ in 0..5000 {
                for _ in 0..=random(3) {
                    let coflow = random(30) as usize;
                    let id = CoflowId(coflow as u32);
                    let order = (Time::ZERO, coflow as u64);
                    if random(3) == 0 {
                        runs.remove(id);
                        (keys[coflow], ranks[coflow]) = (None, None);
                    } else {
                        let near = random(12) as f64 * 0.3e-9;
                        let key = [random(3) as f64 + near, 7.0, f64::INFINITY]
                            [random(5).min(2) as usize];
                        runs.set(id, key, order);
                        keys[coflow] = Some(key);
                    }
                }
                for &(coflow, rank) in runs.changed_ranks() {
                    ranks[coflow.index()] = Some(rank);
                }
                let mut sorted: Vec<(f64, u64)> =
                    keys.iter().zip(0..).filter_map(|(key, c)| Some(((*key)?, c))).collect();
                rank::sort(&mut sorted, tie, |&(key, _)| key, |&(_, c)| c);
                let mut kept: Vec<(Rank, u64)> =
                    ranks.iter().zip(0..).filter_map(|(rank, c)| Some(((*rank)?, c))).collect();
                kept.sort_unstable();
                let coflows = |(_, c): &(Rank, u64)| *c;
                assert!(kept.iter().map(coflows).eq(sorted.iter().map(|&(_, c)| c)));
            }
        }
    }
}
