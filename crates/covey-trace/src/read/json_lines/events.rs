//! Lines of events: what happens to the cluster.

use std::io;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::ends::{End, Ends};
use super::is_false;
use crate::Moment;
use crate::cluster::{ClusterEvent, FlowOf, Happening, Part};
use crate::error::{Location, TraceError, escape};
use crate::limits::MAX_TIME_S;
use crate::read::{Draft, check_name};
use crate::workload::Workload;

/// What a line says of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Fail,
    Return,
    Move,
    Cancel,
    Restart,
}

/// A line of an event.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventLine {
    event: Kind,
    at_s: Moment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<End>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    lose: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coflow: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flow: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    src: Option<End>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dst: Option<End>,
}

/// Whether a line is an event and no coflow.
pub(super) fn is_event(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Tag {
        #[serde(rename = "event")]
        _event: IgnoredAny,
    }
    line.contains("\"event\"") && serde_json::from_str::<Tag>(line).is_ok()
}

/// Checks the values of a line and adds its event.
pub(super) fn add(
    location: Location<'_>,
    line: EventLine,
    ends: &mut Ends,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    if !line.at_s.is_arrival() {
        let expected = format_args!("seconds from 0 to {MAX_TIME_S:e}");
        return Err(location.bad("at_s", expected, line.at_s));
    }
    let mut number = |field: &str, end: &Option<End>| {
        end.as_ref().map(|end| ends.number(location, &field, end)).transpose()
    };
    let (host, src, dst) =
        (number("host", &line.host)?, number("src", &line.src)?, number("dst", &line.dst)?);
    check_fields(location, &line)?;
    let part = || match (host, &line.link) {
        (Some(host), _) => Part::Host(host),
        (None, link) => Part::Link(link.clone().unwrap_or_default()),
    };
    let flow = FlowOf { coflow: u32::MAX, flow: line.flow.unwrap_or_default() };
    let what = match line.event {
        Kind::Fail => Happening::Fail { part: part(), loses: line.lose },
        Kind::Return => Happening::Return { part: part() },
        Kind::Move => Happening::Move { flow, src, dst },
        Kind::Cancel => Happening::Cancel { flow },
        Kind::Restart => Happening::Restart { flow },
    };
    draft.push_event(location, what, line.at_s, line.coflow)
}

/// Checks that a line has the fields of its kind, and no others.
fn check_fields(location: Location<'_>, line: &EventLine) -> Result<(), TraceError> {
    let is_of_part = matches!(line.event, Kind::Fail | Kind::Return);
    if is_of_part && line.host.is_some() == line.link.is_some() {
        let found = if line.host.is_some() { "both" } else { "neither" };
        return Err(location.bad("event", "either a host or a link", found));
    }
    if let Some(link) = &line.link {
        check_name(location, "link", link)?;
    }
    let (needs, what) = if is_of_part { (false, "a flow") } else { (true, "a host or a link") };
    for (field, is_there) in [("coflow", line.coflow.is_some()), ("flow", line.flow.is_some())] {
        if is_there != needs {
            let expected = if needs { "a value" } else { "no value" };
            let found = if needs { "none" } else { "one: the event is not of a flow" };
            return Err(location.bad(field, expected, found));
        }
    }
    if needs && (line.host.is_some() || line.link.is_some()) {
        return Err(location.bad("event", "a flow alone", what));
    }
    if line.lose && line.event != Kind::Fail {
        return Err(location.bad("lose", "a failure", "another event"));
    }
    let moves = line.src.is_some() || line.dst.is_some();
    if moves != (line.event == Kind::Move) {
        let (expected, found) = if moves {
            ("a move", "another event, with a port")
        } else {
            ("src, dst or both", "neither")
        };
        return Err(location.bad("event", expected, found));
    }
    Ok(())
}

/// The line of an event.
pub(super) fn line_of(event: &ClusterEvent, workload: &Workload) -> io::Result<EventLine> {
    let kind = match &event.what {
        Happening::Fail { .. } => Kind::Fail,
        Happening::Return { .. } => Kind::Return,
        Happening::Move { .. } => Kind::Move,
        Happening::Cancel { .. } => Kind::Cancel,
        Happening::Restart { .. } => Kind::Restart,
    };
    let named = event.what.flow().map(|flow| {
        let coflow = workload.coflows.get(flow.coflow as usize);
        let coflow = coflow.filter(|coflow| (flow.flow as usize) < coflow.width());
        coflow.map(|coflow| (coflow.id.clone(), flow.flow)).ok_or_else(|| {
            let FlowOf { coflow, flow } = flow;
            let error = format!("event at {} s: no flow {flow} of a coflow {coflow}", event.at_s);
            io::Error::new(io::ErrorKind::InvalidInput, escape(&error, 200))
        })
    });
    let (coflow, flow) = named.transpose()?.unzip();
    let at_s = workload.origin.after(event.at_s).ok_or_else(|| {
        let error = format!("no event at {} s", event.at_s);
        io::Error::new(io::ErrorKind::InvalidInput, error)
    })?;
    let part = event.what.part();
    let (src, dst) = match event.what {
        Happening::Move { src, dst, .. } => (src, dst),
        _ => (None, None),
    };
    Ok(EventLine {
        event: kind,
        at_s,
        host: part.and_then(|part| match part {
            Part::Host(port) => Some(End::Port(*port)),
            Part::Link(_) => None,
        }),
        link: part.and_then(Part::link).map(str::to_owned),
        lose: matches!(event.what, Happening::Fail { loses: true, .. }),
        coflow,
        flow,
        src: src.map(End::Port),
        dst: dst.map(End::Port),
    })
}
