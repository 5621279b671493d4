//! Policies that wait for bytes of a coflow to pass a link, against a count of every flow's bytes.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use covey_core::{
    Answer, AnyPolicy, Backfill, Clairvoyant, CoflowId, Destination, Ecmp, EcmpMode, Fabric,
    FatTree, FlowId, Group, Layers, Lineage, LinkId, Member, OwnGroup, Plan, Policy, PortId, Rank,
    Regrouping, Sender, Share, Time, Unlabelled, View, Wants,
};
use covey_sim::{Observer, Round, simulate};
use covey_trace::{Coflow, Restart, Workload};
use proptest::prelude::*;

use crate::common::{Kind, cases, fabric, fabric_with_inner_links, flow, workload};

/// A coflow, by its place in the trace, at a link.
type At = (u64, LinkId);

/// A wake-up that has come.
#[derive(Debug, Clone, Copy)]
struct Told {
    at: At,
    bytes: f64,
    now: Time,
    /// Whether it came in the round in which it was asked for: the bytes had passed before.
    is_late: bool,
}

type AllTold = Arc<Mutex<Vec<Told>>>;

/// How a policy serves coflows.
type Serve = fn(&View<'_, Clairvoyant>, &mut Plan<Clairvoyant>);

/// Asks to be told of every `step` bytes of a coflow over every link, from `delay_s` after its
/// arrival on.
struct Watching {
    serve: Serve,
    step: f64,
    delay_s: f64,
    /// Whether it keeps its plan, and asks for each wake-up once.
    keeps: bool,
    /// What is waited for next, since when, and whether it was asked for.
    next: BTreeMap<(CoflowId, LinkId), (f64, Time, bool)>,
    /// Coflows that have ended since the last plan, with their ranks.
    ended: Vec<(CoflowId, Rank)>,
    told: AllTold,
}

impl Watching {
    fn new(serve: Serve, step: f64, delay_s: f64) -> Watching {
        let (next, ended) = (BTreeMap::new(), Vec::new());
        Watching { serve, step, delay_s, keeps: false, next, ended, told: AllTold::default() }
    }
}

impl Policy<Clairvoyant> for Watching {
    fn coflow_ended(&mut self, ended: CoflowId, view: &View<'_, Clairvoyant>) {
        self.next.retain(|&(coflow, _), _| coflow != ended);
        self.ended.push((ended, Rank::new(0, 0.0, view.order(ended))));
    }

    fn link_bytes_reached(
        &mut self,
        coflow: CoflowId,
        link: LinkId,
        bytes: f64,
        view: &View<'_, Clairvoyant>,
    ) {
        let next = self.next.get_mut(&(coflow, link)).expect("it was asked for");
        assert_eq!(next.0, bytes);
        let (at, now) = ((view.order(coflow).1, link), view.now());
        self.told.lock().unwrap().push(Told { at, bytes, now, is_late: next.1 == now });
        *next = (bytes + self.step, now, false);
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        if self.keeps {
            for (ended, rank) in self.ended.drain(..) {
                plan.remove(rank);
                plan.clear_wakes_of(Sender::Coflow(ended));
            }
        } else {
            plan.clear();
        }
        (self.serve)(view, plan);
        for &coflow in view.coflows() {
            check_left(view, coflow);
            let begin = view.arrival(coflow) + self.delay_s;
            if !begin.due(view.now()) {
                plan.wake_at(begin);
                continue;
            }
            // Nothing passes most of the links.
            for link in (0..view.fabric().links() as u32).map(LinkId) {
                let first = (self.step, view.now(), false);
                let next = self.next.entry((coflow, link)).or_insert(first);
                if !std::mem::replace(&mut next.2, self.keeps) {
                    plan.wake_when_passed(coflow, link, next.0);
                }
            }
        }
        Answer::Replaced
    }
}

/// What is left of a coflow at the links of hosts is what is left of the flows that begin or end
/// there.
fn check_left(view: &View<'_, Clairvoyant>, coflow: CoflowId) {
    let mut by_link: BTreeMap<LinkId, f64> = BTreeMap::new();
    for flow in view.flows(coflow) {
        let (sender, receiver) = view.ends(flow);
        for link in [sender, receiver] {
            *by_link.entry(link).or_default() += view.left(flow);
        }
    }
    for (link, left) in view.left_at(coflow) {
        if view.fabric().port_of(link).is_some() {
            let sum = by_link.get(&link).copied().unwrap_or(0.0);
            assert!((left - sum).abs() <= 1e-9, "{left} at {link:?}, flows have {sum}");
        }
    }
}

/// Counts what every flow sends over each of its links, by its rates, and compares with what the
/// policy was told.
struct Counter {
    step: f64,
    delay_s: f64,
    told: AllTold,
    since: Time,
    rates: BTreeMap<At, f64>,
    passed: BTreeMap<At, f64>,
    /// The last number of bytes that the policy was told of.
    reached: BTreeMap<At, f64>,
}

impl Observer for Counter {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        for (&at, rate) in &self.rates {
            *self.passed.entry(at).or_default() += rate * (round.now - self.since);
        }
        self.since = round.now;
        for told in self.told.lock().unwrap().drain(..) {
            let passed = self.passed[&told.at];
            let ahead = passed - told.bytes;
            assert_eq!(told.now, round.now);
            let is_right = ahead.abs() <= 1e-9 * passed || (told.is_late && ahead > 0.0);
            assert!(is_right, "{told:?}, but {passed} bytes have passed");
            self.reached.insert(told.at, told.bytes);
        }
        self.rates.clear();
        let (state, mut rates) = (round.state, Vec::new());
        for &id in state.present() {
            let coflow = state.coflow(id);
            let (seq, demand) = (coflow.registration.seq, coflow.demand());
            round.allocator.rates().flow_rates(state, id, &mut rates);
            for flow in &rates {
                for l in demand.path(flow.position as usize) {
                    *self.rates.entry((seq, demand.links()[l])).or_default() += flow.rate;
                }
            }
            let is_waited_for = (coflow.registration.arrival + self.delay_s).due(round.now);
            for &link in demand.links() {
                let passed = self.passed.get(&(seq, link)).copied().unwrap_or(0.0);
                let next = self.step + self.reached.get(&(seq, link)).copied().unwrap_or(0.0);
                // A wake-up that was asked for late comes in the next round, at the same time.
                let is_missing = self.delay_s == 0.0 && passed > next + 1e-9 * next;
                assert!(!is_waited_for || !is_missing, "{passed} of {seq} at {link:?}: {next}");
            }
        }
        ControlFlow::Continue(())
    }
}

