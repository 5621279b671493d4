//! Coflows that get nothing because none of their flows can be sent.
//!
//! Where links go to one coflow after another, most of those that wait can send nothing: each of their
//! flows has an end where nothing is left. Such a coflow changes nothing for those behind it, and of
//! what it finds no more need be kept than where there is anything, a bit a link. When it can send at
//! last, what it finds is worked out from what was offered to the first coflow of the line and what
//! those before it have left.

use super::Allocator;
use super::grant::{CoflowAllocation, Which};
use super::matching::{contains, set};
use super::turns::Wait;
use crate::demand::Demand;
use crate::ids::CoflowId;
use crate::plan::{Entry, Group, Rank, Rule};
use crate::state::State;

/// Whether a coflow is idle, and where it finds anything.
#[derive(Debug, Default)]
pub(super) struct Idle {
    is: bool,
    /// Bits of the words of [`Demand::set`].
    open: Vec<u64>,
}

/// Those who are served one after another, from what the one before leaves.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// What the first is offered at each link.
    pub base: Vec<f64>,
    /// Who has something on this walk, in order.
    pub takers: Vec<(CoflowId, Which)>,
    work: Work,
}

#[derive(Debug, Default)]
struct Work {
    free: Vec<f64>,
    /// Local senders, and receivers as bits by local number, where there is anything.
    senders: Vec<usize>,
    receivers: Vec<u64>,
}

impl Idle {
    pub fn is(&self) -> bool {
        self.is
    }

    /// The coflow, which found `before` at its links, got nothing.
    pub fn begin(&mut self, demand: &Demand, before: &[f64]) {
        self.is = true;
        self.open.clear();
        self.open.resize(demand.set().words().len(), 0);
        for (link, before) in demand.links().iter().map(|link| link.index()).zip(before) {
            let open = &mut self.open[demand.set().word_of(link)];
            *open |= u64::from(*before > 0.0) << (link % 64);
        }
    }

    pub fn end(&mut self) {
        self.is = false;
    }

    /// The coflow is idle, and where it finds anything is known.
    pub fn resume(&mut self) {
        self.is = true;
    }

    /// Where it finds anything: bits of the words of [`Demand::set`].
    pub fn open(&self) -> &[u64] {
        &self.open
    }

    /// The coflow is idle, and finds something where `open` says so.
    pub fn resume_with(&mut self, open: impl Iterator<Item = u64>) {
        self.is = true;
        self.open.clear();
        self.open.extend(open);
    }

    /// The coflow finds something where `is_open` says so of links of the fabric.
    pub fn set_open(&mut self, demand: &Demand, is_open: impl Fn(usize) -> bool) {
        self.open.clear();
        self.open.resize(demand.set().words().len(), 0);
        for link in demand.links().iter().map(|link| link.index()) {
            self.open[demand.set().word_of(link)] |= u64::from(is_open(link)) << (link % 64);
        }
    }

    /// Takes down where there is anything (`open`), at those of the coflow's links that have `moved`.
    /// Returns whether that is new anywhere.
    pub fn see(&mut self, demand: &Demand, moved: &[u64], open: &[u64]) -> bool {
        let mut has_opened = false;
        for (word, was) in demand.set().words().iter().zip(&mut self.open) {
            let here = word.bits & moved[word.at as usize];
            let now = here & open[word.at as usize];
            has_opened |= now & !*was != 0;
            *was = *was & !here | now;
        }
        has_opened
    }

    /// Takes down at which of the coflow's links there is anything. Returns whether that is new anywhere.
    pub fn find(&mut self, demand: &Demand, open: &[u64]) -> bool {
        let mut has_opened = false;
        for (was, word) in self.open.iter_mut().zip(demand.set().words()) {
            let here = open[word.at as usize] & word.bits;
            has_opened |= here & !std::mem::replace(was, here) != 0;
        }
        has_opened
    }

    /// Whether an entry for the coflow, or for a flow of it, would give anything now.
    pub fn can_send(&self, demand: &Demand, entry: &Entry, chain: &mut Chain) -> bool {
        if let Group::Flow(flow) = entry.group {
            let position = demand.position(flow.index);
            let is_open =
                |link: usize| self.open[demand.set().word_of(link)] >> (link % 64) & 1 == 1;
            return demand.is_active(position)
                && demand.path(position).all(|l| is_open(demand.links()[l].index()));
        }
        let mut active = demand.active_links().iter().zip(&self.open);
        if needs_all(entry.rule) {
            active.all(|(active, open)| active & !open == 0)
        } else {
            chain.work.has_open_flow(demand, active.map(|(active, open)| active & open))
        }
    }
}

/// The most flows of a coflow that waits flow by flow. One with more is looked at on each walk: that costs
/// less.
const MOST: u32 = 16;

