//! Coflows by a key. A coflow moves when its key changes; equal keys are tied by rule.
//!
//! Keys are tied as [`rank::sort`](crate::rank::sort) ties them: keys that equal the smallest key
//! of a run form this run, in order of arrival. A coflow's position therefore depends on its
//! neighbours, as far as keys follow each other closely. When a coflow comes or goes, only these
//! neighbours are looked at.
//!
//! Keys of coflows that are served change all the time, their order seldom does. So a coflow's rank
//! in the plan is a label, which it keeps as long as the label is between those of its neighbours.

use covey_core::sorted::Sorted;
use covey_core::{CoflowId, Rank, Time};

use crate::rank::Tie;

/// The coflows by their keys, and what has changed since ranks were last reported.
#[derive(Debug)]
pub(crate) struct Runs {
    tie: Tie,
    /// The layer of the plan that the ranks are in.
    layer: u32,
    /// By coflow, its key and what breaks ties.
    known: Vec<Option<(f64, (Time, u64))>>,
    order: Sorted<Rank, CoflowId>,
    /// The coflows in the order of runs, then of arrival; and the position of each there.
    ranked: Sorted<Rank, CoflowId>,
    rank_of: Vec<Option<Rank>>,
    /// By coflow, the label in the plan.
    labels: Vec<Label>,
    /// The smallest key of the run that each key is in.
    least: Sorted<Rank, f64>,
    /// Keys that coflows have taken or given up, and the coflows that have come.
    disturbed: Vec<f64>,
    came: Vec<CoflowId>,
    /// Working memory: coflows whose position in the order of runs has changed.
    moved: Vec<(Rank, CoflowId)>,
    is_moved: Vec<bool>,
    /// Coflows whose labels have changed, and their ranks in the plan.
    relabelled: Vec<CoflowId>,
    labelled: Vec<(CoflowId, Rank)>,
    before: Vec<CoflowId>,
    behind: Vec<CoflowId>,
}

/// The label of a coflow. 0 and the largest number are never used.
type Label = u128;

/// The largest gap between a coflow and one that is added behind it, so that many can be added one
/// behind the other.
const STEP: Label = 1 << 90;

