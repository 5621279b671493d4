//! The bytes of each version that is spoken are read as they were meant, and written as they were.

use std::net::SocketAddr;

use covey_proto::{
    Appearance, Appeared, CodecName, CoflowTurn, Compressor, Connected, Decoder, Direction, Ended,
    Entry, FlowAnnouncement, FlowAnswer, FlowAsk, FlowCheck, FlowFacts, FlowId, FlowKey, FlowKeys,
    FlowName, FlowOpening, FlowTokens, FromAgent, FromApp, Hello, Key, Links, Means, Message,
    OLDEST, OpeningAnswer, OpeningError, Passing, Processor, Proof, ProofRefusal, Purpose, Refusal,
    ReportThreshold, Schedule, Sent, Service, Side, ToAgent, ToApp, Token, Use, Uses, VERSION,
    Welcome, WrongOpening, common_version, encode,
};

/// Each message of a version by its name, as bytes in hexadecimal digits; of later versions only
/// those that are new or differ from the version before.
const VERSIONS: [&str; 8] = [
    include_str!("data/agents-2.txt"),
    include_str!("data/agents-3.txt"),
    include_str!("data/agents-4.txt"),
    include_str!("data/agents-5.txt"),
    include_str!("data/agents-6.txt"),
    include_str!("data/agents-7.txt"),
    include_str!("data/agents-8.txt"),
    include_str!("data/agents-9.txt"),
];

/// The messages between an application and its agent in the same form. The client for the JVM is
/// tested with them, too.
const LOCAL: &str = include_str!("data/local-5.txt");

fn bytes(version: u16, of: &str) -> Vec<u8> {
    bytes_in(VERSIONS[usize::from(version) - 2], of)
}

fn bytes_in(text: &str, of: &str) -> Vec<u8> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, hex) = lines.find(|(name, _)| *name == of).unwrap_or_else(|| panic!("{of}: no bytes"));
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn check<M: Message + PartialEq + std::fmt::Debug>(name: &str, message: M) {
    check_in(2, name, message);
}

fn check_in<M: Message + PartialEq + std::fmt::Debug>(version: u16, name: &str, message: M) {
    check_bytes(bytes(version, name), name, message);
}

fn check_bytes<M: Message + PartialEq + std::fmt::Debug>(bytes: Vec<u8>, name: &str, message: M) {
    let (mut decoder, mut out) = (Decoder::default(), Vec::new());
    encode(&message, &mut out);
    assert_eq!(out, bytes, "{name}");
    decoder.push(&bytes);
    assert_eq!(decoder.take::<M>().expect(name), Some(message), "{name}");
}

const KEY: FlowKey = FlowKey { coflow: 5, flow: 6 };

#[test]
fn what_agents_of_version_2_say_is_understood() {
    let hello = Hello { version: 2, port: 7, holds: (3, 9), token: b"abc".to_vec() };
    let compressor = Compressor { codec: CodecName::Lz4, speed: 3e8, ratio: 0.25 };
    let processor = Processor { share: 0.5, compressors: vec![compressor] };
    check("from_agent.hello", FromAgent::Hello(hello));
    check("from_agent.applied", FromAgent::Applied { epoch: 3, version: 10 });
    check(
        "from_agent.ended",
        FromAgent::Ended(vec![Ended { key: KEY.into(), bytes: 1e6, wire: 4e5 }]),
    );
    check(
        "from_agent.sent",
        FromAgent::Sent(vec![Sent { key: KEY.into(), bytes: 1e6, wire: 4e5 }]),
    );
    check("from_agent.resync", FromAgent::Resync);
    check("from_agent.alive", FromAgent::Alive);
    check("from_agent.processor", FromAgent::Processor(processor));
    check("from_agent.written", FromAgent::Written(vec![KEY.into()]));
}

