//! From observed flows, in order of time, to points that can be compared.
//!
//! # Services and bursts
//! Applications that shuffle data listen at a *service*, an address with a port: a Spark executor,
//! the shuffle handler of a Hadoop node, a rank of a training job. The other end of a flow is its
//! *peer*, with a port that the kernel chose. Which end is the service is decided when the flow
//! starts:
//! 1. if the port of exactly one end is below 32,768, where kernels do not choose ports, that end;
//! 2. otherwise the end that has had more peers, one after another;
//! 3. otherwise the sender.
//!
//! Successive flows of a service whose gaps are at most [`Observer::gap_s`] make a *burst*. The
//! services of one coflow have the same peers in their bursts, as each sender of a shuffle sends to
//! each receiver. So the overlap of peers tells coflows apart that start together on shared hosts
//! (the "overlap of sender addresses" of CODA's attributes). Peers are kept as sketches of 128
//! bytes.
//!
//! # The time scale
//! No time is given in advance. The gaps of all services are of two classes, within bursts and
//! between them, and `gap_s` is the threshold between the two. Until 64 gaps are known it is 0.1 s.

use std::collections::VecDeque;

use crate::attributes::{ATTRIBUTES, Differences};
use crate::gap_scale::{GapScale, MIN_GAPS};
use crate::hash::{HashMap, hash};
use crate::sketch::Sketch;
use covey_core::{Address, Observed};

/// The time that separates bursts, in seconds, until it is known.
const FIRST_GAP_S: f64 = 0.1;
/// Ports from here on are chosen by kernels.
const FIRST_EPHEMERAL: u16 = 32_768;
/// Gaps between two estimates of the time that separates bursts. The first ones come with
/// [`MIN_GAPS`], and whenever their number has doubled.
const GAPS_PER_ESTIMATE: u32 = 4_096;
/// Estimates after which earlier gaps count half.
const ESTIMATES_PER_HALVING: u32 = 16;
/// An estimate replaces the one in force if it differs by more than this factor.
const NEWS: f64 = 1.15;
/// An end with so many peers, one after another, is a service; the other end is not remembered.
const CERTAIN: u32 = 4;
/// Ends that are remembered in each of two generations.
const REMEMBERED: usize = 65_536;

/// A flow as [`Observer::differences`] compares it, or a leader with the starts of its followers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Start, in seconds; of a leader, the first start.
    pub start_s: f64,
    /// Of a leader, the last start; otherwise the same.
    pub(crate) last_start_s: f64,
    src: Address,
    dst: Address,
    /// Where the service is.
    server: Address,
    service_port: u16,
    protocol: u8,
    community: Option<u64>,
    /// Slot of the burst.
    burst: u32,
}

impl Point {
    /// The slot of the flow's burst: below the number of bursts that were ever alive together.
    pub(crate) fn burst(&self) -> usize {
        self.burst as usize
    }
}

/// One end of flows, as a service.
#[derive(Debug, Clone, Copy)]
struct Service {
    host: Address,
    port: u16,
    side: Side,
    /// A hash of the three, which stands for them: of a million ends two collide with odds of one
    /// in 10^7.
    key: u64,
}

impl Service {
    fn new(host: Address, port: u16, side: Side) -> Service {
        let word = host.bits().rotate_left(32) ^ u128::from(port) ^ u128::from(side as u8) << 20;
        Service { host, port, side, key: hash(word) }
    }
}

/// The side on which an end is. Without ports, sending and receiving are different services of a
/// host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Sender,
    Receiver,
}

/// What is remembered of an end.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Hash of the last peer.
    last_peer: u64,
    /// How often the peer was another than the one before.
    peers: u32,
    /// The latest start of a flow of which this end was the service, in seconds.
    last_start_s: f64,
    /// The latest burst.
    burst: BurstLink,
}

/// A burst: its slot, and the life of the slot. It leads nowhere when the slot has another life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BurstLink {
    slot: u32,
    life: u32,
}

impl BurstLink {
    const NONE: BurstLink = BurstLink { slot: u32::MAX, life: 0 };
}

