//! What comes first on the connection of a flow: which flow it is.

use thiserror::Error;

use crate::bytes::{Reader, Write};
use crate::message::FlowKey;

/// The bytes that every flow's connection begins with: a name, and the version.
const MAGIC: [u8; 4] = *b"CVF1";

/// The length of a header without its label.
pub const HEADER: usize = 28;

/// The first bytes of a flow's connection, from the side that opened it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowHeader {
    /// Which flow.
    pub key: FlowKey,
    /// Who sends.
    pub direction: Direction,
    /// How many bytes come, if that is known; then they follow as they are. Otherwise they come in
    /// chunks (see [`chunk_header`]).
    pub bytes: Option<u64>,
    /// What the application calls it; at most 255 bytes. The name of a block, for one.
    pub label: Vec<u8>,
}

/// Which side of a connection sends the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The side that opened the connection.
    Pushed,
    /// The other; it answers with a header of its own.
    Pulled,
}

/// Why bytes are no header.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Something else connects, or another version.
    #[error("the connection does not begin like a flow's: expected {MAGIC:?}, found {0:?}")]
    Magic([u8; 4]),
    /// A field has no meaning.
    #[error("{field} of a flow's header: {found} means nothing")]
    Field {
        /// Its name.
        field: &'static str,
        /// Its value.
        found: u64,
    },
}

impl FlowHeader {
    /// Appends it to `out`. Of a label longer than 255 bytes the rest is cut off.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let label = &self.label[..self.label.len().min(255)];
        out.extend(MAGIC);
        out.push(match self.direction {
            Direction::Pushed => 1,
            Direction::Pulled => 2,
        });
        out.push(u8::from(self.bytes.is_some()));
        out.push(0);
        out.push(label.len() as u8);
        out.key(self.key);
        out.u64(self.bytes.unwrap_or(0));
        out.extend_from_slice(label);
    }

    /// Reads the part of fixed length; the label has still to come. Returns its length too.
    ///
    /// # Errors
    /// When it is no header.
    pub fn decode(fixed: &[u8; HEADER]) -> Result<(FlowHeader, usize), HeaderError> {
        let [a, b, c, d, direction, sized, zero, label, rest @ ..] = fixed;
        if [*a, *b, *c, *d] != MAGIC {
            return Err(HeaderError::Magic([*a, *b, *c, *d]));
        }
        let bad = |field, found: u8| HeaderError::Field { field, found: found.into() };
        let direction = match direction {
            1 => Direction::Pushed,
            2 => Direction::Pulled,
            _ => return Err(bad("direction", *direction)),
        };
        if *zero != 0 {
            return Err(bad("byte 6", *zero));
        }
        let mut rest = Reader::new(rest);
        let short = || bad("length", HEADER as u8);
        let key = rest.key().ok_or_else(short)?;
        let bytes = rest.u64().ok_or_else(short)?;
        let bytes = match (sized, bytes) {
            (0, 0) => None,
            (1, bytes) => Some(bytes),
            (0, found) => return Err(HeaderError::Field { field: "bytes", found }),
            _ => return Err(bad("sized", *sized)),
        };
        let label = usize::from(*label);
        Ok((FlowHeader { key, direction, bytes, label: Vec::new() }, label))
    }
}

/// The length of a chunk's header.
pub const CHUNK_HEADER: usize = 4;

/// The most bytes in a chunk.
pub const MOST_CHUNK: usize = 1 << 20;

/// What comes before a chunk of a flow of which nobody knows how long it is: its length. The last
/// chunk is of 0 bytes.
pub fn chunk_header(bytes: usize) -> [u8; CHUNK_HEADER] {
    (bytes.min(MOST_CHUNK) as u32).to_le_bytes()
}

/// The length of a chunk.
///
/// # Errors
/// When it is longer than any may be.
pub fn chunk_length(header: [u8; CHUNK_HEADER]) -> Result<usize, HeaderError> {
    let found = u32::from_le_bytes(header);
    if found as usize > MOST_CHUNK {
        return Err(HeaderError::Field { field: "chunk length", found: found.into() });
    }
    Ok(found as usize)
}
