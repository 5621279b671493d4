//! A policy cannot tell who drives it. What it is told in a simulation is written down, told again
//! to a fresh policy by a driver of another kind, and the plans are the same: the driver here knows
//! no simulator, keeps its own state from what was written down, and may get reports late.

mod common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use common::{Kind, POLICIES, as_trace, policy};
use covey_core::state::{FlowSpec, Registration, State};
use covey_core::{
    Answer, AnyPolicy, Clairvoyant, CoflowId, Fabric, FlowId, Knowledge, LinkId, NonClairvoyant,
    Plan, Policy, PortId, Ranking, Time, View, Wake, Wants,
};
use covey_sim::simulate;
use covey_trace::Workload;
use proptest::prelude::*;

/// One call of a policy, with what has changed since the call before.
#[derive(Debug, Clone)]
struct Call {
    now: Time,
    changes: Vec<Change>,
    /// What each coflow present had sent at that moment.
    attained: Vec<(CoflowId, f64)>,
    /// For sized policies: bytes left of each unfinished flow, and at each link.
    left: Vec<(CoflowId, Left)>,
    what: What,
}

#[derive(Debug, Clone)]
enum Change {
    /// The coflow registered so has this number now.
    Registered(CoflowId, Registration),
    Started(FlowId),
    Ended(FlowId),
    Retired(CoflowId),
}

#[derive(Debug, Clone)]
enum What {
    CoflowArrived(CoflowId),
    FlowsStarted(CoflowId),
    FlowEnded(FlowId),
    PortDrained(CoflowId, LinkId),
    CoflowEnded(CoflowId),
    BytesReached(CoflowId, f64),
    DagBytesReached(u64, f64),
    LinkBytesReached(CoflowId, LinkId, f64),
    FlowBytesReached(CoflowId, f64),
    Woke,
    /// It was asked for its plan, which then was this.
    Planned(Ranking, Vec<Wake>),
}

#[derive(Debug, Clone, Default)]
struct Left {
    flows: Vec<(FlowId, f64)>,
    links: Vec<f64>,
}

/// Reads bytes left, where knowledge grants it.
type ReadLeft<K> = fn(&View<'_, K>, CoflowId) -> Left;

fn left_of_sized(view: &View<'_, Clairvoyant>, id: CoflowId) -> Left {
    Left {
        flows: view.flows(id).map(|flow| (flow, view.left(flow))).collect(),
        links: view.left_at(id).map(|(_, left)| left).collect(),
    }
}

// Writing down.

/// Where a flow is in its life.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Waiting,
    Active,
    Ended,
}

