//! The mean-busy-time bound, and a search for weights with a large bound.
//!
//! The bound is concave in the weights, and the bound of each link on each coflow is a
//! supergradient: the search moves weight towards the links that delay a coflow most,
//! multiplicatively and in ever smaller steps.

use super::links::{Job, Links};
use super::machine::Machine;

/// Iterations that improve the weights.
const ROUNDS: u32 = 100;

/// The best weights found.
#[derive(Debug)]
pub(super) struct Best {
    /// Bound on the sum of CCTs of the coflows on the links, in seconds.
    pub value: f64,
    /// The weight of each job.
    pub weights: Vec<f64>,
}

/// Searches for the weights that give the largest bound.
pub(super) fn maximise(links: &Links) -> Best {
    let mut weights = first_weights(links);
    let mut bounds = vec![0.0; links.jobs.len()];
    let mut server = Server::default();
    let mut best = Best { value: 0.0, weights: weights.clone() };
    for round in 0..ROUNDS {
        for link in links.starts.windows(2) {
            let jobs = link[0]..link[1];
            server.serve(&links.jobs[jobs.clone()], &weights[jobs.clone()], &mut bounds[jobs]);
        }
        let value = weights.iter().zip(&bounds).map(|(w, b)| w * b).sum();
        if value > best.value {
            best.value = value;
            best.weights.clone_from(&weights);
        }
        let step = 3.0 / (1.0 + 0.1 * f64::from(round));
        for jobs in &links.of_coflow {
            shift(&mut weights, &bounds, jobs, step);
        }
    }
    best
}

/// Puts most of a coflow's weight on the links where it has most to send.
fn first_weights(links: &Links) -> Vec<f64> {
    let mut weights = vec![0.0; links.jobs.len()];
    for jobs in &links.of_coflow {
        let length = |&j: &u32| links.jobs[j as usize].length;
        let longest = jobs.iter().map(length).fold(0.0, f64::max);
        for j in jobs {
            weights[*j as usize] = libm::pow(length(j) / longest, 4.0);
        }
        normalise(&mut weights, jobs);
    }
    weights
}

/// Moves a coflow's weight towards the links that delay it most.
fn shift(weights: &mut [f64], bounds: &[f64], jobs: &[u32], step: f64) {
    let longest = jobs.iter().map(|&j| bounds[j as usize]).fold(0.0, f64::max);
    for &j in jobs {
        weights[j as usize] *= libm::exp(step * (bounds[j as usize] / longest - 1.0));
    }
    normalise(weights, jobs);
}

/// Makes a coflow's weights sum to 1.
fn normalise(weights: &mut [f64], jobs: &[u32]) {
    let sum: f64 = jobs.iter().map(|&j| weights[j as usize]).sum();
    for &j in jobs {
        weights[j as usize] /= sum;
    }
}

/// Serves the jobs of a link by largest weight over length; keeps its buffers between calls.
#[derive(Debug, Default)]
struct Server {
    order: Vec<u32>,
    rank: Vec<u32>,
    machine: Machine<u32>,
}

impl Server {
    /// Sets `bounds` to mean busy time plus half the length, counted from the coflow's arrival.
    fn serve(&mut self, jobs: &[Job], weights: &[f64], bounds: &mut [f64]) {
        self.sort(jobs, weights);
        bounds.fill(0.0);
        let rank = &self.rank;
        self.machine.serve(
            jobs,
            |j, _| rank[j],
            |j, since, work| bounds[j] += work * (since - jobs[j].release + work / 2.0),
        );
        for (bound, job) in bounds.iter_mut().zip(jobs) {
            *bound = *bound / job.length + job.length / 2.0 + job.offset;
        }
    }

    fn sort(&mut self, jobs: &[Job], weights: &[f64]) {
        let ratio = |j: u32| weights[j as usize] / jobs[j as usize].length;
        self.order.clear();
        self.order.extend(0..jobs.len() as u32);
        self.order.sort_by(|&a, &b| ratio(b).total_cmp(&ratio(a)));
        self.rank.resize(jobs.len().max(self.rank.len()), 0);
        for (rank, &j) in (0..).zip(&self.order) {
            self.rank[j as usize] = rank;
        }
    }
}
