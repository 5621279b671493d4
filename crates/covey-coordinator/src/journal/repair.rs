//! What an operator can do about a journal: look at it, and take what is whole out of a damaged
//! one.

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::files::{NAME, free_name, put_in_place, write_new};
use super::format::{Version, Whole, frame, parts};
use super::lock::lock;
use super::marks::{Marks, given};
use crate::record::Record;

/// A damaged part of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The number of the first record that it touches, from 1.
    pub number: usize,
    /// Its bytes.
    pub bytes: Range<usize>,
    /// What can be read of it: printable characters, and dots for others.
    pub text: String,
}

/// What there is in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The version of the layout; unknown where the first bytes are damaged.
    pub version: Option<u32>,
    /// Bytes of the file.
    pub bytes: usize,
    /// Whole records, as JSON, each with the byte at which it begins.
    pub whole: Vec<(usize, String)>,
    /// Damaged parts, in order.
    pub damaged: Vec<Damage>,
    /// Whole records that are none of this version, each with the byte at which it begins, and why.
    pub unreadable: Vec<(usize, String)>,
    /// The torn end, which was never acknowledged.
    pub torn: Range<usize>,
    /// Acknowledged bytes that the end of the file lacks.
    pub missing: u64,
    /// Whether the file of given numbers is damaged or lost.
    pub ids_lost: bool,
}

impl Inspection {
    /// Whether a coordinator starts with it.
    pub fn is_sound(&self) -> bool {
        let is_whole = self.damaged.is_empty() && self.unreadable.is_empty();
        self.version.is_some() && is_whole && self.missing == 0 && !self.ids_lost
    }
}

/// What a repair has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Where the old journal is.
    pub kept: Option<PathBuf>,
    /// Records in the new one.
    pub records: usize,
}

/// Looks at the journal in `folder`, and changes nothing.
///
/// # Errors
/// When it cannot be read.
pub fn inspect(folder: &Path) -> Result<Inspection, JournalError> {
    let bytes = read(folder)?;
    let marks = Marks::read(folder);
    let version = Version::of(&bytes);
    let parts = parts(version.unwrap_or(Version::Two), &bytes);
    let acknowledged = marks.as_ref().map_or(0, |marks| marks.unwrap_or_default().bytes);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let damage = |(before, bytes_of): &(usize, Range<usize>)| Damage {
        number: before + 1,
        bytes: bytes_of.clone(),
        text: printable(&bytes[bytes_of.clone()]),
    };
    Ok(Inspection {
        version: version.map(|version| if version == Version::One { 1 } else { 2 }),
        bytes: bytes.len(),
        whole: parts.whole.iter().map(|whole| (whole.at, text(whole.payload))).collect(),
        damaged: parts.damaged.iter().map(damage).collect(),
        unreadable: parts.whole.iter().filter_map(why_unreadable).collect(),
        missing: acknowledged.saturating_sub(parts.torn.start as u64),
        ids_lost: match marks {
            Ok(marks) => {
                marks.is_none() && version == Some(Version::Two) && !parts.whole.is_empty()
            }
            Err(_) => true,
        },
        torn: parts.torn,
    })
}

/// Why a start would not read a whole record, with the byte at which it begins.
fn why_unreadable(whole: &Whole<'_>) -> Option<(usize, String)> {
    let error = serde_json::from_slice::<Record>(whole.payload).err()?;
    Some((whole.at, error.to_string()))
}

/// Makes a journal of the whole records in `folder` but those that begin at the bytes `cut`, and
/// keeps the old file. Numbers are passed over that may have been given in what is lost.
///
/// # Errors
/// When a coordinator uses the folder, when a whole record that stays is not one of this version,
/// when no whole record begins where one is to be cut out, or when the new journal cannot be
/// written.
pub fn repair(folder: &Path, cut: &[u64]) -> Result<Repaired, JournalError> {
    let path = folder.join(NAME);
    let io = |source| JournalError::Io { path: path.clone(), source };
    let _lock = lock(folder)?;
    let bytes = read(folder)?;
    let version = Version::of(&bytes).unwrap_or(Version::Two);
    let mut parts = parts(version, &bytes);
    let begins = |at: &u64| parts.whole.iter().any(|whole| whole.at as u64 == *at);
    if let Some(&at) = cut.iter().find(|at| !begins(at)) {
        return Err(JournalError::NoRecord { path, at });
    }
    parts.whole.retain(|whole| !cut.contains(&(whole.at as u64)));
    let (mut seen, count) = (Marks::default(), parts.whole.len());
    for whole in &parts.whole {
        let at = whole.at as u64;
        let record = serde_json::from_slice::<Record>(whole.payload);
        let foreign = |source| JournalError::Record { path: path.clone(), at, source };
        seen.see(&record.map_err(foreign)?);
    }
    let marks = match Marks::read(folder) {
        Ok(Some(marks)) if cut.is_empty() => given(seen, count, Some(marks), version),
        // Nobody knows how many numbers were given.
        _ => given(seen, count, None, version).with_unknown(),
    };
    let (_, length) = write_new(folder, |out| {
        let mut new = Vec::new();
        parts.whole.iter().try_for_each(|whole| frame(whole.payload, &mut new))?;
        out.write_all(&new)?;
        Ok(new.len() as u64)
    })
    .map_err(io)?;
    let kept = keep(folder).map_err(io)?;
    // A journal that is longer than the marks say is in order; one that is shorter is not.
    Marks { bytes: length, ..marks }.write(folder).map_err(io)?;
    put_in_place(folder).map_err(io)?;
    Ok(Repaired { kept, records: count })
}

/// The bytes of the journal; none where there is no file.
pub(super) fn read(folder: &Path) -> Result<Vec<u8>, JournalError> {
    let path = folder.join(NAME);
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && folder.is_dir() => Ok(Vec::new()),
        bytes => bytes.map_err(|source| JournalError::Io { path, source }),
    }
}

/// Keeps the journal under a second name.
fn keep(folder: &Path) -> io::Result<Option<PathBuf>> {
    let path = folder.join(NAME);
    if !path.exists() {
        return Ok(None);
    }
    let kept = free_name(folder, "before-repair");
    fs::hard_link(path, &kept)?;
    Ok(Some(kept))
}

fn printable(bytes: &[u8]) -> String {
    let shown =
        |byte: &u8| if byte.is_ascii_graphic() || *byte == b' ' { *byte as char } else { '.' };
    bytes.iter().take(MAX_SHOWN).map(shown).collect()
}

/// The most bytes of a damaged part that are shown.
const MAX_SHOWN: usize = 400;
