//! The messages between the coordinator, its agents, relays and applications, as bytes.
//!
//! A message travels in a frame: its length, its kind, its body, in a fixed little-endian layout
//! that another language can speak (docs/protocol.md). This crate does no I/O: [`encode`] appends a
//! frame to a buffer, and a [`Decoder`] takes frames out of whatever bytes have come. Bytes that
//! mean nothing are an error, never a panic, and a length is checked before memory is taken for it.
//! A [`FlowHeader`] tells on a flow's own connection which flow it is, and a [`Proof`] that it is.
//! Where nobody is in charge, [`Note`]s and [`Reply`]s travel on that connection, too.

mod bytes;
mod codec;
mod decode;
mod direction;
mod encode;
mod flow;
mod frame;
mod header;
mod local;
mod message;
mod names;
mod note;
mod opening;
mod proof;
mod relay;
mod version;

pub use bytes::MAX_BYTES;
pub use codec::CodecName;
pub use decode::{Decoder, ProtoError};
pub use direction::Direction;
pub use flow::{FlowId, FlowKey, FlowName};
pub use frame::{Message, encode};
pub use header::{
    CHUNK_HEADER, ChunkHeader, FlowHeader, HEADER, HeaderError, HeaderRest, MAX_CHUNK, NOTE,
    REFUSAL, TLS_HANDSHAKE, refusal_of, refusal_to,
};
pub use local::{
    Connected, FlowCheck, FromApp, LOCAL_OPENINGS, LOCAL_START_SMALL, LOCAL_TOKENS, LOCAL_VERSION,
    MAX_LOCAL, MAX_LOCAL_CHECKS, MAX_LOCAL_FLOWS, Means, OLDEST_LOCAL, ToApp,
};
pub use message::{
    Appearance, Appeared, Compressor, Ended, Entry, FlowAnnouncement, FromAgent, Hello, Links,
    MAX_FROM_AGENT, MAX_TO_AGENT, Processor, Refusal, ReportThreshold, Schedule, Sent, Service,
    ToAgent, Use, Uses, Welcome,
};
pub use note::{Note, REPLY, Reply};
pub use opening::{
    CoflowTurn, FlowFacts, FlowOpening, OpeningAnswer, OpeningError, Passing, Side, WrongOpening,
};
pub use proof::{
    FlowAnswer, FlowAsk, FlowKeys, FlowTokens, Key, Mac, PROOF, Proof, ProofRefusal, Purpose, Token,
};
pub use relay::{FromRelay, MAX_PIECE, Opening, RELAY_VERSION, RelayHello, ToRelay};
pub use version::{
    APPEARANCES, IDS, LINKS, OLDEST, OPENINGS, START_SMALL, TOKENS, USES, VERSION, common_version,
};
