//! A coordinator with its agents, driven by hand.

use covey_api::{CoflowSpec, CoflowStatus, Flow as FlowSpec, Waiting};
use covey_core::{Fabric, Time};
use covey_proto::{FlowKey, FromAgent, Hello, ToAgent, Use, Uses, VERSION};

use super::super::coflows::Tally;
use super::super::{Config, CoordinatorState, Event, Output};
use crate::request::{Answer, List, Reply, Request};

pub const PORTS: u32 = 4;

/// A coordinator of `policy`, whose agents have joined, with these coflows.
pub fn core(policy: &str, coflows: &[&[(u32, u32)]]) -> CoordinatorState {
    let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
    let policy = covey_sched::build(policy).expect("a policy").policy;
    let config = Config { lost_after_s: f64::INFINITY, lease_s: 100.0, ..Config::default() };
    let mut core = CoordinatorState::new(fabric, policy, config, 1, [], Time::ZERO);
    for port in 0..PORTS {
        let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
        core.heard(u64::from(port), FromAgent::Hello(hello), Time::ZERO);
    }
    for (k, ends) in (0..).zip(coflows) {
        let flow = |&(src, dst): &(u32, u32)| FlowSpec::new(src, dst, Some(1e9));
        let spec = CoflowSpec::of(ends.iter().map(flow).collect());
        core.request(k, Request::Register { spec, key: None }, Time::ZERO);
    }
    settle(&mut core, 0.0);
    core
}

/// Returns the events and what agents are told until there is nothing more to do.
pub fn settle(core: &mut CoordinatorState, now_s: f64) -> (Vec<Event>, Vec<ToAgent>) {
    let (now, mut events, mut messages) = (Time::from_secs(now_s), Vec::new(), Vec::new());
    loop {
        core.decide(now).expect("a plan");
        let mut counted = Tally::default();
        for coflow in core.coflows.range(0).map(|(_, coflow)| coflow) {
            counted.replace(Tally::default(), coflow.tally());
        }
        assert_eq!(core.coflows.tally(), counted);
        let outputs = core.take_outputs();
        if outputs.is_empty() {
            return (events, messages);
        }
        for output in outputs {
            match output {
                Output::Journal(lsn, _) => core.durable(lsn, now),
                Output::Event(event) => events.push(event),
                Output::Ready(session) => {
                    let mut some = Vec::new();
                    core.take_messages(session, &mut some);
                    for message in &some {
                        if let ToAgent::Schedule(schedule) = message {
                            let (epoch, version) = (schedule.epoch, schedule.version);
                            core.heard(session, FromAgent::Applied { epoch, version }, now);
                        }
                    }
                    messages.extend(some);
                }
                _ => {}
            }
        }
    }
}

pub fn say(
    core: &mut CoordinatorState,
    port: u32,
    now_s: f64,
    uses: Uses,
) -> (Vec<Event>, Vec<ToAgent>) {
    core.heard(u64::from(port), FromAgent::Uses(uses), Time::from_secs(now_s));
    settle(core, now_s)
}

pub fn flows(of: &[(u64, u32, Use)]) -> Uses {
    let flows =
        of.iter().map(|&(coflow, flow, of)| (FlowKey { coflow, flow }.into(), of)).collect();
    Uses { flows, ..Uses::default() }
}

pub fn answer(core: &mut CoordinatorState, request: Request, now_s: f64) -> Answer {
    core.request(u64::MAX, request, Time::from_secs(now_s));
    let outputs = core.take_outputs();
    let mut answers = outputs.into_iter().filter_map(|output| match output {
        Output::Answer(_, answer) => Some(answer),
        _ => None,
    });
    answers.next_back().expect("an answer")
}

/// A page of a list, made at once.
pub fn page(core: &CoordinatorState, list: &List) -> Reply {
    core.list(list, |_| None)()
}

/// Coflows without a rate, from this number on, and where the next page begins.
pub fn waiting(core: &CoordinatorState, from: u64, limit: usize) -> (Vec<Waiting>, Option<String>) {
    match page(core, &List::Waiting { from, limit }) {
        Reply::Waiting(page) => (page.items, page.next),
        other => panic!("{other:?}"),
    }
}

pub fn status(core: &mut CoordinatorState, id: u64, now_s: f64) -> CoflowStatus {
    match answer(core, Request::Get { id }, now_s) {
        Ok(Reply::Coflow(status)) => status,
        other => panic!("{other:?}"),
    }
}
