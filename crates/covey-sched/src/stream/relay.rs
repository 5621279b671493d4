//! Information relay (Stream, §III-C): senders that serve several receivers of a coflow tell each of them what
//! the others have received.
//!
//! A receiver's ACK tells a sender what the receiver has had in all. The sender adds what it knows of its other
//! receivers to the data that it sends. So a receiver hears of a peer if one sender sends to the peer, and then to
//! the receiver.
//!
//! The simulator follows this at discrete times ([`next_look`]). At a look it marks what receivers have had. A
//! round trip later, the ACKs of flows that have sent since then have told their senders at least that, and flows
//! that have sent since then have carried it on. Without a round trip, what was sent since the previous look counts
//! as sent now. When the simulator looks follows the bytes of the whole coflow, which no host knows; what a
//! receiver is told then does not.

use covey_core::{CoflowId, FlowId, LinkId, NonClairvoyant, View};

use super::present::{FlowMemory, Present};
use super::receiver::{Input, SubCoflow};
use super::rules::Rules;

/// Between two looks the bytes of the coflow grow by at least this part, unless the earlier look could have
/// changed nothing.
const GROWTH: f64 = 1.0 / 32.0;

/// The number of bytes of the whole coflow at which relays can next change a priority, at the earliest: now
/// there are `bytes`, and the receiver that lacks fewest lacks `missing`.
pub(super) fn next_look(bytes: f64, missing: f64) -> f64 {
    bytes + missing.max(bytes * GROWTH).max(1.0)
}

/// Whether a flow has sent anything between two times: more than sums of bytes are rounded by.
pub(super) fn has_sent(before: f64, now: f64) -> bool {
    now - before > 1e-9 * now.max(1.0)
}

/// A sub-coflow, while relays are looked at.
#[derive(Debug, Clone, Copy)]
struct Peer {
    coflow: CoflowId,
    number: usize,
    name: SubCoflow,
    /// What its receiver has had in all.
    bytes: f64,
}

/// What one sender knows of a sub-coflow, by one flow.
#[derive(Debug, Clone, Copy)]
struct Line {
    sender: LinkId,
    flow: FlowId,
    /// Index among the peers.
    peer: usize,
    /// Bytes that the flow has sent, and whether it has sent any since the last mark.
    sent: f64,
    sends: bool,
    acknowledged: f64,
}

/// One sender that tells a peer what it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Telling {
    /// Index of the peer that is told.
    to: usize,
    /// The sender's lines.
    first: usize,
    end: usize,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Relay {
    peers: Vec<Peer>,
    lines: Vec<Line>,
    tellings: Vec<Telling>,
    /// What one peer hears of each other one, and the others of which it hears. Most of thousands of receivers have
    /// no sender in common: a row for each of them took 29 % of a run on a FatTree with k = 48, this takes 3 %.
    heard: Vec<f64>,
    heard_of: Vec<usize>,
}

impl Relay {
    /// Reads what has been sent of the coflows of one DAG. Calls `had` with what each receiver has had.
    pub fn read(
        &mut self,
        members: impl Iterator<Item = CoflowId>,
        coflows: &mut [Present],
        view: &View<'_, NonClairvoyant>,
        mut had: impl FnMut(&mut Present, CoflowId, usize, f64),
    ) {
        self.peers.clear();
        self.lines.clear();
        for coflow in members {
            self.read_coflow(coflow, &mut coflows[coflow.index()], view);
        }
        for peer in &self.peers {
            had(&mut coflows[peer.coflow.index()], peer.coflow, peer.number, peer.bytes);
        }
    }

    /// Marks what has been read.
    pub fn mark(&self, coflows: &mut [Present]) {
        for line in &self.lines {
            coflows[line.flow.coflow.index()].memory_of(line.flow).marked = line.sent;
        }
        for peer in &self.peers {
            coflows[peer.coflow.index()].subs_mut()[peer.number].marked = peer.bytes;
        }
    }

