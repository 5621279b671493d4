//! Workloads and policies that several tests use.

// Every test binary uses its own part of this module.
#![allow(dead_code)]

pub mod record;

use std::path::Path;

use covey_core::alloc::Allocator;
use covey_core::state::State;
use covey_core::{AnyPolicy, Fabric, PortId};
use covey_sim::{Outcome, simulate};
use covey_trace::{Coflow, Flow, Workload, read_path};
use proptest::collection::vec;
use proptest::prelude::*;

/// A flow that starts with its coflow.
pub fn flow(src: u32, dst: u32, bytes: f64) -> Flow {
    Flow { src, dst, bytes, start_s: 0.0 }
}

/// Every registered policy, and parameters that take other ways through it.
pub const POLICIES: [&str; 56] = [
    "fair",
    "fifo",
    "fifo:share=matching",
    "fifo:share=madd",
    "fifo-flow",
    "pfp",
    "wss",
    "scf",
    "scf:share=matching",
    "ncf",
    "lcf",
    "sebf",
    "sebf:share=matching",
    "sincronia",
    "sincronia:share=maxmin",
    "aalo",
    "aalo:q1=2,E=2,K=4",
    "aalo:q1=2,E=2,K=4,delta=0",
    "aalo:q1=1,K=3,queues=strict,delta=0",
    "aalo:q1=1,E=3,queues=strict,delta=300ms",
    "aalo:q1=1,share=equal,delta=0",
    "aalo-oracle",
    "aalo-oracle:q1=2,E=2,K=4,queues=strict,delta=0",
    "philae",
    "philae:thin=0,q1=2,E=2,K=4",
    "philae:thin=2,q1=2,E=2,queues=strict",
    "philae:thin=2,q1=2,order=A,pilots=const:2,queues=strict",
    "philae:thin=2,q1=2,order=B,pilots=flows:0.5",
    "philae:thin=2,q1=2,order=C,pilots=senders:1",
    "philae:thin=2,q1=2,work_conservation=false,queues=strict",
    "philae:thin=1,q1=1,E=1.5,work_conservation=false",
    "aalo-local",
    "aalo-local:q1=1,E=2,K=4",
    "aalo-local:q1=2,queues=strict",
    "fifo-lm",
    "fifo-lm:heavy=2",
    "fifo-lm:heavy=1,tell=true,latency=100ms",
    "saath",
    "saath:q1=2,E=2,K=4",
    "saath:q1=1,E=2,d=0.5,work_conservation=all",
    "saath:q1=2,threshold=coflow,order=width,work_conservation=none",
    "saath:q1=2,dynamics=true",
    "graviton",
    "graviton:q1=1,E=2,order=contention",
    "philae:thin=2,q1=2,share=equal",
    "philae:thin=2,q1=2,share=equal,queues=strict,work_conservation=false",
    "philae:thin=1,q1=2,ports=random,seed=7,size=left",
    "philae:thin=1,q1=2,contention=all,pilots=const:3",
    "sebf:share=matching-by-load",
    "sebf:work_conservation=false",
    "sebf:mode=deadline",
    "sebf:mode=deadline,padding=0,min=0,work_conservation=false",
    "covey",
    "covey:prior=1,pilots=const:2,phi=0",
    "covey:prior=1,phi=0.3,T=700ms,d0=1s,d=2",
    "covey:prior=2,pilots=flows:0.3,phi=1,d0=0,d=0",
];

/// Policies with flows compressed at 4 bytes a second to half of their size; at a bandwidth of 2 or
/// more that does not pay.
pub const COMPRESSED: [&str; 9] = [
    "fvdf:codec=32bps:0.5",
    "fvdf:codec=32bps:0.5,gamma=port,share=matching,logbase=1",
    "fvdf:codec=32bps:0.5,overlap=true",
    "fvdf:codec=32bps:0.5,overlap=true,share=matching",
    "fair:compress=32bps:0.5",
    "fifo:compress=32bps:0.5",
    "sebf:compress=32bps:0.5",
    "aalo:q1=2,E=2,K=4,compress=32bps:0.5",
    "philae:thin=2,q1=2,compress=32bps:0.5",
];

/// A policy by its name and parameters.
pub fn policy(spec: &str) -> AnyPolicy {
    covey_sched::build(spec).unwrap_or_else(|error| panic!("{error}")).policy
}

