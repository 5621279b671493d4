//! What agents report.

use covey_core::Time;
use covey_proto::{
    APPEARANCES, Ended, FlowKey, FlowName, FromAgent, Hello, Refusal, Sent, USES, Use,
    common_version,
};

use super::coordinator::CoordinatorState;
use super::effects::{Event, SessionId};
use super::flows::Stage;
use super::order::Behind;
use super::sizes::is_news;
use crate::record::Record;

/// Connections that an agent may have checked between two reports of them. More is not believed:
/// nobody is to use up a counter for all.
const MAX_CHECKED: u64 = 1_000_000;

impl CoordinatorState {
    /// An agent has said something. A session is not known before it says hello; the shell
    /// has checked the credential.
    pub fn heard(&mut self, session: SessionId, mut message: FromAgent, now: Time) {
        self.advance(now);
        let port = match (&message, self.agents.port_of(session)) {
            (FromAgent::Hello(hello), None) => return self.hello(session, hello),
            (FromAgent::Hello(_), Some(_)) | (_, None) => {
                return self.close(session, Refusal::Order);
            }
            (_, Some(port)) => port,
        };
        self.agents.get_mut(port).connection.heard = self.now;
        // From here on a name by id is that of a flow whose coflow has gone. Ends are acknowledged
        // by the names that the agent gives.
        if !matches!(message, FromAgent::Ended(_)) {
            message.rename_flows(|name| self.present_name_at(port, name));
        }
        let counts = &mut self.effects.counts;
        *match &message {
            FromAgent::Applied { .. } => &mut counts.applied,
            FromAgent::Ended(_) | FromAgent::Written(_) => &mut counts.ends,
            FromAgent::Sent(_) => &mut counts.reports,
            _ => &mut counts.others,
        } += 1;
        match message {
            FromAgent::Applied { epoch, version } => {
                if self.agents.applied(port, epoch, version, self.now) {
                    self.dirty.note_host(port);
                }
            }
            FromAgent::Ended(flows) => self.ended(port, &flows),
            FromAgent::Written(flows) => self.written(port, &flows),
            FromAgent::Sent(flows) => self.sent(port, &flows),
            FromAgent::Resync => self.agents.resync(port),
            FromAgent::Processor(processor) => self.processor(port, &processor),
            FromAgent::Links(links) => self.links(port, links),
            FromAgent::Uses(uses) => self.uses(port, &uses),
            FromAgent::Keeps(coflows) => {
                coflows.into_iter().for_each(|serial| self.keep_for(port, serial));
            }
            FromAgent::Addresses(_) | FromAgent::Appeared(_)
                if self.agents.get(port).connection.spoken < APPEARANCES => {}
            FromAgent::Addresses(addresses) => self.addresses(port, &addresses),
            FromAgent::Appeared(appeared) => self.appeared(port, &appeared),
            FromAgent::Asks(asks) => self.asked(port, asks),
            FromAgent::Opened(openings) => self.opened(port, &openings),
            FromAgent::Passed(passings) => self.passed(port, &passings),
            FromAgent::Checked { refused, unproven } => {
                let counts = &mut self.effects.counts;
                let add = |all: u64, more: u64| all.saturating_add(more.min(MAX_CHECKED));
                counts.flows_refused = add(counts.flows_refused, refused);
                counts.flows_unproven = add(counts.flows_unproven, unproven);
            }
            FromAgent::Hello(_) | FromAgent::Alive => {}
        }
    }

    /// A session is over.
    pub fn closed(&mut self, session: SessionId) {
        self.agents.end(session);
    }

    fn close(&mut self, session: SessionId, refusal: Refusal) {
        self.effects.close(session, refusal);
        self.closed(session);
    }

