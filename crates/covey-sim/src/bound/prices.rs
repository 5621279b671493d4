//! The bound from prices for the time of each link, and a search for prices with a large bound.
//!
//! Prices are constant on the slots of a grid over time and 0 after it. They start as those that
//! prove the mean-busy-time bound: with `rho = w/p` the urgency of a job, let the jobs at least as
//! urgent as `x` keep a link busy, at `t`, until `e(x, t)`; then `price(t)` is the integral of
//! `e(x, t) - t` over `x`. From there they follow the subgradient, the time bought less the time
//! available: prices rise where coflows need more than a link can give, and fall where it idles.
//! Each step is scaled by the price itself, because contention differs between links by orders of
//! magnitude.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use super::links::{Job, Links};

/// Number of slots of equal length.
const SLOTS: usize = 128;
/// Iterations that improve the prices.
const ROUNDS: u32 = 100;

/// A coflow that buys time on links.
#[derive(Debug)]
struct Coflow {
    arrival: f64,
    /// The earliest completion, in seconds since the start of the trace.
    earliest: f64,
    jobs: Vec<Job>,
    /// The slot of its arrival.
    first_slot: usize,
}

/// Searches for the prices that give the largest bound on the sum of CCTs of the coflows on
/// `links`.
///
/// `arrivals` and `isolated` hold the arrival and the isolated CCT of every coflow of the workload.
/// `weights` holds a weight for each job, from which the first prices follow.
pub(super) fn maximise(links: &Links, arrivals: &[f64], isolated: &[f64], weights: &[f64]) -> f64 {
    let latest = arrivals.iter().zip(isolated).map(|(a, b)| a + b).fold(0.0, f64::max);
    let Some(mut market) = Market::open(links, weights, latest) else { return 0.0 };
    let coflows: Vec<Coflow> = (0..arrivals.len())
        .filter(|&c| !links.of_coflow[c].is_empty())
        .map(|c| Coflow {
            arrival: arrivals[c],
            earliest: arrivals[c] + isolated[c],
            jobs: links.of_coflow[c].iter().map(|&j| links.jobs[j as usize]).collect(),
            first_slot: market.slot_of(arrivals[c]),
        })
        .collect();
    let mut buyer = Buyer::default();
    let mut best = 0.0_f64;
    for round in 0..ROUNDS {
        let mut value = market.clear();
        for coflow in &coflows {
            let (cost, completion) = buyer.cheapest(coflow, &market);
            value += cost;
            market.sell(coflow, completion);
        }
        best = best.max(value);
        market.adjust(0.3 / (1.0 + 0.2 * f64::from(round)) * value);
    }
    best
}

/// The prices of all links in all slots. Tables hold the slots of the first link first.
#[derive(Debug)]
struct Market {
    /// The times at which slots begin and end; the last slot is long enough for any coflow, and
    /// free.
    edges: Vec<f64>,
    prices: Vec<f64>,
    /// Time bought less the length of the slot, in seconds.
    excess: Vec<f64>,
    /// Buffer of [`Market::sell`]: price, slot and length of the time for sale.
    offers: Vec<(f64, usize, f64)>,
}

impl Market {
    /// `None` if there are no seconds to trade. No coflow's earliest completion is after `latest`.
    fn open(links: &Links, weights: &[f64], latest: f64) -> Option<Self> {
        let begin = links.jobs.iter().map(|j| j.release - j.offset).reduce(f64::min)?;
        let ranges = || links.starts.windows(2).map(|s| s[0]..s[1]);
        let end = ranges().map(|range| busy_until(&links.jobs[range])).reduce(f64::max)?;
        let slot = (end - begin) / SLOTS as f64;
        let mut edges: Vec<f64> = (0..=SLOTS).map(|k| begin + slot * k as f64).collect();
        edges.push(end.max(latest) + 2.0 * (end - begin));
        let size = ranges().len() * (edges.len() - 1);
        let mut market =
            Self { edges, prices: vec![0.0; size], excess: vec![0.0; size], offers: Vec::new() };
        for (link, range) in ranges().enumerate() {
            market.set_first_prices(link, &links.jobs[range.clone()], &weights[range]);
        }
        Some(market)
    }

    fn slots(&self) -> usize {
        self.edges.len() - 1
    }

    fn length(&self, slot: usize) -> f64 {
        self.edges[slot + 1] - self.edges[slot]
    }

    /// The slot that contains `time`, which is not before the first edge.
    fn slot_of(&self, time: f64) -> usize {
        self.edges.partition_point(|&edge| edge <= time).saturating_sub(1)
    }

    fn price(&self, link: u32, slot: usize) -> f64 {
        self.prices[link as usize * self.slots() + slot]
    }

