//! The other side of a connection, as far as quotas tell peers apart.

use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The other side of a connection, as far as quotas tell peers apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// An address of IPv4, or the first 64 bits of one of IPv6: a host may use all addresses of
    /// such a network.
    Address(IpAddr),
    /// A user of this host.
    User(u32),
}

impl Peer {
    /// The peer that connects from this address.
    pub fn of(address: SocketAddr) -> Peer {
        Peer::Address(match address.ip().to_canonical() {
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64))),
            ip => ip,
        })
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Address(IpAddr::V6(ip)) => write!(f, "{ip}/64"),
            Peer::Address(ip) => ip.fmt(f),
            Peer::User(id) => write!(f, "user {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_quota_however_many_addresses_it_uses() {
        let peer = |text: &str| Peer::of(text.parse().expect("an address"));
        assert_eq!(peer("10.0.0.1:7"), peer("[::ffff:10.0.0.1]:8"));
        assert_ne!(peer("10.0.0.1:7"), peer("10.0.0.2:7"));
        assert_eq!(peer("[2001:db8::1]:7"), peer("[2001:db8::2:3]:7"));
        assert_ne!(peer("[2001:db8::1]:7"), peer("[2001:db8:0:1::1]:7"));
        assert_eq!(peer("[2001:db8::1]:7").to_string(), "2001:db8::/64");
    }
}
