//! An observer that works out the rates of every round again, by their definition.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use covey_alloc::reference::{Flow, Running, rates};
use covey_core::state::CoflowState;
use covey_core::{CoflowId, FlowId, Group, Ranking, Rule, Time};
use covey_sim::{Observer, Round};

use crate::violation::Violation;

/// The part of the fastest link's capacity by which two rates may differ.
const ROUNDING: f64 = 1e-6;

/// Compares the rates of every round with [`reference`](mod@covey_alloc::reference). It counts what
/// flows send by itself.
#[derive(Default)]
pub(crate) struct Twin {
    /// The time of the last round.
    last: Time,
    /// Bytes per second since `last`, of flows by their place in the trace.
    rates: BTreeMap<(u32, u32), f64>,
    /// Bytes sent until `last`, of the same flows.
    sent: BTreeMap<(u32, u32), f64>,
    /// The turn in which each flow was seen first.
    turns: BTreeMap<(u32, u32), usize>,
    /// The number of rounds that were compared.
    pub compared: usize,
    /// The flows that run by matching.
    running: Running,
    /// [`Registration::seq`](covey_core::state::Registration::seq) of each coflow that is present.
    present: BTreeMap<CoflowId, u64>,
    /// The first violation.
    pub found: Option<Violation>,
}

impl Twin {
    fn advance(&mut self, round: &Round<'_>) {
        for (name, rate) in &self.rates {
            *self.sent.entry(*name).or_default() += rate * (round.now - self.last);
        }
        self.last = round.now;
        let state = round.state;
        let seq = |id: CoflowId| state.coflow(id).registration.seq;
        let present = state.present().iter().map(|&id| (id, seq(id))).collect();
        let before = std::mem::replace(&mut self.present, present);
        for (id, _) in before.iter().filter(|(id, seq)| self.present.get(id) != Some(*seq)) {
            self.running.forget(*id);
        }
    }

    /// Unfinished flows: coflow by coflow, sender by sender in order of the senders' first flows,
    /// then as registered. If the plan serves all flows as one group, in the order in which they
    /// have started.
    fn flows(&mut self, round: &Round<'_>) -> Vec<Flow> {
        let mut flows = Vec::new();
        for &id in round.state.present() {
            let coflow = round.state.coflow(id);
            let demand = coflow.demand();
            let first = |sender: usize| demand.row(sender).map(|p| demand.index(p)).min();
            let mut active: Vec<usize> = demand.active().collect();
            active.sort_by_key(|&p| (first(demand.sender_of(p)), demand.index(p)));
            flows.extend(active.into_iter().map(|position| self.flow(coflow, id, position)));
        }
        let name = |flow: &Flow| round.state.coflow(flow.id.coflow).named_place(flow.id.index);
        let mut new: Vec<(u32, u32)> = flows.iter().map(name).collect();
        new.retain(|name| !self.turns.contains_key(name));
        new.sort_unstable();
        for name in new {
            self.turns.insert(name, self.turns.len());
        }
        if entries(round.ranking).any(|(group, _)| group == Group::AllFlows) {
            flows.sort_by_key(|flow| self.turns[&name(flow)]);
        }
        flows
    }

    fn flow(&self, coflow: &CoflowState, id: CoflowId, position: usize) -> Flow {
        let demand = coflow.demand();
        let index = demand.index(position);
        let sent = self.sent.get(&coflow.named_place(index)).copied().unwrap_or_default();
        let size = coflow.progress().size[position];
        Flow {
            id: FlowId { coflow: id, index },
            path: demand.path(position).map(|l| demand.links()[l].index()).collect(),
            size,
            left: size - sent,
        }
    }

    fn compare(&mut self, round: &Round<'_>) -> Result<(), Violation> {
        let flows = self.flows(round);
        let capacity = round.state.fabric().capacity();
        let fastest = capacity.iter().copied().fold(0.0, f64::max);
        // Which flows ran before matters to matching by load, and the definition does not say how.
        let is_defined = entries(round.ranking).all(|(_, rule)| rule != Rule::MatchingByLoad);
        let expected =
            is_defined.then(|| rates(&flows, capacity, round.ranking, &mut self.running)).flatten();
        self.compared += usize::from(expected.is_some());
        self.rates.clear();
        for (k, flow) in flows.iter().enumerate() {
            let coflow = round.state.coflow(flow.id.coflow);
            let position = coflow.demand().position(flow.id.index);
            let rate = round.allocator.rates().rate(round.state, flow.id.coflow, position);
            self.rates.insert(coflow.named_place(flow.id.index), rate);
            let Some(expected) = expected.as_ref().map(|rates| rates[k]) else { continue };
            if (rate - expected).abs() > ROUNDING * fastest {
                return Err(Violation(format!(
                    "{flow:?} gets {rate} at {}, by definition it gets {expected}: {:?}",
                    round.now, round.ranking
                )));
            }
        }
        Ok(())
    }
}

fn entries(ranking: &Ranking) -> impl Iterator<Item = (Group, Rule)> + '_ {
    ranking.entries.iter().map(|(_, entry)| (entry.group, entry.rule))
}

impl Observer for Twin {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        self.advance(round);
        match self.compare(round) {
            Ok(()) => ControlFlow::Continue(()),
            Err(violation) => {
                self.found = Some(violation);
                ControlFlow::Break(())
            }
        }
    }
}
