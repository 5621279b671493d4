//! What backfill has found for a coflow.

use std::mem::take;

use super::pass_steps::PassSteps;
use super::plan_place::Waits;
use crate::alloc::free_capacity::{FreeCapacity, usable_amount};
use crate::bits::{bits, set_bit};
use crate::demand::Demand;
use crate::ids::LinkId;
use crate::link_set::WholeWord;
use crate::marked_links::MarkedLinks;
use crate::plan::Rank;

/// What rounding makes of an amount at a link, as a part of its capacity.
const ROUNDING: f64 = 1e-12;

/// What was spare at a coflow's links when backfill last came to it, and what it left of that.
#[derive(Debug, Default)]
pub struct FoundSpare {
    /// Bytes per second that were spare before the coflow, by local link.
    pub found: Vec<f64>,
    /// Bytes per second that it left.
    pub rest: Vec<f64>,
    /// Local links at which the coflow has found another amount than on the previous pass.
    pub dirty: MarkedLinks,
    /// Whether backfill has come to the coflow since its flows last changed.
    pub is_visited: bool,
    /// Whether it has a step of backfill, in a plan that is kept.
    pub has_step: bool,
    /// The links for which it waits, in a plan that is kept.
    pub waits: Waits,
}

impl FoundSpare {
    pub fn clear(&mut self) {
        self.found.clear();
        self.rest.clear();
        self.is_visited = false;
        self.has_step = false;
    }

    /// The coflow leaves its place in a plan that is kept. Those behind it find what it had.
    pub fn leave_place(&mut self, rank: Rank, links: &[LinkId], steps: &mut PassSteps) {
        if self.waits.is_waiting() {
            self.waits.end(rank, steps);
        } else {
            steps.remove(rank);
            if self.has_step && self.found != self.rest {
                steps.leave(rank, links, self.found.iter().copied(), self.rest.iter().copied());
            }
        }
        self.clear();
    }

    /// The coflow's flows have changed.
    pub fn touch(&mut self) {
        self.is_visited = false;
    }

    /// Writes down what is `spare` now. Behind the coflow no link is dirty unless it leaves another
    /// amount. At a place where it had no step before it finds `at_new_place`, by link of the
    /// fabric. Returns whether nothing is known of the previous pass.
    pub fn find(
        &mut self,
        demand: &Demand,
        at_new_place: Option<&[f64]>,
        spare: &mut FreeCapacity,
    ) -> bool {
        self.dirty.start(demand.links().len());
        if self.found.is_empty() {
            let now = at_new_place.unwrap_or(&spare.amount);
            self.found.extend(demand.links().iter().map(|link| now[link.index()]));
            self.rest.clone_from(&self.found);
            self.dirty.insert_below(self.found.len());
            return true;
        }
        let set = demand.set();
        let mut whole = set.whole_words();
        for (k, word) in set.words().iter().enumerate() {
            let at = word.at as usize;
            let looked_at = word.bits & spare.dirty.words()[at];
            if looked_at == 0 {
                continue;
            }
            spare.dirty.remove_all(at, looked_at);
            let amount = &spare.amount[64 * at..];
            if let Some(whole) = WholeWord::next(&mut whole, k) {
                let mut differ = 0;
                let found = &mut self.found[whole.local..];
                for bit in bits([looked_at].into_iter()) {
                    let before = std::mem::replace(&mut found[bit], amount[bit]);
                    differ |= u64::from(before != amount[bit]) << bit;
                }
                self.dirty.insert_run(whole.local, differ);
            } else {
                for bit in bits([looked_at].into_iter()) {
                    let l = set.local_in(k, bit);
                    if std::mem::replace(&mut self.found[l], amount[bit]) != amount[bit] {
                        self.dirty.insert(l);
                    }
                }
            }
        }
        false
    }

    /// The coflow leaves `rest` at some of its local `links`, or at all, and what it left before at the others.
    pub fn leave(
        &mut self,
        demand: &Demand,
        links: Option<&MarkedLinks>,
        rest: &[f64],
        capacity: &[f64],
        spare: &mut FreeCapacity,
    ) {
        debug_assert_eq!(rest.len(), self.rest.len());
        let Some(links) = links else {
            return (0..rest.len()).for_each(|l| self.leave_at(demand, l, rest, capacity, spare));
        };
        for whole in demand.set().whole_words() {
            let looked_at = links.run(whole.local);
            if looked_at == 0 {
                continue;
            }
            let (mut differ, mut open) = (0, 0);
            for bit in bits([looked_at].into_iter()) {
                let (l, link) = (whole.local + bit, whole.link + bit);
                let (amount, differs) = self.left(l, rest[l], capacity[link]);
                spare.amount[link] = amount;
                differ |= u64::from(differs) << bit;
                open |= u64::from(amount > 0.0) << bit;
            }
            let at = whole.link / 64;
            spare.dirty.insert_all(at, differ);
            spare.open[at] = spare.open[at] & !looked_at | open;
        }
        for l in links.common(demand.set().others()) {
            self.leave_at(demand, l, rest, capacity, spare);
        }
    }

    fn leave_at(
        &mut self,
        demand: &Demand,
        l: usize,
        rest: &[f64],
        capacity: &[f64],
        spare: &mut FreeCapacity,
    ) {
        let link = demand.links()[l].index();
        let (amount, differs) = self.left(l, rest[l], capacity[link]);
        spare.amount[link] = amount;
        if differs {
            spare.dirty.insert(link);
        }
        set_bit(&mut spare.open, link, amount > 0.0);
    }

    /// What the coflow leaves at a local link of this `capacity` if it takes all but `rest`, and whether that is
    /// another amount than before.
    #[inline]
    fn left(&mut self, l: usize, rest: f64, capacity: f64) -> (f64, bool) {
        let now = usable_amount(rest, capacity);
        let differs = !is_same(now, self.rest[l], capacity);
        if differs {
            self.rest[l] = now;
        }
        (self.rest[l], differs)
    }

    /// Whether something is spare for an active flow at a dirty link.
    pub fn may_open(&self, demand: &Demand) -> bool {
        let count = demand.count();
        self.dirty.iter().any(|l| self.found[l] > 0.0 && count[l] > 0)
    }

    /// The coflow leaves all that it has found. If it did so on the previous pass too (`again`),
    /// only dirty links are looked at. This, with [`FoundSpare::may_open`], which avoids a look at
    /// all links, saves a quarter of the CPU time of `graviton` on the Facebook trace.
    pub fn leave_all(
        &mut self,
        demand: &Demand,
        again: bool,
        capacity: &[f64],
        spare: &mut FreeCapacity,
    ) {
        let (found, dirty) = (take(&mut self.found), take(&mut self.dirty));
        self.leave(demand, again.then_some(&dirty), &found, capacity, spare);
        (self.found, self.dirty) = (found, dirty);
    }
}

/// Whether two amounts at a link differ by rounding alone. Provisional shares fall as levels of
/// flows rise, and what is spare grows by the same: their sum stays, but for rounding.
pub fn is_same(a: f64, b: f64, capacity: f64) -> bool {
    (a - b).abs() <= capacity * ROUNDING
}
