//! The files in a coordinator's folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::format::MAGIC;

/// The journal.
pub(super) const NAME: &str = "journal";
/// A journal that is being written.
pub(super) const NEW: &str = "journal.new";
/// The numbers that may have been given.
pub(super) const IDS: &str = "ids";

/// A name for a file beside the journal that no file has.
pub(super) fn free_name(folder: &Path, what: &str) -> PathBuf {
    let mut k = 1;
    loop {
        let name = folder.join(format!("{NAME}.{what}-{k}"));
        if !name.exists() {
            return name;
        }
        k += 1;
    }
}

/// Writes a journal, whose records are `written`, beside the one there is. Returns it with its
/// bytes.
pub(super) fn write_new(
    folder: &Path,
    written: impl FnOnce(&mut BufWriter<&File>) -> io::Result<u64>,
) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
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
pub(super) fn put_in_place(folder: &Path) -> io::Result<()> {
    fs::rename(folder.join(NEW), folder.join(NAME))?;
    sync_folder(folder)
}

/// A new name in a folder lasts when the folder is on disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
