//! The flows that run, of all flows in order of priority.

use super::flow_order::Priority;
use covey_core::CoflowId;

/// A flow that runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Running {
    /// Its coflow.
    pub coflow: CoflowId,
    /// Its position in the coflow's [`Demand`](covey_core::Demand).
    pub position: u32,
    /// Bytes per second.
    pub rate: f64,
    /// Bytes left.
    pub left: f64,
}

/// The flows that run, in no order, each in a slot.
#[derive(Debug, Default)]
pub struct RunningFlows {
    /// Coflow and position.
    pub(super) flow: Vec<(CoflowId, u32)>,
    /// Number of the queue of flows that use the same links.
    pub(super) queue: Vec<u32>,
    pub(super) priority: Vec<Priority>,
    /// Bytes left.
    pub(super) left: Vec<f64>,
    /// Bytes per second.
    pub(super) rate: Vec<f64>,
    /// Flows that have given their links back since the last allocation.
    pub(super) stopped: Vec<Running>,
}

impl RunningFlows {
    /// The flows that run.
    pub fn iter(&self) -> impl Iterator<Item = Running> + '_ {
        (0..self.count()).map(|slot| self.get(slot))
    }

    /// Flows that ran before the last allocation and may not run since it, with the bytes that were
    /// left of them at that allocation.
    pub fn stopped(&self) -> &[Running] {
        &self.stopped
    }

    /// Bytes left of the flows that run, in the order of [`RunningFlows::iter`], and their rates.
    /// To be brought up to date before an allocation.
    pub fn left_mut(&mut self) -> (&mut [f64], &[f64]) {
        (&mut self.left, &self.rate)
    }

    /// Number of flows.
    pub(super) fn count(&self) -> usize {
        self.flow.len()
    }

    /// No flow runs.
    pub(super) fn clear(&mut self) {
        self.flow.clear();
        self.queue.clear();
        self.priority.clear();
        self.left.clear();
        self.rate.clear();
        self.stopped.clear();
    }

    /// The flow in a slot.
    pub(super) fn get(&self, slot: usize) -> Running {
        let (coflow, position) = self.flow[slot];
        Running { coflow, position, rate: self.rate[slot], left: self.left[slot] }
    }

    /// Adds a flow of a queue, in the last slot.
    pub(super) fn push(&mut self, flow: Running, queue: u32, priority: Priority) {
        self.flow.push((flow.coflow, flow.position));
        self.queue.push(queue);
        self.priority.push(priority);
        self.left.push(flow.left);
        self.rate.push(flow.rate);
    }

    /// Removes the flow in a slot, to which the last flow moves. Returns its priority, and the
    /// queue of the flow that has moved.
    pub(super) fn remove(&mut self, slot: usize) -> (Priority, Option<u32>) {
        self.flow.swap_remove(slot);
        self.queue.swap_remove(slot);
        self.left.swap_remove(slot);
        self.rate.swap_remove(slot);
        let priority = self.priority.swap_remove(slot);
        (priority, self.queue.get(slot).copied())
    }
}
