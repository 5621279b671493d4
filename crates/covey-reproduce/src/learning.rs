//! Records what a policy learns about a coflow's size, and when.
//!
//! A wrapper around the policy forwards all events and records. The wrapper may use sizes that the
//! policy cannot see: the size of a coflow decides which queue is its last.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use covey_core::{
    Answer, AnyPolicy, CoflowId, Event, FlowId, Group, NonClairvoyant, Plan, Policy, View, Wants,
};
use covey_trace::Workload;

use covey_emulate::philae_authors::Estimate;

/// What a run records besides CCTs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Recording {
    /// Nothing else.
    CctsOnly,
    /// The completion times of flows.
    FlowTimes,
    /// For each sampled coflow, the size estimated from its pilot flows and when the last pilot
    /// ended.
    SizeEstimates,
    /// When each coflow has sent enough to enter its last queue.
    LastQueue {
        /// Limit of the first queue in bytes; the limit of each later queue is `factor` times
        /// larger.
        first: f64,
        /// Ratio of adjacent limits.
        factor: f64,
    },
}

/// What a policy learnt about a coflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learned {
    /// When it was learnt, in seconds after the coflow's arrival.
    pub after_s: f64,
    /// Bytes that the coflow had sent by then.
    pub sent: f64,
    /// The estimated size in bytes, if the policy estimates sizes.
    pub size: Option<f64>,
}

impl From<Estimate> for Learned {
    fn from(Estimate { after_s, sent, size }: Estimate) -> Self {
        Self { after_s, sent, size: Some(size) }
    }
}

/// What a policy learnt about each coflow, by index in the trace; filled while the policy runs.
#[derive(Debug, Clone, Default)]
pub struct Record(Arc<Mutex<Vec<Option<Learned>>>>);

impl Record {
    /// Takes the entries, and leaves the record empty.
    pub fn take(&self) -> Vec<Option<Learned>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, index: usize, learned: Learned) {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = record.get_mut(index) {
            slot.get_or_insert(learned);
        }
    }
}

/// Wraps `policy` to record what `recording` asks for. A clairvoyant policy is returned as it is,
/// with an empty record: it has no size to learn.
pub fn with_recording(
    policy: AnyPolicy,
    recording: Recording,
    workload: &Workload,
) -> (AnyPolicy, Record) {
    let record = Record::default();
    let queue_limits = match recording {
        Recording::CctsOnly | Recording::FlowTimes => return (policy, record),
        Recording::SizeEstimates => None,
        Recording::LastQueue { first, factor } => Some((first, factor)),
    };
    let AnyPolicy::NonClairvoyant(policy) = policy else { return (policy, record) };
    *record.0.lock().unwrap_or_else(PoisonError::into_inner) = vec![None; workload.coflows.len()];
    let last_limits = queue_limits.map(|(first, factor)| {
        workload.coflows.iter().map(|c| last_limit(c.size_bytes(), first, factor)).collect()
    });
    let pilots = BTreeMap::new();
    let recording = RecordingPolicy { policy, record: record.clone(), last_limits, pilots };
    (AnyPolicy::NonClairvoyant(Box::new(recording)), record)
}

/// The highest limit below `size`, if there is one.
fn last_limit(size: f64, first: f64, factor: f64) -> Option<f64> {
    std::iter::successors(Some(first), |limit| Some(limit * factor))
        .take_while(|limit| *limit < size)
        .last()
}

/// A policy that forwards to `policy` and records what it learns.
struct RecordingPolicy {
    policy: Box<dyn Policy<NonClairvoyant>>,
    record: Record,
    /// With [`Recording::LastQueue`]: bytes after which each coflow is in its last queue, by index
    /// in the trace. A coflow that stays in the first queue has no entry.
    last_limits: Option<Vec<Option<f64>>>,
    /// With [`Recording::SizeEstimates`]: the pilots of each coflow present.
    pilots: BTreeMap<CoflowId, Pilots>,
}

#[derive(Default)]
struct Pilots {
    flows: Vec<FlowId>,
    /// Number of pilots that have not ended.
    unfinished: usize,
    /// Bytes of the pilots that have ended.
    bytes: f64,
}

/// What a non-clairvoyant policy sees.
type PolicyView<'a> = View<'a, NonClairvoyant>;

impl RecordingPolicy {
    fn record(&self, coflow: CoflowId, size: Option<f64>, view: &PolicyView<'_>) {
        let (arrival, index) = view.order(coflow);
        let after_s = view.now().as_secs() - arrival.as_secs();
        let sent = view.attained(coflow).bytes;
        self.record.set(index as usize, Learned { after_s, sent, size });
    }

    /// Finds the pilots in a plan: only pilots are planned as single flows.
    fn record_pilots(&mut self, plan: &Plan<NonClairvoyant>) {
        for (_, entry) in plan.ranking().entries.iter() {
            if let Group::Flow(flow) = entry.group {
                let pilots = self.pilots.entry(flow.coflow).or_default();
                if !pilots.flows.contains(&flow) {
                    pilots.flows.push(flow);
                    pilots.unfinished += 1;
                }
            }
        }
    }

    /// Counts the end of a pilot. The last pilot of a coflow gives the estimate of its size.
    fn record_end(&mut self, flow: FlowId, view: &PolicyView<'_>) {
        let Some(pilots) = self.pilots.get_mut(&flow.coflow) else { return };
        if pilots.flows.contains(&flow) {
            pilots.unfinished -= 1;
            pilots.bytes += view.finished_size(flow).unwrap_or_default();
            if pilots.unfinished == 0 {
                let length = pilots.bytes / pilots.flows.len() as f64;
                let size = length * view.width(flow.coflow) as f64;
                self.record(flow.coflow, Some(size), view);
            }
        }
    }

    /// Records the coflows that have entered their last queue.
    fn record_queues(&self, limits: &[Option<f64>], view: &PolicyView<'_>) {
        for &coflow in view.coflows() {
            let limit = limits.get(view.order(coflow).1 as usize).copied().flatten();
            if limit.is_some_and(|limit| view.attained(coflow).bytes >= limit - 1.0) {
                self.record(coflow, None, view);
            }
        }
    }
}

impl Policy<NonClairvoyant> for RecordingPolicy {
    fn wants(&self) -> Wants {
        let wants = self.policy.wants();
        Wants { attained: true, flow_ends: wants.flow_ends || self.last_limits.is_none(), ..wants }
    }

    fn link_thresholds(&self) -> &[f64] {
        self.policy.link_thresholds()
    }

    fn event(&mut self, event: Event, view: &PolicyView<'_>) {
        if let Event::CoflowArrived(coflow) = event {
            self.pilots.remove(&coflow);
        }
        self.policy.event(event, view);
        if let Event::FlowEnded(flow) = event {
            self.record_end(flow, view);
        }
    }

    fn plan(&mut self, view: &PolicyView<'_>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        let answer = self.policy.plan(view, plan);
        match &self.last_limits {
            Some(limits) => self.record_queues(limits, view),
            None if answer == Answer::Replaced => self.record_pilots(plan),
            None => {}
        }
        answer
    }
}
