//! Observers of a running simulation, for progress, checks and recordings.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use covey_alloc::{Allocator, Driver};
use covey_core::state::State;
use covey_core::{Criterion, FlowId, LinkId, Ranking, Time};

/// A scheduling round that has ended. Its rates hold until the next one.
#[derive(Clone, Copy)]
pub struct Round<'a> {
    /// The time of the round.
    pub now: Time,
    /// The number of coflows that have ended so far.
    pub done: usize,
    /// The number of the policy's coflows that have left so far. It equals `done`, unless the
    /// policy puts flows into groups of its own.
    pub departed: usize,
    /// The plan in force.
    pub ranking: &'a Ranking,
    /// The coflows that are present.
    pub state: &'a State,
    /// The allocator, with their rates.
    pub allocator: &'a Allocator,
    /// The policy, for questions about its plan.
    pub(crate) driver: &'a Driver<'a>,
}

impl Round<'_> {
    /// What the policy ranks a flow by at a link of its path, most important first
    /// ([`Policy::ranked_by`](covey_core::Policy::ranked_by)).
    pub fn ranked_by(&self, flow: FlowId, link: LinkId) -> Vec<Criterion> {
        self.driver.ranked_by(flow, link)
    }
}

/// An observer, which is called in each scheduling round of a simulation.
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

/// An observer that somebody else reads when the simulation is over.
impl<O: Observer> Observer for Arc<Mutex<O>> {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).round(round)
    }
}
