//! The agent without its I/O: messages and what happens to flows come in, messages go out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use covey_proto::{
    CodecName, Compressor, Ended, Entry, FlowKey, FromAgent, Hello, Processor, Refusal,
    ReportThreshold, Schedule, Sent, ToAgent, USES, Uses, VERSION, Welcome, common_version,
};

use crate::names::FlowNames;
use crate::watch::Watch;

/// How a flow is served.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Its layer in the plan, 0 first.
    pub layer: u32,
    /// Bytes per second on the wire.
    pub rate: f64,
    /// What it is compressed with, if it is.
    pub codec: Option<CodecName>,
}

/// What happened to the flows that the host sends, since this was last asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Flows that have ended, once each.
    pub ended: Vec<Ended>,
    /// What others have sent so far, of those that have sent anything since.
    pub sent: Vec<Sent>,
    /// Flows of which the last bytes are in the sockets.
    pub written: Vec<FlowKey>,
    /// Flows that applications have opened (true), or that nobody has open any more, in order.
    pub opened: Vec<(FlowKey, bool)>,
}

/// What an idle flow may send: enough to be seen to move. It is not part of any schedule.
const PROBE: Share = Share { layer: u32::MAX, rate: 16.0 * 1024.0, codec: None };

/// How often it is said which coflows have flows open here, in seconds.
const KEEP_EVERY_S: f64 = 5.0;

/// The most flows named in a message, which keeps it below the limit.
const MOST_NAMED: usize = 32_000;

/// The agent of one host.
#[derive(Debug)]
pub struct Agent {
    port: u32,
    token: Vec<u8>,
    /// The schedule: its epoch and version, and the flows in it.
    holds: (u64, u64),
    flows: BTreeMap<FlowKey, Share>,
    /// While there is a session: what the coordinator said first.
    welcome: Option<Welcome>,
    /// The latest epoch heard of.
    epoch: u64,
    /// The ids that the coordinator has announced in this session.
    names: FlowNames,
    /// Schedules that were not newer than what is known.
    dropped: u64,
    /// Ends that are not in the coordinator's journal yet.
    unsettled: BTreeMap<FlowKey, Ended>,
    /// Flows that need nothing more, until a schedule has removed them: what serves them meanwhile comes
    /// from a coordinator that has not heard of it.
    written: BTreeMap<FlowKey, Share>,
    /// What flows have sent that have not ended, and which of them have since the last report.
    sent: BTreeMap<FlowKey, Sent>,
    unreported: BTreeSet<FlowKey>,
    grains: BTreeMap<u64, f64>,
    /// What each coflow with a grain has sent since it was last reported.
    since: BTreeMap<u64, f64>,
    next_report_s: f64,
    /// What the host has for compressing.
    compressors: Vec<Compressor>,
    share: f64,
    /// Seconds of a processor that compressing has taken since this was last asked.
    compressed_s: f64,
    /// How flows are used, where the host knows.
    watch: Option<Watch>,
    next_keep_s: f64,
}

impl Agent {
    /// The agent of the host that is `port` of the fabric. `token` is its credential where there is no
    /// mutual TLS.
    pub fn new(port: u32, token: Vec<u8>) -> Agent {
        Agent {
            port,
            token,
            holds: (0, 0),
            flows: BTreeMap::new(),
            welcome: None,
            epoch: 0,
            names: FlowNames::default(),
            dropped: 0,
            unsettled: BTreeMap::new(),
            written: BTreeMap::new(),
            sent: BTreeMap::new(),
            unreported: BTreeSet::new(),
            grains: BTreeMap::new(),
            since: BTreeMap::new(),
            next_report_s: 0.0,
            compressors: Vec::new(),
            share: 0.0,
            compressed_s: 0.0,
            watch: None,
            next_keep_s: 0.0,
        }
    }

    /// The host knows which flows are open, and what they send: flows that do not use what they get give it up.
    #[must_use]
    pub fn with_watch(mut self) -> Agent {
        self.watch = Some(Watch::default());
        self
    }

    /// The host has these compressors; unless this is said, it compresses nothing.
    #[must_use]
    pub fn with_compressors(mut self, compressors: Vec<Compressor>) -> Agent {
        self.compressors = compressors;
        self
    }

