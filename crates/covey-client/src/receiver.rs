//! The receiving end of a flow.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use covey_proto::{FlowHeader, ProofRefusal};
use tokio::io::{AsyncRead, ReadBuf};

use crate::connection::Connection;
use crate::flow::CONFIRMATION;
use crate::framing::{FrameDecoder, Next};
use crate::header::{LINGER, turn_away};
use crate::opening::Opening;
use crate::pacing;
use crate::stream::{Arrival, Host};

/// The receiving end of a flow. Reading ends where the flow ends; a connection that breaks before
/// that is an error.
#[derive(Debug)]
pub struct FlowReceiver {
    stream: Arc<Connection>,
    header: FlowHeader,
    /// Whether the flow is registered to come here.
    opening: Option<Arc<Opening>>,
    /// Where this host decides the flow's priority.
    arrival: Option<Arrival>,
    decoder: FrameDecoder,
    /// Bytes of the flow that have come.
    received: u64,
    /// Bytes of the confirmation that have been sent.
    confirmed: usize,
    /// Bytes that must have come before the reader is woken.
    wake_for: u64,
    /// The number that the socket was last given for this.
    low_watermark: u64,
}

impl FlowReceiver {
    pub(crate) fn new(
        stream: Connection,
        header: FlowHeader,
        opening: Option<Arc<Opening>>,
    ) -> FlowReceiver {
        let decoder = FrameDecoder::new(header.bytes, header.chunked);
        FlowReceiver {
            stream: Arc::new(stream),
            header,
            opening,
            arrival: None,
            decoder,
            received: 0,
            confirmed: 0,
            wake_for: 1,
            low_watermark: 1,
        }
    }

    /// A flow whose priority this host decides.
    pub(crate) fn deciding(
        stream: Connection,
        header: FlowHeader,
        host: &Arc<Host>,
    ) -> FlowReceiver {
        let flow = FlowReceiver::new(stream, header, None);
        let arrival = Some(Arrival::new(host, &flow.stream, flow.header.key.coflow));
        FlowReceiver { arrival, decoder: flow.decoder.with_notes(), ..flow }
    }

    /// Id of the coflow.
    pub fn coflow(&self) -> u64 {
        self.header.key.coflow
    }

    /// Index of the flow in its coflow.
    pub fn flow(&self) -> u32 {
        self.header.key.flow
    }

    /// The label that the sender has given the flow.
    pub fn label(&self) -> &[u8] {
        &self.header.label
    }

    /// Number of bytes of the flow, if the sender has said it.
    pub fn bytes(&self) -> Option<u64> {
        self.header.bytes
    }

    /// Has the reader woken only when `bytes` have come, or the rest of the flow or of a chunk if
    /// that is less. A thread that is woken less often takes less processor time.
    pub fn wake_for(&mut self, bytes: u32) {
        self.wake_for = bytes.max(1).into();
    }

    /// Sets the socket's low watermark if it has changed. If the kernel refuses, the reader is
    /// woken more often.
    fn set_low_watermark(&mut self) {
        if self.stream.is_encrypted() {
            // A part of the bytes may be here already, in TLS.
            return;
        }
        let bytes = self.wake_for.min(self.decoder.certain()).max(1);
        if bytes != self.low_watermark {
            let _ = pacing::wake_for(self.stream.socket(), bytes as u32);
            self.low_watermark = bytes;
        }
    }

    /// Refuses a flow that is not registered to come here, and tells its sender.
    fn check_opening(&mut self, cx: &Context<'_>) -> io::Result<()> {
        let checked = self.opening.as_ref().map_or(Ok(()), |opening| opening.poll_check(cx));
        if checked.is_err() && self.confirmed == 0 {
            self.confirmed = CONFIRMATION;
            let stream = self.stream.clone();
            tokio::spawn(async move {
                // The sender may be gone.
                let refused = turn_away(&stream, ProofRefusal::OtherHost);
                let _ = tokio::time::timeout(LINGER, refused).await;
            });
        }
        checked
    }

    /// Confirms to the sender how many bytes have come.
    fn poll_confirm(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(arrival) = &mut self.arrival {
            return arrival.poll_confirm(cx, self.received);
        }
        let bytes = self.received.to_le_bytes();
        while self.confirmed < CONFIRMATION {
            match self.stream.try_write(&bytes[self.confirmed..]) {
                Ok(count) => self.confirmed += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.stream.poll_write_ready(cx))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        self.stream.poll_flushed(cx)
    }

    /// Reads once: bytes of the flow into `into`, other bytes into the decoder. Returns how many
    /// bytes of the flow have come.
    fn poll_socket_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.set_low_watermark();
        loop {
            let mut slices = self.decoder.slices(into);
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
                    let come = self.decoder.read(result?, room);
                    self.received += come as u64;
                    if let Some(arrival) = &self.arrival {
                        arrival.received(come as u64);
                    }
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
        it.check_opening(cx)?;
        loop {
            let next = it.decoder.next()?;
            if let Some(arrival) = &it.arrival {
                arrival.hear(it.decoder.take_notes());
            }
            match next {
                Next::Over => return it.poll_confirm(cx),
                Next::Inside => {
                    ready!(it.poll_socket_read(cx, &mut []))?;
                    continue;
                }
                Next::Given => {
                    let given = it.decoder.give(buffer.remaining());
                    buffer.put_slice(given);
                    it.received += given.len() as u64;
                }
                Next::Plain(left) => {
                    let max = left.min(buffer.remaining());
                    let into = buffer.initialize_unfilled_to(max);
                    let count = ready!(it.poll_socket_read(cx, into))?;
                    buffer.advance(count);
                }
            }
            if it.decoder.next()? == Next::Over {
                // If the socket has no room for the confirmation, the next read sends it.
                let _ = it.poll_confirm(cx)?;
            }
            return Poll::Ready(Ok(()));
        }
    }
}
