//! What hosts compress: flows are held back meanwhile, where the plan says so.

use covey_core::Ranking;

use super::Engine;
use super::rates::parts;
use crate::integration::{Integrator, Network};

impl Engine {
    /// Brings the processors to this round.
    pub(super) fn advance_processors(&mut self) {
        let (mut network, integration, processors) = parts!(self);
        processors.advance(&mut network, integration.coflows());
        self.hold_and_let_go();
    }

    /// Has processors compress what the plan in force says; `ranking` is a new one, if there is one.
    pub(super) fn compress(&mut self, ranking: Option<&Ranking>) {
        let (mut network, integration, processors) = parts!(self);
        processors.plan(ranking, &mut network, integration.coflows());
        self.hold_and_let_go();
        let (mut network, integration, processors) = parts!(self);
        processors.assign(&mut network, integration.coflows());
    }

    /// Takes flows that are to be compressed first out of what is shared, and puts back those that
    /// have been.
    pub(super) fn hold_and_let_go(&mut self) {
        let toggles = self.processors.take_toggles();
        let (mut network, integration, _) = parts!(self);
        let network = &mut network;
        if !toggles.is_empty() {
            integration.before_toggles(network, toggles.iter().any(|toggle| toggle.hold));
        }
        for toggle in &toggles {
            let (id, position) = (toggle.coflow, toggle.position);
            let coflow = network.state.coflow(id);
            // Two things that happen in one round may ask for the same.
            if toggle.hold != coflow.demand().is_active(position) {
                continue;
            }
            let volume = coflow.left(position);
            network.allocator.touch(id);
            if toggle.hold {
                let left = integration.hold(network, id, position);
                network.state.hold(id, position, left);
                network.allocator.adjust(network.state, id, position, -1.0);
            } else {
                integration.before_let_go(network, id, position, volume);
                network.state.let_go(id, position);
                network.allocator.adjust(network.state, id, position, 1.0);
                integration.joined(network, id, position);
            }
        }
        self.processors.keep(toggles);
    }
}
