//! Several workloads as one.

use std::collections::{BTreeSet, HashSet};

use crate::cluster::{ClusterEvent, Happening, Part};
use crate::error::TraceError;
use crate::limits::{MAX_FLOWS, MAX_PORTS};
use crate::moment::Moment;
use crate::workload::Workload;

/// The workloads of several files, on one clock. Hosts of one name are one host; where no file has
/// names, ports of one number are one port. Coflows, jobs and tenants keep their names. If coflows
/// of several files have one name, those of later files get the number of their file behind it.
///
/// # Errors
/// If only some files name hosts, or there are too many flows or hosts.
pub(crate) fn merge(
    mut files: Vec<(&str, Workload)>,
    notes: &mut dyn FnMut(&str),
) -> Result<Workload, TraceError> {
    if files.len() == 1 {
        return Ok(files.remove(0).1);
    }
    let hosts = hosts(&files)?;
    let flows: usize = files.iter().map(|(_, workload)| workload.num_flows()).sum();
    if flows > MAX_FLOWS as usize {
        let expected = format!("at most {MAX_FLOWS} flows in all files");
        return Err(TraceError::argument("files", expected, flows.to_string()));
    }
    let origin = files.iter().map(|(_, workload)| workload.origin).min().unwrap_or_default();
    let ports = files.iter().map(|(_, workload)| workload.ports).max().unwrap_or(1);
    let mut all = Workload { origin, ..Workload::new(ports.max(hosts.len() as u32), Vec::new()) };
    let mut ids = HashSet::new();
    for (number, (name, workload)) in (1..).zip(files) {
        let renamed = add(&mut all, workload, &hosts, number, &mut ids);
        if renamed > 0 {
            notes(&format!(
                "{name}: coflows with ids that files before it have, too: {renamed}; here they are ID@{number}"
            ));
        }
    }
    all.hosts = hosts;
    Ok(all)
}

/// The names of all hosts in order; none if no file has any.
fn hosts(files: &[(&str, Workload)]) -> Result<Vec<String>, TraceError> {
    let is_named =
        |workload: &Workload| (0..workload.ports).all(|port| workload.host(port).is_some());
    let with = files.iter().find(|(_, workload)| !workload.hosts.is_empty());
    let without = files.iter().find(|(_, workload)| !is_named(workload));
    match (with, without) {
        (None, _) => Ok(Vec::new()),
        (Some((with, _)), Some((without, _))) => {
            let found = format!("names in {with}, ports without names in {without}");
            Err(TraceError::argument("files", "names of all hosts in all files, or in none", found))
        }
        (Some(_), None) => {
            let names: BTreeSet<&String> = files.iter().flat_map(|(_, it)| &it.hosts).collect();
            if names.len() > MAX_PORTS as usize {
                let expected = format!("at most {MAX_PORTS} hosts in all files");
                return Err(TraceError::argument("files", expected, names.len().to_string()));
            }
            Ok(names.into_iter().cloned().collect())
        }
    }
}

/// Adds the workload of file `number`. Returns how many coflows got another name.
fn add(
    all: &mut Workload,
    workload: Workload,
    hosts: &[String],
    number: u32,
    ids: &mut HashSet<String>,
) -> u64 {
    let port_of: Vec<u32> = match hosts {
        [] => (0..workload.ports).collect(),
        hosts => {
            let port = |name: &String| hosts.partition_point(|host| host < name) as u32;
            workload.hosts.iter().map(port).collect()
        }
    };
    let port = |port: u32| port_of[port as usize];
    let later_s = workload.origin.since(all.origin);
    let first = all.coflows.len() as u32;
    let mut renamed = 0;
    for mut coflow in workload.coflows {
        coflow.arrival_s = moved(coflow.arrival_s, workload.origin, all.origin, later_s);
        coflow.parents.iter_mut().for_each(|parent| *parent += first);
        for flow in &mut coflow.flows {
            (flow.src, flow.dst) = (port(flow.src), port(flow.dst));
        }
        if ids.contains(&coflow.id) {
            renamed += 1;
        }
        while ids.contains(&coflow.id) {
            coflow.id = format!("{}@{number}", coflow.id);
        }
        ids.insert(coflow.id.clone());
        all.coflows.push(coflow);
    }
    for ClusterEvent { at_s, mut what } in workload.events {
        match &mut what {
            Happening::Fail { part: Part::Host(host), .. }
            | Happening::Return { part: Part::Host(host) } => *host = port(*host),
            Happening::Move { src, dst, .. } => (*src, *dst) = (src.map(port), dst.map(port)),
            _ => {}
        }
        if let Some(flow) = what.flow_mut() {
            flow.coflow += first;
        }
        let at_s = moved(at_s, workload.origin, all.origin, later_s);
        all.events.push(ClusterEvent { at_s, what });
    }
    // Of events at one time the first one stays the first.
    all.events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    renamed
}

/// A time after one origin, as seconds after an earlier one.
fn moved(seconds: f64, origin: Moment, earlier: Moment, later_s: f64) -> f64 {
    origin.after(seconds).map_or(seconds + later_s, |moment| moment.since(earlier))
}
