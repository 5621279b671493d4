//! Information relay (Stream, §III-C): senders that serve several receivers of a coflow tell each
//! of them what the others have received.
//!
//! A receiver's ACK tells a sender what the receiver has had in all. The sender adds what it knows
//! of its other receivers to the data that it sends. So a receiver hears of a peer if one sender
//! sends to the peer, and then to the receiver.
//!
//! The simulator follows this at discrete times ([`next_look`]). At a look it marks what receivers
//! have had. A round trip later, the ACKs of flows that have sent since then have told their
//! senders at least that, and flows that have sent since then have carried it on. Without a round
//! trip, what was sent since the previous look counts as sent now. When the simulator looks follows
//! the bytes of the whole coflow, which no host knows; what a receiver is told then does not.

use covey_core::{CoflowId, FlowId, NonClairvoyant, View};
use covey_stream::{Input, Rules, SubCoflow};

use super::present::{FlowMemory, Present, Sub};

/// Between two looks the bytes of the coflow grow by at least this part, unless the earlier look
/// could have changed nothing.
const GROWTH: f64 = 1.0 / 32.0;

/// The least number of bytes of the whole coflow at which relays can next change a priority. The
/// coflow has sent `bytes`. The receiver that is nearest to its next priority lacks `missing`.
pub(super) fn next_look(bytes: f64, missing: f64) -> f64 {
    bytes + missing.max(bytes * GROWTH).max(1.0)
}

/// Whether a flow has sent anything between two times: more than sums of bytes are rounded by.
pub(super) fn has_sent(before: f64, now: f64) -> bool {
    now - before > 1e-9 * now.max(1.0)
}

/// A sub-coflow.
#[derive(Debug, Clone, Copy)]
struct Peer {
    coflow: CoflowId,
    number: u32,
    name: SubCoflow,
    /// Bytes that its receiver had in all when relays were last looked at.
    bytes: f64,
    /// The same at the last mark.
    marked: f64,
    /// The end of its lines in `Relay::lines_of`.
    end: usize,
}

/// What one sender knows of a sub-coflow, by one flow.
#[derive(Debug, Clone, Copy)]
struct Line {
    flow: FlowId,
    /// Index among the peers.
    peer: u32,
    /// Index among the senders.
    sender: u32,
    /// Bytes that the flow had sent when relays were last looked at.
    sent: f64,
    /// The same at the last mark.
    marked: f64,
    /// Bytes that its receiver had acknowledged in all when the flow last sent.
    acknowledged: f64,
}

impl Line {
    /// Whether the flow has sent anything since the last mark.
    fn sends(&self) -> bool {
        has_sent(self.marked, self.sent)
    }
}

/// What the senders of one DAG know of its sub-coflows. It is laid out for the flows that there
/// are, and again when others start or a coflow ends.
#[derive(Debug, Default)]
pub(super) struct Relay {
    /// By coflow and number.
    peers: Vec<Peer>,
    /// By sender, peer and index of the flow.
    lines: Vec<Line>,
    /// The first line of each sender, and the number of lines.
    senders: Vec<usize>,
    /// The lines of each peer, by sender.
    lines_of: Vec<u32>,
}

/// Working memory: what one peer hears of the others. It is cleared by the list of the others that
/// the peer hears of: of thousands of receivers, most have no sender in common.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    /// By peer, the most bytes that a sender has acknowledged; 0 if the peer is not heard of.
    heard: Vec<f64>,
    /// The peers that are heard of.
    heard_of: Vec<u32>,
    /// Number of the others of which it has heard the latest.
    complete: usize,
}

impl Relay {
    /// Writes what senders know into the flows of coflows that are present, before other flows come
    /// or some go.
    pub fn put_back(&mut self, coflows: &mut [Present]) {
        for &Line { flow, marked, acknowledged, .. } in &self.lines {
            let memory = coflows[flow.coflow.index()].memory_of(flow);
            *memory = FlowMemory { marked, acknowledged, ..*memory };
        }
        self.peers.clear();
        self.lines.clear();
    }

