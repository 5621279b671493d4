//! Traffic control by netlink: requests as the kernel reads them (`linux/rtnetlink.h`,
//! `linux/pkt_sched.h`, `linux/pkt_cls.h`), and the socket that they go through. No crate that is kept
//! well has HTB's options.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice, recv, sendto,
    socket_with,
};

/// What a request asks for.
#[derive(Debug, Clone, Copy)]
#[repr(u16)]
pub enum Kind {
    NewQdisc = 36,
    DeleteQdisc = 37,
    GetQdisc = 38,
    NewClass = 40,
    DeleteClass = 41,
    NewFilter = 44,
    DeleteFilter = 45,
}

const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
const DUMP: u16 = 0x300;
const REPLACE: u16 = 0x100;
const CREATE: u16 = 0x400;

/// Types of answers.
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// Lengths of `nlmsghdr` and `tcmsg`.
const HEADER: usize = 16;
const TC: usize = 20;

/// The parent of a device's first queueing discipline.
pub const ROOT: u32 = 0xffff_ffff;

/// Attributes of `tcmsg`.
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;

/// Where in a device's tree a request is about: `tcmsg` without the device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    pub handle: u32,
    pub parent: u32,
    pub info: u32,
}

/// Requests, one after the other.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each begins.
    begins: Vec<usize>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// Adds a request about `place`; `options` writes those of its `kind`.
    pub fn add(
        &mut self,
        what: Kind,
        device: i32,
        place: Place,
        kind: &str,
        options: impl FnOnce(&mut Options<'_>),
    ) {
        let flags = match what {
            Kind::NewQdisc | Kind::NewClass => REQUEST | CREATE | REPLACE,
            Kind::NewFilter => REQUEST | CREATE,
            Kind::GetQdisc => REQUEST | DUMP,
            _ => REQUEST,
        };
        let begin = self.bytes.len();
        let out = &mut self.bytes;
        self.begins.push(begin);
        // The length, and the number that answers name, come later.
        out.extend([0; 4]);
        out.extend((what as u16).to_ne_bytes());
        out.extend(flags.to_ne_bytes());
        out.extend([0; 8]);
        // The family, and what keeps the rest aligned.
        out.extend([0; 4]);
        out.extend(device.to_ne_bytes());
        for number in [place.handle, place.parent, place.info] {
            out.extend(number.to_ne_bytes());
        }
        let mut top = Options { out };
        if !kind.is_empty() {
            let text: Vec<u8> = kind.bytes().chain([0]).collect();
            top.attribute(TCA_KIND, &text);
            top.nested(TCA_OPTIONS, options);
        }
        let length = (self.bytes.len() - begin) as u32;
        self.bytes[begin..begin + 4].copy_from_slice(&length.to_ne_bytes());
    }

    fn set(&mut self, request: usize, at: usize, bytes: &[u8]) {
        let begin = self.begins[request] + at;
        self.bytes[begin..begin + bytes.len()].copy_from_slice(bytes);
    }
}

/// Attributes under way.
pub struct Options<'a> {
    out: &'a mut Vec<u8>,
}

