//! An observer that checks every scheduling round of a simulation.

use std::ops::ControlFlow;

use covey_core::Time;
use covey_sim::{Observer, Outcome, Round};
use covey_trace::Workload;

use crate::violation::Violation;

/// An unfinished flow as an observer sees it.
pub struct Served {
    /// Index of its coflow in the trace.
    pub trace_index: usize,
    /// Its index in the coflow.
    pub index: usize,
    /// The links it crosses.
    pub path: Vec<usize>,
    /// Bytes per second.
    pub rate: f64,
}

/// All unfinished flows with their rates.
pub fn served(&Round { state, allocator, .. }: &Round<'_>) -> Vec<Served> {
    let mut flows = Vec::new();
    for &id in state.present() {
        let coflow = state.coflow(id);
        let demand = coflow.demand();
        for position in demand.active() {
            let path: Vec<usize> =
                demand.path(position).map(|l| demand.links()[l].index()).collect();
            let rate = allocator.rates().rate(state, id, position);
            let (trace_index, index) = coflow.named_place(demand.index(position));
            let (trace_index, index) = (trace_index as usize, index as usize);
            flows.push(Served { trace_index, index, path, rate });
        }
    }
    flows
}

/// Checks that rates fit the links, and sums the bytes sent. It stops at the first violation.
pub(crate) struct Watch<'a> {
    workload: &'a Workload,
    conserves_work: bool,
    /// The time of the last round.
    last: Time,
    /// Rates since then: index of the coflow, index of the flow, bytes per second.
    rates: Vec<(usize, usize, f64)>,
    /// Bytes sent by each flow of each coflow.
    sent: Vec<Vec<f64>>,
    /// The first violation.
    pub found: Option<Violation>,
}

impl<'a> Watch<'a> {
    pub fn new(workload: &'a Workload, conserves_work: bool) -> Watch<'a> {
        let sent = workload.coflows.iter().map(|c| vec![0.0; c.flows.len()]).collect();
        let rates = Vec::new();
        Watch { workload, conserves_work, last: Time::ZERO, rates, sent, found: None }
    }

    /// Checks that every flow has sent its bytes at the end.
    pub fn check_all_sent(&self, outcome: &Outcome) -> Result<(), Violation> {
        for (trace_index, (coflow, sent)) in
            self.workload.coflows.iter().zip(&self.sent).enumerate()
        {
            // The bytes that compression saves are known only for all flows of a coflow together.
            if let Some(compression) = outcome.compression.get(trace_index) {
                let all = sent.iter().sum::<f64>() + compression.saved_bytes;
                if (coflow.size_bytes() - all).abs() >= 1e-6 {
                    return Err(Violation(format!("coflow {} has sent {all} bytes", coflow.id)));
                }
                continue;
            }
            for (flow, sent) in coflow.flows.iter().zip(sent) {
                if (flow.bytes - sent).abs() >= 1e-6 {
                    let id = &coflow.id;
                    return Err(Violation(format!("coflow {id} has sent {sent} of {flow:?}")));
                }
            }
        }
        Ok(())
    }

    fn look(&self, flows: &[Served], capacity: &[f64], now: Time) -> Result<(), Violation> {
        let mut used = vec![0.0; capacity.len()];
        for flow in flows {
            if flow.rate.is_nan() || flow.rate < 0.0 {
                return Err(Violation(format!("a rate of {} at {now}", flow.rate)));
            }
            flow.path.iter().for_each(|&l| used[l] += flow.rate);
        }
        let fits = |(used, capacity): (&f64, &f64)| *used <= capacity * (1.0 + 1e-9);
        if !used.iter().zip(capacity).all(fits) {
            return Err(Violation(format!("too much at {now}: {used:?} of {capacity:?}")));
        }
        let is_full = |&l: &usize| used[l] >= capacity[l] * (1.0 - 1e-6);
        let waits = |flow: &&Served| self.conserves_work && !flow.path.iter().any(is_full);
        match flows.iter().find(waits) {
            Some(flow) => Err(Violation(format!(
                "it promises to conserve work, but flow {} of coflow {} could send at {now}: {used:?} of {capacity:?}",
                flow.index, self.workload.coflows[flow.trace_index].id
            ))),
            None => Ok(()),
        }
    }
}

impl Observer for Watch<'_> {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        for &(trace_index, index, rate) in &self.rates {
            self.sent[trace_index][index] += rate * (round.now - self.last);
        }
        self.last = round.now;
        let flows = served(round);
        self.rates = flows.iter().map(|flow| (flow.trace_index, flow.index, flow.rate)).collect();
        match self.look(&flows, round.state.fabric().capacity(), round.now) {
            Ok(()) => ControlFlow::Continue(()),
            Err(violation) => {
                self.found = Some(violation);
                ControlFlow::Break(())
            }
        }
    }
}
