//! What agents say, and what they are sent.

use std::collections::BTreeSet;

use covey_core::{FlowId, Time};
use covey_proto::{FlowKey, FromAgent, Hello, Refusal, USES, Use, common_version};

use super::uses::is_past;
use super::{Core, Event, Output, Pending};
use crate::coflows::Stage;
use crate::record::Record;
use crate::slot::SessionId;

impl Core {
    /// An agent has said something. Sessions are not known before they say hello; whoever speaks for
    /// the shell has checked the credential.
    pub fn heard(&mut self, session: SessionId, message: FromAgent, now: Time) {
        self.advance(now);
        let port = match (&message, self.sessions.get(&session)) {
            (FromAgent::Hello(hello), None) => return self.hello(session, hello),
            (FromAgent::Hello(_), Some(_)) | (_, None) => {
                return self.close(session, Refusal::Order);
            }
            (_, Some(port)) => *port,
        };
        self.agents[port as usize].heard = self.now;
        match message {
            FromAgent::Applied { epoch, version } => {
                self.counts.applied += 1;
                let agent = &mut self.agents[port as usize];
                if epoch == self.epoch && version == agent.version && agent.under_way.is_some() {
                    agent.applied = (epoch, version);
                    agent.settle_schedule(&mut self.booked, &mut self.woken);
                    self.woken.insert(port);
                }
            }
            FromAgent::Ended(flows) => {
                self.counts.ends += 1;
                self.ended(port, &flows);
            }
            FromAgent::Written(flows) => {
                self.counts.ends += 1;
                self.written(port, &flows);
            }
            FromAgent::Sent(flows) => {
                self.counts.reports += 1;
                self.sent(port, &flows);
            }
            FromAgent::Resync => {
                self.counts.others += 1;
                self.agents[port as usize].lose_track();
                self.woken.insert(port);
            }
            FromAgent::Processor(processor) => {
                self.counts.others += 1;
                self.processor(port, &processor);
            }
            FromAgent::Uses(uses) => {
                self.counts.others += 1;
                self.uses(port, &uses);
            }
            FromAgent::Keeps(coflows) => {
                self.counts.others += 1;
                coflows.into_iter().for_each(|serial| self.keep(serial, None));
            }
            FromAgent::Hello(_) | FromAgent::Alive => self.counts.others += 1,
        }
    }

    fn close(&mut self, session: SessionId, refusal: Refusal) {
        self.outputs.push(Output::Close(session, refusal));
        self.closed(session);
    }

    fn hello(&mut self, session: SessionId, hello: &Hello) {
        self.counts.others += 1;
        let Some(spoken) = common_version(hello.version) else {
            return self.close(session, Refusal::Version);
        };
        let Some(agent) = self.agents.get_mut(hello.port as usize) else {
            return self.close(session, Refusal::Port);
        };
        let (epoch, version) = hello.holds;
        if epoch > self.epoch {
            // It has heard of a later start than this one: the journal is an old copy, or a new one. It
            // would drop whatever it were sent.
            self.counts.epochs_ahead += 1;
            return self.close(session, Refusal::Order);
        }
        let before = agent.session.replace(session);
        if let Some(before) = before {
            self.sessions.remove(&before);
            self.outputs.push(Output::Close(before, Refusal::Replaced));
        }
        self.sessions.insert(session, hello.port);
        agent.heard = self.now;
        agent.welcome = true;
        agent.spoken = spoken;
        // What it did not get is decided anew.
        agent.settled.clear();
        agent.grains.clear();
        if hello.holds == (0, 0) {
            agent.holds_nothing(&mut self.booked, &mut self.woken);
        } else if agent.is_away || epoch != self.epoch || version != agent.version {
            agent.lose_track();
        } else {
            agent.applied = hello.holds;
            agent.settle_schedule(&mut self.booked, &mut self.woken);
        }
        agent.told = self.now;
        // Of how its flows are used an agent says all when it is welcomed, if its version can.
        let says_nothing = spoken < USES && agent.forget_all_uses();
        if std::mem::take(&mut agent.is_away) || says_nothing {
            self.hosts_changed.insert(hello.port);
            self.stirred = true;
        }
        for serial in self.coflows.at_port(hello.port) {
            let coflow = self.coflows.present.get(&serial).filter(|it| it.grain.is_finite());
            if let Some(coflow) = coflow.filter(|it| it.flows.iter().any(|f| f.src == hello.port)) {
                agent.grains.insert(serial, coflow.grain);
            }
        }
        self.outputs.push(Output::Event(Event::Joined { port: hello.port }));
        self.outputs.push(Output::Ready(session));
    }

