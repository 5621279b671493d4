//! LZF.

use crate::codec::ChunkCodec;

pub struct Lzf;

impl ChunkCodec for Lzf {
    fn max_compressed(&self, raw: usize) -> usize {
        // The library fails rather than return more bytes than it was given.
        raw
    }

    fn compress(&self, raw: &[u8], into: &mut [u8]) -> Option<usize> {
        copy(&lzf::compress(raw).ok()?, into)
    }

    fn decompress(&self, coded: &[u8], into: &mut [u8]) -> Option<usize> {
        copy(&lzf::decompress(coded, into.len()).ok()?, into)
    }
}

/// Copies what the library returns as a vector of its own.
fn copy(bytes: &[u8], into: &mut [u8]) -> Option<usize> {
    into.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(bytes.len())
}
