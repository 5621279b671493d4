//! The times of the wake-ups for which a policy waits.

use covey_alloc::Traffic;
use covey_core::{CoflowId, LinkId, Sender, Time, Wake, WakeId, Wakes};

use super::wake_calendar::WakeCalendar;
use crate::dags::Dags;
use crate::integration::{Due, Integration, Pace};

/// The time of the next wake-up, and the wake-ups for bytes that have to be checked.
///
/// Under classes thousands of coflows may be sent at once, each with a wake-up for every receiver.
/// There a wake-up is checked only when the capacity of links lets enough have been sent
/// ([`WakeCalendar`]).
#[derive(Debug)]
pub(super) struct WakeWatch {
    /// The time of the first wake-up.
    first: Time,
    /// Wake-ups that the policy has asked for since the last one came.
    fresh: Vec<WakeId>,
    /// Senders that have stopped or ended, or have got another coflow.
    senders: Vec<Sender>,
    /// The number of `senders` that have been checked.
    looked_at: usize,
    /// Under classes, wake-ups that may come by the next event.
    near: Vec<WakeId>,
    /// Under classes, all others.
    calendar: WakeCalendar,
    /// Working memory: wake-ups that are looked at, and those that have come.
    looking: Vec<WakeId>,
    reached: Vec<WakeId>,
    /// Whether flows were served in classes when the next wake-up was last worked out.
    served_classes: bool,
}

/// Bytes sent by coflows and DAGs, and their rates.
pub(super) struct Sent<'a> {
    pub flows: &'a Integration,
    pub dags: &'a Dags,
    pub traffic: &'a Traffic,
}

impl Default for WakeWatch {
    fn default() -> WakeWatch {
        WakeWatch {
            first: Time::NEVER,
            fresh: Vec::new(),
            senders: Vec::new(),
            looked_at: 0,
            near: Vec::new(),
            calendar: WakeCalendar::default(),
            looking: Vec::new(),
            reached: Vec::new(),
            served_classes: false,
        }
    }
}

impl WakeWatch {
    /// A watch without wake-ups.
    pub fn clear(&mut self) {
        self.first = Time::NEVER;
        self.fresh.clear();
        self.senders.clear();
        self.looked_at = 0;
        self.near.clear();
        self.calendar.clear();
        self.served_classes = false;
    }

    /// Notes a sender that has stopped or ended, or a DAG that has got another coflow. The bytes
    /// for which the policy waits may have been sent, or may be sent sooner.
    pub fn add(&mut self, sender: Sender) {
        self.senders.push(sender);
    }

    /// All rates have been forgotten: every wake-up has to be looked at again.
    pub fn look_again(&mut self) {
        self.calendar.clear();
        self.served_classes = false;
    }

    /// Takes note of the wake-ups that the policy has asked for. Returns them.
    pub fn take_fresh(&mut self, wakes: &mut Wakes) -> &[WakeId] {
        let known = self.fresh.len();
        self.fresh.extend(wakes.take_fresh());
        &self.fresh[known..]
    }

    /// The time of the next wake-up. `others` is the time of the next other event.
    pub fn next(&mut self, wakes: &Wakes, sent: &Sent<'_>, others: Time) -> Time {
        self.looked_at = self.senders.len();
        self.first = wakes.times().fold(Time::NEVER, Time::min);
        let served_classes =
            std::mem::replace(&mut self.served_classes, sent.flows.counted().is_some());
        if sent.flows.counted().is_some() {
            let ids = |sender| wakes.ids_of(sender);
            self.near.extend(&self.fresh);
            self.near.extend(self.senders.iter().copied().flat_map(ids));
            if !served_classes {
                self.near.extend(wakes.senders().flat_map(ids));
            }
            self.look_at_near(wakes, sent, others);
        } else {
            self.near.clear();
            self.calendar.clear();
            let mut first = self.first;
            for wake in self.moving(wakes, sent).filter_map(|id| wakes.at(id)) {
                first = first.min(sent.when(wake, soon_after(others.min(first))).time);
            }
            self.first = first;
        }
        self.first
    }

    /// Under classes, finds the first wake-up among those that are near. Afterwards `near` has
    /// those around the new first one, and the calendar has the rest.
    fn look_at_near(&mut self, wakes: &Wakes, sent: &Sent<'_>, others: Time) {
        self.looking.append(&mut self.near);
        self.looking.sort_unstable();
        self.looking.dedup();
        loop {
            let next = others.min(self.first);
            let id = self.looking.pop().or_else(|| self.calendar.pop(soon_after(next)));
            let Some(id) = id else { break };
            let Some(wake) = wakes.at(id) else { continue };
            let Due { time, earliest } = sent.when(wake, soon_after(next));
            self.first = self.first.min(time);
            let soon = soon_after(others.min(self.first));
            if earliest <= soon {
                self.near.push(id);
            } else if earliest.comes() {
                self.calendar.set(id, soon, earliest);
            }
        }
    }

