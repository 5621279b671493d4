//! Weighted sharing among queues by time slots (Philae §4.3, §4.5).
//!
//! In each cycle, every queue that waits goes first for a number of consecutive slots. The number
//! falls by a factor from queue to queue, down to one slot. In the slots of the other queues a
//! queue keeps its strict order. So every queue that waits has a turn in each cycle, and capacity
//! is not divided.

use covey_core::Time;

/// Slots of the first queue of a cycle. The next queues get fewer, but at least one.
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

    /// The queue that owns the slot at `now`, and the end of its slots; `None` while at most one
    /// queue waits, because nothing needs to be shared. `waiting` says which of the `count` queues
    /// are not empty. The cycle goes on without a slot: a queue keeps the turn that it has not had.
    pub fn at(
        &mut self,
        now: Time,
        count: u32,
        waiting: impl Fn(u32) -> bool,
    ) -> Option<(u32, Time)> {
        while self.round.last().is_some_and(|&(queue, end)| end.due(now) || !waiting(queue)) {
            self.round.pop();
        }
        if (0..count).filter(|&queue| waiting(queue)).count() < 2 {
            return None;
        }
        if self.round.is_empty() {
            self.new_round(now, count, waiting);
        }
        self.round.last().copied()
    }

    fn new_round(&mut self, now: Time, count: u32, waiting: impl Fn(u32) -> bool) {
        let mut slots = FIRST_QUEUE_SLOTS;
        let mut end = now;
        for queue in (0..count).skip_while(|&queue| !waiting(queue)) {
            if waiting(queue) {
                end = end + slots.floor().max(1.0) * self.slot_s;
                self.round.push((queue, end));
            }
            slots /= self.factor;
        }
        self.round.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn queues_go_first_in_proportion_to_their_weights() {
        let mut slots = Slots::new(0.008, 10.0);
        let waiting = |queue| [1, 2, 4].contains(&queue);
        let at = |slots: &mut Slots, s: f64| {
            let at = slots.at(Time::from_secs(s), 10, waiting);
            at.map(|(queue, end)| (queue, (end.as_secs() * 1e3).round()))
        };
        // In milliseconds. Queue 1 has 256 slots, queue 2 has 25, queue 4 has one in place of
        // 0.256.
        assert_eq!(at(&mut slots, 0.0), Some((1, 2048.0)));
        assert_eq!(at(&mut slots, 2.0), Some((1, 2048.0)));
        assert_eq!(at(&mut slots, 2.048), Some((2, 2248.0)));
        assert_eq!(at(&mut slots, 2.248), Some((4, 2256.0)));
        assert_eq!(at(&mut slots, 2.256), Some((1, 4304.0)));
        assert_eq!(slots.at(Time::from_secs(2.3), 10, |queue| queue == 2), None);
    }

    #[test]
    fn a_queue_that_was_alone_for_a_moment_keeps_its_turn() {
        let mut slots = Slots::new(0.008, 10.0);
        let both = |queue| queue == 0 || queue == 5;
        assert_eq!(slots.at(Time::from_secs(0.0), 10, both).map(|(q, _)| q), Some(0));
        // The upper queue is empty for a microsecond. It would go first again if the cycle began
        // again.
        assert_eq!(slots.at(Time::from_secs(2.04), 10, |queue| queue == 5), None);
        let turn = slots.at(Time::from_secs(2.040_001), 10, both);
        assert_eq!(turn.map(|(q, end)| (q, (end.as_secs() * 1e3).round())), Some((5, 2056.0)));
    }

    proptest! {
        /// Philae §4.3: whatever queues wait, each has a turn of at least a slot in each cycle.
        #[test]
        fn every_queue_that_waits_has_a_turn_in_each_cycle(
            waits in prop::collection::vec(any::<bool>(), 2..64),
            factor in 1.01..1e6_f64,
            start_s in 0.0..1e6_f64,
        ) {
            let count = waits.len() as u32;
            let waiting = |queue: u32| waits[queue as usize];
            let expected: Vec<u32> = (0..count).filter(|&queue| waiting(queue)).collect();
            prop_assume!(expected.len() > 1);
            let mut slots = Slots::new(0.008, factor);
            let mut now = Time::from_secs(start_s);
            for _cycle in 0..2 {
                for &queue in &expected {
                    let (owner, end) = slots.at(now, count, waiting).expect("a turn");
                    prop_assert_eq!(owner, queue);
                    prop_assert!(end.as_secs() - now.as_secs() >= 0.008 - 1e-9);
                    now = end;
                }
            }
        }
    }
}
