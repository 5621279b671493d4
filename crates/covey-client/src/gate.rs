//! What stands between a flow's writer and its socket: whether it may send, and how fast.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use covey_proto::{CodecName, Means};
use tokio::net::TcpStream;

use crate::budget::Budget;
use crate::framing::Passed;
use crate::pacing;

/// How a flow stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standing {
    /// No schedule mentions it.
    Unmentioned {
        /// Since when.
        since: Instant,
    },
    /// It waits for its turn.
    Waits,
    /// It sends at this many bytes a second.
    Paced(f64),
    /// It sends as fast as it can: there is nobody who schedules.
    Free,
}

/// What a flow's writer may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Give the socket so many bytes at most.
    Now(usize),
    /// Ask again then.
    At(Instant),
    /// Wait for as long as it wants to: it is another's turn.
    Waits {
        /// Since when.
        since: Instant,
    },
    /// Wait for as long as it wants to: no schedule mentions the flow.
    Unmentioned {
        /// Since when.
        since: Instant,
    },
}

/// A flow of so few bytes has ended about as soon as it can be said that it is about to.
const LITTLE: u64 = 32 * 1024;
/// How much faster a socket gives packets to a host that keeps rates itself.
const AHEAD: f64 = 1.25;

/// The gate of one flow, between its writer and what the agent says.
#[derive(Debug)]
pub struct Gate {
    socket: Arc<TcpStream>,
    inner: Mutex<Inner>,
    /// Bytes of the flow that it has let through, and bytes on the wire for these.
    sent: AtomicU64,
    wire: AtomicU64,
    /// Whether they have grown since it was last reported.
    unreported: AtomicBool,
}

#[derive(Debug)]
struct Inner {
    standing: Standing,
    /// Since when it may not send, if it may not.
    waits_since: Option<Instant>,
    /// What the kernel was last told.
    pace: f64,
    mark: u32,
    /// Rates too low for the kernel.
    budget: Budget,
    codec: Option<CodecName>,
    writer: Option<Waker>,
    complained: bool,
}

impl Gate {
    /// A gate before a socket.
    pub fn new(socket: Arc<TcpStream>, standing: Standing) -> Gate {
        let inner = Inner {
            standing,
            waits_since: None,
            pace: f64::INFINITY,
            mark: 0,
            budget: Budget::new(Instant::now()),
            codec: None,
            writer: None,
            complained: false,
        };
        Gate {
            socket,
            inner: Mutex::new(inner),
            sent: AtomicU64::new(0),
            wire: AtomicU64::new(0),
            unreported: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the flow may do. `writer` is woken when that changes.
    pub fn turn(&self, writer: &Context<'_>) -> Turn {
        let mut inner = self.lock();
        let turn = match inner.standing {
            Standing::Paced(_) | Standing::Free => match inner.budget.most(Instant::now()) {
                Ok(most) => Turn::Now(most),
                Err(until) => Turn::At(until),
            },
            Standing::Waits => {
                Turn::Waits { since: *inner.waits_since.get_or_insert_with(Instant::now) }
            }
            Standing::Unmentioned { since } => Turn::Unmentioned { since },
        };
        if !matches!(turn, Turn::Now(_)) {
            match &mut inner.writer {
                Some(waker) => waker.clone_from(writer.waker()),
                none => *none = Some(writer.waker().clone()),
            }
        }
        turn
    }

    /// What the flow is to be compressed with from its next chunk on.
    pub fn codec(&self) -> Option<CodecName> {
        self.lock().codec
    }

    /// See [`Gate::codec`].
    pub fn set_codec(&self, codec: Option<CodecName>) {
        self.lock().codec = codec;
    }

    /// Changes how the flow stands. What is paced is told to the kernel here and now: a writer that
    /// waits for room in the socket would tell it too late.
    pub fn set(&self, standing: Standing, layer: Option<u32>, means: Means) {
        let mut inner = self.lock();
        let standing = match standing {
            // In a network of priorities all may send, those that are not served in the last class.
            Standing::Paced(_) | Standing::Waits if !means.paces() => Standing::Free,
            standing => standing,
        };
        inner.waits_since = match standing {
            Standing::Paced(_) | Standing::Free => None,
            Standing::Unmentioned { since } => Some(since),
            Standing::Waits => Some(inner.waits_since.unwrap_or_else(Instant::now)),
        };
        inner.standing = standing;
        let pace = match standing {
            // Where the host keeps the rate, the socket is to keep what waits for that short.
            Standing::Paced(rate) if means.shapes() => rate * AHEAD,
            Standing::Paced(rate) => rate,
            Standing::Free => f64::INFINITY,
            // What is in the socket goes out at the rate that it was given for, beside the first bytes of whoever
            // is to have the port now, and the port is not idle meanwhile. A lower rate would also keep the
            // socket's timer waiting when the flow is to go on.
            Standing::Waits | Standing::Unmentioned { .. } => inner.pace,
        };
        let kept_here = match standing {
            Standing::Paced(rate) if !means.shapes() => rate,
            Standing::Waits => 0.0,
            _ => f64::INFINITY,
        };
        inner.budget.set(kept_here, Instant::now());
        let mark = if means.marks() { pacing::mark_of(layer) } else { 0 };
        let mut result = Ok(());
        if pace != inner.pace {
            result = pacing::pace(&self.socket, pace);
        }
        if mark != inner.mark {
            result = result.and(pacing::mark(&self.socket, mark));
        }
        (inner.pace, inner.mark) = (pace, mark);
        if let Err(error) = result
            && !std::mem::replace(&mut inner.complained, true)
        {
            tracing::warn!(%error, "a flow's socket does not keep to the schedule");
        }
        if let Some(writer) = inner.writer.take() {
            writer.wake();
        }
    }

    /// The flow has waited long enough, and sends as fast as it can until it is scheduled again.
    pub fn let_go(&self) {
        let mut inner = self.lock();
        if inner.pace.is_finite() {
            inner.pace = f64::INFINITY;
            // What the kernel does not take was complained of when the pace was set.
            let _ = pacing::pace(&self.socket, f64::INFINITY);
        }
    }

    /// The socket has all of the flow. Whether others are to hear of it: not where little is left to be sent,
    /// or what is left waits.
    pub fn written(&self) -> bool {
        let is_paced = matches!(self.lock().standing, Standing::Paced(_));
        is_paced && self.wire.load(Ordering::Relaxed) > LITTLE
    }

    /// So many more bytes have been given to the socket.
    pub fn passed(&self, passed: Passed) {
        self.sent.fetch_add(passed.bytes, Ordering::Relaxed);
        self.wire.fetch_add(passed.wire, Ordering::Relaxed);
        self.unreported.store(true, Ordering::Relaxed);
        self.lock().budget.spend(passed.wire);
    }

    /// Where the flow comes from, and where it goes; nothing if its connection has gone.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.socket.local_addr().ok()?, self.socket.peer_addr().ok()?))
    }

    /// Bytes that have been given to the socket, if that has changed since this was last asked.
    pub fn take_unreported(&self) -> Option<Passed> {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let unreported = self.unreported.swap(false, Ordering::Relaxed);
        unreported.then(|| Passed { bytes: get(&self.sent), wire: get(&self.wire) })
    }
}
