//! The connection of a flow: a socket, with or without TLS.
//!
//! Both are used without waiting, as a socket is: a call does what it can, and says `WouldBlock`
//! otherwise. So reading and writing may be the affairs of different tasks. TLS has its own
//! buffers. What has been written may still be in them: [`Connection::poll_flushed`] waits until
//! the socket has it.

use std::io::{self, BufRead, IoSlice, IoSliceMut, Read, Write};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::net::TcpStream;
use tokio_rustls::rustls;

/// Bytes that TLS may hold before the socket has taken them, besides what one call hands over.
const MAX_HELD: usize = 64 << 10;

/// A connection.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    tls: Option<Box<Mutex<Tls>>>,
}

/// The state of TLS.
#[derive(Debug)]
struct Tls {
    session: rustls::Connection,
    /// The other side, for errors.
    peer: SocketAddr,
    inbox: Inbox,
}

/// Encrypted bytes from the socket. TLS itself asks for a few at a time.
#[derive(Debug)]
struct Inbox {
    /// Grows with what comes at once.
    bytes: Vec<u8>,
    /// Where those begin that TLS has not taken, and where they end.
    from: usize,
    to: usize,
}

/// Length of an inbox at first, and at most.
const INBOX: usize = 4 << 10;
const MAX_INBOX: usize = 64 << 10;

impl Inbox {
    fn is_empty(&self) -> bool {
        self.from == self.to
    }
}

/// What has come, for TLS.
struct Incoming<'a>(&'a mut Inbox, &'a TcpStream);

impl Read for Incoming<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Incoming(inbox, socket) = self;
        if inbox.is_empty() {
            if inbox.to == inbox.bytes.len() {
                let length = (2 * inbox.bytes.len()).clamp(INBOX, MAX_INBOX);
                inbox.bytes.resize(length, 0);
            }
            (inbox.from, inbox.to) = (0, 0);
            inbox.to = socket.try_read(&mut inbox.bytes)?;
        }
        let count = into.len().min(inbox.to - inbox.from);
        into[..count].copy_from_slice(&inbox.bytes[inbox.from..inbox.from + count]);
        inbox.from += count;
        Ok(count)
    }
}

/// The socket, for TLS to write to.
struct Raw<'a>(&'a TcpStream);

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hands what TLS holds to the socket.
fn send(session: &mut rustls::Connection, socket: &TcpStream) -> io::Result<()> {
    while session.wants_write() {
        session.write_tls(&mut Raw(socket))?;
    }
    Ok(())
}

impl Connection {
    /// A connection without TLS.
    pub fn plain(socket: TcpStream) -> Connection {
        Connection { socket, tls: None }
    }

    /// A connection on which both sides have shown their certificates.
    pub fn encrypted(
        socket: TcpStream,
        peer: SocketAddr,
        mut session: rustls::Connection,
    ) -> Connection {
        session.set_buffer_limit(Some(MAX_HELD));
        let inbox = Inbox { bytes: Vec::new(), from: 0, to: 0 };
        Connection { socket, tls: Some(Box::new(Mutex::new(Tls { session, peer, inbox }))) }
    }

    /// The socket, for its options. Bytes must not be read from it or written to it.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Whether the connection has TLS.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The address of the other side.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    fn tls(&self) -> Option<MutexGuard<'_, Tls>> {
        Some(self.tls.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes what there is room for.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.tls() {
            None => self.socket.try_write(bytes),
            Some(tls) => self.write_encrypted(tls, |writer| writer.write(bytes)),
        }
    }

    /// Writes what there is room for.
    pub fn try_write_vectored(&self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.tls() {
            None => self.socket.try_write_vectored(bytes),
            Some(tls) => self.write_encrypted(tls, |writer| writer.write_vectored(bytes)),
        }
    }

    fn write_encrypted(
        &self,
        mut tls: MutexGuard<'_, Tls>,
        write: impl FnOnce(&mut rustls::Writer<'_>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        send(&mut tls.session, &self.socket)?;
        let written = write(&mut tls.session.writer())?;
        match send(&mut tls.session, &self.socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(written),
        }
    }

    /// Reads what there is. 0: the other side has closed the connection.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        match self.tls() {
            None => self.socket.try_read(into),
            Some(mut tls) => self.read_encrypted(&mut tls, into),
        }
    }

    /// Reads what there is into the slices, one after the other.
    pub fn try_read_vectored(&self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let Some(mut tls) = self.tls() else { return self.socket.try_read_vectored(into) };
        let mut total = 0;
        for slice in into.iter_mut().filter(|slice| !slice.is_empty()) {
            match self.read_encrypted(&mut tls, slice) {
                // What has come already is returned first; the same comes again at the next call.
                Ok(0) | Err(_) if total > 0 => break,
                Ok(count) => {
                    total += count;
                    if count < slice.len() {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    fn read_encrypted(&self, tls: &mut Tls, into: &mut [u8]) -> io::Result<usize> {
        let Tls { session, peer, inbox } = tls;
        loop {
            match session.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A side that goes without a farewell: flows have ends of their own.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                result => return result,
            }
            session.read_tls(&mut Incoming(inbox, &self.socket))?;
            if let Err(error) = session.process_new_packets() {
                // The other side is told, if it is still there.
                let _ = send(session, &self.socket);
                let what = format!("TLS with {peer}: {error}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
    }

    /// Waits until something can be read.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.has_read() {
            true => Poll::Ready(Ok(())),
            false => self.socket.poll_read_ready(cx),
        }
    }

    /// Waits until something can be read.
    pub async fn readable(&self) -> io::Result<()> {
        match self.has_read() {
            true => Ok(()),
            false => self.socket.readable().await,
        }
    }

    /// Whether TLS holds bytes that have come.
    fn has_read(&self) -> bool {
        self.tls()
            .is_some_and(|mut tls| !tls.inbox.is_empty() || tls.session.reader().fill_buf().is_ok())
    }

    /// Waits until something can be written.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_write_ready(cx)
    }

    /// Waits until something can be written.
    pub async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// Hands all that was written to the socket, as far as it has room.
    pub fn try_flush(&self) -> io::Result<()> {
        self.tls().map_or(Ok(()), |mut tls| send(&mut tls.session, &self.socket))
    }

    /// Waits until the socket has all that was written.
    pub fn poll_flushed(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.try_flush() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.socket.poll_write_ready(cx))?;
                }
                result => return Poll::Ready(result),
            }
        }
    }

    /// Writes all of it, and waits until the socket has it.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.writable().await?;
            match self.try_write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        std::future::poll_fn(|cx| self.poll_flushed(cx)).await
    }

    /// Reads as many bytes.
    pub async fn read_exact(&self, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            match self.try_read(into) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => into = &mut into[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads bytes that nobody wants, until the other side closes the connection or `max` have
    /// come.
    pub async fn drain(&self, mut max: usize) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while max > 0 {
            match self.try_read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => max = max.saturating_sub(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