    /// A session is over.
    pub fn closed(&mut self, session: SessionId) {
        if let Some(port) = self.sessions.remove(&session) {
            let agent = &mut self.agents[port as usize];
            if agent.session == Some(session) {
                agent.session = None;
            }
        }
    }

    /// Counts flows of a report if their coflow is not known: nothing of it is taken over.
    fn count_unknown(&mut self, serial: u64, flows: usize) {
        let coflows = &self.coflows;
        if !coflows.present.contains_key(&serial) && !coflows.gone.contains_key(&serial) {
            self.counts.unknown += flows as u64;
        }
    }

    fn ended(&mut self, port: u32, flows: &[covey_proto::Ended]) {
        let mut keys = Vec::new();
        for of_coflow in flows.chunk_by(|a, b| a.key.coflow == b.key.coflow) {
            let serial = of_coflow[0].key.coflow;
            self.count_unknown(serial, of_coflow.len());
            let (mut new, mut compressed) = (Vec::new(), Vec::new());
            let mut its_keys = Vec::new();
            for ended in of_coflow {
                let coflow = self.coflows.present.get(&serial);
                let flow = coflow.and_then(|c| c.flows.get(ended.key.flow as usize));
                match flow {
                    // It is not this agent's to say.
                    Some(flow) if flow.src != port => continue,
                    Some(flow) if flow.stage != Stage::Ended => {
                        new.push((ended.key.flow, ended.bytes));
                        if ended.wire != ended.bytes {
                            compressed.push((ended.key.flow, ended.wire));
                        }
                        let agent = &mut self.agents[port as usize];
                        agent.flow_ended(ended.key, &mut self.booked, &mut self.woken);
                        self.finish(serial, ended.key.flow, ended.bytes, ended.wire);
                    }
                    _ => {}
                }
                its_keys.push(ended.key);
            }
            if new.is_empty() {
                keys.append(&mut its_keys);
            } else {
                self.keep(serial, None);
                let at_s = self.now.as_secs();
                let record = Record::Ended { id: serial, at_s, flows: new, compressed };
                let lsn = self.write(record.clone());
                self.pending.insert(lsn, Pending::Settle(record, port, its_keys));
            }
        }
        if !keys.is_empty() {
            self.settle_in_order(port, keys);
        }
        self.tell_ends();
    }

    /// The last bytes of these flows are on their way, and others may have their turn, as if their hosts were
    /// away. But they have not ended, and will be served again if that is not said soon.
    fn written(&mut self, port: u32, flows: &[FlowKey]) {
        let mut gone = Vec::new();
        for &key in flows {
            let Some(coflow) = self.coflows.present.get_mut(&key.coflow) else { continue };
            let Some(flow) = coflow.flows.get_mut(key.flow as usize) else { continue };
            if flow.src != port || flow.stage != Stage::Active {
                continue;
            }
            flow.stage = Stage::Written;
            coflow.unserve(key.flow);
            gone.push(FlowId { coflow: coflow.id, index: key.flow });
            self.awaited.insert(key, self.now + self.config.lost_after_s);
            let agent = &mut self.agents[port as usize];
            agent.flow_written(key, &mut self.booked, &mut self.woken);
            self.woken.insert(port);
        }
        if !gone.is_empty() {
            self.driver.suspend(&gone, self.now);
            self.stirred = true;
        }
    }

    /// Serves flows again whose ends should have been said by now.
    fn give_up_awaiting(&mut self) {
        let (now, mut back) = (self.now, Vec::new());
        self.awaited.retain(|key, until| {
            let is_due = until.due(now);
            if is_due {
                back.push(*key);
            }
            !is_due
        });
        for key in back {
            self.serve_again(key);
        }
    }

    /// A flow whose last bytes were on their way is served as before.
    pub(super) fn serve_again(&mut self, key: FlowKey) {
        let Some(coflow) = self.coflows.present.get_mut(&key.coflow) else { return };
        let Some(flow) = coflow.flows.get_mut(key.flow as usize) else { return };
        if flow.stage != Stage::Written {
            return;
        }
        flow.stage = Stage::Active;
        self.awaited.remove(&key);
        self.driver.resume(&[FlowId { coflow: coflow.id, index: key.flow }], self.now);
        self.stirred = true;
        // Its hosts may have gone meanwhile, or its application.
        self.follow(key.coflow);
    }

