//! The state of the coordinator: its parts, and what can be read of them.

use std::collections::{BTreeMap, BTreeSet};

use covey_alloc::PlanError;
use covey_core::{Codec, Confidence, Fabric, Time};
use covey_proto::FlowKey;

use super::agents::Agents;
use super::announced::Announced;
use super::awaited_bytes::AwaitedBytes;
use super::coflows::{Coflows, Tally};
use super::config::Config;
use super::dirty::Dirty;
use super::effects::{Counts, Effects, Output, Population};
use super::journal_queue::JournalQueue;
use super::order::Order;
use super::signer::Signer;
use super::sizes::Sizes;
use super::unfinished::Unfinished;
use crate::SessionId;
use crate::driver::{Driver, Scheduler};
use covey_api::Limits;

/// The coordinator without its I/O.
///
/// The shell around it owns clock, sockets and journal. It passes on requests and messages as they
/// come, calls [`CoordinatorState::decide`] when it has passed on all there are, carries out what
/// [`CoordinatorState::take_outputs`] returns, and asks for an agent's messages
/// ([`CoordinatorState::take_messages`]) when its connection can take some.
///
/// A change that a client asks for has no effect before it is in the journal; then it is applied
/// and answered. Ends of flows have effect at once, and are acknowledged to the agent when they are
/// in the journal; until then the agent reports them again when it joins. After a crash the records
/// of the journal are applied in the same way.
///
/// Each part keeps its own invariants. The other files of this folder each add one procedure that
/// needs several parts.
pub struct CoordinatorState {
    pub(super) config: Config,
    /// The tokens, by name, with what each may have.
    pub(super) limits: BTreeMap<String, Limits>,
    /// How far the sizes that tenants declare can be believed.
    pub(super) sizes: Sizes,
    pub(super) now: Time,
    pub(super) driver: Driver,
    pub(super) coflows: Coflows,
    pub(super) announced: Announced,
    pub(super) agents: Agents,
    pub(super) journal: JournalQueue,
    pub(super) order: Order,
    pub(super) unfinished: Unfinished,
    pub(super) effects: Effects,
    /// Ports that get no new flows.
    pub(super) drained: BTreeSet<u32>,
    pub(super) dirty: Dirty,
    pub(super) awaited_bytes: AwaitedBytes,
    /// Flows whose last bytes are on their way, each with the time at which it is served again.
    pub(super) awaited_ends: BTreeMap<FlowKey, Time>,
    /// The mean of what hosts measure of the policy's codec, as the policy was told.
    pub(super) codec: Option<Codec>,
    pub(super) rounds: Rounds,
    /// Signs flows, if they have tokens.
    pub(super) signer: Option<Signer>,
}

/// When the next scheduling round is due, and what came of the last.
#[derive(Debug)]
pub(super) struct Rounds {
    /// The first time that the policy waits for.
    pub first_wake: Time,
    /// When to look for silent agents.
    pub next_check: Time,
    /// Whether anything was decided since the shell was last told so.
    pub decided: bool,
    /// Why the last plan could not be carried out, until the shell is told so.
    pub failed: Option<PlanError>,
    /// Whether the journal is being read: the policy's times mean nothing meanwhile.
    pub is_reading: bool,
    /// Whether the policy trusts the groups that it has made, if it makes groups.
    pub trusts_groups: bool,
}

impl CoordinatorState {
    /// A coordinator that knows nothing.
    pub(super) fn blank(
        fabric: Fabric,
        scheduler: Scheduler,
        config: Config,
        epoch: u64,
        start: Time,
    ) -> CoordinatorState {
        let ingress = &fabric.capacity()[fabric.ports() as usize..];
        CoordinatorState {
            config,
            limits: BTreeMap::new(),
            sizes: Sizes::default(),
            now: Time::ZERO,
            agents: Agents::new(epoch, ingress, start),
            driver: Driver::new(fabric, scheduler),
            coflows: Coflows::default(),
            announced: Announced::default(),
            journal: JournalQueue::default(),
            order: Order::default(),
            unfinished: Unfinished::default(),
            effects: Effects::default(),
            drained: BTreeSet::new(),
            dirty: Dirty::all(config.codec.is_some()),
            awaited_bytes: AwaitedBytes::default(),
            awaited_ends: BTreeMap::new(),
            codec: None,
            rounds: Rounds {
                first_wake: Time::NEVER,
                next_check: start,
                decided: false,
                failed: None,
                is_reading: false,
                trusts_groups: true,
            },
            signer: None,
        }
    }

    /// The port whose agent has this session, if it is there.
    pub fn port_of(&self, session: SessionId) -> Option<u32> {
        self.agents.port_of(session)
    }

    /// The number of this start.
    pub fn epoch(&self) -> u64 {
        self.agents.epoch()
    }

    /// Has another policy decide from now on. No coflow may be present.
    #[must_use]
    pub fn with_policy(mut self, fabric: Fabric, policy: impl Into<Scheduler>) -> CoordinatorState {
        assert_eq!(self.coflows.len(), 0, "another policy knows nothing of these");
        self.driver = Driver::new(fabric, policy);
        self
    }

    /// The driver of the policy.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// What has been counted.
    pub fn counts(&self) -> Counts {
        self.effects.counts
    }

    /// How many coflows, flows and agents there are.
    pub fn population(&self) -> Population {
        let Tally { stalled, idle, expired, unused } = self.coflows.tally();
        let (coflows, agents) = (self.coflows.len(), self.agents.joined());
        let announced = self.announced.len();
        Population { coflows, stalled, idle, expired, unused, agents, announced }
    }

    /// Changes that wait for the journal, or have not had their whole effect.
    pub fn pending(&self) -> usize {
        self.journal.len() + self.unfinished.len()
    }

    /// The greatest age of a schedule that has been sent and not yet applied, in seconds.
    pub fn oldest_unapplied_s(&self) -> f64 {
        self.agents.oldest_unapplied_s(self.now)
    }

    /// How far the policy trusts the groups that it has made, if it makes groups.
    pub fn confidence(&self) -> Option<Confidence> {
        self.driver.confidence()
    }

    /// How long it takes until agents have applied a schedule, in seconds: a mean that follows
    /// slowly.
    pub fn decision_s(&self) -> f64 {
        self.agents.decision_s()
    }

    /// What is to be done, in order.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        self.effects.take()
    }

    /// Whether a change waits for its next piece, which comes with the next
    /// [`CoordinatorState::decide`].
    pub fn has_unfinished(&self) -> bool {
        self.unfinished.len() > 0
    }

    /// When [`CoordinatorState::decide`] is to be called at the latest.
    pub fn next_wake(&self) -> Time {
        if self.has_unfinished() {
            return self.now;
        }
        self.rounds.first_wake.min(self.rounds.next_check)
    }
}
