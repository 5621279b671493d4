//! The way to a connection.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::lock::lock;
use crate::state::SessionId;

/// How long a connection may take for a group of messages.
const PATIENCE: Duration = Duration::from_secs(10);

type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The sending half of a connection.
struct Line {
    writer: Mutex<Writer>,
    /// Whether a group of messages is under way.
    is_busy: AtomicBool,
    /// Whether more is to be sent after it.
    is_wanted: AtomicBool,
}

impl Line {
    /// Writes as much as the socket takes at once; returns how much, and whether that was all.
    fn write_now(&self, bytes: &[u8]) -> (usize, bool) {
        let mut writer = lock(&self.writer);
        // No task is to be woken: the connection's task polls again with a waker of its own.
        let mut cx = Context::from_waker(Waker::noop());
        let mut written = 0;
        while written < bytes.len() {
            match Pin::new(&mut *writer).poll_write(&mut cx, &bytes[written..]) {
                Poll::Ready(Ok(count)) if count > 0 => written += count,
                // The task meets the same error.
                _ => return (written, false),
            }
        }
        (written, matches!(Pin::new(&mut *writer).poll_flush(&mut cx), Poll::Ready(Ok(()))))
    }

    async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        std::future::poll_fn(|cx| {
            let mut writer = lock(&self.writer);
            while written < bytes.len() {
                let count = ready!(Pin::new(&mut *writer).poll_write(cx, &bytes[written..]))?;
                if count == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                written += count;
            }
            Pin::new(&mut *writer).poll_flush(cx)
        })
        .await
    }

    /// A group has been written. Returns whether more is wanted.
    fn is_done(&self) -> bool {
        self.is_busy.store(false, Ordering::SeqCst);
        self.is_wanted.swap(false, Ordering::SeqCst)
    }
}

/// The way to a connection: one group of messages at a time.
#[derive(Clone)]
pub(crate) struct Outbox {
    session: SessionId,
    line: Arc<Line>,
    rest: mpsc::Sender<Vec<u8>>,
}

impl Outbox {
    /// The way to the connection of `session`, and what its task is to write.
    pub fn new(session: SessionId, writer: Writer) -> (Outbox, Rest) {
        let (is_busy, is_wanted) = (AtomicBool::new(false), AtomicBool::new(false));
        let line = Arc::new(Line { writer: Mutex::new(writer), is_busy, is_wanted });
        let (sender, receiver) = mpsc::channel(1);
        let rest = Rest { session, line: line.clone(), bytes: receiver };
        (Outbox { session, line, rest: sender }, rest)
    }

    /// Whether a group can be sent. If not, it is wanted: whoever writes the present group learns
    /// that.
    pub fn is_free(&self) -> bool {
        let is_busy = || self.line.is_busy.load(Ordering::SeqCst);
        if is_busy() {
            self.line.is_wanted.store(true, Ordering::SeqCst);
        }
        // Asks again: the line may have become free between the question and the mark `is_wanted`.
        !is_busy()
    }

    /// The session of the connection.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// A group is to be written. The connection must be free.
    pub fn begin(&self) {
        self.line.is_busy.store(true, Ordering::SeqCst);
    }

    /// Something waits for the group that is to be written.
    pub fn want(&self) {
        self.line.is_wanted.store(true, Ordering::SeqCst);
    }

    /// Writes a group. Bytes that the socket does not take at once are left to the connection's
    /// task. Returns whether all is written and more is wanted.
    pub fn write(&self, mut bytes: Vec<u8>) -> bool {
        let (written, is_all) = self.line.write_now(&bytes);
        if !is_all {
            bytes.drain(..written);
            // There is room, for no other group is under way; the connection may be gone.
            let _ = self.rest.try_send(bytes);
        }
        is_all && self.line.is_done()
    }
}

/// What a socket did not take at once.
pub(crate) struct Rest {
    session: SessionId,
    line: Arc<Line>,
    bytes: mpsc::Receiver<Vec<u8>>,
}

impl Rest {
    /// The session of the connection.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Writes what comes next, and returns whether more is wanted after it. `None`: nothing more
    /// can come, and the connection is closed.
    ///
    /// # Errors
    /// When the connection breaks, or takes too long for a group.
    pub async fn write_next(&mut self) -> io::Result<Option<bool>> {
        if let Some(bytes) = self.bytes.recv().await {
            timeout(PATIENCE, self.line.write_all(&bytes)).await??;
            return Ok(Some(self.line.is_done()));
        }
        let shut = |cx: &mut Context<'_>| Pin::new(&mut *lock(&self.line.writer)).poll_shutdown(cx);
        std::future::poll_fn(shut).await.map(|()| None)
    }
}
