//! What the applications of a host are told of a schedule, and what they tell, without I/O.
//!
//! There is no queue: what an application is told is made when its connection can take it, from what
//! is in force then. What waits is at most one word on each of its flows.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use covey_proto::{
    CodecName, Connected, Ended, Entry, FlowKey, FromApp, LOCAL_VERSION, MAX_LOCAL_FLOWS, Means,
    Sent, ToApp,
};

use crate::agent::{Progress, Share};

/// Number of an application's connection; never used again.
pub type AppId = u64;

/// The most flows that an application may have open.
const MOST_FLOWS: usize = 100_000;

/// The two ends of flows' connections; nothing for those that have gone.
pub type Moved = BTreeMap<FlowKey, Option<(SocketAddr, SocketAddr)>>;

/// The connection of an application is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// One application.
#[derive(Debug, Default)]
struct App {
    /// Whether it has said hello.
    greeted: bool,
    welcome: bool,
    /// Its flows, those that have ended and are not settled included.
    flows: BTreeSet<FlowKey>,
    /// Those of which it is to be told.
    changed: BTreeSet<FlowKey>,
    settled: Vec<FlowKey>,
    /// Whether it is to be told that the coordinator has come or gone.
    coordinator: bool,
}

impl App {
    fn has_news(&self) -> bool {
        self.welcome || self.coordinator || !self.changed.is_empty() || !self.settled.is_empty()
    }
}

/// All of them.
#[derive(Debug)]
pub struct Board {
    port: u32,
    means: Means,
    report_every_s: f64,
    shares: BTreeMap<FlowKey, Share>,
    joined: bool,
    /// What the coordinator may have flows compressed with.
    codec: Option<CodecName>,
    apps: BTreeMap<AppId, App>,
    /// Whose each open flow is.
    owners: BTreeMap<FlowKey, AppId>,
    ended: Vec<Ended>,
    written: Vec<FlowKey>,
    /// Flows that are open, and what has been opened or closed since this was last asked.
    open: BTreeSet<FlowKey>,
    opened: Vec<(FlowKey, bool)>,
    /// Flows that go somewhere, or nowhere any more, since this was last asked.
    moved: Moved,
    sent: BTreeMap<FlowKey, Sent>,
    /// Applications that have news since this was last asked.
    woken: BTreeSet<AppId>,
}

impl Board {
    /// Nobody has come. Applications are to carry schedules out by `means`, and to say every
    /// `report_every_s` seconds what they have sent.
    pub fn new(port: u32, means: Means, report_every_s: f64) -> Board {
        Board {
            port,
            means,
            report_every_s,
            shares: BTreeMap::new(),
            joined: false,
            codec: None,
            apps: BTreeMap::new(),
            owners: BTreeMap::new(),
            ended: Vec::new(),
            written: Vec::new(),
            open: BTreeSet::new(),
            opened: Vec::new(),
            moved: Moved::new(),
            sent: BTreeMap::new(),
            woken: BTreeSet::new(),
        }
    }

    /// An application has connected.
    pub fn connected(&mut self, id: AppId) {
        self.apps.insert(id, App::default());
    }

    /// An application has gone; so have its flows.
    pub fn closed(&mut self, id: AppId) {
        self.woken.remove(&id);
        for key in self.apps.remove(&id).unwrap_or_default().flows {
            self.disown(id, key);
        }
    }

    fn disown(&mut self, id: AppId, key: FlowKey) {
        // Another may have opened it since.
        if self.owners.get(&key) == Some(&id) {
            self.owners.remove(&key);
            self.sent.remove(&key);
            if self.open.remove(&key) {
                self.opened.push((key, false));
            }
            self.has_moved(key, None);
        }
    }

    fn has_moved(&mut self, key: FlowKey, ends: Option<(SocketAddr, SocketAddr)>) {
        // Who does not shape does not ask.
        if self.means.shapes() {
            self.moved.insert(key, ends);
        }
    }

