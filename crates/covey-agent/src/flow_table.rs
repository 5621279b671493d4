//! The flows of a host's applications: what applications report, and what they are told. Without
//! I/O.
//!
//! Nothing is queued for an application. Its messages are made when its connection can take them,
//! from the schedule in force at that time; until then the table keeps at most a mark per flow.

use std::collections::{BTreeMap, BTreeSet};

use covey_proto::{
    CodecName, Connected, Direction, Ended, Entry, FlowAnswer, FlowCheck, FlowFacts, FlowKey,
    FlowKeys, FlowName, FromApp, LOCAL_OPENINGS, LOCAL_START_SMALL, LOCAL_TOKENS, LOCAL_VERSION,
    MAX_LOCAL_FLOWS, Mac, Means, OLDEST_LOCAL, OpeningAnswer, OpeningError, Proof, ProofRefusal,
    Sent, Service, Side, ToApp, WrongOpening,
};

use crate::app_id::AppId;
use crate::openings::Openings;
use crate::progress::{Ends, Progress};
use crate::proofs::{Proofs, Told};

/// Maximum number of flows that an application may have open.
const MAX_FLOWS: usize = 100_000;

/// Maximum number of questions about proofs whose answers an application has not been told.
const MAX_UNANSWERED: usize = 2 * MAX_FLOWS;

/// Connections of flows that have changed; `None` for a connection that is gone.
pub type Moved = BTreeMap<FlowKey, Option<Ends>>;

/// The application's connection must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// One application.
#[derive(Debug, Default)]
struct App {
    /// Whether its hello has come.
    greeted: bool,
    /// The version that it speaks.
    version: u16,
    /// Its flows, including those that have ended and are not acknowledged.
    flows: BTreeSet<FlowKey>,
    /// Number of its questions about proofs whose answers it has not been told.
    unanswered: usize,
    news: News,
}

impl App {
    /// The application asks so many questions more.
    fn ask(&mut self, count: usize) -> Result<(), Refused> {
        self.unanswered += count;
        if self.unanswered > MAX_UNANSWERED { Err(Refused) } else { Ok(()) }
    }
}

/// What an application has not been told yet.
#[derive(Debug, Default)]
struct News {
    welcome: bool,
    /// Whether there is a coordinator, and its codec.
    coordinator: bool,
    /// How much of a coflow may be sent by itself.
    start_small: bool,
    /// Flows that are served otherwise than before.
    changed: BTreeSet<FlowKey>,
    acknowledged: Vec<FlowKey>,
    /// Whether headers of flows show proofs.
    proving: bool,
    proofs: Vec<(FlowKey, Direction, Option<Proof>)>,
    checked: Vec<(u32, Option<ProofRefusal>)>,
    openings: Vec<OpeningAnswer>,
}

impl News {
    fn is_empty(&self) -> bool {
        !self.welcome
            && !self.coordinator
            && !self.start_small
            && !self.proving
            && self.changed.is_empty()
            && self.acknowledged.is_empty()
            && self.proofs.is_empty()
            && self.checked.is_empty()
            && self.openings.is_empty()
    }
}

/// What every application is told at the beginning.
#[derive(Debug)]
struct Greeting {
    port: u32,
    means: Means,
    report_every_s: f64,
}

/// What applications are told of the coordinator.
#[derive(Debug, Default)]
struct Coordinator {
    joined: bool,
    /// The compressor that schedules may name, if they may name one.
    codec: Option<CodecName>,
    /// Bytes that the flows of a coflow which an application has open may send before a schedule
    /// mentions them.
    start_small: u64,
}

/// What flows have done since the last report.
#[derive(Debug, Default)]
struct Unreported {
    ended: Vec<Ended>,
    written: Vec<FlowName>,
    /// Flows that were opened (true) or that no application has open any more (false), in order.
    opened: Vec<(FlowName, bool)>,
    sent: BTreeMap<FlowKey, Sent>,
}