impl Options<'_> {
    pub fn attribute(&mut self, name: u16, value: &[u8]) {
        self.out.extend((4 + value.len() as u16).to_ne_bytes());
        self.out.extend(name.to_ne_bytes());
        self.out.extend(value);
        self.out.resize(self.out.len().next_multiple_of(4), 0);
    }

    fn nested(&mut self, name: u16, inner: impl FnOnce(&mut Options<'_>)) {
        let begin = self.out.len();
        self.attribute(name, &[]);
        inner(&mut Options { out: self.out });
        let length = (self.out.len() - begin) as u16;
        self.out[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
    }

    /// Of an HTB qdisc: the minor number of the class for packets that no filter knows.
    pub fn htb(&mut self, default: u32) {
        const INIT: u16 = 2;
        // Version, rate2quantum (not used: classes say their quantum), default, debug, direct packets.
        self.numbers(INIT, &[3, 10, default, 0, 0]);
    }

    /// Of an HTB class: bytes per second that it has for sure, and with what others leave; a lower
    /// `prio` gets of that first.
    pub fn htb_class(&mut self, rate: f64, ceil: f64, prio: u32) {
        const PARAMETERS: u16 = 1;
        const RATE: u16 = 6;
        const CEIL: u16 = 7;
        let mut parameters = Vec::with_capacity(44);
        let [rate, ceil] = [rate, ceil].map(|rate| (rate as u64).max(1));
        for rate in [rate, ceil] {
            // cell_log, linklayer (Ethernet: the kernel needs no table), overhead, cell_align, mpu.
            parameters.extend([0, 1, 0, 0, 0, 0, 0, 0]);
            parameters.extend(u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
        }
        for number in [ticks(rate), ticks(ceil), QUANTUM, 0, prio] {
            parameters.extend(number.to_ne_bytes());
        }
        self.attribute(PARAMETERS, &parameters);
        for (name, rate) in [(RATE, rate), (CEIL, ceil)] {
            if rate > u64::from(u32::MAX) {
                self.attribute(name, &rate.to_ne_bytes());
            }
        }
    }

    /// Of a `bfifo`: the bytes that it holds.
    pub fn fifo(&mut self, limit: u32) {
        // Not in an attribute: the options are the number.
        self.out.extend(limit.to_ne_bytes());
    }

    /// Of a u32 filter that is a table of 256 buckets.
    pub fn table(&mut self) {
        const DIVISOR: u16 = 4;
        self.numbers(DIVISOR, &[256]);
    }

    /// Of a u32 filter that has packets of TCP looked up in a table, by the low byte of their source port.
    pub fn look_up(&mut self, table: u32, is_v6: bool) {
        const LINK: u16 = 3;
        self.numbers(LINK, &[table]);
        let ports = ports_at(is_v6);
        // IPv4: version 4 and a header without options; the protocol.
        let v4 = [key(0xff00_0000, 0x4500_0000, 0), key(0x00ff_0000, 0x0006_0000, 8)];
        let v6 = [key(0x0000_ff00, 0x0000_0600, 4)];
        let keys: &[[u8; 16]] = if is_v6 { &v6 } else { &v4 };
        self.selector(0, keys, ports as i16, 0x00ff_0000);
    }

    /// Of a u32 filter in a bucket: packets of one connection go to a class.
    pub fn connection(&mut self, class: u32, bucket: u32, ends: &Ends) {
        const CLASS: u16 = 1;
        const HASH: u16 = 2;
        const TERMINAL: u8 = 1;
        self.numbers(CLASS, &[class]);
        self.numbers(HASH, &[bucket]);
        let mut keys = Vec::new();
        let mut address = |ip: IpAddr, at: i32| {
            let bytes = match ip {
                IpAddr::V4(ip) => ip.octets().to_vec(),
                IpAddr::V6(ip) => ip.octets().to_vec(),
            };
            for (k, word) in bytes.chunks_exact(4).enumerate() {
                let word = word.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
                keys.push(key(u32::MAX, word, at + 4 * k as i32));
            }
        };
        let (from_at, to_at) = if ends.is_v6() { (8, 24) } else { (12, 16) };
        address(ends.from.ip(), from_at);
        address(ends.to.ip(), to_at);
        let ports = u32::from(ends.from.port()) << 16 | u32::from(ends.to.port());
        keys.push(key(u32::MAX, ports, ports_at(ends.is_v6())));
        self.selector(TERMINAL, &keys, 0, 0);
    }

    fn selector(&mut self, flags: u8, keys: &[[u8; 16]], hash_at: i16, hash_mask: u32) {
        const SELECTOR: u16 = 5;
        let mut bytes = vec![flags, 0, keys.len() as u8, 0];
        // offmask, off, offoff: nothing is skipped.
        bytes.extend([0; 6]);
        bytes.extend(hash_at.to_ne_bytes());
        bytes.extend(hash_mask.to_be_bytes());
        keys.iter().for_each(|key| bytes.extend(key));
        self.attribute(SELECTOR, &bytes);
    }

    fn numbers(&mut self, name: u16, numbers: &[u32]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        self.attribute(name, &bytes);
    }
}

/// A key of a u32 filter: the bits of `mask` of the word at `at` behind the start of the IP header.
fn key(mask: u32, value: u32, at: i32) -> [u8; 16] {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&mask.to_be_bytes());
    key[4..8].copy_from_slice(&value.to_be_bytes());
    key[8..12].copy_from_slice(&at.to_ne_bytes());
    key
}

/// Where TCP's ports are.
fn ports_at(is_v6: bool) -> i32 {
    if is_v6 { 40 } else { 20 }
}

/// Bytes that a class sends before the next of the same priority that borrows: a packet that is still to
/// be cut into segments.
const QUANTUM: u32 = 65_536;

/// For how long a class may save up what it does not send: on a machine that is busy the kernel's timers
/// are late, and what they are late by would be lost. Sockets send little faster than the class does, so
/// what was saved up does not go out at once.
const BURST_S: f64 = 0.02;
/// A packet without offload.
const PACKET: f64 = 1600.0;

/// The kernel's unit of time for bursts is 64 ns.
fn ticks(rate: u64) -> u32 {
    let seconds = BURST_S + PACKET / rate as f64;
    (seconds * 1e9 / 64.0) as u32
}

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Where packets come from.
    pub from: SocketAddr,
    /// Where they go.
    pub to: SocketAddr,
}

