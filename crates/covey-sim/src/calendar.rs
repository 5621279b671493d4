//! The releases of a workload's coflows, and the starts and restarts of their flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_core::Time;
use covey_trace::{FlowOf, Workload};

/// Coflows and flows that have not begun yet.
#[derive(Debug, Default)]
pub(crate) struct Calendar {
    /// Coflows whose parents have ended, by index in the trace.
    releases: BinaryHeap<Reverse<(Time, u32)>>,
    /// Starts of flows of released coflows.
    starts: BinaryHeap<Reverse<(Time, FlowOf)>>,
    /// Restarts of flows of released coflows.
    restarts: BinaryHeap<Reverse<(Time, FlowOf)>>,
    /// The number of parents for which each coflow waits, by index in the trace; zero without a
    /// barrier.
    parents_awaited: Vec<u32>,
    /// Indices of each coflow's children, by index in the trace.
    children: Vec<Vec<u32>>,
}

impl Calendar {
    /// Fills the calendar from a workload. With a barrier between stages a coflow is released when
    /// its parents have ended, otherwise when it arrives.
    pub(crate) fn fill(&mut self, workload: &Workload, barrier: bool) {
        self.releases.clear();
        self.starts.clear();
        self.restarts.clear();
        self.parents_awaited.clear();
        self.children.iter_mut().for_each(Vec::clear);
        self.children.resize_with(workload.coflows.len(), Vec::new);
        for (child, coflow) in workload.coflows.iter().enumerate() {
            let waits = barrier && !coflow.parents.is_empty();
            self.parents_awaited.push(if waits { coflow.parents.len() as u32 } else { 0 });
            for &parent in &coflow.parents {
                self.children[parent as usize].push(child as u32);
            }
            if !waits {
                self.releases.push(Reverse((Time::from_secs(coflow.arrival_s), child as u32)));
            }
        }
    }

    /// Indices of the children of the coflow at index `parent`.
    pub(crate) fn children(&self, parent: u32) -> &[u32] {
        &self.children[parent as usize]
    }

    /// The time of the next release, start or restart.
    pub(crate) fn next(&self) -> Time {
        let release = self.releases.peek().map_or(Time::NEVER, |Reverse((time, _))| *time);
        [&self.starts, &self.restarts]
            .into_iter()
            .filter_map(|flows| flows.peek())
            .fold(release, |next, Reverse((time, ..))| next.min(*time))
    }

    /// Takes a coflow that is released by `now`: its index in the trace.
    pub(crate) fn pop_release(&mut self, now: Time) -> Option<u32> {
        let Reverse((time, _)) = self.releases.peek()?;
        time.due(now).then(|| self.releases.pop()).flatten().map(|Reverse((_, coflow))| coflow)
    }

    /// Takes a flow that starts by `now`.
    pub(crate) fn pop_start(&mut self, now: Time) -> Option<FlowOf> {
        pop(&mut self.starts, now)
    }

    /// Takes a flow that restarts by `now`; it may have ended.
    pub(crate) fn pop_restart(&mut self, now: Time) -> Option<FlowOf> {
        pop(&mut self.restarts, now)
    }

    /// Plans the restart of a flow of a released coflow.
    pub(crate) fn restart_later(&mut self, time: Time, flow: FlowOf) {
        self.restarts.push(Reverse((time, flow)));
    }

    /// Plans the start of a flow of a released coflow.
    pub(crate) fn start_later(&mut self, time: Time, flow: FlowOf) {
        self.starts.push(Reverse((time, flow)));
    }

    /// The coflow at index `parent` has ended at `now`. Children that waited only for it are
    /// released, but not before their own arrival.
    pub(crate) fn release_children(&mut self, workload: &Workload, parent: u32, now: Time) {
        for &child in &self.children[parent as usize] {
            let awaited = &mut self.parents_awaited[child as usize];
            if *awaited == 0 {
                // Without a barrier it did not wait.
                continue;
            }
            *awaited -= 1;
            if *awaited == 0 {
                let arrival = Time::from_secs(workload.coflows[child as usize].arrival_s);
                self.releases.push(Reverse((arrival.max(now), child)));
            }
        }
    }
}

/// Takes a flow whose time has come by `now`.
fn pop(flows: &mut BinaryHeap<Reverse<(Time, FlowOf)>>, now: Time) -> Option<FlowOf> {
    let Reverse((time, ..)) = flows.peek()?;
    time.due(now).then(|| flows.pop()).flatten().map(|Reverse((_, flow))| flow)
}
