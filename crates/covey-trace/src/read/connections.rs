//! The connection matrices of htsim, `.cm`: `Nodes N` and `Connections M`, then
//! `SRC->DST [id N] start PICOSECONDS size BYTES` for each connection.
//!
//! A connection is a coflow of its own, whose id is its `id`, else its number from 1. One with
//! `trigger N` in the place of a start begins when the connections that have `send_done_trigger N`
//! or `recv_done_trigger N` have ended: they are its parents. A trigger must be a `oneshot` of one
//! connection, or a `barrier` of all that it counts.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::fields::number;
use super::format::{First, Format, Notes, Rest};
use crate::Moment;
use crate::error::{Location, TraceError, quote};
use crate::limits::{MAX_BYTES, MAX_FLOWS, MAX_PORTS, MAX_TIME_S};
use crate::workload::{Coflow, Flow, Workload};

/// Words that begin a line.
const WORDS: &str = "Nodes, Connections, Triggers, SRC->DST or trigger";

pub(super) const FORMAT: Format = Format {
    accepts: |line| {
        let word = line.split_ascii_whitespace().next().unwrap_or_default();
        // Directives of Zeek have no blank behind the mark.
        word.contains("->") || ["#", "Nodes", "Connections"].contains(&word)
    },
    read,
};

/// A connection that is read.
struct Connection {
    line: u64,
    id: String,
    flow: Flow,
    start: Option<Moment>,
    waits_for: Option<u32>,
}

/// A trigger: what it counts to, and the ids of the connections that count.
#[derive(Default)]
struct Trigger {
    /// The line that gives its kind, and the count of a barrier.
    kind: Option<(u64, Option<u32>)>,
    counted: Vec<String>,
}

#[derive(Default)]
struct Matrix {
    nodes: Option<u32>,
    numbers: [Option<u32>; 2],
    connections: Vec<Connection>,
    triggers: BTreeMap<u32, Trigger>,
    priorities: bool,
}

fn read<'a>(
    first: First<'a>,
    mut lines: Rest<'a>,
    notes: Notes<'_>,
) -> Result<Workload, TraceError> {
    let name = first.0.name;
    let mut matrix = Matrix::default();
    lines.each(first, |location, line| matrix.take(location, line))?;
    matrix.check(lines.location())?;
    let ports = matrix.nodes.unwrap_or_default();
    let left_out = if matrix.priorities { "; priorities are not used" } else { "" };
    notes(&format!("{name}: connections of htsim: each is a coflow{left_out}"));
    let mut draft = Draft::new(ports);
    let starts = matrix.connections.iter().filter_map(|connection| connection.start);
    let first = starts.min().unwrap_or_default();
    for Connection { line, id, flow, start, waits_for } in matrix.connections {
        let location = Location { name, line };
        let parents = waits_for.and_then(|trigger| matrix.triggers.get(&trigger));
        let parents = parents.map(|trigger| trigger.counted.clone()).unwrap_or_default();
        draft.announce(location, 1)?;
        let coflow = Coflow::new(id, 0.0, vec![flow]);
        draft.push(location, coflow, start.unwrap_or(first), parents)?;
    }
    draft.finish(name, notes)
}

impl Matrix {
    fn take(&mut self, at: Location<'_>, line: &str) -> Result<(), TraceError> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let word = words[0];
        match word {
            _ if word.starts_with('#') => Ok(()),
            "Nodes" => {
                self.nodes = Some(count(at, &words, 1..=MAX_PORTS)?);
                Ok(())
            }
            "Connections" | "Triggers" => {
                let which = usize::from(word == "Triggers");
                self.numbers[which] = Some(count(at, &words, 0..=MAX_FLOWS)?);
                Ok(())
            }
            "Failures" if count(at, &words, 0..=MAX_FLOWS)? == 0 => Ok(()),
            "Failures" | "failure" => {
                Err(at.bad("failures", "none: links of a trace do not fail", quote(line)))
            }
            "trigger" => self.trigger(at, &words[1..]),
            "Tiers" | "Podsize" | "Tier" => {
                let found = "a topology of htsim (.topo): give it to --fabric file:PATH";
                Err(at.bad("first word", WORDS, found))
            }
            _ => match word.split_once("->") {
                Some(ends) => self.connection(at, ends, &words[1..]),
                None => Err(at.bad("first word", WORDS, quote(word))),
            },
        }
    }

