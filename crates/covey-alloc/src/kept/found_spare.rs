//! What backfill has found for a coflow.

use std::mem::take;

use crate::free_capacity::FreeCapacity;
use covey_core::Demand;

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
    pub dirty: Vec<u32>,
    /// Whether backfill has come to the coflow since its flows last changed.
    pub is_visited: bool,
}

impl FoundSpare {
    pub fn clear(&mut self) {
        self.found.clear();
        self.rest.clear();
        self.is_visited = false;
    }

    /// The coflow's flows have changed.
    pub fn touch(&mut self) {
        self.is_visited = false;
    }

    /// Writes down what is `spare` now. Behind the coflow no link is dirty unless it leaves another
    /// amount. Returns whether nothing is known of the previous pass.
    pub fn find(&mut self, demand: &Demand, spare: &mut FreeCapacity) -> bool {
        self.dirty.clear();
        if self.found.is_empty() {
            self.found.extend(demand.links().iter().map(|link| spare.amount[link.index()]));
            self.rest.clone_from(&self.found);
            self.dirty.extend(0..self.found.len() as u32);
            return true;
        }
        for (link, l) in demand.set().common(spare.dirty.words()) {
            let now = spare.amount[link];
            if std::mem::replace(&mut self.found[l], now) != now {
                self.dirty.push(l as u32);
            }
        }
        for word in demand.set().words() {
            spare.dirty.remove_all(word.at as usize, word.bits);
        }
        false
    }

    /// The coflow leaves `rest` at some of its `links`, and what it left before at the others.
    pub fn leave(
        &mut self,
        demand: &Demand,
        links: impl Iterator<Item = usize>,
        rest: impl Fn(usize) -> f64,
        capacity: &[f64],
        spare: &mut FreeCapacity,
    ) {
        for l in links {
            let link = demand.links()[l].index();
            spare.amount[link] = rest(l);
            spare.amount[link] = spare.usable(capacity, link);
            if is_same(spare.amount[link], self.rest[l], capacity[link]) {
                spare.amount[link] = self.rest[l];
            } else {
                self.rest[l] = spare.amount[link];
                spare.dirty.insert(link);
            }
        }
    }

    /// Whether something is spare for an active flow at a dirty link.
    pub fn may_open(&self, demand: &Demand) -> bool {
        let count = demand.count();
        self.dirty.iter().any(|&l| self.found[l as usize] > 0.0 && count[l as usize] > 0)
    }

    /// The coflow leaves all that it has found. If it did so on the previous pass too (`again`),
    /// only dirty links are looked at.
    pub fn leave_all(
        &mut self,
        demand: &Demand,
        again: bool,
        capacity: &[f64],
        spare: &mut FreeCapacity,
    ) {
        let (found, dirty) = (take(&mut self.found), take(&mut self.dirty));
        if again {
            let dirty = dirty.iter().map(|&l| l as usize);
            self.leave(demand, dirty, |l| found[l], capacity, spare);
        } else {
            self.leave(demand, 0..found.len(), |l| found[l], capacity, spare);
        }
        (self.found, self.dirty) = (found, dirty);
    }
}

/// Whether two amounts at a link differ by rounding alone. Provisional shares fall as levels of
/// flows rise, and what is spare grows by the same: their sum stays, but for rounding.
pub fn is_same(a: f64, b: f64, capacity: f64) -> bool {
    (a - b).abs() <= capacity * ROUNDING
}
