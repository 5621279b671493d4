//! Labelled flows as flow records.

use std::collections::HashMap;

use super::flows::Labelled;
use crate::records::{Hidden, Records};
use crate::workload::Workload;

/// The records that a collector has of flows of `workload`, labelled with the names of their
/// coflows. Flows of one coflow on one connection that start together are one record with the bytes
/// of all. Ends are unknown.
pub fn recorded(labelled: &Labelled, workload: &Workload) -> Records {
    let labels = workload.coflows.iter().map(|coflow| coflow.id.clone()).collect();
    let mut records = Records { labels, origin: workload.origin, ..Records::default() };
    let mut record_of = HashMap::new();
    let coflows = labelled.coflows.iter().zip(&labelled.bytes);
    for (flow, (&label, &bytes)) in labelled.flows.iter().zip(coflows) {
        if flow.sport != 0 || flow.dport != 0 {
            let connection = (flow.src, flow.dst, flow.sport, flow.dport, flow.protocol);
            let key = (flow.start_s.to_bits(), connection, label);
            let record = *record_of.entry(key).or_insert(records.flows.len());
            if let Some(Hidden { bytes: Some(sum), .. }) = records.hidden.get_mut(record) {
                *sum += bytes;
                continue;
            }
        }
        records.flows.push(*flow);
        records.hidden.push(Hidden { bytes: Some(bytes), end_s: None, label: Some(label) });
    }
    records
}
