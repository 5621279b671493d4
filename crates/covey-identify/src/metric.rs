//! The distance of two flows: d(x, y) = √(δᵀ A δ), where δ are their differences.

use crate::attributes::{ATTRIBUTES, Attribute, Differences};
use nalgebra::{SMatrix, SVector};

/// A square matrix with a row and a column for each attribute.
pub type Matrix = SMatrix<f64, ATTRIBUTES, ATTRIBUTES>;

/// A vector with an entry for each attribute.
pub(crate) type Vector = SVector<f64, ATTRIBUTES>;

/// A distance, with the radii for which it is meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// A: symmetric, and no vector has a negative δᵀ A δ.
    matrix: Matrix,
    /// Each difference is divided by its scale first.
    scales: Differences,
    /// ε of DBSCAN: two flows at most this far apart are in one group. Without unit.
    pub radius: f64,
    /// τ of Rough-DBSCAN: a flow at most this far from a leader follows it.
    pub leader_radius: f64,
    /// How the metric was learned; nothing for one that was not.
    pub training: Option<Training>,
    is_diagonal: bool,
    /// A, and its diagonal, for differences that are not scaled.
    scaled: Matrix,
    weights: Differences,
    /// Least increase of the squared distance with the square of each difference.
    least_weights: Differences,
}

/// The statistics of a training.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Labelled flows.
    pub flows: u64,
    /// Their coflows.
    pub coflows: u64,
    /// Sampled pairs of flows of one coflow.
    pub same_pairs: u64,
    /// Sampled pairs of flows of two coflows.
    pub different_pairs: u64,
    /// Seed of the sample.
    pub seed: u64,
    /// Steps of the optimisation.
    pub steps: u64,
    /// F1 per flow on the training flows, with `radius`.
    pub f1_per_flow: f64,
    /// F1 per coflow on the training flows, with `radius`.
    pub f1_per_coflow: f64,
}

impl Default for Metric {
    /// The metric without training, with radius 1.
    ///
    /// Two flows are near if their bursts share two thirds of the peers (weight 8), with less room
    /// if they also differ in start or port. Protocol, community and program must agree. They start
    /// within half a gap between bursts; the observer estimates this gap, so the metric suits any
    /// time scale.
    fn default() -> Metric {
        let mut weights = [0.0; ATTRIBUTES];
        weights[Attribute::Start as usize] = 4.0;
        weights[Attribute::Protocol as usize] = 4.0;
        weights[Attribute::Community as usize] = 4.0;
        weights[Attribute::Port as usize] = 0.1;
        weights[Attribute::Program as usize] = 4.0;
        weights[Attribute::Peers as usize] = 8.0;
        Metric::diagonal(&weights)
    }
}

impl Metric {
    /// The metric with this diagonal matrix, scales 1, radius 1 and leader radius 0.5.
    ///
    /// # Panics
    /// If a weight is negative or not finite.
    pub fn diagonal(weights: &Differences) -> Metric {
        assert!(weights.iter().all(|w| w.is_finite() && *w >= 0.0), "weights are finite, from 0");
        Metric::new(Matrix::from_diagonal(&(*weights).into()), [1.0; ATTRIBUTES])
    }

    /// Start times alone: flows are near if they start within a gap between bursts.
    pub fn start_alone() -> Metric {
        let mut weights = [0.0; ATTRIBUTES];
        weights[Attribute::Start as usize] = 1.0;
        Metric::diagonal(&weights)
    }

    /// Communities alone: flows of one community are near, whenever they start, and others are not.
    pub fn community_alone() -> Metric {
        let mut weights = [0.0; ATTRIBUTES];
        weights[Attribute::Community as usize] = 4.0;
        // Without a limit in time, every flow would be compared with all others.
        weights[Attribute::Start as usize] = 1e-18;
        Metric::diagonal(&weights)
    }

    /// The metric with a symmetric matrix, for differences divided by `scales`; radius 1, leader
    /// radius 0.5.
    pub(crate) fn new(matrix: Matrix, scales: Differences) -> Metric {
        Metric {
            radius: 1.0,
            leader_radius: 0.5,
            training: None,
            is_diagonal: (0..ATTRIBUTES).all(|i| (0..i).all(|j| matrix[(i, j)] == 0.0)),
            weights: std::array::from_fn(|k| matrix[(k, k)] / (scales[k] * scales[k])),
            least_weights: std::array::from_fn(|k| {
                least_weight(&matrix, k) / (scales[k] * scales[k])
            }),
            scaled: Matrix::from_fn(|i, j| matrix[(i, j)] / (scales[i] * scales[j])),
            matrix,
            scales,
        }
    }

    /// The matrix A.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The numbers by which differences are divided before the matrix is applied.
    pub fn scales(&self) -> &Differences {
        &self.scales
    }

    /// Whether A is diagonal.
    pub fn is_diagonal(&self) -> bool {
        self.is_diagonal
    }

    /// The distance of two flows with these differences.
    pub fn distance(&self, differences: &Differences) -> f64 {
        self.squared(differences).sqrt()
    }

    /// What each attribute adds to the square of the distance. With a full matrix it may be
    /// negative.
    pub fn parts(&self, differences: &Differences) -> Differences {
        let part = |i: usize| {
            let row =
                self.scaled.column(i).iter().zip(differences).map(|(a, d)| a * d).sum::<f64>();
            differences[i] * row
        };
        std::array::from_fn(part)
    }

    /// The square of the distance.
    pub(crate) fn squared(&self, differences: &Differences) -> f64 {
        if self.is_diagonal {
            // Four sums, so that additions do not wait for each other.
            let mut sums = [0.0; 4];
            for (k, (w, d)) in self.weights.iter().zip(differences).enumerate() {
                sums[k % 4] += w * d * d;
            }
            return (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
        let row = |i: usize| {
            self.scaled.column(i).iter().zip(differences).map(|(a, d)| a * d).sum::<f64>()
        };
        (0..ATTRIBUTES)
            .filter(|&i| differences[i] != 0.0)
            .map(|i| differences[i] * row(i))
            .sum::<f64>()
            .max(0.0)
    }

    /// The difference in one attribute beyond which flows are farther apart than `radius`, whatever
    /// the other attributes; infinite if the attribute alone does not separate.
    pub(crate) fn reach(&self, attribute: Attribute, radius: f64) -> f64 {
        let weight = self.least_weights[attribute as usize];
        if weight > 0.0 { radius / weight.sqrt() } else { f64::INFINITY }
    }
}

/// The least of δᵀ A δ over all δ with 1 in attribute `k`: the Schur complement of the other
/// attributes. Those that A ignores are left out by the pseudo-inverse.
fn least_weight(matrix: &Matrix, k: usize) -> f64 {
    let others = matrix.remove_row(k).remove_column(k);
    let with_k = matrix.column(k).remove_row(k);
    let tolerance = 1e-12 * matrix.diagonal().max();
    let inverse = others.pseudo_inverse(tolerance).unwrap_or_default();
    let complement = matrix[(k, k)] - (with_k.transpose() * inverse * with_k)[0];
    // Rounding must not cut off a flow at the very radius.
    if complement > tolerance { complement * (1.0 - 1e-9) } else { 0.0 }
}
