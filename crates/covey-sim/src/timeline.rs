//! An observer that records the rate of each coflow out of each port, and into each, over time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use covey_core::{CoflowId, LinkId, Time};
use covey_trace::results::Span;

use crate::observer::{Observer, Round};

/// Rates that differ by a smaller share of each other are equal; a smaller share of a link counts
/// as zero.
const NEGLIGIBLE: f64 = 1e-9;

/// Records the spans of a simulation, by default those of senders. Of a policy that puts flows into
/// groups of its own, spans are still those of the workload's coflows.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Whether receivers are recorded, too.
    at_both_ends: bool,
    /// Spans that have ended.
    spans: Vec<Span>,
    /// Spans that have not ended, by index of the coflow; those of a coflow by link.
    open: BTreeMap<u32, Vec<Span>>,
    /// What each of the policy's coflows sends, in order of the workload's coflows. Its [serial
    /// number](covey_core::state::Registration::seq) tells it from others with the same id.
    sent: BTreeMap<CoflowId, (u64, Vec<Sent>)>,
    /// The policy's coflows in which flows of a coflow of the workload are sent, by its index.
    groups: BTreeMap<u32, BTreeSet<CoflowId>>,
    /// The number of the policy's coflows that had left at the last round.
    departed: usize,
    /// Working memory: the spans that a coflow has from this round on.
    next: Vec<Span>,
    /// Working memory: the rate of a coflow at each of its links.
    rates: Vec<f64>,
}

/// What one of the policy's coflows sends over a link for a coflow of the workload.
#[derive(Debug, Clone, Copy)]
struct Sent {
    coflow: u32,
    link: LinkId,
    rate: f64,
}

impl Timeline {
    /// A timeline that records what ports send and what they receive.
    pub fn at_both_ends() -> Timeline {
        Timeline { at_both_ends: true, ..Timeline::default() }
    }

    /// The spans, in order of their ends; spans that end together are in order of coflow and link.
    pub fn into_spans(self) -> Vec<Span> {
        self.spans
    }

