//! The state of proofs, with toy keys.

use covey_proto::{Key, Token};

use super::*;

/// Not a MAC, but different for each key and message.
fn toy(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let mut mac = *key;
    for (k, byte) in message.iter().enumerate() {
        mac[k % 16] = mac[k % 16].wrapping_mul(31).wrapping_add(*byte);
    }
    mac
}

const SECRET: Key = Key([7; 32]);
const REGISTERED: FlowKey = FlowKey { coflow: 1, flow: 2 };
const UNREGISTERED: FlowKey = FlowKey { coflow: 1 << 63, flow: 2 };
const PUSHED: Direction = Direction::Pushed;

fn keys_of(secret: Key, port: u32, mode: FlowTokens) -> Option<(FlowKeys, Mac)> {
    let (receiving, sending) = (secret.receiving(toy, port), secret.sending(toy, port));
    Some((FlowKeys { mode, receiving, sending, fabric: secret.fabric(toy) }, toy))
}

/// The proofs of a host whose agent hears a coordinator.
fn host(port: u32, mode: FlowTokens) -> Proofs {
    let mut proofs = Proofs::default();
    proofs.set_keys(keys_of(SECRET, port, mode), &mut Vec::new());
    proofs
}

fn check_of(key: FlowKey, proof: Option<Proof>) -> FlowCheck {
    let peer = ([10, 0, 0, 9], 4711).into();
    FlowCheck { number: 5, key, direction: PUSHED, proof, peer }
}

/// What becomes of a header; `None` if that is not known yet.
fn checked(
    proofs: &mut Proofs,
    key: FlowKey,
    proof: Option<Proof>,
) -> Option<Option<ProofRefusal>> {
    let mut told = Vec::new();
    proofs.check(1, check_of(key, proof), &mut told);
    refusal_in(&told)
}

fn refusal_in(told: &[Told]) -> Option<Option<ProofRefusal>> {
    told.iter().find_map(|told| match told {
        Told::Checked(1, _, refusal) => Some(*refusal),
        _ => None,
    })
}

/// The proof that an application is given; `None` if it waits.
fn asked(proofs: &mut Proofs, key: FlowKey) -> Option<Option<Proof>> {
    let mut told = Vec::new();
    proofs.ask(1, key, PUSHED, &mut told);
    proof_in(&told)
}

fn proof_in(told: &[Told]) -> Option<Option<Proof>> {
    told.iter().find_map(|told| match told {
        Told::Proof(1, _, _, proof) => Some(*proof),
        _ => None,
    })
}

fn token(port: u32, key: FlowKey) -> Proof {
    Proof::Coordinator(SECRET.receiving(toy, port).sign(toy, PUSHED, key))
}

/// The proof of the agent of port 0.
fn of_agent(key: FlowKey) -> Proof {
    let token = SECRET.fabric(toy).sign(toy, PUSHED, key);
    Proof::Agent { token, seal: SECRET.sending(toy, 0).sign(toy, PUSHED, key) }
}

/// The question whether the proof [`of_agent`] is that of the flow's port.
fn confirm(key: FlowKey) -> FlowAsk {
    let Proof::Agent { seal, .. } = of_agent(key) else { panic!("of an agent") };
    FlowAsk { key, direction: PUSHED, purpose: Purpose::Confirm(seal.0) }
}

fn answer(proofs: &mut Proofs, ask: FlowAsk, granted: Option<Token>) -> Vec<Told> {
    let mut told = Vec::new();
    proofs.answered(&[FlowAnswer { ask, granted }], &mut told);
    told
}

/// Waits until the coordinator counts as away.
fn wait(proofs: &mut Proofs) -> Vec<Told> {
    let mut told = Vec::new();
    (0..PATIENCE).for_each(|_| proofs.tick(&mut told));
    told
}

const MISSING: Option<Option<ProofRefusal>> = Some(Some(ProofRefusal::Missing));
const WRONG: Option<Option<ProofRefusal>> = Some(Some(ProofRefusal::Wrong));
const OTHER_PORT: Option<Option<ProofRefusal>> = Some(Some(ProofRefusal::OtherPort));
const TAKEN: Option<Option<ProofRefusal>> = Some(None);

