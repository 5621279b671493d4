//! Keys and tokens have known values, and an agent asks a coordinator that knows of them, and no
//! other.

use covey_agent::{Agent, AppId, FlowTable, Progress};
use covey_api::hmac_sha256;
use covey_proto::{
    Direction, FlowAnswer, FlowAsk, FlowCheck, FlowKey, FlowKeys, FlowTokens, FromAgent, FromApp,
    Key, LOCAL_VERSION, Means, OLDEST_LOCAL, Proof, ProofRefusal, Purpose, TOKENS, ToAgent, ToApp,
    Token, VERSION, Welcome,
};

const KEY: FlowKey = FlowKey { coflow: 7, flow: 2 };

fn secret() -> Key {
    Key(std::array::from_fn(|k| k as u8))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Computed with another implementation, from the description in docs/protocol.md.
#[test]
fn keys_and_tokens_have_their_known_values() {
    let (receiving, fabric) = (secret().receiving(hmac_sha256, 3), secret().fabric(hmac_sha256));
    let of_port = "f032df78a29e3ac1d3d459f0c4d8c0ed83b46583dd7cfa0db5b1aa3324d1c293";
    let of_all = "ae7ea1c945cba1fab15cabbd4f2f113f2b211cc02799e93c3df33ca647a56e85";
    assert_eq!((hex(&receiving.0), hex(&fabric.0)), (of_port.to_owned(), of_all.to_owned()));
    let sending = secret().sending(hmac_sha256, 3);
    let of_sender = "7024702bfae489352a0caa6544c26f6099fe0f23f1befb2da1ad5311fa525a51";
    assert_eq!(hex(&sending.0), of_sender);
    let pushed = receiving.sign(hmac_sha256, Direction::Pushed, KEY);
    let pulled = fabric.sign(hmac_sha256, Direction::Pulled, KEY);
    assert_eq!(hex(&pushed.0), "3055d29d083c038e4430981587d0e686");
    assert_eq!(hex(&pulled.0), "eee9b68488f0172a5e9da894935b8ed7");
}

fn welcome(version: u16) -> ToAgent {
    ToAgent::Welcome(Welcome {
        version,
        epoch: 1,
        report_every_s: 0.0,
        heartbeat_s: 1.0,
        codec: None,
        idle_after_s: f64::INFINITY,
        groups: false,
    })
}

#[test]
fn only_a_coordinator_that_knows_tokens_is_asked_and_told() {
    let ask = FlowAsk { key: KEY, direction: Direction::Pushed, purpose: Purpose::Show };
    let progress = Progress { asks: vec![ask], refused: 1, unproven: 2, ..Progress::default() };
    let mut agent = Agent::new(0, Vec::new());
    for (version, says) in [
        (TOKENS - 1, vec![]),
        // What the one before did not hear is said, too.
        (VERSION, vec![FromAgent::Asks(vec![ask]), FromAgent::Checked { refused: 2, unproven: 4 }]),
    ] {
        agent.hello();
        agent.heard(welcome(version), &mut Vec::new()).expect("a welcome");
        let mut out = Vec::new();
        agent.happened(&progress, 0.0, &mut out);
        assert_eq!(out, says);
    }
    let mut out = Vec::new();
    agent.happened(&Progress::default(), 0.1, &mut out);
    assert_eq!(out, []);
}

fn told(table: &mut FlowTable, id: AppId) -> Vec<ToApp> {
    let mut out = Vec::new();
    table.take_messages(id, &mut out);
    out
}

fn join(table: &mut FlowTable, mode: FlowTokens) {
    let (receiving, fabric) = (secret().receiving(hmac_sha256, 3), secret().fabric(hmac_sha256));
    let sending = secret().sending(hmac_sha256, 3);
    table.set_keys(Some((FlowKeys { mode, receiving, sending, fabric }, hmac_sha256)));
}

#[test]
fn an_application_is_given_proofs_and_has_those_of_others_checked() {
    let mut table = FlowTable::new(3, Means::Pacing, 0.5);
    table.connected(1);
    table.heard(1, FromApp::Hello(LOCAL_VERSION)).expect("a hello");
    assert_eq!(told(&mut table, 1).len(), 2, "nobody knows yet whether flows need proofs");
    join(&mut table, FlowTokens::On);
    assert_eq!(told(&mut table, 1), [ToApp::Proving(true)]);
    table.heard(1, FromApp::Asks(vec![(KEY, Direction::Pushed)])).expect("known");
    assert_eq!(told(&mut table, 1), []);
    let asks = table.take_progress().asks;
    let granted = Some(Token([1; 16]));
    table.answered(&[FlowAnswer { ask: asks[0], granted }]);
    let proof = granted.map(Proof::Coordinator);
    assert_eq!(told(&mut table, 1), [ToApp::Proofs(vec![(KEY, Direction::Pushed, proof)])]);
    let peer = ([10, 0, 0, 9], 4711).into();
    let direction = Direction::Pushed;
    let check = |number, proof| FlowCheck { number, key: KEY, direction, proof, peer };
    let token = secret().receiving(hmac_sha256, 3).sign(hmac_sha256, direction, KEY);
    let right = Some(Proof::Coordinator(token));
    table.heard(1, FromApp::Checks(vec![check(5, right), check(6, None)])).expect("known");
    let missing = Some(ProofRefusal::Missing);
    assert_eq!(told(&mut table, 1), [ToApp::Checked(vec![(5, None), (6, missing)])]);
    assert_eq!(table.take_refused(), [(check(6, None), ProofRefusal::Missing)]);
    assert_eq!(table.take_progress().refused, 1);
    // An application that is gone is told nothing, and does no harm.
    table.heard(1, FromApp::Asks(vec![(KEY, Direction::Pulled)])).expect("known");
    table.closed(1);
    table.left();
    join(&mut table, FlowTokens::Off);
}

#[test]
fn an_application_of_the_version_before_hears_nothing_of_proofs() {
    let mut table = FlowTable::new(3, Means::Pacing, 0.5);
    join(&mut table, FlowTokens::On);
    table.connected(1);
    table.heard(1, FromApp::Hello(OLDEST_LOCAL)).expect("a hello");
    let said = told(&mut table, 1);
    assert!(
        matches!(
            said[..],
            [ToApp::Welcome { version: OLDEST_LOCAL, .. }, ToApp::Coordinator { .. }]
        ),
        "{said:?}"
    );
    join(&mut table, FlowTokens::Off);
    assert_eq!(told(&mut table, 1), []);
}
