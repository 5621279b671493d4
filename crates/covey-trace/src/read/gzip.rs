//! Traces that are compressed by gzip.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

/// The first byte of a gzip file. No text begins with it: it is a control character.
const FIRST_BYTE: u8 = 0x1f;

/// Whether the rest of `source` is compressed. Consumes nothing.
pub(crate) fn is_gzip(source: &mut impl BufRead) -> io::Result<bool> {
    loop {
        match source.fill_buf() {
            Ok(chunk) => return Ok(chunk.first() == Some(&FIRST_BYTE)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The decompressed text, in pieces, so that memory does not grow with it.
pub(crate) fn decompressed(source: impl BufRead) -> impl BufRead {
    BufReader::with_capacity(1 << 16, Explained(MultiGzDecoder::new(source)))
}

/// A decoder whose errors name the compressed file as the cause.
struct Explained<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Explained<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                let message = format!("expected a whole gzip file, found: {error}");
                io::Error::new(error.kind(), message)
            }
            _ => error,
        })
    }
}
