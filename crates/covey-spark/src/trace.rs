//! The coflows of a log as a workload, to be simulated with arrivals as they were.

use std::collections::{BTreeMap, BTreeSet};

use covey_trace::{Coflow, Flow, Workload};

use crate::coflow::{NetworkFlow, SparkCoflow};
use crate::log::Log;

/// The coflows of a log that cross the network, as a workload whose ports are the hosts in the
/// order of [`Application::hosts`](crate::Application::hosts). A coflow arrives at the launch of
/// its first task that reads from another host; each task has a flow from every such host, from its
/// own launch on. Parents are the coflows whose outputs a coflow reads, also through stages that
/// read nothing from other hosts.
pub fn workload(log: &Log) -> Workload {
    let application = &log.application;
    let mut index_of: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut coflows = Vec::new();
    for coflow in log.coflows.iter().filter(|coflow| coflow.remote_bytes() > 0) {
        let flows = coflow.flows(application);
        let launch = |flow: &NetworkFlow| application.tasks[flow.task as usize].launch_ms;
        let Some(first_ms) = flows.iter().map(launch).min() else { continue };
        let (stage, attempt) = coflow.stage;
        let id = match attempt {
            0 => format!("{} stage {stage}", application.id),
            _ => format!("{} stage {stage}, attempt {attempt}", application.id),
        };
        let flow = |flow: &NetworkFlow| Flow {
            src: flow.src,
            dst: flow.dst,
            bytes: flow.bytes as f64,
            start_s: (launch(flow) - first_ms) as f64 / 1e3,
        };
        let mut made = Coflow::new(id, first_ms as f64 / 1e3, flows.iter().map(flow).collect());
        made.job = Some(application.id.clone()).filter(|id| !id.is_empty());
        index_of.insert(coflow.stage, coflows.len() as u32);
        coflows.push(made);
    }
    let parents = parents(&log.coflows, &index_of);
    for (stage, &index) in &index_of {
        coflows[index as usize].parents =
            parents.get(stage).into_iter().flatten().copied().collect();
    }
    let ports = application.hosts.len() as u32;
    let workload = Workload { hosts: application.hosts.clone(), ..Workload::new(ports, coflows) };
    workload.from_first_arrival()
}

/// The parents of each stage among the coflows that have an index.
fn parents(
    coflows: &[SparkCoflow],
    index_of: &BTreeMap<(u32, u32), u32>,
) -> BTreeMap<(u32, u32), BTreeSet<u32>> {
    let mut of: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    // A stage has a larger id than those that it reads from.
    for coflow in coflows {
        let mut found = BTreeSet::new();
        for &parent in coflow.parents.iter().filter(|parent| **parent < coflow.stage.0) {
            let attempts = coflows.iter().filter(|other| other.stage.0 == parent);
            for attempt in attempts {
                match index_of.get(&attempt.stage) {
                    Some(&index) => found.extend([index]),
                    None => found.extend(of.get(&attempt.stage).into_iter().flatten()),
                }
            }
        }
        of.insert(coflow.stage, found);
    }
    of
}
