//! Who uses what it is given: flows that do not, as their agents say.
//!
//! To the policy such a flow is one that has not started. It stays registered, and is back as soon as its agent says
//! that it moves, or somebody keeps its coflow. What agents say is not in the journal: they say all of it again when
//! they join.

use std::collections::BTreeSet;

use covey_core::{FlowId, Time};
use covey_proto::{FlowKey, Use, Uses};

use super::{Core, Event};
use crate::coflows::{Coflow, Flow, Stage, Unused};
use crate::slot::Slot;

impl Core {
    /// An agent has said how its flows are used.
    pub(super) fn uses(&mut self, port: u32, uses: &Uses) {
        let agent = &mut self.agents[port as usize];
        let mut touched = BTreeSet::new();
        if uses.all {
            touched.extend(agent.uses.keys().map(|key| key.coflow));
            touched.append(&mut agent.unopened);
            agent.uses.clear();
        }
        for &(key, of) in &uses.flows {
            match self.coflows.present.get(&key.coflow) {
                None => agent.over(key.coflow),
                Some(coflow) if is_own(coflow, key.flow, port) => {
                    agent.uses.insert(key, of);
                    touched.insert(key.coflow);
                }
                Some(_) => {}
            }
        }
        for &serial in &uses.unopened {
            match self.coflows.present.get(&serial) {
                None => agent.over(serial),
                Some(coflow) if is_at(coflow, port) => {
                    agent.unopened.insert(serial);
                    touched.insert(serial);
                }
                Some(_) => {}
            }
        }
        self.woken.insert(port);
        touched.into_iter().for_each(|serial| self.follow(serial));
    }

    /// Brings the flows of a coflow in line with what is known of their hosts and their users.
    pub(super) fn follow(&mut self, serial: u64) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        let (mut gone, mut back, mut unserved) = (Vec::new(), Vec::new(), Vec::new());
        let before = coflow.tally();
        let (was_stalled, was_unused) = (coflow.stalled > 0, coflow.unused() > 0);
        let is_expired = coflow.expired.is_some();
        for (index, flow) in (0..).zip(&mut coflow.flows) {
            if matches!(flow.stage, Stage::Written | Stage::Ended) {
                continue;
            }
            let key = FlowKey { coflow: serial, flow: index };
            let stage = stage_of(&self.agents, key, flow, is_expired);
            let was = std::mem::replace(&mut flow.stage, stage);
            if was == stage {
                continue;
            }
            for (stage, more) in [(was, false), (stage, true)] {
                let count = match stage {
                    Stage::Stalled => &mut coflow.stalled,
                    Stage::Unused(why) => &mut coflow.unused[why as usize],
                    _ => continue,
                };
                *count = if more { *count + 1 } else { *count - 1 };
            }
            let id = FlowId { coflow: coflow.id, index };
            match (was, stage) {
                (Stage::Active, _) => {
                    unserved.push(index);
                    self.agents[flow.src as usize].want(key, flow.dst, 0, 0.0, None);
                    self.woken.insert(flow.src);
                    gone.push(id);
                }
                (_, Stage::Active) => back.push(id),
                _ => {}
            }
        }
        unserved.into_iter().for_each(|flow| coflow.unserve(flow));
        self.coflows.tally.replace(before, coflow.tally());
        if !was_unused {
            coflow.unused_since = self.now;
        }
        let (is_stalled, is_unused) = (coflow.stalled > 0, coflow.unused() > 0);
        if is_stalled && !was_stalled {
            self.outputs.push(super::Output::Event(Event::Stalled { id: serial }));
        }
        if let Some(why) = coflow.why_unused().filter(|_| !was_unused) {
            self.outputs.push(super::Output::Event(Event::Idle { id: serial, why }));
        }
        if (was_stalled && !is_stalled) || (was_unused && !is_unused) {
            self.outputs.push(super::Output::Event(Event::Resumed { id: serial }));
        }
        if gone.is_empty() && back.is_empty() {
            return;
        }
        self.driver.suspend(&gone, self.now);
        self.driver.resume(&back, self.now);
        self.stirred = true;
    }

    /// A coflow has gone: what agents have said of it is forgotten, there too.
    pub(super) fn forget_uses(&mut self, serial: u64, coflow: &Coflow) {
        for port in coflow.flows.iter().map(|flow| flow.src).collect::<BTreeSet<u32>>() {
            let agent = &mut self.agents[port as usize];
            if agent.forget_uses(serial) {
                agent.over(serial);
                self.woken.insert(port);
            }
        }
    }
}

