//! Locks of what threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whatever became of who had it before.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