impl Ends {
    /// Whether packets are those of IPv6.
    pub fn is_v6(&self) -> bool {
        self.from.is_ipv6()
    }
}

/// A socket to the kernel.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    next: u32,
    buffer: Vec<u8>,
}

/// How long the kernel may take. It answers at once, or not at all.
const PATIENCE: Duration = Duration::from_secs(5);
/// Requests in one packet: these fit into the buffers that a socket has by default, and their answers too.
const MOST: usize = 256;

impl Netlink {
    pub fn open() -> io::Result<Netlink> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        // Protocol 0 of this family is that of routes and queues.
        let socket = socket_with(family, SocketType::RAW, flags, None)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Netlink { socket, next: 1, buffer: vec![0; 32 << 10] })
    }

    /// The number of a device.
    pub fn device(&self, name: &str) -> io::Result<i32> {
        let any = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(netdevice::name_to_index(&any, name)? as i32)
    }

    /// Has requests carried out, in order. The first that fails is the error; the others have been
    /// carried out nonetheless.
    pub fn carry_out(&mut self, batch: &mut Batch) -> io::Result<()> {
        let mut failed = Ok(());
        let total = batch.begins.len();
        for first in (0..total).step_by(MOST) {
            let behind = (first + MOST).min(total);
            for request in first..behind {
                let number = self.next + (request - first) as u32;
                batch.set(request, 8, &number.to_ne_bytes());
            }
            // The last one is answered in any case, the others if they fail.
            let [low, high] = ACK.to_ne_bytes();
            let at = batch.begins[behind - 1] + 6;
            batch.bytes[at] |= low;
            batch.bytes[at + 1] |= high;
            let end = batch.begins.get(behind).copied().unwrap_or(batch.bytes.len());
            let bytes = &batch.bytes[batch.begins[first]..end];
            sendto(&self.socket, bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
            let last = self.next + (behind - first) as u32 - 1;
            self.next = last.wrapping_add(1).max(1);
            failed = failed.and(self.await_answer(last, |_, _| {})?);
        }
        *batch = Batch::default();
        failed
    }

    /// The first queueing discipline of a device, if it was configured: its kind and handle.
    pub fn root(&mut self, device: i32) -> io::Result<Option<(String, u32)>> {
        let mut batch = Batch::default();
        batch.add(Kind::GetQdisc, device, Place::default(), "", |_| {});
        let number = self.next;
        self.next += 1;
        batch.set(0, 8, &number.to_ne_bytes());
        let to = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, &batch.bytes, SendFlags::empty(), &to)?;
        let mut root = None;
        self.await_answer(number, |kind, body| {
            if kind != Kind::NewQdisc as u16 || body.len() < TC {
                return;
            }
            let (handle, parent) = (number_at(body, 8), number_at(body, 12));
            // One that the system has made by itself has no handle.
            if number_at(body, 4) == device as u32 && parent == ROOT && handle != 0 {
                root = Some((kind_of(&body[TC..]), handle));
            }
        })??;
        Ok(root)
    }

    /// Reads what the kernel says, up to the answer to the request of this number. The outer error is
    /// that of the socket, the inner one the kernel's.
    fn await_answer(
        &mut self,
        last: u32,
        mut each: impl FnMut(u16, &[u8]),
    ) -> io::Result<io::Result<()>> {
        let mut failed = Ok(());
        loop {
            let (_, count) = recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
            let mut rest = &self.buffer[..count];
            while rest.len() >= HEADER {
                let length = (number_at(rest, 0) as usize).clamp(HEADER, rest.len());
                let kind = u16::from_ne_bytes([rest[4], rest[5]]);
                let (number, body) = (number_at(rest, 8), &rest[HEADER..length]);
                match kind {
                    ERROR if body.len() >= 4 => {
                        let code = number_at(body, 0) as i32;
                        if code != 0 && failed.is_ok() {
                            failed = Err(io::Error::from_raw_os_error(-code));
                        }
                        if number == last {
                            return Ok(failed);
                        }
                    }
                    DONE if number == last => return Ok(failed),
                    // What is left of a request that was given up is passed over.
                    _ if number == last => each(kind, body),
                    _ => {}
                }
                rest = &rest[length.next_multiple_of(4).min(rest.len())..];
            }
        }
    }
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|it| it.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

/// The text of the attribute `TCA_KIND`.
fn kind_of(mut attributes: &[u8]) -> String {
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let length = length.clamp(4, attributes.len());
        if u16::from_ne_bytes([attributes[2], attributes[3]]) == TCA_KIND {
            let text = attributes[4..length].split(|byte| *byte == 0).next().unwrap_or_default();
            return String::from_utf8_lossy(text).into_owned();
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    String::new()
}
