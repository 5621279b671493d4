//! A workload as jobs of its links.

use covey_core::state::Registration;
use covey_core::{Fabric, LinkId, PortId};
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

/// Maximum number of jobs. Beyond it the links with the least load are left out. The bound then
/// permits more schedules, so it can only be lower.
const MAX_JOBS: usize = 2_000_000;
/// Most links that are kept. The search for prices keeps a table with a row for each.
const MAX_LINKS: usize = 20_000;

impl Links {
    /// Sums up the flows of `workload` by coflow and link.
    pub fn new(workload: &Workload, fabric: &Fabric) -> Self {
        let mut demand = Demand::new(fabric);
        let mut jobs: Vec<Job> = Vec::new();
        for (c, coflow) in workload.coflows.iter().enumerate() {
            if !coflow.parents.is_empty() {
                continue;
            }
            demand.sum_up(c, coflow);
            jobs.extend(demand.links().map(|(link, length, offset)| {
                let release = coflow.arrival_s + offset;
                Job { coflow: c as u32, link: link as u32, length, release, offset }
            }));
        }
        keep_the_busiest(&mut jobs, fabric);
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

/// Leaves out inner links with little load if there are too many links or jobs. Links of ports
/// stay.
fn keep_the_busiest(jobs: &mut Vec<Job>, fabric: &Fabric) {
    let inner = fabric.inner_links();
    if inner.is_empty() {
        return;
    }
    let mut load = vec![(0.0, 0_usize); fabric.links()];
    for job in jobs.iter() {
        let (seconds, count) = &mut load[job.link as usize];
        *seconds += job.length;
        *count += 1;
    }
    let at_ports: usize = load[..inner.start].iter().map(|(_, count)| count).sum();
    let used = |link: &usize| load[*link].1 > 0;
    let mut by_load: Vec<usize> = inner.clone().filter(used).collect();
    by_load.sort_by(|&a, &b| load[b].0.total_cmp(&load[a].0).then(a.cmp(&b)));
    let (mut links, mut count) = ((0..inner.start).filter(used).count(), at_ports);
    let mut keep = vec![true; fabric.links()];
    for link in by_load {
        (links, count) = (links + 1, count + load[link].1);
        keep[link] = links <= MAX_LINKS && count <= MAX_JOBS;
    }
    jobs.retain(|job| keep[job.link as usize]);
}

/// The demand of one coflow, link by link.
struct Demand<'a> {
    fabric: &'a Fabric,
    /// Bytes on each link.
    bytes: Vec<f64>,
    /// Earliest start of a flow with bytes on each link.
    start: Vec<f64>,
    /// The links with bytes.
    touched: Vec<usize>,
    path: Vec<LinkId>,
}

impl<'a> Demand<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        let (bytes, start) = (vec![0.0; fabric.links()], vec![f64::INFINITY; fabric.links()]);
        Self { fabric, bytes, start, touched: Vec::new(), path: Vec::new() }
    }

    /// Sums up the coflow that is number `seq` of the workload.
    fn sum_up(&mut self, seq: usize, coflow: &Coflow) {
        self.clear();
        let registration = numbered(seq);
        for (index, flow) in (0..).zip(&coflow.flows).filter(|(_, f)| f.bytes > 0.0) {
            self.cross(registration.flow_number(index), [flow.src, flow.dst]);
            for link in self.path.iter().map(|link| link.index()) {
                if self.bytes[link] == 0.0 {
                    self.touched.push(link);
                }
                self.bytes[link] += flow.bytes;
                self.start[link] = self.start[link].min(flow.start_s);
            }
        }
        self.touched.sort_unstable();
    }

    /// Sets the path of a flow.
    fn cross(&mut self, number: u64, [src, dst]: [u32; 2]) {
        self.path.clear();
        self.fabric.path(PortId(src), PortId(dst), number, &mut self.path);
    }

    fn clear(&mut self) {
        for link in self.touched.drain(..) {
            (self.bytes[link], self.start[link]) = (0.0, f64::INFINITY);
        }
    }

    /// Link, seconds of its capacity and earliest start, for each link with bytes.
    fn links(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let capacity = self.fabric.capacity();
        let touched = self.touched.iter();
        touched.map(move |&link| (link, self.bytes[link] / capacity[link], self.start[link]))
    }

    /// Time from arrival to completion of the coflow that is number `seq`, if it is alone, in
    /// seconds.
    fn isolated_s(&mut self, seq: usize, coflow: &Coflow) -> f64 {
        let latest = coflow.flows.iter().map(|f| f.start_s).fold(0.0, f64::max);
        if latest <= 0.0 {
            self.sum_up(seq, coflow);
            return self.links().map(|(_, length, _)| length).fold(0.0, f64::max);
        }
        self.clear();
        let registration = numbered(seq);
        let flows = (0..).zip(&coflow.flows);
        let mut flows: Vec<_> = flows.filter(|(_, f)| f.bytes > 0.0).collect();
        flows.sort_by(|(_, a), (_, b)| b.start_s.total_cmp(&a.start_s));
        let mut cct = latest;
        for (index, flow) in flows {
            self.cross(registration.flow_number(index), [flow.src, flow.dst]);
            let mut length = 0.0_f64;
            for link in self.path.iter().map(|link| link.index()) {
                self.bytes[link] += flow.bytes;
                self.touched.push(link);
                length = length.max(self.bytes[link] / self.fabric.capacity()[link]);
            }
            cct = cct.max(flow.start_s + length);
        }
        cct
    }
}

/// A registration with the serial number `seq`. A fabric chooses the paths of the coflow's flows by
/// this number.
fn numbered(seq: usize) -> Registration {
    Registration { seq: seq as u64, ..Registration::default() }
}

/// The load of each coflow on each link it uses, in seconds of the link's capacity. Links of
/// senders come first, in order of their first flow; then links of receivers, likewise; then links
/// inside the fabric, by number.
///
/// # Panics
/// If the workload has more ports than the fabric.
pub fn loads(workload: &Workload, fabric: &Fabric) -> Vec<Vec<(LinkId, f64)>> {
    let mut demand = Demand::new(fabric);
    let of = |(seq, coflow): (usize, &Coflow)| {
        demand.sum_up(seq, coflow);
        let senders = coflow.flows.iter().map(|flow| fabric.egress(PortId(flow.src)));
        let receivers = coflow.flows.iter().map(|flow| fabric.ingress(PortId(flow.dst)));
        let inner: Vec<usize> = demand.touched.clone();
        let inner = inner.into_iter().map(|link| LinkId(link as u32));
        let inner = inner.filter(|&link| fabric.port_of(link).is_none());
        let take = |link: LinkId| {
            let bytes = std::mem::take(&mut demand.bytes[link.index()]);
            (bytes > 0.0).then(|| (link, bytes / fabric.capacity()[link.index()]))
        };
        senders.chain(receivers).chain(inner).filter_map(take).collect()
    };
    workload.coflows.iter().enumerate().map(of).collect()
}

/// Time from arrival to completion of each coflow if it has the network to itself, in seconds.
///
/// On each link, the bytes of the flows that start at `s` or later cannot have crossed before `s +
/// bytes / capacity`; the result is the largest such value over links and `s`. With all flows
/// starting together this is the effective bottleneck, which MADD attains.
///
/// # Panics
/// If the workload has more ports than the fabric.
pub fn isolated_ccts_s(workload: &Workload, fabric: &Fabric) -> Vec<f64> {
    let mut demand = Demand::new(fabric);
    let coflows = workload.coflows.iter().enumerate();
    coflows.map(|(seq, coflow)| demand.isolated_s(seq, coflow)).collect()
}
