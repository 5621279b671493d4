//! Numbers as little-endian bytes.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::flow::{FlowId, FlowKey, FlowName};

/// The most bytes that a flow can have, 8 PiB: up to here `f64` holds every number of bytes, and
/// sums over all flows stay finite. A message that says more is refused.
pub const MAX_BYTES: f64 = 9_007_199_254_740_992.0;

/// The number of bytes of a host's address. It is that of IPv6; an address of IPv4 is mapped into
/// it.
pub(crate) const IP: usize = 16;

/// The bytes of an address and a port.
pub(crate) const ADDRESS: usize = IP + 2;

/// Takes numbers from the front of a body. `None` where it is too short.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Reader<'a> {
        Reader { rest: body }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(front)
    }

    /// All bytes that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number that is not below zero; infinity is allowed, NaN is not.
    pub(crate) fn amount(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes).filter(|number| *number >= 0.0)
    }

    /// A finite [`Reader::amount`].
    pub(crate) fn finite(&mut self) -> Option<f64> {
        self.amount().filter(|number| number.is_finite())
    }

    /// Bytes that a flow has: an [`Reader::amount`] of at most [`MAX_BYTES`].
    pub(crate) fn volume(&mut self) -> Option<f64> {
        self.amount().filter(|bytes| *bytes <= MAX_BYTES)
    }

    pub(crate) fn name(&mut self) -> Option<FlowName> {
        Some(FlowName::decoded(self.u64()?, self.u32()?))
    }

    /// The coflow and the index of a flow, where a flow has no other name. Any index is one.
    pub(crate) fn key(&mut self) -> Option<FlowKey> {
        Some(FlowKey { coflow: self.u64()?, flow: self.u32()? })
    }

    pub(crate) fn id(&mut self) -> Option<FlowId> {
        self.u64().map(FlowId)
    }

    /// An address of a host, in [`IP`] bytes.
    pub(crate) fn ip(&mut self) -> Option<IpAddr> {
        Some(Ipv6Addr::from(self.array::<IP>()?).to_canonical())
    }

    /// An address of a host, and a port.
    pub(crate) fn address(&mut self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.ip()?, self.u16()?))
    }

    /// Reads `count` items of `size` bytes each. Before it takes memory for them, it checks that
    /// the body has so many bytes.
    pub(crate) fn items<T>(
        &mut self,
        count: u32,
        size: usize,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = count as usize;
        if self.rest.len() / size < count {
            return None;
        }
        (0..count).map(|_| item(self)).collect()
    }
}

/// Appends numbers to a body.
pub(crate) trait Write {
    fn u16(&mut self, number: u16);
    fn u32(&mut self, number: u32);
    fn u64(&mut self, number: u64);
    fn f64(&mut self, number: f64);
    fn name(&mut self, name: impl Into<FlowName>);
    fn ip(&mut self, ip: IpAddr);
    fn address(&mut self, address: SocketAddr);
}

impl Write for Vec<u8> {
    fn u16(&mut self, number: u16) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    fn f64(&mut self, number: f64) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    fn name(&mut self, name: impl Into<FlowName>) {
        let (number, index) = name.into().encoded();
        self.u64(number);
        self.u32(index);
    }

    fn ip(&mut self, ip: IpAddr) {
        let ip = match ip {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        self.extend_from_slice(&ip.octets());
    }

    fn address(&mut self, address: SocketAddr) {
        self.ip(address.ip());
        self.u16(address.port());
    }
}