/// The applications of a host and their flows.
#[derive(Debug)]
pub struct FlowTable {
    greeting: Greeting,
    coordinator: Coordinator,
    /// The schedule in force.
    services: BTreeMap<FlowKey, Service>,
    apps: BTreeMap<AppId, App>,
    /// The application of each flow. If two have opened a flow, the later one.
    owners: BTreeMap<FlowKey, AppId>,
    /// Flows that are open.
    open: BTreeSet<FlowKey>,
    unreported: Unreported,
    proofs: Proofs,
    /// Headers of flows that were refused, and why, since they were last taken.
    refused: Vec<(FlowCheck, ProofRefusal)>,
    openings: Openings,
    /// Flows that were opened wrongly, since they were last taken.
    wrong: Vec<WrongOpening>,
    /// Connections that have changed since they were last taken.
    moved: Moved,
    /// Applications that have news since they were last taken.
    woken: BTreeSet<AppId>,
}

impl FlowTable {
    /// A table without applications. They are to carry schedules out by `means`, and to report
    /// every `report_every_s` seconds what they have sent.
    pub fn new(port: u32, means: Means, report_every_s: f64) -> FlowTable {
        FlowTable {
            greeting: Greeting { port, means, report_every_s },
            coordinator: Coordinator::default(),
            services: BTreeMap::new(),
            apps: BTreeMap::new(),
            owners: BTreeMap::new(),
            open: BTreeSet::new(),
            unreported: Unreported::default(),
            proofs: Proofs::default(),
            refused: Vec::new(),
            openings: Openings::default(),
            wrong: Vec::new(),
            moved: Moved::new(),
            woken: BTreeSet::new(),
        }
    }

    /// An application has connected.
    pub fn connected(&mut self, id: AppId) {
        self.apps.insert(id, App::default());
    }

    /// An application's connection is closed; its flows are gone.
    pub fn closed(&mut self, id: AppId) {
        self.woken.remove(&id);
        self.openings.left(id);
        for key in self.apps.remove(&id).unwrap_or_default().flows {
            self.disown(id, key);
        }
    }

    fn disown(&mut self, id: AppId, key: FlowKey) {
        // Another application may have opened the flow since.
        if self.owners.get(&key) == Some(&id) {
            self.owners.remove(&key);
            self.unreported.sent.remove(&key);
            if self.open.remove(&key) {
                self.unreported.opened.push((key.into(), false));
            }
            self.has_moved(key, None);
        }
    }

    fn has_moved(&mut self, key: FlowKey, ends: Option<Ends>) {
        // Only a host that shapes takes these.
        if self.greeting.means.shapes() {
            self.moved.insert(key, ends);
        }
    }

