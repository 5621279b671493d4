//! What the two ends of a flow tell each other where nobody is in charge (Stream, ICNP, §III-C and
//! D).
//!
//! Notes go with the data, from sender to receiver. Replies go the other way on the same
//! connection.

use crate::bytes::{Reader, Write};
use crate::header::{HeaderError, NOTE};

/// The length of a reply.
pub const REPLY: usize = 24;

/// What a sender tells the receiver of a flow about another receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// Whether that receiver has had all that it gets; otherwise it is a relay of what it has had
    /// so far.
    pub is_complete: bool,
    /// Id of its coflow.
    pub coflow: u64,
    /// The name that it has given itself.
    pub receiver: u32,
    /// The bytes that it has had.
    pub bytes: u64,
}

/// What a receiver tells the sender of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// What it has decided for the flows of one coflow that come to it.
    Decided {
        /// Their priority, from 0, the highest.
        priority: u8,
        /// The name that the receiver has given itself.
        receiver: u32,
        /// Bytes of the coflow that it has had in all.
        bytes: u64,
        /// When it decided, in nanoseconds since 1970 by its clock.
        at_ns: u64,
    },
    /// All bytes of the flow have come.
    Confirmed {
        /// How many.
        bytes: u64,
    },
    /// The receiver has a coordinator or none, but does not decide itself.
    Refused,
}

impl Note {
    /// As bytes.
    pub fn encode(&self) -> [u8; NOTE] {
        record(
            if self.is_complete { [2, 0] } else { [1, 0] },
            self.receiver,
            [self.coflow, self.bytes],
        )
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(bytes: &[u8; NOTE]) -> Result<Note, HeaderError> {
        let ([kind, zero], receiver, [coflow, bytes]) = fields(bytes, "a note")?;
        match (kind, zero) {
            (1 | 2, 0) => Ok(Note { is_complete: kind == 2, coflow, receiver, bytes }),
            _ => Err(HeaderError::Field { field: "kind of a note", found: kind.into() }),
        }
    }
}

impl Reply {
    /// As bytes.
    pub fn encode(&self) -> [u8; REPLY] {
        match *self {
            Reply::Decided { priority, receiver, bytes, at_ns } => {
                record([1, priority], receiver, [bytes, at_ns])
            }
            Reply::Confirmed { bytes } => record([2, 0], 0, [bytes, 0]),
            Reply::Refused => record([3, 0], 0, [0, 0]),
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(bytes: &[u8; REPLY]) -> Result<Reply, HeaderError> {
        let ([kind, priority], receiver, [bytes, at_ns]) = fields(bytes, "a reply")?;
        match (kind, priority, receiver, bytes, at_ns) {
            (1, ..) => Ok(Reply::Decided { priority, receiver, bytes, at_ns }),
            (2, 0, 0, _, 0) => Ok(Reply::Confirmed { bytes }),
            (3, 0, 0, 0, 0) => Ok(Reply::Refused),
            _ => Err(HeaderError::Field { field: "kind of a reply", found: kind.into() }),
        }
    }
}

/// The common form: two bytes, two zeros, a name and two numbers.
fn record([a, b]: [u8; 2], name: u32, numbers: [u64; 2]) -> [u8; NOTE] {
    let mut out = Vec::with_capacity(NOTE);
    out.extend([a, b, 0, 0]);
    out.u32(name);
    numbers.into_iter().for_each(|number| out.u64(number));
    let mut record = [0; NOTE];
    record.copy_from_slice(&out);
    record
}

type Fields = ([u8; 2], u32, [u64; 2]);

fn fields(bytes: &[u8; NOTE], what: &'static str) -> Result<Fields, HeaderError> {
    let [a, b, zeros @ ..] = bytes;
    let short = HeaderError::Field { field: what, found: NOTE as u64 };
    let mut rest = Reader::new(&zeros[2..]);
    let (name, first, second) = (rest.u32(), rest.u64(), rest.u64());
    let (Some(name), Some(first), Some(second)) = (name, first, second) else { return Err(short) };
    match zeros[..2] {
        [0, 0] => Ok(([*a, *b], name, [first, second])),
        [c, ..] => Err(HeaderError::Field { field: what, found: c.into() }),
        _ => Err(short),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        for is_complete in [true, false] {
            let note =
                Note { is_complete, coflow: u64::MAX - 3, receiver: 0xdead_beef, bytes: 1 << 50 };
            assert_eq!(Note::decode(&note.encode()), Ok(note));
        }
        let decided = Reply::Decided { priority: 7, receiver: 9, bytes: 1 << 60, at_ns: 1 << 61 };
        for reply in [decided, Reply::Confirmed { bytes: 5 }, Reply::Refused] {
            assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for place in [0, 2, 3] {
            let mut note = Note { is_complete: true, coflow: 1, receiver: 2, bytes: 3 }.encode();
            note[place] = 77;
            assert!(Note::decode(&note).is_err(), "{place}");
        }
        let mut reply = Reply::Refused.encode();
        reply[23] = 1;
        assert!(Reply::decode(&reply).is_err());
    }
}
