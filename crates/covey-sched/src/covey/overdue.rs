//! The coflows that are overdue, and when others will be.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_core::{CoflowId, NonClairvoyant, Time, View};

use super::standing::Standing;
use crate::guard::Guard;

/// A time, the coflow's order, its id. The coflow becomes overdue at the time or later: sending
/// delays it. The order distinguishes the coflow from earlier ones with the same id.
type Due = (Time, (Time, u64), CoflowId);

/// The coflows that go first because they are overdue.
pub(super) struct Overdue {
    guard: Guard,
    due: BinaryHeap<Reverse<Due>>,
    /// Coflows that go first in this slot.
    first: Vec<CoflowId>,
}

impl Overdue {
    /// No coflows yet.
    pub fn new(guard: Guard) -> Overdue {
        Overdue { guard, due: BinaryHeap::new(), first: Vec::new() }
    }

    /// Adds a coflow that has arrived.
    pub fn watch(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.due.push(Reverse((view.arrival(coflow), view.order(coflow), coflow)));
    }

    /// Notes that a coflow has ended.
    pub fn remove(&mut self, coflow: CoflowId) {
        self.first.retain(|&overdue| overdue != coflow);
    }

    /// Finds the coflows that go first in this slot, if one begins. Returns when to look again.
    /// `alone_s` is the time that a coflow needs alone, by what it has sent.
    pub fn find(
        &mut self,
        view: &View<'_, NonClairvoyant>,
        alone_s: impl Fn(CoflowId, f64) -> f64,
        standing: &mut Standing,
    ) -> Time {
        if self.guard.share == 0.0 {
            return Time::NEVER;
        }
        let (now, phase) = (view.now(), self.guard.phase(view.now()));
        if phase.begins || !phase.in_slot {
            self.first.drain(..).for_each(|coflow| standing.set_overdue(coflow, false));
        }
        // Coflows that are overdue now are checked again in the next window.
        let mut next = Time::NEVER;
        let known = self.first.len();
        while let Some(&Reverse((early, order, coflow))) = self.due.peek() {
            if !view.is_present(coflow) || view.order(coflow) != order {
                self.due.pop();
                continue;
            }
            let alone_s = alone_s(coflow, view.attained(coflow).bytes);
            let due = self.guard.due(view.arrival(coflow), alone_s);
            if due > early {
                self.due.pop();
                self.due.push(Reverse((due, order, coflow)));
                continue;
            }
            next = next.min(due);
            if !(phase.begins && due.due(now)) {
                break;
            }
            self.due.pop();
            self.first.push(coflow);
            standing.set_overdue(coflow, true);
        }
        for &coflow in &self.first[known..] {
            self.due.push(Reverse((view.arrival(coflow), view.order(coflow), coflow)));
        }
        if self.first.is_empty() { self.guard.next_slot(next.max(now)) } else { phase.until }
    }
}
