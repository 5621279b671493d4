//! What waits for the journal.

use std::collections::BTreeMap;

use covey_api::Problem;
use covey_proto::FlowName;

use super::coflows::OwnKey;
use super::effects::{Effects, Lsn, RequestId};
use super::held::{Held, Holdings};
use crate::record::{Digest, Record};

/// What happens when a record is on disk.
#[derive(Debug)]
pub(super) enum Pending {
    /// Apply it, and answer these requests. It is a change of these coflows.
    Apply(Record, Vec<RequestId>, Vec<u64>, Option<More>),
    /// The record has had its effect. Acknowledge the ends of flows to the agent of a port.
    Acknowledge(Record, u32, Vec<FlowName>),
}

/// What a token has more of when a record has been applied.
pub(super) type More = (String, Held);

/// What waits for the journal, by the numbers of its records. Of each registration that waits its
/// key is known, so that a second request with the key waits for the same record.
#[derive(Debug)]
pub(super) struct JournalQueue {
    pending: BTreeMap<Lsn, Pending>,
    /// Registrations that wait, by key: the digest of the request, and the record.
    keys: BTreeMap<OwnKey, (Digest, Lsn)>,
    /// Registrations among `pending`.
    registering: usize,
    /// What tokens will have more of.
    under_way: Holdings,
    next_lsn: Lsn,
    /// Records that have had their effect and could not be written.
    unwritten: Vec<(Record, u32, Vec<FlowName>)>,
}

impl Default for JournalQueue {
    fn default() -> JournalQueue {
        JournalQueue {
            pending: BTreeMap::new(),
            keys: BTreeMap::new(),
            registering: 0,
            under_way: Holdings::default(),
            next_lsn: 1,
            unwritten: Vec::new(),
        }
    }
}

impl JournalQueue {
    /// The queue of the next start, in which nothing waits but what could not be written so far:
    /// numbers go on.
    pub fn next_start(&self) -> JournalQueue {
        let (next_lsn, unwritten) = (self.next_lsn, self.unwritten.clone());
        JournalQueue { next_lsn, unwritten, ..JournalQueue::default() }
    }

    /// Changes that wait.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// What a token will have more of.
    pub fn under_way(&self, token: &str) -> Held {
        self.under_way.of(token)
    }

    /// Registrations that wait.
    pub fn registering(&self) -> usize {
        self.registering
    }

    fn write(&mut self, record: &Record, effects: &mut Effects) -> Lsn {
        let lsn = self.next_lsn;
        self.next_lsn += 1;
        effects.journal(lsn, record.clone());
        lsn
    }

    /// Has a record applied when it is on disk, and a request answered if there is one. It is a
    /// change of these `coflows`.
    pub fn apply(
        &mut self,
        record: Record,
        request: Option<RequestId>,
        coflows: Vec<u64>,
        more: Option<More>,
        effects: &mut Effects,
    ) {
        let lsn = self.write(&record, effects);
        if let Record::Registered { key, owner, .. } = &record {
            self.registering += 1;
            if let Some(key) = key {
                self.keys.insert(OwnKey::of(owner, key), (key.digest.clone(), lsn));
            }
        }
        if let Some((token, more)) = &more {
            self.under_way.add(token, *more);
        }
        let requests = request.into_iter().collect();
        self.pending.insert(lsn, Pending::Apply(record, requests, coflows, more));
    }

    /// Has a record written that has had its effect, and ends of flows acknowledged when it is on
    /// disk.
    pub fn acknowledge(
        &mut self,
        record: Record,
        port: u32,
        keys: Vec<FlowName>,
        effects: &mut Effects,
    ) {
        let lsn = self.write(&record, effects);
        self.pending.insert(lsn, Pending::Acknowledge(record, port, keys));
    }

    /// Has ends acknowledged that were known before: after all that waits, for they may be in it.
    /// Returns them if nothing waits.
    pub fn acknowledge_in_order(
        &mut self,
        nothing: Record,
        port: u32,
        keys: Vec<FlowName>,
        effects: &mut Effects,
    ) -> Option<Vec<FlowName>> {
        if !self.unwritten.is_empty() {
            self.unwritten.push((nothing, port, keys));
            return None;
        }
        match self.pending.values_mut().next_back() {
            None => return Some(keys),
            Some(Pending::Acknowledge(_, same, more)) if *same == port => more.extend(keys),
            Some(_) => self.acknowledge(nothing, port, keys, effects),
        }
        None
    }

    /// Has a second request with the key of a registration that waits answered with the first.
    /// Returns whether it is the same request.
    pub fn join(&mut self, key: &OwnKey, with: &Digest, request: RequestId) -> Option<bool> {
        let (digest, lsn) = self.keys.get(key)?;
        let is_same = digest.is_same(with);
        if is_same && let Some(Pending::Apply(_, requests, ..)) = self.pending.get_mut(lsn) {
            requests.push(request);
        }
        Some(is_same)
    }

    /// All records up to this one are on disk. Returns the number of the first of them, and what
    /// has waited for it.
    pub fn take_durable(&mut self, last: Lsn) -> Option<(Lsn, Pending)> {
        let first = self.pending.first_entry().filter(|first| *first.key() <= last)?;
        let (lsn, first) = first.remove_entry();
        self.leave(&first);
        Some((lsn, first))
    }

    /// The records from `first` to `last` are not in the journal. Records that have had their
    /// effect are kept, to be written later; the requests that asked for the others are refused.
    /// Returns the coflows of the changes among them.
    pub fn refuse(&mut self, first: Lsn, last: Lsn, why: &str, effects: &mut Effects) -> Vec<u64> {
        let mut changes = Vec::new();
        let mut these = self.pending.split_off(&first);
        let mut later = these.split_off(&(last + 1));
        self.pending.append(&mut later);
        for pending in these.into_values() {
            self.leave(&pending);
            match pending {
                Pending::Apply(_, requests, coflows, _) => {
                    changes.extend(coflows);
                    for request in requests {
                        let detail = format!("the journal cannot be written: {why}");
                        effects.answer(request, Err(Problem::new(503, "not durable", detail)));
                    }
                }
                Pending::Acknowledge(record, port, keys) => {
                    self.unwritten.push((record, port, keys));
                }
            }
        }
        changes
    }

    fn leave(&mut self, pending: &Pending) {
        if let Pending::Apply(.., Some((token, more))) = pending {
            self.under_way.remove(token, *more);
        }
        if let Pending::Apply(Record::Registered { key, owner, .. }, ..) = pending {
            self.registering -= 1;
            if let Some(key) = key {
                self.keys.remove(&OwnKey::of(owner, key));
            }
        }
    }

    /// Tries again to write what could not be written.
    pub fn retry(&mut self, effects: &mut Effects) {
        for (record, port, keys) in std::mem::take(&mut self.unwritten) {
            self.acknowledge(record, port, keys, effects);
        }
    }

    /// Records that will have their effect when they are on disk.
    pub fn without_effect(&self) -> Vec<(Lsn, Record)> {
        let waits = self.pending.iter().filter_map(|(&lsn, pending)| match pending {
            Pending::Apply(record, ..) => Some((lsn, record.clone())),
            Pending::Acknowledge(..) => None,
        });
        waits.collect()
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn entries(&self) -> usize {
        self.pending.len() + self.under_way.len() + self.keys.len() + self.unwritten.len()
    }
}
