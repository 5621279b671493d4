//! Lower bounds: never above a schedule, near the best known schedule, and exact where the optimum
//! is known.

use covey_core::{Ecmp, EcmpMode, Fabric, FatTree, LinkId, PortId, Routes};
use covey_facebook_test::facebook_test;
use covey_sched::bssi::Bssi;
use covey_sim::bound::{bounds, isolated_ccts_s, loads, uncoupled_cct_s};
use covey_trace::results::Bounds;
use covey_trace::{Coflow, Flow, Workload};

fn flow(src: u32, dst: u32, bytes: f64) -> Flow {
    Flow { src, dst, bytes, start_s: 0.0 }
}

fn coflow(arrival_s: f64, flows: &[Flow]) -> Coflow {
    Coflow::new(String::new(), arrival_s, flows.to_vec())
}

/// The bounds where every link carries `capacity` bytes per second.
fn uniform(workload: &Workload, capacity: f64) -> Bounds {
    bounds(workload, &Fabric::big_switch(workload.ports, capacity).unwrap())
}

fn switch(egress: &[f64], ingress: &[f64]) -> Fabric {
    Fabric::big_switch_with(egress, ingress).unwrap()
}

/// The time that one coflow on one port takes alone.
fn isolated(coflow: Coflow, egress: f64, ingress: f64) -> f64 {
    let workload = Workload::new(1, vec![coflow]);
    isolated_ccts_s(&workload, &switch(&[egress], &[ingress]))[0]
}

fn bounds_of(ports: u32, coflows: Vec<Coflow>) -> Bounds {
    uniform(&Workload::new(ports, coflows), 1.0)
}

/// Reads the coflow-benchmark format of the trace file, without checks.
fn read_benchmark(text: &str) -> Workload {
    let mut words = text.split_ascii_whitespace();
    let mut word = || words.next().unwrap();
    let (ports, count) = (word().parse().unwrap(), word().parse().unwrap());
    let mut coflows = Vec::new();
    for _ in 0..count {
        let (_id, arrival_ms) = (word(), word().parse::<f64>().unwrap());
        let mappers: Vec<u32> =
            (0..word().parse().unwrap()).map(|_| word().parse().unwrap()).collect();
        let mut flows = Vec::new();
        for _ in 0..word().parse().unwrap() {
            let (reducer, mb) = word().split_once(':').unwrap();
            let bytes = mb.parse::<f64>().unwrap() * 1_048_576.0 / mappers.len() as f64;
            flows.extend(mappers.iter().map(|&m| flow(m, reducer.parse().unwrap(), bytes)));
        }
        coflows.push(coflow(arrival_ms / 1e3, &flows));
    }
    Workload::new(ports, coflows)
}

#[facebook_test]
fn facebook_trace() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/FB2010-1Hr-150-0.txt");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let found = uniform(&read_benchmark(&text), 125e6);
    println!("{found:?}");
    assert!((15.3..15.5).contains(&found.isolated_s), "{found:?}");
    assert!((16.1..16.3).contains(&found.single_port_s), "{found:?}");
    assert!((21.75..22.9).contains(&found.mean_cct_s), "{found:?}");
}

#[test]
fn isolated_counts_the_bytes_of_late_flows_from_their_start() {
    let late = |start_s, bytes| Flow { start_s, ..flow(0, 0, bytes) };
    assert_eq!(isolated(coflow(9.0, &[flow(0, 0, 6.0)]), 2.0, 1.0), 6.0);
    assert_eq!(isolated(coflow(9.0, &[flow(0, 0, 6.0), late(1.0, 2.0)]), 2.0, 2.0), 4.0);
    assert_eq!(isolated(coflow(9.0, &[flow(0, 0, 6.0), late(5.0, 2.0)]), 2.0, 2.0), 6.0);
    assert_eq!(isolated(coflow(9.0, &[flow(0, 0, 6.0), late(7.0, 0.0)]), 2.0, 2.0), 7.0);
}

#[test]
fn nothing_to_send_takes_no_time() {
    let nothing = Bounds { isolated_s: 0.0, single_port_s: 0.0, mean_cct_s: 0.0 };
    assert_eq!(bounds_of(0, vec![]), nothing);
    assert_eq!(bounds_of(1, vec![coflow(3.0, &[flow(0, 0, 0.0)])]), nothing);
}

