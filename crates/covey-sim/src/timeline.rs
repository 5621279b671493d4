//! An observer that records the rate of each coflow out of each port, over time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use covey_core::state::State;
use covey_core::{CoflowId, Time};

use crate::observer::{Observer, Round};

/// Rates that differ by a smaller share of each other are equal; a smaller share of a link counts
/// as zero.
const NEGLIGIBLE: f64 = 1e-9;

/// A time in which a coflow sends out of a port at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Index of the coflow in the workload.
    pub coflow: u32,
    /// The sending port.
    pub port: u32,
    /// Begin of the span, in seconds since the start of the trace.
    pub start_s: f64,
    /// End of the span, in seconds since the start of the trace.
    pub end_s: f64,
    /// Bytes per second, of all flows of the coflow out of the port together.
    pub rate: f64,
}

/// Records the spans of a simulation.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Spans that have ended.
    spans: Vec<Span>,
    /// Spans that have not ended, by index of the coflow; those of a coflow by sender.
    open: BTreeMap<u32, Vec<Span>>,
    /// Working memory: the spans that a coflow has from this round on.
    next: Vec<Span>,
    /// Working memory: the rate of a coflow at each of its links.
    rates: Vec<f64>,
    /// The number of coflows that had ended at the last round.
    done: usize,
}

impl Timeline {
    /// The spans, in order of their ends; spans that end together are in order of coflow and
    /// sender.
    pub fn into_spans(self) -> Vec<Span> {
        self.spans
    }

    /// Records the rate of a coflow out of each port from this round on.
    fn look(&mut self, id: CoflowId, round: &Round<'_>) {
        let coflow = round.state.coflow(id);
        let demand = coflow.demand();
        let trace_index = coflow.registration.seq as u32;
        round.allocator.rates().link_rates(round.state, id, &mut self.rates);
        let capacity = round.state.fabric().capacity();
        self.next.clear();
        for (&rate, link) in self.rates.iter().zip(&demand.links()[..demand.senders()]) {
            if rate > NEGLIGIBLE * capacity[link.index()] {
                self.next.push(Span {
                    coflow: trace_index,
                    port: link.0,
                    start_s: round.now.as_secs(),
                    end_s: f64::INFINITY,
                    rate,
                });
            }
        }
        self.replace_open(trace_index, round.now);
    }

    /// Replaces the open spans of a coflow by `next`. Senders have the same order in both. A span
    /// goes on if its rate stays.
    fn replace_open(&mut self, trace_index: u32, now: Time) {
        let open = self.open.entry(trace_index).or_default();
        let mut next = 0;
        for span in &*open {
            let new = self.next[next..].iter().position(|new| new.port == span.port);
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

    /// Ends the spans of coflows that have left.
    fn end_absent(&mut self, state: &State, now: Time) {
        let present: BTreeSet<u32> =
            state.present().iter().map(|&id| state.coflow(id).registration.seq as u32).collect();
        let gone = self.open.keys().filter(|trace_index| !present.contains(trace_index)).copied();
        for trace_index in gone.collect::<Vec<_>>() {
            self.next.clear();
            self.replace_open(trace_index, now);
            self.open.remove(&trace_index);
        }
    }
}

impl Observer for Timeline {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        let state = round.state;
        if round.done > self.done {
            self.done = round.done;
            self.end_absent(state, round.now);
        }
        let changed = round.allocator.changed_coflows(state);
        for &id in changed.iter().filter(|&&id| state.is_present(id)) {
            self.look(id, round);
        }
        ControlFlow::Continue(())
    }
}
