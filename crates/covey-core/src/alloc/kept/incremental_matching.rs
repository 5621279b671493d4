//! Matching, decided again only where something has changed.
//!
//! Flows that run go first, in the order in which they began, so that no flow is interrupted in
//! favour of another of the same coflow. Then come those that do not run, sender by sender in order
//! of first flow, and within a sender in order of registration; or the [most loaded ports
//! first](crate::alloc::rules::most_loaded_first). Each takes all that is free on its links
//! ([`matching`](crate::alloc::rules::matching)).
//!
//! Little of that changes from one pass to the next. So each running flow remembers what it found
//! at its links. It is looked at again only when it has ended or when one of these links is
//! *dirty* by its turn; if it then takes another amount, its other links are dirty for those after
//! it. A flow that does not run had nothing free at one of its links in the end: it can begin only
//! where a link has opened since. Where no path crosses an inner link, rows of bits find such flows;
//! on other paths each flow is noted at a full link ([`BlockedFlows`]).
//!
//! On paths with inner links this takes `philae` on the Facebook trace, `fat-tree:k=8`, from 20.3 to 12.4 s of CPU,
//! and `saath` from 39.8 to 27.8 s, against looking at all links on each decision.

use super::blocked_flows::BlockedFlows;
use super::changes::Changes;
use crate::alloc::flow_rate::FlowRate;
use crate::alloc::free_capacity::NEGLIGIBLE;
use crate::alloc::rules::most_loaded_first::{MostLoadedFirst, sort_most_loaded_first};
use crate::alloc::rules::sharing::can_send;
use crate::bits::{has_bit, set_bit};
use crate::demand::Demand;
use crate::marked_links::MarkedLinks;
use crate::state::CoflowState;

/// A running flow.
#[derive(Debug, Clone, Copy)]
struct MatchedFlow {
    position: u32,
    /// Local sender and receiver.
    ends: [u32; 2],
    /// Number of inner links on its path.
    inner: u32,
    /// Bytes per second that were free there at its turn.
    found: [f64; 2],
    /// Bytes per second.
    rate: f64,
}

/// The running flows of a coflow, in the order in which they take.
#[derive(Debug, Default)]
pub struct MatchedFlows {
    /// Whether flows begin at the most loaded ports first, instead of in order of position.
    pub most_loaded_first: bool,
    flows: Vec<MatchedFlow>,
    /// The inner links of the flows' paths, flow after flow. The demand knows them too, but they are
    /// read here in a row: 2.6 % less CPU for `saath` on 80 % of the Facebook trace,
    /// `fat-tree:k=8,place=pack`.
    inside: Vec<u32>,
    /// Bytes per second that were free there.
    found_inside: Vec<f64>,
    /// Where no path crosses an inner link: senders and receivers with unfinished flows where
    /// something is left, a bit each.
    open: [Vec<u64>; 2],
    /// Where paths cross inner links, the active flows, each at a full link.
    blocked: BlockedFlows,
    /// The same, how many of `flows` cross each local link.
    running: Vec<u32>,
    /// Whether `open`, `blocked` and what the flows found are up to date.
    valid: bool,
    /// Whether `open` and `blocked` alone are not up to date, because nothing could be sent.
    is_open_stale: bool,
    /// How many times flows of the coflow had begun.
    begun: u32,
    /// New rates of flows whose rate the last decision changed: first those that ran before, in
    /// order, then those that have begun.
    changes: Vec<FlowRate>,
}

/// Working memory.
#[derive(Debug, Default)]
pub struct MatchingScratch {
    /// Whether a local link is dirty. All false between decisions.
    dirty: Vec<bool>,
    /// The dirty links, each with what was left there in the end by the previous decision.
    were: Vec<(u32, f64)>,
    /// Senders and receivers that are open and were closed, a bit each.
    opened: [Vec<u64>; 2],
    most_loaded_first: MostLoadedFirst,
    /// Where paths cross inner links: links that have opened and that no running flow crosses.
    opened_alone: Vec<u32>,
    /// Positions of flows that can begin.
    able: Vec<u32>,
}

