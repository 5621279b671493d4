//! All flows present in order of priority: one after another, each takes all that is free on its
//! links.
//!
//! Schedulers that serve flows one by one (first come first served, shortest remaining first) have
//! no order of coflows but one of flows, of which there may be hundreds of thousands. They are kept
//! by pair of ports. Of the flows of a pair only the first can run: what it takes fills one of the
//! two links. So a round deals with the first flow of each pair, and among these only with those
//! that the round concerns.
//!
//! When a flow ends, what it leaves at its two links goes to flows of lower priority. A link is
//! then *open* from the flow's priority on: flows of lower priority give their share of the link
//! back, and open links look for the next flow, highest priority first. A flow is eligible if its
//! other link has spare capacity or is held by a flow of lower priority. That flow gives its share
//! back, so its other link opens in turn. A priority that has been dealt with is not looked at
//! again, for links are only open below it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::coming::Coming;
use super::flow_order::{FlowOrder, Member, Precedence, Priority, WAITS};
use super::running_flows::{Running, RunningFlows};
use crate::alloc::free_capacity::NEGLIGIBLE;
use crate::ids::{CoflowId, LinkId};
use crate::ordered::Ordered;
use crate::pairs::Pairs;
use crate::rounding::rounded_bytes;
use crate::state::State;

/// In place of a pair: not looked for yet.
const NOBODY: u32 = u32::MAX;
/// The first flow of a pair, as one of the pair's links sees it.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    priority: Priority,
    pair: u32,
    /// The pair's other link.
    other: u32,
}

/// All flows present, those that run, and at what rates.
#[derive(Debug, Default)]
pub struct PriorityFlows {
    order: FlowOrder,
    /// Number of flows that have joined so far.
    joined: u64,
    /// Flows that have started since the last allocation.
    coming: Coming,
    /// Links on which flows have ended since then, with the flows' priorities.
    freed: Vec<(usize, Priority)>,
    /// The flows of each pair.
    pairs: Pairs<Member, 0>,
    /// By link, the first flows of its pairs, the highest priority last. A flow that runs keeps the
    /// priority that it had when it last waited, so that it costs no more to stop and go on.
    waiting: Vec<Vec<Waiting>>,
    running: RunningFlows,
    links: LinkColumns,
    /// Open links, each with the priority and the pair of the next flow; or with a priority before
    /// which there is none.
    next: BinaryHeap<Reverse<(Priority, u32, u32)>>,
}

/// What is known of each link.
#[derive(Debug, Default)]
struct LinkColumns {
    /// The links below this number are egress links.
    ports: usize,
    /// Bytes per second.
    capacity: Vec<f64>,
    /// Capacity left.
    free: Vec<f64>,
    /// Pairs that run on the link, by priority.
    pairs: Vec<Vec<u32>>,
    /// Priority of the flow that has filled the link; the last one if the link is not full.
    filled_at: Vec<Priority>,
    /// The priority behind which the link is open; the last one if the link is closed.
    open: Vec<Priority>,
    /// Priority of the link's latest entry in [`PriorityFlows::next`]; the last one if the link is
    /// closed.
    ahead: Vec<Priority>,
    /// Up to which priority the link is worth looking at from the other link of a flow: no flow
    /// behind the one that has filled it is eligible, and an open egress link looks by itself at
    /// all flows behind `ahead`.
    limit: Vec<Priority>,
}

impl LinkColumns {
    fn clear(&mut self, ports: usize, capacity: &[f64]) {
        self.ports = ports;
        let links = 2 * ports;
        self.capacity.clear();
        self.capacity.extend_from_slice(capacity);
        self.free.clone_from(&self.capacity);
        self.pairs.iter_mut().for_each(Vec::clear);
        self.pairs.resize_with(links, Vec::new);
        for column in [&mut self.filled_at, &mut self.open, &mut self.ahead, &mut self.limit] {
            column.clear();
            column.resize(links, Priority::LAST);
        }
    }

    fn set_open(&mut self, link: usize, priority: Priority) {
        self.open[link] = priority;
        self.set_ahead(link, priority);
    }

    fn set_ahead(&mut self, link: usize, priority: Priority) {
        self.ahead[link] = priority;
        self.set_limit(link);
    }

    fn set_filled_at(&mut self, link: usize, priority: Priority) {
        self.filled_at[link] = priority;
        self.set_limit(link);
    }

