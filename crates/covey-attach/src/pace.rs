//! The rate and the mark of a socket of another process: the kernel gives this one a duplicate of
//! the descriptor.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use covey_client::set_max_pacing_rate;
use rustix::net::sockopt;
use rustix::process::{PidfdGetfdFlags, pidfd_getfd};

use crate::target::{OpenFile, opened};

/// A socket of another process. Drop it soon: as long as this value exists, the other process
/// cannot close the socket.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// The socket with a cookie.
    ///
    /// # Errors
    /// When the file is another one by now, the process has ended, or this one may not: that needs
    /// CAP_SYS_PTRACE for processes of other users.
    pub fn new(file: &OpenFile, cookie: u64) -> io::Result<Socket> {
        let socket = pidfd_getfd(&file.process, file.descriptor, PidfdGetfdFlags::empty())?;
        // The process may have closed the file since, and opened another one with the same number.
        if sockopt::socket_cookie(&socket).ok() != Some(cookie) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Socket(socket))
    }

    /// Has the kernel send at most `rate` bytes a second; [`UNPACED`](crate::connection::UNPACED):
    /// as fast as it can.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pace(&self, rate: u64) -> io::Result<()> {
        set_max_pacing_rate(&self.0, rate)
    }

    /// Has the kernel mark the packets (DSCP, as a byte of the IP header).
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_mark(&self, mark: u32) -> io::Result<()> {
        covey_client::mark(&self.0, mark)
    }

    /// The mark of the packets.
    ///
    /// # Errors
    /// The kernel's.
    pub fn mark(&self) -> io::Result<u32> {
        covey_client::mark_of_socket(&self.0)
    }

    /// Has it send at once what it could not send while it was held.
    ///
    /// # Errors
    /// The kernel's.
    pub fn kick(&self) -> io::Result<()> {
        let was = sockopt::tcp_nodelay(&self.0)?;
        // To set it pushes what waits, whatever it was.
        sockopt::set_tcp_nodelay(&self.0, true)?;
        if !was {
            sockopt::set_tcp_nodelay(&self.0, false)?;
        }
        Ok(())
    }
}

/// Finds out whether the kernel hands over duplicates of files, by a file of this process.
///
/// # Errors
/// When it does not.
pub fn may_take_sockets() -> io::Result<()> {
    let own = std::fs::File::open("/dev/null")?;
    let process = opened(std::process::id())?;
    pidfd_getfd(&process, own.as_raw_fd(), PidfdGetfdFlags::empty())?;
    Ok(())
}
