//! The two ends of a flow.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use covey_proto::{CodecName, FlowHeader, FlowKey, HEADER};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::framing::{Incoming, Next, Outgoing, Passed, Taken};
use crate::gate::{Gate, Turn};
use crate::link::Link;
use crate::pacing;

/// What a flow that waits may do nonetheless.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long a flow waits each time; for ever if nothing is said.
    pub hold_max: Option<Duration>,
    /// Bytes that a flow may send before any schedule mentions it.
    pub start_small: u64,
}

/// The length of what the receiver says at the end: how many bytes it has had.
const CONFIRMATION: usize = 8;

/// The sending end of a flow: what is written is sent as the schedule says, compressed if it says so; what
/// is to be compressed is gathered until it is worth it, or flushed. [`FlowSender::finish`] (or `shutdown`)
/// ends it; a flow that is dropped before has not ended.
pub struct FlowSender {
    stream: Arc<TcpStream>,
    /// With its link; none for a flow that nobody schedules.
    gate: Option<(Arc<Gate>, Arc<Link>)>,
    key: FlowKey,
    outgoing: Outgoing,
    sent: Passed,
    patience: Patience,
    hold: Option<Pin<Box<Sleep>>>,
    end: End,
}

/// How far the end of a flow is.
#[derive(Debug)]
enum End {
    NotYet,
    /// All has been sent; so many bytes of the confirmation have come.
    Awaited([u8; CONFIRMATION], usize),
    Done,
}

impl FlowSender {
    /// The flow of `header`, over a connection that has the header behind it. It asks `link`, if there
    /// is one, when and how fast it may send.
    pub(crate) fn new(
        stream: TcpStream,
        header: &FlowHeader,
        link: Option<Arc<Link>>,
        patience: Patience,
    ) -> FlowSender {
        let stream = Arc::new(stream);
        let gate = link.map(|link| (link.open(header.key, stream.clone()), link));
        FlowSender {
            stream,
            gate,
            key: header.key,
            outgoing: Outgoing::new(header.bytes, header.chunked),
            sent: Passed::default(),
            patience,
            hold: None,
            end: End::NotYet,
        }
    }

    /// The number of its coflow.
    pub fn coflow(&self) -> u64 {
        self.key.coflow
    }

    /// Its place in the coflow.
    pub fn flow(&self) -> u32 {
        self.key.flow
    }

    /// Bytes of the flow that have been given to the socket.
    pub fn sent(&self) -> u64 {
        self.sent.bytes
    }

    /// Bytes that were given to the socket for these: fewer where they were compressed.
    pub fn sent_on_wire(&self) -> u64 {
        self.sent.wire
    }

    /// Ends the flow: waits until the receiver has said that it has had all.
    ///
    /// # Errors
    /// When it has not, or the connection breaks.
    pub async fn finish(&mut self) -> io::Result<()> {
        self.shutdown().await
    }

    /// Waits until it may send, and returns how much of it at once at most.
    fn poll_gate(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        loop {
            let Some((gate, _)) = &self.gate else { return Poll::Ready(usize::MAX) };
            let turn = gate.turn(cx);
            let until = match turn {
                Turn::Now(most) => {
                    self.hold = None;
                    return Poll::Ready(most);
                }
                Turn::At(until) => until,
                Turn::Unmentioned { .. } if self.sent.bytes < self.patience.start_small => {
                    return Poll::Ready(usize::MAX);
                }
                Turn::Waits { since } | Turn::Unmentioned { since } => match self.patience.hold_max
                {
                    Some(hold_max) => since + hold_max,
                    None => return Poll::Pending,
                },
            };
            let until = tokio::time::Instant::from_std(until);
            let hold = self.hold.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
            if hold.deadline() != until {
                hold.as_mut().reset(until);
            }
            ready!(hold.as_mut().poll(cx));
            if let Turn::Waits { .. } | Turn::Unmentioned { .. } = turn {
                gate.let_go();
                return Poll::Ready(usize::MAX);
            }
        }
    }

    /// What the flow is to be compressed with at present.
    fn codec(&self) -> Option<CodecName> {
        self.gate.as_ref().and_then(|(gate, _)| gate.codec())
    }