    fn set_limit(&mut self, link: usize) {
        let filled_at = self.filled_at[link];
        let is_egress = link < self.ports;
        self.limit[link] = if is_egress { filled_at.min(self.ahead[link]) } else { filled_at };
    }
}

impl PriorityFlows {
    /// No flow is present.
    pub(in crate::alloc) fn clear(
        &mut self,
        precedence: Precedence,
        ports: usize,
        capacity: &[f64],
    ) {
        self.order = FlowOrder::new(precedence, capacity);
        self.joined = 0;
        self.coming.clear();
        self.freed.clear();
        self.pairs.clear(ports);
        self.waiting.iter_mut().for_each(Vec::clear);
        self.waiting.resize_with(2 * ports, Vec::new);
        self.running.clear();
        self.links.clear(ports, capacity);
        self.next.clear();
    }

    /// The flows that run.
    pub(in crate::alloc) fn running(&self) -> &RunningFlows {
        &self.running
    }

    /// The flows that run, to bring what is left of them up to date.
    pub(in crate::alloc) fn running_mut(&mut self) -> &mut RunningFlows {
        &mut self.running
    }

    /// Rate of a flow in bytes per second.
    pub(in crate::alloc) fn rate_of(&self, state: &State, id: CoflowId, position: usize) -> f64 {
        let slot = self.pair_of(state, id, position).map_or(WAITS, |pair| self.slot(pair));
        match self.running.flow.get(slot as usize) {
            Some(flow) if *flow == (id, position as u32) => self.running.rate[slot as usize],
            _ => 0.0,
        }
    }

    /// Slot of a pair's first flow among those that run, or [`WAITS`].
    fn slot(&self, pair: usize) -> u32 {
        self.pairs.queue(pair).first().map_or(WAITS, |first| first.slot)
    }

    fn set_slot(&mut self, pair: usize, slot: usize) {
        if let Some(first) = self.pairs.queue_mut(pair).first_mut() {
            first.slot = slot as u32;
        }
    }

    /// The pair of a flow that has joined.
    fn pair_of(&self, state: &State, id: CoflowId, position: usize) -> Option<usize> {
        let (egress, ingress) = state.coflow(id).demand().end_links(position);
        self.pairs.find(egress.index(), ingress.index())
    }

    /// A flow has started; it joins with the next allocation.
    pub(in crate::alloc) fn join(&mut self, id: CoflowId, position: usize) {
        self.coming.push((id, position as u32));
    }

    /// A flow has ended.
    pub(in crate::alloc) fn leave(&mut self, state: &State, id: CoflowId, position: usize) {
        let flow = (id, position as u32);
        if self.coming.remove(flow) {
            return;
        }
        let Some(pair) = self.pair_of(state, id, position) else { return };
        let is_this = |m: &Member| (m.coflow, m.position) == flow;
        if self.pairs.queue(pair).first().is_some_and(is_this) {
            if self.slot(pair) != WAITS {
                // The flows that it kept waiting were behind it, and with nothing left it is before
                // all others.
                let before = self.stop(pair);
                let priority = self.order.priority(0.0, before.number);
                self.freed.extend(self.pairs.links(pair).map(|link| (link, priority)));
            }
            self.hide(pair);
            self.pairs.pop(pair);
            self.show(pair);
        } else {
            self.pairs.remove(pair, is_this);
        }
    }

    /// Lets flows take what is free. Bytes left of those that run are up to date.
    pub(in crate::alloc) fn advance(&mut self, state: &State) {
        self.running.stopped.clear();
        if self.order.changes() {
            self.update_priorities(state);
        }
        while let Some((link, priority)) = self.freed.pop() {
            self.open_from(link, priority);
        }
        let mut coming = std::mem::take(&mut self.coming);
        coming.iter().for_each(|(id, position)| self.enqueue(state, id, position));
        coming.clear();
        self.coming = coming;
        while let Some(Reverse((priority, link, pair))) = self.next.pop() {
            if pair != NOBODY && self.is_eligible(pair as usize, priority) {
                self.serve(pair as usize, priority);
                continue;
            }
            match self.next_eligible(link as usize) {
                Some((priority, pair)) => {
                    self.links.set_ahead(link as usize, priority);
                    self.next.push(Reverse((priority, link, pair as u32)));
                }
                None => self.links.set_open(link as usize, Priority::LAST),
            }
        }
    }

