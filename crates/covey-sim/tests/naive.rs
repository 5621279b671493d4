//! The simulator against a slow and obvious one: all flows in one list, every rate computed from
//! scratch at every event, every flow advanced by itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Kind, as_trace, ccts, facebook, run, same_time};
use covey_core::{Attempts, Fabric, LinkId, PortId};
use covey_facebook_test::facebook_test;
use covey_trace::{Coflow, Happening, Part, Workload};
use proptest::collection::vec;
use proptest::prelude::*;

/// Times closer than this are equal.
const RESOLUTION_S: f64 = 1e-9;
/// A share of a link so small that it counts as a residue of rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// An unfinished flow.
#[derive(Clone)]
struct Flow {
    /// Index of its coflow in the trace, and its own index in the coflow.
    id: (usize, usize),
    /// Its egress and its ingress link, then those inside the fabric.
    path: Vec<usize>,
    left: f64,
}

/// The inputs of a rule.
struct Snapshot<'a> {
    /// Coflow by coflow in order of release, sender by sender in order of the senders' first flows,
    /// then in the order of the trace.
    flows: &'a [Flow],
    /// Coflows in order of release.
    coflows: &'a [usize],
    capacity: &'a [f64],
    /// Whether flows have begun or a coflow has ended.
    replan: bool,
}

/// Decides the rate of every flow.
type Rule = Box<dyn FnMut(&Snapshot<'_>) -> Vec<f64>>;

/// Completion times of all coflows.
fn simulate(workload: &Workload, fabric: &Fabric, mut rule: Rule) -> Vec<f64> {
    let coflows = &workload.coflows;
    let capacity = fabric.capacity();
    let mut release = vec![f64::INFINITY; coflows.len()];
    let mut end = vec![f64::INFINITY; coflows.len()];
    let mut unfinished: Vec<usize> = coflows.iter().map(|c| c.flows.len()).collect();
    let mut present: Vec<usize> = Vec::new();
    // Flows of released coflows that start later: time and flow.
    let mut later: Vec<(f64, (usize, usize))> = Vec::new();
    let mut flows: Vec<Flow> = Vec::new();
    let first_of_sender: Vec<Vec<_>> = coflows
        .iter()
        .map(|c| c.flows.iter().map(|f| c.flows.iter().position(|g| g.src == f.src)).collect())
        .collect();
    let mut cluster = Cluster::of(workload, fabric.ports() as usize);
    let mut now = 0.0;
    let mut replan = false;
    while end.iter().any(|end| end.is_infinite()) {
        cluster.cancel_other_attempts(&mut flows, &mut later, &mut unfinished);
        replan |= end_flows(&mut flows, &mut unfinished, &mut present, &mut end, now);
        replan |= cluster.change(&mut flows, &mut later, &mut unfinished, (fabric, &release, now));
        replan |= end_flows(&mut flows, &mut unfinished, &mut present, &mut end, now);
        let may_begin = |trace_index: usize, end: &[f64]| {
            let parents = coflows[trace_index].parents.iter().map(|&parent| end[parent as usize]);
            parents.fold(coflows[trace_index].arrival_s, f64::max)
        };
        let mut beginning: Vec<usize> = (0..coflows.len())
            .filter(|&trace_index| release[trace_index].is_infinite())
            .filter(|&trace_index| may_begin(trace_index, &end) <= now + RESOLUTION_S)
            .collect();
        beginning.sort_by(|&a, &b| may_begin(a, &end).total_cmp(&may_begin(b, &end)));
        for trace_index in beginning {
            release[trace_index] = now;
            present.push(trace_index);
            let starts = coflows[trace_index].flows.iter().map(|flow| now + flow.start_s);
            later.extend(starts.enumerate().map(|(index, start)| (start, (trace_index, index))));
            replan = true;
        }
        // Flows that start at the same time are in the order of the trace.
        present.sort_by(|&a, &b| release[a].total_cmp(&release[b]).then(a.cmp(&b)));
        let before = flows.len();
        for (_, id) in later.extract_if(.., |(start, _)| *start <= now + RESOLUTION_S) {
            let flow = cluster.as_it_comes(id);
            flows.push(Flow { id, path: path(fabric, flow), left: flow.bytes });
            replan = true;
        }
        cluster.strand(&mut flows);
        if flows.len() > before {
            let turn = |trace_index| present.iter().position(|&p| p == trace_index);
            flows.sort_by_cached_key(|Flow { id: (trace_index, index), .. }| {
                (turn(*trace_index), first_of_sender[*trace_index][*index], *index)
            });
        }
        // Flows without bytes end at once.
        replan |= end_flows(&mut flows, &mut unfinished, &mut present, &mut end, now);

        let snapshot = Snapshot { flows: &flows, coflows: &present, capacity, replan };
        let rates = rule(&snapshot);
        replan = false;
        let releases = (0..coflows.len())
            .filter(|&trace_index| release[trace_index].is_infinite())
            .map(|trace_index| may_begin(trace_index, &end));
        let starts = later.iter().map(|(start, _)| *start);
        let ends = flows.iter().zip(&rates).map(|(flow, rate)| now + flow.left / rate);
        let next = releases
            .chain(starts)
            .chain(ends)
            .chain(cluster.next())
            .fold(f64::INFINITY, f64::min)
            .max(now);
        assert!(next.is_finite() || end.iter().all(|end| end.is_finite()), "stuck at {now}");
        for (flow, rate) in flows.iter_mut().zip(&rates) {
            flow.left -= rate * (next - now);
            if flow.left <= rate * RESOLUTION_S {
                flow.left = 0.0;
            }
        }
        now = next;
    }
    end.iter().zip(&release).map(|(end, release)| end - release).collect()
}

/// What happens to the cluster.
struct Cluster<'a> {
    workload: &'a Workload,
    /// The number of events that have happened.
    happened: usize,
    /// Ports that have failed.
    down: BTreeSet<usize>,
    waiting: Vec<Flow>,
    /// What flows are whose coflows are not there.
    fates: BTreeMap<(usize, usize), covey_trace::Flow>,
    /// Ports of the fabric.
    ports: usize,
}

