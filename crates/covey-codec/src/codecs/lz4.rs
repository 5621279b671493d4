//! LZ4, a block at a time.

use crate::codec::ChunkCodec;

pub struct Lz4;

impl ChunkCodec for Lz4 {
    fn max_compressed(&self, raw: usize) -> usize {
        lz4_flex::block::get_maximum_output_size(raw)
    }

    fn compress(&self, raw: &[u8], into: &mut [u8]) -> Option<usize> {
        lz4_flex::block::compress_into(raw, into).ok()
    }

    fn decompress(&self, coded: &[u8], into: &mut [u8]) -> Option<usize> {
        lz4_flex::block::decompress_into(coded, into).ok()
    }
}
