//! The earliest of many times of which few change in a round.

use covey_core::{Time, minimum};

/// Times in one block.
const BLOCK: usize = 64;

/// A time for each number from 0, and the earliest of all.
#[derive(Debug, Default)]
pub(super) struct NextEnds {
    times: Vec<Time>,
    /// The earliest of each block.
    blocks: Vec<Time>,
    /// Blocks that have to be looked at again.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
}

impl NextEnds {
    /// None of so many times ever comes.
    pub(super) fn clear(&mut self, times: usize) {
        self.times.clear();
        self.blocks.clear();
        self.stale.clear();
        self.is_stale.clear();
        self.grow(times);
    }

    /// Makes room for so many times, which never come.
    pub(super) fn grow(&mut self, times: usize) {
        let times = times.next_multiple_of(BLOCK).max(self.times.len());
        self.times.resize(times, Time::NEVER);
        self.blocks.resize(times / BLOCK, Time::NEVER);
        self.is_stale.resize(times / BLOCK, false);
    }

    /// Sets a time.
    pub(super) fn set(&mut self, number: usize, time: Time) {
        self.times[number] = time;
        let block = number / BLOCK;
        if !std::mem::replace(&mut self.is_stale[block], true) {
            self.stale.push(block as u32);
        }
    }

    /// Brings the earliest time up to date after [`NextEnds::set`].
    pub(super) fn update(&mut self) {
        for block in self.stale.drain(..) {
            let block = block as usize;
            self.is_stale[block] = false;
            self.blocks[block] =
                minimum(Time::NEVER, &self.times[block * BLOCK..(block + 1) * BLOCK]);
        }
    }

    /// The earliest time.
    pub(super) fn first(&self) -> Time {
        minimum(Time::NEVER, &self.blocks)
    }

    /// Adds to `due` the numbers whose time has come, ascending.
    pub(super) fn find_due(&self, now: Time, due: &mut Vec<u32>) {
        for (block, _) in self.blocks.iter().enumerate().filter(|(_, first)| first.due(now)) {
            let numbers = block * BLOCK..(block + 1) * BLOCK;
            due.extend(numbers.filter(|&k| self.times[k].due(now)).map(|k| k as u32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_that_of_a_plain_list() {
        let (mut ends, mut plain) = (NextEnds::default(), vec![Time::NEVER; 300]);
        ends.clear(300);
        let mut state = 7_u64;
        for _ in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (number, time) =
                ((state >> 33) as usize % 300, Time::from_secs((state >> 50) as f64));
            ends.set(number, time);
            plain[number] = time;
            ends.update();
            let first = plain.iter().copied().min().expect("some");
            assert_eq!(ends.first(), first);
            let mut due = Vec::new();
            ends.find_due(first, &mut due);
            let sought = (0..300).filter(|&k| plain[k].due(first)).map(|k| k as u32);
            assert!(due.iter().copied().eq(sought));
        }
    }
}
