//! What has happened to flows between two looks at the connections. Without I/O.
//!
//! Each side of a connection that has sent anything is a flow, whose number is the socket's cookie.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use covey_agent::Progress;
use covey_proto::{Appearance, Ended, FlowName, Sent};

use crate::connection::Connection;

/// The IANA number of TCP.
const TCP: u8 = 6;

/// A flow that is open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// The sender's end.
    pub from: SocketAddr,
    /// The receiver's.
    pub to: SocketAddr,
    /// The inode of its socket.
    pub inode: u32,
    /// Bytes that the receiver has acknowledged.
    pub sent: u64,
    /// The most bytes a second that the kernel sent of it when it was first seen: what its program
    /// has asked for.
    pub own_pace: u64,
    /// Bytes that had been acknowledged, and microseconds for which it had been busy, when it was
    /// found idle at first.
    before: (u64, u64),
    /// When it began to send, on the caller's clock, in seconds; before that, when it was first
    /// seen.
    pub start_s: f64,
}

impl Flow {
    /// Whether it has sent nothing so far.
    fn is_new(&self) -> bool {
        self.sent == self.before.0
    }

    fn bytes(&self) -> f64 {
        (self.sent - self.before.0) as f64
    }
}

/// A flow that is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Over {
    /// What it was.
    pub flow: Flow,
    /// When it ended, on the caller's clock, in seconds.
    pub end_s: f64,
}

/// The connections at the last look.
#[derive(Debug, Default)]
pub struct Flows {
    /// For how many seconds a connection may be missing before it has ended.
    patience_s: f64,
    /// Connections that were not among those that are open, and since when.
    missing: BTreeMap<u64, f64>,
    /// By cookie.
    open: BTreeMap<u64, Flow>,
    over: Vec<Over>,
    /// Connections that have ended, by their cookies, and when: the kernel may tell of an end after
    /// it was seen.
    ended: BTreeMap<u64, f64>,
    next_forgetting_s: f64,
    /// Whether connections that are idle at the next look become flows only when they send again.
    passes_idle: bool,
}

/// For so many seconds an end that was seen is remembered. A socket may be half closed for some
/// minutes.
const REMEMBERED_S: f64 = 600.0;

/// A program that sends within so many microseconds of the beginning of a connection has asked for
/// the connection in order to send.
const SOON_US: u64 = 20_000;

/// The kernel tells of an end a little later than it stops to list the connection.
const PATIENCE_S: f64 = 0.2;

/// How long ago a flow began that has sent its first bytes, in microseconds.
fn age_us(connection: &Connection, busy_before_us: u64) -> u64 {
    // Nothing was sent at the look before: it has been busy since its first byte.
    let busy_us = connection.busy_us.saturating_sub(busy_before_us);
    let begun = connection.begun.filter(|begun| begun.established_us <= busy_us + SOON_US);
    begun.map_or(busy_us, |begun| begun.asked_us)
}

impl Flows {
    /// No connections yet. With `sees_ends`, [`Flows::look`] hears of every connection that ends,
    /// with what it has sent. With `passes_idle`, what an idle connection has sent before the first
    /// look does not count as sent by a flow.
    pub fn new(sees_ends: bool, passes_idle: bool) -> Flows {
        let patience_s = if sees_ends { PATIENCE_S } else { 0.0 };
        Flows { patience_s, passes_idle, ..Flows::default() }
    }

    /// Looks at the connections that are open at `now_s`, and at those that have ended since the
    /// last look. Returns what has happened.
    pub fn look(&mut self, open: &[Connection], ended: &[Connection], now_s: f64) -> Progress {
        let mut progress = Progress::default();
        for connection in open {
            self.see(connection, now_s, &mut progress);
            self.missing.remove(&connection.cookie);
            if connection.is_over {
                self.end(connection.cookie, now_s, &mut progress);
            }
        }
        self.passes_idle = false;
        self.end_all(ended, now_s, &mut progress);
        let still: BTreeSet<u64> = open.iter().map(|connection| connection.cookie).collect();
        let gone: Vec<u64> = self.open.keys().filter(|it| !still.contains(it)).copied().collect();
        for cookie in gone {
            if now_s - *self.missing.entry(cookie).or_insert(now_s) >= self.patience_s {
                self.end(cookie, now_s, &mut progress);
            }
        }
        if now_s >= self.next_forgetting_s {
            self.next_forgetting_s = now_s + REMEMBERED_S / 10.0;
            self.ended.retain(|_, at_s| now_s - *at_s < REMEMBERED_S);
        }
        progress
    }

    /// Looks at some of the connections that are open at `now_s`. Returns what has happened to
    /// them.
    pub fn look_at(&mut self, some: &[Connection], now_s: f64) -> Progress {
        let mut progress = Progress::default();
        some.iter().for_each(|connection| self.see(connection, now_s, &mut progress));
        progress
    }

