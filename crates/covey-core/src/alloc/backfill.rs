//! Greedy backfill: what no entry has taken is offered once more to all coflows in the plan's order,
//! flow by flow, and each takes all that is left on its links.
//!
//! Within a coflow, flows that ran on leftovers before go first, then sender by sender in order of
//! first flow and within a sender in order of registration, as in [`matching`](super::matching).
//! Leftovers move a little with almost every event, so all of it is handed out anew each time, over
//! one array for all links; what is left over is soon so little that the walk ends early.

use super::Single;
use crate::demand::{Demand, bits};

/// A flow that runs on leftovers.
#[derive(Debug, Clone, Copy)]
struct Filled {
    position: u32,
    /// Egress and ingress link.
    ends: [u32; 2],
    rate: f64,
}

/// What backfill gives to a coflow.
#[derive(Debug, Default)]
pub(super) struct Fill {
    flows: Vec<Filled>,
    /// Bytes per second of the whole coflow.
    pub rate: f64,
    /// Whether flows may have ended since the last offer.
    pub touched: bool,
    /// Walk over the plan in which this was last confirmed.
    pub walk: u64,
}

impl Fill {
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub fn clear(&mut self) {
        self.flows.clear();
        self.rate = 0.0;
    }

    pub fn singles(&self) -> impl Iterator<Item = Single> + '_ {
        self.flows.iter().map(|flow| Single { position: flow.position, rate: flow.rate })
    }
}

/// Sets of links, a bit each: egress links, ingress links.
#[derive(Debug, Default)]
struct Ends([Vec<u64>; 2]);

/// Capacity that is left over at each link, and working memory.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    /// What the entries leave, and where that is anything.
    rest: Vec<f64>,
    any_rest: Ends,
    /// What is still left of it, and where that is anything.
    free: Vec<f64>,
    any: Ends,
    /// What counts as nothing at each link.
    negligible: Vec<f64>,
    /// Local senders and receivers of the coflow at hand where anything is left, a bit each.
    senders: Vec<u64>,
    receivers: Vec<u64>,
}

impl Ends {
    fn set(&mut self, link: usize, ports: usize, value: bool) {
        // Links inside the fabric count as neither.
        if let Some(set) = self.0.get_mut(link / ports) {
            set[link / 64] &= !(1 << (link % 64));
            set[link / 64] |= u64::from(value) << (link % 64);
        }
    }
}

impl Leftovers {
    /// All of `capacity` is left at each link.
    pub fn reset(&mut self, capacity: &[f64]) {
        self.negligible.clear();
        self.negligible.extend(capacity.iter().map(|capacity| capacity * super::NEGLIGIBLE));
        self.rest.clear();
        self.rest.resize(capacity.len(), 0.0);
        for set in &mut self.any_rest.0 {
            set.clear();
            set.resize(capacity.len().div_ceil(64), 0);
        }
    }

    /// The entries leave `rest` at a link.
    pub fn set_rest(&mut self, link: usize, ports: usize, rest: f64) {
        // A residue of rounding must not keep a flow running.
        let rest = if rest > self.negligible[link] { rest } else { 0.0 };
        self.rest[link] = rest;
        self.any_rest.set(link, ports, rest > 0.0);
    }

    /// Nothing is taken yet of what the entries leave.
    pub fn start(&mut self) {
        self.free.clone_from(&self.rest);
        for (any, rest) in self.any.0.iter_mut().zip(&self.any_rest.0) {
            any.clone_from(rest);
        }
    }

    /// Offers what is left to the active flows of a coflow. Returns whether any rate changed.
    pub fn offer(&mut self, demand: &Demand, fill: &mut Fill) -> bool {
        let mut changed = false;
        let mut total = 0.0;
        if std::mem::take(&mut fill.touched) {
            let before = fill.flows.len();
            fill.flows.retain(|flow| demand.is_active(flow.position as usize));
            changed = fill.flows.len() < before;
        }
        fill.flows.retain_mut(|flow| {
            let rate = self.take(demand, flow.position as usize, flow.ends);
            changed |= rate != flow.rate;
            flow.rate = rate;
            total += rate;
            rate > 0.0
        });
        let kept = fill.flows.len();
        self.find_more(demand, &mut fill.flows);
        total += fill.flows[kept..].iter().map(|flow| flow.rate).sum::<f64>();
        fill.rate = total;
        changed || fill.flows.len() > kept
    }

