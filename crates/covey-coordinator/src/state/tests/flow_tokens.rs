//! Who is given a token of a flow.

use covey_core::Time;
use covey_proto::{
    Direction, FlowAnswer, FlowAsk, FlowKey, FlowKeys, FlowTokens, FromAgent, Hello, Key, Purpose,
    TOKENS, ToAgent, Token, VERSION,
};

use super::super::CoordinatorState;
use super::helpers::{core, settle};

/// Not a MAC, but different for each key and message.
fn toy(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let mut mac = *key;
    for (k, byte) in message.iter().enumerate() {
        mac[k % 16] = mac[k % 16].wrapping_mul(31).wrapping_add(*byte);
    }
    mac
}

const SECRET: Key = Key([7; 32]);
const PUSHED: Direction = Direction::Pushed;
const PULLED: Direction = Direction::Pulled;

/// A coordinator of a coflow with the flow from port 0 to 1, with a secret.
fn signing(mode: FlowTokens) -> CoordinatorState {
    let mut core = core("fifo", &[&[(0, 1)]]);
    core.config.flow_tokens = mode;
    core.set_flow_secret(SECRET, toy);
    settle(&mut core, 0.0);
    core
}

fn key(coflow: u64, flow: u32) -> FlowKey {
    FlowKey { coflow, flow }
}

fn join(core: &mut CoordinatorState, session: u64, port: u32, version: u16) -> Vec<ToAgent> {
    let hello = Hello { version, port, holds: (0, 0), token: Vec::new() };
    core.heard(session, FromAgent::Hello(hello), Time::ZERO);
    settle(core, 0.0).1
}

/// What the agent of a port is answered; `None`: nothing.
fn granted_at(
    core: &mut CoordinatorState,
    now_s: f64,
    session: u64,
    ask: (FlowKey, Direction, Purpose),
) -> Option<Option<Token>> {
    let (key, direction, purpose) = ask;
    let ask = FlowAsk { key, direction, purpose };
    core.heard(session, FromAgent::Asks(vec![ask]), Time::from_secs(now_s));
    let answer = |message: ToAgent| match message {
        ToAgent::Tokens(answers) => {
            let FlowAnswer { ask: answered, granted } = answers[0];
            assert_eq!((answered, answers.len()), (ask, 1));
            Some(granted)
        }
        _ => None,
    };
    settle(core, now_s).1.into_iter().find_map(answer)
}

fn shown(core: &mut CoordinatorState, port: u64, key: FlowKey, at: Direction) -> Option<Token> {
    granted_at(core, 0.0, port, (key, at, Purpose::Show)).expect("an answer")
}

fn signed(port: u32, direction: Direction, key: FlowKey) -> Option<Token> {
    Some(SECRET.receiving(toy, port).sign(toy, direction, key))
}

#[test]
fn a_token_is_for_who_begins_and_is_signed_for_the_other_side() {
    let mut core = signing(FlowTokens::On);
    let of = key(0, 0);
    assert_eq!(shown(&mut core, 0, of, PUSHED), signed(1, PUSHED, of));
    assert_eq!(shown(&mut core, 1, of, PULLED), signed(0, PULLED, of));
    // The agent of another port, or of the wrong end; a flow or a coflow that does not exist; what
    // would be an id or a number elsewhere.
    for (port, key, direction) in [
        (2, of, PUSHED),
        (1, of, PUSHED),
        (0, of, PULLED),
        (0, key(0, 1), PUSHED),
        (0, key(9, 0), PUSHED),
        (0, key(0, u32::MAX), PUSHED),
        (0, key(0, u32::MAX - 1), PUSHED),
    ] {
        assert_eq!(shown(&mut core, port, key, direction), None, "{port} {key:?} {direction:?}");
    }
}

