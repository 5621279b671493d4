//! The earliest of many times of which few change in a round.

use std::ops::Range;

use covey_core::{Time, minimum};

/// Times in one block.
const BLOCK: usize = 64;

/// A time for each number from 0, and the earliest of all: a tree in which each node has the
/// earliest of [`BLOCK`] others.
#[derive(Debug, Default)]
pub(super) struct NextEnds {
    /// The times, then the earliest of each block of them, and so on; the last level is one block.
    levels: Vec<Vec<Time>>,
    /// Blocks of times that have to be looked at again.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
}

impl NextEnds {
    /// None of so many times ever comes.
    pub(super) fn clear(&mut self, times: usize) {
        self.levels.iter_mut().for_each(|level| level.fill(Time::NEVER));
        self.stale.clear();
        self.is_stale.fill(false);
        self.grow(times);
    }

    /// Makes room for so many times, which never come.
    pub(super) fn grow(&mut self, times: usize) {
        if self.levels.first().is_some_and(|level| level.len() >= times) {
            return;
        }
        let before = self.levels.first().map_or(&[][..], Vec::as_slice);
        let mut level = before.to_vec();
        level.resize(times.next_multiple_of(BLOCK), Time::NEVER);
        self.is_stale.resize(level.len() / BLOCK, false);
        (0..level.len() / BLOCK).for_each(|block| self.look_again(block));
        self.levels.clear();
        while level.len() > BLOCK {
            let blocks = (level.len() / BLOCK).next_multiple_of(BLOCK);
            self.levels.push(std::mem::replace(&mut level, vec![Time::NEVER; blocks]));
        }
        self.levels.push(level);
        self.update();
    }

    /// Sets a time.
    pub(super) fn set(&mut self, number: usize, time: Time) {
        self.levels[0][number] = time;
        self.look_again(number / BLOCK);
    }

    fn look_again(&mut self, block: usize) {
        if !std::mem::replace(&mut self.is_stale[block], true) {
            self.stale.push(block as u32);
        }
    }

    /// Brings the earliest time up to date after [`NextEnds::set`].
    pub(super) fn update(&mut self) {
        let NextEnds { levels, stale, is_stale } = self;
        stale.sort_unstable();
        stale.iter().for_each(|&block| is_stale[block as usize] = false);
        for above in 1..levels.len() {
            let (below, level) = levels.split_at_mut(above);
            for block in stale.iter().map(|&block| block as usize) {
                let times = &below[above - 1][block * BLOCK..(block + 1) * BLOCK];
                level[0][block] = minimum(Time::NEVER, times);
            }
            stale.iter_mut().for_each(|block| *block /= BLOCK as u32);
            stale.dedup();
        }
        stale.clear();
    }

    /// The earliest time.
    pub(super) fn first(&self) -> Time {
        self.levels.last().map_or(Time::NEVER, |level| minimum(Time::NEVER, level))
    }

    /// Adds to `due` the numbers whose time has come, ascending.
    pub(super) fn find_due(&self, now: Time, due: &mut Vec<u32>) {
        if let Some(top) = self.levels.last() {
            self.find_due_below(self.levels.len() - 1, 0..top.len(), now, due);
        }
    }

    /// The same for the times below some numbers of a level.
    fn find_due_below(&self, level: usize, numbers: Range<usize>, now: Time, due: &mut Vec<u32>) {
        for number in numbers.filter(|&number| self.levels[level][number].due(now)) {
            if level == 0 {
                due.push(number as u32);
            } else {
                self.find_due_below(level - 1, number * BLOCK..(number + 1) * BLOCK, now, due);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_that_of_a_plain_list() {
        const TIMES: usize = 70 * BLOCK;
        let (mut ends, mut plain) = (NextEnds::default(), vec![Time::NEVER; TIMES]);
        ends.clear(300);
        let mut state = 7_u64;
        for round in 0..2000 {
            if round == 500 {
                ends.grow(TIMES);
            }
            let times = if round < 500 { 300 } else { TIMES };
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (number, time) =
                ((state >> 33) as usize % times, Time::from_secs((state >> 50) as f64));
            ends.set(number, time);
            plain[number] = time;
            ends.update();
            let first = plain.iter().copied().min().expect("some");
            assert_eq!(ends.first(), first);
            let mut due = Vec::new();
            ends.find_due(first, &mut due);
            let sought = (0..TIMES).filter(|&k| plain[k].due(first)).map(|k| k as u32);
            assert!(due.iter().copied().eq(sought));
        }
    }
}
