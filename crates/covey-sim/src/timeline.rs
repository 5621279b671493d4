//! Who sends when: an observer that writes down what each coflow sends out of each port.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use covey_core::alloc::Allocator;
use covey_core::state::State;
use covey_core::{CoflowId, Time};

use crate::engine::Observer;

/// Rates closer than this share of each other are one, and a smaller share of a link is none.
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

/// Records the spans of a simulation.
#[derive(Debug, Default)]
pub struct Timeline {
    spans: Vec<Span>,
    /// What goes on, by place of the coflow; in order of senders.
    open: BTreeMap<u32, Vec<Span>>,
    /// What the coflow that is looked at sends now.
    rates: Vec<Span>,
    /// Working memory: the same by sender or by link.
    uses: Vec<f64>,
    done: usize,
}

impl Timeline {
    /// The spans, in order of their ends; those that end together by coflow and sender.
    pub fn into_spans(self) -> Vec<Span> {
        self.spans
    }

    /// Notes what a coflow sends from now on out of each port.
    fn look(&mut self, id: CoflowId, now: Time, state: &State, rates: &Allocator) {
        let coflow = state.coflow(id);
        let demand = coflow.demand();
        let place = coflow.registration.seq as u32;
        if is_together(rates) {
            let of_flow = |p: usize| rates.rate(state, id, p);
            self.uses.clear();
            self.uses.extend(
                (0..demand.senders()).map(|s| demand.active_in_row(s).map(of_flow).sum::<f64>()),
            );
        } else {
            rates.grant(id).uses(demand, &mut self.uses);
        }
        let capacity = state.fabric().capacity();
        self.rates.clear();
        for (&rate, link) in self.uses.iter().zip(&demand.links()[..demand.senders()]) {
            if rate > ALIKE * capacity[link.index()] {
                self.rates.push(Span {
                    coflow: place,
                    port: link.0,
                    start_s: now.as_secs(),
                    end_s: f64::INFINITY,
                    rate,
                });
            }
        }
        self.take_over(place, now);
    }

    /// Replaces what goes on of a coflow by what it sends now. Senders are in the same order in both.
    fn take_over(&mut self, place: u32, now: Time) {
        let open = self.open.entry(place).or_default();
        let mut next = 0;
        for span in &*open {
            let new = self.rates[next..].iter().position(|new| new.port == span.port);
            let goes_on = new.is_some_and(|after| {
                let new = &mut self.rates[next + after];
                next += after + 1;
                let goes_on = (new.rate - span.rate).abs() <= ALIKE * span.rate;
                if goes_on {
                    *new = *span;
                }
                goes_on
            });
            if !goes_on && now.as_secs() > span.start_s {
                self.spans.push(Span { end_s: now.as_secs(), ..*span });
            }
        }
        std::mem::swap(open, &mut self.rates);
    }

    /// Ends what coflows sent that have left.
    fn end_all_but(&mut self, state: &State, now: Time) {
        let present: BTreeSet<u32> =
            state.present().iter().map(|&id| state.coflow(id).registration.seq as u32).collect();
        let gone = self.open.keys().filter(|place| !present.contains(place)).copied();
        for place in gone.collect::<Vec<_>>() {
            self.rates.clear();
            self.take_over(place, now);
            self.open.remove(&place);
        }
    }
}

/// Whether all flows share as one group.
fn is_together(rates: &Allocator) -> bool {
    rates.crowd().is_some() || rates.line().is_some()
}

impl Observer for Timeline {
    fn moment(
        &mut self,
        now: Time,
        done: usize,
        state: &State,
        rates: &Allocator,
    ) -> ControlFlow<()> {
        if done > self.done {
            self.done = done;
            self.end_all_but(state, now);
        }
        let changed = if is_together(rates) { state.present() } else { rates.changed() };
        for &id in changed.iter().filter(|&&id| state.is_present(id)) {
            self.look(id, now, state, rates);
        }
        ControlFlow::Continue(())
    }
}
