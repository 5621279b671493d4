//! The definition of every sharing rule and of every way in which entries follow each other,
//! without regard for speed.
//!
//! [`rates`] computes what a plan means: it goes from entry to entry and from flow to flow, and
//! keeps nothing. An [`Allocator`](crate::Allocator) must decide the same, but for rounding; all
//! tests of allocators compare with this module. Links are numbers, rates and capacities bytes per
//! second.
//!
//! ```
//! use covey_alloc::reference::{Flow, Running, rates};
//! use covey_core::{CoflowId, FlowId, Group, NonClairvoyant, Plan, Share};
//!
//! // Three ports, with egress links 0 to 2 and ingress links 3 to 5. Coflow 0 sends 0→1 and 0→2,
//! // coflow 1 sends 1→2.
//! let flow = |coflow, index, path: [usize; 2]| Flow {
//!     id: FlowId { coflow: CoflowId(coflow), index },
//!     path: path.to_vec(),
//!     size: 1.0,
//!     left: 1.0,
//! };
//! let flows = [flow(0, 0, [0, 4]), flow(0, 1, [0, 5]), flow(1, 0, [1, 5])];
//! let mut plan = Plan::<NonClairvoyant>::default();
//! plan.push(Group::Coflow(CoflowId(0)), Share::MAX_MIN);
//! plan.push(Group::Coflow(CoflowId(1)), Share::MAX_MIN);
//! let found = rates(&flows, &[1.0; 6], plan.ranking(), &mut Running::default());
//! assert_eq!(found, Some(vec![0.5, 0.5, 0.5]));
//! ```
//!
//! The cost of a call is about entries × flows × links of a path × links that fill.

use std::cmp::Reverse;

use covey_core::{
    Backfill, CoflowId, Entry, FlowId, Group, Layers, LinkId, Ranking, Rule, TenantPlan,
};

/// A flow as the definitions see it.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its name.
    pub id: FlowId,
    /// The links that it crosses: the sender's egress link, the receiver's ingress link, then
    /// others.
    pub path: Vec<usize>,
    /// Bytes in all.
    pub size: f64,
    /// Bytes left.
    pub left: f64,
}

/// Part of a link's capacity that counts as zero, because rounding leaves such residues.
const NEGLIGIBLE: f64 = 1e-9;

/// The flows that run by matching, in the order of service.
#[derive(Debug, Clone, Default)]
pub struct Running {
    matched: Vec<(CoflowId, Vec<FlowId>)>,
    /// The flows that run by matching under provisional shares, before backfill.
    provisional: Vec<(CoflowId, Vec<FlowId>)>,
}

impl Running {
    /// A coflow has left: its id may be that of another one.
    pub fn forget(&mut self, coflow: CoflowId) {
        self.matched.retain(|(id, _)| *id != coflow);
        self.provisional.retain(|(id, _)| *id != coflow);
    }
}

/// Rates of flows, in their order, if `running` are the flows that ran by matching before;
/// afterwards it has those that run now. It counts under strict layers only. Flows are in the order
/// of greedy rules: coflow by coflow, sender by sender. `None` if an explicit rate does not fit, or
/// if ports divide links among other groups than whole coflows.
pub fn rates(
    flows: &[Flow],
    capacity: &[f64],
    ranking: &Ranking,
    running: &mut Running,
) -> Option<Vec<f64>> {
    rates_of(flows.to_vec(), capacity, ranking, running)
}

