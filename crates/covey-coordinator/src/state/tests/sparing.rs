//! Flows that no application has named are scheduled only where that can help them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use covey_core::Time;
use covey_proto::{Appearance, Appeared, FlowName, FromAgent, Sent, ToAgent};

use super::super::{CoordinatorState, Output};
use super::helpers::{PORTS, core};

fn address(port: u32) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, port as u8 + 1).into()
}

/// A flow of port 0 to port 2.
fn appears(core: &mut CoordinatorState, number: u64, now_s: f64) {
    let from = SocketAddr::new(address(0), 40_000 + number as u16);
    let to = SocketAddr::new(address(2), 9000);
    let flows = vec![Appearance { number, protocol: 6, from, to, age_s: 0.0 }];
    let appeared = FromAgent::Appeared(Appeared { all_in: None, flows });
    core.heard(0, appeared, Time::from_secs(now_s));
}

fn sends(core: &mut CoordinatorState, number: u64, bytes: f64, now_s: f64) {
    let key = FlowName::Number(number);
    let sent = FromAgent::Sent(vec![Sent { key, bytes, wire: bytes }]);
    core.heard(0, sent, Time::from_secs(now_s));
}

/// What is decided at `now_s`. Agents apply schedules so many seconds later. Returns the flows that
/// are taken, and those that are let go.
fn decided(core: &mut CoordinatorState, now_s: f64, late_s: f64) -> (Vec<u64>, Vec<u64>) {
    let (mut taken, mut released) = (Vec::new(), Vec::new());
    core.decide(Time::from_secs(now_s)).expect("a plan");
    let mut outputs = core.take_outputs();
    while !outputs.is_empty() {
        for output in outputs {
            let Output::Ready(session) = output else { continue };
            let mut messages = Vec::new();
            core.take_messages(session, &mut messages);
            for message in messages {
                match message {
                    ToAgent::Taken(mut numbers) => taken.append(&mut numbers),
                    ToAgent::Released(mut numbers) => released.append(&mut numbers),
                    ToAgent::Schedule(it) => {
                        let (epoch, version) = (it.epoch, it.version);
                        let applied = FromAgent::Applied { epoch, version };
                        core.heard(session, applied, Time::from_secs(now_s + late_s));
                    }
                    _ => {}
                }
            }
        }
        core.decide(Time::from_secs(now_s + late_s)).expect("a plan");
        outputs = core.take_outputs();
    }
    (taken, released)
}

fn coordinator(policy: &str) -> CoordinatorState {
    let mut core = core(policy, &[]);
    for port in 0..PORTS {
        let addresses = FromAgent::Addresses(vec![address(port)]);
        core.heard(u64::from(port), addresses, Time::ZERO);
    }
    core
}

#[test]
fn a_flow_that_is_shorter_than_decisions_take_is_left_alone() {
    let mut core = coordinator("coda:delta=0");
    appears(&mut core, 1, 1.0);
    // Nothing is known of delays: it is scheduled at once.
    assert_eq!(decided(&mut core, 1.0, 0.08), (vec![1], vec![]));
    // The newest value counts an eighth: 10 ms. Four decisions take as long as 40,000 bytes on a
    // link of a megabyte per second.
    assert!((core.decision_s() - 0.01).abs() < 1e-9, "{}", core.decision_s());
    sends(&mut core, 1, 50_000.0, 3.0);
    appears(&mut core, 2, 3.0);
    assert_eq!(decided(&mut core, 3.0, 0.01), (vec![], vec![]));
    sends(&mut core, 2, 39_000.0, 3.1);
    assert_eq!(decided(&mut core, 3.1, 0.01), (vec![], vec![]));
    sends(&mut core, 2, 41_000.0, 3.2);
    assert_eq!(decided(&mut core, 3.2, 0.01), (vec![2], vec![]));
    sends(&mut core, 2, 42_000.0, 3.3);
    assert_eq!(decided(&mut core, 3.3, 0.01), (vec![], vec![]), "it is told once");
}

#[test]
fn where_decisions_have_become_late_short_flows_are_let_go() {
    let mut core = coordinator("coda:delta=0");
    appears(&mut core, 1, 1.0);
    appears(&mut core, 2, 1.0);
    assert_eq!(decided(&mut core, 1.0, 0.8), (vec![1, 2], vec![]));
    // A tenth of a second in the mean: during four decisions a link of a megabyte per second
    // carries 400,000 bytes.
    assert!((core.decision_s() - 0.1).abs() < 1e-9, "{}", core.decision_s());
    sends(&mut core, 1, 190_000.0, 3.0);
    sends(&mut core, 2, 210_000.0, 3.0);
    assert_eq!(decided(&mut core, 3.0, 0.0), (vec![], vec![1]));
    // The mean has fallen a little.
    sends(&mut core, 1, 300_000.0, 5.0);
    assert_eq!(decided(&mut core, 5.0, 0.0), (vec![], vec![]));
    sends(&mut core, 1, 410_000.0, 7.0);
    assert_eq!(decided(&mut core, 7.0, 0.0), (vec![1], vec![]));
}

#[test]
fn where_coflows_cannot_be_told_apart_nothing_is_held() {
    let mut core = coordinator("coda:delta=0");
    // Two flows of each coflow begin at the same time.
    let begins = |core: &mut CoordinatorState, coflow: u64, now_s: f64| {
        appears(core, 2 * coflow, now_s);
        appears(core, 2 * coflow + 1, now_s);
        decided(core, now_s, 0.0)
    };
    assert_eq!(begins(&mut core, 0, 1.0), (vec![0, 1], vec![]));
    // Coflows that begin 0.1 s apart: as long as the gap that separates bursts.
    assert_eq!(begins(&mut core, 1, 1.1), (vec![], vec![0, 1]));
    assert_eq!(begins(&mut core, 2, 1.2), (vec![], vec![]));
    assert!(!core.confidence().expect("it finds coflows").is_enough());
    assert_eq!(core.population().coflows, 1, "all flows are one coflow");
    // Others begin a second apart, until enough gaps are clear.
    for coflow in 3..9 {
        let (mut taken, released) = begins(&mut core, coflow, coflow as f64);
        assert!(released.is_empty());
        if core.confidence().expect("it finds coflows").is_enough() {
            taken.sort_unstable();
            assert_eq!(taken, (0..2 * coflow + 2).collect::<Vec<u64>>());
            assert!(core.population().coflows > 3);
            return;
        }
        assert!(taken.is_empty());
    }
    panic!("it never tells coflows apart again");
}
