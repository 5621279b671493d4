//! One flow per port at full rate (Philae §4.5).
//!
//! Flows are looked at one after another, and each takes all that is free on its links. Flows that
//! are running go first, in the order in which they began, so that a flow is not interrupted in
//! favour of another of the same coflow; then sender by sender in order of first flow, and within a
//! sender in order of registration. When links are either free or not, this is one flow a port at
//! full rate.
//!
//! Little of that changes from one walk to the next. So each running flow remembers what it found
//! at its two ends. It is looked at again only when it has ended or what is free at one of its ends
//! has *moved* by its turn; if it then takes another amount, its other end has moved for those
//! after it. A flow that does not run had nothing free at one of its ends in the end: it can begin
//! only where an end has opened since.

use super::by_load::ByLoad;
use super::{FlowRate, NEGLIGIBLE, can_send};
use crate::demand::Demand;
use crate::state::CoflowState;

/// A running flow.
#[derive(Debug, Clone, Copy)]
struct Taker {
    position: u32,
    /// Local sender and receiver.
    ends: [u32; 2],
    /// What was free there at its turn.
    found: [f64; 2],
    rate: f64,
}

/// The running flows of a coflow, in the order in which they take.
#[derive(Debug, Default)]
pub(super) struct Takers {
    /// Whether flows begin at the most loaded ports first.
    pub by_load: bool,
    flows: Vec<Taker>,
    /// Senders and receivers with unfinished flows where something is left, a bit each.
    open: [Vec<u64>; 2],
    /// Whether `open`, and what the flows found, hold.
    valid: bool,
    /// Whether only `open` does not hold, since nothing could be sent.
    aside: bool,
    /// Times that flows of the coflow had begun.
    begun: u32,
    /// New rates of flows whose rate the last decision changed: first those that ran before, in
    /// order, then those that have begun.
    changes: Vec<FlowRate>,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Whether what is free at a local link has moved. All false between decisions.
    moved: Vec<bool>,
    /// The local links that have moved, and what was left there in the end.
    were: Vec<(u32, f64)>,
    /// Senders and receivers that are open and were not, a bit each.
    opened: [Vec<u64>; 2],
    by_load: ByLoad,
}

