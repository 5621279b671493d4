//! What a policy has asked to be told: times, bytes that were sent, limits that were reached.

use covey_core::{Knowledge, Plan, Policy, Sender, Time, View, Wake, Wakes, Wants};

use super::Engine;
use super::rates::parts;
use crate::dags::Dags;
use crate::integration::{CoflowFluids, Integrator, Network};

/// Whose bytes are looked at though they may not be sending: the policy has begun to wait for them, or they
/// have stopped or ended.
#[derive(Debug)]
pub(super) struct Watch {
    /// When the first wake-up comes.
    first: Time,
    senders: Vec<Sender>,
    /// How many of them have been looked at.
    looked_at: usize,
    /// Wake-ups that have come, with serial numbers.
    come: Vec<(u64, Wake)>,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { first: Time::NEVER, senders: Vec::new(), looked_at: 0, come: Vec::new() }
    }
}

impl Watch {
    pub fn clear(&mut self) {
        self.first = Time::NEVER;
        self.senders.clear();
        self.looked_at = 0;
    }

    pub fn add(&mut self, sender: Sender) {
        self.senders.push(sender);
    }
}

impl Engine {
    /// The earliest moment at which anything happens.
    pub(super) fn next_moment(&mut self, wakes: &mut Wakes) -> Time {
        let others =
            self.calendar.next().min(self.integration.next_end()).min(self.processors.next());
        self.watch.senders.extend(wakes.take_fresh());
        self.watch.looked_at = self.watch.senders.len();
        let mut first = wakes.times().fold(Time::NEVER, Time::min);
        for sender in self.senders(wakes.wait_for_coflows(), wakes.wait_for_dags()) {
            for wake in wakes.of(sender) {
                let soon = others.min(first);
                first = first.min(self.when(wake, soon + 2.0 * soon.slack_s()));
            }
        }
        self.watch.first = first;
        // What was asked for too late has come now.
        others.min(first).max(self.now)
    }

    /// Whose bytes may be those that the policy waits for; some of them twice.
    fn senders(&self, of_coflows: bool, of_dags: bool) -> impl Iterator<Item = Sender> {
        let all = self.integration.coflows().moving();
        let moving = if of_coflows { all } else { &[] };
        let dags = if of_dags { all } else { &[] };
        let dags = dags.iter().map(|&id| self.state.coflow(id).registration.lineage.external);
        let moving = moving.iter().map(|&id| Sender::Coflow(id));
        self.watch.senders.iter().copied().chain(moving).chain(dags.map(Sender::Dag))
    }

    /// When a wake-up comes. Need not be exact if that is not before `limit`.
    fn when(&self, wake: Wake, limit: Time) -> Time {
        let coflows = self.integration.coflows();
        match wake {
            Wake::At(time) => time,
            Wake::WhenSent(id, bytes) => coflows.when_sent(id, bytes),
            Wake::WhenDagSent(external, bytes) => {
                when_dag_sent(&self.dags, coflows, self.now, external, bytes)
            }
            Wake::WhenFlowSent(id, bytes) => coflows.when_flow_sent(&self.state, id, bytes, limit),
        }
    }

    /// Calls the policy for wake-ups that have come. Returns whether there were any.
    pub(super) fn wake<K: Knowledge>(
        &mut self,
        plan: &mut Plan<K>,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        // Nothing that has happened at this moment lets one come earlier.
        let woke = self.watch.first.due(self.now) && self.call_due(plan.wakes_mut(), policy, wants);
        self.watch.senders.drain(..self.watch.looked_at);
        self.watch.looked_at = 0;
        woke
    }

    fn call_due<K: Knowledge>(
        &mut self,
        wakes: &mut Wakes,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        let mut come = std::mem::take(&mut self.watch.come);
        let senders = self.senders(wakes.wait_for_coflows(), wakes.wait_for_dags());
        let soon = self.now + 2.0 * self.now.slack_s();
        let is_due = |wake: &Wake| self.when(*wake, soon).due(self.now);
        wakes.take_due(self.now, senders, is_due, &mut come);
        come.iter().for_each(|&(_, wake)| self.stir_for(wake));
        if !come.is_empty() {
            self.refresh(wants);
        }
        for &(_, wake) in &come {
            match wake {
                Wake::At(_) => policy.woke(&self.view()),
                Wake::WhenSent(id, bytes) => policy.bytes_reached(id, bytes, &self.view()),
                Wake::WhenDagSent(external, bytes) => {
                    policy.dag_bytes_reached(external, bytes, &self.view());
                }
                Wake::WhenFlowSent(id, bytes) => {
                    policy.flow_bytes_reached(id, bytes, &self.view());
                }
            }
        }
        self.watch.come = come;
        !self.watch.come.is_empty()
    }

    /// Marks the coflows that a wake-up concerns.
    fn stir_for(&mut self, wake: Wake) {
        match wake {
            Wake::At(_) => self.state.note_all(),
            Wake::WhenSent(id, _) | Wake::WhenFlowSent(id, _) => self.state.stir(id),
            Wake::WhenDagSent(external, _) => {
                let present = self.dags.get(external).map_or(&[][..], |(present, _)| present);
                present.iter().for_each(|&id| self.state.stir(id));
            }
        }
    }

    /// Tells the policy which limits coflows have reached at their links. Returns whether there were
    /// any.
    pub(super) fn tell_limits<K: Knowledge>(
        &mut self,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        self.integration.coflows_mut().find_limits_reached(&self.state, self.now);
        for k in 0..self.integration.coflows().found().len() {
            let id = self.integration.coflows().found()[k];
            self.state.stir(id);
            self.refresh(wants);
            let view = View::new(&self.state, self.now);
            let tell = |link, bytes| policy.link_bytes_reached(id, link, bytes, &view);
            let coflows = self.integration.coflows_mut();
            coflows.take_limits_reached(id, self.state.coflow(id), self.now, tell);
        }
        !self.integration.coflows().found().is_empty()
    }

    /// Brings what the policy may look at up to date.
    pub(super) fn refresh(&mut self, wants: Wants) {
        if self.shows_left || (wants.attained && self.integration.is_flow_level()) {
            self.advance_for_policy();
        }
        if wants.attained {
            let (mut network, integration, _) = parts!(self);
            integration.report_sent(&mut network);
        }
    }
}

/// When the coflows of a DAG will have sent `bytes` together, if rates stay.
fn when_dag_sent(
    dags: &Dags,
    coflows: &CoflowFluids,
    now: Time,
    external: u64,
    bytes: f64,
) -> Time {
    let Some((present, ended)) = dags.get(external) else { return Time::NEVER };
    if let &[id] = present {
        // The same moment however often it is asked for.
        return coflows.when_sent(id, bytes - ended);
    }
    let sent: f64 = present.iter().map(|&id| coflows.bytes_sent(id, now)).sum();
    let missing = bytes - ended - sent;
    let rate: f64 = present.iter().map(|&id| coflows.rate(id)).sum();
    if missing <= 0.0 {
        now
    } else if rate > 0.0 {
        now + missing / rate
    } else {
        Time::NEVER
    }
}
