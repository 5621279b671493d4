//! Records the calls of a policy in a simulation, and its plans.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use covey_core::state::Registration;
use covey_core::{
    Answer, AnyPolicy, Clairvoyant, CoflowId, Event, Fabric, FlowId, Named, NonClairvoyant, Plan,
    Policy, Ranking, Time, View, Wake, Wants,
};
use covey_sim::simulate;
use covey_trace::Workload;

use super::policy;

/// One call of a policy, with the changes since the call before.
#[derive(Debug, Clone)]
pub struct Call {
    pub now: Time,
    pub changes: Vec<Change>,
    /// The bytes that each present coflow had sent at that time.
    pub attained: Vec<(CoflowId, f64)>,
    /// For clairvoyant policies: bytes left of each unfinished flow, and at each link.
    pub left: Vec<(CoflowId, Left)>,
    pub what: What,
}

#[derive(Debug, Clone)]
pub enum Change {
    /// The coflow with this registration now has this id.
    Registered(CoflowId, Registration),
    Started(FlowId),
    Ended(FlowId),
    Retired(CoflowId),
}

#[derive(Debug, Clone)]
pub enum What {
    /// The policy received an event.
    Told(Event),
    /// The policy was asked for its plan, and this plan was then in force.
    Planned(Box<Ranking>, Vec<Wake>),
    /// The policy is about to be asked for its plan, and these coflows are dirty.
    Dirty(Vec<CoflowId>),
}

#[derive(Debug, Clone, Default)]
pub struct Left {
    pub flows: Vec<(FlowId, f64)>,
    pub links: Vec<f64>,
}

/// Reads bytes left, if the policy may see them.
type ReadLeft<K> = fn(&View<'_, K>, CoflowId) -> Left;

fn left_of_sized(view: &View<'_, Clairvoyant>, id: CoflowId) -> Left {
    Left {
        flows: view.flows(id).map(|flow| (flow, view.left(flow))).collect(),
        links: view.left_at(id).map(|(_, left)| left).collect(),
    }
}

/// The state of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Waiting,
    Active,
    Ended,
}

/// Passes all calls on to a policy, and records them.
struct Recorder<K: Named> {
    policy: Box<dyn Policy<K>>,
    left: ReadLeft<K>,
    workload: Workload,
    /// Flows of the coflows that have arrived.
    stages: BTreeMap<CoflowId, Vec<Stage>>,
    /// Whether the policy has received an event since its last plan.
    was_told: bool,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl<K: Named> Recorder<K> {
    fn write(&mut self, view: &View<'_, K>, what: What) {
        let present = view.coflows();
        let mut changes = Vec::new();
        for &id in present {
            self.stages.entry(id).or_insert_with(|| {
                let (arrival, seq) = view.order(id);
                let registration = Registration {
                    seq,
                    arrival,
                    weight: view.weight(id),
                    deadline_s: view.deadline_s(id),
                    lineage: view.lineage(id),
                    inherited_bytes: view.inherited(id),
                    ..Registration::default()
                };
                changes.push(Change::Registered(id, registration));
                vec![Stage::Waiting; self.workload.coflows[seq as usize].flows.len()]
            });
        }
        for (&coflow, stages) in &mut self.stages {
            for (index, stage) in stages.iter_mut().enumerate() {
                let flow = FlowId { coflow, index: index as u32 };
                let before = *stage;
                *stage = match (view.is_active(flow), view.finished_size(flow)) {
                    (true, _) => Stage::Active,
                    (false, Some(_)) => Stage::Ended,
                    (false, None) => Stage::Waiting,
                };
                if before == Stage::Waiting && *stage != Stage::Waiting {
                    changes.push(Change::Started(flow));
                }
                if before != Stage::Ended && *stage == Stage::Ended {
                    changes.push(Change::Ended(flow));
                }
            }
        }
        let retired = self.stages.keys().filter(|id| !present.contains(id));
        changes.extend(retired.map(|&id| Change::Retired(id)));
        self.stages.retain(|id, _| present.contains(id));
        let attained = present.iter().map(|&id| (id, view.attained(id).bytes)).collect();
        let left = present.iter().map(|&id| (id, (self.left)(view, id))).collect();
        let call = Call { now: view.now(), changes, attained, left, what };
        self.calls.lock().unwrap().push(call);
    }
}

impl<K: Named> Policy<K> for Recorder<K> {
    /// Asks for more than the policy wants, to record all that a driver knows. If the policy does
    /// not want ends of flows, the next call records them.
    fn wants(&self) -> Wants {
        Wants { attained: true, ..self.policy.wants() }
    }

    fn link_thresholds(&self) -> &[f64] {
        self.policy.link_thresholds()
    }

    fn reads_flows_of(&self, wake: Wake, now: Time, coflows: &mut Vec<CoflowId>) {
        self.policy.reads_flows_of(wake, now, coflows);
    }

    fn event(&mut self, event: Event, view: &View<'_, K>) {
        if matches!(event, Event::FlowEnded(_)) && !self.policy.wants().flow_ends {
            return;
        }
        self.write(view, What::Told(event));
        self.was_told = true;
        self.policy.event(event, view);
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        if !std::mem::take(&mut self.was_told) {
            // Only the recorder asked for this call.
            return Answer::Unchanged;
        }
        let dirty = view.coflows().iter().copied().filter(|&id| view.is_dirty(id)).collect();
        self.write(view, What::Dirty(dirty));
        let answer = self.policy.plan(view, plan);
        self.write(view, What::Planned(Box::new(plan.ranking().clone()), plan.wakes().all()));
        answer
    }
}

/// All calls of a policy in a simulation.
pub fn record(workload: &Workload, fabric: &Fabric, spec: &str) -> Vec<Call> {
    fn recorder<K: Named>(
        policy: Box<dyn Policy<K>>,
        left: ReadLeft<K>,
        workload: &Workload,
        calls: &Arc<Mutex<Vec<Call>>>,
    ) -> Box<dyn Policy<K>> {
        Box::new(Recorder {
            policy,
            left,
            workload: workload.clone(),
            stages: BTreeMap::new(),
            was_told: false,
            calls: Arc::clone(calls),
        })
    }
    let calls = Arc::default();
    let mut recorder = match policy(spec) {
        AnyPolicy::Clairvoyant(policy) => {
            AnyPolicy::Clairvoyant(recorder(policy, left_of_sized, workload, &calls))
        }
        AnyPolicy::NonClairvoyant(policy) => {
            let nothing: ReadLeft<NonClairvoyant> = |_, _| Left::default();
            AnyPolicy::NonClairvoyant(recorder(policy, nothing, workload, &calls))
        }
        AnyPolicy::Unlabelled(_) => unreachable!("{spec} looks at flows"),
    };
    simulate(workload, fabric, spec, &mut recorder, &mut ())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut calls = calls.lock().unwrap();
    std::mem::take(&mut calls)
}
