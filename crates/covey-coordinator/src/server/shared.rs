//! What the decision thread shares with other threads.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast;

use super::metrics::{Measured, Refused, Snapshot};
use crate::state::Event;

/// What other threads may look at.
pub(super) struct Shared {
    pub measured: Mutex<(Snapshot, Measured)>,
    pub refused: Refused,
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

/// Locks, whatever became of who had it before.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
