//! An observer that records how many coflows are in each queue, over time.

use std::ops::ControlFlow;

use covey_core::Group;
use covey_trace::results::QueueLengths;

use crate::observer::{Observer, Round};

/// Records the lengths of queues, which are the layers of the plan.
#[derive(Debug, Default)]
pub struct Queues {
    steps: Vec<QueueLengths>,
    /// Working memory.
    now: Vec<u32>,
}

impl Queues {
    /// The lengths, in order of time; each differs from the one before.
    pub fn into_steps(self) -> Vec<QueueLengths> {
        self.steps
    }
}

impl Observer for Queues {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        self.now.iter_mut().for_each(|count| *count = 0);
        for (_, entry) in round.ranking.entries.iter() {
            if let Group::Coflow(id) = entry.group
                && round.state.is_present(id)
            {
                let layer = entry.layer as usize;
                self.now.resize(self.now.len().max(layer + 1), 0);
                self.now[layer] += 1;
            }
        }
        if self.steps.last().is_none_or(|last| last.coflows != self.now) {
            let from_s = round.now.as_secs();
            self.steps.push(QueueLengths { from_s, coflows: self.now.clone() });
        }
        ControlFlow::Continue(())
    }
}
