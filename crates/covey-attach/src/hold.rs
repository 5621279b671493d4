//! Keeps the data of sockets back while their flows have to wait (bpf/hold.bpf.c).
//!
//! The program goes with this process, whatever ends it: nothing is pinned.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use aya::maps::{Array, HashMap, MapData};
use aya::programs::{CgroupAttachMode, CgroupSkb, CgroupSkbAttachType};
use aya::util::KernelVersion;
use aya::{Ebpf, EbpfLoader};
use thiserror::Error;

use crate::pace::may_take_sockets;

const OBJECT: &[u8] = include_bytes!("../bpf/hold.bpf.o");

/// Why sockets cannot be held.
#[derive(Debug, Error)]
pub enum HoldError {
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

/// The sockets that are held.
pub struct Hold {
    held: HashMap<MapData, u64, u64>,
    beat: Array<MapData, u64>,
    /// Holds as long as it is there.
    _program: Ebpf,
}

impl Hold {
    /// Holds no socket yet. Sees the sockets of all processes in the network namespaces of this machine.
    ///
    /// # Errors
    /// When the kernel cannot do it, or this process may not have it done.
    pub fn new() -> Result<Hold, HoldError> {
        let refused = |error: &dyn std::fmt::Display| HoldError::Kernel(error.to_string());
        if KernelVersion::current().is_ok_and(|version| version < KernelVersion::new(5, 7, 0)) {
            return Err(HoldError::Old);
        }
        may_take_sockets().map_err(HoldError::Sockets)?;
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let root = cgroup2(&mounts).ok_or(HoldError::NoCgroup)?;
        let folder = File::open(root).map_err(|error| HoldError::Cgroup(root.into(), error))?;
        let mut program = EbpfLoader::new().load(OBJECT).map_err(|error| refused(&error))?;
        let missing = || HoldError::Kernel("the object lacks a part".to_owned());
        let hold: &mut CgroupSkb = program
            .program_mut("hold")
            .ok_or_else(missing)?
            .try_into()
            .map_err(|error: aya::programs::ProgramError| refused(&error))?;
        hold.load().map_err(|error| refused(&error))?;
        // A link allows others beside it.
        hold.attach(folder, CgroupSkbAttachType::Egress, CgroupAttachMode::Single)
            .map_err(|error| refused(&error))?;
        let held = program.take_map("held").ok_or_else(missing)?;
        let held = HashMap::try_from(held).map_err(|error| refused(&error))?;
        let beat = program.take_map("beat").ok_or_else(missing)?;
        let beat = Array::try_from(beat).map_err(|error| refused(&error))?;
        let mut hold = Hold { held, beat, _program: program };
        hold.beat();
        Ok(hold)
    }

    /// Keeps the data of a socket back, by its cookie.
    ///
    /// # Errors
    /// When there is no room for more.
    pub fn hold(&mut self, cookie: u64) -> io::Result<()> {
        self.beat();
        self.held.insert(cookie, now_ns(), 0).map_err(io::Error::other)
    }

    /// This process is there. It is to say so several times a second: after two seconds of silence nobody is held, for
    /// it may have been stopped.
    pub fn beat(&mut self) {
        // The only entry is always there.
        let _ = self.beat.set(0, now_ns(), 0);
    }

    /// Lets a socket go on. What it could not send it sends when it tries again, which
    /// [`kick`](crate::pace::kick) makes it do at once.
    pub fn let_go(&mut self, cookie: u64) {
        // It may not have been held.
        let _ = self.held.remove(&cookie);
    }
}

/// The clock of BPF programs.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The first mount of cgroup2.
fn cgroup2(mounts: &str) -> Option<&Path> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let is_cgroup2 = |fields: &Vec<&str>| fields.get(2) == Some(&"cgroup2");
    fields.filter(is_cgroup2).find_map(|fields| fields.get(1).copied()).map(Path::new)
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
