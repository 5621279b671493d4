//! Connections that delay what is sent.

use std::collections::VecDeque;

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