fn in_arrival_order(
    view: &View<'_, Clairvoyant>,
    plan: &mut Plan<Clairvoyant>,
    share: Share<Clairvoyant>,
) {
    for &coflow in view.coflows() {
        plan.push(Group::Coflow(coflow), share);
    }
}

/// Many kinds of plans.
const WAYS: [(&str, Serve); 15] = [
    ("max-min", |view, plan| in_arrival_order(view, plan, Share::MAX_MIN)),
    ("last arrival first", |view, plan| {
        for &coflow in view.coflows().iter().rev() {
            plan.push(Group::Coflow(coflow), Share::MAX_MIN);
        }
    }),
    ("equal", |view, plan| {
        in_arrival_order(view, plan, Share::EQUAL);
        plan.set_backfill(Backfill::Greedy);
    }),
    ("matching", |view, plan| in_arrival_order(view, plan, Share::MATCHING)),
    ("all or none", |view, plan| {
        in_arrival_order(view, plan, Share::ALL_OR_NONE);
        plan.set_backfill(Backfill::Skipped);
    }),
    ("madd", |view, plan| {
        in_arrival_order(view, plan, Share::MADD);
        plan.set_backfill(Backfill::Greedy);
    }),
    ("proportional", |view, plan| in_arrival_order(view, plan, Share::PROPORTIONAL)),
    ("by sender", |view, plan| {
        for &coflow in view.coflows().iter().rev() {
            let mut senders: Vec<_> = view.flows(coflow).map(|flow| view.ends(flow).0).collect();
            senders.sort_unstable();
            senders.dedup();
            senders.iter().for_each(|&s| plan.push(Group::CoflowAt(coflow, s), Share::MAX_MIN));
        }
    }),
    ("weighted", |view, plan| {
        plan.set_layers(Layers::Weighted);
        for (k, &coflow) in view.coflows().iter().enumerate() {
            plan.open_layer(1.0 + k as f64);
            plan.push(Group::Coflow(coflow), Share::MAX_MIN);
        }
        plan.set_backfill(Backfill::Greedy);
    }),
    ("per port", |view, plan| {
        plan.set_layers(Layers::PerPort);
        in_arrival_order(view, plan, Share::MAX_MIN);
        for link in (0..view.fabric().links() as u32).map(LinkId) {
            let weight = |k: usize| 1.0 + ((k as u32 + link.0) % 3) as f64;
            let all: f64 = (0..view.coflows().len()).map(weight).sum();
            for (k, &coflow) in view.coflows().iter().enumerate() {
                plan.set_link_share(coflow, link, weight(k) / all);
            }
        }
    }),
    ("classes", |view, plan| {
        plan.set_layers(Layers::Classes);
        in_arrival_order(view, plan, Share::MAX_MIN);
    }),
    ("all flows", |_, plan| plan.push(Group::AllFlows, Share::MAX_MIN)),
    ("all flows by size", |_, plan| plan.push(Group::AllFlows, Share::BY_SIZE)),
    ("the oldest flow first", |_, plan| plan.push(Group::AllFlows, Share::OLDEST_FIRST)),
    ("the shortest flow first", |_, plan| plan.push(Group::AllFlows, Share::SHORTEST_FIRST)),
];

