//! All flows present in order of priority, on paths of any number of links: one after another, each
//! takes all that is free on its links.
//!
//! Flows form a queue if they have the same path. Of such a queue only the first flow can
//! run: what it takes fills one of its links.
//!
//! The first flow of a queue that does not run waits at one link that flows of higher priority
//! fill; that other links may be full as well does not matter as long as this one is. When a flow
//! ends or stops, its links have capacity again. Such a link offers it to the flows that wait
//! there, highest priority first. A flow that finds another of its links filled before it goes to
//! wait there. Else it is served: flows of lower priority on its links stop, it takes all that is
//! free, and those that have stopped look again, as do flows that wait at their links. All offers
//! are dealt with in one order of priority. So what flows of higher priority have is decided when a
//! flow looks, and a priority that has been dealt with is not looked at again.
//!
//! # Example
//!
//! Links a, b and c of 1 byte/s. Flow 1 crosses a and b, flow 2 crosses b and c, flow 3 crosses c;
//! 1 goes before 2 and 2 before 3. Flow 1 runs, flow 2 waits at b and flow 3 runs. When 1 ends, b
//! offers its capacity to flow 2. Its other link c is filled, but by flow 3, which is behind it:
//! flow 3 stops, flow 2 runs, and flow 3 waits at c.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::coming::Coming;
use super::flow_order::{FlowOrder, Member, Precedence, Priority};
use super::path_queues::PathQueues;
use super::running_flows::{Running, RunningFlows};
use crate::free_capacity::NEGLIGIBLE;
use covey_core::OptionalIndex;
use covey_core::Ordered;
use covey_core::rounded_bytes;
use covey_core::state::State;
use covey_core::{CoflowId, LinkId};

/// All flows present, those that run, and at what rates.
#[derive(Debug, Default)]
pub struct PriorityPaths {
    order: FlowOrder,
    /// Number of flows that have joined so far.
    joined: u64,
    /// Flows that have started since the last allocation.
    coming: Coming,
    queues: PathQueues,
    /// By queue, where its first flow waits.
    waits: Vec<Waits>,
    running: RunningFlows,
    links: Links,
    /// Links on which flows have ended or stopped, with the flows' priorities.
    freed: Vec<(u32, Priority)>,
    /// Flows that look for capacity, by priority.
    looking: BinaryHeap<Reverse<(Priority, Looking)>>,
    /// Links on which one flow may have overtaken another; empty between allocations, as is
    /// `overtaken`.
    shared: Vec<u32>,
    /// Queues of flows that were overtaken or are behind these.
    overtaken: Vec<u32>,
}

/// Which flow looks for capacity. Of the same priority, one that waits at a link comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Looking {
    /// The first flow that waits at a link.
    AtLink(u32),
    /// The first flow of a queue.
    OfQueue(u32),
}

/// Where a flow waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waits {
    /// The flow's priority.
    priority: Priority,
    /// The link; none if the flow runs, or is to look for capacity.
    at: OptionalIndex,
}

impl Waits {
    const NOWHERE: Waits = Waits { priority: Priority::LAST, at: OptionalIndex::NONE };
}

/// What is known of each link.
#[derive(Debug, Default)]
struct Links {
    /// Bytes per second.
    capacity: Vec<f64>,
    /// Capacity left.
    free: Vec<f64>,
    /// Queues whose first flows run on the link, by priority.
    running: Vec<Vec<u32>>,
    /// Priority of the flow that has filled the link; the last one if the link is not full.
    filled_at: Vec<Priority>,
    /// Queues whose first flows wait at the link. An entry counts if the queue's first flow still
    /// has this priority and still waits there, as [`PriorityPaths::waits`] tells.
    waiting: Vec<BinaryHeap<Reverse<(Priority, u32)>>>,
    /// Whether the link is in [`PriorityPaths::looking`].
    is_offering: Vec<bool>,
}

impl Links {
    fn clear(&mut self, capacity: &[f64]) {
        let links = capacity.len();
        self.capacity.clear();
        self.capacity.extend_from_slice(capacity);
        self.free.clone_from(&self.capacity);
        self.running.iter_mut().for_each(Vec::clear);
        self.running.resize_with(links, Vec::new);
        self.filled_at.clear();
        self.filled_at.resize(links, Priority::LAST);
        self.waiting.iter_mut().for_each(BinaryHeap::clear);
        self.waiting.resize_with(links, BinaryHeap::new);
        self.is_offering.clear();
        self.is_offering.resize(links, false);
    }
}

