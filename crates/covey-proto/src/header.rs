//! What comes first on the connection of a flow: which flow it is.

use thiserror::Error;

use crate::bytes::{Reader, Write};
use crate::codec::CodecName;
use crate::direction::Direction;
use crate::flow::FlowKey;
use crate::proof::{PROOF, Proof, ProofRefusal};

/// The bytes that every flow's connection begins with: a name, and the version.
const MAGIC: [u8; 4] = *b"CVF2";

/// The same of a header with a proof.
const MAGIC_PROVEN: [u8; 4] = *b"CVF3";

/// What a connection with TLS begins with: the type of a record with a handshake, and the version
/// of records.
pub const TLS_HANDSHAKE: u8 = 0x16;
const TLS_MAJOR: u8 = 3;

/// How the header of a flow with notes says so, in the place of `chunked`. Another version of notes
/// has another number.
const WITH_NOTES: u8 = 2;

/// The length of a header without its proof and its label.
pub const HEADER: usize = 28;

/// The first bytes of a flow's connection, from the side that opened it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowHeader {
    /// Which flow.
    pub key: FlowKey,
    /// Who sends.
    pub direction: Direction,
    /// How many bytes come, if that is known.
    pub bytes: Option<u64>,
    /// Whether the bytes come in chunks (see [`ChunkHeader`]). They do if their number is not
    /// known, or if they may be compressed; otherwise they follow as they are.
    pub chunked: bool,
    /// Whether nobody is in charge: the sender puts [`Note`](crate::Note)s between chunks, and the
    /// receiver sends [`Reply`](crate::Reply)s. Such a flow comes in chunks.
    pub with_notes: bool,
    /// The application's name for the flow, such as the name of a block; at most 255 bytes.
    pub label: Vec<u8>,
}

/// What follows the part of a header that has a fixed length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderRest {
    /// Whether a proof of [`PROOF`](crate::PROOF) bytes follows; then the label.
    pub is_proven: bool,
    /// The length of the label.
    pub label: usize,
}

/// Why bytes are no header.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Something else connects, or another version.
    #[error("the connection does not begin like a flow's: expected {MAGIC:?}, found {0:?}")]
    Magic([u8; 4]),
    /// The other side begins with TLS.
    #[error("the connection begins with TLS, which this side does not have")]
    Tls,
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
    /// Appends it to `out`, without a proof. Of a label longer than 255 bytes the rest is cut off.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_with(None, out);
    }

    /// Appends it to `out`, with a proof if there is one. Versions before cannot read a header with
    /// a proof.
    pub fn encode_with(&self, proof: Option<&Proof>, out: &mut Vec<u8>) {
        let label = &self.label[..self.label.len().min(255)];
        out.extend(if proof.is_some() { MAGIC_PROVEN } else { MAGIC });
        out.push(self.direction.byte());
        out.push(u8::from(self.bytes.is_some()));
        out.push(match self.with_notes {
            true => WITH_NOTES,
            false => u8::from(self.chunked || self.bytes.is_none()),
        });
        out.push(label.len() as u8);
        out.name(self.key);
        out.u64(self.bytes.unwrap_or(0));
        if proof.is_some() {
            out.extend(Proof::encode(proof));
        }
        out.extend_from_slice(label);
    }

    /// Reads the part of fixed length. Returns what follows, too.
    ///
    /// # Errors
    /// When it is no header.
    pub fn decode(fixed: &[u8; HEADER]) -> Result<(FlowHeader, HeaderRest), HeaderError> {
        let [a, b, c, d, direction, sized, chunked, label, rest @ ..] = fixed;
        let is_proven = match [*a, *b, *c, *d] {
            MAGIC => false,
            MAGIC_PROVEN => true,
            [TLS_HANDSHAKE, TLS_MAJOR, ..] => return Err(HeaderError::Tls),
            other => return Err(HeaderError::Magic(other)),
        };
        let bad = |field, found: u8| HeaderError::Field { field, found: found.into() };
        let direction =
            Direction::of_byte(*direction).ok_or_else(|| bad("direction", *direction))?;
        // A flow of unknown length comes in chunks.
        let (chunked, with_notes) = match (sized, *chunked) {
            (_, WITH_NOTES) => (true, true),
            (_, 1) => (true, false),
            (1, 0) => (false, false),
            _ => return Err(bad("chunked", *chunked)),
        };
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
        let rest = HeaderRest { is_proven, label: usize::from(*label) };
        Ok((FlowHeader { key, direction, bytes, chunked, with_notes, label: Vec::new() }, rest))
    }

    /// Reads the proof of a header, or that it has none after all.
    ///
    /// # Errors
    /// When it is of an unknown kind.
    pub fn decode_proof(bytes: &[u8; PROOF]) -> Result<Option<Proof>, HeaderError> {
        let unknown = HeaderError::Field { field: "proof", found: bytes[0].into() };
        Proof::read(&mut Reader::new(bytes)).ok_or(unknown)
    }
}

