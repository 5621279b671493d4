//! Files that are compressed by gzip or zstd.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

/// The first bytes of a gzip file. No text begins with them: they are control characters.
const GZIP: u8 = 0x1f;
/// The first bytes of a frame of zstd, and of one that a decoder skips, whose first byte is from
/// `0x50` to `0x5f`.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const ZSTD_SKIPPED: [u8; 3] = [0x2a, 0x4d, 0x18];
/// Bytes by which a document of JSON is recognised.
const HEAD: u64 = 1 << 16;
/// Binary logarithm of the most bytes that a zstd decoder keeps: as many as the `zstd` program
/// accepts by default.
const ZSTD_WINDOW: u32 = 27;

/// The text of `source`, which may be compressed: then in pieces, so that memory does not grow with
/// it. A file may have several compressed parts.
///
/// # Errors
/// Those of `source`.
pub fn decompressed<'a>(mut source: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let first = first_bytes(&mut source)?;
    if first.first() == Some(&GZIP) {
        return Ok(explained(MultiGzDecoder::new(source), "gzip"));
    }
    if is_zstd(first) {
        let mut decoder = zstd::Decoder::with_buffer(source)?;
        decoder.window_log_max(ZSTD_WINDOW)?;
        return Ok(explained(decoder, "zstd"));
    }
    Ok(Box::new(source))
}

/// The first bytes of a source that seems to be JSON, as text, and the whole source. Of other
/// sources none are read.
///
/// # Errors
/// Those of `source`.
pub(crate) fn with_head<'a>(
    mut source: Box<dyn BufRead + 'a>,
) -> io::Result<(String, impl BufRead + 'a)> {
    let mut head = Vec::new();
    let first = first_bytes(&mut source)?.trim_ascii_start();
    let first = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first);
    if first.first().is_none_or(|byte| b"{[".contains(byte)) {
        source.by_ref().take(HEAD).read_to_end(&mut head)?;
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    Ok((text, Cursor::new(head).chain(source)))
}

/// Whether a file with these first bytes is compressed by zstd.
fn is_zstd(first: &[u8]) -> bool {
    let is_skipped = |first: &[u8]| first[0] & 0xf0 == 0x50 && first[1..4] == ZSTD_SKIPPED;
    first.len() >= 4 && (first[..4] == ZSTD || is_skipped(first))
}

/// The first bytes of the rest of `source`. Consumes nothing.
///
/// # Errors
/// Those of `source`.
pub(crate) fn first_bytes(source: &mut impl BufRead) -> io::Result<&[u8]> {
    while let Err(error) = source.fill_buf() {
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    source.fill_buf()
}

fn explained<'a>(decoder: impl Read + 'a, format: &'static str) -> Box<dyn BufRead + 'a> {
    Box::new(BufReader::with_capacity(1 << 16, Explained { decoder, format }))
}

/// A decoder whose errors name the compressed file as the cause.
struct Explained<R> {
    decoder: R,
    format: &'static str,
}

impl<R: Read> Read for Explained<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| match error.kind() {
            // The zstd library has no other kind for a broken frame.
            ErrorKind::InvalidInput
            | ErrorKind::InvalidData
            | ErrorKind::UnexpectedEof
            | ErrorKind::Other => {
                let message = format!("expected a whole {} file, found: {error}", self.format);
                io::Error::new(error.kind(), message)
            }
            _ => error,
        })
    }
}
