//! Backfill: who runs on what the entries of a plan leave over.
//!
//! When a plan is new, what is left over is offered to its coflows in order, flow by flow, and each
//! flow takes all that is free on its links: within a coflow first the flows that run on leftovers
//! already, in the order in which they began, then sender by sender in order of first flow, and
//! within a sender in order of registration.
//!
//! While the plan stays in force, a flow keeps what it has taken. It loses only what the entries
//! need, last come first, and what is given back, by them or by flows that end, is offered in the
//! same order. So the end of one flow changes the rates of a few others, not of all that stand behind
//! it, and still no flow waits while all of its links have something free. In time what is left over
//! so falls into small pieces: when half as many flows again (and a few, see [`FEW`]) run on it as
//! when it was last handed out, it is handed out anew.

use super::grant::{Grant, Single};
use super::matching::{contains, set};
use super::{Allocator, NEGLIGIBLE};
use crate::demand::{Demand, bits};
use crate::fabric::Fabric;
use crate::ids::CoflowId;
use crate::plan::{Backfill, Group, Ranking, Rule};
use crate::state::State;

/// See above; so few more flows than [`FEW`] do not count.
const CROWDED: f64 = 1.5;
const FEW: f64 = 32.0;

/// A flow that runs on leftovers.
#[derive(Debug, Clone, Copy)]
struct Fill {
    position: u32,
    rate: f64,
    /// The rate before this walk.
    was: f64,
}

/// The flows of a coflow that run on leftovers, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Fills {
    flows: Vec<Fill>,
    /// The links at the two ends of each.
    ends: Vec<[u32; 2]>,
    /// Those of them at each link of the fabric, and where there are any, a bit each.
    at: Vec<u16>,
    links: Vec<u64>,
    /// Bytes per second in all.
    rate: f64,
    /// Times that flows of the coflow had begun when it was last offered anything.
    begun: Option<u32>,
    /// Places of the flows whose rate this walk has changed.
    altered: Vec<u32>,
    /// The walk that last changed any rate, and the new rates of the flows whose rate it has
    /// changed: first those that ran before, in order, then those that have begun.
    pub changed_in: u64,
    changes: Vec<Single>,
}

impl Fills {
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub fn singles(&self) -> impl Iterator<Item = Single> + '_ {
        self.flows.iter().map(|fill| Single { position: fill.position, rate: fill.rate })
    }

    pub fn changes(&self) -> &[Single] {
        &self.changes
    }

    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Use of local link `l`.
    pub fn used(&self, demand: &Demand, l: usize) -> f64 {
        let crosses = |fill: &&Fill| demand.path(fill.position as usize).any(|k| k == l);
        self.flows.iter().filter(crosses).map(|fill| fill.rate).sum()
    }

    pub fn clear(&mut self) {
        self.flows.clear();
        self.ends.clear();
        self.at.fill(0);
        self.links.fill(0);
        self.altered.clear();
        self.changes.clear();
        self.rate = 0.0;
        self.begun = None;
    }

    /// A flow begins.
    fn push(&mut self, fill: Fill, ends: [u32; 2], links: usize) {
        self.at.resize(links, 0);
        self.links.resize(links.div_ceil(64), 0);
        for link in ends.map(|link| link as usize) {
            self.at[link] += 1;
            set(&mut self.links, link, true);
        }
        self.altered.push(self.flows.len() as u32);
        self.flows.push(fill);
        self.ends.push(ends);
    }

    /// Whether flows run at some of these links.
    fn are_at(&self, links: &[u64]) -> bool {
        self.links.iter().zip(links).any(|(a, b)| a & b != 0)
    }

    /// All flows stop; those that were running are the first to take.
    fn stop(&mut self) {
        self.flows.iter_mut().for_each(|fill| fill.rate = 0.0);
        self.altered.extend(0..self.flows.len() as u32);
        self.begun = None;
    }

    /// Writes down what has changed in this walk, and forgets flows that run no more. Returns whether
    /// anything has changed.
    fn conclude(&mut self) -> bool {
        self.changes.clear();
        self.altered.sort_unstable();
        // Those before `next` have been looked at; of them the first `kept` run on.
        let (mut kept, mut next) = (0, 0);
        for k in self.altered.drain(..).map(|k| k as usize) {
            let fill = &mut self.flows[k];
            if fill.rate != fill.was {
                self.changes.push(Single { position: fill.position, rate: fill.rate });
                self.rate += fill.rate - fill.was;
                fill.was = fill.rate;
            }
            // It may have been altered more than once.
            if fill.rate == 0.0 && k >= next {
                for link in self.ends[k].map(|link| link as usize) {
                    self.at[link] -= 1;
                    set(&mut self.links, link, self.at[link] > 0);
                }
                if kept < next {
                    self.flows.copy_within(next..k, kept);
                    self.ends.copy_within(next..k, kept);
                }
                kept += k - next;
                next = k + 1;
            }
        }
        self.flows.drain(kept..next);
        self.ends.drain(kept..next);
        if self.flows.is_empty() {
            self.rate = 0.0;
        }
        !self.changes.is_empty()
    }
}

