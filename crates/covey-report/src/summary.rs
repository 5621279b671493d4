//! The statistics of one run.

use crate::json::{as_object, pairs, whole_as_integer};
use crate::stats::Distribution;
use crate::{Jobs, Run, TenantSummary};
use serde::{Deserialize, Serialize};

/// A report on one run. `Serialize` gives the object of `simulate --json`, `Display` the text for a
/// terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Name of the policy.
    pub policy: String,
    /// The policy's parameters, defaults included, in order.
    #[serde(serialize_with = "as_object", deserialize_with = "pairs")]
    pub params: Vec<(String, String)>,
    /// Name of the trace.
    pub trace: String,
    /// Name of the fabric.
    pub fabric: String,
    /// Rate of one port in bits per second.
    #[serde(serialize_with = "whole_as_integer")]
    pub port_rate_bps: f64,
    /// Number of coflows.
    pub coflows: usize,
    /// Number of flows.
    pub flows: usize,
    /// Bytes of all flows.
    #[serde(serialize_with = "whole_as_integer")]
    pub bytes: f64,
    /// Coflow completion times in seconds, from release to the end of the last flow.
    pub cct_s: Distribution,
    /// Flow completion times in seconds, from the flow's own start to its end.
    pub fct_s: Distribution,
    /// Seconds from the first release to the end of the last flow; 0 without coflows.
    pub makespan_s: f64,
    /// Lower bound of the mean CCT in seconds, if it was computed.
    pub lower_bound_mean_cct_s: Option<f64>,
    /// Number of scheduling rounds, in which rates were calculated.
    pub events: u64,
    /// Time the simulation took, in seconds.
    pub wall_s: f64,
    /// The policy as the user typed it.
    pub label: String,
    /// Number of ports.
    pub ports: u32,
    /// Number of jobs, if the trace has jobs.
    pub jobs: Option<usize>,
    /// Job completion times in seconds, from a job's first arrival to its last end, if the trace
    /// has jobs.
    pub jct_s: Option<Distribution>,
    /// Mean CCT in seconds, weighted by the trace's weights, if the trace has weights.
    pub weighted_mean_cct_s: Option<f64>,
    /// Number of coflows with a deadline; `None` if no coflow has one.
    pub deadlines: Option<usize>,
    /// Number of coflows that met their deadline; `None` if no coflow has one.
    pub deadlines_met: Option<usize>,
    /// `Some(false)` if coflows did not wait until their parents ended; `None` otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barrier: Option<bool>,
    /// Bytes that were not sent thanks to compression.
    #[serde(serialize_with = "whole_as_integer")]
    pub saved_bytes: f64,
    /// Processor time of compression, in seconds of a whole processor.
    pub cpu_s: f64,
    /// Whether the policy sees sizes of coflows before they end, where that is known.
    pub knows_sizes: Option<bool>,
    /// Flows that were cancelled; left out if there are none.
    #[serde(skip_serializing_if = "is_none", default)]
    pub cancelled_flows: usize,
    /// Bytes that were sent for nothing, by flows that were cancelled, moved or restarted; left out
    /// if there are none.
    #[serde(serialize_with = "whole_as_integer", skip_serializing_if = "is_zero", default)]
    pub wasted_bytes: f64,
    /// What each tenant got; left out if the trace names none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tenants: Vec<TenantSummary>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(bytes: &f64) -> bool {
    *bytes == 0.0
}

impl Summary {
    /// The statistics of `run`.
    pub fn of(run: &Run<'_>) -> Self {
        let (workload, outcome, info) = (run.workload(), run.outcome(), run.info());
        let start = outcome.coflows.iter().map(|c| c.release_s).reduce(f64::min);
        let end = outcome.coflows.iter().map(|c| c.completion_s).reduce(f64::max);
        let jcts_s = Jobs::of(workload).map(|jobs| jobs.jcts_s(run));
        let deadlines = run.deadlines_met().flatten().count();
        let met = run.deadlines_met().flatten().filter(|&met| met).count();
        Self {
            policy: info.policy.clone(),
            params: info.params.clone(),
            trace: info.trace.clone(),
            fabric: info.fabric.clone(),
            port_rate_bps: info.port_rate_bps,
            coflows: workload.coflows.len(),
            flows: workload.num_flows(),
            bytes: workload.bytes(),
            cct_s: Distribution::of(run.ccts_s()),
            fct_s: Distribution::of(run.carried_fcts_s()),
            makespan_s: start.zip(end).map_or(0.0, |(start, end)| end - start),
            lower_bound_mean_cct_s: info.lower_bound_mean_cct_s,
            events: outcome.events,
            wall_s: info.wall_s,
            label: info.label.clone(),
            ports: workload.ports,
            jobs: jcts_s.as_ref().map(Vec::len),
            jct_s: jcts_s.map(Distribution::of),
            weighted_mean_cct_s: run.weighted_mean_cct_s(),
            deadlines: (deadlines > 0).then_some(deadlines),
            deadlines_met: (deadlines > 0).then_some(met),
            barrier: info.pipelined.then_some(false),
            // The fold starts at 0, because the `sum` of no values is -0.
            saved_bytes: outcome.compression.iter().fold(0.0, |sum, c| sum + c.saved_bytes),
            cpu_s: outcome.compression.iter().fold(0.0, |sum, c| sum + c.cpu_s),
            knows_sizes: info.knows_sizes,
            cancelled_flows: outcome.cancelled.len(),
            wasted_bytes: outcome.wasted_bytes.iter().fold(0.0, |sum, bytes| sum + bytes),
            tenants: TenantSummary::all(run),
        }
    }

    /// Mean CCT divided by its lower bound; 1 is the best possible. `None` without a bound.
    pub fn mean_over_bound(&self) -> Option<f64> {
        self.lower_bound_mean_cct_s.map(|bound| self.cct_s.mean / bound)
    }
}