impl PriorityPaths {
    /// No flow is present.
    pub(crate) fn clear(&mut self, precedence: Precedence, capacity: &[f64]) {
        self.order = FlowOrder::new(precedence, capacity);
        self.joined = 0;
        self.coming.clear();
        self.queues.clear();
        self.running.clear();
        self.links.clear(capacity);
        self.freed.clear();
        self.looking.clear();
    }

    /// The flows that run.
    pub(crate) fn running(&self) -> &RunningFlows {
        &self.running
    }

    /// The flows that run, to bring what is left of them up to date.
    pub(crate) fn running_mut(&mut self) -> &mut RunningFlows {
        &mut self.running
    }

    /// Rate of a flow in bytes per second.
    pub(crate) fn rate_of(&self, state: &State, id: CoflowId, position: usize) -> f64 {
        let queue = self.queues.find(path(state, id, position));
        let slot = queue.and_then(|queue| self.slot(queue));
        match slot {
            Some(slot) if self.running.flow[slot] == (id, position as u32) => {
                self.running.rate[slot]
            }
            _ => 0.0,
        }
    }

    /// Slot of a queue's first flow among those that run; none if it does not run.
    fn slot(&self, queue: usize) -> Option<usize> {
        self.queues.first(queue)?.slot.get().map(|slot| slot as usize)
    }

    /// Slot of the first flow of a queue that is among those that run.
    fn slot_of_running(&self, queue: u32) -> usize {
        self.slot(queue as usize).expect("it runs")
    }

    fn set_slot(&mut self, queue: usize, slot: Option<usize>) {
        if let Some(first) = self.queues.first_mut(queue) {
            first.slot = slot.map(|slot| slot as u32).into();
        }
    }

    /// A flow has started; it joins with the next allocation.
    pub(crate) fn join(&mut self, id: CoflowId, position: usize) {
        self.coming.push((id, position as u32));
    }

    /// A flow has ended.
    pub(crate) fn leave(&mut self, state: &State, id: CoflowId, position: usize) {
        let flow = (id, position as u32);
        if self.coming.remove(flow) {
            return;
        }
        let Some(queue) = self.queues.find(path(state, id, position)) else { return };
        let is_this = |m: &Member| (m.coflow, m.position) == flow;
        if !self.queues.first(queue).is_some_and(is_this) {
            self.queues.remove(queue, is_this);
            return;
        }
        if self.slot(queue).is_some() {
            // The flows that it kept waiting were behind it, and with nothing left it is before all
            // others.
            let before = self.stop(queue);
            let priority = self.order.priority(0.0, before.number);
            self.freed.extend(self.queues.links(queue).iter().map(|&link| (link, priority)));
        }
        self.queues.pop(queue);
        self.look(queue);
    }

    /// Lets flows take what is free. Bytes left of those that run are up to date.
    pub(crate) fn advance(&mut self, state: &State) {
        self.running.stopped.clear();
        if self.order.changes() {
            self.update_priorities(state);
        }
        self.offer_freed();
        let mut coming = std::mem::take(&mut self.coming);
        coming.iter().for_each(|(id, position)| self.enqueue(state, id, position));
        coming.clear();
        self.coming = coming;
        loop {
            self.offer_freed();
            match self.looking.pop() {
                Some(Reverse((_, Looking::AtLink(link)))) => self.offer_next(link),
                Some(Reverse((priority, Looking::OfQueue(queue)))) => {
                    let first = self.queues.first(queue as usize);
                    let waits = |it: &Member| it.slot == OptionalIndex::NONE;
                    if first.is_some_and(|it| waits(it) && it.priority == priority) {
                        self.find_capacity(queue as usize, priority);
                    }
                }
                None => break,
            }
        }
    }

