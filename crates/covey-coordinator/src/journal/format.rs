//! The layout of the journal's file, and how a damaged file differs from a torn one.
//!
//! Version 2: [`MAGIC`], then for each record a header of three `u32` (length of the payload,
//! CRC-32 of the payload, CRC-32 of the two before), and the payload, JSON. All numbers are
//! little-endian. Version 1 had no checksum of the header; it is still read. Version 2.1 has the
//! layout of version 2, and records that name flows by id (`Record::FlowsEnded`, and `flow_ids` in
//! others); records of version 2 are still read. Version 2.2 has flows that change their coflow
//! (`take` in `Record::Updated`, `Record::Renamed`); a program that does not know these refuses the
//! journal. Version 2.3 has revisions in `Record::Registered`, which older programs pass over, and
//! `Record::Drain`, which they refuse. Version 2.4 has the owners of coflows there and in
//! `Record::Gone`, which older programs pass over.
//!
//! A crash tears the end of the file: the last record is cut short, or ends in zeros that were
//! never written. A crash leaves nothing else, so all other bytes that are no record are damage.

use std::io::{self, Read, Write};
use std::ops::Range;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::record::Record;

/// The first bytes of a journal of version 2.
pub(super) const MAGIC: &[u8; 8] = b"COVEYJ2\n";
/// The first bytes of a journal of version 1.
const MAGIC_1: &[u8; 8] = b"COVEYJ1\n";

/// A version of the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Without a checksum of the header.
    One,
    /// The present one.
    Two,
}

impl Version {
    /// The version that a file's first bytes name.
    pub(super) fn of(bytes: &[u8]) -> Option<Version> {
        match bytes.first_chunk::<8>()? {
            MAGIC => Some(Version::Two),
            MAGIC_1 => Some(Version::One),
            _ => None,
        }
    }

    fn header(self) -> usize {
        match self {
            Version::One => 8,
            Version::Two => 12,
        }
    }

    /// The payload's length, if the header at the front of `bytes` can be one.
    fn length(self, bytes: &[u8]) -> Option<usize> {
        let header = bytes.get(..self.header())?;
        let told = self == Version::One || crc32fast::hash(&header[..8]) == number(&header[8..]);
        let length = number(header) as usize;
        (told && length > 0).then_some(length)
    }

    /// The payload of the record at the front of `bytes`, if that is whole.
    pub(super) fn payload(self, bytes: &[u8]) -> Option<&[u8]> {
        let length = self.length(bytes)?;
        let payload = bytes[self.header()..].get(..length)?;
        // Every payload is an object or a name. Where nothing checks the header, this saves most
        // checksums.
        let closed = matches!((payload[0], payload[length - 1]), (b'{', b'}') | (b'"', b'"'));
        (closed && crc32fast::hash(payload) == number(&bytes[4..])).then_some(payload)
    }

    /// Whether a crash can have left `bytes`, which begin with no whole record.
    fn is_torn(self, bytes: &[u8]) -> bool {
        let cut = match self.length(bytes) {
            Some(length) => bytes.len() < self.header() + length,
            None => bytes.len() < self.header(),
        };
        // No record ends in a zero.
        cut || bytes.last() == Some(&0)
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Reads the whole records of a file one after the other, so that no more than one is in memory.
pub(super) struct Frames<R> {
    version: Version,
    from: R,
    /// The byte at which the next record begins.
    pub at: u64,
    /// Bytes of the file.
    length: u64,
    frame: Vec<u8>,
}

impl<R: Read> Frames<R> {
    /// `from` is behind the first bytes of a file of so many bytes.
    pub fn new(version: Version, from: R, length: u64) -> Frames<R> {
        Frames { version, from, at: MAGIC.len() as u64, length, frame: Vec::new() }
    }

    /// The payload of the next record; `None` where there is no whole one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let (header, left) = (self.version.header(), self.length - self.at);
        if left < header as u64 {
            return Ok(None);
        }
        self.frame.resize(header, 0);
        self.from.read_exact(&mut self.frame)?;
        let Some(length) = self.version.length(&self.frame) else { return Ok(None) };
        if left < (header + length) as u64 {
            return Ok(None);
        }
        self.frame.resize(header + length, 0);
        self.from.read_exact(&mut self.frame[header..])?;
        let payload = self.version.payload(&self.frame);
        self.at += payload.map_or(0, |_| (header + length) as u64);
        Ok(payload)
    }
}

/// A whole record, and the byte at which it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whole<'a> {
    pub at: usize,
    pub payload: &'a [u8],
}

/// What a file consists of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub whole: Vec<Whole<'a>>,
    /// Damaged ranges of bytes, each with the number of whole records before it.
    pub damaged: Vec<(usize, Range<usize>)>,
    /// The end that a crash has left.
    pub torn: Range<usize>,
}

/// Takes a file apart.
pub(super) fn parts(version: Version, bytes: &[u8]) -> Parts<'_> {
    parts_from(version, bytes, MAGIC.len())
}

/// Takes the bytes from `at` on apart.
pub(super) fn parts_from(version: Version, bytes: &[u8], mut at: usize) -> Parts<'_> {
    let mut parts =
        Parts { whole: Vec::new(), damaged: Vec::new(), torn: bytes.len()..bytes.len() };
    while at < bytes.len() {
        if let Some(payload) = version.payload(&bytes[at..]) {
            parts.whole.push(Whole { at, payload });
            at += version.header() + payload.len();
            continue;
        }
        let is_whole = |next: &usize| version.payload(&bytes[*next..]).is_some();
        let next = (at + 1..bytes.len()).find(is_whole);
        if next.is_none() && version.is_torn(&bytes[at..]) {
            parts.torn = at..bytes.len();
            break;
        }
        let next = next.unwrap_or(bytes.len());
        parts.damaged.push((parts.whole.len(), at..next));
        at = next;
    }
    parts
}

/// Appends a payload as a record of the present version.
pub(super) fn frame(payload: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let start = out.len();
    let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    let header = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&header.to_le_bytes());
    out.extend_from_slice(payload);
    Ok(())
}

/// Refuses numbers that are not finite: JSON has none, and a start would not read what stands in
/// their place.
struct Finite;

impl Formatter for Finite {
    fn write_null<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        Err(io::Error::other("a record has a number that is not finite"))
    }
}

/// A record as it is written.
fn payload_of(record: &Record) -> io::Result<Vec<u8>> {
    let mut payload = Vec::new();
    record.serialize(&mut Serializer::with_formatter(&mut payload, Finite))?;
    Ok(payload)
}

/// Writes records of the present version. Returns their bytes.
pub(super) fn write_frames<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    out: &mut impl Write,
) -> io::Result<u64> {
    let (mut written, mut bytes) = (0, Vec::new());
    for record in records {
        bytes.clear();
        frame(&payload_of(record)?, &mut bytes)?;
        out.write_all(&bytes)?;
        written += bytes.len() as u64;
    }
    Ok(written)
}

/// Records of the present version.
pub(super) fn frames<'a>(records: impl IntoIterator<Item = &'a Record>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_frames(records, &mut bytes)?;
    Ok(bytes)
}