/// Whether a flow is an agent's to speak of. It may have heard of it before it is added here.
fn is_own(coflow: &Coflow, flow: u32, port: u32) -> bool {
    match coflow.flows.get(flow as usize) {
        Some(flow) => flow.src == port && flow.stage != Stage::Ended,
        None => is_at(coflow, port),
    }
}

fn is_at(coflow: &Coflow, port: u32) -> bool {
    coflow.flows.iter().any(|flow| flow.src == port)
}

/// Where a flow is that has not been written or ended.
pub(super) fn stage_of(agents: &[Slot], key: FlowKey, flow: &Flow, is_expired: bool) -> Stage {
    let src = &agents[flow.src as usize];
    if src.is_away || agents[flow.dst as usize].is_away {
        return Stage::Stalled;
    }
    match src.uses.get(&key) {
        Some(Use::Idle) => Stage::Unused(Unused::Idle),
        Some(Use::Closed) => Stage::Unused(Unused::Closed),
        None if src.unopened.contains(&key.coflow) => Stage::Unused(Unused::Unopened),
        _ if is_expired => Stage::Unused(Unused::Expired),
        _ => Stage::Active,
    }
}

/// Whether two moments differ by so many seconds, or more.
pub(super) fn is_past(now: Time, since: Time, seconds: f64) -> bool {
    (since + seconds).due(now)
}

#[cfg(test)]
mod tests {
    use covey_core::Fabric;
    use covey_proto::{FromAgent, Hello, ToAgent, VERSION};

    use super::super::{Config, Output};
    use super::*;
    use crate::coflows::Tally;
    use crate::record::Record;
    use crate::request::{Answer, Reply, Request};
    use covey_api::{CoflowSpec, CoflowState, CoflowStatus, Flow as FlowSpec, Update};

    const PORTS: u32 = 4;

    /// A coordinator of `policy`, whose agents have joined, with these coflows.
    fn core(policy: &str, coflows: &[&[(u32, u32)]]) -> Core {
        let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
        let policy = covey_sched::build(policy).expect("a policy").policy;
        let config = Config { lost_after_s: f64::INFINITY, lease_s: 100.0, ..Config::default() };
        let mut core = Core::new(fabric, policy, config, 1, [], Time::ZERO);
        for port in 0..PORTS {
            let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
            core.heard(u64::from(port), FromAgent::Hello(hello), Time::ZERO);
        }
        for (k, ends) in (0..).zip(coflows) {
            let flow = |&(src, dst): &(u32, u32)| FlowSpec { src, dst, bytes: Some(1e9) };
            let spec = CoflowSpec::of(ends.iter().map(flow).collect());
            core.request(k, Request::Register { spec, key: None }, Time::ZERO);
        }
        settle(&mut core, 0.0);
        core
    }

