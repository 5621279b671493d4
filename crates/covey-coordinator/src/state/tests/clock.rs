//! What is decided does not depend on where the clock starts.

use covey_api::{CoflowSpec, Flow};
use covey_core::{Fabric, Time};
use covey_proto::{Ended, FlowName, FromAgent, Hello, Sent, ToAgent, VERSION};

use super::super::{Config, CoordinatorState, Output};
use super::helpers::{PORTS, answer};
use crate::request::{Reply, Request};

/// A coflow: sender, receiver and bytes of each flow, and its arrival in seconds.
type Arriving = (&'static [(u32, u32, f64)], f64);

const COFLOWS: [Arriving; 6] = [
    (&[(0, 1, 9e5), (2, 1, 3e5)], 0.0),
    (&[(0, 1, 1e5)], 0.0015),
    (&[(0, 3, 4e5), (1, 2, 5e4), (2, 3, 2e5)], 0.0317),
    (&[(3, 2, 7e5)], 0.05),
    (&[(0, 1, 2e4), (3, 1, 2e4)], 0.3333),
    (&[(1, 0, 6e5), (2, 0, 1e5), (3, 0, 1e5)], 0.3334),
];
/// Bytes per second of each port.
const RATE: f64 = 1e6;
/// Time between two looks at the hosts, in seconds.
const STEP_S: f64 = 0.0007;

/// A port, and the flows with their layers and rates that its agent is told.
type Told = (u32, Vec<(FlowName, u32, f64)>);

/// A coordinator whose clock starts at `start_s`, and hosts that send as its schedules say.
struct Run {
    core: CoordinatorState,
    start_s: f64,
    /// What each flow may send in a second and has sent, by port of its sender.
    rates: Vec<Vec<(FlowName, f64)>>,
    sent: Vec<(FlowName, f64)>,
    /// Everything that agents are told of rates.
    told: Vec<Told>,
}

impl Run {
    fn new(policy: &str, start_s: f64) -> Run {
        let start = Time::from_secs(start_s);
        let fabric = Fabric::big_switch(PORTS, RATE).expect("a fabric");
        let policy = covey_sched::build(policy).expect("a policy").policy;
        let config = Config { lost_after_s: f64::INFINITY, lease_s: 100.0, ..Config::default() };
        let mut core = CoordinatorState::new(fabric, policy, config, 1, [], start);
        for port in 0..PORTS {
            let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
            core.heard(u64::from(port), FromAgent::Hello(hello), start);
        }
        let rates = vec![Vec::new(); PORTS as usize];
        Run { core, start_s, rates, sent: Vec::new(), told: Vec::new() }
    }

    fn at(&self, s: f64) -> Time {
        Time::from_secs(self.start_s + s)
    }

    /// Lets the coordinator decide, and its agents apply what it says.
    fn settle(&mut self, s: f64) {
        let now = self.at(s);
        loop {
            self.core.decide(now).expect("a plan");
            let outputs = self.core.take_outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                match output {
                    Output::Journal(lsn, _) => self.core.durable(lsn, now),
                    Output::Ready(session) => self.tell(session, now),
                    _ => {}
                }
            }
        }
    }

    fn tell(&mut self, session: u64, now: Time) {
        let mut messages = Vec::new();
        self.core.take_messages(session, &mut messages);
        for message in messages {
            let ToAgent::Schedule(schedule) = message else { continue };
            let (epoch, version) = (schedule.epoch, schedule.version);
            let rates = &mut self.rates[session as usize];
            if schedule.base == 0 {
                rates.clear();
            }
            let is_replaced = |key: &FlowName| {
                schedule.removed.contains(key) || schedule.set.iter().any(|it| it.key == *key)
            };
            rates.retain(|(key, _)| !is_replaced(key));
            rates.extend(schedule.set.iter().map(|entry| (entry.key, entry.service.rate)));
            let set = schedule
                .set
                .iter()
                .map(|entry| (entry.key, entry.service.layer, entry.service.rate));
            self.told.push((session as u32, set.collect()));
            self.core.heard(session, FromAgent::Applied { epoch, version }, now);
        }
    }

    /// Hosts send for a step, up to the moment `s`. Flows are named by their ids, in the order of
    /// registration.
    fn send(&mut self, s: f64) {
        let sizes: Vec<f64> = COFLOWS.iter().flat_map(|(flows, _)| *flows).map(|it| it.2).collect();
        let now = self.at(s);
        for port in 0..PORTS as usize {
            let (mut sent, mut ended) = (Vec::new(), Vec::new());
            for (key, rate) in self.rates[port].clone() {
                let id = key.id().expect("it was announced").0 as usize;
                let at = self.sent.iter().position(|(other, _)| *other == key);
                let at = at.unwrap_or_else(|| {
                    self.sent.push((key, 0.0));
                    self.sent.len() - 1
                });
                let bytes = (self.sent[at].1 + rate * STEP_S).min(sizes[id]);
                self.sent[at].1 = bytes;
                if bytes == sizes[id] {
                    ended.push(Ended { key, bytes, wire: bytes });
                    self.rates[port].retain(|(other, _)| *other != key);
                } else {
                    sent.push(Sent { key, bytes, wire: bytes });
                }
            }
            self.core.heard(port as u64, FromAgent::Sent(sent), now);
            self.core.heard(port as u64, FromAgent::Ended(ended), now);
        }
    }

    /// Runs to the end. Returns what agents were told, and the times of the ends after their
    /// arrivals.
    fn run(mut self) -> (Vec<Told>, Vec<f64>) {
        let mut next = 0;
        for step in 0..20_000 {
            let s = f64::from(step) * STEP_S;
            while let Some((flows, _)) = COFLOWS.get(next).filter(|(_, arrival_s)| *arrival_s <= s)
            {
                let flow = |&(src, dst, bytes): &(u32, u32, f64)| Flow::new(src, dst, Some(bytes));
                let spec = CoflowSpec::of(flows.iter().map(flow).collect());
                let (id, now) = (next as u64, self.at(s));
                self.core.request(id, Request::Register { spec, key: None }, now);
                next += 1;
            }
            self.settle(s);
            self.send(s);
            self.settle(s);
            if next == COFLOWS.len() && self.core.population().coflows == 0 {
                break;
            }
        }
        let now_s = self.start_s + 20_000.0 * STEP_S;
        let ccts = (0..COFLOWS.len() as u64).map(|id| {
            match answer(&mut self.core, Request::Get { id }, now_s) {
                Ok(Reply::Coflow(status)) => status.end_s.expect("it has ended") - status.arrival_s,
                other => panic!("{other:?}"),
            }
        });
        let ccts = ccts.collect();
        (self.told, ccts)
    }
}

