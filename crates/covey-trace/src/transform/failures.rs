//! Hosts and links that fail and return, flows that move or are cancelled, and second attempts of
//! flows.

use super::shared::bad;
use crate::cluster::{ClusterEvent, FlowOf, Happening, Part};
use crate::error::TraceError;
use crate::limits::{MAX_EVENTS, MAX_FLOWS};
use crate::random::Random;
use crate::workload::{Attempt, Flow, Workload};

/// What happens to the cluster, and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Failures {
    /// Mean time from the return of a host or a link to its next failure, in seconds; `None`: none
    /// fails.
    pub mtbf_s: Option<f64>,
    /// Mean time from a failure to the return, in seconds.
    pub mttr_s: f64,
    /// Share of the failures after which flows have to send everything again.
    pub lose: f64,
    /// Names of links that fail as hosts do.
    pub links: Vec<String>,
    /// The last failure begins by then, in seconds, as arrivals; `None`: by the last arrival.
    pub until_s: Option<f64>,
    /// Share of the flows that have a second attempt, from another port.
    pub attempts: f64,
    /// Time from the start of a flow to its second attempt, in seconds.
    pub after_s: f64,
    /// Share of the flows that move to another receiving port.
    pub moves: f64,
    /// Share of the flows that are cancelled.
    pub cancels: f64,
    /// Share of the flows that begin again.
    pub restarts: f64,
    /// Moves, cancellations and restarts come up to so many seconds after the start of the flow.
    pub within_s: f64,
    /// The seed.
    pub seed: u64,
}

impl Default for Failures {
    /// Nothing happens.
    fn default() -> Failures {
        Failures {
            mtbf_s: None,
            mttr_s: 60.0,
            lose: 0.0,
            links: Vec::new(),
            until_s: None,
            attempts: 0.0,
            after_s: 10.0,
            moves: 0.0,
            cancels: 0.0,
            restarts: 0.0,
            within_s: 10.0,
            seed: 1,
        }
    }
}

/// `workload` with such events, in order of time, and attempts. Times between failures and times to
/// repair are exponential, each host and link by itself; everything that fails returns. Other times
/// are uniform, and each flow is chosen by itself.
///
/// # Errors
/// [`TraceError::Argument`] for shares outside of 0 to 1, for times that are not above zero, for a
/// workload of one port where flows are to go elsewhere, for one that has events or attempts
/// already, and for more events or flows than a trace may have.
pub fn failures(workload: &Workload, how: &Failures) -> Result<Workload, TraceError> {
    check(workload, how)?;
    let mut made = workload.clone();
    add_failures(&mut made, how)?;
    let mut random = Random::new("covey events of flows", how.seed);
    for coflow in 0..workload.coflows.len() {
        add_events_of_flows(&mut made, coflow, how, &mut random);
    }
    add_attempts(&mut made, how);
    if made.events.len() > MAX_EVENTS {
        return Err(bad("events", format!("at most {MAX_EVENTS}"), made.events.len()));
    }
    if made.num_flows() > MAX_FLOWS as usize {
        return Err(bad("flows", format!("at most {MAX_FLOWS}"), made.num_flows()));
    }
    made.events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    Ok(made)
}

fn check(workload: &Workload, how: &Failures) -> Result<(), TraceError> {
    if !workload.is_static() {
        return Err(bad("trace", "one without events and attempts", "one that has some"));
    }
    let shares = [
        ("lose", how.lose),
        ("attempts", how.attempts),
        ("moves", how.moves),
        ("cancels", how.cancels),
        ("restarts", how.restarts),
    ];
    for (name, share) in shares {
        if !(0.0..=1.0).contains(&share) {
            return Err(bad(name, "a share from 0 to 1", share));
        }
    }
    let times = [
        ("mtbf", how.mtbf_s.unwrap_or(1.0)),
        ("mttr", how.mttr_s),
        ("after", how.after_s),
        ("within", how.within_s),
        ("until", how.until_s.unwrap_or(1.0)),
    ];
    for (name, seconds) in times {
        if !(seconds > 0.0 && seconds.is_finite()) {
            return Err(bad(name, "a time above zero", seconds));
        }
    }
    if workload.ports < 2 && how.attempts + how.moves > 0.0 {
        return Err(bad("trace", "two ports or more, so that flows can go elsewhere", "one"));
    }
    Ok(())
}