    /// Lays out the flows of the coflows of the DAG.
    fn lay_out(
        &mut self,
        members: impl Iterator<Item = CoflowId>,
        coflows: &mut [Present],
        view: &View<'_, NonClairvoyant>,
    ) {
        let Relay { peers, lines, senders, lines_of } = self;
        peers.clear();
        for coflow in members {
            let present = &mut coflows[coflow.index()];
            let first = peers.len();
            peers.extend((0..present.subs().len()).map(|number| {
                let name = present.name(number, view);
                Peer { coflow, number: number as u32, name, bytes: 0.0, marked: 0.0, end: 0 }
            }));
            let flows = (0..).map(|index| FlowId { coflow, index });
            for flow in flows.take_while(|flow| view.has(*flow)) {
                let (sender, receiver) = view.ends(flow);
                let Some(number) = present.sub_at(receiver) else { continue };
                let &mut FlowMemory { marked, acknowledged, .. } = present.memory_of(flow);
                let peer = first + number;
                peers[peer].marked += marked;
                peers[peer].end += 1;
                let (sender, peer) = (sender.0, peer as u32);
                lines.push(Line { flow, sender, peer, sent: 0.0, marked, acknowledged });
            }
        }
        lines.sort_unstable_by_key(|line| (line.sender, line.peer, line.flow.index));
        senders.clear();
        let mut last = None;
        for (k, line) in lines.iter_mut().enumerate() {
            if last.replace(line.sender) != Some(line.sender) {
                senders.push(k);
            }
            line.sender = senders.len() as u32 - 1;
        }
        senders.push(lines.len());
        let mut first = 0;
        for peer in peers.iter_mut() {
            first += std::mem::replace(&mut peer.end, first);
        }
        lines_of.resize(lines.len(), 0);
        for (k, line) in (0..).zip(&*lines) {
            let end = &mut peers[line.peer as usize].end;
            lines_of[*end] = k;
            *end += 1;
        }
    }

    /// Reads what has been sent of the coflows of the DAG, `members`, and what each receiver has
    /// had. Returns the sum, in bytes.
    pub fn read(
        &mut self,
        members: impl Iterator<Item = CoflowId>,
        coflows: &mut [Present],
        view: &View<'_, NonClairvoyant>,
    ) -> f64 {
        if self.lines.is_empty() {
            self.lay_out(members, coflows, view);
        }
        self.peers.iter_mut().for_each(|peer| peer.bytes = 0.0);
        for line in &mut self.lines {
            line.sent = view.sent(line.flow);
            self.peers[line.peer as usize].bytes += line.sent;
        }
        let mut sum = 0.0;
        for peer in &self.peers {
            coflows[peer.coflow.index()].subs_mut()[peer.number as usize].had = peer.bytes;
            sum += peer.bytes;
        }
        sum
    }

    /// Marks what has been read.
    pub fn mark(&mut self) {
        self.lines.iter_mut().for_each(|line| line.marked = line.sent);
        self.peers.iter_mut().for_each(|peer| peer.marked = peer.bytes);
    }

    /// Senders tell receivers what those had at the last mark, or what they have had by now if
    /// `latest`. Calls `told` with each receiver that has learnt something. A receiver in the last
    /// queue needs no relays.
    pub fn tell(
        &mut self,
        coflows: &mut [Present],
        rules: &Rules,
        latest: bool,
        hearing: &mut Hearing,
        mut told: impl FnMut(&mut Sub, CoflowId, usize),
    ) {
        let Relay { peers, lines, senders, lines_of } = self;
        let news = |peer: u32| {
            let Peer { bytes, marked, .. } = peers[peer as usize];
            if latest { bytes } else { marked }
        };
        for line in lines.iter_mut().filter(|line| line.sends()) {
            line.acknowledged = news(line.peer);
        }
        hearing.heard.resize(hearing.heard.len().max(peers.len()), 0.0);
        let mut first = 0;
        for (to, peer) in (0..).zip(&*peers) {
            let of_peer = &lines_of[std::mem::replace(&mut first, peer.end)..peer.end];
            let sub = &mut coflows[peer.coflow.index()].subs_mut()[peer.number as usize];
            if sub.receiver.priority() + 1 >= rules.queues() {
                continue;
            }
            for &k in of_peer {
                let line = &lines[k as usize];
                if hearing.complete + 1 >= peers.len() {
                    break;
                }
                let [from, end] = [0, 1].map(|next| senders[line.sender as usize + next]);
                if end - from > 1 && line.sends() && has_sent(0.0, line.acknowledged) {
                    hearing.hear(to, &lines[from..end], news);
                }
            }
            hearing.complete = 0;
            if !hearing.heard_of.is_empty() {
                let relayed = hearing.heard_of.drain(..).map(|of| {
                    let bytes = std::mem::take(&mut hearing.heard[of as usize]);
                    Input::Relayed { peer: peers[of as usize].name, bytes }
                });
                sub.learn(
                    [Input::Received { bytes: peer.bytes }].into_iter().chain(relayed),
                    rules,
                );
                told(sub, peer.coflow, peer.number as usize);
            }
        }
    }
}

impl Hearing {
    /// The peer `to` hears what one sender knows of the others. `news` gives the latest bytes of a
    /// peer.
    fn hear(&mut self, to: u32, of_sender: &[Line], news: impl Fn(u32) -> f64) {
        let others = of_sender.iter().filter(|line| line.peer != to);
        for of in others.filter(|line| has_sent(0.0, line.acknowledged)) {
            let known = &mut self.heard[of.peer as usize];
            if of.acknowledged > *known {
                if *known == 0.0 {
                    self.heard_of.push(of.peer);
                }
                *known = of.acknowledged;
                self.complete += usize::from(*known == news(of.peer));
            }
        }
    }
}
