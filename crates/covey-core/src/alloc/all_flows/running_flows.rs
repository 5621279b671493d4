//! The flows that run, of all flows in order of priority.

use crate::ids::CoflowId;

/// A flow's priority: the lowest is served first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority {
    /// What decides.
    pub key: u64,
    /// The number under which the flow joined, from 1, which breaks ties.
    pub number: u64,
}

impl Priority {
    /// Before all flows.
    pub const FIRST: Priority = Priority { key: 0, number: 0 };
    /// Behind all flows.
    pub const LAST: Priority = Priority { key: u64::MAX, number: u64::MAX };
}

/// A flow that runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Running {
    /// Its coflow.
    pub coflow: CoflowId,
    /// Its position in the coflow's [`Demand`](crate::Demand).
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
    pub flow: Vec<(CoflowId, u32)>,
    /// Number of its pair of ports.
    pub pair: Vec<u32>,
    pub priority: Vec<Priority>,
    /// Bytes left.
    pub left: Vec<f64>,
    /// Bytes per second.
    pub rate: Vec<f64>,
}

impl RunningFlows {
    /// Number of flows.
    pub fn count(&self) -> usize {
        self.flow.len()
    }

    /// No flow runs.
    pub fn clear(&mut self) {
        self.flow.clear();
        self.pair.clear();
        self.priority.clear();
        self.left.clear();
        self.rate.clear();
    }

    /// The flow in a slot.
    pub fn get(&self, slot: usize) -> Running {
        let (coflow, position) = self.flow[slot];
        Running { coflow, position, rate: self.rate[slot], left: self.left[slot] }
    }

    /// Adds a flow of a pair, in the last slot.
    pub fn push(&mut self, flow: Running, pair: u32, priority: Priority) {
        self.flow.push((flow.coflow, flow.position));
        self.pair.push(pair);
        self.priority.push(priority);
        self.left.push(flow.left);
        self.rate.push(flow.rate);
    }

    /// Removes the flow in a slot, to which the last flow moves. Returns its priority, and the pair
    /// of the flow that has moved.
    pub fn remove(&mut self, slot: usize) -> (Priority, Option<u32>) {
        self.flow.swap_remove(slot);
        self.pair.swap_remove(slot);
        self.left.swap_remove(slot);
        self.rate.swap_remove(slot);
        let priority = self.priority.swap_remove(slot);
        (priority, self.pair.get(slot).copied())
    }
}
