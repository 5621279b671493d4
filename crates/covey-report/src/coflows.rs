//! What reports show of single coflows.

use serde::{Deserialize, Serialize};

use crate::Run;

/// The coflows of a workload, and how long each took under several policies. Lists are in the order
/// of the workload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Coflows {
    /// Their names.
    pub id: Vec<String>,
    /// Their arrivals, in seconds.
    pub arrival_s: Vec<f64>,
    /// Their numbers of flows.
    pub width: Vec<usize>,
    /// The sums of the bytes of their flows.
    pub bytes: Vec<f64>,
    /// The bytes of their largest flows.
    pub length_bytes: Vec<f64>,
    /// Their completion times in seconds, a list for each policy.
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
