//! The open journal: records are appended, and written again as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::JournalError;
use super::files::{NAME, NEW, free_name, put_in_place, write_new};
use super::format::{MAGIC, Version, frames, parts_from, write_frames};
use super::lock::lock;
use super::marks::{Marks, given};
use super::reader::Reader;
use crate::record::Record;

/// The journal of one coordinator.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    file: File,
    /// Bytes that are whole and on disk.
    length: u64,
    /// Whether bytes of records that could not be written may follow them.
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
    /// Bytes behind the last whole record, which were cut off.
    pub torn: u64,
    /// Whether they were kept in a file of their own.
    pub is_torn_kept: bool,
}

impl Journal {
    /// Opens the journal in `folder`, or begins one.
    ///
    /// # Errors
    /// When it cannot be read, is in use, is damaged, or is not a journal.
    pub fn open(folder: &Path) -> Result<(Journal, Found), JournalError> {
        let path = folder.join(NAME);
        let io = |source| JournalError::Io { path: path.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
        let lock = lock(folder)?;
        let known = Marks::read(folder)?;
        let (mut file, version) = open_or_begin(folder, known.unwrap_or_default().bytes)?;
        let (mut seen, mut count) = (Marks::default(), 0);
        let mut reader = Reader::new(&path, version)?;
        while let Some(record) = reader.next().transpose()? {
            seen.see(&record);
            count += 1;
        }
        let end = reader.at();
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(end)).map_err(io)?;
        file.read_to_end(&mut rest).map_err(io)?;
        check(folder, version, count, end, &rest, known.unwrap_or_default().bytes)?;
        let torn = rest.len() as u64;
        let aside = folder.join(format!("{NAME}.torn-at-{end}"));
        let mut is_torn_kept = false;
        if torn > 0 {
            // A full disk has no room for it. It was never acknowledged.
            is_torn_kept = fs::write(&aside, &rest).is_ok();
            if !is_torn_kept {
                let _ = fs::remove_file(&aside);
            }
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
        Ok((journal, Found { given, torn, is_torn_kept }))
    }

    /// Rewrites a journal of version 1 as one of the present version. The old one stays as
    /// `journal.v1`.
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
    /// When the file cannot be read. Each record may fail, too.
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

    /// Writes all of these records, or none of them. When it returns they are on disk. Returns how
    /// long the disk took to synchronise.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> io::Result<Duration> {
        let records: Vec<&Record> = records.into_iter().collect();
        let bytes = frames(records.iter().copied())?;
        self.trim()?;
        self.check_place(self.length)?;
        self.reserve(&records)?;
        let synced = self.write_behind(&bytes)?;
        self.length += bytes.len() as u64;
        Ok(synced)
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

    /// Writes bytes behind the whole ones and synchronises them, or cuts them off again. Returns
    /// how long the disk took to synchronise.
    fn write_behind(&mut self, bytes: &[u8]) -> io::Result<Duration> {
        self.ragged = true;
        let written = self.file.write_all(bytes).and_then(|()| {
            let begin = Instant::now();
            self.file.sync_data()?;
            let synced = begin.elapsed();
            self.check_place(self.length + bytes.len() as u64)?;
            Ok(synced)
        });
        match written {
            Ok(_) => self.ragged = false,
            // If this fails too, the next write tries it again first.
            Err(_) => _ = self.trim(),
        }
        written
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

    /// These records give numbers to coflows and DAGs. If a number is above the reserved ones, the
    /// next block is reserved on disk first.
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

    /// Has the journal hold these records and nothing else. The old one stays until the new one is
    /// on disk.
    ///
    /// # Errors
    /// When the new one cannot be written: then the old one is still in force.
    pub fn replace<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) -> io::Result<()> {
        check_room(&self.folder, self.length)?;
        let replaced = self.replace_by(records.into_iter().collect());
        if replaced.is_err() {
            // The unfinished file may have filled the disk. If it cannot be removed, the next one
            // is written over it.
            let _ = fs::remove_file(self.folder.join(NEW));
        }
        replaced
    }

    fn replace_by(&mut self, records: Vec<&Record>) -> io::Result<()> {
        let file = self.folder.join(NAME);
        self.reserve(&records)?;
        let count = records.len();
        let (new, length) = write_new(&self.folder, |out| write_frames(records, out))?;
        check_new(&self.folder, count, length)?;
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

/// Refuses to begin a journal as long as the one there is where the disk has no room for it.
fn check_room(folder: &Path, length: u64) -> io::Result<()> {
    let disk = rustix::fs::statvfs(folder)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= length {
        return Ok(());
    }
    let detail = format!("{free} bytes are free for a journal of up to {length}");
    Err(io::Error::new(io::ErrorKind::StorageFull, detail))
}

/// Reads the journal that was written last back, as a start would: it must have so many records and
/// bytes.
fn check_new(folder: &Path, count: usize, length: u64) -> io::Result<()> {
    let mut reader = Reader::new(&folder.join(NEW), Version::Two).map_err(io::Error::other)?;
    let mut found = 0;
    for record in reader.by_ref() {
        record.map_err(io::Error::other)?;
        found += 1;
    }
    if (found, reader.at()) == (count, length) {
        return Ok(());
    }
    let (expected, end) = (format!("{count} records in {length} bytes"), reader.at());
    Err(io::Error::other(format!(
        "the new journal is not whole: {expected}, found {found} in {end}"
    )))
}

/// Bytes that are written to find out whether there is room.
const PROBE: usize = 4096;

/// The journal's file. Where there is none, and there never was, it is begun.
fn open_or_begin(folder: &Path, expected: u64) -> Result<(File, Version), JournalError> {
    let path = folder.join(NAME);
    let io = |source| JournalError::Io { path: path.clone(), source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(expected == 0).truncate(false).mode(0o600);
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