    /// Whether a pair's first flow, found with some `priority`, still has it and waits for links
    /// that are not filled before it.
    fn is_eligible(&self, pair: usize, priority: Priority) -> bool {
        let first = self.pairs.queue(pair).first();
        first.is_some_and(|first| first.slot == WAITS && first.priority == priority)
            && self.pairs.links(pair).iter().all(|&link| priority <= self.links.filled_at[link])
    }

    /// Brings the priorities of flows that run, and among which something has happened, up to date
    /// with what is left of them.
    ///
    /// They only rise, and so stay before all flows that they keep waiting. But where several share
    /// a link, one may have overtaken another; then all links are served again.
    fn update_priorities(&mut self, state: &State) {
        let mut shared = false;
        for slot in 0..self.running.count() {
            let links = self.pairs.links(self.running.queue[slot] as usize);
            if !state.has_events(LinkId(links[0] as u32)) {
                continue;
            }
            let before = self.running.priority[slot];
            self.running.priority[slot] =
                self.order.priority(self.running.left[slot], before.number);
            for link in links {
                if self.links.filled_at[link] == before {
                    self.links.set_filled_at(link, self.running.priority[slot]);
                }
                shared |= self.links.pairs[link].len() > 1;
            }
        }
        if shared {
            for link in 0..self.links.pairs.len() {
                while let Some(&pair) = self.links.pairs[link].last() {
                    self.give_back(pair as usize);
                }
                self.open_from(link, Priority::FIRST);
            }
        }
    }

    /// A flow joins the queue of its pair.
    fn enqueue(&mut self, state: &State, coflow: CoflowId, position: u32) {
        let (egress, ingress) = state.coflow(coflow).demand().end_links(position as usize);
        let links = [egress.index(), ingress.index()];
        let progress = state.coflow(coflow).progress();
        let left = progress.left[position as usize] * progress.scale;
        self.joined += 1;
        let priority = self.order.priority(left, self.joined);
        let mut first = Priority::LAST;
        if let Some(pair) = self.pairs.find(links[0], links[1]) {
            let runs = self.running.priority.get(self.slot(pair) as usize).copied();
            if let Some(runs) = runs {
                self.move_first(pair, runs);
            }
            first = self.pairs.queue(pair).first().map_or(Priority::LAST, |first| first.priority);
            if priority < first && runs.is_some() {
                let given_back = self.give_back(pair);
                links.iter().for_each(|&link| self.open_from(link, given_back));
            }
            if priority < first {
                self.hide(pair);
            }
        }
        let member = Member { priority, coflow, position, slot: WAITS, left: Ordered(left) };
        let pair = self.pairs.push(links[0], links[1], member);
        if priority < first {
            self.show(pair);
            if links.iter().all(|&link| priority <= self.links.filled_at[link]) {
                for link in links {
                    self.open_from(link, Priority { number: priority.number - 1, ..priority });
                }
            }
        }
    }

    /// Gives a pair's first flow another, higher priority.
    fn move_first(&mut self, pair: usize, priority: Priority) {
        if self.pairs.queue(pair).first().is_some_and(|first| first.priority != priority) {
            self.hide(pair);
            if let Some(first) = self.pairs.queue_mut(pair).first_mut() {
                first.priority = priority;
            }
            self.show(pair);
        }
    }

    /// Shows a pair's first flow, if it has any, to its links.
    fn show(&mut self, pair: usize) {
        let Some(Member { priority, .. }) = self.pairs.queue(pair).first().copied() else { return };
        let [egress, ingress] = self.pairs.links(pair);
        for (link, other) in [(egress, ingress), (ingress, egress)] {
            let (pair, other) = (pair as u32, other as u32);
            let at = self.behind(link, priority);
            self.waiting[link].insert(at, Waiting { priority, pair, other });
        }
    }

    /// Hides a pair's first flow from its links.
    fn hide(&mut self, pair: usize) {
        let Some(Member { priority, .. }) = self.pairs.queue(pair).first().copied() else { return };
        for link in self.pairs.links(pair) {
            let at = self.behind(link, priority);
            self.waiting[link].remove(at);
        }
    }

