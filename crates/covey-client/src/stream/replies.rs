//! What a receiver sends to the sender of a flow, on the flow's connection. The latest decision
//! wins: one that has not been sent when the next comes is never sent.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{SystemTime, UNIX_EPOCH};

use covey_proto::{REPLY, Reply};

use super::receiving::{Decision, Sender};
use crate::connection::Connection;

/// What is to be sent.
#[derive(Debug)]
struct Outbox {
    bytes: [u8; REPLY],
    /// Bytes of these that have not been sent.
    left: usize,
    next: Option<Reply>,
    /// Whether a task waits for room in the socket.
    is_waiting: bool,
}

impl Outbox {
    /// Sends what the socket takes. Returns whether nothing is left.
    fn send(&mut self, connection: &Connection) -> io::Result<bool> {
        loop {
            if self.left == 0 {
                let Some(reply) = self.next.take() else { break };
                (self.bytes, self.left) = (reply.encode(), REPLY);
            }
            match connection.try_write(&self.bytes[REPLY - self.left..]) {
                Ok(count) => self.left -= count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        match connection.try_flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            result => result.map(|()| true),
        }
    }
}

/// The replies on one connection.
#[derive(Debug)]
pub struct Replies {
    connection: Arc<Connection>,
    /// The receiver's name.
    name: u32,
    out: Mutex<Outbox>,
}

impl Replies {
    /// Nothing has been said yet.
    pub fn new(connection: Arc<Connection>, name: u32) -> Arc<Replies> {
        let out = Outbox { bytes: [0; REPLY], left: 0, next: None, is_waiting: false };
        Arc::new(Replies { connection, name, out: Mutex::new(out) })
    }

    fn lock(&self) -> MutexGuard<'_, Outbox> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that all bytes have come. Nothing may be said afterwards.
    pub fn confirm(&self, bytes: u64) {
        self.lock().next = Some(Reply::Confirmed { bytes });
    }

    /// Waits until everything is sent.
    pub fn poll_sent(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.lock().send(&self.connection)? {
            ready!(self.connection.poll_write_ready(cx))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl Sender for Arc<Replies> {
    fn tell(&self, decision: Decision) {
        let Decision { priority, bytes } = decision;
        let (receiver, at_ns) = (self.name, now_ns());
        let mut out = self.lock();
        out.next = Some(Reply::Decided { priority: priority as u8, receiver, bytes, at_ns });
        // If the connection is broken, whoever reads or writes the flow sees it.
        if out.send(&self.connection).is_ok_and(|is_sent| !is_sent) && !out.is_waiting {
            out.is_waiting = true;
            let replies = self.clone();
            tokio::spawn(async move {
                let is_left = |replies: &Replies| {
                    matches!(replies.lock().send(&replies.connection), Ok(false))
                };
                while replies.connection.writable().await.is_ok() && is_left(&replies) {}
                replies.lock().is_waiting = false;
            });
        }
    }
}

/// Nanoseconds since 1970.
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

/// Tells the sender of a flow that its receiver does not decide itself.
pub async fn refuse(connection: &Connection) -> io::Result<()> {
    connection.write_all(&Reply::Refused.encode()).await
}
