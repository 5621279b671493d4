//! A series of samples of `ss -tin`, each below a line with the time:
//!
//! ```text
//! while date +%s.%N; do ss -tin; sleep 0.1; done
//! ```
//!
//! The time is in seconds since 1970, or in ISO 8601. A flow is a connection, in the direction that carried
//! more bytes. It starts with the first sample that has it, and ends with the first that has it no more.
//! Connections of the last sample have no known end. Bytes are those since the connection was opened. If
//! counters fall, another connection has taken the place of the first.

use std::collections::BTreeMap;

use covey_identify::{Address, Observed};

use super::clock::date_and_time;
use super::draft::Draft;
use super::fields::{check_seconds, port};
use super::format::{First, Format};
use super::record::Hidden;
use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_BYTES;
use crate::read::Rest;

pub(super) const FORMAT: Format = Format {
    name: "ss",
    what: "samples of ss -tin, each below a time",
    accepts: |line| {
        time(line).is_some() || line.starts_with("State ") || line.starts_with("ESTAB ")
    },
    read,
};

/// IANA's number of the protocol.
const TCP: u8 = 6;

/// A time on a line of its own.
fn time(line: &str) -> Option<f64> {
    let line = line.trim();
    let is_number = line.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if is_number { line.parse().ok() } else { date_and_time(line) }
}

/// The local and the peer's end of a connection.
type Ends = [(Address, u16); 2];

/// A connection that the samples so far have.
#[derive(Clone, Copy)]
struct Open {
    start_s: f64,
    /// Number of the last sample that has it.
    sample: u64,
    /// Bytes sent and received.
    bytes: [f64; 2],
}

/// The samples so far.
#[derive(Default)]
struct Samples {
    /// Number and time of the last one.
    last: Option<(u64, f64)>,
    open: BTreeMap<Ends, Open>,
    /// Connections with their ends.
    ended: Vec<(Ends, Open, Option<f64>)>,
}

/// A socket whose counters are on the next line.
struct Socket<'a> {
    location: Location<'a>,
    ends: Ends,
    needs_counters: bool,
}

fn read(
    (location, line): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let mut samples = Samples::default();
    let mut socket = None;
    samples.line(location, line, &mut socket, draft)?;
    while let Some((location, line)) = lines.next()? {
        samples.line(location, line, &mut socket, draft)?;
    }
    check_counters(socket)?;
    samples.end_missing();
    let Samples { open, mut ended, .. } = samples;
    ended.extend(open.into_iter().map(|(ends, open)| (ends, open, None)));
    ended.sort_by(|(_, a, _), (_, b, _)| a.start_s.total_cmp(&b.start_s));
    ended
        .into_iter()
        .try_for_each(|(ends, open, end_s)| add(lines.location(), ends, open, end_s, draft))
}

