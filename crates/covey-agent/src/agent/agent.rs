//! The agent's state machine: messages of the coordinator and progress of flows come in, messages
//! go out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use covey_proto::{
    Appearance, Compressor, Ended, FlowFacts, FlowName, FromAgent, Hello, LINKS, OPENINGS,
    OpeningAnswer, Passing, Refusal, Schedule, Service, Side, ToAgent, USES, Uses, VERSION,
    Welcome, common_version,
};

use super::compression::Compression;
use super::proving::Proving;
use super::reports::Reports;
use super::say::{say, say_all_appeared, say_appeared, say_uses};
use super::schedule::{HeldSchedule, Update};
use super::turns::Turns;
use super::unnamed::Unnamed;
use crate::names::FlowNames;
use crate::progress::Progress;
use crate::watch::Watch;

/// How often the coordinator is told which coflows have flows open here, in seconds.
const KEEP_EVERY_S: f64 = 5.0;

/// The agent of one host.
#[derive(Debug)]
pub struct Agent {
    port: u32,
    token: Vec<u8>,
    schedule: HeldSchedule,
    /// The coordinator's first message, while there is a session.
    welcome: Option<Welcome>,
    /// What the coordinator and applications call flows; all other fields go by present names.
    names: FlowNames,
    /// Ends that the coordinator has not acknowledged.
    unacknowledged: BTreeMap<FlowName, Ended>,
    reports: Reports,
    compression: Compression,
    proving: Proving,
    turns: Turns,
    /// How flows are used, if the enforcer sees that.
    watch: Option<Watch>,
    /// Flows that no application has named.
    unnamed: Unnamed,
    /// The addresses of the host.
    addresses: Vec<IpAddr>,
    /// When something last happened here.
    now_s: f64,
    /// When to tell next which coflows have flows open here.
    next_keep_s: f64,
}

impl Agent {
    /// The agent of the host that is `port` of the fabric. `token` is its credential where there is
    /// no mutual TLS.
    pub fn new(port: u32, token: Vec<u8>) -> Agent {
        Agent {
            port,
            token,
            schedule: HeldSchedule::default(),
            welcome: None,
            names: FlowNames::default(),
            unacknowledged: BTreeMap::new(),
            reports: Reports::default(),
            compression: Compression::default(),
            proving: Proving::default(),
            turns: Turns::default(),
            watch: None,
            unnamed: Unnamed::default(),
            addresses: Vec::new(),
            now_s: 0.0,
            next_keep_s: 0.0,
        }
    }

    /// For a host that sees which flows are open and what they send: flows that do not use their
    /// rate lose it.
    #[must_use]
    pub fn with_watch(mut self) -> Agent {
        self.watch = Some(Watch::default());
        self
    }

    /// For a host that has these addresses. A coordinator that finds coflows by itself knows by
    /// them where flows go.
    #[must_use]
    pub fn with_addresses(mut self, addresses: Vec<IpAddr>) -> Agent {
        self.addresses = addresses;
        self
    }

    /// For a host that has these compressors. Other hosts compress nothing.
    #[must_use]
    pub fn with_compressors(mut self, compressors: Vec<Compressor>) -> Agent {
        self.compression = Compression::new(compressors);
        self
    }

    /// Sets the share of a processor that is idle. `out` receives the messages to send.
    pub fn idle(&mut self, share: f64, out: &mut Vec<FromAgent>) {
        let changed = self.compression.set_idle(share);
        if self.tells_of_compression() {
            out.extend(changed.map(FromAgent::Processor));
        }
    }

    /// Takes the seconds of a processor that compressing has taken since the last call. They count
    /// as idle: flows may go on being compressed.
    pub fn take_compressed_s(&mut self) -> f64 {
        self.compression.take_used_s()
    }

    /// Whether the coordinator schedules compression, and the host can compress.
    fn tells_of_compression(&self) -> bool {
        let asked = self.welcome.is_some_and(|welcome| welcome.codec.is_some());
        asked && self.compression.is_possible()
    }

    /// Whether the coordinator schedules compression, and hears what links carry.
    pub fn tells_of_links(&self) -> bool {
        self.welcome.is_some_and(|welcome| welcome.codec.is_some() && welcome.version >= LINKS)
    }