    /// Confirms ends that were known: after what is on the way to the journal, for they may be in it.
    fn settle_in_order(&mut self, port: u32, keys: Vec<FlowKey>) {
        if !self.unwritten.is_empty() {
            let nothing = nothing(self.now);
            return self.unwritten.push((nothing, port, keys));
        }
        match self.pending.last_entry() {
            Some(mut last) => match last.get_mut() {
                Pending::Settle(_, settled, more) if *settled == port => more.extend(keys),
                _ => {
                    let nothing = nothing(self.now);
                    let lsn = self.write(nothing.clone());
                    self.pending.insert(lsn, Pending::Settle(nothing, port, keys));
                }
            },
            None => self.settle(port, keys),
        }
    }

    fn sent(&mut self, port: u32, flows: &[covey_proto::Sent]) {
        let counts = self.driver.needs_progress();
        for of_coflow in flows.chunk_by(|a, b| a.key.coflow == b.key.coflow) {
            let serial = of_coflow[0].key.coflow;
            // Of what nobody has open an agent says all again when it joins: that keeps nothing.
            let uses = &self.agents[port as usize].uses;
            if of_coflow.iter().any(|sent| uses.get(&sent.key) != Some(&Use::Closed)) {
                self.keep(serial, None);
            }
            self.count_unknown(serial, of_coflow.len());
        }
        for sent in flows {
            let Some(coflow) = self.coflows.present.get_mut(&sent.key.coflow) else { continue };
            let own = coflow.flows.get(sent.key.flow as usize).is_some_and(|f| f.src == port);
            let was_stale = coflow.stale;
            if own && coflow.report(sent.key.flow, sent.bytes, sent.wire) {
                self.stirred |= coflow.grain.is_finite();
                self.waits.note(sent.key.coflow, coflow.lineage.external);
                if !was_stale {
                    self.coflows.stale.push(sent.key.coflow);
                }
                if counts {
                    self.driver.report(coflow.id, coflow.attained, self.now);
                }
            }
        }
    }

    /// Takes silent agents for lost, and tries again to write what could not be written.
    pub(super) fn check(&mut self) {
        if self.now < self.next_check {
            return;
        }
        self.next_check = self.now + self.config.heartbeat_s;
        self.give_up_awaiting();
        self.follow_leases();
        for (record, port, keys) in std::mem::take(&mut self.unwritten) {
            let lsn = self.write(record.clone());
            self.pending.insert(lsn, Pending::Settle(record, port, keys));
        }
        for port in 0..self.agents.len() as u32 {
            let agent = &mut self.agents[port as usize];
            // As often as is enough for an agent that waits for several heartbeats.
            let is_silent = is_past(self.now, agent.told, 2.0 * self.config.heartbeat_s);
            if agent.session.is_some() && agent.spoken >= USES && is_silent {
                agent.alive = true;
                self.woken.insert(port);
            }
            if agent.is_away || self.now - agent.heard <= self.config.lost_after_s {
                continue;
            }
            agent.is_away = true;
            // Its host is as good as dead: others may have what it held.
            agent.holds_nothing(&mut self.booked, &mut self.woken);
            if let Some(session) = agent.session.take() {
                self.sessions.remove(&session);
                self.outputs.push(Output::Close(session, Refusal::Order));
            }
            self.hosts_changed.insert(port);
            self.stirred = true;
            self.outputs.push(Output::Event(Event::Lost { port }));
        }
    }

    /// Stalls flows of which a host is away, and lets others go on; so for flows that nobody uses.
    pub(super) fn follow_hosts(&mut self) {
        if self.hosts_changed.is_empty() {
            return;
        }
        let ports = std::mem::take(&mut self.hosts_changed);
        let touched: BTreeSet<u64> =
            ports.into_iter().flat_map(|port| self.coflows.at_port(port)).collect();
        touched.into_iter().for_each(|serial| self.follow(serial));
    }
}

/// A record that says nothing, for what has to be settled after others.
fn nothing(now: Time) -> Record {
    Record::Ended { id: 0, at_s: now.as_secs(), flows: Vec::new(), compressed: Vec::new() }
}