    /// An application has said something.
    ///
    /// # Errors
    /// When its connection is to be closed.
    pub fn heard(&mut self, id: AppId, message: FromApp) -> Result<(), Refused> {
        let app = self.apps.get_mut(&id).ok_or(Refused)?;
        let is_hello = matches!(message, FromApp::Hello(_));
        if is_hello == app.greeted {
            return Err(Refused);
        }
        match message {
            FromApp::Hello(version) if version != LOCAL_VERSION => return Err(Refused),
            FromApp::Hello(_) => {
                (app.greeted, app.welcome, app.coordinator) = (true, true, true);
                self.woken.insert(id);
            }
            FromApp::Opened(keys) => {
                if app.flows.len() + keys.len() > MOST_FLOWS {
                    return Err(Refused);
                }
                app.flows.extend(&keys);
                // Of those that wait there is nothing to say.
                app.changed.extend(keys.iter().filter(|key| self.shares.contains_key(key)));
                if !app.changed.is_empty() {
                    self.woken.insert(id);
                }
                self.open.extend(&keys);
                self.opened.extend(keys.iter().map(|key| (*key, true)));
                self.owners.extend(keys.into_iter().map(|key| (key, id)));
            }
            FromApp::Ended(flows) => {
                if app.flows.len() + flows.len() > MOST_FLOWS {
                    return Err(Refused);
                }
                for ended in flows {
                    // It may be said again to an agent that has never heard of the flow.
                    app.flows.insert(ended.key);
                    app.changed.remove(&ended.key);
                    self.owners.insert(ended.key, id);
                    self.open.remove(&ended.key);
                    self.sent.remove(&ended.key);
                    self.moved.extend(self.means.shapes().then_some((ended.key, None)));
                    self.ended.push(ended);
                }
            }
            FromApp::Sent(flows) => {
                let own = flows.into_iter().filter(|sent| app.flows.contains(&sent.key));
                self.sent.extend(own.map(|sent| (sent.key, sent)));
            }
            FromApp::Written(keys) => {
                self.written.extend(keys.iter().filter(|key| app.flows.contains(key)));
            }
            FromApp::Connected(flows) => {
                for Connected { key, from, to } in flows {
                    if self.owners.get(&key) == Some(&id) {
                        self.has_moved(key, Some((from, to)));
                    }
                }
            }
            FromApp::Gone(keys) => {
                for key in keys {
                    if let Some(app) = self.apps.get_mut(&id) {
                        app.flows.remove(&key);
                        app.changed.remove(&key);
                    }
                    self.disown(id, key);
                }
            }
        }
        Ok(())
    }

    /// These flows are to be served so from now on, and no others.
    pub fn apply(&mut self, flows: &BTreeMap<FlowKey, Share>) {
        let before = std::mem::replace(&mut self.shares, flows.clone());
        let gone = before.keys().filter(|key| !self.shares.contains_key(key));
        let others = self.shares.iter().filter(|(key, share)| before.get(key) != Some(share));
        for key in gone.chain(others.map(|(key, _)| key)) {
            let Some(id) = self.owners.get(key) else { continue };
            if let Some(app) = self.apps.get_mut(id).filter(|app| app.flows.contains(key)) {
                app.changed.insert(*key);
                self.woken.insert(*id);
            }
        }
    }

    /// The coordinator has come or gone.
    pub fn joined(&mut self, joined: bool) {
        if std::mem::replace(&mut self.joined, joined) != joined {
            self.tell_of_coordinator();
        }
    }

    /// What the coordinator may have flows compressed with, if with anything.
    pub fn may_compress(&mut self, codec: Option<CodecName>) {
        if std::mem::replace(&mut self.codec, codec) != codec {
            self.tell_of_coordinator();
        }
    }

    fn tell_of_coordinator(&mut self) {
        for (id, app) in self.apps.iter_mut().filter(|(_, app)| app.greeted) {
            app.coordinator = true;
            self.woken.insert(*id);
        }
    }

    /// The ends of these flows are in the coordinator's journal.
    pub fn settled(&mut self, keys: &[FlowKey]) {
        for key in keys {
            let Some(id) = self.owners.remove(key) else { continue };
            if let Some(app) = self.apps.get_mut(&id) {
                app.flows.remove(key);
                app.settled.push(*key);
                self.woken.insert(id);
            }
        }
    }

    /// Applications that have news since this was last asked.
    pub fn take_woken(&mut self) -> BTreeSet<AppId> {
        std::mem::take(&mut self.woken)
    }