#[test]
fn what_coordinators_of_version_2_say_is_understood() {
    let (report_every_s, heartbeat_s, codec) = (0.008, 1.0, Some(CodecName::Lz4));
    let idle_after_s = f64::INFINITY;
    let welcome = Welcome {
        version: 2,
        epoch: 3,
        report_every_s,
        heartbeat_s,
        codec,
        idle_after_s,
        groups: false,
    };
    let set =
        vec![Entry { key: KEY.into(), service: Service { layer: 2, rate: 1.25e8, codec: None } }];
    let removed = vec![FlowKey { flow: 7, ..KEY }.into()];
    check("to_agent.welcome", ToAgent::Welcome(welcome));
    let schedule = Schedule { epoch: 3, version: 11, base: 10, set, removed };
    check("to_agent.schedule", ToAgent::Schedule(schedule));
    check("to_agent.acknowledged", ToAgent::Acknowledged(vec![KEY.into()]));
    check(
        "to_agent.thresholds",
        ToAgent::Thresholds(vec![ReportThreshold { coflow: 5, bytes: f64::INFINITY }]),
    );
    let refusals = [
        Refusal::Version,
        Refusal::Credential,
        Refusal::Port,
        Refusal::Order,
        Refusal::Replaced,
        Refusal::Full,
    ];
    for (k, refusal) in (1..).zip(refusals) {
        check(&format!("to_agent.refused.{k}"), ToAgent::Refused(refusal));
    }
}

#[test]
fn what_version_3_has_more_is_understood() {
    let hello = Hello { version: 3, port: 7, holds: (3, 9), token: b"abc".to_vec() };
    check_in(3, "from_agent.hello", FromAgent::Hello(hello));
    let key = |flow| FlowName::Key(FlowKey { flow, ..KEY });
    let flows = vec![(key(6), Use::Moves), (key(7), Use::Idle), (key(8), Use::Closed)];
    let uses = Uses { all: true, flows, unopened: vec![5] };
    check_in(3, "from_agent.uses", FromAgent::Uses(uses));
    check_in(3, "from_agent.keeps", FromAgent::Keeps(vec![5, 6]));
    let (report_every_s, heartbeat_s, codec) = (0.008, 1.0, Some(CodecName::Lz4));
    let welcome = Welcome {
        version: 3,
        epoch: 3,
        report_every_s,
        heartbeat_s,
        codec,
        idle_after_s: 1.0,
        groups: false,
    };
    check_in(3, "to_agent.welcome", ToAgent::Welcome(welcome));
    check_in(3, "to_agent.alive", ToAgent::Alive);
    check_in(3, "to_agent.over", ToAgent::Over(vec![5, 6]));
}

#[test]
fn what_version_4_has_more_is_understood() {
    let hello = Hello { version: 4, port: 7, holds: (3, 9), token: b"abc".to_vec() };
    check_in(4, "from_agent.hello", FromAgent::Hello(hello));
    let key = FlowName::Id(FlowId(17));
    check_in(4, "from_agent.ended", FromAgent::Ended(vec![Ended { key, bytes: 1e6, wire: 4e5 }]));
    let (report_every_s, heartbeat_s, codec) = (0.008, 1.0, Some(CodecName::Lz4));
    let welcome = Welcome {
        version: 4,
        epoch: 3,
        report_every_s,
        heartbeat_s,
        codec,
        idle_after_s: 1.0,
        groups: false,
    };
    check_in(4, "to_agent.welcome", ToAgent::Welcome(welcome));
    let member = FlowAnnouncement { id: FlowId(17), member: Some(KEY.into()) };
    let single = FlowAnnouncement { id: FlowId(18), member: None };
    check_in(4, "to_agent.flows", ToAgent::Flows(vec![member, single]));
    let set = vec![Entry { key, service: Service { layer: 2, rate: 1.25e8, codec: None } }];
    let removed = vec![FlowName::Id(FlowId(16))];
    let schedule = Schedule { epoch: 3, version: 11, base: 10, set, removed };
    check_in(4, "to_agent.schedule", ToAgent::Schedule(schedule));
    check_in(4, "to_agent.acknowledged", ToAgent::Acknowledged(vec![key]));
}