    /// Connections have ended by `now_s`. Returns what has happened to them.
    pub fn have_ended(&mut self, ended: &[Connection], now_s: f64) -> Progress {
        let mut progress = Progress::default();
        self.end_all(ended, now_s, &mut progress);
        progress
    }

    fn end_all(&mut self, ended: &[Connection], now_s: f64, progress: &mut Progress) {
        for connection in ended {
            // A connection may be shorter than the time between two looks.
            self.see(connection, now_s, progress);
            self.end(connection.cookie, now_s, progress);
        }
    }

    /// Whether a connection has sent nothing at earlier looks.
    pub fn is_new(&self, cookie: u64) -> bool {
        self.open.get(&cookie).is_none_or(Flow::is_new)
    }

    fn see(&mut self, connection: &Connection, now_s: f64, progress: &mut Progress) {
        let &Connection { cookie, inode, local: from, remote: to, max_pace, .. } = connection;
        let sent = connection.acknowledged;
        if self.ended.contains_key(&cookie) {
            return;
        }
        let is_passed = self.passes_idle && connection.is_idle && connection.begun.is_none();
        let before = if is_passed { (sent, connection.busy_us) } else { (0, 0) };
        let (start_s, own_pace) = (now_s, max_pace);
        let new = Flow { from, to, inode, sent: before.0, own_pace, before, start_s };
        let flow = self.open.entry(cookie).or_insert(new);
        // A process may close a socket that has something to send still.
        flow.inode = inode;
        if sent <= flow.sent {
            return;
        }
        if flow.is_new() {
            let age_s = age_us(connection, flow.before.1) as f64 / 1e6;
            flow.start_s = now_s - age_s;
            let appearance = Appearance { number: cookie, protocol: TCP, from, to, age_s };
            progress.appeared.push(appearance);
        }
        flow.sent = sent;
        let bytes = flow.bytes();
        progress.sent.push(Sent { key: FlowName::Number(cookie), bytes, wire: bytes });
    }

    fn end(&mut self, cookie: u64, now_s: f64, progress: &mut Progress) {
        let Some(flow) = self.open.remove(&cookie) else { return };
        self.ended.insert(cookie, now_s);
        self.missing.remove(&cookie);
        if flow.is_new() {
            return;
        }
        let (key, bytes) = (FlowName::Number(cookie), flow.bytes());
        progress.ended.push(Ended { key, bytes, wire: bytes });
        self.over.push(Over { flow, end_s: now_s });
    }

    /// The flows that are open, by their numbers, those included that have sent nothing so far.
    pub fn open(&self) -> &BTreeMap<u64, Flow> {
        &self.open
    }