/// What is left over at the links, by link of the fabric.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    /// What the entries left at the end of the last walk, and what backfill leaves of that.
    offered: Vec<f64>,
    left: Vec<f64>,
    /// What counts as nothing.
    negligible: Vec<f64>,
    /// Links where `left` has changed other than by flows that take.
    moved: Vec<usize>,
    /// Whether backfill leaves something at a link.
    is_open: Vec<bool>,
    /// Links where it does, and those of them where it did not before; a bit each.
    open: Vec<u64>,
    opened: Vec<u64>,
    /// Links where flows begin, a bit each.
    egress: Vec<u64>,
    /// Coflows whose fills may have changed in this walk.
    changed: Vec<CoflowId>,
    /// Flows that run on leftovers, now and when they were last handed out.
    running: usize,
    handed_out: usize,
    ends: Ends,
}

/// Working memory: where a coflow's active flows have something left, by local number, a bit each.
#[derive(Debug, Default)]
struct Ends {
    senders: Vec<u64>,
    receivers: Vec<u64>,
    opened_receivers: Vec<u64>,
}

impl Leftovers {
    /// The plan is new, and this is what its entries have left.
    fn start(&mut self, free: &[f64], fabric: &Fabric) {
        let (capacity, ports) = (fabric.capacity(), fabric.ports() as usize);
        self.offered.clear();
        self.offered.extend_from_slice(free);
        self.left.clear();
        self.left.resize(free.len(), 0.0);
        self.negligible.clear();
        self.negligible.extend(capacity.iter().map(|capacity| capacity * NEGLIGIBLE));
        for set in [&mut self.open, &mut self.opened, &mut self.egress] {
            set.clear();
            set.resize(capacity.len().div_ceil(64), 0);
        }
        self.is_open.resize(capacity.len(), false);
        (0..ports).for_each(|link| set(&mut self.egress, link, true));
    }

    /// Nobody has taken anything.
    fn take_all_back(&mut self) {
        self.left.clone_from(&self.offered);
        self.running = 0;
        self.open.fill(0);
        self.is_open.fill(false);
        self.moved.clear();
        self.moved.extend(0..self.left.len());
    }

    /// Whether something is left at a link, and whether that is new.
    fn set_open(&mut self, link: usize, is_open: bool, is_new: bool) {
        self.is_open[link] = is_open;
        set(&mut self.open, link, is_open);
        set(&mut self.opened, link, is_new);
    }

    /// Whether more is taken than there is anywhere.
    fn is_overdrawn(&self) -> bool {
        self.moved.iter().any(|&link| self.left[link] < -self.negligible[link])
    }

    /// Whether it has fallen into too small pieces.
    fn is_crowded(&self) -> bool {
        self.running as f64 > CROWDED * self.handed_out as f64 + FEW
    }

    /// Finds out where something is left, and where that is new.
    fn find_open(&mut self) {
        self.opened.fill(0);
        while let Some(link) = self.moved.pop() {
            let is_open = self.left[link] > self.negligible[link];
            // It may occur more than once.
            let is_new = is_open && (!self.is_open[link] || contains(&self.opened, link));
            self.set_open(link, is_open, is_new);
        }
    }

