//! The flows of a coflow that run by matching, and those that can begin.

use super::decision::Decision;
use crate::flow_rate::FlowRate;
use crate::rules::most_loaded_first::MostLoadedFirst;
use covey_core::Demand;
use covey_core::sets::bits::{has_bit, set_bit};
use covey_core::sets::marked_links::MarkedLinks;

/// A running flow.
#[derive(Debug, Clone, Copy)]
struct RunningFlow {
    position: u32,
    /// Number of links on its path.
    hops: u32,
    /// Bytes per second.
    rate: f64,
}

/// The flows that run, and the ports at which others may begin.
#[derive(Debug, Default)]
pub struct MatchedFlows {
    /// The flows that run, in the order in which they take capacity.
    flows: Vec<RunningFlow>,
    /// The local links of their paths, flow after flow.
    links: Vec<u32>,
    /// Bytes per second that were free there at the flow's turn.
    found: Vec<f64>,
    /// Senders and receivers with unfinished flows where something is left, a bit each.
    open: [Vec<u64>; 2],
    /// Whether the last decision changed the rate of any flow.
    pub any_changed: bool,
}

/// Working memory: ports at which flows may begin.
#[derive(Debug, Default)]
pub struct OpenedPorts {
    /// Senders and receivers that are open and were closed, a bit each.
    opened: [Vec<u64>; 2],
    most_loaded_first: MostLoadedFirst,
}

