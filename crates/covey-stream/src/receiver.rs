//! One receiver of a coflow: it decides the priority of its sub-coflow (Stream, ICNP, §III).
//!
//! A receiver is a state machine without clock and I/O. In simulation the policy `stream` runs one
//! for each coflow at each ingress link; a client library can run the same object live. It learns
//! only what an [`Input`] holds: its own bytes and flows, and what senders and predecessors tell
//! it. It has no view of the network:
//!
//! ```compile_fail
//! use covey_core::{CoflowId, NonClairvoyant, View};
//! use covey_stream::{Input, Receiver, Rules};
//! fn peek(receiver: &mut Receiver, rules: &Rules, view: &View<'_, NonClairvoyant>, id: CoflowId) {
//!     receiver.take(view.attained(id), rules) // the bytes of all receivers are no input
//! }
//! ```
//!
//! ```
//! use covey_stream::{Equation, Input, Receiver, Rules};
//! let thresholds = vec![10e6, 100e6, 1e9];
//! let rules = Rules { thresholds, equation: Equation::Walk, alpha: 0.0, beta: 1.0, weight: 1.0 };
//! let mut receiver = Receiver::default();
//! receiver.take(Input::Seen { flows: 4 }, &rules);
//! receiver.take(Input::Received { bytes: 45e6 }, &rules);
//! assert_eq!((receiver.priority(), receiver.next_bytes(&rules)), (1, 100e6));
//! ```

use crate::rules::{Condition, Rules};

/// The name of a sub-coflow at all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubCoflow {
    /// Serial number of the registration of Covey's coflow.
    pub coflow: u64,
    /// Its receiver's port.
    pub port: u32,
}

/// What a receiver learns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input {
    /// So many flows of the sub-coflow have been seen so far, those that have ended included.
    Seen {
        /// Number of the flows.
        flows: u32,
    },
    /// A flow of the sub-coflow has ended.
    FlowEnded,
    /// So many bytes of the sub-coflow have come so far in all.
    Received {
        /// The bytes.
        bytes: f64,
    },
    /// A sender, which serves another sub-coflow of the same coflow as well, has relayed how many
    /// bytes that one had received (information relay, §III-C).
    Relayed {
        /// The other sub-coflow.
        peer: SubCoflow,
        /// What it had received in all.
        bytes: f64,
    },
    /// A sub-coflow on which this one depends has completed, and its receiver has told its size
    /// (child-to-parent, §III-C; the paper's child is the predecessor).
    Completed {
        /// The sub-coflow that has completed.
        predecessor: SubCoflow,
        /// Its size in bytes.
        bytes: f64,
    },
}

/// The state of one receiver for one sub-coflow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Receiver {
    id: u32,
    priority: u32,
    bytes: f64,
    flows: u32,
    ended: u32,
    /// What other sub-coflows have received, as far as is known, in the order of their names.
    others: Vec<(SubCoflow, f64)>,
    /// The sum of these bytes.
    others_bytes: f64,
}

impl Receiver {
    /// Begins again with a sub-coflow of which nothing has come, whose id is `id`
    /// ([`sub_coflow_id`](super::sub_coflow_id)). It has the highest priority. Keeps its memory.
    pub fn begin(&mut self, id: u32) {
        self.others.clear();
        let others = std::mem::take(&mut self.others);
        *self = Receiver { id, others, ..Receiver::default() };
    }

    /// Learns, and decides again.
    pub fn take(&mut self, input: Input, rules: &Rules) {
        self.take_all([input], rules);
    }

    /// Learns what is known at one time, and decides again.
    pub fn take_all(&mut self, inputs: impl IntoIterator<Item = Input>, rules: &Rules) {
        let mut is_of_others = false;
        for input in inputs {
            is_of_others |= matches!(input, Input::Relayed { .. } | Input::Completed { .. });
            self.learn(input);
        }
        if is_of_others {
            self.others_bytes = self.others.iter().map(|(_, bytes)| bytes).sum();
        }
        self.priority = rules.priority(self.priority, &self.condition(), self.bytes);
    }

    fn learn(&mut self, input: Input) {
        match input {
            Input::Seen { flows } => self.flows = self.flows.max(flows),
            Input::FlowEnded => self.ended += 1,
            Input::Received { bytes } => self.bytes = self.bytes.max(bytes),
            Input::Relayed { peer, bytes } | Input::Completed { predecessor: peer, bytes } => {
                self.note(peer, bytes);
            }
        }
    }

    fn note(&mut self, other: SubCoflow, bytes: f64) {
        match self.others.binary_search_by_key(&other, |known| known.0) {
            Ok(k) => self.others[k].1 = self.others[k].1.max(bytes),
            Err(k) => self.others.insert(k, (other, bytes)),
        }
    }

