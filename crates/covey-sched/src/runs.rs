//! Coflows by a key, each put to its place when its key changes, and tied by rule.
//!
//! Keys are tied as [`rank::sort`](crate::rank::sort) ties them: those that are the same as the least of a run
//! are one run, in order of arrival. So a coflow's place depends on its neighbours, as far as keys follow
//! each other closely; where one comes or goes, only these are looked at.
//!
//! Keys of coflows that are served change all the time, their order seldom does. So a coflow's rank in the
//! plan is a label, which it keeps as long as it is between its neighbours'.

use covey_core::sorted::Sorted;
use covey_core::{CoflowId, Rank, Time};

use crate::rank::Tie;

/// The coflows by their keys, and what has changed since their places were last told.
#[derive(Debug)]
pub(crate) struct Runs {
    tie: Tie,
    /// The layer of the plan where they stand.
    layer: u32,
    /// By coflow, its key and what breaks ties.
    known: Vec<Option<(f64, (Time, u64))>>,
    order: Sorted<Rank, CoflowId>,
    /// The coflows in the order of runs, and then of arrival; and where each stands there.
    ranked: Sorted<Rank, CoflowId>,
    rank_of: Vec<Option<Rank>>,
    /// By coflow, the label in the plan.
    labels: Vec<Label>,
    /// The least key of the run that each key is in.
    least: Sorted<Rank, f64>,
    /// Keys of coflows that have come to them or gone from them, and the coflows that have come.
    disturbed: Vec<f64>,
    came: Vec<CoflowId>,
    /// Working memory: coflows that stand elsewhere in the order of runs.
    moved: Vec<(Rank, CoflowId)>,
    is_moved: Vec<bool>,
    labelled: Vec<(CoflowId, Rank)>,
}

/// Where a coflow stands in the plan, among other labels; 0 and the greatest are nobody's.
type Label = u128;

/// Whoever comes behind another leaves no more room than this between them, so that many can come one behind
/// the other.
const STEP: Label = 1 << 90;

/// Where a key stands among the others.
fn place(key: f64) -> Rank {
    Rank::new(0, key, (Time::ZERO, 0))
}

impl Runs {
    pub fn new(tie: Tie, layer: u32) -> Runs {
        Runs {
            tie,
            layer,
            known: Vec::new(),
            order: Sorted::default(),
            ranked: Sorted::default(),
            rank_of: Vec::new(),
            labels: Vec::new(),
            least: Sorted::default(),
            disturbed: Vec::new(),
            came: Vec::new(),
            moved: Vec::new(),
            is_moved: Vec::new(),
            labelled: Vec::new(),
        }
    }

    /// The coflow has a key, or another one than before.
    pub fn set(&mut self, coflow: CoflowId, key: f64, order: (Time, u64)) {
        if self.known.len() <= coflow.index() {
            self.known.resize(coflow.index() + 1, None);
            self.rank_of.resize(coflow.index() + 1, None);
            self.labels.resize(coflow.index() + 1, 0);
            self.is_moved.resize(coflow.index() + 1, false);
        }
        if self.known[coflow.index()].is_some_and(|(before, _)| before == key) {
            return;
        }
        self.forget_key(coflow);
        self.known[coflow.index()] = Some((key, order));
        self.order.insert(Rank::new(0, key, order), coflow);
        self.disturbed.push(key);
        self.came.push(coflow);
    }

    /// The coflow has gone.
    pub fn remove(&mut self, coflow: CoflowId) {
        self.forget_key(coflow);
        if let Some(rank) = self.rank_of.get_mut(coflow.index()).and_then(Option::take) {
            self.ranked.remove(&rank);
            self.labels[coflow.index()] = 0;
        }
    }

    fn forget_key(&mut self, coflow: CoflowId) {
        let known = self.known.get_mut(coflow.index());
        if let Some((key, order)) = known.and_then(Option::take) {
            self.order.remove(&Rank::new(0, key, order));
            self.disturbed.push(key);
        }
    }

    /// The coflows that have other ranks in the plan now, each with its own. They are to leave their old ones
    /// before any goes to its new one.
    pub fn rank_anew(&mut self) -> &[(CoflowId, Rank)] {
        self.divide_disturbed();
        while let Some(coflow) = self.came.pop() {
            if let Some((key, order)) = self.known[coflow.index()]
                && let Some(&least) = self.least.get(&place(key))
            {
                self.move_to(coflow, Rank::new(0, least, order));
            }
        }
        self.moved.sort_unstable();
        self.labelled.clear();
        if !self.label_moved() {
            self.label_all();
        }
        self.moved.drain(..).for_each(|(_, coflow)| self.is_moved[coflow.index()] = false);
        &self.labelled
    }

    /// The coflow stands elsewhere in the order of runs.
    fn move_to(&mut self, coflow: CoflowId, rank: Rank) {
        let before = self.rank_of[coflow.index()].replace(rank);
        if before == Some(rank) {
            return;
        }
        before.into_iter().for_each(|before| _ = self.ranked.remove(&before));
        self.ranked.insert(rank, coflow);
        if std::mem::replace(&mut self.is_moved[coflow.index()], true) {
            self.moved.retain(|(_, other)| *other != coflow);
        }
        self.moved.push((rank, coflow));
    }