    /// A flow takes all that is free on its links.
    fn take(&mut self, demand: &Demand, fill: &mut Fill, ends: [u32; 2]) {
        let mut rate = f64::INFINITY;
        for link in links(demand, fill, ends) {
            rate = rate.min(if self.is_open[link] { self.left[link] } else { 0.0 });
        }
        if rate > 0.0 {
            fill.rate += rate;
            for link in links(demand, fill, ends) {
                self.left[link] -= rate;
                if self.left[link] <= self.negligible[link] {
                    self.set_open(link, false, false);
                }
            }
        }
    }

    /// A flow gives back `rate` of what it has, or all.
    fn give_back(&mut self, demand: &Demand, fill: &mut Fill, ends: [u32; 2], rate: f64) {
        for link in links(demand, fill, ends) {
            self.left[link] += rate;
            self.moved.push(link);
        }
        fill.rate -= rate;
    }

    /// The flows of a coflow that are `meant` give back what they have.
    fn withdraw(
        &mut self,
        id: CoflowId,
        demand: &Demand,
        fills: &mut Fills,
        meant: impl Fn(&Fill) -> bool,
    ) {
        for (k, fill) in fills.flows.iter_mut().enumerate().filter(|(_, fill)| meant(fill)) {
            self.give_back(demand, fill, fills.ends[k], fill.rate);
            fills.altered.push(k as u32);
            self.changed.push(id);
        }
    }

    /// The flows of a coflow give back what is missing at links where more is taken than there is,
    /// the last to begin first.
    fn cut(&mut self, id: CoflowId, demand: &Demand, fills: &mut Fills) {
        for (k, fill) in fills.flows.iter_mut().enumerate().rev() {
            let links = || links(demand, fill, fills.ends[k]);
            let overdrawn = links().filter(|&l| self.left[l] < -self.negligible[l]);
            let missing = overdrawn.map(|link| -self.left[link]).fold(0.0, f64::max);
            if missing > 0.0 && fill.rate > 0.0 {
                // A flow must not run on because of what rounding leaves.
                let least = links().map(|l| self.negligible[l]).fold(0.0, f64::max);
                let rest = fill.rate - missing;
                let back = if rest > least { missing } else { fill.rate };
                self.give_back(demand, fill, fills.ends[k], back);
                fills.altered.push(k as u32);
                self.changed.push(id);
            }
        }
    }

    /// Whether active flows have open senders and open receivers, and a link that has opened unless
    /// it may be `anywhere`.
    fn may_take(&self, demand: &Demand, anywhere: bool) -> bool {
        let (mut senders, mut receivers, mut opened) = (0, 0, 0);
        for (w, active) in demand.active_links().iter().enumerate() {
            let here = active & self.open[w];
            senders |= here & self.egress[w];
            receivers |= here & !self.egress[w];
            opened |= here & self.opened[w];
        }
        senders != 0 && receivers != 0 && (anywhere || opened != 0)
    }

    /// Offers what is left to a coflow: at links that have opened, or `anywhere`.
    fn offer(&mut self, id: CoflowId, demand: &Demand, fills: &mut Fills, anywhere: bool) {
        if !self.may_take(demand, anywhere) {
            return;
        }
        self.changed.push(id);
        // Where a flow runs already nothing was left at one of its links; of those inside the fabric
        // none is counted.
        if anywhere || !demand.is_bipartite() || fills.are_at(&self.opened) {
            for (fill, (k, ends)) in fills.flows.iter_mut().zip(fills.ends.iter().enumerate()) {
                let [from, to] = ends.map(|link| self.is_open[link as usize]);
                if from & to && demand.is_active(fill.position as usize) {
                    self.take(demand, fill, *ends);
                    fills.altered.push(k as u32);
                }
            }
        }
        if demand.is_bipartite() {
            self.begin_between_ends(demand, fills, anywhere);
        } else {
            demand.active().for_each(|position| self.begin(demand, fills, position));
        }
    }

