//! Proofs that a connection is the one of a flow: who makes them, with which key, and over which
//! bytes.
//!
//! A proof is the beginning of an HMAC-SHA256. This crate computes none: it is given a [`Mac`].

use std::fmt;

use subtle::ConstantTimeEq;

use crate::bytes::{Reader, Write};
use crate::direction::Direction;
use crate::flow::FlowKey;

/// HMAC-SHA256 of a message with a key.
pub type Mac = fn(key: &[u8; 32], message: &[u8]) -> [u8; 32];

/// A key of [`Mac`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

impl fmt::Debug for Key {
    /// Shows nothing of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    pub(crate) fn read(body: &mut Reader<'_>) -> Option<Key> {
        body.array().map(Key)
    }

    /// From a coordinator's secret: the receiving key of a port. The coordinator signs what others
    /// begin with the host of this port, and the host's agent checks it.
    pub fn receiving(&self, mac: Mac, port: u32) -> Key {
        let mut message = b"covey receive".to_vec();
        message.u32(port);
        Key(mac(&self.0, &message))
    }

    /// From a coordinator's secret: the sending key of a port. The host's agent signs with it what
    /// it begins, and the coordinator checks it.
    pub fn sending(&self, mac: Mac, port: u32) -> Key {
        let mut message = b"covey send".to_vec();
        message.u32(port);
        Key(mac(&self.0, &message))
    }

    /// From a coordinator's secret: the key that all agents have in common.
    pub fn fabric(&self, mac: Mac) -> Key {
        Key(mac(&self.0, b"covey fabric"))
    }

    /// Signs that a connection is the one of a flow.
    pub fn sign(&self, mac: Mac, direction: Direction, flow: FlowKey) -> Token {
        let mut message = b"flow".to_vec();
        message.push(direction.byte());
        message.name(flow);
        let mut token = [0; TOKEN];
        token.copy_from_slice(&mac(&self.0, &message)[..TOKEN]);
        Token(token)
    }
}

/// Bytes of a [`Token`].
pub(crate) const TOKEN: usize = 16;

/// The signature of a flow: the first 16 bytes of its MAC. Tokens are compared in constant time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Token(pub [u8; TOKEN]);

impl PartialEq for Token {
    fn eq(&self, other: &Token) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Token {}

impl Token {
    pub(crate) fn read(body: &mut Reader<'_>) -> Option<Token> {
        body.array().map(Token)
    }
}

/// Bytes of a [`Proof`].
pub const PROOF: usize = 1 + 2 * TOKEN;

/// What the header of a flow shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The coordinator has signed the flow with the receiving key of the other side's port.
    Coordinator(Token),
    /// The agent of the host has signed it: no coordinator knows the coflow, or it was away.
    Agent {
        /// With the fabric key, for the agent of the other host.
        token: Token,
        /// With the sending key of its port, for the coordinator.
        seal: Token,
    },
}

impl Proof {
    /// As bytes: its kind, the token, and the seal. What there is none of is zeros.
    pub(crate) fn encode(proof: Option<&Proof>) -> [u8; PROOF] {
        let none = Token::default();
        let (kind, token, seal) = match proof {
            None => (0, none, none),
            Some(Proof::Coordinator(token)) => (1, *token, none),
            Some(Proof::Agent { token, seal }) => (2, *token, *seal),
        };
        let mut bytes = [0; PROOF];
        bytes[0] = kind;
        bytes[1..=TOKEN].copy_from_slice(&token.0);
        bytes[1 + TOKEN..].copy_from_slice(&seal.0);
        bytes
    }

    /// Reads one, or that there is none; `None` if the bytes mean nothing.
    pub(crate) fn read(body: &mut Reader<'_>) -> Option<Option<Proof>> {
        let (kind, token, seal) = (body.u8()?, Token::read(body)?, Token::read(body)?);
        let is_none = |token: Token| token.0 == [0; TOKEN];
        match kind {
            0 if is_none(token) && is_none(seal) => Some(None),
            1 if is_none(seal) => Some(Some(Proof::Coordinator(token))),
            2 => Some(Some(Proof::Agent { token, seal })),
            _ => None,
        }
    }
}

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofRefusal {
    /// It shows no proof.
    Missing,
    /// The proof is not one of this flow to this host.
    Wrong,
    /// The proof is one of an agent, and the coordinator says that it is not the agent of the
    /// flow's port.
    OtherPort,
    /// The connection has no TLS.
    NoTls,
    /// The flow is not registered to come to this host.
    OtherHost,
}

impl ProofRefusal {
    pub(crate) fn byte(self) -> u8 {
        match self {
            ProofRefusal::Missing => 1,
            ProofRefusal::Wrong => 2,
            ProofRefusal::OtherPort => 3,
            ProofRefusal::NoTls => 4,
            ProofRefusal::OtherHost => 5,
        }
    }

    pub(crate) fn of_byte(byte: u8) -> Option<ProofRefusal> {
        match byte {
            1 => Some(ProofRefusal::Missing),
            2 => Some(ProofRefusal::Wrong),
            3 => Some(ProofRefusal::OtherPort),
            4 => Some(ProofRefusal::NoTls),
            5 => Some(ProofRefusal::OtherHost),
            _ => None,
        }
    }
}

impl fmt::Display for ProofRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProofRefusal::Missing => "it shows no proof that it is this flow",
            ProofRefusal::Wrong => "its proof is not one of this flow to this host",
            ProofRefusal::OtherPort => {
                "its proof is of another port than the one that this flow begins at"
            }
            ProofRefusal::NoTls => "it has no TLS: expected a connection with TLS",
            ProofRefusal::OtherHost => {
                "it is not registered to come to this host: open it to the host of its `dst`"
            }
        })
    }
}

/// Whether the headers of flows need proofs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlowTokens {
    /// Nobody shows or checks a proof.
    Off,
    /// A wrong proof is refused; a header without one is taken and counted.
    Allow,
    /// A header without a valid proof is refused.
    #[default]
    On,
}

/// What a coordinator gives an agent to check and to make proofs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowKeys {
    /// Whether proofs are needed.
    pub mode: FlowTokens,
    /// The receiving key of the agent's port.
    pub receiving: Key,
    /// The sending key of the agent's port.
    pub sending: Key,
    /// The key that all agents have in common.
    pub fabric: Key,
}

/// What an agent asks about a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowAsk {
    /// The flow, as its header names it.
    pub key: FlowKey,
    /// The direction of its header.
    pub direction: Direction,
    /// What the answer is for.
    pub purpose: Purpose,
}

/// What the answer to a [`FlowAsk`] is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// The asking host begins: it needs a token to show.
    Show,
    /// The other host has begun with a proof of its agent: is this seal the one of the port that
    /// begins?
    Confirm([u8; TOKEN]),
}

/// The answer to a [`FlowAsk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowAnswer {
    /// What was asked.
    pub ask: FlowAsk,
    /// `None` if the coordinator refuses; the token, or zeros where none is asked for.
    pub granted: Option<Token>,
}