    /// Handles a message of an application.
    ///
    /// # Errors
    /// When the application's connection must be closed.
    pub fn heard(&mut self, id: AppId, message: FromApp) -> Result<(), Refused> {
        let app = self.apps.get_mut(&id).ok_or(Refused)?;
        let is_hello = matches!(message, FromApp::Hello(_));
        if is_hello == app.greeted {
            return Err(Refused);
        }
        match message {
            FromApp::Hello(version) if !(OLDEST_LOCAL..=LOCAL_VERSION).contains(&version) => {
                return Err(Refused);
            }
            FromApp::Hello(version) => {
                (app.greeted, app.version) = (true, version);
                (app.news.welcome, app.news.coordinator) = (true, true);
                app.news.start_small =
                    version >= LOCAL_START_SMALL && self.coordinator.start_small > 0;
                app.news.proving = version >= LOCAL_TOKENS && self.proofs.is_known();
                self.woken.insert(id);
            }
            FromApp::Opened(keys) => {
                if app.flows.len() + keys.len() > MAX_FLOWS {
                    return Err(Refused);
                }
                app.flows.extend(&keys);
                // A flow that is not served waits until it hears otherwise.
                app.news.changed.extend(keys.iter().filter(|key| self.services.contains_key(key)));
                if !app.news.changed.is_empty() {
                    self.woken.insert(id);
                }
                let others = keys.iter().filter(|key| self.open.contains(key));
                let taken: Vec<(AppId, FlowKey)> =
                    others.filter_map(|key| Some((*self.owners.get(key)?, *key))).collect();
                self.open.extend(&keys);
                self.unreported.opened.extend(keys.iter().map(|key| ((*key).into(), true)));
                self.owners.extend(keys.into_iter().map(|key| (key, id)));
                for (other, key) in taken.into_iter().filter(|(other, _)| *other != id) {
                    let found = Err(OpeningError::Taken);
                    self.tell_opening(other, OpeningAnswer { key, side: Side::Sends, found });
                }
            }
            FromApp::Ended(flows) => {
                if app.flows.len() + flows.len() > MAX_FLOWS {
                    return Err(Refused);
                }
                for ended in flows {
                    // An application repeats its ends to an agent that has never heard of the
                    // flows.
                    let key = ended.key.key().ok_or(Refused)?;
                    app.flows.insert(key);
                    app.news.changed.remove(&key);
                    self.owners.insert(key, id);
                    self.open.remove(&key);
                    // If it is opened again, this is not its rate.
                    self.services.remove(&key);
                    self.openings.closed(id, key);
                    self.unreported.sent.remove(&key);
                    self.moved.extend(self.greeting.means.shapes().then_some((key, None)));
                    self.unreported.ended.push(ended);
                }
            }
            FromApp::Sent(flows) => {
                let keyed = flows.into_iter().filter_map(|sent| Some((sent.key.key()?, sent)));
                self.unreported.sent.extend(keyed.filter(|(key, _)| app.flows.contains(key)));
            }
            FromApp::Written(keys) => {
                let own = keys.into_iter().filter(|key| app.flows.contains(key));
                self.unreported.written.extend(own.map(FlowName::Key));
            }
            FromApp::Connected(flows) => {
                for Connected { key, from, to } in flows {
                    if self.owners.get(&key) == Some(&id) {
                        self.has_moved(key, Some(Ends { from, to }));
                    }
                }
            }
            FromApp::Gone(keys) => {
                for key in keys {
                    if let Some(app) = self.apps.get_mut(&id) {
                        app.flows.remove(&key);
                        app.news.changed.remove(&key);
                    }
                    self.openings.closed(id, key);
                    self.disown(id, key);
                }
            }
            FromApp::Asks(asks) => {
                app.ask(asks.len())?;
                self.with_proofs(|proofs, told| {
                    asks.into_iter().for_each(|(key, at)| proofs.ask(id, key, at, told));
                });
            }
            FromApp::Checks(checks) => {
                app.ask(checks.len())?;
                self.with_proofs(|proofs, told| {
                    checks.into_iter().for_each(|check| proofs.check(id, check, told));
                });
            }
            FromApp::Opens(openings) => {
                for opening in openings {
                    if !self.openings.opens(id, opening) {
                        self.let_pass(id, opening.key, opening.side);
                    }
                }
            }
        }
        Ok(())
    }

    /// The coordinator has answered what is registered of flows that applications have opened.
    pub fn found(&mut self, answers: &[OpeningAnswer]) {
        for &answer in answers {
            if let Some(id) = self.openings.answered(&answer) {
                self.tell_opening(id, answer);
            }
        }
    }

    /// A flow is not checked: there is no coordinator, it is too old, or too many are open.
    fn let_pass(&mut self, id: AppId, key: FlowKey, side: Side) {
        let found = Ok(FlowFacts { peer: self.greeting.port, bytes: f64::INFINITY });
        self.tell_opening(id, OpeningAnswer { key, side, found });
    }

    fn tell_opening(&mut self, id: AppId, answer: OpeningAnswer) {
        let OpeningAnswer { key, side, found } = answer;
        if let Err(why) = found {
            self.wrong.push(WrongOpening { key, side, why });
        }
        if let Some(app) = self.apps.get_mut(&id).filter(|app| app.version >= LOCAL_OPENINGS) {
            app.news.openings.push(answer);
            self.woken.insert(id);
        }
    }

    /// Takes the flows that were opened wrongly since the last call.
    pub fn take_wrong(&mut self) -> Vec<WrongOpening> {
        std::mem::take(&mut self.wrong)
    }