    /// That share of a processor is idle. `out` receives what is to be said.
    pub fn idle(&mut self, share: f64, out: &mut Vec<FromAgent>) {
        let share = share.clamp(0.0, 1.0);
        if std::mem::replace(&mut self.share, share) != share && self.tells_of_processors() {
            out.push(FromAgent::Processor(Processor { share, compressors: Vec::new() }));
        }
    }

    /// Seconds of a processor that the host's flows have taken to be compressed since this was last asked:
    /// who takes them for compressing does not find them idle, but may go on.
    pub fn take_compressed_s(&mut self) -> f64 {
        std::mem::take(&mut self.compressed_s)
    }

    /// A flow has sent so many bytes more, for which so many were on the wire.
    fn compressed(&mut self, key: FlowKey, bytes: f64, wire: f64) {
        let share = self.flows.get(&key).or_else(|| self.written.get(&key));
        let codec = share.and_then(|share| share.codec);
        let compressor = self.compressors.iter().find(|it| Some(it.codec) == codec);
        if let Some(compressor) = compressor.filter(|_| wire < bytes) {
            self.compressed_s += bytes / compressor.speed;
        }
    }

    /// Whether the coordinator wants to know what the host has for compressing, and the host has anything.
    fn tells_of_processors(&self) -> bool {
        let asked = self.welcome.is_some_and(|welcome| welcome.codec.is_some());
        asked && !self.compressors.is_empty()
    }

    /// Epoch and version of the schedule it holds; zeros when none.
    pub fn holds(&self) -> (u64, u64) {
        self.holds
    }

    /// The flows of its schedule.
    pub fn flows(&self) -> &BTreeMap<FlowKey, Share> {
        &self.flows
    }

