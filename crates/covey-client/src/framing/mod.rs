//! The format of a flow's bytes on its connection: plain, or in chunks (docs/protocol.md).
//!
//! A chunk is plain or compressed. A plain chunk goes straight from the writer's memory and into
//! the reader's; bytes to be compressed are gathered first. There is no I/O here: [`FrameEncoder`]
//! says what to write next and is told how much was written; [`FrameDecoder`] says where to put the
//! bytes that are read.

mod decoder;
mod encoder;
#[cfg(test)]
mod tests;

pub(crate) use decoder::{FrameDecoder, Next};
pub(crate) use encoder::{FrameEncoder, MAX_NOTED_CHUNK, Taken, Written};
