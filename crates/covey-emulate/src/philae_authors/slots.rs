//! The main queues' turns.

use std::collections::VecDeque;

/// Cycles of the first queue that has coflows.
const CYCLES: f64 = 256.0;
/// Ratio of the cycles of adjacent queues.
const FACTOR: f64 = 10.0;

/// The main queues that own the coming cycles, in order.
#[derive(Debug, Default)]
pub(super) struct Slots(VecDeque<usize>);

impl Slots {
    /// The queue for the next cycle; `None` if no queue has coflows. If no turns are left, each
    /// queue of `busy` gets new turns, in order.
    pub fn next(&mut self, mut busy: impl Iterator<Item = usize>) -> Option<usize> {
        if self.0.is_empty()
            && let Some(first) = busy.next()
        {
            for queue in std::iter::once(first).chain(busy) {
                let cycles = CYCLES / FACTOR.powi((queue - first) as i32);
                self.0.extend(std::iter::repeat_n(queue, cycles as usize));
            }
        }
        self.0.pop_front()
    }

    /// Drops turns that pass while no coflow is active.
    pub fn pass(&mut self, cycles: u64) {
        self.0.drain(..self.0.len().min(cycles as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_turns_for_each_next_queue() {
        let mut slots = Slots::default();
        assert_eq!(slots.next(std::iter::empty()), None);
        let turns: Vec<_> =
            (0..256 + 25 + 2).map(|_| slots.next([3, 4, 5, 6].into_iter())).collect();
        let turns_of = |queue| turns.iter().filter(|q| **q == Some(queue)).count();
        assert_eq!([3, 4, 5, 6].map(turns_of), [256, 25, 2, 0]);
        assert!(turns.is_sorted());
        assert_eq!(slots.next([5].into_iter()), Some(5));
        slots.pass(1000);
        assert_eq!(slots.next([2].into_iter()), Some(2));
    }
}
