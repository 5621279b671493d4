//! Explanations: parts add up to the completion time, and agree with a naive explanation from the
//! full timeline of rates.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use crate::common::{COMPRESSED, Kind as Traffic, as_trace, flow, policies, policy};
use covey_core::{
    CoflowId, Ecmp, EcmpMode, Fabric, FatTree, FlowId, Group, Layers, LinkId, Ranking, Rule,
    SplitMix, Time,
};
use covey_facebook_test::facebook_test;
use covey_sim::{Explainer, Observer, Round, simulate};
use covey_trace::results::{Explanation, Kind, Outcome, Part};
use covey_trace::{Coflow, Flow, Workload};
use proptest::prelude::*;

/// What a part of a time goes to: the kind, another coflow, a link.
type Parts = BTreeMap<(Kind, Option<u32>, Option<LinkId>), f64>;

/// All flows, their rates and the plan, in one round.
struct Frame {
    now_s: f64,
    ranking: Ranking,
    flows: Vec<Seen>,
    /// Arrival of each of the policy's coflows.
    order: BTreeMap<CoflowId, (Time, u64)>,
    tenant: BTreeMap<CoflowId, usize>,
}

/// A flow in a round.
#[derive(Clone)]
struct Seen {
    id: FlowId,
    named: (u32, u32),
    path: Vec<LinkId>,
    rate: f64,
    is_active: bool,
    is_held: bool,
}

impl Frame {
    fn of(round: &Round<'_>) -> Frame {
        let state = round.state;
        let mut frame = Frame {
            now_s: round.now.as_secs(),
            ranking: round.ranking.clone(),
            flows: Vec::new(),
            order: BTreeMap::new(),
            tenant: BTreeMap::new(),
        };
        for &id in state.present() {
            let coflow = state.coflow(id);
            frame.order.insert(id, state.order(id));
            frame.tenant.insert(id, coflow.registration.tenant.index());
            let demand = coflow.demand();
            for position in 0..demand.width() {
                let is_active = demand.is_active(position);
                let is_held = !is_active && coflow.unfinished().is_active(position);
                if !is_active && !is_held {
                    continue;
                }
                let index = demand.index(position);
                let rate = match is_active {
                    true => round.allocator.rates().rate(state, id, position),
                    false => 0.0,
                };
                frame.flows.push(Seen {
                    id: FlowId { coflow: id, index },
                    named: coflow.named_place(index),
                    path: demand.path(position).map(|l| demand.links()[l]).collect(),
                    rate,
                    is_active,
                    is_held,
                });
            }
        }
        frame
    }
}

/// Explains completion times from all flows and rates of every round, by the definition.
struct Naive<'a> {
    workload: &'a Workload,
    fabric: &'a Fabric,
    outcome: &'a Outcome,
    explained: Vec<(&'a Explanation, Parts)>,
    /// The round whose rates are in force.
    frame: Option<Frame>,
    /// Bytes left of each flow at its beginning; empty if nobody asks.
    left: BTreeMap<(u32, u32), f64>,
}

impl Observer for Naive<'_> {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        if let Some(frame) = self.frame.take() {
            self.pass(&frame, round.now.as_secs());
        }
        self.frame = Some(Frame::of(round));
        ControlFlow::Continue(())
    }
}

