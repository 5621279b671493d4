//! The times of the wake-ups for which a policy waits.

use covey_core::state::State;
use covey_core::{CoflowId, Sender, Time, Wake, Wakes};

use crate::dags::Dags;
use crate::integration::{ClassFlows, CoflowFluids};

/// The time of the next wake-up, and the coflows and DAGs whose bytes have to be checked although
/// they may not be sending.
#[derive(Debug)]
pub(super) struct WakeWatch {
    /// The time of the first wake-up.
    first: Time,
    /// Senders for which the policy has begun to wait, or which have stopped or ended.
    senders: Vec<Sender>,
    /// The number of `senders` that have been checked.
    looked_at: usize,
    /// Under classes, which count all coflows, the DAGs for which the policy waits: each once. By its coflows, a
    /// job of a hundred of them would cost ten thousand steps an event.
    dags: Vec<u64>,
}

/// Bytes sent by coflows and DAGs, and their rates.
pub(super) struct Sent<'a> {
    pub coflows: &'a CoflowFluids,
    /// The flows in classes, if they are served so.
    pub classes: Option<&'a ClassFlows>,
    pub dags: &'a Dags,
    pub state: &'a State,
    pub now: Time,
}

impl Default for WakeWatch {
    fn default() -> WakeWatch {
        WakeWatch { first: Time::NEVER, senders: Vec::new(), looked_at: 0, dags: Vec::new() }
    }
}

impl WakeWatch {
    /// A watch without wake-ups.
    pub fn clear(&mut self) {
        self.first = Time::NEVER;
        self.senders.clear();
        self.looked_at = 0;
    }

    /// A sender has stopped or ended: it may have sent the bytes for which the policy waits.
    pub fn add(&mut self, sender: Sender) {
        self.senders.push(sender);
    }

    /// Takes note of the senders for which the policy has begun to wait. Returns them.
    pub fn take_fresh(&mut self, wakes: &mut Wakes) -> &[Sender] {
        let known = self.senders.len();
        self.senders.extend(wakes.take_fresh());
        &self.senders[known..]
    }

    /// The time of the next wake-up. `others` is the time of the next other event.
    pub fn next(&mut self, wakes: &Wakes, sent: &Sent<'_>, others: Time) -> Time {
        self.looked_at = self.senders.len();
        self.dags.clear();
        if sent.classes.is_some() {
            self.dags.extend(wakes.dags());
        }
        let mut first = wakes.times().fold(Time::NEVER, Time::min);
        for sender in self.senders(wakes, sent) {
            for wake in wakes.of(sender) {
                let soon = others.min(first);
                first = first.min(sent.when(wake, soon + 2.0 * soon.slack_s()));
            }
        }
        self.first = first;
        first
    }

    /// Moves the wake-ups that are due from `wakes` to the list `due`.
    pub fn take_due(&mut self, wakes: &mut Wakes, sent: &Sent<'_>, due: &mut Vec<(u64, Wake)>) {
        // No event of this round makes a wake-up earlier.
        if self.first.due(sent.now) {
            let senders = self.senders(wakes, sent);
            let soon = sent.now + 2.0 * sent.now.slack_s();
            let is_due = |wake: &Wake| sent.when(*wake, soon).due(sent.now);
            wakes.take_due(sent.now, senders, is_due, due);
        }
        self.senders.drain(..self.looked_at);
        self.looked_at = 0;
    }

    /// The coflows and DAGs that may have sent the bytes for which the policy waits; some occur
    /// twice.
    fn senders<'a>(
        &'a self,
        wakes: &Wakes,
        sent: &'a Sent<'_>,
    ) -> impl Iterator<Item = Sender> + use<'a> {
        let all = sent.classes.map_or(sent.coflows.moving(), ClassFlows::counted);
        let moving = if wakes.wait_for_coflows() { all } else { &[] };
        let moving = moving.iter().map(|&id| Sender::Coflow(id));
        let each = if wakes.wait_for_dags() && sent.classes.is_none() { all } else { &[] };
        let each = each.iter().map(|&id| sent.state.coflow(id).registration.lineage.external);
        let dags = self.dags.iter().copied().chain(each);
        self.senders.iter().copied().chain(moving).chain(dags.map(Sender::Dag))
    }
}

impl Sent<'_> {
    /// The time of a wake-up if rates stay. It need not be exact if it is not earlier than `limit`.
    fn when(&self, wake: Wake, limit: Time) -> Time {
        match wake {
            Wake::At(time) => time,
            Wake::WhenSent(id, bytes) => self.when_sent(id, bytes, limit),
            Wake::WhenPassed(id, link, bytes) => self.classes.map_or(Time::NEVER, |classes| {
                classes.when_sent((id, Some(link)), bytes, (self.now, limit))
            }),
            Wake::WhenDagSent(external, bytes) => self.when_dag_sent(external, bytes, limit),
            Wake::WhenFlowSent(id, bytes) => {
                self.coflows.when_flow_sent(self.state, id, bytes, limit)
            }
        }
    }

    fn when_sent(&self, id: CoflowId, bytes: f64, limit: Time) -> Time {
        match self.classes {
            Some(classes) => classes.when_sent((id, None), bytes, (self.now, limit)),
            None => self.coflows.when_sent(id, bytes),
        }
    }

    /// Bytes that a coflow has sent, and its rate.
    fn sent_and_rate(&self, id: CoflowId) -> (f64, f64) {
        match self.classes {
            Some(classes) => classes.sent_and_rate(id, self.now),
            None => (self.coflows.bytes_sent(id, self.now), self.coflows.rate(id)),
        }
    }

    /// The time at which the coflows of a DAG will have sent `bytes` together if rates stay. It need not be exact
    /// if it is not earlier than `limit`.
    fn when_dag_sent(&self, external: u64, bytes: f64, limit: Time) -> Time {
        let Some((present, ended)) = self.dags.get(external) else { return Time::NEVER };
        if let &[id] = present {
            // The time does not depend on the number of calls.
            return self.when_sent(id, bytes - ended, limit);
        }
        let (mut sent, mut rate) = (0.0, 0.0);
        for &id in present {
            let (of_one, rate_of_one) = self.sent_and_rate(id);
            sent += of_one;
            rate += rate_of_one;
        }
        let missing = bytes - ended - sent;
        if missing <= 0.0 {
            self.now
        } else if rate > 0.0 {
            self.now + missing / rate
        } else {
            Time::NEVER
        }
    }
}
