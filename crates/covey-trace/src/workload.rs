//! The workload itself: ports, coflows and flows as a trace gives them.

use crate::cluster::ClusterEvent;
use crate::moment::{Moment, OnClock};

/// Coflows in order of the trace, over `ports` machines (or racks), each with one egress and one
/// ingress port.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Workload {
    /// Number of ports; every `src` and `dst` is below it.
    pub ports: u32,
    /// Names of the hosts at the ports, from port 0 on. An empty name is none, as are those behind
    /// the last.
    pub hosts: Vec<String>,
    /// The moment from which arrivals count, on the clock of the trace. What is read from a file
    /// has its first arrival there.
    pub origin: Moment,
    /// The coflows, in the order of the trace (which breaks ties among equal arrivals).
    pub coflows: Vec<Coflow>,
    /// What happens to the cluster meanwhile. Of events at one time the first comes first.
    pub events: Vec<ClusterEvent>,
}

/// One coflow: the flows of one communication stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Coflow {
    /// The coflow's name in the trace, unique in the workload.
    pub id: String,
    /// Arrival in seconds after the workload's [`origin`](Workload::origin).
    pub arrival_s: f64,
    /// Its flows, never empty.
    pub flows: Vec<Flow>,
    /// Indices in [`Workload::coflows`] of the coflows that must end before this one is released.
    pub parents: Vec<u32>,
    /// Weight in a weighted mean of completion times; 1 unless the trace says otherwise.
    pub weight: f64,
    /// Time allowed from arrival to completion, in seconds.
    pub deadline_s: Option<f64>,
    /// The job of which this coflow is a stage.
    pub job: Option<String>,
    /// The tenant to whom this coflow belongs, where tenants share the network.
    pub tenant: Option<String>,
    /// Flows that lose what they have sent, in order of their indices, each at most once.
    pub restarts: Vec<Restart>,
    /// How small compression makes its flows.
    pub compressible: Compressible,
    /// Flows that are further attempts of transfers, in order of their indices.
    pub attempts: Vec<Attempt>,
}

/// How small compression makes the flows of a coflow. By default, as small as the codec of the
/// policy makes any flow.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Compressible {
    /// Whether the application has switched compression off for the coflow.
    pub off: bool,
    /// Compressed bytes for each raw byte, above 0; 1 is not compressible.
    pub ratio: Option<f64>,
    /// The same of flows that differ, by index in [`Coflow::flows`], ascending.
    pub flows: Vec<(u32, f64)>,
}

impl Compressible {
    /// Compressed bytes for each raw byte of a flow, if that is known. It is 1 if the flow is not
    /// to be compressed.
    pub fn ratio_of(&self, flow: u32) -> Option<f64> {
        let own = self.own_ratios();
        let found = own.binary_search_by_key(&flow, |&(flow, _)| flow);
        found.map_or(self.ratio_of_coflow(), |k| Some(own[k].1))
    }

    /// The same of the flows that have no ratio of their own.
    pub fn ratio_of_coflow(&self) -> Option<f64> {
        if self.off { Some(1.0) } else { self.ratio }
    }

    /// The flows with a ratio of their own that counts.
    pub fn own_ratios(&self) -> &[(u32, f64)] {
        if self.off { &[] } else { &self.flows }
    }
}

/// A flow that carries the same bytes as an earlier one, for one from another replica. The first
/// attempt of a transfer to end makes the others needless: they are cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Index of the flow in [`Coflow::flows`].
    pub flow: u32,
    /// Index of the earlier flow.
    pub of: u32,
}

/// A flow whose sender or receiver fails. The bytes that it has sent are lost, and it starts again.
/// A flow that has ended or not started is not affected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Restart {
    /// Index of the flow in [`Coflow::flows`].
    pub flow: u32,
    /// Time of the failure, in seconds after the coflow's arrival.
    pub at_s: f64,
}