/// Changes between strict order and classes each second, in a plan that is kept.
fn change_layers(view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) {
    let second = (view.now().as_secs() + 1e-9).floor();
    plan.set_layers(if second % 2.0 == 0.0 { Layers::Strict } else { Layers::Classes });
    plan.clear_times();
    plan.wake_at(Time::from_secs(second + 1.0));
    for &coflow in view.coflows() {
        let rank = Rank::new(0, 0.0, view.order(coflow));
        plan.insert(rank, Group::Coflow(coflow), Share::MAX_MIN);
    }
}

/// Fails unless a policy is told of every number of bytes when they have passed. Returns how often
/// it was told.
fn check(workload: &Workload, fabric: &Fabric, policy: Watching, name: &str) -> usize {
    let Watching { step, delay_s, .. } = policy;
    let mut counter = Counter {
        step,
        delay_s,
        told: policy.told.clone(),
        since: Time::ZERO,
        rates: BTreeMap::new(),
        passed: BTreeMap::new(),
        reached: BTreeMap::new(),
    };
    let mut policy = AnyPolicy::Clairvoyant(Box::new(policy));
    simulate(workload, fabric, name, &mut policy, &mut counter).expect("the plan is right");
    counter.reached.values().map(|bytes| (bytes / step).round() as usize).sum()
}

fn fat_tree() -> Fabric {
    let ecmp = Ecmp { mode: EcmpMode::Flow, seed: 7 };
    FatTree::new(4, ecmp).unwrap().fabric(1.0, 2.0).unwrap()
}

/// Two coflows with flows between the same hosts, and one that comes later.
fn shuffles() -> Workload {
    let shuffle = |id: &str, arrival_s, senders: &[u32], receivers: &[u32]| {
        let pairs = senders.iter().flat_map(|s| receivers.iter().map(move |r| (*s, *r)));
        let flows = pairs.map(|(s, r)| flow(s, r, f64::from(3 + (5 * s + 3 * r) % 7)));
        Coflow::new(id.to_owned(), arrival_s, flows.collect())
    };
    let a = shuffle("a", 0.0, &[0, 1, 2, 5], &[3, 7, 10, 15]);
    let b = shuffle("b", 1.25, &[0, 4, 8], &[7, 12]);
    let c = shuffle("c", 4.0, &[1, 5, 13], &[2, 3, 15]);
    Workload::new(16, vec![a, b, c])
}

