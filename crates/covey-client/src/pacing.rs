//! Options of a flow's socket: the rate that the kernel paces it at, its DSCP mark, and its
//! backlog.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use socket2::SockRef;
use tokio::net::TcpStream;

use crate::token_bucket::MIN_KERNEL_RATE;

/// How long a paced socket may take to send what it holds, in seconds: long enough for a writer
/// that is late, short enough for a flow that must stop.
const BACKLOG_S: f64 = 0.01;
/// Bounds of that backlog in bytes.
const MIN_BACKLOG: f64 = 16.0 * 1024.0;
const MAX_BACKLOG: f64 = 4.0 * 1024.0 * 1024.0;

/// Has the kernel send at most `rate` bytes a second of a socket, or [`MIN_KERNEL_RATE`] if that is
/// more; an infinite rate removes the limit. A flow that must stop writes nothing. A paced socket
/// sends small packets at once: if it waited for more data, it would fall behind its rate.
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

/// Ends a connection in both directions, whatever waits in its buffers.
pub fn close(socket: &TcpStream) {
    // One that is over already need not be ended.
    let _ = SockRef::from(socket).shutdown(std::net::Shutdown::Both);
}

/// Has a socket take more only while it holds less than `bytes` that are not sent: what is written
/// next is sent soon.
///
/// # Errors
/// When the kernel refuses.
pub fn hold_little(socket: &TcpStream, bytes: u32) -> io::Result<()> {
    SockRef::from(socket).set_tcp_notsent_lowat(bytes)
}

/// Has the kernel send at most `rate` bytes a second of a socket; the greatest number removes the
/// limit.
///
/// # Errors
/// When the kernel refuses.
pub fn set_max_pacing_rate(socket: &impl AsFd, rate: u64) -> io::Result<()> {
    set(socket, (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), rate)
}

/// Has the kernel cut what is sent by a socket of datagrams into datagrams of so many bytes. That
/// costs a fraction of as many calls.
///
/// # Errors
/// When the kernel refuses.
pub fn set_datagram_size(socket: &impl AsFd, bytes: u16) -> io::Result<()> {
    set(socket, (libc::SOL_UDP, libc::UDP_SEGMENT), u32::from(bytes))
}

/// Has the kernel wake the reader of a socket only when `bytes` have come.
///
/// # Errors
/// When the kernel refuses.
pub fn wake_for(socket: &TcpStream, bytes: u32) -> io::Result<()> {
    set(socket, (libc::SOL_SOCKET, libc::SO_RCVLOWAT), bytes.min(i32::MAX as u32))
}

/// Values of socket options that are plain numbers.
trait Number: Copy {}
impl Number for u32 {}
impl Number for u64 {}

#[expect(unsafe_code, reason = "no safe wrapper of these options exists in socket2, rustix or std")]
fn set<T: Number>(
    socket: &impl AsFd,
    (level, option): (libc::c_int, libc::c_int),
    value: T,
) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the descriptor is open while `socket` is borrowed; the kernel reads `length` bytes
    // from the pointer, which is to a number of that size that lives until the call returns, and
    // keeps nothing.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How many bytes of a connection the other side's kernel has acknowledged; nothing if none wait
/// for that, or if the kernel does not count them (before Linux 4.6).
///
/// # Errors
/// When the kernel refuses.
pub fn acknowledged(socket: &TcpStream) -> io::Result<Option<u64>> {
    // Offsets in `struct tcp_info` of linux/tcp.h: segments on their way, bytes acknowledged, and
    // bytes not sent.
    const UNACKED: usize = 24;
    const BYTES_ACKED: usize = 120;
    const NOTSENT_BYTES: usize = 144;
    let (info, length) = tcp_info(socket)?;
    if length < NOTSENT_BYTES + 4 {
        return Ok(None);
    }
    let number =
        |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
    let waits = number(UNACKED) > 0 || number(NOTSENT_BYTES) > 0;
    let acked = info[BYTES_ACKED..].first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
    Ok(acked.filter(|_| waits))
}

/// Room for what the kernel tells of a connection.
const TCP_INFO: usize = 256;

