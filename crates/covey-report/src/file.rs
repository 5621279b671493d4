//! Writes files completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Writes a file so that `path` never holds half of it. `write` fills a temporary file in the same
/// folder, which then replaces `path`. After an error `path` is unchanged.
///
/// A symbolic link is followed, and an existing file keeps its permissions. A pipe, a terminal or a
/// device such as `/dev/null` is written directly.
///
/// # Errors
///
/// The error of `write`, or of creating, writing or renaming the file.
pub fn write_file_atomically(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match Destination::of(path.as_ref())? {
        Destination::Device(path) => {
            let mut out = BufWriter::new(File::options().write(true).open(path)?);
            write(&mut out)?;
            out.flush()
        }
        Destination::File(path, temporary) => {
            // Writing through `as_file` gives plain I/O errors. Those of `temporary` name the
            // temporary file, which the user does not know.
            let mut out = BufWriter::new(temporary.as_file());
            write(&mut out)?;
            out.flush()?;
            drop(out);
            temporary.persist(&path)?;
            Ok(())
        }
    }
}

/// Checks, before long work, that [`write_file_atomically`] can begin to write `path`. The check
/// leaves no file behind.
///
/// # Errors
///
/// If the folder does not exist or is not writable, or if `path` is a folder.
pub fn check_writable(path: impl AsRef<Path>) -> io::Result<()> {
    Destination::of(path.as_ref()).map(drop)
}

/// Where the bytes are written first.
enum Destination {
    /// Directly to something that is not a regular file.
    Device(PathBuf),
    /// To a temporary file in the folder of the path, which is deleted unless it replaces the path.
    File(PathBuf, NamedTempFile),
}

impl Destination {
    fn of(path: &Path) -> io::Result<Self> {
        let existing = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if existing.as_ref().is_some_and(|m| !m.is_file()) {
            return Ok(Self::Device(path.to_path_buf()));
        }
        let path = if existing.is_some() { path.canonicalize()? } else { path.to_path_buf() };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::metadata(folder)?;

        let mut builder = tempfile::Builder::new();
        builder.prefix(".covey-").suffix(".tmp");
        if let Some(permissions) = existing.map(|m| m.permissions()).or_else(default_permissions) {
            builder.permissions(permissions);
        }
        let temporary = builder.tempfile_in(folder)?;
        Ok(Self::File(path, temporary))
    }
}

/// The permissions that `File::create` requests, before the umask. A temporary file would have
/// fewer.
#[cfg(unix)]
fn default_permissions() -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(fs::Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn default_permissions() -> Option<fs::Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn replaces_the_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        for text in ["first, and longer", "second"] {
            write_file_atomically(&path, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names_in(folder.path()), ["a.csv"]);
    }

    #[test]
    fn after_an_error_the_file_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let fail = |out: &mut dyn Write| {
            out.write_all(b"half of")?;
            Err(io::Error::other("no more"))
        };
        assert_eq!(write_file_atomically(&path, fail).unwrap_err().to_string(), "no more");
        assert!(names_in(folder.path()).is_empty());
        fs::write(&path, "old").unwrap();
        write_file_atomically(&path, fail).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names_in(folder.path()), ["a.csv"]);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/a.csv");
        let error = write_file_atomically(&path, |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_check_gives_the_error_of_writing_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |path: &Path| check_writable(path).map_err(|e| e.kind());
        assert_eq!(kind(&folder.path().join("none/a.csv")), Err(io::ErrorKind::NotFound));
        assert_eq!(kind(folder.path()), Err(io::ErrorKind::IsADirectory));
        assert_eq!(kind(&folder.path().join("a.csv")), Ok(()));
        assert!(names_in(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn follows_links_keeps_permissions_and_writes_to_devices() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("file", &link).unwrap();
        write_file_atomically(&link, |out| out.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        write_file_atomically("/dev/null", |out| out.write_all(b"gone")).unwrap();
    }
}