/// Flows of one service with small gaps.
#[derive(Debug, Clone)]
struct Burst {
    peers: Sketch,
    /// Flows that have not ended.
    flows: u32,
    /// The first and the last start of a flow, in seconds.
    first_start_s: f64,
    last_start_s: f64,
    /// The burst of the same service before it.
    before: BurstLink,
    /// Grows when the slot is used again.
    life: u32,
    /// Whether the slot is in the queue of those that may be free soon.
    is_queued: bool,
}

/// Turns flows into points, and compares these.
///
/// Memory is bounded: a burst is forgotten when its flows have ended and its time is over, and an
/// end when 65,536 other services have been seen since. Flows should come in order of their starts.
/// A flow that comes late joins the burst of its service in whose time it started, as far as the
/// bursts since then are remembered.
#[derive(Debug, Clone)]
pub struct Observer {
    recent: HashMap<u64, Seen>,
    older: HashMap<u64, Seen>,
    bursts: Vec<Burst>,
    /// Filled bins of each burst's sketch; apart from the rest, because most comparisons end here.
    filled: Vec<u16>,
    free: Vec<u32>,
    /// Bursts without flows, in order of their last end.
    ended: VecDeque<u32>,
    gaps: GapScale,
    /// Gaps since the last estimate, and estimates since the last halving.
    since: [u32; 2],
    gap_s: f64,
}

impl Default for Observer {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer {
    /// An observer that has seen nothing.
    pub fn new() -> Observer {
        Observer {
            recent: HashMap::default(),
            older: HashMap::default(),
            bursts: Vec::new(),
            filled: Vec::new(),
            free: Vec::new(),
            ended: VecDeque::new(),
            gaps: GapScale::new(),
            since: [0; 2],
            gap_s: FIRST_GAP_S,
        }
    }

    /// The time that separates bursts, in seconds.
    pub fn gap_s(&self) -> f64 {
        self.gap_s
    }

    /// How far the starts seen so far tell groups apart, from 0 to 1. A gap between successive
    /// flows of a service is in doubt if it is from half of [`Observer::gap_s`] to twice as long.
    /// The confidence is n / (n + doubtful), where n is the number of shorter gaps or that of
    /// longer ones, whichever is less. Near 1 bursts are short and far apart; near 0 gaps of all
    /// lengths occur, and whether two flows are in one burst is a matter of chance.
    pub fn confidence(&self) -> f64 {
        self.gaps.clearness(self.gap_s)
    }

    /// Sees a flow in a first pass over recorded flows, so that services and the time scale are
    /// known before the second pass makes points.
    pub(crate) fn preview(&mut self, flow: &Observed) {
        let service = self.service(flow);
        let seen = self.seen(service);
        let gap_s = (flow.start_s - seen.last_start_s).abs();
        seen.last_start_s = flow.start_s;
        if gap_s.is_finite() {
            self.gaps.add(gap_s);
        }
    }

    /// Ends the first pass.
    pub(crate) fn finish_preview(&mut self) {
        self.gap_s = self.gaps.threshold_s().unwrap_or(FIRST_GAP_S);
        self.since = [0; 2];
        for seen in self.recent.values_mut().chain(self.older.values_mut()) {
            seen.last_start_s = f64::NEG_INFINITY;
        }
    }