    /// A flow that does not run takes what is free on its links.
    fn begin(&mut self, demand: &Demand, fills: &mut Fills, position: usize) {
        let mut fill = Fill { position: position as u32, rate: 0.0, was: 0.0 };
        let (sender, receiver) = demand.ends(position);
        let ends = [sender, receiver].map(|l| demand.links()[l].index() as u32);
        self.take(demand, &mut fill, ends);
        if fill.rate > 0.0 {
            fills.push(fill, ends, self.left.len());
            self.running += 1;
        }
    }

    /// Flows begin between an open sender and an open receiver, one of which has opened unless it
    /// may be `anywhere`.
    fn begin_between_ends(&mut self, demand: &Demand, fills: &mut Fills, anywhere: bool) {
        let mut ends = std::mem::take(&mut self.ends);
        ends.find(demand, self, anywhere);
        for w in 0..ends.senders.len() {
            for bit in bits([ends.senders[w]].into_iter()) {
                let sender = w * 64 + bit;
                let opened = contains(&self.opened, demand.links()[sender].index());
                self.begin_at(demand, fills, sender, anywhere || opened, &mut ends);
            }
        }
        self.ends = ends;
    }

    /// The same at one sender, with all open receivers, or those that have opened.
    fn begin_at(
        &mut self,
        demand: &Demand,
        fills: &mut Fills,
        sender: usize,
        with_all: bool,
        ends: &mut Ends,
    ) {
        let (links, senders) = (demand.links(), demand.senders());
        let (row, is_regular) = (demand.row(sender).start, demand.is_regular(sender));
        for (w, &active) in demand.row_bits(sender).iter().enumerate() {
            let mut candidates = active;
            if is_regular {
                candidates &= ends.among(with_all)[w];
            }
            for bit in bits([candidates].into_iter()) {
                let position = row + w * 64 + bit;
                let receiver = demand.receiver_of(position);
                if !contains(ends.among(with_all), receiver - senders) {
                    continue;
                }
                self.begin(demand, fills, position);
                if !self.is_open[links[receiver].index()] {
                    set(&mut ends.receivers, receiver - senders, false);
                    set(&mut ends.opened_receivers, receiver - senders, false);
                }
                if !self.is_open[links[sender].index()] {
                    return;
                }
            }
        }
    }
}

impl Ends {
    /// Finds the ends of active flows that matter. Where no receiver has opened, senders that have
    /// not do not; where no sender has, receivers that have not do not.
    fn find(&mut self, demand: &Demand, leftovers: &Leftovers, anywhere: bool) {
        let senders = demand.senders();
        let Leftovers { open, opened, egress, .. } = leftovers;
        self.senders.clear();
        self.senders.resize(senders.div_ceil(64), 0);
        for set in [&mut self.receivers, &mut self.opened_receivers] {
            set.clear();
            set.resize(demand.receivers().div_ceil(64), 0);
        }
        let active = || demand.active_links().iter().zip(egress);
        let any = |side: fn(u64, u64) -> u64| {
            let mut here = active().zip(opened);
            anywhere || here.any(|((active, egress), opened)| side(active & opened, *egress) != 0)
        };
        let at_senders = any(|links, egress| links & egress);
        let at_receivers = any(|links, egress| links & !egress);
        let sets = active().zip(open.iter().zip(opened));
        let here = sets.map(|((active, egress), (open, opened))| {
            let senders = if at_receivers { *open } else { *opened };
            let receivers = if at_senders { *open } else { *opened };
            active & (senders & egress | receivers & !egress)
        });
        for link in bits(here) {
            let l = demand.local(link);
            if l < senders {
                set(&mut self.senders, l, true);
            } else {
                set(&mut self.receivers, l - senders, true);
                set(&mut self.opened_receivers, l - senders, contains(opened, link));
            }
        }
    }

    /// Open receivers: all, or those that have opened.
    fn among(&self, all: bool) -> &[u64] {
        if all { &self.receivers } else { &self.opened_receivers }
    }
}

