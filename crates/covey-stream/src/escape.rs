//! The escape from starvation of one sub-coflow (Stream, §III-D).
//!
//! In the paper the sender of a flow that has waited for 10 ms sends again with a higher priority,
//! until the flow escapes; the receiver then raises the coflow. The paper does not say for how
//! long. One level every 10 ms for good would lift every starved flow to the top within 10·(K − 1)
//! ms, and Stream would be fair sharing. So here a raise ends, and the next one needs more
//! patience:
//!
//! - Senders look at times that are multiples of the patience, which begins at `escape`. A flow
//!   starves if it has sent nothing since the previous look.
//! - If a flow starves, its sub-coflow is raised by one level. After `raise` the senders look
//!   again: if a flow still starves, it is raised by one more, at most to the top, where every flow
//!   gets a part of its links.
//! - If no flow starves, the raise ends. The patience doubles, as TCP's retransmission timer does,
//!   up to a limit.
//!
//! So a flow waits no longer than [`EscapeRules::max_wait_s`].

use covey_core::Time;

/// The constants of the escape, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EscapeRules {
    /// The first patience.
    pub first_s: f64,
    /// How long each level of a raise lasts.
    pub raise_s: f64,
    /// The longest patience.
    pub longest_s: f64,
}

impl Default for EscapeRules {
    fn default() -> EscapeRules {
        EscapeRules { first_s: 0.01, raise_s: 0.01, longest_s: 10.0 }
    }
}

impl EscapeRules {
    /// The longest time for which a flow gets nothing, without the time that a new priority is on
    /// its way: two times the patience, as it may begin to starve just after a look, and one raise
    /// for each level.
    pub fn max_wait_s(&self, queues: u32) -> f64 {
        2.0 * self.longest_s.max(self.first_s) + f64::from(queues - 1) * self.raise_s
    }
}

/// The state of one sub-coflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Escape {
    /// By how many levels it is raised.
    pub raised: u32,
    patience_s: f64,
    /// When senders look next; never while it is in the top queue.
    pub next: Time,
}

impl Default for Escape {
    fn default() -> Escape {
        Escape { raised: 0, patience_s: 0.0, next: Time::NEVER }
    }
}

impl Escape {
    /// The sub-coflow has left the top queue at `now`.
    pub fn begin(&mut self, rules: &EscapeRules, now: Time) {
        self.patience_s = rules.first_s;
        self.next = next_multiple(self.patience_s, now);
    }

    /// Senders have looked at `now`. The sub-coflow is in queue `class`, and `starves` if one of
    /// its flows has sent nothing since the previous look.
    pub fn look(&mut self, rules: &EscapeRules, class: u32, starves: bool, now: Time) {
        if starves {
            self.raised = (self.raised + 1).min(class);
            self.next = now + rules.raise_s;
        } else {
            self.raised = 0;
            self.patience_s = (2.0 * self.patience_s).min(rules.longest_s.max(rules.first_s));
            self.next = next_multiple(self.patience_s, now);
        }
    }
}

/// The first multiple of a number of seconds after `now`.
fn next_multiple(seconds: f64, now: Time) -> Time {
    let next = Time::from_secs(((now.as_secs() / seconds).floor() + 1.0) * seconds);
    if next.due(now) { next + seconds } else { next }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: EscapeRules = EscapeRules { first_s: 0.01, raise_s: 0.002, longest_s: 0.08 };

    #[test]
    fn a_starving_sub_coflow_is_raised_level_by_level_and_falls_back() {
        let mut escape = Escape::default();
        escape.begin(&RULES, Time::from_secs(0.5));
        let mut raised = Vec::new();
        for starves in [false, true, true, true, true, false, true] {
            escape.look(&RULES, 3, starves, escape.next);
            raised.push(escape.raised);
        }
        assert_eq!(raised, [0, 1, 2, 3, 3, 0, 1]);
    }

    #[test]
    fn looks_become_rarer_up_to_the_longest_patience() {
        let mut escape = Escape::default();
        escape.begin(&RULES, Time::ZERO);
        let mut last = Time::ZERO;
        for _ in 0..20 {
            assert!(escape.next - last <= RULES.longest_s + 1e-12);
            last = escape.next;
            escape.look(&RULES, 1, false, last);
        }
        assert!((escape.next - last - RULES.longest_s).abs() < 1e-12);
        assert_eq!(RULES.max_wait_s(4), 0.166);
    }
}