    /// Takes the spans that have ended, in the same order.
    pub fn take_spans(&mut self) -> impl Iterator<Item = Span> + '_ {
        self.spans.drain(..)
    }

    /// Records what one of the policy's coflows sends from this round on. Adds to `affected` the
    /// coflows of the workload for which it has sent or sends now.
    fn look(&mut self, id: CoflowId, round: &Round<'_>, affected: &mut BTreeSet<u32>) {
        for old in self.sent.remove(&id).map_or(Vec::new(), |(_, sent)| sent) {
            affected.insert(old.coflow);
            if let Some(groups) = self.groups.get_mut(&old.coflow) {
                groups.remove(&id);
                if groups.is_empty() {
                    self.groups.remove(&old.coflow);
                }
            }
        }
        if !round.state.is_present(id) {
            return;
        }
        let sent = if round.state.coflow(id).has_joined_flows() {
            self.sent_by_flows(id, round)
        } else {
            self.sent_in_all(id, round)
        };
        for new in &sent {
            affected.insert(new.coflow);
            self.groups.entry(new.coflow).or_default().insert(id);
        }
        self.sent.insert(id, (round.state.coflow(id).registration.seq, sent));
    }

    /// What one of the policy's coflows sends that is a coflow of the workload.
    fn sent_in_all(&mut self, id: CoflowId, round: &Round<'_>) -> Vec<Sent> {
        let coflow = round.state.coflow(id);
        let demand = coflow.demand();
        round.allocator.rates().link_rates(round.state, id, &mut self.rates);
        let coflow = coflow.registration.seq as u32;
        let receivers = if self.at_both_ends { demand.receivers() } else { 0 };
        let by_link = self.rates.iter().zip(&demand.links()[..demand.senders() + receivers]);
        by_link.map(|(&rate, &link)| Sent { coflow, link, rate }).collect()
    }

    /// What a coflow of the policy's own making sends, by the coflows of the workload to which its
    /// flows belong.
    fn sent_by_flows(&self, id: CoflowId, round: &Round<'_>) -> Vec<Sent> {
        let coflow = round.state.coflow(id);
        let demand = coflow.demand();
        let mut rates = Vec::new();
        round.allocator.rates().flow_rates(round.state, id, &mut rates);
        let mut sent: BTreeMap<(u32, LinkId), f64> = BTreeMap::new();
        for flow in rates {
            let position = flow.position as usize;
            let (of, _) = coflow.named_place(demand.index(position));
            let (egress, ingress) = demand.end_links(position);
            for link in [Some(egress), self.at_both_ends.then_some(ingress)].into_iter().flatten() {
                *sent.entry((of, link)).or_default() += flow.rate;
            }
        }
        sent.into_iter().map(|((coflow, link), rate)| Sent { coflow, link, rate }).collect()
    }

    /// Replaces the open spans of a coflow of the workload by what is sent of it now.
    fn update(&mut self, coflow: u32, round: &Round<'_>) {
        let groups = self.groups.get(&coflow);
        let sent_in = |group: &CoflowId| {
            let sent = &self.sent[group].1;
            let first = sent.partition_point(|sent| sent.coflow < coflow);
            sent[first..].iter().take_while(|sent| sent.coflow == coflow)
        };
        let sent = groups.into_iter().flatten().flat_map(sent_in);
        let by_link: Vec<(LinkId, f64)> = if groups.is_some_and(|groups| groups.len() > 1) {
            let mut sums: BTreeMap<LinkId, f64> = BTreeMap::new();
            sent.for_each(|sent| *sums.entry(sent.link).or_default() += sent.rate);
            sums.into_iter().collect()
        } else {
            sent.map(|sent| (sent.link, sent.rate)).collect()
        };
        let capacity = round.state.fabric().capacity();
        let (start_s, end_s) = (round.now.as_secs(), f64::INFINITY);
        self.next.clear();
        let some =
            by_link.iter().filter(|(link, rate)| *rate > NEGLIGIBLE * capacity[link.index()]);
        self.next.extend(some.map(|&(link, rate)| Span { coflow, link, start_s, end_s, rate }));
        self.replace_open(coflow, round.now);
        if self.open.get(&coflow).is_some_and(Vec::is_empty) {
            self.open.remove(&coflow);
        }
    }

    /// Replaces the open spans of a coflow by `next`. Links have the same order in both. A span
    /// goes on if its rate stays.
    fn replace_open(&mut self, trace_index: u32, now: Time) {
        let open = self.open.entry(trace_index).or_default();
        let mut next = 0;
        for span in &*open {
            let new = self.next[next..].iter().position(|new| new.link == span.link);
            let goes_on = new.is_some_and(|after| {
                let new = &mut self.next[next + after];
                next += after + 1;
                let goes_on = (new.rate - span.rate).abs() <= NEGLIGIBLE * span.rate;
                if goes_on {
                    *new = *span;
                }
                goes_on
            });
            if !goes_on && now.as_secs() > span.start_s {
                self.spans.push(Span { end_s: now.as_secs(), ..*span });
            }
        }
        std::mem::swap(open, &mut self.next);
    }
}

impl Observer for Timeline {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        let state = round.state;
        let mut affected = BTreeSet::new();
        let has_departed = |id: CoflowId, seq: u64| {
            !state.is_present(id) || state.coflow(id).registration.seq != seq
        };
        let changed = round.allocator.changed_coflows(state).iter().copied();
        let mut departed = Vec::new();
        if std::mem::replace(&mut self.departed, round.departed) != round.departed {
            let all = self.sent.iter().filter(|&(&id, &(seq, _))| has_departed(id, seq));
            departed.extend(all.map(|(&id, _)| id));
        }
        for id in departed.into_iter().chain(changed) {
            self.look(id, round, &mut affected);
        }
        affected.into_iter().for_each(|coflow| self.update(coflow, round));
        ControlFlow::Continue(())
    }
}
