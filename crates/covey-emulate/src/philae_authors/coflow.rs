//! A coflow, its tasks and its flows.

use covey_core::BitSet;
use covey_trace::Coflow;

use super::parameters::Parameters;
use super::scale::{CYCLE_BYTES, NAME};
use crate::error::EmulationError;
use crate::shuffle::Shuffle;

/// A coflow. Flows are numbered sender by sender.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub arrival_ms: u64,
    /// Its senders, and its receivers.
    pub sides: [Side; 2],
    /// Whole bytes of a flow to each receiver.
    pub flow_bytes: Vec<u64>,
    /// Bytes left of each flow.
    pub left: Vec<u64>,
    /// For each sender, the receivers (by position) to which it has a flow that has not ended.
    pub open: Vec<BitSet>,
    /// Number of flows that have not ended.
    pub open_flows: usize,
    /// Bytes sent.
    pub sent: u64,
    /// The pilots in the order of their choice, and the number that have not ended.
    pub pilots: Vec<u32>,
    pub open_pilots: usize,
    /// The mean size of the pilots, after they have ended.
    pub estimate: u64,
    /// For each flow of the workload's coflow, its number here.
    pub flow_of: Vec<u32>,
}

/// The senders of a coflow, or its receivers.
#[derive(Debug, Clone)]
pub(super) struct Side {
    /// In the order of the trace.
    pub tasks: Vec<Task>,
    /// The ports of those with flows that have not ended.
    pub ports: BitSet,
    /// By port, the position of its task.
    pub position_of: Vec<u32>,
}

/// A sender or a receiver of a coflow.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub port: usize,
    /// Number of its flows that have not ended.
    pub open: usize,
    /// The minimum of bytes sent that was recorded when one of its flows was served. -1 if nothing
    /// is recorded, because unsigned numbers wrap round.
    pub min_sent: i64,
}

impl Side {
    /// Tasks at `racks`, each with `flows` flows, on a fabric with `ports` ports.
    fn new(racks: &[u32], flows: usize, ports: usize) -> Self {
        let mut side = Self {
            tasks: Vec::new(),
            ports: BitSet::none(ports),
            position_of: vec![u32::MAX; ports],
        };
        for (&port, position) in racks.iter().zip(0..) {
            let port = port as usize;
            side.tasks.push(Task { port, open: flows, min_sent: -1 });
            side.ports.insert(port);
            side.position_of[port] = position;
        }
        side
    }

    /// Records the bytes sent by a flow of a task. Returns whether they are fewer than recorded
    /// before.
    fn record(&mut self, position: usize, sent: i64) -> bool {
        let min_sent = &mut self.tasks[position].min_sent;
        let is_less = *min_sent < 0 || sent < *min_sent;
        if is_less {
            *min_sent = sent;
        }
        is_less
    }

    /// Notes that a flow of a task has ended. Returns whether it was the task's last.
    fn end_flow(&mut self, position: usize) -> bool {
        let task = &mut self.tasks[position];
        task.open -= 1;
        if task.open == 0 {
            self.ports.remove(task.port);
        }
        task.open == 0
    }
}

impl Job {
    pub fn load(coflow: &Coflow, ports: usize) -> Result<Self, EmulationError> {
        let Shuffle { mappers, reducers, pairs } = Shuffle::of(coflow, NAME)?;
        let racks: Vec<u32> = reducers.iter().map(|&(rack, _)| rack).collect();
        let by_mappers = |&(_, bytes): &(u32, f64)| (bytes / mappers.len() as f64) as u64;
        let flow_bytes: Vec<u64> = reducers.iter().map(by_mappers).collect();
        if flow_bytes.contains(&0) {
            return Err(EmulationError::Shape {
                coflow: coflow.id.clone(),
                simulator: NAME,
                expected: "flows of at least a byte",
                found: "less".to_owned(),
            });
        }
        let flows = mappers.len() * racks.len();
        Ok(Self {
            arrival_ms: (coflow.arrival_s * 1e3).round() as u64,
            sides: [
                Side::new(&mappers, racks.len(), ports),
                Side::new(&racks, mappers.len(), ports),
            ],
            left: flow_bytes.iter().copied().cycle().take(flows).collect(),
            flow_bytes,
            open: vec![BitSet::all(racks.len()); mappers.len()],
            open_flows: flows,
            sent: 0,
            pilots: Vec::new(),
            open_pilots: 0,
            estimate: 0,
            flow_of: pairs.iter().map(|[m, r]| m * racks.len() as u32 + r).collect(),
        })
    }

    /// Number of flows.
    pub fn width(&self) -> usize {
        self.left.len()
    }

    pub fn is_thin(&self, with: &Parameters) -> bool {
        self.width() <= with.thin
    }

    /// The number of pilots that the coflow should have.
    pub fn pilots_wanted(&self, with: &Parameters) -> usize {
        if self.is_thin(with) {
            return self.width();
        }
        with.pilots.number(self.sides[0].tasks.len(), self.width())
    }

    /// The positions of the sender and the receiver of a flow.
    pub fn ends_of(&self, flow: u32) -> [usize; 2] {
        let receivers = self.sides[1].tasks.len();
        [flow as usize / receivers, flow as usize % receivers]
    }

    /// The ports of a flow.
    pub fn ports_of(&self, flow: u32) -> [usize; 2] {
        let ends = self.ends_of(flow);
        [0, 1].map(|side| self.sides[side].tasks[ends[side]].port)
    }

    /// Sets the estimate to the mean size of the pilots; each size is divided separately, as in the
    /// program.
    pub fn estimate(&mut self) {
        let number = self.pilots.len().max(1) as u64;
        let size = |&pilot: &u32| self.flow_bytes[self.ends_of(pilot)[1]];
        self.estimate = self.pilots.iter().map(|pilot| size(pilot) / number).sum();
    }

    /// Serves a flow for a cycle. Returns whether a task's minimum has become smaller, and whether
    /// the flow has ended.
    pub fn serve(&mut self, flow: u32) -> (bool, bool) {
        let ends = self.ends_of(flow);
        let left = &mut self.left[flow as usize];
        let bytes = CYCLE_BYTES.min(*left);
        *left -= bytes;
        self.sent += bytes;
        let sent = (self.flow_bytes[ends[1]] - *left) as i64;
        let ended = *left == 0;
        let less = [0, 1].map(|side| self.sides[side].record(ends[side], sent));
        (less.contains(&true), ended)
    }

    /// Notes that a flow has ended. Returns whether it was the last of its sender and its receiver.
    pub fn end_flow(&mut self, flow: u32) -> [bool; 2] {
        let ends = self.ends_of(flow);
        self.open[ends[0]].remove(ends[1]);
        self.open_flows -= 1;
        [0, 1].map(|side| self.sides[side].end_flow(ends[side]))
    }
}