#[test]
fn what_version_5_has_more_is_understood() {
    let hello = Hello { version: 5, port: 7, holds: (3, 9), token: b"abc".to_vec() };
    check_in(5, "from_agent.hello", FromAgent::Hello(hello));
    let ip = |text: &str| text.parse().expect("an address");
    let addresses = vec![ip("10.0.0.7"), ip("fd00::7")];
    check_in(5, "from_agent.addresses", FromAgent::Addresses(addresses));
    let socket = |text: &str| text.parse().expect("an address and a port");
    let (from, to) = (socket("10.0.0.7:40001"), socket("[fd00::8]:9000"));
    let appearance = Appearance { number: 17, protocol: 6, from, to, age_s: 0.5 };
    let appeared = Appeared { all_in: Some((0, u64::MAX)), flows: vec![appearance] };
    check_in(5, "from_agent.appeared", FromAgent::Appeared(appeared));
    let sent = Sent { key: FlowName::Number(17), bytes: 1e6, wire: 1e6 };
    check_in(5, "from_agent.sent", FromAgent::Sent(vec![sent]));
    let (report_every_s, heartbeat_s, idle_after_s) = (0.008, 1.0, 1.0);
    let codec = None;
    let welcome = Welcome {
        version: 5,
        epoch: 3,
        report_every_s,
        heartbeat_s,
        codec,
        idle_after_s,
        groups: true,
    };
    check_in(5, "to_agent.welcome", ToAgent::Welcome(welcome));
    check_in(5, "to_agent.taken", ToAgent::Taken(vec![17, 18]));
    check_in(5, "to_agent.released", ToAgent::Released(vec![17]));
}

#[test]
fn what_version_6_has_more_is_understood() {
    let hello = Hello { version: 6, port: 7, holds: (3, 9), token: b"abc".to_vec() };
    check_in(6, "from_agent.hello", FromAgent::Hello(hello));
    let shown = FlowAsk { key: KEY, direction: Direction::Pushed, purpose: Purpose::Show };
    let seal = std::array::from_fn(|k| 32 + k as u8);
    let confirmed =
        FlowAsk { key: KEY, direction: Direction::Pulled, purpose: Purpose::Confirm(seal) };
    check_in(6, "from_agent.asks", FromAgent::Asks(vec![shown, confirmed]));
    check_in(6, "from_agent.checked", FromAgent::Checked { refused: 3, unproven: 4 });
    let (report_every_s, heartbeat_s, idle_after_s) = (0.008, 1.0, 1.0);
    let welcome = Welcome {
        version: 6,
        epoch: 3,
        report_every_s,
        heartbeat_s,
        codec: None,
        idle_after_s,
        groups: true,
    };
    check_in(6, "to_agent.welcome", ToAgent::Welcome(welcome));
    let modes = [FlowTokens::Off, FlowTokens::Allow, FlowTokens::On];
    for (name, mode) in ["off", "allow", "on"].into_iter().zip(modes) {
        let (receiving, sending, fabric) = (Key([0xaa; 32]), Key([0xbb; 32]), Key([0xcc; 32]));
        let keys = FlowKeys { mode, receiving, sending, fabric };
        check_in(6, &format!("to_agent.keys.{name}"), ToAgent::Keys(keys));
    }
    let token = Token(std::array::from_fn(|k| 16 + k as u8));
    let answers = vec![
        FlowAnswer { ask: shown, granted: Some(token) },
        FlowAnswer { ask: confirmed, granted: None },
    ];
    check_in(6, "to_agent.tokens", ToAgent::Tokens(answers));
}

