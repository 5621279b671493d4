//! Flows as a host or a collector of flow records sees them: without sizes and without coflows.

use std::net::{IpAddr, Ipv6Addr};

/// An address of a host, in 128 bits: IPv6 as it is, IPv4 mapped to `::ffff:a.b.c.d`, and the number of a
/// host without an address in `100::/64`, a prefix that no network routes (RFC 6666).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(u128);

impl Address {
    /// The host with this number, for example a port of a trace.
    pub fn host(number: u32) -> Address {
        Address((0x0100_u128 << 112) | u128::from(number))
    }

    /// The address as one number.
    pub fn bits(self) -> u128 {
        self.0
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Address {
        let v6 = match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        Address(v6.to_bits())
    }
}

impl std::fmt::Display for Address {
    /// IPv4 as `a.b.c.d`, a number of a host as that number, and all else as IPv6.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let v6 = Ipv6Addr::from_bits(self.0);
        if self.0 >> 64 == 0x0100 << 48 {
            write!(f, "{}", self.0 as u64)
        } else if let Some(v4) = v6.to_ipv4_mapped() {
            v4.fmt(f)
        } else {
            v6.fmt(f)
        }
    }
}

/// One flow as it is observed: a one-way transfer from a source to a destination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    /// Start in seconds, on any clock that all flows share.
    pub start_s: f64,
    /// The sender of the bytes.
    pub src: Address,
    /// The receiver of the bytes.
    pub dst: Address,
    /// The sender's transport port; 0 if unknown.
    pub sport: u16,
    /// The receiver's transport port; 0 if unknown.
    pub dport: u16,
    /// IANA number of the transport protocol: 6 is TCP, 17 UDP.
    pub protocol: u8,
    /// Statistics of the packets, where known.
    pub packets: Option<PacketStatistics>,
    /// A prior grouping of hosts, where known: the tenant or namespace to which both ends belong.
    pub community: Option<u32>,
}

/// Statistics of the first packets of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacketStatistics {
    /// Mean length, in bytes.
    pub length_mean: f64,
    /// Variance of the length, in bytes².
    pub length_variance: f64,
    /// Mean time between arrivals, in seconds.
    pub gap_mean_s: f64,
    /// Variance of the time between arrivals, in seconds².
    pub gap_variance_s2: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_kinds_differ_and_come_back_as_text() {
        let v4 = Address::from("10.0.0.7".parse::<IpAddr>().expect("IPv4"));
        let v6 = Address::from("fd00::7".parse::<IpAddr>().expect("IPv6"));
        let host = Address::host(7);
        assert_eq!([v4, v6, host].map(|a| a.to_string()), ["10.0.0.7", "fd00::7", "7"]);
    }
}