/// Like [`rates`], for flows whose coflows belong to tenants: `tenant` is the number of a coflow's
/// tenant, an index of `plans` and `running`.
pub fn rates_by_tenant(
    flows: &[Flow],
    capacity: &[f64],
    plans: &[TenantPlan],
    tenant: impl Fn(CoflowId) -> usize,
    running: &mut Vec<Running>,
) -> Option<Vec<f64>> {
    running.resize_with(plans.len(), Running::default);
    let of = |k: usize| {
        (0..flows.len()).filter(|&f| tenant(flows[f].id.coflow) == k).collect::<Vec<usize>>()
    };
    let used = |rates: &[f64], by: &[usize]| {
        let mut used = vec![0.0; capacity.len()];
        for &f in by {
            flows[f].path.iter().for_each(|&l| used[l] += rates[f]);
        }
        used
    };
    let all: Vec<usize> = (0..flows.len()).collect();
    let mut rates = vec![0.0; flows.len()];
    for _ in 0..4 * plans.len() {
        let now = used(&rates, &all);
        let has_spare = |l: usize| capacity[l] - now[l] > capacity[l] * NEGLIGIBLE;
        let able = |f: &usize| flows[*f].path.iter().all(|&l| has_spare(l));
        let wants =
            |k: usize, l: usize| of(k).iter().any(|f| able(f) && flows[*f].path.contains(&l));
        let wanted: Vec<Vec<bool>> =
            (0..plans.len()).map(|k| (0..capacity.len()).map(|l| wants(k, l)).collect()).collect();
        if !wanted.iter().flatten().any(|wants| *wants) {
            break;
        }
        for (k, plan) in plans.iter().enumerate().filter(|(k, _)| wanted[*k].contains(&true)) {
            let (mine, others) = (used(&rates, &of(k)), used(&rates, &all));
            let weight = |j: usize, l: usize| if wanted[j][l] { plans[j].weight } else { 0.0 };
            let offered = (0..capacity.len()).map(|l| {
                let sum: f64 = (k..plans.len()).map(|j| weight(j, l)).sum();
                let part = if sum > 0.0 { weight(k, l) / sum } else { 1.0 };
                mine[l] + ((capacity[l] - others[l]) * part).max(0.0)
            });
            let offered: Vec<f64> = offered.collect();
            let own = of(k).iter().map(|&f| flows[f].clone()).collect();
            let new = rates_of(own, &offered, &plan.ranking, &mut running[k])?;
            of(k).iter().zip(new).for_each(|(&f, new)| rates[f] = new);
        }
    }
    Some(rates)
}

/// Rates of these flows alone, on links of these capacities.
fn rates_of(
    flows: Vec<Flow>,
    capacity: &[f64],
    ranking: &Ranking,
    running: &mut Running,
) -> Option<Vec<f64>> {
    let before = std::mem::take(running);
    let mut table = Table { flows, rates: Vec::new(), capacity: capacity.to_vec() };
    table.rates.resize(table.flows.len(), 0.0);
    let mut spare = capacity.to_vec();
    // The rates that each entry gives to every flow.
    let mut by_entry: Vec<(&Entry, Vec<f64>)> = Vec::new();
    let backfills = ranking.backfill != Backfill::None && ranking.layers != Layers::PerPort;
    match ranking.layers {
        Layers::Strict => {
            for (_, entry) in ranking.entries.iter() {
                let ran = if backfills { &before.provisional } else { &before.matched };
                let members = table.in_turn(entry, entry.rule, ran);
                let rates = table.rates.clone();
                table.serve(&members, entry.rule, &mut spare)?;
                let list = if backfills { &mut running.provisional } else { &mut running.matched };
                table.note(entry, entry.rule, &members, &rates, list);
                by_entry.push((entry, table.given_since(&rates)));
            }
        }
        Layers::Weighted => {
            for (layer, _) in ranking.weights.iter().enumerate() {
                let mut free: Vec<f64> = (0..capacity.len())
                    .map(|link| table.share_of_layer(ranking, layer, link) * spare[link])
                    .collect();
                let kept: Vec<f64> = spare.iter().zip(&free).map(|(s, free)| s - free).collect();
                for (_, entry) in ranking.entries.iter().filter(|(_, e)| e.layer as usize == layer)
                {
                    let rates = table.rates.clone();
                    table.serve(&table.members(entry.group), entry.rule, &mut free)?;
                    by_entry.push((entry, table.given_since(&rates)));
                }
                spare = kept.iter().zip(&free).map(|(kept, free)| kept + free).collect();
            }
        }
        Layers::Classes => {
            let mut is_served = vec![false; table.flows.len()];
            for layer in 0..ranking.weights.len() {
                let mut class = Vec::new();
                for (_, entry) in ranking.entries.iter() {
                    let new = table.members(entry.group).into_iter().filter(|&f| !is_served[f]);
                    let new: Vec<usize> = new.collect();
                    // A flow that another layer names first is not in this one.
                    new.iter().for_each(|&f| is_served[f] |= entry.layer as usize <= layer);
                    if entry.layer as usize == layer {
                        class.extend(new);
                    }
                }
                table.serve(&class, Rule::MaxMin, &mut spare)?;
            }
        }
        Layers::PerPort => {
            for (_, entry) in ranking.entries.iter() {
                let Group::Coflow(id) = entry.group else { return None };
                let mut free: Vec<f64> = (0..capacity.len())
                    .map(|link| {
                        let all = ranking.link_shares.of(LinkId(link as u32));
                        let mine = all.filter(|(coflow, _)| *coflow == id);
                        mine.map(|(_, share)| share).sum::<f64>() * capacity[link]
                    })
                    .collect();
                let (rates, found) = (table.rates.clone(), free.clone());
                table.serve(&table.members(entry.group), entry.rule, &mut free)?;
                by_entry.push((entry, table.given_since(&rates)));
                for ((spare, found), free) in spare.iter_mut().zip(&found).zip(&free) {
                    *spare -= found - free;
                }
            }
            for (entry, given) in by_entry.drain(..) {
                table.take_back(&given, &mut spare);
                table.serve(&table.members(entry.group), entry.rule, &mut spare)?;
            }
        }
    }
    if backfills {
        for (entry, given) in by_entry {
            table.backfill(entry, &given, ranking.backfill, &mut spare, &before, running)?;
        }
    }
    Some(table.rates)
}

