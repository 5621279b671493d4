//! The two ends of a flow.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use covey_proto::{
    CHUNK_HEADER, FlowHeader, FlowKey, HEADER, MOST_CHUNK, chunk_header, chunk_length,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::gate::{Gate, Standing};
use crate::link::Link;
use crate::pacing;

/// What a flow that waits may do nonetheless.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long a flow waits that no schedule mentions; for ever if nothing is said.
    pub hold_max: Option<Duration>,
    /// Bytes that a flow may send before any schedule mentions it.
    pub start_small: u64,
}

/// The length of what the receiver says at the end: how many bytes it has had.
const CONFIRMATION: usize = 8;

/// How the bytes of a flow are told apart from what follows them.
#[derive(Debug)]
enum Framing {
    /// Their number was said at the beginning: so many are left.
    Sized(u64),
    /// They come in chunks, the last of which is empty.
    Chunks(Chunk),
}

/// The chunk that is under way.
#[derive(Debug)]
struct Chunk {
    header: [u8; CHUNK_HEADER],
    /// Bytes of the header that have passed.
    passed: usize,
    /// Bytes of the chunk that have not.
    left: usize,
    is_last: bool,
}

impl Chunk {
    /// Whether another can begin: this one is whole, or none of it has passed.
    fn is_over(&self) -> bool {
        self.passed == 0 || self.passed == CHUNK_HEADER && self.left == 0
    }

    fn begin(&mut self, bytes: usize) {
        self.left = bytes.min(MOST_CHUNK);
        (self.header, self.passed) = (chunk_header(self.left), 0);
    }
}

impl Framing {
    fn of(bytes: Option<u64>) -> Framing {
        let none =
            Chunk { header: [0; CHUNK_HEADER], passed: CHUNK_HEADER, left: 0, is_last: false };
        bytes.map_or(Framing::Chunks(none), Framing::Sized)
    }
}

/// The sending end of a flow: what is written is sent as the schedule says. [`FlowSender::finish`] (or
/// `shutdown`) ends it; a flow that is dropped before has not ended.
pub struct FlowSender {
    stream: Arc<TcpStream>,
    /// With its link; none for a flow that nobody schedules.
    gate: Option<(Arc<Gate>, Arc<Link>)>,
    key: FlowKey,
    framing: Framing,
    sent: u64,
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
            framing: Framing::of(header.bytes),
            sent: 0,
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

    /// Bytes that have been given to the socket.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Ends the flow: waits until the receiver has said that it has had all.
    ///
    /// # Errors
    /// When it has not, or the connection breaks.
    pub async fn finish(&mut self) -> io::Result<()> {
        self.shutdown().await
    }

    /// Whether it may send now.
    fn poll_gate(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some((gate, _)) = &self.gate else { return Poll::Ready(()) };
        let since = match gate.standing(cx) {
            Standing::Paced(_) | Standing::Free => {
                self.hold = None;
                return Poll::Ready(());
            }
            Standing::Unmentioned { .. } if self.sent < self.patience.start_small => {
                return Poll::Ready(());
            }
            Standing::Waits => return Poll::Pending,
            Standing::Unmentioned { since } => since,
        };
        let Some(hold_max) = self.patience.hold_max else { return Poll::Pending };
        let until = tokio::time::Instant::from_std(since) + hold_max;
        let hold = self.hold.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if hold.deadline() != until {
            hold.as_mut().reset(until);
        }
        hold.as_mut().poll(cx)
    }