/// The length of a refusal.
pub const REFUSAL: usize = 8;

/// A refusal is this number with the reason in its lowest byte. No flow has so many bytes, so no
/// confirmation is equal to a refusal.
const REFUSED: u64 = !0xff;

/// What a listener sends in place of everything else on a connection whose proof it refuses; then
/// it closes the connection.
pub fn refusal_to(refusal: ProofRefusal) -> [u8; REFUSAL] {
    (REFUSED | u64::from(refusal.byte())).to_le_bytes()
}

/// The refusal in the bytes that a listener has sent; `None` if they are none.
pub fn refusal_of(bytes: &[u8; REFUSAL]) -> Option<ProofRefusal> {
    let [reason, rest @ ..] = bytes;
    let is_refusal = rest.iter().all(|byte| *byte == 0xff);
    is_refusal.then(|| ProofRefusal::of_byte(*reason)).flatten()
}

/// The length of a chunk's header.
pub const CHUNK_HEADER: usize = 16;

/// The length of a [`Note`](crate::Note).
pub const NOTE: usize = 24;

/// The most bytes in a chunk, compressed or not.
pub const MAX_CHUNK: usize = 1 << 20;

/// The header before a chunk of a flow. A flow of unknown length ends with a chunk of 0 bytes. A
/// chunk without bytes of the flow, of [`NOTE`] bytes, is a [`Note`](crate::Note).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHeader {
    /// How it is compressed, if it is.
    pub codec: Option<CodecName>,
    /// Bytes of the flow in it, at most [`MAX_CHUNK`].
    pub raw: u32,
    /// Bytes that follow: fewer if it is compressed, else the same.
    pub coded: u32,
    /// CRC-32 (that of Ethernet) of the bytes of the flow, if it is compressed; else 0.
    pub checksum: u32,
}

impl ChunkHeader {
    /// What comes before a note.
    pub const OF_NOTE: ChunkHeader =
        ChunkHeader { codec: None, raw: 0, coded: NOTE as u32, checksum: 0 };

    /// A chunk of so many bytes that follow as they are.
    pub fn plain(raw: u32) -> ChunkHeader {
        ChunkHeader { codec: None, raw, coded: raw, checksum: 0 }
    }

    /// As bytes.
    pub fn encode(&self) -> [u8; CHUNK_HEADER] {
        let mut bytes = [0; CHUNK_HEADER];
        bytes[0] = CodecName::byte(self.codec);
        bytes[4..8].copy_from_slice(&self.raw.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.coded.to_le_bytes());
        bytes[12..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is none, or longer than any may be.
    pub fn decode(bytes: &[u8; CHUNK_HEADER]) -> Result<ChunkHeader, HeaderError> {
        let bad = |field, found: u32| Err(HeaderError::Field { field, found: found.into() });
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let (zeros, raw, coded, checksum) = (number(0) >> 8, number(4), number(8), number(12));
        let Some(codec) = CodecName::of_byte(bytes[0]) else {
            return bad("codec of a chunk", bytes[0].into());
        };
        let fits = match codec {
            None => coded == raw || raw == 0 && coded == NOTE as u32,
            Some(_) => 0 < coded && coded < raw,
        };
        match () {
            () if zeros != 0 => bad("bytes 1 to 3 of a chunk", zeros),
            () if raw as usize > MAX_CHUNK => bad("length of a chunk", raw),
            () if !fits => bad("compressed length of a chunk", coded),
            () if codec.is_none() && checksum != 0 => bad("checksum of a plain chunk", checksum),
            () => Ok(ChunkHeader { codec, raw, coded, checksum }),
        }
    }
}
