//! What a policy has asked to be told: times, bytes that were sent, limits that were reached.

use covey_core::{Knowledge, Plan, Policy, Time, View, Wake, Wants};

use super::Engine;
use crate::dags::Dags;
use crate::fluid::Fluid;

impl Engine {
    /// The earliest moment at which anything happens. Leaves in `next_wake` when the first wake-up comes, if it
    /// is not later.
    pub(super) fn next_moment(&mut self, wakes: &[Wake]) -> Time {
        let others = self.calendar.next().min(self.next_end()).min(self.processors.next());
        let mut first = Time::NEVER;
        for wake in wakes {
            first = first.min(match *wake {
                Wake::At(time) => time,
                Wake::WhenSent(id, bytes) => self.fluids[id.index()].when_sent(bytes),
                Wake::WhenDagSent(external, bytes) => {
                    when_dag_sent(&self.dags, &self.fluids, self.now, external, bytes)
                }
                Wake::WhenFlowSent(id, bytes) => {
                    let soon = others.min(first);
                    let soon = soon + 2.0 * soon.slack_s();
                    self.fluids[id.index()].when_flow_sent(self.state.coflow(id), bytes, soon)
                }
            });
        }
        self.next_wake = first;
        // What was asked for too late has come now.
        others.min(first).max(self.now)
    }

    /// Calls the policy for wake-ups that have come. Returns whether there were any.
    pub(super) fn wake<K: Knowledge>(
        &mut self,
        plan: &mut Plan<K>,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        // Nothing that has happened at this moment lets one come earlier.
        if !self.next_wake.due(self.now) {
            return false;
        }
        let mut told = false;
        loop {
            let (now, fluids, dags) = (self.now, &self.fluids, &self.dags);
            let state = &self.state;
            let due = plan.take_due(|wake| match *wake {
                Wake::At(time) => time.due(now),
                Wake::WhenSent(id, bytes) => fluids[id.index()].when_sent(bytes).due(now),
                Wake::WhenDagSent(external, bytes) => {
                    when_dag_sent(dags, fluids, now, external, bytes).due(now)
                }
                Wake::WhenFlowSent(id, bytes) => {
                    let soon = now + 2.0 * now.slack_s();
                    fluids[id.index()].when_flow_sent(state.coflow(id), bytes, soon).due(now)
                }
            });
            let Some(wake) = due else { return told };
            self.stir_for(wake);
            self.refresh(wants);
            told = true;
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
    }

    /// Marks the coflows that a wake-up concerns.
    fn stir_for(&mut self, wake: Wake) {
        match wake {
            Wake::At(_) => self.state.note_all(),
            Wake::WhenSent(id, _) | Wake::WhenFlowSent(id, _) => self.state.stir(id),
            Wake::WhenDagSent(external, _) => self.state.stir_dag(external),
        }
    }

    /// Tells the policy which limits coflows have reached at their links. Returns whether there were
    /// any.
    pub(super) fn tell_limits<K: Knowledge>(
        &mut self,
        policy: &mut dyn Policy<K>,
        wants: Wants,
    ) -> bool {
        let Engine { moving, meters, state, .. } = self;
        moving.find(state, |id| meters.next(id).due(self.now));
        for k in 0..self.moving.found().len() {
            let id = self.moving.found()[k];
            self.state.stir(id);
            self.refresh(wants);
            let view = View::new(&self.state, self.now);
            let tell = |link, bytes| policy.link_bytes_reached(id, link, bytes, &view);
            self.meters.take_reached(id, self.state.coflow(id), self.now, tell);
        }
        !self.moving.found().is_empty()
    }

    /// Brings what the policy may look at up to date.
    pub(super) fn refresh(&mut self, wants: Wants) {
        if self.shows_left || (wants.attained && self.is_together()) {
            self.advance_for_policy();
        }
        if wants.attained {
            self.report_sent();
        }
    }
}

/// When the coflows of a DAG will have sent `bytes` together, if rates stay.
fn when_dag_sent(dags: &Dags, fluids: &[Fluid], now: Time, external: u64, bytes: f64) -> Time {
    let Some((present, ended)) = dags.get(external) else { return Time::NEVER };
    if let &[id] = present {
        // The same moment however often it is asked for.
        return fluids[id.index()].when_sent(bytes - ended);
    }
    let fluids = || present.iter().map(|id| &fluids[id.index()]);
    let missing = bytes - ended - fluids().map(|fluid| fluid.sent(now)).sum::<f64>();
    let rate: f64 = fluids().map(Fluid::rate).sum();
    if missing <= 0.0 {
        now
    } else if rate > 0.0 {
        now + missing / rate
    } else {
        Time::NEVER
    }
}
