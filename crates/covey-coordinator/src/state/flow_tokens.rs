//! Tokens of flows: which agent may show one, and the keys that agents check them with. Nothing of
//! it is kept for a flow.

use covey_proto::{
    Direction, FlowAnswer, FlowAsk, FlowKeys, FlowTokens, Key, Mac, Purpose, TOKENS, Token,
};

use super::coordinator::CoordinatorState;
use super::signer::Signer;

/// Maximum number of answers that wait for an agent's connection. Beyond that the agent goes
/// without.
const MAX_ANSWERS: usize = 200_000;
/// Maximum number of answers in a message, which keeps the message below its size limit.
pub(super) const MAX_ANSWERED: usize = 100_000;

impl CoordinatorState {
    /// Signs flows with a secret from now on. Without any, agents hear nothing of proofs.
    pub fn set_flow_secret(&mut self, secret: Key, mac: Mac) {
        self.signer = Some(Signer { secret, mac });
        for port in 0..self.agents.ports() {
            let agent = self.agents.get_mut(port);
            if agent.connection.session.is_some() && agent.connection.spoken >= TOKENS {
                agent.letters.keys = true;
                self.agents.wake(port);
            }
        }
    }

    /// The keys of an agent.
    pub(super) fn flow_keys(&self, port: u32) -> Option<FlowKeys> {
        let Signer { secret, mac } = self.signer?;
        let mode = self.config.flow_tokens;
        let (receiving, sending) = (secret.receiving(mac, port), secret.sending(mac, port));
        Some(FlowKeys { mode, receiving, sending, fabric: secret.fabric(mac) })
    }

    /// The agent of a port asks about flows.
    pub(super) fn asked(&mut self, port: u32, asks: Vec<FlowAsk>) {
        let Some(Signer { secret, mac }) = self.signer else { return };
        // Many flows of a batch go to the same port.
        let mut last = None;
        let mut key_of = |port: u32| match last {
            Some((of, key)) if of == port => key,
            _ => last.insert((port, secret.receiving(mac, port))).1,
        };
        let answers = asks.into_iter().map(|ask| {
            let (at, key) = (ask.direction, ask.key);
            let other = self.other_side(port, &ask);
            let granted = other.and_then(|other| match ask.purpose {
                Purpose::Show => Some(key_of(other).sign(mac, at, key)),
                Purpose::Confirm(seal) => {
                    let right = secret.sending(mac, other).sign(mac, at, key);
                    (right == Token(seal)).then(Token::default)
                }
            });
            FlowAnswer { ask, granted }
        });
        let answers: Vec<FlowAnswer> = answers.collect();
        let agent = self.agents.get_mut(port);
        if agent.letters.answers.len() + answers.len() > MAX_ANSWERS {
            return;
        }
        agent.letters.answers.extend(answers);
        if let Some(session) = agent.connection.session {
            self.effects.ready(session);
        }
    }

    /// The port at the other side of a flow, if the agent of `port` may have what it asks for.
    fn other_side(&self, port: u32, ask: &FlowAsk) -> Option<u32> {
        // The flow may have another name since it was registered.
        let name = self.coflows.ids.key(ask.key).unwrap_or(ask.key);
        let coflow = self.coflows.get(name.coflow).filter(|coflow| !coflow.flows.is_own())?;
        let flow = coflow.flows.get(name.flow)?;
        let (begins, is_begun_with) = match ask.direction {
            Direction::Pushed => (flow.src, flow.dst),
            Direction::Pulled => (flow.dst, flow.src),
        };
        match ask.purpose {
            Purpose::Show => {
                (port == begins && self.reads_tokens(is_begun_with)).then_some(is_begun_with)
            }
            Purpose::Confirm(_) => (port == is_begun_with).then_some(begins),
        }
    }

    /// Whether applications on a host read headers with proofs. If nobody knows, they do where
    /// proofs are necessary.
    fn reads_tokens(&self, port: u32) -> bool {
        match self.agents.get(port).connection.spoken {
            0 => self.config.flow_tokens == FlowTokens::On,
            spoken => spoken >= TOKENS,
        }
    }
}
