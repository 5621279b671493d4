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
    /// Applications (Spark) and jobs (collectives) that run side by side on all hosts. Each coflow belongs
    /// to one of its framework's at random; at least 1.
    pub applications: u32,
    /// Standard deviation of normal noise that is added to the start of each flow, in seconds.
    pub noise_s: f64,
    /// Seed of everything random.
    pub seed: u64,
}

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

/// The flows of `workload` as they appear. The same arguments give the same flows on every platform.
pub fn observe(workload: &Workload, appearance: &Appearance<'_>) -> Labelled {
    let mut random = Random::new("covey observe", appearance.seed);
    let mut ends = Ends::new(appearance.seed);
    let mut labelled: Vec<(Observed, u32, f64)> = Vec::with_capacity(workload.num_flows());
    for (coflow, number) in workload.coflows.iter().zip(0..) {
        let frameworks = appearance.frameworks;
        let framework = frameworks[random.below(frameworks.len() as u32) as usize];
        let application = random.below(appearance.applications);
        for flow in &coflow.flows {
            let noise_s =
                if appearance.noise_s > 0.0 { appearance.noise_s * random.normal() } else { 0.0 };
            let [sport, dport] = ends.ports(framework, application, flow.src, flow.dst);
            let observed = Observed {
                start_s: coflow.arrival_s + flow.start_s + noise_s,
                src: Address::host(flow.src),
                dst: Address::host(flow.dst),
                sport,
                dport,
                protocol: TCP,
                packets: None,
                community: None,
            };
            labelled.push((observed, number, flow.bytes));
        }
    }
    // The sort is stable: flows that start together keep the order of the trace.
    labelled.sort_by(|a, b| a.0.start_s.total_cmp(&b.0.start_s));
    Labelled {
        flows: labelled.iter().map(|(flow, ..)| *flow).collect(),
        coflows: labelled.iter().map(|(_, coflow, _)| *coflow).collect(),
        bytes: labelled.iter().map(|(.., bytes)| *bytes).collect(),
    }
}

/// IANA's number of the protocol.
const TCP: u8 = 6;
