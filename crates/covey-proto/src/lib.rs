//! The messages between the coordinator, its agents and applications, as bytes.
//!
//! A message travels in a frame: its length, its kind, its body, in a fixed little-endian layout that
//! another language can speak (docs/protocol.md). This crate does no I/O: [`encode`] appends a frame to
//! a buffer, and a [`Decoder`] takes frames out of whatever bytes have come. Bytes that mean nothing
//! are an error, never a panic, and a length is checked before memory is taken for it.
//! A [`FlowHeader`] tells on a flow's own connection which flow it is.

mod bytes;
mod codec;
mod decode;
mod encode;
mod header;
mod local;
mod message;

pub use codec::CodecName;
pub use decode::{Decoder, ProtoError};
pub use encode::encode;
pub use header::{
    CHUNK_HEADER, ChunkHeader, Direction, FlowHeader, HEADER, HeaderError, MOST_CHUNK,
};
pub use local::{Connected, FromApp, LOCAL_VERSION, MOST_LOCAL, MOST_LOCAL_FLOWS, Means, ToApp};
pub use message::{
    Compressor, Ended, Entry, FlowKey, FromAgent, Grain, Hello, Message, Processor, Refusal,
    Schedule, Sent, ToAgent, Use, Uses, Welcome,
};

/// The version of the messages between agent and coordinator.
pub const VERSION: u16 = 3;

/// The oldest version that is still spoken: the one before.
pub const OLDEST: u16 = 2;

/// The first version in which agents tell how flows are used ([`FromAgent::Uses`], [`FromAgent::Keeps`]), and
/// coordinators that they are there ([`ToAgent::Alive`]).
pub const USES: u16 = 3;

/// The version to speak with a side of version `theirs`: the lesser, if that is still spoken.
pub fn common_version(theirs: u16) -> Option<u16> {
    (theirs >= OLDEST).then_some(theirs.min(VERSION))
}

/// The most bytes in a frame after its length, to an agent: a schedule of some 600,000 flows.
pub const MOST_TO_AGENT: usize = 16 << 20;

/// The most bytes in a frame after its length, from an agent.
pub const MOST_FROM_AGENT: usize = 1 << 20;
