//! The messages between a relay and the coordinator.
//!
//! A relay carries the sessions of many agents over one connection. Each session has a number. What
//! an agent and the coordinator say to each other travels as it is, in pieces: the relay reads no
//! message of an agent but its hello.

use crate::bytes::{Reader, Write};
use crate::encode::{read_refusal, refusal_byte};
use crate::frame::Message;
use crate::message::{FromAgent, MAX_FROM_AGENT, Refusal};

/// The version of the messages between relay and coordinator. Both sides must speak the same.
pub const RELAY_VERSION: u16 = 1;

/// The most bytes of a session in one message, in both directions.
pub const MAX_PIECE: usize = 64 << 10;

/// The most bytes in a frame after its length, in both directions: a piece, its kind and its
/// session.
const MAX_FRAME: usize = MAX_PIECE + 1 + SESSION;

/// Bytes of the number of a session.
const SESSION: usize = 8;

/// The kind of a relay's first message. No message of an agent has it.
const HELLO: u8 = 64;

/// A relay's first message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayHello {
    /// [`RELAY_VERSION`] of the relay.
    pub version: u16,
    /// Its credential where there is no mutual TLS; at most 255 bytes.
    pub token: Vec<u8>,
}

/// From a relay to the coordinator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromRelay {
    /// The first message.
    Hello(RelayHello),
    /// An agent has said this: a part of its messages, at most [`MAX_PIECE`] bytes. The first one
    /// of a session begins it.
    Said {
        /// The session, which the relay has numbered. No number is used twice on a connection.
        session: u64,
        /// The part.
        bytes: Vec<u8>,
    },
    /// The connections of these agents have ended.
    Left(Vec<u64>),
    /// The connections of these agents have taken what they were sent, and can take more.
    Delivered(Vec<u64>),
    /// The relay is there. The coordinator answers with [`ToRelay::Alive`].
    Alive,
}

/// From the coordinator to a relay.
#[derive(Debug, Clone, PartialEq)]
pub enum ToRelay {
    /// The relay has joined.
    Welcome {
        /// [`RELAY_VERSION`] of the coordinator.
        version: u16,
        /// The coordinator's epoch.
        epoch: u64,
        /// How often the relay is to say something, in seconds, or be taken for lost.
        heartbeat_s: f64,
    },
    /// An agent is to be sent this: a part of its messages, at most [`MAX_PIECE`] bytes. The next
    /// part comes when this is [`FromRelay::Delivered`].
    Say {
        /// The session.
        session: u64,
        /// The part.
        bytes: Vec<u8>,
    },
    /// The session of an agent is over. The relay closes the agent's connection when that has taken
    /// what it was sent.
    Close(u64),
    /// The relay may not join.
    Refused(Refusal),
    /// The coordinator is there.
    Alive,
}

/// The first message on a connection to the coordinator's port for agents.
#[derive(Debug, Clone, PartialEq)]
pub enum Opening {
    /// An agent says something: a hello, if it keeps to the rules.
    Agent(FromAgent),
    /// A relay says hello.
    Relay(RelayHello),
}

fn write_sessions(kind: u8, sessions: &[u64], out: &mut Vec<u8>) {
    out.push(kind);
    out.u32(sessions.len() as u32);
    sessions.iter().for_each(|&session| out.u64(session));
}

fn read_sessions(body: &mut Reader<'_>) -> Option<Vec<u64>> {
    let count = body.u32()?;
    body.items(count, SESSION, Reader::u64)
}

fn write_piece(kind: u8, session: u64, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.u64(session);
    out.extend_from_slice(bytes);
}

fn read_piece(body: &mut Reader<'_>) -> Option<(u64, Vec<u8>)> {
    Some((body.u64()?, body.rest().to_vec()))
}

fn write_hello(hello: &RelayHello, out: &mut Vec<u8>) {
    out.push(HELLO);
    out.u16(hello.version);
    let token = &hello.token[..hello.token.len().min(255)];
    out.push(token.len() as u8);
    out.extend_from_slice(token);
}

fn read_hello(body: &mut Reader<'_>) -> Option<RelayHello> {
    let version = body.u16()?;
    let length = body.u8()?;
    Some(RelayHello { version, token: body.bytes(length.into())?.to_vec() })
}

impl Message for FromRelay {
    const MAX: usize = MAX_FRAME;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            FromRelay::Hello(hello) => write_hello(hello, out),
            FromRelay::Said { session, bytes } => write_piece(65, *session, bytes, out),
            FromRelay::Left(sessions) => write_sessions(66, sessions, out),
            FromRelay::Delivered(sessions) => write_sessions(67, sessions, out),
            FromRelay::Alive => out.push(68),
        }
    }

    fn read(kind: u8, body: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            HELLO => FromRelay::Hello(read_hello(body)?),
            65 => {
                let (session, bytes) = read_piece(body)?;
                FromRelay::Said { session, bytes }
            }
            66 => FromRelay::Left(read_sessions(body)?),
            67 => FromRelay::Delivered(read_sessions(body)?),
            68 => FromRelay::Alive,
            _ => return None,
        })
    }
}

impl Message for ToRelay {
    const MAX: usize = MAX_FRAME;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            ToRelay::Welcome { version, epoch, heartbeat_s } => {
                out.push(HELLO);
                out.u16(*version);
                out.u64(*epoch);
                out.f64(*heartbeat_s);
            }
            ToRelay::Say { session, bytes } => write_piece(65, *session, bytes, out),
            ToRelay::Close(session) => {
                out.push(66);
                out.u64(*session);
            }
            ToRelay::Refused(refusal) => {
                out.push(67);
                out.push(refusal_byte(*refusal));
            }
            ToRelay::Alive => out.push(68),
        }
    }

    fn read(kind: u8, body: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            HELLO => ToRelay::Welcome {
                version: body.u16()?,
                epoch: body.u64()?,
                heartbeat_s: body.finite()?,
            },
            65 => {
                let (session, bytes) = read_piece(body)?;
                ToRelay::Say { session, bytes }
            }
            66 => ToRelay::Close(body.u64()?),
            67 => ToRelay::Refused(read_refusal(body)?),
            68 => ToRelay::Alive,
            _ => return None,
        })
    }
}

impl Message for Opening {
    const MAX: usize = MAX_FROM_AGENT;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Opening::Agent(message) => message.write(out),
            Opening::Relay(hello) => write_hello(hello, out),
        }
    }

    fn read(kind: u8, body: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            HELLO => Opening::Relay(read_hello(body)?),
            _ => Opening::Agent(FromAgent::read(kind, body)?),
        })
    }
}