impl<'a> Cluster<'a> {
    fn of(workload: &'a Workload, ports: usize) -> Cluster<'a> {
        let events = workload.events.iter();
        assert!(events.is_sorted_by(|a, b| a.at_s <= b.at_s), "events in the order of time");
        Cluster {
            workload,
            happened: 0,
            down: BTreeSet::new(),
            waiting: Vec::new(),
            fates: BTreeMap::new(),
            ports,
        }
    }

    /// A flow as it is when its coflow comes.
    fn as_it_comes(&self, id: (usize, usize)) -> covey_trace::Flow {
        let flow = self.workload.coflows[id.0].flows[id.1];
        self.fates.get(&id).copied().unwrap_or(flow)
    }

    fn next(&self) -> Option<f64> {
        self.workload.events.get(self.happened).map(|event| event.at_s)
    }

    /// Moves flows at ports that have failed to those that wait.
    fn strand(&mut self, flows: &mut Vec<Flow>) {
        let ports = self.ports;
        let down = &self.down;
        let is_down = |flow: &mut Flow| {
            let at = |&l: &usize| l < 2 * ports && down.contains(&(l % ports));
            flow.left > 0.0 && flow.path.iter().any(at)
        };
        self.waiting.extend(flows.extract_if(.., is_down));
    }

    /// Lets happen what happens by now. Returns whether flows have begun or returned.
    fn change(
        &mut self,
        flows: &mut Vec<Flow>,
        later: &mut Vec<(f64, (usize, usize))>,
        unfinished: &mut [usize],
        (fabric, release, now): (&Fabric, &[f64], f64),
    ) -> bool {
        let (mut replan, ports) = (false, self.ports);
        while let Some(event) = self.workload.events.get(self.happened)
            && event.at_s <= now + RESOLUTION_S
        {
            self.happened += 1;
            let id = event.what.flow().map(|of| (of.coflow as usize, of.flow as usize));
            let is_it = |flow: &&mut Flow| Some(flow.id) == id;
            let size = id.map(|id| self.workload.coflows[id.0].flows[id.1]);
            if let Some(id) = id.filter(|id| release[id.0].is_infinite()) {
                let mut fate = self.as_it_comes(id);
                match &event.what {
                    Happening::Cancel { .. } => fate.bytes = 0.0,
                    Happening::Move { src, dst, .. } => {
                        (fate.src, fate.dst) = (src.unwrap_or(fate.src), dst.unwrap_or(fate.dst));
                    }
                    _ => {}
                }
                self.fates.insert(id, fate);
                continue;
            }
            match &event.what {
                Happening::Fail { part: Part::Host(port), loses } => {
                    let is_new = self.down.insert(*port as usize);
                    let at =
                        |flow: &Flow| flow.path[..2].iter().any(|l| *l % ports == *port as usize);
                    if *loses && is_new {
                        for flow in
                            flows.iter_mut().chain(&mut self.waiting).filter(|flow| at(flow))
                        {
                            flow.left = self.workload.coflows[flow.id.0].flows[flow.id.1].bytes;
                        }
                    }
                }
                Happening::Return { part: Part::Host(port) } => {
                    self.down.remove(&(*port as usize));
                    flows.append(&mut self.waiting);
                    replan = true;
                }
                Happening::Restart { .. } => {
                    for flow in flows.iter_mut().chain(&mut self.waiting).filter(is_it) {
                        flow.left = size.expect("a flow").bytes;
                        replan = true;
                    }
                }
                Happening::Cancel { .. } => {
                    let all = [&mut *flows, &mut self.waiting];
                    let gone: usize = all
                        .into_iter()
                        .map(|of| of.extract_if(.., |it| Some(it.id) == id).count())
                        .sum();
                    let unstarted = later.extract_if(.., |(_, flow)| Some(*flow) == id).count();
                    unfinished[id.expect("a flow").0] -= gone + unstarted;
                }
                Happening::Move { src, dst, .. } => {
                    for flow in flows.iter_mut().chain(&mut self.waiting).filter(is_it) {
                        let was = size.expect("a flow");
                        let port = |link: usize| (link % ports) as u32;
                        let to = covey_trace::Flow {
                            src: src.unwrap_or(port(flow.path[0])),
                            dst: dst.unwrap_or(port(flow.path[1])),
                            ..was
                        };
                        (flow.path, flow.left) = (path(fabric, to), was.bytes);
                        replan = true;
                    }
                    flows.append(&mut self.waiting);
                }
                Happening::Fail { .. } | Happening::Return { .. } => unreachable!("hosts alone"),
            }
            self.strand(flows);
        }
        replan
    }

    /// Of flows that have nothing left, other attempts are not needed.
    fn cancel_other_attempts(
        &mut self,
        flows: &mut Vec<Flow>,
        later: &mut Vec<(f64, (usize, usize))>,
        unfinished: &mut [usize],
    ) {
        let ended: Vec<(usize, usize)> =
            flows.iter().filter(|flow| flow.left <= 0.0).map(|flow| flow.id).collect();
        for (coflow, flow) in ended {
            let mut attempts = Attempts::default();
            self.workload.coflows[coflow]
                .attempts
                .iter()
                .for_each(|it| attempts.add(it.flow, it.of));
            for other in attempts.others(flow as u32) {
                let id = (coflow, other as usize);
                let gone = flows.extract_if(.., |it| it.id == id && it.left > 0.0).count()
                    + self.waiting.extract_if(.., |it| it.id == id).count()
                    + later.extract_if(.., |(_, of)| *of == id).count();
                unfinished[coflow] -= gone;
            }
        }
    }
}

/// The links that a flow crosses.
fn path(fabric: &Fabric, flow: covey_trace::Flow) -> Vec<usize> {
    let (src, dst) = (PortId(flow.src), PortId(flow.dst));
    let mut path = vec![fabric.egress(src), fabric.ingress(dst)];
    fabric.inner_path(src, dst, 0, &mut path);
    path.into_iter().map(LinkId::index).collect()
}

/// Removes flows with nothing left, and coflows without flows. Returns whether a coflow has ended.
fn end_flows(
    flows: &mut Vec<Flow>,
    unfinished: &mut [usize],
    present: &mut Vec<usize>,
    end: &mut [f64],
    now: f64,
) -> bool {
    for flow in flows.extract_if(.., |flow| flow.left <= 0.0) {
        unfinished[flow.id.0] -= 1;
    }
    let ended: Vec<usize> =
        present.extract_if(.., |trace_index| unfinished[*trace_index] == 0).collect();
    ended.iter().for_each(|&trace_index| end[trace_index] = now);
    !ended.is_empty()
}

/// `free`, with residues of rounding replaced by zero.
fn usable(free: &[f64], capacity: &[f64]) -> Vec<f64> {
    let usable =
        |(&free, capacity): (&f64, &f64)| if free > capacity * NEGLIGIBLE { free } else { 0.0 };
    free.iter().zip(capacity).map(usable).collect()
}

/// Max-min among some flows: the link with the smallest share per flow fixes its flows, and so on.
fn max_min<'a>(flows: impl Iterator<Item = &'a Flow>, free: &[f64]) -> Vec<f64> {
    let ports = free.len() / 2;
    let paths: Vec<[usize; 2]> = flows.map(|flow| [flow.path[0], flow.path[1]]).collect();
    let mut free = free.to_vec();
    // Flows between two ports are alike.
    let mut alike = vec![0.0; ports * ports];
    let mut open = vec![0.0; 2 * ports];
    for [egress, ingress] in &paths {
        alike[egress * ports + ingress - ports] += 1.0;
        open[*egress] += 1.0;
        open[*ingress] += 1.0;
    }
    let mut rate = vec![0.0; ports * ports];
    loop {
        let share = |l: &usize| free[*l].max(0.0) / open[*l];
        let candidates = (0..2 * ports).filter(|&l| open[l] > 0.5);
        let Some(least) = candidates.min_by(|a, b| share(a).total_cmp(&share(b))) else { break };
        let level = share(&least);
        for other in 0..ports {
            let pair =
                if least < ports { least * ports + other } else { other * ports + least - ports };
            let fixed = std::mem::take(&mut alike[pair]);
            if fixed > 0.0 {
                rate[pair] = level;
                for link in [pair / ports, ports + pair % ports] {
                    free[link] -= fixed * level;
                    open[link] -= fixed;
                }
            }
        }
    }
    paths.iter().map(|[egress, ingress]| rate[egress * ports + ingress - ports]).collect()
}

