//! What this host knows of the receivers of its flows, and tells the others (information relay and
//! child-to-parent, Stream, ICNP, §III-C).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use covey_proto::Note;
use covey_stream::SubCoflow;

use super::ids::dag_of;
use super::receiving::Decision;

/// Maximum number of notes ahead of a chunk.
const NOTES_AT_A_TIME: usize = 32;

/// A receiver of flows of this host.
#[derive(Debug, Clone, Copy)]
struct Known {
    bytes: u64,
    is_complete: bool,
    /// The number of the news that tells it.
    news: u64,
}

/// A flow that this host sends.
#[derive(Debug)]
struct Line {
    /// Its receiver, as soon as that has said its name.
    receiver: Option<SubCoflow>,
    priority: u32,
    /// The latest news that it has been told.
    told: u64,
    /// Whether there may be more.
    has_news: Arc<AtomicBool>,
}

/// The flows of one DAG.
#[derive(Debug, Default)]
struct Dag {
    known: BTreeMap<SubCoflow, Known>,
    lines: BTreeMap<u64, Line>,
    /// The number of the latest news.
    news: u64,
}

impl Dag {
    /// Notes what a receiver has had, if that is news for others: it has grown by a quarter.
    fn learn(&mut self, receiver: SubCoflow, bytes: u64, is_complete: bool, last_priority: u32) {
        let before = self.known.get(&receiver);
        let is_news = before.is_none_or(|known| {
            bytes > known.bytes + known.bytes / 4 || is_complete && !known.is_complete
        });
        if !is_news || bytes == 0 {
            return;
        }
        self.news += 1;
        self.known.insert(receiver, Known { bytes, is_complete, news: self.news });
        let others = self.lines.values().filter(|line| line.receiver != Some(receiver));
        // A receiver in the last queue needs no news.
        let listens = others.filter(|line| line.priority < last_priority);
        listens.for_each(|line| line.has_news.store(true, Ordering::Relaxed));
    }
}

/// All flows that this host sends, by DAG.
#[derive(Debug)]
pub struct Sending {
    dags: BTreeMap<u32, Dag>,
    last_priority: u32,
    relays: bool,
}

impl Sending {
    /// Nothing is sent yet. Switches have `queues` queues; `relays` says whether receivers hear of
    /// each other.
    pub fn new(queues: u32, relays: bool) -> Sending {
        Sending { dags: BTreeMap::new(), last_priority: queues - 1, relays }
    }

    /// A flow begins on a connection. Returns whether there may be notes for it, now and later.
    /// `predecessors` have been received here, by the name `own`.
    pub fn begin(
        &mut self,
        coflow: u64,
        connection: u64,
        own: u32,
        predecessors: &[(u64, u64)],
    ) -> Arc<AtomicBool> {
        let dag = self.dags.entry(dag_of(coflow)).or_default();
        for &(coflow, bytes) in predecessors {
            dag.learn(SubCoflow { coflow, port: own }, bytes, true, self.last_priority);
        }
        let has_news = Arc::new(AtomicBool::new(dag.news > 0));
        let line = Line { receiver: None, priority: 0, told: 0, has_news: has_news.clone() };
        dag.lines.insert(connection, line);
        has_news
    }

    /// The receiver of a flow, which calls itself `name`, has told what it has decided.
    pub fn hear(&mut self, coflow: u64, connection: u64, name: u32, decision: Decision) {
        let Some(dag) = self.dags.get_mut(&dag_of(coflow)) else { return };
        let receiver = SubCoflow { coflow, port: name };
        if let Some(line) = dag.lines.get_mut(&connection) {
            (line.receiver, line.priority) = (Some(receiver), decision.priority);
        }
        if self.relays {
            dag.learn(receiver, decision.bytes, false, self.last_priority);
        }
    }