impl Naive<'_> {
    fn start_s(&self, (coflow, flow): (u32, u32)) -> f64 {
        let before = self.workload.coflows[..coflow as usize].iter().map(Coflow::width);
        self.outcome.flow_start_s[before.sum::<usize>() + flow as usize]
    }

    /// The entry that serves a flow first: its layer and number.
    fn entry(ranking: &Ranking, flow: &Seen) -> Option<(u32, usize)> {
        let names = |group: Group| match group {
            Group::AllFlows => true,
            Group::Coflow(id) => id == flow.id.coflow,
            Group::CoflowAt(id, link) => id == flow.id.coflow && flow.path.contains(&link),
            Group::Flow(id) => id == flow.id,
        };
        let entries = ranking.entries.iter().enumerate();
        let mut naming = entries.filter(|(_, (_, entry))| names(entry.group));
        naming.next().map(|(number, (_, entry))| (entry.layer, number))
    }

    /// -1 if `other` is served before `own`, 0 if beside it, 1 if behind it.
    fn standing(&self, frame: &Frame, other: &Seen, own: &Seen, link: LinkId) -> i32 {
        let [a, b] = [frame.tenant[&other.id.coflow], frame.tenant[&own.id.coflow]];
        let ranking = match frame.ranking.tenants.as_slice() {
            [] => &frame.ranking,
            _ if a != b => return 0,
            plans => &plans[a].ranking,
        };
        let arrival = |seen: &Seen| (frame.order[&seen.id.coflow], seen.id.index);
        let first = ranking.entries.first().map(|(_, entry)| *entry);
        if let Some(entry) = first.filter(|entry| entry.group == Group::AllFlows) {
            let key = |seen: &Seen| match entry.rule {
                Rule::OldestFirst => self.start_s(seen.named),
                _ => self.left[&seen.named],
            };
            if !matches!(entry.rule, Rule::OldestFirst | Rule::ShortestFirst) {
                return 0;
            }
            let (a, b) = (key(other), key(own));
            let fastest = self.fabric.capacity().iter().copied().fold(0.0, f64::max);
            let resolution = if entry.rule == Rule::OldestFirst { 0.0 } else { fastest * 1e-9 };
            let is_first =
                if (a - b).abs() <= resolution { arrival(other) < arrival(own) } else { a < b };
            return if is_first { -1 } else { 1 };
        }
        if ranking.layers == Layers::PerPort {
            let share = |seen: &Seen| {
                let mut shares = ranking.link_shares.of(link);
                shares.any(|(id, share)| id == seen.id.coflow && share > 0.0)
            };
            return match (share(other), share(own)) {
                (true, false) => -1,
                (false, true) => 1,
                (true, true) => 0,
                _ if other.id.coflow == own.id.coflow => 0,
                _ if frame.order[&other.id.coflow] < frame.order[&own.id.coflow] => -1,
                _ => 1,
            };
        }
        let (Some(a), Some(b)) = (Self::entry(ranking, other), Self::entry(ranking, own)) else {
            return 1;
        };
        let compared = match ranking.layers {
            Layers::Classes => a.0.cmp(&b.0),
            Layers::Weighted if a.0 != b.0 => return 0,
            _ => a.1.cmp(&b.1),
        };
        compared as i32
    }

    /// The rates of a frame were in force until `now_s`.
    fn pass(&mut self, frame: &Frame, now_s: f64) {
        let dt = now_s - frame.now_s;
        let mut explained = std::mem::take(&mut self.explained);
        for (explanation, parts) in &mut explained {
            let completion_s = self.outcome.coflows[explanation.coflow as usize].completion_s;
            if (explanation.release_s..completion_s).contains(&frame.now_s) {
                for (key, part) in self.divide(frame, explanation) {
                    *parts.entry(key).or_default() += part * dt;
                }
            }
        }
        self.explained = explained;
        if !self.left.is_empty() {
            for seen in &frame.flows {
                *self.left.get_mut(&seen.named).expect("a flow") -= seen.rate * dt;
            }
        }
    }

    fn divide(&self, frame: &Frame, explanation: &Explanation) -> Parts {
        let (coflow, port) = (explanation.coflow, explanation.bottleneck);
        let last = (coflow, explanation.flow);
        let capacity = |link: LinkId| self.fabric.capacity()[link.index()];
        // What each coflow uses of a link: before the last flow, beside it, or itself.
        let users = |own: &Seen, link: LinkId| {
            let mut users: BTreeMap<(i32, u32), f64> = BTreeMap::new();
            for other in frame.flows.iter().filter(|it| it.rate > 0.0 && it.path.contains(&link)) {
                let standing = match other.named.0 == coflow {
                    true => 0,
                    false => self.standing(frame, other, own, link),
                };
                if standing <= 0 {
                    *users.entry((standing, other.named.0)).or_default() += other.rate;
                }
            }
            users
        };
        let own_at = |it: &&Seen| it.named.0 == coflow && it.path.contains(&port);
        let own: f64 = frame.flows.iter().filter(own_at).map(|it| it.rate).sum();
        let mut parts = Parts::from([((Kind::Sending, None, Some(port)), own / capacity(port))]);
        let mut rest = 1.0 - own / capacity(port);
        let found = frame.flows.iter().find(|it| it.named == last);
        let plans = match frame.ranking.tenants.as_slice() {
            [] => vec![&frame.ranking],
            plans => plans.iter().map(|plan| &plan.ranking).collect(),
        };
        let is_planned = |it: &Seen| plans.iter().any(|plan| Self::entry(plan, it).is_some());
        let hindrance = match found {
            Some(it) if it.is_held => Some(Kind::Compression),
            Some(it) if !is_planned(it) => Some(Kind::Undecided),
            Some(it) => (!it.is_active).then_some(Kind::Start),
            None if self.start_s(last) > frame.now_s => Some(Kind::Start),
            None => Some(Kind::Undecided),
        };
        if let Some(kind) = hindrance {
            parts.insert((kind, None, None), rest);
            return parts;
        }
        let found = found.expect("nothing hinders it");
        for ((standing, other), rate) in users(found, port) {
            if other != coflow {
                let kind = if standing < 0 { Kind::Waiting } else { Kind::Sharing };
                parts.insert((kind, Some(other), Some(port)), rate / capacity(port));
                rest -= rate / capacity(port);
            }
        }
        if rest <= 1e-6 {
            // The bottleneck is full.
            *parts.entry((Kind::Sending, None, Some(port))).or_default() += rest;
            return parts;
        }
        let used = |link: LinkId| users(found, link).values().sum::<f64>() / capacity(link);
        let path = found.path.iter().copied().filter(|&link| link != port);
        let mut own_links: Vec<LinkId> = Vec::new();
        let plan = if plans.len() == 1 { plans[0] } else { plans[frame.tenant[&found.id.coflow]] };
        let mut entries = plan.entries.iter();
        let serves_coflows = entries.all(|(_, entry)| entry.group != Group::AllFlows);
        let own = frame.flows.iter().filter(|it| it.id.coflow == found.id.coflow && it.is_active);
        own.filter(|_| serves_coflows).for_each(|it| own_links.extend(&it.path));
        own_links.sort_unstable();
        let mut full = path.chain(own_links).filter(|&link| used(link) >= 1.0 - 1e-6);
        let Some(link) = full.next() else {
            parts.insert((Kind::Paced, None, None), rest);
            return parts;
        };
        for ((_, other), rate) in users(found, link) {
            let all = used(link) * capacity(link);
            *parts.entry((Kind::OtherEnd, Some(other), Some(link))).or_default() +=
                rest * rate / all;
        }
        parts
    }
}