    fn hello(&mut self, session: SessionId, hello: &Hello) {
        self.effects.counts.others += 1;
        let Some(spoken) = common_version(hello.version) else {
            return self.close(session, Refusal::Version);
        };
        let port = hello.port;
        if port >= self.agents.ports() {
            return self.close(session, Refusal::Port);
        }
        if hello.holds.0 > self.epoch() {
            // The agent has heard of a later start than this one: the journal is an old copy, or a
            // new one. The agent would drop every schedule.
            self.effects.counts.epochs_ahead += 1;
            return self.close(session, Refusal::Order);
        }
        if let Some(before) = self.agents.begin(port, session, spoken, self.now) {
            self.effects.close(before, Refusal::Replaced);
        }
        self.agents.get_mut(port).links.restart(self.now);
        self.agents.holds(port, hello.holds);
        if spoken < APPEARANCES {
            self.leave_alone(port);
        }
        let agent = self.agents.get_mut(port);
        // When it is welcomed an agent reports everything of how its flows are used, if its version
        // can.
        let reports_nothing = spoken < USES && agent.usage.clear();
        let is_back = !agent.is_doubtful && std::mem::take(&mut agent.is_away);
        if is_back || reports_nothing {
            self.dirty.note_host(port);
        }
        for serial in self.coflows.at_port(port) {
            let Some(coflow) = self.coflows.get(serial) else { continue };
            if coflow.report_threshold.is_finite() && coflow.sends_from(port) {
                agent.letters.thresholds.insert(serial, coflow.report_threshold);
            }
            let is_here = |index: &u32| coflow.flows.get(*index).is_some_and(|it| it.src == port);
            let is_named = !coflow.flows.is_own();
            let former = coflow.flows.former().keys().copied().filter(|_| is_named);
            let renamed = former.filter(is_here);
            let cancelled = coflow.flows.cancelled().iter().filter(|index| is_here(index));
            let told = |&flow: &u32| {
                (
                    coflow.flows.id_of(flow),
                    coflow.flows.first_name(FlowKey { coflow: serial, flow }),
                )
            };
            agent.letters.cancelled.extend(cancelled.map(told));
            agent.letters.renamed.extend(renamed.map(|index| coflow.flows.id_of(index)));
        }
        self.effects.event(Event::Joined { port });
        self.effects.ready(session);
    }

    /// The agent of a port keeps a coflow, if that is its business.
    fn keep_for(&mut self, port: u32, serial: u64) {
        if self.coflows.is_at_port(serial, port) {
            self.keep(serial, None);
        } else if self.coflows.contains(serial) {
            self.effects.counts.strange_keeps += 1;
        }
    }

    /// Counts flows of a report if their coflow is not known: nothing of it is taken over.
    fn count_unknown(&mut self, name: FlowName, flows: usize) {
        let is_known = match name {
            FlowName::Id(id) => id.0 < self.coflows.ids.next() || self.announced.get(id).is_some(),
            // Whether a flow is scheduled that no application has named is the coordinator's
            // affair.
            FlowName::Number(_) => true,
            FlowName::Key(key) => self.coflows.knows(key.coflow),
        };
        if !is_known {
            self.effects.counts.unknown += flows as u64;
        }
    }

    /// A flow as it is named now, if its coflow is present.
    fn present_name(&self, name: FlowName) -> FlowName {
        self.coflows.ids.key(name).map_or(name, FlowName::Key)
    }

    /// The same for a name that the agent of a port says.
    fn present_name_at(&self, port: u32, name: FlowName) -> FlowName {
        self.present_name(self.announced.id(port, name).map_or(name, FlowName::Id))
    }

