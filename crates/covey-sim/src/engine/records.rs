//! The records of a simulation.

use covey_core::{Compressed, Time};

use crate::outcome::{CoflowOutcome, CompressionOutcome, Outcome};

/// The outcome so far.
#[derive(Debug, Default)]
pub(super) struct Records {
    outcome: Outcome,
    /// The number of coflows whose ends the policy has received.
    done: usize,
}

impl Records {
    /// Empty records for this number of coflows and flows.
    pub fn clear(&mut self, coflows: usize, flows: usize) {
        let never = CoflowOutcome { release_s: f64::INFINITY, completion_s: f64::INFINITY };
        self.outcome = Outcome {
            coflows: vec![never; coflows],
            flow_completion_s: vec![f64::INFINITY; flows],
            flow_start_s: vec![f64::INFINITY; flows],
            events: 0,
            compression: Vec::new(),
        };
        self.done = 0;
    }

    /// Takes the outcome after the end of a simulation.
    pub fn take(&mut self) -> Outcome {
        std::mem::take(&mut self.outcome)
    }

    /// A scheduling round begins.
    pub fn count_round(&mut self) {
        self.outcome.events += 1;
    }

    /// The coflow at an index in the trace is released.
    pub fn release(&mut self, trace_index: u32, now: Time) {
        self.outcome.coflows[trace_index as usize].release_s = now.as_secs();
    }

    /// A flow, by its number among all flows, starts at a time.
    pub fn start_flow(&mut self, number: usize, start: Time) {
        self.outcome.flow_start_s[number] = start.as_secs();
    }

    /// A flow, by its number among all flows, has ended.
    pub fn end_flow(&mut self, number: usize, now: Time) {
        self.outcome.flow_completion_s[number] = now.as_secs();
    }

    /// The last flow of the coflow at an index in the trace has ended.
    pub fn end_coflow(&mut self, trace_index: u32, compressed: &Compressed, now: Time) {
        let trace_index = trace_index as usize;
        self.outcome.coflows[trace_index].completion_s = now.as_secs();
        if compressed.is_on() {
            let all = &mut self.outcome.compression;
            all.resize(self.outcome.coflows.len(), CompressionOutcome::default());
            all[trace_index] =
                CompressionOutcome { saved_bytes: compressed.saved(), cpu_s: compressed.cpu_s() };
        }
    }

    /// Whether the coflow at an index in the trace has ended.
    pub fn has_ended(&self, trace_index: u32) -> bool {
        self.outcome.coflows[trace_index as usize].completion_s.is_finite()
    }

    /// The policy has received the end of a coflow.
    pub fn count_done(&mut self) {
        self.done += 1;
    }

    /// The number of coflows whose ends the policy has received.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Index in the trace of the first coflow that has not ended.
    pub fn first_unfinished(&self) -> Option<usize> {
        self.outcome.coflows.iter().position(|coflow| coflow.completion_s.is_infinite())
    }
}