    fn connection(
        &mut self,
        at: Location<'_>,
        ends: (&str, &str),
        words: &[&str],
    ) -> Result<(), TraceError> {
        if self.connections.len() == MAX_FLOWS as usize {
            return Err(at.bad("connections", format_args!("at most {MAX_FLOWS}"), "more"));
        }
        let Some(nodes) = self.nodes else {
            return Err(at.bad("connection", "Nodes before it", "a connection"));
        };
        let node = |field: &str, text: &str| {
            text.parse().ok().filter(|node| *node < nodes).ok_or_else(|| {
                at.bad(field, format_args!("a node from 0 to {}", nodes - 1), quote(text))
            })
        };
        let (src, dst) = (node("source", ends.0)?, node("destination", ends.1)?);
        let (mut id, mut start, mut bytes) = (None, None, None);
        let (mut waits_for, mut triggers) = (None, Vec::new());
        let mut words = words.iter();
        while let Some(&key) = words.next() {
            let text = words.next().copied().unwrap_or_default();
            match key {
                "id" => id = Some(whole(at, key, text)?),
                "start" => start = Some(picoseconds(at, text)?),
                "size" => bytes = Some(number(at, key, "bytes", text, MAX_BYTES)?),
                "trigger" => waits_for = Some(whole(at, key, text)?),
                "send_done_trigger" | "recv_done_trigger" => triggers.push(whole(at, key, text)?),
                "prio" => {
                    whole(at, key, text)?;
                    self.priorities = true;
                }
                _ => {
                    let known =
                        "id, start, size, trigger, send_done_trigger, recv_done_trigger or prio";
                    return Err(at.bad("connection", known, quote(key)));
                }
            }
        }
        if start.is_some() == waits_for.is_some() {
            return Err(at.bad("start", "start PICOSECONDS or trigger ID", "both or none"));
        }
        let bytes = bytes.ok_or_else(|| at.bad("size", "size BYTES", "the end of the line"))?;
        let id = id.unwrap_or(self.connections.len() as u32 + 1).to_string();
        for trigger in triggers {
            self.triggers.entry(trigger).or_default().counted.push(id.clone());
        }
        let flow = Flow { src, dst, bytes, start_s: 0.0 };
        self.connections.push(Connection { line: at.line, id, flow, start, waits_for });
        Ok(())
    }

    fn trigger(&mut self, at: Location<'_>, words: &[&str]) -> Result<(), TraceError> {
        let (mut id, mut counts_to, mut is_barrier) = (None, None, None);
        let mut words = words.iter();
        while let Some(&key) = words.next() {
            match key {
                "id" | "count" => {
                    let text = words.next().copied().unwrap_or_default();
                    let number = Some(whole(at, key, text)?);
                    if key == "id" { id = number } else { counts_to = number }
                }
                "oneshot" => is_barrier = Some(false),
                "barrier" => is_barrier = Some(true),
                _ => return Err(at.bad("trigger", "id, count, oneshot or barrier", quote(key))),
            }
        }
        let (Some(id), Some(is_barrier)) = (id, is_barrier) else {
            return Err(at.bad("trigger", "an id, and oneshot or barrier", "the end of the line"));
        };
        let counts_to = if is_barrier { Some(counts_to.unwrap_or(0)) } else { None };
        let trigger = self.triggers.entry(id).or_default();
        match trigger.kind.replace((at.line, counts_to)) {
            None => Ok(()),
            Some(_) => Err(at.bad("trigger", "each id once", format_args!("{id} twice"))),
        }
    }

    /// Checks what holds across lines.
    fn check(&self, end: Location<'_>) -> Result<(), TraceError> {
        let found = [
            self.connections.len(),
            self.triggers.values().filter(|trigger| trigger.kind.is_some()).count(),
        ];
        for ((what, expected), found) in
            ["Connections", "Triggers"].iter().zip(self.numbers).zip(found)
        {
            if expected.is_some_and(|expected| expected as usize != found) {
                let expected = format_args!("{}, as the line says", expected.unwrap_or_default());
                return Err(end.bad(what, expected, found));
            }
        }
        for connection in &self.connections {
            let Some(id) = connection.waits_for else { continue };
            let at = Location { line: connection.line, ..end };
            let trigger = self.triggers.get(&id);
            let Some((trigger, (line, counts_to))) = trigger.and_then(|it| Some((it, it.kind?)))
            else {
                return Err(at.bad("trigger", "a trigger of this file", id));
            };
            let counted = trigger.counted.len();
            if counted == 0 || counted != counts_to.map_or(1, |count| count as usize) {
                let expected = "a oneshot of one connection, or a barrier of all that it counts";
                let found = format_args!("{counted} connections that set trigger {id} off");
                return Err(Location { line, ..end }.bad("trigger", expected, found));
            }
        }
        Ok(())
    }
}

/// The number behind the word of a line.
fn count(
    at: Location<'_>,
    words: &[&str],
    range: std::ops::RangeInclusive<u32>,
) -> Result<u32, TraceError> {
    let number = words.get(1).and_then(|text| text.parse().ok());
    number.filter(|number| range.contains(number) && words.len() == 2).ok_or_else(|| {
        let expected = format_args!("a whole number from {} to {}", range.start(), range.end());
        at.bad(words[0], expected, quote(&words[1..].join(" ")))
    })
}

fn whole(at: Location<'_>, key: &str, text: &str) -> Result<u32, TraceError> {
    text.parse().map_err(|_| at.bad(key, "a whole number", quote(text)))
}

/// A start. htsim reads picoseconds; what it saves itself, with a point, is in microseconds.
fn picoseconds(at: Location<'_>, text: &str) -> Result<Moment, TraceError> {
    if text.contains('.') {
        let expected = "whole picoseconds (htsim reads these; a number with a point, which it saves, is microseconds)";
        return Err(at.bad("start", expected, quote(text)));
    }
    let moment = Moment::parse_scaled(text, -12).filter(Moment::is_arrival);
    let expected = format_args!("picoseconds from 0 to {:e}", MAX_TIME_S * 1e12);
    moment.ok_or_else(|| at.bad("start", expected, quote(text)))
}
