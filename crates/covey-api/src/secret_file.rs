//! Files that only their owner may read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::acl;
use crate::credential_error::CredentialError;

/// Checks that only its owner may read a file, or that an access control list lets nobody else read
/// it but this process's user and root. systemd hands credentials over as such files.
///
/// # Errors
/// When others may, or the file cannot be found.
pub fn check_mode(path: &Path) -> Result<(), CredentialError> {
    let metadata = fs::metadata(path)
        .map_err(|source| CredentialError::Io { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o777;
    // Of a file with a list, the bits of the group are the most that the list gives to anybody.
    if mode & 0o077 == 0 || (mode & 0o037 == 0 && acl::is_for_us_alone(path)) {
        return Ok(());
    }
    Err(CredentialError::Mode { path: path.to_owned(), mode })
}
