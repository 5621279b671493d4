//! What all flows of an application share where nobody is in charge.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use covey_core::Time;
use covey_proto::Note;
use covey_stream::{EscapeRules, Proposal, Setup};

use super::receiving::{Decision, Receiving};
use super::replies::Replies;
use super::sending::Sending;

/// Delays that are remembered.
const DELAYS: usize = 4096;

/// This application, as a host of Stream.
#[derive(Debug)]
pub struct Host {
    setup: Setup,
    /// The name by which other hosts know it: a random number.
    name: u32,
    began: Instant,
    connections: AtomicU64,
    receiving: Mutex<Receiving<Arc<Replies>>>,
    sending: Mutex<Sending>,
    /// How long decisions took from receivers to marks here, and how many there were.
    delays: Mutex<(Vec<Duration>, usize)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Host {
    /// A host with this setup and this name.
    pub fn new(setup: Setup, name: u32) -> Host {
        let sending = Sending::new(setup.rules.queues(), setup.relays);
        Host {
            receiving: Mutex::new(Receiving::new(setup.clone())),
            sending: Mutex::new(sending),
            setup,
            name,
            began: Instant::now(),
            connections: AtomicU64::new(0),
            delays: Mutex::default(),
        }
    }

    pub fn name(&self) -> u32 {
        self.name
    }

    pub fn proposal(&self) -> Proposal {
        self.setup.proposal
    }

    pub fn escape(&self) -> Option<&EscapeRules> {
        self.setup.escape.as_ref()
    }

    /// Seconds since this application began.
    pub fn now(&self) -> Time {
        Time::from_secs(self.began.elapsed().as_secs_f64())
    }

    /// When that time comes.
    pub fn instant(&self, time: Time) -> Instant {
        self.began + Duration::from_secs_f64(time.as_secs().max(0.0))
    }

    pub fn new_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    pub fn receiving(&self) -> MutexGuard<'_, Receiving<Arc<Replies>>> {
        lock(&self.receiving)
    }

    /// A flow begins here. Returns whether there may be notes for its receiver, now and later.
    pub fn begin_sending(&self, coflow: u64, connection: u64) -> Arc<AtomicBool> {
        let predecessors = match self.setup.tells_sizes {
            true => self.receiving().predecessors(coflow),
            false => Vec::new(),
        };
        lock(&self.sending).begin(coflow, connection, self.name, &predecessors)
    }

    pub fn hear_decision(&self, coflow: u64, connection: u64, name: u32, decision: Decision) {
        lock(&self.sending).hear(coflow, connection, name, decision);
    }

    pub fn notes(&self, coflow: u64, connection: u64) -> Vec<Note> {
        lock(&self.sending).notes(coflow, connection)
    }

    pub fn end_sending(&self, coflow: u64, connection: u64) {
        lock(&self.sending).end(coflow, connection);
    }

    /// A decision took so long from its receiver to the marks of packets.
    pub fn note_delay(&self, delay: Duration) {
        let mut delays = lock(&self.delays);
        let (all, count) = &mut *delays;
        match all.get_mut(*count % DELAYS) {
            Some(oldest) => *oldest = delay,
            None => all.push(delay),
        }
        *count += 1;
    }

    /// The last of these delays, in no order.
    pub fn delays(&self) -> Vec<Duration> {
        lock(&self.delays).0.clone()
    }
}