/// Passes all calls on to a policy and writes them down.
struct Recorder<K: Knowledge> {
    policy: Box<dyn Policy<K>>,
    left: ReadLeft<K>,
    workload: Workload,
    /// Flows of the coflows it has heard of.
    stages: BTreeMap<CoflowId, Vec<Stage>>,
    /// Whether the policy has been told anything since its last plan.
    told: bool,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl<K: Knowledge> Recorder<K> {
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

impl<K: Knowledge> Policy<K> for Recorder<K> {
    /// More than the policy may want: to write down what a driver knows.
    fn wants(&self) -> Wants {
        Wants { flow_ends: true, attained: true, ..self.policy.wants() }
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.write(view, What::CoflowArrived(coflow));
        self.told = true;
        self.policy.coflow_arrived(coflow, view);
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.write(view, What::FlowsStarted(coflow));
        self.told = true;
        self.policy.flows_started(coflow, view);
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, K>) {
        if self.policy.wants().flow_ends {
            self.write(view, What::FlowEnded(flow));
            self.told = true;
            self.policy.flow_ended(flow, view);
        }
    }

    fn port_drained(&mut self, coflow: CoflowId, link: LinkId, view: &View<'_, K>) {
        self.write(view, What::PortDrained(coflow, link));
        self.told = true;
        self.policy.port_drained(coflow, link, view);
    }

    fn coflow_ended(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.write(view, What::CoflowEnded(coflow));
        self.told = true;
        self.policy.coflow_ended(coflow, view);
    }

    fn bytes_reached(&mut self, coflow: CoflowId, bytes: f64, view: &View<'_, K>) {
        self.write(view, What::BytesReached(coflow, bytes));
        self.told = true;
        self.policy.bytes_reached(coflow, bytes, view);
    }

    fn dag_bytes_reached(&mut self, external: u64, bytes: f64, view: &View<'_, K>) {
        self.write(view, What::DagBytesReached(external, bytes));
        self.told = true;
        self.policy.dag_bytes_reached(external, bytes, view);
    }

    fn link_limits(&self) -> &[f64] {
        self.policy.link_limits()
    }

    fn link_bytes_reached(
        &mut self,
        coflow: CoflowId,
        link: LinkId,
        bytes: f64,
        view: &View<'_, K>,
    ) {
        self.write(view, What::LinkBytesReached(coflow, link, bytes));
        self.told = true;
        self.policy.link_bytes_reached(coflow, link, bytes, view);
    }

    fn flow_bytes_reached(&mut self, coflow: CoflowId, bytes: f64, view: &View<'_, K>) {
        self.write(view, What::FlowBytesReached(coflow, bytes));
        self.told = true;
        self.policy.flow_bytes_reached(coflow, bytes, view);
    }

    fn woke(&mut self, view: &View<'_, K>) {
        self.write(view, What::Woke);
        self.told = true;
        self.policy.woke(view);
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        if !std::mem::take(&mut self.told) {
            // Only the recorder wanted to know.
            return Answer::Unchanged;
        }
        let answer = self.policy.plan(view, plan);
        self.write(view, What::Planned(plan.ranking().clone(), plan.wakes().to_vec()));
        answer
    }
}

/// All calls of a policy in a simulation.
fn record(workload: &Workload, fabric: &Fabric, spec: &str) -> Vec<Call> {
    fn recorder<K: Knowledge>(
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
            told: false,
            calls: Arc::clone(calls),
        })
    }
    let calls = Arc::default();
    let mut recorder = match policy(spec) {
        AnyPolicy::Sized(policy) => {
            AnyPolicy::Sized(recorder(policy, left_of_sized, workload, &calls))
        }
        AnyPolicy::Unsized(policy) => {
            let nothing: ReadLeft<NonClairvoyant> = |_, _| Left::default();
            AnyPolicy::Unsized(recorder(policy, nothing, workload, &calls))
        }
    };
    simulate(workload, fabric, spec, &mut recorder, &mut ())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut calls = calls.lock().unwrap();
    std::mem::take(&mut calls)
}

// Telling again.

/// When reports of what has been sent come.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reports {
    /// As they were in the simulation.
    AtOnce,
    /// This many calls later.
    Late(usize),
}

/// Tells `policy` what was written down. Returns how its plans differ from those written down, if
/// they do.
fn replay<K: Knowledge>(
    calls: &[Call],
    workload: &Workload,
    fabric: &Fabric,
    policy: &mut dyn Policy<K>,
    reports: Reports,
) -> Result<(), String> {
    let mut state = State::new(fabric.clone());
    let mut plan = Plan::default();
    let mut result = Ok(());
    for (number, call) in calls.iter().enumerate() {
        for change in &call.changes {
            apply(change, &mut state, workload);
        }
        let delay = if let Reports::Late(calls) = reports { calls } else { 0 };
        if let Some(report) = number.checked_sub(delay).map(|earlier| &calls[earlier]) {
            for &(id, bytes) in &report.attained {
                // It may have come for a coflow that has left, and had its number.
                if state.is_present(id) && state.coflow(id).registration.arrival <= report.now {
                    state.report(id, bytes, report.now);
                }
            }
        }
        for (id, left) in &call.left {
            let (demand, progress) = state.progress_mut(*id);
            if !left.links.is_empty() {
                left.flows.iter().for_each(|(flow, left)| {
                    progress.left[demand.position(flow.index)] = *left;
                });
                progress.link_left.clone_from(&left.links);
            }
        }
        let view = View::new(&state, call.now);
        match &call.what {
            What::CoflowArrived(id) => policy.coflow_arrived(*id, &view),
            What::FlowsStarted(id) => policy.flows_started(*id, &view),
            What::FlowEnded(flow) => policy.flow_ended(*flow, &view),
            What::PortDrained(id, link) => policy.port_drained(*id, *link, &view),
            What::CoflowEnded(id) => {
                policy.coflow_ended(*id, &view);
                state.release(*id);
            }
            What::BytesReached(id, bytes) => {
                plan.take_due(|wake| *wake == Wake::WhenSent(*id, *bytes));
                policy.bytes_reached(*id, *bytes, &view);
            }
            What::DagBytesReached(external, bytes) => {
                plan.take_due(|wake| *wake == Wake::WhenDagSent(*external, *bytes));
                policy.dag_bytes_reached(*external, *bytes, &view);
            }
            What::LinkBytesReached(id, link, bytes) => {
                policy.link_bytes_reached(*id, *link, *bytes, &view);
            }
            What::FlowBytesReached(id, bytes) => {
                plan.take_due(|wake| *wake == Wake::WhenFlowSent(*id, *bytes));
                policy.flow_bytes_reached(*id, *bytes, &view);
            }
            What::Woke => {
                plan.take_due(|wake| matches!(wake, Wake::At(time) if time.due(call.now)));
                policy.woke(&view);
            }
            What::Planned(ranking, wakes) => {
                policy.plan(&view, &mut plan);
                if result.is_ok() && (plan.ranking() != ranking || plan.wakes() != wakes) {
                    result = Err(format!(
                        "at {}\nfound    {:?} {:?}\nexpected {ranking:?} {wakes:?}",
                        call.now,
                        plan.ranking(),
                        plan.wakes()
                    ));
                }
            }
        }
    }
    result
}

