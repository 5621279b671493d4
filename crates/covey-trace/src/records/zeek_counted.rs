//! What Zeek counts of a connection, and what of it is possible.

use super::connection::Connection;
use super::draft::Draft;
use super::fields::protocol;
use crate::error::{Location, TraceError};
use crate::moment::Moment;

/// The reason to pass over a record.
pub(super) const OTHER_LOG: &str = "lines of another log of Zeek";

/// What Zeek counts of a connection, of the originator and the responder.
pub(super) struct Counted {
    /// Bytes by sequence numbers.
    pub bytes: [Option<f64>; 2],
    /// Bytes of the packets, with their headers.
    pub ip_bytes: [Option<f64>; 2],
    /// Bytes in gaps of the sequence numbers, of both.
    pub missed: Option<f64>,
}

impl Counted {
    /// The bytes of a direction that its packets can have carried, and whether that is less than
    /// Zeek says. Without the missed bytes, if that is possible; otherwise as many as the packets
    /// had.
    fn possible(&self, from: usize) -> (Option<f64>, bool) {
        match (self.bytes[from], self.ip_bytes[from]) {
            (Some(bytes), Some(most)) if bytes > most => {
                let present = bytes - self.missed.unwrap_or(0.0);
                let is_possible = self.missed.is_some() && (0.0..=most).contains(&present);
                (Some(if is_possible { present } else { most }), true)
            }
            (bytes, _) => (bytes, false),
        }
    }
}

/// Adds a connection with what Zeek counted.
pub(super) fn add(
    location: Location<'_>,
    connection: Connection,
    duration: Option<Moment>,
    counted: Counted,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let [(sent, is_less), (received, are_less)] = [counted.possible(0), counted.possible(1)];
    if is_less || are_less {
        if draft.is_strict() {
            let field = if is_less { "orig_bytes" } else { "resp_bytes" };
            let from = usize::from(!is_less);
            let most = counted.ip_bytes[from].unwrap_or(0.0);
            let expected = format_args!("at most {most} bytes, those of its packets");
            return Err(location.bad(field, expected, counted.bytes[from].unwrap_or(0.0)));
        }
        draft.repairs.capped += 1;
    }
    let end = duration.and_then(|duration| connection.start.plus(duration));
    draft.push(location, Connection { end, bytes: [sent, received], ..connection })
}

/// Zeek's name of a protocol. One that Zeek does not know counts as number 0.
pub(super) fn protocol_of(location: Location<'_>, text: &str) -> Result<u8, TraceError> {
    if text == "unknown_transport" { Ok(0) } else { protocol(location, "proto", text) }
}
