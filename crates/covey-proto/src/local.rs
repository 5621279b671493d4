//! The messages between an agent and the applications on its host.

use std::net::SocketAddr;

use crate::bytes::{ADDRESS, Reader, Write};
use crate::codec::CodecName;
use crate::direction::Direction;
use crate::encode::{
    ENTRY, KEY, read_ended, read_entry, read_keys, read_sent, write_ended, write_entries,
    write_names, write_sent,
};
use crate::flow::FlowKey;
use crate::frame::Message;
use crate::message::{Ended, Entry, Sent};
use crate::opening::{
    FlowOpening, OpeningAnswer, read_opening_answers, read_openings, write_opening_answers,
    write_openings,
};
use crate::proof::{PROOF, Proof, ProofRefusal};

/// The version of the local messages. An agent speaks that of the application, if it is no later
/// one.
pub const LOCAL_VERSION: u16 = 5;

/// The oldest version that is still spoken.
pub const OLDEST_LOCAL: u16 = 2;

/// The first version in which applications ask for proofs of flows and have them checked.
pub const LOCAL_TOKENS: u16 = 3;

/// The first version in which applications announce the flows that they open, and the end of each.
pub const LOCAL_OPENINGS: u16 = 4;

/// The first version in which the agent says how much of a coflow applications may send by
/// themselves.
pub const LOCAL_START_SMALL: u16 = 5;

/// The most bytes in a frame after its length, in both directions.
pub const MAX_LOCAL: usize = 1 << 20;

/// The most headers of flows to be checked in one frame.
pub const MAX_LOCAL_CHECKS: usize = 10_000;

/// The most flows named in one frame.
pub const MAX_LOCAL_FLOWS: usize = 20_000;

/// How a host carries a schedule out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// Flows are held and paced at the scheduled rates.
    Pacing,
    /// Flows send as fast as they can; their packets are marked with the class (DSCP).
    Marks,
    /// Both.
    PacingAndMarks,
    /// Flows are held, and the host keeps the rates of the others: applications say where they go.
    Shaping,
}

impl Means {
    /// Whether rates are kept.
    pub fn paces(self) -> bool {
        self != Means::Marks
    }

    /// Whether packets are marked.
    pub fn marks(self) -> bool {
        matches!(self, Means::Marks | Means::PacingAndMarks)
    }

    /// Whether the host keeps rates, so that sockets need not.
    pub fn shapes(self) -> bool {
        self == Means::Shaping
    }
}

/// From an application to the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum FromApp {
    /// The first message: [`LOCAL_VERSION`] of the application.
    Hello(u16),
    /// The application sends these flows from now on, when it may.
    Opened(Vec<FlowKey>),
    /// Flows have ended. Said again to an agent that comes back, until it is
    /// [`ToApp::Acknowledged`].
    Ended(Vec<Ended>),
    /// What flows have sent.
    Sent(Vec<Sent>),
    /// Of these flows, which were being served, the last bytes are in the sockets: they need
    /// nothing more.
    Written(Vec<FlowKey>),
    /// The application has given these flows up before their ends.
    Gone(Vec<FlowKey>),
    /// Where flows that have been opened go, for a host that shapes.
    Connected(Vec<Connected>),
    /// Proofs are asked for, by flow and the direction of its header. Each is answered by
    /// [`ToApp::Proofs`].
    Asks(Vec<(FlowKey, Direction)>),
    /// Headers of flows have come from other hosts. Each is answered by [`ToApp::Checked`].
    Checks(Vec<FlowCheck>),
    /// The application opens flows, or is sent them. Each is answered by [`ToApp::Openings`] when
    /// the coordinator has answered.
    Opens(Vec<FlowOpening>),
}

/// The header of a flow that has come from another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowCheck {
    /// The number by which the answer names it.
    pub number: u32,
    /// The flow that it claims to be.
    pub key: FlowKey,
    /// Its direction.
    pub direction: Direction,
    /// The proof that the header shows.
    pub proof: Option<Proof>,
    /// Where it comes from.
    pub peer: SocketAddr,
}

