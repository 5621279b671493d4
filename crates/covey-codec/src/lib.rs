//! The compressors that flows are sent with, and how fast they are on this machine.
//!
//! [`pack`] and [`unpack`] do one chunk of a flow at a time, by libraries that are made for it. What the
//! compressors need beside the chunk is kept once a thread, not once a flow. A checksum of the raw bytes
//! goes with each chunk, so that a compressor that is wrong is noticed. [`measure`] finds out the
//! speed `R` and the ratio `ξ` (Swallow, IPDPS 2018, §IV).

mod measure;
mod sample;

use std::cell::RefCell;

use covey_proto::{CodecName, MAX_CHUNK};
use thiserror::Error;

pub use measure::measure;
pub use sample::sample;

/// Swallow's Zstd is as small as this level, and a little slower.
const ZSTD_LEVEL: i32 = 1;

/// Why bytes cannot be unpacked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The compressor does not know what to make of them.
    #[error("a chunk of {coded} bytes is nothing that {codec} has made of {raw}")]
    Garbage {
        /// The compressor.
        codec: &'static str,
        /// Bytes of the chunk.
        coded: usize,
        /// Bytes that it should have.
        raw: usize,
    },
    /// Other bytes have come out than went in.
    #[error("a chunk of {raw} bytes by {codec}: checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// The compressor.
        codec: &'static str,
        /// Bytes of the chunk.
        raw: usize,
        /// What was found.
        found: u32,
        /// What the sender says.
        expected: u32,
    },
}

/// The checksum that goes with a chunk.
pub fn checksum(raw: &[u8]) -> u32 {
    crc32fast::hash(raw)
}

/// What compressors need beside the bytes.
struct Tools {
    snappy: snap::raw::Encoder,
    pack_zstd: Option<zstd::bulk::Compressor<'static>>,
    unpack_zstd: Option<zstd::bulk::Decompressor<'static>>,
}

thread_local! {
    static TOOLS: RefCell<Tools> = RefCell::new(Tools {
        snappy: snap::raw::Encoder::new(),
        pack_zstd: None,
        unpack_zstd: None,
    });
}

/// Compresses `raw`, which is not empty, behind what is in `out`. Returns whether that made it smaller; if
/// not, `out` is as it was.
pub fn pack(codec: CodecName, raw: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let room = match codec {
        CodecName::Lz4 => lz4_flex::block::get_maximum_output_size(raw.len()),
        CodecName::Snappy => snap::raw::max_compress_len(raw.len()),
        CodecName::Zstd => zstd::zstd_safe::compress_bound(raw.len()),
        CodecName::Lzf => 0,
    };
    out.resize(start + room, 0);
    let into = &mut out[start..];
    let packed = match codec {
        CodecName::Lz4 => lz4_flex::block::compress_into(raw, into).ok(),
        CodecName::Snappy => TOOLS.with_borrow_mut(|tools| tools.snappy.compress(raw, into)).ok(),
        CodecName::Zstd => TOOLS.with_borrow_mut(|tools| {
            if tools.pack_zstd.is_none() {
                tools.pack_zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL).ok();
            }
            tools.pack_zstd.as_mut()?.compress_to_buffer(raw, into).ok()
        }),
        CodecName::Lzf => lzf::compress(raw).ok().map(|packed| {
            out.extend_from_slice(&packed);
            packed.len()
        }),
    };
    let packed = packed.filter(|length| *length < raw.len());
    out.truncate(start + packed.unwrap_or(0));
    packed.is_some()
}

/// Puts into `out`, in place of what is there, the `raw` bytes that [`pack`] made `coded` of.
///
/// # Errors
/// When `coded` is nothing that it can have made, or the checksum differs.
pub fn unpack(
    codec: CodecName,
    coded: &[u8],
    raw: usize,
    expected: u32,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let garbage = || CodecError::Garbage { codec: codec.name(), coded: coded.len(), raw };
    if raw > MAX_CHUNK {
        return Err(garbage());
    }
    out.clear();
    out.resize(raw, 0);
    let length = match codec {
        CodecName::Lz4 => lz4_flex::block::decompress_into(coded, out).ok(),
        CodecName::Snappy => snap::raw::Decoder::new().decompress(coded, out).ok(),
        CodecName::Zstd => TOOLS.with_borrow_mut(|tools| {
            if tools.unpack_zstd.is_none() {
                tools.unpack_zstd = zstd::bulk::Decompressor::new().ok();
            }
            tools.unpack_zstd.as_mut()?.decompress_to_buffer(coded, out.as_mut_slice()).ok()
        }),
        CodecName::Lzf => lzf::decompress(coded, raw).ok().map(|unpacked| {
            *out = unpacked;
            out.len()
        }),
    };
    if length != Some(raw) {
        return Err(garbage());
    }
    let found = checksum(out);
    if found != expected {
        return Err(CodecError::Checksum { codec: codec.name(), raw, found, expected });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(codec: CodecName, raw: &[u8]) -> Option<usize> {
        let mut out = b"before".to_vec();
        let packed = pack(codec, raw, &mut out);
        assert_eq!(&out[..6], b"before");
        if !packed {
            assert_eq!(out.len(), 6);
            return None;
        }
        let mut back = vec![1; 3];
        unpack(codec, &out[6..], raw.len(), checksum(raw), &mut back).expect("what was packed");
        assert!(back == raw, "{}: other bytes", codec.name());
        Some(out.len() - 6)
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let sample = sample(200_000);
        for codec in CodecName::ALL {
            for length in [1, 2, 13, 64 << 10, 200_000] {
                let packed = round(codec, &sample[..length]);
                assert!(packed.is_none_or(|packed| packed < length));
            }
            assert!(round(codec, &vec![7; MAX_CHUNK]).is_some_and(|packed| packed < 100_000));
        }
    }

    #[test]
    fn what_does_not_shrink_stays() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(64 << 10)
        .collect();
        for codec in CodecName::ALL {
            assert_eq!(round(codec, &noise), None, "{}", codec.name());
        }
    }

    #[test]
    fn damage_is_an_error_whatever_it_hits() {
        let raw = sample(10_000);
        for codec in CodecName::ALL {
            let mut packed = Vec::new();
            assert!(pack(codec, &raw, &mut packed));
            let sum = checksum(&raw);
            let mut out = Vec::new();
            for at in (0..packed.len()).step_by(7) {
                packed[at] ^= 0x55;
                let found = unpack(codec, &packed, raw.len(), sum, &mut out);
                // Some bits of a frame mean nothing: then what comes out is right.
                assert!(found.is_err() || out == raw, "{} at {at}", codec.name());
                packed[at] ^= 0x55;
            }
            assert!(unpack(codec, &packed[..9], raw.len(), sum, &mut out).is_err());
            assert!(unpack(codec, &[], raw.len(), sum, &mut out).is_err());
            assert!(unpack(codec, &packed, raw.len() - 1, sum, &mut out).is_err());
            let error = unpack(codec, &packed, raw.len(), sum ^ 1, &mut out).expect_err("a sum");
            assert!(error.to_string().contains("checksum"), "{error}");
        }
    }
}