#[test]
fn one_link_is_nearly_shortest_remaining_first() {
    // A needs 4 s from 0, B 2 s from 1: the best is 6 and 2.
    let two = bounds_of(1, vec![coflow(0.0, &[flow(0, 0, 4.0)]), coflow(1.0, &[flow(0, 0, 2.0)])]);
    assert!((3.98..=4.0).contains(&two.mean_cct_s), "{two:?}");
    // A long coflow that many short ones interrupt: 20 + 8, and 1 each.
    let mut many: Vec<_> = (0..8).map(|k| coflow(2.0 * f64::from(k), &[flow(0, 0, 1.0)])).collect();
    many.insert(0, coflow(0.0, &[flow(0, 0, 20.0)]));
    let many = bounds_of(1, many);
    assert!((0.98 * 36.0 / 9.0..=36.0 / 9.0).contains(&many.mean_cct_s), "{many:?}");
}

#[test]
fn known_optimum_of_four_coflows_on_three_links() {
    // A needs 2 on each of three links, B, C and D 3 on one each: the best is 5, 3, 3, 3.
    let spread = |bytes: f64| (0..3).map(|k| flow(k, k, bytes)).collect::<Vec<_>>();
    let mut coflows = vec![coflow(0.0, &spread(2.0))];
    coflows.extend((0..3).map(|k| coflow(0.0, &[flow(k, k, 3.0)])));
    let found = bounds_of(3, coflows).mean_cct_s;
    assert!((3.2..=3.5).contains(&found), "{found}");
}

/// The single-port bound is exact where no other bound is: KA13, and many coflows that interrupt a
/// long one.
#[test]
fn on_one_port_shortest_remaining_first_is_the_bound() {
    let ends = |bounds: Bounds, mean: f64| {
        assert!((bounds.single_port_s - mean).abs() < 1e-6, "{bounds:?}");
        assert!((bounds.mean_cct_s - mean).abs() < 1e-6, "{bounds:?}");
    };
    let late = |arrival_s, bytes| coflow(arrival_s, &[flow(0, 0, bytes)]);
    ends(bounds_of(1, vec![late(0.0, 4.0), late(1.0, 2.0)]), 4.0);
    // A coflow that does not use the port counts with its isolated CCT.
    ends(bounds_of(2, vec![late(0.0, 4.0), late(1.0, 2.0), coflow(0.0, &[flow(1, 1, 7.0)])]), 5.0);
}

/// Coflows that hardly use a port are left out of the set that shares it, because the bound would
/// lose their isolated times.
#[test]
fn coflows_with_another_bottleneck_need_not_share() {
    let spread = |bytes| coflow(0.0, &[flow(0, 0, bytes), flow(1, 1, 10.0)]);
    let found = bounds_of(2, vec![spread(0.5), coflow(0.0, &[flow(0, 0, 2.0)])]);
    assert!((found.single_port_s - 6.0).abs() < 1e-6, "{found:?}");
    let third = coflow(0.0, &[flow(0, 0, 2.0)]);
    let found = bounds_of(2, vec![spread(0.5), coflow(0.0, &[flow(0, 0, 2.0)]), third]);
    assert!((found.single_port_s - (10.0 + 2.0 + 4.0) / 3.0).abs() < 1e-6, "{found:?}");
}

/// The CCTs in BSSI's order if links do not depend on each other, with capacities of 1.
fn uncoupled(workload: &Workload) -> Vec<f64> {
    let fabric = Fabric::big_switch(workload.ports, 1.0).unwrap();
    let mut bssi = Bssi::default();
    for (coflow, loads) in workload.coflows.iter().zip(loads(workload, &fabric)) {
        bssi.add(coflow.weight, loads.into_iter());
    }
    uncoupled_cct_s(workload, &fabric, bssi.order())
}

