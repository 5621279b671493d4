//! The lock on a coordinator's folder.

use std::fs::File;
use std::path::Path;

use super::error::JournalError;

pub(super) fn lock(folder: &Path) -> Result<File, JournalError> {
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(|source| JournalError::Io { path, source })?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(_) => Err(JournalError::Locked(folder.to_owned())),
    }
}
