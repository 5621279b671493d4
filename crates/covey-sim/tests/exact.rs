//! The simulator against a schedule in whole numbers. Coflows have one flow of whole MB; many have
//! the same size, or arrive when others arrive or end. Rounding must not break ties.
//!
//! A flow is served at full rate if and only if both its ports are free, in the policy's order. So
//! if a MB takes a whole number of units of time, all events happen at whole numbers.

use std::collections::BTreeSet;

use crate::common::{as_trace, ccts, flow, run};
use covey_core::Fabric;
use covey_trace::java_random::JavaRandom;
use covey_trace::{Coflow, MB, Workload};
use num_bigint::BigInt;

/// A port's rate, and a unit of time in which the duration of a MB and a tick are whole numbers.
#[derive(Debug, Clone, Copy)]
struct Clock {
    bytes_per_s: f64,
    units_per_s: u64,
    units_per_mb: u64,
    /// Units of time in a tick, which is about a millisecond.
    units_per_tick: u64,
    /// Tolerance of a CCT in seconds, in addition to its own rounding.
    slack_s: f64,
}

/// 1 Gbps: a MB takes 8,388,608 ns, which an `f64` of seconds cannot represent.
const GIGABIT: Clock = Clock {
    bytes_per_s: 125e6,
    units_per_s: 15_625_000,
    units_per_mb: 131_072,
    units_per_tick: 15_625,
    slack_s: 0.0,
};
/// 128 MiB/s and ticks of 1/1024 s: all times are exact.
const BINARY: Clock = Clock {
    bytes_per_s: 128.0 * MB,
    units_per_s: 1024,
    units_per_mb: 8,
    units_per_tick: 1,
    slack_s: 0.0,
};
/// 128 MiB/s and milliseconds: a flow that is stopped for an arriving one has a fractional number
/// of bytes left. The simulator then stores multiples of 2^-10 bytes, the bytes of 7 ps.
const FRACTIONS: Clock =
    Clock { units_per_s: 16_000, units_per_mb: 125, units_per_tick: 16, slack_s: 1e-10, ..BINARY };

impl Clock {
    fn seconds(self, units: u64) -> f64 {
        units as f64 / self.units_per_s as f64
    }
}

/// Maximum number of ports of a workload.
const PORTS: usize = 150;

/// A coflow of one flow. Coflows are in the order of the trace.
#[derive(Debug, Clone, Copy)]
struct Single {
    src: u32,
    dst: u32,
    mb: u64,
    arrival: u64,
}

impl Single {
    fn links(&self) -> [u32; 2] {
        [2 * self.src, 2 * self.dst + 1]
    }
}

/// The order of service. Ties are broken by arrival, then by index in the trace.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    Arrival,
    LeastLeft,
    /// BSSI on the bytes left, at each arrival of a coflow and, with `at_ends`, at each end.
    Bssi {
        at_ends: bool,
    },
}

/// Coflows that can affect each other: coflows that share links, directly or through others, until
/// the last of them has ended.
#[derive(Debug, Default)]
struct Domain {
    links: BTreeSet<u32>,
    present: usize,
    is_to_order: bool,
}