/// Flows with the rates that they have so far, and the capacity of all links.
struct Table {
    flows: Vec<Flow>,
    rates: Vec<f64>,
    capacity: Vec<f64>,
}

impl Table {
    /// The flows of a group.
    fn members(&self, group: Group) -> Vec<usize> {
        let is_member = |flow: &Flow| match group {
            Group::AllFlows => true,
            Group::Coflow(id) => flow.id.coflow == id,
            Group::CoflowAt(id, link) => flow.id.coflow == id && flow.path.contains(&link.index()),
            Group::Flow(id) => flow.id == id,
        };
        (0..self.flows.len()).filter(|&f| is_member(&self.flows[f])).collect()
    }

    /// The flows of an entry. Those that ran by matching before come first.
    fn in_turn(&self, entry: &Entry, rule: Rule, ran: &[(CoflowId, Vec<FlowId>)]) -> Vec<usize> {
        let mut members = self.members(entry.group);
        let ran =
            ran.iter().find(|(id, _)| entry.group == Group::Coflow(*id) && rule == Rule::Matching);
        if let Some((.., ran)) = ran {
            // Stable: the others stay in order.
            let turn = |&f: &usize| ran.iter().position(|id| *id == self.flows[f].id);
            members.sort_by_key(|f| turn(f).unwrap_or(ran.len()));
        }
        members
    }

    /// Records the flows that run by matching. `rates` are the rates before it.
    fn note(
        &self,
        entry: &Entry,
        rule: Rule,
        members: &[usize],
        rates: &[f64],
        list: &mut Vec<(CoflowId, Vec<FlowId>)>,
    ) {
        if let (Group::Coflow(id), Rule::Matching) = (entry.group, rule) {
            let runs = |f: &usize| self.rates[*f] > rates[*f] + NEGLIGIBLE;
            let runs = members.iter().copied().filter(runs).map(|f| self.flows[f].id);
            list.push((id, runs.collect()));
        }
    }

    /// The increase of the flows' rates since `rates`.
    fn given_since(&self, rates: &[f64]) -> Vec<f64> {
        self.rates.iter().zip(rates).map(|(now, before)| now - before).collect()
    }

    /// Withdraws rates.
    fn take_back(&mut self, given: &[f64], spare: &mut [f64]) {
        for ((rate, given), flow) in self.rates.iter_mut().zip(given).zip(&self.flows) {
            *rate -= given;
            flow.path.iter().for_each(|&l| spare[l] += given);
        }
    }

    /// A coflow shares again its rates `given`, and the spare capacity if backfill applies to it.
    fn backfill(
        &mut self,
        entry: &Entry,
        given: &[f64],
        backfill: Backfill,
        spare: &mut [f64],
        before: &Running,
        running: &mut Running,
    ) -> Option<()> {
        if !matches!(entry.group, Group::Coflow(_)) {
            return Some(());
        }
        let was_served = given.iter().any(|rate| *rate > 0.0);
        let rule = match entry.rule {
            _ if was_served && backfill == Backfill::Skipped => return Some(()),
            Rule::Hold | Rule::Rate(_) => return Some(()),
            Rule::Matching | Rule::MatchingByLoad if was_served => return Some(()),
            Rule::Madd | Rule::MaddWithin(_) => Rule::Proportional,
            Rule::AllOrNone if !was_served => Rule::Matching,
            Rule::AllOrNone | Rule::Equal => Rule::MaxMin,
            Rule::MaxMin
            | Rule::Proportional
            | Rule::Matching
            | Rule::MatchingByLoad
            | Rule::BySize
            | Rule::OldestFirst
            | Rule::ShortestFirst => entry.rule,
        };
        self.take_back(given, spare);
        let members = self.in_turn(entry, rule, &before.matched);
        let rates = self.rates.clone();
        self.serve(&members, rule, spare)?;
        self.note(entry, rule, &members, &rates, &mut running.matched);
        Some(())
    }