    /// Lets flows that do not run yet take what is left.
    fn find_more(&mut self, demand: &Demand, flows: &mut Vec<Filled>) {
        if self.any.0.iter().any(|set| common(demand, set).next().is_none()) {
            return;
        }
        let senders = demand.senders();
        self.senders.clear();
        self.senders.resize(senders.div_ceil(64), 0);
        common(demand, &self.any.0[0]).for_each(|s| self.senders[s / 64] |= 1 << (s % 64));
        self.receivers.clear();
        self.receivers.resize(demand.receivers().div_ceil(64), 0);
        let receivers = common(demand, &self.any.0[1]).map(|l| l - senders);
        receivers.for_each(|r| self.receivers[r / 64] |= 1 << (r % 64));
        for w in 0..self.senders.len() {
            let mut word = self.senders[w];
            while word != 0 {
                let sender = w * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                let row = demand.row_bits(sender);
                let meets = |(flows, receivers): (&u64, &u64)| flows & receivers != 0;
                if demand.is_regular(sender) && !row.iter().zip(&self.receivers).any(meets) {
                    continue;
                }
                self.offer_to_sender(demand, sender, flows);
                if self.receivers.iter().all(|receivers| *receivers == 0) {
                    return;
                }
            }
        }
    }

    /// Lets the flows of one sender take what is left.
    fn offer_to_sender(&mut self, demand: &Demand, sender: usize, flows: &mut Vec<Filled>) {
        let senders = demand.senders();
        let row = demand.row(sender);
        let egress = demand.links()[sender].index();
        for (w, &active) in demand.row_bits(sender).iter().enumerate() {
            let regular = demand.is_regular(sender);
            let mut candidates = if regular { active & self.receivers[w] } else { active };
            while candidates != 0 {
                if self.free[egress] == 0.0 {
                    return;
                }
                let position = row.start + w * 64 + candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                let receiver = demand.receiver_of(position);
                let ingress = demand.links()[receiver].index();
                let ends = [egress as u32, ingress as u32];
                let rate = self.take(demand, position, ends);
                if rate > 0.0 {
                    flows.push(Filled { position: position as u32, ends, rate });
                }
                if self.free[ingress] == 0.0 {
                    let k = receiver - senders;
                    self.receivers[k / 64] &= !(1 << (k % 64));
                }
            }
        }
    }

    /// Gives a flow all that is left on its links.
    fn take(&mut self, demand: &Demand, position: usize, ends: [u32; 2]) -> f64 {
        let [egress, ingress] = ends.map(|link| link as usize);
        if demand.is_bipartite() {
            let (at_sender, at_receiver) = (self.free[egress], self.free[ingress]);
            let rate = if at_sender < at_receiver { at_sender } else { at_receiver };
            if rate > 0.0 {
                self.spend(egress, Some(0), rate);
                self.spend(ingress, Some(1), rate);
            }
            return rate;
        }
        let links = demand.path(position).map(|l| demand.links()[l].index());
        let rate = links.clone().map(|link| self.free[link]).fold(f64::INFINITY, f64::min);
        for link in links {
            let end = [egress, ingress].iter().position(|&end| end == link);
            self.spend(link, end, rate);
        }
        rate
    }

    /// Takes `rate` from what is left at a link, which is at the given end of its flows.
    fn spend(&mut self, link: usize, end: Option<usize>, rate: f64) {
        let rest = self.free[link] - rate;
        if rest > self.negligible[link] {
            self.free[link] = rest;
            return;
        }
        self.free[link] = 0.0;
        if let Some(end) = end {
            self.any.0[end][link / 64] &= !(1 << (link % 64));
        }
    }
}

/// Local numbers of a coflow's links that are in a set of links.
fn common<'a>(demand: &'a Demand, set: &'a [u64]) -> impl Iterator<Item = usize> + 'a {
    let words = demand.link_bits().iter().zip(set).map(|(links, set)| links & set);
    bits(words).map(|link| demand.local(link))
}
