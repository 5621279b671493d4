//! The attributes by which two flows are compared, and their differences.
//!
//! CODA (SIGCOMM 2016, §3) compares start times, protocols, communities of hosts, and how addresses
//! and ports aggregate; and means and variances of packet lengths and of the times between packets,
//! which are left out: TCP makes full packets of whatever programs send in bulk, and the scheduler
//! itself sets the times between them. Each attribute here is one number for a pair of flows. It is
//! 0 if the flows agree and 1 if they differ entirely; only the difference of start times has no
//! upper limit. An attribute that is unknown for one flow of the pair counts as 0: what nobody has
//! measured does not separate.

/// An attribute; its number is its place in [`Differences`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attribute {
    /// Difference of start times, in gaps between bursts
    /// ([`Observer::gap_s`](crate::Observer::gap_s)).
    Start,
    /// 1 if the transport protocols differ.
    Protocol,
    /// 1 if the communities differ.
    Community,
    /// Half for each of source and destination address that the flows do not share.
    Addresses,
    /// 1 if the services have different ports.
    Port,
    /// 1 if two services on one host have different ports: they belong to two programs.
    Program,
    /// Peers that the bursts of the flows do not share: 1 − |A ∩ B| / |A ∪ B|.
    Peers,
}

/// The number of attributes.
pub const ATTRIBUTES: usize = 7;

/// One number for each attribute, in the order of [`Attribute::ALL`].
pub type Differences = [f64; ATTRIBUTES];

impl Attribute {
    /// All attributes, in order.
    pub const ALL: [Attribute; ATTRIBUTES] = [
        Attribute::Start,
        Attribute::Protocol,
        Attribute::Community,
        Attribute::Addresses,
        Attribute::Port,
        Attribute::Program,
        Attribute::Peers,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Attribute::Start => "start",
            Attribute::Protocol => "protocol",
            Attribute::Community => "community",
            Attribute::Addresses => "addresses",
            Attribute::Port => "port",
            Attribute::Program => "program",
            Attribute::Peers => "peers",
        }
    }
}
