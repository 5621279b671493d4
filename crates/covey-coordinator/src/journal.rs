//! The journal: an append-only file of records, each with its length and a checksum.
//!
//! A log of our own rather than an embedded store: all that is ever read is the whole of it, once, at
//! the start, and it fits in memory, for the coordinator keeps it there. An index would be written
//! and never used.
//!
//! Layout: [`MAGIC`], then for each record `length u32, crc32 u32` (little-endian, of the payload) and
//! the payload, JSON. Records of a group are written at once and synchronised once. What follows the
//! first record that is not whole was never acknowledged: it is put aside, and the file is cut there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::record::Record;

const MAGIC: &[u8; 8] = b"COVEYJ1\n";
const NAME: &str = "journal";

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
    #[error("{}: not a journal of this version", .0.display())]
    Foreign(PathBuf),
    /// A record is whole, and yet no record: another version wrote it.
    #[error("{}: the record at byte {at} is not one of this version: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        at: u64,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// The journal of one coordinator.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    file: File,
    /// Bytes that are whole and on disk.
    length: u64,
    /// Whether there may be others behind them, of records that could not be written.
    ragged: bool,
    /// Holds the lock on the folder.
    _lock: File,
}

/// What was found in a journal.
#[derive(Debug)]
pub struct Found {
    /// The records, in order.
    pub records: Vec<Record>,
    /// Bytes behind the last whole record, which were put aside.
    pub torn: u64,
}

impl Journal {
    /// Opens the journal in `folder`, or begins one.
    ///
    /// # Errors
    /// When it cannot be read, is in use, or is not a journal.
    pub fn open(folder: &Path) -> Result<(Journal, Found), JournalError> {
        let path = folder.join(NAME);
        let io = |source| JournalError::Io { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(io)?;
        let lock = File::create(folder.join("lock")).map_err(io)?;
        if lock.try_lock().is_err() {
            return Err(JournalError::Locked(folder.to_owned()));
        }
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        // A crash may have come between the making of the file and its first bytes.
        if bytes.len() < MAGIC.len() && MAGIC.starts_with(&bytes) {
            file.set_len(0).map_err(io)?;
            file.rewind().map_err(io)?;
            file.write_all(MAGIC).map_err(io)?;
            file.sync_data().map_err(io)?;
            sync_folder(folder).map_err(io)?;
            bytes = MAGIC.to_vec();
        }
        if !bytes.starts_with(MAGIC) {
            return Err(JournalError::Foreign(path));
        }
        let mut records = Vec::new();
        let mut at = MAGIC.len();
        while let Some(payload) = frame(&bytes[at..]) {
            let record = serde_json::from_slice(payload);
            records.push(record.map_err(|source| JournalError::Record {
                path: path.clone(),
                at: at as u64,
                source,
            })?);
            at += 8 + payload.len();
        }
        let torn = bytes.len() - at;
        if torn > 0 {
            let aside = folder.join(format!("{NAME}.torn-at-{at}"));
            fs::write(&aside, &bytes[at..]).map_err(io)?;
            file.set_len(at as u64).map_err(io)?;
            file.sync_data().map_err(io)?;
        }
        file.seek(SeekFrom::End(0)).map_err(io)?;
        let journal = Journal {
            folder: folder.to_owned(),
            file,
            length: at as u64,
            ragged: false,
            _lock: lock,
        };
        Ok((journal, Found { records, torn: torn as u64 }))
    }

    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Writes records; when it returns they are on disk. All or none of them.
    ///
    /// # Errors
    /// When they cannot be written: then none is in the journal.
    pub fn append<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) -> io::Result<()> {
        let bytes = frames(records)?;
        self.trim()?;
        self.ragged = true;
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // If this fails as well it is tried again before anything else is written.
            let _ = self.trim();
            return Err(error);
        }
        self.ragged = false;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Cuts off what could not be written as a whole.
    fn trim(&mut self) -> io::Result<()> {
        if self.ragged {
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            self.ragged = false;
        }
        Ok(())
    }

    /// From now on nothing can be appended, as if the disk were full; a new journal can be written.
    #[cfg(test)]
    pub fn fill_disk(&mut self) {
        self.file = OpenOptions::new().write(true).open("/dev/full").expect("every Linux has it");
    }

