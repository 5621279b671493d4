//! The keys of coflows, divided into runs of equal ones.

use covey_core::sorted::Sorted;
use covey_core::{CoflowId, Rank, Time};

use super::positions::Positions;
use crate::rank::Tie;

/// The keys of all coflows. Keys that equal the smallest key of a run form this run.
#[derive(Debug)]
pub(super) struct Keys {
    tie: Tie,
    /// By coflow, its key and what breaks ties.
    known: Vec<Option<(f64, (Time, u64))>>,
    /// The coflows by key.
    order: Sorted<Rank, CoflowId>,
    /// The smallest key of the run that each key is in.
    min_of_run: Sorted<Rank, f64>,
    /// Keys that coflows have taken or given up since runs were last divided.
    changed: Vec<f64>,
    /// Coflows that have taken a key since then.
    arrived: Vec<CoflowId>,
}

/// The position of a key among the others.
fn rank_of_key(key: f64) -> Rank {
    Rank::new(0, key, (Time::ZERO, 0))
}

impl Keys {
    /// No coflow has a key.
    pub fn new(tie: Tie) -> Keys {
        Keys {
            tie,
            known: Vec::new(),
            order: Sorted::default(),
            min_of_run: Sorted::default(),
            changed: Vec::new(),
            arrived: Vec::new(),
        }
    }

    /// Gives a coflow a key, or another key.
    pub fn set(&mut self, coflow: CoflowId, key: f64, order: (Time, u64)) {
        if self.known.len() <= coflow.index() {
            self.known.resize(coflow.index() + 1, None);
        }
        if self.known[coflow.index()].is_some_and(|(before, _)| before == key) {
            return;
        }
        self.remove(coflow);
        self.known[coflow.index()] = Some((key, order));
        self.order.insert(Rank::new(0, key, order), coflow);
        self.changed.push(key);
        self.arrived.push(coflow);
    }

    /// The key of a coflow.
    pub fn of(&self, coflow: CoflowId) -> Option<f64> {
        self.known.get(coflow.index()).copied().flatten().map(|(key, _)| key)
    }

    /// Removes the key of a coflow, if it has one.
    pub fn remove(&mut self, coflow: CoflowId) {
        let known = self.known.get_mut(coflow.index());
        if let Some((key, order)) = known.and_then(Option::take) {
            self.order.remove(&Rank::new(0, key, order));
            self.changed.push(key);
        }
    }

    /// Divides the keys into runs where they have changed, and moves coflows to their positions.
    pub fn divide_changed(&mut self, positions: &mut Positions) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable_by(f64::total_cmp);
        changed.dedup();
        for &key in &changed {
            if self.key_from(key) != Some(key) {
                self.min_of_run.remove(&rank_of_key(key));
            }
        }
        changed.drain(..).for_each(|key| self.divide(key, positions));
        self.changed = changed;
        while let Some(coflow) = self.arrived.pop() {
            if let Some((key, order)) = self.known[coflow.index()]
                && let Some(&min) = self.min_of_run.get(&rank_of_key(key))
            {
                positions.move_to(coflow, Rank::new(0, min, order));
            }
        }
    }

    /// The first key that is at least `key`.
    fn key_from(&self, key: f64) -> Option<f64> {
        let (_, coflow) = self.order.from(rank_of_key(key)).next()?;
        self.known[coflow.index()].map(|(key, _)| key)
    }

    /// Divides keys into runs again from `key` on, as far as that changes anything. Runs before
    /// `key` are correct.
    fn divide(&mut self, key: f64, positions: &mut Positions) {
        let before = self.order.before(&rank_of_key(key)).and_then(|(_, c)| self.known[c.index()]);
        let mut run =
            before.and_then(|(before, _)| self.min_of_run.get(&rank_of_key(before)).copied());
        let mut next = self.key_from(key);
        while let Some(here) = next {
            let min = run.filter(|&min| here <= self.tie.limit(min)).unwrap_or(here);
            if self.min_of_run.insert(rank_of_key(here), min) == Some(min) {
                // The runs behind it are correct, too.
                return;
            }
            next = self.move_all(here, min, positions);
            run = Some(min);
        }
    }

    /// Puts the coflows of a key into the run whose smallest key is `min`. Returns the next key.
    fn move_all(&self, key: f64, min: f64, positions: &mut Positions) -> Option<f64> {
        let mut at = rank_of_key(key);
        loop {
            let &(rank, coflow) = self.order.from(at).next()?;
            let (other, order) = self.known[coflow.index()]?;
            if other != key {
                return Some(other);
            }
            positions.move_to(coflow, Rank::new(0, min, order));
            at = rank.numbered(1);
        }
    }
}
