//! What the coordinator wants done, and what it counts.

use covey_proto::{OpeningError, Refusal};

use super::flows::Unused;
use crate::record::Record;
use crate::request::Answer;

/// Number of a record of the journal, from 1 in each epoch.
pub type Lsn = u64;

/// Number of a request that waits for its answer; never used again.
pub type RequestId = u64;

/// Number of a connection; never used again.
pub type SessionId = u64;

/// What the shell has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Write a record, and report it by `durable` when it is on disk.
    Journal(Lsn, Record),
    /// Answer a request.
    Answer(RequestId, Answer),
    /// There are messages for an agent.
    Ready(SessionId),
    /// Tell the agent why, and end the session.
    Close(SessionId, Refusal),
    /// Tell those who watch.
    Event(Event),
}

/// What watchers are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Event {
    /// A coflow has been registered.
    Registered {
        /// Its number.
        id: u64,
    },
    /// A coflow has been changed.
    Updated {
        /// Its number.
        id: u64,
    },
    /// The last flow of a coflow has ended.
    Ended {
        /// Its number.
        id: u64,
    },
    /// A coflow has been deregistered.
    Removed {
        /// Its number.
        id: u64,
    },
    /// Flows of a coflow cannot go on, because a host is away.
    Stalled {
        /// Its number.
        id: u64,
    },
    /// Flows of a coflow do not use their rates, and lose them.
    Idle {
        /// Its number.
        id: u64,
        /// Why most of them do not.
        why: Unused,
    },
    /// Nobody has kept a coflow in time.
    Expired {
        /// Its number.
        id: u64,
    },
    /// All flows of a coflow can go on again.
    Resumed {
        /// Its number.
        id: u64,
    },
    /// An agent has joined.
    Joined {
        /// Its port.
        port: u32,
    },
    /// A host is taken for lost.
    Lost {
        /// Its port.
        port: u32,
    },
}

/// Counters: what has happened since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Decisions.
    pub decisions: u64,
    /// Decisions for which the policy made a new plan.
    pub replanned: u64,
    /// Coflows that decisions looked at: whether they have sent the bytes that the policy waits
    /// for, and what agents have to know of their rates, layers and report thresholds.
    pub looked_at: u64,
    /// Schedules sent.
    pub schedules: u64,
    /// Flows named in schedules.
    pub entries: u64,
    /// Messages from agents with ends of flows, or last bytes.
    pub ends: u64,
    /// Messages from agents with bytes sent.
    pub reports: u64,
    /// Messages from agents that a schedule is applied.
    pub applied: u64,
    /// All other messages from agents.
    pub others: u64,
    /// Agents refused because they know of a later epoch.
    pub epochs_ahead: u64,
    /// Flows in reports of agents whose coflows are unknown: of another life of the journal, or
    /// forgotten.
    pub unknown: u64,
    /// Attempts of agents to keep a coflow that has no flow at the agent's port; refused.
    pub strange_keeps: u64,
    /// Connections that applications have refused, because the header did not prove that they are a
    /// flow's.
    pub flows_refused: u64,
    /// Flows that applications have taken without a proof.
    pub flows_unproven: u64,
    /// Flows that applications have opened wrongly, by the place in [`OpeningError::ALL`].
    pub opened_wrongly: [u64; OpeningError::ALL.len()],
    /// Flows that have ended with fewer bytes than were registered, and with more.
    pub other_bytes: [u64; 2],
    /// Rates that agents have passed on from a flow to the next.
    pub passed: u64,
    /// Coflows registered.
    pub registered: u64,
    /// Coflows that have gone.
    pub gone: u64,
}

/// How many there are now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Population {
    /// Coflows present.
    pub coflows: usize,
    /// Coflows with a flow whose host is away.
    pub stalled: usize,
    /// Coflows with a flow that does not use its rate.
    pub idle: usize,
    /// Coflows that nobody keeps.
    pub expired: usize,
    /// Flows that do not use their rates, by [`Unused`].
    pub unused: [usize; 4],
    /// Agents that have joined.
    pub agents: usize,
    /// Flows that no application has named.
    pub announced: usize,
}

/// What the coordinator wants done, in order, with its counters.
#[derive(Debug, Default)]
pub(super) struct Effects {
    outputs: Vec<Output>,
    /// What has been counted.
    pub counts: Counts,
}

impl Effects {
    pub fn journal(&mut self, lsn: Lsn, record: Record) {
        self.outputs.push(Output::Journal(lsn, record));
    }

    pub fn answer(&mut self, request: RequestId, answer: Answer) {
        self.outputs.push(Output::Answer(request, answer));
    }

    pub fn ready(&mut self, session: SessionId) {
        self.outputs.push(Output::Ready(session));
    }

    pub fn close(&mut self, session: SessionId, refusal: Refusal) {
        self.outputs.push(Output::Close(session, refusal));
    }

    pub fn event(&mut self, event: Event) {
        self.outputs.push(Output::Event(event));
    }

    /// Takes what is to be done.
    pub fn take(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    /// Forgets what a journal that is being read would have had done.
    pub fn discard(&mut self) {
        self.outputs.clear();
    }
}
