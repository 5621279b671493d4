//! A connection that carries bytes in both directions, as one flow.

use covey_identify::{Address, Observed};

use super::draft::Draft;
use super::record::Hidden;
use crate::error::{Location, TraceError};

/// A connection, from its originator to its responder.
pub(super) struct Connection {
    pub start_s: f64,
    pub end_s: Option<f64>,
    pub protocol: u8,
    pub hosts: [Address; 2],
    pub ports: [u16; 2],
    /// Bytes from the originator, and from the responder.
    pub bytes: [Option<f64>; 2],
}

impl Connection {
    /// Adds it as one flow, in the direction that carried more bytes; the originator's if neither did.
    pub fn add(self, location: Location<'_>, draft: &mut Draft) -> Result<(), TraceError> {
        let from = usize::from(self.bytes[1].unwrap_or(0.0) > self.bytes[0].unwrap_or(0.0));
        let flow = Observed {
            start_s: self.start_s,
            src: self.hosts[from],
            dst: self.hosts[1 - from],
            sport: self.ports[from],
            dport: self.ports[1 - from],
            protocol: self.protocol,
            packets: None,
            community: None,
        };
        draft.push(
            location,
            flow,
            Hidden { bytes: self.bytes[from], end_s: self.end_s, label: None },
        )
    }
}
