//! The sub-coflows that come to this host, each with the state machine that gives it a priority.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use covey_proto::Note;
use covey_stream::{Input, Receiver, Setup, SubCoflow};

use super::ids::{dag_of, sub_id_of};

/// Sub-coflows without open flows that are remembered. Beyond that the oldest are forgotten: their
/// later waves begin anew, and those that depend on them do not learn their sizes.
const REMEMBERED: usize = 4096;

/// Other receivers of which a sub-coflow hears. Notes on more are not taken: whoever sends notes
/// without end must not fill memory.
const MAX_OTHERS: usize = 16_384;

/// Senders are told again what a sub-coflow has had when that has grown by a quarter, and by so
/// many bytes.
const NEWS_BYTES: u64 = 16 << 10;

/// What a receiver tells its senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The priority, from 0, the highest.
    pub priority: u32,
    /// Bytes that the sub-coflow has had in all.
    pub bytes: u64,
}

/// Somebody whom a receiver tells its decisions: a sender, by a connection.
pub trait Sender {
    /// Tells it.
    fn tell(&self, decision: Decision);
}

/// The bytes of a sub-coflow so far. Its flows count here without a lock.
#[derive(Debug, Default)]
pub struct Counter {
    bytes: AtomicU64,
    /// The number of bytes at which the receiver decides again.
    decide_at: AtomicU64,
}