    /// Gives those that have moved labels between their neighbours', unless theirs are. Returns whether there
    /// was room.
    fn label_moved(&mut self) -> bool {
        // The next of those that have not moved, and its label.
        let mut next: Option<(Rank, Label)> = None;
        for &(rank, coflow) in &self.moved {
            let before = self.ranked.before(&rank).map_or(0, |(_, c)| self.labels[c.index()]);
            if next.is_none_or(|(next, _)| next < rank) {
                let behind = self.ranked.after(rank).find(|(_, c)| !self.is_moved[c.index()]);
                let last = (Rank::new(u32::MAX, 0.0, (Time::NEVER, 0)), Label::MAX);
                next = Some(behind.map_or(last, |&(rank, c)| (rank, self.labels[c.index()])));
            }
            let Some((_, behind)) = next else { continue };
            let label = self.labels[coflow.index()];
            if before < label && label < behind {
                continue;
            }
            let label = before + ((behind - before) / 2).min(STEP);
            if label == before {
                return false;
            }
            self.labels[coflow.index()] = label;
            self.labelled.push((coflow, as_rank(self.layer, label)));
        }
        true
    }

    /// Gives all of them labels anew, with as much room between any two.
    fn label_all(&mut self) {
        let room = Label::MAX / (self.ranked.len() as Label + 1);
        self.labelled.clear();
        for (k, &(_, coflow)) in (1..).zip(self.ranked.iter()) {
            self.labels[coflow.index()] = k * room;
            self.labelled.push((coflow, as_rank(self.layer, k * room)));
        }
    }

    /// The first key that is no less than `key`.
    fn key_from(&self, key: f64) -> Option<f64> {
        let (_, coflow) = self.order.from(place(key)).next()?;
        self.known[coflow.index()].map(|(key, _)| key)
    }

    /// Divides keys into runs anew, where some have come or gone.
    fn divide_disturbed(&mut self) {
        let mut disturbed = std::mem::take(&mut self.disturbed);
        disturbed.sort_unstable_by(f64::total_cmp);
        disturbed.dedup();
        for &key in &disturbed {
            if self.key_from(key) != Some(key) {
                self.least.remove(&place(key));
            }
        }
        disturbed.drain(..).for_each(|key| self.divide(key));
        self.disturbed = disturbed;
    }

    /// Divides keys into runs anew from `key` on, as far as that changes anything. Runs before it are as they
    /// are to be.
    fn divide(&mut self, key: f64) {
        let before = self.order.before(&place(key)).and_then(|(_, c)| self.known[c.index()]);
        let mut run = before.and_then(|(before, _)| self.least.get(&place(before)).copied());
        let mut next = self.key_from(key);
        while let Some(here) = next {
            let least = run.filter(|&least| here <= self.tie.limit(least)).unwrap_or(here);
            if self.least.insert(place(here), least) == Some(least) {
                // So are the runs behind it.
                return;
            }
            next = self.move_all(here, least);
            run = Some(least);
        }
    }

    /// Coflows with a key are in the run with a `least` key now. Returns the next key.
    fn move_all(&mut self, key: f64, least: f64) -> Option<f64> {
        let mut at = place(key);
        loop {
            let &(rank, coflow) = self.order.from(at).next()?;
            let (other, order) = self.known[coflow.index()]?;
            if other != key {
                return Some(other);
            }
            self.move_to(coflow, Rank::new(0, least, order));
            at = rank.numbered(1);
        }
    }
}

/// A label as a rank in the plan.
fn as_rank(layer: u32, label: Label) -> Rank {
    Rank::of_numbers(layer, [(label >> 64) as u64, label as u64], (Time::ZERO, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank;

    #[test]
    fn places_that_are_kept_are_those_of_all_keys_sorted() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for tie in [Tie::Absolute, Tie::Relative] {
            let mut runs = Runs::new(tie, 0);
            let mut keys: Vec<Option<f64>> = vec![None; 30];
            let mut places = vec![None; 30];
            for _ in 0..5000 {
                for _ in 0..=random(3) {
                    let coflow = random(30) as usize;
                    let id = CoflowId(coflow as u32);
                    let order = (Time::ZERO, coflow as u64);
                    if random(3) == 0 {
                        runs.remove(id);
                        (keys[coflow], places[coflow]) = (None, None);
                    } else {
                        let near = random(12) as f64 * 0.3e-9;
                        let key = [random(3) as f64 + near, 7.0, f64::INFINITY]
                            [random(5).min(2) as usize];
                        runs.set(id, key, order);
                        keys[coflow] = Some(key);
                    }
                }
                for &(coflow, rank) in runs.rank_anew() {
                    places[coflow.index()] = Some(rank);
                }
                let mut sorted: Vec<(f64, u64)> =
                    keys.iter().zip(0..).filter_map(|(key, c)| Some(((*key)?, c))).collect();
                rank::sort(&mut sorted, tie, |&(key, _)| key, |&(_, c)| c);
                let mut kept: Vec<(Rank, u64)> =
                    places.iter().zip(0..).filter_map(|(place, c)| Some(((*place)?, c))).collect();
                kept.sort_unstable();
                let coflows = |(_, c): &(Rank, u64)| *c;
                assert!(kept.iter().map(coflows).eq(sorted.iter().map(|&(_, c)| c)));
            }
        }
    }
}
