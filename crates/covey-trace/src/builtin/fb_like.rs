//! `fb-like`: a random hour with the published shape of the Facebook trace.
//!
//! The shape is that of coflow-benchmark's `FB2010-1Hr-150-0`: 526 shuffles among 150 racks in an
//! hour. The generator models the shape, and does not copy the trace:
//! - each coflow has a [`Kind`], which gives the numbers of sending and receiving racks, and the
//!   bytes;
//! - the reduce tasks of a shuffle are assigned to racks at random, so the number of tasks of a
//!   receiving rack has a Poisson distribution without zero; the rack receives in proportion to
//!   this number;
//! - sometimes one rack receives far more than the others;
//! - as in the trace, flows to one rack are equal, and a whole number of MB of at least 1;
//! - racks differ in popularity, and a few never send or receive;
//! - times between arrivals are Weibull.

use super::kinds::{KINDS, Kind};
use crate::MB;
use crate::random::Random;
use crate::workload::{Coflow, Flow, Workload};

/// Shape of the Weibull distribution of the times between arrivals.
const GAP_SHAPE: f64 = 0.71;
/// Standard deviation of each of the two parts of the logarithm of a rack's popularity: one part
/// common to sending and receiving, and one of its own for each.
const POPULARITY: f64 = 0.16;
/// One rack in this number never sends or receives.
const IDLE: u32 = 50;
/// Share of the coflows with many receivers in which one receives far more, except short coflows.
const HOT: f64 = 0.15;
/// The minimum and maximum of the additional MB of that receiver.
const HOT_MB: (f64, f64) = (500.0, 50_000.0);
/// Minimum number of receivers that count as many.
const MANY: usize = 16;

/// The parameters of the hour.
pub(crate) struct FbLike {
    /// The seed.
    pub seed: u64,
    /// Number of coflows.
    pub coflows: usize,
    /// Number of ports.
    pub ports: u32,
    /// The last arrival, in seconds.
    pub duration_s: f64,
}

impl FbLike {
    /// The workload.
    pub fn generate(&self) -> Workload {
        let mut random = Random::new("covey fb-like", self.seed);
        let racks = Racks::new(&mut random, self.ports);
        let mut shuffles = Vec::with_capacity(self.coflows);
        for (kind, count) in KINDS.iter().zip(shares(self.coflows)) {
            shuffles.extend(of_kind(&mut random, &racks, kind, count));
        }
        random.shuffle(&mut shuffles);
        let arrivals = self.arrivals(&mut random);
        let coflows = (1..)
            .zip(arrivals.into_iter().zip(shuffles))
            .map(|(id, (arrival_s, flows)): (usize, _)| {
                Coflow::new(id.to_string(), arrival_s, flows)
            })
            .collect();
        Workload::new(self.ports, coflows)
    }

    /// The times of arrival, whole milliseconds from 0 to the duration.
    fn arrivals(&self, random: &mut Random) -> Vec<f64> {
        let mut sum = 0.0;
        let mut times = vec![0.0];
        for _ in 1..self.coflows {
            sum += libm::pow(random.exponential(), 1.0 / GAP_SHAPE);
            times.push(sum);
        }
        // A single coflow arrives at 0, whatever the scale.
        let ms = self.duration_s * 1e3 / if sum > 0.0 { sum } else { 1.0 };
        times.iter().map(|t| (t * ms).round() / 1e3).collect()
    }
}

/// The number of `coflows` of each kind: the shares of the trace, rounded to the right sum.
fn shares(coflows: usize) -> impl Iterator<Item = usize> {
    let all: usize = KINDS.iter().map(|k| k.count).sum();
    let mut before = 0;
    KINDS.iter().map(move |kind| {
        let round = |count: usize| (count * coflows + all / 2) / all;
        let share = round(before + kind.count) - round(before);
        before += kind.count;
        share
    })
}

/// The flows of `count` coflows of a kind.
fn of_kind(random: &mut Random, racks: &Racks, kind: &Kind, count: usize) -> Vec<Vec<Flow>> {
    let mappers = random.strata(count);
    let reducers = random.strata(count);
    let mean_mb = random.strata(count);
    (0..count)
        .map(|i| {
            let senders = kind.mappers.at(mappers[i]).round() as usize;
            let receivers = kind.reducers.at(reducers[i]).round() as usize;
            let senders = pick(random, &racks.as_sender, senders);
            let receivers = pick(random, &racks.as_receiver, receivers);
            let sizes = sizes_mb(random, racks, kind, [senders.len(), receivers.len()], mean_mb[i]);
            let mut flows = Vec::with_capacity(senders.len() * receivers.len());
            for &src in &senders {
                flows.extend(receivers.iter().zip(&sizes).map(|(&dst, mb)| Flow {
                    src,
                    dst,
                    bytes: mb * MB,
                    start_s: 0.0,
                }));
            }
            flows
        })
        .collect()
}

/// The MB of a flow from each of `senders` to each of `receivers` racks, by receiver. `q` is the
/// quantile of the mean within the kind.
fn sizes_mb(
    random: &mut Random,
    racks: &Racks,
    kind: &Kind,
    [senders, receivers]: [usize; 2],
    q: f64,
) -> Vec<f64> {
    // The mean number of tasks of a rack at which a share receivers/taking_part of the racks has
    // tasks.
    let taking_part = racks.as_receiver.len() as f64;
    let tasks = -libm::log1p(-(receivers as f64) / (taking_part + 1.0));
    let mean_tasks = tasks / -libm::expm1(-tasks);
    let mb_per_task = kind.mean_mb.at(q) / mean_tasks;
    let mut sizes: Vec<f64> =
        (0..receivers).map(|_| random.positive_poisson(tasks) * mb_per_task).collect();
    if receivers > MANY && random.unit() < HOT {
        // The first receiver gets more: its rack is a random one already, popular racks more often.
        let (min, max) = HOT_MB;
        sizes[0] += min * libm::pow(max / min, random.unit()) / senders as f64;
    }
    let (min, max) = kind.longest_mb;
    let longest = (0..receivers).max_by(|&a, &b| sizes[a].total_cmp(&sizes[b]));
    for size in &mut sizes {
        *size = size.round().clamp(1.0, max);
    }
    if let Some(longest) = longest {
        sizes[longest] = sizes[longest].max(min);
    }
    sizes
}

/// The racks that send or receive, and the popularity of each.
struct Racks {
    as_sender: Vec<(u32, f64)>,
    as_receiver: Vec<(u32, f64)>,
}

impl Racks {
    fn new(random: &mut Random, ports: u32) -> Self {
        let mut all: Vec<u32> = (0..ports).collect();
        random.shuffle(&mut all);
        all.truncate((ports - ports / IDLE) as usize);
        let mut racks = Racks { as_sender: Vec::new(), as_receiver: Vec::new() };
        for rack in all {
            let common = random.normal();
            for side in [&mut racks.as_sender, &mut racks.as_receiver] {
                let popularity = libm::exp(POPULARITY * (common + random.normal()));
                side.push((rack, popularity));
            }
        }
        racks
    }
}

/// `n` different racks (all, if there are fewer), the popular ones more often, in random order.
fn pick(random: &mut Random, racks: &[(u32, f64)], n: usize) -> Vec<u32> {
    // The first n racks of a race in which each rack's time is exponential, with its popularity as
    // rate.
    let mut race: Vec<(f64, u32)> =
        racks.iter().map(|&(rack, popularity)| (random.exponential() / popularity, rack)).collect();
    race.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    race.into_iter().take(n).map(|(_, rack)| rack).collect()
}
