//! The gate between a flow's writer and its socket: whether the flow may send, and how fast.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use covey_proto::{CodecName, Means};

use crate::connection::Connection;
use crate::framing::Written;
use crate::pacing;
use crate::token_bucket::TokenBucket;

/// What the schedule says of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SendState {
    /// No schedule mentions the flow.
    Unmentioned {
        /// When the wait began.
        since: Instant,
        /// Bytes that the open flows of its coflow may send meanwhile.
        free: u64,
    },
    /// The schedule gives the flow no rate.
    Waits,
    /// The flow sends at this rate, in bytes per second.
    Paced(f64),
    /// The flow sends as fast as it can: nothing schedules it.
    Free,
    /// The flow sends nothing more: nobody needs it.
    Cancelled,
}

/// What a flow's writer may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Give the socket at most so many bytes.
    Now(usize),
    /// Ask again at that time.
    At(Instant),
    /// Wait as long as the application allows: the schedule gives the flow no rate.
    Waits {
        /// When the wait began.
        since: Instant,
    },
    /// Wait as long as the application allows: no schedule mentions the flow.
    Unmentioned {
        /// When the wait began.
        since: Instant,
    },
    /// Give up: the flow has been cancelled.
    Cancelled,
}

/// A flow of at most so many bytes ends about as soon as a message that it is about to end arrives.
const SMALL_FLOW: u64 = 32 * 1024;
/// Ratio of a socket's pace to the flow's rate where the host keeps the rate.
const SHAPED_PACE: f64 = 1.25;

/// The gate of one flow. The agent's messages set its state; the flow's writer asks it.
#[derive(Debug)]
pub struct Gate {
    connection: Arc<Connection>,
    control: Mutex<Control>,
    /// Bytes that the sockets of its coflow's open flows have been given, on the wire.
    of_coflow: Arc<AtomicU64>,
    /// Bytes of the flow that the socket has been given.
    sent: AtomicU64,
    /// Bytes that went over the wire for these.
    wire: AtomicU64,
    /// Whether these have grown since they were last reported.
    unreported: AtomicBool,
}

#[derive(Debug)]
struct Control {
    state: SendState,
    /// When the flow began to wait, if it waits.
    waits_since: Option<Instant>,
    /// The rate that the kernel was last given, in bytes per second.
    pace: f64,
    /// The mark that the kernel was last given.
    mark: u32,
    /// Keeps rates that are too low for the kernel.
    bucket: TokenBucket,
    /// The compressor of the next chunk.
    codec: Option<CodecName>,
    /// The writer, while it waits.
    writer: Option<Waker>,
    /// Whether a failure of the kernel has been logged. It is logged once.
    has_warned: bool,
}

