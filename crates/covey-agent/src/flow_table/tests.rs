//! What applications report, and what they are told.

use super::*;

const A: FlowKey = FlowKey { coflow: 1, flow: 0 };
const B: FlowKey = FlowKey { coflow: 1, flow: 1 };

fn table_with(ids: &[AppId]) -> FlowTable {
    let mut table = FlowTable::new(3, Means::Pacing, 0.5);
    for &id in ids {
        table.connected(id);
        table.heard(id, FromApp::Hello(LOCAL_VERSION)).expect("the first message");
        told(&mut table, id);
    }
    table
}

#[test]
fn only_a_host_that_shapes_learns_the_connections_of_flows() {
    let at = |text: &str| text.parse().expect("an address");
    let (from, to) = (at("10.0.0.1:5001"), at("10.0.0.2:9000"));
    let connected = |key| FromApp::Connected(vec![Connected { key, from, to }]);
    for (means, hears) in [(Means::Shaping, true), (Means::Pacing, false)] {
        let mut table = table_with(&[1, 2]);
        table.greeting.means = means;
        table.heard(1, FromApp::Opened(vec![A, B])).expect("known");
        table.heard(1, connected(A)).expect("known");
        table.heard(1, connected(B)).expect("known");
        // The flow is the other application's.
        table.heard(2, connected(A)).expect("known");
        let both = Moved::from([(A, Some(Ends { from, to })), (B, Some(Ends { from, to }))]);
        assert_eq!(table.take_moved(), if hears { both } else { Moved::new() });
        assert_eq!(table.take_moved(), Moved::new());
        table
            .heard(1, FromApp::Ended(vec![Ended { key: A.into(), bytes: 1.0, wire: 1.0 }]))
            .expect("known");
        table.closed(1);
        let gone = Moved::from([(A, None), (B, None)]);
        assert_eq!(table.take_moved(), if hears { gone } else { Moved::new() });
    }
}

fn told(table: &mut FlowTable, id: AppId) -> Vec<ToApp> {
    let mut out = Vec::new();
    table.take_messages(id, &mut out);
    out
}

fn services(of: &[(FlowKey, f64)]) -> BTreeMap<FlowName, Service> {
    of.iter().map(|&(key, rate)| (key.into(), Service { layer: 0, rate, codec: None })).collect()
}

fn said(of: &[(FlowKey, f64)]) -> ToApp {
    let entry = |&(key, rate): &(FlowKey, f64)| Entry {
        key: key.into(),
        service: Service { layer: 0, rate, codec: None },
    };
    ToApp::Shares(of.iter().map(entry).collect())
}

#[test]
fn an_application_is_told_the_latest_shares_of_its_own_flows() {
    let mut table = table_with(&[1, 2]);
    table.heard(1, FromApp::Opened(vec![A])).expect("known");
    table.heard(2, FromApp::Opened(vec![B])).expect("known");
    assert_eq!(told(&mut table, 1), []);
    for rate in [1.0, 2.0, 3.0] {
        table.apply(&services(&[(A, rate), (B, 7.0)]));
    }
    assert_eq!(table.take_woken(), BTreeSet::from([1, 2]));
    assert_eq!(told(&mut table, 1), [said(&[(A, 3.0)])]);
    assert_eq!(told(&mut table, 2), [said(&[(B, 7.0)])]);
    // What has not changed is not repeated; a flow that is no longer served is told to wait.
    table.apply(&services(&[(B, 7.0)]));
    assert_eq!(table.take_woken(), BTreeSet::from([1]));
    assert_eq!(told(&mut table, 1), [said(&[(A, 0.0)])]);
    assert_eq!(told(&mut table, 2), []);
}

#[test]
fn a_schedule_that_came_before_the_flow_counts() {
    let mut table = table_with(&[1]);
    table.apply(&services(&[(A, 5.0)]));
    table.heard(1, FromApp::Opened(vec![A, B])).expect("known");
    assert_eq!(told(&mut table, 1), [said(&[(A, 5.0)])]);
}