/// The connection of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connected {
    /// The flow.
    pub key: FlowKey,
    /// The sender's end.
    pub from: SocketAddr,
    /// The receiver's.
    pub to: SocketAddr,
}

/// From the agent to an application.
#[derive(Debug, Clone, PartialEq)]
pub enum ToApp {
    /// The application is heard.
    Welcome {
        /// [`LOCAL_VERSION`] of the agent.
        version: u16,
        /// The port of the fabric that the host is.
        port: u32,
        /// How schedules are carried out.
        means: Means,
        /// How often to say what flows have sent, in seconds.
        report_every_s: f64,
    },
    /// Flows of the application are served so from now on; those with a rate of 0 wait.
    Shares(Vec<Entry>),
    /// The ends of these flows are in the coordinator's journal.
    Acknowledged(Vec<FlowKey>),
    /// Whether the agent hears the coordinator, and what that may have flows compressed with.
    Coordinator {
        /// Whether it is heard.
        heard: bool,
        /// If nothing, flows that are opened now will not be compressed.
        codec: Option<CodecName>,
    },
    /// The agent speaks another version, or there is no room for more.
    Refused,
    /// The proofs that were asked for, by flow and direction; `None`: the header is to show none.
    Proofs(Vec<(FlowKey, Direction, Option<Proof>)>),
    /// Which headers are refused, and why, by the numbers of the checks.
    Checked(Vec<(u32, Option<ProofRefusal>)>),
    /// Whether headers of flows show proofs, and are to be checked, from now on.
    Proving(bool),
    /// Whether flows are opened as they are registered.
    Openings(Vec<OpeningAnswer>),
    /// Bytes that the flows of a coflow which the application has open may send before a schedule
    /// mentions them.
    StartSmall(u64),
}

const CONNECTED: usize = KEY + 2 * ADDRESS;
const ASK: usize = KEY + 1;
const CHECK: usize = 4 + ASK + PROOF + ADDRESS;
const OF_PROOF: usize = ASK + PROOF;
const OF_CHECK: usize = 5;

fn read_direction(body: &mut Reader<'_>) -> Option<Direction> {
    Direction::of_byte(body.u8()?)
}

fn read_check(body: &mut Reader<'_>) -> Option<FlowCheck> {
    Some(FlowCheck {
        number: body.u32()?,
        key: body.key()?,
        direction: read_direction(body)?,
        proof: Proof::read(body)?,
        peer: body.address()?,
    })
}

fn read_checked(body: &mut Reader<'_>) -> Option<(u32, Option<ProofRefusal>)> {
    let number = body.u32()?;
    match body.u8()? {
        0 => Some((number, None)),
        reason => Some((number, Some(ProofRefusal::of_byte(reason)?))),
    }
}

impl Message for FromApp {
    const MAX: usize = MAX_LOCAL;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            FromApp::Hello(version) => {
                out.push(1);
                out.u16(*version);
            }
            FromApp::Opened(keys) => write_names(2, keys, out),
            FromApp::Ended(flows) => {
                out.push(3);
                write_ended(flows, out);
            }
            FromApp::Sent(flows) => {
                out.push(4);
                write_sent(flows, out);
            }
            FromApp::Gone(keys) => write_names(5, keys, out),
            FromApp::Connected(flows) => {
                out.push(6);
                out.u32(flows.len() as u32);
                for &Connected { key, from, to } in flows {
                    out.name(key);
                    out.address(from);
                    out.address(to);
                }
            }
            FromApp::Written(keys) => write_names(7, keys, out),
            FromApp::Asks(asks) => {
                out.push(8);
                out.u32(asks.len() as u32);
                for &(key, direction) in asks {
                    out.name(key);
                    out.push(direction.byte());
                }
            }
            FromApp::Checks(checks) => {
                out.push(9);
                out.u32(checks.len() as u32);
                for FlowCheck { number, key, direction, proof, peer } in checks {
                    out.u32(*number);
                    out.name(*key);
                    out.push(direction.byte());
                    out.extend(Proof::encode(proof.as_ref()));
                    out.address(*peer);
                }
            }
            FromApp::Opens(openings) => {
                out.push(10);
                write_openings(openings, out);
            }
        }
    }

    fn read(kind: u8, body: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            1 => FromApp::Hello(body.u16()?),
            2 => FromApp::Opened(read_keys(body)?),
            3 => FromApp::Ended(read_ended(body)?),
            4 => FromApp::Sent(read_sent(body)?),
            5 => FromApp::Gone(read_keys(body)?),
            6 => {
                let count = body.u32()?;
                FromApp::Connected(body.items(count, CONNECTED, |body| {
                    let key = body.key()?;
                    Some(Connected { key, from: body.address()?, to: body.address()? })
                })?)
            }
            7 => FromApp::Written(read_keys(body)?),
            8 => {
                let count = body.u32()?;
                let ask = |body: &mut Reader<'_>| Some((body.key()?, read_direction(body)?));
                FromApp::Asks(body.items(count, ASK, ask)?)
            }
            9 => {
                let count = body.u32()?;
                FromApp::Checks(body.items(count, CHECK, read_check)?)
            }
            10 => FromApp::Opens(read_openings(body)?),
            _ => return None,
        })
    }
}

