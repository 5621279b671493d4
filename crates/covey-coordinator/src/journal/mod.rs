//! The journal: an append-only file of records, each with its length and checksums.
//!
//! A log of our own rather than an embedded store: all that is ever read is the whole of it, once, at
//! the start, and it fits in memory, for the coordinator keeps it there. An index would be written
//! and never used.
//!
//! [`format`] has the layout. Records of a group are written at once and synchronised once. A torn end was
//! never acknowledged: it is put aside, and the file is cut there. A damaged journal is refused; [`repair`]
//! is for its operator.

mod format;
mod marks;
mod repair;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::record::Record;
use format::{Frames, MAGIC, Version, frames, parts_from, write_frames};
use marks::Marks;

pub use repair::{Damage, Inspection, Repaired, inspect, repair};

const NAME: &str = "journal";
/// A journal that is being written.
const NEW: &str = "journal.new";

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
        .0.join(marks::NAME).display(), .0.display()
    )]
    Ids(PathBuf),
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
    /// Whether the file was found to be removed, replaced or cut.
    lost: bool,
    /// The numbers given so far.
    given: Marks,
    /// The numbers that are reserved on disk.
    reserved: Marks,
    /// Holds the lock on the folder.
    _lock: File,
}

/// What was found in a journal.
#[derive(Debug)]
pub struct Found {
    /// Records that name the numbers that may have been given.
    pub given: [Record; 2],
    /// Bytes behind the last whole record, which were put aside.
    pub torn: u64,
}

impl Journal {
    /// Opens the journal in `folder`, or begins one.
    ///
    /// # Errors
    /// When it cannot be read, is in use, is damaged, or is not a journal.
    pub fn open(folder: &Path) -> Result<(Journal, Found), JournalError> {
        let path = folder.join(NAME);
        let io = |source| JournalError::Io { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(io)?;
        let lock = lock(folder)?;
        let known = Marks::read(folder)?;
        let (mut file, version) = open_or_begin(folder, known.unwrap_or_default().bytes)?;
        let (mut seen, mut count) = (Marks::default(), 0);
        let mut reader = Reader::new(&path, version)?;
        while let Some(record) = reader.next().transpose()? {
            seen.see(&record);
            count += 1;
        }
        let end = reader.frames.at;
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(end)).map_err(io)?;
        file.read_to_end(&mut rest).map_err(io)?;
        check(folder, version, count, end, &rest, known.unwrap_or_default().bytes)?;
        let torn = rest.len() as u64;
        if torn > 0 {
            fs::write(folder.join(format!("{NAME}.torn-at-{end}")), &rest).map_err(io)?;
            file.set_len(end).map_err(io)?;
            file.sync_data().map_err(io)?;
        }
        file.seek(SeekFrom::End(0)).map_err(io)?;
        let given = given(seen, count, known, version);
        let reserved = known.unwrap_or_default();
        let (folder, ragged, lost) = (folder.to_owned(), false, false);
        let mut journal =
            Journal { folder, file, length: end, ragged, lost, given, reserved, _lock: lock };
        if version == Version::One {
            journal.convert()?;
        }
        let given = journal.given.records();
        Ok((journal, Found { given, torn }))
    }

    /// Rewrites a journal of version 1 as one of the present version. The old one stays as `journal.v1`.
    fn convert(&mut self) -> Result<(), JournalError> {
        let path = self.folder.join(NAME);
        let io = |source| JournalError::Io { path: path.clone(), source };
        let old = self.folder.join(format!("{NAME}.v1"));
        let records = Reader::new(&path, Version::One)?.collect::<Result<Vec<Record>, _>>()?;
        if !old.exists() {
            fs::hard_link(&path, old).map_err(io)?;
        }
        self.replace(&records).map_err(io)
    }

    /// The records, in order, read one by one.
    ///
    /// # Errors
    /// When the file cannot be read; so for each record.
    pub fn records(
        &self,
    ) -> Result<impl Iterator<Item = Result<Record, JournalError>>, JournalError> {
        Reader::new(&self.folder.join(NAME), Version::Two)
    }

    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether the file was found to be removed, replaced or cut. [`Journal::replace`] mends that.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Writes records; when it returns they are on disk. All or none of them.
    ///
    /// # Errors
    /// When they cannot be written: then none is in the journal.
    pub fn append<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) -> io::Result<()> {
        let records: Vec<&Record> = records.into_iter().collect();
        let bytes = frames(records.iter().copied())?;
        self.trim()?;
        self.check_place(self.length)?;
        self.reserve(&records)?;
        self.write_behind(&bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Finds out whether records can be written.
    ///
    /// # Errors
    /// When they cannot.
    pub fn probe(&mut self) -> io::Result<()> {
        self.trim()?;
        self.check_place(self.length)?;
        self.write_behind(&[0; PROBE])?;
        self.ragged = true;
        self.trim()
    }

    /// Writes bytes behind the whole ones and synchronises them, or cuts them off again.
    fn write_behind(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.ragged = true;
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        let written = written.and_then(|()| self.check_place(self.length + bytes.len() as u64));
        if let Err(error) = written {
            // If this fails as well it is tried again before anything else is written.
            let _ = self.trim();
            return Err(error);
        }
        self.ragged = false;
        Ok(())
    }

    /// Whether the folder still has the open file under its name, and the file this length.
    fn check_place(&mut self, length: u64) -> io::Result<()> {
        let open = self.file.metadata()?;
        let named = fs::metadata(self.folder.join(NAME));
        let same = named.is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino()));
        self.lost = !same || open.len() != length;
        if self.lost {
            return Err(io::Error::other(
                "the journal was removed, replaced or cut by somebody else",
            ));
        }
        Ok(())
    }

    /// Reserves the numbers that records give, on disk.
    fn reserve(&mut self, records: &[&Record]) -> io::Result<()> {
        records.iter().for_each(|record| self.given.see(record));
        if self.reserved.cover(&self.given) {
            return Ok(());
        }
        self.mark(Marks { bytes: self.length, ..self.given.with_block() })
    }

    fn mark(&mut self, marks: Marks) -> io::Result<()> {
        marks.write(&self.folder)?;
        self.reserved = marks;
        Ok(())
    }

    /// Cuts off what could not be written as a whole.
    fn trim(&mut self) -> io::Result<()> {
        if self.ragged {
            // A file that has become shorter must not be filled up with zeros.
            if self.file.metadata()?.len() > self.length {
                self.file.set_len(self.length)?;
            }
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
        let records: Vec<&Record> = records.into_iter().collect();
        let file = self.folder.join(NAME);
        self.reserve(&records)?;
        let (new, length) = write_new(&self.folder, |out| write_frames(records, out))?;
        if self.reserved.bytes > length {
            self.mark(Marks { bytes: length, ..self.reserved })?;
        }
        if self.lost && file.exists() {
            let aside = free_name(&self.folder, "found");
            fs::rename(&file, aside)?;
        }
        put_in_place(&self.folder)?;
        self.file = new;
        (self.length, self.ragged, self.lost) = (length, false, false);
        Ok(())
    }
}