impl Samples {
    /// Takes a line; `socket` is the one that the line before named.
    fn line<'a>(
        &mut self,
        location: Location<'a>,
        line: &str,
        socket: &mut Option<Socket<'a>>,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        if line.starts_with([' ', '\t']) {
            if let Some(Socket { ends, .. }) = socket.take() {
                self.counters(location, ends, line)?;
            }
            return Ok(());
        }
        check_counters(socket.take())?;
        if let Some(time_s) = time(line) {
            check_seconds(location, "time", time_s)?;
            return self.begin(location, time_s);
        }
        let is_header = ["State", "Netid", "Recv-Q"].iter().any(|it| line.starts_with(it));
        if is_header {
            return Ok(());
        }
        if self.last.is_none() {
            let expected = "a line with the time before the first socket (date +%s.%N)";
            return Err(location.bad("time", expected, quote(line)));
        }
        *socket = self.socket(location, line, draft)?;
        Ok(())
    }

    /// Begins a sample.
    fn begin(&mut self, location: Location<'_>, time_s: f64) -> Result<(), TraceError> {
        let number = match self.last {
            Some((_, before_s)) if time_s < before_s => {
                let expected = format_args!("a time from {before_s} on, that of the sample before");
                return Err(location.bad("time", expected, time_s));
            }
            Some((number, _)) => number + 1,
            None => 0,
        };
        self.end_missing();
        self.last = Some((number, time_s));
        Ok(())
    }

    /// Ends the connections that the last sample does not have.
    fn end_missing(&mut self) {
        let Some((sample, time_s)) = self.last else { return };
        let missing = self.open.extract_if(.., |_, open| open.sample < sample);
        self.ended.extend(missing.map(|(ends, open)| (ends, open, Some(time_s))));
    }

    /// Reads `STATE RECV-Q SEND-Q LOCAL PEER`, of which the state may be missing. Gives nothing for a socket
    /// that listens or is over. With `ss -O` the counters follow on the same line.
    fn socket<'a>(
        &mut self,
        location: Location<'a>,
        line: &str,
        draft: &mut Draft,
    ) -> Result<Option<Socket<'a>>, TraceError> {
        let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let queues = words.iter().position(|word| is_number(word)).unwrap_or(words.len());
        let state = queues.checked_sub(1).map_or("ESTAB", |last| words[last]);
        let [_, _, local, peer, rest @ ..] = &words[queues..] else {
            return Err(location.bad("socket", "STATE RECV-Q SEND-Q LOCAL PEER", quote(line)));
        };
        if peer.ends_with(":*") || state == "TIME-WAIT" {
            return Ok(None);
        }
        let ends = [end(location, "local", local, draft)?, end(location, "peer", peer, draft)?];
        if rest.iter().any(|word| word.contains(':')) {
            self.counters(location, ends, &rest.join(" "))?;
            return Ok(None);
        }
        Ok(Some(Socket { location, ends, needs_counters: state == "ESTAB" }))
    }

    /// Reads the counters of a socket.
    fn counters(
        &mut self,
        location: Location<'_>,
        ends: Ends,
        line: &str,
    ) -> Result<(), TraceError> {
        let counter = |name: &str| -> Result<Option<f64>, TraceError> {
            let words = line.split_ascii_whitespace();
            let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
            let value = |text: &str| match text.parse::<f64>() {
                Ok(value) if (0.0..=MAX_BYTES).contains(&value) => Ok(value),
                _ => Err(location.bad(name, "bytes", quote(text))),
            };
            values.next().map(value).transpose()
        };
        let sent = match (counter("bytes_sent")?, counter("bytes_acked")?) {
            (Some(sent), _) => (sent - counter("bytes_retrans")?.unwrap_or(0.0)).max(0.0),
            // The first acknowledged byte is that of the handshake.
            (None, acked) => (acked.unwrap_or(0.0) - 1.0).max(0.0),
        };
        let received = counter("bytes_received")?.unwrap_or(0.0);
        self.seen(ends, [sent, received]);
        Ok(())
    }

    /// The present sample has a connection.
    fn seen(&mut self, ends: Ends, bytes: [f64; 2]) {
        let Some((sample, time_s)) = self.last else { return };
        let fresh = Open { start_s: time_s, sample, bytes };
        let open = self.open.entry(ends).or_insert(fresh);
        if open.bytes.iter().zip(bytes).any(|(before, now)| now < *before) {
            let over = std::mem::replace(open, fresh);
            self.ended.push((ends, over, Some(time_s)));
            return;
        }
        open.sample = sample;
        open.bytes = bytes;
    }
}

/// Refuses a connection without counters: half a record.
fn check_counters(socket: Option<Socket<'_>>) -> Result<(), TraceError> {
    match socket {
        Some(Socket { location, needs_counters: true, .. }) => {
            let expected = "a line with counters below the socket (ss -i)";
            Err(location.bad("counters", expected, "none"))
        }
        _ => Ok(()),
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
    let host = host.replace(['[', ']'], "");
    Ok((draft.host(location, field, &host)?, port(location, field, port_text)?))
}

fn add(
    location: Location<'_>,
    ends: Ends,
    Open { start_s, bytes, .. }: Open,
    end_s: Option<f64>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let from = usize::from(bytes[1] > bytes[0]);
    let ((src, sport), (dst, dport)) = (ends[from], ends[1 - from]);
    let (packets, community) = (None, None);
    let flow = Observed { start_s, src, dst, sport, dport, protocol: TCP, packets, community };
    draft.push(location, flow, Hidden { bytes: Some(bytes[from]), end_s, label: None })
}