impl MatchedFlows {
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub fn rates(&self) -> impl Iterator<Item = FlowRate> + '_ {
        self.flows.iter().map(|flow| FlowRate { position: flow.position, rate: flow.rate })
    }

    /// No flow runs.
    pub fn clear(&mut self) {
        self.flows.clear();
        self.links.clear();
        self.found.clear();
    }

    /// Takes over what is free `before` the coflow at the links of `found`. Flows may begin
    /// anywhere, or only where something changes.
    pub fn find(
        &mut self,
        decision: &mut Decision<'_>,
        before: &[f64],
        found: &MarkedLinks,
        anywhere: bool,
    ) {
        if anywhere {
            self.open_where(decision.demand, decision.after);
        }
        found.iter().for_each(|l| decision.set(l, before[l]));
    }

    fn open_where(&mut self, demand: &Demand, free: &[f64]) {
        let (senders, receivers) = (demand.senders(), demand.receivers());
        let sides = [0..senders, senders..senders + receivers];
        for (open, side) in self.open.iter_mut().zip(sides) {
            open.clear();
            open.resize(side.len().div_ceil(64), 0);
            for (k, l) in side.enumerate() {
                set_bit(open, k, free[l] > 0.0 && demand.count()[l] > 0);
            }
        }
    }

    /// Running flows take what is free now. `touched` says whether some may have ended.
    pub fn keep(&mut self, decision: &mut Decision<'_>, touched: bool) {
        // How many flows, and how many of their links, have come to their new place.
        let (mut kept, mut kept_links) = (0, 0);
        let mut start = 0;
        for k in 0..self.flows.len() {
            let mut flow = self.flows[k];
            let path = start..start + flow.hops as usize;
            start = path.end;
            let links = &self.links[path.clone()];
            let is_dirty = links.iter().fold(false, |any, &l| any | decision.changed.is_dirty(l));
            let ended = touched && !decision.demand.is_active(flow.position as usize);
            if is_dirty | ended {
                let was = flow.rate;
                let found = &mut self.found[path.clone()];
                decision.find(links, found);
                flow.rate = if ended { 0.0 } else { least(found) };
                decision.take(links, found, was, flow.rate);
                self.any_changed |= flow.rate != was;
                if flow.rate <= 0.0 {
                    continue;
                }
            }
            self.flows[kept] = flow;
            if kept_links < path.start {
                self.links.copy_within(path.clone(), kept_links);
                self.found.copy_within(path.clone(), kept_links);
            }
            kept += 1;
            kept_links += path.len();
        }
        self.links.truncate(kept_links);
        self.found.truncate(kept_links);
        self.flows.truncate(kept);
    }

    /// Flows that ran before a decision from nothing take what is free.
    pub fn resume(&mut self, decision: &mut Decision<'_>, flows: &[u32], ports: &mut OpenedPorts) {
        if flows.is_empty() {
            return;
        }
        ports.opened.clone_from(&self.open);
        for position in flows.iter().map(|&position| position as usize) {
            if decision.demand.is_active(position) {
                self.begin_flow(decision, position, &mut ports.opened);
            }
        }
    }

    /// Flows that do not run take what is left: those with an end that has opened, or all
    /// (`anywhere`). They do so sender by sender in order, or the most loaded ports first.
    pub fn begin(
        &mut self,
        decision: &mut Decision<'_>,
        anywhere: bool,
        most_loaded_first: bool,
        ports: &mut OpenedPorts,
    ) {
        let inner_opened = self.reopen(decision, &mut ports.opened);
        if anywhere {
            ports.opened.clone_from(&self.open);
        } else if inner_opened {
            ports.opened[0].clone_from(&self.open[0]);
        }
        if most_loaded_first {
            self.begin_most_loaded_first(decision, ports);
        } else {
            self.begin_in_order(decision, &mut ports.opened);
        }
    }

    /// Brings `open` up to date. Returns whether a link inside the fabric has opened: flows of any
    /// sender may cross it.
    fn reopen(&mut self, decision: &Decision<'_>, opened: &mut [Vec<u64>; 2]) -> bool {
        let demand = decision.demand;
        for (opened, open) in opened.iter_mut().zip(&self.open) {
            opened.clear();
            opened.resize(open.len(), 0);
        }
        let mut inner_opened = false;
        let ends = demand.senders() + demand.receivers();
        for &(l, was) in decision.changed.were() {
            let l = l as usize;
            if l >= ends {
                inner_opened |= decision.after[l] > 0.0 && was == 0.0;
                continue;
            }
            let (side, k) = if l < demand.senders() { (0, l) } else { (1, l - demand.senders()) };
            let is_open = decision.after[l] > 0.0 && demand.count()[l] > 0;
            set_bit(&mut self.open[side], k, is_open);
            set_bit(&mut opened[side], k, is_open && was == 0.0);
        }
        inner_opened
    }

    /// Sender by sender in order of first flow, and within a sender in order of registration.
    fn begin_in_order(&mut self, decision: &mut Decision<'_>, opened: &mut [Vec<u64>; 2]) {
        let any = |set: &[u64]| set.iter().any(|word| *word != 0);
        let mut at_any_sender = any(&opened[1]);
        if !at_any_sender && !any(&opened[0]) {
            return;
        }
        for w in 0..self.open[0].len() {
            let with_all = opened[0][w];
            let mut word = self.open[0][w] & if at_any_sender { u64::MAX } else { with_all };
            while word != 0 {
                let k = word.trailing_zeros() as usize;
                word &= word - 1;
                let to_all = with_all >> k & 1 == 1;
                if self.begin_at(decision, w * 64 + k, to_all, opened) && at_any_sender {
                    at_any_sender = any(&opened[1]);
                    word &= if at_any_sender { u64::MAX } else { with_all };
                }
            }
        }
    }

    /// Flows of one sender begin, to all open receivers or to those that have opened. Returns
    /// whether any of these is open no more.
    fn begin_at(
        &mut self,
        decision: &mut Decision<'_>,
        sender: usize,
        with_all: bool,
        opened: &mut [Vec<u64>; 2],
    ) -> bool {
        let demand = decision.demand;
        let senders = demand.senders();
        let row = demand.row(sender).start;
        let is_regular = demand.is_regular(sender);
        let mut any_closed = false;
        for (w, &active) in demand.row_bits(sender).iter().enumerate() {
            let receivers = if with_all { &self.open[1] } else { &opened[1] };
            let mut candidates = if is_regular { active & receivers[w] } else { active };
            while candidates != 0 {
                let position = row + w * 64 + candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                let receiver = demand.receiver_of(position);
                let receivers = if with_all { &self.open[1] } else { &opened[1] };
                if !is_regular && !has_bit(receivers, receiver - senders) {
                    continue;
                }
                self.begin_flow(decision, position, opened);
                any_closed |= decision.after[receiver] == 0.0;
                if decision.after[sender] == 0.0 {
                    return any_closed;
                }
            }
        }
        any_closed
    }

    /// A flow takes what is free on its path, if that is something.
    fn begin_flow(
        &mut self,
        decision: &mut Decision<'_>,
        position: usize,
        opened: &mut [Vec<u64>; 2],
    ) {
        let demand = decision.demand;
        if demand.whole_path(position).iter().any(|&l| decision.after[l as usize] <= 0.0) {
            return;
        }
        let first = self.links.len();
        self.links.extend_from_slice(&demand.whole_path(position));
        let links = &self.links[first..];
        self.found.extend(links.iter().map(|&l| decision.after[l as usize]));
        let found = &self.found[first..];
        let rate = least(found);
        decision.take(links, found, 0.0, rate);
        let (sender, receiver) = demand.ends(position);
        if decision.after[receiver] == 0.0 {
            let k = receiver - demand.senders();
            set_bit(&mut self.open[1], k, false);
            set_bit(&mut opened[1], k, false);
        }
        if decision.after[sender] == 0.0 {
            set_bit(&mut self.open[0], sender, false);
        }
        let (position, hops) = (position as u32, links.len() as u32);
        self.flows.push(RunningFlow { position, hops, rate });
        self.any_changed = true;
    }

    /// See [`most_loaded_first`](crate::rules::most_loaded_first).
    fn begin_most_loaded_first(&mut self, decision: &mut Decision<'_>, ports: &mut OpenedPorts) {
        let demand = decision.demand;
        let OpenedPorts { opened, most_loaded_first: ports } = ports;
        ports.collect(demand, &self.open, opened);
        while let Some((sender, with_all)) = ports.next_sender(demand) {
            while decision.after[sender] > 0.0
                && let Some(position) = ports.next_flow(demand, sender)
            {
                let receiver = demand.receiver_of(position);
                let receivers = if with_all { &self.open[1] } else { &opened[1] };
                if has_bit(receivers, receiver - demand.senders()) {
                    self.begin_flow(decision, position, opened);
                    if decision.after[receiver] == 0.0 {
                        ports.close(demand, receiver);
                    }
                }
            }
        }
    }
}

/// The least of what a flow has found free on its path.
fn least(found: &[f64]) -> f64 {
    found.iter().copied().fold(f64::INFINITY, f64::min)
}