#[test]
fn ends_and_reports_are_passed_on_once() {
    let mut table = table_with(&[1]);
    table.heard(1, FromApp::Opened(vec![A, B])).expect("known");
    let sent = |key: FlowKey, bytes| Sent { key: key.into(), bytes, wire: bytes };
    table.heard(1, FromApp::Sent(vec![sent(A, 1.0), sent(B, 2.0)])).expect("known");
    table.heard(1, FromApp::Sent(vec![sent(B, 3.0)])).expect("known");
    let ended = Ended { key: A.into(), bytes: 9.0, wire: 4.0 };
    table.heard(1, FromApp::Ended(vec![ended])).expect("known");
    let opened = vec![(A.into(), true), (B.into(), true)];
    let (ends, sends) = (vec![ended], vec![sent(B, 3.0)]);
    let progress = Progress { ended: ends, sent: sends, opened, ..Progress::default() };
    assert_eq!(table.take_progress(), progress);
    assert_eq!(table.take_progress(), Progress::default());
    table.acknowledged(&[A.into()]);
    assert_eq!(told(&mut table, 1), [ToApp::Acknowledged(vec![A])]);
}

#[test]
fn flows_go_with_their_application_unless_another_has_them() {
    let mut table = table_with(&[1, 2]);
    table.heard(1, FromApp::Opened(vec![A, B])).expect("known");
    table.heard(2, FromApp::Opened(vec![A])).expect("known");
    let opened = [(A, true), (B, true), (A, true)].map(|(key, open)| (key.into(), open));
    assert_eq!(table.take_progress().opened, opened);
    table.closed(1);
    assert_eq!(table.take_progress().opened, [(B.into(), false)]);
    table.apply(&services(&[(A, 1.0), (B, 1.0)]));
    assert_eq!(table.take_woken(), BTreeSet::from([2]));
    table.heard(2, FromApp::Gone(vec![A])).expect("known");
    assert_eq!(table.take_progress().opened, [(A.into(), false)]);
    table.apply(&services(&[]));
    assert_eq!(told(&mut table, 2), []);
    assert_eq!(table.heard(1, FromApp::Opened(vec![A])), Err(Refused));
}

#[test]
fn an_application_that_asks_and_does_not_listen_is_refused() {
    let asks = || FromApp::Asks(vec![(A, Direction::Pushed); MAX_LOCAL_FLOWS]);
    let times = MAX_UNANSWERED / MAX_LOCAL_FLOWS;
    // Nobody has answered yet; the answers wait for the application.
    for is_answered in [false, true] {
        let mut table = table_with(&[1]);
        if is_answered {
            table.set_keys(None);
            told(&mut table, 1);
        }
        (0..times).for_each(|_| table.heard(1, asks()).expect("room"));
        assert_eq!(table.heard(1, asks()), Err(Refused));
        // One that listens may go on.
        table.set_keys(None);
        told(&mut table, 1);
        table.heard(1, asks()).expect("room");
    }
}

#[test]
fn an_application_that_breaks_the_protocol_is_refused() {
    let mut table = table_with(&[1]);
    table.connected(2);
    assert_eq!(table.heard(2, FromApp::Opened(vec![A])), Err(Refused));
    assert_eq!(table.heard(2, FromApp::Hello(LOCAL_VERSION + 1)), Err(Refused));
    assert_eq!(table.heard(1, FromApp::Hello(LOCAL_VERSION)), Err(Refused));
    let many = |from: u64| (from..from + 60_000).map(|coflow| FlowKey { coflow, flow: 0 });
    table.heard(1, FromApp::Opened(many(0).collect())).expect("room for these");
    assert_eq!(table.heard(1, FromApp::Opened(many(60_000).collect())), Err(Refused));
}
