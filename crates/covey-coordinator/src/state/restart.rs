//! A start without a stop: another policy takes over, and learns of all coflows as after a start of
//! the process.

use std::collections::BTreeMap;

use covey_core::Fabric;

use super::config::Config;
use super::coordinator::CoordinatorState;
use crate::driver::Scheduler;
use crate::record::Record;

impl CoordinatorState {
    /// Has the epoch of the next start written. Nothing that changes a coflow may come before
    /// [`CoordinatorState::start_again`].
    pub fn announce_start(&mut self) {
        let record = Record::Epoch(self.epoch() + 1);
        // This record acknowledges no end of a flow.
        self.journal.acknowledge(record, 0, Vec::new(), &mut self.effects);
    }

    /// The next start: what is known is the same, as nothing may wait for the journal. Its epoch
    /// has been written. All agents join again.
    #[must_use]
    pub fn start_again(
        &self,
        fabric: Fabric,
        scheduler: impl Into<Scheduler>,
        config: Config,
    ) -> Self {
        let (records, _) = self.snapshot();
        let epoch = self.epoch() + 1;
        let mut next = CoordinatorState::new(fabric, scheduler, config, epoch, records, self.now);
        next.journal = self.journal.next_start();
        next.effects.counts = self.effects.counts;
        next.signer = self.signer;
        next.set_limits(self.limits.clone());
        next.sizes = self.sizes.clone();
        next
    }

    /// Settings that do not concern the policy.
    pub fn set_config(&mut self, config: Config) {
        self.config = config;
        self.forget_gone();
    }

    /// The settings in force.
    pub fn config(&self) -> Config {
        self.config
    }

    /// Coflows with unfinished flows of unknown sizes, if the policy must know sizes: how many
    /// flows each has.
    pub fn without_sizes(&self) -> BTreeMap<u64, usize> {
        if !self.driver.needs_sizes() {
            return BTreeMap::new();
        }
        let count = |(serial, coflow): (u64, &super::coflows::Coflow)| {
            let unknown = coflow.flows.unfinished().filter(|(_, flow)| flow.bytes.is_none());
            Some((serial, unknown.count())).filter(|(_, count)| *count > 0)
        };
        self.coflows.range(0).filter_map(count).collect()
    }
}