    /// A flow starts. Also returns whether the peers of its burst, as sketched, have changed.
    pub(crate) fn start(&mut self, flow: &Observed) -> (Point, bool) {
        self.free_bursts(flow.start_s);
        let service = self.service(flow);
        let Seen { last_start_s, burst: latest, .. } = *self.seen(service);
        let (found, between) = self.find_burst(latest, flow.start_s);
        let gap_s = (flow.start_s - last_start_s).abs();
        let is_late = between.is_some() || found.is_some_and(|slot| slot != latest.slot);
        if gap_s.is_finite() && !is_late {
            self.learn_gap(gap_s);
        }
        let slot = found.unwrap_or_else(|| self.open_burst(between, latest));
        let burst = &mut self.bursts[slot as usize];
        burst.flows += 1;
        burst.first_start_s = flow.start_s.min(burst.first_start_s);
        burst.last_start_s = flow.start_s.max(burst.last_start_s);
        let link = BurstLink { slot, life: burst.life };
        let peer = if service.side == Side::Sender { flow.dst } else { flow.src };
        let news = burst.peers.insert(hash(peer.bits()));
        self.filled[slot as usize] = burst.peers.filled();
        if !is_late {
            let seen = self.seen(service);
            seen.burst = link;
            seen.last_start_s = flow.start_s.max(seen.last_start_s);
        }
        let point = Point {
            start_s: flow.start_s,
            last_start_s: flow.start_s,
            src: flow.src,
            dst: flow.dst,
            server: service.host,
            service_port: service.port,
            protocol: flow.protocol,
            community: flow.community,
            burst: slot,
        };
        (point, news)
    }

    /// A flow ends.
    pub(crate) fn end(&mut self, point: &Point) {
        let burst = &mut self.bursts[point.burst()];
        burst.flows -= 1;
        if burst.flows == 0 && !burst.is_queued {
            burst.is_queued = true;
            self.ended.push_back(point.burst);
        }
    }

    /// The differences of two flows that have not ended.
    pub fn differences(&self, x: &Point, y: &Point) -> Differences {
        let differ = |differ: bool| f64::from(u8::from(differ));
        let other_port = x.service_port != y.service_port;
        let peers = if x.burst == y.burst {
            0.0
        } else {
            1.0 - self.bursts[x.burst()].peers.overlap(&self.bursts[y.burst()].peers)
        };
        let between_s = x.start_s.max(y.start_s) - x.last_start_s.min(y.last_start_s);
        let differences: [f64; ATTRIBUTES] = [
            between_s.max(0.0) / self.gap_s,
            differ(x.protocol != y.protocol),
            differ(x.community.is_some() && y.community.is_some() && x.community != y.community),
            0.5 * differ(x.src != y.src) + 0.5 * differ(x.dst != y.dst),
            differ(other_port),
            differ(other_port && x.server == y.server),
            peers,
        ];
        differences
    }

    /// At least so many of the peers of two bursts differ, as a share: where one sketch has fewer
    /// filled bins than the other, these are all that can agree. Quick, and never more than the
    /// difference itself.
    pub(crate) fn least_peer_difference(&self, x: usize, y: usize) -> f64 {
        let [a, b] = [self.filled[x], self.filled[y]].map(f64::from);
        if x == y { 0.0 } else { 1.0 - a.min(b) / a.max(b) }
    }

    /// The end of a flow that is its service. Remembers that end, and the other while it may be one
    /// too.
    fn service(&mut self, flow: &Observed) -> Service {
        // Two generations bound the memory.
        if self.recent.len() + 2 > REMEMBERED {
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
        }
        let sender = Service::new(flow.src, flow.sport, Side::Sender);
        let receiver = Service::new(flow.dst, flow.dport, Side::Receiver);
        let [to, from] = [flow.dst, flow.src].map(|peer| hash(peer.bits()));
        let is_ephemeral = |port: u16| port == 0 || port >= FIRST_EPHEMERAL;
        let is_known = is_ephemeral(flow.sport) != is_ephemeral(flow.dport);
        if is_known || flow.sport == 0 || flow.dport == 0 {
            let receiver_serves = is_known && is_ephemeral(flow.sport);
            let (service, peer) = if receiver_serves { (receiver, from) } else { (sender, to) };
            self.remember(service, peer);
            return service;
        }
        let [sends, receives] = [(sender, to), (receiver, from)].map(|(end, peer)| {
            let seen = self.recall(end);
            seen.map_or(1, |seen| seen.peers + u32::from(seen.last_peer != peer))
        });
        let receiver_serves = receives > sends;
        if !receiver_serves || receives < CERTAIN || self.recall(sender).is_some() {
            self.remember(sender, to);
        }
        if receiver_serves || sends < CERTAIN || self.recall(receiver).is_some() {
            self.remember(receiver, from);
        }
        if receiver_serves { receiver } else { sender }
    }

