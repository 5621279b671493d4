//! The bytes that flows send in a stretch of quanta, in the order in which CoflowSim counts them.

use super::repeat::repeat;

/// What a flow sends within a stretch of quanta.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    /// Bytes in each quantum, ...
    pub step: f64,
    /// ... but for the last, ...
    pub last: f64,
    /// ... counted from 1.
    pub end: u64,
}

impl Move {
    /// Bytes in a quantum, not after the last.
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

/// Books all `moves` of `quanta` quanta: `book` adds bytes to a count, or takes them away. Each
/// quantum books the moves in their order.
pub(super) fn book_all(
    mut count: f64,
    moves: &[Move],
    quanta: u64,
    book: impl Fn(f64, f64) -> f64,
) -> f64 {
    let mut done = 0;
    let mut running = moves.to_vec();
    for end in ends(moves) {
        count = repeat(count, end - done - 1, |x| running.iter().fold(x, |x, m| book(x, m.step)));
        count = running.iter().fold(count, |x, m| book(x, m.in_quantum(end)));
        running.retain(|m| m.end > end);
        done = end;
    }
    repeat(count, quanta - done, |x| running.iter().fold(x, |x, m| book(x, m.step)))
}
