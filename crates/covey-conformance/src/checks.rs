//! The rules that every policy must keep: one function for each rule, on one workload.

use covey_core::{AnyPolicy, Compression, Fabric, Promises};
use covey_sim::bound::{bounds, isolated_ccts_s, on_the_wire};
use covey_sim::simulate;
use covey_trace::results::Outcome;
use covey_trace::{Availability, Coflow, Flow, Moment, Workload, read, write};

use crate::twin::Twin;
use crate::violation::Violation;
use crate::watch::Watch;
use crate::workloads::flow;

/// Makes a new policy: every simulation needs one of its own.
pub type Make<'a> = &'a dyn Fn() -> AnyPolicy;

/// Simulates without an observer.
fn run(workload: &Workload, fabric: &Fabric, make: Make<'_>) -> Result<Outcome, Violation> {
    let outcome = simulate(workload, fabric, "under test", &mut make(), &mut ());
    outcome.map_err(|error| Violation(error.to_string()))
}

/// The coflow completion times.
pub fn ccts(outcome: &Outcome) -> Vec<f64> {
    outcome.coflows.iter().map(|coflow| coflow.cct_s()).collect()
}

/// Whether two times are equal to 9 digits; times are simulated to a nanosecond.
pub fn same_time(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(20.0)
}

/// Rates fit the links in every round, parts of the network that have failed pass nothing, and no
/// flow sends more or less than its bytes. A policy that promises to conserve work leaves no flow
/// waiting if all its links have capacity to spare. Returns the outcome of the simulation.
///
/// # Errors
/// The rule is broken, or the plan cannot be executed.
pub fn rates_fit(
    workload: &Workload,
    fabric: &Fabric,
    promises: Promises,
    make: Make<'_>,
) -> Result<Outcome, Violation> {
    let mut watch = Watch::new(workload, fabric, promises.conserves_work);
    let outcome = simulate(workload, fabric, "under test", &mut make(), &mut watch);
    if let Some(violation) = watch.found.take() {
        return Err(violation);
    }
    let outcome = outcome.map_err(|error| Violation(error.to_string()))?;
    watch.check_all_sent(&outcome)?;
    Ok(outcome)
}

/// The rates of every round are those that [their definition](mod@covey_alloc::reference) gives.
/// Returns the number of rounds that were compared: plans with matching by load are not. The policy
/// does not compress.
///
/// # Errors
/// The rates differ, or the plan cannot be executed.
pub fn rates_are_as_defined(
    workload: &Workload,
    fabric: &Fabric,
    make: Make<'_>,
) -> Result<usize, Violation> {
    let mut twin = Twin::default();
    let outcome = simulate(workload, fabric, "under test", &mut make(), &mut twin);
    match (twin.found, outcome) {
        (Some(violation), _) => Err(violation),
        (None, Err(error)) => Err(Violation(error.to_string())),
        (None, Ok(_)) => Ok(twin.compared),
    }
}

/// A repeated run gives the same result to the last bit.
///
/// # Errors
/// The results differ.
pub fn same_again(workload: &Workload, fabric: &Fabric, make: Make<'_>) -> Result<(), Violation> {
    let (first, second) = (run(workload, fabric, make)?, run(workload, fabric, make)?);
    if format!("{first:?}") == format!("{second:?}") {
        return Ok(());
    }
    let (first, second) = (ccts(&first), ccts(&second));
    Err(Violation(format!("the same run gives CCTs of {first:?} and then of {second:?}")))
}

/// Nothing changes when the clock of the trace starts elsewhere: every arrival is `seconds` later.
///
/// # Errors
/// The shifted workload cannot be written and read, or a result changes in the last bit.
pub fn the_clock_does_not_matter(
    workload: &Workload,
    fabric: &Fabric,
    seconds: u32,
    make: Make<'_>,
) -> Result<(), Violation> {
    let again = |seconds: f64| -> Result<Workload, Violation> {
        let moment = Moment::from_secs(seconds);
        let origin = moment.ok_or_else(|| Violation(format!("{seconds} s is no moment")))?;
        let mut text = Vec::new();
        let shifted = Workload { origin, ..workload.clone() };
        write(&shifted, &mut text).map_err(|error| Violation(error.to_string()))?;
        read(text.as_slice(), "shifted").map_err(|error| Violation(error.to_string()))
    };
    let found = run(&again(f64::from(seconds))?, fabric, make)?;
    let expected = run(&again(0.0)?, fabric, make)?;
    if format!("{found:?}") == format!("{expected:?}") {
        return Ok(());
    }
    let (found, expected) = (ccts(&found), ccts(&expected));
    Err(Violation(format!("{seconds} s later CCTs are {found:?} instead of {expected:?}")))
}

