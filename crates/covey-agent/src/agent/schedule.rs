//! The schedule that an agent holds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use covey_proto::{Entry, FlowName, Passing, Schedule, Service};

/// What has become of a schedule that came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Update {
    /// The schedule is in force.
    Applied,
    /// The schedule was not newer than the one held, or came from a coordinator that has been
    /// replaced.
    Dropped,
    /// The schedule is a difference to one that this agent does not hold.
    Gap,
}

/// The schedule in force, and the flows in it. It also stays in force while the coordinator is
/// away.
#[derive(Debug, Default)]
pub struct HeldSchedule {
    /// Epoch and version of the schedule; zeros if none has come.
    holds: (u64, u64),
    flows: BTreeMap<FlowName, Service>,
    /// Flows that need nothing more, until a schedule removes them. A schedule that serves such a
    /// flow comes from a coordinator that has not heard of it.
    written: BTreeMap<FlowName, Service>,
    /// Flows that have ended or need nothing more, each with the flow that has its rate.
    passed: BTreeMap<FlowName, FlowName>,
    /// What the schedule gives to such flows, until one removes them.
    carried: BTreeMap<FlowName, Service>,
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

    /// The flows that are served, with the rates that others have passed on to them.
    pub fn services(&self) -> Cow<'_, BTreeMap<FlowName, Service>> {
        if self.carried.is_empty() {
            return Cow::Borrowed(&self.flows);
        }
        let mut services = self.flows.clone();
        for (&key, &service) in &self.carried {
            let heir = services.entry(self.heir(key)).or_insert(Service {
                rate: 0.0,
                codec: None,
                ..service
            });
            heir.rate += service.rate;
        }
        Cow::Owned(services)
    }

    /// The flow that has the rate of a flow in the end.
    fn heir(&self, key: FlowName) -> FlowName {
        let mut heir = key;
        // No flow is passed on twice, so that a chain ends.
        while let Some(&next) = self.passed.get(&heir) {
            heir = next;
        }
        heir
    }

    /// Whether a flow has a rate.
    pub fn is_served(&self, key: FlowName) -> bool {
        self.flows.contains_key(&key) || self.carried.keys().any(|from| self.heir(*from) == key)
    }

    /// Whether a flow needs nothing more, and no schedule has removed it.
    pub fn is_written(&self, key: FlowName) -> bool {
        self.written.contains_key(&key)
    }

    /// Flows that have passed their rates on, as far as the coordinator may not know it.
    pub fn passings(&self) -> impl Iterator<Item = Passing> {
        self.passed.iter().map(|(&from, &to)| Passing { from, to })
    }

    /// The flows that the schedule names.
    pub fn flows(&self) -> &BTreeMap<FlowName, Service> {
        &self.flows
    }

    /// The flows that need nothing more and have not been removed.
    pub fn written(&self) -> impl Iterator<Item = FlowName> {
        self.written.keys().copied()
    }

    /// Number of schedules dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How a flow is served, or was served last.
    pub fn service(&self, key: FlowName) -> Option<Service> {
        self.flows.get(&key).or_else(|| self.written.get(&key)).copied()
    }

    /// A coordinator of this epoch has spoken: schedules of earlier epochs no longer count.
    pub fn heard_epoch(&mut self, epoch: u64) {
        self.epoch = self.epoch.max(epoch);
    }

    /// Replaces or changes the schedule. Flows for which `has_ended` holds are left out: the
    /// coordinator may not have heard of their ends.
    pub fn update(&mut self, schedule: Schedule, has_ended: impl Fn(&FlowName) -> bool) -> Update {
        let Schedule { epoch, version, base, set, removed } = schedule;
        if epoch < self.epoch || (epoch, version) <= self.holds {
            self.dropped += 1;
            return Update::Dropped;
        }
        if base == 0 {
            self.flows.clear();
            self.carried.clear();
            self.passed
                .retain(|key, _| has_ended(key) || set.iter().any(|entry| entry.key == *key));
            self.written.retain(|key, _| set.iter().any(|entry| entry.key == *key));
        } else if (epoch, base) != self.holds {
            return Update::Gap;
        }
        removed.into_iter().for_each(|key| self.remove(key));
        for Entry { key, service } in set {
            if self.passed.contains_key(&key) {
                self.carried.insert(key, service);
            } else if !has_ended(&key) && !self.written.contains_key(&key) {
                self.flows.insert(key, service);
            }
        }
        self.epoch = epoch;
        self.holds = (epoch, version);
        Update::Applied
    }

    /// A flow's last bytes are in its socket: the flow needs no rate any more. `heir` has it from
    /// now on.
    pub fn mark_written(&mut self, key: FlowName, heir: Option<FlowName>) {
        if let Some(service) = self.let_go(key, heir) {
            self.written.insert(key, service);
        }
    }

    /// A flow has ended. `heir` has its rate from now on.
    pub fn end(&mut self, key: FlowName, heir: Option<FlowName>) {
        self.let_go(key, heir);
        self.written.remove(&key);
    }

    /// Takes the rate of a flow, for `heir` if there is one. Returns what the schedule gave it.
    fn let_go(&mut self, key: FlowName, heir: Option<FlowName>) -> Option<Service> {
        let own = self.flows.remove(&key);
        match heir {
            Some(heir) => {
                self.passed.insert(key, heir);
                self.carried.extend(own.map(|service| (key, service)));
            }
            None if !self.passed.contains_key(&key) => {
                // Nobody needs what has been passed on to this flow.
                let leads = self.passed.keys().filter(|from| self.heir(**from) == key);
                for from in leads.copied().collect::<Vec<_>>() {
                    self.passed.remove(&from);
                    self.carried.remove(&from);
                }
            }
            None => {}
        }
        own
    }

    /// The coordinator has heard that a flow has ended: schedules name it no more, but to remove
    /// it.
    pub fn acknowledged(&mut self, key: FlowName) {
        if !self.carried.contains_key(&key) {
            self.passed.remove(&key);
        }
    }

    /// A flow has another name from now on.
    pub fn rename(&mut self, from: FlowName, to: FlowName) {
        for services in [&mut self.flows, &mut self.written, &mut self.carried] {
            if let Some(service) = services.remove(&from) {
                services.insert(to, service);
            }
        }
        if let Some(heir) = self.passed.remove(&from) {
            self.passed.insert(to, heir);
        }
        self.passed.values_mut().filter(|heir| **heir == from).for_each(|heir| *heir = to);
    }

    /// Removes the flows that no application has named.
    pub fn forget_numbers(&mut self) {
        self.flows.retain(|key, _| key.number().is_none());
        self.written.retain(|key, _| key.number().is_none());
    }

    /// A flow is no longer scheduled.
    pub fn remove(&mut self, key: FlowName) {
        self.flows.remove(&key);
        self.written.remove(&key);
        if self.carried.remove(&key).is_some() {
            self.passed.remove(&key);
        }
    }
}