/// KA6: the order is D, C, A, B.
#[test]
fn uncoupled_bssi_of_four_coflows_on_three_links() {
    let spread = |bytes: f64| (0..3).map(|k| flow(k, k, bytes)).collect::<Vec<_>>();
    let mut coflows = vec![coflow(0.0, &spread(2.0))];
    coflows.extend((0..3).map(|k| coflow(0.0, &[flow(k, k, 3.0)])));
    assert_eq!(uncoupled(&Workload::new(3, coflows)), [5.0, 5.0, 3.0, 3.0]);
}

#[test]
fn uncoupled_links_do_not_wait_for_each_other() {
    // The second coflow needs port 0 to send, where the first is until 1, and port 1 to receive,
    // where the last is from then to 2. It ends at 3; but at 2 if its byte need not cross both at
    // once.
    let coflows = vec![
        coflow(0.0, &[flow(0, 0, 1.0)]),
        coflow(0.0, &[flow(0, 1, 1.0)]),
        coflow(1.0, &[flow(2, 1, 1.0)]),
    ];
    let workload = Workload::new(3, coflows);
    let caps: &[f64] = &[1.0; 3];
    let coupled = mean_cct_of_order(&workload, &[0, 2, 1], caps, caps);
    assert!((coupled - 5.0 / 3.0).abs() < 1e-9, "{coupled}");
    assert_eq!(uncoupled_cct_s(&workload, &switch(caps, caps), &[0, 2, 1]), [1.0, 2.0, 1.0]);
    // A coflow that is missing in the order comes last; an index beyond the workload has no effect.
    assert_eq!(uncoupled_cct_s(&workload, &switch(caps, caps), &[0, 9, 2]), [1.0, 2.0, 1.0]);
}

#[test]
fn uncoupled_links_serve_released_coflows() {
    let late = Flow { start_s: 2.0, ..flow(0, 0, 1.0) };
    let child = Coflow { parents: vec![0], ..coflow(0.0, &[flow(0, 0, 3.0)]) };
    let coflows = vec![
        coflow(0.0, &[flow(0, 0, 4.0)]),
        coflow(1.0, &[flow(0, 0, 2.0)]),
        child,
        coflow(0.0, &[late]),
    ];
    let workload = Workload::new(1, coflows);
    // The second interrupts the first from 1 to 3, when the last arrives; a child counts alone.
    let ccts = uncoupled_cct_s(&workload, &switch(&[1.0], &[1.0]), &[1, 3, 0, 2]);
    assert_eq!(ccts, [7.0, 2.0, 3.0, 4.0]);
}

#[test]
fn loads_are_seconds_of_links_in_order_of_first_use() {
    let flows = [flow(1, 0, 4.0), flow(0, 0, 2.0), flow(1, 1, 2.0), flow(0, 1, 0.0)];
    let workload = Workload::new(2, vec![coflow(0.0, &flows)]);
    let expected = [(1, 3.0), (0, 2.0), (2, 1.5), (3, 1.0)];
    let found = loads(&workload, &switch(&[1.0, 2.0], &[4.0, 2.0]));
    assert_eq!(found, [expected.map(|(link, load)| (LinkId(link), load))]);
}

#[test]
fn coflows_with_parents_count_alone() {
    let child = Coflow { parents: vec![0], ..coflow(0.0, &[flow(0, 0, 3.0)]) };
    let found = bounds_of(1, vec![coflow(0.0, &[flow(0, 0, 5.0)]), child]);
    assert!((3.99..=4.0).contains(&found.mean_cct_s), "{found:?}");
}

#[test]
fn late_flows_without_bytes_hold_a_coflow_open() {
    let late = Flow { start_s: 900.0, ..flow(0, 0, 0.0) };
    let coflows = vec![coflow(0.0, &[late]), coflow(0.0, &[flow(0, 0, 1.0), late])];
    let found = bounds_of(1, coflows).mean_cct_s;
    assert!((899.9..=900.0).contains(&found), "{found}");
}