    /// Sets the prices that prove the mean-busy-time bound, averaged over each slot.
    fn set_first_prices(&mut self, link: usize, jobs: &[Job], weights: &[f64]) {
        let urgency = |j: usize| weights[j] / jobs[j].length;
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by(|&a, &b| urgency(b).total_cmp(&urgency(a)));
        let mut urgent = vec![false; jobs.len()];
        for (k, &j) in order.iter().enumerate() {
            urgent[j] = true;
            let drop = urgency(j) - order.get(k + 1).map_or(0.0, |&next| urgency(next));
            if drop <= 0.0 {
                continue;
            }
            let mut busy = 0.0..f64::NEG_INFINITY;
            for (job, _) in jobs.iter().zip(&urgent).filter(|(_, urgent)| **urgent) {
                if job.release > busy.end {
                    self.charge(link, &busy, drop);
                    busy = job.release..job.release;
                }
                busy.end += job.length;
            }
            self.charge(link, &busy, drop);
        }
    }

    /// Adds `rate` times the remaining time of the period `busy` to the prices within it.
    fn charge(&mut self, link: usize, busy: &Range<f64>, rate: f64) {
        let row = link * self.slots();
        for slot in self.slot_of(busy.start)..self.slots() - 1 {
            let (from, to) = (self.edges[slot].max(busy.start), self.edges[slot + 1].min(busy.end));
            if from >= to {
                break;
            }
            let left = busy.end - (from + to) / 2.0;
            self.prices[row + slot] += rate * left * (to - from) / self.length(slot);
        }
    }

    /// Resets all sales. Returns the negative cost of all time.
    fn clear(&mut self) -> f64 {
        let lengths = self.edges.windows(2).map(|edge| edge[1] - edge[0]).cycle();
        let mut cost = 0.0;
        for ((excess, price), length) in self.excess.iter_mut().zip(&self.prices).zip(lengths) {
            *excess = -length;
            cost += price * length;
        }
        -cost
    }

    /// Records the cheapest time for each job of `coflow` up to `completion` as bought.
    fn sell(&mut self, coflow: &Coflow, completion: f64) {
        for job in &coflow.jobs {
            let row = job.link as usize * self.slots();
            self.offers.clear();
            for slot in coflow.first_slot..self.slots() {
                if self.edges[slot] >= completion {
                    break;
                }
                let length =
                    self.edges[slot + 1].min(completion) - self.edges[slot].max(job.release);
                if length > 0.0 {
                    self.offers.push((self.prices[row + slot], slot, length));
                }
            }
            self.offers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut missing = job.length;
            for &(_, slot, length) in &self.offers {
                self.excess[row + slot] += length.min(missing);
                missing -= length;
                if missing <= 0.0 {
                    break;
                }
            }
        }
    }

    /// Moves prices along the excess, by a step that would raise a linear bound by `gain`.
    fn adjust(&mut self, gain: f64) {
        let slots = self.slots();
        let lengths: Vec<f64> = (0..slots).map(|slot| self.length(slot)).collect();
        // A tenth of the link's mean price lets prices rise from 0.
        let scales: Vec<f64> = self
            .prices
            .chunks(slots)
            .flat_map(|row| {
                let floor = 0.1 * row.iter().sum::<f64>() / slots as f64;
                row.iter().map(move |price| price + floor)
            })
            .collect();
        let slope = |k: usize| self.excess[k] * scales[k] / lengths[k % slots];
        let free = |k: usize| k % slots == slots - 1;
        let norm: f64 = (0..self.prices.len())
            .filter(|&k| !free(k) && (self.prices[k] > 0.0 || self.excess[k] > 0.0))
            .map(|k| slope(k) * self.excess[k])
            .sum();
        if norm > 0.0 {
            self.prices =
                (0..self.prices.len())
                    .map(|k| {
                        if free(k) {
                            0.0
                        } else {
                            (self.prices[k] + gain / norm * slope(k)).max(0.0)
                        }
                    })
                    .collect();
        }
    }
}

/// The time at which a work-conserving link ends its last job.
fn busy_until(jobs: &[Job]) -> f64 {
    jobs.iter().fold(f64::NEG_INFINITY, |end, job| end.max(job.release) + job.length)
}

/// Time bought on a link, ordered by price.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    price: f64,
    time: f64,
}

impl Ord for Chunk {
    fn cmp(&self, other: &Self) -> Ordering {
        self.price.total_cmp(&other.price)
    }
}

