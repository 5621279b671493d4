//! Flows that do not use their rates.

use covey_api::{CoflowState, Flow as FlowSpec, Update};
use covey_core::Time;
use covey_proto::{FlowKey, FromAgent, Hello, ToAgent, Use, Uses, VERSION};

use super::super::{Event, Unused};
use super::helpers::*;
use crate::request::Request;

#[test]
fn under_every_policy_others_have_what_a_flow_does_not_use() {
    // The last has the first coflow go before all others half of the time, for it is overdue.
    let overdue = "covey:phi=0.5,T=200ms,d0=100ms,d=0";
    let live = covey_sched::policies().iter().filter(|info| info.knows != "unlabelled");
    for name in live.map(|info| info.name).chain([overdue]) {
        // The first comes first, and has flows to spare for each port.
        let mut core = core(name, &[&[(0, 1), (0, 1), (2, 1), (0, 3)], &[(0, 1)]]);
        let gone = [(0, 0, Use::Closed), (0, 1, Use::Closed), (0, 3, Use::Idle)];
        let (events, _) = say(&mut core, 0, 1.0, flows(&gone));
        let why = Unused::Closed;
        assert!(events.contains(&Event::Idle { id: 0, why }), "{name}: {events:?}");
        say(&mut core, 2, 1.0, flows(&[(0, 2, Use::Idle)]));
        // Policies that decide every so often, and those that first have to learn something.
        for tick in 1..50 {
            let now_s = 1.0 + f64::from(tick) / 25.0;
            settle(&mut core, now_s);
            assert_eq!(status(&mut core, 0, now_s).rate, 0.0, "{name} at {now_s}");
        }
        assert_eq!(status(&mut core, 0, 3.0).rate, 0.0, "{name}");
        assert_eq!(status(&mut core, 0, 3.0).flows_idle, 4, "{name}");
        let rate = status(&mut core, 1, 3.0).rate;
        assert!((rate - 1e6).abs() < 1.0, "{name}: {rate}");

        // The first has its place again at once, and can end.
        let moves = [(0, 0, Use::Moves), (0, 1, Use::Moves), (0, 3, Use::Moves)];
        say(&mut core, 0, 4.0, flows(&moves));
        let (events, _) = say(&mut core, 2, 4.0, flows(&[(0, 2, Use::Moves)]));
        assert!(events.contains(&Event::Resumed { id: 0 }), "{name}: {events:?}");
        assert_eq!(status(&mut core, 0, 4.0).flows_idle, 0, "{name}");
        let ended = |port: u32, coflow, flow| {
            let key = FlowKey { coflow, flow };
            (port, covey_proto::Ended { key: key.into(), bytes: 1e9, wire: 1e9 })
        };
        // One of them while it is not in use.
        say(&mut core, 0, 4.5, flows(&[(0, 1, Use::Idle)]));
        let all = [ended(0, 0, 0), ended(0, 0, 1), ended(2, 0, 2), ended(0, 0, 3), ended(0, 1, 0)];
        for (port, end) in all {
            let end = FromAgent::Ended(vec![end]);
            core.heard(u64::from(port), end, Time::from_secs(5.0));
            settle(&mut core, 5.0);
        }
        assert_eq!(core.population().coflows, 0, "{name}");
        assert!(core.agents.iter().all(|(_, agent)| agent.usage.flows.is_empty()), "{name}");
    }
}

#[test]
fn of_an_unopened_coflow_only_what_is_open_on_the_host_is_served() {
    let mut core = core("fifo", &[&[(0, 1), (0, 2), (3, 2)], &[(0, 1)]]);
    let mut uses = flows(&[(0, 1, Use::Moves)]);
    uses.unopened = vec![0];
    say(&mut core, 0, 1.0, uses);
    let told = status(&mut core, 0, 1.0);
    assert_eq!((told.flows_idle, told.idle_why.as_deref()), (1, Some("unopened")));
    // An added flow is not open either.
    let add = vec![FlowSpec::new(0, 3, None)];
    let update = Update { add, ..Update::default() };
    core.request(9, Request::Update { id: 0, update, revision: None }, Time::from_secs(2.0));
    settle(&mut core, 2.0);
    assert_eq!(status(&mut core, 0, 2.0).flows_idle, 2);
    say(&mut core, 0, 3.0, flows(&[(0, 0, Use::Moves), (0, 3, Use::Moves)]));
    assert_eq!(status(&mut core, 0, 3.0).flows_idle, 0);
    // An agent that is new knows of nothing.
    say(&mut core, 0, 3.0, flows(&[(0, 0, Use::Closed)]));
    assert_eq!(status(&mut core, 0, 3.0).flows_idle, 1);
    say(&mut core, 0, 4.0, Uses { all: true, ..Uses::default() });
    assert_eq!(status(&mut core, 0, 4.0).flows_idle, 0);
}

