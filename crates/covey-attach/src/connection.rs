//! A TCP connection as the kernel shows it.

use std::net::SocketAddr;

/// One side of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The socket's cookie: no other socket has the same since the start of the machine.
    pub cookie: u64,
    /// The inode of its file; 0 if no process has it open.
    pub inode: u32,
    /// The end of this side.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Bytes of this side that the other one has acknowledged.
    pub acknowledged: u64,
    /// Whether the other side has acknowledged its end: it will send nothing more.
    pub is_over: bool,
    /// Whether it has nothing to send now, and all is acknowledged.
    pub is_idle: bool,
    /// For how many microseconds it has had something to send.
    pub busy_us: u64,
    /// The most bytes a second that the kernel sends of it; [`UNPACED`] if that has no limit.
    pub max_pace: u64,
    /// When it began, if that was seen.
    pub begun: Option<Begun>,
}

/// How long ago a connection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// Microseconds since a program asked for it; on the other side, since it was established.
    pub asked_us: u64,
    /// Microseconds since it was established.
    pub established_us: u64,
}

/// The rate of a socket that nobody paces.
pub const UNPACED: u64 = u64::MAX;
