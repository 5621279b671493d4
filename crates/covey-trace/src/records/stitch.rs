//! Records of one flow are put together.
//!
//! Exporters cut a long flow into records, export counters of one start again and again, and
//! several of them record the same flow. Hosts at both ends of a connection do, too. A flow is
//! known by its five-tuple:
//!
//! ```text
//!   records of a five-tuple ── continues ──▶ tracks ── overlap ──▶ flows
//! ```
//!
//! A *track* is what one exporter recorded of one flow. A record continues a track if it begins
//! where the track ends, or if it has the track's start and a later end. What it counts is added.
//! Tracks that overlap in time are the same flow seen again, because a five-tuple has one
//! connection at a time: the one with most bytes counts. So do tracks of two exporters that start
//! and end within a second of each other.
//!
//! This takes 16 bytes a record beside the records, and looks at no more than [`MOST_OPEN`] tracks
//! for each.

use std::collections::BTreeMap;

use covey_identify::Observed;

use super::connection::{Counters, Opened};
use super::fields::has_ports;
use super::record::{Hidden, Put, Together};

/// Tracks of one five-tuple that a record may continue.
const MOST_OPEN: usize = 16;
/// Seconds by which the clocks of an exporter's records differ: version 9 of NetFlow has whole
/// seconds.
const CLOCK_S: f64 = 1.0;
/// Part of a record by which the next one may begin too early.
const EARLY: f64 = 0.1;
/// A record is cut if it lasts at least this part of the longest one.
const CUT: f64 = 0.9;
/// Seconds that the longest record lasts if an active timeout cuts flows.
const LEAST_TIMEOUT_S: f64 = 10.0;

/// Which records of one five-tuple are put together as one flow: those that an exporter's active
/// timeout cut.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Stitch {
    /// Those that the records show to be cut, with gaps of up to [`Stitch::GAP_S`].
    #[default]
    WhereShown,
    /// All with gaps of up to this many seconds.
    UpTo(f64),
    /// None.
    Off,
}

impl Stitch {
    /// The longest gap, in seconds, of flows that are put together because the records show that
    /// they were cut.
    pub const GAP_S: f64 = 5.0;

    /// The longest gap in seconds; nothing if no records are put together.
    pub fn gap_s(self) -> Option<f64> {
        match self {
            Stitch::WhereShown => Some(Stitch::GAP_S),
            Stitch::UpTo(gap_s) => Some(gap_s),
            Stitch::Off => None,
        }
    }
}

/// What is known of a record beside its flow, while records are put together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// The end, or the last time at which the flow was seen; NaN if unknown.
    pub until_s: f64,
    /// The number of the exporter; 0 if unknown.
    pub exporter: u32,
    pub opened: Opened,
    pub counters: Counters,
}

/// Records in order of start, as arrays of one length.
pub(super) struct Pieces {
    pub flows: Vec<Observed>,
    pub hidden: Vec<Hidden>,
    pub pieces: Vec<Piece>,
}

/// How a record continues a track.
#[derive(Clone, Copy, PartialEq)]
enum Continues {
    /// It begins where the track ends.
    Cut,
    /// It has the track's start: its counters are the change since.
    Delta,
}

/// What one exporter recorded of one flow.
struct Track {
    /// The place of its first record.
    first: usize,
    exporter: u32,
    start_s: f64,
    /// The end, or the last time at which it was seen; NaN if unknown.
    until_s: f64,
    /// The start of the last record.
    last_start_s: f64,
    hidden: Hidden,
    /// Records, and of them those that were cut and those that are deltas.
    records: u64,
    cut: u64,
    deltas: u64,
}

/// How records of a five-tuple are told apart.
#[derive(Clone, Copy, PartialEq)]
enum Identity {
    /// A flow is the only one of its five-tuple at a time.
    Whole,
    /// A port is unknown: only records that start together are the same flow.
    Start,
}