/// Adds failures and returns of hosts and links.
fn add_failures(workload: &mut Workload, how: &Failures) -> Result<(), TraceError> {
    let Some(mtbf_s) = how.mtbf_s else { return Ok(()) };
    let arrivals = || workload.coflows.iter().map(|coflow| coflow.arrival_s);
    let first_s = arrivals().fold(f64::INFINITY, f64::min);
    let until_s = how.until_s.unwrap_or_else(|| arrivals().fold(0.0, f64::max));
    if until_s <= first_s {
        let found = format!("{until_s}, which is that of the first arrival");
        return Err(bad("until", "a time after the first arrival", found));
    }
    let hosts = (0..workload.ports).map(Part::Host);
    let parts: Vec<Part> = hosts.chain(how.links.iter().cloned().map(Part::Link)).collect();
    let mean_events = 2.0 * parts.len() as f64 * (until_s - first_s) / mtbf_s;
    if mean_events > MAX_EVENTS as f64 {
        return Err(bad(
            "mtbf",
            format!("at most {MAX_EVENTS} events"),
            format!("{mean_events:.0}"),
        ));
    }
    let mut random = Random::new("covey failures", how.seed);
    for part in parts {
        let mut now_s = first_s + mtbf_s * random.exponential();
        while now_s < until_s {
            let loses = random.unit() < how.lose;
            let what = Happening::Fail { part: part.clone(), loses };
            workload.events.push(ClusterEvent { at_s: now_s, what });
            now_s += how.mttr_s * random.exponential();
            let what = Happening::Return { part: part.clone() };
            workload.events.push(ClusterEvent { at_s: now_s, what });
            now_s += mtbf_s * random.exponential();
        }
    }
    Ok(())
}

/// Adds moves, cancellations and restarts of the flows of a coflow.
fn add_events_of_flows(workload: &mut Workload, index: usize, how: &Failures, random: &mut Random) {
    let Workload { ports, coflows, events, .. } = workload;
    let coflow = &coflows[index];
    for (number, flow) in (0..).zip(&coflow.flows) {
        let of = FlowOf { coflow: index as u32, flow: number };
        let start_s = coflow.arrival_s + flow.start_s;
        let at = |random: &mut Random| start_s + how.within_s * random.unit();
        if random.unit() < how.moves {
            let dst = Some(other(flow.dst, *ports, random));
            let what = Happening::Move { flow: of, src: None, dst };
            events.push(ClusterEvent { at_s: at(random), what });
        }
        if random.unit() < how.restarts {
            let what = Happening::Restart { flow: of };
            events.push(ClusterEvent { at_s: at(random), what });
        }
        if random.unit() < how.cancels {
            let what = Happening::Cancel { flow: of };
            events.push(ClusterEvent { at_s: at(random), what });
        }
    }
}

/// Adds second attempts of flows.
fn add_attempts(workload: &mut Workload, how: &Failures) {
    let mut random = Random::new("covey attempts", how.seed);
    for coflow in &mut workload.coflows {
        for of in 0..coflow.flows.len() as u32 {
            if random.unit() < how.attempts {
                let flow = coflow.flows[of as usize];
                let src = other(flow.src, workload.ports, &mut random);
                coflow.attempts.push(Attempt { flow: coflow.flows.len() as u32, of });
                coflow.flows.push(Flow { src, start_s: flow.start_s + how.after_s, ..flow });
            }
        }
    }
}

/// Another port than `port`.
fn other(port: u32, ports: u32, random: &mut Random) -> u32 {
    (port + 1 + random.below(ports - 1)) % ports
}
