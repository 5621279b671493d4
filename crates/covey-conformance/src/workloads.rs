//! Random workloads and networks: flows in waves, flows of zero bytes, coflows with parents, and
//! many ties.

use covey_core::{Fabric, PortId, Routes};
use covey_trace::{Attempt, ClusterEvent, Coflow, Flow, FlowOf, Happening, Part, Workload};
use proptest::collection::vec;
use proptest::prelude::*;

/// A flow that starts with its coflow.
pub fn flow(src: u32, dst: u32, bytes: f64) -> Flow {
    Flow { src, dst, bytes, start_s: 0.0 }
}

/// A workload as a trace, for a simulation by hand.
pub fn as_trace(workload: &Workload) -> String {
    let mut text = Vec::new();
    covey_trace::write(workload, &mut text).expect("memory takes all");
    String::from_utf8(text).expect("JSON is text")
}

/// The kind of sizes and times of a random workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Sizes and arrivals that are often equal, flows of zero bytes.
    Ties,
    /// Sizes and arrivals that are all different, so that no order depends on rounding.
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

fn time_s(kind: Kind) -> BoxedStrategy<f64> {
    match kind {
        Kind::Ties => prop_oneof![3 => Just(0.0), 2 => Just(1.0), 2 => 0.0..10.0].boxed(),
        Kind::Generic => (0.0..10.0).boxed(),
    }
}

/// Scattered flows, some between the same ports, or a whole shuffle; some in later waves.
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
    let waves = prop_oneof![3 => Just(vec![0.0]), 1 => vec(time_s(kind), 1..4)];
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
        vec((time_s(kind), flows(ports, kind), parent, deadline), 1..9).prop_map(move |coflows| {
            let coflows = coflows.into_iter().enumerate().map(
                |(trace_index, (arrival_s, flows, parent, deadline_s))| {
                    let mut coflow = Coflow::new(format!("c{trace_index}"), arrival_s, flows);
                    coflow.deadline_s = deadline_s;
                    coflow.parents.extend(parent.filter(|&parent| (parent as usize) < trace_index));
                    coflow
                },
            );
            Workload::new(ports, coflows.collect())
        })
    })
}

/// Coflows of many shapes, some with parents; hosts fail and return, and flows move, restart, are
/// cancelled and have further attempts.
pub fn workload_with_events(kind: Kind) -> impl Strategy<Value = Workload> {
    let event = (0..6_u8, time_s(kind), 0..64_u32, 0..64_u32, 0.0..10.0, any::<bool>());
    (workload(kind), vec(event, 1..12)).prop_map(|(mut workload, events)| {
        for (kind, at_s, a, b, lasts_s, flag) in events {
            let coflow = a % workload.coflows.len() as u32;
            let width = workload.coflows[coflow as usize].flows.len() as u32;
            let flow = FlowOf { coflow, flow: b % width };
            let port = b % workload.ports;
            let mut add = |at_s: f64, what| workload.events.push(ClusterEvent { at_s, what });
            match kind {
                0 => {
                    let part = Part::Host(port);
                    add(at_s, Happening::Fail { part: part.clone(), loses: flag });
                    add(at_s + lasts_s, Happening::Return { part });
                }
                1 => add(at_s, Happening::Cancel { flow }),
                2 => add(at_s, Happening::Restart { flow }),
                3 => add(at_s, Happening::Move { flow, src: None, dst: Some(a % workload.ports) }),
                4 => add(at_s, Happening::Move { flow, src: Some(a % workload.ports), dst: None }),
                _ => {
                    let coflow = &mut workload.coflows[coflow as usize];
                    let copied = coflow.flows[flow.flow as usize];
                    coflow.attempts.push(Attempt { flow: width, of: flow.flow });
                    let start_s = if flag { copied.start_s } else { copied.start_s + lasts_s };
                    coflow.flows.push(Flow { src: port, start_s, ..copied });
                }
            }
        }
        workload
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
        let paths = masks.iter().enumerate().map(|(pair, mask)| {
            let path = (0..3).filter(|link| mask >> link & 1 == 1).collect();
            (PortId(pair as u32 / 6), PortId(pair as u32 % 6), path)
        });
        let routes = Routes::new(3, paths).unwrap();
        Fabric::new(&[1.0; 6], &[1.0; 6], &inner, routes).unwrap()
    })
}
