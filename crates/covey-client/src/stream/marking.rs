//! A flow that is sent from here: its packets are marked with the priority that its receiver has
//! decided.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use covey_core::Time;
use covey_proto::{Note, ProofRefusal, REFUSAL, REPLY, Reply, refusal_of};
use covey_stream::Escape;
use tokio::net::TcpStream;

use super::host::Host;
use super::receiving::Decision;
use super::replies::now_ns;
use crate::connection::Connection;
use crate::header::refused;
use crate::pacing;

/// How the connection has ended: the number of bytes that the receiver confirms.
#[derive(Debug, Default)]
struct End {
    confirmed: Option<io::Result<u64>>,
    waker: Option<Waker>,
}

/// The sending end of a flow.
#[derive(Debug)]
pub struct Marking {
    host: Arc<Host>,
    coflow: u64,
    connection: u64,
    has_news: Arc<AtomicBool>,
    end: Arc<Mutex<End>>,
    task: tokio::task::JoinHandle<()>,
}

impl Marking {
    /// A flow of a coflow begins on a connection.
    pub fn new(host: &Arc<Host>, line: &Arc<Connection>, coflow: u64) -> Marking {
        let connection = host.new_connection();
        let has_news = host.begin_sending(coflow, connection);
        let end = Arc::<Mutex<End>>::default();
        let marker = Marker {
            host: host.clone(),
            line: line.clone(),
            coflow,
            connection,
            priority: 0,
            marked: None,
            escape: Escape::default(),
            acknowledged: None,
        };
        let task = tokio::spawn({
            let end = end.clone();
            async move {
                let confirmed = marker.follow().await;
                let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
                end.confirmed = Some(confirmed);
                end.waker.take().into_iter().for_each(Waker::wake);
            }
        });
        Marking { host: host.clone(), coflow, connection, has_news, end, task }
    }

    /// What the receiver is to be told with the next bytes.
    pub fn take_notes(&self) -> Vec<Note> {
        if self.has_news.load(Ordering::Relaxed) {
            self.host.notes(self.coflow, self.connection)
        } else {
            Vec::new()
        }
    }

    /// Waits for the receiver's confirmation. Returns how many bytes it has received. It can be
    /// taken once.
    pub fn poll_confirmed(&self, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        match end.confirmed.take() {
            Some(confirmed) => Poll::Ready(confirmed),
            None => {
                end.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether the connection is over before its end, and why.
    pub fn take_failure(&self) -> Option<io::Error> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.confirmed.take_if(|confirmed| confirmed.is_err()).and_then(Result::err)
    }
}

impl Drop for Marking {
    fn drop(&mut self) {
        self.task.abort();
        self.host.end_sending(self.coflow, self.connection);
    }
}

/// Follows what the receiver of one flow says.
struct Marker {
    host: Arc<Host>,
    /// The connection itself.
    line: Arc<Connection>,
    coflow: u64,
    connection: u64,
    /// What the receiver has decided.
    priority: u32,
    /// The queue that packets are marked for.
    marked: Option<u32>,
    escape: Escape,
    /// Whether the flow had unacknowledged bytes at the last look, and how many were acknowledged.
    acknowledged: Option<u64>,
}

impl Marker {
    /// Returns the number of bytes that the receiver confirms.
    async fn follow(mut self) -> io::Result<u64> {
        self.mark();
        let (mut reply, mut come) = ([0; REPLY], 0);
        let mut has_heard = false;
        loop {
            tokio::select! {
                ready = self.line.readable() => ready?,
                () = sleep_until(&self.host, self.escape.next) => {
                    self.look();
                    continue;
                }
            }
            match self.line.try_read(&mut reply[come..]) {
                Ok(0) if let Some(refusal) = refusal_in(&reply[..come]) => {
                    return Err(refused(refusal));
                }
                Ok(0) if !has_heard => {
                    let what = "the other side closed the connection: it may be of a version without mode stream";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
                }
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => come += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if come < REPLY {
                continue;
            }
            (come, has_heard) = (0, true);
            let reply = Reply::decode(&reply);
            match reply.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))? {
                Reply::Decided { priority, receiver, bytes, at_ns } => {
                    let decision = Decision { priority: priority.into(), bytes };
                    self.hear(receiver, decision, at_ns);
                }
                Reply::Confirmed { bytes } => return Ok(bytes),
                Reply::Refused => {
                    let what = "the receiver does not run in mode stream: both ends of a flow need the same mode";
                    return Err(io::Error::new(io::ErrorKind::ConnectionRefused, what));
                }
            }
        }
    }

    fn hear(&mut self, receiver: u32, decision: Decision, at_ns: u64) {
        self.host.hear_decision(self.coflow, self.connection, receiver, decision);
        if decision.priority == self.priority {
            return;
        }
        self.priority = decision.priority;
        if let Some(rules) = self.host.escape().filter(|_| !self.escape.next.comes()) {
            self.escape.begin(rules, self.host.now());
            self.acknowledged = acknowledged(self.line.socket());
        }
        self.mark();
        self.host.note_delay(Duration::from_nanos(now_ns().saturating_sub(at_ns)));
    }

    /// Looks whether the flow starves.
    fn look(&mut self) {
        let Some(rules) = self.host.escape() else { return };
        let before = std::mem::replace(&mut self.acknowledged, acknowledged(self.line.socket()));
        let starves = before.is_some() && before == self.acknowledged;
        self.escape.look(rules, self.priority, starves, self.host.now());
        self.mark();
    }

    /// Marks the flow's packets from now on.
    fn mark(&mut self) {
        let queue = self.priority.saturating_sub(self.escape.raised);
        if self.marked.replace(queue) != Some(queue)
            && let Err(error) = pacing::mark(self.line.socket(), pacing::mark_of_queue(queue))
        {
            tracing::warn!(%error, "the kernel does not mark the packets of a flow");
        }
    }
}

/// The refusal that has come in place of a reply.
fn refusal_in(come: &[u8]) -> Option<ProofRefusal> {
    refusal_of(<&[u8; REFUSAL]>::try_from(come).ok()?)
}

/// How many bytes the receiver's kernel has acknowledged; nothing if none are on their way.
fn acknowledged(socket: &TcpStream) -> Option<u64> {
    pacing::acknowledged(socket).ok().flatten()
}

async fn sleep_until(host: &Host, time: Time) {
    match time.comes() {
        true => tokio::time::sleep_until(host.instant(time).into()).await,
        false => std::future::pending().await,
    }
}
