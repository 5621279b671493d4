//! Refusals: their reasons, counts and logs.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Why a connection or a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The door has its maximum of connections, all with a credential.
    Full,
    /// The peer has its maximum of connections, all with a credential.
    PeerQuota,
    /// The connection has no credential, and made room for another one.
    Displaced,
    /// The connection showed no credential in time.
    Late,
    /// The process has too many open files.
    Files,
    /// The handshake of TLS failed: the certificate is wrong, expired or revoked, or this is no
    /// TLS.
    Handshake,
    /// The certificate is not for the port that is claimed, or the token is wrong.
    Credential,
    /// The token lacks a right.
    Right,
    /// The other side speaks another version.
    Version,
    /// The first message is no hello.
    Order,
    /// Bytes that are no message.
    Garbage,
    /// More requests or bodies than may come at a time.
    Rate,
    /// The body of a request did not come in time.
    SlowBody,
    /// The way an application opens a flow contradicts the flow's registration.
    Registration,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 14] = [
        Reason::Full,
        Reason::PeerQuota,
        Reason::Displaced,
        Reason::Late,
        Reason::Files,
        Reason::Handshake,
        Reason::Credential,
        Reason::Right,
        Reason::Version,
        Reason::Order,
        Reason::Garbage,
        Reason::Rate,
        Reason::SlowBody,
        Reason::Registration,
    ];

    /// The name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Full => "full",
            Reason::PeerQuota => "peer_quota",
            Reason::Displaced => "displaced",
            Reason::Late => "late",
            Reason::Files => "files",
            Reason::Handshake => "handshake",
            Reason::Credential => "credential",
            Reason::Right => "right",
            Reason::Version => "version",
            Reason::Order => "order",
            Reason::Garbage => "garbage",
            Reason::Rate => "rate",
            Reason::SlowBody => "slow_body",
            Reason::Registration => "registration",
        }
    }
}

/// Refusals of a reason that are logged at once.
const BURST: u32 = 5;
/// The time after which one more is logged.
const LOG_EVERY: Duration = Duration::from_secs(20);

/// How many refusals of a reason may be logged, and how many were not.
#[derive(Debug, Clone, Copy)]
struct LogBudget {
    left: u32,
    /// When the budget last grew; none before the first refusal.
    since: Option<Instant>,
    unlogged: u64,
}

impl LogBudget {
    const FULL: LogBudget = LogBudget { left: BURST, since: None, unlogged: 0 };

    /// Whether one is logged now. Returns how many before it were not.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(now);
        let periods = now.duration_since(since).as_secs() / LOG_EVERY.as_secs();
        if periods > 0 {
            self.left = BURST.min(self.left.saturating_add(periods.try_into().unwrap_or(BURST)));
            self.since = Some(now);
        }
        if self.left == 0 {
            self.unlogged += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.unlogged))
    }
}

/// Counts and logs the refusals of a door.
#[derive(Debug)]
pub struct Refusals {
    door: &'static str,
    counts: [AtomicU64; Reason::ALL.len()],
    budgets: Mutex<[LogBudget; Reason::ALL.len()]>,
}

impl Refusals {
    /// For a door with this name in logs and metrics.
    pub fn new(door: &'static str) -> Refusals {
        let budgets = Mutex::new([LogBudget::FULL; Reason::ALL.len()]);
        Refusals { door, counts: Default::default(), budgets }
    }

    /// The name of the door.
    pub fn door(&self) -> &'static str {
        self.door
    }

    /// How many refusals had this reason.
    pub fn count(&self, reason: Reason) -> u64 {
        self.counts[reason as usize].load(Ordering::Relaxed)
    }

    /// Counts a refusal of `peer`, which claims to be the agent of `port`. Logs it, unless many of
    /// this reason were logged just before: then a later line says how many were not.
    pub fn refuse(
        &self,
        reason: Reason,
        peer: impl Display,
        port: Option<u32>,
        detail: impl Display,
    ) {
        let total = 1 + self.counts[reason as usize].fetch_add(1, Ordering::Relaxed);
        let mut budgets = self.budgets.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(unlogged) = budgets[reason as usize].take(Instant::now()) else { return };
        drop(budgets);
        let (door, reason) = (self.door, reason.name());
        tracing::warn!(door, reason, %peer, port, total, unlogged, "refused: {detail}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_apart_and_have_names_of_their_own() {
        let refusals = Refusals::new("agents");
        for (k, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, k);
            (0..=k).for_each(|_| refusals.refuse(reason, "10.0.0.1", None, "for a test"));
        }
        let counts = Reason::ALL.map(|reason| refusals.count(reason));
        assert!(counts.into_iter().eq(1..=Reason::ALL.len() as u64));
        let names: std::collections::BTreeSet<_> = Reason::ALL.map(Reason::name).into();
        assert_eq!(names.len(), Reason::ALL.len());
    }

    #[test]
    fn a_flood_is_logged_a_few_times_and_then_seldom() {
        let mut budget = LogBudget::FULL;
        let begin = Instant::now();
        // A thousand refusals a second for ten minutes.
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let logged: Vec<u64> = (0..600_000).filter_map(|ms| budget.take(at(ms))).collect();
        assert_eq!(logged.len() as u64, 5 + (600 - 1) / LOG_EVERY.as_secs());
        assert_eq!(logged[..6], [0, 0, 0, 0, 0, 19_995]);
        let unlogged: u64 = logged.iter().sum();
        assert_eq!(unlogged + budget.unlogged + logged.len() as u64, 600_000);
        // After a quiet hour a few are logged at once again.
        let later = (0..100).filter_map(|ms| budget.take(at(4_200_000 + ms))).count();
        assert_eq!(later as u32, BURST);
    }
}
