//! Snappy, a block at a time.

use std::cell::RefCell;

use crate::codec::ChunkCodec;

pub struct Snappy;

thread_local! {
    static ENCODER: RefCell<snap::raw::Encoder> = RefCell::new(snap::raw::Encoder::new());
}

impl ChunkCodec for Snappy {
    fn max_compressed(&self, raw: usize) -> usize {
        snap::raw::max_compress_len(raw)
    }

    fn compress(&self, raw: &[u8], into: &mut [u8]) -> Option<usize> {
        ENCODER.with_borrow_mut(|encoder| encoder.compress(raw, into).ok())
    }

    fn decompress(&self, coded: &[u8], into: &mut [u8]) -> Option<usize> {
        snap::raw::Decoder::new().decompress(coded, into).ok()
    }
}
