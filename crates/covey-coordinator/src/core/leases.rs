//! Who stands behind a coflow: leases, and the end of coflows that nobody keeps.
//!
//! What a look at the leases costs depends on those that have run out, not on the coflows that are present: they are
//! in order of the time at which the next look is due. Keeping a coflow only moves its end away, which is seen at
//! that look.
//!
//! Who keeps its coflows in time is not in the journal, and a start of the coordinator keeps them anew. Where half
//! of the time is over the journal is told until when: such a coflow has as much time left after a start as before,
//! for the coordinator's clock stands while it is away.

use covey_core::Time;

use super::{Core, Event, Output, Pending};
use crate::coflows::Coflow;
use crate::record::{Lease, Record};

/// Seconds after which it is tried again to forget a coflow that is still there: the journal may have failed.
const FORGET_AGAIN_S: f64 = 60.0;

/// The most coflows that are forgotten at a time for being too many.
const FORGOTTEN_AT_ONCE: usize = 1000;

impl Core {
    /// Somebody stands behind a coflow for so many seconds from now on; for as long as before, if nothing is said.
    pub(super) fn keep(&mut self, serial: u64, for_s: Option<f64>) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        let is_new = for_s.is_some() && coflow.lease_s != for_s;
        if is_new {
            coflow.lease_s = for_s;
        }
        let until = self.now + coflow.lease_s.unwrap_or(self.config.lease_s);
        coflow.kept_until = coflow.kept_until.max(until);
        if std::mem::take(&mut coflow.wanes) || is_new {
            self.coflows.kept_otherwise.insert(serial);
        }
        if let Some(since) = coflow.expired.take() {
            self.coflows.tally.expired -= 1;
            self.coflows.expired.remove(&(since, serial));
            self.coflows.look_at(serial, self.now);
            self.follow(serial);
        }
    }

    /// After a start: coflows of which the journal does not say for how long are kept from now on.
    pub(super) fn keep_all(&mut self) {
        self.coflows.kept_otherwise.clear();
        let mut expired = Vec::new();
        for (&serial, coflow) in &mut self.coflows.present {
            if !coflow.wanes {
                coflow.kept_until = self.now + coflow.lease_s.unwrap_or(self.config.lease_s);
            } else if coflow.kept_until.due(self.now) {
                expired.push((serial, coflow.kept_until));
            }
        }
        for (serial, since) in expired {
            self.expire(serial, since);
        }
    }

    /// What the journal says of a lease.
    pub(super) fn apply_lease(&mut self, lease: &Lease) {
        // It may have gone meanwhile.
        let Some(coflow) = self.coflows.present.get_mut(&lease.id) else { return };
        coflow.lease_s = lease.lease_s;
        coflow.wanes = lease.until_s.is_some();
        if let Some(until_s) = lease.until_s {
            coflow.kept_until = Time::from_secs(until_s);
        }
    }

    /// Nobody has kept a coflow since then: it is out of what is served.
    fn expire(&mut self, serial: u64, since: Time) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        coflow.expired = Some(since);
        self.coflows.tally.expired += 1;
        self.coflows.expired.insert((since, serial));
        self.coflows.look_at(serial, since + self.config.forget_after_s);
        self.outputs.push(Output::Event(Event::Expired { id: serial }));
        self.follow(serial);
    }

    /// Takes what nobody keeps out of what is served, and forgets it after a long time, or where there is too much
    /// of it.
    pub(super) fn follow_leases(&mut self) {
        let now = self.now;
        while let Some(&(at, serial)) = self.coflows.leases.first()
            && at.due(now)
        {
            let Some(coflow) = self.coflows.present.get_mut(&serial) else {
                self.coflows.leases.remove(&(at, serial));
                continue;
            };
            let lease_s = coflow.lease_s.unwrap_or(self.config.lease_s);
            let half = Time::from_secs(coflow.kept_until.as_secs() - lease_s / 2.0);
            if let Some(since) = coflow.expired {
                self.coflows.expired.remove(&(since, serial));
                self.coflows.look_at(serial, now + FORGET_AGAIN_S);
                self.forget(serial);
            } else if coflow.kept_until.due(now) {
                self.expire(serial, now);
            } else if half.due(now) {
                coflow.wanes = true;
                let until = coflow.kept_until;
                self.coflows.look_at(serial, until);
                self.coflows.kept_otherwise.insert(serial);
            } else {
                self.coflows.look_at(serial, half);
            }
        }
        let too_many = self.coflows.expired.len().saturating_sub(self.config.most_expired);
        for _ in 0..too_many.min(FORGOTTEN_AT_ONCE) {
            if let Some((_, serial)) = self.coflows.expired.pop_first() {
                self.coflows.look_at(serial, now + FORGET_AGAIN_S);
                self.forget(serial);
            }
        }
        self.write_leases();
        self.forget_gone();
    }

    fn forget(&mut self, id: u64) {
        let record = Record::Removed { id, at_s: self.now.as_secs() };
        let lsn = self.write(record.clone());
        self.pending.insert(lsn, Pending::Apply(record, Vec::new()));
    }

    /// Has the journal know for how long coflows are kept, where a start could not tell.
    fn write_leases(&mut self) {
        let mut leases = Vec::new();
        for id in std::mem::take(&mut self.coflows.kept_otherwise) {
            leases.extend(self.coflows.present.get(&id).map(|coflow| lease_of(id, coflow)));
        }
        if !leases.is_empty() {
            let record = Record::Kept { at_s: self.now.as_secs(), leases };
            let lsn = self.write(record.clone());
            // It has had its effect, and is written later if it cannot be now.
            self.pending.insert(lsn, Pending::Settle(record, 0, Vec::new()));
        }
    }

    /// Forgets coflows that have gone, where there are too many or it is long ago.
    pub(super) fn forget_gone(&mut self) {
        let before = Time::from_secs(self.now.as_secs() - self.config.forget_after_s);
        self.coflows.forget_gone(self.config.most_gone, before);
    }
}

/// What the journal is to say of a coflow's lease.
pub(super) fn lease_of(id: u64, coflow: &Coflow) -> Lease {
    let until_s = coflow.wanes.then(|| coflow.kept_until.as_secs());
    Lease { id, lease_s: coflow.lease_s, until_s }
}