/// The units of time at which the coflows end.
fn schedule(coflows: &[Single], clock: Clock, order: Order) -> Vec<u64> {
    let mut left: Vec<u64> = coflows.iter().map(|c| c.mb * clock.units_per_mb).collect();
    let mut end = vec![0; coflows.len()];
    let mut later: Vec<usize> = (0..coflows.len()).collect();
    later.sort_by_key(|&c| (coflows[c].arrival, c));
    later.reverse();
    // The present coflows by arrival and index, and in the order of service.
    let mut present: Vec<usize> = Vec::new();
    let mut order_of_service: Vec<usize> = Vec::new();
    let mut domains: Vec<Domain> = Vec::new();
    let mut is_free = vec![true; 2 * PORTS];
    let mut now = 0;
    while !(later.is_empty() && present.is_empty()) {
        for &c in present.iter().filter(|&&c| left[c] == 0) {
            end[c] = now;
            let links = coflows[c].links();
            let domain = domains.iter_mut().find(|d| d.links.contains(&links[0])).unwrap();
            domain.present -= 1;
            domain.is_to_order |= order == Order::Bssi { at_ends: true };
        }
        domains.retain(|domain| domain.present > 0);
        present.retain(|&c| left[c] > 0);
        order_of_service.retain(|&c| left[c] > 0);
        while let Some(c) = later.pop_if(|c| coflows[*c].arrival == now) {
            present.push(c);
            order_of_service.push(c);
            let links = BTreeSet::from(coflows[c].links());
            let meets = |domain: &mut Domain| !domain.links.is_disjoint(&links);
            let mut joined = Domain { links: links.clone(), present: 1, is_to_order: true };
            for met in domains.extract_if(.., meets) {
                joined.links.extend(met.links);
                joined.present += met.present;
            }
            domains.push(joined);
        }
        match order {
            Order::Arrival => order_of_service.clone_from(&present),
            Order::LeastLeft => order_of_service.sort_by_key(|&c| (left[c], coflows[c].arrival, c)),
            Order::Bssi { .. } => {
                for domain in domains.iter_mut().filter(|domain| domain.is_to_order) {
                    domain.is_to_order = false;
                    let is_here = |c: &usize| domain.links.contains(&coflows[*c].links()[0]);
                    let here: Vec<usize> = present.iter().copied().filter(is_here).collect();
                    let load = |k: usize| (coflows[here[k]].links(), left[here[k]]);
                    let loads: Vec<([u32; 2], u64)> = (0..here.len()).map(load).collect();
                    order_of_service.retain(|c| !is_here(c));
                    order_of_service.extend(bssi(&loads).into_iter().map(|k| here[k]));
                }
            }
        }
        is_free.fill(true);
        let mut served = Vec::new();
        for &c in &order_of_service {
            let [sender, receiver] = coflows[c].links().map(|link| link as usize);
            if is_free[sender] && is_free[receiver] {
                is_free[sender] = false;
                is_free[receiver] = false;
                served.push(c);
            }
        }
        let ends = served.iter().map(|&c| now + left[c]);
        let next = ends.chain(later.last().map(|&c| coflows[c].arrival)).min().unwrap_or(now);
        served.iter().for_each(|&c| left[c] -= next - now);
        now = next;
    }
    end
}

/// The order of bottleneck-select-scale-iterate, for coflows in order of arrival. Of equally loaded
/// links, the one used first is the bottleneck. Of coflows with equal weight over load there, the
/// last one is put last.
///
/// Weights are multiplied by the load of each coflow that gets its position, so they stay whole.
fn bssi(coflows: &[([u32; 2], u64)]) -> Vec<usize> {
    let at = |link: u32, c: usize| if coflows[c].0.contains(&link) { coflows[c].1 } else { 0 };
    let mut total: Vec<(u32, u64)> = Vec::new();
    for link in coflows.iter().flat_map(|(links, _)| *links) {
        if total.iter().all(|(other, _)| *other != link) {
            total.push((link, (0..coflows.len()).map(|c| at(link, c)).sum()));
        }
    }
    let mut weight = vec![BigInt::from(1); coflows.len()];
    let mut rest: Vec<usize> = (0..coflows.len()).collect();
    let mut placed = Vec::new();
    while !rest.is_empty() {
        let max_load = total.iter().map(|(_, load)| *load).max().unwrap();
        let (bottleneck, _) = *total.iter().find(|(_, load)| *load == max_load).unwrap();
        let here = rest.iter().copied().filter(|&c| at(bottleneck, c) > 0);
        // a/b ≤ c/d if a d ≤ c b.
        let lighter =
            |a: usize, b: usize| &weight[b] * at(bottleneck, a) <= &weight[a] * at(bottleneck, b);
        let last = here.reduce(|a, b| if lighter(a, b) { b } else { a }).unwrap();
        rest.retain(|&c| c != last);
        placed.push(last);
        total.iter_mut().for_each(|(link, load)| *load -= at(*link, last));
        let load = at(bottleneck, last);
        let paid = weight[last].clone();
        for &c in &rest {
            weight[c] = &weight[c] * load - &paid * at(bottleneck, c);
        }
    }
    placed.reverse();
    placed
}

/// The policies with such a schedule, and their orders.
const POLICIES: [(&str, Order); 8] = [
    ("fifo", Order::Arrival),
    ("fifo:share=matching", Order::Arrival),
    ("fifo-flow", Order::Arrival),
    ("sebf:share=matching", Order::LeastLeft),
    ("sebf:share=matching-by-load", Order::LeastLeft),
    ("sincronia", Order::Bssi { at_ends: true }),
    ("sincronia:share=maxmin", Order::Bssi { at_ends: true }),
    ("sincronia:mode=offline", Order::Bssi { at_ends: false }),
];

