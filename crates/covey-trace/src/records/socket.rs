//! The text that `ss` prints about one socket.

use std::borrow::Cow;

use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_BYTES;

/// Names of sockets in the column `Netid`, but for those of TCP.
const OTHER_SOCKETS: [&str; 11] =
    ["udp", "raw", "nl", "icmp", "icmp6", "sctp", "mptcp", "dccp", "tipc", "xdp", "???"];

/// A socket by its line: `NETID STATE RECV-Q SEND-Q LOCAL PEER`, of which the first two may be
/// missing, and whatever options add behind the peer.
pub(super) enum SocketLine<'a> {
    /// A connection.
    Connection { local: &'a str, peer: &'a str, rest: Vec<&'a str> },
    /// One that listens, is over, or is not yet open.
    NoConnection,
    /// No socket of TCP.
    Other,
}

impl SocketLine<'_> {
    pub fn new<'a>(location: Location<'_>, line: &'a str) -> Result<SocketLine<'a>, TraceError> {
        let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let netid = words.first().copied().unwrap_or_default();
        if OTHER_SOCKETS.contains(&netid)
            || ["u_", "p_", "v_"].iter().any(|it| netid.starts_with(it))
        {
            return Ok(SocketLine::Other);
        }
        let queues = words.iter().position(|word| is_number(word)).unwrap_or(words.len());
        let state = queues.checked_sub(1).map_or("ESTAB", |last| words[last]);
        let [_, _, local, peer, rest @ ..] = &words[queues..] else {
            let expected =
                "STATE RECV-Q SEND-Q LOCAL PEER, or a time as date +%s.%N or date -Ins prints it";
            return Err(location.bad("socket", expected, quote(line)));
        };
        let is_no_connection =
            matches!(state, "LISTEN" | "TIME-WAIT" | "UNCONN" | "CLOSED" | "SYN-SENT" | "SYN-RECV");
        if is_no_connection || peer.ends_with(":*") {
            return Ok(SocketLine::NoConnection);
        }
        Ok(SocketLine::Connection { local, peer, rest: rest.to_vec() })
    }
}

/// What `ss` says of a connection, on its line or on those below.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Info {
    /// Bytes sent once and received since the connection was opened; nothing without `-i`.
    pub bytes: Option<[f64; 2]>,
    /// Whether there is any counter of bytes. Linux before 4.1 has none.
    pub has_counters: bool,
    /// The connection is at least so old.
    pub age_s: f64,
    /// The kernel's number of the socket (`-e`).
    pub cookie: Option<u64>,
}

/// Words of `-i` that every connection has, before their colons.
const INFO: [&str; 7] = ["rto", "mss", "cwnd", "rtt", "wscale", "segs_out", "segs_in"];

impl Info {
    /// By the words behind the peer and on the lines below. Those of other options are ignored.
    pub fn new(location: Location<'_>, text: &str) -> Result<Info, TraceError> {
        let mut info = Info::default();
        let mut has_info = false;
        // Bytes sent, acknowledged, sent again and received.
        const COUNTERS: [&str; 4] =
            ["bytes_sent", "bytes_acked", "bytes_retrans", "bytes_received"];
        let mut counters = [None; 4];
        for word in without_processes(text).split_ascii_whitespace() {
            let Some((name, value)) = word.split_once(':') else { continue };
            if let Some(place) = COUNTERS.iter().position(|it| *it == name) {
                let bytes = value.parse().ok().filter(|bytes| (0.0..=MAX_BYTES).contains(bytes));
                counters[place] =
                    Some(bytes.ok_or_else(|| location.bad(name, "bytes", quote(value)))?);
                info.has_counters = true;
            }
            match name {
                "busy" | "lastsnd" | "lastrcv" | "lastack" => {
                    let ms = value.split(['m', '(']).next().and_then(|ms| ms.parse::<f64>().ok());
                    info.age_s = info.age_s.max(ms.map_or(0.0, |ms| ms / 1e3));
                }
                "sk" => info.cookie = u64::from_str_radix(value, 16).ok(),
                name => has_info |= INFO.contains(&name),
            }
        }
        let [sent, acked, again, received] = counters;
        if has_info || info.has_counters {
            let sent: f64 = match (sent, acked) {
                (Some(sent), _) => sent - again.unwrap_or(0.0),
                // The first acknowledged byte is that of the handshake.
                (None, acked) => acked.unwrap_or(0.0) - 1.0,
            };
            info.bytes = Some([sent.max(0.0), received.unwrap_or(0.0)]);
        }
        Ok(info)
    }
}

/// A text without `users:((…))`: names of processes may look like anything.
fn without_processes(text: &str) -> Cow<'_, str> {
    let Some((before, rest)) = text.split_once("users:((") else { return Cow::Borrowed(text) };
    let after = rest.split_once("))").map_or("", |(_, after)| after);
    Cow::Owned(format!("{before} {after}"))
}

#[cfg(test)]
mod tests {
    use super::Info;
    use crate::error::Location;

    fn info(text: &str) -> Info {
        Info::new(Location { name: "f", line: 1 }, text).unwrap()
    }

    #[test]
    fn words_of_any_options() {
        let text = "users:((\"bytes_sent:7 x\",pid=77,fd=4)) timer:(on,200ms,0) uid:0 ino:6154 sk:1f cgroup:/a.b <-> \
                    skmem:(r0,rb131072,t0) ts sack cubic rto:204 rtt:0.1/0.05 bytes_sent:900 bytes_retrans:100 \
                    bytes_acked:700 bytes_received:5 busy:220ms(50.0%) lastsnd:1500";
        let info = info(text);
        assert_eq!(info.bytes, Some([800.0, 5.0]));
        assert_eq!((info.age_s, info.cookie, info.has_counters), (1.5, Some(0x1f), true));
    }

    #[test]
    fn without_counters() {
        assert_eq!(
            info("users:((\"a\",pid=1,fd=1)) uid:1000 timer:(keepalive,1min,0)").bytes,
            None
        );
        let old = info("cubic rto:204 mss:1448 cwnd:10");
        assert_eq!((old.bytes, old.has_counters), (Some([0.0; 2]), false));
    }
}