    /// The flows it serves: those of its schedule, and others that are idle, so that they can be seen to
    /// move.
    pub fn served(&self) -> Cow<'_, BTreeMap<FlowKey, Share>> {
        let idle = self.watch.iter().flat_map(Watch::idle);
        let mut probed = idle.filter(|key| !self.flows.contains_key(key)).peekable();
        if probed.peek().is_none() {
            return Cow::Borrowed(&self.flows);
        }
        let mut served = self.flows.clone();
        served.extend(probed.map(|key| (key, PROBE)));
        Cow::Owned(served)
    }

    /// How many schedules it has dropped because they were not newer than what it knows: somebody says
    /// again what was said before, or a coordinator speaks that has been replaced.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What the coordinator said first, while there is a session.
    pub fn welcome(&self) -> Option<Welcome> {
        self.welcome
    }

    /// Ends that have not been confirmed.
    pub fn unsettled(&self) -> usize {
        self.unsettled.len()
    }

    /// The first message of a session.
    pub fn hello(&mut self) -> FromAgent {
        self.disconnected();
        let (port, token) = (self.port, self.token.clone());
        FromAgent::Hello(Hello { version: VERSION, port, holds: self.holds, token })
    }

    /// The session is over. The schedule stays.
    pub fn disconnected(&mut self) {
        self.welcome = None;
        self.names = FlowNames::default();
        self.grains.clear();
        self.since.clear();
    }

    /// The coordinator has said something; `out` receives what is to be said to it. Returns whether
    /// other flows may be to be served.
    ///
    /// # Errors
    /// When the coordinator has ended the session.
    pub fn heard(
        &mut self,
        mut message: ToAgent,
        out: &mut Vec<FromAgent>,
    ) -> Result<bool, Refusal> {
        message.rename_flows(|name| self.names.local(name));
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
            ToAgent::Welcome(welcome) => {
                self.epoch = self.epoch.max(welcome.epoch);
                self.welcome = Some(welcome);
                self.next_report_s = 0.0;
                if self.tells_of_processors() {
                    let (share, compressors) = (self.share, self.compressors.clone());
                    out.push(FromAgent::Processor(Processor { share, compressors }));
                }
                say_ended(self.unsettled.values().copied(), out);
                say_written(self.written.keys().copied(), out);
                // Who has heard nothing of this agent's flows yet hears all.
                self.unreported = self.sent.keys().copied().collect();
                if let Some(watch) = &mut self.watch {
                    watch.asked(welcome.idle_after_s);
                    say_uses(watch.take_news(), out);
                }
                self.next_keep_s = 0.0;
            }
            ToAgent::Acknowledged(keys) => {
                for key in keys {
                    self.unsettled.remove(&key);
                    self.names.forget(key);
                }
            }
            ToAgent::Thresholds(grains) => {
                for ReportThreshold { coflow, bytes } in grains {
                    if bytes.is_finite() {
                        self.grains.insert(coflow, bytes);
                    } else {
                        self.grains.remove(&coflow);
                        self.since.remove(&coflow);
                    }
                }
            }
            ToAgent::Over(coflows) => {
                for coflow in coflows {
                    self.forget(coflow);
                }
                return Ok(true);
            }
            ToAgent::Alive => {}
            ToAgent::Flows(flows) => flows.into_iter().for_each(|it| self.names.announced(it)),
            ToAgent::Schedule(schedule) => return Ok(self.scheduled(schedule, out)),
        }
        Ok(false)
    }

    /// A coflow is over, of which flows have not ended here.
    fn forget(&mut self, coflow: u64) {
        if let Some(watch) = &mut self.watch {
            watch.over(coflow);
        }
        let of_coflow = FlowKey { coflow, flow: 0 }..=FlowKey { coflow, flow: u32::MAX };
        let keys: Vec<FlowKey> = self.sent.range(of_coflow).map(|(key, _)| *key).collect();
        for key in keys {
            self.sent.remove(&key);
            self.unreported.remove(&key);
        }
        self.since.remove(&coflow);
    }

    fn scheduled(&mut self, schedule: Schedule, out: &mut Vec<FromAgent>) -> bool {
        let Schedule { epoch, version, base, set, removed } = schedule;
        // An older coordinator may still be speaking somewhere: what is older counts for nothing.
        if epoch < self.epoch || (epoch, version) <= self.holds {
            self.dropped += 1;
            return false;
        }
        if base == 0 {
            self.flows.clear();
            let listed: BTreeSet<FlowKey> = set.iter().map(|entry| entry.key).collect();
            let unsettled = &self.unsettled;
            self.names.retain(|key| listed.contains(key) || unsettled.contains_key(key));
            self.written.retain(|key, _| set.iter().any(|entry| entry.key == *key));
        } else if (epoch, base) != self.holds {
            out.push(FromAgent::Resync);
            return false;
        }
        for key in removed {
            self.flows.remove(&key);
            self.written.remove(&key);
            // The coordinator acknowledges the end of a flow by its id.
            if !self.unsettled.contains_key(&key) {
                self.names.forget(key);
            }
        }
        for entry in set {
            // Of a flow that has ended here the coordinator may not have heard.
            if !self.unsettled.contains_key(&entry.key) && !self.written.contains_key(&entry.key) {
                let Entry { key, layer, rate, codec } = entry;
                self.flows.insert(key, Share { layer, rate, codec });
            }
        }
        self.epoch = epoch;
        self.holds = (epoch, version);
        if let Some(watch) = &mut self.watch {
            watch.served(&self.flows);
        }
        out.push(FromAgent::Applied { epoch, version });
        true
    }

    /// Time has gone on to `now_s` (on any clock that never goes back), and this has happened; `out`
    /// receives what is to be said. Returns whether other flows are to be served ([`Agent::served`]).
    pub fn happened(&mut self, progress: &Progress, now_s: f64, out: &mut Vec<FromAgent>) -> bool {
        let uses = self.watch_progress(progress, now_s);
        let probes_changed = uses.is_some();
        let said = out.len();
        self.account(progress, now_s, uses, out);
        self.name_remotely(&mut out[said..]);
        probes_changed
    }

    /// Returns what is to be said of how flows are used.
    fn watch_progress(&mut self, progress: &Progress, now_s: f64) -> Option<Uses> {
        let watch = self.watch.as_mut()?;
        for &(key, is_open) in &progress.opened {
            if is_open {
                watch.opened(key);
            } else {
                watch.closed(key);
            }
        }
        progress.sent.iter().for_each(|sent| watch.sent(sent.key));
        progress.written.iter().for_each(|key| watch.done(*key, false));
        progress.ended.iter().for_each(|ended| watch.done(ended.key, true));
        watch.look(now_s);
        // While nobody is there to hear it, it is kept: all is said at the next welcome.
        watch.take_news()
    }

    fn account(
        &mut self,
        progress: &Progress,
        now_s: f64,
        uses: Option<Uses>,
        out: &mut Vec<FromAgent>,
    ) {
        for sent in &progress.sent {
            let before = self.sent.insert(sent.key, *sent);
            let (bytes, wire) = before.map_or((0.0, 0.0), |before| (before.bytes, before.wire));
            self.compressed(sent.key, sent.bytes - bytes, sent.wire - wire);
            self.unreported.insert(sent.key);
            if self.grains.contains_key(&sent.key.coflow) {
                *self.since.entry(sent.key.coflow).or_default() += sent.wire - wire;
            }
        }
        let mut written = Vec::new();
        for &key in &progress.written {
            if let Some(share) = self.flows.remove(&key) {
                self.written.insert(key, share);
                written.push(key);
            }
        }
        for ended in &progress.ended {
            let before = self.sent.remove(&ended.key);
            let (bytes, wire) = before.map_or((0.0, 0.0), |before| (before.bytes, before.wire));
            self.compressed(ended.key, ended.bytes - bytes, ended.wire - wire);
            self.flows.remove(&ended.key);
            self.written.remove(&ended.key);
            self.unreported.remove(&ended.key);
            self.unsettled.insert(ended.key, *ended);
        }
        let Some(welcome) = self.welcome else { return };
        say_written(written.into_iter(), out);
        say_ended(progress.ended.iter().copied(), out);
        say_uses(uses, out);
        if let Some(watch) = self.watch.as_ref().filter(|_| welcome.version >= USES)
            && now_s >= self.next_keep_s
        {
            self.next_keep_s = now_s + KEEP_EVERY_S;
            out.extend(watch.kept().chunks(MOST_NAMED).map(|some| FromAgent::Keeps(some.to_vec())));
        }
        self.report_by_grain(out);
        if welcome.report_every_s > 0.0 && now_s >= self.next_report_s {
            self.next_report_s = now_s + welcome.report_every_s;
            let keys = std::mem::take(&mut self.unreported);
            self.say_sent(keys, out);
        }
    }

    fn report_by_grain(&mut self, out: &mut Vec<FromAgent>) {
        let mut due: Vec<u64> = Vec::new();
        for (&coflow, since) in &mut self.since {
            if self.grains.get(&coflow).is_some_and(|grain| *since >= *grain) {
                *since = 0.0;
                due.push(coflow);
            }
        }
        for coflow in due {
            let of_coflow = FlowKey { coflow, flow: 0 }..=FlowKey { coflow, flow: u32::MAX };
            let keys: BTreeSet<FlowKey> = self.unreported.range(of_coflow).copied().collect();
            self.unreported.retain(|key| key.coflow != coflow);
            self.say_sent(keys, out);
        }
    }

    fn say_sent(&self, keys: BTreeSet<FlowKey>, out: &mut Vec<FromAgent>) {
        let sent: Vec<Sent> = keys.iter().filter_map(|key| self.sent.get(key).copied()).collect();
        out.extend(sent.chunks(MOST_NAMED).map(|some| FromAgent::Sent(some.to_vec())));
    }
}

