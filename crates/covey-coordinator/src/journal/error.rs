//! Why a journal cannot be used.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::files::{IDS, NAME};

/// Why a journal cannot be opened.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file or its folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was to be read or written.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another coordinator uses the folder.
    #[error("{}: another coordinator uses this folder", .0.display())]
    Locked(PathBuf),
    /// The file is something else.
    #[error("{}: not a journal of version 1 or 2", .0.display())]
    Foreign(PathBuf),
    /// A record is whole, but not one that this version knows: another version wrote it.
    #[error(
        "{}: the record at byte {at} is not one of this version: {source}; start the version that wrote it, or cut \
         the record out with `covey journal repair --cut {at}`",
        path.display()
    )]
    Record {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        at: u64,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A record is to be cut out that is not there.
    #[error("{}: no whole record begins at byte {at}; `covey journal inspect` lists them", path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// Where it should begin.
        at: u64,
    },
    /// A copy is to be made where there is a journal.
    #[error("{}: there is a journal: expected a folder without one", .0.display())]
    Exists(PathBuf),
    /// Bytes are damaged that may have been acknowledged.
    #[error(
        "{}: record {number} at byte {at} is damaged, and {behind} whole records follow: restore a backup, \
         or see `covey journal inspect --data {}` and `covey journal repair --data {}`",
        folder.join(NAME).display(), folder.display(), folder.display()
    )]
    Damaged {
        /// The folder of the journal.
        folder: PathBuf,
        /// The first damaged record, from 1.
        number: usize,
        /// Where it begins.
        at: u64,
        /// Whole records behind it.
        behind: usize,
    },
    /// The journal has lost its end, or all of it, while no coordinator ran.
    #[error(
        "{}: expected at least {expected} bytes, found {found}: restore the journal, or accept the loss with \
         `covey journal repair --data {}`",
        folder.join(NAME).display(), folder.display()
    )]
    Cut {
        /// The folder of the journal.
        folder: PathBuf,
        /// Bytes that were acknowledged.
        expected: u64,
        /// Bytes of whole records.
        found: u64,
    },
    /// The file of given numbers is damaged.
    #[error(
        "{}: damaged: restore a backup, or pass over numbers with `covey journal repair --data {}`",
        .0.join(IDS).display(), .0.display()
    )]
    Ids(PathBuf),
}