/// One flow from an egress port to an ingress port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Sending port.
    pub src: u32,
    /// Receiving port.
    pub dst: u32,
    /// Bytes to send; may be fractional.
    pub bytes: f64,
    /// Start in seconds after the coflow's arrival; more than 0 in a later wave.
    pub start_s: f64,
}

impl Workload {
    /// A workload whose arrivals count from the zero of the clock, on a cluster that stays as it
    /// is.
    pub fn new(ports: u32, coflows: Vec<Coflow>) -> Self {
        Self { ports, hosts: Vec::new(), origin: Moment::ZERO, coflows, events: Vec::new() }
    }

    /// The name of the host at a port, if it is known.
    pub fn host(&self, port: u32) -> Option<&str> {
        self.hosts.get(port as usize).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The same workload with its origin at the first arrival. Simulations are as exact as an `f64`
    /// is at the time of an arrival, so that is where they start best.
    ///
    /// A first arrival more than 10^14 seconds from the zero of the clock stays where it is.
    #[must_use]
    pub fn from_first_arrival(mut self) -> Self {
        let arrivals = || self.coflows.iter().map(|coflow| coflow.arrival_s);
        let first_s = arrivals().fold(f64::INFINITY, f64::min);
        if first_s == 0.0 {
            return self;
        }
        let moments: Option<Vec<_>> = arrivals().map(Moment::from_secs).collect();
        let (Some(origin), Some(moments)) = (self.origin.after(first_s), moments) else {
            return self;
        };
        let Some(first) = Moment::from_secs(first_s) else { return self };
        for (coflow, moment) in self.coflows.iter_mut().zip(moments) {
            coflow.arrival_s = moment.since(first);
        }
        for event in &mut self.events {
            let exact = Moment::from_secs(event.at_s).map(|moment| moment.since(first));
            event.at_s = exact.unwrap_or(event.at_s - first_s);
        }
        self.origin = origin;
        self
    }

    /// A time in seconds after the origin, on the clock of the trace.
    pub fn on_clock(&self, seconds: f64) -> OnClock {
        OnClock { origin: self.origin, seconds }
    }

    /// Whether nothing happens to flows but that they start, restart and end: there are no events,
    /// and each flow is the only attempt of its transfer.
    pub fn is_static(&self) -> bool {
        self.events.is_empty() && self.coflows.iter().all(|coflow| coflow.attempts.is_empty())
    }

    /// Other coflows on the same ports and hosts, from the same origin, without events.
    #[must_use]
    pub fn with_coflows(&self, coflows: Vec<Coflow>) -> Self {
        Self { hosts: self.hosts.clone(), origin: self.origin, ..Self::new(self.ports, coflows) }
    }

    /// Number of flows of all coflows.
    pub fn num_flows(&self) -> usize {
        self.coflows.iter().map(|c| c.flows.len()).sum()
    }

    /// Bytes of all flows.
    pub fn bytes(&self) -> f64 {
        self.coflows.iter().map(Coflow::size_bytes).sum()
    }
}

impl Coflow {
    /// A coflow of `flows` that arrives at `arrival_s` seconds. It has no parents, weight 1, no
    /// deadline, no job, no tenant, no restarts, no further attempts, and is compressible.
    pub fn new(id: String, arrival_s: f64, flows: Vec<Flow>) -> Self {
        Self {
            id,
            arrival_s,
            flows,
            parents: Vec::new(),
            weight: 1.0,
            deadline_s: None,
            job: None,
            tenant: None,
            restarts: Vec::new(),
            compressible: Compressible::default(),
            attempts: Vec::new(),
        }
    }

    /// Width: the number of flows.
    pub fn width(&self) -> usize {
        self.flows.len()
    }

    /// Size: the sum of bytes of all flows.
    pub fn size_bytes(&self) -> f64 {
        self.flows.iter().map(|f| f.bytes).sum()
    }

    /// Length: the bytes of the longest flow.
    pub fn length_bytes(&self) -> f64 {
        self.flows.iter().map(|f| f.bytes).fold(0.0, f64::max)
    }
}
