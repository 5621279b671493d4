//! The rates in force, and how far flows have come by them.

use covey_core::{Ranking, Sender};

use super::{Engine, Run};
use crate::error::SimError;
use crate::integration::{Integrator, Network};

/// The parts of an engine that integrate rates, and the network that they work on.
macro_rules! parts {
    ($engine:ident) => {{
        let Engine { state, allocator, integration, processors, now, .. } = $engine;
        (Network { state, allocator, now: *now }, integration, processors)
    }};
}
pub(super) use parts;

impl Engine {
    /// Shares the links and takes over the rates.
    pub(super) fn share(&mut self, ranking: &Ranking, run: &Run<'_>) -> Result<(), SimError> {
        let writes_back = self.shows_left;
        let (mut network, integration, processors) = parts!(self);
        let network = &mut network;
        integration.prepare(network);
        network.allocator.allocate(network.state, ranking).map_err(|source| SimError::Plan {
            policy: run.name.to_owned(),
            time_s: network.now.as_secs(),
            source,
        })?;
        if integration.is_superseded(network.allocator) {
            processors.settle_all(network, integration.coflows());
            integration.change_mode(network);
        }
        processors.before_rates_change(network, integration.coflows());
        integration.install(network);
        if !integration.is_flow_level() {
            for &id in integration.coflows_mut().report_stopped(network, writes_back) {
                self.watch.add(Sender::Coflow(id));
                let external = network.state.coflow(id).registration.lineage.external;
                self.watch.add(Sender::Dag(external));
            }
        }
        network.state.end_moment();
        Ok(())
    }

    /// Writes what is left of every flow into the state.
    pub(super) fn advance_all(&mut self) {
        let (mut network, integration, processors) = parts!(self);
        processors.settle_all(&mut network, integration.coflows());
        integration.write_back(&mut network);
    }

    /// Writes into the state what a policy that knows sizes may look at.
    pub(super) fn advance_for_policy(&mut self) {
        let (mut network, integration, processors) = parts!(self);
        processors.settle_all(&mut network, integration.coflows());
        integration.write_back_for_policy(&mut network);
    }
}
