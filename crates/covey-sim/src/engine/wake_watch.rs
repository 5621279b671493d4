//! The times of the wake-ups for which a policy waits.

use covey_core::state::State;
use covey_core::{CoflowId, Sender, Time, Wake, Wakes};

use super::sender_calendar::SenderCalendar;
use crate::dags::Dags;
use crate::integration::{ClassFlows, CoflowFluids};

/// The time of the next wake-up, and the senders whose bytes have to be checked.
///
/// Under classes thousands of coflows may be sent at once, each with a wake-up for every receiver. There a sender
/// is checked only when the capacity of links lets it have sent enough ([`SenderCalendar`]). A coflow at one link is
/// a sender of its own. That, and `stream` waiting for one number at each link, took `stream` on a tenth of the Facebook
/// trace, on a FatTree with k = 48 and racks, from more than 160 s to 6 s.
#[derive(Debug)]
pub(super) struct WakeWatch {
    /// The time of the first wake-up.
    first: Time,
    /// Senders for which the policy has begun to wait, or which have stopped, ended or got another coflow.
    senders: Vec<Sender>,
    /// The number of `senders` that have been checked.
    looked_at: usize,
    /// Under classes, senders that may have sent enough by the next event.
    near: Vec<Sender>,
    /// Under classes, all other senders.
    calendar: SenderCalendar,
    /// Working memory: senders that are looked at.
    looking: Vec<Sender>,
    /// Whether flows were served in classes when the next wake-up was last worked out.
    served_classes: bool,
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
        WakeWatch {
            first: Time::NEVER,
            senders: Vec::new(),
            looked_at: 0,
            near: Vec::new(),
            looking: Vec::new(),
            calendar: SenderCalendar::default(),
            served_classes: false,
        }
    }
}

impl WakeWatch {
    /// A watch without wake-ups.
    pub fn clear(&mut self) {
        self.first = Time::NEVER;
        self.senders.clear();
        self.looked_at = 0;
        self.near.clear();
        self.calendar.clear();
        self.served_classes = false;
    }

    /// A sender has stopped or ended, or a DAG has got another coflow: it may have sent the bytes for which the
    /// policy waits, or may send them sooner.
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
        self.first = wakes.times().fold(Time::NEVER, Time::min);
        let served_classes = std::mem::replace(&mut self.served_classes, sent.classes.is_some());
        if sent.classes.is_some() {
            self.near.extend(&self.senders);
            if !served_classes {
                self.near.extend(wakes.senders());
            }
            self.look_at_near(wakes, sent, others);
        } else {
            self.near.clear();
            self.calendar.clear();
            let mut first = self.first;
            for sender in self.moving(wakes, sent) {
                first = first.min(sent.first_of(sender, wakes, others.min(first)).0);
            }
            self.first = first;
        }
        self.first
    }

    /// Under classes, finds the first wake-up among the senders that are near. Then others are, and the rest is in
    /// the calendar.
    fn look_at_near(&mut self, wakes: &Wakes, sent: &Sent<'_>, others: Time) {
        std::mem::swap(&mut self.looking, &mut self.near);
        self.looking.sort_unstable();
        self.looking.dedup();
        self.looking.iter().for_each(|&sender| self.calendar.remove(sender));
        loop {
            let next = others.min(self.first);
            let sender = self.looking.pop().or_else(|| self.calendar.pop(soon_after(next)));
            let Some(sender) = sender else { break };
            let (time, earliest) = sent.first_of(sender, wakes, next);
            self.first = self.first.min(time);
            if earliest <= soon_after(others.min(self.first)) {
                self.near.push(sender);
            } else if earliest.comes() {
                self.calendar.set(sender, earliest);
            }
        }
        // The two lists take turns: both get the larger capacity, so that neither grows later.
        self.looking.reserve_exact(self.near.capacity());
    }

    /// Moves the wake-ups that are due from `wakes` to the list `due`.
    pub fn take_due(&mut self, wakes: &mut Wakes, sent: &Sent<'_>, due: &mut Vec<(u64, Wake)>) {
        // No event of this round makes a wake-up earlier.
        if self.first.due(sent.now) {
            let soon = soon_after(sent.now);
            let is_due = |wake: &Wake| sent.when(*wake, soon).0.due(sent.now);
            if sent.classes.is_some() {
                let senders = self.senders.iter().chain(&self.near).copied();
                wakes.take_due(sent.now, senders, is_due, due);
            } else {
                let senders = self.moving(wakes, sent);
                wakes.take_due(sent.now, senders, is_due, due);
            }
        }
        self.senders.drain(..self.looked_at);
        self.looked_at = 0;
    }

    /// Outside of classes, the coflows, in all and at links, and the DAGs that may have sent the bytes for which the
    /// policy waits; some occur twice.
    fn moving<'a>(
        &'a self,
        wakes: &Wakes,
        sent: &'a Sent<'_>,
    ) -> impl Iterator<Item = Sender> + use<'a> {
        let moving = |waits: bool| if waits { sent.coflows.moving() } else { &[] };
        let coflows = moving(wakes.wait_for_coflows()).iter().map(|&id| Sender::Coflow(id));
        let waits_at_links = wakes.wait_at_links();
        let senders = if waits_at_links { &self.senders[..] } else { &[] };
        let stopped = senders.iter().filter_map(|sender| match sender {
            Sender::Coflow(id) => Some(*id),
            Sender::CoflowAt(..) | Sender::Dag(_) => None,
        });
        let at_links = stopped.chain(moving(waits_at_links).iter().copied()).flat_map(|id| {
            let links = sent.coflows.awaited_links(id).iter();
            links.map(move |&link| Sender::CoflowAt(id, link))
        });
        let external = |id: &CoflowId| sent.state.coflow(*id).registration.lineage.external;
        let dags = moving(wakes.wait_for_dags()).iter().map(external).map(Sender::Dag);
        self.senders.iter().copied().chain(coflows).chain(at_links).chain(dags)
    }
}

