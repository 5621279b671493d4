//! The agent's socket for applications: who may use it, and how it is made.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use covey_door::Limits;
use tokio::net::{UnixListener, UnixStream};

/// Who may use the agent's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketOptions {
    /// The mode of the file.
    pub mode: u32,
    /// The group of the file, by number; without it, the agent's.
    pub group: Option<u32>,
    /// Limits of connections. A peer is a user, and the credential is the permission to use the file together with
    /// a hello.
    pub limits: Limits,
}

impl Default for SocketOptions {
    /// For the agent's user alone.
    fn default() -> SocketOptions {
        let limits = Limits {
            max: 2048,
            max_per_peer: 1024,
            max_unauthenticated: 128,
            patience: Duration::from_secs(5),
        };
        SocketOptions { mode: 0o600, group: None, limits }
    }
}

/// Listens at `path`. The socket is made in a folder that no other user may enter, and moves to its name after
/// its mode is set: at no time can another user connect.
pub(crate) async fn bind(path: &Path, options: &SocketOptions) -> io::Result<UnixListener> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    let folder = path.with_file_name(name);
    // An agent that was killed between these two lines has left its folder behind.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let listener = bind_in(&folder.join("s"), path, options).await;
    std::fs::remove_dir_all(&folder)?;
    listener
}

async fn bind_in(private: &Path, path: &Path, options: &SocketOptions) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(private)?;
    if options.group.is_some() {
        std::os::unix::fs::chown(private, None, options.group)?;
    }
    std::fs::set_permissions(private, std::fs::Permissions::from_mode(options.mode))?;
    match std::fs::hard_link(private, path) {
        // The file may be left from an agent that was killed.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if UnixStream::connect(path).await.is_ok() {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            std::fs::remove_file(path)?;
            std::fs::hard_link(private, path)?;
        }
        linked => linked?,
    }
    Ok(listener)
}
