//! DARK, CoflowSim's name for Aalo: queues by bytes sent, FIFO inside a queue.

use super::cluster::{Cluster, Sharing};
use super::live::Ledger;
use super::ports::Ports;

/// Number of queues.
const QUEUES: usize = 10;
/// Limit of the first queue: the maximum of bytes sent by a coflow in it.
const FIRST_LIMIT: f64 = 10.0 * 1_048_576.0;
/// Ratio of the limits of adjacent queues.
const FACTOR: f64 = 10.0;

/// Coflows in queues.
#[derive(Debug)]
pub(super) struct Dark {
    queues: [Vec<usize>; QUEUES],
    /// Whether sizes are known; coflows then begin in the queue in which they would end.
    oracle: bool,
}

impl Dark {
    pub fn new(oracle: bool) -> Self {
        Self { queues: Default::default(), oracle }
    }

    /// Moves coflows that have sent more than their queue's limit to the end of the next queue,
    /// queue by queue.
    fn move_down(&mut self, cluster: &Cluster) {
        for q in 0..QUEUES - 1 {
            let too_large = |c: &mut usize| {
                let live = cluster.live[*c].as_ref();
                live.is_some_and(|live| queue_of(live.sent) > q)
            };
            let moved: Vec<usize> = self.queues[q].extract_if(.., too_large).collect();
            self.queues[q + 1].extend(moved);
        }
    }
}

impl Sharing for Dark {
    fn ledger(&self) -> Ledger {
        if self.oracle { Ledger::None } else { Ledger::Sent }
    }

    fn admit(&mut self, coflow: usize, cluster: &Cluster) {
        let queue = if self.oracle { queue_of(cluster.jobs[coflow].total_bytes) } else { 0 };
        self.queues[queue].push(coflow);
    }

    fn remove(&mut self, coflow: usize) {
        self.queues.iter_mut().for_each(|queue| queue.retain(|&c| c != coflow));
    }

    fn share(&mut self, cluster: &mut Cluster, _: f64, _: bool) {
        if !self.oracle {
            self.move_down(cluster);
        }
        let mut free = Ports::free(cluster.racks);
        for &c in self.queues.iter().flatten() {
            if let Some(coflow) = &mut cluster.live[c] {
                coflow.lay_out();
                coflow.stop();
            }
            free.share_fairly(&[c], &mut cluster.live);
        }
    }
}

/// The queue for a coflow that has sent `bytes`, compared without a tolerance. CoflowSim's sum of
/// sent bytes may have drifted across a limit, and its rounding decides.
fn queue_of(bytes: f64) -> usize {
    let limits = std::iter::successors(Some(FIRST_LIMIT), |limit| Some(limit * FACTOR));
    limits.take(QUEUES - 1).filter(|limit| *limit < bytes).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_belongs_to_the_queue_above() {
        let mb = |mb: f64| queue_of(mb * 1_048_576.0);
        assert_eq!([mb(0.0), mb(10.0), mb(10.001), mb(100.0), mb(101.0)], [0, 0, 1, 1, 2]);
        assert_eq!(mb(1e30), 9);
    }
}
