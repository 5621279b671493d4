//! A journal that is as good as the one there is, and shorter.

use covey_api::{CoflowSpec, Flow as FlowSpec};

use super::coflows::Coflow;
use super::coordinator::CoordinatorState;
use super::effects::Lsn;
use super::flows::{Flow, Stage};
use super::leasing::lease_of;
use crate::record::{FormerNames, Lease, Record};

impl CoordinatorState {
    /// Records that say all that this coordinator knows, and the records on the way to the journal,
    /// which have their effect when they are written. A journal with both is as good as the present
    /// one.
    pub fn snapshot(&self) -> (Vec<Record>, Vec<(Lsn, Record)>) {
        let coflows = &self.coflows;
        let (id, external, flow) = (coflows.next_id, coflows.dags.next, coflows.ids.next());
        let mut records = vec![Record::Epoch(self.epoch()), Record::Next { id, external, flow }];
        records.extend(coflows.gone.in_order().cloned().map(Record::Gone));
        let dags = coflows.dags.iter();
        records.extend(dags.map(|(external, dag)| Record::Dag { external, bytes: dag.bytes }));
        let drained = self.drained.iter();
        records.extend(drained.map(|&port| Record::Drain { port, draining: true }));
        let mut leases: Vec<Lease> = Vec::new();
        let named = |(_, coflow): &(u64, &Coflow)| !coflow.flows.is_own();
        for (id, coflow) in coflows.range(0).filter(named) {
            records.extend(records_of(id, coflow));
            leases.extend(coflow.lease.wanes.then(|| lease_of(id, coflow)));
        }
        let renamed = self.renamed();
        if !renamed.is_empty() {
            records.push(Record::Renamed { flows: renamed });
        }
        if !leases.is_empty() {
            records.push(Record::Kept { at_s: self.now.as_secs(), leases });
        }
        let under_way = self.unfinished.records().chain(self.journal.without_effect());
        (records, under_way.collect())
    }

    /// The flows that have changed their coflow.
    fn renamed(&self) -> Vec<FormerNames> {
        let of_coflow = |(_, coflow): (u64, &Coflow)| {
            let former = coflow.flows.former().iter().map(|(&index, names)| {
                let names = names.iter().map(|name| name.encoded()).collect();
                (coflow.flows.id_of(index).0, names)
            });
            former.collect::<Vec<FormerNames>>()
        };
        let named = self.coflows.range(0).filter(|(_, coflow)| !coflow.flows.is_own());
        named.flat_map(of_coflow).collect()
    }
}

/// Records of a coflow that is present.
fn records_of(id: u64, coflow: &Coflow) -> Vec<Record> {
    let Coflow { about, flows, .. } = coflow;
    let spec_of = |(index, flow): (u32, &Flow)| FlowSpec {
        attempt: Some(flows.attempts.transfer(index)).filter(|of| *of != index),
        ratio: flow.ratio,
        ..FlowSpec::new(flow.src, flow.dst, flow.bytes)
    };
    let spec = CoflowSpec {
        name: about.name.clone(),
        parents: about.parents.clone(),
        barrier: about.barrier,
        weight: about.weight,
        deadline_s: about.deadline_s,
        open: coflow.open,
        lease_s: coflow.lease.lease_s,
        compress: about.compress,
        ratio: about.ratio,
        flows: flows.iter().map(spec_of).collect(),
    };
    let lineage = (about.lineage.external, about.lineage.internal);
    let (at_s, key, owner) = (about.arrival_s, about.key.clone(), about.owner.clone());
    let (flow_ids, revision) = (flows.id_runs(), coflow.revision);
    let registered = Record::Registered { id, at_s, lineage, key, owner, flow_ids, revision, spec };
    let mut records = vec![registered];
    let ended = || flows.iter().filter(|(_, flow)| flow.stage == Stage::Ended);
    let id_of = |index| flows.id_of(index).0;
    let compressed = ended().filter(|(_, flow)| flow.wire != flow.sent);
    let compressed = compressed.map(|(index, flow)| (id_of(index), flow.wire)).collect();
    let ended: Vec<_> = ended().map(|(index, flow)| (id_of(index), flow.sent)).collect();
    if !ended.is_empty() {
        let cancelled = flows.cancelled().iter().map(|&index| id_of(index)).collect();
        records.push(Record::FlowsEnded { at_s, flows: ended, compressed, cancelled });
    }
    records
}