    /// Takes the flows that have ended since this was last called.
    pub fn take_over(&mut self) -> Vec<Over> {
        std::mem::take(&mut self.over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{Begun, UNPACED};

    fn connection(cookie: u64, acknowledged: u64) -> Connection {
        let end = |port: u16| SocketAddr::new([10, 0, 0, 1].into(), port);
        let (local, remote) = (end(40_000 + cookie as u16), end(9000));
        Connection {
            cookie,
            inode: 7,
            local,
            remote,
            acknowledged,
            is_over: false,
            is_idle: false,
            busy_us: 400_000,
            max_pace: UNPACED,
            begun: None,
        }
    }

    fn sent(progress: &Progress) -> Vec<(u64, f64)> {
        progress.sent.iter().map(|it| (it.key.number().unwrap(), it.bytes)).collect()
    }

    #[test]
    fn a_flow_appears_with_its_first_byte_and_ends_with_its_connection() {
        let mut flows = Flows::default();
        let quiet = flows.look(&[connection(1, 0), connection(2, 0)], &[], 0.0);
        assert_eq!(quiet, Progress::default());
        let first = flows.look(&[connection(1, 0), connection(2, 100)], &[], 0.5);
        let appeared: Vec<_> = first.appeared.iter().map(|it| (it.number, it.age_s)).collect();
        assert_eq!((appeared, sent(&first)), (vec![(2, 0.4)], vec![(2, 100.0)]));
        // Nothing new.
        let open = [connection(1, 0), connection(2, 100)];
        assert_eq!(flows.look(&open, &[], 1.0), Progress::default());
        // The kernel tells what a connection had sent when it ended.
        let last = flows.look(&[connection(1, 0)], &[connection(2, 300)], 1.5);
        assert_eq!(last.ended, [Ended { key: FlowName::Number(2), bytes: 300.0, wire: 300.0 }]);
        assert_eq!(flows.look(&[], &[], 2.0), Progress::default(), "the first never sent");
        let over = flows.take_over();
        assert_eq!(
            over.iter().map(|it| (it.flow.sent, it.end_s)).collect::<Vec<_>>(),
            [(300, 1.5)]
        );
    }

    #[test]
    fn a_connection_that_was_idle_at_first_is_a_flow_when_it_sends_again() {
        let mut flows = Flows::new(true, true);
        let idle = |acknowledged| Connection { is_idle: true, ..connection(1, acknowledged) };
        let first = flows.look(&[idle(100), connection(2, 100)], &[], 0.0);
        assert_eq!(
            (first.appeared.len(), sent(&first)),
            (1, vec![(2, 100.0)]),
            "one of them sends"
        );
        assert_eq!(flows.look(&[idle(100), connection(2, 100)], &[], 1.0), Progress::default());
        assert!(flows.is_new(1));
        let again = Connection { busy_us: 410_000, ..idle(130) };
        let later = flows.look(&[again, connection(2, 100)], &[], 2.0);
        assert_eq!((later.appeared[0].number, later.appeared[0].age_s), (1, 0.01));
        assert_eq!(sent(&later), [(1, 30.0)]);
        let last = flows.look(&[connection(2, 100)], &[idle(140)], 3.0);
        assert_eq!(last.ended, [Ended { key: FlowName::Number(1), bytes: 40.0, wire: 40.0 }]);
        // One that comes later is a flow with all that it has sent, idle or not.
        let new = flows.look(&[connection(2, 100), Connection { cookie: 3, ..idle(5) }], &[], 4.0);
        assert_eq!(sent(&new), [(3, 5.0)]);
    }

    #[test]
    fn a_flow_begins_when_its_program_asks_for_the_connection_if_it_sends_soon() {
        let age_s = |established_us: u64| {
            let begun = Some(Begun { asked_us: 900_000, established_us });
            let progress =
                Flows::default().look_at(&[Connection { begun, ..connection(1, 10) }], 1.0);
            progress.appeared[0].age_s
        };
        assert_eq!(age_s(410_000), 0.9);
        assert_eq!(age_s(400_000 - 1), 0.9);
        assert_eq!(age_s(500_000), 0.4, "it sent a tenth of a second later");
    }

    #[test]
    fn some_connections_are_looked_at_and_the_others_are_still_there() {
        let mut flows = Flows::default();
        flows.look(&[connection(1, 10), connection(2, 0)], &[], 0.0);
        assert!(flows.is_new(2) && flows.is_new(3) && !flows.is_new(1));
        let progress = flows.look_at(&[connection(2, 5)], 0.1);
        assert_eq!((progress.appeared.len(), progress.ended.len()), (1, 0));
        assert_eq!(flows.open().len(), 2);
    }

    #[test]
    fn a_connection_between_two_looks_is_a_flow_too() {
        let mut flows = Flows::default();
        let short = flows.look(&[], &[connection(3, 50)], 1.0);
        assert_eq!((short.appeared.len(), short.ended.len()), (1, 1));
        assert!(flows.open().is_empty());
    }

    #[test]
    fn an_end_that_is_told_later_has_all_bytes() {
        let mut flows = Flows::new(true, false);
        flows.look(&[connection(1, 10)], &[], 0.0);
        assert_eq!(flows.look(&[], &[], 0.1), Progress::default());
        let last = flows.look(&[], &[connection(1, 30)], 0.15);
        assert_eq!(last.ended, [Ended { key: FlowName::Number(1), bytes: 30.0, wire: 30.0 }]);
        // Nobody tells of this one.
        flows.look(&[connection(2, 10)], &[], 1.0);
        flows.look(&[], &[], 1.1);
        assert_eq!(flows.look(&[], &[], 1.4).ended.len(), 1);
    }

    #[test]
    fn an_end_that_is_told_between_two_looks_is_one_at_once() {
        let mut flows = Flows::new(true, false);
        flows.look(&[connection(1, 10), connection(2, 10)], &[], 0.0);
        let told = flows.have_ended(&[connection(1, 30)], 0.01);
        assert_eq!(told.ended, [Ended { key: FlowName::Number(1), bytes: 30.0, wire: 30.0 }]);
        // The other one is still there, although nobody has looked at it.
        assert_eq!(flows.open().len(), 1);
        assert_eq!(flows.look(&[connection(2, 10)], &[], 0.1), Progress::default());
    }

    #[test]
    fn an_end_that_was_seen_is_not_one_again() {
        let mut flows = Flows::default();
        flows.look(&[connection(1, 10)], &[], 0.0);
        assert_eq!(flows.look(&[], &[], 1.0).ended.len(), 1);
        assert_eq!(flows.look(&[], &[connection(1, 10)], 1.1), Progress::default());
        assert_eq!(flows.take_over().len(), 1);
    }

    #[test]
    fn without_news_of_ends_a_connection_that_is_missing_has_ended() {
        let mut flows = Flows::default();
        flows.look(&[connection(1, 10)], &[], 0.0);
        let last = flows.look(&[], &[], 1.0);
        assert_eq!(last.ended, [Ended { key: FlowName::Number(1), bytes: 10.0, wire: 10.0 }]);
    }
}