impl MatchedFlows {
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub fn flow_rates(&self) -> impl Iterator<Item = FlowRate> + '_ {
        self.flows.iter().map(|flow| FlowRate { position: flow.position, rate: flow.rate })
    }

    /// New rates of the flows whose rate the last decision changed.
    pub fn changes(&self) -> &[FlowRate] {
        &self.changes
    }

    /// To be called before each decision.
    pub fn forget_changes(&mut self) {
        self.changes.clear();
    }

    /// All flows stop.
    pub fn withdraw(&mut self) {
        self.valid = false;
        let stopped = |flow: MatchedFlow| FlowRate { position: flow.position, rate: 0.0 };
        self.changes.extend(self.flows.drain(..).map(stopped));
        self.inside.clear();
        self.found_inside.clear();
        self.running.clear();
    }

    /// Hands `before` (capacity at the local links, without negligible residues) to the active
    /// flows of `coflow`. `after` is what the previous decision left, and becomes what this one
    /// leaves. `changes.dirty` are the links at which `before` has changed since;
    /// `changes.dirty_after` receives those at which `after` has. `touched` says whether flows may
    /// have ended.
    pub fn decide(
        &mut self,
        coflow: &CoflowState,
        (before, after): (&[f64], &mut Vec<f64>),
        touched: bool,
        capacity: &[f64],
        changes: &mut Changes,
        scratch: &mut MatchingScratch,
    ) {
        let Changes { dirty: found, dirty_after: left, .. } = changes;
        let demand = coflow.demand();
        let is_new = !self.valid;
        if is_new {
            self.flows.clear();
            self.inside.clear();
            self.found_inside.clear();
            self.running.clear();
            after.clear();
            after.extend_from_slice(before);
        }
        if !is_new && self.flows.is_empty() && !can_send(demand, before) {
            self.is_open_stale = true;
            found.iter().for_each(|l| after[l] = before[l]);
            return left.copy(found);
        }
        let begins_anywhere =
            is_new || std::mem::take(&mut self.is_open_stale) || self.begun != coflow.begun();
        if begins_anywhere && demand.is_bipartite() {
            self.open_where(demand, after);
        }
        self.valid = true;
        self.begun = coflow.begun();
        scratch.dirty.resize(scratch.dirty.len().max(before.len()), false);
        let mut decision = Decision { demand, capacity, after, scratch };
        if demand.is_bipartite() {
            found.iter().for_each(|l| decision.set(l, before[l]));
            self.keep(&mut decision, touched);
            self.reopen(&mut decision);
            if self.most_loaded_first {
                self.begin_most_loaded_first(&mut decision, begins_anywhere);
            } else {
                self.begin(&mut decision, begins_anywhere);
            }
        } else {
            self.running.resize(before.len(), 0);
            if self.find_on_paths(&mut decision, found, before, left) || touched {
                self.keep_on_paths(&mut decision, touched);
            }
            self.begin_on_paths(&mut decision, begins_anywhere);
        }
        if is_new {
            left.insert_below(before.len());
        }
        for (l, was) in scratch.were.drain(..) {
            scratch.dirty[l as usize] = false;
            if !is_new && after[l as usize] != was {
                left.insert(l as usize);
            }
        }
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

    /// Running flows take what is free now, where no path crosses an inner link.
    fn keep(&mut self, decision: &mut Decision<'_>, touched: bool) {
        let mut kept = 0;
        for k in 0..self.flows.len() {
            let flow = &self.flows[k];
            let [s, r] = flow.ends;
            let at_sender = decision.scratch.dirty[s as usize];
            let at_receiver = decision.scratch.dirty[r as usize];
            let ended = touched && !decision.demand.is_active(flow.position as usize);
            if !(at_sender | at_receiver | ended) {
                if kept < k {
                    self.flows[kept] = self.flows[k];
                }
                kept += 1;
                continue;
            }
            let mut flow = *flow;
            let was = flow.rate;
            if at_sender {
                flow.found[0] = decision.after[s as usize];
            }
            if at_receiver {
                flow.found[1] = decision.after[r as usize];
            }
            if ended {
                flow.rate = 0.0;
                decision.leave(&flow);
            } else {
                decision.take(&mut flow, was);
            }
            if flow.rate != was {
                self.changes.push(FlowRate { position: flow.position, rate: flow.rate });
            }
            if flow.rate > 0.0 {
                self.flows[kept] = flow;
                kept += 1;
            }
        }
        self.flows.truncate(kept);
    }

    /// Takes over what is free `before` the coflow at the links of `found`. Where no running flow crosses a link, all of
    /// it is left, which `left` receives. Returns whether any of the links is crossed by one.
    fn find_on_paths(
        &self,
        decision: &mut Decision<'_>,
        found: &MarkedLinks,
        before: &[f64],
        left: &mut MarkedLinks,
    ) -> bool {
        let mut any_crossed = false;
        for l in found.iter() {
            if self.running[l] > 0 {
                any_crossed = true;
                decision.set(l, before[l]);
                continue;
            }
            let was = std::mem::replace(&mut decision.after[l], before[l]);
            if was != before[l] {
                left.insert(l);
                if was <= 0.0 {
                    decision.scratch.opened_alone.push(l as u32);
                }
            }
        }
        any_crossed
    }

    /// The same on paths with inner links. One piece of code for both costs policies on the big switch 1.3 to 1.7 %
    /// more instructions.
    fn keep_on_paths(&mut self, decision: &mut Decision<'_>, touched: bool) {
        let mut kept = 0;
        // Where in `inside` the links of a flow begin, and where they are written.
        let (mut at, mut kept_at) = (0, 0);
        for k in 0..self.flows.len() {
            let flow = &self.flows[k];
            let found = at..at + flow.inner as usize;
            at = found.end;
            let inner = &self.inside[found.clone()];
            let dirty = &decision.scratch.dirty;
            let path = flow.ends.iter().chain(inner);
            let is_dirty = path.fold(false, |any, &l| any | dirty[l as usize]);
            let ended = touched && !decision.demand.is_active(flow.position as usize);
            if is_dirty || ended {
                let flow = &mut self.flows[k];
                let was = flow.rate;
                let inside = &mut self.found_inside[found.clone()];
                decision.find(&flow.ends, &mut flow.found);
                decision.find(inner, inside);
                if ended {
                    flow.rate = 0.0;
                    decision.leave(flow);
                    decision.leave_inside((inner, inside), 0.0);
                } else {
                    decision.take_path(flow, (inner, inside), was);
                }
                if flow.rate != was {
                    self.changes.push(FlowRate { position: flow.position, rate: flow.rate });
                }
                if flow.rate <= 0.0 {
                    let running = &mut self.running;
                    flow.ends.iter().chain(inner).for_each(|&l| running[l as usize] -= 1);
                    continue;
                }
            }
            if kept < k {
                self.flows[kept] = self.flows[k];
                self.inside.copy_within(found.clone(), kept_at);
                self.found_inside.copy_within(found.clone(), kept_at);
            }
            kept += 1;
            kept_at += found.len();
        }
        self.flows.truncate(kept);
        self.inside.truncate(kept_at);
        self.found_inside.truncate(kept_at);
    }

    /// Brings `open` up to date.
    fn reopen(&mut self, decision: &mut Decision<'_>) {
        let demand = decision.demand;
        let MatchingScratch { were, opened, .. } = &mut *decision.scratch;
        for (opened, open) in opened.iter_mut().zip(&self.open) {
            opened.clear();
            opened.resize(open.len(), 0);
        }
        for &(l, was) in &*were {
            let l = l as usize;
            let (side, k) = if l < demand.senders() { (0, l) } else { (1, l - demand.senders()) };
            let is_open = decision.after[l] > 0.0 && demand.count()[l] > 0;
            set_bit(&mut self.open[side], k, is_open);
            set_bit(&mut opened[side], k, is_open && was == 0.0);
        }
    }

    /// Flows that do not run take what is left: those with an end that has opened, or all.
    fn begin(&mut self, decision: &mut Decision<'_>, anywhere: bool) {
        let any = |set: &[u64]| set.iter().any(|word| *word != 0);
        if anywhere {
            decision.scratch.opened.clone_from(&self.open);
        }
        let mut at_any_sender = any(&decision.scratch.opened[1]);
        if !at_any_sender && !any(&decision.scratch.opened[0]) {
            return;
        }
        for w in 0..self.open[0].len() {
            let with_all = decision.scratch.opened[0][w];
            let mut word = self.open[0][w] & if at_any_sender { u64::MAX } else { with_all };
            while word != 0 {
                let k = word.trailing_zeros() as usize;
                word &= word - 1;
                if self.begin_at(decision, w * 64 + k, with_all >> k & 1 == 1) && at_any_sender {
                    at_any_sender = any(&decision.scratch.opened[1]);
                    word &= if at_any_sender { u64::MAX } else { with_all };
                }
            }
        }
    }

    /// The same for one sender; with all open receivers, or those that have opened. Returns whether
    /// any of them is open no more.
    fn begin_at(&mut self, decision: &mut Decision<'_>, sender: usize, with_all: bool) -> bool {
        let demand = decision.demand;
        let senders = demand.senders();
        let row = demand.row(sender).start;
        let is_regular = demand.is_regular(sender);
        let mut any_closed = false;
        for (w, &active) in demand.row_bits(sender).iter().enumerate() {
            let receivers = if with_all { &self.open[1] } else { &decision.scratch.opened[1] };
            let mut candidates = if is_regular { active & receivers[w] } else { active };
            while candidates != 0 {
                let position = row + w * 64 + candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                let receiver = demand.receiver_of(position);
                let k = receiver - senders;
                let receivers = if with_all { &self.open[1] } else { &decision.scratch.opened[1] };
                if !is_regular && !has_bit(receivers, k) {
                    continue;
                }
                self.begin_flow(decision, position);
                any_closed |= decision.after[receiver] == 0.0;
                if decision.after[sender] == 0.0 {
                    return any_closed;
                }
            }
        }
        any_closed
    }

    /// A flow takes what is free at its ends.
    fn begin_flow(&mut self, decision: &mut Decision<'_>, position: usize) {
        let (sender, receiver) = decision.demand.ends(position);
        let mut flow = MatchedFlow {
            position: position as u32,
            ends: [sender as u32, receiver as u32],
            inner: 0,
            found: [decision.after[sender], decision.after[receiver]],
            rate: 0.0,
        };
        decision.take(&mut flow, 0.0);
        if flow.rate > 0.0 {
            self.changes.push(FlowRate { position: flow.position, rate: flow.rate });
            self.flows.push(flow);
        }
        if decision.after[receiver] == 0.0 {
            let k = receiver - decision.demand.senders();
            set_bit(&mut self.open[1], k, false);
            set_bit(&mut decision.scratch.opened[1], k, false);
        }
        if decision.after[sender] == 0.0 {
            set_bit(&mut self.open[0], sender, false);
        }
    }

    /// As [`MatchedFlows::begin`], the most loaded ports first (see
    /// [`most_loaded_first`](super::most_loaded_first)).
    fn begin_most_loaded_first(&mut self, decision: &mut Decision<'_>, anywhere: bool) {
        if anywhere {
            decision.scratch.opened.clone_from(&self.open);
        }
        let demand = decision.demand;
        let mut ports = std::mem::take(&mut decision.scratch.most_loaded_first);
        ports.collect(demand, &self.open, &decision.scratch.opened);
        while let Some((sender, with_all)) = ports.next_sender(demand) {
            while decision.after[sender] > 0.0
                && let Some(position) = ports.next_flow(demand, sender)
            {
                let receiver = demand.receiver_of(position);
                let receivers = if with_all { &self.open[1] } else { &decision.scratch.opened[1] };
                if has_bit(receivers, receiver - demand.senders()) {
                    self.begin_flow(decision, position);
                    if decision.after[receiver] == 0.0 {
                        ports.close(demand, receiver);
                    }
                }
            }
        }
        decision.scratch.most_loaded_first = ports;
    }

    /// As [`MatchedFlows::begin`], in either order, where paths cross inner links.
    fn begin_on_paths(&mut self, decision: &mut Decision<'_>, anywhere: bool) {
        let demand = decision.demand;
        let mut able = std::mem::take(&mut decision.scratch.able);
        if anywhere {
            self.blocked.forget();
        }
        let MatchingScratch { were, opened_alone, .. } = &*decision.scratch;
        let has_opened = |&&(l, was): &&(u32, f64)| was <= 0.0 && decision.after[l as usize] > 0.0;
        let opened = were.iter().filter(has_opened).map(|(l, _)| l).chain(opened_alone);
        self.blocked.find_able(demand, decision.after, opened.map(|&l| l as usize), &mut able);
        decision.scratch.opened_alone.clear();
        if self.most_loaded_first {
            sort_most_loaded_first(demand, &mut able);
        }
        for position in able.drain(..).map(|p| p as usize) {
            if !self.blocked.note(demand, position, decision.after) {
                self.begin_on_path(decision, position);
                self.blocked.note(demand, position, decision.after);
            }
        }
        self.blocked.end(demand, decision.after);
        decision.scratch.able = able;
    }

    /// A flow takes what is free on its path.
    fn begin_on_path(&mut self, decision: &mut Decision<'_>, position: usize) {
        let (sender, receiver) = decision.demand.ends(position);
        let inner = decision.demand.inner_links(position);
        let mut flow = MatchedFlow {
            position: position as u32,
            ends: [sender as u32, receiver as u32],
            inner: inner.len() as u32,
            found: [decision.after[sender], decision.after[receiver]],
            rate: 0.0,
        };
        let first = self.inside.len();
        self.inside.extend_from_slice(inner);
        self.found_inside.extend(inner.iter().map(|&l| decision.after[l as usize]));
        decision.take_path(&mut flow, (inner, &self.found_inside[first..]), 0.0);
        let running = &mut self.running;
        flow.ends.iter().chain(inner).for_each(|&l| running[l as usize] += 1);
        self.changes.push(FlowRate { position: flow.position, rate: flow.rate });
        self.flows.push(flow);
    }
}

