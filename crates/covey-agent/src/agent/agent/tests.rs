//! Messages of the coordinator, progress of flows, and what an agent says to them.

use covey_proto::{CodecName, Entry, FlowKey, Processor, ReportThreshold, Sent, Use};

use super::*;

const A: FlowName = FlowName::Key(FlowKey { coflow: 1, flow: 0 });
const B: FlowName = FlowName::Key(FlowKey { coflow: 1, flow: 1 });

fn set(epoch: u64, version: u64, base: u64, flows: &[FlowName]) -> ToAgent {
    let set = flows
        .iter()
        .map(|&key| Entry { key, service: Service { layer: 0, rate: 1e6, codec: None } })
        .collect();
    ToAgent::Schedule(Schedule { epoch, version, base, set, removed: Vec::new() })
}

fn tell(agent: &mut Agent, message: ToAgent) -> Vec<FromAgent> {
    let mut out = Vec::new();
    agent.heard(message, &mut out).expect("nothing is refused");
    out
}

fn welcome(epoch: u64, report_every_s: f64) -> ToAgent {
    ToAgent::Welcome(Welcome {
        version: VERSION,
        epoch,
        report_every_s,
        heartbeat_s: 1.0,
        codec: None,
        idle_after_s: 1.0,
        groups: false,
    })
}

#[test]
fn older_schedules_are_dropped_and_gaps_ask_for_all() {
    let mut agent = Agent::new(0, Vec::new());
    tell(&mut agent, welcome(2, 0.0));
    let applied = FromAgent::Applied { epoch: 2, version: 1 };
    assert_eq!(tell(&mut agent, set(2, 1, 0, &[A])), [applied]);
    assert_eq!(tell(&mut agent, set(2, 1, 0, &[B])), []);
    assert_eq!(tell(&mut agent, set(1, 9, 0, &[B])), []);
    assert_eq!(agent.dropped(), 2);
    assert_eq!(tell(&mut agent, set(2, 3, 2, &[B])), [FromAgent::Resync]);
    assert_eq!(agent.flows().keys().collect::<Vec<_>>(), [&A]);
    assert_eq!(agent.holds(), (2, 1));
    tell(&mut agent, set(2, 3, 0, &[B]));
    assert_eq!(agent.flows().keys().collect::<Vec<_>>(), [&B]);
    // A coordinator of a later epoch has spoken: schedules of the earlier one no longer count.
    tell(&mut agent, welcome(3, 0.0));
    assert_eq!(tell(&mut agent, set(2, 4, 0, &[A])), []);
    assert_eq!((agent.holds(), agent.dropped()), ((2, 3), 3));
}

#[test]
fn ends_are_repeated_until_they_are_acknowledged() {
    let mut agent = Agent::new(0, Vec::new());
    let of_a = Ended { key: A, bytes: 3.0, wire: 3.0 };
    let ended = Progress { ended: vec![of_a], ..Progress::default() };
    let mut out = Vec::new();
    agent.happened(&ended, 0.0, &mut out);
    assert_eq!(out, []);
    let said = [FromAgent::Ended(ended.ended.clone())];
    assert_eq!(tell(&mut agent, welcome(1, 0.0)), said);
    agent.hello();
    assert_eq!(tell(&mut agent, welcome(1, 0.0)), said);
    tell(&mut agent, set(1, 1, 0, &[A, B]));
    assert_eq!(agent.flows().keys().collect::<Vec<_>>(), [&B]);
    tell(&mut agent, ToAgent::Acknowledged(vec![A]));
    agent.hello();
    assert_eq!(tell(&mut agent, welcome(1, 0.0)), []);
}

#[test]
fn what_is_written_is_served_again_only_after_it_has_been_removed() {
    let mut agent = Agent::new(0, Vec::new());
    let served = |agent: &Agent| agent.flows().keys().copied().collect::<Vec<_>>();
    tell(&mut agent, welcome(1, 0.0));
    tell(&mut agent, set(1, 1, 0, &[A]));
    // B is not served: there is no rate to give back.
    let mut out = Vec::new();
    let written = Progress { written: vec![A, B], ..Progress::default() };
    agent.happened(&written, 0.0, &mut out);
    assert_eq!((served(&agent), out), (vec![], vec![FromAgent::Written(vec![A])]));
    // This coordinator has not heard that A was written. The next one has not either.
    tell(&mut agent, set(1, 2, 1, &[A, B]));
    assert_eq!(served(&agent), [B]);
    agent.hello();
    assert_eq!(tell(&mut agent, welcome(2, 0.0)), [FromAgent::Written(vec![A])]);
    tell(&mut agent, set(2, 1, 0, &[A]));
    assert_eq!(served(&agent), []);
    // This schedule is of a coordinator that has heard of it, and has waited in vain for the end.
    let (set_of, removed) = (Vec::new(), vec![A]);
    let removal = Schedule { epoch: 2, version: 2, base: 1, set: set_of, removed };
    tell(&mut agent, ToAgent::Schedule(removal));
    tell(&mut agent, set(2, 3, 2, &[A]));
    assert_eq!(served(&agent), [A]);
}