    /// Changes the state of proofs, and tells applications what comes of it.
    fn with_proofs(&mut self, change: impl FnOnce(&mut Proofs, &mut Vec<Told>)) {
        let mut all = Vec::new();
        change(&mut self.proofs, &mut all);
        for told in all {
            let id = match told {
                Told::Proof(id, ..) | Told::Checked(id, ..) => id,
            };
            if let Told::Checked(_, check, Some(refusal)) = told {
                self.refused.push((check, refusal));
            }
            // The application may be gone.
            let Some(app) = self.apps.get_mut(&id) else { continue };
            match told {
                Told::Proof(_, key, direction, proof) => {
                    app.news.proofs.push((key, direction, proof));
                }
                Told::Checked(_, check, refusal) => app.news.checked.push((check.number, refusal)),
            }
            self.woken.insert(id);
        }
    }

    /// The coordinator has said keys, or speaks a version without proofs.
    pub fn set_keys(&mut self, keys: Option<(FlowKeys, Mac)>) {
        let before = (self.proofs.is_known(), self.proofs.is_proving());
        self.with_proofs(|proofs, told| proofs.set_keys(keys, told));
        if (self.proofs.is_known(), self.proofs.is_proving()) != before {
            let apps = self.apps.iter_mut();
            for (id, app) in apps.filter(|(_, app)| app.greeted && app.version >= LOCAL_TOKENS) {
                app.news.proving = true;
                self.woken.insert(*id);
            }
        }
    }

    /// The coordinator has answered what it was asked of flows.
    pub fn answered(&mut self, answers: &[FlowAnswer]) {
        self.with_proofs(|proofs, told| proofs.answered(answers, told));
    }

    /// Flows whose openings nobody checks, because too many are open.
    pub fn unchecked(&self) -> u64 {
        self.openings.unchecked
    }

    /// A session with a coordinator has begun, which answers what is registered of flows or is too
    /// old for it. Applications are told by [`FlowTable::joined`].
    pub fn welcomed(&mut self, answers_openings: bool) {
        self.openings.joined(answers_openings);
    }

    /// The session with the coordinator is over. Applications are told later, if no new one begins.
    pub fn left(&mut self) {
        self.with_proofs(Proofs::left);
        for (id, key, side) in self.openings.disconnected() {
            self.let_pass(id, key, side);
        }
    }

    /// A fifth of a second has gone by.
    pub fn tick(&mut self) {
        self.with_proofs(Proofs::tick);
    }

    /// Whether the coordinator has to be asked something of flows.
    pub fn has_asks(&self) -> bool {
        self.proofs.has_asks() || self.openings.has_questions()
    }

    /// Takes the headers of flows that were refused since the last call, and why.
    pub fn take_refused(&mut self) -> Vec<(FlowCheck, ProofRefusal)> {
        std::mem::take(&mut self.refused)
    }

    /// Replaces the schedule with `flows`; every other flow must stop.
    pub fn apply(&mut self, flows: &BTreeMap<FlowName, Service>) {
        // Applications name flows by their coflows alone.
        let named = flows.iter().filter_map(|(name, service)| Some((name.key()?, *service)));
        let before = std::mem::replace(&mut self.services, named.collect());
        let gone = before.keys().filter(|key| !self.services.contains_key(key));
        let others = self.services.iter().filter(|(key, service)| before.get(key) != Some(service));
        for key in gone.chain(others.map(|(key, _)| key)) {
            let Some(id) = self.owners.get(key) else { continue };
            if let Some(app) = self.apps.get_mut(id).filter(|app| app.flows.contains(key)) {
                app.news.changed.insert(*key);
                self.woken.insert(*id);
            }
        }
    }

    /// The coordinator has come (true) or gone (false).
    pub fn joined(&mut self, joined: bool) {
        if std::mem::replace(&mut self.coordinator.joined, joined) != joined {
            self.tell_of_coordinator();
        }
    }

    /// Schedules may name this compressor, or none.
    pub fn may_compress(&mut self, codec: Option<CodecName>) {
        if std::mem::replace(&mut self.coordinator.codec, codec) != codec {
            self.tell_of_coordinator();
        }
    }

    /// Applications may send so many bytes of a coflow before a schedule mentions its flows.
    pub fn start_small(&mut self, bytes: u64) {
        if std::mem::replace(&mut self.coordinator.start_small, bytes) == bytes {
            return;
        }
        let apps = self.apps.iter_mut();
        for (id, app) in apps.filter(|(_, app)| app.greeted && app.version >= LOCAL_START_SMALL) {
            app.news.start_small = true;
            self.woken.insert(*id);
        }
    }