impl Takers {
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub fn singles(&self) -> impl Iterator<Item = FlowRate> + '_ {
        self.flows.iter().map(|flow| FlowRate { position: flow.position, rate: flow.rate })
    }

    /// New rates of the flows whose rate the last decision changed.
    pub fn changes(&self) -> &[FlowRate] {
        &self.changes
    }

    /// To be called before anything is decided anew.
    pub fn forget_changes(&mut self) {
        self.changes.clear();
    }

    /// All flows stop.
    pub fn withdraw(&mut self) {
        self.valid = false;
        let stopped = |flow: Taker| FlowRate { position: flow.position, rate: 0.0 };
        self.changes.extend(self.flows.drain(..).map(stopped));
    }

    /// Hands `before` (capacity at the local links, zero where there is none worth giving) to the
    /// active flows of `coflow`. `after` is what the last decision left, and becomes what this one
    /// does. `work.moved` are the links at which `before` has changed since; `work.changed` receives
    /// those at which `after` has. `touched`
    /// tells whether flows may have ended.
    pub fn decide(
        &mut self,
        coflow: &CoflowState,
        before: &[f64],
        after: &mut Vec<f64>,
        touched: bool,
        capacity: &[f64],
        work: &mut super::Work,
    ) {
        let super::Work { moved: found, changed: left, matching: work, .. } = work;
        let demand = coflow.demand();
        let is_new = !self.valid;
        if is_new {
            self.flows.clear();
            after.clear();
            after.extend_from_slice(before);
        }
        if !is_new && self.flows.is_empty() && !can_send(demand, before) {
            self.aside = true;
            found.iter().for_each(|&l| after[l as usize] = before[l as usize]);
            return left.clone_from(found);
        }
        let begins_anywhere = is_new
            || std::mem::take(&mut self.aside)
            || self.begun != coflow.begun()
            || !demand.is_bipartite();
        if begins_anywhere {
            self.open_where(demand, after);
        }
        self.valid = true;
        self.begun = coflow.begun();
        work.moved.resize(work.moved.len().max(before.len()), false);
        let mut turn = Turn { demand, capacity, after, work };
        if demand.is_bipartite() {
            found.iter().for_each(|&l| turn.set(l as usize, before[l as usize]));
        } else {
            // Inner links are not remembered: all have moved.
            (0..before.len()).for_each(|l| turn.set(l, before[l]));
        }
        self.keep(&mut turn, touched);
        self.reopen(&mut turn);
        if self.by_load {
            self.begin_by_load(&mut turn, begins_anywhere);
        } else {
            self.begin(&mut turn, begins_anywhere);
        }
        left.clear();
        if is_new {
            left.extend(0..before.len() as u32);
        }
        for (l, was) in work.were.drain(..) {
            work.moved[l as usize] = false;
            if !is_new && after[l as usize] != was {
                left.push(l);
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
                set(open, k, free[l] > 0.0 && demand.count()[l] > 0);
            }
        }
    }

    /// Running flows take what is free now.
    fn keep(&mut self, turn: &mut Turn<'_>, touched: bool) {
        let mut kept = 0;
        for k in 0..self.flows.len() {
            let flow = &self.flows[k];
            let [s, r] = flow.ends;
            let at_sender = turn.work.moved[s as usize];
            let at_receiver = turn.work.moved[r as usize];
            let ended = touched && !turn.demand.is_active(flow.position as usize);
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
                flow.found[0] = turn.after[s as usize];
            }
            if at_receiver {
                flow.found[1] = turn.after[r as usize];
            }
            if ended {
                flow.rate = 0.0;
                turn.leave(&flow);
            } else {
                turn.take(&mut flow, was);
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

    /// Brings `open` up to date.
    fn reopen(&mut self, turn: &mut Turn<'_>) {
        let demand = turn.demand;
        let Work { were, opened, .. } = &mut *turn.work;
        for (opened, open) in opened.iter_mut().zip(&self.open) {
            opened.clear();
            opened.resize(open.len(), 0);
        }
        for &(l, was) in &*were {
            let l = l as usize;
            let (side, k) = if l < demand.senders() { (0, l) } else { (1, l - demand.senders()) };
            // Inner links are neither.
            if side == 0 || k < demand.receivers() {
                let is_open = turn.after[l] > 0.0 && demand.count()[l] > 0;
                set(&mut self.open[side], k, is_open);
                set(&mut opened[side], k, is_open && was == 0.0);
            }
        }
    }

    /// Flows that do not run take what is left: those with an end that has opened, or all.
    fn begin(&mut self, turn: &mut Turn<'_>, anywhere: bool) {
        let any = |set: &[u64]| set.iter().any(|word| *word != 0);
        if anywhere {
            turn.work.opened.clone_from(&self.open);
        }
        let mut at_any_sender = any(&turn.work.opened[1]);
        if !at_any_sender && !any(&turn.work.opened[0]) {
            return;
        }
        for w in 0..self.open[0].len() {
            let with_all = turn.work.opened[0][w];
            let mut word = self.open[0][w] & if at_any_sender { u64::MAX } else { with_all };
            while word != 0 {
                let k = word.trailing_zeros() as usize;
                word &= word - 1;
                if self.begin_at(turn, w * 64 + k, with_all >> k & 1 == 1) && at_any_sender {
                    at_any_sender = any(&turn.work.opened[1]);
                    word &= if at_any_sender { u64::MAX } else { with_all };
                }
            }
        }
    }

    /// The same for one sender; with all open receivers, or those that have opened. Returns whether
    /// any of them is open no more.
    fn begin_at(&mut self, turn: &mut Turn<'_>, sender: usize, with_all: bool) -> bool {
        let demand = turn.demand;
        let senders = demand.senders();
        let row = demand.row(sender).start;
        let is_regular = demand.is_regular(sender);
        let mut any_closed = false;
        for (w, &active) in demand.row_bits(sender).iter().enumerate() {
            let receivers = if with_all { &self.open[1] } else { &turn.work.opened[1] };
            let mut candidates = if is_regular { active & receivers[w] } else { active };
            while candidates != 0 {
                let position = row + w * 64 + candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                let receiver = demand.receiver_of(position);
                let k = receiver - senders;
                let receivers = if with_all { &self.open[1] } else { &turn.work.opened[1] };
                if !is_regular && !contains(receivers, k) {
                    continue;
                }
                self.begin_flow(turn, position);
                any_closed |= turn.after[receiver] == 0.0;
                if turn.after[sender] == 0.0 {
                    return any_closed;
                }
            }
        }
        any_closed
    }

    /// A flow takes what is free at its ends.
    fn begin_flow(&mut self, turn: &mut Turn<'_>, position: usize) {
        let (sender, receiver) = turn.demand.ends(position);
        let mut flow = Taker {
            position: position as u32,
            ends: [sender as u32, receiver as u32],
            found: [turn.after[sender], turn.after[receiver]],
            rate: 0.0,
        };
        turn.take(&mut flow, 0.0);
        if flow.rate > 0.0 {
            self.changes.push(FlowRate { position: flow.position, rate: flow.rate });
            self.flows.push(flow);
        }
        if turn.after[receiver] == 0.0 {
            let k = receiver - turn.demand.senders();
            set(&mut self.open[1], k, false);
            set(&mut turn.work.opened[1], k, false);
        }
        if turn.after[sender] == 0.0 {
            set(&mut self.open[0], sender, false);
        }
    }

    /// As [`Takers::begin`], the most loaded ports first (see [`by_load`](super::by_load)).
    fn begin_by_load(&mut self, turn: &mut Turn<'_>, anywhere: bool) {
        if anywhere {
            turn.work.opened.clone_from(&self.open);
        }
        let demand = turn.demand;
        let mut ports = std::mem::take(&mut turn.work.by_load);
        ports.collect(demand, &self.open, &turn.work.opened);
        while let Some((sender, with_all)) = ports.next_sender(demand) {
            while turn.after[sender] > 0.0
                && let Some(position) = ports.next_flow(demand, sender)
            {
                let receiver = demand.receiver_of(position);
                let receivers = if with_all { &self.open[1] } else { &turn.work.opened[1] };
                if contains(receivers, receiver - demand.senders()) {
                    self.begin_flow(turn, position);
                    if turn.after[receiver] == 0.0 {
                        ports.close(demand, receiver);
                    }
                }
            }
        }
        turn.work.by_load = ports;
    }
}

/// One decision under way: `after` is what is left so far at the links that have moved, and what
/// was left in the end at the others.
struct Turn<'a> {
    demand: &'a Demand,
    capacity: &'a [f64],
    after: &'a mut [f64],
    work: &'a mut Work,
}