#[expect(
    unsafe_code,
    reason = "no safe wrapper of TCP_INFO with all its fields exists in socket2, rustix or std"
)]
fn tcp_info(socket: &impl AsFd) -> io::Result<([u8; TCP_INFO], usize)> {
    let mut info = [0_u8; TCP_INFO];
    let mut length = TCP_INFO as libc::socklen_t;
    // SAFETY: the descriptor is open while `socket` is borrowed; the kernel writes at most `length`
    // bytes to `info`, which has room for them and lives until the call returns, and keeps nothing.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok((info, length as usize)) } else { Err(io::Error::last_os_error()) }
}

/// The mark of a queue's packets where senders choose among at most eight strict queues, from 0,
/// the first: the class selectors CS7 down to CS1, and then lower effort (RFC 8622). Plain traffic
/// has none of these marks.
pub fn mark_of_queue(queue: u32) -> u32 {
    /// DSCP 1, as a byte of the IP header.
    const LOWER_EFFORT: u32 = 1 << 2;
    if queue < 7 { mark_of(Some(queue)) } else { LOWER_EFFORT }
}

/// The class selector (RFC 2474) of a layer's flows, as a byte of the IP header. The first seven
/// layers get CS7 down to CS1, later layers get CS1, and flows that are not served get CS0.
pub fn mark_of(layer: Option<u32>) -> u32 {
    layer.map_or(0, |layer| 7 - layer.min(6)) << 5
}

/// Has the kernel mark a socket's packets: `tos` is the byte of the IP header, whose last two bits
/// are TCP's own.
///
/// # Errors
/// When the kernel refuses.
pub fn mark(socket: &impl AsFd, tos: u32) -> io::Result<()> {
    let socket = SockRef::from(socket);
    if socket.local_addr()?.is_ipv6() {
        socket.set_tclass_v6(tos)?;
    }
    // A socket of IPv6 may be connected by IPv4.
    socket.set_tos_v4(tos)
}

/// The mark of a socket's packets.
///
/// # Errors
/// When the kernel refuses.
pub fn mark_of_socket(socket: &impl AsFd) -> io::Result<u32> {
    let socket = SockRef::from(socket);
    match socket.local_addr()?.is_ipv6() {
        true => socket.tclass_v6(),
        false => socket.tos_v4(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_layers_have_the_highest_classes() {
        let class = |layer| mark_of(layer) >> 5;
        assert_eq!([Some(0), Some(1), Some(6), Some(99), None].map(class), [7, 6, 1, 1, 0]);
    }

    #[tokio::test]
    async fn packets_of_both_versions_of_ip_are_marked() -> io::Result<()> {
        // On a machine without IPv6 there is one listener less.
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = tokio::net::TcpListener::bind(address).await else { continue };
            let port = listener.local_addr()?.port();
            let to = if address.starts_with("[::1]") { "[::1]" } else { "127.0.0.1" };
            let _other = TcpStream::connect(format!("{to}:{port}")).await?;
            let (socket, _) = listener.accept().await?;
            assert_eq!(mark_of_socket(&socket)?, 0);
            mark(&socket, mark_of(Some(0)))?;
            assert_eq!(mark_of_socket(&socket)?, 0xe0);
            assert_eq!(SockRef::from(&socket).tos_v4()?, 0xe0, "{address}");
        }
        Ok(())
    }

    #[test]
    fn eight_queues_have_eight_marks_and_none_is_that_of_plain_traffic() {
        let mut marks: Vec<u32> = (0..8).map(mark_of_queue).collect();
        marks.push(0);
        marks.sort_unstable();
        marks.dedup();
        assert_eq!(marks.len(), 9);
    }

    #[tokio::test]
    async fn the_kernel_tells_what_waits_for_an_acknowledgement() -> io::Result<()> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let sender = TcpStream::connect(listener.local_addr()?).await?;
        let (receiver, _) = listener.accept().await?;
        // The receiver reads nothing, so the sender soon waits.
        let mut sent = 0;
        while let Ok(count) = sender.try_write(&[0; 65_536]) {
            sent += count as u64;
        }
        let acked = acknowledged(&sender)?.expect("bytes wait");
        assert!(acked < sent);
        assert_eq!(acknowledged(&receiver)?, None);
        Ok(())
    }
}