impl PartialOrd for Chunk {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Chunk {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Chunk {}

/// The time that a coflow holds on one link while its completion moves later.
#[derive(Debug, Default)]
struct Holding {
    chunks: BinaryHeap<Chunk>,
    missing: f64,
}

/// Finds the completion that is cheapest for a coflow; keeps its buffers between calls.
#[derive(Debug, Default)]
struct Buyer {
    holdings: Vec<Holding>,
    /// The times within a slot at which the saving per second of later completion falls, and by how
    /// much it falls.
    falls: Vec<(f64, f64)>,
}

impl Buyer {
    /// Returns the smallest sum of CCT and price of the needed time, and the completion that has
    /// it.
    ///
    /// The search goes slot by slot. If the completion moves later within a slot, each link can
    /// swap its dearest time for time of this slot. So the cost is convex in the completion within
    /// a slot.
    fn cheapest(&mut self, coflow: &Coflow, market: &Market) -> (f64, f64) {
        self.start(coflow);
        let mut paid = 0.0;
        let mut best = (f64::INFINITY, coflow.earliest);
        for slot in coflow.first_slot..market.slots() {
            let (open, close) = (market.edges[slot].max(coflow.arrival), market.edges[slot + 1]);
            if open - coflow.arrival >= best.0 {
                break;
            }
            self.falls.clear();
            let (mut feasible, mut saving) = (open.max(coflow.earliest), 0.0);
            for (job, holding) in coflow.jobs.iter().zip(&mut self.holdings) {
                let price = market.price(job.link, slot);
                let (filled, spent) = holding.fill(open.max(job.release), close, price);
                paid += spent;
                feasible = feasible.max(filled);
                let (first, saved) = holding.swap(filled, close, price, &mut self.falls);
                saving += first;
                paid -= saved;
            }
            if feasible <= close {
                let cost = close - coflow.arrival + paid;
                let found = self.min_within(feasible, close, cost, saving);
                if found.0 < best.0 {
                    best = found;
                }
            }
        }
        best
    }

    fn start(&mut self, coflow: &Coflow) {
        let count = coflow.jobs.len().max(self.holdings.len());
        self.holdings.resize_with(count, Holding::default);
        for (holding, job) in self.holdings.iter_mut().zip(&coflow.jobs) {
            holding.chunks.clear();
            holding.missing = job.length;
        }
    }

    /// Returns the minimum cost of completions from `feasible` to `close`, and its completion.
    /// Starts with `cost`, that of `close`, and goes back in time. `saving` is the saving per
    /// second at the beginning of the slot.
    fn min_within(&mut self, feasible: f64, close: f64, cost: f64, saving: f64) -> (f64, f64) {
        self.falls.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let mut saving = saving - self.falls.iter().map(|fall| fall.1).sum::<f64>();
        let (mut cost, mut completion) = (cost, close);
        for &(time, fall) in self.falls.iter().chain([&(feasible, 0.0)]) {
            if saving > 1.0 || completion <= feasible {
                break;
            }
            let time = time.max(feasible);
            cost -= (completion - time) * (1.0 - saving);
            completion = time;
            saving += fall;
        }
        (cost, completion)
    }
}

impl Holding {
    /// Buys the missing time from `from` on. Returns the time at which nothing is missing any more
    /// (infinite if not by `close`), and the price paid.
    fn fill(&mut self, from: f64, close: f64, price: f64) -> (f64, f64) {
        if self.missing <= 0.0 {
            return (from, 0.0);
        }
        let time = self.missing.min(close - from);
        if time <= 0.0 {
            return (f64::INFINITY, 0.0);
        }
        self.missing -= time;
        self.chunks.push(Chunk { price, time });
        let filled = if self.missing > 0.0 { f64::INFINITY } else { from + time };
        (filled, time * price)
    }

    /// Swaps dearer time for time from `from` to `close`. Returns the first saving per second, and
    /// the total saving. Records in `falls` the times at which the saving per second falls.
    fn swap(
        &mut self,
        from: f64,
        close: f64,
        price: f64,
        falls: &mut Vec<(f64, f64)>,
    ) -> (f64, f64) {
        let (mut now, mut bought, mut saved) = (from, 0.0, 0.0);
        let (mut first, mut rate) = (0.0, 0.0);
        while now < close {
            let Some(mut dearest) = self.chunks.peek_mut() else { break };
            let next = dearest.price - price;
            if next <= 0.0 {
                break;
            }
            if bought == 0.0 {
                first = next;
            } else {
                falls.push((now, rate - next));
            }
            rate = next;
            let time = dearest.time.min(close - now);
            if time < dearest.time {
                dearest.time -= time;
                now = close;
            } else {
                PeekMut::pop(dearest);
                now += time;
            }
            bought += time;
            saved += time * rate;
        }
        if bought > 0.0 {
            self.chunks.push(Chunk { price, time: bought });
            if now < close {
                falls.push((now, rate));
            }
        }
        (first, saved)
    }
}
