//! FIFO, SCF, NCF, LCF and SEBF: coflows in an order, MADD, and backfill.

use super::cluster::{Cluster, Sharing};
use super::live::{Ledger, Live};
use super::ports::Ports;
use super::scale::ZERO;

/// The key that orders coflows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Key {
    /// Admission.
    Fifo,
    /// Bytes of the largest reducer over mappers.
    Length,
    /// The smaller of the numbers of mappers and reducers.
    Width,
    /// Bytes left when the newer of two is admitted.
    Size,
    /// The bottleneck α.
    Bottleneck,
}

/// Coflows in order.
#[derive(Debug)]
pub(super) struct Ranked {
    key: Key,
    order: Vec<usize>,
}

impl Ranked {
    pub fn new(key: Key) -> Self {
        Self { key, order: Vec::new() }
    }

    fn key(&self, coflow: usize, cluster: &Cluster) -> f64 {
        let job = &cluster.jobs[coflow];
        match self.key {
            Key::Fifo => 0.0,
            Key::Length => job.largest_bytes / job.mappers as f64,
            Key::Width => job.mappers.min(job.reducers.len()) as f64,
            Key::Size => cluster.live[coflow].as_ref().map_or(0.0, Live::asked_left),
            Key::Bottleneck => job.alpha,
        }
    }
}

impl Sharing for Ranked {
    fn ledger(&self) -> Ledger {
        if self.key == Key::Size { Ledger::AskedLeft } else { Ledger::None }
    }

    /// Inserts the coflow before the first whose key is larger. It keeps this position.
    fn admit(&mut self, coflow: usize, cluster: &Cluster) {
        let key = self.key(coflow, cluster);
        let position = self.order.iter().position(|&c| key < self.key(c, cluster));
        self.order.insert(position.unwrap_or(self.order.len()), coflow);
    }

    fn remove(&mut self, coflow: usize) {
        self.order.retain(|&c| c != coflow);
    }

    fn share(&mut self, cluster: &mut Cluster, now_ms: f64, admitted: bool) {
        let mut free = Ports::free(cluster.racks);
        let mut skipped = Vec::new();
        for &c in &self.order {
            let Some(coflow) = &mut cluster.live[c] else { continue };
            if admitted {
                coflow.lay_out();
            }
            coflow.stop();
            match bottleneck_s(coflow, &free) {
                Some(seconds) => madd(coflow, seconds, &mut free),
                None => skipped.push(c),
            }
        }
        free.share_fairly(&skipped, &mut cluster.live);

        // In order of the time left to the deadline that CoflowSim drew, in whole milliseconds.
        let left_ms =
            |&c: &usize| (cluster.start_ms[c] + cluster.jobs[c].deadline_ms - now_ms) as i32;
        let mut by_deadline = self.order.clone();
        by_deadline.sort_by_key(left_ms);
        for c in by_deadline {
            if let Some(coflow) = &mut cluster.live[c] {
                backfill(coflow, &mut free);
            }
        }
    }
}

/// Γ: the seconds that `coflow` needs for its bytes left, with the free capacity. `None` if a port
/// that it needs has no free capacity.
fn bottleneck_s(coflow: &Live, free: &Ports) -> Option<f64> {
    let mut left = Ports::zero(free.racks());
    for receiver in &coflow.reducers {
        left.recv[receiver.rack] = receiver.left;
        receiver.flows.iter().for_each(|flow| left.send[flow.src] += flow.left);
    }
    let mut bottleneck_s = f64::from_bits(1); // Java's smallest double
    for (bytes, free) in [(left.send, &free.send), (left.recv, &free.recv)] {
        for (bytes, free) in bytes.into_iter().zip(free) {
            if bytes > 0.0 && *free <= ZERO {
                return None;
            }
            // The quotient also counts if a reducer's count and a port's rest are both negative.
            bottleneck_s = bottleneck_s.max(bytes * 8.0 / free);
        }
    }
    Some(bottleneck_s)
}

/// Gives all flows rates at which they end together, after `seconds`.
fn madd(coflow: &mut Live, seconds: f64, free: &mut Ports) {
    let mut used = Ports::zero(free.racks());
    for receiver in coflow.reducers.iter_mut().filter(|r| free.recv[r.rack] > ZERO) {
        for flow in &mut receiver.flows {
            let max = free.send[flow.src].min(free.recv[receiver.rack]);
            flow.rate_bps = (flow.left * 8.0 / seconds).min(max);
            used.add(flow.src, receiver.rack, flow.rate_bps);
        }
    }
    free.take(&used);
}

/// Adds to each flow's rate the free capacity of its ports.
fn backfill(coflow: &mut Live, free: &mut Ports) {
    for receiver in &mut coflow.reducers {
        let dst = receiver.rack;
        if free.recv[dst] <= ZERO {
            continue;
        }
        for flow in &mut receiver.flows {
            let more = free.send[flow.src].min(free.recv[dst]);
            if more > ZERO {
                flow.rate_bps += more;
                free.send[flow.src] -= more;
                free.recv[dst] -= more;
            }
        }
    }
}
