//! Which connections there is room for. Without I/O and clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::peer::Peer;
use crate::refusals::Reason;

/// The limits of a [`Door`](crate::Door).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections.
    pub max: usize,
    /// Maximum number of connections of a peer.
    pub max_per_peer: usize,
    /// Maximum number of connections that have not shown a credential.
    pub max_unauthenticated: usize,
    /// Time in which a connection has to show a credential.
    pub patience: Duration,
}

/// How many connections are open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Those that have shown a credential.
    pub authenticated: usize,
    /// Those that have not.
    pub unauthenticated: usize,
}

impl Occupancy {
    fn total(self) -> usize {
        self.authenticated + self.unauthenticated
    }
}

/// The number of a connection. Later connections have higher numbers.
pub(crate) type Id = u64;

/// The connections of a peer.
#[derive(Debug, Default)]
struct Held {
    authenticated: usize,
    unauthenticated: BTreeSet<Id>,
}

impl Held {
    fn total(&self) -> usize {
        self.authenticated + self.unauthenticated.len()
    }

    /// How soon one of these connections is closed if room is needed: peers with more connections
    /// without a credential come first, then those with the oldest one.
    fn rank(&self) -> Option<(usize, Reverse<Id>)> {
        let oldest = self.unauthenticated.first()?;
        Some((self.unauthenticated.len(), Reverse(*oldest)))
    }
}

/// The connections that are open, by peer.
#[derive(Debug)]
pub(crate) struct Quotas {
    limits: Limits,
    next: Id,
    open: Occupancy,
    peers: BTreeMap<Peer, Held>,
    /// The peers that have connections without a credential, by [`Held::rank`].
    ranks: BTreeSet<((usize, Reverse<Id>), Peer)>,
}

