//! What the decision thread shares with other threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use covey_api::{CoordinatorStatus, Problem};
use covey_core::Time;
use tokio::sync::{Semaphore, broadcast, watch};

use super::audit::Audit;
use super::config::Weights;
use super::joined_relays::JoinedRelays;
use super::metrics::{Doors, Measured, Snapshot};
use super::rate::{Rate, Rates};
use super::requests::Requests;
use crate::connections::lock;
use crate::recording::Recorder;
use crate::state::Event;
use covey_credentials::LiveTls;

/// What other threads may look at.
pub(super) struct Shared {
    pub measured: Mutex<(Snapshot, Measured)>,
    pub doors: Doors,
    pub tls: Arc<LiveTls>,
    pub requests: Arc<Requests>,
    pub relays: Arc<JoinedRelays>,
    pub audit: Arc<Audit>,
    pub events: broadcast::Sender<Numbered>,
    pub past: Mutex<VecDeque<Numbered>>,
    /// What coflows did in the last minutes.
    pub recorder: Arc<Mutex<Recorder>>,
    /// Whether the journal can be written.
    pub durable: AtomicBool,
    pub draining: AtomicBool,
    /// Whether clients may change nothing.
    pub read_only: AtomicBool,
    /// The policy in force, with its parameters.
    pub policy: Mutex<String>,
    /// The most flows of a coflow.
    pub max_flows: AtomicUsize,
    /// So many large bodies are read at a time.
    pub large_bodies: Arc<Semaphore>,
    /// So many pages of lists are made at a time.
    pub pages: Arc<Semaphore>,
    /// The weights of tenants.
    pub tenants: Mutex<Weights>,
    /// How many requests a second there may be.
    pub rate: Rate,
    /// And of tokens that have a limit of their own.
    pub rates: Rates,
    /// Whether the journal has the epoch, so that no other start will have it.
    pub is_fenced: watch::Sender<bool>,
    pub turn: Turn,
    pub about: About,
}

/// For how long the decision thread has been in its turn.
#[derive(Debug, Default)]
pub(super) struct Turn(Mutex<Option<Instant>>);

impl Turn {
    /// A turn begins.
    pub fn begin(&self) {
        *lock(&self.0) = Some(Instant::now());
    }

    /// The turn has ended.
    pub fn end(&self) {
        *lock(&self.0) = None;
    }

    /// Seconds since the turn began; 0 between turns.
    pub fn seconds(&self) -> f64 {
        lock(&self.0).map_or(0.0, |began| began.elapsed().as_secs_f64())
    }
}

/// What holds for as long as the coordinator runs.
#[derive(Debug)]
pub(super) struct About {
    pub ports: u32,
    /// Bytes per second of each port.
    pub port_rate: f64,
    pub heartbeat_s: f64,
    pub lost_after_s: f64,
    /// The time of the state at `started`.
    pub base: Time,
    pub started: Instant,
}

impl Shared {
    /// Why no change would be accepted now, if none would.
    pub fn refusal(&self) -> Option<Problem> {
        let not_durable = || {
            let durable = self.durable.load(Ordering::Relaxed);
            (!durable).then(|| Problem::new(503, "not durable", "the journal cannot be written"))
        };
        self.closed().or_else(not_durable)
    }

    /// Why no change is to be accepted, if none is.
    pub fn closed(&self) -> Option<Problem> {
        if self.draining.load(Ordering::Relaxed) {
            return Some(Problem::new(503, "draining", "the coordinator is about to stop"));
        }
        let read_only = self.read_only.load(Ordering::Relaxed);
        read_only.then(|| Problem::new(503, "read only", "the coordinator takes no changes now"))
    }

    /// A report on the coordinator.
    pub fn status(&self) -> CoordinatorStatus {
        let now = lock(&self.measured).0.clone();
        let About { ports, port_rate, heartbeat_s, lost_after_s, base, started } = &self.about;
        let up_s = started.elapsed().as_secs_f64();
        CoordinatorStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy: lock(&self.policy).clone(),
            epoch: now.epoch,
            ready: self.refusal().is_none(),
            up_s,
            now_s: (*base + up_s).as_secs(),
            ports: *ports,
            port_rate: *port_rate,
            heartbeat_s: *heartbeat_s,
            lost_after_s: *lost_after_s,
            coflows: now.population.coflows,
            coflows_stalled: now.population.stalled,
            coflows_idle: now.population.idle,
            coflows_expired: now.population.expired,
            agents: now.population.agents,
            relays: self.relays.count().0,
            schedule_age_s: now.oldest_unapplied_s,
            decision_s: now.decision_s,
            confidence: now.confidence.map(|it| it.value),
            confidence_least: now.confidence.map(|it| it.least),
        }
    }
}

/// An event with its number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered {
    pub number: u64,
    pub event: Event,
}

/// Events that are remembered for those who come back.
pub(super) const PAST: usize = 4096;