#[test]
fn bytes_are_reported_at_the_interval_or_at_the_threshold() {
    // Thresholds count bytes on the wire.
    let sent_so_far = |wire| Sent { key: A, bytes: 2.0 * wire, wire };
    let sent = |bytes| Progress { sent: vec![sent_so_far(bytes)], ..Progress::default() };
    let said = |bytes| vec![FromAgent::Sent(vec![sent_so_far(bytes)])];
    let happened = |agent: &mut Agent, bytes, now_s| {
        let mut out = Vec::new();
        agent.happened(&sent(bytes), now_s, &mut out);
        out
    };
    let mut agent = Agent::new(0, Vec::new());
    tell(&mut agent, welcome(1, 0.5));
    assert_eq!(happened(&mut agent, 1.0, 1.0), said(1.0));
    assert_eq!(happened(&mut agent, 2.0, 1.2), []);
    assert_eq!(happened(&mut agent, 3.0, 1.5), said(3.0));

    agent.hello();
    tell(&mut agent, welcome(1, 0.0));
    tell(&mut agent, ToAgent::Thresholds(vec![ReportThreshold { coflow: 1, bytes: 10.0 }]));
    assert_eq!(happened(&mut agent, 9.0, 9.0), []);
    assert_eq!(happened(&mut agent, 13.0, 9.0), said(13.0));
    assert_eq!(happened(&mut agent, 22.0, 9.0), []);
    tell(
        &mut agent,
        ToAgent::Thresholds(vec![ReportThreshold { coflow: 1, bytes: f64::INFINITY }]),
    );
    assert_eq!(happened(&mut agent, 99.0, 9.0), []);
}

#[test]
fn each_coordinator_is_told_of_compressors_and_of_changes() {
    let compressor = Compressor { codec: CodecName::Lz4, speed: 5e8, ratio: 0.5 };
    let mut agent = Agent::new(0, Vec::new()).with_compressors(vec![compressor]);
    let said = |share, compressors| FromAgent::Processor(Processor { share, compressors });
    let welcomed = |epoch| match welcome(epoch, 0.0) {
        ToAgent::Welcome(it) => ToAgent::Welcome(Welcome { codec: Some(CodecName::Lz4), ..it }),
        _ => panic!("it is a welcome"),
    };
    let mut out = Vec::new();
    agent.idle(0.5, &mut out);
    assert_eq!(
        tell(&mut agent, welcome(1, 0.0)),
        [],
        "the coordinator does not schedule compression"
    );
    agent.idle(0.6, &mut out);
    agent.idle(0.5, &mut out);
    assert_eq!(out, [], "there is no session that asks");
    assert_eq!(tell(&mut agent, welcomed(1)), [said(0.5, vec![compressor])]);
    agent.idle(0.5, &mut out);
    agent.idle(2.0, &mut out);
    assert_eq!(out, [said(1.0, Vec::new())]);
    agent.hello();
    assert_eq!(tell(&mut agent, welcomed(2)), [said(1.0, vec![compressor])]);
    // A host without compressors does not report processors.
    let mut agent = Agent::new(0, Vec::new());
    assert_eq!(tell(&mut agent, welcomed(1)), []);
    agent.idle(0.5, &mut out);
    assert_eq!(out.len(), 1);
}

