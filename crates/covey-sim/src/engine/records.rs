//! The records of a simulation.

use covey_core::{Compressed, Time};
use covey_trace::Workload;

use covey_trace::results::{CoflowOutcome, CompressionOutcome, Outcome};

/// The outcome so far.
#[derive(Debug, Default)]
pub(super) struct Records {
    outcome: Outcome,
    /// The number of coflows whose ends the policy has received.
    done: usize,
    /// The number of coflows that have not ended.
    unended: usize,
    /// The number of flows of each coflow that have not ended, by index in the trace.
    unfinished: Vec<u32>,
}

impl Records {
    /// Resets the records for a workload with `flows` flows.
    pub fn clear(&mut self, workload: &Workload, flows: usize) {
        let coflows = workload.coflows.len();
        self.unfinished.clear();
        self.unfinished.extend(workload.coflows.iter().map(|coflow| coflow.flows.len() as u32));
        let never = CoflowOutcome { release_s: f64::INFINITY, completion_s: f64::INFINITY };
        self.outcome = Outcome {
            coflows: vec![never; coflows],
            flow_completion_s: vec![f64::INFINITY; flows],
            flow_start_s: vec![f64::INFINITY; flows],
            events: 0,
            compression: Vec::new(),
            wasted_bytes: Vec::new(),
            cancelled: Vec::new(),
            left_uncompressed: false,
        };
        self.done = 0;
        self.unended = coflows;
    }

    /// Takes the outcome after the end of a simulation.
    pub fn take(&mut self) -> Outcome {
        self.outcome.cancelled.sort_unstable();
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

    /// A flow, by its number among all flows, of the coflow at an index in the trace has ended.
    /// Returns whether it was the coflow's last.
    #[inline]
    pub fn end_flow(&mut self, trace_index: u32, number: usize, now: Time) -> bool {
        self.outcome.flow_completion_s[number] = now.as_secs();
        let unfinished = &mut self.unfinished[trace_index as usize];
        *unfinished -= 1;
        *unfinished == 0
    }

    /// The last flow of the coflow at an index in the trace has ended. `made` is what compression
    /// has made of it.
    pub fn end_coflow(&mut self, trace_index: u32, made: Option<&Compressed>, now: Time) {
        let trace_index = trace_index as usize;
        self.unended -= 1;
        self.outcome.coflows[trace_index].completion_s = now.as_secs();
        if let Some(made) = made.filter(|made| made.is_on()) {
            let all = &mut self.outcome.compression;
            all.resize(self.outcome.coflows.len(), CompressionOutcome::default());
            all[trace_index] =
                CompressionOutcome { saved_bytes: made.saved(), cpu_s: made.cpu_s() };
        }
    }

    /// Bytes of the coflow at an index in the trace were sent for nothing.
    pub fn waste(&mut self, trace_index: u32, bytes: f64) {
        if bytes > 0.0 {
            let all = &mut self.outcome.wasted_bytes;
            all.resize(self.outcome.coflows.len(), 0.0);
            all[trace_index as usize] += bytes;
        }
    }

    /// A flow, by its number among all flows, is cancelled.
    pub fn cancel(&mut self, number: usize, now: Time) {
        self.outcome.cancelled.push(number);
        let start = &mut self.outcome.flow_start_s[number];
        *start = start.min(now.as_secs());
    }

    /// The policy compresses flows, which are sent as they are.
    pub fn leave_uncompressed(&mut self) {
        self.outcome.left_uncompressed = true;
    }

    /// Whether a flow, by its number among all flows, has ended.
    pub fn has_flow_ended(&self, number: usize) -> bool {
        self.outcome.flow_completion_s[number].is_finite()
    }

    /// The number of coflows that have not ended.
    pub fn unended(&self) -> usize {
        self.unended
    }

    /// Whether the coflow at an index in the trace has been released.
    pub fn is_released(&self, trace_index: u32) -> bool {
        self.outcome.coflows[trace_index as usize].release_s.is_finite()
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