#[test]
fn inner_links_count_like_links_of_ports() {
    // Both flows cross the inner link, which carries half of what ports do.
    let to = |port| (PortId(0), PortId(port), vec![0]);
    let routes = Routes::new(1, [to(0), to(1)]).unwrap();
    let fabric = Fabric::new(&[2.0; 2], &[2.0; 2], &[1.0], routes).unwrap();
    let workload =
        Workload::new(2, vec![coflow(0.0, &[flow(0, 0, 1.0)]), coflow(0.0, &[flow(0, 1, 3.0)])]);
    assert_eq!(isolated_ccts_s(&workload, &fabric), [1.0, 3.0]);
    let single = bounds(&workload, &fabric).single_port_s;
    assert!((single - (1.0 + 4.0) / 2.0).abs() < 1e-6, "{single}");
    let found = loads(&workload, &fabric);
    let expected = [(0, 1.5), (3, 1.5), (4, 3.0)].map(|(link, load)| (LinkId(link), load));
    assert_eq!(found[1], expected);
}

/// Under all policies that the simulator runs on inner links, on FatTrees whose uplinks are too
/// slow.
#[test]
fn never_above_a_schedule_on_a_fat_tree() {
    let mut random = Random(3);
    for n in 0..60 {
        let flows = |random: &mut Random| -> Vec<Flow> {
            let mut host = || random.below(16) as u32;
            let ends: Vec<[u32; 2]> = (0..6).map(|_| [host(), host()]).collect();
            ends.into_iter()
                .map(|[src, dst]| flow(src, dst, 1.0 + random.below(4) as f64))
                .collect()
        };
        let coflows = (0..4)
            .map(|id| Coflow {
                id: id.to_string(),
                ..coflow(random.below(4) as f64 / 2.0, &flows(&mut random))
            })
            .collect();
        let workload = Workload::new(16, coflows);
        let mode = EcmpMode::ALL[n % EcmpMode::ALL.len()].1;
        let tree = FatTree::new(4, Ecmp { mode, seed: n as u64 }).unwrap();
        let fabric = tree.fabric(1.0, 3.0).unwrap();
        let bounds = bounds(&workload, &fabric);
        let alone = isolated_ccts_s(&workload, &fabric);
        for policy in ["sebf", "scf", "fifo", "aalo:delta=0"] {
            let mut built = covey_sched::build(policy).unwrap().policy;
            let outcome =
                covey_sim::simulate(&workload, &fabric, policy, &mut built, &mut ()).unwrap();
            let ccts: Vec<f64> = outcome.coflows.iter().map(|coflow| coflow.cct_s()).collect();
            let mean = ccts.iter().sum::<f64>() / ccts.len() as f64;
            assert!(bounds.mean_cct_s <= mean, "{policy}: {bounds:?} {mean}");
            assert!(bounds.isolated_s <= bounds.mean_cct_s);
            for (cct, alone) in ccts.iter().zip(&alone) {
                assert!(*cct >= alone * (1.0 - 1e-9), "{policy}: {cct} {alone}");
            }
        }
    }
}

/// A generator of random instances (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    /// Two to four coflows on one to three ports; some flows late, some empty.
    fn workload(&mut self) -> Workload {
        let ports = 1 + self.below(3) as u32;
        let port = |random: &mut Self| random.below(u64::from(ports)) as u32;
        let coflows = (0..2 + self.below(3))
            .map(|_| {
                let flows: Vec<Flow> = (0..1 + self.below(4))
                    .map(|_| Flow {
                        src: port(self),
                        dst: port(self),
                        bytes: [0.0, 1.0, 2.0, 3.0, 10.0][self.below(5) as usize],
                        start_s: [0.0, 0.0, 0.0, 2.5][self.below(4) as usize],
                    })
                    .collect();
                coflow(self.below(8) as f64 / 2.0, &flows)
            })
            .collect();
        Workload::new(ports, coflows)
    }

    fn capacities(&mut self, ports: u32) -> Vec<f64> {
        (0..ports).map(|_| [1.0, 1.0, 2.0][self.below(3) as usize]).collect()
    }
}

