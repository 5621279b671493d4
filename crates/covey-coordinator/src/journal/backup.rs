//! Copies of a journal: of a coordinator that runs, and back.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::files::{NAME, free_name, put_in_place, write_new};
use super::format::{MAGIC, Version, frame, parts};
use super::lock::lock;
use super::marks::{Marks, given};
use super::repair::read;
use crate::record::Record;

/// What a copy has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Its records.
    pub records: usize,
    /// The journal that was there before, under its new name.
    pub kept: Option<PathBuf>,
    /// Whether numbers are passed over, because nobody knows how many were given since the
    /// snapshot.
    pub skips: bool,
}

/// The whole records of a folder's journal, each of them one of this version, and the numbers that
/// they give.
struct Contents {
    payloads: Vec<u8>,
    records: usize,
    marks: Marks,
}

fn contents(folder: &Path) -> Result<Contents, JournalError> {
    // The numbers that a coordinator has reserved before the journal is read, and those after it,
    // cover what the journal gives, whatever the coordinator does meanwhile.
    let before = Marks::read(folder)?;
    let bytes = read(folder)?;
    let known = Marks::read(folder)?.or(before).map(|after| after.max(before.unwrap_or(after)));
    let path = folder.join(NAME);
    let version = Version::of(&bytes).ok_or_else(|| JournalError::Foreign(path.clone()))?;
    let parts = parts(version, &bytes);
    if let Some((before, range)) = parts.damaged.first() {
        let (number, at) = (before + 1, range.start as u64);
        let (folder, behind) = (folder.to_owned(), parts.whole.len() - before);
        return Err(JournalError::Damaged { folder, number, at, behind });
    }
    let (mut seen, mut payloads) = (Marks::default(), Vec::new());
    for whole in &parts.whole {
        let record = serde_json::from_slice::<Record>(whole.payload);
        let at = whole.at as u64;
        seen.see(&record.map_err(|source| JournalError::Record {
            path: path.clone(),
            at,
            source,
        })?);
        let io = |source| JournalError::Io { path: path.clone(), source };
        frame(whole.payload, &mut payloads).map_err(io)?;
    }
    let records = parts.whole.len();
    Ok(Contents { payloads, records, marks: given(seen, records, known, version) })
}

/// Copies the journal of `folder` and its numbers to a folder that has none. A coordinator may use
/// the journal meanwhile: the copy has every change that it had answered when the copy began.
///
/// # Errors
/// When the journal is damaged, or the copy cannot be written.
pub fn snapshot(folder: &Path, to: &Path) -> Result<Copied, JournalError> {
    let contents = contents(folder)?;
    let io = |source| JournalError::Io { path: to.to_owned(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(to).map_err(io)?;
    let _lock = lock(to)?;
    if to.join(NAME).exists() {
        return Err(JournalError::Exists(to.join(NAME)));
    }
    put(&contents, contents.marks, to)?;
    Ok(Copied { records: contents.records, kept: None, skips: false })
}

/// Has the journal of `folder` be the copy in the folder `from`; what was there is kept. No number
/// is given again that may have been given since the copy was made.
///
/// # Errors
/// When the copy is damaged, a coordinator uses the folder, or the journal cannot be written.
pub fn restore(from: &Path, folder: &Path) -> Result<Copied, JournalError> {
    let contents = contents(from)?;
    let (expected, found) = (contents.marks.bytes, (MAGIC.len() + contents.payloads.len()) as u64);
    if found < expected {
        return Err(JournalError::Cut { folder: from.to_owned(), expected, found });
    }
    let io = |source| JournalError::Io { path: folder.join(NAME), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
    let _lock = lock(folder)?;
    // Damaged ones say nothing.
    let known = Marks::read(folder).ok().flatten();
    let marks = match known {
        Some(known) => contents.marks.max(known),
        None => contents.marks.with_unknown(),
    };
    let kept = folder.join(NAME).exists().then(|| free_name(folder, "before-restore"));
    if let Some(kept) = &kept {
        fs::hard_link(folder.join(NAME), kept).map_err(io)?;
    }
    put(&contents, marks, folder)?;
    Ok(Copied { records: contents.records, kept, skips: known.is_none() })
}

fn put(contents: &Contents, marks: Marks, folder: &Path) -> Result<(), JournalError> {
    let io = |source: io::Error| JournalError::Io { path: folder.join(NAME), source };
    let (_, length) = write_new(folder, |out| {
        out.write_all(&contents.payloads)?;
        Ok(contents.payloads.len() as u64)
    })
    .map_err(io)?;
    Marks { bytes: length, ..marks }.write(folder).map_err(io)?;
    put_in_place(folder).map_err(io)
}