    fn tell_of_coordinator(&mut self) {
        for (id, app) in self.apps.iter_mut().filter(|(_, app)| app.greeted) {
            app.news.coordinator = true;
            self.woken.insert(*id);
        }
    }

    /// The ends of these flows are in the coordinator's journal. Flows that are open have been
    /// cancelled.
    pub fn acknowledged(&mut self, names: &[FlowName]) {
        for key in names.iter().filter_map(|name| name.key()) {
            if self.open.remove(&key) {
                self.unreported.sent.remove(&key);
                self.has_moved(key, None);
            }
            // A flow that was cancelled may be about to be opened.
            let owner = self.owners.remove(&key).or_else(|| self.openings.sender(key));
            let Some(id) = owner else { continue };
            if let Some(app) = self.apps.get_mut(&id) {
                app.flows.remove(&key);
                app.news.acknowledged.push(key);
                self.woken.insert(id);
            }
        }
    }

    /// Returns the applications that have had news since the last call.
    pub fn take_woken(&mut self) -> BTreeSet<AppId> {
        std::mem::take(&mut self.woken)
    }

    /// Adds to `out` what an application must be told now. Called when its connection can take it.
    pub fn take_messages(&mut self, id: AppId, out: &mut Vec<ToApp>) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.news.is_empty()) else { return };
        let News {
            welcome,
            coordinator,
            start_small,
            changed,
            acknowledged,
            proving,
            proofs,
            checked,
            openings,
        } = std::mem::take(&mut app.news);
        app.unanswered -= proofs.len() + checked.len();
        if welcome {
            let Greeting { port, means, report_every_s } = self.greeting;
            out.push(ToApp::Welcome { version: app.version, port, means, report_every_s });
        }
        if proving {
            out.push(ToApp::Proving(self.proofs.is_proving()));
        }
        // Before proofs: an application that has one knows whether its flow is opened wrongly.
        out.extend(openings.chunks(MAX_LOCAL_FLOWS).map(|some| ToApp::Openings(some.to_vec())));
        out.extend(proofs.chunks(MAX_LOCAL_FLOWS).map(|some| ToApp::Proofs(some.to_vec())));
        out.extend(checked.chunks(MAX_LOCAL_FLOWS).map(|some| ToApp::Checked(some.to_vec())));
        // Before flows hear that there is a coordinator, for which they wait.
        if start_small {
            out.push(ToApp::StartSmall(self.coordinator.start_small));
        }
        if coordinator {
            let Coordinator { joined, codec, .. } = self.coordinator;
            out.push(ToApp::Coordinator { heard: joined, codec });
        }
        let entries = changed.into_iter().map(|key| {
            let service = self.services.get(&key).copied().unwrap_or(Service::NONE);
            Entry { key: key.into(), service }
        });
        let entries: Vec<Entry> = entries.collect();
        out.extend(entries.chunks(MAX_LOCAL_FLOWS).map(|some| ToApp::Shares(some.to_vec())));
        let acknowledged = acknowledged.chunks(MAX_LOCAL_FLOWS);
        out.extend(acknowledged.map(|some| ToApp::Acknowledged(some.to_vec())));
    }

    /// Returns the connections that have changed since the last call.
    pub fn take_moved(&mut self) -> Moved {
        std::mem::take(&mut self.moved)
    }

    /// Returns what flows have done since the last call. If there still [are
    /// questions](FlowTable::has_asks), they come with the next call, after the coordinator has
    /// heard of this.
    pub fn take_progress(&mut self) -> Progress {
        let Unreported { ended, written, opened, sent } = std::mem::take(&mut self.unreported);
        let openings = self.openings.take(&ended);
        // The answers come in the order of the questions: whether a flow is opened wrongly before
        // its proof.
        let is_all = !self.openings.has_questions();
        let (refused, unproven) = self.proofs.take_counts();
        Progress {
            ended,
            written,
            opened,
            sent: sent.into_values().collect(),
            asks: if is_all { self.proofs.take_asks() } else { Vec::new() },
            openings,
            refused,
            unproven,
            ..Progress::default()
        }
    }
}

#[cfg(test)]
mod tests;
