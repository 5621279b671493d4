//! A recorded connection, as one flow.

use covey_identify::Address;

use crate::moment::Moment;

/// What a record says of a connection, from its originator to its responder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection {
    pub start: Moment,
    pub end: Option<Moment>,
    /// The last time at which it was still there, if its end is unknown.
    pub seen_until: Option<Moment>,
    pub protocol: u8,
    pub hosts: [Address; 2],
    pub ports: [u16; 2],
    /// Bytes from the originator, and from the responder.
    pub bytes: [Option<f64>; 2],
    /// The number of its label.
    pub label: Option<u32>,
    /// The number of the exporter that recorded it; 0 if unknown.
    pub exporter: u32,
    pub opened: Opened,
    pub counters: Counters,
}

/// Whether the packets of a record opened the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    Unknown,
    /// One had TCP's flag SYN.
    Here,
    /// None had it.
    Before,
}

/// What the bytes of a record count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counters {
    /// All bytes since the start.
    Total,
    /// The bytes since the record before of the same flow, as in NetFlow version 9 and IPFIX.
    Delta,
}

impl Connection {
    /// A connection of which no more is known.
    pub fn new(start: Moment, protocol: u8, hosts: [Address; 2]) -> Connection {
        Connection {
            start,
            end: None,
            seen_until: None,
            protocol,
            hosts,
            ports: [0; 2],
            bytes: [None; 2],
            label: None,
            exporter: 0,
            opened: Opened::Unknown,
            counters: Counters::Total,
        }
    }

    /// The place of the end that sent more bytes; that of the originator if neither did.
    pub fn sender(&self) -> usize {
        usize::from(self.bytes[1].unwrap_or(0.0) > self.bytes[0].unwrap_or(0.0))
    }
}

impl Opened {
    /// By the flags as a collector prints them: letters such as `...AP.SF`, or their number.
    pub fn by_flags(text: &str) -> Opened {
        const SYN: u32 = 2;
        let number = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        match number {
            Some(0) => Opened::Unknown,
            Some(flags) if flags & SYN != 0 => Opened::Here,
            Some(_) => Opened::Before,
            None if text.contains('S') => Opened::Here,
            None if text.contains(|c: char| "AFPRUEC".contains(c)) => Opened::Before,
            None => Opened::Unknown,
        }
    }
}
