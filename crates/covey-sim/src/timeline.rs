//! Who sends when: an observer that writes down what each coflow sends out of each port.

use std::ops::ControlFlow;

use covey_core::alloc::Allocator;
use covey_core::state::State;
use covey_core::{CoflowId, Time};

use crate::engine::Observer;

/// Rates closer than this share of each other are one.
const ALIKE: f64 = 1e-9;

/// A time in which a coflow sends out of a port at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Place of the coflow in the workload.
    pub coflow: u32,
    /// The sending port.
    pub port: u32,
    /// When it begins, in seconds since the start of the trace.
    pub start_s: f64,
    /// When it ends.
    pub end_s: f64,
    /// Bytes per second, of all flows of the coflow out of the port together.
    pub rate: f64,
}

/// Records the spans of a simulation. Looking at every flow whenever rates change takes much longer
/// than the simulation itself.
#[derive(Debug, Default)]
pub struct Timeline {
    spans: Vec<Span>,
    /// Spans that go on: what is sent now, by coflow and port.
    open: Vec<Span>,
    rates: Vec<Span>,
}

impl Timeline {
    /// The spans, in order of their ends; those that end together by coflow and port.
    pub fn into_spans(self) -> Vec<Span> {
        self.spans
    }

    /// What is sent from now on out of each port, by coflow and port.
    fn look(&mut self, now: Time, state: &State, rates: &Allocator) {
        self.rates.clear();
        for &id in state.present() {
            self.look_at(id, now, state, rates);
        }
        self.rates.sort_by_key(|span| (span.coflow, span.port));
    }

    fn look_at(&mut self, id: CoflowId, now: Time, state: &State, rates: &Allocator) {
        let coflow = state.coflow(id);
        let demand = coflow.demand();
        for sender in 0..demand.senders() {
            let rate: f64 = demand.active_in_row(sender).map(|p| rates.rate(state, id, p)).sum();
            if rate > 0.0 {
                self.rates.push(Span {
                    coflow: coflow.registration.seq as u32,
                    port: demand.links()[sender].0,
                    start_s: now.as_secs(),
                    end_s: f64::INFINITY,
                    rate,
                });
            }
        }
    }
}

impl Observer for Timeline {
    fn moment(&mut self, now: Time, _: usize, state: &State, rates: &Allocator) -> ControlFlow<()> {
        self.look(now, state, rates);
        // Both lists are sorted by the same key: one pass finds what goes on.
        let mut next = 0;
        for span in &self.open {
            let key = (span.coflow, span.port);
            while self.rates.get(next).is_some_and(|new| (new.coflow, new.port) < key) {
                next += 1;
            }
            match self.rates.get_mut(next) {
                Some(new)
                    if (new.coflow, new.port) == key
                        && (new.rate - span.rate).abs() <= ALIKE * span.rate =>
                {
                    *new = *span;
                }
                _ if now.as_secs() > span.start_s => {
                    self.spans.push(Span { end_s: now.as_secs(), ..*span });
                }
                _ => {}
            }
        }
        std::mem::swap(&mut self.open, &mut self.rates);
        ControlFlow::Continue(())
    }
}
