//! The way to an agent: a connection of its own, or that of a relay.

use std::net::SocketAddr;
use std::sync::Arc;

use super::trunk::RelayedAgent;
use crate::connections::Outbox;
use crate::state::SessionId;

/// A group of encoded messages, and the agent that it is for.
pub(super) type Group = (Route, Vec<u8>);

/// Where an agent connects from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    /// Its address, or that of its relay.
    pub address: SocketAddr,
    /// The session of its relay, if it has one.
    pub relay: Option<SessionId>,
}

/// The way to an agent: one group of messages at a time.
#[derive(Clone)]
pub(super) enum Route {
    /// A connection of its own.
    Own(Outbox),
    /// The connection of a relay.
    Relayed(Arc<RelayedAgent>),
}

impl Route {
    /// Whether a group can be sent. If not, the decision thread is told when.
    pub fn is_free(&self) -> bool {
        match self {
            Route::Own(outbox) => outbox.is_free(),
            Route::Relayed(agent) => agent.is_free(),
        }
    }

    /// A group that is to be sent. The way must be free.
    pub fn group(&self, bytes: Vec<u8>) -> Group {
        match self {
            Route::Own(outbox) => outbox.begin(),
            Route::Relayed(agent) => agent.begin(),
        }
        (self.clone(), bytes)
    }
}