#[test]
fn the_same_is_decided_wherever_the_clock_starts() {
    let policies = [
        "fifo",
        "fair",
        "sebf",
        "scf",
        "covey",
        "aalo",
        "aalo:start_small=10kB,delta=7ms",
        "philae",
        "saath",
        "sincronia",
    ];
    for policy in policies {
        let (told, ccts) = Run::new(policy, 0.0).run();
        assert!(told.len() > 10, "{policy}: {}", told.len());
        // A year of operation, and the time since 1970.
        for start_s in [31_536_000.0, 1.7e9] {
            let (shifted, shifted_ccts) = Run::new(policy, start_s).run();
            assert_eq!(shifted.len(), told.len(), "{policy} from {start_s} s");
            for (now, then) in shifted.iter().zip(&told) {
                let order = |told: &Told| {
                    let set = told.1.iter().map(|&(key, layer, _)| (key, layer));
                    (told.0, set.collect::<Vec<_>>())
                };
                assert_eq!(order(now), order(then), "{policy} from {start_s} s");
                for (now, then) in now.1.iter().zip(&then.1) {
                    assert!((now.2 - then.2).abs() <= 1e-6 * RATE, "{policy}: {now:?} {then:?}");
                }
            }
            // A clock of so many seconds tells them to a microsecond.
            for (now, then) in shifted_ccts.iter().zip(&ccts) {
                assert!((now - then).abs() < 2e-6, "{policy}: {now} for {then}");
            }
        }
    }
}
