//! Flows as a host or a collector of flow records sees them: without sizes and without coflows.

use std::net::{IpAddr, Ipv6Addr};

/// An address of a host, in 128 bits: IPv6 as it is, IPv4 mapped to `::ffff:a.b.c.d`. A host
/// without an address has a number in `100::/64`, and a host of which only the name is known the
/// number of the name in `100:0:0:1::/64`; no network routes these prefixes (RFC 6666, RFC 9780).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(u128);

/// The first 64 bits of hosts that have numbers.
const HOSTS: u128 = 0x0100_0000_0000_0000;
/// The first 64 bits of hosts that have names.
const NAMES: u128 = HOSTS + 1;

impl Address {
    /// The host with this number, for example a port of a trace.
    pub fn host(number: u32) -> Address {
        Address(HOSTS << 64 | u128::from(number))
    }

    /// The host whose name has this number, in a list that the caller keeps.
    pub fn named(number: u32) -> Address {
        Address(NAMES << 64 | u128::from(number))
    }

    /// The number of the host's name, if the address is one of [`Address::named`].
    pub fn name_number(self) -> Option<u32> {
        (self.0 >> 64 == NAMES).then_some(self.0 as u32)
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
    /// IPv4 as `a.b.c.d`, a number of a host as that number, that of a name as `#7`, and all else
    /// as IPv6.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let v6 = Ipv6Addr::from_bits(self.0);
        if self.0 >> 64 == HOSTS {
            write!(f, "{}", self.0 as u64)
        } else if let Some(number) = self.name_number() {
            write!(f, "#{number}")
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
    /// A prior grouping of flows, where known: the tenant or namespace to which both ends belong,
    /// or what somebody says that knows the application.
    pub community: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_kinds_differ_and_come_back_as_text() {
        let v4 = Address::from("10.0.0.7".parse::<IpAddr>().expect("IPv4"));
        let v6 = Address::from("fd00::7".parse::<IpAddr>().expect("IPv6"));
        let [host, name] = [Address::host(7), Address::named(7)];
        let texts = [v4, v6, host, name].map(|a| a.to_string());
        assert_eq!(texts, ["10.0.0.7", "fd00::7", "7", "#7"]);
        assert_eq!([host, name].map(Address::name_number), [None, Some(7)]);
    }
}