    /// Senders tell receivers what those had at the last mark, or what they have had by now if `latest`.
    pub fn tell(&mut self, coflows: &mut [Present], rules: &Rules, latest: bool) {
        for peer in self.peers.iter_mut().filter(|_| !latest) {
            peer.bytes = coflows[peer.coflow.index()].subs()[peer.number].marked;
        }
        for line in self.lines.iter_mut().filter(|line| line.sends) {
            line.acknowledged = self.peers[line.peer].bytes;
            let memory = &mut coflows[line.flow.coflow.index()].flows[line.flow.index as usize];
            memory.acknowledged = line.acknowledged;
        }
        self.lines.retain(|line| has_sent(0.0, line.acknowledged));
        self.lines.sort_unstable_by_key(|line| (line.sender, line.peer, line.flow.index));
        self.find_tellings(coflows, rules);
        self.heard.resize(self.heard.len().max(self.peers.len()), 0.0);
        let Relay { peers, lines, tellings, heard, heard_of } = self;
        for to_peer in tellings.chunk_by(|a, b| a.to == b.to) {
            let to = to_peer[0].to;
            hear(peers, to, to_peer.iter().map(|it| &lines[it.first..it.end]), heard, heard_of);
            let Peer { coflow, number, .. } = peers[to];
            let inputs = heard_of.drain(..).map(|of| {
                let bytes = std::mem::take(&mut heard[of]);
                Input::Relayed { peer: peers[of].name, bytes }
            });
            coflows[coflow.index()].subs_mut()[number].receiver.take_all(inputs, rules);
        }
    }

    /// Finds the senders that tell each peer anything, by peer. A receiver in the last queue needs no relays.
    fn find_tellings(&mut self, coflows: &[Present], rules: &Rules) {
        self.tellings.clear();
        let mut end = 0;
        for of_sender in self.lines.chunk_by(|a, b| a.sender == b.sender) {
            let first = end;
            end += of_sender.len();
            let listens = |line: &&Line| {
                let Peer { coflow, number, .. } = self.peers[line.peer];
                let receiver = &coflows[coflow.index()].subs()[number].receiver;
                line.sends && of_sender.len() > 1 && receiver.priority() + 1 < rules.queues()
            };
            let to = of_sender.iter().filter(listens).map(|line| line.peer);
            self.tellings.extend(to.map(|to| Telling { to, first, end }));
        }
        self.tellings.sort_unstable();
    }

    fn read_coflow(
        &mut self,
        coflow: CoflowId,
        present: &mut Present,
        view: &View<'_, NonClairvoyant>,
    ) {
        let first = self.peers.len();
        self.peers.extend((0..present.subs().len()).map(|number| {
            let name = present.name(number, view);
            Peer { coflow, number, name, bytes: 0.0 }
        }));
        let flows = (0..).map(|index| FlowId { coflow, index });
        for flow in flows.take_while(|flow| view.has(*flow)) {
            let (sender, receiver) = view.ends(flow);
            let Some(number) = present.sub_at(receiver) else { continue };
            let sent = view.sent(flow);
            let &mut FlowMemory { marked, acknowledged, .. } = present.memory_of(flow);
            let (peer, sends) = (first + number, has_sent(marked, sent));
            self.peers[peer].bytes += sent;
            self.lines.push(Line { sender, flow, peer, sent, sends, acknowledged });
        }
    }
}

/// One peer hears what senders know of the others: `heard` by peer, of all `heard_of`.
fn hear<'a>(
    peers: &[Peer],
    to: usize,
    of_senders: impl Iterator<Item = &'a [Line]>,
    heard: &mut [f64],
    heard_of: &mut Vec<usize>,
) {
    // Number of the others of which the peer has heard the latest.
    let mut complete = 0;
    for of_sender in of_senders {
        if complete + 1 >= peers.len() {
            return;
        }
        for of in of_sender.iter().filter(|of| of.peer != to) {
            let known = &mut heard[of.peer];
            if of.acknowledged > *known {
                if *known == 0.0 {
                    heard_of.push(of.peer);
                }
                *known = of.acknowledged;
                complete += usize::from(*known == peers[of.peer].bytes);
            }
        }
    }
}
