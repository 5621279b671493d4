//! The end of a moment: what the policy decides, and which agents are to be told.

use covey_core::alloc::PlanError;
use covey_core::{CoflowId, Compression, FlowId, Time};
use covey_proto::{CodecName, FlowKey, ToAgent, USES, Welcome};

use super::{Core, Output};
use crate::coflows::{Flow, Served};
use crate::driver::Driver;
use crate::slot::SessionId;

/// The most moments that are caught up with after a pause; what is left of them has then come all at once.
const CATCH_UP: usize = 1000;

impl Core {
    /// Ends a moment: has the policy plan, if anything has happened, and finds out which agents
    /// are to be sent what. Returns whether anything was decided since the last call.
    ///
    /// # Errors
    /// When the policy's plan cannot be carried out: the rates before stay in force.
    pub fn decide(&mut self, now: Time) -> Result<bool, PlanError> {
        self.advance(now);
        self.check();
        self.moment();
        for port in std::mem::take(&mut self.woken) {
            let agent = &self.agents[port as usize];
            if let Some(session) = agent.session.filter(|_| agent.has_news()) {
                self.outputs.push(Output::Ready(session));
            }
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.decided)),
        }
    }

    /// Goes on to `now`. What the policy has asked to be called at in between happens on the way, each
    /// at its own time: a clock's ticks are late in reality, and a policy that decides on a tick
    /// must not be able to tell.
    pub(super) fn advance(&mut self, now: Time) {
        let catch_up = if self.reads { 0 } else { CATCH_UP };
        for _ in 0..catch_up {
            if !self.first_wake.due(now) {
                break;
            }
            let times = self.driver.wakes().times();
            let times = times.filter(|time| *time >= self.now && time.due(now));
            let Some(time) = times.min() else { break };
            self.now = time;
            self.moment();
        }
        self.now = self.now.max(now);
    }

    /// Has the policy plan, if anything has happened or a time has come, and publishes the rates.
    fn moment(&mut self) {
        self.follow_hosts();
        self.follow_processors();
        self.tell_reached();
        let woke = self.first_wake.due(self.now);
        if woke {
            self.driver.wake(self.now);
        }
        if !std::mem::take(&mut self.stirred) && !woke {
            return;
        }
        self.decided = true;
        self.counts.decisions += 1;
        self.write_progress();
        let decided = self.driver.decide(self.now);
        self.note_fresh();
        match decided {
            Ok(replanned) => {
                self.counts.replanned += u64::from(replanned);
                self.publish(replanned);
                self.set_grains();
            }
            Err(error) => {
                self.publish_all = true;
                self.failed = Some(error);
            }
        }
        self.first_wake = self.driver.wakes().times().min().unwrap_or(Time::NEVER);
    }

    /// Brings what is left of flows up to date, for policies that see sizes.
    fn write_progress(&mut self) {
        let sized = self.driver.needs_sizes();
        for serial in std::mem::take(&mut self.coflows.stale) {
            // It may have gone meanwhile.
            let Some(coflow) = self.coflows.present.get_mut(&serial) else { continue };
            coflow.stale = false;
            if !sized {
                continue;
            }
            let (demand, progress) = self.driver.progress_mut(coflow.id);
            progress.link_left.fill(0.0);
            for p in demand.active() {
                let sent = coflow.flows[demand.index(p) as usize].sent;
                // Something is left of a flow that has not said that it has ended.
                let left = (progress.size[p] - sent).max(1.0_f64.min(progress.size[p]));
                progress.left[p] = left / progress.scale;
                for l in demand.path(p) {
                    progress.link_left[l] += progress.left[p];
                }
            }
        }
    }

    /// Finds out what has changed for which agent: rates, and, when there is another plan, layers.
    fn publish(&mut self, replanned: bool) {
        let compressed_anew = if replanned { self.compress_anew() } else { Vec::new() };
        let rates = self.driver.rates();
        let flow_level = rates.is_flow_level();
        let all = std::mem::replace(&mut self.publish_all, flow_level) || flow_level;
        let changed: Vec<CoflowId> = if all {
            self.driver.state().present().to_vec()
        } else {
            let present = |id: &&CoflowId| self.driver.state().is_present(**id);
            rates.changed().iter().chain(&compressed_anew).filter(present).copied().collect()
        };
        self.counts.looked_at += changed.len() as u64;
        for id in changed {
            let serial = self.coflows.serial(id);
            let Some(coflow) = self.coflows.present.get_mut(&serial) else { continue };
            let codec = self.config.codec.zip(coflow.compression);
            let served = served(&self.driver, id, codec);
            let before = std::mem::replace(&mut coflow.served, served);
            let (mut old, mut new) = (before.iter().peekable(), coflow.served.iter().peekable());
            loop {
                let none = |flow: u32| Served { flow, rate: 0.0, codec: None };
                let Served { flow, rate, codec } = match (old.peek(), new.peek()) {
                    (Some(a), Some(b)) if a == b => {
                        old.next();
                        new.next();
                        continue;
                    }
                    (Some(a), Some(b)) if a.flow < b.flow => none(a.flow),
                    (Some(a), None) => none(a.flow),
                    (_, Some(b)) => **b,
                    (None, None) => break,
                };
                old.next_if(|next| next.flow == flow);
                new.next_if(|next| next.flow == flow);
                let Flow { src, dst, .. } = coflow.flows[flow as usize];
                let layer = self.driver.layers().of(FlowId { coflow: id, index: flow });
                let key = FlowKey { coflow: serial, flow };
                self.agents[src as usize].want(key, dst, layer, rate, codec);
                self.woken.insert(src);
            }
        }
        if replanned {
            self.publish_layers();
        }
    }

    /// Tells of flows whose layer has changed, even if their rates have not.
    fn publish_layers(&mut self) {
        let layers = self.driver.layers();
        self.counts.looked_at += layers.changed().len() as u64;
        for &id in layers.changed() {
            let serial = self.coflows.serial(id);
            let Some(coflow) = self.coflows.present.get(&serial) else { continue };
            for &Served { flow, rate, codec } in &coflow.served {
                let Flow { src, dst, .. } = coflow.flows[flow as usize];
                let layer = layers.of(FlowId { coflow: id, index: flow });
                let key = FlowKey { coflow: serial, flow };
                self.agents[src as usize].want(key, dst, layer, rate, codec);
                self.woken.insert(src);
            }
        }
    }

    /// What an agent is to be sent now. To be asked for when its connection can take it.
    pub fn take_messages(&mut self, session: SessionId, messages: &mut Vec<ToAgent>) {
        let Some(&port) = self.sessions.get(&session) else { return };
        let agent = &mut self.agents[port as usize];
        if std::mem::take(&mut agent.welcome) {
            let reports = self.config.reports_always || self.driver.needs_progress();
            messages.push(ToAgent::Welcome(Welcome {
                version: agent.spoken,
                epoch: self.epoch,
                report_every_s: if reports { self.config.report_every_s } else { 0.0 },
                heartbeat_s: self.config.heartbeat_s,
                codec: self.config.codec,
                idle_after_s: match agent.spoken >= USES {
                    true => self.config.idle_after_s,
                    false => f64::INFINITY,
                },
            }));
        }
        let settled = agent.take_settled();
        if !settled.is_empty() {
            messages.push(ToAgent::Settled(settled));
        }
        let grains = agent.take_grains();
        if !grains.is_empty() {
            messages.push(ToAgent::Grains(grains));
        }
        let over = std::mem::take(&mut agent.over);
        if !over.is_empty() && agent.spoken >= USES {
            messages.push(ToAgent::Over(over));
        }
        if std::mem::take(&mut agent.alive) && messages.is_empty() {
            messages.push(ToAgent::Alive);
        }
        if let Some(schedule) = agent.next_schedule(port, self.epoch, &mut self.booked, self.now) {
            self.counts.schedules += 1;
            self.counts.entries += (schedule.set.len() + schedule.removed.len()) as u64;
            messages.push(ToAgent::Schedule(schedule));
        }
        if !messages.is_empty() {
            agent.told = self.now;
        }
    }
}

/// The flows of a coflow that get anything, by index; and the codec that compresses each, where that pays.
fn served(driver: &Driver, id: CoflowId, codec: Option<(CodecName, Compression)>) -> Vec<Served> {
    let (state, rates) = (driver.state(), driver.rates());
    let demand = state.coflow(id).demand();
    let mut flows = Vec::new();
    rates.rates().flow_rates(state, id, &mut flows);
    // Rounding leaves rates that are none.
    let min = 1e-9 * state.fabric().capacity().iter().copied().fold(0.0, f64::max);
    let codec_of = |position: usize| {
        let (name, compression) = codec?;
        state.compressing_pays(id, position, &compression).then_some(name)
    };
    let flows = flows.iter().filter(|flow| flow.rate > min).map(|flow| {
        let position = flow.position as usize;
        Served { flow: demand.index(position), rate: flow.rate, codec: codec_of(position) }
    });
    let mut served: Vec<Served> = flows.collect();
    served.sort_unstable_by_key(|served| served.flow);
    served
}
