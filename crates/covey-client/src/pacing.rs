//! Options of a flow's socket: the rate that the kernel paces it at, its DSCP mark, and its backlog.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use socket2::SockRef;
use tokio::net::TcpStream;

use crate::token_bucket::MIN_KERNEL_RATE;

/// How long a paced socket may take to send what it holds, in seconds: long enough for a writer that is late,
/// short enough for a flow that must stop.
const BACKLOG_S: f64 = 0.01;
/// Bounds of that backlog in bytes.
const MIN_BACKLOG: f64 = 16.0 * 1024.0;
const MAX_BACKLOG: f64 = 4.0 * 1024.0 * 1024.0;

/// Has the kernel send at most `rate` bytes a second of a socket, or [`MIN_KERNEL_RATE`] if that is more; an infinite
/// rate removes the limit. A flow that must stop writes nothing. A paced socket sends small packets at once: if it
/// waited for more data, it would fall behind its rate.
///
/// # Errors
/// When the kernel refuses.
pub fn pace(socket: &TcpStream, rate: f64) -> io::Result<()> {
    let (pace, backlog) = if rate.is_finite() {
        (
            rate.max(MIN_KERNEL_RATE) as u64,
            (rate * BACKLOG_S).clamp(MIN_BACKLOG, MAX_BACKLOG) as u32,
        )
    } else {
        (u64::MAX, u32::MAX)
    };
    if rate.is_finite() {
        socket.set_nodelay(true)?;
    }
    SockRef::from(socket).set_tcp_notsent_lowat(backlog)?;
    set_max_pacing_rate(socket, pace)
}

/// Has the kernel send at most `rate` bytes a second of a socket; the greatest number removes the limit.
///
/// # Errors
/// When the kernel refuses.
pub fn set_max_pacing_rate(socket: &impl AsFd, rate: u64) -> io::Result<()> {
    set(socket, libc::SO_MAX_PACING_RATE, rate)
}

/// Has the kernel wake the reader of a socket only when `bytes` have come.
///
/// # Errors
/// When the kernel refuses.
pub fn wake_for(socket: &TcpStream, bytes: u32) -> io::Result<()> {
    set(socket, libc::SO_RCVLOWAT, bytes.min(i32::MAX as u32))
}

/// Values of socket options that are plain numbers.
trait Number: Copy {}
impl Number for u32 {}
impl Number for u64 {}

#[expect(unsafe_code, reason = "no safe wrapper of these options exists in socket2, rustix or std")]
fn set<T: Number>(socket: &impl AsFd, option: libc::c_int, value: T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the descriptor is open while `socket` is borrowed; the kernel reads `length` bytes from
    // the pointer, which is to a number of that size that lives until the call returns, and keeps
    // nothing.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The class selector (RFC 2474) of a layer's flows, as a byte of the IP header. The first seven layers get CS7 down
/// to CS1, later layers get CS1, and flows that are not served get CS0.
pub fn mark_of(layer: Option<u32>) -> u32 {
    layer.map_or(0, |layer| 7 - layer.min(6)) << 5
}

/// Has the kernel mark a socket's packets.
///
/// # Errors
/// When the kernel refuses.
pub fn mark(socket: &TcpStream, tos: u32) -> io::Result<()> {
    let is_v6 = socket.local_addr()?.is_ipv6();
    let socket = SockRef::from(socket);
    if is_v6 { socket.set_tclass_v6(tos) } else { socket.set_tos_v4(tos) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_layers_have_the_highest_classes() {
        let class = |layer| mark_of(layer) >> 5;
        assert_eq!([Some(0), Some(1), Some(6), Some(99), None].map(class), [7, 6, 1, 1, 0]);
    }
}
