//! The records of a journal, one after the other.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::format::{Frames, MAGIC, Version};
use crate::record::Record;

/// Reads the whole records of a journal one after the other.
pub(super) struct Reader {
    path: PathBuf,
    frames: Frames<BufReader<File>>,
}

impl Reader {
    pub fn new(path: &Path, version: Version) -> Result<Reader, JournalError> {
        let io = |source| JournalError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        file.seek(SeekFrom::Start(MAGIC.len() as u64)).map_err(io)?;
        let frames = Frames::new(version, BufReader::new(file), length);
        Ok(Reader { path: path.to_owned(), frames })
    }

    /// The byte at which the next record begins.
    pub fn at(&self) -> u64 {
        self.frames.at
    }
}

impl Iterator for Reader {
    type Item = Result<Record, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.frames.at;
        let path = || self.path.clone();
        match self.frames.next() {
            Ok(payload) => {
                Some(serde_json::from_slice(payload?).map_err(|source| JournalError::Record {
                    path: path(),
                    at,
                    source,
                }))
            }
            Err(source) => Some(Err(JournalError::Io { path: path(), source })),
        }
    }
}
