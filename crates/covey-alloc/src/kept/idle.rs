//! Coflows that get nothing because none of their flows can be sent.
//!
//! Where links go to one coflow after another, most of those that wait can send nothing: each of
//! their flows has a link at which nothing is left. Such an *idle* coflow changes nothing for those
//! behind it. Of the capacity that it finds only a bit a link is kept: whether anything is left
//! there. When it can send at last, what it finds is worked out from what was offered to the first
//! coflow and what those before it have left.

use super::pass_steps::Wait;
use crate::rules::list;
use covey_core::Demand;
use covey_core::sets::bits::{has_bit, set_bit};
use covey_core::{Entry, Group, Rank, Rule};

/// Whether a coflow is idle, and at which of its links anything is left.
#[derive(Debug, Default)]
pub struct Idle {
    is: bool,
    /// Bits of the words of [`Demand::set`].
    open: Vec<u64>,
}

/// Working memory of the search for a flow that can be sent.
#[derive(Debug, Default)]
pub struct OpenFlowSearch {
    /// Local senders at which anything is left.
    senders: Vec<usize>,
    /// Receivers at which anything is left: bits by local number.
    receivers: Vec<u64>,
}

impl Idle {
    pub fn is(&self) -> bool {
        self.is
    }

    /// The coflow found `before` at its links and got nothing.
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

    /// The coflow is idle, and the links at which anything is left are known.
    pub fn resume(&mut self) {
        self.is = true;
    }

    /// The links at which anything is left: bits of the words of [`Demand::set`].
    pub fn open(&self) -> &[u64] {
        &self.open
    }

    /// The coflow is idle, and something is left at its `open` links.
    pub fn resume_with(&mut self, open: impl Iterator<Item = u64>) {
        self.is = true;
        self.open.clear();
        self.open.extend(open);
    }

    /// Something is left at those of the coflow's links for which `is_open` returns true.
    pub fn set_open(&mut self, demand: &Demand, is_open: impl Fn(usize) -> bool) {
        self.open.clear();
        self.open.resize(demand.set().words().len(), 0);
        for link in demand.links().iter().map(|link| link.index()) {
            self.open[demand.set().word_of(link)] |= u64::from(is_open(link)) << (link % 64);
        }
    }

    /// Writes down which of the coflow's `dirty` links are `open`. Returns whether any was closed
    /// before.
    pub fn see(&mut self, demand: &Demand, dirty: &[u64], open: &[u64]) -> bool {
        let mut has_opened = false;
        for (word, was) in demand.set().words().iter().zip(&mut self.open) {
            let here = word.bits & dirty[word.at as usize];
            let now = here & open[word.at as usize];
            has_opened |= now & !*was != 0;
            *was = *was & !here | now;
        }
        has_opened
    }

    /// Whether an entry for the coflow, or for a flow of it, would give anything now.
    pub fn can_send(&self, demand: &Demand, entry: &Entry, search: &mut OpenFlowSearch) -> bool {
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
            search.has_open_flow(demand, active.map(|(active, open)| active & open))
        }
    }
}

/// The largest number of flows with which a coflow waits flow by flow. A coflow with more is looked
/// at on each pass, which costs less.
const MAX_WAITING_FLOWS: u32 = 16;

/// Adds to `waits` the links for which an entry that gets nothing waits: each flow for both its
/// links; or, where the rule needs all links, the coflow for one at which nothing is left. Of these
/// the entry waits for the one that the first entry of all has `closed`, for that link stays closed
/// longest. Returns whether the entry can wait.
pub fn blocked_at(
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
    if demand.unfinished() > MAX_WAITING_FLOWS {
        return false;
    }
    wait_for(demand, demand.active(), waits);
    true
}

/// Flows at some positions wait for both their ends, and for any link between them.
fn wait_for(demand: &Demand, flows: impl Iterator<Item = usize>, waits: &mut Vec<Wait>) {
    let link = |l: usize| demand.links()[l].0;
    for position in flows {
        let (sender, receiver) = demand.ends(position);
        waits.extend(Wait::for_both(link(sender), link(receiver)));
        waits.extend(demand.inner_path(position).map(|l| Wait::for_one(link(l))));
    }
}

/// Whether a rule gives nothing when a link that the coflow needs is full.
fn needs_all(rule: Rule) -> bool {
    list::with(rule, |rule| rule.needs_all_links())
}

impl OpenFlowSearch {
    /// Whether some flow finds something at both its ends. Links between them are not looked at, so
    /// its entry may decide in vain. `open` are links of active flows.
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
                set_bit(&mut self.receivers, l - senders, true);
                any = true;
            }
        }
        any && self.senders.iter().any(|&s| {
            if demand.is_regular(s) {
                demand.row_bits(s).iter().zip(&self.receivers).any(|(row, open)| row & open != 0)
            } else {
                let mut receivers = demand.active_in_row(s).map(|p| demand.receiver_of(p));
                receivers.any(|r| has_bit(&self.receivers, r - senders))
            }
        })
    }
}