    /// What an application is to be told now. To be asked for when its connection can take it.
    pub fn take_messages(&mut self, id: AppId, out: &mut Vec<ToApp>) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| app.has_news()) else { return };
        if std::mem::take(&mut app.welcome) {
            out.push(ToApp::Welcome {
                version: LOCAL_VERSION,
                port: self.port,
                means: self.means,
                report_every_s: self.report_every_s,
            });
        }
        if std::mem::take(&mut app.coordinator) {
            out.push(ToApp::Coordinator { heard: self.joined, codec: self.codec });
        }
        let shares = &self.shares;
        let entries = std::mem::take(&mut app.changed).into_iter().map(|key| {
            let waits = Share { layer: 0, rate: 0.0, codec: None };
            let Share { layer, rate, codec } = shares.get(&key).copied().unwrap_or(waits);
            Entry { key, layer, rate, codec }
        });
        let entries: Vec<Entry> = entries.collect();
        out.extend(entries.chunks(MAX_LOCAL_FLOWS).map(|some| ToApp::Shares(some.to_vec())));
        let settled = std::mem::take(&mut app.settled);
        out.extend(settled.chunks(MAX_LOCAL_FLOWS).map(|some| ToApp::Acknowledged(some.to_vec())));
    }

    /// Where flows go of which that has changed since this was last asked.
    pub fn take_moved(&mut self) -> Moved {
        std::mem::take(&mut self.moved)
    }

    /// What flows have done since this was last asked.
    pub fn take_progress(&mut self) -> Progress {
        let sent = std::mem::take(&mut self.sent).into_iter();
        Progress {
            ended: std::mem::take(&mut self.ended),
            written: std::mem::take(&mut self.written),
            opened: std::mem::take(&mut self.opened),
            sent: sent.map(|(_, sent)| sent).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FlowKey = FlowKey { coflow: 1, flow: 0 };
    const B: FlowKey = FlowKey { coflow: 1, flow: 1 };

    fn board_with(ids: &[AppId]) -> Board {
        let mut board = Board::new(3, Means::Pacing, 0.5);
        for &id in ids {
            board.connected(id);
            board.heard(id, FromApp::Hello(LOCAL_VERSION)).expect("the first message");
            told(&mut board, id);
        }
        board
    }

    #[test]
    fn a_host_that_shapes_hears_where_flows_go() {
        let at = |text: &str| text.parse().expect("an address");
        let (from, to) = (at("10.0.0.1:5001"), at("10.0.0.2:9000"));
        let connected = |key| FromApp::Connected(vec![Connected { key, from, to }]);
        for (means, hears) in [(Means::Shaping, true), (Means::Pacing, false)] {
            let mut board = board_with(&[1, 2]);
            board.means = means;
            board.heard(1, FromApp::Opened(vec![A, B])).expect("known");
            board.heard(1, connected(A)).expect("known");
            board.heard(1, connected(B)).expect("known");
            // It is another's.
            board.heard(2, connected(A)).expect("known");
            let both = Moved::from([(A, Some((from, to))), (B, Some((from, to)))]);
            assert_eq!(board.take_moved(), if hears { both } else { Moved::new() });
            assert_eq!(board.take_moved(), Moved::new());
            board
                .heard(1, FromApp::Ended(vec![Ended { key: A, bytes: 1.0, wire: 1.0 }]))
                .expect("known");
            board.closed(1);
            let gone = Moved::from([(A, None), (B, None)]);
            assert_eq!(board.take_moved(), if hears { gone } else { Moved::new() });
        }
    }

    fn told(board: &mut Board, id: AppId) -> Vec<ToApp> {
        let mut out = Vec::new();
        board.take_messages(id, &mut out);
        out
    }

    fn shares(of: &[(FlowKey, f64)]) -> BTreeMap<FlowKey, Share> {
        of.iter().map(|&(key, rate)| (key, Share { layer: 0, rate, codec: None })).collect()
    }

    fn said(of: &[(FlowKey, f64)]) -> ToApp {
        let entry = |&(key, rate): &(FlowKey, f64)| Entry { key, layer: 0, rate, codec: None };
        ToApp::Shares(of.iter().map(entry).collect())
    }

    #[test]
    fn only_the_latest_is_told_and_only_of_own_flows() {
        let mut board = board_with(&[1, 2]);
        board.heard(1, FromApp::Opened(vec![A])).expect("known");
        board.heard(2, FromApp::Opened(vec![B])).expect("known");
        assert_eq!(told(&mut board, 1), []);
        for rate in [1.0, 2.0, 3.0] {
            board.apply(&shares(&[(A, rate), (B, 7.0)]));
        }
        assert_eq!(board.take_woken(), BTreeSet::from([1, 2]));
        assert_eq!(told(&mut board, 1), [said(&[(A, 3.0)])]);
        assert_eq!(told(&mut board, 2), [said(&[(B, 7.0)])]);
        // Nothing is said of what has not changed; a flow that is served no more waits.
        board.apply(&shares(&[(B, 7.0)]));
        assert_eq!(board.take_woken(), BTreeSet::from([1]));
        assert_eq!(told(&mut board, 1), [said(&[(A, 0.0)])]);
        assert_eq!(told(&mut board, 2), []);
    }

    #[test]
    fn a_schedule_that_came_before_the_flow_counts() {
        let mut board = board_with(&[1]);
        board.apply(&shares(&[(A, 5.0)]));
        board.heard(1, FromApp::Opened(vec![A, B])).expect("known");
        assert_eq!(told(&mut board, 1), [said(&[(A, 5.0)])]);
    }

    #[test]
    fn ends_and_reports_are_passed_on_once() {
        let mut board = board_with(&[1]);
        board.heard(1, FromApp::Opened(vec![A, B])).expect("known");
        let sent = |key, bytes| Sent { key, bytes, wire: bytes };
        board.heard(1, FromApp::Sent(vec![sent(A, 1.0), sent(B, 2.0)])).expect("known");
        board.heard(1, FromApp::Sent(vec![sent(B, 3.0)])).expect("known");
        let ended = Ended { key: A, bytes: 9.0, wire: 4.0 };
        board.heard(1, FromApp::Ended(vec![ended])).expect("known");
        let opened = vec![(A, true), (B, true)];
        let (ends, sends) = (vec![ended], vec![sent(B, 3.0)]);
        let progress = Progress { ended: ends, sent: sends, opened, ..Progress::default() };
        assert_eq!(board.take_progress(), progress);
        assert_eq!(board.take_progress(), Progress::default());
        board.settled(&[A]);
        assert_eq!(told(&mut board, 1), [ToApp::Acknowledged(vec![A])]);
    }

    #[test]
    fn flows_go_with_their_application_unless_another_has_them() {
        let mut board = board_with(&[1, 2]);
        board.heard(1, FromApp::Opened(vec![A, B])).expect("known");
        board.heard(2, FromApp::Opened(vec![A])).expect("known");
        let opened = vec![(A, true), (B, true), (A, true)];
        assert_eq!(board.take_progress().opened, opened);
        board.closed(1);
        assert_eq!(board.take_progress().opened, [(B, false)]);
        board.apply(&shares(&[(A, 1.0), (B, 1.0)]));
        assert_eq!(board.take_woken(), BTreeSet::from([2]));
        board.heard(2, FromApp::Gone(vec![A])).expect("known");
        assert_eq!(board.take_progress().opened, [(A, false)]);
        board.apply(&shares(&[]));
        assert_eq!(told(&mut board, 2), []);
        assert_eq!(board.heard(1, FromApp::Opened(vec![A])), Err(Refused));
    }

    #[test]
    fn who_is_rude_is_refused() {
        let mut board = board_with(&[1]);
        board.connected(2);
        assert_eq!(board.heard(2, FromApp::Opened(vec![A])), Err(Refused));
        assert_eq!(board.heard(2, FromApp::Hello(LOCAL_VERSION + 1)), Err(Refused));
        assert_eq!(board.heard(1, FromApp::Hello(LOCAL_VERSION)), Err(Refused));
        let many = |from: u64| (from..from + 60_000).map(|coflow| FlowKey { coflow, flow: 0 });
        board.heard(1, FromApp::Opened(many(0).collect())).expect("room for these");
        assert_eq!(board.heard(1, FromApp::Opened(many(60_000).collect())), Err(Refused));
    }
}
