//! What the coordinator is asked of flows that applications open.

use std::collections::BTreeMap;

use covey_proto::{FlowKey, FlowOpening, FromAgent, OPENINGS, OpeningAnswer, Side, Welcome};

/// Maximum number of flows that are followed. Others are opened unchecked.
const MAX_FLOWS: usize = 200_000;
/// Maximum number of flows in a message.
const MAX_SAID: usize = 32_000;

/// Flows that are open, as applications name them.
#[derive(Debug, Default)]
pub struct Openings {
    /// Flows that are sent from here, and whether they were found to be opened rightly.
    sent: BTreeMap<FlowKey, (FlowOpening, bool)>,
}

impl Openings {
    /// Applications have opened flows. The coordinator is asked, if there is one that answers.
    pub fn opened(
        &mut self,
        openings: &[FlowOpening],
        welcome: Option<Welcome>,
        out: &mut Vec<FromAgent>,
    ) {
        for opening in openings.iter().filter(|opening| opening.side == Side::Sends) {
            if self.sent.len() < MAX_FLOWS || self.sent.contains_key(&opening.key) {
                self.sent.insert(opening.key, (*opening, false));
            }
        }
        if asks(welcome) {
            say(openings, out);
        }
    }

    /// A session has begun: all flows that are open are named again.
    pub fn welcomed(&mut self, welcome: Welcome, out: &mut Vec<FromAgent>) {
        if asks(Some(welcome)) {
            let all: Vec<FlowOpening> = self.sent.values().map(|(opening, _)| *opening).collect();
            say(&all, out);
        }
    }

    /// The coordinator has answered. Returns whether applications are to hear of it: a flow that was found to be opened
    /// rightly stays so, also for a coordinator that has lost its journal.
    pub fn answered(&mut self, answer: &OpeningAnswer) -> bool {
        match (self.sent.get_mut(&answer.key), answer.side) {
            (Some((_, is_right)), Side::Sends) if *is_right && answer.found.is_err() => false,
            (Some((_, is_right)), Side::Sends) => {
                *is_right = answer.found.is_ok();
                true
            }
            _ => true,
        }
    }

    /// A flow is not open here any more.
    pub fn closed(&mut self, key: FlowKey) {
        self.sent.remove(&key);
    }
}

fn asks(welcome: Option<Welcome>) -> bool {
    welcome.is_some_and(|welcome| welcome.version >= OPENINGS)
}

fn say(openings: &[FlowOpening], out: &mut Vec<FromAgent>) {
    out.extend(openings.chunks(MAX_SAID).map(|some| FromAgent::Opened(some.to_vec())));
}