    /// Brings the priorities of flows that run, and among which something has happened, up to date
    /// with what is left of them.
    ///
    /// They only rise, and so stay before all flows that they keep waiting. But where several share
    /// a link, one may have overtaken another. Then the flows that were overtaken and those behind
    /// them look again.
    fn update_priorities(&mut self, state: &State) {
        for slot in 0..self.running.count() {
            let queue = self.running.queue[slot];
            let links = self.queues.links(queue as usize);
            if !links.first().is_some_and(|&link| state.has_events(LinkId(link))) {
                continue;
            }
            let before = self.running.priority[slot];
            let priority = self.order.priority(self.running.left[slot], before.number);
            self.running.priority[slot] = priority;
            for &link in links {
                if self.links.filled_at[link as usize] == before {
                    self.links.filled_at[link as usize] = priority;
                }
                // Once a link, as something has happened among all flows there or among none.
                if let [_, .., last] = self.links.running[link as usize][..]
                    && last == queue
                {
                    self.shared.push(link);
                }
            }
        }
        // On all links before the first flow gives back: it would no longer be seen on its other
        // links.
        for &link in &self.shared {
            let running = &self.links.running[link as usize];
            self.overtaken.extend_from_slice(&running[self.in_order(link as usize)..]);
        }
        self.shared.clear();
        while let Some(queue) = self.overtaken.pop() {
            if self.slot(queue as usize).is_some() {
                self.give_back(queue as usize);
            }
        }
    }

    /// How many of the flows that run on a link, from the first on, no later one has overtaken.
    fn in_order(&self, link: usize) -> usize {
        let running = &self.links.running[link];
        let mut in_order = running.len();
        let mut first_behind = Priority::LAST;
        for (place, &queue) in running.iter().enumerate().rev() {
            let priority = self.running.priority[self.slot_of_running(queue)];
            if priority > first_behind {
                in_order = place;
            }
            first_behind = first_behind.min(priority);
        }
        in_order
    }

    /// A flow joins the queue of its path.
    fn enqueue(&mut self, state: &State, coflow: CoflowId, position: u32) {
        let path = path(state, coflow, position as usize);
        let progress = state.coflow(coflow).progress();
        let left = progress.left[position as usize] * progress.scale;
        self.joined += 1;
        let priority = self.order.priority(left, self.joined);
        if let Some(queue) = self.queues.find(path.clone()) {
            let runs = self.slot(queue).map(|slot| self.running.priority[slot]);
            if runs.is_some_and(|runs| priority < runs) {
                self.give_back(queue);
            } else if let (Some(runs), Some(first)) = (runs, self.queues.first_mut(queue)) {
                // Higher than before, so that the flow stays the first.
                first.priority = runs;
            }
        }
        let member =
            Member { priority, coflow, position, slot: OptionalIndex::NONE, left: Ordered(left) };
        let queue = self.queues.push(path, member);
        self.waits.resize(self.waits.len().max(self.queues.bound()), Waits::NOWHERE);
        if self.queues.first(queue) == Some(&member) {
            self.look(queue);
        }
    }

    /// The first flow of a queue, if it has any, is to look for capacity.
    fn look(&mut self, queue: usize) {
        if let Some(waits) = self.waits.get_mut(queue) {
            *waits = Waits::NOWHERE;
        }
        if let Some(first) = self.queues.first(queue) {
            self.looking.push(Reverse((first.priority, Looking::OfQueue(queue as u32))));
        }
    }

    /// On links that flows have left, those behind them stop, and those that wait there may look.
    fn offer_freed(&mut self) {
        while let Some((link, priority)) = self.freed.pop() {
            self.clear_behind(link as usize, priority);
            self.offer(link);
        }
    }

    /// The first flow that waits at a link is to look for capacity.
    fn offer(&mut self, link: u32) {
        let first = self.links.waiting[link as usize].peek();
        let is_offering = &mut self.links.is_offering[link as usize];
        if let (Some(Reverse((priority, _))), false) = (first, *is_offering) {
            self.looking.push(Reverse((*priority, Looking::AtLink(link))));
            *is_offering = true;
        }
    }

