//! The compressors: a file each, and the list by which [`crate::pack`] finds them.

mod lz4;
mod lzf;
mod snappy;
mod zstd;

use covey_proto::CodecName;

use crate::codec::ChunkCodec;

/// The compressor of that name.
pub fn codec(name: CodecName) -> &'static dyn ChunkCodec {
    match name {
        CodecName::Lz4 => &lz4::Lz4,
        CodecName::Snappy => &snappy::Snappy,
        CodecName::Zstd => &zstd::Zstd,
        CodecName::Lzf => &lzf::Lzf,
    }
}
