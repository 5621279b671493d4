//! What coflows did in the last minutes, as looks at them have seen it.
//!
//! What is seen at one look is taken to hold until the next one. Arrivals and ends of coflows are
//! those that the coordinator knows. Memory is bounded: beside what coflows that are present do now
//! there are so many pieces at most, and when there are more, the time that is remembered gets
//! shorter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use covey_api::{Did, RecordedCoflow, Recording, Sent};

use crate::record::Summary;
use crate::state::{Look, Seen};

/// What is older is forgotten, in seconds.
const KEPT_S: f64 = 300.0;

/// The most pieces of what coflows have done and sent, about 20 MB.
const MAX_PIECES: usize = 200_000;

/// A page has no further coflow when it has so many pieces.
const PAGE_PIECES: usize = 20_000;

/// The most senders of coflows that a look remembers.
const MAX_SENDERS: usize = 20_000;

/// What coflows did in the last minutes.
#[derive(Debug, Default)]
pub struct Recorder {
    now_s: f64,
    from_s: f64,
    every_s: f64,
    /// The senders that a look has left out, the last one that did, and when that was.
    left_out: (usize, f64),
    /// Numbers from this one on have not been seen.
    next_id: u64,
    coflows: BTreeMap<u64, Kept>,
    max_pieces: usize,
}

/// What one of them did.
#[derive(Debug)]
struct Kept {
    name: Option<String>,
    tenant: Option<String>,
    parents: Vec<u64>,
    arrival_s: f64,
    end_s: Option<f64>,
    did: VecDeque<Did>,
    /// By sender.
    sends: BTreeMap<u32, Sent>,
    sent: VecDeque<Sent>,
}

impl Recorder {
    /// A recorder that begins with what this look sees.
    pub fn new(look: &Look) -> Recorder {
        Recorder::bounded(look, MAX_PIECES)
    }

    /// A recorder that remembers so many pieces at most.
    pub(crate) fn bounded(look: &Look, max_pieces: usize) -> Recorder {
        let mut recorder = Recorder {
            now_s: look.at_s(),
            from_s: look.at_s(),
            next_id: look.next_id(),
            max_pieces,
            ..Recorder::default()
        };
        recorder.add(look, look.present().collect());
        recorder
    }

    /// Adds what a later look sees, and has seen of those that are present.
    pub fn add(&mut self, look: &Look, present: Vec<Seen<'_>>) {
        self.every_s = look.at_s() - self.now_s;
        self.now_s = look.at_s();
        let (mut senders, mut left_out) = (0, 0);
        let there = self.coflows.iter().filter(|(_, kept)| kept.end_s.is_none());
        let mut gone: BTreeSet<u64> = there.map(|(id, _)| *id).collect();
        for mut seen in present {
            gone.remove(&seen.id);
            if senders + seen.sends.len() > MAX_SENDERS {
                left_out += seen.sends.len();
                seen.sends.clear();
            }
            senders += seen.sends.len();
            self.see(seen);
        }
        if left_out > 0 {
            self.left_out = (left_out, self.now_s);
        }
        for id in gone {
            let end_s = look.gone(id).map_or(self.now_s, |summary| summary.end_s);
            if let Some(kept) = self.coflows.get_mut(&id) {
                kept.end(end_s);
            }
        }
        for summary in look.gone_of(self.next_id..look.next_id()) {
            self.coflows.entry(summary.id).or_insert_with(|| Kept::unseen(summary));
        }
        self.next_id = look.next_id();
        self.forget();
    }

    fn see(&mut self, seen: Seen<'_>) {
        let now_s = self.now_s;
        let kept = self.coflows.entry(seen.id).or_insert_with(|| Kept::new(&seen));
        // Until now it did what it was last seen to do.
        if let Some(last) = kept.did.back_mut() {
            last.until_s = now_s;
        }
        if kept.did.back().is_none_or(|last| last.doing != seen.doing) {
            kept.did.push_back(Did { from_s: now_s, until_s: now_s, doing: seen.doing });
        }
        kept.sends.values_mut().for_each(|sent| sent.until_s = now_s);
        let sends = seen.sends;
        let goes_on = |port: &u32, sent: &mut Sent| sends.get(port) == Some(&sent.rate);
        let ended = kept.sends.extract_if(.., |port, sent| !goes_on(port, sent));
        kept.sent.extend(ended.map(|(_, sent)| sent));
        for (port, rate) in sends {
            let begun = Sent { from_s: now_s, until_s: now_s, port, rate };
            kept.sends.entry(port).or_insert(begun);
        }
    }