/// One decision. `after` is what is left so far at dirty links, and what the previous decision left
/// in the end at the others.
struct Decision<'a> {
    demand: &'a Demand,
    capacity: &'a [f64],
    after: &'a mut [f64],
    scratch: &'a mut MatchingScratch,
}

impl Decision<'_> {
    /// The free capacity of a local link has changed.
    fn set(&mut self, l: usize, free: f64) {
        if !std::mem::replace(&mut self.scratch.dirty[l], true) {
            self.scratch.were.push((l as u32, self.after[l]));
        }
        self.after[l] = free;
    }

    /// Brings what a flow found free at some links up to date.
    fn find(&self, links: &[u32], found: &mut [f64]) {
        for (&l, found) in links.iter().zip(found) {
            if self.scratch.dirty[l as usize] {
                *found = self.after[l as usize];
            }
        }
    }

    /// The capacity that a flow leaves at its ends has changed.
    fn leave(&mut self, flow: &MatchedFlow) {
        let ([s, r], [at_sender, at_receiver]) = (flow.ends, flow.found);
        self.set(s as usize, self.rest(s as usize, at_sender, flow.rate));
        self.set(r as usize, self.rest(r as usize, at_receiver, flow.rate));
    }

    /// The same at inner links, where a flow with this `rate` found so much.
    fn leave_inside(&mut self, (inner, found): (&[u32], &[f64]), rate: f64) {
        for (&l, &found) in inner.iter().zip(found) {
            self.set(l as usize, self.rest(l as usize, found, rate));
        }
    }

    /// What is left at a link after a flow. A residue of rounding counts as nothing: a flow must
    /// not run because of it.
    fn rest(&self, l: usize, found: f64, rate: f64) -> f64 {
        let rest = found - rate;
        let negligible = || self.capacity[self.demand.links()[l].index()] * NEGLIGIBLE;
        if rate == 0.0 || rest > negligible() { rest } else { 0.0 }
    }

    /// Gives a flow, which had the rate `was`, the least of what is free at its ends, which are all its links.
    fn take(&mut self, flow: &mut MatchedFlow, was: f64) {
        let ([s, r], [at_sender, at_receiver]) = (flow.ends, flow.found);
        flow.rate = if at_sender < at_receiver { at_sender } else { at_receiver };
        // A link that is not dirty has the same capacity left if the flow keeps its rate.
        for (l, found) in [(s as usize, at_sender), (r as usize, at_receiver)] {
            if flow.rate != was || self.scratch.dirty[l] {
                self.set(l, self.rest(l, found, flow.rate));
            }
        }
    }

    /// The same on a path with `inner` links, at which it found so much `inside`.
    fn take_path(&mut self, flow: &mut MatchedFlow, (inner, inside): (&[u32], &[f64]), was: f64) {
        let found = flow.found.iter().chain(inside).copied();
        flow.rate = found.fold(f64::INFINITY, f64::min);
        if flow.rate != was {
            self.leave(flow);
            return self.leave_inside((inner, inside), flow.rate);
        }
        for (&l, &found) in flow.ends.iter().zip(&flow.found).chain(inner.iter().zip(inside)) {
            if self.scratch.dirty[l as usize] {
                self.set(l as usize, self.rest(l as usize, found, flow.rate));
            }
        }
    }
}