impl Quotas {
    pub fn new(limits: Limits) -> Quotas {
        let (peers, ranks) = Default::default();
        Quotas { limits, next: 0, open: Occupancy::default(), peers, ranks }
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    pub fn occupancy(&self) -> Occupancy {
        self.open
    }

    /// Makes room for a connection of `peer`, and counts it in. Returns its number, and the
    /// connection that is to be closed for it.
    pub fn enter(&mut self, peer: Peer) -> Result<(Id, Option<(Id, Peer)>), Reason> {
        let held = self.peers.get(&peer);
        let is_peer_full = held.is_some_and(|held| held.total() >= self.limits.max_per_peer);
        let closed = if is_peer_full {
            let oldest = held.and_then(|held| held.unauthenticated.first());
            Some((*oldest.ok_or(Reason::PeerQuota)?, peer))
        } else if self.open.total() >= self.limits.max {
            Some(self.first_to_close().ok_or(Reason::Full)?)
        } else if self.open.unauthenticated >= self.limits.max_unauthenticated {
            self.first_to_close()
        } else {
            None
        };
        if let Some((id, peer)) = closed {
            self.leave(id, peer);
        }
        let id = self.next;
        self.next += 1;
        self.change(peer, |held| held.unauthenticated.insert(id));
        self.open.unauthenticated += 1;
        Ok((id, closed))
    }

    /// Closes a connection because the process has no more files. Returns it, if there is one
    /// without a credential.
    pub fn make_room(&mut self) -> Option<(Id, Peer)> {
        let (id, peer) = self.first_to_close()?;
        self.leave(id, peer);
        Some((id, peer))
    }

    fn first_to_close(&self) -> Option<(Id, Peer)> {
        self.ranks.last().map(|((_, Reverse(oldest)), peer)| (*oldest, *peer))
    }

    /// A connection has shown a credential.
    pub fn authenticate(&mut self, id: Id, peer: Peer) {
        if self.change(peer, |held| held.unauthenticated.remove(&id)) {
            self.open.unauthenticated -= 1;
            self.open.authenticated += 1;
            self.change(peer, |held| held.authenticated += 1);
        }
    }

    /// A connection has ended. Does nothing if it was closed to make room.
    pub fn leave(&mut self, id: Id, peer: Peer) {
        if self.change(peer, |held| held.unauthenticated.remove(&id)) {
            self.open.unauthenticated -= 1;
        }
    }

    /// A connection that had shown a credential has ended.
    pub fn leave_authenticated(&mut self, peer: Peer) {
        self.change(peer, |held| held.authenticated -= 1);
        self.open.authenticated -= 1;
    }

    /// Changes what a peer has, and its rank.
    fn change<T>(&mut self, peer: Peer, change: impl FnOnce(&mut Held) -> T) -> T {
        let held = self.peers.entry(peer).or_default();
        let before = held.rank();
        let result = change(held);
        let (after, is_empty) = (held.rank(), held.total() == 0);
        if before != after {
            if let Some(rank) = before {
                self.ranks.remove(&(rank, peer));
            }
            if let Some(rank) = after {
                self.ranks.insert((rank, peer));
            }
        }
        if is_empty {
            self.peers.remove(&peer);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits =
        Limits { max: 6, max_per_peer: 4, max_unauthenticated: 3, patience: Duration::ZERO };

    fn peer(n: u8) -> Peer {
        Peer::of(([10, 0, 0, n], 1).into())
    }

    /// Enters connections of these peers; returns which were closed for each.
    fn entered(quotas: &mut Quotas, peers: &[u8]) -> Vec<Option<Id>> {
        let enter = |n: &u8| quotas.enter(peer(*n)).expect("room").1.map(|(id, _)| id);
        peers.iter().map(enter).collect()
    }

    #[test]
    fn the_oldest_without_a_credential_goes_first_and_that_of_the_peer_with_the_most() {
        let mut quotas = Quotas::new(LIMITS);
        assert_eq!(entered(&mut quotas, &[1, 2, 3]), [None, None, None]);
        // All peers have one: the oldest goes.
        assert_eq!(entered(&mut quotas, &[4]), [Some(0)]);
        // Peer 4 comes again and again: after one of peer 2, it is its own connections that go.
        assert_eq!(entered(&mut quotas, &[4, 4, 4]), [Some(1), Some(3), Some(4)]);
    }

    #[test]
    fn a_credential_keeps_a_connection_and_full_is_full() {
        let mut quotas = Quotas::new(LIMITS);
        for id in 0..6 {
            let peer = peer(id / 3);
            assert_eq!(quotas.enter(peer), Ok((id.into(), None)));
            quotas.authenticate(id.into(), peer);
        }
        assert_eq!(quotas.enter(peer(9)), Err(Reason::Full));
        quotas.leave_authenticated(peer(0));
        // One without a credential takes the last place, and loses it to the next.
        assert_eq!(entered(&mut quotas, &[9, 1]), [None, Some(6)]);
        // Peer 1 has three with a credential and one without, which makes room for its own next
        // one.
        assert_eq!(entered(&mut quotas, &[1]), [Some(7)]);
        quotas.authenticate(8, peer(1));
        assert_eq!(quotas.enter(peer(1)), Err(Reason::PeerQuota));
        assert_eq!(quotas.occupancy(), Occupancy { authenticated: 6, unauthenticated: 0 });
    }

    proptest! {
        /// No limit is ever exceeded, and nothing is left when all connections have ended.
        #[test]
        fn limits_hold_whatever_happens(steps in proptest::collection::vec((0_u8..4, 0_u8..5, 0_usize..9), 0..300)) {
            let mut quotas = Quotas::new(LIMITS);
            let mut open: BTreeMap<Id, (Peer, bool)> = BTreeMap::new();
            for (what, who, which) in steps {
                let chosen = open.keys().nth(which).copied();
                match (what, chosen) {
                    (0 | 1, _) => {
                        if let Ok((id, closed)) = quotas.enter(peer(who)) {
                            if let Some((closed, _)) = closed {
                                prop_assert_eq!(open.remove(&closed).map(|it| it.1), Some(false));
                            }
                            open.insert(id, (peer(who), false));
                        }
                    }
                    (2, Some(id)) => {
                        let it = open.get_mut(&id).expect("it is open");
                        if !it.1 {
                            quotas.authenticate(id, it.0);
                            it.1 = true;
                        }
                    }
                    (_, Some(id)) => leave(&mut quotas, id, open.remove(&id).expect("it is open")),
                    _ => {}
                }
                let authenticated = open.values().filter(|it| it.1).count();
                let unauthenticated = open.len() - authenticated;
                prop_assert_eq!(quotas.occupancy(), Occupancy { authenticated, unauthenticated });
                prop_assert!(open.len() <= LIMITS.max && unauthenticated <= LIMITS.max_unauthenticated);
                for n in 0..5 {
                    let held = open.values().filter(|it| it.0 == peer(n)).count();
                    prop_assert!(held <= LIMITS.max_per_peer);
                }
            }
            for (id, it) in open {
                leave(&mut quotas, id, it);
            }
            prop_assert!(quotas.peers.is_empty() && quotas.ranks.is_empty());
        }
    }

    fn leave(quotas: &mut Quotas, id: Id, (peer, is_authenticated): (Peer, bool)) {
        match is_authenticated {
            true => quotas.leave_authenticated(peer),
            false => quotas.leave(id, peer),
        }
    }
}