/// The position of a key among the others.
fn rank_of_key(key: f64) -> Rank {
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
            relabelled: Vec::new(),
            before: Vec::new(),
            behind: Vec::new(),
            labelled: Vec::new(),
        }
    }

    /// Gives a coflow a key, or another key.
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

    /// Removes a coflow.
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

    /// The coflows whose ranks in the plan have changed, each with its new rank. All of them must
    /// leave their old ranks before any takes its new one.
    pub fn rank_anew(&mut self) -> &[(CoflowId, Rank)] {
        self.divide_disturbed();
        while let Some(coflow) = self.came.pop() {
            if let Some((key, order)) = self.known[coflow.index()]
                && let Some(&least) = self.least.get(&rank_of_key(key))
            {
                self.move_to(coflow, Rank::new(0, least, order));
            }
        }
        self.moved.sort_unstable();
        self.label_moved();
        self.relabelled.sort_unstable();
        self.relabelled.dedup();
        self.labelled.clear();
        let rank = |coflow: CoflowId| as_rank(self.layer, self.labels[coflow.index()]);
        self.labelled.extend(self.relabelled.drain(..).map(|coflow| (coflow, rank(coflow))));
        self.moved.drain(..).for_each(|(_, coflow)| self.is_moved[coflow.index()] = false);
        &self.labelled
    }

    /// Notes that the position of a coflow in the order of runs has changed.
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

    /// Gives each coflow that has moved a label between its neighbours', unless its label is there
    /// already.
    fn label_moved(&mut self) {
        // The next coflow that has not moved, and its label.
        let mut next: Option<(Rank, Label)> = None;
        for k in 0..self.moved.len() {
            let (rank, coflow) = self.moved[k];
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
            let room = ((behind - before) / 2).min(STEP);
            if room == 0 {
                self.spread(rank, coflow, before);
                next = None;
            } else {
                self.labels[coflow.index()] = before + room;
                self.relabelled.push(coflow);
            }
        }
    }

    /// Gives new labels to a coflow and its neighbours, in the smallest range of labels around one
    /// of them that holds few enough coflows. The number that counts as few grows with the range,
    /// but less than the range. So one coflow that comes relabels O(log n) others in the mean
    /// (Bender, Cole, Demaine, Farach-Colton and Zito: Two simplified algorithms for maintaining
    /// order in a list). If 5,000 coflows come at one position between others, 9 are relabelled for
    /// each.
    fn spread(&mut self, rank: Rank, coflow: CoflowId, around: Label) {
        const DENSEST: f64 = 4.0 / 3.0;
        let (before, behind) = (&mut self.before, &mut self.behind);
        before.clear();
        behind.clear();
        let mut first = rank;
        let mut next = self.ranked.after(rank).peekable();
        for bits in 1..=Label::BITS {
            let rest = Label::MAX >> (Label::BITS - bits);
            let (least, most) = (around & !rest, around | rest);
            while let Some(&(rank, other)) = self.ranked.before(&first)
                && self.labels[other.index()] >= least
            {
                before.push(other);
                first = rank;
            }
            // Labels of coflows that have moved are not valid yet.
            let is_within = |other: CoflowId| {
                self.is_moved[other.index()] || self.labels[other.index()] <= most
            };
            while let Some(&(_, other)) = next.next_if(|(_, other)| is_within(*other)) {
                behind.push(other);
            }
            let count = before.len() + 1 + behind.len();
            let room = rest / (count as Label + 1);
            if (count as f64) < DENSEST.powi(bits as i32) && room > 1 {
                let all = before.iter().rev().chain([&coflow]).chain(behind.iter());
                for (k, other) in (1..).zip(all) {
                    self.labels[other.index()] = least + k * room;
                    self.relabelled.push(*other);
                }
                return;
            }
        }
    }

    /// The first key that is at least `key`.
    fn key_from(&self, key: f64) -> Option<f64> {
        let (_, coflow) = self.order.from(rank_of_key(key)).next()?;
        self.known[coflow.index()].map(|(key, _)| key)
    }

    /// Divides keys into runs again where coflows have come or gone.
    fn divide_disturbed(&mut self) {
        let mut disturbed = std::mem::take(&mut self.disturbed);
        disturbed.sort_unstable_by(f64::total_cmp);
        disturbed.dedup();
        for &key in &disturbed {
            if self.key_from(key) != Some(key) {
                self.least.remove(&rank_of_key(key));
            }
        }
        disturbed.drain(..).for_each(|key| self.divide(key));
        self.disturbed = disturbed;
    }

    /// Divides keys into runs again from `key` on, as far as that changes anything. Runs before
    /// `key` are correct.
    fn divide(&mut self, key: f64) {
        let before = self.order.before(&rank_of_key(key)).and_then(|(_, c)| self.known[c.index()]);
        let mut run = before.and_then(|(before, _)| self.least.get(&rank_of_key(before)).copied());
        let mut next = self.key_from(key);
        while let Some(here) = next {
            let least = run.filter(|&least| here <= self.tie.limit(least)).unwrap_or(here);
            if self.least.insert(rank_of_key(here), least) == Some(least) {
                // The runs behind it are correct, too.
                return;
            }
            next = self.move_all(here, least);
            run = Some(least);
        }
    }

    /// Puts the coflows of a key into the run whose smallest key is `least`. Returns the next key.
    fn move_all(&mut self, key: f64, least: f64) -> Option<f64> {
        let mut at = rank_of_key(key);
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
    fn whoever_comes_has_few_others_relabelled() {
        // Behind all others, before all others, and where there are others on both sides.
        let ranks: [fn(u32) -> f64; 3] =
            [f64::from, |k| -f64::from(k), |k| 1.0 + 1.0 / f64::from(k)];
        for key in ranks {
            let mut runs = Runs::new(Tie::Relative, 0);
            let mut relabelled = 0;
            for k in 1..5000 {
                runs.set(CoflowId(k), 1e6 * key(k), (Time::ZERO, u64::from(k)));
                relabelled += runs.rank_anew().len();
            }
            assert!(relabelled < 5000 * 20, "{relabelled}");
            let ranked = runs.ranked.iter().map(|(_, coflow)| runs.labels[coflow.index()]);
            assert!(ranked.is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn ranks_that_are_kept_are_those_of_all_keys_sorted() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for tie in [Tie::Absolute, Tie::Relative] {
            let mut runs = Runs::new(tie, 0);
            let mut keys: Vec<Option<f64>> = vec![None; 30];
            let mut ranks = vec![None; 30];
            for _ in 0..5000 {
                for _ in 0..=random(3) {
                    let coflow = random(30) as usize;
                    let id = CoflowId(coflow as u32);
                    let order = (Time::ZERO, coflow as u64);
                    if random(3) == 0 {
                        runs.remove(id);
                        (keys[coflow], ranks[coflow]) = (None, None);
                    } else {
                        let near = random(12) as f64 * 0.3e-9;
                        let key = [random(3) as f64 + near, 7.0, f64::INFINITY]
                            [random(5).min(2) as usize];
                        runs.set(id, key, order);
                        keys[coflow] = Some(key);
                    }
                }
                for &(coflow, rank) in runs.rank_anew() {
                    ranks[coflow.index()] = Some(rank);
                }
                let mut sorted: Vec<(f64, u64)> =
                    keys.iter().zip(0..).filter_map(|(key, c)| Some(((*key)?, c))).collect();
                rank::sort(&mut sorted, tie, |&(key, _)| key, |&(_, c)| c);
                let mut kept: Vec<(Rank, u64)> =
                    ranks.iter().zip(0..).filter_map(|(rank, c)| Some(((*rank)?, c))).collect();
                kept.sort_unstable();
                let coflows = |(_, c): &(Rank, u64)| *c;
                assert!(kept.iter().map(coflows).eq(sorted.iter().map(|&(_, c)| c)));
            }
        }
    }
}
