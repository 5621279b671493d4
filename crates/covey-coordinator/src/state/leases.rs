//! Until when coflows are kept, in the order in which that has to be looked at.

use std::collections::BTreeSet;

use covey_core::Time;

/// Until when a coflow is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lease {
    /// Seconds for which it is kept each time, if its client has said so.
    pub lease_s: Option<f64>,
    pub kept_until: Time,
    /// Since when nobody keeps it, if nobody does.
    pub expired: Option<Time>,
    /// Whether half of the time has passed and nobody has kept it since: the journal then says
    /// until when it is kept.
    pub wanes: bool,
    /// When to look at it next; its entry in [`Leases`].
    next_look: Time,
}

impl Lease {
    /// A lease that begins now, of a coflow that is kept for `default_s` seconds unless `lease_s`
    /// says otherwise.
    pub fn new(lease_s: Option<f64>, default_s: f64, now: Time) -> Lease {
        let for_s = lease_s.unwrap_or(default_s);
        Lease {
            lease_s,
            kept_until: now + for_s,
            expired: None,
            wanes: false,
            next_look: now + for_s / 2.0,
        }
    }
}

/// The leases of the coflows that are present, by their numbers. The cost of a look depends on the
/// leases that are due, not on the coflows that are present. Keeping a coflow only moves its end
/// away, which the next look sees.
#[derive(Debug, Default)]
pub(super) struct Leases {
    by_next_look: BTreeSet<(Time, u64)>,
    /// Coflows that nobody keeps, by the time since when.
    expired: BTreeSet<(Time, u64)>,
    /// Coflows whose leases the journal does not know yet.
    changed: BTreeSet<u64>,
}

impl Leases {
    pub fn insert(&mut self, serial: u64, lease: &Lease) {
        self.by_next_look.insert((lease.next_look, serial));
    }

    pub fn remove(&mut self, serial: u64, lease: &Lease) {
        self.by_next_look.remove(&(lease.next_look, serial));
        if let Some(since) = lease.expired {
            self.expired.remove(&(since, serial));
        }
        self.changed.remove(&serial);
    }

    /// The lease that is to be looked at first, if that is due.
    pub fn due(&self, now: Time) -> Option<u64> {
        self.by_next_look.first().filter(|(at, _)| at.due(now)).map(|(_, serial)| *serial)
    }

    /// A lease is to be looked at next at the time `at`.
    pub fn look_at(&mut self, serial: u64, lease: &mut Lease, at: Time) {
        self.by_next_look.remove(&(lease.next_look, serial));
        lease.next_look = at;
        self.by_next_look.insert((at, serial));
    }

    /// Nobody has kept a coflow since then.
    pub fn expire(&mut self, serial: u64, lease: &mut Lease, since: Time) {
        lease.expired = Some(since);
        self.expired.insert((since, serial));
    }

    /// Somebody keeps a coflow again. Returns whether it had expired.
    pub fn renew(&mut self, serial: u64, lease: &mut Lease) -> bool {
        match lease.expired.take() {
            None => false,
            Some(since) => self.expired.remove(&(since, serial)),
        }
    }

    /// An expired coflow is about to be removed: it counts among the expired ones no more.
    pub fn drop_expired(&mut self, serial: u64, since: Time) {
        self.expired.remove(&(since, serial));
    }

    /// How many coflows have expired.
    pub fn expired(&self) -> usize {
        self.expired.len()
    }

    /// The coflow that expired first, which then counts among the expired ones no more.
    pub fn pop_expired(&mut self) -> Option<u64> {
        self.expired.pop_first().map(|(_, serial)| serial)
    }

    /// The journal has to hear of a lease.
    pub fn note_changed(&mut self, serial: u64) {
        self.changed.insert(serial);
    }

    /// Coflows whose leases the journal has to hear of.
    pub fn take_changed(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.changed)
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_next_look.len() + self.expired.len() + self.changed.len()
    }
}
