//! What a policy learns of a coflow's size, and when.
//!
//! A policy is watched from outside, by one around it that passes everything on. It may look where the
//! policy may not: which queue is right for a coflow follows from its size.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use covey_core::{
    Answer, AnyPolicy, CoflowId, Event, FlowId, Group, NonClairvoyant, Plan, Policy, View, Wants,
};
use covey_trace::Workload;

use covey_emulate::philae_authors::Estimate;

/// What to find out in a run beside the CCTs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Watch {
    /// Nothing.
    Nothing,
    /// The completion times of flows.
    Flows,
    /// What pilot flows tell of a coflow, and when the last of them ended.
    Estimates,
    /// When a coflow has sent so much that it comes into its last queue, of queues with these
    /// limits.
    Queues {
        /// Limit of the first queue in bytes.
        first: f64,
        /// The ratio of adjacent limits.
        factor: f64,
    },
}

/// What was learnt of a coflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learned {
    /// When, in seconds after its arrival.
    pub after_s: f64,
    /// What it had sent by then, in bytes.
    pub sent: f64,
    /// Its estimated size in bytes, where it was estimated.
    pub size: Option<f64>,
}

impl From<Estimate> for Learned {
    fn from(Estimate { after_s, sent, size }: Estimate) -> Self {
        Self { after_s, sent, size: Some(size) }
    }
}

/// What was learnt of each coflow, by its place in the trace; filled while the policy runs.
#[derive(Debug, Clone, Default)]
pub struct Record(Arc<Mutex<Vec<Option<Learned>>>>);

impl Record {
    /// What it holds; it is empty afterwards.
    pub fn take(&self) -> Vec<Option<Learned>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, place: usize, learned: Learned) {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = record.get_mut(place) {
            slot.get_or_insert(learned);
        }
    }
}

/// `policy`, watched, and the record that fills. Only policies that do not know sizes have
/// something to learn.
pub fn watched(policy: AnyPolicy, watch: Watch, workload: &Workload) -> (AnyPolicy, Record) {
    let record = Record::default();
    let after = match watch {
        Watch::Nothing | Watch::Flows => return (policy, record),
        Watch::Estimates => None,
        Watch::Queues { first, factor } => Some((first, factor)),
    };
    let AnyPolicy::NonClairvoyant(policy) = policy else { return (policy, record) };
    *record.0.lock().unwrap_or_else(PoisonError::into_inner) = vec![None; workload.coflows.len()];
    let limits = after.map(|(first, factor)| {
        workload.coflows.iter().map(|c| last_limit(c.size_bytes(), first, factor)).collect()
    });
    let pilots = BTreeMap::new();
    let watched = Watched { policy, record: record.clone(), limits, pilots };
    (AnyPolicy::NonClairvoyant(Box::new(watched)), record)
}

/// The greatest limit that a coflow of this size passes, if it passes any.
fn last_limit(size: f64, first: f64, factor: f64) -> Option<f64> {
    std::iter::successors(Some(first), |limit| Some(limit * factor))
        .take_while(|limit| *limit < size)
        .last()
}

struct Watched {
    policy: Box<dyn Policy<NonClairvoyant>>,
    record: Record,
    /// For queues: by place in the trace, what a coflow has to send.
    limits: Option<Vec<Option<f64>>>,
    /// For estimates: the pilots of the coflows present, how many are under way, and their bytes.
    pilots: BTreeMap<CoflowId, Pilots>,
}

#[derive(Default)]
struct Pilots {
    flows: Vec<FlowId>,
    under_way: usize,
    bytes: f64,
}

type Seen<'a> = View<'a, NonClairvoyant>;

impl Watched {
    fn learned(&self, coflow: CoflowId, size: Option<f64>, view: &Seen<'_>) {
        let (arrival, place) = view.order(coflow);
        let after_s = view.now().as_secs() - arrival.as_secs();
        let sent = view.attained(coflow).bytes;
        self.record.set(place as usize, Learned { after_s, sent, size });
    }

    /// Pilots stand in the plan one by one, when their coflow has arrived.
    fn note_pilots(&mut self, plan: &Plan<NonClairvoyant>) {
        for (_, entry) in plan.ranking().entries.iter() {
            if let Group::Flow(flow) = entry.group {
                let pilots = self.pilots.entry(flow.coflow).or_default();
                if !pilots.flows.contains(&flow) {
                    pilots.flows.push(flow);
                    pilots.under_way += 1;
                }
            }
        }
    }

    /// Counts the end of a pilot. With the last one its coflow's size is known.
    fn note_end(&mut self, flow: FlowId, view: &Seen<'_>) {
        let Some(pilots) = self.pilots.get_mut(&flow.coflow) else { return };
        if pilots.flows.contains(&flow) {
            pilots.under_way -= 1;
            pilots.bytes += view.finished_size(flow).unwrap_or_default();
            if pilots.under_way == 0 {
                let length = pilots.bytes / pilots.flows.len() as f64;
                let size = length * view.width(flow.coflow) as f64;
                self.learned(flow.coflow, Some(size), view);
            }
        }
    }

    /// Coflows that have passed the limit before their last queue.
    fn note_queues(&self, limits: &[Option<f64>], view: &Seen<'_>) {
        for &coflow in view.coflows() {
            let limit = limits.get(view.order(coflow).1 as usize).copied().flatten();
            if limit.is_some_and(|limit| view.attained(coflow).bytes >= limit - 1.0) {
                self.learned(coflow, None, view);
            }
        }
    }
}

impl Policy<NonClairvoyant> for Watched {
    fn wants(&self) -> Wants {
        let wants = self.policy.wants();
        Wants { attained: true, flow_ends: wants.flow_ends || self.limits.is_none(), ..wants }
    }

    fn link_limits(&self) -> &[f64] {
        self.policy.link_limits()
    }

    fn event(&mut self, event: Event, view: &Seen<'_>) {
        if let Event::CoflowArrived(coflow) = event {
            self.pilots.remove(&coflow);
        }
        self.policy.event(event, view);
        if let Event::FlowEnded(flow) = event {
            self.note_end(flow, view);
        }
    }

    fn plan(&mut self, view: &Seen<'_>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        let answer = self.policy.plan(view, plan);
        match &self.limits {
            Some(limits) => self.note_queues(limits, view),
            None if answer == Answer::Replaced => self.note_pilots(plan),
            None => {}
        }
        answer
    }
}