    /// Returns the events and what agents are told until there is nothing more to do.
    fn settle(core: &mut Core, now_s: f64) -> (Vec<Event>, Vec<ToAgent>) {
        let (now, mut events, mut messages) = (Time::from_secs(now_s), Vec::new(), Vec::new());
        loop {
            core.decide(now).expect("a plan");
            let mut counted = Tally::default();
            for coflow in core.coflows.present.values() {
                counted.replace(Tally::default(), coflow.tally());
            }
            assert_eq!(core.coflows.tally, counted);
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

    fn say(core: &mut Core, port: u32, now_s: f64, uses: Uses) -> (Vec<Event>, Vec<ToAgent>) {
        core.heard(u64::from(port), FromAgent::Uses(uses), Time::from_secs(now_s));
        settle(core, now_s)
    }

    fn flows(of: &[(u64, u32, Use)]) -> Uses {
        let flows = of.iter().map(|&(coflow, flow, of)| (FlowKey { coflow, flow }, of)).collect();
        Uses { flows, ..Uses::default() }
    }

    fn answer(core: &mut Core, request: Request, now_s: f64) -> Answer {
        core.request(u64::MAX, request, Time::from_secs(now_s));
        let outputs = core.take_outputs();
        let mut answers = outputs.into_iter().filter_map(|output| match output {
            Output::Answer(_, answer) => Some(answer),
            _ => None,
        });
        answers.next_back().expect("an answer")
    }

    fn status(core: &mut Core, id: u64, now_s: f64) -> CoflowStatus {
        match answer(core, Request::Get { id }, now_s) {
            Ok(Reply::Coflow(status)) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn under_every_policy_others_have_what_a_flow_does_not_use() {
        // The last has the first coflow go before all others half of the time, for it is overdue.
        let overdue = "covey:phi=0.5,T=200ms,d0=100ms,d=0";
        for name in covey_sched::policies().iter().map(|info| info.name).chain([overdue]) {
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
                (port, covey_proto::Ended { key, bytes: 1e9, wire: 1e9 })
            };
            // One of them while it is not in use.
            say(&mut core, 0, 4.5, flows(&[(0, 1, Use::Idle)]));
            let all =
                [ended(0, 0, 0), ended(0, 0, 1), ended(2, 0, 2), ended(0, 0, 3), ended(0, 1, 0)];
            for (port, end) in all {
                let end = FromAgent::Ended(vec![end]);
                core.heard(u64::from(port), end, Time::from_secs(5.0));
                settle(&mut core, 5.0);
            }
            assert_eq!(core.population().coflows, 0, "{name}");
            assert!(core.agents.iter().all(|agent| agent.uses.is_empty()), "{name}");
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
        // What is added is not open either.
        let add = vec![FlowSpec { src: 0, dst: 3, bytes: None }];
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
            FromAgent::Ended(vec![covey_proto::Ended { key: key(0, 1), bytes: 9.0, wire: 9.0 }]);
        core.heard(0, ended.clone(), Time::from_secs(1.0));
        settle(&mut core, 1.0);
        // Its application is killed; it joins again later, maybe another coordinator.
        let uses = Uses { all: true, ..flows(&[(0, 0, Use::Closed)]) };
        say(&mut core, 0, 90.0, uses);
        let sent = |coflow, bytes| covey_proto::Sent { key: key(coflow, 0), bytes, wire: bytes };
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
        let sent = |coflow| covey_proto::Sent { key: key(coflow), bytes: 5.0, wire: 5.0 };
        let ended = |coflow| covey_proto::Ended { key: key(coflow), bytes: 9.0, wire: 9.0 };
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
        // It is as it was until its agent says otherwise.
        let told = status(&mut core, 0, 8.0);
        assert_eq!((told.flows_idle, told.flows_stalled), (1, 0));
    }

    #[test]
    fn a_coflow_that_nobody_keeps_loses_its_share_and_much_later_its_name() {
        let mut core = core("covey", &[&[(0, 1)], &[(0, 1)]]);
        core.config.forget_after_s = 1000.0;
        let keep = |core: &mut Core, lease_s, now_s| {
            let answer = answer(core, Request::Keep { id: 1, lease_s }, now_s);
            match answer {
                Ok(Reply::Coflow(status)) => status.kept_s,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(keep(&mut core, Some(200.0), 50.0), Some(200.0));
        let (events, _) = settle(&mut core, 101.0);
        assert_eq!(events, [Event::Expired { id: 0 }, Event::Idle { id: 0, why: Unused::Expired }]);
        assert_eq!(status(&mut core, 0, 101.0).rate, 0.0);
        assert_eq!(core.population().expired, 1);
        // An agent that knows an application with its flows keeps it, as does somebody who asks for it.
        core.heard(0, FromAgent::Keeps(vec![0]), Time::from_secs(150.0));
        let (events, _) = settle(&mut core, 150.0);
        assert_eq!(events, [Event::Resumed { id: 0 }]);
        assert_eq!(core.population().expired, 0);
        settle(&mut core, 260.0);
        assert_eq!(core.population().expired, 2);
        assert_eq!(keep(&mut core, None, 270.0), Some(200.0));
        let (events, _) = settle(&mut core, 1262.0);
        assert!(events.contains(&Event::Removed { id: 0 }), "{events:?}");
        assert_eq!(core.population().coflows, 1);
        let refused = answer(&mut core, Request::Keep { id: 1, lease_s: Some(0.5) }, 1262.0);
        assert_eq!(refused.expect_err("too short").status, 422);
        assert_eq!(
            answer(&mut core, Request::Keep { id: 5, lease_s: None }, 1262.0)
                .expect_err("unknown")
                .status,
            404
        );
    }

    #[test]
    fn a_start_renews_all_leases() {
        let flow = FlowSpec { src: 0, dst: 1, bytes: None };
        let record = Record::Registered {
            id: 0,
            at_s: 5.0,
            lineage: (0, 0),
            key: None,
            spec: CoflowSpec::of(vec![flow]),
        };
        let fabric = Fabric::big_switch(2, 1e6).expect("a fabric");
        let policy = covey_sched::build("covey").expect("a policy").policy;
        let config = Config { lease_s: 100.0, ..Config::default() };
        let start = Time::from_secs(1e6);
        let mut core = Core::new(fabric, policy, config, 2, [record], start);
        settle(&mut core, 1e6 + 90.0);
        assert_eq!(core.population().expired, 0);
        settle(&mut core, 1e6 + 101.0);
        assert_eq!(core.population().expired, 1);
    }

    /// A coordinator that has read these records, and begins at `start_s`.
    fn begun(config: Config, records: Vec<Record>, start_s: f64) -> Core {
        let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
        let policy = covey_sched::build("covey").expect("a policy").policy;
        Core::new(fabric, policy, config, 2, records, Time::from_secs(start_s))
    }

    fn leased(id: u64, lease_s: Option<f64>) -> Record {
        let flow = FlowSpec { src: 0, dst: 1, bytes: Some(1e9) };
        let spec = CoflowSpec { lease_s, ..CoflowSpec::of(vec![flow]) };
        Record::Registered { id, at_s: 0.0, lineage: (id, 0), key: None, spec }
    }

    fn kept_s(core: &mut Core, id: u64, now_s: f64) -> f64 {
        status(core, id, now_s).kept_s.expect("it is present")
    }

    #[test]
    fn a_registration_says_for_how_long_it_holds_and_a_start_leaves_what_was_left() {
        let config = Config { lease_s: 100.0, lost_after_s: f64::INFINITY, ..Config::default() };
        let mut core = begun(config, vec![leased(0, Some(40.0)), leased(1, None)], 0.0);
        let mut records = vec![leased(0, Some(40.0)), leased(1, None)];
        let mut until = |core: &mut Core, now_s: f64| {
            let now = Time::from_secs(now_s);
            core.decide(now).expect("a plan");
            for output in core.take_outputs() {
                if let Output::Journal(lsn, record) = output {
                    records.push(record);
                    core.durable(lsn, now);
                }
            }
            records.clone()
        };
        until(&mut core, 10.0);
        assert_eq!((kept_s(&mut core, 0, 10.0), kept_s(&mut core, 1, 10.0)), (30.0, 90.0));
        // Half of its time is over for the first only: a start begins the other's anew.
        let found = until(&mut core, 30.0);
        let mut after = begun(config, found, 30.0);
        assert_eq!((kept_s(&mut after, 0, 30.0), kept_s(&mut after, 1, 30.0)), (10.0, 100.0));
        // Who keeps it is written down, and so is what it says.
        core.keep(0, None);
        core.keep(1, Some(200.0));
        let found = until(&mut core, 31.5);
        let mut after = begun(config, found, 31.5);
        assert_eq!((kept_s(&mut after, 0, 31.5), kept_s(&mut after, 1, 31.5)), (40.0, 200.0));
        // What has expired stays so, also in a journal that was written anew.
        let found = until(&mut core, 50.5);
        let more = until(&mut core, 75.0);
        assert_eq!(more.len(), found.len(), "nothing is written of what has expired");
        let (known, _) = core.snapshot();
        for records in [more, known] {
            let mut after = begun(config, records, 75.0);
            assert_eq!(after.population().expired, 1);
            assert_eq!(kept_s(&mut after, 1, 75.0), 200.0);
            settle(&mut after, 75.0);
            assert_eq!(after.population().expired, 1);
        }
    }

    #[test]
    fn of_coflows_that_nobody_keeps_so_many_stay_and_those_left_first_go() {
        let config = Config { lease_s: 10.0, most_expired: 3, ..Config::default() };
        let config = Config { lost_after_s: f64::INFINITY, ..config };
        let mut core = begun(config, Vec::new(), 0.0);
        for id in 0..10 {
            let flow = FlowSpec { src: 0, dst: 1, bytes: Some(1e9) };
            let spec = CoflowSpec::of(vec![flow]);
            let now_s = id as f64;
            core.request(id, Request::Register { spec, key: None }, Time::from_secs(now_s));
            settle(&mut core, now_s);
        }
        core.request(99, Request::Keep { id: 2, lease_s: Some(500.0) }, Time::from_secs(9.5));
        for second in 10..40 {
            settle(&mut core, f64::from(second));
            assert!(core.population().expired <= 4, "at {second} s");
        }
        let left: Vec<u64> = core.coflows.present.keys().copied().collect();
        assert_eq!(left, [2, 7, 8, 9]);
        assert_eq!(core.population().expired, 3);
        // One that is kept again is none of them.
        core.request(100, Request::Keep { id: 7, lease_s: None }, Time::from_secs(40.0));
        settle(&mut core, 40.0);
        assert_eq!((core.population().expired, core.coflows.expired.len()), (2, 2));
    }

    #[test]
    fn what_has_gone_is_remembered_in_the_order_of_its_end_and_not_for_ever() {
        let config = Config { most_gone: 2, forget_after_s: 50.0, ..Config::default() };
        let config = Config { lost_after_s: f64::INFINITY, ..config };
        let mut core = begun(config, (0..4).map(|id| leased(id, None)).collect(), 0.0);
        for (now_s, id) in [(1.0, 3), (2.0, 1), (3.0, 0)] {
            core.request(id, Request::Remove { id }, Time::from_secs(now_s));
            settle(&mut core, now_s);
        }
        // The first to go, not the least number.
        assert_eq!(core.coflows.gone.keys().copied().collect::<Vec<u64>>(), [0, 1]);
        let (known, _) = core.snapshot();
        let after = begun(config, known, 3.0);
        assert_eq!(after.coflows.went, [1, 0]);
        settle(&mut core, 52.5);
        assert_eq!(core.coflows.gone.keys().copied().collect::<Vec<u64>>(), [0]);
        settle(&mut core, 54.5);
        assert!(core.coflows.gone.is_empty() && core.coflows.keys.is_empty());
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
}
