//! The thread that writes to the connections of agents.
//!
//! What agents are to hear after a decision is written by one thread, to one socket after the other:
//! to wake a task for each would cost half as much again as the writing does. Only what a socket does not
//! take at once is left to the connection's task.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::sync::mpsc::{self, WeakSender};
use tokio::time::timeout;

use super::decide::{Command, lock};
use crate::state::SessionId;

/// How long a connection may take for a group of messages.
const PATIENCE: Duration = Duration::from_secs(10);

type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A group of encoded messages, and the way to take.
pub(super) type Group = (Outbox, Vec<u8>);

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
        // Nobody is to be woken: the task polls again, with a waker of its own.
        let mut cx = Context::from_waker(Waker::noop());
        let mut written = 0;
        while written < bytes.len() {
            match Pin::new(&mut *writer).poll_write(&mut cx, &bytes[written..]) {
                Poll::Ready(Ok(count)) if count > 0 => written += count,
                // An error meets the task as well.
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
pub(super) struct Outbox {
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

    /// Whether a group can be sent. If not, [`Command::Writable`] will tell when.
    pub fn is_free(&self) -> bool {
        let is_busy = || self.line.is_busy.load(Ordering::SeqCst);
        if is_busy() {
            self.line.is_wanted.store(true, Ordering::SeqCst);
        }
        // It may have become free just before that was said.
        !is_busy()
    }

    /// A group that is to be sent, of a connection that is free.
    pub fn group(&self, bytes: Vec<u8>) -> Group {
        self.line.is_busy.store(true, Ordering::SeqCst);
        (self.clone(), bytes)
    }
}

/// What the thread could not write.
pub(super) struct Rest {
    session: SessionId,
    line: Arc<Line>,
    bytes: mpsc::Receiver<Vec<u8>>,
}

impl Rest {
    /// Writes it, until nobody has the way to the connection any more.
    ///
    /// # Errors
    /// When the connection breaks, or takes too long for a group.
    pub async fn write(mut self, commands: &mpsc::Sender<Command>) -> io::Result<()> {
        while let Some(bytes) = self.bytes.recv().await {
            timeout(PATIENCE, self.line.write_all(&bytes)).await??;
            if self.line.is_done() {
                let more = commands.send(Command::Writable(self.session)).await;
                more.map_err(|_| io::ErrorKind::BrokenPipe)?;
            }
        }
        std::future::poll_fn(|cx| Pin::new(&mut *lock(&self.line.writer)).poll_shutdown(cx)).await
    }
}

/// Writes until there is nothing more to come.
pub(super) fn run(groups: &Receiver<Vec<Group>>, commands: &WeakSender<Command>) {
    for (outbox, mut bytes) in groups.iter().flatten() {
        match outbox.line.write_now(&bytes) {
            (_, true) => {
                // If the decision thread is gone there is nobody to tell.
                if outbox.line.is_done()
                    && let Some(commands) = commands.upgrade()
                {
                    let _ = commands.blocking_send(Command::Writable(outbox.session));
                }
            }
            (written, false) => {
                bytes.drain(..written);
                // There is room, for no other group is under way; the connection may be gone.
                let _ = outbox.rest.try_send(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    /// A connection that takes a few bytes at a time, and one that waits: all comes, in order.
    #[tokio::test]
    async fn what_a_socket_does_not_take_at_once_comes_later_and_in_order() {
        let (near, mut far) = tokio::io::duplex(10);
        let (outbox, rest) = Outbox::new(7, Box::new(near));
        let (commands, mut told) = mpsc::channel(8);
        let (groups, to_write) = std::sync::mpsc::channel();
        let weak = commands.downgrade();
        let thread = std::thread::spawn(move || run(&to_write, &weak));
        let sender = commands.clone();
        let task = tokio::spawn(async move { rest.write(&sender).await });

        let first: Vec<u8> = (0..100).collect();
        assert!(outbox.is_free());
        groups.send(vec![outbox.group(first.clone())]).expect("a thread");
        assert!(!outbox.is_free(), "one group at a time");
        let mut come = vec![0; 100];
        far.read_exact(&mut come).await.expect("all of it");
        assert_eq!(come, first);
        assert!(matches!(told.recv().await, Some(Command::Writable(7))));

        assert!(outbox.is_free());
        groups.send(vec![outbox.group(vec![9; 4])]).expect("a thread");
        far.read_exact(&mut come[..4]).await.expect("all of it");
        drop((groups, outbox));
        thread.join().expect("no panic");
        task.await.expect("no panic").expect("written");
        assert_eq!(far.read(&mut come).await.expect("closed"), 0);
    }
}
