//! A run as a trace for the viewer of Perfetto (<https://perfetto.dev>), in its protobuf format.
//!
//! The trace has a track for each coflow, from its release to its end, with an arrow from each
//! parent; for each sending port, with a slice for each time in which a coflow sends there; and for
//! each queue, with its length. Counters show the capacity in use and the number of coflows that
//! wait. Slices of a port or of all coflows that overlap are on tracks of their own, which have the
//! same name. Times are nanoseconds since the start of the trace.
//!
//! Numbers of fields are those of Perfetto's `trace_packet.proto`, `track_descriptor.proto` and
//! `track_event.proto`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use covey_core::{Fabric, LinkId};
use covey_trace::results::{QueueLengths, Span};

use crate::Run;
use crate::explained::link_name;

/// A message of protobuf.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn double(mut self, field: u64, value: f64) -> Message {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn fixed(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn message(self, field: u64, message: &Message) -> Message {
        self.bytes(field, &message.0)
    }
}

/// What happens on a track.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    /// A slice of a coflow begins; in its own track, with arrows.
    Begin {
        coflow: u32,
        is_own: bool,
    },
    End,
    Count(f64),
}

/// An event of a track.
#[derive(Debug, Clone, Copy)]
struct At {
    ns: u64,
    /// Among events of one time: slices end before others begin, unless they have no length.
    rank: u8,
    track: u64,
    event: Event,
}

/// The only writer of packets.
const SEQUENCE: u64 = 1;
/// Flags of packets: the names are new; names are needed.
const CLEARED: u64 = 1;
const NEEDED: u64 = 2;

/// The whole trace, before it is written.
struct Trace {
    tracks: Vec<Message>,
    events: Vec<At>,
}

impl Trace {
    /// Adds a track, and returns its number. `parent` is 0 for none.
    fn track(&mut self, name: &str, parent: u64, counter: Option<&str>) -> u64 {
        let track = self.tracks.len() as u64 + 1;
        let mut message = Message::default().number(1, track).bytes(2, name.as_bytes());
        if parent > 0 {
            message = message.number(5, parent);
        }
        if let Some(unit) = counter {
            let unit = Message::default().bytes(6, unit.as_bytes());
            message = message.message(8, &unit);
        }
        self.tracks.push(message);
        track
    }

    /// Adds slices, in order of their begins, on as many tracks as overlap.
    fn slices(&mut self, name: &str, parent: u64, is_own: bool, slices: &[(u64, u64, u32)]) {
        // When each track is free again.
        let mut tracks: Vec<(u64, u64)> = Vec::new();
        for &(from, until, coflow) in slices {
            let free = tracks.iter().position(|&(_, free)| free <= from);
            let place = free.unwrap_or_else(|| {
                tracks.push((self.track(name, parent, None), 0));
                tracks.len() - 1
            });
            // A slice without length keeps its track until the next nanosecond.
            tracks[place].1 = until.max(from + 1);
            let track = tracks[place].0;
            let begin = Event::Begin { coflow, is_own };
            self.events.push(At { ns: from, rank: 1, track, event: begin });
            let rank = if until == from { 2 } else { 0 };
            self.events.push(At { ns: until, rank, track, event: Event::End });
        }
    }

    /// Adds a counter with its values by time, of which the last one of a time counts.
    fn counter(&mut self, name: &str, parent: u64, unit: &str, steps: &[(u64, f64)]) {
        let track = self.track(name, parent, Some(unit));
        let mut last = None;
        for (k, &(ns, value)) in steps.iter().enumerate() {
            let is_last = steps.get(k + 1).is_none_or(|next| next.0 != ns);
            if is_last && last != Some(value) {
                last = Some(value);
                self.events.push(At { ns, rank: 1, track, event: Event::Count(value) });
            }
        }
    }
}

