//! Hosts and links that fail and return, flows that move or are cancelled, and several attempts of
//! one transfer.

use crate::common::{
    COMPRESSED, Kind, as_trace, cases, ccts, flow, policies, policy, run, same_time,
};
use covey_conformance::{rates_fit, same_again, workload_with_events};
use covey_core::{Ecmp, EcmpMode, Fabric, FatTree, LinkId, PortId, Routes, SplitMix};
use covey_sim::{SimError, simulate};
use covey_trace::results::Outcome;
use covey_trace::transform::{Failures, failures};
use covey_trace::{Attempt, ClusterEvent, Coflow, Flow, FlowOf, Happening, Part, Workload};
use proptest::prelude::*;

const A: FlowOf = FlowOf { coflow: 0, flow: 0 };

fn at(at_s: f64, what: Happening) -> ClusterEvent {
    ClusterEvent { at_s, what }
}

fn fail(at_s: f64, host: u32) -> ClusterEvent {
    at(at_s, Happening::Fail { part: Part::Host(host), loses: false })
}

fn back(at_s: f64, host: u32) -> ClusterEvent {
    at(at_s, Happening::Return { part: Part::Host(host) })
}

fn coflow(id: &str, arrival_s: f64, flows: &[Flow]) -> Coflow {
    Coflow::new(id.to_owned(), arrival_s, flows.to_vec())
}

fn with(coflows: Vec<Coflow>, events: Vec<ClusterEvent>) -> Workload {
    Workload { events, ..Workload::new(4, coflows) }
}

fn switch() -> Fabric {
    Fabric::big_switch(4, 1.0).expect("a fabric")
}

/// Completion times under every policy on the switch.
fn all_are(workload: &Workload, expected: &[f64]) {
    // Those that decide at intervals, or leave links idle, are later.
    let late = ["delta=", "latency=", "rtt=", "work_conservation="];
    holds_for_all(policies().filter(|spec| !late.iter().any(|word| spec.contains(word))), |spec| {
        let found = ccts(&run(workload, &switch(), spec));
        let same = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        if same && found.len() == expected.len() {
            return Ok(());
        }
        Err(format!("{found:?}, not {expected:?}"))
    });
}