impl Gate {
    /// The gate of a socket. `of_coflow` counts what the open flows of its coflow send.
    pub fn new(connection: Arc<Connection>, state: SendState, of_coflow: Arc<AtomicU64>) -> Gate {
        let control = Control {
            state,
            waits_since: None,
            pace: f64::INFINITY,
            mark: 0,
            bucket: TokenBucket::new(Instant::now()),
            codec: None,
            writer: None,
            has_warned: false,
        };
        Gate {
            connection,
            control: Mutex::new(control),
            of_coflow,
            sent: AtomicU64::new(0),
            wire: AtomicU64::new(0),
            unreported: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what the flow may do. Wakes `writer` when that changes.
    pub fn ask(&self, writer: &Context<'_>) -> Permission {
        let mut control = self.lock();
        let permission = match control.state {
            SendState::Paced(_) | SendState::Free => match control.bucket.available(Instant::now())
            {
                Ok(max) => Permission::Now(max),
                Err(until) => Permission::At(until),
            },
            SendState::Waits => {
                Permission::Waits { since: *control.waits_since.get_or_insert_with(Instant::now) }
            }
            SendState::Unmentioned { since, free } => {
                match free.saturating_sub(self.of_coflow.load(Ordering::Relaxed)) {
                    0 => Permission::Unmentioned { since },
                    left => Permission::Now(usize::try_from(left).unwrap_or(usize::MAX)),
                }
            }
            SendState::Cancelled => Permission::Cancelled,
        };
        if !matches!(permission, Permission::Now(_) | Permission::Cancelled) {
            match &mut control.writer {
                Some(waker) => waker.clone_from(writer.waker()),
                none => *none = Some(writer.waker().clone()),
            }
        }
        permission
    }

    /// The compressor of the flow's next chunk.
    pub fn codec(&self) -> Option<CodecName> {
        self.lock().codec
    }

    /// Sets the compressor from the next chunk on.
    pub fn set_codec(&self, codec: Option<CodecName>) {
        self.lock().codec = codec;
    }

    /// Sets the flow's state. The kernel learns a new rate here and not from the writer: a writer
    /// that waits for room in the socket would pass it on too late.
    pub fn set(&self, state: SendState, layer: Option<u32>, means: Means) {
        let mut control = self.lock();
        let state = match state {
            // With marks alone every flow may send; those that are not served have the lowest
            // class.
            SendState::Paced(_) | SendState::Waits if !means.paces() => SendState::Free,
            state => state,
        };
        control.waits_since = match state {
            SendState::Paced(_) | SendState::Free | SendState::Cancelled => None,
            SendState::Unmentioned { since, .. } => Some(since),
            SendState::Waits => Some(control.waits_since.unwrap_or_else(Instant::now)),
        };
        control.state = state;
        let pace = match state {
            // Where the host keeps the rate, the socket's pace keeps the host's queue short.
            SendState::Paced(rate) if means.shapes() => rate * SHAPED_PACE,
            SendState::Paced(rate) => rate,
            SendState::Free => f64::INFINITY,
            // The socket sends what it holds at the old rate, beside the first bytes of the flow
            // that has the port now, and the port is not idle meanwhile. With a lower rate, the
            // socket's timer would also delay the flow when it continues.
            SendState::Waits | SendState::Unmentioned { .. } | SendState::Cancelled => control.pace,
        };
        let kept_here = match state {
            SendState::Paced(rate) if !means.shapes() => rate,
            SendState::Waits => 0.0,
            _ => f64::INFINITY,
        };
        control.bucket.set(kept_here, Instant::now());
        let mark = if means.marks() { pacing::mark_of(layer) } else { 0 };
        let mut result = Ok(());
        if pace != control.pace {
            result = pacing::pace(self.connection.socket(), pace);
        }
        if mark != control.mark {
            result = result.and(pacing::mark(self.connection.socket(), mark));
        }
        (control.pace, control.mark) = (pace, mark);
        if let Err(error) = result
            && !std::mem::replace(&mut control.has_warned, true)
        {
            tracing::warn!(%error, "the kernel refuses the rate or mark of a flow: it does not keep to the schedule");
        }
        if state == SendState::Cancelled {
            // A writer that waits for room in the socket is woken, and the receiver learns that no
            // more will come.
            pacing::close(self.connection.socket());
        }
        if let Some(writer) = control.writer.take() {
            writer.wake();
        }
    }

    /// Whether the flow has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.lock().state == SendState::Cancelled
    }

    /// The flow has waited long enough: it sends as fast as it can until it is scheduled again.
    pub fn release(&self) {
        let mut control = self.lock();
        if control.pace.is_finite() {
            control.pace = f64::INFINITY;
            // A refusal was logged when the pace was set.
            let _ = pacing::pace(self.connection.socket(), f64::INFINITY);
        }
    }

    /// Whether the coordinator should hear that the socket holds the last byte of the flow: if the
    /// flow is served and not small.
    pub fn tells_written(&self) -> bool {
        let is_paced = matches!(self.lock().state, SendState::Paced(_));
        is_paced && self.wire.load(Ordering::Relaxed) > SMALL_FLOW
    }

    /// Bytes have been written to the socket.
    pub fn wrote(&self, written: Written) {
        self.sent.fetch_add(written.bytes, Ordering::Relaxed);
        self.wire.fetch_add(written.wire, Ordering::Relaxed);
        self.of_coflow.fetch_add(written.wire, Ordering::Relaxed);
        self.unreported.store(true, Ordering::Relaxed);
        self.lock().bucket.spend(written.wire);
    }

    /// Counts what the open flows of its coflow send.
    pub fn of_coflow(&self) -> Arc<AtomicU64> {
        self.of_coflow.clone()
    }

    /// The two addresses of the connection; `None` if it is gone.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((
            self.connection.socket().local_addr().ok()?,
            self.connection.socket().peer_addr().ok()?,
        ))
    }

    /// Returns what the socket has been given in total if that has changed since the last call.
    pub fn take_unreported(&self) -> Option<Written> {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let unreported = self.unreported.swap(false, Ordering::Relaxed);
        unreported.then(|| Written { bytes: get(&self.sent), wire: get(&self.wire) })
    }
}
