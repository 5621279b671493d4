//! Keeps the data of sockets back while their flows have to wait (bpf/hold.bpf.c).

use std::collections::BTreeSet;
use std::io;

use aya::Ebpf;
use aya::maps::{Array, HashMap, MapData};
use aya::programs::{CgroupAttachMode, CgroupSkb, CgroupSkbAttachType};

use crate::bpf::{BpfError, load, map, now_ns, root};
use crate::pace::may_take_sockets;

const OBJECT: &[u8] = include_bytes!("../bpf/hold.bpf.o");

/// For so long flows are held after this process has last said that it follows them, in
/// nanoseconds. It does so fifty times a second: one that is silent for longer was stopped, or gets
/// no processor, and what it knows is old.
const LEASE_NS: u64 = 250_000_000;

/// The sockets that are held.
pub struct Hold {
    held: HashMap<MapData, u64, u64>,
    until: Array<MapData, u64>,
    /// The sockets in `held`, by their cookies.
    cookies: BTreeSet<u64>,
    /// The program that holds sockets. It is unloaded when this is dropped.
    _program: Ebpf,
}

impl Hold {
    /// Holds no socket yet. Sees the sockets of all processes in the network namespaces of this
    /// machine.
    ///
    /// # Errors
    /// When the kernel cannot do it, or this process may not have it done.
    pub fn new() -> Result<Hold, BpfError> {
        let mut object = load(OBJECT)?;
        may_take_sockets().map_err(BpfError::Sockets)?;
        let program = object.program_mut("hold").ok_or_else(BpfError::missing)?;
        let program: &mut CgroupSkb = program.try_into().map_err(BpfError::refused)?;
        program.load().map_err(BpfError::refused)?;
        // A link allows others beside it.
        program
            .attach(root()?, CgroupSkbAttachType::Egress, CgroupAttachMode::Single)
            .map_err(BpfError::refused)?;
        let (held, until) = (map(&mut object, "held")?, map(&mut object, "until")?);
        Ok(Hold { held, until, cookies: BTreeSet::new(), _program: object })
    }

    /// Keeps the data of a socket back, by its cookie.
    ///
    /// # Errors
    /// When there is no room for more.
    pub fn hold(&mut self, cookie: u64) -> io::Result<()> {
        self.held.insert(cookie, now_ns(), 0).map_err(io::Error::other)?;
        self.cookies.insert(cookie);
        self.renew();
        Ok(())
    }

    /// Says that this process follows its flows. It has to be called many times a second: after a
    /// quarter of a second without a call no socket is held any more, because decisions are old by
    /// then.
    pub fn renew(&mut self) {
        if !self.cookies.is_empty() {
            // An array always has its only entry: this cannot fail.
            let _ = self.until.set(0, now_ns() + LEASE_NS, 0);
        }
    }

    /// Lets a socket go on. What it could not send it sends when it tries again, which
    /// [`Socket::kick`](crate::pace::Socket::kick) makes it do at once.
    pub fn let_go(&mut self, cookie: u64) {
        if self.cookies.remove(&cookie) {
            // `cookies` had the socket, so `held` has it, too.
            let _ = self.held.remove(&cookie);
        }
    }
}
