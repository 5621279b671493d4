//! When connections begin (bpf/connects.bpf.c): a connection that waits for its first packets to
//! cross a busy network begins when its program asks for it, not when its first byte has arrived.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use aya::Ebpf;
use aya::maps::{HashMap, MapData, RingBuf};
use aya::programs::{CgroupAttachMode, SockOps};

use crate::bpf::{BpfError, load, map, now_ns, root};
use crate::connection::Begun;

const OBJECT: &[u8] = include_bytes!("../bpf/connects.bpf.o");

/// Bytes of a message: the cookie, the family, both ports, and both addresses.
const MESSAGE: usize = 48;
/// The family of IPv4.
const IPV4: u32 = 2;

/// A connection that has been established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Established {
    /// The socket's cookie.
    pub cookie: u64,
    /// The end of this side.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
}

/// Notes of connections that begin while this is there, in all network namespaces of this machine.
pub struct Connects {
    begun: HashMap<MapData, u64, [u64; 2]>,
    news: RingBuf<MapData>,
    /// The program that takes the notes. It is unloaded when this is dropped.
    _program: Ebpf,
}

impl Connects {
    /// Begins to take notes.
    ///
    /// # Errors
    /// When the kernel cannot do it, or this process may not have it done.
    pub fn new() -> Result<Connects, BpfError> {
        let mut object = load(OBJECT)?;
        let program = object.program_mut("connects").ok_or_else(BpfError::missing)?;
        let program: &mut SockOps = program.try_into().map_err(BpfError::refused)?;
        program.load().map_err(BpfError::refused)?;
        // A link allows others beside it.
        program.attach(root()?, CgroupAttachMode::Single).map_err(BpfError::refused)?;
        let (begun, news) = (map(&mut object, "begun")?, map(&mut object, "news")?);
        Ok(Connects { begun, news, _program: object })
    }

    /// When a connection began, if that was seen and is not forgotten.
    pub fn begun(&self, cookie: u64) -> Option<Begun> {
        let [asked, established] = self.begun.get(&cookie, 0).ok().filter(|it| it[1] > 0)?;
        let now = now_ns();
        let age_us = |at: u64| now.saturating_sub(at) / 1000;
        Some(Begun { asked_us: age_us(asked), established_us: age_us(established) })
    }

    /// The next connection that has been established since this was last called, the oldest first.
    /// With very many some are missing.
    pub fn take_established(&mut self) -> Option<Established> {
        self.news.next().and_then(|message| established(&message))
    }
}

fn established(message: &[u8]) -> Option<Established> {
    let message: &[u8; MESSAGE] = message.try_into().ok()?;
    let word = |at: usize| u32::from_ne_bytes(message[at..at + 4].try_into().expect("four bytes"));
    let half = |at: usize| u16::from_ne_bytes(message[at..at + 2].try_into().expect("two bytes"));
    let cookie = u64::from_ne_bytes(message[..8].try_into().expect("eight bytes"));
    let end = |address: usize, port: usize| {
        let bytes: [u8; 16] = message[address..address + 16].try_into().expect("sixteen bytes");
        let ip = match word(8) {
            IPV4 => IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])),
            _ => IpAddr::V6(Ipv6Addr::from(bytes)),
        };
        SocketAddr::new(ip, half(port))
    };
    Some(Established { cookie, local: end(16, 12), remote: end(32, 14) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_both_families_are_read() {
        let mut message = [0; MESSAGE];
        message[..8].copy_from_slice(&77_u64.to_ne_bytes());
        message[8..12].copy_from_slice(&IPV4.to_ne_bytes());
        message[12..14].copy_from_slice(&5000_u16.to_ne_bytes());
        message[14..16].copy_from_slice(&80_u16.to_ne_bytes());
        message[16..20].copy_from_slice(&[10, 0, 0, 1]);
        message[32..36].copy_from_slice(&[10, 0, 0, 2]);
        let text = |message: &[u8]| {
            established(message).map(|it| (it.cookie, it.local.to_string(), it.remote.to_string()))
        };
        let ends = |local: &str, remote: &str| Some((77, local.to_owned(), remote.to_owned()));
        assert_eq!(text(&message), ends("10.0.0.1:5000", "10.0.0.2:80"));
        message[8..12].copy_from_slice(&10_u32.to_ne_bytes());
        message[16..32].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        message[32..48].copy_from_slice(&Ipv6Addr::from(1 << 64).octets());
        assert_eq!(text(&message), ends("[::1]:5000", "[0:0:0:1::]:80"));
        assert_eq!(text(&message[..40]), None, "a message of another version");
    }
}
