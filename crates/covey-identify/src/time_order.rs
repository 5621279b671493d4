//! Leaders in order of their starts.

/// Sorted by start, then by number. Removed leaders stay as marks until they are half of all.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeOrder {
    entries: Vec<Entry>,
    removed: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start_s: f64,
    last_start_s: f64,
    leader: u32,
    is_removed: bool,
}

impl TimeOrder {
    pub fn insert(&mut self, start_s: f64, leader: u32) {
        let place = self.place(start_s, leader);
        match self.entries.get_mut(place) {
            Some(entry) if entry.start_s == start_s && entry.leader == leader => {
                entry.is_removed = false;
                entry.last_start_s = start_s;
                self.removed -= 1;
            }
            _ => {
                let entry = Entry { start_s, last_start_s: start_s, leader, is_removed: false };
                self.entries.insert(place, entry);
            }
        }
    }

    /// Removes a leader that is there.
    pub fn remove(&mut self, start_s: f64, leader: u32) {
        let place = self.place(start_s, leader);
        self.entries[place].is_removed = true;
        self.removed += 1;
        if 2 * self.removed > self.entries.len() {
            self.entries.retain(|entry| !entry.is_removed);
            self.removed = 0;
        }
    }

    /// A follower of a leader starts later than those before.
    pub fn extend(&mut self, start_s: f64, leader: u32, last_start_s: f64) {
        let place = self.place(start_s, leader);
        self.entries[place].last_start_s = last_start_s;
    }

    /// The places of leaders that start from one time to another.
    pub fn between(&self, from_s: f64, to_s: f64) -> std::ops::Range<usize> {
        let first = self.entries.partition_point(|entry| entry.start_s < from_s);
        let end = self.entries.partition_point(|entry| entry.start_s <= to_s);
        first..end.max(first)
    }

    /// The leader at a place; nothing if it is removed, or if all its followers start before a
    /// time.
    pub fn at(&self, place: usize, not_before_s: f64) -> Option<u32> {
        let entry = &self.entries[place];
        (!entry.is_removed && entry.last_start_s >= not_before_s).then_some(entry.leader)
    }

    fn place(&self, start_s: f64, leader: u32) -> usize {
        let key = (start_s, leader);
        if self.entries.last().is_none_or(|last| (last.start_s, last.leader) < key) {
            return self.entries.len();
        }
        self.entries.partition_point(|entry| (entry.start_s, entry.leader) < key)
    }
}