/// Bytes of each flow.
fn sizes(workload: &Workload) -> BTreeMap<(u32, u32), f64> {
    let coflows = (0..).zip(&workload.coflows);
    let flows = coflows.flat_map(|(c, coflow)| {
        (0..).zip(&coflow.flows).map(move |(f, flow)| ((c, f), flow.bytes))
    });
    flows.collect()
}

fn explain(workload: &Workload, fabric: &Fabric, spec: &str) -> (Outcome, Vec<Explanation>) {
    let all: Vec<u32> = (0..workload.coflows.len() as u32).collect();
    explain_some(workload, fabric, spec, &all)
}

fn explain_some(
    workload: &Workload,
    fabric: &Fabric,
    spec: &str,
    coflows: &[u32],
) -> (Outcome, Vec<Explanation>) {
    let outcome = simulate(workload, fabric, spec, &mut policy(spec), &mut ()).unwrap();
    let mut explainer = Explainer::new(workload, fabric, &outcome, coflows);
    let again = simulate(workload, fabric, spec, &mut policy(spec), &mut explainer).unwrap();
    assert_eq!(outcome, again, "{spec}");
    (outcome, explainer.into_explanations())
}

fn by_kind(parts: &[Part]) -> Parts {
    let mut sums = Parts::new();
    for part in parts {
        let link = part.link.filter(|_| !matches!(part.kind, Kind::Start | Kind::Paced));
        *sums.entry((part.kind, part.other, link)).or_default() += part.seconds;
    }
    sums
}

fn check_sums(explanations: &[Explanation], outcome: &Outcome, what: impl Fn() -> String) {
    for explanation in explanations {
        let cct_s = outcome.coflows[explanation.coflow as usize].cct_s();
        assert_eq!(explanation.cct_s, cct_s, "{}", what());
        let sum: f64 = explanation.parts.iter().map(|part| part.seconds).sum();
        let coflow = explanation.coflow;
        assert!((sum - cct_s).abs() <= 1e-9, "{}: {coflow}: {sum} of {cct_s}", what());
        let is_positive = |part: &Part| part.seconds >= 0.0 && part.from_s < part.until_s;
        assert!(explanation.parts.iter().all(is_positive), "{}: {explanation:?}", what());
    }
}

