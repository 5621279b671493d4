//! Senders by the time before which none of the bytes for which the policy waits can have been sent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_core::sorted::Sorted;
use covey_core::{Sender, Time};

/// Senders that need not be looked at before some time, each at most once.
#[derive(Debug, Default)]
pub(super) struct SenderCalendar {
    heap: BinaryHeap<Reverse<(Time, Sender)>>,
    /// The time of each sender. Other entries of the heap do not count.
    times: Sorted<Sender, Time>,
}

impl SenderCalendar {
    /// Removes all senders.
    pub fn clear(&mut self) {
        self.heap.clear();
        self.times.clear();
    }

    /// A sender is to be looked at from `time` on, whatever was set before.
    pub fn set(&mut self, sender: Sender, time: Time) {
        self.times.insert(sender, time);
        self.heap.push(Reverse((time, sender)));
    }

    /// Removes a sender.
    pub fn remove(&mut self, sender: Sender) {
        self.times.remove(&sender);
    }

    /// Takes a sender that is to be looked at by `now`, if there is one.
    pub fn pop(&mut self, now: Time) -> Option<Sender> {
        while let Some(&Reverse((time, sender))) = self.heap.peek().filter(|first| first.0.0 <= now)
        {
            self.heap.pop();
            if self.times.get(&sender) == Some(&time) {
                self.times.remove(&sender);
                return Some(sender);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use covey_core::CoflowId;

    use super::*;

    #[test]
    fn a_sender_comes_at_its_last_time_and_once() {
        let sender = |id: u32| Sender::Coflow(CoflowId(id));
        let at = Time::from_secs;
        let mut calendar = SenderCalendar::default();
        calendar.set(sender(1), at(5.0));
        calendar.set(sender(2), at(3.0));
        calendar.set(sender(1), at(2.0));
        calendar.set(sender(3), at(1.0));
        calendar.remove(sender(3));
        assert_eq!(calendar.pop(at(1.5)), None);
        assert_eq!(calendar.pop(at(9.0)), Some(sender(1)));
        assert_eq!(calendar.pop(at(9.0)), Some(sender(2)));
        assert_eq!(calendar.pop(at(9.0)), None);
    }
}
