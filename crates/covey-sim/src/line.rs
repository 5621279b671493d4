//! All flows in one line: at any moment few of them run, each at a rate of its own, and only those
//! are followed.

use covey_core::alloc::{PriorityFlows, Running};
use covey_core::state::State;
use covey_core::{CoflowId, Ranking, Rule, Time};

/// When the flows that run were last brought up to date, and when the next of them ends.
#[derive(Debug, Default)]
pub(crate) struct LineFluid {
    anchor: Time,
    next: Time,
}

/// Whether a plan serves all flows in one line.
pub(crate) fn is_asked_for(ranking: &Ranking) -> bool {
    let in_line = |rule| matches!(rule, Rule::OldestFirst | Rule::ShortestFirst);
    ranking.entries.first().is_some_and(|(_, entry)| in_line(entry.rule))
}

impl LineFluid {
    /// When the next flow ends if rates stay.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Moves the anchor to `now`; no flow may end before it.
    pub(crate) fn advance(&mut self, line: &mut PriorityFlows, now: Time) {
        let dt = now - self.anchor;
        if dt > 0.0 {
            self.anchor = now;
            let (left, rates) = line.left_mut();
            for (left, rate) in left.iter_mut().zip(rates) {
                *left -= rate * dt;
            }
        }
    }

    /// Adds the flows that end at the anchor to `ending`.
    pub(crate) fn find_finished(&self, line: &PriorityFlows, ending: &mut Vec<(CoflowId, usize)>) {
        let slack = self.anchor.slack_s();
        let finished = line.running().filter(|flow| flow.left <= flow.rate * slack);
        ending.extend(finished.map(|flow| (flow.coflow, flow.position as usize)));
    }

    /// Takes over who runs from `now` on.
    pub(crate) fn install(&mut self, line: &mut PriorityFlows, now: Time) {
        self.anchor = now;
        let (left, rates) = line.left_mut();
        let rest = left.iter().zip(rates).map(|(left, rate)| left / rate);
        let least = rest.fold(f64::INFINITY, |least, rest| if rest < least { rest } else { least });
        self.next = now + least.max(0.0);
    }
}

/// Writes what is left of some flows into `state`.
pub(crate) fn write_back(flows: impl Iterator<Item = Running>, state: &mut State) {
    for flow in flows {
        let (demand, progress) = state.progress_mut(flow.coflow);
        let p = flow.position as usize;
        let left = flow.left / progress.scale;
        let less = progress.left[p] - left;
        progress.left[p] = left;
        demand.path(p).for_each(|l| progress.link_left[l] -= less);
    }
}