    /// Epoch and version of the schedule in force; zeros if there is none.
    pub fn holds(&self) -> (u64, u64) {
        self.schedule.holds()
    }

    /// The flows of the schedule in force.
    pub fn flows(&self) -> &BTreeMap<FlowName, Service> {
        self.schedule.flows()
    }

    /// The flows to serve: those of the schedule, and idle ones at a low rate that shows when they
    /// send again. A flow that has changed its coflow is listed under each of its names, because an
    /// application may know it by any. Of flows that no application has named, those are listed
    /// that the coordinator has taken; at rate 0 if they wait.
    pub fn served(&self) -> Cow<'_, BTreeMap<FlowName, Service>> {
        let flows = self.schedule.services();
        let idle = self.watch.iter().flat_map(Watch::idle);
        let mut probed = idle.filter(|key| !flows.contains_key(key)).peekable();
        let mut renamed = self.names.renamed().peekable();
        if probed.peek().is_none() && renamed.peek().is_none() && !self.has_unnamed() {
            return flows;
        }
        let probed: Vec<FlowName> = probed.collect();
        let mut served = flows.into_owned();
        served.extend(probed.into_iter().map(|key| (key, Service::PROBE)));
        served.retain(|key, _| self.unnamed.may_schedule(*key));
        self.unnamed.hold(&mut served);
        for key in renamed {
            if let Some(&service) = served.get(&key) {
                served.extend(self.names.local(key).map(|name| (name, service)));
            }
        }
        Cow::Owned(served)
    }

    /// Whether there are flows that no application has named.
    pub fn has_unnamed(&self) -> bool {
        !self.unnamed.is_empty()
    }

    /// All names by which applications may know these flows, which the coordinator has named.
    pub fn names_here(&self, keys: &[FlowName]) -> Vec<FlowName> {
        keys.iter().flat_map(|key| self.names.local(self.names.present(*key))).collect()
    }

    /// Number of schedules dropped because they were not newer than what this agent knows: a
    /// message was repeated, or a coordinator that has been replaced still speaks.
    pub fn dropped(&self) -> u64 {
        self.schedule.dropped()
    }

    /// The coordinator's first message, while there is a session.
    pub fn welcome(&self) -> Option<Welcome> {
        self.welcome
    }

    /// Number of ends that the coordinator has not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.unacknowledged.len()
    }

    /// Begins a session. Returns its first message.
    pub fn hello(&mut self) -> FromAgent {
        self.disconnected();
        let (port, token, holds) = (self.port, self.token.clone(), self.holds());
        FromAgent::Hello(Hello { version: VERSION, port, holds, token })
    }

    /// The session is over. The schedule stays in force.
    pub fn disconnected(&mut self) {
        self.welcome = None;
        self.names.disconnected();
        self.reports.disconnected();
        self.unnamed.disconnected();
        self.schedule.forget_numbers();
    }

    /// Handles a message of the coordinator. `out` receives the messages to send. Returns whether
    /// the flows to serve may have changed.
    ///
    /// # Errors
    /// When the coordinator has ended the session.
    pub fn heard(
        &mut self,
        mut message: ToAgent,
        out: &mut Vec<FromAgent>,
    ) -> Result<bool, Refusal> {
        message.rename_flows(|name| self.names.present(name));
        let said = out.len();
        let heard = self.take_in(message, out);
        self.name_remotely(&mut out[said..]);
        heard
    }

    /// Names the flows of messages as the coordinator does.
    fn name_remotely(&self, messages: &mut [FromAgent]) {
        messages.iter_mut().for_each(|it| it.rename_flows(|key| self.names.remote(key)));
    }

    fn take_in(&mut self, message: ToAgent, out: &mut Vec<FromAgent>) -> Result<bool, Refusal> {
        match message {
            ToAgent::Refused(refusal) => return Err(refusal),
            ToAgent::Welcome(welcome)
                if common_version(welcome.version) != Some(welcome.version) =>
            {
                return Err(Refusal::Version);
            }
            ToAgent::Welcome(welcome) => self.welcomed(welcome, out),
            ToAgent::Acknowledged(keys) => {
                let mut is_changed = false;
                for key in keys {
                    if self.unacknowledged.remove(&key).is_none() {
                        // This agent has reported no end: the flow ends because nobody needs it any
                        // more.
                        is_changed = true;
                        self.schedule.end(key, None);
                        self.turns.closed(key);
                        self.reports.ended(key, 0.0, 0.0);
                        if let Some(watch) = &mut self.watch {
                            watch.done(key, true);
                        }
                    }
                    self.schedule.acknowledged(key);
                    self.names.done(key);
                }
                return Ok(is_changed);
            }
            ToAgent::Thresholds(thresholds) => self.reports.set_thresholds(thresholds),
            ToAgent::Over(coflows) => {
                for coflow in coflows {
                    if let Some(watch) = &mut self.watch {
                        watch.over(coflow);
                    }
                    self.reports.forget(coflow);
                    self.names.over(coflow);
                }
                return Ok(true);
            }
            ToAgent::Taken(numbers) => {
                numbers.into_iter().for_each(|number| self.unnamed.taken(number));
                return Ok(true);
            }
            ToAgent::Released(numbers) => {
                for number in numbers {
                    self.unnamed.released(number, self.now_s);
                    self.schedule.remove(FlowName::Number(number));
                    self.names.forget(FlowName::Number(number));
                }
                return Ok(true);
            }
            // Those are the enforcer's affair.
            ToAgent::Alive | ToAgent::Keys(_) | ToAgent::Tokens(_) | ToAgent::StartSmall(_) => {}
            ToAgent::Openings(answers) => answers.iter().for_each(|answer| self.found(answer)),
            ToAgent::Turns(turns) => {
                turns.into_iter().for_each(|turn| self.turns.said(turn));
                self.turns.forget_closed();
            }
            ToAgent::Flows(flows) => {
                for flow in flows {
                    if let Some((former, present)) = self.names.announced(flow) {
                        self.rename(former, present);
                    }
                }
            }
            ToAgent::Schedule(schedule) => return Ok(self.scheduled(schedule, out)),
        }
        Ok(false)
    }

    /// A flow has changed its coflow.
    fn rename(&mut self, former: FlowName, present: FlowName) {
        self.schedule.rename(former, present);
        self.reports.rename(former, present);
        self.turns.rename(former, present);
        if let Some(watch) = &mut self.watch {
            watch.rename(former, present);
        }
        if let Some(ended) = self.unacknowledged.remove(&former) {
            self.unacknowledged.insert(present, Ended { key: present, ..ended });
        }
    }

    /// A session has begun: everything that the coordinator may not know is said.
    fn welcomed(&mut self, welcome: Welcome, out: &mut Vec<FromAgent>) {
        self.schedule.heard_epoch(welcome.epoch);
        self.welcome = Some(welcome);
        if self.tells_of_compression() {
            out.push(FromAgent::Processor(self.compression.describe()));
        }
        if !welcome.groups {
            // Only a coordinator that asks for these flows hears of them.
            self.unacknowledged.retain(|key, _| key.number().is_none());
        }
        self.turns.welcomed();
        if welcome.version >= OPENINGS {
            say(self.schedule.passings(), FromAgent::Passed, out);
        }
        say(self.unacknowledged.values().copied(), FromAgent::Ended, out);
        say(self.schedule.written(), FromAgent::Written, out);
        self.reports.restart();
        if let Some(watch) = &mut self.watch {
            watch.asked(welcome.idle_after_s);
            if welcome.groups {
                self.unnamed.names().for_each(|key| watch.opened(key));
            }
            say_uses(watch.take_news(), out);
        }
        if welcome.groups {
            out.push(FromAgent::Addresses(self.addresses.clone()));
            let all: Vec<Appearance> = self.unnamed.appearances(self.now_s).collect();
            say_all_appeared(&all, out);
        }
        self.next_keep_s = 0.0;
    }

    fn scheduled(&mut self, schedule: Schedule, out: &mut Vec<FromAgent>) -> bool {
        let has_ended = |key: &FlowName| self.unacknowledged.contains_key(key);
        let listed = || schedule.set.iter().map(|entry| entry.key).collect::<BTreeSet<_>>();
        let listed = (schedule.base == 0).then(listed);
        let removed = schedule.removed.clone();
        match self.schedule.update(schedule, has_ended) {
            Update::Dropped => return false,
            Update::Gap => {
                out.push(FromAgent::Resync);
                return false;
            }
            Update::Applied => {}
        }
        // The coordinator acknowledges the end of a flow by its id.
        if let Some(listed) = listed {
            self.names.retain(|key| listed.contains(key) || has_ended(key));
        }
        for key in removed.into_iter().filter(|key| !has_ended(key)) {
            self.names.forget(key);
        }
        if let Some(watch) = &mut self.watch {
            watch.served(&self.schedule.services());
        }
        let (epoch, version) = self.holds();
        out.push(FromAgent::Applied { epoch, version });
        true
    }

    /// Handles `progress` of the flows up to `now_s`, on any clock that never goes back. `out`
    /// receives the messages to send. Returns whether the flows to serve ([`Agent::served`]) have
    /// changed.
    pub fn happened(&mut self, progress: &Progress, now_s: f64, out: &mut Vec<FromAgent>) -> bool {
        self.now_s = now_s;
        // Before what flows are asked for: their applications hear first whether they are opened
        // wrongly.
        if self.welcome.is_some_and(|welcome| welcome.version >= OPENINGS) {
            say(progress.openings.iter().copied(), FromAgent::Opened, out);
        }
        let presented = self.names.presented(progress);
        let progress = presented.as_ref().unwrap_or(progress);
        let told = self.follow_unnamed(progress);
        let progress = told.as_ref().unwrap_or(progress);
        // Before everything else: flows wait for the answer.
        self.proving.say(progress, self.welcome, out);
        let uses = self.watch_progress(progress, now_s);
        let probes_changed = uses.is_some();
        let (written, passed) = self.account(progress);
        let is_passed = !passed.is_empty();
        if let Some(watch) = self.watch.as_mut().filter(|_| is_passed) {
            watch.served(&self.schedule.services());
        }
        let said = out.len();
        if let Some(welcome) = self.welcome {
            if welcome.groups {
                // A flow may have appeared and ended since the last report.
                let again = progress.sent.iter();
                let again = again.filter_map(|sent| self.unnamed.again(sent.key, now_s));
                let appeared: Vec<Appearance> =
                    progress.appeared.iter().copied().chain(again).collect();
                say_appeared(&appeared, out);
            }
            if welcome.version >= OPENINGS {
                say(passed.into_iter(), FromAgent::Passed, out);
            }
            say(written.into_iter(), FromAgent::Written, out);
            let told = |ended: &&Ended| welcome.groups || ended.key.number().is_none();
            say(progress.ended.iter().filter(told).copied(), FromAgent::Ended, out);
            say_uses(uses, out);
            self.say_kept(welcome, now_s, out);
            for sent in self.reports.take_due(now_s, welcome.report_every_s) {
                say(sent.into_iter(), FromAgent::Sent, out);
            }
        }
        self.name_remotely(&mut out[said..]);
        probes_changed || is_passed
    }

    /// Whether the coordinator is to hear of flows that no application has named.
    fn tells_of_unnamed(&self) -> bool {
        self.welcome.is_some_and(|welcome| welcome.groups)
    }

    /// Follows the flows that no application has named. Returns what is left of `progress` if the
    /// coordinator is not to hear of them.
    fn follow_unnamed(&mut self, progress: &Progress) -> Option<Progress> {
        progress.appeared.iter().for_each(|flow| self.unnamed.appeared(flow, self.now_s));
        let is_left = |key: &FlowName| key.number().is_none();
        let rest = (self.has_unnamed() && !self.tells_of_unnamed()).then(|| {
            let mut rest = progress.clone();
            rest.sent.retain(|sent| is_left(&sent.key));
            rest.appeared.clear();
            rest
        });
        progress.ended.iter().for_each(|ended| _ = self.unnamed.ended(ended.key));
        rest
    }

    /// Returns the changes in how flows are used, if there are any to report. Without a session
    /// there are none: everything is said at the next welcome.
    fn watch_progress(&mut self, progress: &Progress, now_s: f64) -> Option<Uses> {
        let watch = self.watch.as_mut()?;
        for &(key, is_open) in &progress.opened {
            if is_open {
                watch.opened(key);
            } else {
                watch.closed(key);
            }
        }
        let appeared = progress.appeared.iter().map(|flow| FlowName::Number(flow.number));
        appeared.for_each(|key| watch.opened(key));
        progress.sent.iter().for_each(|sent| watch.sent(sent.key));
        progress.written.iter().for_each(|key| watch.done(*key, false));
        progress.ended.iter().for_each(|ended| watch.done(ended.key, true));
        if progress.has_not_looked {
            watch.pass(now_s);
        } else {
            watch.look(now_s);
        }
        watch.take_news()
    }

    /// Brings totals, schedule and ends up to date. Returns the flows that need no rate any more,
    /// and which of them have passed it on.
    fn account(&mut self, progress: &Progress) -> (Vec<FlowName>, Vec<Passing>) {
        let (mut written, mut passed) = (Vec::new(), Vec::new());
        for &(key, _) in progress.opened.iter().filter(|(_, is_open)| !is_open) {
            self.turns.closed(key);
        }
        for &sent in &progress.sent {
            let new = self.reports.sent(sent);
            self.turns.sent(sent.key, new.1);
            self.count_compression(sent.key, new);
        }
        let ending =
            || progress.written.iter().copied().chain(progress.ended.iter().map(|it| it.key));
        for &key in &progress.written {
            let heir = self.next(key, ending());
            if self.schedule.is_served(key) {
                written.push(key);
                self.schedule.mark_written(key, heir);
            }
            passed.extend(heir.map(|to| Passing { from: key, to }));
        }
        for &ended in &progress.ended {
            let new = self.reports.ended(ended.key, ended.bytes, ended.wire);
            self.turns.sent(ended.key, new.1);
            self.count_compression(ended.key, new);
            let heir = self.next(ended.key, ending());
            self.schedule.end(ended.key, heir);
            passed.extend(heir.map(|to| Passing { from: ended.key, to }));
            self.turns.closed(ended.key);
            // A coordinator that joins again asks which of the flows are left that no application
            // has named.
            if ended.key.number().is_none() || self.tells_of_unnamed() {
                self.unacknowledged.insert(ended.key, ended);
            }
        }
        (written, passed)
    }

    /// The flow that has the rate of a served flow from now on, which is `ending` with others.
    /// `None`: none waits.
    fn next(
        &self,
        key: FlowName,
        ending: impl Iterator<Item = FlowName> + Clone,
    ) -> Option<FlowName> {
        if key.number().is_some() || !self.schedule.is_served(key) {
            return None;
        }
        let services = self.schedule.services();
        self.turns.next(key, |other| {
            let is_idle = self.watch.as_ref().is_some_and(|watch| watch.is_unused(other));
            let is_over = self.unacknowledged.contains_key(&other)
                || self.schedule.is_written(other)
                || ending.clone().any(|it| it == other);
            !is_idle && !is_over && services.get(&other).is_none_or(|service| service.rate == 0.0)
        })
    }

    /// The coordinator has answered what is registered of a flow.
    fn found(&mut self, answer: &OpeningAnswer) {
        let key = self.names.present(answer.key.into());
        // The flow may have ended since the question.
        if let Ok(FlowFacts { peer, .. }) = answer.found
            && answer.side == Side::Sends
            && !self.unacknowledged.contains_key(&key)
        {
            self.turns.opened(key, peer);
        }
    }

    fn count_compression(&mut self, key: FlowName, (bytes, wire): (f64, f64)) {
        let codec = self.schedule.service(key).and_then(|service| service.codec);
        self.compression.count(codec, bytes, wire);
    }

    /// Says now and then which coflows have flows open here, so that the coordinator keeps them.
    fn say_kept(&mut self, welcome: Welcome, now_s: f64, out: &mut Vec<FromAgent>) {
        if let Some(watch) = self.watch.as_ref().filter(|_| welcome.version >= USES)
            && now_s >= self.next_keep_s
        {
            self.next_keep_s = now_s + KEEP_EVERY_S;
            say(watch.kept().into_iter(), FromAgent::Keeps, out);
        }
    }
}

#[cfg(test)]
mod tests;
