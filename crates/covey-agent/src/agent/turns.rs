//! Which flow is next, between two schedules.
//!
//! The coordinator says when coflows have their turn. When a flow ends, the next flow that is open
//! here, waits, and goes to the same receiver has its rate: so much is reserved at the receiver
//! until a schedule decides anew.

use std::collections::{BTreeMap, BTreeSet};

use covey_proto::{CoflowTurn, FlowKey, FlowName};

/// The flows that are open here, and the turns of their coflows.
#[derive(Debug, Default)]
pub struct Turns {
    /// The receiver of each open flow, if what the application has opened is what is registered.
    receivers: BTreeMap<FlowName, u32>,
    /// The same flows by receiver.
    by_receiver: BTreeSet<(u32, FlowName)>,
    turns: BTreeMap<u64, CoflowTurn>,
}

impl Turns {
    /// A flow is open here and goes to a port.
    pub fn opened(&mut self, key: FlowName, receiver: u32) {
        self.closed(key);
        self.receivers.insert(key, receiver);
        self.by_receiver.insert((receiver, key));
    }

    /// A flow is not open here any more, or needs nothing more.
    pub fn closed(&mut self, key: FlowName) {
        if let Some(receiver) = self.receivers.remove(&key) {
            self.by_receiver.remove(&(receiver, key));
        }
    }

    /// A flow has changed its coflow.
    pub fn rename(&mut self, from: FlowName, to: FlowName) {
        if let Some(&receiver) = self.receivers.get(&from) {
            self.closed(from);
            self.opened(to, receiver);
        }
    }

    /// A session has begun: the coordinator says again when coflows have their turns, if it does.
    pub fn welcomed(&mut self) {
        self.turns.clear();
    }

    /// The coordinator has said when a coflow has its turn.
    pub fn said(&mut self, turn: CoflowTurn) {
        self.turns.insert(turn.coflow, turn);
    }

    /// A flow has sent so many bytes more, on the wire.
    pub fn sent(&mut self, name: FlowName, wire: f64) {
        if let Some(turn) = name.coflow().and_then(|coflow| self.turns.get_mut(&coflow)) {
            turn.left -= wire;
        }
    }

    /// Forgets the turns of coflows that have no flow open here.
    pub fn forget_closed(&mut self) {
        let open: BTreeSet<u64> = self.receivers.keys().filter_map(|name| name.coflow()).collect();
        self.turns.retain(|coflow, _| open.contains(coflow));
    }

    /// The flow that is next when `ended` needs nothing more, of those for which `waits` holds.
    pub fn next(&self, ended: FlowName, waits: impl Fn(FlowName) -> bool) -> Option<FlowName> {
        let receiver = *self.receivers.get(&ended)?;
        let first = (receiver, FlowName::Key(FlowKey { coflow: 0, flow: 0 }));
        let there = self.by_receiver.range(first..).take_while(|(port, _)| *port == receiver);
        let waiting = there.map(|(_, key)| *key).filter(|key| *key != ended && waits(*key));
        let turns = waiting.filter_map(|key| {
            let turn = self.turns.get(&key.coflow()?)?;
            let is_behind = turn.left <= 0.0;
            let layer = turn.layer.saturating_add(u32::from(is_behind));
            Some(((layer, turn.dag, turn.depth, key), key))
        });
        turns.min_by_key(|(order, _)| *order).map(|(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(coflow: u64, flow: u32) -> FlowName {
        FlowName::Key(FlowKey { coflow, flow })
    }

    fn turn(coflow: u64, layer: u32, dag: u64, depth: u32, left: f64) -> CoflowTurn {
        CoflowTurn { coflow, layer, dag, depth, left }
    }

    #[test]
    fn the_next_flow_goes_to_the_same_receiver_and_is_first_in_turn() {
        let mut turns = Turns::default();
        turns.opened(key(1, 0), 7);
        for (coflow, receiver) in [(2, 8), (3, 7), (4, 7), (5, 7), (6, 7)] {
            turns.opened(key(coflow, 0), receiver);
        }
        let next = |turns: &Turns| turns.next(key(1, 0), |_| true);
        // Of none of them is known when it has its turn.
        assert_eq!(next(&turns), None);
        for it in [
            turn(2, 0, 2, 0, f64::INFINITY),
            turn(3, 1, 3, 0, f64::INFINITY),
            turn(4, 0, 4, 1, 100.0),
            turn(5, 0, 4, 0, 100.0),
        ] {
            turns.said(it);
        }
        // Another receiver; a lower layer; a later depth; the next.
        assert_eq!(next(&turns), Some(key(5, 0)));
        assert_eq!(turns.next(key(1, 0), |it| it.coflow() != Some(5)), Some(key(4, 0)));
        // A coflow that has sent what was left is behind its layer.
        turns.sent(key(5, 0), 99.0);
        assert_eq!(next(&turns), Some(key(5, 0)));
        turns.sent(key(5, 0), 1.0);
        assert_eq!(next(&turns), Some(key(4, 0)));
        turns.closed(key(4, 0));
        // Both are in the second layer now: the earlier DAG is first.
        assert_eq!(next(&turns), Some(key(3, 0)));
        turns.closed(key(3, 0));
        assert_eq!(next(&turns), Some(key(5, 0)));
        turns.forget_closed();
        assert_eq!(turns.turns.keys().collect::<Vec<_>>(), [&2, &5]);
    }
}
