//! The framing of snappy-java's `SnappyOutputStream`.
//!
//! A header of 16 bytes (the magic word and two versions), then chunks: a big-endian length of four
//! bytes, and a raw block of Snappy. Where streams were appended, a header stands between chunks.

use std::io::{self, BufRead};

use super::chunks::{array, at_end, broken, bytes, check};

pub(super) const MAGIC: &[u8] = b"\x82SNAPPY\0";

pub(super) fn next(source: &mut impl BufRead, plain: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        if at_end(source)? {
            return Ok(false);
        }
        let four: [u8; 4] = array(source)?;
        if four == MAGIC[..4] {
            // The rest of a header.
            array::<12>(source)?;
            continue;
        }
        let block = bytes(source, u32::from_be_bytes(four) as usize)?;
        let error = |error: snap::Error| broken(&format!("a chunk is no Snappy: {error}"));
        check(snap::raw::decompress_len(&block).map_err(error)?)?;
        *plain = snap::raw::Decoder::new().decompress_vec(&block).map_err(error)?;
        return Ok(true);
    }
}
