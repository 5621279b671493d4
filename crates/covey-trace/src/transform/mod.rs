//! Workloads made from workloads.
//!
//! Each function takes a workload as it is and makes another; what is random takes a seed, and the
//! same seed gives the same workload on every platform and in every release.

mod burst;
mod changes;
mod dag;
mod filter;
mod fold;
mod mantri;
mod replicate;
mod scale;
mod skew;
mod waves;

pub use burst::burst;
pub use changes::Changes;
pub use dag::{Shape, dag};
pub use filter::{Filter, filter};
pub use fold::{every, fold};
pub use mantri::{Mantri, mantri, mapper_cv};
pub use replicate::replicate;
pub use scale::{Scale, scale};
pub use skew::skew;
pub use waves::{Waves, waves};

use crate::error::TraceError;
use crate::workload::Coflow;

/// An argument that makes no workload.
fn bad(argument: &str, expected: impl ToString, found: impl ToString) -> TraceError {
    TraceError::Argument {
        argument: argument.to_owned(),
        expected: expected.to_string(),
        found: found.to_string(),
    }
}

/// The sending ports of a coflow, each once, in order of their first flows, and for each flow the
/// place of its sender among them.
fn senders(coflow: &Coflow) -> (Vec<u32>, Vec<usize>) {
    let mut place = std::collections::HashMap::new();
    let mut ports = Vec::new();
    let of_flow = coflow.flows.iter().map(|flow| {
        *place.entry(flow.src).or_insert_with(|| {
            ports.push(flow.src);
            ports.len() - 1
        })
    });
    let of_flow = of_flow.collect();
    (ports, of_flow)
}

/// `1 flow`, `2 flows`.
fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