fn assert_exact(ports: u32, coflows: &[Single], clock: Clock, policies: &[(&str, Order)]) {
    let coflow = |(id, single): (usize, &Single)| {
        let flow = flow(single.src, single.dst, single.mb as f64 * MB);
        Coflow::new(id.to_string(), clock.seconds(single.arrival), vec![flow])
    };
    let workload = Workload::new(ports, coflows.iter().enumerate().map(coflow).collect());
    let fabric = Fabric::big_switch(ports, clock.bytes_per_s).unwrap();
    for &(spec, order) in policies {
        let found = ccts(&run(&workload, &fabric, spec));
        let ends = schedule(coflows, clock, order);
        for (trace_index, (found, end)) in found.into_iter().zip(ends).enumerate() {
            let expected = clock.seconds(end - coflows[trace_index].arrival);
            assert!(
                (found - expected).abs() <= 1e-9 * expected + clock.slack_s,
                "{spec} at {clock:?}: coflow {trace_index} takes {found} s, not {expected}\n{}",
                as_trace(&workload)
            );
        }
    }
}

/// One of 100 kinds of ties: few sizes or many, few ports or more, and coflows that arrive
/// together, at whole ticks, or when others end.
fn random(seed: u32, clock: Clock) -> (u32, Vec<Single>) {
    let mut random = JavaRandom::new(seed.into());
    let mut below = |bound: u32| random.next_int(bound as i32) as u32;
    let of = |numbers: [u32; 4], divisor: u32| numbers[(seed / divisor % 4) as usize];
    let (ports, coflows, largest) =
        (of([2, 4, 12, 40], 1), of([5, 20, 40, 80], 3), of([1, 3, 10, 100], 4));
    let mut arrival = 0;
    let coflows = (0..coflows).map(|_| {
        arrival = match seed / 16 % 5 {
            // At once.
            0 => 0,
            // When flows end, not in the order of the trace.
            1 => u64::from(below(coflows * largest / ports + 1)) * clock.units_per_mb,
            // Some together, when flows end.
            2 => arrival + u64::from(below(3) * below(largest)) * clock.units_per_mb,
            // At whole ticks, some together.
            3 => arrival + u64::from(below(3) * below(3 * largest)) * clock.units_per_tick,
            // Either.
            _ => {
                [clock.units_per_mb, clock.units_per_tick][below(2) as usize]
                    * u64::from(below(200))
            }
        };
        let mb = u64::from(below(largest)) + 1;
        Single { src: below(ports), dst: below(ports), mb, arrival }
    });
    (ports, coflows.collect())
}

#[test]
fn ties_of_single_flows_are_broken_by_rule() {
    for seed in 0..100 {
        for clock in [GIGABIT, BINARY, FRACTIONS] {
            let (ports, coflows) = random(seed, clock);
            assert_exact(ports, &coflows, clock, &POLICIES);
        }
    }
}

/// `coflows` of 1 to 100 MB, at once.
fn at_once(ports: u32, coflows: usize) -> Vec<Single> {
    let mut random = JavaRandom::new(1);
    let mut below = |bound: u32| random.next_int(bound as i32) as u32;
    let coflow = |_| {
        let (src, dst) = (below(ports), below(ports));
        Single { src, dst, mb: u64::from(below(100)) + 1, arrival: 0 }
    };
    (0..coflows).map(coflow).collect()
}

#[test]
fn eight_thousand_flows_at_once_by_arrival() {
    let policies = [("fifo", Order::Arrival), ("fifo-flow", Order::Arrival)];
    assert_exact(150, &at_once(150, 8000), GIGABIT, &policies);
}

/// At 128 MiB/s rounding could decide only between equal keys.
#[test]
fn eight_thousand_flows_at_once_by_bytes_left() {
    let policies = [("sebf:share=matching", Order::LeastLeft)];
    assert_exact(150, &at_once(150, 8000), GIGABIT, &policies);
    assert_exact(150, &at_once(150, 4000), BINARY, &policies);
}

/// Fewer flows, because BSSI scans all coflows for each position, at each end.
#[test]
fn two_hundred_flows_at_once() {
    for clock in [GIGABIT, BINARY] {
        assert_exact(8, &at_once(8, 200), clock, &POLICIES[5..]);
    }
}
