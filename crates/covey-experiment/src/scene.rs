//! What policies are simulated on.

use covey_core::Observed;
use covey_topology::Network;
use covey_trace::Workload;

/// A network, and a workload on it.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The network.
    pub network: Network,
    /// The workload, with the network's hosts as its ports.
    pub workload: Workload,
    /// How its flows appear to policies that do not see coflows, in the order of the workload, if
    /// that was said. By default only hosts and starts are known.
    pub appearing: Option<Vec<Observed>>,
}