    /// Writes what goes first, and `data` behind it. Returns how much of `data` has gone. What goes first, a header
    /// or a compressed chunk, goes at once.
    fn poll_socket_write(&mut self, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let written = loop {
            ready!(self.stream.poll_write_ready(cx))?;
            let written = match self.outgoing.ahead() {
                [] => self.stream.try_write(data),
                ahead if data.is_empty() => self.stream.try_write(ahead),
                _ => self.stream.try_write_vectored(&self.outgoing.slices(data)),
            };
            match written {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => break result?,
            }
        };
        let ahead = self.outgoing.ahead().len();
        let passed = self.outgoing.passed(written);
        self.sent.bytes += passed.bytes;
        self.sent.wire += passed.wire;
        if let Some((gate, _)) = &self.gate {
            gate.passed(passed);
        }
        Poll::Ready(Ok(written.saturating_sub(ahead)))
    }

    /// Writes what goes first, when it may.
    fn poll_ahead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.ahead().is_empty() {
            ready!(self.poll_gate(cx));
            ready!(self.poll_socket_write(cx, &[]))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Says that there is no more, if the receiver does not know.
    fn poll_last(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.end(self.codec())? {
            if self.outgoing.is_ended() {
                // It is nobody's turn that is taken by saying so.
                ready!(self.poll_socket_write(cx, &[]))?;
            } else {
                ready!(self.poll_ahead(cx))?;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads how many bytes the receiver has had.
    fn poll_confirmation(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let End::Awaited(bytes, come) = &mut self.end {
            if *come == CONFIRMATION {
                let had = u64::from_le_bytes(*bytes);
                if had != self.sent.bytes {
                    let sent = self.sent.bytes;
                    let what = format!("sent {sent} bytes, the receiver has had {had}");
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, what)));
                }
                self.end = End::Done;
                if let Some((_, link)) = self.gate.take() {
                    link.ended(self.key, self.sent);
                }
                break;
            }
            ready!(self.stream.poll_read_ready(cx))?;
            match self.stream.try_read(&mut bytes[*come..]) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => *come += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for FlowSender {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let it = self.get_mut();
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if !matches!(it.end, End::NotYet) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let most = ready!(it.poll_gate(cx));
        let data = &data[..data.len().min(most)];
        loop {
            match it.outgoing.take(data, it.codec()) {
                Taken::NotYet => ready!(it.poll_ahead(cx))?,
                Taken::Copied(count) => {
                    // If the socket has no room for it now, what comes next waits for that.
                    let _ = it.poll_ahead(cx)?;
                    return Poll::Ready(Ok(count));
                }
                Taken::Through(count) => match ready!(it.poll_socket_write(cx, &data[..count]))? {
                    // All that was written was of the header.
                    0 => {}
                    count => return Poll::Ready(Ok(count)),
                },
                Taken::TooMany => {
                    let what = "more bytes than the flow was opened for";
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, what)));
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let it = self.get_mut();
        ready!(it.poll_ahead(cx))?;
        it.outgoing.flush(it.codec());
        ready!(it.poll_ahead(cx))?;
        // Here and at the end: until then the kernel fills its packets, as for any socket.
        Poll::Ready(it.stream.set_nodelay(true))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let it = self.get_mut();
        if let End::NotYet = it.end {
            ready!(it.poll_last(cx))?;
            it.stream.set_nodelay(true)?;
            it.end = End::Awaited([0; CONFIRMATION], 0);
            if let Some((gate, link)) = &it.gate
                && gate.written()
            {
                link.written(it.key);
            }
        }
        it.poll_confirmation(cx)
    }
}

impl Drop for FlowSender {
    fn drop(&mut self) {
        if let Some((_, link)) = self.gate.take() {
            link.gone(self.key);
        }
    }
}

/// The receiving end of a flow: reads what is sent, and its end; an error where the connection breaks
/// before that.
#[derive(Debug)]
pub struct FlowReceiver {
    stream: TcpStream,
    header: FlowHeader,
    incoming: Incoming,
    had: u64,
    /// Bytes of the confirmation that have been sent.
    confirmed: usize,
    /// As many as are to have come before the reader is woken, and what the socket was told of it.
    wake_for: u64,
    told: u64,
}

impl FlowReceiver {
    pub(crate) fn new(stream: TcpStream, header: FlowHeader) -> FlowReceiver {
        let incoming = Incoming::new(header.bytes, header.chunked);
        FlowReceiver { stream, header, incoming, had: 0, confirmed: 0, wake_for: 1, told: 1 }
    }

    /// The number of its coflow.
    pub fn coflow(&self) -> u64 {
        self.header.key.coflow
    }

    /// Its place in the coflow.
    pub fn flow(&self) -> u32 {
        self.header.key.flow
    }

    /// What the application calls it.
    pub fn label(&self) -> &[u8] {
        &self.header.label
    }

    /// How many bytes it has, if the sender said so.
    pub fn bytes(&self) -> Option<u64> {
        self.header.bytes
    }

    /// Has the reader woken only when so many bytes have come, or all that are left of the flow or of a
    /// chunk: a thread that is woken less often costs less.
    pub fn wake_for(&mut self, bytes: u32) {
        self.wake_for = bytes.max(1).into();
    }

    /// Tells the socket, if something else holds than before. If it does not take it, the reader is woken
    /// more often.
    fn tell_socket(&mut self) {
        let bytes = self.wake_for.min(self.incoming.sure()).max(1);
        if bytes != self.told {
            let _ = pacing::wake_for(&self.stream, bytes as u32);
            self.told = bytes;
        }
    }

    /// Tells the sender how many bytes have come.
    fn poll_confirm(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let bytes = self.had.to_le_bytes();
        while self.confirmed < CONFIRMATION {
            match self.stream.try_write(&bytes[self.confirmed..]) {
                Ok(count) => self.confirmed += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.stream.poll_write_ready(cx))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what comes next, of the flow's own bytes at most into `into`. Returns how many of them have
    /// come.
    fn poll_socket_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.tell_socket();
        loop {
            let mut slices = self.incoming.slices(into);
            let room = slices[0].len();
            let read = if slices[1].is_empty() {
                self.stream.try_read(&mut slices[0])
            } else {
                self.stream.try_read_vectored(&mut slices)
            };
            match read {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.stream.poll_read_ready(cx))?;
                }
                result => {
                    let come = self.incoming.came(result?, room);
                    self.had += come as u64;
                    return Poll::Ready(Ok(come));
                }
            }
        }
    }
}

impl AsyncRead for FlowReceiver {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let it = self.get_mut();
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        loop {
            match it.incoming.next()? {
                Next::Over => return it.poll_confirm(cx),
                Next::Inside => {
                    ready!(it.poll_socket_read(cx, &mut []))?;
                    continue;
                }
                Next::Given => {
                    let given = it.incoming.give(buffer.remaining());
                    buffer.put_slice(given);
                    it.had += given.len() as u64;
                }
                Next::Plain(left) => {
                    let most = left.min(buffer.remaining());
                    let into = buffer.initialize_unfilled_to(most);
                    let count = ready!(it.poll_socket_read(cx, into))?;
                    buffer.advance(count);
                }
            }
            if it.incoming.next()? == Next::Over {
                // There is room for it; if not, the next read sends it.
                let _ = it.poll_confirm(cx)?;
            }
            return Poll::Ready(Ok(()));
        }
    }
}

/// Sends a header.
pub(crate) async fn write_header(stream: &mut TcpStream, header: &FlowHeader) -> io::Result<()> {
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    stream.write_all(&bytes).await
}

/// Reads a header.
pub(crate) async fn read_header(stream: &mut TcpStream) -> io::Result<FlowHeader> {
    let mut fixed = [0; HEADER];
    stream.read_exact(&mut fixed).await?;
    let decoded = FlowHeader::decode(&fixed);
    let (mut header, label) =
        decoded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    header.label = vec![0; label];
    stream.read_exact(&mut header.label).await?;
    Ok(header)
}

#[cfg(test)]
mod tests {
    use covey_proto::Direction;
    use tokio::net::TcpListener;

    use super::*;

    const PATIENCE: Patience = Patience { hold_max: None, start_small: 0 };

    /// The sending end of a flow that nobody schedules, and the connection's other end.
    async fn flow() -> io::Result<(FlowSender, TcpStream)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        let key = FlowKey { coflow: 1, flow: 0 };
        let header = FlowHeader {
            key,
            direction: Direction::Pushed,
            bytes: Some(10),
            chunked: false,
            label: Vec::new(),
        };
        Ok((FlowSender::new(stream, &header, None, PATIENCE), listener.accept().await?.0))
    }

    #[tokio::test]
    async fn packets_are_filled_until_the_writer_flushes_or_ends() -> io::Result<()> {
        let (mut flow, _other) = flow().await?;
        flow.write_all(&[1; 5]).await?;
        assert!(!flow.stream.nodelay()?);
        flow.flush().await?;
        assert!(flow.stream.nodelay()?);

        let (mut ended, mut other) = self::flow().await?;
        ended.write_all(&[1; 10]).await?;
        assert!(!ended.stream.nodelay()?);
        other.write_all(&10_u64.to_le_bytes()).await?;
        ended.finish().await?;
        assert!(ended.stream.nodelay()?);
        Ok(())
    }
}
