//! One simulated policy.

use std::borrow::Cow;

use crate::Error;
use covey_topology::Tier;
use covey_trace::Workload;
use covey_trace::results::Outcome;

/// Properties of a run besides its workload and its outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunInfo {
    /// Name of the policy.
    pub policy: String,
    /// The policy's parameters, defaults included, in the order in which reports show them.
    pub params: Vec<(String, String)>,
    /// The policy as the user typed it, such as `aalo:queues=strict,delta=0`.
    pub label: String,
    /// Whether the policy sees sizes of coflows before they end, where that is known.
    pub knows_sizes: Option<bool>,
    /// Name of the trace.
    pub trace: String,
    /// Name of the fabric, such as `big-switch`.
    pub fabric: String,
    /// Rate of one port in bits per second.
    pub port_rate_bps: f64,
    /// Lower bound of the mean CCT in seconds, if it was computed.
    pub lower_bound_mean_cct_s: Option<f64>,
    /// Time the simulation took, in seconds.
    pub wall_s: f64,
    /// Whether coflows were released without waiting until their parents ended.
    pub pipelined: bool,
    /// How busy the workload keeps the links of each tier; empty if only ports limit rates.
    pub tiers: Vec<Tier>,
    /// The weights of the workload's [tenants](crate::tenants()), if capacity was divided among
    /// them; else none.
    pub tenant_weights: Vec<f64>,
}

/// One policy simulated on one workload.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    workload: &'a Workload,
    outcome: Cow<'a, Outcome>,
    info: RunInfo,
}

impl<'a> Run<'a> {
    /// Joins a workload with its outcome.
    ///
    /// # Errors
    ///
    /// [`Error::CoflowCount`] or [`Error::FlowCount`] if the outcome belongs to another workload.
    pub fn new(workload: &'a Workload, outcome: Outcome, info: RunInfo) -> Result<Self, Error> {
        Self::of(workload, Cow::Owned(outcome), info)
    }

    /// [`Run::new`] for an outcome that the caller keeps.
    ///
    /// # Errors
    ///
    /// The errors of [`Run::new`].
    pub fn borrowed(
        workload: &'a Workload,
        outcome: &'a Outcome,
        info: RunInfo,
    ) -> Result<Self, Error> {
        Self::of(workload, Cow::Borrowed(outcome), info)
    }

    fn of(workload: &'a Workload, outcome: Cow<'a, Outcome>, info: RunInfo) -> Result<Self, Error> {
        let (expected, found) = (workload.coflows.len(), outcome.coflows.len());
        if found != expected {
            return Err(Error::CoflowCount { expected, found });
        }
        let expected = workload.num_flows();
        for found in [outcome.flow_completion_s.len(), outcome.flow_start_s.len()] {
            if found != expected {
                return Err(Error::FlowCount { expected, found });
            }
        }
        Ok(Self { workload, outcome, info })
    }

    /// The outcome and the other properties, without the workload.
    pub fn into_parts(self) -> (Outcome, RunInfo) {
        (self.outcome.into_owned(), self.info)
    }

    /// The workload.
    pub fn workload(&self) -> &'a Workload {
        self.workload
    }

    /// The outcome of the simulation.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The policy, the fabric and other properties.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Completion time of each coflow in seconds, in the order of the workload.
    pub fn ccts_s(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.outcome.coflows.iter().map(|c| c.cct_s())
    }

    /// Mean CCT in seconds, weighted by the trace's weights; `None` if the trace has no weights.
    pub fn weighted_mean_cct_s(&self) -> Option<f64> {
        weighted_mean(self.workload, self.ccts_s())
    }

    /// For each coflow whether its CCT is within its deadline, if the trace gives one.
    pub fn deadlines_met(&self) -> impl Iterator<Item = Option<bool>> + '_ {
        self.workload.coflows.iter().zip(&self.outcome.coflows).map(|(coflow, outcome)| {
            // A delay of a nanosecond, or of a rounding error if that is larger, counts as none.
            let slack_s = 1e-9_f64.max(4.0 * f64::EPSILON * outcome.completion_s);
            coflow.deadline_s.map(|deadline_s| outcome.cct_s() <= deadline_s + slack_s)
        })
    }

    /// Completion times of the flows that were not cancelled, in seconds, in the order of the
    /// workload; of all flows if all were cancelled.
    pub fn carried_fcts_s(&self) -> impl Iterator<Item = f64> + '_ {
        let cancelled = &self.outcome.cancelled;
        let all = cancelled.len() == self.outcome.flow_completion_s.len();
        let is_carried = move |k: &usize| all || cancelled.binary_search(k).is_err();
        (0..).zip(self.fcts_s()).filter(move |(k, _)| is_carried(k)).map(|(_, fct_s)| fct_s)
    }

    /// Completion time of each flow in seconds, from its own start, in the order of the workload.
    pub fn fcts_s(&self) -> impl Iterator<Item = f64> + '_ {
        let starts = &self.outcome.flow_start_s;
        self.outcome.flow_completion_s.iter().zip(starts).map(|(end, start)| end - start)
    }
}

/// The mean of `ccts_s`, weighted by the coflows' weights. `ccts_s` is in the order of the
/// workload. `None` if all weights are 1.
pub(crate) fn weighted_mean(
    workload: &Workload,
    ccts_s: impl IntoIterator<Item = f64>,
) -> Option<f64> {
    let coflows = &workload.coflows;
    if coflows.iter().all(|coflow| coflow.weight == 1.0) {
        return None;
    }
    let all: f64 = coflows.iter().map(|coflow| coflow.weight).sum();
    let sum: f64 = coflows.iter().zip(ccts_s).map(|(c, cct_s)| c.weight * cct_s).sum();
    Some(sum / all)
}
