//! Covey JSON lines: the format with all fields of a [`Workload`].
//!
//! The first line is the header, each other line a coflow or an event; see [`write()`].

mod ends;
mod events;

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use serde::{Deserialize, Serialize, Serializer};

use crate::Moment;
use crate::error::{Location, TraceError, escape};
use crate::json::parse;
use crate::limits::{MAX_BYTES, MAX_TIME_S, MAX_WEIGHT};
use crate::read::{Draft, Format, Notes, Rest, check_name, check_total};
use crate::workload::{Attempt, Coflow, Compressible, Flow, Restart, Workload};
use ends::{End, Ends};

/// The version of the format that this module reads and writes.
const VERSION: u32 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    covey_trace: u32,
    /// Number of ports. Optional if hosts are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ports: Option<u32>,
    /// Names of the hosts at the ports. Optional.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hosts: Option<Vec<String>>,
    /// Number of coflows, which detects a file that was cut between two lines. Optional.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coflows: Option<usize>,
    /// Number of events, for the same reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<usize>,
}

/// A line of a coflow.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CoflowLine {
    id: String,
    arrival_s: Moment,
    flows: Vec<FlowItem>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parents: Vec<String>,
    #[serde(default = "one", serialize_with = "short", skip_serializing_if = "is_one")]
    weight: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    compress: bool,
    #[serde(default, serialize_with = "short_option", skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

/// A flow in the line of its coflow.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowItem {
    src: End,
    dst: End,
    #[serde(serialize_with = "short")]
    bytes: f64,
    #[serde(default, serialize_with = "short", skip_serializing_if = "is_zero")]
    start_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    restart_s: Option<f64>,
    #[serde(default, serialize_with = "short_option", skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_true(flag: &bool) -> bool {
    *flag
}

fn one() -> f64 {
    1.0
}

fn is_one(x: &f64) -> bool {
    *x == 1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

/// Writes whole numbers without `.0`, all others with the fewest digits that give the same number
/// again.
fn short<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    if x.fract() == 0.0 && (0.0..EXACT).contains(x) {
        serializer.serialize_u64(*x as u64)
    } else {
        serializer.serialize_f64(*x)
    }
}

/// As [`short`], of a number that is there.
#[expect(clippy::ref_option, reason = "serde asks for it")]
fn short_option<S: Serializer>(x: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match x {
        Some(x) => short(x, serializer),
        None => serializer.serialize_none(),
    }
}

/// Covey JSON lines.
pub(crate) const FORMAT: Format = Format {
    accepts: |header| header.trim_start().starts_with('{'),
    read: |(location, line), lines, notes| coflows(location, header(location, line)?, lines, notes),
};

/// Reads the header.
fn header(location: Location<'_>, line: &str) -> Result<Header, TraceError> {
    let header: Header = parse(location, "header", line)?;
    if header.covey_trace != VERSION {
        let expected = format_args!("version {VERSION}");
        return Err(location.bad("covey_trace", expected, header.covey_trace));
    }
    Ok(header)
}

/// Reads the coflows that follow the header.
fn coflows(
    first: Location<'_>,
    header: Header,
    mut lines: Rest<'_>,
    notes: Notes<'_>,
) -> Result<Workload, TraceError> {
    let mut ends = Ends::new(first, header.ports, header.hosts)?;
    let mut draft = Draft::new(header.ports.unwrap_or(0));
    while let Some((location, line)) = lines.next()? {
        if events::is_event(line) {
            events::add(location, parse(location, "event", line)?, &mut ends, &mut draft)?;
        } else {
            let line: CoflowLine = parse(location, "coflow", line)?;
            add(location, line, &mut ends, &mut draft)?;
        }
    }
    let counts =
        [("coflows", header.coflows, draft.len()), ("events", header.events, draft.num_events())];
    for (field, said, found) in counts {
        said.map_or(Ok(()), |said| check_total(lines.location(), field, (said, found)))?;
    }
    ends.finish(first, &mut draft)?;
    draft.finish(first.name, notes)
}