#[test]
fn wake_ups_come_when_a_calculation_says() {
    // The second coflow has the link of host 0 from 1 s to 3 s. The first has sent one byte before,
    // half of it to each of its hosts, and goes on after.
    let network = FatTree::new(4, Ecmp { mode: EcmpMode::Modulo, seed: 0 }).unwrap();
    for fabric in [Fabric::big_switch(6, 1.0).unwrap(), network.fabric(1.0, 1.0).unwrap()] {
        let a = Coflow::new("a".to_owned(), 0.0, vec![flow(0, 4, 4.0), flow(0, 5, 4.0)]);
        let b = Coflow::new("b".to_owned(), 1.0, vec![flow(0, 4, 2.0)]);
        let workload = Workload::new(6, vec![a, b]);
        let policy = Watching::new(WAYS[1].1, 1.5, 0.0);
        let told = policy.told.clone();
        let mut policy = AnyPolicy::Clairvoyant(Box::new(policy));
        simulate(&workload, &fabric, "mine", &mut policy, &mut ()).unwrap();
        let mut expected = Vec::new();
        let [mut to_4, mut to_5] = [Vec::new(), Vec::new()];
        fabric.path(PortId(0), PortId(4), 0, &mut to_4);
        fabric.path(PortId(0), PortId(5), 0, &mut to_5);
        let at_host = [(1.5, 3.5), (3.0, 5.0), (4.5, 6.5), (6.0, 8.0), (7.5, 9.5)];
        expected.extend(at_host.map(|(bytes, time_s)| (0, to_4[0], bytes, time_s)));
        // Both of the first coflow's flows have the inner links of their own.
        for link in to_4[1..].iter().chain(&to_5[1..]) {
            expected.extend([(0, *link, 1.5, 5.0), (0, *link, 3.0, 8.0)]);
        }
        expected.extend(to_4.iter().map(|link| (1, *link, 1.5, 2.5)));
        expected.sort_by(|x, y| x.partial_cmp(y).unwrap());
        let found = told.lock().unwrap();
        let mut found: Vec<_> = found
            .iter()
            .map(|told| (told.at.0, told.at.1, told.bytes, told.now.as_secs()))
            .collect();
        found.sort_by(|x, y| x.partial_cmp(y).unwrap());
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((found.0, found.1, found.2), (expected.0, expected.1, expected.2));
            assert!((found.3 - expected.3).abs() <= 1e-9 * expected.3, "{found:?}, {expected:?}");
        }
    }
}

#[test]
fn wake_ups_come_with_every_kind_of_plan() {
    for fabric in [Fabric::big_switch(16, 1.0).unwrap(), fat_tree()] {
        for (name, serve) in WAYS {
            for delay_s in [0.0, 2.5] {
                let policy = Watching::new(serve, 1.5, delay_s);
                let times = check(&shuffles(), &fabric, policy, name);
                assert!(times > 100, "{name}: {times} times");
            }
        }
    }
}

#[test]
fn wake_ups_come_in_a_plan_that_is_kept_while_its_layers_change() {
    for fabric in [Fabric::big_switch(16, 1.0).unwrap(), fat_tree()] {
        for delay_s in [0.0, 2.5] {
            let policy = Watching { keeps: true, ..Watching::new(change_layers, 1.5, delay_s) };
            let times = check(&shuffles(), &fabric, policy, "changing");
            assert!(times > 100, "{times} times");
        }
    }
}

#[test]
fn bytes_that_are_sent_again_count_again() {
    let mut workload = shuffles();
    workload.coflows[0].restarts =
        vec![Restart { flow: 3, at_s: 2.0 }, Restart { flow: 9, at_s: 4.5 }];
    workload.coflows[2].restarts = vec![Restart { flow: 0, at_s: 1.0 }];
    for fabric in [Fabric::big_switch(16, 1.0).unwrap(), fat_tree()] {
        for (name, serve) in WAYS {
            check(&workload, &fabric, Watching::new(serve, 1.5, 0.0), name);
        }
    }
}

/// Waits for bytes of a coflow in a plan that is kept while its layers change.
struct Waiting {
    is_asked: bool,
    times: Arc<Mutex<Vec<f64>>>,
}

impl Policy<Clairvoyant> for Waiting {
    fn bytes_reached(&mut self, _: CoflowId, _: f64, view: &View<'_, Clairvoyant>) {
        self.times.lock().unwrap().push(view.now().as_secs());
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        if view.coflows().is_empty() {
            plan.clear();
            return Answer::Replaced;
        }
        change_layers(view, plan);
        for bytes in [0.5, 1.5, 2.5, 5.25] {
            if !self.is_asked {
                plan.wake_when_sent(CoflowId(0), bytes);
            }
        }
        self.is_asked = true;
        Answer::Replaced
    }
}

#[test]
fn bytes_of_a_coflow_are_counted_while_layers_change() {
    let a = Coflow::new("a".to_owned(), 0.0, vec![flow(0, 0, 3.0), flow(0, 1, 3.0)]);
    let workload = Workload::new(2, vec![a]);
    let fabric = Fabric::big_switch(2, 1.0).unwrap();
    let times = Arc::new(Mutex::new(Vec::new()));
    let policy = Waiting { is_asked: false, times: times.clone() };
    let mut policy = AnyPolicy::Clairvoyant(Box::new(policy));
    simulate(&workload, &fabric, "mine", &mut policy, &mut ()).unwrap();
    assert_eq!(*times.lock().unwrap(), [0.5, 1.5, 2.5, 5.25]);
}