    /// How many of [`PriorityFlows::waiting`] at a link are behind a priority.
    fn behind(&self, link: usize, priority: Priority) -> usize {
        let waiting = &self.waiting[link];
        let all = waiting.len();
        // Mostly few are before it. So the search goes from the first on in steps that double: what
        // is far is not in the processor's caches.
        let mut step = 1;
        while step <= all && waiting[all - step].priority <= priority {
            step *= 2;
        }
        let (from, to) = (all.saturating_sub(step), all - step / 2);
        from + waiting[from..to].partition_point(|waiting| waiting.priority > priority)
    }

    /// Flows behind `priority` give their share of the link back, and the link is open from there on.
    fn open_from(&mut self, link: usize, priority: Priority) {
        self.clear_behind(link, priority);
        if self.links.open[link] == Priority::LAST || priority < self.links.open[link] {
            self.links.set_open(link, priority);
            self.next.push(Reverse((priority, link as u32, NOBODY)));
        }
    }

    /// Flows behind `priority` give their share of the link back.
    fn clear_behind(&mut self, link: usize, priority: Priority) {
        while let Some(&pair) = self.links.pairs[link].last() {
            let slot = self.slot(pair as usize) as usize;
            if self.running.priority[slot] <= priority {
                break;
            }
            let [egress, ingress] = self.pairs.links(pair as usize);
            let given_back = self.give_back(pair as usize);
            let other = if egress == link { ingress } else { egress };
            self.open_from(other, given_back);
        }
    }

    /// The first flow of a pair gives back what it has and waits again. Returns its priority.
    fn give_back(&mut self, pair: usize) -> Priority {
        let mut running = self.running.get(self.slot(pair) as usize);
        running.left = rounded_bytes(running.left, running.rate);
        let priority = self.stop(pair);
        // The priority is higher than before, so the flow stays the first.
        self.move_first(pair, priority);
        if let Some(first) = self.pairs.queue_mut(pair).first_mut() {
            first.left = Ordered(running.left);
        }
        self.running.stopped.push(running);
        priority
    }

    /// Takes what it has from a flow that runs. Returns its priority.
    fn stop(&mut self, pair: usize) -> Priority {
        let slot = self.slot(pair) as usize;
        self.set_slot(pair, WAITS as usize);
        let (priority, moved) = self.running.remove(slot);
        if let Some(moved) = moved {
            self.set_slot(moved as usize, slot);
        }
        for link in self.pairs.links(pair) {
            self.links.pairs[link].retain(|&other| other as usize != pair);
            let rates = self.links.pairs[link]
                .iter()
                .map(|&p| self.running.rate[self.slot(p as usize) as usize]);
            self.links.free[link] = self.links.capacity[link] - rates.sum::<f64>();
            self.links.set_filled_at(link, Priority::LAST);
        }
        priority
    }

    /// The next flow that is eligible for an open link: priority and pair. A flow that waits
    /// between two open links is found by the egress link alone.
    fn next_eligible(&self, link: usize) -> Option<(Priority, usize)> {
        let from = self.links.open[link];
        if from == Priority::LAST {
            return None;
        }
        let mut behind = self.waiting[link][..self.behind(link, from)].iter().rev();
        let is_eligible = |waiting: &&Waiting| {
            waiting.priority <= self.links.limit[waiting.other as usize]
                && self.slot(waiting.pair as usize) == WAITS
        };
        let next = behind.find(is_eligible)?;
        Some((next.priority, next.pair as usize))
    }

    /// The first flow of a pair takes all that is free on its links.
    fn serve(&mut self, pair: usize, priority: Priority) {
        let links = self.pairs.links(pair);
        for link in links {
            self.clear_behind(link, priority);
        }
        let Some(first) = self.pairs.queue(pair).first().copied() else { return };
        let rate = self.links.free[links[0]].min(self.links.free[links[1]]);
        self.set_slot(pair, self.running.count());
        let Member { coflow, position, left: Ordered(left), .. } = first;
        self.running.push(Running { coflow, position, rate, left }, pair as u32, priority);
        for link in links {
            self.links.pairs[link].push(pair as u32);
            self.links.free[link] -= rate;
            if self.links.free[link] > self.links.capacity[link] * NEGLIGIBLE {
                self.links.set_open(link, priority);
                self.next.push(Reverse((priority, link as u32, NOBODY)));
            } else {
                self.links.free[link] = 0.0;
                self.links.set_filled_at(link, priority);
                self.links.set_open(link, Priority::LAST);
            }
        }
    }
}
