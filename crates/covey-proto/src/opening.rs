//! Whether flows are opened where they are registered, and as they are.

use std::fmt;

use crate::bytes::{Reader, Write};
use crate::flow::{FlowKey, FlowName};

/// The end of a flow at which an application has it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The host that sends it.
    Sends,
    /// The host that receives it.
    Receives,
}

/// An application has opened a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowOpening {
    /// The flow, by coflow and index.
    pub key: FlowKey,
    /// The end at which it is open.
    pub side: Side,
    /// Number of bytes that are to be sent; infinite if it is not known.
    pub bytes: f64,
}

/// What is registered of a flow that is opened rightly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowFacts {
    /// The port of the fabric at the other end.
    pub peer: u32,
    /// Its bytes; infinite if they are not known.
    pub bytes: f64,
}

/// Why a flow is opened wrongly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OpeningError {
    /// The coordinator has registered no coflow of this number.
    Unregistered,
    /// The coflow has ended, or was removed.
    CoflowOver,
    /// The coflow has so many flows, and not this one.
    NoFlow(u32),
    /// This end of the flow is the host of another port.
    OtherHost(u32),
    /// The flow has ended.
    FlowOver,
    /// More is to be sent than the bytes that are registered.
    TooMany(f64),
    /// The flow was opened again on the host since.
    Taken,
}

impl OpeningError {
    /// All of them, without their numbers, in the order of their bytes on the wire.
    pub const ALL: [OpeningError; 7] = [
        OpeningError::Unregistered,
        OpeningError::CoflowOver,
        OpeningError::NoFlow(0),
        OpeningError::OtherHost(0),
        OpeningError::FlowOver,
        OpeningError::TooMany(0.0),
        OpeningError::Taken,
    ];

    /// Its place in [`OpeningError::ALL`].
    pub fn place(self) -> usize {
        usize::from(self.byte()) - 1
    }

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            OpeningError::Unregistered => "unregistered",
            OpeningError::CoflowOver => "coflow_over",
            OpeningError::NoFlow(_) => "no_flow",
            OpeningError::OtherHost(_) => "other_host",
            OpeningError::FlowOver => "flow_over",
            OpeningError::TooMany(_) => "too_many_bytes",
            OpeningError::Taken => "taken",
        }
    }

    fn byte(self) -> u8 {
        match self {
            OpeningError::Unregistered => 1,
            OpeningError::CoflowOver => 2,
            OpeningError::NoFlow(_) => 3,
            OpeningError::OtherHost(_) => 4,
            OpeningError::FlowOver => 5,
            OpeningError::TooMany(_) => 6,
            OpeningError::Taken => 7,
        }
    }
}

/// The answer to a [`FlowOpening`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpeningAnswer {
    /// The flow, as the opening names it.
    pub key: FlowKey,
    /// The end at which it is open.
    pub side: Side,
    /// What is registered of it, or why it is opened wrongly.
    pub found: Result<FlowFacts, OpeningError>,
}

/// A flow that is opened wrongly. Says what is wrong and what to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WrongOpening {
    /// The flow.
    pub key: FlowKey,
    /// The end at which it is open.
    pub side: Side,
    /// Why it is wrong.
    pub why: OpeningError,
}

impl fmt::Display for WrongOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FlowKey { coflow, flow } = self.key;
        match (self.why, self.side) {
            (OpeningError::Unregistered, _) => write!(
                f,
                "flow {flow} of coflow {coflow}: no such coflow is registered: register one, and open \
                 its flows by the number that the coordinator gives it"
            ),
            (OpeningError::CoflowOver, _) => write!(
                f,
                "flow {flow} of coflow {coflow}: the coflow has ended, or was removed: register \
                 another one"
            ),
            (OpeningError::NoFlow(0), _) => write!(
                f,
                "flow {flow} of coflow {coflow}: the coflow has no flows: add some (PATCH, `add`)"
            ),
            (OpeningError::NoFlow(count), _) => write!(
                f,
                "flow {flow} of coflow {coflow}: expected an index from 0 to {}, as registered: open \
                 one of these, or add the flow (PATCH, `add`)",
                count - 1
            ),
            (OpeningError::OtherHost(port), Side::Sends) => write!(
                f,
                "flow {flow} of coflow {coflow}: the host of port {port} is registered to send it, \
                 not this one: open it there, or change its `src`"
            ),
            (OpeningError::OtherHost(port), Side::Receives) => write!(
                f,
                "flow {flow} of coflow {coflow}: the host of port {port} is registered to receive \
                 it, not this one: open it to that host, or change its `dst`"
            ),
            (OpeningError::FlowOver, _) => write!(
                f,
                "flow {flow} of coflow {coflow}: the flow has ended: to send more, add another flow \
                 (PATCH, `add`)"
            ),
            (OpeningError::TooMany(bytes), _) => write!(
                f,
                "flow {flow} of coflow {coflow}: more is to be sent than the {bytes} bytes that are \
                 registered: register as many as are sent, or none if that is not known"
            ),
            (OpeningError::Taken, _) => write!(
                f,
                "flow {flow} of coflow {coflow}: it was opened again on this host since: send it from \
                 one place"
            ),
        }
    }
}