/// Nothing changes when ports get other names: port `p` becomes `names[p]`.
///
/// # Errors
/// A completion time changes.
pub fn names_of_ports_do_not_matter(
    workload: &Workload,
    fabric: &Fabric,
    names: &[u32],
    make: Make<'_>,
) -> Result<(), Violation> {
    let (other_workload, other_fabric) = relabelled(workload, fabric, names);
    let found = ccts(&run(&other_workload, &other_fabric, make)?);
    let expected = ccts(&run(workload, fabric, make)?);
    if found.iter().zip(&expected).all(|(a, b)| same_time(*a, *b)) {
        return Ok(());
    }
    Err(Violation(format!(
        "with ports called {names:?} CCTs are {found:?} instead of {expected:?}"
    )))
}

/// Times that no schedule of a workload can beat.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Seconds that each coflow takes when it is alone.
    alone_s: Vec<f64>,
    /// The bound of the mean CCT in seconds.
    mean_cct_s: f64,
}

impl Limits {
    /// The limits if flows are compressed in this way, or not at all.
    pub fn of(workload: &Workload, fabric: &Fabric, compression: Option<Compression>) -> Limits {
        let wire = match compression {
            Some(codec) => on_the_wire(workload, fabric, &codec, &Availability::default()),
            None => workload.clone(),
        };
        let alone_s = isolated_ccts_s(&wire, fabric);
        Limits { alone_s, mean_cct_s: bounds(&wire, fabric).mean_cct_s }
    }
}

/// No coflow is faster than alone, and the mean is not below the bound. `limits` are those of
/// the policy's compression.
///
/// # Errors
/// A coflow, or the mean, is too fast.
pub fn nothing_is_too_fast(
    workload: &Workload,
    fabric: &Fabric,
    limits: &Limits,
    make: Make<'_>,
) -> Result<(), Violation> {
    let ccts = ccts(&run(workload, fabric, make)?);
    for ((coflow, cct), alone) in workload.coflows.iter().zip(&ccts).zip(&limits.alone_s) {
        if *cct < alone - 1e-8 {
            return Err(Violation(format!("coflow {} takes {cct} s, alone {alone} s", coflow.id)));
        }
    }
    let (mean, bound) = (ccts.iter().sum::<f64>() / ccts.len() as f64, limits.mean_cct_s);
    if mean < bound - 1e-8 {
        return Err(Violation(format!("the mean CCT is {mean} s, the bound {bound} s")));
    }
    Ok(())
}

/// Whether the policy compresses any flow.
///
/// # Errors
/// When the simulation fails.
pub fn compresses(workload: &Workload, fabric: &Fabric, make: Make<'_>) -> Result<bool, Violation> {
    Ok(!run(workload, fabric, make)?.compression.is_empty())
}

/// The number of small coflows that follow the large one in [`elephant_s`].
pub const MICE: u32 = 4000;

/// The time at which a large coflow ends. Small coflows follow it, one a second until [`MICE`]
/// seconds, and fill the link.
///
/// # Errors
/// When the simulation fails.
pub fn elephant_s(make: Make<'_>) -> Result<f64, Violation> {
    let mut coflows = vec![Coflow::new("elephant".to_owned(), 0.0, vec![flow(0, 0, 20.0)])];
    coflows.extend((0..MICE).map(|mouse| {
        Coflow::new(format!("mouse {mouse}"), f64::from(mouse) + 0.5, vec![flow(0, 0, 1.0)])
    }));
    let fabric = Fabric::big_switch(1, 1.0).map_err(|error| Violation(error.to_string()))?;
    Ok(run(&Workload::new(1, coflows), &fabric, make)?.coflows[0].completion_s)
}

/// A policy that promises to starve nobody keeps that promise.
///
/// # Errors
/// The policy makes the promise, and a coflow starves.
pub fn starves_nobody(promises: Promises, make: Make<'_>) -> Result<(), Violation> {
    if promises.starves_nobody {
        let completion_s = elephant_s(make)?;
        if completion_s >= f64::from(MICE) {
            let promise = "it promises to starve nobody, but a coflow";
            return Err(Violation(format!("{promise} has to wait for {MICE} that come after it")));
        }
    }
    Ok(())
}

/// Under a policy that promises to be local, events elsewhere do not matter: the flows of `first`
/// end at the same time if those of `second` are sent beside them, on six other ports.
///
/// # Errors
/// The policy makes the promise, and other flows do matter.
pub fn is_local(
    first: &Workload,
    second: &Workload,
    promises: Promises,
    make: Make<'_>,
) -> Result<(), Violation> {
    if !promises.is_local {
        return Ok(());
    }
    let (first, second) = (without_parents(first), without_parents(second));
    let both = in_two_halves(&first, &second);
    let network =
        |ports| Fabric::big_switch(ports, 1.0).map_err(|error| Violation(error.to_string()));
    let alone = run(&first, &network(6)?, make)?.flow_completion_s;
    let beside = run(&both, &network(12)?, make)?.flow_completion_s;
    let (mut alone, mut beside) = (alone.into_iter(), beside.into_iter());
    for (coflow, both) in first.coflows.iter().zip(&both.coflows) {
        let expected: Vec<f64> = alone.by_ref().take(coflow.flows.len()).collect();
        let found: Vec<f64> = beside.by_ref().take(both.flows.len()).collect();
        if !expected.iter().zip(&found).all(|(a, b)| same_time(*a, *b)) {
            let id = &coflow.id;
            return Err(Violation(format!(
                "it promises to be local, but flows of coflow {id} end at {found:?} instead of {expected:?} when others send elsewhere"
            )));
        }
    }
    Ok(())
}

