//! How the bytes of a flow are compressed.

use crate::bytes::Reader;

/// A compressor that both ends of a flow know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodecName {
    /// LZ4, a block at a time.
    Lz4 = 1,
    /// Snappy, a block at a time.
    Snappy = 2,
    /// Zstandard, a frame at a time.
    Zstd = 3,
    /// LZF.
    Lzf = 4,
}

impl CodecName {
    /// All of them.
    pub const ALL: [CodecName; 4] =
        [CodecName::Lz4, CodecName::Snappy, CodecName::Zstd, CodecName::Lzf];

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            CodecName::Lz4 => "lz4",
            CodecName::Snappy => "snappy",
            CodecName::Zstd => "zstd",
            CodecName::Lzf => "lzf",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<CodecName> {
        CodecName::ALL.into_iter().find(|codec| codec.name() == name)
    }

    /// The byte that stands for it, or for none.
    pub(crate) fn byte(codec: Option<CodecName>) -> u8 {
        codec.map_or(0, |codec| codec as u8)
    }

    /// What a byte stands for; `None` if for nothing.
    pub(crate) fn of_byte(byte: u8) -> Option<Option<CodecName>> {
        match byte {
            0 => Some(None),
            byte => CodecName::ALL.into_iter().find(|codec| *codec as u8 == byte).map(Some),
        }
    }

    pub(crate) fn read(body: &mut Reader<'_>) -> Option<Option<CodecName>> {
        CodecName::of_byte(body.u8()?)
    }
}
