//! Lower bounds: never above a schedule, near the best one known, and right where it is known.

use covey_sim::bound::{Bounds, bounds, isolated_cct_s};
use covey_trace::{Coflow, Flow, Workload};

fn flow(src: u32, dst: u32, bytes: f64) -> Flow {
    Flow { src, dst, bytes, start_s: 0.0 }
}

fn coflow(arrival_s: f64, flows: &[Flow]) -> Coflow {
    Coflow {
        id: String::new(),
        arrival_s,
        flows: flows.to_vec(),
        parents: Vec::new(),
        weight: 1.0,
        deadline_s: None,
        job: None,
    }
}

/// The bounds where every link carries `capacity` bytes per second.
fn uniform(workload: &Workload, capacity: f64) -> Bounds {
    let links = vec![capacity; workload.ports as usize];
    bounds(workload, &links, &links)
}

fn bounds_of(ports: u32, coflows: Vec<Coflow>) -> Bounds {
    uniform(&Workload { ports, coflows }, 1.0)
}

/// Reads the coflow-benchmark format, which the trace file is known to follow.
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
    Workload { ports, coflows }
}

#[test]
fn facebook_trace() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/FB2010-1Hr-150-0.txt");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: {path} is not here");
        return;
    };
    let found = uniform(&read_benchmark(&text), 125e6);
    println!("{found:?}");
    assert!((15.3..15.5).contains(&found.isolated_s), "{found:?}");
    assert!((20.3..22.9).contains(&found.mean_cct_s), "{found:?}");
}

#[test]
fn isolated_counts_the_bytes_of_late_flows_from_their_start() {
    let late = |start_s, bytes| Flow { start_s, ..flow(0, 0, bytes) };
    let caps: &[f64] = &[2.0];
    assert_eq!(isolated_cct_s(&coflow(9.0, &[flow(0, 0, 6.0)]), caps, &[1.0]), 6.0);
    assert_eq!(isolated_cct_s(&coflow(9.0, &[flow(0, 0, 6.0), late(1.0, 2.0)]), caps, caps), 4.0);
    assert_eq!(isolated_cct_s(&coflow(9.0, &[flow(0, 0, 6.0), late(5.0, 2.0)]), caps, caps), 6.0);
    assert_eq!(isolated_cct_s(&coflow(9.0, &[flow(0, 0, 6.0), late(7.0, 0.0)]), caps, caps), 7.0);
}

#[test]
fn nothing_to_send_takes_no_time() {
    let nothing = Bounds { isolated_s: 0.0, mean_cct_s: 0.0 };
    assert_eq!(bounds_of(0, vec![]), nothing);
    assert_eq!(bounds_of(1, vec![coflow(3.0, &[flow(0, 0, 0.0)])]), nothing);
}
