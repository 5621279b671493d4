//! Which processes are watched, and which of their files are sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The processes whose connections are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// All processes that can be seen.
    Host,
    /// A process and those that it has started, and they in turn.
    Process(u32),
    /// The processes in a control group, and in the groups below it.
    Cgroup(PathBuf),
}

/// A file of a process.
#[derive(Debug, Clone)]
pub struct OpenFile {
    /// The process. Another one that has its number later is not meant.
    pub process: Arc<OwnedFd>,
    /// Its number for the file.
    pub descriptor: i32,
}

impl Target {
    /// The numbers of the processes that are in this process's network namespace: the kernel shows
    /// no connections of others. A process that has ended meanwhile may be missing.
    pub fn processes(&self) -> BTreeSet<u32> {
        let mut found = match self {
            Target::Host => all().collect(),
            Target::Process(root) => descendants(*root),
            Target::Cgroup(folder) => {
                let mut found = BTreeSet::new();
                in_cgroup(folder, &mut found);
                found
            }
        };
        let own = network("self");
        found.retain(|process| network(process) == own);
        found
    }

    /// The sockets of the processes, by their inodes.
    pub fn sockets(&self) -> BTreeMap<u32, OpenFile> {
        let processes = self.processes().into_iter();
        processes.flat_map(sockets_of).collect()
    }
}

/// Sockets of a process. It may have ended, or be another user's.
fn sockets_of(process: u32) -> Vec<(u32, OpenFile)> {
    let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let sockets: Vec<(u32, i32)> = files
        .filter_map(|file| {
            let descriptor = file.file_name().to_str()?.parse().ok()?;
            let link = fs::read_link(file.path()).ok()?;
            let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
            Some((inode, descriptor))
        })
        .collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let Ok(process) = opened(process).map(Arc::new) else { return Vec::new() };
    let opened = |(inode, descriptor)| (inode, OpenFile { process: process.clone(), descriptor });
    sockets.into_iter().map(opened).collect()
}

/// A process, by its number.
///
/// # Errors
/// When there is none, or this one has too many files open.
pub fn opened(process: u32) -> io::Result<OwnedFd> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    Ok(pidfd_open(process.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?)
}

/// The network namespace of a process, if this one may know.
fn network(process: impl std::fmt::Display) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/net")).ok()
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn descendants(root: u32) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for process in all() {
        if let Some(parent) = parent(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let (mut found, mut open) = (BTreeSet::new(), vec![root]);
    while let Some(process) = open.pop() {
        if found.insert(process) {
            open.extend(children.get(&process).into_iter().flatten());
        }
    }
    found
}

/// The fourth field of `/proc/PID/stat`, after the name in parentheses, which may contain anything.
fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

fn in_cgroup(folder: &Path, found: &mut BTreeSet<u32>) {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    found.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.for_each(|entry| in_cgroup(&entry.path(), found));
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_has_its_sockets_and_its_children() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let own = std::process::id();
        let sockets = Target::Process(own).sockets();
        assert!(sockets.values().any(|found| found.descriptor == listener.as_raw_fd()));
        let mut child =
            Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().expect("sleep");
        let processes = Target::Process(own).processes();
        let is_found = processes.contains(&own) && processes.contains(&child.id());
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        assert!(is_found);
        assert!(!Target::Process(own).processes().contains(&child.id()));
    }
}
