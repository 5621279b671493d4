//! A metric from labelled flows.

use covey_core::SplitMix;

use crate::accuracy::{Accuracies, accuracy};
use crate::attributes::ATTRIBUTES;
use crate::identify::{Algorithm, Recorded};
use crate::metric::{Matrix, Metric, Training, Vector};
use crate::xing::{self, Pairs};
use covey_core::Observed;

/// The shape of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A weight for each attribute.
    Diagonal,
    /// Weights of all pairs of attributes.
    Full,
}

/// How a metric is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Learning {
    /// The shape of the matrix.
    pub form: Form,
    /// Pairs to sample of each kind, at most.
    pub pairs: u32,
    /// Seed of the sample.
    pub seed: u64,
}

/// Why no metric can be learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// There must be a label for each flow.
    #[error("{flows} flows with {labels} labels: expected a label for each flow")]
    Labels {
        /// Number of flows.
        flows: usize,
        /// Number of labels.
        labels: usize,
    },
    /// No coflow has two flows.
    #[error("no coflow has two flows: expected labelled flows that share a label")]
    NoSame,
    /// No flows of two coflows start near each other.
    #[error("no flows of two coflows start near each other: expected labelled flows that overlap")]
    NoDifferent,
}

/// Flows of two coflows are a pair to learn from if they start within this many gaps between
/// bursts. Pairs that are farther apart are told apart by their starts alone.
const NEAR_GAPS: f64 = 2.0;
/// The part of the diagonal matrix in a full one. The best full matrix alone often has a low rank:
/// then some other differences make up for any difference of starts, and all flows would have to be
/// compared.
const DIAGONAL_PART: f64 = 0.25;
/// Radii that are tried: each this many times the one before, from the first quartile of the
/// distances of same pairs on. Wider radii compare ever more flows, so the search ends when F1 has
/// fallen this far below the best.
const RADIUS_STEP: f64 = 1.25;
const MAX_FALL: f64 = 0.05;

/// Learns a metric from flows and the coflow of each; any numbers name coflows.
///
/// The matrix comes from sampled pairs ([Xing and others](https://papers.nips.cc/paper/2164), NIPS
/// 2002). Half of the first flows of pairs are drawn from all flows, and half are a random flow of
/// a random coflow, so that small coflows count. Differences are scaled by their root mean square
/// over all pairs. The radius is the one with the highest mean of F1 per flow and per coflow on the
/// flows themselves; the matrix is scaled so that it is 1.
///
/// # Errors
/// [`LearnError`] if labels are missing, or if there are no pairs of one kind.
pub fn learn(
    flows: &[Observed],
    coflows: &[u32],
    learning: &Learning,
) -> Result<Metric, LearnError> {
    if flows.len() != coflows.len() {
        return Err(LearnError::Labels { flows: flows.len(), labels: coflows.len() });
    }
    let recorded = Recorded::new(flows);
    let labels: Vec<u32> = recorded.place.iter().map(|&place| coflows[place as usize]).collect();
    let mut pairs = Sample::new(&recorded, &labels, learning.seed).draw(learning.pairs)?;
    let scales = scale(&mut pairs);
    let (mut matrix, mut steps) = xing::diagonal(&pairs);
    if learning.form == Form::Full {
        let (full, more) = xing::full(&pairs, &matrix);
        matrix = matrix * DIAGONAL_PART + full * (1.0 - DIAGONAL_PART);
        steps += more;
    }
    let (radius, found) = best_radius(&recorded, &labels, &pairs, &matrix, &scales);
    let mut metric = Metric::new(matrix / (radius * radius), scales);
    metric.training = Some(Training {
        flows: flows.len() as u64,
        coflows: Sample::of_coflows(&labels).len() as u64,
        same_pairs: pairs.same.len() as u64,
        different_pairs: pairs.different.len() as u64,
        seed: learning.seed,
        steps,
        f1_per_flow: found.per_flow.f1(),
        f1_per_coflow: found.per_coflow.f1(),
    });
    Ok(metric)
}

/// Divides all differences by their root mean square; returns the divisors. Attributes without
/// differences keep scale 1.
fn scale(pairs: &mut Pairs) -> [f64; ATTRIBUTES] {
    let all = || pairs.same.iter().chain(&pairs.different);
    let squares: Vector = all().map(|d| d.component_mul(d)).sum();
    let n = all().count() as f64;
    let scales = squares.map(|sum| if sum > 0.0 { (sum / n).sqrt() } else { 1.0 });
    let both = pairs.same.iter_mut().chain(&mut pairs.different);
    both.for_each(|d| d.component_div_assign(&scales));
    scales.into()
}