#[test]
fn the_processor_time_of_compressing_is_counted() {
    let compressor = Compressor { codec: CodecName::Lz4, speed: 100.0, ratio: 0.5 };
    let mut agent = Agent::new(0, Vec::new()).with_compressors(vec![compressor]);
    let entry = |key, codec| Entry { key, service: Service { layer: 0, rate: 1.0, codec } };
    let set = vec![entry(A, Some(CodecName::Lz4)), entry(B, None)];
    tell(&mut agent, welcome(1, 0.0));
    let (epoch, version, base, removed) = (1, 1, 0, Vec::new());
    tell(&mut agent, ToAgent::Schedule(Schedule { epoch, version, base, set, removed }));
    let mut happened = |bytes, wire, ended: Vec<Ended>| {
        let sent = [A, B].map(|key| Sent { key, bytes, wire }).to_vec();
        agent.happened(&Progress { ended, sent, ..Progress::default() }, 0.0, &mut Vec::new());
        agent.take_compressed_s()
    };
    assert_eq!(happened(200.0, 100.0, Vec::new()), 2.0);
    assert_eq!(happened(200.0, 100.0, Vec::new()), 0.0);
    // Bytes that did not shrink were sent uncompressed.
    assert_eq!(happened(300.0, 201.0, Vec::new()), 0.0);
    assert_eq!(happened(300.0, 201.0, vec![Ended { key: A, bytes: 400.0, wire: 250.0 }]), 1.0);
}

#[test]
fn an_idle_flow_keeps_a_probe_and_is_reported_when_it_moves() {
    let mut agent = Agent::new(0, Vec::new()).with_watch();
    tell(&mut agent, welcome(1, 0.0));
    tell(&mut agent, set(1, 1, 0, &[A, B]));
    let opened = Progress { opened: vec![(A, true), (B, true)], ..Progress::default() };
    let sent =
        Progress { sent: vec![Sent { key: B, bytes: 1.0, wire: 1.0 }], ..Progress::default() };
    let mut out = Vec::new();
    assert!(!agent.happened(&opened, 0.0, &mut out));
    assert_eq!(out, [FromAgent::Keeps(vec![1])]);
    out.clear();
    (1..30).for_each(|tick| {
        agent.happened(&sent, f64::from(tick) / 20.0, &mut out);
    });
    let of = |key, of| Uses { flows: vec![(key, of)], ..Uses::default() };
    assert_eq!(out, [FromAgent::Uses(of(A, Use::Idle))]);
    // The coordinator takes the rate of A away; the probe stays.
    tell(&mut agent, set(1, 2, 0, &[B]));
    assert_eq!(agent.served().get(&A), Some(&Service::PROBE));
    out.clear();
    let sent =
        Progress { sent: vec![Sent { key: A, bytes: 1.0, wire: 1.0 }], ..Progress::default() };
    assert!(agent.happened(&sent, 1.55, &mut out));
    assert_eq!(out, [FromAgent::Uses(of(A, Use::Moves))]);
    assert_eq!(agent.served().keys().collect::<Vec<_>>(), [&B]);
    // Nothing stays of a coflow that is over.
    tell(&mut agent, ToAgent::Over(vec![1]));
    assert!(agent.reports.is_empty());
}

#[test]
fn a_flow_is_not_idle_because_nobody_has_looked() {
    let mut agent = Agent::new(0, Vec::new()).with_watch();
    tell(&mut agent, welcome(1, 0.0));
    tell(&mut agent, set(1, 1, 0, &[A]));
    let mut out = Vec::new();
    let opened = Progress { opened: vec![(A, true)], ..Progress::default() };
    agent.happened(&opened, 0.0, &mut out);
    out.clear();
    let not_looked = Progress { has_not_looked: true, ..Progress::default() };
    let sent =
        Progress { sent: vec![Sent { key: A, bytes: 1.0, wire: 1.0 }], ..Progress::default() };
    (1..100).for_each(|tick| {
        let progress = if tick % 40 == 0 { &sent } else { &not_looked };
        agent.happened(progress, f64::from(tick) / 20.0, &mut out);
    });
    assert!(!out.iter().any(|message| matches!(message, FromAgent::Uses(_))), "{out:?}");
    // Who looks and sees nothing knows.
    agent.happened(&Progress::default(), 5.1, &mut out);
    assert!(out.iter().any(|message| matches!(message, FromAgent::Uses(_))), "{out:?}");
}

#[test]
fn a_coordinator_of_the_previous_version_is_not_told_how_flows_are_used() {
    let mut agent = Agent::new(0, Vec::new()).with_watch();
    let ToAgent::Welcome(mut older) = welcome(1, 0.0) else { panic!("a welcome") };
    (older.version, older.idle_after_s) = (2, f64::INFINITY);
    assert_eq!(tell(&mut agent, ToAgent::Welcome(older)), []);
    tell(&mut agent, set(1, 1, 0, &[A]));
    let mut out = Vec::new();
    let opened = Progress { opened: vec![(A, true), (A, false)], ..Progress::default() };
    agent.happened(&opened, 0.0, &mut out);
    (1..200).for_each(|tick| {
        agent.happened(&Progress::default(), f64::from(tick) / 20.0, &mut out);
    });
    assert_eq!(out, []);
}