fn say_written(written: impl Iterator<Item = FlowKey>, out: &mut Vec<FromAgent>) {
    let written: Vec<FlowKey> = written.collect();
    out.extend(written.chunks(MOST_NAMED).map(|some| FromAgent::Written(some.to_vec())));
}

fn say_uses(uses: Option<Uses>, out: &mut Vec<FromAgent>) {
    let Some(Uses { mut all, mut flows, mut unopened }) = uses else { return };
    while flows.len() > MOST_NAMED || unopened.len() > MOST_NAMED {
        let flows = flows.drain(..flows.len().min(MOST_NAMED)).collect();
        // What is moving is said first.
        let few = unopened.len() > MOST_NAMED;
        let unopened = unopened.drain(..if few { MOST_NAMED } else { 0 }).collect();
        out.push(FromAgent::Uses(Uses { all: std::mem::take(&mut all), flows, unopened }));
    }
    out.push(FromAgent::Uses(Uses { all, flows, unopened }));
}

fn say_ended(ended: impl Iterator<Item = Ended>, out: &mut Vec<FromAgent>) {
    let ended: Vec<Ended> = ended.collect();
    out.extend(ended.chunks(MOST_NAMED).map(|some| FromAgent::Ended(some.to_vec())));
}

#[cfg(test)]
mod tests {
    use covey_proto::Use;

