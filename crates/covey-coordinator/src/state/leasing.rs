//! Leases by which clients keep coflows, and the end of coflows that nobody keeps.
//!
//! The journal does not hold that somebody keeps a coflow in time: a start of the coordinator keeps
//! all coflows again. When half of a lease has passed the journal is told until when it lasts. Such
//! a coflow has as much time left after a start as before, for the coordinator's clock stands while
//! it is away.

use covey_core::Time;

use super::coflows::Coflow;
use super::coordinator::CoordinatorState;
use super::effects::Event;
use crate::record::{Lease, Record};

/// Seconds after which the coordinator tries again to remove a coflow: the journal may have failed.
const REMOVE_AGAIN_S: f64 = 60.0;

/// The most coflows that are removed at a time because there are too many.
const MAX_REMOVED_AT_ONCE: usize = 1000;

impl CoordinatorState {
    /// Keeps a coflow for so many seconds from now on; for as long as before, if `for_s` is `None`.
    pub(super) fn keep(&mut self, serial: u64, for_s: Option<f64>) {
        let (now, default_s) = (self.now, self.config.lease_s);
        let renewed = self.coflows.change(serial, |coflow, leases| {
            let lease = &mut coflow.lease;
            let is_new = for_s.is_some() && lease.lease_s != for_s;
            if is_new {
                lease.lease_s = for_s;
            }
            let until = now + lease.lease_s.unwrap_or(default_s);
            lease.kept_until = lease.kept_until.max(until);
            if std::mem::take(&mut lease.wanes) || is_new {
                leases.note_changed(serial);
            }
            let had_expired = leases.renew(serial, lease);
            if had_expired {
                leases.look_at(serial, lease, now);
            }
            had_expired
        });
        if renewed == Some(true) {
            self.follow(serial);
        }
    }

    /// After a start: keeps the coflows from now on of which the journal does not say until when.
    pub(super) fn keep_all(&mut self) {
        self.coflows.leases.take_changed();
        let mut expired = Vec::new();
        for serial in self.coflows.serials() {
            let Some(Coflow { lease, .. }) = self.coflows.get_mut(serial) else { continue };
            if !lease.wanes {
                lease.kept_until = self.now + lease.lease_s.unwrap_or(self.config.lease_s);
            } else if lease.kept_until.due(self.now) {
                expired.push((serial, lease.kept_until));
            }
        }
        for (serial, since) in expired {
            self.expire(serial, since);
        }
    }

    /// Takes over what the journal says of a lease.
    pub(super) fn apply_lease(&mut self, lease: &Lease) {
        // The coflow may have gone meanwhile.
        let Some(coflow) = self.coflows.get_mut(lease.id) else { return };
        coflow.lease.lease_s = lease.lease_s;
        coflow.lease.wanes = lease.until_s.is_some();
        if let Some(until_s) = lease.until_s {
            coflow.lease.kept_until = Time::from_secs(until_s);
        }
    }

    /// Nobody has kept a coflow since then: its flows lose their rates.
    fn expire(&mut self, serial: u64, since: Time) {
        let remove_at = since + self.config.forget_after_s;
        let is_present = self.coflows.change(serial, |coflow, leases| {
            leases.expire(serial, &mut coflow.lease, since);
            leases.look_at(serial, &mut coflow.lease, remove_at);
        });
        if is_present.is_some() {
            self.effects.event(Event::Expired { id: serial });
            self.follow(serial);
        }
    }

    /// Expires coflows that nobody keeps. Removes them after a long time, or if there are too many.
    pub(super) fn follow_leases(&mut self) {
        let now = self.now;
        while let Some(serial) = self.coflows.leases.due(now) {
            let Some(coflow) = self.coflows.get(serial) else { break };
            let lease = coflow.lease;
            let lease_s = lease.lease_s.unwrap_or(self.config.lease_s);
            let half = Time::from_secs(lease.kept_until.as_secs() - lease_s / 2.0);
            if let Some(since) = lease.expired {
                self.coflows.leases.drop_expired(serial, since);
                self.coflows.look_at(serial, now + REMOVE_AGAIN_S);
                self.remove_expired(serial);
            } else if lease.kept_until.due(now) {
                self.expire(serial, now);
            } else if half.due(now) {
                if let Some(coflow) = self.coflows.get_mut(serial) {
                    coflow.lease.wanes = true;
                }
                self.coflows.look_at(serial, lease.kept_until);
                self.coflows.leases.note_changed(serial);
            } else {
                self.coflows.look_at(serial, half);
            }
        }
        let too_many = self.coflows.leases.expired().saturating_sub(self.config.max_expired);
        for _ in 0..too_many.min(MAX_REMOVED_AT_ONCE) {
            if let Some(serial) = self.coflows.leases.pop_expired() {
                self.coflows.look_at(serial, now + REMOVE_AGAIN_S);
                self.remove_expired(serial);
            }
        }
        self.write_leases();
        self.forget_gone();
    }

    fn remove_expired(&mut self, id: u64) {
        if self.order.is_changing(id) {
            // A client changes the coflow, so it is there.
            return;
        }
        let record = Record::Removed { id, at_s: self.now.as_secs() };
        self.journal_change(record, None, vec![id]);
    }

    /// Tells the journal until when coflows are kept, where a start could not know.
    fn write_leases(&mut self) {
        let changed = self.coflows.leases.take_changed().into_iter();
        let leases: Vec<Lease> =
            changed.filter_map(|id| Some(lease_of(id, self.coflows.get(id)?))).collect();
        if !leases.is_empty() {
            let record = Record::Kept { at_s: self.now.as_secs(), leases };
            // The record has had its effect. If it cannot be written now, it is written later.
            self.journal.acknowledge(record, 0, Vec::new(), &mut self.effects);
        }
    }

    /// Forgets coflows that have gone, if there are too many or it is long ago.
    pub(super) fn forget_gone(&mut self) {
        let before = Time::from_secs(self.now.as_secs() - self.config.forget_after_s);
        self.coflows.forget_gone(self.config.max_gone, before, &self.limits);
    }
}

/// What the journal has to say of a coflow's lease.
pub(super) fn lease_of(id: u64, Coflow { lease, .. }: &Coflow) -> Lease {
    let until_s = lease.wanes.then(|| lease.kept_until.as_secs());
    Lease { id, lease_s: lease.lease_s, until_s }
}
