//! How far the sizes that tenants declare can be believed. Only policies that see sizes are
//! concerned.
//!
//! A flow that has sent more than it declared is of unknown size from then on. A flow of unknown
//! size counts as having as much left as it has sent: so it loses its place as it goes on sending,
//! as under a policy that sees no sizes.
//!
//! The bytes of a tenant's flows are within the sizes that they declared, or beyond. If those
//! beyond are more than a tenth of those within, what the tenant declares later counts as so many
//! times larger as its flows have sent more than they declared. Both sums lose half in an hour, so
//! that honest flows make up for it. A start begins anew.

use std::collections::BTreeMap;

use covey_core::Time;
use covey_proto::MAX_BYTES;

/// Bytes that a flow of which no size was ever declared has left at first: Aalo's first queue.
const FIRST: f64 = 10e6;

/// The part that a tenant's flows may send beyond what they declared: sizes are not always exact.
const INEXACT: f64 = 0.1;

/// Seconds after which bytes count half.
const HALF_S: f64 = 3600.0;

/// What flows of a tenant have sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Bytes within the sizes that they declared.
    within: f64,
    /// Bytes beyond them.
    beyond: f64,
    /// When that was true.
    at: Time,
}

/// What the flows of each tenant have sent, within the sizes that they declared and beyond. Coflows
/// that belong to nobody have a tenant in common.
#[derive(Debug, Default, Clone)]
pub(super) struct Sizes(BTreeMap<Option<String>, Sent>);

impl Sizes {
    /// A flow of a tenant that declared a size had sent `before` bytes and has sent `after` by now.
    pub fn note(
        &mut self,
        tenant: Option<&String>,
        declared: f64,
        (before, after): (f64, f64),
        now: Time,
    ) {
        let within = after.min(declared) - before.min(declared);
        let beyond = (after - declared).max(0.0) - (before - declared).max(0.0);
        if !(within >= 0.0 && beyond >= 0.0 && within + beyond > 0.0) {
            return;
        }
        let none = Sent { within: 0.0, beyond: 0.0, at: now };
        let sent = self.0.entry(tenant.cloned()).or_insert(none);
        let kept = libm::exp2(-(now - sent.at).max(0.0) / HALF_S);
        sent.within = sent.within * kept + within;
        sent.beyond = sent.beyond * kept + beyond;
        sent.at = now;
    }

    /// How many times larger than it declares a tenant's flows are taken to be.
    pub fn factor(&self, tenant: Option<&String>) -> f64 {
        // The entry is looked up by what it owns.
        let sent = self.0.get(&tenant.cloned());
        let factor = |sent: &Sent| (sent.within + sent.beyond) / sent.within.max(1.0);
        let is_inexact = |sent: &&Sent| sent.beyond > INEXACT * sent.within;
        sent.filter(is_inexact).map_or(1.0, factor).clamp(1.0, MAX_BYTES)
    }

    /// The factors of all tenants with a name.
    pub fn factors(&self) -> BTreeMap<String, f64> {
        let named = self.0.keys().flatten();
        named.map(|tenant| (tenant.clone(), self.factor(Some(tenant)))).collect()
    }
}

/// The size that a policy is told of a flow that begins; its tenant's sizes count for so many times
/// what they say.
pub(super) fn at_first(declared: Option<f64>, factor: f64) -> f64 {
    declared.map_or(FIRST, |bytes| (bytes * factor).min(MAX_BYTES))
}

/// Bytes that a flow of unknown size has left, if it is one.
pub(super) fn unknown_left(declared: Option<f64>, sent: f64) -> Option<f64> {
    match declared {
        None => Some(sent.max(FIRST)),
        Some(declared) => (sent > declared).then_some(sent),
    }
}

/// Whether the policy should hear of what a flow has sent by now, because its size has become
/// unknown, or because it has sent twice as much since.
pub(super) fn is_news(declared: Option<f64>, (before, after): (f64, f64)) -> bool {
    let left = |sent| unknown_left(declared, sent).map(f64::log2).map(f64::floor);
    left(before) != left(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_believed_as_far_as_its_flows_sent_what_they_declared() {
        let mut sizes = Sizes::default();
        let [liar, honest] = ["liar", "honest"].map(str::to_owned);
        let at = Time::from_secs;
        assert_eq!(sizes.factor(Some(&liar)), 1.0);
        // A tenth more is inexact.
        sizes.note(Some(&honest), 1e9, (0.0, 1.1e9), at(0.0));
        assert_eq!(sizes.factor(Some(&honest)), 1.0);
        // In steps, as it is reported: 100 bytes were declared.
        for (before, after) in [(0.0, 40.0), (40.0, 150.0), (150.0, 400.0)] {
            sizes.note(Some(&liar), 100.0, (before, after), at(1.0));
        }
        assert_eq!(sizes.factor(Some(&liar)), 4.0);
        // Ten hours later what it sends counts, and hardly what it sent.
        sizes.note(Some(&liar), 1e6, (0.0, 1e6), at(36_001.0));
        assert_eq!(sizes.factor(Some(&liar)), 1.0);
        sizes.note(Some(&liar), 0.0, (0.0, 1e30), at(36_002.0));
        assert!(sizes.factor(Some(&liar)) <= MAX_BYTES);
        assert_eq!(sizes.factor(None), 1.0);
    }

    #[test]
    fn what_is_left_of_an_unknown_size_grows_with_what_was_sent() {
        assert_eq!(unknown_left(Some(5.0), 5.0), None);
        assert_eq!(unknown_left(Some(1.0), 6e9), Some(6e9));
        assert_eq!((unknown_left(None, 0.0), unknown_left(None, 3e7)), (Some(1e7), Some(3e7)));
        assert_eq!(at_first(Some(1.0), 6e9), 6e9);
        assert!(is_news(Some(1.0), (0.5, 1.5)) && is_news(Some(1.0), (7.0, 8.0)));
        assert!(!is_news(Some(1.0), (8.0, 15.0)) && !is_news(Some(9.0), (1.0, 8.0)));
    }
}
