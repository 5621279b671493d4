//! Data in chunks, each with a header that says how long it is.

use std::io::{self, BufRead, Read};

/// Most bytes of a chunk, plain or compressed. Java writes chunks of 32 KiB to 64 KiB, and at most
/// 32 MiB.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// Reads the next chunk from its header on into the empty `plain`. False at the end of the data.
type Next<R> = fn(source: &mut R, plain: &mut Vec<u8>) -> io::Result<bool>;

/// The plain bytes of chunks.
pub(super) struct Chunks<R> {
    source: R,
    next: Next<R>,
    plain: Vec<u8>,
    /// Bytes of `plain` that have been read.
    read: usize,
}

impl<R: BufRead> Chunks<R> {
    pub fn new(source: R, next: Next<R>) -> Chunks<R> {
        Chunks { source, next, plain: Vec::new(), read: 0 }
    }
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.read == self.plain.len() {
            self.plain.clear();
            self.read = 0;
            if !(self.next)(&mut self.source, &mut self.plain)? {
                return Ok(0);
            }
        }
        let bytes = out.len().min(self.plain.len() - self.read);
        out[..bytes].copy_from_slice(&self.plain[self.read..][..bytes]);
        self.read += bytes;
        Ok(bytes)
    }
}

/// Whether the source has no more bytes.
pub(super) fn at_end(source: &mut impl BufRead) -> io::Result<bool> {
    Ok(source.fill_buf()?.is_empty())
}

/// The next `N` bytes.
pub(super) fn array<const N: usize>(source: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    source.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The next `length` bytes, which a header announces.
pub(super) fn bytes(source: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    check(length)?;
    let mut bytes = Vec::new();
    source.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

/// Refuses a length that no writer announces.
pub(super) fn check(length: usize) -> io::Result<()> {
    if length > MAX_BYTES { Err(broken("a chunk is too long")) } else { Ok(()) }
}

/// The error for data that is not what its header says.
pub(super) fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