impl Drop for Journal {
    /// Leaves the exact numbers. If that fails, the reserved ones stay, which are as good.
    fn drop(&mut self) {
        if !self.lost {
            let _ = self.mark(Marks { bytes: self.length, ..self.given });
        }
    }
}

/// Bytes that are written to find out whether there is room.
const PROBE: usize = 4096;

fn lock(folder: &Path) -> Result<File, JournalError> {
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(|source| JournalError::Io { path, source })?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(_) => Err(JournalError::Locked(folder.to_owned())),
    }
}

/// Reads the whole records of a journal one after the other.
struct Reader {
    path: PathBuf,
    frames: Frames<BufReader<File>>,
}

impl Reader {
    fn new(path: &Path, version: Version) -> Result<Reader, JournalError> {
        let io = |source| JournalError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        file.seek(SeekFrom::Start(MAGIC.len() as u64)).map_err(io)?;
        let frames = Frames::new(version, BufReader::new(file), length);
        Ok(Reader { path: path.to_owned(), frames })
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

/// The journal's file. Where there is none, and there never was, it is begun.
fn open_or_begin(folder: &Path, expected: u64) -> Result<(File, Version), JournalError> {
    let path = folder.join(NAME);
    let io = |source| JournalError::Io { path: path.clone(), source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(expected == 0).truncate(false);
    let mut file = match options.open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(JournalError::Cut { folder: folder.to_owned(), expected, found: 0 });
        }
        file => file.map_err(io)?,
    };
    let mut first = Vec::new();
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut first).map_err(io)?;
    // A crash may have come between the making of the file and its first bytes.
    if expected == 0 && first.len() < MAGIC.len() && MAGIC.starts_with(&first) {
        (file, _) = write_new(folder, |_| Ok(0)).map_err(io)?;
        put_in_place(folder).map_err(io)?;
        first = MAGIC.to_vec();
    }
    let version = Version::of(&first).ok_or_else(|| JournalError::Foreign(path.clone()))?;
    Ok((file, version))
}

/// Refuses a journal that has lost something that was acknowledged.
/// There are `count` whole records up to `found`, and then `rest`.
fn check(
    folder: &Path,
    version: Version,
    count: usize,
    found: u64,
    rest: &[u8],
    expected: u64,
) -> Result<(), JournalError> {
    let (folder, parts) = (folder.to_owned(), parts_from(version, rest, 0));
    if !parts.damaged.is_empty() {
        let (number, behind) = (count + 1, parts.whole.len());
        return Err(JournalError::Damaged { folder, number, at: found, behind });
    }
    if found < expected {
        return Err(JournalError::Cut { folder, expected, found });
    }
    Ok(())
}

/// The numbers that may have been given, where `count` records tell of the `seen` ones.
fn given(seen: Marks, count: usize, known: Option<Marks>, version: Version) -> Marks {
    match known {
        Some(known) => seen.max(known),
        // Only the version before had no marks; other ones have been lost.
        None if version == Version::Two && count > 0 => seen.with_unknown(),
        None => seen,
    }
}

/// A name for a file beside the journal that no file has.
fn free_name(folder: &Path, what: &str) -> PathBuf {
    let mut k = 1;
    loop {
        let name = folder.join(format!("{NAME}.{what}-{k}"));
        if !name.exists() {
            return name;
        }
        k += 1;
    }
}

/// Writes a journal, whose records are `written`, beside the one there is. Returns it with its bytes.
fn write_new(
    folder: &Path,
    written: impl FnOnce(&mut BufWriter<&File>) -> io::Result<u64>,
) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true);
    let file = options.open(folder.join(NEW))?;
    let mut out = BufWriter::new(&file);
    out.write_all(MAGIC)?;
    let length = MAGIC.len() as u64 + written(&mut out)?;
    out.flush()?;
    drop(out);
    file.sync_data()?;
    Ok((file, length))
}

/// The journal that was written last takes the place of the one there is.
fn put_in_place(folder: &Path) -> io::Result<()> {
    fs::rename(folder.join(NEW), folder.join(NAME))?;
    sync_folder(folder)
}

/// A new name in a folder lasts when the folder is on disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;
