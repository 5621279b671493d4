//! The flows of a workload with addresses and ports.

use covey_identify::{Address, Observed};

use super::ends::Ends;
use super::framework::Framework;
use crate::random::Random;
use crate::workload::Workload;

/// How the flows of a workload appear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Appearance<'a> {
    /// Each coflow belongs to one of these at random, all equally likely; not empty.
    pub frameworks: &'a [Framework],
    /// Applications (Spark) and jobs (collectives) that run side by side on all hosts. Each coflow
    /// belongs to one of its framework's at random; at least 1.
    pub applications: u32,
    /// Standard deviation of normal noise that is added to the start of each flow, in seconds.
    pub noise_s: f64,
    /// Seed of everything random.
    pub seed: u64,
}

/// How flows appear unless something else is said: as a trace names them, by hosts alone.
pub const HOSTS_ALONE: Appearance<'static> =
    Appearance { frameworks: &[Framework::Unknown], applications: 1, noise_s: 0.0, seed: 1 };

/// Observed flows in order of their starts, and what is true of each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labelled {
    /// The flows.
    pub flows: Vec<Observed>,
    /// The place of each flow's coflow in [`Workload::coflows`].
    pub coflows: Vec<u32>,
    /// The bytes of each flow.
    pub bytes: Vec<f64>,
}

/// The flows of `workload` as they appear. The same arguments give the same flows on every
/// platform.
pub fn observe(workload: &Workload, appearance: &Appearance<'_>) -> Labelled {
    let with_number = workload.coflows.iter().zip(0..);
    let labels = with_number.flat_map(|(coflow, k)| coflow.flows.iter().map(move |flow| (k, flow)));
    let mut labelled: Vec<(Observed, u32, f64)> = appear(workload, appearance)
        .into_iter()
        .zip(labels)
        .map(|(observed, (coflow, flow))| (observed, coflow, flow.bytes))
        .collect();
    // The sort is stable: flows that start together keep the order of the trace.
    labelled.sort_by(|a, b| a.0.start_s.total_cmp(&b.0.start_s));
    Labelled {
        flows: labelled.iter().map(|(flow, ..)| *flow).collect(),
        coflows: labelled.iter().map(|(_, coflow, _)| *coflow).collect(),
        bytes: labelled.iter().map(|(.., bytes)| *bytes).collect(),
    }
}

/// The flows of `workload` as they appear, in the order of the trace.
pub fn appear(workload: &Workload, appearance: &Appearance<'_>) -> Vec<Observed> {
    let mut random = Random::new("covey observe", appearance.seed);
    let mut ends = Ends::new(appearance.seed);
    let mut flows = Vec::with_capacity(workload.num_flows());
    for coflow in &workload.coflows {
        let frameworks = appearance.frameworks;
        let framework = frameworks[random.below(frameworks.len() as u32) as usize];
        let application = random.below(appearance.applications);
        for flow in &coflow.flows {
            let noise_s =
                if appearance.noise_s > 0.0 { appearance.noise_s * random.normal() } else { 0.0 };
            let [sport, dport] = ends.ports(framework, application, flow.src, flow.dst);
            flows.push(Observed {
                start_s: coflow.arrival_s + flow.start_s + noise_s,
                src: Address::host(flow.src),
                dst: Address::host(flow.dst),
                sport,
                dport,
                protocol: TCP,
                community: None,
            });
        }
    }
    flows
}

/// Makes the flows of `workload` start when they appear to start: the observer's noise becomes what
/// happens. A flow that would start before the origin of time starts there. `flows` are in the
/// order of the trace.
pub fn start_as_observed(workload: &mut Workload, flows: &[Observed]) {
    let mut observed = flows.iter().map(|flow| flow.start_s.max(0.0));
    for coflow in &mut workload.coflows {
        let starts: Vec<f64> = observed.by_ref().take(coflow.flows.len()).collect();
        if starts.is_empty() {
            continue;
        }
        coflow.arrival_s = starts.iter().copied().fold(f64::INFINITY, f64::min);
        for (flow, start_s) in coflow.flows.iter_mut().zip(starts) {
            flow.start_s = start_s - coflow.arrival_s;
        }
    }
}

/// IANA's number of the protocol.
const TCP: u8 = 6;