/// What a policy was told of: bytes of the first coflow, of its DAG, of its first flow, or at a
/// link.
type Heard = (&'static str, f64, f64);

/// Serves all flows as one group, and asks for bytes in all ways.
struct Hearing {
    share: Share<Clairvoyant>,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Hearing {
    fn hear(&self, what: &'static str, bytes: f64, view: &View<'_, Clairvoyant>) {
        self.heard.lock().unwrap().push((what, bytes, view.now().as_secs()));
    }
}

impl Policy<Clairvoyant> for Hearing {
    fn link_thresholds(&self) -> &[f64] {
        &[1.0, 4.0]
    }

    fn link_bytes_reached(
        &mut self,
        _: CoflowId,
        link: LinkId,
        bytes: f64,
        view: &View<'_, Clairvoyant>,
    ) {
        if link == view.fabric().egress(PortId(0)) {
            self.hear("link", bytes, view);
        }
    }

    fn bytes_reached(&mut self, _: CoflowId, bytes: f64, view: &View<'_, Clairvoyant>) {
        self.hear("coflow", bytes, view);
    }

    fn dag_bytes_reached(&mut self, _: u64, bytes: f64, view: &View<'_, Clairvoyant>) {
        self.hear("DAG", bytes, view);
    }

    fn flow_bytes_reached(&mut self, _: CoflowId, bytes: f64, view: &View<'_, Clairvoyant>) {
        self.hear("flow", bytes, view);
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        plan.clear();
        plan.push(Group::AllFlows, self.share);
        for &coflow in view.coflows() {
            let later = |bytes: &f64| *bytes > view.now().as_secs();
            for bytes in [2.0, 5.0].into_iter().filter(later) {
                plan.wake_when_sent(coflow, bytes);
                plan.wake_when_dag_sent(view.lineage(coflow).external, bytes);
            }
            let has_sent = self.heard.lock().unwrap().iter().any(|heard| heard.0 == "flow");
            if !has_sent {
                plan.wake_when_flow_sent(coflow, 1.5);
            }
        }
        Answer::Replaced
    }
}

#[test]
fn bytes_are_known_where_all_flows_are_one_group() {
    let a = Coflow::new("a".to_owned(), 0.0, vec![flow(0, 0, 3.0), flow(0, 1, 3.0)]);
    let workload = Workload::new(2, vec![a]);
    let network = FatTree::new(4, Ecmp { mode: EcmpMode::Modulo, seed: 0 }).unwrap();
    for fabric in [Fabric::big_switch(2, 1.0).unwrap(), network.fabric(1.0, 1.0).unwrap()] {
        // One flow after the other, or both at half the capacity.
        for (share, of_a_flow) in [
            (Share::OLDEST_FIRST, 1.5),
            (Share::SHORTEST_FIRST, 1.5),
            (Share::BY_SIZE, 3.0),
            (Share::MAX_MIN, 3.0),
        ] {
            let heard = Arc::new(Mutex::new(Vec::new()));
            let policy = Hearing { share, heard: heard.clone() };
            let mut policy = AnyPolicy::Clairvoyant(Box::new(policy));
            simulate(&workload, &fabric, "mine", &mut policy, &mut ()).unwrap();
            let mut heard = heard.lock().unwrap();
            heard.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let at_links = [("link", 1.0, 1.0), ("link", 4.0, 4.0)];
            let sent = ["DAG", "coflow"].map(|what| [(what, 2.0, 2.0), (what, 5.0, 5.0)]);
            let mut expected = sent.concat();
            expected.push(("flow", 1.5, of_a_flow));
            expected.extend(at_links);
            assert_eq!(*heard, expected, "{share:?}");
        }
    }
}

/// Every flow is a group at first; the last one goes first. At 2 s the second flow joins the first.
#[derive(Default)]
struct Joining {
    /// How all flows are served as one group, if they are.
    all: Option<Share<Unlabelled>>,
    groups: Vec<FlowId>,
    has_joined: bool,
    times: Arc<Mutex<Vec<(u32, f64)>>>,
}

impl Policy<Unlabelled> for Joining {
    fn wants(&self) -> Wants {
        Wants { regroups: true, ..Wants::default() }
    }

    fn link_bytes_reached(
        &mut self,
        coflow: CoflowId,
        _: LinkId,
        _: f64,
        view: &View<'_, Unlabelled>,
    ) {
        let first = u32::from(coflow != self.groups[0].coflow);
        self.times.lock().unwrap().push((first, view.now().as_secs()));
    }

    fn regroup(&mut self, view: &View<'_, Unlabelled>, regrouping: &mut Regrouping) {
        for (k, (newcomer, _)) in (1..).zip(view.newcomers()) {
            let lineage = Lineage { external: k.into(), internal: 0 };
            let group = OwnGroup { number: k, arrival: view.now(), lineage };
            let group = regrouping.begin(group);
            regrouping.put(Member::Newcomer(newcomer), group);
        }
        if view.now().as_secs() >= 2.0 && !self.has_joined {
            let first = Destination::Coflow(self.groups[0].coflow);
            regrouping.put(Member::Flow(self.groups[1]), first);
            self.has_joined = true;
        }
    }

    fn regrouped(&mut self, flows: &[FlowId], _: &View<'_, Unlabelled>) {
        self.groups.extend(flows);
    }

    fn plan(&mut self, view: &View<'_, Unlabelled>, plan: &mut Plan<Unlabelled>) -> Answer {
        plan.clear();
        if let Some(share) = self.all {
            plan.push(Group::AllFlows, share);
        }
        for &group in view.coflows().iter().rev() {
            if self.all.is_none() {
                plan.push(Group::Coflow(group), Share::MAX_MIN);
            }
            let now = view.now().as_secs();
            for bytes in [1.0, 1.5, 3.0, 6.0].into_iter().filter(|bytes| *bytes > now) {
                plan.wake_when_passed(group, view.fabric().egress(PortId(0)), bytes);
            }
        }
        if !self.has_joined {
            plan.wake_at(Time::from_secs(2.0));
        }
        Answer::Replaced
    }
}

#[test]
fn what_a_flow_has_sent_counts_in_the_group_that_it_joins() {
    let a = Coflow::new("a".to_owned(), 0.0, vec![flow(0, 0, 4.0), flow(0, 1, 4.0)]);
    let workload = Workload::new(2, vec![a]);
    let fabric = Fabric::big_switch(2, 1.0).unwrap();
    let policy = Joining::default();
    let times = policy.times.clone();
    let mut policy = AnyPolicy::Unlabelled(Box::new(policy));
    simulate(&workload, &fabric, "mine", &mut policy, &mut ()).unwrap();
    assert_eq!(*times.lock().unwrap(), [(1, 1.0), (1, 1.5), (0, 3.0), (0, 6.0)]);
}

#[test]
fn flows_change_their_group_where_all_flows_are_served_as_one() {
    let a = Coflow::new("a".to_owned(), 0.0, vec![flow(0, 0, 4.0), flow(0, 1, 4.0)]);
    let workload = Workload::new(2, vec![a]);
    let fabric = Fabric::big_switch(2, 1.0).unwrap();
    // In turn the first group sends until it has the second flow too, or both send at half the
    // capacity.
    let alone = vec![(0, 1.0), (0, 1.5), (0, 3.0), (0, 6.0)];
    let both = vec![(0, 2.0), (1, 2.0), (0, 3.0), (0, 6.0)];
    for (share, expected) in [(Share::OLDEST_FIRST, alone), (Share::MAX_MIN, both)] {
        let policy = Joining { all: Some(share), ..Joining::default() };
        let times = policy.times.clone();
        let mut policy = AnyPolicy::Unlabelled(Box::new(policy));
        let outcome = simulate(&workload, &fabric, "mine", &mut policy, &mut ()).unwrap();
        assert_eq!(outcome.coflows[0].completion_s, 8.0);
        let mut times = times.lock().unwrap();
        times.sort_by(|a, b| (a.1, a.0).partial_cmp(&(b.1, b.0)).unwrap());
        assert_eq!(*times, expected, "{share:?}");
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn wake_ups_come_in_random_workloads(
        workload in prop_oneof![workload(Kind::Ties), workload(Kind::Generic)],
        fabric in prop_oneof![fabric(), fabric_with_inner_links()],
        step in prop_oneof![Just(1.0), Just(2.0), 0.5..4.0],
        delay_s in prop_oneof![Just(0.0), Just(1.0), 0.1..3.0],
        way in 0..WAYS.len(),
    ) {
        let (name, serve) = WAYS[way];
        check(&workload, &fabric, Watching::new(serve, step, delay_s), name);
        let changing = Watching { keeps: true, ..Watching::new(change_layers, step, delay_s) };
        check(&workload, &fabric, changing, "changing");
    }
}