    /// The part of a link's remaining capacity that a weighted layer gets: its weight over the sum
    /// of weights, of itself and the later layers with flows there.
    fn share_of_layer(&self, ranking: &Ranking, layer: usize, link: usize) -> f64 {
        let weight_here = |layer: usize| {
            let mut entries =
                ranking.entries.iter().map(|(_, e)| e).filter(|e| e.layer as usize == layer);
            let here = entries
                .any(|e| self.members(e.group).iter().any(|&f| self.flows[f].path.contains(&link)));
            if here { ranking.weights[layer] } else { 0.0 }
        };
        let all: f64 = (layer..ranking.weights.len()).map(weight_here).sum();
        if all > 0.0 { weight_here(layer) / all } else { 0.0 }
    }

    /// Shares the free capacity among some flows.
    fn serve(&mut self, members: &[usize], rule: Rule, free: &mut [f64]) -> Option<()> {
        let mut local = free.to_vec();
        for (free, capacity) in local.iter_mut().zip(&self.capacity) {
            if *free <= capacity * NEGLIGIBLE {
                *free = 0.0;
            }
        }
        let flows: Vec<&Flow> = members.iter().map(|&f| &self.flows[f]).collect();
        let given = match rule {
            Rule::MaxMin => max_min(&flows, &vec![1.0; flows.len()], &mut local),
            Rule::Proportional => {
                let left: Vec<f64> = flows.iter().map(|flow| flow.left).collect();
                max_min(&flows, &left, &mut local)
            }
            Rule::Equal => equal(&flows, &local),
            Rule::AllOrNone => all_or_none(&flows, &local),
            Rule::Matching => serve_in_order(&flows, &mut local),
            Rule::MatchingByLoad => most_loaded_first(&flows, &mut local),
            Rule::BySize => by_size(&flows, &local),
            Rule::OldestFirst | Rule::ShortestFirst => {
                let mut order: Vec<usize> = (0..flows.len()).collect();
                if rule == Rule::ShortestFirst {
                    order.sort_by(|&a, &b| flows[a].left.total_cmp(&flows[b].left));
                }
                let ordered: Vec<&Flow> = order.iter().map(|&f| flows[f]).collect();
                let taken = serve_in_order(&ordered, &mut local);
                let position = |f| order.iter().position(|&g| g == f);
                (0..flows.len()).map(|f| position(f).map_or(0.0, |p| taken[p])).collect()
            }
            Rule::Madd => madd(&flows, &local),
            Rule::MaddWithin(seconds) => {
                let rates = madd(&flows, &local);
                rates.iter().zip(&flows).map(|(rate, f)| rate.min(f.left / seconds)).collect()
            }
            Rule::Rate(rate) => explicit(&flows, rate, local, &self.capacity)?,
            Rule::Hold => vec![0.0; flows.len()],
        };
        for (flow, rate) in flows.iter().zip(&given) {
            flow.path.iter().for_each(|&l| free[l] -= rate);
        }
        for (&f, rate) in members.iter().zip(&given) {
            self.rates[f] += rate;
        }
        Some(())
    }
}

/// All rates grow together, in proportion to weights; a flow stops when a link on its path is full.
fn max_min(flows: &[&Flow], weights: &[f64], free: &mut [f64]) -> Vec<f64> {
    let full: Vec<f64> = free.iter().map(|free| free * 1e-12).collect();
    let mut rates = vec![0.0; flows.len()];
    let mut open: Vec<usize> = (0..flows.len()).collect();
    loop {
        open.retain(|&f| flows[f].path.iter().all(|&l| free[l] > full[l]));
        let mut sums = vec![0.0; free.len()];
        for &f in &open {
            flows[f].path.iter().for_each(|&l| sums[l] += weights[f]);
        }
        let shares = (0..free.len()).filter(|&l| sums[l] > 0.0);
        let Some(step) = shares.map(|l| free[l] / sums[l]).min_by(|a, b| a.total_cmp(b)) else {
            return rates;
        };
        for &f in &open {
            rates[f] += step * weights[f];
            flows[f].path.iter().for_each(|&l| free[l] -= step * weights[f]);
        }
    }
}

