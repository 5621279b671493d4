//! Frames: a length, a kind, a body.

use crate::bytes::{Reader, Write};

/// A message of one direction.
pub trait Message: Sized {
    /// The most bytes of a frame after its length.
    const MAX: usize;
    #[doc(hidden)]
    fn write(&self, out: &mut Vec<u8>);
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