/// The links of a flow in the fabric, those at its ends first.
fn links<'a>(
    demand: &'a Demand,
    fill: &Fill,
    ends: [u32; 2],
) -> impl Iterator<Item = usize> + Clone + 'a {
    let inner = demand.inner_path(fill.position as usize).map(|l| demand.links()[l].index());
    ends.into_iter().map(|link| link as usize).chain(inner)
}

/// The coflows that leftovers may be offered to, in order.
fn coflows(ranking: &Ranking) -> impl DoubleEndedIterator<Item = CoflowId> + '_ {
    ranking.entries.iter().filter_map(|entry| match entry.group {
        Group::Coflow(id) if entry.rule != Rule::Hold => Some(id),
        _ => None,
    })
}

impl Allocator {
    /// Hands out what the entries have left over. To be called when all of them have been served.
    pub(super) fn backfill(&mut self, state: &State, ranking: &Ranking) {
        if ranking.backfill == Backfill::None && (!self.is_new || self.leftovers.running == 0) {
            return;
        }
        let mut leftovers = std::mem::take(&mut self.leftovers);
        if self.is_new {
            leftovers.start(&self.free, state.fabric());
        } else {
            self.keep_what_fits(state, ranking, &mut leftovers);
        }
        let anew = self.is_new || leftovers.is_crowded();
        if anew {
            leftovers.take_all_back();
            for &id in state.present() {
                let fills = &mut self.grants[id.index()].fills;
                fills.stop();
                leftovers.running += fills.flows.len();
                leftovers.changed.push(id);
            }
        }
        leftovers.find_open();
        if ranking.backfill != Backfill::None {
            self.offer_all(state, ranking, &mut leftovers);
        }
        while let Some(id) = leftovers.changed.pop() {
            let fills = &mut self.grants[id.index()].fills;
            if fills.changed_in != self.walk {
                let ran = fills.flows.len();
                if fills.conclude() {
                    fills.changed_in = self.walk;
                    leftovers.running -= ran - fills.flows.len();
                    self.report(id);
                }
            }
        }
        if anew {
            leftovers.handed_out = leftovers.running;
        }
        self.leftovers = leftovers;
    }

    /// Takes back what flows that have ended had, and what the entries need now.
    fn keep_what_fits(&mut self, state: &State, ranking: &Ranking, leftovers: &mut Leftovers) {
        let links = leftovers.left.len();
        for link in bits(self.moved.iter().copied()).take_while(|&link| link < links) {
            leftovers.left[link] += self.free[link] - leftovers.offered[link];
            leftovers.offered[link] = self.free[link];
            leftovers.moved.push(link);
        }
        for &(id, position) in self.work.ended.iter().rev() {
            if state.is_present(id) {
                let fills = &mut self.grants[id.index()].fills;
                let is_it = |fill: &Fill| fill.position == position;
                leftovers.withdraw(id, state.coflow(id).demand(), fills, is_it);
            }
        }
        if ranking.backfill == Backfill::Skipped {
            for id in coflows(ranking) {
                let Grant { main, fills, .. } = &mut self.grants[id.index()];
                if !main.is_empty() {
                    fills.begun = None;
                    leftovers.withdraw(id, state.coflow(id).demand(), fills, |_| true);
                }
            }
        }
        if leftovers.is_overdrawn() {
            for id in coflows(ranking).rev() {
                let fills = &mut self.grants[id.index()].fills;
                leftovers.cut(id, state.coflow(id).demand(), fills);
            }
        }
    }

    /// Offers what is left to all coflows, in order.
    fn offer_all(&mut self, state: &State, ranking: &Ranking, leftovers: &mut Leftovers) {
        for id in coflows(ranking) {
            if leftovers.open.iter().all(|word| *word == 0) {
                return;
            }
            let Grant { main, fills, .. } = &mut self.grants[id.index()];
            if ranking.backfill == Backfill::Greedy || main.is_empty() {
                let coflow = state.coflow(id);
                let begun = Some(coflow.begun());
                let anywhere = std::mem::replace(&mut fills.begun, begun) != begun;
                leftovers.offer(id, coflow.demand(), fills, anywhere);
            }
        }
    }
}
