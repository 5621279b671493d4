//! Traffic control by netlink: requests as the kernel reads them (`linux/rtnetlink.h`,
//! `linux/pkt_sched.h`, `linux/pkt_cls.h`), and their socket. No maintained crate has the options
//! of HTB.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice, recv, sendto,
    socket_with,
};

use crate::progress::Ends;

/// Type of a request.
#[derive(Debug, Clone, Copy)]
#[repr(u16)]
pub enum Request {
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

/// The object of a request in a device's tree: `tcmsg` without the device.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcObject {
    pub handle: u32,
    pub parent: u32,
    pub info: u32,
}

/// Encoded requests, one after the other.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each request begins.
    begins: Vec<usize>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// Adds a request about `object`; `options` writes the options of its `kind`.
    pub fn add(
        &mut self,
        request: Request,
        device: i32,
        object: TcObject,
        kind: &str,
        options: impl FnOnce(&mut Attributes<'_>),
    ) {
        let flags = match request {
            Request::NewQdisc | Request::NewClass => REQUEST | CREATE | REPLACE,
            Request::NewFilter => REQUEST | CREATE,
            Request::GetQdisc => REQUEST | DUMP,
            _ => REQUEST,
        };
        let begin = self.bytes.len();
        let out = &mut self.bytes;
        self.begins.push(begin);
        // The length is set below, the sequence number when the request is sent.
        out.extend([0; 4]);
        out.extend((request as u16).to_ne_bytes());
        out.extend(flags.to_ne_bytes());
        out.extend([0; 8]);
        // The address family, and padding.
        out.extend([0; 4]);
        out.extend(device.to_ne_bytes());
        for number in [object.handle, object.parent, object.info] {
            out.extend(number.to_ne_bytes());
        }
        let mut top = Attributes { out };
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

/// Writes the attributes of a request.
pub struct Attributes<'a> {
    out: &'a mut Vec<u8>,
}

impl Attributes<'_> {
    pub fn attribute(&mut self, name: u16, value: &[u8]) {
        self.out.extend((4 + value.len() as u16).to_ne_bytes());
        self.out.extend(name.to_ne_bytes());
        self.out.extend(value);
        self.out.resize(self.out.len().next_multiple_of(4), 0);
    }

    fn nested(&mut self, name: u16, inner: impl FnOnce(&mut Attributes<'_>)) {
        let begin = self.out.len();
        self.attribute(name, &[]);
        inner(&mut Attributes { out: self.out });
        let length = (self.out.len() - begin) as u16;
        self.out[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
    }

    /// HTB qdisc: `default` is the minor number of the class of packets that match no filter.
    pub fn htb(&mut self, default: u32) {
        const INIT: u16 = 2;
        // Version, rate2quantum (unused: each class sets its quantum), default, debug, direct
        // packets.
        self.numbers(INIT, &[3, 10, default, 0, 0]);
    }

    /// HTB class: guaranteed and maximum bytes per second. Classes with a lower `prio` borrow
    /// first.
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

    /// `bfifo` qdisc: its length in bytes.
    pub fn fifo(&mut self, limit: u32) {
        // The number stands alone, without an attribute header.
        self.out.extend(limit.to_ne_bytes());
    }

    /// u32 filter that is a hash table of 256 buckets.
    pub fn table(&mut self) {
        const DIVISOR: u16 = 4;
        self.numbers(DIVISOR, &[256]);
    }

    /// u32 filter that looks TCP packets up in a table, by the low byte of their source port.
    pub fn look_up(&mut self, table: u32, is_v6: bool) {
        const LINK: u16 = 3;
        self.numbers(LINK, &[table]);
        let ports = ports_at(is_v6);
        // IPv4: version 4 and a header without options; then the protocol.
        let v4 = [key(0xff00_0000, 0x4500_0000, 0), key(0x00ff_0000, 0x0006_0000, 8)];
        let v6 = [key(0x0000_ff00, 0x0000_0600, 4)];
        let keys: &[[u8; 16]] = if is_v6 { &v6 } else { &v4 };
        self.selector(0, keys, ports as i16, 0x00ff_0000);
    }

    /// u32 filter in a bucket: leads the packets of one connection to a class.
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
        // offmask, off, offoff: no bytes are skipped.
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

/// A key of a u32 filter: compares the bits of `mask` in the word at byte `at` of the IP header.
fn key(mask: u32, value: u32, at: i32) -> [u8; 16] {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&mask.to_be_bytes());
    key[4..8].copy_from_slice(&value.to_be_bytes());
    key[8..12].copy_from_slice(&at.to_ne_bytes());
    key
}

/// Offset of TCP's ports in the packet.
fn ports_at(is_v6: bool) -> i32 {
    if is_v6 { 40 } else { 20 }
}

/// Bytes that a class sends before the next class of the same priority may borrow: a packet before
/// segmentation.
const QUANTUM: u32 = 65_536;

/// How long a class may save up capacity, in seconds. On a busy machine the kernel's timers are
/// late, and without savings that time would be lost. Sockets send only slightly faster than the
/// class, so savings do not leave in a burst.
const BURST_S: f64 = 0.02;
/// Bytes of a packet without offload.
const PACKET: f64 = 1600.0;

/// The burst of a class, in the kernel's unit of 64 ns.
fn ticks(rate: u64) -> u32 {
    let seconds = BURST_S + PACKET / rate as f64;
    (seconds * 1e9 / 64.0) as u32
}

/// A netlink socket.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    /// Sequence number of the next request.
    next: u32,
    buffer: Vec<u8>,
}

/// Maximum time for an answer. The kernel answers at once or never.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of requests in a packet: both they and their answers fit into a socket's default
/// buffers.
const MAX_REQUESTS: usize = 256;

impl Netlink {
    pub fn open() -> io::Result<Netlink> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        // Protocol 0 of this family is that of routes and queues.
        let socket = socket_with(family, SocketType::RAW, flags, None)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Netlink { socket, next: 1, buffer: vec![0; 32 << 10] })
    }

    /// The index of a device.
    pub fn device(&self, name: &str) -> io::Result<i32> {
        let any = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(netdevice::name_to_index(&any, name)? as i32)
    }

    /// Sends requests, which the kernel carries out in order. Returns the first error; the kernel
    /// carries out the other requests all the same.
    pub fn send(&mut self, batch: &mut Batch) -> io::Result<()> {
        let mut failed = Ok(());
        let total = batch.begins.len();
        for first in (0..total).step_by(MAX_REQUESTS) {
            let behind = (first + MAX_REQUESTS).min(total);
            for request in first..behind {
                let number = self.next + (request - first) as u32;
                batch.set(request, 8, &number.to_ne_bytes());
            }
            // The kernel answers the last request in any case, the others only if they fail.
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

    /// Kind and handle of a device's root queueing discipline, if one was configured.
    pub fn root(&mut self, device: i32) -> io::Result<Option<(String, u32)>> {
        let mut batch = Batch::default();
        batch.add(Request::GetQdisc, device, TcObject::default(), "", |_| {});
        let number = self.next;
        self.next += 1;
        batch.set(0, 8, &number.to_ne_bytes());
        let to = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, &batch.bytes, SendFlags::empty(), &to)?;
        let mut root = None;
        self.await_answer(number, |kind, body| {
            if kind != Request::NewQdisc as u16 || body.len() < TC {
                return;
            }
            let (handle, parent) = (number_at(body, 8), number_at(body, 12));
            // The default one, which the kernel has made, has no handle.
            if number_at(body, 4) == device as u32 && parent == ROOT && handle != 0 {
                root = Some((kind_of(&body[TC..]), handle));
            }
        })??;
        Ok(root)
    }

    /// Reads answers, up to the one to the request numbered `last`. The outer error is the
    /// socket's, the inner one the kernel's.
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
                    // Answers to a request that timed out are skipped.
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
