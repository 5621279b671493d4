//! Distance metric learning by Xing, Ng, Jordan and Russell (NIPS 2002): pairs of flows of one
//! coflow (*same*) should be near, pairs of two coflows (*different*) apart.

use nalgebra::SymmetricEigen;

use crate::attributes::ATTRIBUTES;
use crate::metric::{Matrix, Vector};

/// Steps of either optimisation, at most.
const MAX_STEPS: u64 = 500;
/// An optimisation ends when a step changes its objective by less than this share.
const PRECISION: f64 = 1e-7;
/// Added to the mean square of each attribute over same pairs: without it, an attribute in which
/// flows of one coflow never differ would get an infinite weight.
const PRIOR: f64 = 1e-3;
/// Distances are at least this, so that their derivatives are finite.
const MIN_DISTANCE: f64 = 1e-9;

/// A weight below this is 0.
const MIN_WEIGHT: f64 = 1e-9;

/// Sampled pairs, as their scaled differences.
pub(crate) struct Pairs {
    pub same: Vec<Vector>,
    pub different: Vec<Vector>,
}

impl Pairs {
    /// Mean of δ δᵀ over same pairs, with the prior.
    fn same_moments(&self) -> Matrix {
        let sum: Matrix = self.same.iter().map(|d| d * d.transpose()).sum();
        sum / self.same.len() as f64 + Matrix::identity() * PRIOR
    }

    /// Mean distance of different pairs, and the derivative of it by the matrix.
    fn spread(&self, matrix: &Matrix) -> (f64, Matrix) {
        let (mut sum, mut derivative) = (0.0, Matrix::zeros());
        for d in &self.different {
            let distance = (matrix * d).dot(d).max(0.0).sqrt().max(MIN_DISTANCE);
            sum += distance;
            derivative += d * d.transpose() * (0.5 / distance);
        }
        let n = self.different.len() as f64;
        (sum / n, derivative / n)
    }
}

/// The diagonal matrix a ≥ 0 that minimises mean d² over same pairs − log(mean d over different
/// pairs), by projected Newton steps (Bertsekas 1982): a weight of 0 that the gradient would make
/// negative stays. A step is halved until it is a gain. Also returns the steps taken.
pub(crate) fn diagonal(pairs: &Pairs) -> (Matrix, u64) {
    let same = pairs.same_moments().diagonal();
    let squares: Vec<Vector> = pairs.different.iter().map(|d| d.component_mul(d)).collect();
    let n = squares.len() as f64;
    let mean =
        |a: &Vector| squares.iter().map(|q| q.dot(a).sqrt().max(MIN_DISTANCE)).sum::<f64>() / n;
    let objective = |a: &Vector| same.dot(a) - libm::log(mean(a));
    let mut a = Vector::repeat(1.0);
    let mut value = objective(&a);
    for step in 1..=MAX_STEPS {
        let (mut first, mut second) = (Vector::zeros(), Matrix::zeros());
        for q in &squares {
            let distance = q.dot(&a).sqrt().max(MIN_DISTANCE);
            first += q * (0.5 / (distance * n));
            second += q * q.transpose() * (0.25 / (distance * distance * distance * n));
        }
        let mean = mean(&a);
        let mut gradient = same - first / mean;
        let mut hessian = second / mean + first * first.transpose() / (mean * mean);
        for k in (0..ATTRIBUTES).filter(|&k| a[k] <= MIN_WEIGHT) {
            if gradient[k] > 0.0 {
                gradient[k] = 0.0;
                hessian.row_mut(k).fill(0.0);
                hessian.column_mut(k).fill(0.0);
                hessian[(k, k)] = 1.0;
            }
        }
        let damped = hessian + Matrix::identity() * (1e-9 * (1.0 + hessian.trace()));
        let Some(cholesky) = damped.cholesky() else { return (Matrix::from_diagonal(&a), step) };
        let direction = cholesky.solve(&gradient);
        let halvings = (0..40).map(|k| libm::exp2(-f64::from(k)));
        let better = halvings.map(|t| (a - direction * t).map(at_least_0)).find_map(|next| {
            let there = objective(&next);
            (there < value).then_some((next, there))
        });
        let Some((next, there)) = better else { return (Matrix::from_diagonal(&a), step) };
        let gain = value - there;
        (a, value) = (next, there);
        if gain < PRECISION * value.abs().max(1.0) {
            return (Matrix::from_diagonal(&a), step);
        }
    }
    (Matrix::from_diagonal(&a), MAX_STEPS)
}

