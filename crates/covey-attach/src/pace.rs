//! The rate and the mark of a socket of another process: the kernel gives this one a duplicate of the descriptor for a moment.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use covey_client::set_max_pacing_rate;
use rustix::net::sockopt;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::target::OpenFile;

/// Has the kernel send at most `rate` bytes a second of the socket with a cookie;
/// [`UNPACED`](crate::connection::UNPACED): as fast as it can.
///
/// # Errors
/// When the file is another one by now, the process has ended, or this one may not: that needs CAP_SYS_PTRACE for
/// processes of other users.
pub fn pace(file: OpenFile, cookie: u64, rate: u64) -> io::Result<()> {
    set_max_pacing_rate(&duplicate(file, cookie)?, rate)
}

/// Has the kernel mark the packets of the socket with a cookie (DSCP, as a byte of the IP header).
///
/// # Errors
/// Those of [`pace`].
pub fn mark(file: OpenFile, cookie: u64, mark: u32) -> io::Result<()> {
    covey_client::mark(&duplicate(file, cookie)?, mark)
}

/// The mark of the packets of the socket with a cookie.
///
/// # Errors
/// Those of [`pace`].
pub fn mark_of_socket(file: OpenFile, cookie: u64) -> io::Result<u32> {
    covey_client::mark_of_socket(&duplicate(file, cookie)?)
}

/// Has a socket send at once what it could not send while it was held.
///
/// # Errors
/// Those of [`pace`].
pub fn kick(file: OpenFile, cookie: u64) -> io::Result<()> {
    let socket = duplicate(file, cookie)?;
    let was = sockopt::tcp_nodelay(&socket)?;
    // To set it pushes what waits, whatever it was.
    sockopt::set_tcp_nodelay(&socket, true)?;
    if !was {
        sockopt::set_tcp_nodelay(&socket, false)?;
    }
    Ok(())
}

/// Whether a file is the socket with a cookie.
pub fn is_socket(file: OpenFile, cookie: u64) -> bool {
    duplicate(file, cookie).is_ok()
}

/// Finds out whether the kernel hands over duplicates of files, by a file of this process.
///
/// # Errors
/// When it does not.
pub fn may_take_sockets() -> io::Result<()> {
    let own = std::fs::File::open("/dev/null")?;
    let file = OpenFile { process: std::process::id(), descriptor: own.as_raw_fd() };
    take(file).map(|_| ())
}

fn duplicate(file: OpenFile, cookie: u64) -> io::Result<OwnedFd> {
    let socket = take(file)?;
    // The process may have closed the file since, and opened another one with the same number.
    if sockopt::socket_cookie(&socket).ok() != Some(cookie) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(socket)
}

fn take(file: OpenFile) -> io::Result<OwnedFd> {
    let process = i32::try_from(file.process).ok().and_then(Pid::from_raw);
    let process = pidfd_open(process.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
    Ok(pidfd_getfd(process, file.descriptor, PidfdGetfdFlags::empty())?)
}