impl std::error::Error for WrongOpening {}

/// When coflows have their turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoflowTurn {
    /// Number of the coflow.
    pub coflow: u64,
    /// Its layer in the plan, 0 first. Within a layer coflows go by DAG, then by depth, then by
    /// number.
    pub layer: u32,
    /// Its DAG, in the order of arrival.
    pub dag: u64,
    /// How deep in the DAG it is: 0 has no parents.
    pub depth: u32,
    /// Bytes on the wire that the coflow may still send, at all hosts, in this layer; infinite if
    /// it stays in the layer.
    pub left: f64,
}

/// A flow that has ended or needs nothing more, and the flow that uses its rate until a schedule
/// removes the former.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing {
    /// The flow that was served.
    pub from: FlowName,
    /// The one that has its rate.
    pub to: FlowName,
}

pub(crate) const OPENING: usize = 12 + 1 + 8;
pub(crate) const OPENING_ANSWER: usize = 12 + 1 + 1 + 4 + 8;
pub(crate) const TURN: usize = 8 + 4 + 8 + 4 + 8;
pub(crate) const PASSING: usize = 12 + 12;

impl Side {
    fn byte(self) -> u8 {
        match self {
            Side::Sends => 0,
            Side::Receives => 1,
        }
    }

    fn read(body: &mut Reader<'_>) -> Option<Side> {
        match body.u8()? {
            0 => Some(Side::Sends),
            1 => Some(Side::Receives),
            _ => None,
        }
    }
}

pub(crate) fn write_openings(openings: &[FlowOpening], out: &mut Vec<u8>) {
    out.u32(openings.len() as u32);
    for &FlowOpening { key, side, bytes } in openings {
        out.name(key);
        out.push(side.byte());
        out.f64(bytes);
    }
}

pub(crate) fn read_openings(body: &mut Reader<'_>) -> Option<Vec<FlowOpening>> {
    let count = body.u32()?;
    body.items(count, OPENING, |body| {
        Some(FlowOpening { key: body.key()?, side: Side::read(body)?, bytes: body.amount()? })
    })
}

pub(crate) fn write_opening_answers(answers: &[OpeningAnswer], out: &mut Vec<u8>) {
    out.u32(answers.len() as u32);
    for OpeningAnswer { key, side, found } in answers {
        out.name(*key);
        out.push(side.byte());
        let (verdict, number, bytes) = match *found {
            Ok(FlowFacts { peer, bytes }) => (0, peer, bytes),
            Err(why) => match why {
                OpeningError::NoFlow(number) | OpeningError::OtherHost(number) => {
                    (why.byte(), number, 0.0)
                }
                OpeningError::TooMany(bytes) => (why.byte(), 0, bytes),
                _ => (why.byte(), 0, 0.0),
            },
        };
        out.push(verdict);
        out.u32(number);
        out.f64(bytes);
    }
}

pub(crate) fn read_opening_answers(body: &mut Reader<'_>) -> Option<Vec<OpeningAnswer>> {
    let count = body.u32()?;
    body.items(count, OPENING_ANSWER, |body| {
        let (key, side, verdict) = (body.key()?, Side::read(body)?, body.u8()?);
        let (number, bytes) = (body.u32()?, body.amount()?);
        let found = match verdict {
            0 => Ok(FlowFacts { peer: number, bytes }),
            1 => Err(OpeningError::Unregistered),
            2 => Err(OpeningError::CoflowOver),
            3 => Err(OpeningError::NoFlow(number)),
            4 => Err(OpeningError::OtherHost(number)),
            5 => Err(OpeningError::FlowOver),
            6 => Err(OpeningError::TooMany(bytes)),
            7 => Err(OpeningError::Taken),
            _ => return None,
        };
        Some(OpeningAnswer { key, side, found })
    })
}

pub(crate) fn write_turns(turns: &[CoflowTurn], out: &mut Vec<u8>) {
    out.u32(turns.len() as u32);
    for &CoflowTurn { coflow, layer, dag, depth, left } in turns {
        out.u64(coflow);
        out.u32(layer);
        out.u64(dag);
        out.u32(depth);
        out.f64(left);
    }
}

pub(crate) fn read_turns(body: &mut Reader<'_>) -> Option<Vec<CoflowTurn>> {
    let count = body.u32()?;
    body.items(count, TURN, |body| {
        Some(CoflowTurn {
            coflow: body.u64()?,
            layer: body.u32()?,
            dag: body.u64()?,
            depth: body.u32()?,
            left: body.amount()?,
        })
    })
}

pub(crate) fn write_passings(passings: &[Passing], out: &mut Vec<u8>) {
    out.u32(passings.len() as u32);
    for &Passing { from, to } in passings {
        out.name(from);
        out.name(to);
    }
}

pub(crate) fn read_passings(body: &mut Reader<'_>) -> Option<Vec<Passing>> {
    let count = body.u32()?;
    body.items(count, PASSING, |body| Some(Passing { from: body.name()?, to: body.name()? }))
}
