//! Wake-ups by the time before which none of them can come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_core::{Time, WakeId};

/// Wake-ups that need not be looked at before some time, each at most once.
#[derive(Debug, Default)]
pub(super) struct WakeCalendar {
    heap: BinaryHeap<Reverse<(Time, WakeId)>>,
    /// By [`WakeId`], the time of each; never if there is none. Other entries of the heap do not
    /// count.
    times: Vec<Time>,
}

impl WakeCalendar {
    /// Removes all wake-ups.
    pub fn clear(&mut self) {
        self.heap.clear();
        self.times.clear();
    }

    /// A wake-up is to be looked at by `time`, and not before `after`, which is earlier.
    ///
    /// It is looked at half-way, as policies ask for fewer and fewer bytes: the next number rarely
    /// changes anything here.
    pub fn set(&mut self, id: WakeId, after: Time, time: Time) {
        if self.times.len() <= id.index() {
            self.times.resize(id.index() + 1, Time::NEVER);
        }
        if self.times[id.index()] > time {
            let half_way = after + (time - after) / 2.0;
            let time = if half_way > after { half_way } else { time };
            self.times[id.index()] = time;
            self.heap.push(Reverse((time, id)));
        }
    }

    /// Takes a wake-up that is to be looked at by `now`, if there is one.
    pub fn pop(&mut self, now: Time) -> Option<WakeId> {
        while let Some(&Reverse((time, id))) = self.heap.peek().filter(|first| first.0.0 <= now) {
            self.heap.pop();
            if self.times[id.index()] == time {
                self.times[id.index()] = Time::NEVER;
                return Some(id);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_comes_by_its_earliest_time_and_once() {
        let (at, start) = (Time::from_secs, Time::ZERO);
        let mut calendar = WakeCalendar::default();
        calendar.set(WakeId(1), start, at(5.0));
        calendar.set(WakeId(2), start, at(6.0));
        calendar.set(WakeId(1), start, at(2.0));
        // Wake-up 2 is looked at after 3 s anyway, half of 6 s. So this call changes nothing.
        calendar.set(WakeId(2), start, at(4.0));
        assert_eq!(calendar.pop(at(0.9)), None);
        assert_eq!(calendar.pop(at(9.0)), Some(WakeId(1)));
        assert_eq!(calendar.pop(at(9.0)), Some(WakeId(2)));
        assert_eq!(calendar.pop(at(9.0)), None);
    }

    /// A look must not find a wake-up again and again.
    #[test]
    fn a_wake_up_does_not_come_before_the_time_after_which_it_was_set() {
        let (after, time) = (Time::from_secs(1.0), Time::from_secs(1.0_f64.next_up()));
        let mut calendar = WakeCalendar::default();
        calendar.set(WakeId(0), after, time);
        assert_eq!((calendar.pop(after), calendar.pop(time)), (None, Some(WakeId(0))));
    }
}