/// Checks the values of a line and adds its coflow.
fn add(
    location: Location<'_>,
    line: CoflowLine,
    ends: &mut Ends,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    if !line.arrival_s.is_arrival() {
        let expected = format_args!("seconds from 0 to {MAX_TIME_S:e}");
        return Err(location.bad("arrival_s", expected, line.arrival_s));
    }
    if line.flows.is_empty() {
        return Err(location.bad("flows", "at least one flow", "none"));
    }
    draft.announce(location, line.flows.len() as u64)?;
    let mut flows = Vec::with_capacity(line.flows.len());
    let mut restarts = Vec::new();
    let mut compressible =
        Compressible { off: !line.compress, ratio: line.ratio, flows: Vec::new() };
    check_ratio(location, "ratio", line.ratio)?;
    let mut attempts = Vec::new();
    for (i, flow) in line.flows.into_iter().enumerate() {
        let src = ends.number(location, &format_args!("flows[{i}].src"), &flow.src)?;
        let dst = ends.number(location, &format_args!("flows[{i}].dst"), &flow.dst)?;
        let field = format_args!("flows[{i}].bytes");
        check_number(location, field, "bytes", flow.bytes, MAX_BYTES)?;
        let field = format_args!("flows[{i}].start_s");
        check_number(location, field, "seconds", flow.start_s, MAX_TIME_S)?;
        if let Some(at_s) = flow.restart_s {
            let field = format_args!("flows[{i}].restart_s");
            check_number(location, field, "seconds", at_s, MAX_TIME_S)?;
            restarts.push(Restart { flow: i as u32, at_s });
        }
        check_ratio(location, format_args!("flows[{i}].ratio"), flow.ratio)?;
        compressible.flows.extend(flow.ratio.map(|ratio| (i as u32, ratio)));
        if let Some(of) = flow.attempt {
            let field = format_args!("flows[{i}].attempt");
            let Some(Flow { bytes, .. }) = flows.get(of as usize) else {
                return Err(location.bad(field, "the index of an earlier flow", of));
            };
            if *bytes != flow.bytes {
                let expected = format_args!("flow {of} of as many bytes");
                let found = format_args!("{bytes} and {}", flow.bytes);
                return Err(location.bad(field, expected, found));
            }
            attempts.push(Attempt { flow: i as u32, of });
        }
        flows.push(Flow { src, dst, bytes: flow.bytes, start_s: flow.start_s });
    }
    if !(f64::MIN_POSITIVE..=MAX_WEIGHT).contains(&line.weight) {
        let expected = format_args!("a positive number up to {MAX_WEIGHT:e}");
        return Err(location.bad("weight", expected, line.weight));
    }
    if let Some(deadline_s) = line.deadline_s {
        check_number(location, "deadline_s", "seconds", deadline_s, MAX_TIME_S)?;
    }
    for (field, name) in [("job", &line.job), ("tenant", &line.tenant)] {
        name.as_ref().map_or(Ok(()), |name| check_name(location, field, name))?;
    }
    let coflow = Coflow {
        id: line.id,
        arrival_s: 0.0,
        flows,
        parents: Vec::new(),
        weight: line.weight,
        deadline_s: line.deadline_s,
        job: line.job,
        tenant: line.tenant,
        restarts,
        compressible,
        attempts,
    };
    draft.push(location, coflow, line.arrival_s, line.parents)
}

/// Checks how many compressed bytes there are for each raw byte, if that is said.
fn check_ratio(
    location: Location<'_>,
    field: impl Display,
    ratio: Option<f64>,
) -> Result<(), TraceError> {
    match ratio.filter(|ratio| !(f64::MIN_POSITIVE..=1.0).contains(ratio)) {
        Some(ratio) => Err(location.bad(field, "a number above 0, and at most 1", ratio)),
        None => Ok(()),
    }
}

/// Checks that a number is from 0 to `max`.
fn check_number(
    location: Location<'_>,
    field: impl Display,
    unit: &str,
    value: f64,
    max: f64,
) -> Result<(), TraceError> {
    if (0.0..=max).contains(&value) {
        return Ok(());
    }
    let max = if max < 1e6 { max.to_string() } else { format!("{max:e}") };
    Err(location.bad(field, format_args!("{unit} from 0 to {max}"), value))
}

