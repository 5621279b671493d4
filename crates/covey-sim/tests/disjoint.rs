//! Traffic on other ports does not change a coflow's completion, under any policy.

use crate::common::{COMPRESSED, Kind, as_trace, policies, policy};
use covey_conformance::others_do_not_matter;
use covey_core::Fabric;
use covey_trace::{Coflow, Workload};
use proptest::prelude::*;

/// Whether a policy has state for the whole network by definition: time slots, ports drawn from one
/// sequence of random numbers, priorities that grow with every arrival, what is compressed decided
/// at every arrival, a time scale learned from all flows, or a formula of what has been sent, which
/// is calculated again whenever any coflow arrives or ends. Nor does it hold where flows are
/// compressed while they are sent: their proportions shift with time, and rates follow them when a
/// coflow is decided again, which rounding may bring about.
fn is_exempt(spec: &str) -> bool {
    let has_slots = spec.starts_with("philae") && !spec.contains("queues=strict");
    let is_random = spec.contains("ports=random");
    let grows = spec.starts_with("fvdf") && !spec.contains("logbase=1");
    let decides_again = spec.starts_with("fvdf") && !spec.contains("bandwidth=capacity");
    let shifts = spec.contains("overlap=true");
    let learns = spec.starts_with("coda") && !spec.contains("labels=true");
    let looks_again = spec.starts_with("order") && spec.contains("sent");
    looks_again || has_slots || is_random || grows || decides_again || shifts || learns
}

/// The exempt policies, with other parameters that are not exempt.
const INSTEAD: [&str; 11] = [
    "coda:labels=true,q1=2B,E=2,K=4,flow_q1=0.5B,delta=0",
    "philae:queues=strict",
    "philae:thin=2,q1=2B,order=B,pilots=flows:0.5,queues=strict",
    "philae:thin=2,q1=2B,order=C,pilots=senders:1,queues=strict",
    "philae:thin=2,q1=2B,share=equal,queues=strict",
    "philae:thin=1,q1=2B,contention=all,pilots=const:3,size=left,queues=strict",
    "philae-oracle:thin=2,q1=2B,E=2,K=4,order=A,queues=strict",
    "philae-oracle:thin=1,q1=2B,share=equal,size=left,contention=all,queues=strict",
    "fvdf:codec=32bps:0.5,logbase=1,bandwidth=capacity",
    "fifo:share=madd,compress=32bps:0.5",
    "order:by=deadline/weight",
];

/// Whether the coflows of a trace end as they do alone, on a big switch with ports of one byte per
/// second, while a flow of another one has a `port` of its own from `arrival_s` on for `bytes`.
fn check_beside(trace: &str, ports: u32, (port, arrival_s, bytes): (u32, f64, f64), spec: &str) {
    let workload = covey_trace::read(trace.as_bytes(), "a trace").unwrap();
    let flow = crate::common::flow(port, port, bytes);
    let other = Coflow::new("other".to_owned(), arrival_s, vec![flow]);
    let others = Workload::new(port + 1, vec![other]);
    let fabric = Fabric::big_switch(ports, 1.0).unwrap();
    others_do_not_matter(&workload, &fabric, &others, &|| policy(spec)).unwrap();
}

/// Flows start just when senders mark what receivers have had. Whether rounding leaves them at 0 or
/// at 1e-16 bytes then must not count as something that has come.
#[test]
fn bytes_that_are_rounding_are_not_relayed() {
    let trace = include_str!("data/started_at_a_mark.jsonl");
    let spec = "stream:thresholds=1B/2B/4B,alpha=0,escape=100ms,raise=50ms,patience=1s,rtt=20ms";
    check_beside(trace, 3, (0, 1.1194652145018018, 0.6573307912871168), spec);
}

/// A look at relays is to come when seven bytes of a DAG have been sent, which is when its first
/// coflow ends. Whether rounding makes the look come then or never must not matter.
#[test]
fn no_look_at_relays_comes_with_the_end_of_a_coflow() {
    let trace = include_str!("data/ended_at_a_look.jsonl");
    let spec = "stream:K=3,thresholds=2B/2B,eq=literal,ids=own,beta=0.5,escape=off";
    check_beside(trace, 6, (4, 5.433452388081437, 11.831414499308725), spec);
}

/// Flows are looked at when their group has sent some bytes, which is when it stops. Whether
/// rounding makes the look come then, or once it sends again, must not matter.
#[test]
fn a_look_at_flows_comes_when_their_group_stops() {
    let trace = include_str!("data/stopped_at_a_look.jsonl");
    let spec = "coda:labels=true,q1=2B,E=2,K=4,flow_q1=0.5B,delta=0";
    check_beside(trace, 6, (0, 0.8716653021788369, 0.01), spec);
}

proptest! {
    #![proptest_config(crate::common::cases(200))]

    #[test]
    fn events_on_other_ports_do_not_matter(
        workload in crate::common::workload(Kind::Ties),
        others in crate::common::workload(Kind::Generic),
        fabric in crate::common::fabric(),
    ) {
        let specs = policies().chain(COMPRESSED).chain(INSTEAD);
        for spec in specs.filter(|spec| !is_exempt(spec)) {
            let result = others_do_not_matter(&workload, &fabric, &others, &|| policy(spec));
            if let Err(violation) = result {
                let (capacity, trace) = (fabric.capacity(), as_trace(&workload));
                panic!("{spec} on {capacity:?}\n{trace}beside\n{}{violation}", as_trace(&others));
            }
        }
    }
}
