//! Coflows by a key that changes as bytes are sent. A key is updated when an event concerns the
//! coflow; equal keys are tied by rule.

use covey_core::{CoflowId, Knowledge, View};

/// Keys that differ by no more than this, in their own unit or relatively, are equal. For times it
/// is a nanosecond, the distance at which two times count as one.
const SAME: f64 = 1e-9;

/// How the difference of two keys is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Keys in seconds, or logarithms: an absolute difference.
    Absolute,
    /// Keys of any other unit: a difference relative to the smallest key of a run.
    Relative,
}

impl Tie {
    /// The largest key that equals `min`, the smallest key of a run.
    pub fn limit(self, min: f64) -> f64 {
        match self {
            Tie::Absolute => min + SAME,
            Tie::Relative => min + SAME * min.abs(),
        }
    }
}

/// Coflows in the order of their keys, smallest first.
#[derive(Debug, Default)]
pub(crate) struct KeyOrder {
    /// By coflow, the key when it was last calculated.
    keys: Vec<f64>,
    order: Vec<(f64, CoflowId)>,
}

impl KeyOrder {
    /// The key of a coflow when it was last calculated.
    pub fn key(&self, coflow: CoflowId) -> f64 {
        self.keys.get(coflow.index()).copied().unwrap_or(0.0)
    }

    /// Ranks some of the coflows present. A coflow keeps its key until an event concerns it or
    /// those that it can meet ([`View::is_dirty`]).
    pub fn rank<K: Knowledge>(
        &mut self,
        view: &View<'_, K>,
        tie: Tie,
        meant: impl Fn(CoflowId) -> bool,
        mut key: impl FnMut(CoflowId) -> f64,
    ) -> impl Iterator<Item = CoflowId> {
        self.keys.resize(view.slots(), 0.0);
        self.order.clear();
        for &coflow in view.coflows() {
            if view.is_dirty(coflow) {
                self.keys[coflow.index()] = key(coflow);
            }
            if meant(coflow) {
                self.order.push((self.keys[coflow.index()], coflow));
            }
        }
        sort(&mut self.order, tie, |&(key, _)| key, |&(_, coflow)| view.order(coflow));
        self.order.iter().map(|&(_, coflow)| coflow)
    }
}

/// Sorts by key, smallest first. Keys that equal the smallest key of a run form this run. Inside a
/// run coflows go by `arrival`, which is different for all. Allocates nothing.
pub(crate) fn sort<T, A: Ord>(
    order: &mut [T],
    tie: Tie,
    key: impl Fn(&T) -> f64,
    arrival: impl Fn(&T) -> A,
) {
    order.sort_unstable_by(|a, b| key(a).total_cmp(&key(b)));
    let mut rest = order;
    while let Some(first) = rest.first() {
        let min = key(first);
        let end = rest[1..].partition_point(|other| key(other) <= tie.limit(min)) + 1;
        let (run, behind) = rest.split_at_mut(end);
        run.sort_unstable_by_key(&arrival);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(keys: &[f64], tie: Tie) -> Vec<u32> {
        let coflows = (0..).map(CoflowId);
        let mut order: Vec<(f64, CoflowId)> = keys.iter().copied().zip(coflows).collect();
        sort(&mut order, tie, |&(key, _)| key, |&(_, coflow)| coflow);
        order.into_iter().map(|(_, coflow)| coflow.0).collect()
    }

    #[test]
    fn a_run_is_measured_from_its_smallest_key() {
        assert_eq!(sorted(&[2.0, 1.0 + 0.9e-9, 1.0], Tie::Absolute), [1, 2, 0]);
        // The third is within a nanosecond of the second, but not of the first.
        assert_eq!(sorted(&[1.0 + 1.8e-9, 1.0 + 0.9e-9, 1.0], Tie::Absolute), [1, 2, 0]);
        assert_eq!(sorted(&[5e9 + 1.0, 5e9], Tie::Absolute), [1, 0]);
        assert_eq!(sorted(&[5e9 + 1.0, 5e9], Tie::Relative), [0, 1]);
    }

    #[test]
    fn keys_that_are_not_finite_come_last() {
        assert_eq!(sorted(&[f64::INFINITY, 1.0, f64::INFINITY], Tie::Relative), [1, 0, 2]);
        assert_eq!(sorted(&[0.0, f64::INFINITY, 0.0], Tie::Absolute), [0, 2, 1]);
    }
}
