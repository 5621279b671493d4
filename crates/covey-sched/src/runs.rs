//! Coflows by a key, each put to its place when its key changes, and tied by rule.
//!
//! Keys are tied as [`rank::sort`](crate::rank::sort) ties them: those that are the same as the least of a run
//! are one run, in order of arrival. So a coflow's place depends on its neighbours, as far as keys follow
//! each other closely; where one comes or goes, only these are looked at.

use covey_core::sorted::Sorted;
use covey_core::{CoflowId, Rank, Time};

use crate::rank::Tie;

/// The coflows by their keys, and what has changed since their places were last told.
#[derive(Debug)]
pub(crate) struct Runs {
    tie: Tie,
    /// By coflow, its key and what breaks ties.
    known: Vec<Option<(f64, (Time, u64))>>,
    order: Sorted<Rank, CoflowId>,
    /// The least key of the run that each key is in.
    least: Sorted<Rank, f64>,
    /// Keys of coflows that have come to them or gone from them, and the coflows that have come.
    disturbed: Vec<f64>,
    came: Vec<CoflowId>,
}

/// Where a key stands among the others.
fn place(key: f64) -> Rank {
    Rank::new(0, key, (Time::ZERO, 0))
}

impl Runs {
    pub fn new(tie: Tie) -> Runs {
        Runs {
            tie,
            known: Vec::new(),
            order: Sorted::default(),
            least: Sorted::default(),
            disturbed: Vec::new(),
            came: Vec::new(),
        }
    }

    /// The coflow has a key, or another one than before.
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
        self.disturbed.push(key);
        self.came.push(coflow);
    }

    /// The coflow has gone.
    pub fn remove(&mut self, coflow: CoflowId) {
        let known = self.known.get_mut(coflow.index());
        if let Some((key, order)) = known.and_then(Option::take) {
            self.order.remove(&Rank::new(0, key, order));
            self.disturbed.push(key);
        }
    }

    /// Tells `put` of each coflow that may have another place now: the key of its run, by which it is ranked,
    /// and then by its order.
    pub fn tell(&mut self, mut put: impl FnMut(CoflowId, f64, (Time, u64))) {
        while let Some(key) = self.disturbed.pop() {
            self.divide(key, &mut put);
        }
        while let Some(coflow) = self.came.pop() {
            if let Some((key, order)) = self.known[coflow.index()]
                && let Some(&least) = self.least.get(&place(key))
            {
                put(coflow, least, order);
            }
        }
    }

    /// Divides keys into runs anew, where one or more at `key` have come or gone.
    fn divide(&mut self, key: f64, put: &mut impl FnMut(CoflowId, f64, (Time, u64))) {
        self.least.remove(&place(key));
        let key_of = |coflow: &CoflowId| self.known[coflow.index()].map(|(key, _)| key);
        // Where the one before is not the same, a run begins whatever was before it.
        let mut first = key;
        while let Some(before) = self.order.before(&place(first)).and_then(|(_, c)| key_of(c))
            && first <= self.tie.limit(before)
        {
            first = before;
        }
        let (mut least, mut last) = (None, None);
        let mut next = self.order.from(&place(first)).next().and_then(|(_, c)| key_of(c));
        while let Some(here) = next {
            let is_same = |other: f64| here <= self.tie.limit(other);
            if here > key && last.is_some_and(|last| !is_same(last)) {
                break;
            }
            let run = least.filter(|&least| is_same(least)).unwrap_or(here);
            next = self.divide_at(here, run, put);
            (least, last) = (Some(run), Some(here));
        }
    }

    /// The run of a key is the one with the `least` key. Returns the next key.
    fn divide_at(
        &mut self,
        key: f64,
        least: f64,
        put: &mut impl FnMut(CoflowId, f64, (Time, u64)),
    ) -> Option<f64> {
        let is_same = self.least.insert(place(key), least) == Some(least);
        for (_, coflow) in self.order.from(&place(key)) {
            let (other, order) = self.known[coflow.index()]?;
            if other != key {
                return Some(other);
            }
            if is_same {
                break;
            }
            put(*coflow, least, order);
        }
        let behind = Rank::new(0, key, (Time::NEVER, u64::MAX));
        self.order.from(&behind).next().and_then(|(_, c)| self.known[c.index()]).map(|(key, _)| key)
    }
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
            let mut runs = Runs::new(tie);
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
                        let key = [random(3) as f64 + near, 7.0, f64::INFINITY][random(5).min(2) as usize];
                        runs.set(id, key, order);
                        keys[coflow] = Some(key);
                    }
                }
                runs.tell(|coflow, key, order| {
                    places[coflow.index()] = Some(Rank::new(0, key, order));
                });
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