/// Each flow gets the minimum, over its links, of the free capacity divided by the number of flows
/// there that can send.
fn equal(flows: &[&Flow], free: &[f64]) -> Vec<f64> {
    let can_send = |flow: &Flow| flow.path.iter().all(|&l| free[l] > 0.0);
    let there = |l: usize| flows.iter().filter(|f| can_send(f) && f.path.contains(&l)).count();
    let share = |l: usize| free[l] / there(l) as f64;
    let rate = |flow: &Flow| flow.path.iter().map(|&l| share(l)).fold(f64::INFINITY, f64::min);
    flows.iter().map(|f| if can_send(f) { rate(f) } else { 0.0 }).collect()
}

/// Each flow gets the minimum, over its links, of the free capacity in proportion to its size.
fn by_size(flows: &[&Flow], free: &[f64]) -> Vec<f64> {
    let there =
        |l: usize| flows.iter().filter(|f| f.path.contains(&l)).map(|f| f.size).sum::<f64>();
    let rate = |flow: &Flow| {
        let parts = flow.path.iter().map(|&l| free[l] * flow.size / there(l));
        parts.fold(f64::INFINITY, f64::min)
    };
    flows.iter().map(|f| rate(f)).collect()
}

/// The rate of the slowest flow under max-min fairness, for all.
fn all_or_none(flows: &[&Flow], free: &[f64]) -> Vec<f64> {
    let slowest = max_min(flows, &vec![1.0; flows.len()], &mut free.to_vec())
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    vec![slowest; flows.len()]
}

/// One flow after another takes all free capacity on its path.
fn serve_in_order(flows: &[&Flow], free: &mut [f64]) -> Vec<f64> {
    let mut take = |flow: &&Flow| {
        let rate = flow.path.iter().map(|&l| free[l]).fold(f64::INFINITY, f64::min);
        flow.path.iter().for_each(|&l| free[l] -= rate);
        rate
    };
    flows.iter().map(&mut take).collect()
}

/// Like [`serve_in_order`], for the flows of a whole coflow, by the number of flows at their
/// senders, then at their receivers, most first. Ties are broken by first flow.
fn most_loaded_first(flows: &[&Flow], free: &mut [f64]) -> Vec<f64> {
    let at = |end: usize, f: &&Flow| -> (Reverse<usize>, Option<u32>) {
        let there = flows.iter().filter(|other| other.path[end] == f.path[end]);
        let first = there.clone().map(|other| other.id.index).min();
        (Reverse(there.count()), first)
    };
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by_key(|&f| (at(0, &flows[f]), at(1, &flows[f]), flows[f].id.index));
    let sorted: Vec<&Flow> = order.iter().map(|&f| flows[f]).collect();
    let mut rates = vec![0.0; flows.len()];
    for (f, rate) in order.into_iter().zip(serve_in_order(&sorted, free)) {
        rates[f] = rate;
    }
    rates
}

/// All flows end together, when the slowest link has carried its bytes.
fn madd(flows: &[&Flow], free: &[f64]) -> Vec<f64> {
    let left_at =
        |l: usize| -> f64 { flows.iter().filter(|f| f.path.contains(&l)).map(|f| f.left).sum() };
    let gamma = (0..free.len())
        .filter(|&l| left_at(l) > 0.0)
        .map(|l| left_at(l) / free[l])
        .fold(0.0, f64::max);
    flows.iter().map(|flow| if gamma > 0.0 { flow.left / gamma } else { 0.0 }).collect()
}

/// The requested rate, if it fits.
fn explicit(flows: &[&Flow], rate: f64, mut free: Vec<f64>, capacity: &[f64]) -> Option<Vec<f64>> {
    for flow in flows {
        for &l in &flow.path {
            if rate > free[l] + capacity[l] * NEGLIGIBLE {
                return None;
            }
            free[l] = (free[l] - rate).max(0.0);
        }
    }
    Some(vec![rate; flows.len()])
}
