//! Hosts for the ports of a trace.

use covey_core::{Fabric, PortId};
use covey_trace::{ClusterEvent, Coflow, Happening, Part, Workload};

/// How the ports of a trace become hosts of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Port `p` is host `p`.
    Pack,
    /// Ports go round the edge switches: port 0 is the first host of the first switch, port 1 the
    /// first host of the second, and so on.
    Spread,
    /// A port is a rack: rack `r` is edge switch `r`, and each flow from or to the rack uses the
    /// next of its hosts. A rack has a counter for sending and one for receiving. Flows are dealt
    /// coflow by coflow in the order of the trace; within a coflow receiver by receiver, in the
    /// order of their first flows, and in the order of the trace for one receiver.
    Rack,
}

impl Place {
    /// All placements, each with its name.
    pub(crate) const ALL: [(&'static str, Place); 3] =
        [("pack", Place::Pack), ("spread", Place::Spread), ("rack", Place::Rack)];

    /// The workload on the hosts of `fabric`, as its ports. Returns a line about ports that share a
    /// host, or racks that share a switch, if there are more of them than hosts or switches.
    pub(crate) fn apply(
        self,
        mut workload: Workload,
        fabric: &Fabric,
    ) -> (Workload, Option<String>) {
        let switches = hosts_by_switch(fabric);
        let (ports, hosts) = (workload.ports as usize, fabric.ports() as usize);
        let (have, what) = match self {
            Place::Rack => (switches.len(), "edge switches"),
            Place::Pack | Place::Spread => (hosts, "hosts"),
        };
        let folded = (ports > have && have > 0)
            .then(|| format!("{ports} ports on {have} {what}: port p is number p mod {have}"));
        match self {
            Place::Pack => rename(&mut workload, &(0..fabric.ports()).collect::<Vec<_>>()),
            Place::Spread => rename(&mut workload, &round_robin(&switches)),
            Place::Rack => {
                deal(&mut workload, &switches);
                workload.hosts.clear();
                let racks = |port: u32| &switches[port as usize % switches.len()][..];
                move_events(&mut workload, racks);
            }
        }
        workload.ports = fabric.ports();
        (workload, folded)
    }
}

/// The hosts of each switch that has any, in the order of the switches' numbers.
fn hosts_by_switch(fabric: &Fabric) -> Vec<Vec<u32>> {
    let mut hosts: Vec<u32> = (0..fabric.ports()).collect();
    let switch = |host: &u32| fabric.edge_switch(PortId(*host));
    hosts.sort_by_key(switch);
    hosts.chunk_by(|a, b| switch(a) == switch(b)).map(<[u32]>::to_vec).collect()
}

/// All hosts: the first of each switch, then the second of each, and so on.
fn round_robin(switches: &[Vec<u32>]) -> Vec<u32> {
    let most = switches.iter().map(Vec::len).max().unwrap_or(0);
    let nth = |n: usize| switches.iter().filter_map(move |hosts| hosts.get(n).copied());
    (0..most).flat_map(nth).collect()
}

/// Makes port `p` the host `hosts[p]`, modulo. Hosts that several ports share lose their names.
fn rename(workload: &mut Workload, hosts: &[u32]) {
    let names = std::mem::take(&mut workload.hosts);
    if !names.is_empty() && workload.ports as usize <= hosts.len() {
        workload.hosts = vec![String::new(); hosts.len()];
        for (name, &host) in names.into_iter().zip(hosts) {
            workload.hosts[host as usize] = name;
        }
    }
    for flow in workload.coflows.iter_mut().flat_map(|coflow| &mut coflow.flows) {
        flow.src = hosts[flow.src as usize % hosts.len()];
        flow.dst = hosts[flow.dst as usize % hosts.len()];
    }
    let host = |port: u32| std::slice::from_ref(&hosts[port as usize % hosts.len()]);
    move_events(workload, host);
}

/// Makes what happens to a port happen to its hosts. A flow that moves to a port goes to the first
/// of them.
fn move_events<'a>(workload: &mut Workload, hosts: impl Fn(u32) -> &'a [u32]) {
    let events = std::mem::take(&mut workload.events);
    for ClusterEvent { at_s, what } in events {
        let port = match what.part() {
            Some(Part::Host(port)) => Some(*port),
            _ => None,
        };
        let at_host = |host: u32| match &what {
            Happening::Fail { loses, .. } => {
                Happening::Fail { part: Part::Host(host), loses: *loses }
            }
            _ => Happening::Return { part: Part::Host(host) },
        };
        match (port, &what) {
            (Some(port), _) => {
                let all = hosts(port).iter().map(|&host| at_host(host));
                workload.events.extend(all.map(|what| ClusterEvent { at_s, what }));
            }
            (None, Happening::Move { flow, src, dst }) => {
                let first = |port: Option<u32>| port.map(|port| hosts(port)[0]);
                let what = Happening::Move { flow: *flow, src: first(*src), dst: first(*dst) };
                workload.events.push(ClusterEvent { at_s, what });
            }
            (None, _) => workload.events.push(ClusterEvent { at_s, what }),
        }
    }
}

/// Deals flows to the hosts of their racks.
fn deal(workload: &mut Workload, racks: &[Vec<u32>]) {
    let mut sent = vec![0_usize; racks.len()];
    let mut received = vec![0_usize; racks.len()];
    let next = |dealt: &mut [usize], port: u32| {
        let rack = port as usize % racks.len();
        dealt[rack] += 1;
        racks[rack][(dealt[rack] - 1) % racks[rack].len()]
    };
    let mut receivers = Receivers::new(workload.ports);
    for coflow in &mut workload.coflows {
        for flow in receivers.order(coflow) {
            let flow = &mut coflow.flows[flow as usize];
            flow.src = next(&mut sent, flow.src);
            flow.dst = next(&mut received, flow.dst);
        }
    }
}

/// Orders the flows of a coflow by receiver.
struct Receivers {
    /// Rank of each port among the receivers of the coflow, from 1; 0 if it is none.
    rank: Vec<u32>,
}

impl Receivers {
    fn new(ports: u32) -> Receivers {
        Receivers { rank: vec![0; ports as usize] }
    }

    /// The flows receiver by receiver, in the order of the receivers' first flows.
    fn order(&mut self, coflow: &Coflow) -> Vec<u32> {
        let mut last = 0;
        for flow in &coflow.flows {
            let rank = &mut self.rank[flow.dst as usize];
            if *rank == 0 {
                last += 1;
                *rank = last;
            }
        }
        let mut order: Vec<u32> = (0..coflow.flows.len() as u32).collect();
        order.sort_by_key(|&flow| self.rank[coflow.flows[flow as usize].dst as usize]);
        coflow.flows.iter().for_each(|flow| self.rank[flow.dst as usize] = 0);
        order
    }
}
