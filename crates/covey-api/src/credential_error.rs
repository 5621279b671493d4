//! Why credentials cannot be made or used.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why credentials cannot be made or used.
#[derive(Debug, Error)]
pub enum CredentialError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file can be read by others than its owner.
    #[error("{}: expected mode 0600, found {mode:04o}", path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A file is not what it should be.
    #[error("{}: {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Keys or certificates cannot be made.
    #[error("cannot make certificates: {0}")]
    Make(String),
    /// A certificate or key cannot be used.
    #[error("cannot use certificates: {0}")]
    Use(String),
}
