//! Files that are written completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Writes a file by `write`, so that `path` never holds half of it: the bytes go to a temporary
/// file beside it, which takes its place once all is written. After an error `path` is as it was.
///
/// A symbolic link is followed, a file that exists keeps its permissions, and what is not a file
/// (a pipe, a terminal, `/dev/null`) is written as it is.
///
/// # Errors
///
/// Those of `write`, and those of creating, writing and renaming the file.
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
            // Errors of the file itself: those of `temporary` would name a file nobody knows.
            let mut out = BufWriter::new(temporary.as_file());
            write(&mut out)?;
            out.flush()?;
            drop(out);
            temporary.persist(&path)?;
            Ok(())
        }
    }
}

/// Whether [`write_file_atomically`] could begin to write `path` now: a check to make before long
/// work. It leaves nothing behind.
///
/// # Errors
///
/// Where the folder is not there or may not be written, or `path` is a folder itself.
pub fn check_writable(path: impl AsRef<Path>) -> io::Result<()> {
    Destination::of(path.as_ref()).map(drop)
}

/// Where the bytes go at first.
enum Destination {
    /// To something that is not a file, as it is.
    Device(PathBuf),
    /// To a temporary file beside the one to be written, which vanishes if nothing comes of it.
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
        if let Some(permissions) = existing.map(|m| m.permissions()).or_else(usual_permissions) {
            builder.permissions(permissions);
        }
        let temporary = builder.tempfile_in(folder)?;
        Ok(Self::File(path, temporary))
    }
}

/// What a new file gets from `File::create` (the umask applies); a temporary one would get less.
#[cfg(unix)]
fn usual_permissions() -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(fs::Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn usual_permissions() -> Option<fs::Permissions> {
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
    fn after_an_error_the_file_is_as_it_was() {
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
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/a.csv");
        let error = write_file_atomically(&path, |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_check_says_what_writing_would_and_leaves_nothing() {
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
