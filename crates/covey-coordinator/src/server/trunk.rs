//! The way to the agents of a relay: all over one connection, each with at most one piece under
//! way.
//!
//! A relay has room for one piece of each agent, and says when the agent's connection has taken it.
//! So an agent that is slow delays nobody else, and nothing piles up at the relay.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use covey_proto::{MAX_PIECE, ToRelay, encode};

use crate::connections::{Outbox, lock};

/// The way to a relay.
pub(super) struct Trunk {
    outbox: Outbox,
    /// What is to be written next. There is at most a piece of each session.
    pending: Mutex<Vec<u8>>,
}

impl Trunk {
    pub fn new(outbox: Outbox) -> Trunk {
        Trunk { outbox, pending: Mutex::default() }
    }

    /// Adds a message to what [`Trunk::flush`] writes.
    pub fn add(&self, message: &ToRelay) {
        encode(message, &mut lock(&self.pending));
    }

    /// Writes what was added, if nothing else is under way; otherwise the connection's task does it
    /// later.
    pub fn flush(&self) {
        loop {
            let mut pending = lock(&self.pending);
            if pending.is_empty() || !self.outbox.is_free() {
                return;
            }
            let bytes = std::mem::take(&mut *pending);
            self.outbox.begin();
            drop(pending);
            if !self.outbox.write(bytes) {
                return;
            }
        }
    }
}

/// The way to one agent of a relay. When the last owner drops it, the relay is told that the
/// session is over.
pub(super) struct RelayedAgent {
    /// What the relay calls the session.
    number: u64,
    trunk: Arc<Trunk>,
    slot: Mutex<Slot>,
    /// Whether the agent's connection has ended.
    has_left: AtomicBool,
}

/// What is under way to an agent.
#[derive(Default)]
struct Slot {
    /// Whether a group of messages is under way.
    is_busy: bool,
    /// Whether more is to be sent after it.
    is_wanted: bool,
    /// What of the group comes after the piece that is under way.
    rest: Vec<u8>,
}

impl RelayedAgent {
    pub fn new(number: u64, trunk: Arc<Trunk>) -> RelayedAgent {
        let has_left = AtomicBool::new(false);
        RelayedAgent { number, trunk, slot: Mutex::default(), has_left }
    }

    /// The way to its relay.
    pub fn trunk(&self) -> &Arc<Trunk> {
        &self.trunk
    }

    /// Whether a group can be sent. If not, it is wanted.
    pub fn is_free(&self) -> bool {
        let mut slot = lock(&self.slot);
        slot.is_wanted |= slot.is_busy;
        !slot.is_busy
    }

    /// A group is to be sent. There must be none under way.
    pub fn begin(&self) {
        lock(&self.slot).is_busy = true;
    }

    /// Adds the first piece of a group to what [`Trunk::flush`] writes. The others follow when it
    /// is delivered.
    pub fn send(&self, bytes: Vec<u8>) {
        let mut slot = lock(&self.slot);
        slot.rest = bytes;
        self.send_piece(&mut slot);
    }

    fn send_piece(&self, slot: &mut Slot) {
        let rest = slot.rest.split_off(slot.rest.len().min(MAX_PIECE));
        let bytes = std::mem::replace(&mut slot.rest, rest);
        self.trunk.add(&ToRelay::Say { session: self.number, bytes });
    }

    /// The agent's connection has taken the last piece. Returns whether another group is wanted.
    pub fn delivered(&self) -> bool {
        let mut slot = lock(&self.slot);
        if !slot.rest.is_empty() {
            self.send_piece(&mut slot);
            return false;
        }
        slot.is_busy = false;
        std::mem::take(&mut slot.is_wanted)
    }

    /// The agent's connection has ended: the relay need not close it.
    pub fn leave(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }
}

impl Drop for RelayedAgent {
    fn drop(&mut self) {
        if !self.has_left.load(Ordering::Relaxed) {
            self.trunk.add(&ToRelay::Close(self.number));
            self.trunk.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use covey_proto::Decoder;
    use tokio::io::AsyncReadExt;

    use super::*;

    /// All messages that come until the connection has nothing more to say.
    async fn heard(far: &mut tokio::io::DuplexStream, decoder: &mut Decoder) -> Vec<ToRelay> {
        let mut buffer = vec![0; 1 << 20];
        let count = far.read(&mut buffer).await.expect("bytes");
        decoder.push(&buffer[..count]);
        std::iter::from_fn(|| decoder.take::<ToRelay>().expect("messages")).collect()
    }

    /// A piece is under way for each agent; the next one goes when it is delivered, and an agent
    /// that delivers nothing delays nobody.
    #[tokio::test]
    async fn an_agent_has_one_piece_under_way_and_the_last_owner_closes() {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let (outbox, _rest) = Outbox::new(1, Box::new(near));
        let trunk = Arc::new(Trunk::new(outbox));
        let agents = [7, 8].map(|number| RelayedAgent::new(number, trunk.clone()));
        let mut decoder = Decoder::default();
        let [slow, quick] = &agents;
        let long = vec![5; MAX_PIECE + 3];
        for agent in [slow, quick] {
            assert!(agent.is_free());
            agent.begin();
            agent.send(long.clone());
        }
        trunk.flush();
        let say = |session, count| ToRelay::Say { session, bytes: vec![5; count] };
        let first = [say(7, MAX_PIECE), say(8, MAX_PIECE)];
        assert_eq!(heard(&mut far, &mut decoder).await, first);
        assert!(!quick.is_free(), "one group at a time");
        assert!(!quick.delivered(), "its last piece is sent first");
        trunk.flush();
        assert_eq!(heard(&mut far, &mut decoder).await, [say(8, 3)]);
        assert!(quick.delivered(), "another group was wanted");
        assert!(quick.is_free() && !slow.is_free());

        let [slow, quick] = agents;
        quick.leave();
        drop(quick);
        drop(slow);
        assert_eq!(heard(&mut far, &mut decoder).await, [ToRelay::Close(7)]);
    }
}
