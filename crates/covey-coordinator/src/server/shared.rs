//! What the decision thread shares with other threads.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use tokio::sync::broadcast;

use super::metrics::{Doors, Measured, Requests, Snapshot};
use crate::authority::LiveTls;
use crate::state::Event;

/// What other threads may look at.
pub(super) struct Shared {
    pub measured: Mutex<(Snapshot, Measured)>,
    pub doors: Doors,
    pub tls: Arc<LiveTls>,
    pub requests: Requests,
    pub events: broadcast::Sender<Numbered>,
    pub past: Mutex<VecDeque<Numbered>>,
    /// Whether the journal can be written.
    pub durable: AtomicBool,
    pub draining: AtomicBool,
}

/// An event with its number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered {
    pub number: u64,
    pub event: Event,
}

/// Events that are remembered for those who come back.
pub(super) const PAST: usize = 4096;
