//! The agent's socket for applications: who may use it, and how it is made.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
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
    /// Limits of connections. A peer is a user, and the credential is the permission to use the
    /// file together with a hello.
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

/// A socket that this agent has to itself.
pub(crate) struct Bound {
    pub listener: UnixListener,
    /// Locked for as long as the agent has the name of the socket.
    pub lock: File,
}

/// Listens at `path` for the agent of `port`. The socket is made in a folder that no other user may
/// enter, and moves to its name after its mode is set: at no time can another user connect. Of
/// several agents that want the name, one gets it, by a lock on a file beside it.
///
/// # Errors
/// When another agent has the name, which the error names; or the files cannot be made.
pub(crate) async fn bind(path: &Path, port: u32, options: &SocketOptions) -> io::Result<Bound> {
    let lock = take_name(&hidden(path, ".lock")?, port).await?;
    let folder = hidden(path, "")?;
    // An agent that was killed between these two lines has left its folder behind.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let listener = bind_in(&folder.join("s"), path, options).await;
    std::fs::remove_dir_all(&folder)?;
    Ok(Bound { listener: listener?, lock })
}

/// The hidden file that belongs to a socket.
fn hidden(path: &Path, ending: &str) -> io::Result<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(ending);
    Ok(path.with_file_name(name))
}

/// Locks the file, and writes the numbers of this process and of its port into it. When the process
/// ends, in whatever way, the system unlocks the file.
async fn take_name(path: &Path, port: u32) -> io::Result<File> {
    let mut options = File::options();
    let mut file =
        options.create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            write!(file, "process {}, the agent of port {port}", std::process::id())?;
            Ok(file)
        }
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => {
            // The other agent may have locked it a moment ago.
            let mut other = String::new();
            for _ in 0..10 {
                if file.read_to_string(&mut other)? > 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Err(taken(if other.is_empty() { "another agent" } else { &other }))
        }
    }
}

fn taken(by: &str) -> io::Error {
    let what = format!("{by} has it: end that agent, or give this one another socket");
    io::Error::new(io::ErrorKind::AddrInUse, what)
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
            if let Ok(stream) = UnixStream::connect(path).await {
                // An agent of a version that locks nothing.
                let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
                return Err(taken(&match process {
                    Some(process) => format!("process {process}"),
                    None => "another process".to_owned(),
                }));
            }
            std::fs::remove_file(path)?;
            std::fs::hard_link(private, path)?;
        }
        linked => linked?,
    }
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_agents_that_race_for_a_name_one_has_it_and_is_named_to_the_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("agent.sock");
        // An agent that was killed has left its socket behind.
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
        let racing = (0..8).map(|port| {
            let path = path.clone();
            tokio::spawn(async move { (port, bind(&path, port, &SocketOptions::default()).await) })
        });
        let (mut bound, mut refused) = (Vec::new(), Vec::new());
        for task in racing.collect::<Vec<_>>() {
            match task.await.expect("no panic") {
                (port, Ok(it)) => bound.push((port, it)),
                (_, Err(error)) => refused.push(error.to_string()),
            }
        }
        assert_eq!((bound.len(), refused.len()), (1, 7));
        let process = std::process::id();
        let named = format!("process {process}, the agent of port {} has it", bound[0].0);
        assert!(refused.iter().all(|line| line.starts_with(&named)), "{refused:?}");
        UnixStream::connect(&path).await.expect("the one that has it listens");
        // The next one may have it.
        drop(bound);
        bind(&path, 9, &SocketOptions::default()).await.expect("it is free");
    }

    #[tokio::test]
    async fn an_agent_that_locks_nothing_is_named_by_its_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("agent.sock");
        let _listener = UnixListener::bind(&path).expect("a socket");
        let error = bind(&path, 0, &SocketOptions::default()).await.err().expect("it is taken");
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    }
}