/// One flow at a time takes all free capacity; flows that ran by the same rule before go first.
#[derive(Default)]
struct Walk {
    /// The running flows by coflow, in the order of service.
    running: BTreeMap<usize, Vec<(usize, usize)>>,
}

impl Walk {
    fn serve(&mut self, coflow: usize, flows: &[&Flow], mut free: Vec<f64>) -> Vec<f64> {
        let ran = self.running.remove(&coflow).unwrap_or_default();
        let mut order: Vec<usize> = (0..flows.len()).collect();
        let turn = |f: &usize| ran.iter().position(|id| *id == flows[*f].id).unwrap_or(ran.len());
        order.sort_by_key(turn);
        let mut rates = vec![0.0; flows.len()];
        let mut running = Vec::new();
        for f in order {
            rates[f] = free[flows[f].path[0]].min(free[flows[f].path[1]]);
            for &l in &flows[f].path {
                let rest = free[l] - rates[f];
                free[l] = if rest > rates[f] * NEGLIGIBLE { rest } else { 0.0 };
            }
            if rates[f] > 0.0 {
                running.push(flows[f].id);
            }
        }
        self.running.insert(coflow, running);
        rates
    }
}

/// All levels rise together. The rate of a flow is its level times its bytes left; the level stops
/// when one of its links is full.
fn proportional(flows: &[&Flow], mut free: Vec<f64>) -> Vec<f64> {
    let full: Vec<f64> = free.iter().map(|free| free * 1e-12).collect();
    let mut rates = vec![0.0; flows.len()];
    let mut open: Vec<usize> = (0..flows.len()).collect();
    loop {
        open.retain(|&f| flows[f].path.iter().all(|&l| free[l] > full[l]));
        let mut left = vec![0.0; free.len()];
        open.iter().for_each(|&f| flows[f].path.iter().for_each(|&l| left[l] += flows[f].left));
        let crossed = (0..free.len()).filter(|&l| left[l] > 0.0);
        let Some(step) = crossed.map(|l| free[l] / left[l]).min_by(f64::total_cmp) else {
            return rates;
        };
        for &f in &open {
            rates[f] += step * flows[f].left;
            flows[f].path.iter().for_each(|&l| free[l] -= step * flows[f].left);
        }
    }
}

