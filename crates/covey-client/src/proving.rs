//! What the agent on this host is asked about proofs of flows.

use std::collections::BTreeMap;

use covey_proto::{
    Direction, FlowCheck, FlowKey, FromApp, MAX_LOCAL_CHECKS, MAX_LOCAL_FLOWS, Proof, ProofRefusal,
};
use tokio::sync::oneshot;

/// Questions to the agent. They end when it is gone.
#[derive(Default)]
pub struct Proving {
    /// Whether headers show proofs, as the last agent has said.
    pub is_on: bool,
    asks: BTreeMap<(FlowKey, Direction), Vec<oneshot::Sender<Option<Proof>>>>,
    unasked: Vec<(FlowKey, Direction)>,
    checks: BTreeMap<u32, oneshot::Sender<Option<ProofRefusal>>>,
    unchecked: Vec<FlowCheck>,
    next_check: u32,
}

impl Proving {
    /// Whether the agent has something to answer.
    pub fn waits(&self) -> bool {
        !(self.asks.is_empty() && self.checks.is_empty())
    }

    /// Asks for the proof of a flow that begins here. A flow whose proof is being asked for is not
    /// asked for again.
    pub fn ask(&mut self, key: FlowKey, direction: Direction) -> oneshot::Receiver<Option<Proof>> {
        let (sender, receiver) = oneshot::channel();
        let waiting = self.asks.entry((key, direction)).or_default();
        if waiting.is_empty() {
            self.unasked.push((key, direction));
        }
        waiting.push(sender);
        receiver
    }

    /// Asks whether a header is refused. Its number is given here.
    pub fn check(&mut self, check: FlowCheck) -> oneshot::Receiver<Option<ProofRefusal>> {
        let (sender, receiver) = oneshot::channel();
        let number = self.next_check;
        self.next_check = number.wrapping_add(1);
        self.checks.insert(number, sender);
        self.unchecked.push(FlowCheck { number, ..check });
        receiver
    }

    /// Takes what has not been asked yet.
    pub fn take_messages(&mut self, out: &mut Vec<FromApp>) {
        let (asks, checks) =
            (std::mem::take(&mut self.unasked), std::mem::take(&mut self.unchecked));
        out.extend(asks.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Asks(some.to_vec())));
        out.extend(checks.chunks(MAX_LOCAL_CHECKS).map(|some| FromApp::Checks(some.to_vec())));
    }

    /// The agent has answered. Whoever has asked may be gone.
    pub fn proved(&mut self, proofs: Vec<(FlowKey, Direction, Option<Proof>)>) {
        for (key, direction, proof) in proofs {
            let waiting = self.asks.remove(&(key, direction)).into_iter().flatten();
            waiting.for_each(|sender| _ = sender.send(proof));
        }
    }

    /// The same for headers.
    pub fn checked(&mut self, checked: Vec<(u32, Option<ProofRefusal>)>) {
        for (number, refusal) in checked {
            self.checks.remove(&number).into_iter().for_each(|sender| _ = sender.send(refusal));
        }
    }

    /// The agent is gone.
    pub fn agent_left(&mut self) {
        *self = Proving { is_on: self.is_on, next_check: self.next_check, ..Proving::default() };
    }
}