/// Writes a run on `fabric` for Perfetto's viewer: what `covey_sim::Timeline` and
/// `covey_sim::Queues` have recorded of it.
///
/// # Errors
/// The errors of writing to `out`.
pub fn write_perfetto(
    run: &Run<'_>,
    fabric: &Fabric,
    spans: &[Span],
    queues: &[QueueLengths],
    mut out: impl Write,
) -> io::Result<()> {
    let mut trace = Trace { tracks: Vec::new(), events: Vec::new() };
    add_counters(&mut trace, run, spans, queues);
    let all = trace.track("coflows", 0, None);
    let outcomes = (0..).zip(&run.outcome().coflows);
    let mut coflows: Vec<(u64, u64, u32)> =
        outcomes.map(|(index, it)| (ns(it.release_s), ns(it.completion_s), index)).collect();
    coflows.sort_unstable();
    trace.slices("coflow", all, true, &coflows);
    let all = trace.track("ports", 0, None);
    for (link, slices) in by_link(spans) {
        let name = link_name(run.workload(), fabric, link);
        trace.slices(&name, all, false, &slices);
    }
    write(trace, run, &mut out)
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// For each sender's link the times in which coflows send there, by begin. Changes of rate do not
/// end them.
fn by_link(spans: &[Span]) -> BTreeMap<LinkId, Vec<(u64, u64, u32)>> {
    let mut open: BTreeMap<(LinkId, u32), Vec<(u64, u64)>> = BTreeMap::new();
    let mut ordered: Vec<&Span> = spans.iter().collect();
    ordered.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    for span in ordered {
        let (from, until) = (ns(span.start_s), ns(span.end_s));
        let times = open.entry((span.link, span.coflow)).or_default();
        match times.last_mut() {
            Some(last) if last.1 == from => last.1 = until,
            _ => times.push((from, until)),
        }
    }
    let mut links: BTreeMap<LinkId, Vec<(u64, u64, u32)>> = BTreeMap::new();
    for ((link, coflow), times) in open {
        let slices = times.into_iter().map(|(from, until)| (from, until, coflow));
        links.entry(link).or_default().extend(slices);
    }
    links.values_mut().for_each(|slices| slices.sort_unstable());
    links
}

/// Adds counters of the capacity in use, of coflows that wait, and of coflows in each queue.
fn add_counters(trace: &mut Trace, run: &Run<'_>, spans: &[Span], queues: &[QueueLengths]) {
    /// Stands for the rate of a coflow as a whole: spans have one.
    const WHOLE: f64 = 0.0;
    // Begins and ends of spans and of coflows; ends first.
    let mut changes: Vec<(u64, i32, u32, f64)> = Vec::new();
    for span in spans {
        changes.push((ns(span.start_s), 1, span.coflow, span.rate));
        changes.push((ns(span.end_s), -1, span.coflow, span.rate));
    }
    for (index, coflow) in (0..).zip(&run.outcome().coflows) {
        changes.push((ns(coflow.release_s), 1, index, WHOLE));
        changes.push((ns(coflow.completion_s), -1, index, WHOLE));
    }
    changes.sort_by_key(|&(ns, by, coflow, _)| (ns, by, coflow));
    let mut sending = vec![0_i32; run.outcome().coflows.len()];
    let (mut present, mut busy, mut open, mut rate) = (0_i32, 0_i32, 0_i32, 0.0);
    let (mut used, mut waiting) = (Vec::new(), Vec::new());
    for (ns, by, coflow, of) in changes {
        if of == WHOLE {
            present += by;
        } else {
            let own = &mut sending[coflow as usize];
            let before = i32::from(*own > 0);
            *own += by;
            busy += i32::from(*own > 0) - before;
            open += by;
            // Nothing is left of rounding when nobody sends.
            rate = if open == 0 { 0.0 } else { rate + f64::from(by) * of };
            used.push((ns, rate));
        }
        waiting.push((ns, f64::from((present - busy).max(0))));
    }
    trace.counter("capacity in use", 0, "bytes/s", &used);
    trace.counter("waiting coflows", 0, "coflows", &waiting);
    let most = queues.iter().map(|step| step.coflows.len()).max().unwrap_or(0);
    if most > 0 {
        let all = trace.track("queues", 0, None);
        for queue in 0..most {
            let length = |step: &QueueLengths| f64::from(*step.coflows.get(queue).unwrap_or(&0));
            let steps: Vec<_> = queues.iter().map(|it| (ns(it.from_s), length(it))).collect();
            trace.counter(&format!("queue {queue}"), all, "coflows", &steps);
        }
    }
}

fn write(mut trace: Trace, run: &Run<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut packet = |message: Message| {
        let all = Message::default().message(1, &message.number(10, SEQUENCE));
        out.write_all(&all.0)
    };
    let coflows = &run.workload().coflows;
    let mut names = Message::default();
    for (iid, coflow) in (1..).zip(coflows) {
        let name = Message::default().number(1, iid).bytes(2, coflow.id.as_bytes());
        names = names.message(2, &name);
    }
    packet(Message::default().number(13, CLEARED).message(12, &names))?;
    for track in &trace.tracks {
        packet(Message::default().message(60, track))?;
    }
    // An arrow for each pair of parent and child.
    let mut arrows: Vec<[Vec<u64>; 2]> = vec![[Vec::new(), Vec::new()]; coflows.len()];
    let pairs = (0..).zip(coflows).flat_map(|(child, coflow)| {
        coflow.parents.iter().map(move |&parent| (parent as usize, child))
    });
    for (arrow, (parent, child)) in (1..).zip(pairs) {
        arrows[parent][0].push(arrow);
        arrows[child][1].push(arrow);
    }
    trace.events.sort_by_key(|at| (at.ns, at.rank));
    for at in &trace.events {
        let event = Message::default().number(11, at.track);
        let event = match at.event {
            Event::Begin { coflow, is_own } => {
                let mut event = event.number(9, 1).number(10, u64::from(coflow) + 1);
                if is_own {
                    let [from_here, to_here] = &arrows[coflow as usize];
                    event = from_here.iter().fold(event, |event, &arrow| event.fixed(47, arrow));
                    event = to_here.iter().fold(event, |event, &arrow| event.fixed(48, arrow));
                }
                event
            }
            Event::End => event.number(9, 2),
            Event::Count(value) => event.number(9, 4).double(44, value),
        };
        packet(Message::default().number(8, at.ns).number(13, NEEDED).message(11, &event))?;
    }
    out.flush()
}