#[test]
fn what_version_7_has_more_is_understood() {
    let hello = Hello { version: 7, port: 7, holds: (3, 9), token: b"abc".to_vec() };
    check_in(7, "from_agent.hello", FromAgent::Hello(hello));
    let received = FlowKey { flow: 7, ..KEY };
    let openings = vec![
        FlowOpening { key: KEY, side: Side::Sends, bytes: 1e6 },
        FlowOpening { key: received, side: Side::Receives, bytes: f64::INFINITY },
    ];
    check_in(7, "from_agent.opened", FromAgent::Opened(openings));
    let to = FlowKey { coflow: 8, flow: 0 };
    let passing = Passing { from: FlowName::Id(FlowId(17)), to: to.into() };
    check_in(7, "from_agent.passed", FromAgent::Passed(vec![passing]));
    let (report_every_s, heartbeat_s, idle_after_s) = (0.008, 1.0, 1.0);
    let (codec, groups) = (None, true);
    let (version, epoch) = (7, 3);
    let welcome =
        Welcome { version, epoch, report_every_s, heartbeat_s, codec, idle_after_s, groups };
    check_in(7, "to_agent.welcome", ToAgent::Welcome(welcome));
    let (sends, receives) = (Side::Sends, Side::Receives);
    let answer = |side, found| OpeningAnswer { key: KEY, side, found };
    let answers = vec![
        answer(sends, Ok(FlowFacts { peer: 8, bytes: f64::INFINITY })),
        answer(sends, Err(OpeningError::Unregistered)),
        answer(sends, Err(OpeningError::CoflowOver)),
        answer(receives, Err(OpeningError::NoFlow(2))),
        answer(receives, Err(OpeningError::OtherHost(9))),
        answer(sends, Err(OpeningError::FlowOver)),
        answer(sends, Err(OpeningError::TooMany(1000.0))),
        answer(sends, Err(OpeningError::Taken)),
    ];
    check_in(7, "to_agent.openings", ToAgent::Openings(answers));
    let turns = vec![
        CoflowTurn { coflow: 5, layer: 0, dag: 2, depth: 1, left: 1e7 },
        CoflowTurn { coflow: 6, layer: 3, dag: 6, depth: 0, left: f64::INFINITY },
    ];
    check_in(7, "to_agent.turns", ToAgent::Turns(turns));
}

#[test]
fn what_version_8_has_more_is_understood() {
    let hello = Hello { version: 8, port: 7, holds: (3, 9), token: b"abc".to_vec() };
    check_in(8, "from_agent.hello", FromAgent::Hello(hello));
    let (report_every_s, heartbeat_s, idle_after_s) = (0.008, 1.0, 1.0);
    let (codec, groups) = (None, true);
    let (version, epoch) = (8, 3);
    let welcome =
        Welcome { version, epoch, report_every_s, heartbeat_s, codec, idle_after_s, groups };
    check_in(8, "to_agent.welcome", ToAgent::Welcome(welcome));
    check_in(8, "to_agent.start_small", ToAgent::StartSmall(10 << 20));
}

#[test]
fn what_version_9_has_more_is_understood() {
    let hello = Hello { version: 9, port: 7, holds: (3, 9), token: b"abc".to_vec() };
    check_in(9, "from_agent.hello", FromAgent::Hello(hello));
    check_in(9, "from_agent.links", FromAgent::Links(Links { sent: 1.25e8, received: 5e7 }));
    let (report_every_s, heartbeat_s, idle_after_s) = (0.008, 1.0, 1.0);
    let (version, epoch, groups) = (9, 3, true);
    let codec = Some(CodecName::Lz4);
    let welcome =
        Welcome { version, epoch, report_every_s, heartbeat_s, codec, idle_after_s, groups };
    check_in(9, "to_agent.welcome", ToAgent::Welcome(welcome));
}

#[test]
fn what_links_carry_is_a_rate() {
    for sent in [f64::NAN, f64::INFINITY, -1.0] {
        let (mut bytes, mut decoder) = (Vec::new(), Decoder::default());
        encode(&FromAgent::Links(Links { sent, received: 0.0 }), &mut bytes);
        decoder.push(&bytes);
        assert!(decoder.take::<FromAgent>().is_err(), "{sent}");
    }
}

#[test]
fn a_wrong_opening_says_what_to_do() {
    for (k, why) in OpeningError::ALL.into_iter().enumerate() {
        assert_eq!(why.place(), k);
        for side in [Side::Sends, Side::Receives] {
            let text = WrongOpening { key: KEY, side, why }.to_string();
            assert!(text.starts_with("flow 6 of coflow 5: "), "{text}");
            assert_eq!(text.matches(": ").count(), 2, "what is wrong, and what to do: {text}");
        }
    }
}

#[test]
fn no_secret_is_shown_where_messages_are_shown() {
    let key = Key([0xaa; 32]);
    let keys = FlowKeys { mode: FlowTokens::On, receiving: key, sending: key, fabric: key };
    assert!(!format!("{:?}", ToAgent::Keys(keys)).contains("170"));
}

