//! BPF programs of this crate: they go with this process, whatever ends it, for nothing is pinned.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use aya::maps::{Map, MapError};
use aya::util::KernelVersion;
use aya::{Ebpf, EbpfLoader};
use thiserror::Error;

/// Why a program cannot run.
#[derive(Debug, Error)]
pub enum BpfError {
    /// Programs of an older kernel would outlive their process.
    #[error("Linux: expected version 5.7 or later")]
    Old,
    /// The kernel does not hand over sockets, so that a held flow could not be let go.
    #[error("pidfd_getfd: {0}: expected Linux 5.7 or later, and no filter of system calls")]
    Sockets(io::Error),
    /// The machine has no control groups of version 2.
    #[error("/proc/self/mounts: expected a mount of cgroup2, found none")]
    NoCgroup,
    /// The folder of the control groups cannot be opened.
    #[error("{0}: {1}")]
    Cgroup(PathBuf, io::Error),
    /// The kernel refuses.
    #[error("BPF: {0}: expected the capabilities CAP_BPF and CAP_NET_ADMIN")]
    Kernel(String),
}

impl BpfError {
    /// The kernel refuses, for a reason.
    pub(crate) fn refused(error: impl std::fmt::Display) -> BpfError {
        BpfError::Kernel(error.to_string())
    }

    /// The object has no such program or map.
    pub(crate) fn missing() -> BpfError {
        BpfError::Kernel("the object lacks a part".to_owned())
    }
}

/// Loads an object, whose programs are not attached yet.
pub(crate) fn load(object: &[u8]) -> Result<Ebpf, BpfError> {
    if KernelVersion::current().is_ok_and(|version| version < KernelVersion::new(5, 7, 0)) {
        return Err(BpfError::Old);
    }
    EbpfLoader::new().load(object).map_err(BpfError::refused)
}

/// Takes a map of an object.
pub(crate) fn map<M: TryFrom<Map, Error = MapError>>(
    object: &mut Ebpf,
    name: &str,
) -> Result<M, BpfError> {
    M::try_from(object.take_map(name).ok_or_else(BpfError::missing)?).map_err(BpfError::refused)
}

/// The root of the control groups: programs there see all processes, in all network namespaces of
/// this machine.
pub(crate) fn root() -> Result<File, BpfError> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let root = cgroup2(&mounts).ok_or(BpfError::NoCgroup)?;
    File::open(root).map_err(|error| BpfError::Cgroup(root.into(), error))
}

/// The first mount of cgroup2.
fn cgroup2(mounts: &str) -> Option<&Path> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let is_cgroup2 = |fields: &Vec<&str>| fields.get(2) == Some(&"cgroup2");
    fields.filter(is_cgroup2).find_map(|fields| fields.get(1).copied()).map(Path::new)
}

/// The clock of BPF programs, in nanoseconds since the start of the machine.
pub(crate) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_groups_are_found_among_mounts() {
        let mounts = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(cgroup2(mounts), Some(Path::new("/sys/fs/cgroup/unified")));
        assert_eq!(cgroup2("proc /proc proc rw 0 0"), None);
    }
}
