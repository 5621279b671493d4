//! The sending end of a flow.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use covey_proto::{
    CodecName, FlowHeader, FlowKey, OpeningError, ProofRefusal, REFUSAL, refusal_of,
};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::Sleep;

use crate::connection::Connection;
use crate::framing::{FrameEncoder, MAX_NOTED_CHUNK, Taken, Written};
use crate::gate::{Gate, Permission};
use crate::header::refused;
use crate::link::Link;
use crate::opening::{Opening, cancelled};
use crate::pacing;
use crate::stream::{Host, Marking};

/// Length of the receiver's confirmation, which holds the number of bytes received.
pub const CONFIRMATION: usize = 8;

/// The sending end of a flow. It sends and compresses what is written as the schedule says. Bytes
/// to be compressed are gathered until there are enough, or until they are flushed.
/// [`FlowSender::finish`] (or `shutdown`) ends the flow; a flow that is dropped before that has not
/// ended.
pub struct FlowSender {
    stream: Arc<Connection>,
    /// The gate and the link that it belongs to; `None` for a flow that no coordinator schedules.
    gate: Option<(Arc<Gate>, Arc<Link>)>,
    /// Whether the flow is opened as it is registered, until it has ended.
    opening: Option<Arc<Opening>>,
    /// Bytes that have been taken from the writer.
    taken: u64,
    /// What its receiver says, where nobody is in charge.
    marking: Option<Marking>,
    key: FlowKey,
    encoder: FrameEncoder,
    /// Bytes written so far.
    sent: Written,
    /// Maximum time of each wait for a schedule; `None`: for ever.
    hold_max: Option<Duration>,
    /// Ends the present wait.
    hold: Option<Pin<Box<Sleep>>>,
    /// Whether the receiver has said something, or is gone, while the flow waited.
    has_heard: bool,
    /// Why the receiver has refused the flow, until it is known what the coordinator says to that.
    refusal: Option<ProofRefusal>,
    end: EndState,
}

/// How far a flow is with its end.
#[derive(Debug)]
enum EndState {
    NotYet,
    /// Everything has been sent; so many bytes of the confirmation have come.
    Awaited([u8; CONFIRMATION], usize),
    Done,
}

impl FlowSender {
    /// The flow of `header` over a connection on which the header has been sent. The link of a
    /// `scheduled` flow says when and how fast it may send. `hold_max` bounds each wait for a
    /// schedule; `None`: the flow waits for ever.
    pub(crate) fn new(
        stream: Connection,
        header: &FlowHeader,
        scheduled: Option<(Arc<Link>, Arc<Opening>)>,
        hold_max: Option<Duration>,
    ) -> FlowSender {
        let stream = Arc::new(stream);
        let (link, opening) = scheduled.unzip();
        let gate = link
            .zip(opening.clone())
            .map(|(link, opening)| (link.open(header.key, stream.clone(), opening), link));
        FlowSender {
            stream,
            gate,
            opening,
            taken: 0,
            marking: None,
            key: header.key,
            encoder: FrameEncoder::new(header.bytes, header.chunked),
            sent: Written::default(),
            hold_max,
            hold: None,
            has_heard: false,
            refusal: None,
            end: EndState::NotYet,
        }
    }

    /// The flow of `header` whose receiver decides.
    pub(crate) fn marked(stream: Connection, header: &FlowHeader, host: &Arc<Host>) -> FlowSender {
        let mut flow = FlowSender::new(stream, header, None, None);
        flow.marking = Some(Marking::new(host, &flow.stream, header.key.coflow));
        flow.encoder.carry_notes();
        // Notes are sent behind what the socket holds. A kernel that refuses only makes them late.
        let _ = pacing::hold_little(flow.stream.socket(), MAX_NOTED_CHUNK as u32);
        flow
    }

    /// Id of the coflow.
    pub fn coflow(&self) -> u64 {
        self.key.coflow
    }