    /// Moves the wake-ups that are due from `wakes` to the list `due`.
    pub fn take_due(&mut self, wakes: &mut Wakes, sent: &Sent<'_>, due: &mut Vec<(u64, Wake)>) {
        // No event of this round makes a wake-up earlier.
        if self.first.due(sent.now()) {
            let mut reached = std::mem::take(&mut self.reached);
            let soon = soon_after(sent.now());
            let is_due = |id: &WakeId| {
                wakes.at(*id).is_some_and(|wake| sent.when(wake, soon).time.due(sent.now()))
            };
            if sent.flows.counted().is_some() {
                let senders = self.senders.iter().flat_map(|&sender| wakes.ids_of(sender));
                reached.extend(senders.chain(self.near.iter().copied()).filter(is_due));
            } else {
                reached.extend(self.moving(wakes, sent).filter(is_due));
            }
            wakes.take_due(sent.now(), &reached, due);
            reached.clear();
            self.reached = reached;
        }
        self.fresh.clear();
        self.senders.drain(..self.looked_at);
        self.looked_at = 0;
    }

    /// Outside of classes, the wake-ups for bytes of coflows, in all and at links, and of DAGs,
    /// that may have been sent; some occur twice.
    fn moving<'a>(
        &'a self,
        wakes: &'a Wakes,
        sent: &'a Sent<'_>,
    ) -> impl Iterator<Item = WakeId> + use<'a> {
        let is_one_group = sent.flows.is_flow_level();
        let all = is_one_group.then(|| wakes.senders()).into_iter().flatten();
        let sending = if is_one_group { &[] } else { sent.flows.coflows().moving() };
        let moving = move |waits: bool| if waits { sending } else { &[] };
        let coflows = moving(wakes.wait_for_coflows()).iter().map(|&id| Sender::Coflow(id));
        let waits_at_links = wakes.wait_at_links() && !is_one_group;
        let senders = if waits_at_links { &self.senders[..] } else { &[] };
        let stopped = senders.iter().filter_map(|sender| match sender {
            Sender::Coflow(id) => Some(*id),
            Sender::CoflowAt(..) | Sender::Dag(_) => None,
        });
        let at_links = stopped.chain(moving(waits_at_links).iter().copied()).flat_map(|id| {
            let links = sent.flows.coflows().awaited_links(id).iter();
            links.map(move |&link| Sender::CoflowAt(id, link))
        });
        let state = sent.traffic.state();
        let external = |id: &CoflowId| state.coflow(*id).registration.lineage.external;
        let dags = moving(wakes.wait_for_dags()).iter().map(external).map(Sender::Dag);
        let senders = self.senders.iter().copied().chain(coflows).chain(at_links).chain(dags);
        let senders = senders.chain(all);
        self.fresh.iter().copied().chain(senders.flat_map(|sender| wakes.ids_of(sender)))
    }
}

/// A time after which times need not be exact that are compared with `time`.
fn soon_after(time: Time) -> Time {
    time + 2.0 * time.slack_s()
}

impl Sent<'_> {
    fn now(&self) -> Time {
        self.traffic.now()
    }

    /// When a wake-up comes.
    fn when(&self, wake: Wake, horizon: Time) -> Due {
        match wake {
            Wake::At(time) => Due::at(time, time),
            Wake::WhenSent(id, bytes) => self.when_sent(id, None, bytes, horizon),
            Wake::WhenPassed(id, link, bytes) => self.when_sent(id, Some(link), bytes, horizon),
            Wake::WhenDagSent(external, bytes) => self.when_dag_sent(external, bytes, horizon),
            Wake::WhenFlowSent(id, bytes) => {
                let time = self.flows.when_flow_sent(self.traffic, id, bytes, horizon);
                Due::at(time, self.now())
            }
        }
    }

    /// As [`Sent::when`], for bytes of a coflow, in all or through a link.
    fn when_sent(&self, id: CoflowId, link: Option<LinkId>, bytes: f64, horizon: Time) -> Due {
        let (flows, now) = (self.flows, self.now());
        if let Some(classes) = flows.counted() {
            return classes.when_sent(id, link, bytes, now, horizon);
        }
        let time = match link {
            None if flows.is_flow_level() => flows.pace(self.traffic, id).when(bytes, now),
            None => flows.coflows().when_sent(id, bytes),
            Some(link) => flows.coflows().when_passed(self.traffic.state(), id, link, bytes),
        };
        Due::at(time, now)
    }

    /// A coflow's bytes sent and its rate, and the most bytes per second that its links allow:
    /// infinite where no tally knows it.
    fn pace_and_fastest(&self, id: CoflowId) -> (Pace, f64) {
        let (flows, now) = (self.flows, self.now());
        if let Some(classes) = flows.counted() {
            return classes.pace(id, now);
        }
        let pace = if flows.is_flow_level() {
            flows.pace(self.traffic, id)
        } else {
            Pace { sent: flows.coflows().bytes_sent(id, now), rate: flows.coflows().rate(id) }
        };
        (pace, f64::INFINITY)
    }

    /// As [`Sent::when`], for the bytes of all coflows of a DAG together.
    fn when_dag_sent(&self, external: u64, bytes: f64, horizon: Time) -> Due {
        let Some((present, ended)) = self.dags.get(external) else { return Due::NEVER };
        if let &[id] = present {
            // The time does not depend on the number of calls.
            return self.when_sent(id, None, bytes - ended, horizon);
        }
        let (mut sent, mut rate, mut fastest) = (ended, 0.0, 0.0);
        for &id in present {
            let (of_one, fastest_of_one) = self.pace_and_fastest(id);
            sent += of_one.sent;
            rate += of_one.rate;
            fastest += fastest_of_one;
        }
        let when = |rate: f64| Pace { sent, rate }.when(bytes, self.now());
        Due { time: when(rate), earliest: when(fastest) }
    }
}