/// Writes a workload as Covey JSON lines, from which [`read`](crate::read()) makes the same
/// workload to the last digit.
///
/// The first line is `{"covey_trace":1,"ports":N,"coflows":M}`, with `"hosts":["a","b"]` if names
/// of hosts are known. Each coflow follows on a line:
///
/// ```json
/// {"id":"7","arrival_s":1.5,"flows":[{"src":0,"dst":1,"bytes":100,"start_s":2.5,"restart_s":4}],"parents":["3"],"weight":2,"deadline_s":9.5,"job":"q42","tenant":"etl","ratio":0.5}
/// ```
///
/// `start_s`, `restart_s`, `parents`, `weight`, `deadline_s`, `job`, `tenant`, `compress` and
/// `ratio` are left out if they have the defaults 0, none, none, 1, none, none, none, true and
/// none; so is `attempt`, the index of an earlier flow that carries the same bytes. Lines of events
/// follow:
///
/// ```json
/// {"event":"fail","at_s":12.5,"host":3,"lose":true}
/// {"event":"return","at_s":20,"host":3}
/// {"event":"fail","at_s":30,"link":"edge 0 to agg 0"}
/// {"event":"move","at_s":31,"coflow":"7","flow":0,"dst":5}
/// {"event":"cancel","at_s":32,"coflow":"7","flow":0}
/// {"event":"restart","at_s":33,"coflow":"7","flow":0}
/// ```
///
/// Arrivals and events are on the clock of the trace, which may count from anywhere; each is as
/// exact as an `f64` of the seconds after the first arrival. `coflows` and `events` are optional in
/// the header; with them a reader detects that the file was cut off.
///
/// # Errors
/// Those of `out`, and [`io::ErrorKind::InvalidInput`] for a parent that is no coflow of the
/// workload, a restart, a ratio, an attempt or an event of a flow that its coflow does not have, or
/// a time that is no [`Moment`].
pub fn write(workload: &Workload, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let header = Header {
        covey_trace: VERSION,
        ports: Some(workload.ports),
        hosts: Some(workload.hosts.clone()).filter(|hosts| !hosts.is_empty()),
        coflows: Some(workload.coflows.len()),
        events: Some(workload.events.len()).filter(|count| *count > 0),
    };
    serde_json::to_writer(&mut out, &header)?;
    out.write_all(b"\n")?;
    for coflow in &workload.coflows {
        serde_json::to_writer(&mut out, &line_of(coflow, workload)?)?;
        out.write_all(b"\n")?;
    }
    for event in &workload.events {
        serde_json::to_writer(&mut out, &events::line_of(event, workload)?)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// The line of a coflow.
fn line_of(coflow: &Coflow, workload: &Workload) -> io::Result<CoflowLine> {
    let parent = |&position: &u32| match workload.coflows.get(position as usize) {
        Some(parent) => Ok(parent.id.clone()),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("coflow {}: no coflow at position {position}", escape(&coflow.id, 40)),
        )),
    };
    let item = |f: &Flow| FlowItem {
        src: End::Port(f.src),
        dst: End::Port(f.dst),
        bytes: f.bytes,
        start_s: f.start_s,
        restart_s: None,
        ratio: None,
        attempt: None,
    };
    let mut flows: Vec<FlowItem> = coflow.flows.iter().map(item).collect();
    let missing = |flow: u32| {
        let error = format!("coflow {}: no flow at position {flow}", escape(&coflow.id, 40));
        io::Error::new(io::ErrorKind::InvalidInput, error)
    };
    for restart in &coflow.restarts {
        let flow = flows.get_mut(restart.flow as usize);
        flow.ok_or_else(|| missing(restart.flow))?.restart_s = Some(restart.at_s);
    }
    for attempt in &coflow.attempts {
        let flow = flows.get_mut(attempt.flow as usize);
        flow.ok_or_else(|| missing(attempt.flow))?.attempt = Some(attempt.of);
    }
    for &(flow, ratio) in &coflow.compressible.flows {
        flows.get_mut(flow as usize).ok_or_else(|| missing(flow))?.ratio = Some(ratio);
    }
    let Some(arrival) = workload.origin.after(coflow.arrival_s) else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("coflow {}: no arrival at {} s", escape(&coflow.id, 40), coflow.arrival_s),
        ));
    };
    Ok(CoflowLine {
        id: coflow.id.clone(),
        arrival_s: arrival,
        flows,
        parents: coflow.parents.iter().map(parent).collect::<io::Result<_>>()?,
        weight: coflow.weight,
        deadline_s: coflow.deadline_s,
        job: coflow.job.clone(),
        tenant: coflow.tenant.clone(),
        compress: !coflow.compressible.off,
        ratio: coflow.compressible.ratio,
    })
}