    /// The first flow that waits at a link looks for capacity, and others that wait there, as long
    /// as it is their turn.
    fn offer_next(&mut self, link: u32) {
        self.links.is_offering[link as usize] = false;
        while let Some(&Reverse((priority, queue))) = self.links.waiting[link as usize].peek() {
            if self.links.filled_at[link as usize] < priority {
                return;
            }
            let is_next = |Reverse((first, _)): &Reverse<(Priority, Looking)>| *first < priority;
            if !self.freed.is_empty() || self.looking.peek().is_some_and(is_next) {
                return self.offer(link);
            }
            self.links.waiting[link as usize].pop();
            if self.waits[queue as usize] == (Waits { priority, at: OptionalIndex::some(link) }) {
                self.find_capacity(queue as usize, priority);
            }
        }
    }

    /// The first flow of a queue, which has this priority and does not run, takes what is free on
    /// its links; or it waits at one that is filled before it.
    fn find_capacity(&mut self, queue: usize, priority: Priority) {
        let links = self.queues.links(queue);
        let full = links.iter().find(|&&link| self.links.filled_at[link as usize] < priority);
        if let Some(&at) = full {
            self.waits[queue] = Waits { priority, at: OptionalIndex::some(at) };
            self.links.waiting[at as usize].push(Reverse((priority, queue as u32)));
            return;
        }
        self.waits[queue] = Waits::NOWHERE;
        if let Some(&first) = self.queues.first(queue) {
            self.serve(queue, first);
        }
    }

    /// Flows behind `priority` give their share of the link back.
    fn clear_behind(&mut self, link: usize, priority: Priority) {
        while let Some(&queue) = self.links.running[link].last() {
            if self.running.priority[self.slot_of_running(queue)] <= priority {
                break;
            }
            self.give_back(queue as usize);
        }
    }

    /// The first flow of a queue gives back what it has and looks again.
    fn give_back(&mut self, queue: usize) {
        let mut running = self.running.get(self.slot_of_running(queue as u32));
        running.left = rounded_bytes(running.left, running.rate);
        let priority = self.stop(queue);
        if let Some(first) = self.queues.first_mut(queue) {
            // The priority is higher than before, so the flow stays the first.
            first.priority = priority;
            first.left = Ordered(running.left);
        }
        self.running.stopped.push(running);
        self.freed.extend(self.queues.links(queue).iter().map(|&link| (link, priority)));
        self.look(queue);
    }

    /// Takes what it has from a flow that runs. Returns its priority.
    fn stop(&mut self, queue: usize) -> Priority {
        let slot = self.slot_of_running(queue as u32);
        self.set_slot(queue, None);
        let (priority, moved) = self.running.remove(slot);
        if let Some(moved) = moved {
            self.set_slot(moved as usize, Some(slot));
        }
        for &link in self.queues.links(queue) {
            let link = link as usize;
            let running = &mut self.links.running[link];
            running.retain(|&other| other as usize != queue);
            let slots =
                running.iter().filter_map(|&other| self.queues.first(other as usize)?.slot.get());
            let rates = slots.map(|slot| self.running.rate[slot as usize]);
            self.links.free[link] = self.links.capacity[link] - rates.sum::<f64>();
            self.links.filled_at[link] = Priority::LAST;
        }
        priority
    }

    /// The first flow of a queue, of which no link is filled before it, takes all that is free on
    /// its links.
    fn serve(&mut self, queue: usize, first: Member) {
        for k in 0..self.queues.links(queue).len() {
            self.clear_behind(self.queues.links(queue)[k] as usize, first.priority);
        }
        let links = self.queues.links(queue);
        let free = links.iter().map(|&link| self.links.free[link as usize]);
        let rate = free.fold(f64::INFINITY, f64::min);
        for &link in links {
            let link = link as usize;
            self.links.running[link].push(queue as u32);
            self.links.free[link] -= rate;
            if self.links.free[link] <= self.links.capacity[link] * NEGLIGIBLE {
                self.links.free[link] = 0.0;
                self.links.filled_at[link] = first.priority;
            }
        }
        self.set_slot(queue, Some(self.running.count()));
        let Member { priority, coflow, position, left: Ordered(left), .. } = first;
        self.running.push(Running { coflow, position, rate, left }, queue as u32, priority);
    }
}

/// The links of a flow's path.
fn path(state: &State, id: CoflowId, position: usize) -> impl Iterator<Item = u32> + Clone + '_ {
    let demand = state.coflow(id).demand();
    demand.path(position).map(|l| demand.links()[l].0)
}
