//! Observers look on while a simulation runs: for progress, checks and recordings.

use std::ops::ControlFlow;

use covey_core::Time;
use covey_core::alloc::Allocator;
use covey_core::state::State;

/// A scheduling round that has ended. Its rates hold until the next one.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    /// When the round took place.
    pub now: Time,
    /// How many coflows have ended so far.
    pub done: usize,
    /// The coflows that are present.
    pub state: &'a State,
    /// What they have been given.
    pub allocator: &'a Allocator,
}

/// An object that is told of each scheduling round of a simulation.
pub trait Observer {
    /// Links have been shared. Breaking stops the simulation with
    /// [`SimError::Interrupted`](crate::SimError::Interrupted).
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()>;
}

/// An observer that ignores all rounds.
impl Observer for () {
    fn round(&mut self, _: &Round<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