/// The radius with the highest mean of F1 per flow and per coflow, and what it finds.
fn best_radius(
    recorded: &Recorded,
    labels: &[u32],
    pairs: &Pairs,
    matrix: &Matrix,
    scales: &[f64; ATTRIBUTES],
) -> (f64, Accuracies) {
    let distance = |d: &Vector| (matrix * d).dot(d).max(0.0).sqrt();
    let mut near: Vec<f64> = pairs.same.iter().map(distance).filter(|&d| d > 0.0).collect();
    near.sort_by(f64::total_cmp);
    let (first, last) = match near[..] {
        [] => (1.0, 1.0),
        _ => (near[near.len() / 4], near[near.len() - 1 - near.len() / 20]),
    };
    let radii = std::iter::successors(Some(first), |r| Some(r * RADIUS_STEP));
    let score = |found: &Accuracies| 0.5 * (found.per_flow.f1() + found.per_coflow.f1());
    let mut best: Option<(f64, Accuracies)> = None;
    for radius in radii.take_while(|&radius| radius <= last) {
        let metric = Metric::new(matrix / (radius * radius), *scales);
        let found = accuracy(&recorded.groups(&metric, Algorithm::DEFAULT), labels);
        match &best {
            Some((_, before)) if score(&found) < score(before) - MAX_FALL => break,
            Some((_, before)) if score(&found) <= score(before) => {}
            _ => best = Some((radius, found)),
        }
    }
    best.expect("the first radius is tried")
}

/// Random pairs of recorded flows.
struct Sample<'a> {
    recorded: &'a Recorded,
    labels: &'a [u32],
    /// Points of each coflow.
    coflows: Vec<Vec<u32>>,
    random: SplitMix,
}

impl<'a> Sample<'a> {
    fn new(recorded: &'a Recorded, labels: &'a [u32], seed: u64) -> Sample<'a> {
        let coflows = Self::of_coflows(labels);
        Sample { recorded, labels, coflows, random: SplitMix::new(seed) }
    }

    /// The points of each coflow, coflows in order of their labels.
    fn of_coflows(labels: &[u32]) -> Vec<Vec<u32>> {
        let mut points = std::collections::BTreeMap::<u32, Vec<u32>>::new();
        for (&label, point) in labels.iter().zip(0..) {
            points.entry(label).or_default().push(point);
        }
        points.into_values().collect()
    }

    fn draw(mut self, most: u32) -> Result<Pairs, LearnError> {
        let mut pairs = Pairs { same: Vec::new(), different: Vec::new() };
        if self.labels.is_empty() {
            return Err(LearnError::NoSame);
        }
        for _ in 0..most {
            let mut first = self.below(self.labels.len());
            let mut coflow = self.below(self.coflows.len());
            if self.random.chance(0.5) {
                first = self.one_of(coflow);
            } else {
                let label = self.labels[first];
                coflow =
                    self.coflows.partition_point(|flows| self.labels[flows[0] as usize] < label);
            }
            let second = self.one_of(coflow);
            if first != second {
                pairs.same.push(self.differences(first, second));
            }
            if let Some(other) = self.near_but_different(first) {
                pairs.different.push(self.differences(first, other));
            }
        }
        match (pairs.same.is_empty(), pairs.different.is_empty()) {
            (true, _) => Err(LearnError::NoSame),
            (_, true) => Err(LearnError::NoDifferent),
            _ => Ok(pairs),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }

    fn one_of(&mut self, coflow: usize) -> usize {
        let point = self.below(self.coflows[coflow].len());
        self.coflows[coflow][point] as usize
    }

    /// A random point of another coflow that starts near `point`; nothing if some tries find none.
    fn near_but_different(&mut self, point: usize) -> Option<usize> {
        let points = &self.recorded.points;
        let window_s = NEAR_GAPS * self.recorded.observer.gap_s();
        let start_s = points[point].start_s;
        let first = points.partition_point(|p| p.start_s < start_s - window_s);
        let end = points.partition_point(|p| p.start_s <= start_s + window_s);
        let tries = (0..8).map(|_| first + self.random.below((end - first) as u64) as usize);
        let labels = self.labels;
        tries.into_iter().find(|&other| labels[other] != labels[point])
    }

    fn differences(&self, x: usize, y: usize) -> Vector {
        let points = &self.recorded.points;
        self.recorded.observer.differences(&points[x], &points[y]).into()
    }
}