fn check(workload: &Workload, fabric: &Fabric, spec: &str) {
    let (outcome, explanations) = explain(workload, fabric, spec);
    let trace = || format!("{spec}\n{}", as_trace(workload));
    check_sums(&explanations, &outcome, trace);
    check_with_naive(workload, fabric, spec, &outcome, &explanations, trace);
}

fn check_with_naive(
    workload: &Workload,
    fabric: &Fabric,
    spec: &str,
    outcome: &Outcome,
    explanations: &[Explanation],
    what: impl Fn() -> String,
) {
    let explained = explanations.iter().map(|it| (it, Parts::new())).collect();
    let left = if spec == "pfp" { sizes(workload) } else { BTreeMap::new() };
    let mut naive = Naive { workload, fabric, outcome, explained, frame: None, left };
    simulate(workload, fabric, spec, &mut policy(spec), &mut naive).unwrap();
    for (explanation, expected) in &naive.explained {
        let found = by_kind(&explanation.parts);
        for key in found.keys().chain(expected.keys()) {
            let [a, b] = [&found, expected].map(|parts| parts.get(key).copied().unwrap_or(0.0));
            let coflow = explanation.coflow;
            assert!(
                (a - b).abs() <= 1e-6,
                "{coflow}: {key:?}: {a}, not {b}\n{found:?}\n{expected:?}\n{}",
                what()
            );
        }
    }
}

proptest! {
    #![proptest_config(crate::common::cases(40))]

    #[test]
    fn explanations_are_those_of_the_full_timeline(
        workload in crate::common::workload(Traffic::Ties), fabric in crate::common::fabric(),
    ) {
        policies().chain(COMPRESSED).for_each(|spec| check(&workload, &fabric, spec));
    }

    #[test]
    fn so_they_are_where_inner_links_are_full(
        workload in crate::common::workload(Traffic::Ties),
        fabric in crate::common::fabric_with_inner_links(),
    ) {
        ["fair", "sebf", "covey", "aalo", "saath"].iter().for_each(|spec| check(&workload, &fabric, spec));
    }
}

fn coflow(id: &str, arrival_s: f64, flows: &[Flow]) -> Coflow {
    Coflow::new(id.to_owned(), arrival_s, flows.to_vec())
}

/// The parts of the coflow at an index, as (kind, other, seconds).
fn parts(workload: &Workload, spec: &str, coflow: usize) -> Vec<(Kind, Option<u32>, f64)> {
    let fabric = Fabric::big_switch(workload.ports, 1.0).unwrap();
    let (_, explanations) = explain(workload, &fabric, spec);
    let parts = explanations[coflow].parts.iter();
    parts.map(|part| (part.kind, part.other, (part.seconds * 1e6).round() / 1e6)).collect()
}

#[test]
fn one_waits_behind_the_shorter_one_and_then_sends() {
    let long = coflow("long", 0.0, &[flow(0, 1, 10.0)]);
    let short = coflow("short", 1.0, &[flow(0, 1, 3.0)]);
    let workload = Workload::new(2, vec![long, short]);
    let waits = (Kind::Waiting, Some(1), 3.0);
    assert_eq!(parts(&workload, "sebf", 0), [(Kind::Sending, None, 10.0), waits]);
    let fabric = Fabric::big_switch(2, 1.0).unwrap();
    let (_, explanations) = explain(&workload, &fabric, "sebf");
    let waiting = explanations[0].parts[1].clone();
    let reason = waiting.reason.unwrap();
    assert_eq!((waiting.from_s, waiting.until_s), (1.0, 4.0));
    assert_eq!((reason.criterion.name, reason.criterion.value), ("bottleneck", Some(3.0)));
    assert_eq!(reason.own, Some(9.0));
    // In order of arrival the short one waits, and fair sharing divides the time of both.
    let behind = (Kind::Waiting, Some(0), 9.0);
    assert_eq!(parts(&workload, "fifo", 1), [behind, (Kind::Sending, None, 3.0)]);
    let beside = (Kind::Sharing, Some(0), 3.0);
    assert_eq!(parts(&workload, "fair", 1), [(Kind::Sending, None, 3.0), beside]);
}

