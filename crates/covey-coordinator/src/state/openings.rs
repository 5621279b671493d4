//! Flows that applications open: whether they are opened where they are registered, and as they
//! are.

use std::collections::BTreeSet;

use covey_proto::{FlowFacts, FlowKey, FlowOpening, OpeningAnswer, OpeningError, Side};

use super::coordinator::CoordinatorState;
use super::flows::Stage;

/// Maximum number of answers that wait for an agent's connection. Beyond that the agent hears
/// nothing.
const MAX_ANSWERS: usize = 200_000;
/// Maximum number of answers in a message, which keeps the message below its size limit.
pub(super) const MAX_ANSWERED: usize = 100_000;

impl CoordinatorState {
    /// Applications on the host of a port have opened flows.
    pub(super) fn opened(&mut self, port: u32, openings: &[FlowOpening]) {
        for opening in openings {
            if opening.side == Side::Sends {
                self.follow_turns(port, opening);
            }
            let name = self.coflows.ids.key(opening.key).unwrap_or(opening.key);
            if self.is_cancelled(name) {
                self.tell_cancelled(name);
            } else if opening.side == Side::Sends && self.is_removed(name.coflow) {
                // An application that opened it before hears that, too.
                self.agents.get_mut(port).letters.acknowledged.push(opening.key.into());
                self.agents.wake(port);
            }
            match self.opening(port, opening) {
                Some(found) => self.answer_opening(port, opening, found),
                None => self.wait_for_flow(port, *opening),
            }
        }
    }

    /// Whether a flow has ended because nobody needs it any more. Its application hears that, which
    /// is no mistake.
    fn is_cancelled(&self, name: FlowKey) -> bool {
        let coflow = self.coflows.get(name.coflow);
        coflow.is_some_and(|coflow| coflow.flows.cancelled().contains(&name.flow))
    }

    /// Whether a client has given a coflow up.
    fn is_removed(&self, serial: u64) -> bool {
        self.coflows.gone.get(serial).is_some_and(|summary| summary.removed)
    }

    /// What is registered of a flow that is opened, or why it is opened wrongly. `None`: the flow
    /// may yet be added.
    ///
    /// A receiver may hear of its flow when that has ended at the sender, and so has the coflow.
    fn opening(
        &self,
        port: u32,
        FlowOpening { key, side, bytes }: &FlowOpening,
    ) -> Option<Result<FlowFacts, OpeningError>> {
        // The flow may have another name since it was registered.
        let name = self.coflows.ids.key(*key).unwrap_or(*key);
        let coflow = self.coflows.get(name.coflow).filter(|coflow| !coflow.flows.is_own());
        let Some(coflow) = coflow else {
            // A coflow that is forgotten has been registered, too.
            let is_over = name.coflow < self.coflows.next_id;
            return Some(match side {
                Side::Receives if is_over => Ok(FlowFacts { peer: port, bytes: f64::INFINITY }),
                _ if is_over => Err(OpeningError::CoflowOver),
                _ => Err(OpeningError::Unregistered),
            });
        };
        let Some(flow) = coflow.flows.get(name.flow) else {
            let count = coflow.flows.len() as u32;
            return (!coflow.open).then_some(Err(OpeningError::NoFlow(count)));
        };
        let (here, peer) = match side {
            Side::Sends => (flow.src, flow.dst),
            Side::Receives => (flow.dst, flow.src),
        };
        let registered = flow.bytes.unwrap_or(f64::INFINITY);
        Some(if here != port {
            Err(OpeningError::OtherHost(here))
        } else if *side == Side::Receives {
            Ok(FlowFacts { peer, bytes: registered })
        } else if flow.stage == Stage::Ended && registered > 0.0 && !self.is_cancelled(name) {
            Err(OpeningError::FlowOver)
        } else if bytes.is_finite() && *bytes > registered.ceil() {
            Err(OpeningError::TooMany(registered))
        } else {
            Ok(FlowFacts { peer, bytes: registered })
        })
    }

    fn answer_opening(
        &mut self,
        port: u32,
        &FlowOpening { key, side, .. }: &FlowOpening,
        found: Result<FlowFacts, OpeningError>,
    ) {
        if let Err(why) = found {
            self.effects.counts.opened_wrongly[why.place()] += 1;
        }
        let agent = self.agents.get_mut(port);
        let Some(session) = agent.connection.session else { return };
        if agent.letters.openings.len() < MAX_ANSWERS {
            agent.letters.openings.push(OpeningAnswer { key, side, found });
            self.effects.ready(session);
        }
    }

    /// More flows are to come, and this one may be among them.
    fn wait_for_flow(&mut self, port: u32, opening: FlowOpening) {
        let coflow = self.coflows.get_mut(opening.key.coflow);
        match coflow.filter(|_| self.agents.get_mut(port).early.push(opening)) {
            Some(coflow) => _ = coflow.early.insert(port),
            None => self.answer_opening(port, &opening, Err(OpeningError::NoFlow(0))),
        }
    }

    /// A coflow has changed: flows of it may be open that were not known.
    pub(super) fn answer_early(&mut self, serial: u64) {
        let coflow = self.coflows.get_mut(serial);
        let ports = coflow.map(|coflow| std::mem::take(&mut coflow.early)).unwrap_or_default();
        self.answer_early_at(&ports, serial);
    }

    /// The same at the ports whose applications have opened flows of the coflow.
    pub(super) fn answer_early_at(&mut self, ports: &BTreeSet<u32>, serial: u64) {
        for &port in ports {
            let openings = self.agents.get_mut(port).early.take(serial);
            self.opened(port, &openings);
        }
    }
}