/// Seconds that the flows alone need at the slowest link.
fn bottleneck_s(flows: &[&Flow], free: &[f64]) -> f64 {
    let mut left = vec![0.0; free.len()];
    flows.iter().for_each(|flow| flow.path.iter().for_each(|&l| left[l] += flow.left));
    let needed = left.iter().zip(free).filter(|(left, _)| **left > 0.0);
    needed.map(|(left, free)| left / free).fold(0.0, f64::max)
}

fn fair() -> Rule {
    Box::new(|snapshot| max_min(snapshot.flows.iter(), snapshot.capacity))
}

/// Divides each link in proportion to the original sizes of flows, in one pass.
fn by_size(workload: &Workload) -> Rule {
    let sizes: Vec<Vec<f64>> =
        workload.coflows.iter().map(|c| c.flows.iter().map(|f| f.bytes).collect()).collect();
    Box::new(move |snapshot| {
        let size = |flow: &Flow| sizes[flow.id.0][flow.id.1];
        let rate = |flow: &Flow| {
            let share = |&link: &usize| {
                let here = snapshot.flows.iter().filter(|other| other.path.contains(&link));
                snapshot.capacity[link] * size(flow) / here.map(size).sum::<f64>()
            };
            flow.path.iter().map(share).fold(f64::INFINITY, f64::min)
        };
        snapshot.flows.iter().map(rate).collect()
    })
}

