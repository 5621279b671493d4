//! A series of samples of `ss -tin`, with any other options, each below a line with the time:
//!
//! ```text
//! while date +%s.%N; do ss -tin; sleep 0.1; done
//! ```
//!
//! The time is in seconds since 1970, or in ISO 8601, and may stand behind a word. A flow is a
//! connection, in the direction that carried more bytes. It starts with the first sample that has
//! it, and ends with the first that has it no more. Connections of the last sample have no known
//! end. If counters fall, or the socket has another number, another connection has taken the place
//! of the first.
//!
//! Bytes are those since the connection was opened. A connection of the first sample counts only
//! what it carries from then on, if it was open before: it is as old as the time between two
//! samples, or had carried more bytes than it does up to the second one.

use std::collections::BTreeMap;

use covey_identify::Address;

use super::clock::date_and_time;
use super::connection::Connection;
use super::draft::Draft;
use super::fields::{check_time, port};
use super::format::{Format, Reading};
use super::socket::{Info, SocketLine};
use crate::error::{Location, TraceError, quote};
use crate::moment::Moment;
use crate::read::{First, Rest};

pub(super) const FORMAT: Format = Format {
    name: "ss",
    what: "samples of ss -tin, each below a time as date +%s.%N prints it",
    accepts: |line| {
        time(line).is_some() || is_header(line) || line.starts_with("ESTAB ") || is_rule(line)
    },
    read: Reading::Lines(read),
};

/// IANA's number of the protocol.
const TCP: u8 = 6;
/// Bytes per second that no connection exceeds: 100 Gbps.
const FASTEST: f64 = 12.5e9;
/// Most bytes that the lines of a socket have.
const MAX_SOCKET_BYTES: usize = 1 << 20;
const NOT_TCP: &str = "sockets that are not of TCP";

/// A time on a line of its own, also between or behind signs and a word, as in `Time:
/// 1700000000.25`.
fn time(line: &str) -> Option<Moment> {
    let line = line.trim_matches(|c: char| c.is_whitespace() || "#=-*".contains(c));
    plain_time(line).or_else(|| {
        let (word, rest) = line.split_once([' ', ':', '='])?;
        let is_word = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic());
        let rest = rest.trim_matches(|c: char| c.is_whitespace() || ":=".contains(c));
        plain_time(rest).filter(|_| is_word)
    })
}

fn plain_time(text: &str) -> Option<Moment> {
    let is_number = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if is_number { Moment::parse(text) } else { date_and_time(text) }
}

fn is_header(line: &str) -> bool {
    ["State", "Netid", "Recv-Q"].iter().any(|it| line.starts_with(it))
}

/// A line of signs between samples.
fn is_rule(line: &str) -> bool {
    line.trim().len() > 1 && line.trim().bytes().all(|b| b"-=*#".contains(&b))
}

/// The local and the peer's end of a connection.
type Ends = [(Address, u16); 2];

/// A connection that the samples so far have.
#[derive(Clone, Copy)]
struct Open {
    start: Moment,
    /// Number of the last sample that has it.
    sample: u64,
    /// What the first and the last sample say of it.
    first: Info,
    last: Info,
    is_of_first_sample: bool,
    /// Bytes carried from the first to the second sample, if it is in both.
    carried: Option<f64>,
}

/// A socket whose lines are being read.
struct Socket<'a> {
    location: Location<'a>,
    ends: Ends,
    text: String,
}

/// The samples so far.
#[derive(Default)]
struct Samples<'a> {
    /// Number and time of the last one, and the time from the first to the second in seconds.
    last: Option<(u64, Moment)>,
    interval_s: Option<f64>,
    open: BTreeMap<Ends, Open>,
    /// Connections with their ends.
    ended: Vec<(Ends, Open, Option<Moment>)>,
    socket: Option<Socket<'a>>,
    has_counters: bool,
}

fn read<'a>(first: First<'a>, mut lines: Rest<'a>, draft: &mut Draft) -> Result<(), TraceError> {
    let mut samples = Samples::default();
    draft.each(first, &mut lines, |location, line, draft| samples.line(location, line, draft))?;
    let settled = samples.settle();
    draft.accept(settled)?;
    samples.end_missing();
    samples.finish(lines.location(), draft)
}

impl<'a> Samples<'a> {
    /// Takes a line.
    fn line(
        &mut self,
        location: Location<'a>,
        line: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        if line.starts_with([' ', '\t']) && time(line).is_none() {
            let result = self.append(location, line);
            return draft.accept(result);
        }
        let settled = self.settle();
        draft.accept(settled)?;
        if is_rule(line) || is_header(line) {
            return Ok(());
        }
        if let Some(time) = time(line) {
            // A sample at a wrong time cannot be passed over: its sockets would be those of
            // another.
            return self.begin(location, check_time(location, "time", time)?);
        }
        if self.last.is_none() {
            let expected = "a line with the time before the first socket, in seconds since 1970 (date +%s.%N) or in \
                            ISO 8601 (date -Ins)";
            return Err(location.bad("time", expected, quote(line)));
        }
        let result = self.socket(location, line, draft);
        draft.accept(result)
    }

