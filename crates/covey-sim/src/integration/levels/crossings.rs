//! The links whose levels have crossed that of another link.

use covey_core::positions_where;

/// Working memory of a change of levels.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Links whose level changes.
    pub changed: Vec<u32>,
    /// Those of them whose flows another link may begin to limit.
    pub crossing: Vec<u32>,
    /// Links of the other side whose levels were crossed.
    pub crossed: Vec<u32>,
    /// Flows that may move to their other link, or that end.
    pub moving: Vec<u32>,
    /// Receivers that can be crossed.
    pub open: Open,
}

/// Receivers with a level, now or before. The flows to all other receivers stay attached there,
/// because the receiver limits if both links have the same level.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// The receivers.
    pub receivers: Vec<u32>,
    /// Their levels before.
    pub before: Vec<f64>,
    /// Their levels now.
    pub after: Vec<f64>,
}

impl Open {
    /// Finds the open receivers by the levels of all receivers.
    pub(super) fn find(&mut self, before: &[f64], after: &[f64]) {
        self.receivers.resize(before.len(), 0);
        self.before.resize(before.len(), 0.0);
        self.after.resize(before.len(), 0.0);
        let mut count = 0;
        // Every receiver is written, and the next one overwrites it unless it is open: without a
        // branch there is no misprediction.
        for (k, (&before, &after)) in before.iter().zip(after).enumerate() {
            self.receivers[count] = k as u32;
            self.before[count] = before;
            self.after[count] = after;
            count += usize::from((before > 0.0) | (after > 0.0));
        }
        self.receivers.truncate(count);
        // No link crosses a receiver without a level, so such receivers fill the last vector.
        for levels in [&mut self.before, &mut self.after] {
            levels.truncate(count);
            levels.resize(count.next_multiple_of(16), 0.0);
        }
    }
}

/// Adds to `positions` the positions at which `crosses` holds for the levels before and after.
pub(super) fn crossings(
    (before, after): (&[f64], &[f64]),
    crosses: impl Fn(f64, f64) -> bool,
    positions: &mut Vec<u32>,
) {
    positions.extend(positions_where(before, after, crosses).map(|k| k as u32));
}