/// Flows one by one in the order of their starts; each takes all free capacity.
fn one_by_one() -> Rule {
    let mut by_start = StartOrder::default();
    Box::new(move |snapshot| by_start.rates(snapshot, |_| 0.0))
}

/// Flows that have joined, in the order of their starts.
#[derive(Default)]
struct StartOrder(Vec<(usize, usize)>);

impl StartOrder {
    /// The rates if each flow, in the order of `key`, then of starts, takes all free capacity.
    fn rates(&mut self, snapshot: &Snapshot<'_>, key: impl Fn(&Flow) -> f64) -> Vec<f64> {
        let is_new = |flow: &&Flow| !self.0.contains(&flow.id);
        let mut new: Vec<_> = snapshot.flows.iter().filter(is_new).map(|flow| flow.id).collect();
        let turn = |trace_index| snapshot.coflows.iter().position(|&p| p == trace_index);
        new.sort_by_key(|&(trace_index, index)| (turn(trace_index), index));
        self.0.extend(new);
        let position = |flow: &Flow| self.0.iter().position(|&id| id == flow.id);
        let mut order: Vec<usize> = (0..snapshot.flows.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&snapshot.flows[a], &snapshot.flows[b]);
            key(a).total_cmp(&key(b)).then(position(a).cmp(&position(b)))
        });
        let mut free = snapshot.capacity.to_vec();
        let mut rates = vec![0.0; order.len()];
        for f in order {
            let path = &snapshot.flows[f].path;
            rates[f] = path.iter().map(|&l| free[l]).fold(f64::INFINITY, f64::min);
            path.iter().for_each(|&l| free[l] -= rates[f]);
            free = usable(&free, snapshot.capacity);
        }
        rates
    }
}

