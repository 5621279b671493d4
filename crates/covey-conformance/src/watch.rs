//! An observer that checks every scheduling round of a simulation.

use std::ops::ControlFlow;

use covey_core::{Attempts, Fabric, Time};
use covey_sim::{Observer, Round};
use covey_trace::Workload;
use covey_trace::results::Outcome;

use crate::failed::Failed;
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

/// Checks that rates fit the links and that what has failed passes nothing, and sums the bytes
/// sent. It stops at the first violation.
pub(crate) struct Watch<'a> {
    workload: &'a Workload,
    conserves_work: bool,
    /// The time of the last round.
    last: Time,
    /// Rates since then: index of the coflow, index of the flow, bytes per second.
    rates: Vec<(usize, usize, f64)>,
    /// And by link, in bytes per second.
    used: Vec<f64>,
    failed: Failed,
    /// Bytes sent by each flow of each coflow.
    sent: Vec<Vec<f64>>,
    /// The first violation.
    pub found: Option<Violation>,
}

impl<'a> Watch<'a> {
    pub fn new(workload: &'a Workload, fabric: &Fabric, conserves_work: bool) -> Watch<'a> {
        let sent = workload.coflows.iter().map(|c| vec![0.0; c.flows.len()]).collect();
        Watch {
            workload,
            conserves_work,
            last: Time::ZERO,
            rates: Vec::new(),
            used: vec![0.0; fabric.links()],
            failed: Failed::new(workload, fabric),
            sent,
            found: None,
        }
    }

    /// Checks that every flow has sent its bytes at the end.
    pub fn check_all_sent(&self, outcome: &Outcome) -> Result<(), Violation> {
        let restarts = self.workload.coflows.iter().any(|coflow| !coflow.restarts.is_empty());
        if restarts || !self.workload.is_static() {
            return self.check_sums(outcome);
        }
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

    /// Checks that each coflow has sent the bytes of its flows that were not cancelled, and those
    /// that were for nothing.
    fn check_sums(&self, outcome: &Outcome) -> Result<(), Violation> {
        let mut number = 0;
        for (index, (coflow, sent)) in self.workload.coflows.iter().zip(&self.sent).enumerate() {
            let flows = (number..).zip(&coflow.flows);
            let carried = flows.filter(|(k, _)| outcome.cancelled.binary_search(k).is_err());
            let carried: f64 = carried.map(|(_, flow)| flow.bytes).sum();
            let wasted = outcome.wasted_bytes.get(index).copied().unwrap_or_default();
            let sent: f64 = sent.iter().sum();
            // Of two attempts that end together one is for nothing.
            let twice = self.carried_twice(index, number, outcome);
            let off = sent - (carried - twice) - wasted;
            if off.abs() >= 1e-6 * (1.0 + sent) {
                let id = &coflow.id;
                return Err(Violation(format!(
                    "coflow {id} has sent {sent} bytes: {carried} of its flows, {wasted} for nothing"
                )));
            }
            number += coflow.flows.len();
        }
        Ok(())
    }

    /// Bytes of attempts that have ended beside another one of their transfer.
    fn carried_twice(&self, index: usize, first: usize, outcome: &Outcome) -> f64 {
        let coflow = &self.workload.coflows[index];
        let mut attempts = Attempts::default();
        coflow.attempts.iter().for_each(|it| attempts.add(it.flow, it.of));
        let is_carried =
            |flow: u32| outcome.cancelled.binary_search(&(first + flow as usize)).is_err();
        let flows = (0..).zip(&coflow.flows).filter(|(flow, _)| is_carried(*flow));
        let others =
            |flow: u32| attempts.others(flow).any(|other| other < flow && is_carried(other));
        flows.filter(|(flow, _)| others(*flow)).map(|(_, flow)| flow.bytes).sum()
    }

    fn look(&mut self, flows: &[Served], capacity: &[f64], now: Time) -> Result<(), Violation> {
        self.failed.check(&self.used, self.last, now)?;
        self.last = now;
        let used = &mut self.used;
        used.fill(0.0);
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
            let sent = &mut self.sent[trace_index];
            if sent.len() <= index {
                // A flow that has moved.
                sent.resize(index + 1, 0.0);
            }
            sent[index] += rate * (round.now - self.last);
        }
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
