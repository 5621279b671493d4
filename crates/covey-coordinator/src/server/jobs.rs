//! What the journal's thread is asked for, and what it answers.

use crate::record::Record;
use crate::state::Lsn;

/// What is to be written.
pub(super) enum Job {
    Append(Lsn, Record),
    /// The journal is to hold these alone: all that is known, and what was appended since that was
    /// found out.
    Replace {
        known: Vec<Record>,
        under_way: Vec<(Lsn, Record)>,
    },
    /// Whether anything can be written is to be found out.
    Probe,
}

/// What has been.
pub(super) enum Written {
    /// All records up to `last`; the journal has so many bytes.
    Durable {
        last: Lsn,
        bytes: u64,
    },
    /// None of these.
    Failed {
        first: Lsn,
        last: Lsn,
        why: String,
    },
    Compacted {
        bytes: u64,
    },
    /// There is room.
    Writable,
    /// The file was removed, replaced or cut, and must be written again as a whole.
    Lost,
}