/// Checks every policy, and names all for which the check fails.
fn holds_for_all<'a>(
    specs: impl Iterator<Item = &'a str>,
    check: impl Fn(&str) -> Result<(), String>,
) {
    let found = specs.filter_map(|spec| Some(format!("{spec}: {}", check(spec).err()?)));
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_flow_waits_for_its_hosts_and_keeps_or_loses_what_it_has_sent() {
    let one = || vec![coflow("a", 0.0, &[flow(0, 1, 4.0)])];
    // It sends 1 byte, waits from 1 to 3, and sends the rest.
    all_are(&with(one(), vec![fail(1.0, 0), back(3.0, 0)]), &[6.0]);
    all_are(&with(one(), vec![fail(1.0, 1), back(3.0, 1)]), &[6.0]);
    let loses = at(1.0, Happening::Fail { part: Part::Host(1), loses: true });
    all_are(&with(one(), vec![loses, back(3.0, 1)]), &[7.0]);
    // Both hosts are away for a while; a failure of what has failed changes nothing.
    let events = vec![fail(1.0, 0), fail(1.5, 1), fail(2.0, 0), back(3.0, 0), back(5.0, 1)];
    all_are(&with(one(), events), &[8.0]);
    // One that starts meanwhile waits from the beginning.
    let late = vec![coflow("a", 2.0, &[flow(0, 1, 4.0)])];
    all_are(&with(late, vec![fail(1.0, 0), back(3.0, 0)]), &[5.0]);
}

#[test]
fn others_use_the_links_of_a_flow_that_waits() {
    let coflows = vec![
        coflow("a", 0.0, &[flow(0, 1, 4.0), flow(0, 2, 1.0)]),
        coflow("b", 0.0, &[flow(3, 1, 2.0)]),
    ];
    // Port 1 is for b alone from 0 to 10.
    let outcome = run(&with(coflows, vec![fail(0.0, 0), back(10.0, 0)]), &switch(), "fifo");
    assert_eq!(ccts(&outcome).map_rounded(), [15.0, 2.0]);
}

trait Rounded {
    fn map_rounded(self) -> Vec<f64>;
}

impl Rounded for Vec<f64> {
    fn map_rounded(self) -> Vec<f64> {
        self.into_iter().map(|x| (x * 1e6).round() / 1e6).collect()
    }
}

#[test]
fn flows_move_begin_again_and_are_cancelled() {
    let one = || vec![coflow("a", 0.0, &[flow(0, 1, 4.0)])];
    let moves = |src, dst| at(1.0, Happening::Move { flow: A, src, dst });
    all_are(&with(one(), vec![moves(None, Some(2))]), &[5.0]);
    all_are(&with(one(), vec![moves(Some(3), None), moves(None, Some(2))]), &[5.0]);
    // It leaves a host that has failed.
    all_are(&with(one(), vec![fail(0.5, 1), moves(None, Some(2)), back(99.0, 1)]), &[5.0]);
    all_are(&with(one(), vec![at(3.0, Happening::Restart { flow: A })]), &[7.0]);
    all_are(&with(one(), vec![at(3.0, Happening::Cancel { flow: A })]), &[3.0]);
    // One that waits for its host, and one whose coflow is not there, or that has not started.
    let events = vec![fail(0.5, 1), at(1.0, Happening::Restart { flow: A }), back(2.0, 1)];
    all_are(&with(one(), events), &[6.0]);
    all_are(&with(one(), vec![fail(0.5, 1), at(1.0, Happening::Cancel { flow: A })]), &[1.0]);
    let mut two = vec![coflow("a", 0.0, &[flow(0, 1, 4.0)]), coflow("b", 0.0, &[flow(0, 2, 3.0)])];
    two[1].parents.push(0);
    let of_b = FlowOf { coflow: 1, flow: 0 };
    all_are(&with(two.clone(), vec![at(1.0, Happening::Cancel { flow: of_b })]), &[4.0, 0.0]);
    let to_3 = Happening::Move { flow: of_b, src: None, dst: Some(3) };
    all_are(&with(two, vec![at(1.0, to_3), fail(2.0, 2), back(99.0, 2)]), &[4.0, 3.0]);
    let later = Flow { start_s: 5.0, ..flow(2, 3, 4.0) };
    let wave = || vec![coflow("a", 0.0, &[flow(0, 1, 4.0), later])];
    let second = FlowOf { coflow: 0, flow: 1 };
    let to_1 = Happening::Move { flow: second, src: None, dst: Some(1) };
    all_are(&with(wave(), vec![at(1.0, to_1), fail(2.0, 3), back(99.0, 3)]), &[9.0]);
    let named = policies().filter(|spec| !spec.starts_with("coda"));
    for spec in named {
        let workload = with(wave(), vec![at(1.0, Happening::Cancel { flow: second })]);
        let outcome = run(&workload, &switch(), spec);
        assert_eq!(ccts(&outcome).map_rounded(), [4.0], "{spec}");
        assert_eq!((outcome.cancelled.len(), outcome.wasted_bytes.len()), (1, 0));
    }
}

#[test]
fn bytes_that_were_for_nothing_are_counted_apart() {
    let coflows = vec![coflow("a", 0.0, &[flow(0, 1, 4.0)]), coflow("b", 0.0, &[flow(2, 3, 4.0)])];
    let events = vec![
        at(1.0, Happening::Restart { flow: A }),
        at(3.0, Happening::Move { flow: A, src: None, dst: Some(0) }),
        at(3.5, Happening::Cancel { flow: A }),
    ];
    let outcome = run(&with(coflows, events), &switch(), "fair");
    assert_eq!(outcome.wasted_bytes.clone().map_rounded(), [3.5, 0.0]);
    assert_eq!((outcome.cancelled, outcome.flow_completion_s[1]), (vec![0], 4.0));
}

#[test]
fn the_first_attempt_that_ends_makes_the_others_needless() {
    let mut coflows = vec![coflow("a", 0.0, &[flow(0, 1, 4.0)])];
    let copy = Flow { start_s: 1.0, ..flow(2, 3, 4.0) };
    coflows[0].flows.push(copy);
    coflows[0].attempts.push(Attempt { flow: 1, of: 0 });
    // The first is faster, unless its host fails. (Some policies let both end together.)
    let ends = |coflows: &[Coflow], events: Vec<ClusterEvent>| {
        ["fair", "fifo", "aalo", "philae", "covey", "fifo-flow"].map(|spec| {
            ccts(&run(&with(coflows.to_vec(), events.clone()), &switch(), spec)).map_rounded()[0]
        })
    };
    assert_eq!(ends(&coflows, Vec::new()), [4.0; 6]);
    assert_eq!(ends(&coflows, vec![fail(3.0, 0), back(9.0, 0)]), [5.0; 6]);
    let outcome = run(&with(coflows.clone(), vec![fail(3.0, 0), back(9.0, 0)]), &switch(), "fair");
    assert_eq!(outcome.cancelled, [0]);
    assert_eq!(outcome.wasted_bytes.map_rounded(), [3.0]);
    // One that is cancelled leaves the other alone.
    assert_eq!(ends(&coflows, vec![at(2.0, Happening::Cancel { flow: A })]), [5.0; 6]);
    // One that has not started is not needed either.
    coflows[0].flows[1].start_s = 8.0;
    let outcome = run(&with(coflows, Vec::new()), &switch(), "fair");
    assert_eq!(ccts(&outcome).map_rounded(), [4.0]);
}

#[test]
fn a_host_that_never_returns_ends_the_run_and_unfinished_coflows_are_counted() {
    let mut coflows = vec![
        coflow("a", 0.0, &[flow(0, 1, 4.0)]),
        coflow("b", 0.0, &[flow(2, 3, 9.0)]),
        coflow("c", 0.0, &[flow(2, 3, 1.0)]),
    ];
    coflows[2].parents.push(0);
    for spec in policies() {
        let workload = with(coflows.clone(), vec![fail(1.0, 1)]);
        let error = simulate(&workload, &switch(), spec, &mut policy(spec), &mut ());
        let error = error.expect_err("a and c cannot end");
        let SimError::NeverReturns { unfinished, coflows, coflow, time_s, .. } = &error else {
            panic!("{spec}: {error}");
        };
        assert_eq!((*unfinished, *coflows, coflow.as_str()), (2, 3, "a"), "{spec}");
        assert!(*time_s >= 9.0 - 1e-6, "{spec}: b has ended before {time_s} s");
        assert!(error.to_string().contains("does not return"), "{error}");
    }
}

#[test]
fn links_inside_the_fabric_fail_by_their_names() {
    let paths = [(PortId(0), PortId(1), vec![0]), (PortId(2), PortId(3), vec![1])];
    let routes = Routes::new(2, paths).expect("routes");
    let fabric = Fabric::new(&[1.0; 4], &[1.0; 4], &[1.0; 2], routes).expect("a fabric");
    let name = fabric.link_name(LinkId(8));
    let coflows = vec![coflow("a", 0.0, &[flow(0, 1, 4.0)]), coflow("b", 0.0, &[flow(2, 3, 4.0)])];
    let part = || Part::Link(name.clone());
    let events = vec![
        at(1.0, Happening::Fail { part: part(), loses: false }),
        at(3.0, Happening::Return { part: part() }),
    ];
    for spec in policies() {
        let outcome = run(&with(coflows.clone(), events.clone()), &fabric, spec);
        assert_eq!(ccts(&outcome).map_rounded(), [6.0, 4.0], "{spec}");
    }
    let unknown = Happening::Fail { part: Part::Link("x".to_owned()), loses: false };
    let workload = with(coflows, vec![at(1.0, unknown)]);
    let error = simulate(&workload, &fabric, "fair", &mut policy("fair"), &mut ());
    let error = error.expect_err("there is no such link").to_string();
    assert!(error.contains("'x'") && error.contains(&fabric.link_name(LinkId(9))), "{error}");
}

#[test]
fn nothing_is_compressed_while_a_cluster_changes() {
    for spec in COMPRESSED {
        let workload =
            with(vec![coflow("a", 0.0, &[flow(0, 1, 4.0)])], vec![fail(1.0, 0), back(3.0, 0)]);
        let outcome = run(&workload, &switch(), spec);
        assert_eq!(ccts(&outcome).map_rounded(), [6.0], "{spec}");
        assert!(outcome.left_uncompressed && outcome.compression.is_empty(), "{spec}");
    }
}

/// Bytes add up, rates fit and what is away passes nothing while the cluster changes.
fn adds_up(workload: &Workload, fabric: &Fabric, spec: &str) -> Result<Outcome, String> {
    let promises = covey_sched::build(spec).expect("a policy").promises;
    let fits = rates_fit(workload, fabric, promises, &|| policy(spec));
    fits.map_err(|violation| violation.to_string())
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn every_coflow_ends_bytes_add_up_and_rates_fit_while_the_cluster_changes(
        workload in workload_with_events(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        let trace = || format!(" on {:?}\n{}", fabric.capacity(), as_trace(&workload));
        holds_for_all(policies().chain(COMPRESSED), |spec| {
            let again = || same_again(&workload, &fabric, &|| policy(spec));
            adds_up(&workload, &fabric, spec)
                .and_then(|_| again().map_err(|violation| violation.to_string()))
                .map_err(|error| error + &trace())
        });
    }

    #[test]
    fn nothing_passes_a_host_that_is_away(
        workload in workload_with_events(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        holds_for_all(policies().chain(COMPRESSED), |spec| {
            let outcome = adds_up(&workload, &fabric, spec);
            outcome.map(|_| ()).map_err(|error| error + "\n" + &as_trace(&workload))
        });
    }
}

/// A trace in which so many flows, chosen at random, are killed (they begin again), cancelled, lost
/// with their host, or move.
fn a_thousand_accidents(workload: Workload, accidents: usize, seed: u64) -> Workload {
    let mut random = SplitMix::new(seed);
    let mut workload = failures(
        &workload,
        &Failures { attempts: 0.05, after_s: 2.0, seed, ..Failures::default() },
    )
    .expect("good parameters");
    for k in 0..accidents {
        let coflow = random.below(workload.coflows.len() as u64) as u32;
        let flows = &workload.coflows[coflow as usize].flows;
        let flow = FlowOf { coflow, flow: random.below(flows.len() as u64) as u32 };
        let Flow { src, dst, start_s, .. } = flows[flow.flow as usize];
        let at_s = workload.coflows[coflow as usize].arrival_s + start_s + 3.0 * random.unit();
        let port = Some(random.below(workload.ports.into()) as u32);
        let what = match k % 4 {
            0 => Happening::Restart { flow },
            1 => Happening::Cancel { flow },
            2 => Happening::Move { flow, src: None, dst: port },
            _ => {
                let part = Part::Host(if random.chance(0.5) { src } else { dst });
                let returns_s = at_s + 2.0 * random.unit();
                let back = Happening::Return { part: part.clone() };
                workload.events.push(ClusterEvent { at_s: returns_s, what: back });
                Happening::Fail { part, loses: random.chance(0.5) }
            }
        };
        workload.events.push(ClusterEvent { at_s, what });
    }
    workload.events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    workload
}

/// A trace of shuffles on 20 ports that keeps the links of rate 1 busy.
fn shuffles(coflows: usize) -> Workload {
    let mut random = SplitMix::new(5);
    let coflows = (0..coflows).map(|k| {
        let (senders, receivers) = (1 + random.below(6), 1 + random.below(6));
        let (first, to) = (random.below(20), random.below(20));
        let flows = (0..senders * receivers).map(|pair| {
            let (s, r) = (first + pair / receivers, to + pair % receivers);
            flow((s % 20) as u32, (r % 20) as u32, 0.1 + random.unit())
        });
        coflow(&k.to_string(), 0.6 * k as f64, &flows.collect::<Vec<_>>())
    });
    Workload::new(20, coflows.collect())
}

#[test]
fn all_policies_survive_a_thousand_accidents_on_a_switch() {
    let workload = a_thousand_accidents(shuffles(120), 1000, 3);
    let fabric = Fabric::big_switch(20, 1.0).expect("a fabric");
    holds_for_all(policies().chain(COMPRESSED), |spec| {
        let outcome = adds_up(&workload, &fabric, spec)?;
        if outcome.coflows.iter().any(|coflow| !coflow.completion_s.is_finite()) {
            return Err("a coflow does not end".to_owned());
        }
        let cancelled = outcome.cancelled.len();
        if cancelled > 100 { Ok(()) } else { Err(format!("only {cancelled} are cancelled")) }
    });
}

#[test]
fn all_policies_survive_accidents_on_a_fat_tree() {
    let ecmp = Ecmp { mode: EcmpMode::Flow, seed: 1 };
    let topology = FatTree::new(4, ecmp).expect("a FatTree");
    let fabric = topology.fabric(1.0, 1.0).expect("a fabric");
    let mut workload = shuffles(40);
    for flow in workload.coflows.iter_mut().flat_map(|coflow| &mut coflow.flows) {
        (flow.src, flow.dst) = (flow.src % 16, flow.dst % 16);
    }
    workload.ports = 16;
    let mut workload = a_thousand_accidents(workload, 200, 4);
    let inner: Vec<LinkId> = fabric.inner_links().map(|link| LinkId(link as u32)).collect();
    for (k, link) in inner.iter().step_by(3).enumerate() {
        let part = Part::Link(fabric.link_name(*link));
        let at_s = k as f64;
        workload.events.push(at(at_s, Happening::Fail { part: part.clone(), loses: k % 2 == 0 }));
        workload.events.push(at(at_s + 1.5, Happening::Return { part }));
    }
    let all = policies().chain(COMPRESSED);
    holds_for_all(all, |spec| adds_up(&workload, &fabric, spec).map(|_| ()));
}

#[test]
fn generated_failures_are_the_same_for_a_seed_and_can_be_simulated() {
    let how = Failures {
        mtbf_s: Some(20.0),
        mttr_s: 3.0,
        lose: 0.5,
        attempts: 0.1,
        after_s: 2.0,
        moves: 0.05,
        cancels: 0.05,
        restarts: 0.05,
        within_s: 4.0,
        ..Failures::default()
    };
    let before = shuffles(60);
    let workload = failures(&before, &how).expect("good parameters");
    assert_eq!(workload, failures(&before, &how).expect("good parameters"));
    assert_ne!(workload, failures(&before, &Failures { seed: 2, ..how.clone() }).expect("good"));
    let read = covey_trace::read(as_trace(&workload).as_bytes(), "memory").expect("a trace");
    assert_eq!(read, workload);
    let fabric = Fabric::big_switch(20, 1.0).expect("a fabric");
    let without = run(&before, &fabric, "sebf");
    let outcome = adds_up(&workload, &fabric, "sebf").expect("it adds up");
    let mean = |outcome: &Outcome| ccts(outcome).iter().sum::<f64>() / 60.0;
    assert!(mean(&outcome) > mean(&without));
    assert!(same_time(outcome.flow_start_s[0], without.flow_start_s[0]));
}