    use super::*;

    const A: FlowKey = FlowKey { coflow: 1, flow: 0 };
    const B: FlowKey = FlowKey { coflow: 1, flow: 1 };

    fn set(epoch: u64, version: u64, base: u64, flows: &[FlowKey]) -> ToAgent {
        let set =
            flows.iter().map(|&key| Entry { key, layer: 0, rate: 1e6, codec: None }).collect();
        ToAgent::Schedule(Schedule { epoch, version, base, set, removed: Vec::new() })
    }

    fn tell(agent: &mut Agent, message: ToAgent) -> Vec<FromAgent> {
        let mut out = Vec::new();
        agent.heard(message, &mut out).expect("nothing is refused");
        out
    }

    fn welcome(epoch: u64, report_every_s: f64) -> ToAgent {
        ToAgent::Welcome(Welcome {
            version: VERSION,
            epoch,
            report_every_s,
            heartbeat_s: 1.0,
            codec: None,
            idle_after_s: 1.0,
        })
    }

    #[test]
    fn older_schedules_are_dropped_and_gaps_ask_for_all() {
        let mut agent = Agent::new(0, Vec::new());
        tell(&mut agent, welcome(2, 0.0));
        let applied = FromAgent::Applied { epoch: 2, version: 1 };
        assert_eq!(tell(&mut agent, set(2, 1, 0, &[A])), [applied]);
        assert_eq!(tell(&mut agent, set(2, 1, 0, &[B])), []);
        assert_eq!(tell(&mut agent, set(1, 9, 0, &[B])), []);
        assert_eq!(agent.dropped(), 2);
        assert_eq!(tell(&mut agent, set(2, 3, 2, &[B])), [FromAgent::Resync]);
        assert_eq!(agent.flows().keys().collect::<Vec<_>>(), [&A]);
        assert_eq!(agent.holds(), (2, 1));
        tell(&mut agent, set(2, 3, 0, &[B]));
        assert_eq!(agent.flows().keys().collect::<Vec<_>>(), [&B]);
        // A coordinator of a later epoch has been heard of: the one before counts for nothing.
        tell(&mut agent, welcome(3, 0.0));
        assert_eq!(tell(&mut agent, set(2, 4, 0, &[A])), []);
        assert_eq!((agent.holds(), agent.dropped()), ((2, 3), 3));
    }

    #[test]
    fn ends_are_said_again_until_they_are_settled() {
        let mut agent = Agent::new(0, Vec::new());
        let of_a = Ended { key: A, bytes: 3.0, wire: 3.0 };
        let ended = Progress { ended: vec![of_a], ..Progress::default() };
        let mut out = Vec::new();
        agent.happened(&ended, 0.0, &mut out);
        assert_eq!(out, []);
        let said = [FromAgent::Ended(ended.ended.clone())];
        assert_eq!(tell(&mut agent, welcome(1, 0.0)), said);
        agent.hello();
        assert_eq!(tell(&mut agent, welcome(1, 0.0)), said);
        tell(&mut agent, set(1, 1, 0, &[A, B]));
        assert_eq!(agent.flows().keys().collect::<Vec<_>>(), [&B]);
        tell(&mut agent, ToAgent::Acknowledged(vec![A]));
        agent.hello();
        assert_eq!(tell(&mut agent, welcome(1, 0.0)), []);
    }

