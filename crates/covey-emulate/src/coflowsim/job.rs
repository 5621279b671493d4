//! A coflow as CoflowSim loads it: tasks of a rack merged, bytes rounded up.

use covey_trace::{Coflow, MB};

use super::scale::{CAPACITY_BPS, NAME};
use crate::error::EmulationError;
use crate::shuffle::Shuffle;

/// Bytes of the smallest flow.
const MIB: u64 = MB as u64;

/// A coflow.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// Arrival in CoflowSim's milliseconds.
    pub arrival_ms: f64,
    /// Number of racks with mappers.
    pub mappers: usize,
    /// Bytes of all reducers, and of the largest.
    pub total_bytes: f64,
    pub largest_bytes: f64,
    /// The static bottleneck α, in bytes.
    pub alpha: f64,
    /// The deadline, in milliseconds after the admission. The workload has no deadlines, but
    /// CoflowSim draws them, and backfill uses their order.
    pub deadline_ms: f64,
    /// The reducers in order of rack.
    pub reducers: Vec<Reducer>,
    /// For each flow of the workload's coflow, the flow's number here. Numbers go reducer by
    /// reducer, and mapper by mapper for each.
    pub flow_of: Vec<u32>,
}

/// A reducer, and the flows from all mappers in order of rack.
#[derive(Debug, Clone)]
pub(super) struct Reducer {
    /// Its rack.
    pub rack: usize,
    /// Bytes asked for, before the last rounding.
    pub asked_bytes: f64,
    /// Bytes to receive.
    pub bytes: f64,
    /// The mappers' racks.
    pub from: Vec<usize>,
    /// Bytes of each flow.
    pub flow_bytes: f64,
}

impl Job {
    pub fn load(coflow: &Coflow) -> Result<Self, EmulationError> {
        let Shuffle { mappers, reducers, pairs } = Shuffle::of(coflow, NAME)?;
        let by_rack = |racks: &mut dyn Iterator<Item = u32>| {
            let mut sorted: Vec<(u32, usize)> = racks.zip(0..).collect();
            sorted.sort_unstable();
            sorted
        };
        let mapper_order = by_rack(&mut mappers.iter().copied());
        let reducer_order = by_rack(&mut reducers.iter().map(|&(rack, _)| rack));
        let from: Vec<usize> = mapper_order.iter().map(|&(rack, _)| rack as usize).collect();

        let reducer = |&(rack, position): &(u32, usize)| {
            let asked = round_up(reducers[position].1, MIB);
            let bytes = round_up(asked, MIB * from.len() as u64);
            // A reducer with nothing to receive still has flows of a MiB.
            let flow_bytes = (bytes / from.len() as f64).max(MB);
            let (rack, from) = (rack as usize, from.clone());
            Reducer { rack, asked_bytes: asked, bytes, from, flow_bytes }
        };
        let reducers: Vec<Reducer> = reducer_order.iter().map(reducer).collect();
        let total_bytes: f64 = reducers.iter().map(|r| r.bytes).sum();
        let largest_bytes = reducers.iter().map(|r| r.bytes).fold(0.0, f64::max);

        let rank = |order: &[(u32, usize)]| {
            let mut rank = vec![0; order.len()];
            order.iter().zip(0..).for_each(|(&(_, position), r)| rank[position] = r);
            rank
        };
        let (mapper_rank, reducer_rank) = (rank(&mapper_order), rank(&reducer_order));
        let flow_of = |&[m, r]: &[u32; 2]| {
            reducer_rank[r as usize] * from.len() as u32 + mapper_rank[m as usize]
        };
        Ok(Self {
            // CoflowSim's traces have whole milliseconds.
            arrival_ms: (coflow.arrival_s * 1e3).round(),
            mappers: from.len(),
            total_bytes,
            largest_bytes,
            alpha: (total_bytes / from.len() as f64).max(largest_bytes),
            deadline_ms: 0.0,
            flow_of: pairs.iter().map(flow_of).collect(),
            reducers,
        })
    }

    /// `factor` times CoflowSim's number of milliseconds that the bottleneck needs. CoflowSim
    /// counts 1000 ms a second here.
    pub fn deadline_ms(&self, factor: f64) -> f64 {
        self.alpha / (CAPACITY_BPS / 8.0) * factor * 1000.0
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.reducers.len() * self.mappers
    }
}

/// `bytes`, less the fraction of a byte, rounded up to a multiple of `unit`.
fn round_up(bytes: f64, unit: u64) -> f64 {
    (bytes as u64).div_ceil(unit).saturating_mul(unit) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::Flow;

    #[test]
    fn bytes_are_rounded_up_to_a_mib_a_flow() {
        // Three mappers; reducers of 3.5 MiB and of a byte, listed out of order.
        let mut flows = Vec::new();
        for src in [5, 2, 9] {
            for (dst, bytes) in [(7, 3.5 * MB / 3.0), (1, 1.0)] {
                flows.push(Flow { src, dst, bytes, start_s: 0.0 });
            }
        }
        let job = Job::load(&Coflow::new("1".to_owned(), 1.0006, flows)).expect("a shuffle");
        assert_eq!(job.arrival_ms, 1001.0);
        assert_eq!(job.reducers.iter().map(|r| r.rack).collect::<Vec<_>>(), [1, 7]);
        assert!(job.reducers.iter().all(|r| r.from == [2, 5, 9]));
        let sizes = job.reducers.iter().map(|r| [r.asked_bytes, r.bytes, r.flow_bytes]);
        let mib = sizes.map(|sizes| sizes.map(|bytes| bytes / MB)).collect::<Vec<_>>();
        assert_eq!(mib, [[1.0, 3.0, 1.0], [4.0, 6.0, 2.0]]);
        assert_eq!(job.alpha, 6.0 * MB); // 9 MiB by 3 mappers, or 6 MiB to one reducer
        // The flow from 5 to 7 is the second of the second reducer.
        assert_eq!(job.flow_of, [4, 1, 3, 0, 5, 2]);
    }

    #[test]
    fn racks_are_merged() {
        let flow = |src, dst| Flow { src, dst, bytes: MB, start_s: 0.0 };
        let flows = vec![flow(0, 3), flow(0, 3), flow(1, 3), flow(1, 3)];
        let job = Job::load(&Coflow::new("1".to_owned(), 0.0, flows)).expect("a shuffle");
        assert_eq!((job.mappers, job.reducers.len(), job.total_bytes), (2, 1, 4.0 * MB));
        assert_eq!(job.flow_of, [0, 0, 1, 1]);
    }

    #[test]
    fn sums_of_thirds_are_whole_again() {
        let flows = |n: u32, mb: f64| {
            let flow = |src| Flow { src, dst: 0, bytes: mb * MB / f64::from(n), start_s: 0.0 };
            Coflow::new("1".to_owned(), 0.0, (0..n).map(flow).collect())
        };
        for n in 1..150 {
            let mib = f64::from(n * 7);
            let job = Job::load(&flows(n, mib)).expect("a shuffle");
            assert_eq!(job.total_bytes, mib * MB, "{n}");
        }
    }
}