impl Pieces {
    /// Puts the records of each flow together into its first one.
    pub fn put_together(&mut self, stitch: Stitch) -> Together {
        let mut rules = Rules::new(self, stitch);
        let mut is_gone = vec![false; self.flows.len()];
        let mut order: Vec<(u64, u32)> = (0..self.flows.len() as u32)
            .filter(|&place| self.identity(place as usize).is_some())
            .map(|place| (hash(&self.flows[place as usize]), place))
            .collect();
        order.sort_unstable();
        for alike in order.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            let mut places: Vec<usize> = alike.iter().map(|&(_, place)| place as usize).collect();
            places.sort_by(|&a, &b| {
                let (x, y) = (&self.flows[a], &self.flows[b]);
                let until_s = |place: usize| self.pieces[place].until_s;
                let of_start = || x.start_s.total_cmp(&y.start_s);
                let of_end = || until_s(a).total_cmp(&until_s(b));
                key(x).cmp(&key(y)).then_with(of_start).then_with(of_end).then(a.cmp(&b))
            });
            let mut rest = places.as_slice();
            while let Some(&first) = rest.first() {
                let is_same = |&place: &usize| key(&self.flows[place]) == key(&self.flows[first]);
                let (same, others) = rest.split_at(rest.partition_point(is_same));
                self.put_together_same(same, &mut rules, &mut is_gone);
                rest = others;
            }
        }
        let mut gone = is_gone.iter();
        self.flows.retain(|_| gone.next() != Some(&true));
        let mut gone = is_gone.iter();
        self.hidden.retain(|_| gone.next() != Some(&true));
        rules.together
    }

    /// Puts records of one five-tuple together, given in order of start and end.
    fn put_together_same(&mut self, places: &[usize], rules: &mut Rules, is_gone: &mut [bool]) {
        let [first, _, ..] = *places else { return };
        let Some(identity) = self.identity(first) else { return };
        let mut flows: Vec<Track> = Vec::new();
        for track in self.tracks(places, identity, rules) {
            match flows.last_mut() {
                Some(flow) if flow.is_same(&track, identity) => {
                    rules.together.see_again(flow, &track);
                    flow.see_again(&track);
                }
                _ => flows.push(track),
            }
        }
        places.iter().for_each(|&place| is_gone[place] = true);
        for flow in flows {
            rules.together.add(&flow);
            is_gone[flow.first] = false;
            self.flows[flow.first].start_s = flow.start_s;
            self.hidden[flow.first] = flow.hidden;
        }
    }

    /// The tracks of records of one five-tuple, in order of start.
    fn tracks(&self, places: &[usize], identity: Identity, rules: &mut Rules) -> Vec<Track> {
        let mut tracks: Vec<Track> = Vec::new();
        for &place in places {
            let flow = &self.flows[place];
            let piece = &self.pieces[place];
            let open = tracks.len().saturating_sub(MOST_OPEN);
            let continued = (tracks[open..].iter_mut().rev())
                .filter(|_| identity == Identity::Whole)
                .filter_map(|track| Some((rules.continues(track, flow.start_s, piece)?, track)))
                .min_by(|(_, a), (_, b)| {
                    let gap = |track: &Track| (flow.start_s - track.until_s).abs();
                    gap(a).total_cmp(&gap(b))
                });
            match continued {
                Some((how, track)) => {
                    track.first = track.first.min(place);
                    track.continue_with(how, flow, piece, &self.hidden[place]);
                }
                None => {
                    tracks.push(Track {
                        first: place,
                        exporter: piece.exporter,
                        start_s: flow.start_s,
                        until_s: piece.until_s,
                        last_start_s: flow.start_s,
                        hidden: self.hidden[place],
                        records: 1,
                        cut: 0,
                        deltas: 0,
                    });
                }
            }
        }
        tracks
    }

    /// How a record's five-tuple identifies its flow; nothing if it does not.
    fn identity(&self, place: usize) -> Option<Identity> {
        let flow = &self.flows[place];
        match (flow.sport, flow.dport) {
            (0, 0) => {
                let is_tunnel = flow.protocol != 0 && !has_ports(flow.protocol);
                let is_exported = self.pieces[place].counters == Counters::Delta;
                (is_tunnel && is_exported).then_some(Identity::Whole)
            }
            (0, _) | (_, 0) => Some(Identity::Start),
            _ => Some(Identity::Whole),
        }
    }
}

impl Track {
    fn continue_with(&mut self, how: Continues, flow: &Observed, piece: &Piece, hidden: &Hidden) {
        match how {
            Continues::Cut => self.cut += if self.cut == 0 { 2 } else { 1 },
            Continues::Delta => self.deltas += if self.deltas == 0 { 2 } else { 1 },
        }
        self.records += 1;
        self.until_s = piece.until_s;
        self.last_start_s = flow.start_s;
        self.hidden.end_s = hidden.end_s;
        self.hidden.bytes = match (self.hidden.bytes, hidden.bytes) {
            (Some(before), Some(more)) => Some(before + more),
            (before, more) => before.or(more),
        };
        self.hidden.label = self.hidden.label.or(hidden.label);
    }

    /// Whether a track that does not start before this one is the same flow, seen again.
    fn is_same(&self, other: &Track, identity: Identity) -> bool {
        if self.start_s == other.start_s {
            return true;
        }
        let is_other_label = match (self.hidden.label, other.hidden.label) {
            (Some(one), Some(other)) => one != other,
            _ => false,
        };
        if identity != Identity::Whole || is_other_label {
            return false;
        }
        let are_two = self.exporter != other.exporter && self.exporter != 0 && other.exporter != 0;
        let is_late = other.start_s - self.start_s <= CLOCK_S
            && (other.until_s - self.until_s).abs() <= CLOCK_S;
        if are_two && is_late {
            // A flow of one packet overlaps with nothing.
            return true;
        }
        let both_s = self.until_s.min(other.until_s) - other.start_s;
        let shorter_s = (self.until_s - self.start_s).min(other.until_s - other.start_s);
        let is_known = !self.until_s.is_nan() && !other.until_s.is_nan();
        is_known && other.start_s < self.until_s && 2.0 * both_s >= shorter_s
    }

