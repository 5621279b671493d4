//! Flows that applications on a host have opened before they were added to their coflows.

use std::collections::BTreeMap;

use covey_proto::FlowOpening;

/// Maximum number of them at a host. Each host has this room for itself: no other can take it up.
pub(super) const MAX_EARLY: usize = 10_000;

/// Flows that applications on a host have opened before they were added to their coflows.
#[derive(Debug, Default)]
pub(super) struct EarlyOpenings {
    /// By coflow, in the order in which they were opened: each opening has its answer.
    openings: BTreeMap<u64, Vec<FlowOpening>>,
    count: usize,
}

impl EarlyOpenings {
    /// A flow has been opened. Returns whether there was room for it.
    pub fn push(&mut self, opening: FlowOpening) -> bool {
        let has_room = self.count < MAX_EARLY;
        if has_room {
            self.count += 1;
            self.openings.entry(opening.key.coflow).or_default().push(opening);
        }
        has_room
    }

    /// Takes those of a coflow.
    pub fn take(&mut self, serial: u64) -> Vec<FlowOpening> {
        let taken = self.openings.remove(&serial).unwrap_or_default();
        self.count -= taken.len();
        taken
    }
}