/// Events on other ports do not matter: the flows of `workload` end at the same time if those of
/// `others` are sent beside them, on other ports. Policies are exempt only if they have a clock or
/// a number for the whole network by definition.
///
/// # Errors
/// Other flows do matter.
pub fn others_do_not_matter(
    workload: &Workload,
    fabric: &Fabric,
    others: &Workload,
    make: Make<'_>,
) -> Result<(), Violation> {
    let (both, trace_indices) = beside(workload, fabric.ports(), others);
    let (egress, ingress) = split(fabric);
    let wider = Fabric::big_switch_with(&[egress, egress].concat(), &[ingress, ingress].concat())
        .map_err(|error| Violation(error.to_string()))?;
    let alone = run(workload, fabric, make)?.flow_completion_s;
    let found = run(&both, &wider, make)?.flow_completion_s;
    let mut alone = alone.into_iter();
    let mut found = found.into_iter();
    for (coflow, trace_index) in both.coflows.iter().zip(trace_indices) {
        let found: Vec<f64> = found.by_ref().take(coflow.flows.len()).collect();
        if trace_index.is_none() {
            continue;
        }
        let expected: Vec<f64> = alone.by_ref().take(coflow.flows.len()).collect();
        let off = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-9 * a.max(1.0);
        if expected.iter().zip(&found).any(off) {
            let id = &coflow.id;
            return Err(Violation(format!(
                "flows of coflow {id} end at {found:?} instead of {expected:?} when others send on ports of their own"
            )));
        }
    }
    Ok(())
}

/// Two workloads side by side, the second on ports from `ports` on, with their coflows by turns.
/// Also returns each coflow's index in the first workload, or `None` for those of the second.
fn beside(first: &Workload, ports: u32, second: &Workload) -> (Workload, Vec<Option<usize>>) {
    let longer = first.coflows.len().max(second.coflows.len());
    let turns = (0..longer).flat_map(|k| [(k, true), (k, false)]);
    let of = |is_first: bool| if is_first { first } else { second };
    let turns: Vec<(usize, bool)> =
        turns.filter(|&(k, is_first)| k < of(is_first).coflows.len()).collect();
    let coflows = turns.iter().map(|&(k, is_first)| {
        let mut coflow = of(is_first).coflows[k].clone();
        for parent in &mut coflow.parents {
            let is_it = |turn: &(usize, bool)| *turn == (*parent as usize, is_first);
            *parent = turns.iter().position(is_it).map_or(*parent, |k| k as u32);
        }
        if !is_first {
            coflow.id = format!("other-{}", coflow.id);
            coflow.flows.iter_mut().for_each(|flow| {
                flow.src += ports;
                flow.dst += ports;
            });
        }
        coflow
    });
    let both = Workload::new(2 * ports, coflows.collect());
    (both, turns.iter().map(|&(k, is_first)| is_first.then_some(k)).collect())
}

/// The two capacities of all ports.
fn split(fabric: &Fabric) -> (&[f64], &[f64]) {
    fabric.capacity().split_at(fabric.ports() as usize)
}

/// The same network, in which port `p` has the name `names[p]`.
fn relabelled(workload: &Workload, fabric: &Fabric, names: &[u32]) -> (Workload, Fabric) {
    let mut workload = workload.clone();
    workload.ports = fabric.ports();
    for flow in workload.coflows.iter_mut().flat_map(|coflow| &mut coflow.flows) {
        (flow.src, flow.dst) = (names[flow.src as usize], names[flow.dst as usize]);
    }
    let (egress, ingress) = split(fabric);
    let moved = |capacity: &[f64]| {
        let mut moved = vec![0.0; capacity.len()];
        names.iter().zip(capacity).for_each(|(&name, &capacity)| moved[name as usize] = capacity);
        moved
    };
    let fabric = Fabric::big_switch_with(&moved(egress), &moved(ingress))
        .expect("the capacities are those of a fabric");
    (workload, fabric)
}

fn without_parents(workload: &Workload) -> Workload {
    let mut workload = workload.clone();
    workload.coflows.iter_mut().for_each(|coflow| coflow.parents.clear());
    workload
}

/// A network of two halves, and coflows with flows in both of them but none between them.
fn in_two_halves(first: &Workload, second: &Workload) -> Workload {
    let mut both = first.clone();
    both.ports = 2 * 6;
    for (coflow, other) in both.coflows.iter_mut().zip(&second.coflows) {
        let moved = other.flows.iter().map(|f| Flow { src: f.src + 6, dst: f.dst + 6, ..*f });
        coflow.flows.extend(moved);
    }
    both
}
