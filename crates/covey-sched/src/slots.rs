//! Weighted sharing among queues by time slots (Philae §4.5).
//!
//! In each cycle, every queue that is not empty goes first for a number of consecutive slots, which
//! falls by a factor from queue to queue. In the slots of the other queues it keeps its strict
//! order. So no queue starves, and capacity is not divided.

use covey_core::Time;

/// Slots that the first queue of a cycle gets. A queue that would get less than one gets none.
const FIRST_QUEUE_SLOTS: f64 = 256.0;

/// The owner of the present slot.
#[derive(Debug, Clone)]
pub struct Slots {
    slot_s: f64,
    factor: f64,
    /// Rest of the cycle, the next owner last: queue and end of its slots.
    round: Vec<(u32, Time)>,
}

impl Slots {
    /// Slots of `slot_s` seconds; a queue gets `factor` times as many as the next one.
    pub fn new(slot_s: f64, factor: f64) -> Slots {
        Slots { slot_s, factor, round: Vec::new() }
    }

    /// The owner of the slot at `now`, and the end of its slots. `waiting` says which queues, of
    /// `count`, are not empty. `None` while at most one of them waits, because nothing needs to be
    /// shared.
    pub fn at(
        &mut self,
        now: Time,
        count: u32,
        waiting: impl Fn(u32) -> bool,
    ) -> Option<(u32, Time)> {
        if (0..count).filter(|&queue| waiting(queue)).count() < 2 {
            self.round.clear();
            return None;
        }
        while self.round.last().is_some_and(|&(queue, end)| end.due(now) || !waiting(queue)) {
            self.round.pop();
        }
        if self.round.is_empty() {
            self.new_round(now, count, waiting);
        }
        self.round.last().copied()
    }

    fn new_round(&mut self, now: Time, count: u32, waiting: impl Fn(u32) -> bool) {
        let mut slots = FIRST_QUEUE_SLOTS;
        let mut end = now;
        let mut first = None;
        for queue in 0..count {
            if waiting(queue) {
                first.get_or_insert(queue);
                if slots < 1.0 {
                    break;
                }
                end = end + slots.floor() * self.slot_s;
                self.round.push((queue, end));
            }
            if first.is_some() {
                slots /= self.factor;
            }
        }
        self.round.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_go_first_in_proportion_to_their_weights() {
        let mut slots = Slots::new(0.008, 10.0);
        let waiting = |queue| [1, 2, 4].contains(&queue);
        let at = |slots: &mut Slots, s: f64| {
            slots.at(Time::from_secs(s), 10, waiting).map(|(q, end)| (q, end.as_secs()))
        };
        // Queue 1 has 256 slots, queue 2 has 25; queue 4 would have 0.256 and gets none.
        assert_eq!(at(&mut slots, 0.0), Some((1, 2.048)));
        assert_eq!(at(&mut slots, 2.0), Some((1, 2.048)));
        assert_eq!(at(&mut slots, 2.048), Some((2, 2.248)));
        assert_eq!(at(&mut slots, 2.248), Some((1, 2.248 + 2.048)));
        assert_eq!(slots.at(Time::from_secs(2.3), 10, |queue| queue == 2), None);
    }
}
