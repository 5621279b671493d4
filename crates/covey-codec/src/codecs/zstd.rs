//! Zstandard, a frame at a time.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

use crate::codec::ChunkCodec;

/// At this level the ratio is that of Swallow's Zstd, and the speed a little lower.
const LEVEL: i32 = 1;

pub struct Zstd;

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

impl ChunkCodec for Zstd {
    fn max_compressed(&self, raw: usize) -> usize {
        zstd::zstd_safe::compress_bound(raw)
    }

    fn compress(&self, raw: &[u8], into: &mut [u8]) -> Option<usize> {
        COMPRESSOR.with_borrow_mut(|compressor| {
            if compressor.is_none() {
                *compressor = Compressor::new(LEVEL).ok();
            }
            compressor.as_mut()?.compress_to_buffer(raw, into).ok()
        })
    }

    fn decompress(&self, coded: &[u8], into: &mut [u8]) -> Option<usize> {
        DECOMPRESSOR.with_borrow_mut(|decompressor| {
            if decompressor.is_none() {
                *decompressor = Decompressor::new().ok();
            }
            decompressor.as_mut()?.decompress_to_buffer(coded, into).ok()
        })
    }
}