/// A time after which times need not be exact that are compared with `time`.
fn soon_after(time: Time) -> Time {
    time + 2.0 * time.slack_s()
}

impl Sent<'_> {
    /// The time of the first wake-up for what a sender sends, if rates stay, and the time before which none can
    /// come, whatever the rates. The first is exact if it is not after `next`.
    fn first_of(&self, sender: Sender, wakes: &Wakes, next: Time) -> (Time, Time) {
        let mut first = (Time::NEVER, Time::NEVER);
        for wake in wakes.of(sender) {
            let (time, earliest) = self.when(wake, soon_after(next.min(first.0)));
            first = (first.0.min(time), first.1.min(earliest));
        }
        first
    }

    /// The time of a wake-up if rates stay, and a time before which it cannot come. The first need not be exact if
    /// it is not earlier than `limit`.
    fn when(&self, wake: Wake, limit: Time) -> (Time, Time) {
        let any_time = |time: Time| (time, self.now);
        match wake {
            Wake::At(time) => (time, time),
            Wake::WhenSent(id, bytes) => self.when_sent(id, bytes, limit),
            Wake::WhenPassed(id, link, bytes) => match self.classes {
                Some(classes) => classes.when_sent((id, Some(link)), bytes, (self.now, limit)),
                None => any_time(self.coflows.when_passed(self.state, id, link, bytes)),
            },
            Wake::WhenDagSent(external, bytes) => self.when_dag_sent(external, bytes, limit),
            Wake::WhenFlowSent(id, bytes) => {
                any_time(self.coflows.when_flow_sent(self.state, id, bytes, limit))
            }
        }
    }

    fn when_sent(&self, id: CoflowId, bytes: f64, limit: Time) -> (Time, Time) {
        match self.classes {
            Some(classes) => classes.when_sent((id, None), bytes, (self.now, limit)),
            None => (self.coflows.when_sent(id, bytes), self.now),
        }
    }

    /// Bytes that a coflow has sent, its rate, and the rate that links allow.
    fn sent_and_rates(&self, id: CoflowId) -> (f64, f64, f64) {
        match self.classes {
            Some(classes) => classes.sent_and_rates(id, self.now),
            None => (self.coflows.bytes_sent(id, self.now), self.coflows.rate(id), f64::INFINITY),
        }
    }

    /// As [`Sent::when`], for the bytes of all coflows of a DAG together.
    fn when_dag_sent(&self, external: u64, bytes: f64, limit: Time) -> (Time, Time) {
        let Some((present, ended)) = self.dags.get(external) else {
            return (Time::NEVER, Time::NEVER);
        };
        if let &[id] = present {
            // The time does not depend on the number of calls.
            return self.when_sent(id, bytes - ended, limit);
        }
        let (mut sent, mut rate, mut fastest) = (0.0, 0.0, 0.0);
        for &id in present {
            let (of_one, rate_of_one, fastest_of_one) = self.sent_and_rates(id);
            sent += of_one;
            rate += rate_of_one;
            fastest += fastest_of_one;
        }
        let missing = bytes - ended - sent;
        let at = |rate: f64| if rate > 0.0 { self.now + missing / rate } else { Time::NEVER };
        if missing <= 0.0 { (self.now, self.now) } else { (at(rate), at(fastest)) }
    }
}
