//! One chunk of a flow: compressed, and restored.

use covey_proto::{CodecName, MAX_CHUNK};
use thiserror::Error;

use crate::codecs;

/// Why bytes cannot be unpacked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The bytes are not what the compressor makes of so many.
    #[error("a chunk of {coded} bytes: not what {codec} makes of {raw} bytes")]
    Garbage {
        /// Name of the compressor.
        codec: &'static str,
        /// Length of the chunk.
        coded: usize,
        /// Length that the raw bytes should have.
        raw: usize,
    },
    /// The raw bytes differ from those that were compressed.
    #[error("a chunk of {raw} bytes by {codec}: checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// Name of the compressor.
        codec: &'static str,
        /// Length of the raw bytes.
        raw: usize,
        /// Checksum of the raw bytes.
        found: u32,
        /// Checksum that the sender has sent.
        expected: u32,
    },
}

/// The checksum of a chunk's raw bytes.
pub fn checksum(raw: &[u8]) -> u32 {
    crc32fast::hash(raw)
}

/// Compresses `raw`, which is not empty, and appends the result to `out`. Returns whether the
/// result is smaller than `raw`; if not, `out` stays as it was.
pub fn pack(name: CodecName, raw: &[u8], out: &mut Vec<u8>) -> bool {
    let (codec, start) = (codecs::codec(name), out.len());
    out.resize(start + codec.max_compressed(raw.len()), 0);
    let packed = codec.compress(raw, &mut out[start..]).filter(|length| *length < raw.len());
    out.truncate(start + packed.unwrap_or(0));
    packed.is_some()
}

/// Restores the `raw` bytes that [`pack`] has compressed to `coded`. They replace what is in `out`.
///
/// # Errors
/// When `coded` is not what [`pack`] makes of so many bytes, or the checksum differs.
pub fn unpack(
    name: CodecName,
    coded: &[u8],
    raw: usize,
    expected: u32,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let garbage = || CodecError::Garbage { codec: name.name(), coded: coded.len(), raw };
    if raw > MAX_CHUNK {
        return Err(garbage());
    }
    out.clear();
    out.resize(raw, 0);
    if codecs::codec(name).decompress(coded, out) != Some(raw) {
        return Err(garbage());
    }
    let found = checksum(out);
    if found != expected {
        return Err(CodecError::Checksum { codec: name.name(), raw, found, expected });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

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
    fn unpacking_restores_the_bytes() {
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
    fn bytes_that_do_not_shrink_are_left_alone() {
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
    fn damage_is_an_error_anywhere_in_a_chunk() {
        let raw = sample(10_000);
        for codec in CodecName::ALL {
            let mut packed = Vec::new();
            assert!(pack(codec, &raw, &mut packed));
            let sum = checksum(&raw);
            let mut out = Vec::new();
            for at in (0..packed.len()).step_by(7) {
                packed[at] ^= 0x55;
                let found = unpack(codec, &packed, raw.len(), sum, &mut out);
                // Some bits of a frame have no meaning: the result is then correct.
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
