//! Matching on paths with inner links: the running flows of a coflow, and those that can begin.
//!
//! One piece of code for these and for [flows at ports](super::flows_at_ports) costs policies on the big switch 1.3 to
//! 1.7 % more instructions.

use std::ops::Range;

use super::blocked_flows::BlockedFlows;
use super::decision::Decision;
use crate::alloc::flow_rate::FlowRate;
use crate::alloc::rules::most_loaded_first::sort_most_loaded_first;
use crate::bits::bits;
use crate::marked_links::MarkedLinks;

/// A running flow.
#[derive(Debug, Clone, Copy)]
struct RunningFlow {
    position: u32,
    /// Number of links on its path.
    hops: u32,
    /// Bytes per second.
    rate: f64,
}

/// The flows of a coflow some of whose paths cross inner links.
#[derive(Debug, Default)]
pub struct FlowsOnPaths {
    /// Those that run, in the order in which they take.
    flows: Vec<RunningFlow>,
    /// The local links of their paths, flow after flow. The demand knows them too, but they are
    /// read here in a row: 2.6 % less CPU for `saath` on 80 % of the Facebook trace,
    /// `fat-tree:k=8,place=pack`.
    links: Vec<u32>,
    /// Bytes per second that were free there at the flow's turn.
    found: Vec<f64>,
    /// How many of `flows` cross each local link.
    running: Vec<u32>,
    /// The active flows, each at a full link.
    blocked: BlockedFlows,
}

/// Working memory: flows that may begin.
#[derive(Debug, Default)]
pub struct IdleFlows {
    /// Links that have opened and that no running flow crosses.
    opened_alone: Vec<u32>,
    /// Positions of flows that can begin.
    able: Vec<u32>,
}

impl FlowsOnPaths {
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
        self.running.clear();
    }

    /// Takes over what is free `before` the coflow at the links of `found`. Where no running flow crosses a link, all
    /// of it is left, which `left` receives. Returns whether any of the links is crossed by one.
    pub fn find(
        &mut self,
        decision: &mut Decision<'_>,
        (before, found): (&[f64], &MarkedLinks),
        left: &mut MarkedLinks,
        idle: &mut IdleFlows,
    ) -> bool {
        self.running.resize(before.len(), 0);
        let mut any_crossed = false;
        for at in found.used_words() {
            let mut differ = 0;
            for bit in bits([found.words()[at]].into_iter()) {
                let l = 64 * at + bit;
                if self.running[l] > 0 {
                    any_crossed = true;
                    decision.set(l, before[l]);
                    continue;
                }
                let was = std::mem::replace(&mut decision.after[l], before[l]);
                if was != before[l] {
                    differ |= 1 << bit;
                    if was <= 0.0 {
                        idle.opened_alone.push(l as u32);
                    }
                }
            }
            left.insert_all(at, differ);
        }
        any_crossed
    }

    /// Running flows take what is free now. `touched` says whether some may have ended.
    pub fn keep(
        &mut self,
        decision: &mut Decision<'_>,
        touched: bool,
        changes: &mut Vec<FlowRate>,
    ) {
        // Places in `flows` and in `links`: where the flows end that have come to their new place, and where those
        // begin that come to theirs next.
        let (mut kept, mut next) = ((0, 0), (0, 0));
        let mut at = 0;
        for k in 0..self.flows.len() {
            let flow = &mut self.flows[k];
            let path = at..at + flow.hops as usize;
            at = path.end;
            let links = &self.links[path.clone()];
            let is_dirty = links.iter().fold(false, |any, &l| any | decision.changed.is_dirty(l));
            let ended = touched && !decision.demand.is_active(flow.position as usize);
            if !(is_dirty || ended) {
                continue;
            }
            let was = flow.rate;
            let found = &mut self.found[path.clone()];
            decision.find(links, found);
            flow.rate = if ended { 0.0 } else { least(found) };
            decision.take(links, found, (was, flow.rate));
            if flow.rate != was {
                changes.push(FlowRate { position: flow.position, rate: flow.rate });
            }
            if flow.rate <= 0.0 {
                links.iter().for_each(|&l| self.running[l as usize] -= 1);
                self.move_up(&mut kept, next..(k, path.start));
                next = (k + 1, path.end);
            }
        }
        self.move_up(&mut kept, next..(self.flows.len(), at));
        self.flows.truncate(kept.0);
        self.links.truncate(kept.1);
        self.found.truncate(kept.1);
    }

    /// Moves some flows to where those that are `kept` end. Places are in `flows` and in `links`.
    fn move_up(&mut self, kept: &mut (usize, usize), from: Range<(usize, usize)>) {
        let (flows, links) = (from.start.0..from.end.0, from.start.1..from.end.1);
        let moved = (flows.len(), links.len());
        if kept.0 < flows.start {
            self.flows.copy_within(flows, kept.0);
            self.links.copy_within(links.clone(), kept.1);
            self.found.copy_within(links, kept.1);
        }
        *kept = (kept.0 + moved.0, kept.1 + moved.1);
    }

    /// Flows that ran before a decision from nothing take what is free.
    pub fn resume(
        &mut self,
        decision: &mut Decision<'_>,
        flows: &[u32],
        changes: &mut Vec<FlowRate>,
    ) {
        for position in flows.iter().map(|&position| position as usize) {
            let demand = decision.demand;
            let is_free = demand.path(position).all(|l| decision.after[l] > 0.0);
            if demand.is_active(position) && is_free {
                changes.push(self.begin_flow(decision, position));
            }
        }
    }

    /// Flows that do not run take what is left: those with a link that has opened, or all (`anywhere`); in order of
    /// position, or the most loaded ports first.
    pub fn begin(
        &mut self,
        decision: &mut Decision<'_>,
        anywhere: bool,
        most_loaded_first: bool,
        idle: &mut IdleFlows,
        changes: &mut Vec<FlowRate>,
    ) {
        let demand = decision.demand;
        let IdleFlows { opened_alone, able } = idle;
        if anywhere {
            self.blocked.forget();
        }
        let has_opened = |&&(l, was): &&(u32, f64)| was <= 0.0 && decision.after[l as usize] > 0.0;
        let opened = decision.changed.were().iter().filter(has_opened).map(|(l, _)| l);
        let opened = opened.chain(&*opened_alone).map(|&l| l as usize);
        self.blocked.find_able(demand, decision.after, opened, able);
        opened_alone.clear();
        if most_loaded_first {
            sort_most_loaded_first(demand, able);
        }
        for position in able.drain(..).map(|p| p as usize) {
            if !self.blocked.note(demand, position, decision.after) {
                changes.push(self.begin_flow(decision, position));
                self.blocked.note(demand, position, decision.after);
            }
        }
        self.blocked.end(demand, decision.after);
    }

    /// A flow takes what is free on its path.
    fn begin_flow(&mut self, decision: &mut Decision<'_>, position: usize) -> FlowRate {
        let first = self.links.len();
        self.links.extend_from_slice(&decision.demand.whole_path(position));
        let links = &self.links[first..];
        self.found.extend(links.iter().map(|&l| decision.after[l as usize]));
        let found = &self.found[first..];
        let rate = least(found);
        decision.take(links, found, (0.0, rate));
        links.iter().for_each(|&l| self.running[l as usize] += 1);
        let position = position as u32;
        self.flows.push(RunningFlow { position, hops: links.len() as u32, rate });
        FlowRate { position, rate }
    }
}

/// The least of what a flow has found free on its path.
fn least(found: &[f64]) -> f64 {
    found.iter().copied().fold(f64::INFINITY, f64::min)
}
