//! How well found groups agree with true coflows: B-cubed precision and recall.
//!
//! For a flow of true coflow C in found group X, precision is |C ∩ X| / |X| and recall |C ∩ X| /
//! |C|. *Per flow* is the mean over all flows. *Per coflow* is the mean over true coflows of the
//! mean over their flows, so that a coflow of one flow counts as much as one of ten thousand.

/// Means of precision and recall, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// Mean precision.
    pub precision: f64,
    /// Mean recall.
    pub recall: f64,
}

impl Accuracy {
    /// The harmonic mean of the two; 0 if both are.
    pub fn f1(&self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 { 2.0 * self.precision * self.recall / sum } else { 0.0 }
    }
}

/// Accuracy in both ways to count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracies {
    /// Each flow counts once.
    pub per_flow: Accuracy,
    /// Each true coflow counts once.
    pub per_coflow: Accuracy,
}

/// Compares the group with the true coflow of each flow; any numbers name them. Without flows all
/// means are 1.
///
/// ```
/// use covey_identify::accuracy;
/// // Flows of coflows 1 and 2; two of coflow 1 are found together with that of coflow 2.
/// let found = accuracy(&[7, 8, 8, 8], &[1, 1, 1, 2]);
/// assert_eq!(found.per_flow.precision, (1.0 + 2.0 / 3.0 + 2.0 / 3.0 + 1.0 / 3.0) / 4.0);
/// assert_eq!(found.per_flow.recall, (1.0 / 3.0 + 2.0 / 3.0 + 2.0 / 3.0 + 1.0) / 4.0);
/// ```
///
/// # Panics
/// If the lists differ in length.
pub fn accuracy(found: &[u32], truth: &[u32]) -> Accuracies {
    assert_eq!(found.len(), truth.len(), "each flow has a group and a coflow");
    let of_group = counts(found.iter().copied());
    let of_coflow = counts(truth.iter().copied());
    let both = counts(found.iter().copied().zip(truth.iter().copied()));
    let count = |counts: &[(u32, f64)], name: u32| {
        let place = counts.binary_search_by_key(&name, |(name, _)| *name);
        place.map_or(0.0, |place| counts[place].1)
    };
    let mut per_flow = [0.0; 2];
    let mut per_coflow = [0.0; 2];
    for ((x, c), both) in both {
        // All `both` flows have the same precision and recall.
        let flows = count(&of_coflow, c);
        let sums = [both * both / count(&of_group, x), both * both / flows];
        for k in 0..2 {
            per_flow[k] += sums[k];
            per_coflow[k] += sums[k] / flows;
        }
    }
    let mean = |[precision, recall]: [f64; 2], n: usize| match n {
        0 => Accuracy { precision: 1.0, recall: 1.0 },
        n => Accuracy { precision: precision / n as f64, recall: recall / n as f64 },
    };
    Accuracies {
        per_flow: mean(per_flow, found.len()),
        per_coflow: mean(per_coflow, of_coflow.len()),
    }
}

/// The number of each name, in order of names.
fn counts<T: Ord + Copy>(names: impl Iterator<Item = T>) -> Vec<(T, f64)> {
    let mut names: Vec<T> = names.collect();
    names.sort_unstable();
    names.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect()
}
