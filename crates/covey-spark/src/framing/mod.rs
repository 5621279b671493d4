//! Compressed files, recognised by their first bytes: gzip, zstd, and the framings of Java's LZ4,
//! Snappy and LZF.

mod chunks;
mod lz4_block;
mod lzf;
mod snappy;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

use chunks::Chunks;

/// Most bytes of the history that a zstd frame may ask for, as a power of two: 128 MiB, the largest
/// of zstd's levels.
const WINDOW_LOG: u32 = 27;
/// Bytes that a file may expand to, whatever its size.
const FREE_BYTES: u64 = 256 << 20;
/// Beyond these a file may expand to so many times its size. Event logs reach about 150 times.
const EXPANSION: u64 = 4_000;
/// Bytes by which files are recognised.
const MAGIC_BYTES: usize = 8;

type Source = Chain<Cursor<Vec<u8>>, BufReader<Box<dyn Read>>>;

/// Opens a file, which may be compressed.
///
/// # Errors
/// Those of the operating system. Reading gives [`io::ErrorKind::UnexpectedEof`] where compressed
/// data is cut off, and [`io::ErrorKind::InvalidData`] where it is broken, or expands without
/// bound.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    unframed(File::open(path)?)
}

/// The plain bytes of `source`, which may be compressed.
///
/// # Errors
/// Those of [`open`].
pub(crate) fn unframed(source: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    let taken = Rc::new(Cell::new(0));
    let counted = Counted { inner: source, taken: Rc::clone(&taken) };
    let mut source = BufReader::with_capacity(1 << 16, Box::new(counted) as Box<dyn Read>);
    let mut magic = Vec::new();
    source.by_ref().take(MAGIC_BYTES as u64).read_to_end(&mut magic)?;
    let begins = |with: &[u8]| magic.starts_with(with);
    let source = |magic: Vec<u8>| -> Source { Cursor::new(magic).chain(source) };
    let plain: Box<dyn Read> = if begins(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(source(magic))?;
        decoder.window_log_max(WINDOW_LOG)?;
        Box::new(decoder)
    } else if begins(&[0x1f, 0x8b]) {
        Box::new(flate2::bufread::MultiGzDecoder::new(source(magic)))
    } else if begins(lz4_block::MAGIC) {
        Box::new(Chunks::new(source(magic), lz4_block::next))
    } else if begins(snappy::MAGIC) {
        Box::new(Chunks::new(source(magic), snappy::next))
    } else if begins(lzf::MAGIC) {
        Box::new(Chunks::new(source(magic), lzf::next))
    } else {
        return Ok(Box::new(source(magic)));
    };
    let bounded = Bounded { inner: plain, taken, given: 0 };
    Ok(Box::new(BufReader::with_capacity(1 << 16, bounded)))
}

/// Counts the bytes that are read.
struct Counted<R> {
    inner: R,
    taken: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.taken.set(self.taken.get() + read as u64);
        Ok(read)
    }
}

/// Ends with an error where far more bytes come out than any log has.
struct Bounded {
    inner: Box<dyn Read>,
    /// Compressed bytes so far.
    taken: Rc<Cell<u64>>,
    /// Plain bytes so far.
    given: u64,
}

impl Read for Bounded {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.given += read as u64;
        if self.given > FREE_BYTES.max(self.taken.get().saturating_mul(EXPANSION)) {
            let text =
                format!("expands to more than {EXPANSION} times its size, as no event log does");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