    #[test]
    fn what_is_written_is_served_again_only_after_it_has_been_removed() {
        let mut agent = Agent::new(0, Vec::new());
        let served = |agent: &Agent| agent.flows().keys().copied().collect::<Vec<_>>();
        tell(&mut agent, welcome(1, 0.0));
        tell(&mut agent, set(1, 1, 0, &[A]));
        // B is not served, so that nothing is given back.
        let mut out = Vec::new();
        let written = Progress { written: vec![A, B], ..Progress::default() };
        agent.happened(&written, 0.0, &mut out);
        assert_eq!((served(&agent), out), (vec![], vec![FromAgent::Written(vec![A])]));
        // The coordinator has not heard of it, nor the one that comes after.
        tell(&mut agent, set(1, 2, 1, &[A, B]));
        assert_eq!(served(&agent), [B]);
        agent.hello();
        assert_eq!(tell(&mut agent, welcome(2, 0.0)), [FromAgent::Written(vec![A])]);
        tell(&mut agent, set(2, 1, 0, &[A]));
        assert_eq!(served(&agent), []);
        // Now it has, and has waited for its end in vain.
        let (set_of, removed) = (Vec::new(), vec![A]);
        let removal = Schedule { epoch: 2, version: 2, base: 1, set: set_of, removed };
        tell(&mut agent, ToAgent::Schedule(removal));
        tell(&mut agent, set(2, 3, 2, &[A]));
        assert_eq!(served(&agent), [A]);
    }

    #[test]
    fn bytes_are_reported_every_so_often_or_by_grain() {
        // Grains go by what is on the wire.
        let sent_so_far = |wire| Sent { key: A, bytes: 2.0 * wire, wire };
        let sent = |bytes| Progress { sent: vec![sent_so_far(bytes)], ..Progress::default() };
        let said = |bytes| vec![FromAgent::Sent(vec![sent_so_far(bytes)])];
        let happened = |agent: &mut Agent, bytes, now_s| {
            let mut out = Vec::new();
            agent.happened(&sent(bytes), now_s, &mut out);
            out
        };
        let mut agent = Agent::new(0, Vec::new());
        tell(&mut agent, welcome(1, 0.5));
        assert_eq!(happened(&mut agent, 1.0, 1.0), said(1.0));
        assert_eq!(happened(&mut agent, 2.0, 1.2), []);
        assert_eq!(happened(&mut agent, 3.0, 1.5), said(3.0));

        agent.hello();
        tell(&mut agent, welcome(1, 0.0));
        tell(&mut agent, ToAgent::Thresholds(vec![ReportThreshold { coflow: 1, bytes: 10.0 }]));
        assert_eq!(happened(&mut agent, 9.0, 9.0), []);
        assert_eq!(happened(&mut agent, 13.0, 9.0), said(13.0));
        assert_eq!(happened(&mut agent, 22.0, 9.0), []);
        tell(
            &mut agent,
            ToAgent::Thresholds(vec![ReportThreshold { coflow: 1, bytes: f64::INFINITY }]),
        );
        assert_eq!(happened(&mut agent, 99.0, 9.0), []);
    }

