//! The interface of a compressor.

/// Compresses a chunk at a time. A compressor keeps no state between chunks; what its library needs
/// beside the chunk it keeps once a thread.
pub trait ChunkCodec: Sync {
    /// Maximum length of the compressed form of `raw` bytes.
    fn max_compressed(&self, raw: usize) -> usize;

    /// Compresses `raw` into the beginning of `into`, which has [`ChunkCodec::max_compressed`]
    /// bytes. Returns the compressed length; `None` if the library fails or the bytes do not
    /// shrink.
    fn compress(&self, raw: &[u8], into: &mut [u8]) -> Option<usize>;

    /// Restores the raw bytes of `coded` into `into`, which is as long as they are. Returns their
    /// number; `None` if `coded` is not valid.
    fn decompress(&self, coded: &[u8], into: &mut [u8]) -> Option<usize>;
}