/// Mean CCT when flows are served greedily, flow by flow, coflows in the `order` given, until the
/// next flow starts or ends.
fn mean_cct_of_order(workload: &Workload, order: &[usize], egress: &[f64], ingress: &[f64]) -> f64 {
    let mut left: Vec<Vec<f64>> =
        workload.coflows.iter().map(|c| c.flows.iter().map(|f| f.bytes).collect()).collect();
    let start =
        |c: usize, f: usize| workload.coflows[c].arrival_s + workload.coflows[c].flows[f].start_s;
    let mut end: Vec<f64> = (0..left.len())
        .map(|c| (0..left[c].len()).map(|f| start(c, f)).fold(0.0, f64::max))
        .collect();
    let mut now = 0.0;
    while left.iter().flatten().any(|&bytes| bytes > 0.0) {
        let (mut free_out, mut free_in) = (egress.to_vec(), ingress.to_vec());
        let (mut served, mut step) = (Vec::new(), f64::INFINITY);
        for &c in order {
            for (f, flow) in workload.coflows[c].flows.iter().enumerate() {
                if left[c][f] <= 0.0 {
                    continue;
                }
                if start(c, f) > now {
                    step = step.min(start(c, f) - now);
                    continue;
                }
                let (src, dst) = (flow.src as usize, flow.dst as usize);
                let rate = free_out[src].min(free_in[dst]);
                if rate > 0.0 {
                    free_out[src] -= rate;
                    free_in[dst] -= rate;
                    step = step.min(left[c][f] / rate);
                    served.push((c, f, rate));
                }
            }
        }
        now += step;
        for (c, f, rate) in served {
            left[c][f] -= rate * step;
            if left[c][f] < 1e-9 {
                left[c][f] = 0.0;
                end[c] = end[c].max(now);
            }
        }
    }
    let total: f64 = end.iter().zip(&workload.coflows).map(|(end, c)| end - c.arrival_s).sum();
    total / end.len() as f64
}

/// The minimum mean CCT over all orders of the coflows.
fn best_order(workload: &Workload, egress: &[f64], ingress: &[f64]) -> f64 {
    fn search(order: &mut Vec<usize>, fixed: usize, mean: &impl Fn(&[usize]) -> f64) -> f64 {
        if fixed == order.len() {
            return mean(order);
        }
        let mut best = f64::INFINITY;
        for k in fixed..order.len() {
            order.swap(fixed, k);
            best = best.min(search(order, fixed + 1, mean));
            order.swap(fixed, k);
        }
        best
    }
    let mean = |order: &[usize]| mean_cct_of_order(workload, order, egress, ingress);
    search(&mut (0..workload.coflows.len()).collect(), 0, &mean)
}

#[test]
fn never_above_a_schedule() {
    let mut random = Random(1);
    let (mut found, mut best) = (0.0, 0.0);
    for _ in 0..500 {
        let workload = random.workload();
        let egress = random.capacities(workload.ports);
        let ingress = random.capacities(workload.ports);
        let bounds = bounds(&workload, &switch(&egress, &ingress));
        let schedule = best_order(&workload, &egress, &ingress);
        assert!(bounds.isolated_s <= bounds.single_port_s, "{bounds:?} {workload:?}");
        assert!(bounds.single_port_s <= bounds.mean_cct_s, "{bounds:?} {workload:?}");
        assert!(bounds.mean_cct_s <= schedule, "{bounds:?} {schedule} {workload:?}");
        found += bounds.mean_cct_s;
        best += schedule;
    }
    println!("bounds are {:.4} of the best order on average", found / best);
    assert!(found / best > 0.9);
}

#[test]
fn twice_the_bytes_and_times_is_twice_the_bound() {
    let mut random = Random(2);
    for _ in 0..50 {
        let workload = random.workload();
        let mut twice = workload.clone();
        for coflow in &mut twice.coflows {
            coflow.arrival_s *= 2.0;
            for flow in &mut coflow.flows {
                flow.bytes *= 2.0;
                flow.start_s *= 2.0;
            }
        }
        let (once, twice) = (uniform(&workload, 1.0), uniform(&twice, 1.0));
        assert!((twice.mean_cct_s - 2.0 * once.mean_cct_s).abs() <= 1e-9 * once.mean_cct_s);
        assert!((twice.isolated_s - 2.0 * once.isolated_s).abs() <= 1e-9 * once.isolated_s);
    }
}

#[test]
fn the_same_bound_every_time() {
    let workload = Random(3).workload();
    assert_eq!(uniform(&workload, 1.0), uniform(&workload, 1.0));
}