impl Turn<'_> {
    /// What is free at a local link is another amount now.
    fn set(&mut self, l: usize, free: f64) {
        if !std::mem::replace(&mut self.work.moved[l], true) {
            self.work.were.push((l as u32, self.after[l]));
        }
        self.after[l] = free;
    }

    /// What a flow leaves at its ends is another amount now.
    fn leave(&mut self, flow: &Taker) {
        let ([s, r], [at_sender, at_receiver]) = (flow.ends, flow.found);
        self.set(s as usize, self.rest(s as usize, at_sender, flow.rate));
        self.set(r as usize, self.rest(r as usize, at_receiver, flow.rate));
    }

    /// What is left at a link after a flow. What rounding leaves is nothing: a flow must not run
    /// because of it.
    fn rest(&self, l: usize, found: f64, rate: f64) -> f64 {
        let rest = found - rate;
        let negligible = || self.capacity[self.demand.links()[l].index()] * NEGLIGIBLE;
        if rate == 0.0 || rest > negligible() { rest } else { 0.0 }
    }

    /// Gives a flow, which had the rate `was`, the least of what is free on its links.
    fn take(&mut self, flow: &mut Taker, was: f64) {
        if !self.demand.is_bipartite() {
            let path = || self.demand.path(flow.position as usize);
            flow.rate = path().map(|l| self.after[l]).fold(f64::INFINITY, f64::min);
            path().for_each(|l| self.set(l, self.rest(l, self.after[l], flow.rate)));
            return;
        }
        let ([s, r], [at_sender, at_receiver]) = (flow.ends, flow.found);
        flow.rate = if at_sender < at_receiver { at_sender } else { at_receiver };
        // An end that has not moved stays as it is if the flow keeps its rate.
        for (l, found) in [(s as usize, at_sender), (r as usize, at_receiver)] {
            if flow.rate != was || self.work.moved[l] {
                self.set(l, self.rest(l, found, flow.rate));
            }
        }
    }
}

/// Whether a set of bits has a number.
pub(super) fn contains(set: &[u64], k: usize) -> bool {
    set[k / 64] >> (k % 64) & 1 == 1
}

/// Puts a number into a set of bits, or takes it out.
pub(super) fn set(set: &mut [u64], k: usize, value: bool) {
    set[k / 64] &= !(1 << (k % 64));
    set[k / 64] |= u64::from(value) << (k % 64);
}