    fn recall(&self, end: Service) -> Option<&Seen> {
        self.recent.get(&end.key).or_else(|| self.older.get(&end.key))
    }

    /// Remembers a flow with `peer` at an end.
    fn remember(&mut self, end: Service, peer: u64) {
        let unknown = Seen {
            last_peer: peer,
            peers: 1,
            last_start_s: f64::NEG_INFINITY,
            burst: BurstLink::NONE,
        };
        let older = &self.older;
        let seen = (self.recent.entry(end.key))
            .or_insert_with(|| older.get(&end.key).copied().unwrap_or(unknown));
        if seen.last_peer != peer {
            seen.last_peer = peer;
            seen.peers = seen.peers.saturating_add(1);
        }
    }

    /// What is known of a service that was just remembered.
    fn seen(&mut self, service: Service) -> &mut Seen {
        self.recent.get_mut(&service.key).expect("the service was just remembered")
    }

    /// Counts a gap, and estimates the time between bursts from time to time.
    fn learn_gap(&mut self, gap_s: f64) {
        self.gaps.add(gap_s);
        self.since[0] += 1;
        let [gaps, estimates] = self.since;
        let is_early = estimates == 0 && gaps >= MIN_GAPS && gaps.is_power_of_two();
        if gaps < GAPS_PER_ESTIMATE && !is_early {
            return;
        }
        if gaps == GAPS_PER_ESTIMATE {
            self.since = [0, estimates + 1];
        }
        if let Some(gap_s) = self.gaps.threshold_s()
            && !(self.gap_s / NEWS..=self.gap_s * NEWS).contains(&gap_s)
        {
            self.gap_s = gap_s;
        }
        if self.since[1] >= ESTIMATES_PER_HALVING {
            self.gaps.halve();
            self.since[1] = 1;
        }
    }

    fn burst(&self, link: BurstLink) -> Option<&Burst> {
        self.bursts.get(link.slot as usize).filter(|burst| burst.life == link.life)
    }

    /// The burst of a service in whose time a flow starts, from the latest burst back. If there is
    /// none and a later burst is known, also the place of a new one: the burst after it.
    fn find_burst(&self, latest: BurstLink, start_s: f64) -> (Option<u32>, Option<u32>) {
        let (mut at, mut after) = (latest, None);
        while let Some(burst) = self.burst(at) {
            if start_s > burst.last_start_s + self.gap_s {
                break;
            }
            if start_s >= burst.first_start_s - self.gap_s {
                return (Some(at.slot), None);
            }
            (at, after) = (burst.before, Some(at.slot));
        }
        (None, after)
    }

    /// Opens a burst of a service: before another one, or after the latest.
    fn open_burst(&mut self, next: Option<u32>, latest: BurstLink) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.bursts.push(Burst {
                peers: Sketch::new(),
                flows: 0,
                first_start_s: f64::INFINITY,
                last_start_s: f64::NEG_INFINITY,
                before: BurstLink::NONE,
                life: 0,
                is_queued: false,
            });
            self.filled.push(0);
            self.bursts.len() as u32 - 1
        });
        let link = BurstLink { slot, life: self.bursts[slot as usize].life };
        self.bursts[slot as usize].before = match next {
            Some(next) => std::mem::replace(&mut self.bursts[next as usize].before, link),
            None => latest,
        };
        slot
    }

    /// Forgets bursts whose flows have ended, when no flow can join them any more.
    fn free_bursts(&mut self, now_s: f64) {
        while let Some(&slot) = self.ended.front() {
            let burst = &mut self.bursts[slot as usize];
            if burst.flows == 0 && burst.last_start_s + self.gap_s >= now_s {
                return;
            }
            burst.is_queued = false;
            self.ended.pop_front();
            if burst.flows == 0 {
                burst.life += 1;
                burst.peers = Sketch::new();
                (burst.first_start_s, burst.last_start_s) = (f64::INFINITY, f64::NEG_INFINITY);
                self.free.push(slot);
            }
        }
    }
}