#[test]
fn an_agent_is_told_its_keys_when_it_joins_and_when_they_change() {
    let mut core = signing(FlowTokens::Allow);
    let keys = |secret: Key| {
        let (receiving, sending) = (secret.receiving(toy, 2), secret.sending(toy, 2));
        let fabric = secret.fabric(toy);
        ToAgent::Keys(FlowKeys { mode: FlowTokens::Allow, receiving, sending, fabric })
    };
    let said = join(&mut core, 12, 2, VERSION);
    assert!(matches!(said[0], ToAgent::Welcome(_)) && said[1] == keys(SECRET), "{said:?}");
    let other = Key([8; 32]);
    core.set_flow_secret(other, toy);
    let said = settle(&mut core, 0.0).1;
    assert_eq!((said.len(), said.contains(&keys(other))), (4, true), "{said:?}");
    // One of an older version hears nothing of it, and neither does anyone without a secret.
    let is_keys = |message: &ToAgent| matches!(message, ToAgent::Keys(_));
    assert!(!join(&mut core, 13, 2, TOKENS - 1).iter().any(is_keys));
    core.set_flow_secret(SECRET, toy);
    assert_eq!(settle(&mut core, 0.0).1.len(), 3);
    let mut without = super::helpers::core("fifo", &[&[(0, 1)]]);
    assert!(!join(&mut without, 12, 2, VERSION).iter().any(is_keys));
    let ask = (key(0, 0), PUSHED, Purpose::Show);
    assert_eq!(granted_at(&mut without, 0.0, 0, ask), None);
}

#[test]
fn no_token_is_shown_to_a_host_that_cannot_read_it() {
    for (mode, never_seen) in [(FlowTokens::On, true), (FlowTokens::Allow, false)] {
        let mut core = signing(mode);
        let of = key(0, 0);
        assert!(shown(&mut core, 0, of, PUSHED).is_some());
        join(&mut core, 11, 1, TOKENS - 1);
        assert_eq!(shown(&mut core, 0, of, PUSHED), None);
        // The agent is away. What it last spoke counts.
        core.closed(11);
        assert_eq!(shown(&mut core, 0, of, PUSHED), None);
        join(&mut core, 12, 1, VERSION);
        assert!(shown(&mut core, 0, of, PUSHED).is_some());
        core.agents.get_mut(1).connection.spoken = 0;
        assert_eq!(shown(&mut core, 0, of, PUSHED).is_some(), never_seen);
    }
}

#[test]
fn a_proof_of_an_agent_is_confirmed_if_it_is_that_of_the_port_that_begins() {
    let mut core = signing(FlowTokens::On);
    let of = key(0, 0);
    let seal = |port, direction, key| SECRET.sending(toy, port).sign(toy, direction, key).0;
    let mut confirmed = |asks: u64, key, direction, seal: [u8; 16]| {
        let ask = (key, direction, Purpose::Confirm(seal));
        granted_at(&mut core, 10.0, asks, ask).expect("an answer").is_some()
    };
    assert!(confirmed(1, of, PUSHED, seal(0, PUSHED, of)));
    assert!(confirmed(0, of, PULLED, seal(1, PULLED, of)));
    assert!(!confirmed(1, of, PUSHED, seal(2, PUSHED, of)), "of another port");
    assert!(!confirmed(1, of, PUSHED, seal(0, PULLED, of)), "of the other direction");
    assert!(!confirmed(1, of, PUSHED, seal(0, PUSHED, key(0, 1))), "of another flow");
    assert!(!confirmed(2, of, PUSHED, seal(0, PUSHED, of)), "the flow goes elsewhere");
    let unknown = key(0, 1);
    assert!(!confirmed(1, unknown, PUSHED, seal(0, PUSHED, unknown)), "there is no such flow");
}

#[test]
fn what_agents_refuse_is_counted() {
    let mut core = signing(FlowTokens::On);
    for _ in 0..2 {
        core.heard(1, FromAgent::Checked { refused: 2, unproven: 3 }, Time::ZERO);
    }
    let counts = core.counts();
    assert_eq!((counts.flows_refused, counts.flows_unproven), (4, 6));
}

#[test]
fn twenty_thousand_flows_at_once_are_answered() {
    let mut core = core("fifo", &[&[(0, 1); 20_000]]);
    core.set_flow_secret(SECRET, toy);
    settle(&mut core, 0.0);
    let ask = |flow| FlowAsk { key: key(0, flow), direction: PUSHED, purpose: Purpose::Show };
    core.heard(0, FromAgent::Asks((0..20_000).map(ask).collect()), Time::ZERO);
    let said = settle(&mut core, 0.0).1;
    let answers = said.iter().find_map(|message| match message {
        ToAgent::Tokens(answers) => Some(answers),
        _ => None,
    });
    let answers = answers.expect("answers");
    assert_eq!(answers.len(), 20_000);
    let is_right = |(flow, answer): (u32, &FlowAnswer)| {
        answer.granted == signed(1, PUSHED, key(0, flow)) && answer.ask == ask(flow)
    };
    assert!((0..).zip(answers).all(is_right));
}