#[test]
fn the_coordinator_s_token_counts_for_its_flow_at_its_port_alone() {
    let mut proofs = host(3, FlowTokens::On);
    assert_eq!(checked(&mut proofs, REGISTERED, Some(token(3, REGISTERED))), TAKEN);
    assert_eq!(checked(&mut proofs, REGISTERED, None), MISSING);
    assert_eq!(checked(&mut proofs, REGISTERED, Some(token(4, REGISTERED))), WRONG);
    for other in [FlowKey { flow: 3, ..REGISTERED }, FlowKey { coflow: 2, ..REGISTERED }] {
        assert_eq!(checked(&mut proofs, REGISTERED, Some(token(3, other))), WRONG);
    }
    // Nor does it count for the other direction.
    let mut told = Vec::new();
    let pulled = FlowCheck {
        direction: Direction::Pulled,
        ..check_of(REGISTERED, Some(token(3, REGISTERED)))
    };
    proofs.check(1, pulled, &mut told);
    assert_eq!(refusal_in(&told), WRONG);
    // An agent's proof is not the coordinator's, and the reverse.
    let Proof::Coordinator(it) = token(3, REGISTERED) else { panic!("a token") };
    let agent = Proof::Agent { token: it, seal: it };
    assert_eq!(checked(&mut proofs, REGISTERED, Some(agent)), WRONG);
    assert_eq!(proofs.take_counts(), (6, 0));
}

#[test]
fn a_token_is_asked_for_once_and_given_to_all_who_wait() {
    let mut proofs = host(0, FlowTokens::On);
    let mut told = Vec::new();
    proofs.ask(1, REGISTERED, PUSHED, &mut told);
    proofs.ask(2, REGISTERED, PUSHED, &mut told);
    assert_eq!(told, []);
    let asks = proofs.take_asks();
    assert_eq!(asks, [FlowAsk { key: REGISTERED, direction: PUSHED, purpose: Purpose::Show }]);
    let granted = Token([9; 16]);
    let proof = Some(Proof::Coordinator(granted));
    let told = answer(&mut proofs, asks[0], Some(granted));
    assert_eq!(told, [1, 2].map(|app| Told::Proof(app, REGISTERED, PUSHED, proof)));
    // What nobody waits for means nothing.
    assert_eq!(answer(&mut proofs, asks[0], Some(granted)), []);
    // A flow that the coordinator does not know shows nothing.
    assert_eq!(asked(&mut proofs, REGISTERED), None);
    assert_eq!(proof_in(&answer(&mut proofs, asks[0], None)), Some(None));
}

#[test]
fn without_the_coordinator_agents_prove_flows_to_each_other() {
    let (mut a, mut b) = (host(0, FlowTokens::On), host(1, FlowTokens::On));
    // No coordinator knows the coflow.
    assert_eq!(asked(&mut a, UNREGISTERED), Some(Some(of_agent(UNREGISTERED))));
    assert_eq!(checked(&mut b, UNREGISTERED, Some(of_agent(UNREGISTERED))), TAKEN);
    assert_eq!(checked(&mut b, UNREGISTERED, None), MISSING);
    // The coordinator goes while it is asked.
    assert_eq!(asked(&mut a, REGISTERED), None);
    let mut told = Vec::new();
    a.left(&mut told);
    assert_eq!(proof_in(&told), Some(Some(of_agent(REGISTERED))));
    assert_eq!(asked(&mut a, REGISTERED), Some(Some(of_agent(REGISTERED))));
    b.left(&mut told);
    assert_eq!(checked(&mut b, REGISTERED, Some(of_agent(REGISTERED))), TAKEN);
    assert_eq!(checked(&mut b, REGISTERED, Some(of_agent(UNREGISTERED))), WRONG);
    assert_eq!(checked(&mut b, REGISTERED, None), MISSING);
    // A token that was given before counts all the same.
    assert_eq!(checked(&mut b, REGISTERED, Some(token(1, REGISTERED))), TAKEN);
}

#[test]
fn a_coordinator_that_does_not_answer_counts_as_away() {
    let mut proofs = host(0, FlowTokens::On);
    assert_eq!(asked(&mut proofs, REGISTERED), None);
    assert_eq!(proof_in(&wait(&mut proofs)), Some(Some(of_agent(REGISTERED))));
    assert_eq!(checked(&mut proofs, REGISTERED, Some(of_agent(REGISTERED))), None);
    assert_eq!(refusal_in(&wait(&mut proofs)), TAKEN);
    assert_eq!(wait(&mut proofs), []);
}

#[test]
fn the_coordinator_says_whether_a_proof_is_that_of_the_flow_s_port() {
    let mut proofs = host(1, FlowTokens::On);
    let confirm = confirm(REGISTERED);
    assert_eq!(checked(&mut proofs, REGISTERED, Some(of_agent(REGISTERED))), None);
    assert_eq!(proofs.take_asks(), [confirm]);
    assert_eq!(refusal_in(&answer(&mut proofs, confirm, Some(Token::default()))), TAKEN);
    assert_eq!(checked(&mut proofs, REGISTERED, Some(of_agent(REGISTERED))), None);
    assert_eq!(refusal_in(&answer(&mut proofs, confirm, None)), OTHER_PORT);
    // If it goes meanwhile, nobody hears it.
    assert_eq!(checked(&mut proofs, REGISTERED, Some(of_agent(REGISTERED))), None);
    let mut told = Vec::new();
    proofs.left(&mut told);
    assert_eq!(refusal_in(&told), TAKEN);
    assert_eq!(proofs.take_counts(), (1, 0));
}

