//! The bytes that flows send in a stretch of quanta, in the order in which CoflowSim counts them.

use super::repeat::{Units, repeat};

/// The bytes that a flow sends within a stretch of quanta.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    /// Bytes in each quantum before `end`.
    pub step: f64,
    /// Bytes in the quantum `end`.
    pub last: f64,
    /// The last quantum, counted from 1.
    pub end: u64,
}

impl Move {
    /// Bytes in a quantum that is not after the last.
    pub fn in_quantum(&self, quantum: u64) -> f64 {
        if quantum == self.end { self.last } else { self.step }
    }
}

/// The quanta, in order and once each, in which `moves` end.
pub(super) fn ends(moves: &[Move]) -> Vec<u64> {
    let mut ends: Vec<u64> = moves.iter().map(|m| m.end).filter(|&end| end != u64::MAX).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// Whether bytes are added to a count or subtracted from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Book {
    /// Adds to the bytes sent.
    Add,
    /// Subtracts from the bytes left, which do not fall below zero.
    Take,
}

impl Book {
    fn once(self, count: f64, bytes: f64) -> f64 {
        match self {
            Self::Add => count + bytes,
            Self::Take => (count - bytes).max(0.0),
        }
    }
}

/// Books all `moves` of `quanta` quanta. Each quantum books the moves in their order.
pub(super) fn book_all(mut count: f64, moves: &[Move], quanta: u64, book: Book) -> f64 {
    if let Some(count) = book_at_once(count, moves, quanta, book) {
        return count;
    }
    let mut done = 0;
    let mut running = moves.to_vec();
    let pass = |count, running: &[Move]| running.iter().fold(count, |x, m| book.once(x, m.step));
    for end in ends(moves) {
        count = repeat(count, end - done - 1, |x| pass(x, &running));
        count = running.iter().fold(count, |x, m| book.once(x, m.in_quantum(end)));
        running.retain(|m| m.end > end);
        done = end;
    }
    repeat(count, quanta - done, |x| pass(x, &running))
}

/// Like [`book_all`], in one step. This is possible if `count` stays between two powers of two and
/// no bytes lie half way between two units ([`Units`]), because the order then does not matter.
/// Otherwise `None`.
pub(super) fn book_at_once(count: f64, moves: &[Move], quanta: u64, book: Book) -> Option<f64> {
    let units = Units::of(count)?;
    let mut total = 0.0;
    for m in moves {
        let (times, last) = if m.end <= quanta { (m.end - 1, m.last) } else { (quanta, 0.0) };
        total += times as f64 * units.whole(m.step) + units.whole(last);
    }
    // Sums of whole numbers are exact unless they are too large in any case.
    match book {
        Book::Add => units.more(count, total),
        Book::Take => units.less(count, total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::java_random::JavaRandom;

    #[test]
    fn books_at_once_as_one_by_one() {
        let mut random = JavaRandom::new(4);
        let mut at_once = [0; 2];
        for _ in 0..20_000 {
            let count = 2_f64.powf(40.0 * random.next_double());
            let quanta = random.next_int(40) as u64 + 1;
            // All digits; few digits; only the digit of half a unit.
            let steps =
                [random.next_double(), 0.75, f64::EPSILON * 2_f64.powi(random.next_int(60))];
            let max = count * 2_f64.powf(-12.0 * random.next_double());
            let moves = (0..random.next_int(12)).map(|_| {
                let step = max * steps[random.next_int(3) as usize];
                let end = random.next_int(80) as u64 + 1;
                let end = if end <= quanta { end } else { u64::MAX };
                let last = if end == u64::MAX { step } else { step * random.next_double() };
                Move { step, last, end }
            });
            let moves: Vec<Move> = moves.collect();
            for (k, book) in [Book::Add, Book::Take].into_iter().enumerate() {
                let mut slow = count;
                for quantum in 1..=quanta {
                    let open = moves.iter().filter(|m| m.end >= quantum);
                    slow = open.fold(slow, |x, m| book.once(x, m.in_quantum(quantum)));
                }
                let fast = book_at_once(count, &moves, quanta, book);
                at_once[k] += i32::from(fast.is_some());
                assert!(fast.is_none_or(|fast| fast == slow), "{count} {moves:?} {quanta}");
                assert_eq!(
                    book_all(count, &moves, quanta, book),
                    slow,
                    "{count} {moves:?} {quanta}"
                );
            }
        }
        assert!(at_once.iter().all(|number| *number > 2000), "{at_once:?}");
    }
}