    fn condition(&self) -> Condition {
        Condition {
            peers_bytes: self.others_bytes,
            others: self.id.saturating_sub(1).max(self.others.len() as u32),
            flows: self.flows.max(self.ended),
            ended: self.ended,
        }
    }

    /// The id of the sub-coflow (Algorithm 1).
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Number of flows that have ended.
    pub fn ended(&self) -> u32 {
        self.ended
    }

    /// The priority that the receiver has decided, from 0, the highest. It never rises.
    pub fn priority(&self) -> u32 {
        self.priority
    }

    /// Number of other sub-coflows that the receiver has heard of.
    pub fn others(&self) -> usize {
        self.others.len()
    }

    /// What has come so far, in bytes, as far as inputs have told.
    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    /// The number of received bytes at which the priority falls, if the receiver learns nothing
    /// else; infinite in the last queue. It becomes larger as flows end.
    pub fn next_bytes(&self, rules: &Rules) -> f64 {
        rules.next_bytes(self.priority, &self.condition())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Equation;

    fn rules() -> Rules {
        let thresholds = vec![10e6, 100e6, 1000e6];
        Rules { thresholds, equation: Equation::Walk, alpha: 0.0, beta: 1.0, weight: 0.0 }
    }

    fn peer(port: u32) -> SubCoflow {
        SubCoflow { coflow: 0, port }
    }

    fn receiver(inputs: &[Input], rules: &Rules) -> Receiver {
        let mut receiver = Receiver::default();
        receiver.begin(1);
        inputs.iter().for_each(|&input| receiver.take(input, rules));
        receiver
    }

    #[test]
    fn bytes_of_peers_add_up_and_the_latest_of_each_counts() {
        let relayed = |port, bytes| Input::Relayed { peer: peer(port), bytes };
        let inputs = [Input::Received { bytes: 2e6 }, relayed(1, 3e6), relayed(2, 4e6)];
        assert_eq!(receiver(&inputs, &rules()).priority(), 0);
        let later = [&inputs[..], &[relayed(1, 4e6)]].concat();
        assert_eq!(receiver(&later, &rules()).priority(), 1);
        // An older number that comes late changes nothing.
        let late = [&later[..], &[relayed(1, 1e6)]].concat();
        assert_eq!(receiver(&late, &rules()), receiver(&later, &rules()));
    }

    #[test]
    fn a_peer_that_has_completed_is_not_counted_twice() {
        let inputs = [
            Input::Relayed { peer: peer(1), bytes: 6e6 },
            Input::Completed { predecessor: peer(1), bytes: 9e6 },
        ];
        let receiver = receiver(&inputs, &rules());
        assert_eq!((receiver.priority(), receiver.next_bytes(&rules())), (0, 1e6));
    }

    #[test]
    fn sub_coflows_that_are_heard_of_count_for_the_weight_as_those_that_the_id_tells() {
        let rules = Rules { weight: 1.0, ..rules() };
        let relays: Vec<Input> =
            (1..10).map(|port| Input::Relayed { peer: peer(port), bytes: 0.0 }).collect();
        let mut by_id = Receiver::default();
        by_id.begin(10);
        assert_eq!(receiver(&relays, &rules).next_bytes(&rules), by_id.next_bytes(&rules));
        assert_eq!(by_id.next_bytes(&rules), 10e6 / 10.0_f64.ln());
    }

    /// Flows are counted as they are seen; the bytes of all waves count (§III-D).
    #[test]
    fn a_later_wave_goes_on_counting() {
        let rules = Rules { alpha: 0.5, ..rules() };
        let first = [Input::Seen { flows: 2 }, Input::Received { bytes: 9e6 }, Input::FlowEnded];
        let before = receiver(&first, &rules);
        let after = receiver(&[&first[..], &[Input::Seen { flows: 4 }]].concat(), &rules);
        assert_eq!(before.bytes(), after.bytes());
        // A quarter of the flows has ended, and not half of them.
        assert!(after.next_bytes(&rules) < before.next_bytes(&rules));
    }

    /// A coflow of one flow is demoted by its own bytes alone, at the thresholds of PIAS (§III,
    /// Discussion).
    #[test]
    fn a_single_flow_is_treated_as_by_pias() {
        let rules = Rules { weight: 1.0, ..rules() };
        let mut receiver = receiver(&[Input::Seen { flows: 1 }], &rules);
        for (bytes, priority) in [(1.0, 0), (10e6, 1), (99e6, 1), (100e6, 2), (1e9, 3), (1e12, 3)] {
            receiver.take(Input::Received { bytes }, &rules);
            assert_eq!(receiver.priority(), priority, "{bytes} bytes");
        }
    }
}