/// Finds out where those are to wait to whom an entry gives nothing: each flow at both its ends; or, where
/// its rule needs all links, at one of those where nothing is left. Of these it is the one that is `closed` by
/// the first in line, for that one stays closed longest; `None` if it is open. Returns whether the coflow can
/// wait.
pub(super) fn blocked_at(
    demand: &Demand,
    group: Group,
    rule: Rule,
    closed: impl Fn(usize) -> Option<Rank>,
    waits: &mut Vec<Wait>,
) -> bool {
    if let Group::Flow(flow) = group {
        let position = Some(demand.position(flow.index)).filter(|&p| demand.is_active(p));
        wait_for(demand, position.into_iter(), waits);
        return true;
    }
    if needs_all(rule) {
        let needed = demand.links().iter().zip(demand.count()).filter(|(_, count)| **count > 0);
        let closed = needed.filter_map(|(link, _)| Some((closed(link.index())?, link.0)));
        waits.extend(closed.min().map(|(_, link)| Wait::for_one(link)));
        return !waits.is_empty() || demand.unfinished() == 0;
    }
    if demand.unfinished() > MOST {
        return false;
    }
    wait_for(demand, demand.active(), waits);
    true
}

/// Flows at some positions wait at both their ends.
fn wait_for(demand: &Demand, flows: impl Iterator<Item = usize>, waits: &mut Vec<Wait>) {
    let link = |l: usize| demand.links()[l].0;
    if demand.is_bipartite() {
        let ends = flows.map(|p| demand.ends(p));
        waits.extend(ends.flat_map(|(s, r)| Wait::for_both(link(s), link(r))));
    } else {
        waits.extend(flows.flat_map(|p| demand.path(p)).map(|l| Wait::for_one(link(l))));
    }
}

/// Whether a rule would give anything to a coflow that may wait, for which something is left where `is_open`
/// says so of links; of one with many flows that is not known, and it is said that it would.
pub(super) fn may_get(demand: &Demand, rule: Rule, is_open: impl Fn(usize) -> bool) -> bool {
    let is_open = |l: usize| is_open(demand.links()[l].index());
    if needs_all(rule) {
        (0..demand.links().len()).all(|l| demand.count()[l] == 0 || is_open(l))
    } else {
        demand.unfinished() > MOST || demand.active().any(|p| demand.path(p).all(is_open))
    }
}

/// Whether a rule gives nothing when any link that the coflow needs is full.
fn needs_all(rule: Rule) -> bool {
    matches!(rule, Rule::AllOrNone | Rule::Madd | Rule::MaddWithin(_))
}

impl Allocator {
    /// Whether a part to which an entry gives nothing may be idle.
    pub(super) fn may_idle(&self, which: Which, entry: &Entry) -> bool {
        (which == self.whole() || matches!(entry.group, Group::Flow(_)))
            && !matches!(entry.rule, Rule::Hold | Rule::Rate(_))
    }
}

impl Work {
    /// Whether some flow has something at both ends; `open` links are among those of active flows.
    fn has_open_flow(&mut self, demand: &Demand, open: impl Iterator<Item = u64>) -> bool {
        let senders = demand.senders();
        self.senders.clear();
        self.receivers.clear();
        self.receivers.resize(demand.receivers().div_ceil(64), 0);
        let mut any = false;
        for (_, l) in demand.set().common_words(open) {
            if l < senders {
                self.senders.push(l);
            } else if l < senders + demand.receivers() {
                set(&mut self.receivers, l - senders, true);
                any = true;
            }
        }
        any && self.senders.iter().any(|&s| {
            if demand.is_regular(s) {
                demand.row_bits(s).iter().zip(&self.receivers).any(|(row, open)| row & open != 0)
            } else {
                let mut receivers = demand.active_in_row(s).map(|p| demand.receiver_of(p));
                receivers.any(|r| contains(&self.receivers, r - senders))
            }
        })
    }
}

impl Chain {
    /// Nobody has been served.
    pub fn start(&mut self) {
        self.takers.clear();
    }

    /// What is free, by link, behind all that have taken something so far, at the links of `demand`.
    pub fn free(&mut self, state: &State, grants: &[CoflowAllocation], demand: &Demand) -> &[f64] {
        let free = &mut self.work.free;
        free.resize(self.base.len(), 0.0);
        for link in demand.links().iter().map(|link| link.index()) {
            free[link] = self.base[link];
        }
        for &(id, which) in &self.takers {
            let taker = state.coflow(id).demand();
            let after = &grants[id.index()].part(which).after;
            for (link, l) in taker.set().shared(demand.set()) {
                free[link] = after[l];
            }
        }
        free
    }
}
