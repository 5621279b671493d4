//! What reports show of single coflows.

use serde::{Deserialize, Serialize};

use crate::Run;

/// The coflows of a workload, and how long each took under several policies. Lists are in the order
/// of the workload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Coflows {
    /// Name of each coflow.
    pub id: Vec<String>,
    /// Arrival of each coflow, in seconds.
    pub arrival_s: Vec<f64>,
    /// Number of flows of each coflow.
    pub width: Vec<usize>,
    /// Bytes of each coflow: the sum over its flows.
    pub bytes: Vec<f64>,
    /// Bytes of the largest flow of each coflow.
    pub length_bytes: Vec<f64>,
    /// For each policy, the completion time of each coflow, in seconds.
    pub cct_s: Vec<Vec<f64>>,
}

impl Coflows {
    /// The coflows of several runs on one workload.
    pub(crate) fn of(runs: &[Run<'_>]) -> Coflows {
        let coflows = runs.first().map_or(&[][..], |run| run.workload().coflows.as_slice());
        Coflows {
            id: coflows.iter().map(|coflow| coflow.id.clone()).collect(),
            arrival_s: coflows.iter().map(|coflow| coflow.arrival_s).collect(),
            width: coflows.iter().map(|coflow| coflow.width()).collect(),
            bytes: coflows.iter().map(|coflow| coflow.size_bytes()).collect(),
            length_bytes: coflows.iter().map(|coflow| coflow.length_bytes()).collect(),
            cct_s: runs.iter().map(|run| run.ccts_s().collect()).collect(),
        }
    }

    /// Number of coflows.
    pub fn count(&self) -> usize {
        self.id.len()
    }

    /// The name of the first list that does not have a value for each coflow, if one has not.
    pub(crate) fn incomplete(&self) -> Option<&'static str> {
        let n = self.count();
        let lists = [
            ("arrival_s", self.arrival_s.len()),
            ("width", self.width.len()),
            ("bytes", self.bytes.len()),
            ("length_bytes", self.length_bytes.len()),
        ];
        let ccts = self.cct_s.iter().map(|ccts_s| ("cct_s", ccts_s.len()));
        lists.into_iter().chain(ccts).find(|(_, len)| *len != n).map(|(name, _)| name)
    }
}
