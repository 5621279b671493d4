//! A workload as jobs of its links.

use covey_core::LinkId;
use covey_trace::{Coflow, Workload};

/// The time that one coflow needs of one link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    /// Position of the coflow in the workload.
    pub coflow: u32,
    /// Number of the link, among those that have jobs.
    pub link: u32,
    /// Time the link needs for the coflow's bytes, in seconds; positive.
    pub length: f64,
    /// Time at which the first of these bytes can be sent, in seconds since the start of the trace.
    pub release: f64,
    /// Time from the coflow's arrival to `release`, in seconds.
    pub offset: f64,
}

/// The jobs of every link that coflows without parents use.
///
/// Coflows with parents are left out: a schedule determines their release, so the times of their
/// jobs are not known beforehand.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The jobs, grouped by link, in order of release.
    pub jobs: Vec<Job>,
    /// The index in `jobs` of the first job of each link, followed by the number of jobs.
    pub starts: Vec<usize>,
    /// The positions in `jobs` of each coflow's jobs.
    pub of_coflow: Vec<Vec<u32>>,
}

impl Links {
    /// Sums up the flows of `workload` by coflow and link.
    pub fn new(workload: &Workload, egress: &[f64], ingress: &[f64]) -> Self {
        let mut demand = Demand::new(egress, ingress);
        let mut jobs: Vec<Job> = Vec::new();
        for (c, coflow) in workload.coflows.iter().enumerate() {
            if !coflow.parents.is_empty() {
                continue;
            }
            demand.sum_up(coflow);
            jobs.extend(demand.links().map(|(link, length, offset)| {
                let release = coflow.arrival_s + offset;
                Job { coflow: c as u32, link: link as u32, length, release, offset }
            }));
        }
        jobs.sort_by(|a, b| a.link.cmp(&b.link).then(a.release.total_cmp(&b.release)));
        let mut links =
            Self { of_coflow: vec![Vec::new(); workload.coflows.len()], ..Self::default() };
        let mut last = None;
        for (position, mut job) in jobs.into_iter().enumerate() {
            if last.replace(job.link) != Some(job.link) {
                links.starts.push(position);
            }
            job.link = links.starts.len() as u32 - 1;
            links.of_coflow[job.coflow as usize].push(position as u32);
            links.jobs.push(job);
        }
        links.starts.push(links.jobs.len());
        links
    }
}

/// One coflow's demand, link by link: the egress links first, then the ingress links.
struct Demand<'a> {
    egress: &'a [f64],
    ingress: &'a [f64],
    /// Bytes on each link.
    bytes: Vec<f64>,
    /// Earliest start of a flow with bytes on each link.
    start: Vec<f64>,
}

impl<'a> Demand<'a> {
    fn new(egress: &'a [f64], ingress: &'a [f64]) -> Self {
        let links = egress.len() + ingress.len();
        Self { egress, ingress, bytes: vec![0.0; links], start: vec![0.0; links] }
    }

    fn sum_up(&mut self, coflow: &Coflow) {
        self.bytes.fill(0.0);
        self.start.fill(f64::INFINITY);
        for flow in coflow.flows.iter().filter(|f| f.bytes > 0.0) {
            for link in [flow.src as usize, self.egress.len() + flow.dst as usize] {
                self.bytes[link] += flow.bytes;
                self.start[link] = self.start[link].min(flow.start_s);
            }
        }
    }

    /// Link, seconds of its capacity and earliest start, for each link with bytes.
    fn links(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let capacities = self.egress.iter().chain(self.ingress);
        capacities
            .enumerate()
            .filter(|&(link, _)| self.bytes[link] > 0.0)
            .map(|(link, capacity)| (link, self.bytes[link] / capacity, self.start[link]))
    }
}

/// The load of each coflow on each link it uses, in seconds of the link's capacity: senders in
/// order of their first flow, then receivers likewise. Links are numbered as on a big switch:
/// egress of each port, then ingress.
pub fn loads(workload: &Workload, egress: &[f64], ingress: &[f64]) -> Vec<Vec<(LinkId, f64)>> {
    let mut demand = Demand::new(egress, ingress);
    let of = |coflow: &Coflow| {
        demand.sum_up(coflow);
        let senders = coflow.flows.iter().map(|flow| flow.src as usize);
        let receivers = coflow.flows.iter().map(|flow| egress.len() + flow.dst as usize);
        let take = |link: usize| {
            let bytes = std::mem::take(&mut demand.bytes[link]);
            let capacity = egress.get(link).or_else(|| ingress.get(link - egress.len()));
            capacity.filter(|_| bytes > 0.0).map(|capacity| (LinkId(link as u32), bytes / capacity))
        };
        senders.chain(receivers).filter_map(take).collect()
    };
    workload.coflows.iter().map(of).collect()
}

/// Time from arrival to completion of a coflow that has the network to itself, in seconds.
///
/// On each link, the bytes of the flows that start at `s` or later cannot have crossed before
/// `s + bytes / capacity`; the result is the largest such value over links and `s`. With all
/// flows starting together this is the effective bottleneck, which MADD attains.
/// `egress` and `ingress` are capacities in bytes per second.
pub fn isolated_cct_s(coflow: &Coflow, egress: &[f64], ingress: &[f64]) -> f64 {
    let latest = coflow.flows.iter().map(|f| f.start_s).fold(0.0, f64::max);
    if latest <= 0.0 {
        let mut demand = Demand::new(egress, ingress);
        demand.sum_up(coflow);
        return demand.links().map(|(_, length, _)| length).fold(0.0, f64::max);
    }
    let mut flows: Vec<_> = coflow.flows.iter().filter(|f| f.bytes > 0.0).collect();
    flows.sort_by(|a, b| b.start_s.total_cmp(&a.start_s));
    let mut sent = vec![0.0; egress.len()];
    let mut received = vec![0.0; ingress.len()];
    flows.iter().fold(latest, |cct, flow| {
        let (src, dst) = (flow.src as usize, flow.dst as usize);
        sent[src] += flow.bytes;
        received[dst] += flow.bytes;
        let length = (sent[src] / egress[src]).max(received[dst] / ingress[dst]);
        cct.max(flow.start_s + length)
    })
}