    fn see_again(&mut self, other: &Track) {
        let later = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.hidden.bytes = later(self.hidden.bytes, other.hidden.bytes);
        self.hidden.end_s = later(self.hidden.end_s, other.hidden.end_s);
        let labels = match other.first < self.first {
            true => [other.hidden.label, self.hidden.label],
            false => [self.hidden.label, other.hidden.label],
        };
        self.hidden.label = labels[0].or(labels[1]);
        self.first = self.first.min(other.first);
        // An unknown end is never the larger one.
        self.until_s = self.until_s.max(other.until_s);
    }
}

/// Which records continue a track.
struct Rules {
    stitch: Stitch,
    /// The longest record of each exporter, in seconds.
    longest_s: BTreeMap<u32, f64>,
    together: Together,
}

impl Rules {
    fn new(pieces: &Pieces, stitch: Stitch) -> Rules {
        let mut longest_s = BTreeMap::new();
        for (flow, piece) in pieces.flows.iter().zip(&pieces.pieces) {
            let duration_s = piece.until_s - flow.start_s;
            if piece.counters == Counters::Delta && !duration_s.is_nan() {
                let longest_s: &mut f64 = longest_s.entry(piece.exporter).or_default();
                *longest_s = longest_s.max(duration_s);
            }
        }
        let together = Together { gap_s: stitch.gap_s(), ..Together::default() };
        Rules { stitch, longest_s, together }
    }

    /// Whether and how a record continues a track.
    fn continues(&mut self, track: &Track, start_s: f64, piece: &Piece) -> Option<Continues> {
        if track.exporter != piece.exporter || track.until_s.is_nan() {
            return None;
        }
        let is_delta = piece.counters == Counters::Delta;
        if is_delta && start_s == track.start_s && piece.until_s >= track.until_s + CLOCK_S {
            return Some(Continues::Delta);
        }
        let last_s = track.until_s - track.last_start_s;
        let gap_s = start_s - track.until_s;
        let early_s = CLOCK_S.min(EARLY * last_s);
        let is_next = gap_s >= -early_s && gap_s <= self.stitch.gap_s().unwrap_or(Stitch::GAP_S);
        if !is_next || piece.opened == Opened::Here {
            return None;
        }
        let is_cut = match self.stitch {
            Stitch::UpTo(_) => true,
            Stitch::Off => return None,
            Stitch::WhereShown if !is_delta => return None,
            Stitch::WhereShown => {
                let longest_s = self.longest_s.get(&piece.exporter).copied().unwrap_or(0.0);
                let is_timeout = longest_s >= LEAST_TIMEOUT_S && last_s >= CUT * longest_s;
                piece.opened == Opened::Before || is_timeout
            }
        };
        self.together.left_apart += u64::from(!is_cut);
        is_cut.then_some(Continues::Cut)
    }
}

impl Together {
    /// Counts a track that is the same flow as one before it.
    fn see_again(&mut self, flow: &Track, track: &Track) {
        if flow.start_s == track.start_s && flow.exporter == track.exporter {
            self.repeated += track.records;
            return;
        }
        let both = [flow, track].map(|it| it.hidden.bytes.unwrap_or(0.0));
        self.seen_again.records += track.records;
        self.seen_again.flows += 1;
        self.seen_again.bytes += both[0].min(both[1]);
    }

    /// Counts what was put together in a flow.
    fn add(&mut self, flow: &Track) {
        let bytes = flow.hidden.bytes.unwrap_or(0.0);
        for (put, records) in [(&mut self.cut, flow.cut), (&mut self.deltas, flow.deltas)] {
            if records > 0 {
                *put = Put {
                    records: put.records + records,
                    flows: put.flows + 1,
                    bytes: put.bytes + bytes,
                };
            }
        }
    }
}

/// What identifies a flow.
fn key(flow: &Observed) -> (covey_identify::Address, covey_identify::Address, u16, u16, u8) {
    (flow.src, flow.dst, flow.sport, flow.dport, flow.protocol)
}

/// A number that flows of one key share.
fn hash(flow: &Observed) -> u64 {
    let ports = u64::from(flow.sport) << 24 | u64::from(flow.dport) << 8 | u64::from(flow.protocol);
    let halves = |bits: u128| [bits as u64, (bits >> 64) as u64];
    let words = halves(flow.src.bits()).into_iter().chain(halves(flow.dst.bits()));
    words
        .chain([ports])
        .fold(0_u64, |sum, word| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}
