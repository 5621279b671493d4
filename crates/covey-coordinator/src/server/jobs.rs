//! What the journal's thread is asked for, and what it answers.

use crate::record::Record;
use crate::state::Lsn;

/// What is to be written.
pub(super) enum Job {
    Append(Lsn, Box<Record>),
    /// Replace the journal by these: all that is known, and the records that will have effect when
    /// they are on disk.
    Replace {
        known: Vec<Record>,
        under_way: Vec<(Lsn, Record)>,
    },
    /// Find out whether anything can be written.
    Probe,
}

/// What has become of it.
pub(super) enum Written {
    /// All records up to `last`; the journal has so many bytes, and the disk took `sync_s` seconds
    /// to synchronise.
    Durable {
        last: Lsn,
        bytes: u64,
        sync_s: f64,
    },
    /// None of these records was written.
    Failed {
        first: Lsn,
        last: Lsn,
        why: String,
    },
    Compacted {
        bytes: u64,
    },
    /// The journal can be written.
    Writable,
    /// The file was removed, replaced or cut, and must be written again as a whole.
    Lost,
}
