//! A flow that comes here, where this host decides its priority.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use covey_proto::Note;

use super::host::Host;
use super::receiving::Counter;
use super::replies::Replies;
use crate::connection::Connection;
use crate::pacing;

/// The receiving end of a flow.
#[derive(Debug)]
pub struct Arrival {
    host: Arc<Host>,
    coflow: u64,
    connection: u64,
    counter: Arc<Counter>,
    replies: Arc<Replies>,
    is_over: bool,
}

impl Arrival {
    /// A flow of a coflow begins on a connection.
    pub fn new(host: &Arc<Host>, connection: &Arc<Connection>, coflow: u64) -> Arrival {
        let socket = connection.socket();
        // Replies are few, and their delay is that of the schedule. A kernel that refuses only
        // makes it longer.
        let _ =
            socket.set_nodelay(true).and_then(|()| pacing::mark(socket, pacing::mark_of_queue(0)));
        let replies = Replies::new(connection.clone(), host.name());
        let number = host.new_connection();
        let counter = host.receiving().begin(coflow, number, replies.clone());
        Arrival { host: host.clone(), coflow, connection: number, counter, replies, is_over: false }
    }

    /// So many bytes of the flow have come.
    pub fn received(&self, bytes: u64) {
        if bytes > 0 && self.counter.add(bytes) {
            self.host.receiving().decide(self.coflow);
        }
    }

    /// Notes have come.
    pub fn hear(&self, notes: impl Iterator<Item = Note>) {
        let mut notes = notes.peekable();
        if notes.peek().is_some() {
            self.host.receiving().hear(self.coflow, self.host.name(), notes);
        }
    }

    /// All bytes have come, so many: tells the sender.
    pub fn poll_confirm(&mut self, cx: &mut Context<'_>, bytes: u64) -> Poll<io::Result<()>> {
        if !self.is_over {
            self.is_over = true;
            // The sender hears no decision after this.
            self.host.receiving().end(self.coflow, self.connection, true);
            self.replies.confirm(bytes);
        }
        self.replies.poll_sent(cx)
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if !self.is_over {
            self.host.receiving().end(self.coflow, self.connection, false);
        }
    }
}