#[test]
fn names_are_replaced_where_flows_are_named() {
    let id = FlowName::Id(FlowId(17));
    assert_eq!((id.id(), FlowName::Key(KEY).id()), (Some(FlowId(17)), None));
    let mut ended = FromAgent::Ended(vec![Ended { key: KEY.into(), bytes: 1.0, wire: 1.0 }]);
    ended.rename_flows(|key| if key == KEY.into() { id } else { key });
    assert_eq!(ended, FromAgent::Ended(vec![Ended { key: id, bytes: 1.0, wire: 1.0 }]));
}

#[test]
fn sides_of_adjacent_versions_speak_the_lesser() {
    assert_eq!(common_version(VERSION + 1), Some(VERSION));
    assert_eq!(common_version(OLDEST), Some(OLDEST));
    assert_eq!(common_version(OLDEST - 1), None);
}

fn check_local<M: Message + PartialEq + std::fmt::Debug>(name: &str, message: M) {
    check_bytes(bytes_in(LOCAL, name), name, message);
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

#[test]
fn what_applications_of_version_5_say_is_understood() {
    let (bytes, wire) = (1e6, 4e5);
    let (pushed, pulled) = (Direction::Pushed, Direction::Pulled);
    let (here, there) = (address("10.0.0.1:4000"), address("[2001:db8::1]:9000"));
    let last = FlowKey { coflow: u64::MAX, flow: 0 };
    let check = FlowCheck {
        number: 9,
        key: KEY,
        direction: pushed,
        proof: Some(Proof::Coordinator(Token([7; 16]))),
        peer: here,
    };
    let opens = [(Side::Sends, 1e6), (Side::Receives, f64::INFINITY)]
        .map(|(side, bytes)| FlowOpening { key: KEY, side, bytes });
    check_local("from_app.hello", FromApp::Hello(5));
    check_local("from_app.opened", FromApp::Opened(vec![KEY, last]));
    check_local("from_app.ended", FromApp::Ended(vec![Ended { key: KEY.into(), bytes, wire }]));
    check_local("from_app.sent", FromApp::Sent(vec![Sent { key: KEY.into(), bytes, wire }]));
    check_local("from_app.gone", FromApp::Gone(vec![KEY]));
    let connected = Connected { key: KEY, from: here, to: there };
    check_local("from_app.connected", FromApp::Connected(vec![connected]));
    check_local("from_app.written", FromApp::Written(vec![KEY]));
    check_local("from_app.asks", FromApp::Asks(vec![(KEY, pulled)]));
    check_local("from_app.checks", FromApp::Checks(vec![check]));
    check_local("from_app.opens", FromApp::Opens(opens.to_vec()));
}

#[test]
fn what_agents_say_to_applications_of_version_5_is_understood() {
    let welcome =
        ToApp::Welcome { version: 5, port: 7, means: Means::PacingAndMarks, report_every_s: 0.008 };
    let share = Entry {
        key: KEY.into(),
        service: Service { layer: 2, rate: 1.25e8, codec: Some(CodecName::Lz4) },
    };
    let proof = Some(Proof::Coordinator(Token([7; 16])));
    let answers = [
        (Side::Sends, Ok(FlowFacts { peer: 3, bytes: 1e6 })),
        (Side::Receives, Err(OpeningError::NoFlow(8))),
    ]
    .map(|(side, found)| OpeningAnswer { key: KEY, side, found });
    check_local("to_app.welcome", welcome);
    check_local("to_app.shares", ToApp::Shares(vec![share]));
    check_local("to_app.acknowledged", ToApp::Acknowledged(vec![KEY]));
    let codec = Some(CodecName::Zstd);
    check_local("to_app.coordinator", ToApp::Coordinator { heard: true, codec });
    check_local("to_app.refused", ToApp::Refused);
    check_local("to_app.proofs", ToApp::Proofs(vec![(KEY, Direction::Pushed, proof)]));
    let checked = vec![(9, None), (10, Some(ProofRefusal::Missing))];
    check_local("to_app.checked", ToApp::Checked(checked));
    check_local("to_app.proving", ToApp::Proving(true));
    check_local("to_app.openings", ToApp::Openings(answers.to_vec()));
    check_local("to_app.start_small", ToApp::StartSmall(65_536));
}