fn apply(change: &Change, state: &mut State, workload: &Workload) {
    match *change {
        Change::Registered(expected, registration) => {
            let coflow = &workload.coflows[registration.seq as usize];
            let flows = coflow.flows.iter().map(|flow| FlowSpec {
                src: PortId(flow.src),
                dst: PortId(flow.dst),
                bytes: flow.bytes,
            });
            assert_eq!(state.register(registration, flows), expected);
        }
        Change::Started(flow) => state.start(flow),
        Change::Ended(flow) => {
            let position = state.coflow(flow.coflow).demand().position(flow.index);
            state.finish(flow.coflow, position, |_| {});
        }
        Change::Retired(id) => state.retire(id),
    }
}

/// Replays into a fresh policy; see [`replay`].
fn replay_into(
    spec: &str,
    calls: &[Call],
    workload: &Workload,
    fabric: &Fabric,
    reports: Reports,
) -> Result<(), String> {
    match policy(spec) {
        AnyPolicy::Sized(mut policy) => replay(calls, workload, fabric, &mut *policy, reports),
        AnyPolicy::Unsized(mut policy) => replay(calls, workload, fabric, &mut *policy, reports),
    }
}

fn wants_attained(spec: &str) -> bool {
    match policy(spec) {
        AnyPolicy::Sized(policy) => policy.wants().attained,
        AnyPolicy::Unsized(policy) => policy.wants().attained,
    }
}

proptest! {
    #![proptest_config(common::cases(250))]

    #[test]
    fn told_the_same_by_another_driver_policies_plan_the_same(
        workload in common::workload(Kind::Ties), fabric in common::fabric(),
    ) {
        for spec in POLICIES {
            let calls = record(&workload, &fabric, spec);
            let same = replay_into(spec, &calls, &workload, &fabric, Reports::AtOnce);
            if let Err(difference) = same {
                panic!("{spec} {difference}\n{}", as_trace(&workload));
            }
        }
    }

    #[test]
    fn late_reports_change_plans_only_of_policies_that_ask_for_reports(
        workload in common::workload(Kind::Ties),
        fabric in common::fabric(),
        calls_late in 1..6_usize,
    ) {
        for spec in POLICIES {
            let calls = record(&workload, &fabric, spec);
            // Those that do ask get to the end, with whatever plans.
            let late = replay_into(spec, &calls, &workload, &fabric, Reports::Late(calls_late));
            if let (Err(difference), false) = (late, wants_attained(spec)) {
                panic!("{spec} {difference}\n{}", as_trace(&workload));
            }
        }
    }
}

#[test]
fn a_report_that_is_late_matters_to_who_asks_for_it() {
    // Order B is by what remains: without the report X would not come back to the first queue.
    let spec = "philae:order=B,q1=10,queues=strict";
    let many = |bytes| vec![common::flow(0, 0, bytes); 8];
    let coflows = vec![
        covey_trace::Coflow::new("X".to_owned(), 0.0, many(4.0)),
        covey_trace::Coflow::new("Y".to_owned(), 24.0, many(1.0)),
    ];
    let (workload, fabric) = (Workload { ports: 1, coflows }, Fabric::big_switch(1, 1.0).unwrap());
    let calls = record(&workload, &fabric, spec);
    let replay = |reports| replay_into(spec, &calls, &workload, &fabric, reports);
    assert_eq!(replay(Reports::AtOnce), Ok(()));
    assert!(replay(Reports::Late(5)).is_err());
}