impl Counter {
    /// So many more bytes have come. Returns whether the receiver has to decide.
    pub fn add(&self, bytes: u64) -> bool {
        let sum = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        sum >= self.decide_at.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Sub<S> {
    receiver: Receiver,
    counter: Arc<Counter>,
    seen: u32,
    /// The senders of its open flows, by connection.
    senders: BTreeMap<u64, S>,
    told: Decision,
}

impl<S: Sender> Sub<S> {
    fn bytes(&self) -> u64 {
        self.counter.bytes.load(Ordering::Relaxed)
    }

    /// Learns, decides, and tells all senders what is new.
    fn decide(&mut self, inputs: impl IntoIterator<Item = Input>, setup: &Setup) {
        let bytes = self.bytes();
        let received = Input::Received { bytes: bytes as f64 };
        self.receiver.take_all(inputs.into_iter().chain([received]), &setup.rules);
        let decision = Decision { priority: self.receiver.priority(), bytes };
        let relays_at = match setup.relays {
            true => self.told.bytes + self.told.bytes / 4 + NEWS_BYTES,
            false => u64::MAX,
        };
        if decision.priority != self.told.priority || bytes >= relays_at {
            self.told = decision;
            self.senders.values().for_each(|sender| sender.tell(decision));
        }
        let next = self.receiver.next_bytes(&setup.rules).ceil();
        // An infinite number becomes the greatest.
        let relays_at = relays_at.max(self.told.bytes.saturating_add(NEWS_BYTES));
        self.counter.decide_at.store((next as u64).min(relays_at), Ordering::Relaxed);
    }
}

/// All sub-coflows that come to this host, by coflow.
#[derive(Debug)]
pub struct Receiving<S> {
    setup: Setup,
    subs: BTreeMap<u64, Sub<S>>,
    /// Those that have been without open flows, oldest first.
    idle: VecDeque<u64>,
}

impl<S: Sender> Receiving<S> {
    /// Nothing comes yet.
    pub fn new(setup: Setup) -> Receiving<S> {
        Receiving { setup, subs: BTreeMap::new(), idle: VecDeque::new() }
    }

    /// A flow begins on a connection. Returns where its bytes are counted.
    pub fn begin(&mut self, coflow: u64, connection: u64, sender: S) -> Arc<Counter> {
        let sub = self.subs.entry(coflow).or_insert_with(|| {
            let mut receiver = Receiver::default();
            receiver.begin(sub_id_of(coflow));
            let told = Decision { priority: 0, bytes: 0 };
            let (counter, senders) = (Arc::default(), BTreeMap::new());
            Sub { receiver, counter, seen: 0, senders, told }
        });
        sub.seen += 1;
        if sub.told != (Decision { priority: 0, bytes: 0 }) {
            sender.tell(sub.told);
        }
        sub.senders.insert(connection, sender);
        sub.decide([Input::Seen { flows: sub.seen }], &self.setup);
        sub.counter.clone()
    }

    /// The counter of a coflow says that it is time to decide.
    pub fn decide(&mut self, coflow: u64) {
        if let Some(sub) = self.subs.get_mut(&coflow) {
            sub.decide([], &self.setup);
        }
    }

    /// A sender of a coflow tells of other receivers. This one's name is `own`.
    pub fn hear(&mut self, coflow: u64, own: u32, notes: impl Iterator<Item = Note>) {
        let others = notes.filter(|note| (note.coflow, note.receiver) != (coflow, own));
        let inputs = others.filter(|note| dag_of(note.coflow) == dag_of(coflow)).map(|note| {
            let other = SubCoflow { coflow: note.coflow, port: note.receiver };
            let bytes = note.bytes as f64;
            match note.is_complete {
                true => Input::Completed { predecessor: other, bytes },
                false => Input::Relayed { peer: other, bytes },
            }
        });
        if let Some(sub) = self.subs.get_mut(&coflow) {
            let room = MAX_OTHERS.saturating_sub(sub.receiver.others());
            sub.decide(inputs.take(room), &self.setup);
        }
    }

    /// A flow is over; `came` if all of its bytes have come. Returns its sender.
    pub fn end(&mut self, coflow: u64, connection: u64, came: bool) -> Option<S> {
        let sub = self.subs.get_mut(&coflow)?;
        let sender = sub.senders.remove(&connection)?;
        sub.decide(came.then_some(Input::FlowEnded), &self.setup);
        if sub.senders.is_empty() {
            self.idle.push_back(coflow);
            if self.idle.len() > REMEMBERED
                && let Some(oldest) = self.idle.pop_front()
                && self.subs.get(&oldest).is_some_and(|sub| sub.senders.is_empty())
                && !self.idle.contains(&oldest)
            {
                self.subs.remove(&oldest);
            }
        }
        Some(sender)
    }

    /// The coflows that have come here, that belong to the DAG of this one, and that come before it
    /// there; with their bytes.
    pub fn predecessors(&self, coflow: u64) -> Vec<(u64, u64)> {
        let before = self.subs.iter().filter(|(other, sub)| {
            let is_before =
                dag_of(**other) == dag_of(coflow) && sub_id_of(**other) < sub_id_of(coflow);
            is_before && sub.senders.is_empty()
        });
        before.map(|(other, sub)| (*other, sub.bytes())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use covey_sched::stream::settings;
    use covey_stream::Proposal;

    use super::super::ids::new_id;
    use super::*;

    /// What a sender was told.
    #[derive(Debug, Clone, Default)]
    struct Heard(Rc<RefCell<Vec<Decision>>>);

    impl Sender for Heard {
        fn tell(&self, decision: Decision) {
            self.0.borrow_mut().push(decision);
        }
    }

    impl Heard {
        fn priority(&self) -> u32 {
            self.0.borrow().last().map_or(0, |decision| decision.priority)
        }
    }

    fn receiving(given: &str) -> Receiving<Heard> {
        Receiving::new(settings(given).expect("settings"))
    }

    #[test]
    fn all_senders_hear_that_a_sub_coflow_has_left_a_queue() {
        let mut receiving = receiving("q1=1MB,alpha=0,relay=false");
        let coflow = new_id(&[], Proposal::Next, 7);
        let senders = [Heard::default(), Heard::default()];
        let counters = [0, 1].map(|k| receiving.begin(coflow, k as u64, senders[k].clone()));
        assert!(!counters[0].add(600_000));
        assert!(counters[1].add(400_000), "a megabyte in all");
        receiving.decide(coflow);
        assert_eq!(senders.each_ref().map(Heard::priority), [1, 1]);
        // A later wave hears of it at once.
        let late = Heard::default();
        receiving.begin(coflow, 2, late.clone());
        assert_eq!(late.priority(), 1);
        // Without relays nobody hears of bytes alone.
        assert!(!counters[0].add(1_000_000));
        assert_eq!(senders[0].0.borrow().len(), 1);
    }

    #[test]
    fn what_others_have_had_counts_and_a_receiver_does_not_hear_of_itself() {
        let mut receiving = receiving("q1=1MB,alpha=0,wp=false");
        let coflow = new_id(&[], Proposal::Next, 7);
        let sender = Heard::default();
        let counter = receiving.begin(coflow, 0, sender.clone());
        counter.add(500_000);
        let note = Note { is_complete: false, coflow, receiver: 5, bytes: 600_000 };
        receiving.hear(coflow, 5, [note].into_iter());
        assert_eq!(sender.priority(), 0, "its own name");
        let foreign = Note { coflow: new_id(&[], Proposal::Next, 99 << 32), ..note };
        receiving.hear(coflow, 6, [foreign].into_iter());
        assert_eq!(sender.priority(), 0, "another DAG");
        receiving.hear(coflow, 6, [note].into_iter());
        assert_eq!(sender.priority(), 1);
    }

    #[test]
    fn notes_without_end_do_not_fill_memory() {
        let mut receiving = receiving("");
        let coflow = new_id(&[], Proposal::Next, 7);
        receiving.begin(coflow, 0, Heard::default());
        for first in (0..3 * MAX_OTHERS as u32).step_by(1000) {
            let note =
                |receiver| Note { is_complete: false, coflow, receiver, bytes: receiver.into() };
            receiving.hear(coflow, u32::MAX, (first..first + 1000).map(note));
        }
        assert!(receiving.subs[&coflow].receiver.others() <= MAX_OTHERS);
    }

    #[test]
    fn a_host_tells_successors_what_it_has_had_and_forgets_in_time() {
        let mut receiving = receiving("");
        let first = new_id(&[], Proposal::Next, 7);
        let second = new_id(&[first], Proposal::Next, 8);
        receiving.begin(first, 0, Heard::default()).add(123);
        assert_eq!(receiving.predecessors(second), []);
        receiving.end(first, 0, true);
        assert_eq!(receiving.predecessors(second), [(first, 123)]);
        assert_eq!(receiving.predecessors(first), []);
        for k in 0..2 * REMEMBERED as u64 {
            let coflow = new_id(&[], Proposal::Next, k << 32);
            receiving.begin(coflow, 1, Heard::default());
            receiving.end(coflow, 1, true);
        }
        assert!(receiving.subs.len() <= REMEMBERED);
    }
}