    #[test]
    fn what_the_host_has_for_compressing_is_said_when_it_changes_and_to_each_coordinator() {
        let compressor = Compressor { codec: CodecName::Lz4, speed: 5e8, ratio: 0.5 };
        let mut agent = Agent::new(0, Vec::new()).with_compressors(vec![compressor]);
        let said = |share, compressors| FromAgent::Processor(Processor { share, compressors });
        let welcomed = |epoch| match welcome(epoch, 0.0) {
            ToAgent::Welcome(it) => ToAgent::Welcome(Welcome { codec: Some(CodecName::Lz4), ..it }),
            _ => panic!("it is a welcome"),
        };
        let mut out = Vec::new();
        agent.idle(0.5, &mut out);
        assert_eq!(tell(&mut agent, welcome(1, 0.0)), [], "nobody wants to know");
        agent.idle(0.6, &mut out);
        agent.idle(0.5, &mut out);
        assert_eq!(out, [], "nobody hears it");
        assert_eq!(tell(&mut agent, welcomed(1)), [said(0.5, vec![compressor])]);
        agent.idle(0.5, &mut out);
        agent.idle(2.0, &mut out);
        assert_eq!(out, [said(1.0, Vec::new())]);
        agent.hello();
        assert_eq!(tell(&mut agent, welcomed(2)), [said(1.0, vec![compressor])]);
        // A host without compressors says nothing of processors.
        let mut agent = Agent::new(0, Vec::new());
        assert_eq!(tell(&mut agent, welcomed(1)), []);
        agent.idle(0.5, &mut out);
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn what_compressing_takes_is_counted() {
        let compressor = Compressor { codec: CodecName::Lz4, speed: 100.0, ratio: 0.5 };
        let mut agent = Agent::new(0, Vec::new()).with_compressors(vec![compressor]);
        let entry = |key, codec| Entry { key, layer: 0, rate: 1.0, codec };
        let set = vec![entry(A, Some(CodecName::Lz4)), entry(B, None)];
        tell(&mut agent, welcome(1, 0.0));
        let (epoch, version, base, removed) = (1, 1, 0, Vec::new());
        tell(&mut agent, ToAgent::Schedule(Schedule { epoch, version, base, set, removed }));
        let mut happened = |bytes, wire, ended: Vec<Ended>| {
            let sent = [A, B].map(|key| Sent { key, bytes, wire }).to_vec();
            agent.happened(&Progress { ended, sent, ..Progress::default() }, 0.0, &mut Vec::new());
            agent.take_compressed_s()
        };
        assert_eq!(happened(200.0, 100.0, Vec::new()), 2.0);
        assert_eq!(happened(200.0, 100.0, Vec::new()), 0.0);
        // What did not shrink went as it was.
        assert_eq!(happened(300.0, 201.0, Vec::new()), 0.0);
        assert_eq!(happened(300.0, 201.0, vec![Ended { key: A, bytes: 400.0, wire: 250.0 }]), 1.0);
    }

    #[test]
    fn an_idle_flow_may_send_a_little_and_is_given_back_when_it_does() {
        let mut agent = Agent::new(0, Vec::new()).with_watch();
        tell(&mut agent, welcome(1, 0.0));
        tell(&mut agent, set(1, 1, 0, &[A, B]));
        let opened = Progress { opened: vec![(A, true), (B, true)], ..Progress::default() };
        let sent =
            Progress { sent: vec![Sent { key: B, bytes: 1.0, wire: 1.0 }], ..Progress::default() };
        let mut out = Vec::new();
        assert!(!agent.happened(&opened, 0.0, &mut out));
        assert_eq!(out, [FromAgent::Keeps(vec![1])]);
        out.clear();
        (1..30).for_each(|tick| {
            agent.happened(&sent, f64::from(tick) / 20.0, &mut out);
        });
        let of = |key, of| Uses { flows: vec![(key, of)], ..Uses::default() };
        assert_eq!(out, [FromAgent::Uses(of(A, Use::Idle))]);
        // The coordinator takes its rate away: it may still be seen to move.
        tell(&mut agent, set(1, 2, 0, &[B]));
        assert_eq!(agent.served().get(&A), Some(&PROBE));
        out.clear();
        let sent =
            Progress { sent: vec![Sent { key: A, bytes: 1.0, wire: 1.0 }], ..Progress::default() };
        assert!(agent.happened(&sent, 1.55, &mut out));
        assert_eq!(out, [FromAgent::Uses(of(A, Use::Moves))]);
        assert_eq!(agent.served().keys().collect::<Vec<_>>(), [&B]);
        // Of what is over nothing stays.
        tell(&mut agent, ToAgent::Over(vec![A.coflow]));
        assert!(agent.sent.is_empty() && agent.unreported.is_empty());
    }

    #[test]
    fn a_coordinator_of_the_version_before_is_told_nothing_of_how_flows_are_used() {
        let mut agent = Agent::new(0, Vec::new()).with_watch();
        let ToAgent::Welcome(mut older) = welcome(1, 0.0) else { panic!("a welcome") };
        (older.version, older.idle_after_s) = (2, f64::INFINITY);
        assert_eq!(tell(&mut agent, ToAgent::Welcome(older)), []);
        tell(&mut agent, set(1, 1, 0, &[A]));
        let mut out = Vec::new();
        let opened = Progress { opened: vec![(A, true), (A, false)], ..Progress::default() };
        agent.happened(&opened, 0.0, &mut out);
        (1..200).for_each(|tick| {
            agent.happened(&Progress::default(), f64::from(tick) / 20.0, &mut out);
        });
        assert_eq!(out, []);
    }
}