fn at_least_0(weight: f64) -> f64 {
    if weight < MIN_WEIGHT { 0.0 } else { weight }
}

/// The positive semidefinite matrix A that minimises the same objective, by projected gradient
/// steps from `start`. Xing and others maximise the mean distance of different pairs where the mean
/// square of same pairs is at most 1; the minimum here is that matrix times a number, and needs one
/// projection a step. Also returns the steps taken.
pub(crate) fn full(pairs: &Pairs, start: &Matrix) -> (Matrix, u64) {
    let same = pairs.same_moments();
    let objective = |matrix: &Matrix| {
        let (mean, derivative) = pairs.spread(matrix);
        (matrix.dot(&same) - libm::log(mean), same - derivative / mean)
    };
    let mut matrix = *start;
    let mut rate = 1.0;
    let (mut value, mut gradient) = objective(&matrix);
    for step in 1..=MAX_STEPS {
        let next = semidefinite(matrix - gradient * rate);
        let (there, its_gradient) = objective(&next);
        if there < value {
            let gain = value - there;
            (matrix, value, gradient) = (next, there, its_gradient);
            rate *= 2.0;
            if gain < PRECISION * value.abs().max(1.0) {
                return (matrix, step);
            }
        } else {
            rate *= 0.25;
            if rate < 1e-15 {
                return (matrix, step);
            }
        }
    }
    (matrix, MAX_STEPS)
}

/// The nearest positive semidefinite matrix.
fn semidefinite(matrix: Matrix) -> Matrix {
    let mut eigen = SymmetricEigen::new((matrix + matrix.transpose()) * 0.5);
    eigen.eigenvalues.apply(|value| *value = value.max(0.0));
    let nearest = eigen.recompose();
    (nearest + nearest.transpose()) * 0.5
}

#[cfg(test)]
mod tests {
    use covey_core::SplitMix;

    use super::*;

    /// Same pairs differ in attribute 0, different pairs in attribute 1; the others are noise in
    /// both.
    fn pairs() -> Pairs {
        let mut random = SplitMix::new(3);
        let mut pair = |first: f64, second: f64| {
            let mut d = Vector::from_fn(|_, _| 0.1 * random.unit());
            d[0] = first * random.unit();
            d[1] = second * random.unit();
            d
        };
        let same = (0..500).map(|_| pair(1.0, 0.1)).collect();
        let different = (0..500).map(|_| pair(1.0, 1.0)).collect();
        Pairs { same, different }
    }

    #[test]
    fn the_attribute_that_separates_gets_the_weight() {
        let pairs = pairs();
        let (diagonal, _) = diagonal(&pairs);
        let (full, _) = full(&pairs, &diagonal);
        for matrix in [diagonal, full] {
            assert!(matrix[(1, 1)] > 20.0 * matrix[(0, 0)], "{matrix}");
            let eigen = SymmetricEigen::new(matrix);
            assert!(eigen.eigenvalues.iter().all(|&value| value >= -1e-9), "{matrix}");
        }
    }

    #[test]
    fn newton_ends_where_the_gradient_is_zero_or_points_outward() {
        let pairs = pairs();
        let (matrix, steps) = diagonal(&pairs);
        assert!(steps < MAX_STEPS);
        let (mean, derivative) = pairs.spread(&matrix);
        let same = pairs.same_moments();
        for k in 0..ATTRIBUTES {
            let gradient = same[(k, k)] - derivative[(k, k)] / mean;
            let is_zero = gradient.abs() < 1e-3 * same[(k, k)];
            assert!(is_zero || matrix[(k, k)] < 1e-6 && gradient > 0.0, "{k}: {gradient}");
        }
    }

    #[test]
    fn the_full_matrix_is_no_worse_than_the_diagonal() {
        let pairs = pairs();
        let (diagonal, _) = diagonal(&pairs);
        let (full, _) = full(&pairs, &diagonal);
        let same = pairs.same_moments();
        let objective = |a: &Matrix| a.dot(&same) - libm::log(pairs.spread(a).0);
        assert!(objective(&full) < objective(&diagonal));
    }
}