    /// Index of the flow in its coflow.
    pub fn flow(&self) -> u32 {
        self.key.flow
    }

    /// Bytes of the flow that have been written to the socket.
    pub fn sent(&self) -> u64 {
        self.sent.bytes
    }

    /// Bytes that went over the wire for these: fewer if they were compressed.
    pub fn sent_on_wire(&self) -> u64 {
        self.sent.wire
    }

    /// Ends the flow: waits until the receiver has confirmed all bytes.
    ///
    /// # Errors
    /// When the receiver confirms another number of bytes, or the connection breaks.
    pub async fn finish(&mut self) -> io::Result<()> {
        self.shutdown().await
    }

    /// Waits until the flow may send. Returns how many bytes it may send at once.
    fn poll_gate(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            self.check_opening(cx)?;
            let Some((gate, _)) = &self.gate else { return Poll::Ready(Ok(usize::MAX)) };
            let permission = gate.ask(cx);
            let until = match permission {
                Permission::Now(max) => {
                    self.hold = None;
                    return Poll::Ready(Ok(max));
                }
                Permission::At(until) => until,
                Permission::Cancelled => return Poll::Ready(Err(cancelled())),
                Permission::Waits { since } | Permission::Unmentioned { since } => {
                    match self.hold_max {
                        Some(hold_max) => since + hold_max,
                        None => {
                            self.listen(cx)?;
                            return Poll::Pending;
                        }
                    }
                }
            };
            let until = tokio::time::Instant::from_std(until);
            let hold = self.hold.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
            if hold.deadline() != until {
                hold.as_mut().reset(until);
            }
            if hold.as_mut().poll(cx).is_pending() {
                self.listen(cx)?;
                return Poll::Pending;
            }
            if let Permission::Waits { .. } | Permission::Unmentioned { .. } = permission {
                gate.release();
                return Poll::Ready(Ok(usize::MAX));
            }
        }
    }

    /// Refuses a flow that is opened wrongly, as far as is known.
    fn check_opening(&mut self, cx: &Context<'_>) -> io::Result<()> {
        if let Some(opening) = &self.opening {
            opening.poll_check(cx)?;
            if opening.is_asked() {
                return Ok(());
            }
            opening.check()?;
        }
        match self.refusal {
            Some(refusal) => Err(refused(refusal)),
            None => self.check_registered(0),
        }
    }

    /// Refuses `more` bytes beyond those that are registered.
    fn check_registered(&mut self, more: usize) -> io::Result<()> {
        let Some(opening) = &self.opening else { return Ok(()) };
        let (bytes, registered) = ((self.taken + more as u64) as f64, opening.registered());
        // What is registered may have a fraction.
        if bytes <= registered.ceil() {
            return Ok(());
        }
        if let Some((_, link)) = &self.gate {
            link.exceeds(self.key, bytes);
        }
        Err(opening.wrong(OpeningError::TooMany(registered)))
    }

    /// Says that a flow has ended with fewer bytes than are registered: a policy that goes by sizes
    /// was misled.
    fn note_fewer(&self) {
        let registered = self.opening.as_ref().map_or(f64::INFINITY, |it| it.registered());
        let sent = self.sent.bytes;
        if registered.is_finite() && (sent as f64) < registered.floor() {
            let FlowKey { coflow, flow } = self.key;
            tracing::warn!(
                coflow,
                flow,
                sent,
                registered,
                "a flow has ended with fewer bytes than are registered: register as many as are sent, or none if that is not known"
            );
        }
    }

    /// Has a flow that waits, for its turn or for room in the socket, woken when its receiver says
    /// something: before the end that is a refusal.
    fn listen(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        // What a flow with notes is told is read elsewhere.
        while self.marking.is_none()
            && !self.has_heard
            && self.stream.poll_read_ready(cx).is_ready()
        {
            let mut bytes = [0; REFUSAL];
            match self.stream.try_read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if is_of_tls(&error) => return Err(error),
                // A connection that is over is noticed when the flow goes on.
                _ => self.has_heard = true,
            }
            self.refusal = refusal_of(&bytes);
        }
        // Of a flow that is opened wrongly both ends hear: what this one hears says what to do.
        self.check_opening(cx)
    }

    /// Whether the coordinator has ended the flow, because nobody needs it any more. Writing then
    /// fails with [`io::ErrorKind::ConnectionAborted`].
    pub fn is_cancelled(&self) -> bool {
        self.gate.as_ref().is_some_and(|(gate, _)| gate.is_cancelled())
    }

    /// The compressor of the next chunk.
    fn codec(&self) -> Option<CodecName> {
        self.gate.as_ref().and_then(|(gate, _)| gate.codec())
    }

    /// Writes the encoder's header or compressed chunk if there is one, and `data` behind it.
    /// Returns how many bytes of `data` were written.
    fn poll_socket_write(&mut self, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let written = loop {
            if self.stream.poll_write_ready(cx)?.is_pending() {
                self.listen(cx)?;
                return Poll::Pending;
            }
            let written = match self.encoder.ahead() {
                [] => self.stream.try_write(data),
                ahead if data.is_empty() => self.stream.try_write(ahead),
                _ => self.stream.try_write_vectored(&self.encoder.slices(data)),
            };
            match written {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(self.refused(error))),
                Ok(written) => break written,
            }
        };
        let ahead = self.encoder.ahead().len();
        let total = self.encoder.wrote(written);
        self.sent.bytes += total.bytes;
        self.sent.wire += total.wire;
        if let Some((gate, _)) = &self.gate {
            gate.wrote(total);
        }
        Poll::Ready(Ok(written.saturating_sub(ahead)))
    }

    /// What a failure to write means: the receiver may have refused the flow.
    fn refused(&self, error: io::Error) -> io::Error {
        if let Some(Err(wrong)) = self.opening.as_ref().map(|opening| opening.check()) {
            return wrong;
        }
        if self.is_cancelled() {
            return cancelled();
        }
        if let Some(refusal) = self.refusal {
            return refused(refusal);
        }
        // What a flow with notes is told is read elsewhere.
        if self.marking.is_some() {
            return error;
        }
        let mut bytes = [0; REFUSAL];
        match self.stream.try_read(&mut bytes) {
            Ok(count) if count == bytes.len() => refusal_of(&bytes).map_or(error, refused),
            Err(told) if is_of_tls(&told) => told,
            _ => error,
        }
    }

    /// Writes the encoder's header or compressed chunk, when the flow may send.
    fn poll_ahead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.encoder.ahead().is_empty() {
            ready!(self.poll_gate(cx))?;
            ready!(self.poll_socket_write(cx, &[]))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends the end of the flow, if the receiver does not know where it is.
    fn poll_last(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.encoder.end(self.codec())? {
            if self.encoder.is_ended() {
                // The end is so short that it need not wait for a rate.
                ready!(self.poll_socket_write(cx, &[]))?;
            } else {
                ready!(self.poll_ahead(cx))?;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads how many bytes the receiver has received.
    fn poll_confirmation(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let EndState::Awaited(..) = &self.end {
            ready!(self.stream.poll_flushed(cx))?;
        }
        self.check_opening(cx)?;
        while let EndState::Awaited(bytes, come) = &mut self.end {
            if let Some(marking) = &self.marking {
                *bytes = ready!(marking.poll_confirmed(cx))?.to_le_bytes();
                *come = CONFIRMATION;
            }
            if *come == CONFIRMATION {
                let received = u64::from_le_bytes(*bytes);
                if let Some(refusal) = refusal_of(bytes) {
                    return Poll::Ready(Err(refused(refusal)));
                }
                if received != self.sent.bytes {
                    let sent = self.sent.bytes;
                    let what = format!("sent {sent} bytes, the receiver confirms {received}");
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, what)));
                }
                self.end = EndState::Done;
                self.marking = None;
                self.note_fewer();
                self.opening = None;
                if let Some((gate, link)) = self.gate.take() {
                    link.ended(self.key, &gate, self.sent);
                }
                break;
            }
            ready!(self.stream.poll_read_ready(cx))?;
            match self.stream.try_read(&mut bytes[*come..]) {
                Ok(0) => {
                    return Poll::Ready(Err(self.refused(io::ErrorKind::UnexpectedEof.into())));
                }
                Ok(count) => *come += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(self.refused(error))),
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
        if !matches!(it.end, EndState::NotYet) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        // Before the flow waits for its turn, as far as it is known.
        it.check_registered(data.len())?;
        let max = ready!(it.poll_gate(cx))?;
        it.check_registered(data.len())?;
        let data = &data[..data.len().min(max)];
        if let Some(marking) = it.marking.as_ref().filter(|_| it.encoder.is_between_chunks()) {
            if let Some(failure) = marking.take_failure() {
                return Poll::Ready(Err(failure));
            }
            it.encoder.add_notes(marking.take_notes());
        }
        loop {
            match it.encoder.take(data, it.codec()) {
                Taken::NotYet => ready!(it.poll_ahead(cx))?,
                Taken::Copied(count) => {
                    // If the socket has no room now, the next write waits for it.
                    let _ = it.poll_ahead(cx)?;
                    it.taken += count as u64;
                    return Poll::Ready(Ok(count));
                }
                Taken::Through(count) => match ready!(it.poll_socket_write(cx, &data[..count]))? {
                    // Only bytes of the header were written.
                    0 => {}
                    count => {
                        it.taken += count as u64;
                        return Poll::Ready(Ok(count));
                    }
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
        it.encoder.flush(it.codec());
        ready!(it.poll_ahead(cx))?;
        // Until a flush or the end, the kernel fills its packets, as for any socket.
        it.stream.socket().set_nodelay(true)?;
        it.stream.poll_flushed(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let it = self.get_mut();
        if let EndState::NotYet = it.end {
            ready!(it.poll_last(cx))?;
            it.stream.socket().set_nodelay(true)?;
            it.end = EndState::Awaited([0; CONFIRMATION], 0);
            if let Some((gate, link)) = &it.gate
                && gate.tells_written()
            {
                link.written(it.key);
            }
        }
        it.poll_confirmation(cx)
    }
}

impl Drop for FlowSender {
    fn drop(&mut self) {
        if let Some((gate, link)) = self.gate.take() {
            link.abandoned(self.key, &gate);
        }
    }
}

/// Whether an error of reading is what TLS says: for one, that the other side does not accept the
/// certificate.
fn is_of_tls(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

#[cfg(test)]
mod tests {
    use covey_proto::Direction;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// The sending end of a flow that is not scheduled, and the connection's other end.
    async fn flow() -> io::Result<(FlowSender, TcpStream)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        let key = FlowKey { coflow: 1, flow: 0 };
        let header = FlowHeader {
            key,
            direction: Direction::Pushed,
            bytes: Some(10),
            chunked: false,
            with_notes: false,
            label: Vec::new(),
        };
        let stream = Connection::plain(stream);
        Ok((FlowSender::new(stream, &header, None, None), listener.accept().await?.0))
    }

    #[tokio::test]
    async fn packets_are_filled_until_the_writer_flushes_or_ends() -> io::Result<()> {
        let (mut flow, _other) = flow().await?;
        flow.write_all(&[1; 5]).await?;
        assert!(!flow.stream.socket().nodelay()?);
        flow.flush().await?;
        assert!(flow.stream.socket().nodelay()?);

        let (mut ended, mut other) = self::flow().await?;
        ended.write_all(&[1; 10]).await?;
        assert!(!ended.stream.socket().nodelay()?);
        other.write_all(&10_u64.to_le_bytes()).await?;
        ended.finish().await?;
        assert!(ended.stream.socket().nodelay()?);
        Ok(())
    }
}