/// Flows one by one, shortest first, then in the order of their starts. Bytes left are updated only
/// for flows of coflows that an event can have affected; time alone does not matter elsewhere.
fn shortest_first(workload: &Workload, fabric: &Fabric) -> Rule {
    let links = |trace_index: usize| -> BTreeSet<usize> {
        workload.coflows[trace_index].flows.iter().flat_map(|&flow| path(fabric, flow)).collect()
    };
    let links: Vec<BTreeSet<usize>> = (0..workload.coflows.len()).map(links).collect();
    // Sets of links that coflows have connected, and the coflows of each.
    let mut domains: Vec<(BTreeSet<usize>, BTreeSet<usize>)> = Vec::new();
    let mut known: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let mut by_start = StartOrder::default();
    Box::new(move |snapshot| {
        let mut eventful: BTreeSet<usize> = BTreeSet::new();
        for &trace_index in snapshot.coflows {
            if domains.iter().all(|(_, coflows)| !coflows.contains(&trace_index)) {
                eventful.insert(trace_index);
                let mut joined = (links[trace_index].clone(), BTreeSet::from([trace_index]));
                // Others do not share links with each other.
                let own = &links[trace_index];
                for (links, coflows) in domains.extract_if(.., |(l, _)| !l.is_disjoint(own)) {
                    joined.0.extend(links);
                    joined.1.extend(coflows);
                }
                domains.push(joined);
            }
        }
        let now: BTreeMap<_, f64> = snapshot.flows.iter().map(|f| (f.id, f.left)).collect();
        let began = now.keys().filter(|id| !known.contains_key(id));
        let ended = known.keys().filter(|id| !now.contains_key(id));
        eventful.extend(began.chain(ended).map(|id| id.0));
        for (_, coflows) in &mut domains {
            if !coflows.is_disjoint(&eventful) {
                known.retain(|id, _| !coflows.contains(&id.0));
                let here = now.iter().filter(|(id, _)| coflows.contains(&id.0));
                known.extend(here.map(|(id, left)| (*id, *left)));
            }
            coflows.retain(|trace_index| snapshot.coflows.contains(trace_index));
        }
        domains.retain(|(_, coflows)| !coflows.is_empty());
        by_start.rates(snapshot, |flow| known[&flow.id])
    })
}

/// The rule by which a coflow's flows share free capacity.
type Share<'a> = &'a mut dyn FnMut(usize, &[&Flow], Vec<f64>) -> Vec<f64>;

/// Each coflow, in order, shares the capacity that those before it leave.
fn in_order(snapshot: &Snapshot<'_>, order: &[usize], share: Share<'_>) -> Vec<f64> {
    let mut rates = BTreeMap::new();
    let mut free = snapshot.capacity.to_vec();
    for &coflow in order {
        let flows: Vec<&Flow> = snapshot.flows.iter().filter(|f| f.id.0 == coflow).collect();
        let given = share(coflow, &flows, usable(&free, snapshot.capacity));
        for (flow, rate) in flows.iter().zip(given) {
            flow.path.iter().for_each(|&l| free[l] -= rate);
            rates.insert(flow.id, rate);
        }
    }
    snapshot.flows.iter().map(|flow| rates[&flow.id]).collect()
}

fn fifo_max_min() -> Rule {
    Box::new(|snapshot| {
        let mut share = |_, flows: &[&Flow], free: Vec<f64>| max_min(flows.iter().copied(), &free);
        in_order(snapshot, snapshot.coflows, &mut share)
    })
}

fn fifo_matching() -> Rule {
    let mut walk = Walk::default();
    Box::new(move |snapshot| {
        in_order(snapshot, snapshot.coflows, &mut |c, flows, free| walk.serve(c, flows, free))
    })
}