/// Simulates without anybody looking on.
pub fn run(workload: &Workload, fabric: &Fabric, spec: &str) -> Outcome {
    simulate(workload, fabric, spec, &mut policy(spec), &mut ())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A workload as a trace, to be simulated again by hand.
pub fn as_trace(workload: &Workload) -> String {
    let mut text = Vec::new();
    covey_trace::write(workload, &mut text).expect("memory takes all");
    String::from_utf8(text).expect("JSON is text")
}

/// The coflow completion times.
pub fn ccts(outcome: &Outcome) -> Vec<f64> {
    outcome.coflows.iter().map(|coflow| coflow.cct_s()).collect()
}

/// An unfinished flow as an observer sees it.
pub struct Served {
    /// Place of its coflow in the trace.
    pub place: usize,
    /// Its number within the coflow.
    pub index: usize,
    /// The links it crosses.
    pub path: Vec<usize>,
    /// Bytes per second.
    pub rate: f64,
}

/// All unfinished flows with their rates.
pub fn served(state: &State, rates: &Allocator) -> Vec<Served> {
    let mut flows = Vec::new();
    for &id in state.present() {
        let coflow = state.coflow(id);
        let demand = coflow.demand();
        for position in demand.active() {
            let path: Vec<usize> =
                demand.path(position).map(|l| demand.links()[l].index()).collect();
            let rate = rates.rate(state, id, position);
            let place = coflow.registration.seq as usize;
            flows.push(Served { place, index: demand.index(position) as usize, path, rate });
        }
    }
    flows
}

/// To 9 digits, of times that are simulated to a nanosecond.
pub fn same_time(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(20.0)
}

/// The first `coflows` of the public Facebook trace, or `None` with a printed reason.
pub fn facebook(coflows: usize) -> Option<Workload> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("../shared/data/FB2010-1Hr-150-0.txt");
    if !path.exists() {
        eprintln!("skipped: the Facebook trace is not in ../shared/data");
        return None;
    }
    let mut workload = read_path(&path).expect("the Facebook trace");
    workload.coflows.truncate(coflows);
    Some(workload)
}

/// This many random inputs; a failing one is printed, and no file is written.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// How alike sizes and times of a random workload are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Sizes and arrivals that are often equal, flows of zero bytes.
    Ties,
    /// Sizes and arrivals that are all different, so that no order hangs on rounding.
    Generic,
}

fn bytes(kind: Kind) -> BoxedStrategy<f64> {
    match kind {
        Kind::Ties => {
            prop_oneof![1 => Just(0.0), 4 => Just(1.0), 4 => Just(2.0), 2 => 0.01..20.0].boxed()
        }
        Kind::Generic => (0.01..20.0).boxed(),
    }
}

fn moment(kind: Kind) -> BoxedStrategy<f64> {
    match kind {
        Kind::Ties => prop_oneof![3 => Just(0.0), 2 => Just(1.0), 2 => 0.0..10.0].boxed(),
        Kind::Generic => (0.0..10.0).boxed(),
    }
}

/// Scattered flows, pairs that occur twice included, or a whole shuffle; some in later waves.
fn flows(ports: u32, kind: Kind) -> impl Strategy<Value = Vec<Flow>> {
    let size = bytes(kind);
    let scattered = vec((0..ports, 0..ports, bytes(kind)), 1..10);
    let shuffle = (1..=ports, 1..=ports).prop_flat_map(move |(senders, receivers)| {
        let pairs = (0..senders).flat_map(move |s| (0..receivers).map(move |r| (s, r)));
        let pairs: Vec<_> = pairs.collect();
        vec(size.clone(), pairs.len()).prop_map(move |sizes| {
            pairs.iter().zip(sizes).map(|(&(s, r), bytes)| (s, r, bytes)).collect()
        })
    });
    let waves = prop_oneof![3 => Just(vec![0.0]), 1 => vec(moment(kind), 1..4)];
    (prop_oneof![scattered, shuffle], waves).prop_map(|(flows, waves)| {
        let start = waves.into_iter().cycle();
        let with_start = |((src, dst, bytes), start_s)| Flow { src, dst, bytes, start_s };
        flows.into_iter().zip(start).map(with_start).collect()
    })
}

/// Coflows of many shapes, some with parents.
pub fn workload(kind: Kind) -> impl Strategy<Value = Workload> {
    (1..6_u32).prop_flat_map(move |ports| {
        let parent = proptest::option::weighted(0.15, 0..8_u32);
        let deadline = proptest::option::weighted(0.5, 0.5..30.0);
        vec((moment(kind), flows(ports, kind), parent, deadline), 1..9).prop_map(move |coflows| {
            let coflows = coflows.into_iter().enumerate().map(
                |(place, (arrival_s, flows, parent, deadline_s))| {
                    let mut coflow = Coflow::new(format!("c{place}"), arrival_s, flows);
                    coflow.deadline_s = deadline_s;
                    coflow.parents.extend(parent.filter(|&parent| (parent as usize) < place));
                    coflow
                },
            );
            Workload { ports, coflows: coflows.collect() }
        })
    })
}

/// Six ports, all alike or not.
pub fn fabric() -> impl Strategy<Value = Fabric> {
    let different = (vec(0.5..3.0, 6), vec(0.5..3.0, 6));
    let alike = Just((vec![1.0; 6], vec![1.0; 6]));
    prop_oneof![alike, different]
        .prop_map(|(egress, ingress)| Fabric::big_switch_with(&egress, &ingress).unwrap())
}

/// Six ports with links of rate 1, and paths over up to three of three links between them.
pub fn fabric_with_inner_links() -> impl Strategy<Value = Fabric> {
    (vec(0.5..3.0, 3), vec(0..8_u32, 36)).prop_map(|(inner, masks)| {
        let path = |src: PortId, dst: PortId| {
            let mask = masks[src.index() * 6 + dst.index()];
            (0..3).filter(|link| mask >> link & 1 == 1).collect()
        };
        Fabric::with_paths(6, 1.0, &inner, path).unwrap()
    })
}