#[test]
fn in_a_change_over_only_wrong_proofs_are_refused() {
    let mut proofs = host(3, FlowTokens::Allow);
    assert!(proofs.is_proving());
    assert_eq!(checked(&mut proofs, REGISTERED, None), TAKEN);
    assert_eq!(checked(&mut proofs, REGISTERED, Some(token(4, REGISTERED))), WRONG);
    assert_eq!(proofs.take_counts(), (1, 1));
    // Only the coordinator knows who reads proofs.
    assert_eq!(asked(&mut proofs, UNREGISTERED), Some(None));
    assert_eq!(asked(&mut proofs, REGISTERED), None);
    proofs.left(&mut Vec::new());
    assert_eq!(asked(&mut proofs, REGISTERED), Some(None));
    // Once they are necessary, others may hear of that later.
    proofs.set_keys(keys_of(SECRET, 3, FlowTokens::On), &mut Vec::new());
    assert_eq!(checked(&mut proofs, REGISTERED, None), TAKEN);
    (0..CHANGE_OVER).for_each(|_| proofs.tick(&mut Vec::new()));
    assert_eq!(checked(&mut proofs, REGISTERED, None), MISSING);
}

#[test]
fn with_another_secret_what_was_signed_before_counts_for_a_while() {
    let mut proofs = host(3, FlowTokens::On);
    proofs.set_keys(keys_of(Key([8; 32]), 3, FlowTokens::On), &mut Vec::new());
    assert_eq!(checked(&mut proofs, REGISTERED, Some(token(3, REGISTERED))), TAKEN);
    // The same keys again, as after each welcome.
    proofs.set_keys(keys_of(Key([8; 32]), 3, FlowTokens::On), &mut Vec::new());
    assert_eq!(checked(&mut proofs, UNREGISTERED, Some(of_agent(UNREGISTERED))), TAKEN);
    (0..=CHANGE_OVER).for_each(|_| proofs.tick(&mut Vec::new()));
    assert_eq!(checked(&mut proofs, REGISTERED, Some(token(3, REGISTERED))), WRONG);
}

#[test]
fn a_coordinator_of_an_older_version_wants_no_proofs() {
    let mut proofs = host(3, FlowTokens::On);
    proofs.set_keys(None, &mut Vec::new());
    assert!(!proofs.is_proving());
    assert_eq!(checked(&mut proofs, REGISTERED, None), TAKEN);
    assert_eq!(asked(&mut proofs, REGISTERED), Some(None));
    assert_eq!(proofs.take_counts(), (0, 0));
}

#[test]
fn an_agent_that_has_just_started_waits_for_its_keys() {
    let mut proofs = Proofs::default();
    assert_eq!(asked(&mut proofs, REGISTERED), None);
    assert_eq!(asked(&mut proofs, UNREGISTERED), None);
    assert_eq!(checked(&mut proofs, REGISTERED, None), None);
    assert!(!proofs.has_asks());
    let mut told = Vec::new();
    proofs.set_keys(keys_of(SECRET, 0, FlowTokens::On), &mut told);
    assert_eq!(refusal_in(&told), MISSING);
    assert_eq!(proof_in(&told), Some(Some(of_agent(UNREGISTERED))));
    let ask = FlowAsk { key: REGISTERED, direction: PUSHED, purpose: Purpose::Show };
    assert_eq!(proofs.take_asks(), [ask]);
    // Without a coordinator it knows nothing, takes everything, and waits for longer with what
    // begins here.
    let mut proofs = Proofs::default();
    assert_eq!(asked(&mut proofs, REGISTERED), None);
    assert_eq!(checked(&mut proofs, REGISTERED, None), None);
    let mut told = Vec::new();
    proofs.left(&mut told);
    assert_eq!((refusal_in(&told), proof_in(&told)), (TAKEN, None));
    assert_eq!(checked(&mut proofs, REGISTERED, None), None);
    let told = wait(&mut proofs);
    assert_eq!((refusal_in(&told), proof_in(&told)), (TAKEN, None));
    let mut told = Vec::new();
    (PATIENCE..FIRST_PATIENCE).for_each(|_| proofs.tick(&mut told));
    assert_eq!(proof_in(&told), Some(None));
}