#[test]
fn an_agent_may_speak_of_its_own_flows_only_and_hears_when_they_are_over() {
    let mut core = core("fifo", &[&[(0, 1)]]);
    say(&mut core, 2, 1.0, Uses { unopened: vec![0], ..flows(&[(0, 0, Use::Closed)]) });
    assert_eq!(status(&mut core, 0, 1.0).flows_idle, 0);
    let (_, messages) = say(&mut core, 2, 1.0, flows(&[(7, 0, Use::Closed)]));
    assert_eq!(messages, [ToAgent::Over(vec![7])]);
    say(&mut core, 0, 1.0, Uses { unopened: vec![0], ..flows(&[(0, 0, Use::Closed)]) });
    core.request(9, Request::Remove { id: 0 }, Time::from_secs(2.0));
    let (_, messages) = settle(&mut core, 2.0);
    assert!(messages.contains(&ToAgent::Over(vec![0])), "{messages:?}");
}

#[test]
fn what_an_agent_says_again_of_flows_that_nobody_has_open_keeps_no_coflow() {
    let mut core = core("fifo", &[&[(0, 1), (0, 2)], &[(0, 3)]]);
    let key = |coflow, flow| FlowKey { coflow, flow };
    let ended =
        FromAgent::Ended(vec![covey_proto::Ended { key: key(0, 1).into(), bytes: 9.0, wire: 9.0 }]);
    core.heard(0, ended.clone(), Time::from_secs(1.0));
    settle(&mut core, 1.0);
    // Its application is killed; it joins again later, maybe another coordinator.
    let uses = Uses { all: true, ..flows(&[(0, 0, Use::Closed)]) };
    say(&mut core, 0, 90.0, uses);
    let sent = |coflow, bytes| covey_proto::Sent { key: key(coflow, 0).into(), bytes, wire: bytes };
    let now = Time::from_secs(90.0);
    core.heard(0, FromAgent::Sent(vec![sent(0, 5.0), sent(1, 5.0)]), now);
    core.heard(0, ended, now);
    settle(&mut core, 102.0);
    assert_eq!(status(&mut core, 0, 102.0).kept_s, Some(0.0));
    assert_eq!(status(&mut core, 1, 102.0).kept_s, Some(88.0));
}

#[test]
fn reports_of_coflows_of_another_life_change_nothing_and_are_counted() {
    let mut core = core("fifo", &[&[(0, 1)]]);
    let key = |coflow| FlowKey { coflow, flow: 0 };
    let sent = |coflow| covey_proto::Sent { key: key(coflow).into(), bytes: 5.0, wire: 5.0 };
    let ended = |coflow| covey_proto::Ended { key: key(coflow).into(), bytes: 9.0, wire: 9.0 };
    let now = Time::from_secs(1.0);
    core.heard(0, FromAgent::Sent(vec![sent(0), sent(70), sent(71)]), now);
    core.heard(0, FromAgent::Ended(vec![ended(70)]), now);
    settle(&mut core, 1.0);
    assert_eq!((core.counts().unknown, status(&mut core, 0, 1.0).bytes_sent), (3, 5.0));
    // The end of a coflow that is remembered may be said again.
    core.heard(0, FromAgent::Ended(vec![ended(0)]), now);
    settle(&mut core, 1.0);
    core.heard(0, FromAgent::Ended(vec![ended(0)]), now);
    assert_eq!(core.counts().unknown, 3);
}

#[test]
fn a_host_that_is_away_stalls_what_it_did_not_use() {
    let mut core = core("covey", &[&[(0, 1), (2, 1)]]);
    core.config.lost_after_s = 5.0;
    say(&mut core, 0, 1.0, flows(&[(0, 0, Use::Idle)]));
    core.heard(2, FromAgent::Alive, Time::from_secs(7.0));
    settle(&mut core, 7.0);
    let told = status(&mut core, 0, 7.0);
    assert_eq!((told.flows_idle, told.flows_stalled, told.state), (0, 2, CoflowState::Stalled));
    for port in [0, 1] {
        let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
        core.heard(10 + u64::from(port), FromAgent::Hello(hello), Time::from_secs(8.0));
    }
    settle(&mut core, 8.0);
    // The flow is idle as before until its agent says otherwise.
    let told = status(&mut core, 0, 8.0);
    assert_eq!((told.flows_idle, told.flows_stalled), (1, 0));
}

#[test]
fn agents_hear_that_the_coordinator_is_there() {
    let mut core = core("covey", &[]);
    let hello = Hello { version: 2, port: 1, holds: (0, 0), token: Vec::new() };
    core.heard(9, FromAgent::Hello(hello), Time::ZERO);
    settle(&mut core, 0.0);
    let mut heard = 0;
    for second in 1..=8 {
        let (_, messages) = settle(&mut core, f64::from(second));
        assert!(messages.iter().all(|message| *message == ToAgent::Alive), "{messages:?}");
        heard += messages.len();
    }
    // Every two heartbeats; one agent is of a version that does not know it.
    assert_eq!(heard, 4 * 3);
}
