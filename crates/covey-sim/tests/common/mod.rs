//! Workloads and policies that several tests use.

// Every test binary uses its own part of this module.
#![allow(dead_code, unused_imports)]

pub mod record;

use std::path::Path;

pub use covey_conformance::{
    Kind, as_trace, ccts, fabric, fabric_with_inner_links, flow, same_time, served, workload,
};
use covey_core::{AnyPolicy, Fabric};
use covey_sim::simulate;
use covey_trace::results::Outcome;
use covey_trace::{Workload, read_path};
use proptest::prelude::ProptestConfig;

/// Every policy of the registry with its defaults, and [`VARIANTS`]. A policy that always
/// compresses is among [`COMPRESSED`] instead.
pub fn policies() -> impl Iterator<Item = &'static str> {
    let all = covey_sched::policies().iter();
    let plain = all.filter(|info| info.params.iter().all(|param| param.name != "codec"));
    plain.map(|info| info.name).chain(VARIANTS)
}

/// Parameters that use other parts of a policy's code than its defaults.
const VARIANTS: [&str; 52] = [
    "coda:labels=true,q1=2B,E=2,K=4,flow_q1=0.5B,delta=0",
    "coda:q1=2B,E=2,K=4,flow_q1=0.5B,d=3,queues=weighted,delta=200ms",
    "coda:confidence=1,q1=2B,E=2,K=4,flow_q1=0.5B,delta=0",
    "fifo:share=matching",
    "fifo:share=madd",
    "scf:share=matching",
    "sebf:share=matching",
    "sincronia:share=maxmin",
    "sincronia:mode=offline",
    "aalo:q1=2B,E=2,K=4",
    "aalo:q1=2B,E=2,K=4,delta=0",
    "aalo:q1=1B,K=3,queues=strict,delta=0",
    "aalo:q1=1B,E=3,queues=strict,delta=300ms,start_small=0.5B",
    "aalo:q1=1B,share=equal,delta=0",
    "aalo-oracle:q1=2B,E=2,K=4,queues=strict,delta=0",
    "philae:thin=0,q1=2B,E=2,K=4",
    "philae:thin=2,q1=2B,E=2,queues=strict",
    "philae:thin=2,q1=2B,order=A,pilots=const:2,queues=strict",
    "philae:thin=2,q1=2B,order=B,pilots=flows:0.5",
    "philae:thin=2,q1=2B,order=C,pilots=senders:1",
    "philae:thin=2,q1=2B,work_conservation=false,queues=strict",
    "philae:thin=1,q1=1B,E=1.5,work_conservation=false",
    "philae-oracle:thin=2,q1=2B,E=2,K=4,order=A",
    "philae-oracle:thin=0,q1=2B,order=B,queues=strict",
    "philae-oracle:thin=1,q1=2B,share=equal,size=left,contention=all",
    "aalo-local:q1=1B,E=2,K=4",
    "aalo-local:q1=2B,queues=strict",
    "fifo-lm:heavy=2B",
    "fifo-lm:heavy=1B,tell=true,latency=100ms",
    "aalo:q1=2B,E=2,K=4,queues=classes,delta=0",
    "stream:thresholds=1B/2B/4B,rtt=0,escape=off",
    "stream:thresholds=1B/2B/4B,alpha=0,escape=100ms,raise=50ms,patience=1s,rtt=20ms",
    "stream:K=3,thresholds=2B/2B,eq=literal,ids=own,beta=0.5,escape=off",
    "saath:q1=2B,E=2,K=4",
    "saath:q1=1B,E=2,d=0.5,work_conservation=all",
    "saath:q1=2B,threshold=coflow,order=width,work_conservation=none",
    "saath:q1=2B,dynamics=true",
    "graviton:q1=1B,E=2,order=contention",
    "philae:thin=2,q1=2B,share=equal",
    "philae:thin=2,q1=2B,share=equal,queues=strict,work_conservation=false",
    "philae:thin=1,q1=2B,ports=random,seed=7,size=left",
    "philae:thin=1,q1=2B,contention=all,pilots=const:3",
    "sebf:share=matching-by-load",
    "sebf:work_conservation=none",
    "sebf:work_conservation=skipped",
    "sebf:mode=deadline",
    "sebf:mode=deadline,padding=0,min=0,work_conservation=none",
    "order:by=left/weight",
    "order:by=floor(log(1+sent))+deadline",
    "covey:prior=1B,pilots=const:2,phi=0",
    "covey:prior=1B,phi=0.3,T=700ms,d0=1s,d=2",
    "covey:prior=2B,pilots=flows:0.3,phi=1,d0=0,d=0",
];

/// Policies with flows compressed at 4 bytes a second to half of their size; at a remaining
/// bandwidth of 2 or more, compression does not pay.
pub const COMPRESSED: [&str; 11] = [
    "fvdf:codec=32bps:0.5",
    "fvdf:codec=32bps:0.5,bandwidth=capacity",
    "fvdf:codec=32bps:0.5,starvation=wait",
    "fvdf:codec=32bps:0.5,gamma=port,share=matching,logbase=1",
    "fvdf:codec=32bps:0.5,overlap=true",
    "fvdf:codec=32bps:0.5,overlap=true,share=matching",
    "fair:compress=32bps:0.5",
    "fifo:compress=32bps:0.5",
    "sebf:compress=32bps:0.5",
    "aalo:q1=2B,E=2,K=4,compress=32bps:0.5",
    "philae:thin=2,q1=2B,compress=32bps:0.5",
];

/// A policy by its name and parameters.
pub fn policy(spec: &str) -> AnyPolicy {
    covey_sched::build(spec).unwrap_or_else(|error| panic!("{error}")).policy
}

/// Whether a policy looks at what each flow has sent. Other drivers than the simulator do not tell
/// that.
pub fn looks_at_flows(spec: &str) -> bool {
    policy(spec).wants().progress
}

/// Simulates without an observer.
pub fn run(workload: &Workload, fabric: &Fabric, spec: &str) -> Outcome {
    simulate(workload, fabric, spec, &mut policy(spec), &mut ())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The first `coflows` of the public Facebook trace, for a test that is a `facebook_test`.
pub fn facebook(coflows: usize) -> Workload {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("../shared/data/FB2010-1Hr-150-0.txt");
    let mut workload = read_path(&path).unwrap_or_else(|error| panic!("{error}"));
    workload.coflows.truncate(coflows);
    workload
}

/// This many random inputs; a failing one is printed, and no file is written.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
