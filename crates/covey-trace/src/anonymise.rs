//! Workloads and flow records without names.

use std::collections::HashMap;

use covey_identify::Address;

use crate::records::Records;
use crate::workload::Workload;

/// Number `place` of `count`, from 1, behind a word. All have the same length, so that their order
/// is that of the places.
fn numbered(word: &str, place: usize, count: usize) -> String {
    let width = count.to_string().len();
    format!("{word}-{:0width$}", place + 1)
}

impl Workload {
    /// The same workload without names that say whose it is: hosts are `host-1` and so on in order
    /// of their ports, coflows, jobs and tenants `coflow-1`, `job-1`, `tenant-1` in the order in
    /// which the trace names them.
    #[must_use]
    pub fn anonymised(mut self) -> Workload {
        let hosts = self.hosts.len();
        for (port, name) in self.hosts.iter_mut().enumerate().filter(|(_, name)| !name.is_empty()) {
            *name = numbered("host", port, hosts);
        }
        let count = self.coflows.len();
        let (mut jobs, mut tenants) = (Renamed::default(), Renamed::default());
        for coflow in &self.coflows {
            coflow.job.iter().for_each(|job| jobs.add(job));
            coflow.tenant.iter().for_each(|tenant| tenants.add(tenant));
        }
        for (place, coflow) in self.coflows.iter_mut().enumerate() {
            coflow.id = numbered("coflow", place, count);
            coflow.job = coflow.job.as_ref().map(|job| jobs.name("job", job));
            coflow.tenant = coflow.tenant.as_ref().map(|tenant| tenants.name("tenant", tenant));
        }
        self
    }
}

/// Names by the place at which they first appeared.
#[derive(Default)]
struct Renamed(HashMap<String, usize>);

impl Renamed {
    fn add(&mut self, name: &str) {
        let next = self.0.len();
        self.0.entry(name.to_owned()).or_insert(next);
    }

    fn name(&self, word: &str, name: &str) -> String {
        numbered(word, self.0.get(name).copied().unwrap_or(0), self.0.len())
    }
}

impl Records {
    /// The same records without names: hosts are `host-1` and so on in order of their addresses and
    /// names, labels `coflow-1` in order of their first records.
    #[must_use]
    pub fn anonymised(mut self) -> Records {
        let mut hosts: Vec<Address> =
            self.flows.iter().flat_map(|flow| [flow.src, flow.dst]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        for host in self.flows.iter_mut().flat_map(|flow| [&mut flow.src, &mut flow.dst]) {
            *host = Address::named(hosts.partition_point(|it| it < host) as u32);
        }
        let (count, labels) = (hosts.len(), self.labels.len());
        self.names = (0..count).map(|place| numbered("host", place, count)).collect();
        self.labels = (0..labels).map(|place| numbered("coflow", place, labels)).collect();
        self
    }
}