    fn poll_socket_write(&mut self, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            let result = match &self.framing {
                Framing::Chunks(chunk) if chunk.passed < CHUNK_HEADER => {
                    let header = io::IoSlice::new(&chunk.header[chunk.passed..]);
                    self.stream.try_write_vectored(&[header, io::IoSlice::new(data)])
                }
                _ => self.stream.try_write(data),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// Of `written` bytes, some may have been of a chunk's header; the rest were data.
    fn account(&mut self, written: usize) -> usize {
        let data = match &mut self.framing {
            Framing::Sized(left) => {
                *left -= written as u64;
                written
            }
            Framing::Chunks(chunk) => {
                let of_header = written.min(CHUNK_HEADER - chunk.passed);
                chunk.passed += of_header;
                chunk.left -= written - of_header;
                written - of_header
            }
        };
        self.sent += data as u64;
        if let Some((gate, _)) = &self.gate {
            gate.passed(data);
        }
        data
    }

    /// Says that there is no more, if the receiver does not know.
    fn poll_last(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let early = "a flow ended before its last byte";
        let early = || Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, early)));
        match &mut self.framing {
            Framing::Sized(0) => return Poll::Ready(Ok(())),
            Framing::Sized(_) => return early(),
            Framing::Chunks(chunk) if !chunk.is_last => {
                if !chunk.is_over() {
                    return early();
                }
                chunk.begin(0);
                chunk.is_last = true;
            }
            Framing::Chunks(_) => {}
        }
        while matches!(&self.framing, Framing::Chunks(chunk) if chunk.passed < CHUNK_HEADER) {
            let written = ready!(self.poll_socket_write(cx, &[]))?;
            self.account(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads how many bytes the receiver has had.
    fn poll_confirmation(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let End::Awaited(bytes, come) = &mut self.end {
            if *come == CONFIRMATION {
                let had = u64::from_le_bytes(*bytes);
                if had != self.sent {
                    let what = format!("sent {} bytes, the receiver has had {had}", self.sent);
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
        ready!(it.poll_gate(cx));
        loop {
            let most = match &mut it.framing {
                Framing::Sized(left) => usize::try_from(*left).unwrap_or(usize::MAX),
                Framing::Chunks(chunk) => {
                    if chunk.is_over() {
                        chunk.begin(data.len());
                    }
                    chunk.left
                }
            };
            if most == 0 {
                let what = "more bytes than the flow was opened for";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, what)));
            }
            let written = ready!(it.poll_socket_write(cx, &data[..data.len().min(most)]))?;
            match it.account(written) {
                // All that was written was of the header.
                0 if written > 0 => {}
                data => return Poll::Ready(Ok(data)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let it = self.get_mut();
        if let End::NotYet = it.end {
            ready!(it.poll_last(cx))?;
            it.end = End::Awaited([0; CONFIRMATION], 0);
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
    framing: Framing,
    had: u64,
    /// Bytes of the confirmation that have been sent.
    confirmed: usize,
    /// As many as are to have come before the reader is woken, and what the socket was told of it.
    wake_for: u64,
    told: u64,
}

impl FlowReceiver {
    pub(crate) fn new(stream: TcpStream, header: FlowHeader) -> FlowReceiver {
        let framing = Framing::of(header.bytes);
        FlowReceiver { stream, header, framing, had: 0, confirmed: 0, wake_for: 1, told: 1 }
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

    /// Has the reader woken only when so many bytes have come, or all that are left: a thread that is
    /// woken less often costs less. Of no effect on a flow of unknown length.
    pub fn wake_for(&mut self, bytes: u32) {
        self.wake_for = bytes.max(1).into();
    }

    /// Tells the socket, if something else holds than before. If it does not take it, the reader is woken
    /// more often.
    fn tell_socket(&mut self) {
        let Framing::Sized(left) = self.framing else { return };
        let bytes = self.wake_for.min(left).max(1);
        if bytes != self.told {
            let _ = pacing::wake_for(&self.stream, bytes as u32);
            self.told = bytes;
        }
    }

    fn is_over(&self) -> bool {
        match &self.framing {
            Framing::Sized(left) => *left == 0,
            Framing::Chunks(chunk) => chunk.is_last,
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

    fn poll_socket_read(
        stream: &TcpStream,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match stream.try_read(buffer) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(stream.poll_read_ready(cx))?;
                }
                result => return Poll::Ready(result),
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
        it.tell_socket();
        let left = loop {
            if it.is_over() {
                return it.poll_confirm(cx);
            }
            match &mut it.framing {
                Framing::Sized(left) => break usize::try_from(*left).unwrap_or(usize::MAX),
                Framing::Chunks(chunk) if chunk.left > 0 => break chunk.left,
                Framing::Chunks(chunk) => {
                    chunk.passed %= CHUNK_HEADER;
                    let rest = &mut chunk.header[chunk.passed..];
                    chunk.passed += ready!(Self::poll_socket_read(&it.stream, cx, rest))?;
                    if chunk.passed == CHUNK_HEADER {
                        let length = chunk_length(chunk.header);
                        chunk.left = length
                            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                        chunk.is_last = chunk.left == 0;
                    }
                }
            }
        };
        let most = left.min(buffer.remaining());
        let into = buffer.initialize_unfilled_to(most);
        let count = ready!(Self::poll_socket_read(&it.stream, cx, into))?;
        buffer.advance(count);
        it.had += count as u64;
        match &mut it.framing {
            Framing::Sized(left) => *left -= count as u64,
            Framing::Chunks(chunk) => chunk.left -= count,
        }
        if it.is_over() {
            // There is room for it; if not, the next read sends it.
            let _ = it.poll_confirm(cx)?;
        }
        Poll::Ready(Ok(()))
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