    /// Forgets what is too old, or too much.
    fn forget(&mut self) {
        let mut from_s = self.from_s.max(self.now_s - KEPT_S);
        loop {
            self.forget_before(from_s);
            let left_s = self.now_s - from_s;
            let pieces: usize = self.coflows.values().map(Kept::pieces).sum();
            if pieces <= self.max_pieces || left_s <= 0.0 {
                return;
            }
            from_s = if left_s > 1.0 { from_s + left_s / 4.0 } else { self.now_s };
        }
    }

    fn forget_before(&mut self, from_s: f64) {
        self.from_s = from_s;
        self.coflows.values_mut().for_each(|kept| kept.forget_before(from_s));
        self.coflows.retain(|_, kept| kept.end_s.is_none_or(|end_s| end_s >= from_s));
    }

    /// A page: so many coflows with numbers up to `last` at most, the latest first; with what they
    /// sent, if that is wanted.
    pub fn page(&self, last: u64, limit: usize, with_sent: bool) -> Recording {
        let (mut items, mut pieces, mut next) = (Vec::new(), 0, None);
        for (id, kept) in self.coflows.range(..=last).rev() {
            if items.len() == limit || pieces >= PAGE_PIECES {
                next = Some(id.to_string());
                break;
            }
            let recorded = kept.recorded(*id, with_sent);
            pieces += recorded.did.len() + recorded.sent.len();
            items.push(recorded);
        }
        let (left_out, left_out_s) = self.left_out;
        Recording {
            now_s: self.now_s,
            from_s: self.from_s,
            every_s: self.every_s,
            left_out: if left_out_s >= self.from_s { left_out } else { 0 },
            items,
            next,
        }
    }
}

impl Kept {
    fn new(seen: &Seen<'_>) -> Kept {
        Kept {
            name: seen.name.map(str::to_owned),
            tenant: seen.tenant.map(str::to_owned),
            parents: seen.parents.to_vec(),
            arrival_s: seen.arrival_s,
            end_s: None,
            did: VecDeque::new(),
            sends: BTreeMap::new(),
            sent: VecDeque::new(),
        }
    }

    /// A coflow that came and went between two looks.
    fn unseen(summary: &Summary) -> Kept {
        Kept {
            name: summary.name.clone(),
            tenant: summary.owner.as_ref().map(|owner| owner.tenant.clone()),
            parents: Vec::new(),
            arrival_s: summary.arrival_s,
            end_s: Some(summary.end_s),
            did: VecDeque::new(),
            sends: BTreeMap::new(),
            sent: VecDeque::new(),
        }
    }

    fn end(&mut self, end_s: f64) {
        self.end_s = Some(end_s);
        if let Some(last) = self.did.back_mut() {
            last.until_s = end_s.max(last.from_s);
        }
        for (_, mut sent) in std::mem::take(&mut self.sends) {
            sent.until_s = end_s.max(sent.from_s);
            self.sent.push_back(sent);
        }
    }

    /// The pieces of what it has done, beside what it does now.
    fn pieces(&self) -> usize {
        let is_now = usize::from(self.end_s.is_none());
        1 - is_now + self.did.len().saturating_sub(is_now) + self.sent.len()
    }

    fn forget_before(&mut self, from_s: f64) {
        let is_open = self.end_s.is_none();
        while self.did.front().is_some_and(|did| did.until_s < from_s)
            && (self.did.len() > 1 || !is_open)
        {
            self.did.pop_front();
        }
        while self.sent.front().is_some_and(|sent| sent.until_s < from_s) {
            self.sent.pop_front();
        }
    }

    fn recorded(&self, id: u64, with_sent: bool) -> RecordedCoflow {
        let sent = self.sent.iter().chain(self.sends.values()).filter(|_| with_sent);
        RecordedCoflow {
            id,
            name: self.name.clone(),
            tenant: self.tenant.clone(),
            parents: self.parents.clone(),
            arrival_s: self.arrival_s,
            end_s: self.end_s,
            did: self.did.iter().cloned().collect(),
            sent: sent.cloned().collect(),
        }
    }
}
