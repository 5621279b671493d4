//! The coordinator's disk, which is slow and may fail.

use std::collections::VecDeque;

use covey_coordinator::{Lsn, Record};

/// Records on disk, and on the way there.
pub struct Disk {
    pub records: Vec<Record>,
    /// With the times at which they get there, in order.
    writing: VecDeque<(f64, Lsn, Record)>,
}

impl Disk {
    pub fn of(records: Vec<Record>) -> Disk {
        Disk { records, writing: VecDeque::new() }
    }

    /// How many records are on the way.
    pub fn under_way(&self) -> usize {
        self.writing.len()
    }

    /// Sends a record on the way; it does not overtake others.
    pub fn append(&mut self, at_s: f64, lsn: Lsn, record: Record) {
        let last_s = self.writing.back().map_or(0.0, |(at_s, ..)| *at_s);
        self.writing.push_back((at_s.max(last_s), lsn, record));
    }

    /// Writes what has got there. Returns the last of these records.
    pub fn write(&mut self, now_s: f64) -> Option<Lsn> {
        let mut last = None;
        while let Some((_, lsn, record)) = self.writing.pop_front_if(|(at, ..)| *at <= now_s) {
            self.records.push(record);
            last = Some(lsn);
        }
        last
    }

    /// The disk fails: it loses all records that are being written. Returns the first and the last
    /// of them.
    pub fn fail(&mut self) -> Option<(Lsn, Lsn)> {
        let lost = self.writing.front()?.1..=self.writing.back()?.1;
        self.writing.clear();
        Some(lost.into_inner())
    }

    /// The coordinator has crashed: of the records that were being written, the first `written` are
    /// on disk.
    pub fn crash(&mut self, written: usize) {
        self.records.extend(self.writing.drain(..written).map(|(.., record)| record));
        self.writing.clear();
    }
}
