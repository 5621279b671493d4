//! Files of secrets.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

use covey_api::CredentialError;

pub(super) fn io_error(path: &Path, source: io::Error) -> CredentialError {
    CredentialError::Io { path: path.to_owned(), source }
}

/// Makes a folder that only its owner may enter, unless there is one.
pub(crate) fn create_folder(folder: &Path) -> Result<(), CredentialError> {
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(|source| io_error(folder, source))
}

pub(super) fn read(path: &Path) -> Result<String, CredentialError> {
    fs::read_to_string(path).map_err(|source| io_error(path, source))
}

/// Writes a file that only its owner may read: the owner of its folder, as far as root writes it
/// for a service.
pub(crate) fn write_secret(path: &Path, content: &[u8]) -> Result<(), CredentialError> {
    // A failure must not leave a part of the file under its name.
    let new = path.with_added_extension("new");
    let write = || {
        if new.exists() {
            fs::remove_file(&new)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&new)?;
        if rustix::process::geteuid().is_root()
            && let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
        {
            let owner = fs::metadata(folder)?;
            fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
        }
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&new, path)
    };
    write().map_err(|source| io_error(path, source))
}
