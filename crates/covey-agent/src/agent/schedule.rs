//! The schedule that an agent holds.

use std::collections::BTreeMap;

use covey_proto::{Entry, FlowKey, Schedule};

use crate::share::Share;

/// What has become of a schedule that came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Update {
    /// The schedule is in force.
    Applied,
    /// The schedule was not newer than the one held, or came from a coordinator that has been replaced.
    Dropped,
    /// The schedule is a difference to one that this agent does not hold.
    Gap,
}

/// The schedule in force, and the flows in it. It also stays in force while the coordinator is away.
#[derive(Debug, Default)]
pub struct HeldSchedule {
    /// Epoch and version of the schedule; zeros if none has come.
    holds: (u64, u64),
    flows: BTreeMap<FlowKey, Share>,
    /// Flows that need nothing more, until a schedule removes them. A schedule that serves such a flow comes from a
    /// coordinator that has not heard of it.
    written: BTreeMap<FlowKey, Share>,
    /// The latest epoch heard of.
    epoch: u64,
    /// Number of schedules dropped.
    dropped: u64,
}

impl HeldSchedule {
    /// Epoch and version; zeros if no schedule has come.
    pub fn holds(&self) -> (u64, u64) {
        self.holds
    }

    /// The flows that are served.
    pub fn flows(&self) -> &BTreeMap<FlowKey, Share> {
        &self.flows
    }

    /// The flows that need nothing more and have not been removed.
    pub fn written(&self) -> impl Iterator<Item = FlowKey> {
        self.written.keys().copied()
    }

    /// Number of schedules dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The share of a flow that is served, or was served last.
    pub fn share(&self, key: FlowKey) -> Option<Share> {
        self.flows.get(&key).or_else(|| self.written.get(&key)).copied()
    }

    /// A coordinator of this epoch has spoken: schedules of earlier epochs no longer count.
    pub fn heard_epoch(&mut self, epoch: u64) {
        self.epoch = self.epoch.max(epoch);
    }

    /// Replaces or changes the schedule. Flows for which `has_ended` holds are left out: the coordinator may not
    /// have heard of their ends.
    pub fn update(&mut self, schedule: Schedule, has_ended: impl Fn(&FlowKey) -> bool) -> Update {
        let Schedule { epoch, version, base, set, removed } = schedule;
        if epoch < self.epoch || (epoch, version) <= self.holds {
            self.dropped += 1;
            return Update::Dropped;
        }
        if base == 0 {
            self.flows.clear();
            self.written.retain(|key, _| set.iter().any(|entry| entry.key == *key));
        } else if (epoch, base) != self.holds {
            return Update::Gap;
        }
        removed.into_iter().for_each(|key| self.remove(key));
        for Entry { key, layer, rate, codec } in set {
            if !has_ended(&key) && !self.written.contains_key(&key) {
                self.flows.insert(key, Share { layer, rate, codec });
            }
        }
        self.epoch = epoch;
        self.holds = (epoch, version);
        Update::Applied
    }

    /// A flow's last bytes are in its socket: the flow needs no rate any more. Returns whether it was served.
    pub fn mark_written(&mut self, key: FlowKey) -> bool {
        let share = self.flows.remove(&key);
        self.written.extend(share.map(|share| (key, share)));
        share.is_some()
    }

    /// A flow has another name from now on.
    pub fn rename(&mut self, from: FlowKey, to: FlowKey) {
        for shares in [&mut self.flows, &mut self.written] {
            if let Some(share) = shares.remove(&from) {
                shares.insert(to, share);
            }
        }
    }

    /// A flow has ended or is no longer scheduled.
    /// Removes the flows that no application has named.
    pub fn forget_numbers(&mut self) {
        self.flows.retain(|key, _| key.number().is_none());
        self.written.retain(|key, _| key.number().is_none());
    }

    pub fn remove(&mut self, key: FlowKey) {
        self.flows.remove(&key);
        self.written.remove(&key);
    }
}