impl Message for ToApp {
    const MAX: usize = MAX_LOCAL;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            ToApp::Welcome { version, port, means, report_every_s } => {
                out.push(1);
                out.u16(*version);
                out.u32(*port);
                let bits = [means.paces(), means.marks(), means.shapes()].map(u8::from);
                out.push(bits[0] | bits[1] << 1 | bits[2] << 2);
                out.f64(*report_every_s);
            }
            ToApp::Shares(entries) => {
                out.push(2);
                out.u32(entries.len() as u32);
                write_entries(entries, out);
            }
            ToApp::Acknowledged(keys) => write_names(3, keys, out),
            ToApp::Coordinator { heard, codec } => {
                out.extend([4, u8::from(*heard), CodecName::byte(*codec)]);
            }
            ToApp::Refused => out.push(5),
            ToApp::Proofs(proofs) => {
                out.push(6);
                out.u32(proofs.len() as u32);
                for (key, direction, proof) in proofs {
                    out.name(*key);
                    out.push(direction.byte());
                    out.extend(Proof::encode(proof.as_ref()));
                }
            }
            ToApp::Checked(checked) => {
                out.push(7);
                out.u32(checked.len() as u32);
                for (number, refusal) in checked {
                    out.u32(*number);
                    out.push(refusal.map_or(0, ProofRefusal::byte));
                }
            }
            ToApp::Proving(is_proving) => out.extend([8, u8::from(*is_proving)]),
            ToApp::Openings(answers) => {
                out.push(9);
                write_opening_answers(answers, out);
            }
            ToApp::StartSmall(bytes) => {
                out.push(10);
                out.u64(*bytes);
            }
        }
    }

    fn read(kind: u8, body: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            1 => ToApp::Welcome {
                version: body.u16()?,
                port: body.u32()?,
                means: match body.u8()? {
                    1 => Means::Pacing,
                    2 => Means::Marks,
                    3 => Means::PacingAndMarks,
                    5 => Means::Shaping,
                    _ => return None,
                },
                report_every_s: body.finite()?,
            },
            2 => {
                let count = body.u32()?;
                ToApp::Shares(body.items(count, ENTRY, read_entry)?)
            }
            3 => ToApp::Acknowledged(read_keys(body)?),
            4 => ToApp::Coordinator {
                heard: match body.u8()? {
                    0 => false,
                    1 => true,
                    _ => return None,
                },
                codec: CodecName::read(body)?,
            },
            5 => ToApp::Refused,
            6 => {
                let count = body.u32()?;
                ToApp::Proofs(body.items(count, OF_PROOF, |body| {
                    Some((body.key()?, read_direction(body)?, Proof::read(body)?))
                })?)
            }
            7 => {
                let count = body.u32()?;
                ToApp::Checked(body.items(count, OF_CHECK, read_checked)?)
            }
            8 => ToApp::Proving(match body.u8()? {
                0 => false,
                1 => true,
                _ => return None,
            }),
            9 => ToApp::Openings(read_opening_answers(body)?),
            10 => ToApp::StartSmall(body.u64()?),
            _ => return None,
        })
    }
}
