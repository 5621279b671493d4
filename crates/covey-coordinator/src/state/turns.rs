//! What agents decide by themselves between two schedules.
//!
//! Where the policy goes by queues, an agent hears when each coflow has its turn of which flows are
//! open on its host. When a flow ends there, the agent passes its rate on to the next flow with the
//! same receiver, and says so. The receiving port's reservation stays with the flow that has ended
//! until a schedule decides anew. So no port carries more than it can.

use covey_core::Sender;
use covey_proto::{CoflowTurn, FlowName, FlowOpening, OPENINGS, Passing};

use super::coordinator::CoordinatorState;

impl CoordinatorState {
    /// The agent of a port hears from now on when the coflow of a flow has its turn.
    pub(super) fn follow_turns(&mut self, port: u32, opening: &FlowOpening) {
        if !self.driver.goes_in_turn() || self.agents.get(port).connection.spoken < OPENINGS {
            return;
        }
        let name = self.coflows.ids.key(opening.key).unwrap_or(opening.key);
        let Some(coflow) = self.coflows.get_mut(name.coflow) else { return };
        if coflow.flows.get(name.flow).is_some_and(|flow| flow.src == port) {
            coflow.followers.insert(port);
            self.agents.get_mut(port).letters.turns.insert(name.coflow);
            self.agents.wake(port);
        }
    }

    /// The turn of a coflow has changed.
    pub(super) fn turn_changed(&mut self, serial: u64) {
        let Some(coflow) = self.coflows.get(serial) else { return };
        for &port in &coflow.followers {
            // An agent that joins names its open flows again.
            if self.agents.get(port).connection.session.is_some() {
                self.agents.get_mut(port).letters.turns.insert(serial);
                self.agents.wake(port);
            }
        }
    }

    /// The turns that the agent of a port has to hear of.
    pub(super) fn take_turns(&mut self, port: u32) -> Vec<CoflowTurn> {
        let serials = std::mem::take(&mut self.agents.get_mut(port).letters.turns);
        serials.into_iter().filter_map(|serial| self.turn(serial)).collect()
    }

    fn turn(&self, serial: u64) -> Option<CoflowTurn> {
        let coflow = self.coflows.get(serial)?;
        let lineage = coflow.about.lineage;
        let senders = [Sender::Coflow(coflow.id), Sender::Dag(lineage.external)];
        let waits = senders.into_iter().flat_map(|sender| self.driver.wakes().of(sender));
        let left = waits.filter_map(|wake| self.missing(wake)).fold(f64::INFINITY, f64::min);
        Some(CoflowTurn {
            coflow: serial,
            layer: self.driver.layers().of(coflow.policy_flow(0)),
            dag: lineage.external,
            depth: lineage.internal,
            left: left.max(0.0),
        })
    }

    /// The agent of a port has passed rates on.
    pub(super) fn passed(&mut self, port: u32, passings: &[Passing]) {
        for &Passing { from, to } in passings {
            let id = |name: FlowName| name.id().or_else(|| self.coflows.id_of(name.key()?));
            let (Some(id), Some(to_id)) = (id(from), id(to)) else { continue };
            let first =
                to.key().and_then(|key| Some(self.coflows.get(key.coflow)?.flows.first_name(key)));
            self.effects.counts.passed += 1;
            self.agents.passed(port, id, to_id, first.unwrap_or(to));
        }
    }
}
