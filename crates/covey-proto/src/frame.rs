//! Frames: a length, a kind, a body.

use crate::bytes::{Reader, Write};

/// A message of one direction.
pub trait Message: Sized {
    /// The most bytes of a frame after its length.
    const MAX: usize;
    /// Appends the message's kind, a byte, and its body.
    #[doc(hidden)]
    fn write(&self, out: &mut Vec<u8>);
    /// The message of a kind, taken from the front of a body; `None` if the kind is unknown or the
    /// body is not one of this kind. The caller checks that nothing of the body is left.
    #[doc(hidden)]
    fn read(kind: u8, body: &mut Reader<'_>) -> Option<Self>;
}

/// Appends a message to `out` as a frame.
pub fn encode(message: &impl Message, out: &mut Vec<u8>) {
    let start = out.len();
    out.u32(0);
    message.write(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}
