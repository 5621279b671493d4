//! The file `ids`: numbers that may have been given, kept apart from the journal.
//!
//! A journal that has lost its end cannot tell which numbers were given there. So numbers are
//! reserved in blocks, on disk before the first of a block is acknowledged, and a start goes on
//! behind the reserved ones. A coordinator that ends well leaves the exact numbers.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::JournalError;
use super::files::{IDS, sync_folder};
use super::format::{Version, frame};
use crate::record::Record;

const MAGIC: &[u8; 8] = b"COVEYI1\n";

/// Numbers that are reserved at a time.
const BLOCK: u64 = 1 << 16;
/// Numbers that are passed over if nobody knows how many were given.
const UNKNOWN: u64 = 1 << 32;
/// Epochs that are passed over then.
const UNKNOWN_EPOCHS: u64 = 1 << 16;

/// Numbers that are greater than all given ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marks {
    /// The latest epoch.
    pub epoch: u64,
    /// The next coflow's number, at the least.
    pub id: u64,
    /// The next DAG's number, at the least.
    pub dag: u64,
    /// Bytes that the journal has, at the least.
    pub bytes: u64,
}

impl Marks {
    /// The marks in `folder`, if there are any.
    pub fn read(folder: &Path) -> Result<Option<Marks>, JournalError> {
        let path = folder.join(IDS);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(JournalError::Io { path, source }),
        };
        let payload = bytes.strip_prefix(MAGIC).and_then(|rest| Version::Two.payload(rest));
        let marks = payload.and_then(|payload| serde_json::from_slice(payload).ok());
        marks.map(Some).ok_or_else(|| JournalError::Ids(folder.to_owned()))
    }

    /// Puts the marks on disk, in place of those before.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let new = folder.join(format!("{IDS}.new"));
        let mut bytes = MAGIC.to_vec();
        frame(&serde_json::to_vec(self)?, &mut bytes)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&new)?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        fs::rename(&new, folder.join(IDS))?;
        sync_folder(folder)
    }

    /// Takes over the numbers that a record gives.
    pub fn see(&mut self, record: &Record) {
        match record {
            Record::Epoch(epoch) => self.epoch = self.epoch.max(*epoch),
            Record::Registered { id, lineage, .. } => self.given(*id, lineage.0),
            Record::Gone(summary) => self.given(summary.id, summary.lineage.0),
            Record::Next { id, external, .. } => {
                self.id = self.id.max(*id);
                self.dag = self.dag.max(*external);
            }
            _ => {}
        }
    }

    fn given(&mut self, id: u64, dag: u64) {
        self.id = self.id.max(id + 1);
        self.dag = self.dag.max(dag + 1);
    }

    /// Whether these cover all numbers of `others`.
    pub fn cover(&self, others: &Marks) -> bool {
        others.epoch <= self.epoch && others.id <= self.id && others.dag <= self.dag
    }

    /// The greater number of each.
    pub fn max(self, other: Marks) -> Marks {
        Marks {
            epoch: self.epoch.max(other.epoch),
            id: self.id.max(other.id),
            dag: self.dag.max(other.dag),
            bytes: self.bytes.max(other.bytes),
        }
    }

    /// These marks with a block of numbers more.
    pub fn with_block(self) -> Marks {
        Marks { id: self.id + BLOCK, dag: self.dag + BLOCK, ..self }
    }

    /// These marks with as many numbers more as may have been given and lost.
    pub fn with_unknown(self) -> Marks {
        let (id, dag) = (self.id + UNKNOWN, self.dag + UNKNOWN);
        Marks { epoch: self.epoch + UNKNOWN_EPOCHS, id, dag, ..self }
    }

    /// Records that say the same.
    pub fn records(&self) -> [Record; 2] {
        [Record::Epoch(self.epoch), Record::Next { id: self.id, external: self.dag, flow: 0 }]
    }
}

/// The numbers that may have been given, if `count` records name the `seen` ones.
pub(super) fn given(seen: Marks, count: usize, known: Option<Marks>, version: Version) -> Marks {
    match known {
        Some(known) => seen.max(known),
        // Only the version before had no marks; other ones have been lost.
        None if version == Version::Two && count > 0 => seen.with_unknown(),
        None => seen,
    }
}