    pub(super) fn ended(&mut self, port: u32, flows: &[Ended]) {
        let flows = self.end_announced(port, flows);
        let mut known = Vec::new();
        let present = |ended: &Ended| Ended { key: self.present_name(ended.key), ..*ended };
        let flows: Vec<(FlowName, Ended)> = flows.iter().map(|it| (it.key, present(it))).collect();
        for of_coflow in flows.chunk_by(|(_, a), (_, b)| are_of_one_coflow(a.key, b.key)) {
            let first = of_coflow[0].1.key;
            if let Some(coflow) = first.coflow().filter(|it| self.order.is_changing(*it)) {
                let flows = of_coflow.iter().map(|&(key, ended)| Ended { key, ..ended }).collect();
                self.order.wait(coflow, Behind::Ends(port, flows));
                continue;
            }
            self.count_unknown(first, of_coflow.len());
            let (mut new, mut compressed, mut names) = (Vec::new(), Vec::new(), Vec::new());
            for &(name, Ended { key, bytes, wire }) in of_coflow {
                match key.key().and_then(|key| Some((key, self.coflows.flow(key)?))) {
                    // The flow belongs to another agent.
                    Some((_, flow)) if flow.src != port => continue,
                    Some((key, flow)) if flow.stage != Stage::Ended => {
                        let id = self.coflows.id_of(key).unwrap_or_default();
                        new.push((id.0, bytes));
                        // What is registered may have a fraction.
                        let registered = flow.bytes.unwrap_or(bytes);
                        let other = &mut self.effects.counts.other_bytes;
                        other[0] += u64::from(bytes < registered.floor());
                        other[1] += u64::from(bytes > registered.ceil());
                        if wire != bytes {
                            compressed.push((id.0, wire));
                        }
                        self.agents.carried(&flow, wire);
                        self.agents.flow_ended(port, id);
                        self.flow_ended(key, bytes, wire);
                    }
                    _ => {}
                }
                names.push(name);
            }
            if new.is_empty() {
                known.append(&mut names);
            } else {
                first.coflow().into_iter().for_each(|coflow| self.keep(coflow, None));
                let at_s = self.now.as_secs();
                let record =
                    Record::FlowsEnded { at_s, flows: new, compressed, cancelled: Vec::new() };
                self.journal.acknowledge(record, port, names, &mut self.effects);
            }
        }
        if !known.is_empty() {
            self.acknowledge_in_order(port, known);
        }
        self.tell_ends();
    }

    /// The last bytes of these flows are on their way: others may have their turn, as if their
    /// hosts were away. But they have not ended, and are served again if their ends are not
    /// reported soon.
    fn written(&mut self, port: u32, flows: &[FlowName]) {
        let (now, mut gone) = (self.now, Vec::new());
        for key in flows.iter().filter_map(|name| name.key()) {
            let flow = self.coflows.flow(key);
            if flow.is_none_or(|flow| flow.src != port || flow.stage != Stage::Active) {
                continue;
            }
            let Some(coflow) = self.coflows.get_mut(key.coflow) else { continue };
            coflow.flows.set_stage(key.flow, Stage::Written, now);
            coflow.unserve(key.flow);
            gone.push(coflow.policy_flow(key.flow));
            self.agents.flow_written(port, coflow.flows.id_of(key.flow));
            self.awaited_ends.insert(key, now + self.config.lost_after_s);
        }
        if !gone.is_empty() {
            self.driver.suspend(&gone, now);
            self.dirty.note_event();
        }
    }

    fn sent(&mut self, port: u32, flows: &[Sent]) {
        let needs_progress = self.driver.needs_progress();
        for of_coflow in flows.chunk_by(|a, b| are_of_one_coflow(a.key, b.key)) {
            let name = of_coflow[0].key;
            // Of flows that nobody has open an agent reports everything again when it joins: that
            // keeps nothing.
            let uses = &self.agents.get(port).usage.flows;
            let used = |sent: &Sent| sent.key.key().and_then(|key| uses.get(&key));
            let is_open = of_coflow.iter().any(|sent| used(sent) != Some(&Use::Closed));
            if let Some(coflow) = name.coflow().filter(|_| is_open) {
                self.keep_for(port, coflow);
            }
            self.count_unknown(name, of_coflow.len());
        }
        for &Sent { key: name, bytes, wire } in flows {
            self.note_sent(port, name, bytes, wire);
            let Some(key) = name.key() else { continue };
            let Some(flow) = self.coflows.flow(key).filter(|flow| flow.src == port) else {
                continue;
            };
            let Some(coflow) = self.coflows.get_mut(key.coflow) else { continue };
            if coflow.flows.cancelled().contains(&key.flow) {
                // The application has opened the flow after it was cancelled.
                self.tell_cancelled(key);
                continue;
            }
            if !coflow.flows.report(key.flow, bytes, wire) {
                continue;
            }
            self.agents.carried(&flow, wire);
            if self.driver.needs_sizes() && is_news(flow.bytes, (flow.sent, bytes)) {
                self.dirty.note_event();
                if flow.stage == Stage::Active {
                    // To the policy it begins again, with another size: that is written down before
                    // the next plan.
                    let name = coflow.policy_flow(key.flow);
                    self.driver.suspend(&[name], self.now);
                    self.driver.resume(&[name], self.now);
                }
            }
            if !std::mem::replace(&mut coflow.is_stale, true) {
                self.dirty.note_progress(key.coflow);
            }
            if coflow.report_threshold.is_finite() {
                self.dirty.note_event();
            }
            self.awaited_bytes.note(key.coflow, coflow.about.lineage.external);
            if needs_progress {
                self.driver.report(coflow.id, coflow.flows.attained(), self.now);
            }
            self.note_size(key, &flow, bytes);
        }
    }

