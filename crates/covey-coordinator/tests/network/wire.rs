//! Connections that delay what is sent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use covey_coordinator::SessionId;
use covey_proto::{Decoder, Message, encode};

/// A direction of a connection: bytes with the times at which they arrive, in order.
#[derive(Default)]
pub struct Wire {
    pub under_way: VecDeque<(f64, Vec<u8>)>,
    pub decoder: Decoder,
}

impl Wire {
    pub fn send(&mut self, message: &impl Message, arrives_s: f64) {
        let arrives_s = self.under_way.back().map_or(arrives_s, |(last, _)| arrives_s.max(*last));
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        self.under_way.push_back((arrives_s, bytes));
    }

    pub fn receive<M: Message>(&mut self, now_s: f64) -> Option<M> {
        while let Some((_, bytes)) = self.under_way.pop_front_if(|(at, _)| *at <= now_s) {
            self.decoder.push(&bytes);
        }
        self.decoder.take().expect("what was encoded")
    }
}

pub struct Connection {
    pub host: usize,
    pub up: Wire,
    pub down: Wire,
    /// Whether the coordinator has closed it: what is under way still arrives.
    pub closed: bool,
}

/// The connections of agents to the coordinator.
#[derive(Default)]
pub struct Sessions {
    pub connections: BTreeMap<SessionId, Connection>,
    /// Sessions for which the coordinator has messages.
    pub ready: BTreeSet<SessionId>,
    opened: SessionId,
}

impl Sessions {
    /// Opens a connection of a host.
    pub fn open(&mut self, host: usize) -> SessionId {
        self.opened += 1;
        let (up, down) = (Wire::default(), Wire::default());
        self.connections.insert(self.opened, Connection { host, up, down, closed: false });
        self.opened
    }

    /// The coordinator has crashed: all connections are gone.
    pub fn crash(&mut self) {
        self.ready.clear();
        self.connections.clear();
    }
}
