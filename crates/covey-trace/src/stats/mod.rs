//! Statistics of a workload, with the papers' bins of coflows.

mod quantiles;
mod size_class;
mod text;

use serde::Serialize;

pub use quantiles::Quantiles;
pub use size_class::{SizeClass, SizeTable};

use crate::workload::{Coflow, Workload};
use crate::{MB, OnClock};

/// A report on a workload: its statistics.
///
/// Serialised, each field is one key; the [`Display`](std::fmt::Display) form is a page of text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// Number of ports.
    pub ports: u32,
    /// Number of coflows.
    pub coflows: usize,
    /// Number of flows.
    pub flows: usize,
    /// Bytes of all flows.
    pub bytes: f64,
    /// Coflows of one flow.
    pub single_flow_coflows: usize,
    /// Coflows that have parents.
    pub coflows_with_parents: usize,
    /// Flows whose source and destination are the same port.
    pub same_port_flows: usize,
    /// The first arrival, in seconds on the clock of the trace.
    pub first_arrival_s: OnClock,
    /// The last arrival, in seconds on the clock of the trace.
    pub last_arrival_s: OnClock,
    /// Time between consecutive arrivals; `None` with fewer than two coflows.
    pub gap_s: Option<Quantiles>,
    /// Number of flows of a coflow. `None` if the workload has no coflows, here and in the fields
    /// below.
    pub width: Option<Quantiles>,
    /// Bytes of a coflow's longest flow.
    pub length_bytes: Option<Quantiles>,
    /// Bytes of a coflow.
    pub size_bytes: Option<Quantiles>,
    /// A coflow's longest flow over its shortest of more than zero bytes.
    pub skew: Option<Quantiles>,
    /// Coflows by length (short: the longest flow is below 5 MB) and width (narrow: up to 50
    /// flows), as in Table 3 of Aalo (SIGCOMM 2015).
    pub by_length_and_width: [Bin; 4],
    /// Coflows by width (thin: up to 7 flows) and size (small: up to 100 MB), as in Table 4 of
    /// Philae (ATC 2019).
    pub by_width_and_size: [Bin; 4],
    /// The port that sends most.
    pub busiest_egress: PortBytes,
    /// The port that receives most.
    pub busiest_ingress: PortBytes,
    /// Bytes sent, and received, by a port on average.
    pub mean_port_bytes: f64,
}

/// Coflows of a kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bin {
    /// The name of the bin.
    pub name: &'static str,
    /// Number of coflows.
    pub coflows: usize,
    /// Their share of all coflows, from 0 to 1.
    pub coflow_share: f64,
    /// Bytes of these coflows.
    pub bytes: f64,
    /// Their share of all bytes, from 0 to 1.
    pub byte_share: f64,
}

/// A port and the bytes through it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PortBytes {
    /// The port; of several with the same bytes, the one with the lowest number.
    pub port: u32,
    /// The name of its host, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Bytes in one direction.
    pub bytes: f64,
}

impl Stats {
    /// The statistics of `workload`.
    pub fn of(workload: &Workload) -> Self {
        let coflows = &workload.coflows;
        let each = |value: fn(&Coflow) -> f64| Quantiles::of(coflows.iter().map(value).collect());
        let flows = || coflows.iter().flat_map(|c| &c.flows);

        let mut arrivals: Vec<f64> = coflows.iter().map(|c| c.arrival_s).collect();
        arrivals.sort_unstable_by(f64::total_cmp);
        let gaps = arrivals.windows(2).map(|w| w[1] - w[0]).collect();

        let mut egress = vec![0.0; workload.ports as usize];
        let mut ingress = egress.clone();
        for flow in flows() {
            egress[flow.src as usize] += flow.bytes;
            ingress[flow.dst as usize] += flow.bytes;
        }

        let bytes = workload.bytes();
        Self {
            ports: workload.ports,
            coflows: coflows.len(),
            flows: workload.num_flows(),
            bytes,
            single_flow_coflows: coflows.iter().filter(|c| c.width() == 1).count(),
            coflows_with_parents: coflows.iter().filter(|c| !c.parents.is_empty()).count(),
            same_port_flows: flows().filter(|f| f.src == f.dst).count(),
            first_arrival_s: workload.on_clock(arrivals.first().copied().unwrap_or(0.0)),
            last_arrival_s: workload.on_clock(arrivals.last().copied().unwrap_or(0.0)),
            gap_s: Quantiles::of(gaps),
            width: each(|c| c.width() as f64),
            length_bytes: each(Coflow::length_bytes),
            size_bytes: each(Coflow::size_bytes),
            skew: each(skew),
            by_length_and_width: bins(
                workload,
                ["short narrow", "long narrow", "short wide", "long wide"],
                |c| [c.length_bytes() >= 5.0 * MB, c.width() > 50],
            ),
            by_width_and_size: bins(
                workload,
                ["thin small", "wide small", "thin large", "wide large"],
                |c| [c.width() > 7, c.size_bytes() > 100.0 * MB],
            ),
            busiest_egress: busiest(workload, &egress),
            busiest_ingress: busiest(workload, &ingress),
            mean_port_bytes: bytes / f64::from(workload.ports.max(1)),
        }
    }
}

/// Sorts coflows into four bins by two tests. If the tests return `[a, b]`, the bin is `a + 2 b`.
fn bins(
    workload: &Workload,
    names: [&'static str; 4],
    tests: fn(&Coflow) -> [bool; 2],
) -> [Bin; 4] {
    let mut bins =
        names.map(|name| Bin { name, coflows: 0, coflow_share: 0.0, bytes: 0.0, byte_share: 0.0 });
    for coflow in &workload.coflows {
        let [a, b] = tests(coflow);
        let bin = &mut bins[usize::from(a) + 2 * usize::from(b)];
        bin.coflows += 1;
        bin.bytes += coflow.size_bytes();
    }
    let (coflows, bytes) = (workload.coflows.len(), workload.bytes());
    for bin in &mut bins {
        bin.coflow_share = bin.coflows as f64 / coflows.max(1) as f64;
        bin.byte_share = if bytes > 0.0 { bin.bytes / bytes } else { 0.0 };
    }
    bins
}

/// The longest flow over the shortest, without flows of zero bytes, which end when they start.
pub(crate) fn skew(coflow: &Coflow) -> f64 {
    let sent = || coflow.flows.iter().map(|f| f.bytes).filter(|&b| b > 0.0);
    let longest = sent().fold(0.0, f64::max);
    let shortest = sent().fold(f64::INFINITY, f64::min);
    if longest > 0.0 { longest / shortest } else { 1.0 }
}

/// The port with the most bytes.
fn busiest(workload: &Workload, bytes: &[f64]) -> PortBytes {
    let most = (0..).zip(bytes).fold(
        (0, 0.0),
        |most, (port, &bytes)| {
            if bytes > most.1 { (port, bytes) } else { most }
        },
    );
    PortBytes { port: most.0, host: workload.host(most.0).map(str::to_owned), bytes: most.1 }
}
