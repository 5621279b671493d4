//! What each token has in the coordinator.

use std::collections::BTreeMap;

/// What a token has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Coflows that are present.
    pub coflows: usize,
    /// Their flows, also those that have ended.
    pub flows: usize,
    /// Idempotency keys that they were registered with.
    pub keys: usize,
}

/// What tokens have, by their names. Tokens that have nothing are not there.
#[derive(Debug, Default)]
pub(super) struct Holdings(BTreeMap<String, Held>);

impl Holdings {
    /// What a token has.
    pub fn of(&self, token: &str) -> Held {
        self.0.get(token).copied().unwrap_or_default()
    }

    pub fn add(&mut self, token: &str, more: Held) {
        let held = match self.0.get_mut(token) {
            Some(held) => held,
            None => self.0.entry(token.to_owned()).or_default(),
        };
        held.coflows += more.coflows;
        held.flows += more.flows;
        held.keys += more.keys;
    }

    pub fn remove(&mut self, token: &str, less: Held) {
        let Some(held) = self.0.get_mut(token) else { return };
        held.coflows -= less.coflows;
        held.flows -= less.flows;
        held.keys -= less.keys;
        if *held == Held::default() {
            self.0.remove(token);
        }
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
