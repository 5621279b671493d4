//! The rate of a socket of another process: the kernel gives this one a duplicate of the descriptor for a moment.

use std::io;
use std::os::fd::OwnedFd;

use covey_client::set_max_pacing_rate;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::target::OpenFile;

/// Has the kernel send at most `rate` bytes a second of a socket;
/// [`UNPACED`](crate::connection::UNPACED): as fast as it can.
///
/// # Errors
/// When the process has ended or closed the socket, or this one may not: that needs CAP_SYS_PTRACE for processes of
/// other users.
pub fn pace(file: OpenFile, rate: u64) -> io::Result<()> {
    set_max_pacing_rate(&duplicate(file)?, rate)
}

/// Has a socket send at once what it could not send while it was held.
///
/// # Errors
/// Those of [`pace`].
pub fn kick(file: OpenFile) -> io::Result<()> {
    let socket = duplicate(file)?;
    let was = rustix::net::sockopt::tcp_nodelay(&socket)?;
    // To set it pushes what waits, whatever it was.
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    if !was {
        rustix::net::sockopt::set_tcp_nodelay(&socket, false)?;
    }
    Ok(())
}

fn duplicate(file: OpenFile) -> io::Result<OwnedFd> {
    let process = i32::try_from(file.process).ok().and_then(Pid::from_raw);
    let process = pidfd_open(process.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
    Ok(pidfd_getfd(process, file.descriptor, PidfdGetfdFlags::empty())?)
}
