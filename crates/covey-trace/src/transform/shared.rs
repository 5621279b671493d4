//! Helpers of several transformations.

use std::collections::HashMap;

use crate::error::TraceError;
use crate::workload::{Coflow, Workload};

/// The error for an invalid argument of a transformation.
pub(super) fn bad(argument: &str, expected: impl ToString, found: impl ToString) -> TraceError {
    TraceError::Argument {
        argument: argument.to_owned(),
        expected: expected.to_string(),
        found: found.to_string(),
    }
}

/// Refuses a workload whose events and attempts name flows and ports that a transformation changes.
pub(super) fn only_static(workload: &Workload) -> Result<(), TraceError> {
    if workload.is_static() {
        return Ok(());
    }
    let expected = "one without events and attempts (`covey trace failures` adds them last)";
    Err(bad("trace", expected, "one that has some"))
}

/// The sending ports of a coflow, each once, in order of their first flows, and for each flow the
/// index of its sender among them.
pub(super) fn senders(coflow: &Coflow) -> (Vec<u32>, Vec<usize>) {
    let mut index_of = HashMap::new();
    let mut ports = Vec::new();
    let of_flow = coflow.flows.iter().map(|flow| {
        *index_of.entry(flow.src).or_insert_with(|| {
            ports.push(flow.src);
            ports.len() - 1
        })
    });
    let of_flow = of_flow.collect();
    (ports, of_flow)
}

/// `1 flow`, `2 flows`.
pub(super) fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
