//! What the coordinator is asked and told of proofs of flows.

use covey_proto::{FromAgent, TOKENS, Welcome};

use super::say::say;
use crate::progress::Progress;

/// Counts that the coordinator has not heard.
#[derive(Debug, Default)]
pub struct Proving {
    refused: u64,
    unproven: u64,
}

impl Proving {
    /// Says what there is to say in a session, if there is one. Without one nobody is asked: the
    /// enforcer knows that it is over.
    pub fn say(&mut self, progress: &Progress, welcome: Option<Welcome>, out: &mut Vec<FromAgent>) {
        self.refused += progress.refused;
        self.unproven += progress.unproven;
        if welcome.is_none_or(|welcome| welcome.version < TOKENS) {
            return;
        }
        say(progress.asks.iter().copied(), FromAgent::Asks, out);
        let Proving { refused, unproven } = *self;
        if refused + unproven > 0 {
            out.push(FromAgent::Checked { refused, unproven });
            *self = Proving::default();
        }
    }
}
