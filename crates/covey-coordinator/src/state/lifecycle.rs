//! From the journal to the end of each batch of messages: what the shell calls in turn.

use covey_alloc::PlanError;
use covey_api::Problem;
use covey_core::{Fabric, Time};

use super::config::Config;
use super::coordinator::CoordinatorState;
use super::effects::{Counts, Lsn};
use super::journal_queue::Pending;
use super::order::Behind;
use super::unfinished::Change;
use crate::driver::Scheduler;
use crate::record::Record;
use crate::request::{Answer, Reply};

/// After so many records of the journal the policy is asked for a plan, or after as many as coflows
/// are present: plans take longer, the more there are.
pub(super) const RECORDS_A_PLAN: usize = 256;

impl CoordinatorState {
    /// A coordinator that knows what `records` say. `start` is not before the time of any of them.
    pub fn new(
        fabric: Fabric,
        scheduler: impl Into<Scheduler>,
        config: Config,
        epoch: u64,
        records: impl IntoIterator<Item = Record>,
        start: Time,
    ) -> CoordinatorState {
        let mut state = CoordinatorState::blank(fabric, scheduler.into(), config, epoch, start);
        state.read(records);
        state.effects.discard();
        state.effects.counts = Counts::default();
        state.now = state.now.max(start);
        state.keep_all();
        state.forget_gone();
        state
    }

    /// Applies what a journal says. Now and then the policy is asked for a plan, because policy and
    /// allocator keep what they hear until then; but no flow is served.
    fn read(&mut self, records: impl IntoIterator<Item = Record>) {
        self.rounds.is_reading = true;
        let mut unplanned = 0;
        for record in records {
            self.apply(&record);
            unplanned += 1;
            if unplanned >= RECORDS_A_PLAN.max(self.coflows.len()) {
                unplanned = 0;
                // A plan that cannot be carried out is reported when one is made in earnest.
                let _ = self.driver.decide(self.now);
                self.note_new_waits();
            }
            self.effects.discard();
        }
        self.rounds.is_reading = false;
    }

    /// Ends a round: has the policy plan, if anything has happened, and finds out which agents have
    /// to be sent what. Returns whether anything was decided since the last call.
    ///
    /// While a wide change is unfinished, applies its next piece instead; the round ends with the
    /// last one.
    ///
    /// # Errors
    /// When the policy's plan cannot be carried out: the rates before stay in force.
    pub fn decide(&mut self, now: Time) -> Result<bool, PlanError> {
        self.advance(now);
        self.check();
        if self.apply_next() {
            self.round();
        }
        for session in self.agents.take_ready() {
            self.effects.ready(session);
        }
        match self.rounds.failed.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.rounds.decided)),
        }
    }

    /// All records up to this one are on disk.
    pub fn durable(&mut self, lsn: Lsn, now: Time) {
        self.advance(now);
        while let Some((lsn, pending)) = self.journal.take_durable(lsn) {
            match pending {
                Pending::Apply(record, requests, coflows, _) => {
                    self.take_effect(Change { lsn, record, requests, coflows, done: 0 });
                }
                Pending::Acknowledge(_, port, keys) => self.acknowledge(port, keys),
            }
        }
    }

    /// The records from `first` to `last` could not be written, and are not in the journal.
    pub fn not_durable(&mut self, first: Lsn, last: Lsn, why: &str) {
        let coflows = self.journal.refuse(first, last, why, &mut self.effects);
        self.order.end(&coflows);
        self.go_on(&coflows);
    }

    /// No change of these coflows is under way any more: what has waited behind it goes on.
    pub(super) fn go_on(&mut self, coflows: &[u64]) {
        for &coflow in coflows {
            while let Some(behind) = self.order.next(coflow) {
                match behind {
                    Behind::Request(id, client, request) => {
                        self.request_of(id, client, *request, self.now);
                    }
                    Behind::Ends(port, flows) => self.ended(port, &flows),
                }
            }
        }
    }

    pub(super) fn answer_to(&self, record: &Record) -> Answer {
        let status = |id: u64| self.status(id).ok_or_else(|| Problem::unknown(id));
        match record {
            Record::Registered { id, .. } => status(*id).map(Reply::Registered),
            Record::Updated { id, .. } => status(*id).map(Reply::Coflow),
            Record::Drain { port, .. } => Ok(Reply::Drain(self.drain_status(*port))),
            _ => Ok(Reply::Removed),
        }
    }
}