#[test]
fn what_the_other_end_costs_is_told_apart() {
    // Port 1 receives 4 bytes of the first coflow; the second would have port 0 to itself.
    let first = coflow("first", 0.0, &[flow(2, 1, 4.0)]);
    let second = coflow("second", 0.0, &[flow(0, 1, 2.0), flow(0, 3, 3.0)]);
    let workload = Workload::new(4, vec![first, second]);
    // From 0 to 3 the second sends to port 3, from 3 to 4 its last flow waits at port 1, then it is
    // sent.
    let expected = [(Kind::Sending, None, 5.0), (Kind::OtherEnd, Some(0), 1.0)];
    assert_eq!(parts(&workload, "fifo", 1), expected);
}

#[test]
fn later_waves_ticks_and_parents_are_no_time_of_others() {
    let late = Flow { start_s: 2.0, ..flow(0, 1, 1.0) };
    let workload = Workload::new(2, vec![coflow("waves", 0.0, &[flow(0, 1, 1.0), late])]);
    let expected = [(Kind::Sending, None, 2.0), (Kind::Start, None, 1.0)];
    assert_eq!(parts(&workload, "fair", 0), expected);
    let workload = Workload::new(2, vec![coflow("tick", 0.5, &[flow(0, 1, 1.0)])]);
    let expected = [(Kind::Sending, None, 1.0), (Kind::Undecided, None, 0.5)];
    assert_eq!(parts(&workload, "aalo:delta=1s", 0), expected);
    let child = Coflow { parents: vec![0], ..coflow("child", 0.0, &[flow(0, 1, 1.0)]) };
    let workload = Workload::new(2, vec![coflow("parent", 0.0, &[flow(0, 1, 2.0)]), child]);
    assert_eq!(parts(&workload, "fair", 1), [(Kind::Sending, None, 1.0)]);
}

#[test]
fn a_flow_that_is_compressed_first_waits_for_that() {
    let workload = Workload::new(2, vec![coflow("one", 0.0, &[flow(0, 1, 8.0)])]);
    // 4 bytes a second are compressed to half: 2 s, then 4 bytes are sent.
    let expected = [(Kind::Sending, None, 4.0), (Kind::Compression, None, 2.0)];
    assert_eq!(parts(&workload, "fair:compress=32bps:0.5", 0), expected);
}

/// 200 random coflows of a trace; all if there are fewer.
fn some_of(workload: &Workload) -> Vec<u32> {
    let mut all: Vec<u32> = (0..workload.coflows.len() as u32).collect();
    let mut random = SplitMix::new(7);
    (0..all.len()).for_each(|k| {
        let other = k + random.below((all.len() - k) as u64) as usize;
        all.swap(k, other);
    });
    all.truncate(200);
    all
}

/// A big switch, and a FatTree with four times as much below its core as above.
fn fabrics(workload: &Workload) -> [Fabric; 2] {
    let tree = FatTree::new(10, Ecmp { mode: EcmpMode::Flow, seed: 1 }).unwrap();
    [Fabric::big_switch(workload.ports, 1.25e8).unwrap(), tree.fabric(1.25e8, 4.0).unwrap()]
}

#[facebook_test("takes minutes; make slow WHAT=ignored")]
fn parts_add_up_on_the_facebook_trace() {
    let workload = crate::common::facebook(usize::MAX);
    let some = some_of(&workload);
    for fabric in &fabrics(&workload) {
        for info in covey_sched::policies() {
            let spec = info.name;
            let started = Instant::now();
            let outcome = simulate(&workload, fabric, spec, &mut policy(spec), &mut ()).unwrap();
            let once_s = started.elapsed().as_secs_f64();
            let mut explainer = Explainer::new(&workload, fabric, &outcome, &some);
            simulate(&workload, fabric, spec, &mut policy(spec), &mut explainer).unwrap();
            let all_s = started.elapsed().as_secs_f64();
            println!("{spec}: simulation {once_s:.1} s, explanations {:.1} s", all_s - once_s);
            check_sums(&explainer.into_explanations(), &outcome, || spec.to_owned());
        }
    }
}

#[facebook_test("takes minutes; make slow WHAT=ignored")]
fn explanations_are_those_of_the_full_timeline_on_the_facebook_trace() {
    let workload = crate::common::facebook(20);
    let some = some_of(&workload);
    for fabric in &fabrics(&workload) {
        for info in covey_sched::policies() {
            let spec = info.name;
            let (outcome, explanations) = explain_some(&workload, fabric, spec, &some);
            check_sums(&explanations, &outcome, || spec.to_owned());
            check_with_naive(&workload, fabric, spec, &outcome, &explanations, || spec.to_owned());
        }
    }
}
