//! The folder of a replay, with keys that no longer count when it is over.
//!
//! A process that is killed cannot remove its folder. So it holds a lock there, and the next replay
//! removes the folders whose locks nobody holds.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Names of these folders begin so.
const PREFIX: &str = "covey-testbed-";
/// The file that is locked.
const LOCK: &str = "lock";

/// A folder that is removed with the value, or by a later one.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
    _lock: File,
}

impl Scratch {
    /// A new folder, which only its owner can read. Removes those that earlier processes have left.
    pub fn new() -> io::Result<Scratch> {
        Scratch::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Scratch> {
        // Folders of other users cannot be removed, and do no harm.
        left(parent).iter().for_each(|folder| _ = fs::remove_dir_all(folder));
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // Nobody finds the file before it is locked.
        let new = folder.path().join("lock.new");
        let lock = File::create(&new)?;
        lock.lock()?;
        fs::rename(new, folder.path().join(LOCK))?;
        Ok(Scratch { folder, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Folders whose processes have ended.
fn left(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let is_left =
        |folder: &PathBuf| File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
    folders.map(|entry| entry.path()).filter(is_left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_has_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a folder");
        let dead = parent.path().join("covey-testbed-dead");
        fs::create_dir(&dead).expect("a folder");
        fs::write(dead.join(LOCK), "").expect("a file");
        fs::write(dead.join("ca.key"), "a key").expect("a file");
        let other = parent.path().join("other");
        fs::create_dir(&other).expect("a folder");
        fs::write(other.join(LOCK), "").expect("a file");
        let first = Scratch::new_in(parent.path()).expect("a folder");
        assert!(!dead.exists() && other.exists());
        let second = Scratch::new_in(parent.path()).expect("a folder");
        assert!(first.path().exists() && first.path() != second.path());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