    /// What the receiver of a flow has not been told: some of it, the oldest first.
    pub fn notes(&mut self, coflow: u64, connection: u64) -> Vec<Note> {
        let Some(dag) = self.dags.get_mut(&dag_of(coflow)) else { return Vec::new() };
        let Some(line) = dag.lines.get_mut(&connection) else { return Vec::new() };
        line.has_news.store(false, Ordering::Relaxed);
        let is_new = |known: &Known| known.news > line.told;
        let mut news: Vec<(u64, Note)> = (dag.known.iter())
            .filter(|(of, known)| is_new(known) && Some(**of) != line.receiver)
            .map(|(of, known)| {
                let Known { bytes, is_complete, news } = *known;
                let SubCoflow { coflow, port: receiver } = *of;
                (news, Note { is_complete, coflow, receiver, bytes })
            })
            .collect();
        news.sort_unstable_by_key(|(news, _)| *news);
        line.told = dag.news;
        if news.len() > NOTES_AT_A_TIME {
            news.truncate(NOTES_AT_A_TIME);
            line.told = news[NOTES_AT_A_TIME - 1].0;
            line.has_news.store(true, Ordering::Relaxed);
        }
        news.into_iter().map(|(_, note)| note).collect()
    }

    /// A flow is over.
    pub fn end(&mut self, coflow: u64, connection: u64) {
        let number = dag_of(coflow);
        if let Some(dag) = self.dags.get_mut(&number) {
            dag.lines.remove(&connection);
            if dag.lines.is_empty() {
                self.dags.remove(&number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use covey_stream::Proposal;

    use super::super::ids::new_id;
    use super::*;

    const fn decision(priority: u32, bytes: u64) -> Decision {
        Decision { priority, bytes }
    }

    #[test]
    fn receivers_hear_of_each_other_and_not_of_themselves() {
        let coflow = new_id(&[], Proposal::Next, 7);
        let mut sending = Sending::new(4, true);
        let news = [0, 1].map(|connection| sending.begin(coflow, connection, 9, &[]));
        sending.hear(coflow, 0, 100, decision(0, 1_000));
        assert!(!news[0].load(Ordering::Relaxed) && news[1].load(Ordering::Relaxed));
        let note = Note { is_complete: false, coflow, receiver: 100, bytes: 1_000 };
        assert_eq!(sending.notes(coflow, 1), [note]);
        assert_eq!(sending.notes(coflow, 1), []);
        assert_eq!(sending.notes(coflow, 0), []);
        // Less than a quarter more is no news.
        sending.hear(coflow, 0, 100, decision(0, 1_200));
        assert!(!news[1].load(Ordering::Relaxed));
        // A receiver in the last queue needs none.
        sending.hear(coflow, 1, 101, decision(3, 0));
        sending.hear(coflow, 0, 100, decision(0, 9_000));
        assert!(!news[1].load(Ordering::Relaxed));
    }

    #[test]
    fn successors_hear_of_predecessors_and_many_notes_go_in_parts() {
        let first = new_id(&[], Proposal::Next, 7);
        let second = new_id(&[first], Proposal::Next, 8);
        let mut sending = Sending::new(4, false);
        let news = sending.begin(second, 0, 9, &[(first, 55)]);
        assert!(news.load(Ordering::Relaxed));
        let note = Note { is_complete: true, coflow: first, receiver: 9, bytes: 55 };
        assert_eq!(sending.notes(second, 0), [note]);

        let mut sending = Sending::new(4, true);
        sending.begin(first, 1000, 9, &[]);
        for connection in 0..100 {
            sending.begin(first, connection, 9, &[]);
            sending.hear(first, connection, connection as u32, decision(0, 1_000));
        }
        let mut heard = Vec::new();
        loop {
            let notes = sending.notes(first, 1000);
            if notes.is_empty() {
                break;
            }
            assert!(notes.len() <= NOTES_AT_A_TIME);
            heard.extend(notes.iter().map(|note| note.receiver));
        }
        assert_eq!(heard, (0..100).collect::<Vec<u32>>());
        (0..=1000).for_each(|connection| sending.end(first, connection));
        assert!(sending.dags.is_empty());
    }
}
