//! An agent names flows by the ids that the coordinator has announced, and by coflow and index otherwise.

use covey_agent::{Agent, Progress};
use covey_proto::{
    Ended, Entry, FlowAnnouncement, FlowId, FlowKey, FromAgent, Schedule, ToAgent, VERSION, Welcome,
};

const KEY: FlowKey = FlowKey { coflow: 5, flow: 6 };
const NAME: FlowKey = FlowKey::of_id(FlowId(17));

fn tell(agent: &mut Agent, message: ToAgent) -> Vec<FromAgent> {
    let mut out = Vec::new();
    agent.heard(message, &mut out).expect("nothing is refused");
    out
}

fn welcome() -> ToAgent {
    ToAgent::Welcome(Welcome {
        version: VERSION,
        epoch: 1,
        report_every_s: 0.0,
        heartbeat_s: 1.0,
        codec: None,
        idle_after_s: f64::INFINITY,
    })
}

fn schedule(version: u64, set: &[FlowKey], removed: &[FlowKey]) -> ToAgent {
    let entry = |&key: &FlowKey| Entry { key, layer: 0, rate: 1e6, codec: None };
    let (set, removed) = (set.iter().map(entry).collect(), removed.to_vec());
    ToAgent::Schedule(Schedule { epoch: 1, version, base: version - 1, set, removed })
}

/// An agent with a schedule of one flow, whose id it knows.
fn scheduled() -> Agent {
    let mut agent = Agent::new(0, Vec::new());
    tell(&mut agent, welcome());
    let announced = FlowAnnouncement { id: FlowId(17), member: Some(KEY) };
    tell(&mut agent, ToAgent::Flows(vec![announced]));
    tell(&mut agent, schedule(1, &[NAME], &[]));
    agent
}

fn end(agent: &mut Agent) -> Vec<FromAgent> {
    let ended = vec![Ended { key: KEY, bytes: 3.0, wire: 3.0 }];
    let mut out = Vec::new();
    agent.happened(&Progress { ended, ..Progress::default() }, 0.0, &mut out);
    out
}

fn ended(key: FlowKey) -> [FromAgent; 1] {
    [FromAgent::Ended(vec![Ended { key, bytes: 3.0, wire: 3.0 }])]
}

#[test]
fn hosts_see_coflow_and_index_and_the_coordinator_the_id() {
    let mut agent = scheduled();
    assert_eq!(agent.flows().keys().collect::<Vec<_>>(), [&KEY]);
    assert_eq!(end(&mut agent), ended(NAME));
    tell(&mut agent, ToAgent::Acknowledged(vec![KEY]));
    assert_eq!(agent.unacknowledged(), 0);
}

#[test]
fn an_end_may_be_acknowledged_by_id_after_the_flow_was_removed() {
    let mut agent = scheduled();
    end(&mut agent);
    tell(&mut agent, schedule(2, &[], &[NAME]));
    assert_eq!(agent.unacknowledged(), 1);
    tell(&mut agent, ToAgent::Acknowledged(vec![NAME]));
    assert_eq!(agent.unacknowledged(), 0);
}

#[test]
fn an_id_counts_until_the_flow_is_removed_or_the_session_ends() {
    let mut agent = scheduled();
    tell(&mut agent, schedule(2, &[], &[NAME]));
    assert_eq!(end(&mut agent), ended(KEY));
    let mut agent = scheduled();
    end(&mut agent);
    agent.hello();
    assert_eq!(tell(&mut agent, welcome()), ended(KEY));
}

#[test]
fn a_flow_of_no_coflow_is_known_by_its_id_alone() {
    let mut agent = Agent::new(0, Vec::new());
    tell(&mut agent, welcome());
    let announced = FlowAnnouncement { id: FlowId(17), member: None };
    tell(&mut agent, ToAgent::Flows(vec![announced]));
    tell(&mut agent, schedule(1, &[NAME], &[]));
    assert_eq!(agent.flows().keys().collect::<Vec<_>>(), [&NAME]);
}
