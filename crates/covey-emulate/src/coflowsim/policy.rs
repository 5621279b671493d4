//! The policies of CoflowSim.

use covey_trace::Workload;
use covey_trace::results::Outcome;

use super::cluster::{Cluster, Sharing};
use super::dark::Dark;
use super::fair::Fair;
use super::flows;
use super::ranked::{Key, Ranked};
use super::shortest_first::ShortestFirst;
use crate::error::EmulationError;

/// A policy, under the program's name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Coflows in order of admission; MADD and backfill, as in the next four.
    Fifo,
    /// The smallest largest reducer per mapper first.
    Scf,
    /// The fewest senders, or receivers if these are fewer, first.
    Ncf,
    /// The fewest bytes first.
    Lcf,
    /// The smallest bottleneck at admission first.
    Sebf,
    /// Aalo: queues by bytes sent.
    Dark,
    /// DARK with known sizes: coflows begin in the queue in which they would end. The original
    /// program does not have this policy.
    DarkOracle,
    /// Flows share ports; not max-min.
    Fair,
    /// The shortest flow first at each receiver.
    Pfp,
}

/// Returns the program's outcome for `workload` under `policy`; times are in seconds of 1024 ms.
///
/// # Errors
/// A coflow is not a plain shuffle, or does not end within the day that the program simulates.
pub fn run(workload: &Workload, policy: Policy) -> Result<Outcome, EmulationError> {
    let mut cluster = Cluster::load(workload)?;
    let ranked = |key| Box::new(Ranked::new(key));
    let mut sharing: Box<dyn Sharing> = match policy {
        Policy::Fifo => ranked(Key::Fifo),
        Policy::Scf => ranked(Key::Length),
        Policy::Ncf => ranked(Key::Width),
        Policy::Lcf => ranked(Key::Size),
        Policy::Sebf => ranked(Key::Bottleneck),
        Policy::Dark => Box::new(Dark::new(false)),
        Policy::DarkOracle => Box::new(Dark::new(true)),
        Policy::Fair => {
            return flows::run(workload, &cluster, &mut Fair::new(cluster.racks));
        }
        Policy::Pfp => {
            return flows::run(workload, &cluster, &mut ShortestFirst::new(cluster.racks));
        }
    };
    cluster.run(sharing.as_mut());
    cluster.outcome(workload)
}