    /// Adds a line to the present socket.
    fn append(&mut self, location: Location<'a>, line: &str) -> Result<(), TraceError> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        if socket.text.len() + line.len() > MAX_SOCKET_BYTES {
            self.socket = None;
            return Err(location.bad("socket", "at most 1 MiB", "more"));
        }
        // The counters are on the last line, or on the socket's own.
        socket.location = location;
        socket.text.push(' ');
        socket.text.push_str(line);
        Ok(())
    }

    /// Begins a sample.
    fn begin(&mut self, location: Location<'_>, time: Moment) -> Result<(), TraceError> {
        let number = match self.last {
            Some((_, before)) if time < before => {
                let expected = format_args!(
                    "a time from {before} on, that of the sample before (a file for each host)"
                );
                return Err(location.bad("time", expected, time));
            }
            Some((number, before)) => {
                self.interval_s.get_or_insert_with(|| time.since(before));
                number + 1
            }
            None => 0,
        };
        self.end_missing();
        self.last = Some((number, time));
        Ok(())
    }

    /// Ends the connections that the last sample does not have.
    fn end_missing(&mut self) {
        let Some((sample, time)) = self.last else { return };
        let missing = self.open.extract_if(.., |_, open| open.sample < sample);
        self.ended.extend(missing.map(|(ends, open)| (ends, open, Some(time))));
    }

    /// Begins a socket.
    fn socket(
        &mut self,
        location: Location<'a>,
        line: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        match SocketLine::new(location, line)? {
            SocketLine::Other => draft.pass_over(location, NOT_TCP),
            SocketLine::NoConnection => Ok(()),
            SocketLine::Connection { local, peer, rest } => {
                let ends =
                    [end(location, "local", local, draft)?, end(location, "peer", peer, draft)?];
                self.socket = Some(Socket { location, ends, text: rest.join(" ") });
                Ok(())
            }
        }
    }

    /// Takes the socket whose lines have been read.
    fn settle(&mut self) -> Result<(), TraceError> {
        let (Some(socket), Some((sample, time))) = (self.socket.take(), self.last) else {
            return Ok(());
        };
        let info = Info::new(socket.location, &socket.text)?;
        self.has_counters |= info.has_counters;
        let fresh = Open {
            start: time,
            sample,
            first: info,
            last: info,
            is_of_first_sample: sample == 0,
            carried: None,
        };
        let open = self.open.entry(socket.ends).or_insert(fresh);
        if open.is_followed_by(&info) {
            let over = std::mem::replace(open, fresh);
            self.ended.push((socket.ends, over, Some(time)));
            return Ok(());
        }
        open.sample = sample;
        open.last.bytes = info.bytes.or(open.last.bytes);
        open.last.cookie = info.cookie.or(open.last.cookie);
        if sample == 1 && open.is_of_first_sample {
            open.carried = Some(open.since_first().iter().sum());
        }
        Ok(())
    }

    /// Hands all connections on.
    fn finish(mut self, location: Location<'_>, draft: &mut Draft) -> Result<(), TraceError> {
        let last = self.last.map(|(_, time)| time);
        let open = std::mem::take(&mut self.open);
        self.ended.extend(open.into_iter().map(|(ends, open)| (ends, open, None)));
        self.ended.sort_by_key(|(_, open, _)| open.start);
        for (ends, open, end) in &self.ended {
            let was_open = self.interval_s.is_some_and(|s| open.was_open_before(s));
            let bytes = match open.last.bytes.filter(|_| self.has_counters) {
                Some(_) if was_open && open.carried.is_none() => [None; 2],
                Some(_) if was_open => open.since_first().map(Some),
                Some(bytes) => bytes.map(Some),
                None => {
                    draft.repairs.without_counters += 1;
                    [None; 2]
                }
            };
            draft.repairs.open_before += u64::from(was_open);
            // Both ends may show it: if bytes do not tell the direction, the end with the higher
            // port is the client.
            let is_turned = bytes[0] == bytes[1] && ends[0].1 < ends[1].1;
            let ends = if is_turned { [ends[1], ends[0]] } else { *ends };
            let connection = Connection {
                end: *end,
                seen_until: last,
                ports: ends.map(|(_, port)| port),
                bytes,
                ..Connection::new(open.start, TCP, ends.map(|(host, _)| host))
            };
            draft.push(location, connection)?;
        }
        Ok(())
    }
}

impl Open {
    /// Whether a socket with the same ends is that of a later connection.
    fn is_followed_by(&self, info: &Info) -> bool {
        let is_other = |before: Option<u64>, now: Option<u64>| {
            before.is_some() && now.is_some() && before != now
        };
        let (Some(before), Some(now)) = (self.last.bytes, info.bytes) else {
            return is_other(self.last.cookie, info.cookie);
        };
        is_other(self.last.cookie, info.cookie)
            || before.iter().zip(now).any(|(before, now)| now < *before)
    }

    /// Bytes sent and received since the first sample that has it.
    fn since_first(&self) -> [f64; 2] {
        let [first, last] = [self.first, self.last].map(|it| it.bytes.unwrap_or([0.0; 2]));
        [last[0] - first[0], last[1] - first[1]]
    }

    /// Whether it was open before the first sample, so that its counters are older; `interval_s` is
    /// the time to the second one.
    fn was_open_before(&self, interval_s: f64) -> bool {
        let before: f64 = self.first.bytes.unwrap_or_default().iter().sum();
        let most = self.carried.unwrap_or(FASTEST * interval_s);
        self.is_of_first_sample && before > 0.0 && (self.first.age_s >= interval_s || before > most)
    }
}

/// Reads `10.0.0.1:80` or `[::1]:80`.
fn end(
    location: Location<'_>,
    field: &str,
    text: &str,
    draft: &mut Draft,
) -> Result<(Address, u16), TraceError> {
    let Some((host, port_text)) = text.rsplit_once(':') else {
        return Err(location.bad(field, "ADDRESS:PORT", quote(text)));
    };
    let is_name = port_text.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_name {
        return Err(location.bad(field, "a port as a number (ss -n)", quote(port_text)));
    }
    let host = host.replace(['[', ']'], "");
    Ok((draft.host(location, field, &host)?, port(location, field, port_text)?))
}