    /// Notes what a flow has sent, if no application has named it: it need not be in a group yet.
    fn note_sent(&mut self, port: u32, name: FlowName, bytes: f64, wire: f64) {
        if self.announced.is_empty() {
            return;
        }
        let id = name.id().or_else(|| self.coflows.id_of(name.key()?));
        if let Some(id) = id.and_then(|id| self.announced.id(port, FlowName::Id(id))) {
            self.announced.sent(id, bytes, wire, self.now);
            self.take_over(id);
        }
    }

    /// Acknowledges ends that were known before.
    fn acknowledge_in_order(&mut self, port: u32, names: Vec<FlowName>) {
        let at_s = self.now.as_secs();
        let (flows, compressed, cancelled) = Default::default();
        let nothing = Record::FlowsEnded { at_s, flows, compressed, cancelled };
        let effects = &mut self.effects;
        if let Some(names) = self.journal.acknowledge_in_order(nothing, port, names, effects) {
            self.acknowledge(port, names);
        }
    }

    /// Tells an agent that the ends of these flows are in the journal.
    pub(super) fn acknowledge(&mut self, port: u32, names: Vec<FlowName>) {
        let agent = self.agents.get_mut(port);
        // An agent that is not there reports them again when it joins.
        if let Some(session) = agent.connection.session.filter(|_| !names.is_empty()) {
            agent.letters.acknowledged.extend(names);
            self.effects.ready(session);
        }
    }

    /// Takes silent agents for lost, and does what else is due now and then.
    pub(super) fn check(&mut self) {
        if self.now < self.rounds.next_check {
            return;
        }
        self.rounds.next_check = self.now + self.config.heartbeat_s;
        self.give_up_awaited_ends();
        self.end_silent();
        self.follow_delay();
        self.follow_leases();
        self.journal.retry(&mut self.effects);
        for port in 0..self.agents.ports() {
            let agent = self.agents.get_mut(port);
            let connection = &mut agent.connection;
            let (heard, is_away) = (connection.heard, agent.is_away);
            let waits = agent.assignments.under_way_since();
            let answered = waits.filter(|_| connection.session.is_some()).unwrap_or(self.now);
            // As often as is enough for an agent that waits for several heartbeats.
            let is_silent = (connection.told + 2.0 * self.config.heartbeat_s).due(self.now);
            if connection.session.is_some() && connection.spoken >= USES && is_silent {
                connection.alive = true;
                self.agents.wake(port);
            }
            // One that says something, and never that it has applied its schedule, holds for ever
            // what it was given.
            if is_away || self.now - heard.min(answered) <= self.config.lost_after_s {
                continue;
            }
            if let Some(session) = self.agents.lose(port) {
                self.effects.close(session, Refusal::Order);
            }
            self.leave_alone(port);
            self.dirty.note_host(port);
            self.effects.event(Event::Lost { port });
        }
    }
}

/// Whether two flows are named as flows of one coflow.
fn are_of_one_coflow(one: FlowName, other: FlowName) -> bool {
    one.coflow().is_some() && one.coflow() == other.coflow()
}
