//! What a host reports of its flows.

use std::net::SocketAddr;

use covey_proto::{Appearance, Ended, FlowAsk, FlowName, FlowOpening, Sent};

/// What has happened to the flows that this host sends since the last report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Flows that have ended. Each flow is reported once.
    pub ended: Vec<Ended>,
    /// Totals of the other flows that have sent something since the last report.
    pub sent: Vec<Sent>,
    /// Flows whose last bytes are in their sockets.
    pub written: Vec<FlowName>,
    /// Flows that an application has opened (true), or that no application has open any more
    /// (false), in order.
    pub opened: Vec<(FlowName, bool)>,
    /// Flows that have begun and that no application has named. From now on their numbers name them
    /// ([`FlowName::Number`]).
    pub appeared: Vec<Appearance>,
    /// Whether the enforcer has not looked at flows this time: then it does not know whether they
    /// have sent something.
    pub has_not_looked: bool,
    /// What the coordinator is asked of flows that begin.
    pub asks: Vec<FlowAsk>,
    /// Flows that applications have opened, of which the coordinator is asked whether that is
    /// right.
    pub openings: Vec<FlowOpening>,
    /// Number of headers of flows that were refused.
    pub refused: u64,
    /// Number of flows that were taken although their headers have no proof.
    pub unproven: u64,
}

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The address that packets come from.
    pub from: SocketAddr,
    /// The address that packets go to.
    pub to: SocketAddr,
}

impl Ends {
    /// Whether the packets are IPv6.
    pub fn is_v6(&self) -> bool {
        self.from.is_ipv6()
    }
}
