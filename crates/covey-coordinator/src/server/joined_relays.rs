//! The relays that have joined, for metrics and for clients.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use covey_api::RelayStatus;

use super::route::Peer;
use crate::connections::lock;
use crate::state::SessionId;

/// The relays that have joined, by their sessions.
#[derive(Debug, Default)]
pub(super) struct JoinedRelays(Mutex<BTreeMap<SessionId, Arc<JoinedRelay>>>);

/// A relay that has joined.
#[derive(Debug)]
pub(super) struct JoinedRelay {
    peer: SocketAddr,
    since: Instant,
    heard: Mutex<Instant>,
    agents: AtomicUsize,
}

impl JoinedRelay {
    /// The relay has said something.
    pub fn heard(&self) {
        *lock(&self.heard) = Instant::now();
    }

    /// An agent has joined through it.
    pub fn agent_joined(&self) {
        self.agents.fetch_add(1, Ordering::Relaxed);
    }

    /// The session of one of its agents has ended.
    pub fn agent_left(&self) {
        self.agents.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A place in the list, until it is dropped.
pub(super) struct Listed {
    list: Arc<JoinedRelays>,
    session: SessionId,
    relay: Arc<JoinedRelay>,
}

impl Listed {
    /// Where its agents connect from.
    pub fn peer(&self) -> Peer {
        Peer { address: self.relay.peer, relay: Some(self.session) }
    }
}

impl Deref for Listed {
    type Target = JoinedRelay;

    fn deref(&self) -> &JoinedRelay {
        &self.relay
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&self.list.0).remove(&self.session);
    }
}

impl JoinedRelays {
    /// Lists a relay that has joined now.
    pub fn add(self: &Arc<Self>, session: SessionId, peer: SocketAddr) -> Listed {
        let now = Instant::now();
        let (heard, agents) = (Mutex::new(now), AtomicUsize::new(0));
        let relay = Arc::new(JoinedRelay { peer, since: now, heard, agents });
        lock(&self.0).insert(session, relay.clone());
        Listed { list: self.clone(), session, relay }
    }

    /// How many relays have joined, and how many agents have joined through them.
    pub fn count(&self) -> (usize, usize) {
        let relays = lock(&self.0);
        (relays.len(), relays.values().map(|relay| relay.agents.load(Ordering::Relaxed)).sum())
    }

    /// At most `limit` relays whose sessions have numbers from `from` on, and whether there are
    /// more.
    pub fn list(&self, from: SessionId, limit: usize) -> (Vec<RelayStatus>, Option<SessionId>) {
        let relays = lock(&self.0);
        let mut rest = relays.range(from..);
        let status = |(session, relay): (&SessionId, &Arc<JoinedRelay>)| RelayStatus {
            session: *session,
            peer: relay.peer,
            agents: relay.agents.load(Ordering::Relaxed),
            joined_s: relay.since.elapsed().as_secs_f64(),
            heard_s: lock(&relay.heard).elapsed().as_secs_f64(),
        };
        let items = rest.by_ref().take(limit).map(status).collect();
        (items, rest.next().map(|(session, _)| *session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_is_listed_until_it_leaves() {
        let relays = Arc::new(JoinedRelays::default());
        let peer = SocketAddr::from(([127, 0, 0, 1], 9));
        let (first, second) = (relays.add(3, peer), relays.add(5, peer));
        first.agent_joined();
        second.agent_joined();
        second.agent_joined();
        assert_eq!(relays.count(), (2, 3));
        let (items, next) = relays.list(0, 1);
        assert_eq!((items.len(), items[0].session, next), (1, 3, Some(5)));
        second.agent_left();
        drop(first);
        let (items, next) = relays.list(4, 1);
        assert_eq!((relays.count(), items[0].agents, next), ((1, 1), 1, None));
    }
}