/// The coflows by effective bottleneck, re-ordered when flows begin or a coflow ends.
fn sebf(mut share: impl FnMut(&Snapshot<'_>, &[usize]) -> Vec<f64> + 'static) -> Rule {
    let mut order: Vec<usize> = Vec::new();
    Box::new(move |snapshot| {
        if snapshot.replan {
            let gamma = |coflow: &usize| {
                let flows: Vec<&Flow> =
                    snapshot.flows.iter().filter(|f| f.id.0 == *coflow).collect();
                bottleneck_s(&flows, snapshot.capacity)
            };
            order = snapshot.coflows.to_vec();
            order.sort_by(|a, b| gamma(a).total_cmp(&gamma(b)));
        }
        share(snapshot, &order)
    })
}

fn sebf_matching() -> Rule {
    let mut walk = Walk::default();
    sebf(move |snapshot, order| {
        in_order(snapshot, order, &mut |c, flows, free| walk.serve(c, flows, free))
    })
}

/// MADD in order; then each coflow, in the same order, shares its rates and the spare capacity.
fn sebf_madd() -> Rule {
    sebf(move |snapshot, order| {
        let mut madd = |_, flows: &[&Flow], free: Vec<f64>| {
            let gamma = bottleneck_s(flows, &free);
            flows.iter().map(|flow| flow.left / gamma).collect()
        };
        let mut rates = in_order(snapshot, order, &mut madd);
        let mut free = snapshot.capacity.to_vec();
        for (flow, rate) in snapshot.flows.iter().zip(&rates) {
            flow.path.iter().for_each(|&l| free[l] -= rate);
        }
        for &coflow in order {
            let mine: Vec<usize> =
                (0..rates.len()).filter(|&f| snapshot.flows[f].id.0 == coflow).collect();
            for &f in &mine {
                snapshot.flows[f].path.iter().for_each(|&l| free[l] += rates[f]);
            }
            let flows: Vec<&Flow> = mine.iter().map(|&f| &snapshot.flows[f]).collect();
            let given = proportional(&flows, usable(&free, snapshot.capacity));
            for (&f, rate) in mine.iter().zip(given) {
                snapshot.flows[f].path.iter().for_each(|&l| free[l] -= rate);
                rates[f] = rate;
            }
        }
        rates
    })
}

fn assert_same(workload: &Workload, fabric: &Fabric, spec: &str, rule: Rule) {
    let expected = simulate(workload, fabric, rule);
    let found = ccts(&run(workload, fabric, spec));
    let same = found.iter().zip(&expected).all(|(a, b)| same_time(*a, *b));
    assert!(
        same,
        "{spec} on {:?}\n{}found    {found:?}\nexpected {expected:?}",
        fabric.capacity(),
        as_trace(workload)
    );
}

/// Few flows on many ports, but many at one port of each side, at times to or from all others. So
/// rows of pairs of ports become spread, and become lists again.
fn on_many_ports() -> impl Strategy<Value = (Workload, Fabric)> {
    const PORTS: u32 = 24;
    let flow = |src: u32, dst: u32, bytes: f64| crate::common::flow(src, dst, bytes);
    let some = (0..PORTS, 0..PORTS, 0.5..9.0)
        .prop_map(move |(src, dst, bytes)| vec![flow(src, dst, bytes)]);
    let fan = (any::<bool>(), 0..PORTS, vec(0.1..2.0, 1..PORTS as usize)).prop_map(
        move |(is_out, first, sizes)| {
            let ends = |k: usize| (first + k as u32) % PORTS;
            let to = sizes.iter().enumerate().map(move |(k, &bytes)| match is_out {
                true => flow(0, ends(k), bytes),
                false => flow(ends(k), 1, bytes),
            });
            to.collect()
        },
    );
    let coflow = (0.0..20.0, vec(prop_oneof![3 => some, 1 => fan], 1..4));
    let alike = Just(vec![1.0; 2 * PORTS as usize]);
    let links = prop_oneof![alike, vec(0.5..3.0, 2 * PORTS as usize)];
    (vec(coflow, 1..8), links).prop_map(|(coflows, links)| {
        let coflows = coflows.into_iter().enumerate().map(|(trace_index, (arrival_s, flows))| {
            Coflow::new(trace_index.to_string(), arrival_s, flows.concat())
        });
        let (egress, ingress) = links.split_at(PORTS as usize);
        let workload = Workload::new(PORTS, coflows.collect());
        (workload, Fabric::big_switch_with(egress, ingress).unwrap())
    })
}

proptest! {
    #![proptest_config(crate::common::cases(100))]

    #[test]
    fn all_flows_together_are_served_by_the_same_rules_on_many_ports(
        (workload, fabric) in on_many_ports(),
    ) {
        assert_same(&workload, &fabric, "fair", fair());
        assert_same(&workload, &fabric, "wss", by_size(&workload));
        assert_same(&workload, &fabric, "fifo-flow", one_by_one());
        assert_same(&workload, &fabric, "pfp", shortest_first(&workload, &fabric));
    }
}

proptest! {
    #![proptest_config(crate::common::cases(1000))]

    #[test]
    fn fair_is_max_min_over_all_flows(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        assert_same(&workload, &fabric, "fair", fair());
    }

    #[test]
    fn fifo_flow_serves_flows_one_by_one_as_they_start(
        workload in crate::common::workload(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        assert_same(&workload, &fabric, "fifo-flow", one_by_one());
    }

    #[test]
    fn pfp_serves_flows_one_by_one_shortest_first(
        workload in crate::common::workload(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        let rule = shortest_first(&workload, &fabric);
        assert_same(&workload, &fabric, "pfp", rule);
    }

    #[test]
    fn flows_are_served_one_by_one_on_paths_with_inner_links(
        workload in crate::common::workload(Kind::Generic),
        fabric in crate::common::fabric_with_inner_links(),
    ) {
        assert_same(&workload, &fabric, "fifo-flow", one_by_one());
        assert_same(&workload, &fabric, "pfp", shortest_first(&workload, &fabric));
    }

    #[test]
    fn wss_divides_inner_links_by_size_too(
        workload in crate::common::workload(Kind::Ties),
        fabric in crate::common::fabric_with_inner_links(),
    ) {
        assert_same(&workload, &fabric, "wss", by_size(&workload));
    }

    #[test]
    fn wss_divides_each_link_by_size(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        assert_same(&workload, &fabric, "wss", by_size(&workload));
    }

    #[test]
    fn fifo_gives_each_coflow_max_min_on_what_is_left(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        assert_same(&workload, &fabric, "fifo", fifo_max_min());
    }

    #[test]
    fn fifo_with_matching_lets_one_flow_take_all(
        workload in crate::common::workload(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        assert_same(&workload, &fabric, "fifo:share=matching", fifo_matching());
    }

    #[test]
    fn sebf_is_madd_in_order_of_bottleneck_and_backfill(
        workload in crate::common::workload(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        assert_same(&workload, &fabric, "sebf", sebf_madd());
    }

    #[test]
    fn sebf_with_matching_lets_one_flow_take_all(
        workload in crate::common::workload(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        assert_same(&workload, &fabric, "sebf:share=matching", sebf_matching());
    }
}

/// Random histories in the order of time, without flows that start later: with those, the order of
/// starts is another after an event.
fn history(kind: Kind) -> impl Strategy<Value = Workload> {
    covey_conformance::workload_with_events(kind).prop_map(|mut workload| {
        for coflow in &mut workload.coflows {
            coflow.flows.iter_mut().for_each(|flow| flow.start_s = 0.0);
        }
        workload.events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        workload
    })
}

proptest! {
    #![proptest_config(crate::common::cases(400))]

    #[test]
    fn histories_of_a_cluster_are_those_of_the_slow_simulator(
        workload in history(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        assert_same(&workload, &fabric, "fair", fair());
        assert_same(&workload, &fabric, "wss", by_size(&workload));
        assert_same(&workload, &fabric, "fifo", fifo_max_min());
    }
}

#[facebook_test]
fn fair_on_the_first_hundred_coflows_of_the_facebook_trace() {
    let workload = facebook(100);
    let fabric = Fabric::big_switch(150, 125e6).unwrap();
    let expected = simulate(&workload, &fabric, fair());
    let found = ccts(&run(&workload, &fabric, "fair"));
    for (trace_index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let off = (found - expected).abs() / expected;
        assert!(off < 1e-9, "coflow {trace_index}: {found} s, expected {expected} s");
    }
}
