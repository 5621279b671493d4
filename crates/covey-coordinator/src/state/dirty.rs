//! What has happened since the last scheduling round, as far as the next one has to look at it.

use std::collections::BTreeSet;

use covey_core::CoflowId;

/// What the next round has to look at. A method that changes something that a plan or a schedule
/// depends on notes it here.
#[derive(Debug)]
pub(super) struct Dirty {
    /// Whether the policy has to be asked for a plan.
    plan: bool,
    /// Ports whose hosts have come or gone.
    hosts: BTreeSet<u32>,
    /// Whether hosts have reported what they have for compressing.
    processors: bool,
    /// Whether the rates of all coflows have to be compared with those that agents know.
    all_rates: bool,
    /// Groups of the policy's own making that have got flows.
    groups: Vec<CoflowId>,
    /// Coflows whose flows have sent something, in the order of the reports.
    progress: Vec<u64>,
}

impl Dirty {
    /// Everything has to be looked at. `compresses`: what hosts have for compressing, too.
    pub fn all(compresses: bool) -> Dirty {
        let (hosts, groups, progress) = (BTreeSet::new(), Vec::new(), Vec::new());
        Dirty { plan: true, hosts, processors: compresses, all_rates: true, groups, progress }
    }

    /// Something has happened that the policy has to answer with a plan.
    pub fn note_event(&mut self) {
        self.plan = true;
    }

    /// Whether the policy has to be asked for a plan, which it then has been.
    pub fn take_plan(&mut self) -> bool {
        std::mem::take(&mut self.plan)
    }

    /// A host has come or gone, or what its agent has reported of flows counts no more.
    pub fn note_host(&mut self, port: u32) {
        self.hosts.insert(port);
        self.plan = true;
    }

    pub fn take_hosts(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.hosts)
    }

    /// A host has reported what it has for compressing.
    pub fn note_processors(&mut self) {
        self.processors = true;
    }

    pub fn take_processors(&mut self) -> bool {
        std::mem::take(&mut self.processors)
    }

    /// More rates may have changed than the allocator tells.
    pub fn note_all_rates(&mut self) {
        self.all_rates = true;
    }

    pub fn take_all_rates(&mut self) -> bool {
        std::mem::take(&mut self.all_rates)
    }

    /// Groups of the policy's own making have got flows: what agents know of their rates has to be
    /// compared.
    pub fn note_groups(&mut self, mut groups: Vec<CoflowId>) {
        self.groups.append(&mut groups);
    }

    pub fn take_groups(&mut self) -> Vec<CoflowId> {
        std::mem::take(&mut self.groups)
    }

    /// Flows of a coflow have sent something.
    pub fn note_progress(&mut self, serial: u64) {
        self.progress.push(serial);
    }

    /// Coflows whose flows have sent something.
    pub fn progress(&self) -> &[u64] {
        &self.progress
    }

    pub fn take_progress(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.progress)
    }
}