    /// Has the journal hold these records and nothing else. The old one stays until the new one is on
    /// disk.
    ///
    /// # Errors
    /// When the new one cannot be written: then the old one is still in force.
    pub fn replace<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) -> io::Result<()> {
        let new = self.folder.join(format!("{NAME}.new"));
        let mut bytes = MAGIC.to_vec();
        bytes.append(&mut frames(records)?);
        let mut file = File::create(&new)?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        fs::rename(&new, self.folder.join(NAME))?;
        sync_folder(&self.folder)?;
        (self.file, self.ragged) = (file, false);
        self.length = bytes.len() as u64;
        Ok(())
    }
}

/// A new name in a folder lasts when the folder is on disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The payload of the frame that `bytes` begin with, if that is whole.
fn frame(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (crc, rest) = rest.split_first_chunk::<4>()?;
    let payload = rest.get(..u32::from_le_bytes(*length) as usize)?;
    // A file that was extended and never written to is zeros, and so is the checksum of nothing.
    let whole = !payload.is_empty() && crc32fast::hash(payload) == u32::from_le_bytes(*crc);
    whole.then_some(payload)
}

fn frames<'a>(records: impl IntoIterator<Item = &'a Record>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for record in records {
        let payload = serde_json::to_vec(record)?;
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&payload).to_le_bytes());
        bytes.extend_from_slice(&payload);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Vec<Record> {
        vec![
            Record::Epoch(1),
            Record::Removed { id: 3, at_s: 0.5 },
            Record::Ended {
                id: 4,
                at_s: 1.25,
                flows: vec![(0, 1e9), (7, 0.1)],
                compressed: vec![(0, 4e8)],
            },
        ]
    }

    fn written(folder: &Path, records: &[Record]) -> Vec<u8> {
        let (mut journal, found) = Journal::open(folder).expect("a new journal");
        assert!(found.records.is_empty());
        for record in records {
            journal.append([record]).expect("a disk");
        }
        fs::read(folder.join(NAME)).expect("the journal")
    }

    #[test]
    fn whatever_a_crash_leaves_of_it_all_whole_records_are_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let records = some();
        let bytes = written(folder.path(), &records);
        let ends: Vec<usize> = records
            .iter()
            .scan(MAGIC.len(), |end, record| {
                *end += frames([record]).expect("a record").len();
                Some(*end)
            })
            .collect();
        for cut in 0..=bytes.len() {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(folder.path().join(NAME), &bytes[..cut]).expect("a disk");
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let (mut journal, found) = Journal::open(folder.path()).expect("a journal");
            assert_eq!(found.records, records[..whole], "cut at {cut}");
            // And it goes on from there.
            journal.append([&Record::Epoch(2)]).expect("a disk");
            drop(journal);
            let (_, found) = Journal::open(folder.path()).expect("a journal");
            assert_eq!(found.records.last(), Some(&Record::Epoch(2)), "cut at {cut}");
            assert_eq!((found.records.len(), found.torn), (whole + 1, 0));
        }
    }

    #[test]
    fn a_damaged_byte_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let records = some();
        let bytes = written(folder.path(), &records);
        for at in 0..bytes.len() {
            let folder = tempfile::tempdir().expect("a folder");
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            fs::write(folder.path().join(NAME), &damaged).expect("a disk");
            match Journal::open(folder.path()) {
                Ok((_, found)) => {
                    assert!(records.starts_with(&found.records) && found.torn > 0, "{at}");
                }
                Err(error) => assert!(at < MAGIC.len(), "{at}: {error}"),
            }
        }
    }

    #[test]
    fn a_journal_is_replaced_as_a_whole_and_used_by_one() {
        let folder = tempfile::tempdir().expect("a folder");
        written(folder.path(), &some());
        let (mut journal, found) = Journal::open(folder.path()).expect("a journal");
        assert_eq!(found.records, some());
        assert!(matches!(Journal::open(folder.path()), Err(JournalError::Locked(_))));
        journal.replace([&Record::Epoch(7)]).expect("a disk");
        journal.append([&Record::Epoch(8)]).expect("a disk");
        drop(journal);
        let (_, found) = Journal::open(folder.path()).expect("a journal");
        assert_eq!(found.records, [Record::Epoch(7), Record::Epoch(8)]);
    }
}
