//! An agent names flows by the ids that the coordinator has announced, and by coflow and index
//! otherwise.

use covey_agent::{Agent, Progress};
use covey_proto::{
    Ended, Entry, FlowAnnouncement, FlowId, FlowKey, FlowName, FromAgent, ReportThreshold,
    Schedule, Sent, Service, ToAgent, Use, Uses, VERSION, Welcome,
};

const KEY: FlowName = FlowName::Key(FlowKey { coflow: 5, flow: 6 });
const NAME: FlowName = FlowName::Id(FlowId(17));

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
        groups: false,
    })
}

fn schedule(version: u64, set: &[FlowName], removed: &[FlowName]) -> ToAgent {
    let entry =
        |&key: &FlowName| Entry { key, service: Service { layer: 0, rate: 1e6, codec: None } };
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

fn ended(key: FlowName) -> [FromAgent; 1] {
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

/// The flow's name after it has changed its coflow.
const MOVED: FlowName = FlowName::Key(FlowKey { coflow: 8, flow: 2 });

/// An agent whose flow has changed its coflow, and is in the schedule again.
fn renamed() -> Agent {
    let mut agent = scheduled();
    rename(&mut agent);
    tell(&mut agent, schedule(2, &[NAME], &[]));
    agent
}

fn rename(agent: &mut Agent) {
    let names = [KEY, MOVED].map(|name| FlowAnnouncement { id: FlowId(17), member: Some(name) });
    tell(agent, ToAgent::Flows(names.to_vec()));
}

fn send(agent: &mut Agent, key: FlowName, bytes: f64) -> Vec<FromAgent> {
    let sent = vec![Sent { key, bytes, wire: bytes }];
    let mut out = Vec::new();
    agent.happened(&Progress { sent, ..Progress::default() }, 0.0, &mut out);
    out
}

fn sent(key: FlowName, bytes: f64) -> [FromAgent; 1] {
    [FromAgent::Sent(vec![Sent { key, bytes, wire: bytes }])]
}

#[test]
fn applications_go_on_naming_a_flow_as_they_opened_it() {
    let mut agent = renamed();
    assert_eq!(agent.flows().keys().collect::<Vec<_>>(), [&MOVED]);
    assert_eq!(agent.served().keys().collect::<Vec<_>>(), [&KEY, &MOVED]);
    assert_eq!(agent.served()[&KEY], agent.served()[&MOVED]);
    assert_eq!(agent.names_here(&[NAME]), [KEY, MOVED]);
    assert_eq!(end(&mut agent), ended(NAME));
    tell(&mut agent, ToAgent::Acknowledged(vec![NAME]));
    assert_eq!((agent.unacknowledged(), agent.served().len()), (0, 0));
    assert_eq!(agent.names_here(&[MOVED]), [MOVED]);
}

#[test]
fn the_threshold_of_the_present_coflow_counts() {
    let mut agent = scheduled();
    assert_eq!(send(&mut agent, KEY, 5.0), []);
    rename(&mut agent);
    let threshold = |coflow| ReportThreshold { coflow, bytes: 4.0 };
    tell(&mut agent, ToAgent::Thresholds(vec![threshold(MOVED.coflow().unwrap())]));
    assert_eq!(send(&mut agent, KEY, 8.0), []);
    assert_eq!(send(&mut agent, KEY, 9.0), sent(NAME, 9.0));
}

#[test]
fn a_former_name_outlives_its_coflow_and_the_session() {
    let mut agent = renamed();
    tell(&mut agent, ToAgent::Over(vec![KEY.coflow().unwrap()]));
    assert_eq!(send(&mut agent, KEY, 5.0), []);
    agent.hello();
    assert_eq!(end(&mut agent), []);
    assert_eq!(tell(&mut agent, welcome()), ended(MOVED));
    // The next coordinator announces the names again.
    rename(&mut agent);
    agent.hello();
    assert_eq!(tell(&mut agent, welcome()), ended(MOVED));
    tell(&mut agent, ToAgent::Over(vec![MOVED.coflow().unwrap()]));
    assert_eq!(agent.names_here(&[MOVED]), [MOVED]);
}

#[test]
fn an_idle_flow_that_changes_its_coflow_stays_idle() {
    let mut agent = Agent::new(0, Vec::new()).with_watch();
    let ToAgent::Welcome(asks) = welcome() else { panic!("a welcome") };
    tell(&mut agent, ToAgent::Welcome(Welcome { idle_after_s: 1.0, ..asks }));
    rename(&mut agent);
    tell(&mut agent, schedule(1, &[NAME], &[]));
    let mut out = Vec::new();
    let opened = Progress { opened: vec![(KEY, true)], ..Progress::default() };
    agent.happened(&opened, 0.0, &mut out);
    assert_eq!(out, [FromAgent::Keeps(vec![MOVED.coflow().unwrap()])]);
    out.clear();
    for tick in 1..30 {
        agent.happened(&Progress::default(), f64::from(tick) / 20.0, &mut out);
    }
    let idle = Uses { flows: vec![(NAME, Use::Idle)], ..Uses::default() };
    assert_eq!(out, [FromAgent::Uses(idle)]);
    // The flow changes its coflow once more. Its application may begin to send at any time.
    let third = FlowName::Key(FlowKey { coflow: 9, flow: 0 });
    let names = [KEY, MOVED, third];
    let names = names.map(|name| FlowAnnouncement { id: FlowId(17), member: Some(name) });
    tell(&mut agent, ToAgent::Flows(names.to_vec()));
    tell(&mut agent, schedule(2, &[], &[NAME]));
    assert_eq!(agent.served().keys().collect::<Vec<_>>(), [&KEY, &MOVED, &third]);
    let moves = Uses { flows: vec![(third, Use::Moves)], ..Uses::default() };
    assert_eq!(send(&mut agent, KEY, 1.0), [FromAgent::Uses(moves)]);
}
