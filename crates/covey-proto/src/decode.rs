//! Bytes to messages.

use thiserror::Error;

use crate::bytes::Reader;
use crate::frame::Message;

/// Why bytes are no message. The session cannot go on: where the next frame begins is not known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProtoError {
    /// A frame is longer than is allowed in this direction, or empty.
    #[error("a frame of {found} bytes: expected from 1 to {max}")]
    Length {
        /// What the frame says.
        found: usize,
        /// What it may be at most.
        max: usize,
    },
    /// The body does not have the layout of its kind, or there is no such kind.
    #[error("a frame of {length} bytes that is no message of kind {kind}")]
    Body {
        /// The kind it claims to be.
        kind: u8,
        /// Its length.
        length: usize,
    },
}

/// Cuts a stream of bytes into messages.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes at the front that have been decoded.
    used: usize,
}

impl Decoder {
    /// Adds bytes that have come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.used);
        self.used = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The bytes that have come and are not decoded.
    pub fn into_rest(mut self) -> Vec<u8> {
        self.buffer.drain(..self.used);
        self.buffer
    }

    /// The next message; `None` when its last byte has not come.
    ///
    /// # Errors
    /// When the bytes are no message.
    pub fn take<M: Message>(&mut self) -> Result<Option<M>, ProtoError> {
        let rest = &self.buffer[self.used..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 || length > M::MAX {
            return Err(ProtoError::Length { found: length, max: M::MAX });
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        let mut body = Reader::new(&frame[1..]);
        let message = M::read(frame[0], &mut body).filter(|_| body.is_empty());
        match message {
            Some(message) => {
                self.used += 4 + length;
                Ok(Some(message))
            }
            None => Err(ProtoError::Body { kind: frame[0], length }),
        }
    }
}
