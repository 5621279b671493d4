//! The state of the cluster: hosts and links that have failed, flows that have moved, and attempts
//! of transfers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use covey_core::state::{FlowSpec, State};
use covey_core::{Attempts, Fabric, FlowId, LinkId, PortId, Time};
use covey_trace::{ClusterEvent, Flow, FlowOf, Part, Workload};

use crate::error::SimError;

/// The state of the cluster.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    /// Times of the events that are to come, in order, with their places in the workload's list.
    events: VecDeque<(Time, usize)>,
    /// Links that have failed, by their names.
    links: BTreeMap<String, LinkId>,
    down: Down,
    /// By index of a coflow, which of its flows are attempts of one transfer.
    attempts: BTreeMap<u32, Attempts>,
    /// Flows that nobody needs any more, and that have not ended.
    pub needless: Vec<FlowOf>,
    /// Transfers of which an attempt has ended, each by its coflow and its first attempt.
    carried: BTreeSet<FlowOf>,
    /// Flows that were cancelled before they started.
    cancelled: BTreeSet<FlowOf>,
    /// Flows that have moved.
    moved: BTreeMap<FlowOf, Ends>,
    /// Flows that have started although they cannot be served.
    pub stranded: Vec<FlowId>,
}

/// The ports of a flow.
#[derive(Debug, Clone, Copy)]
struct Ends {
    src: u32,
    dst: u32,
}

impl Ends {
    fn of(flow: &Flow) -> Ends {
        Ends { src: flow.src, dst: flow.dst }
    }
}

/// The parts of the network that carry nothing.
#[derive(Debug, Default)]
struct Down {
    ports: BTreeSet<PortId>,
    links: BTreeSet<LinkId>,
}

impl Down {
    fn has(&self, fabric: &Fabric, link: LinkId) -> bool {
        let of_port = |port| self.ports.contains(&port);
        self.links.contains(&link) || fabric.port_of(link).is_some_and(of_port)
    }
}

impl Cluster {
    /// Nothing has happened yet to this workload on this fabric.
    ///
    /// # Errors
    /// [`SimError::Part`].
    pub fn fill(&mut self, workload: &Workload, fabric: &Fabric) -> Result<(), SimError> {
        *self = Cluster::default();
        let times = workload.events.iter().map(|event| Time::from_secs(event.at_s));
        let mut events: Vec<(Time, usize)> = times.zip(0..).collect();
        events.sort_unstable();
        self.events.extend(events);
        let parts = workload.events.iter().filter_map(|event| event.what.part());
        let names: BTreeSet<&str> = parts.filter_map(Part::link).collect();
        if !names.is_empty() {
            let links = (0..fabric.links() as u32).map(LinkId);
            let named = links.map(|link| (fabric.link_name(link), link));
            self.links.extend(named.filter(|(name, _)| names.contains(name.as_str())));
        }
        if let Some(name) = names.into_iter().find(|name| !self.links.contains_key(*name)) {
            let example = fabric.link_name(LinkId(fabric.links() as u32 - 1));
            return Err(SimError::Part { name: name.to_owned(), example });
        }
        for (index, coflow) in
            (0..).zip(&workload.coflows).filter(|(_, it)| !it.attempts.is_empty())
        {
            let attempts = self.attempts.entry(index).or_default();
            coflow.attempts.iter().for_each(|it| attempts.add(it.flow, it.of));
        }
        Ok(())
    }

    /// Whether nothing happens to flows but their starts and ends, and restarts.
    pub fn is_static(&self) -> bool {
        self.events.is_empty() && self.attempts.is_empty()
    }

    /// The time of the next event; never if there is none.
    pub fn next(&self) -> Time {
        self.events.front().map_or(Time::NEVER, |(time, _)| *time)
    }

    /// Takes an event that has come by `now`.
    pub fn pop<'a>(&mut self, workload: &'a Workload, now: Time) -> Option<&'a ClusterEvent> {
        let (_, index) = self.events.pop_front_if(|(time, _)| time.due(now))?;
        Some(&workload.events[index])
    }

    /// A part of the network fails. Returns whether it has carried flows until now.
    pub fn fail(&mut self, part: &Part) -> bool {
        match part {
            Part::Host(port) => self.down.ports.insert(PortId(*port)),
            Part::Link(name) => self.down.links.insert(self.links[name]),
        }
    }

    /// A part of the network returns. Returns whether it has carried nothing until now.
    pub fn restore(&mut self, part: &Part) -> bool {
        match part {
            Part::Host(port) => self.down.ports.remove(&PortId(*port)),
            Part::Link(name) => self.down.links.remove(&self.links[name]),
        }
    }

    /// Whether all of the network carries flows.
    pub fn is_whole(&self) -> bool {
        self.down.ports.is_empty() && self.down.links.is_empty()
    }

    /// Whether every link of a flow's path carries flows.
    pub fn has_path(&self, state: &State, flow: FlowId) -> bool {
        self.is_whole() || !path(state, flow).any(|link| self.down.has(state.fabric(), link))
    }

    /// Whether a part of the network is on a flow's path.
    pub fn needs(&self, part: &Part, state: &State, flow: FlowId) -> bool {
        let mut path = path(state, flow);
        match part {
            Part::Host(port) => {
                path.any(|link| state.fabric().port_of(link) == Some(PortId(*port)))
            }
            Part::Link(name) => path.any(|link| link == self.links[name]),
        }
    }

    /// Notes that a flow has ended: all other attempts of its transfer are needless. Returns
    /// whether the flow has carried its bytes for nothing, because another attempt ended before, in
    /// the same round.
    pub fn ended(&mut self, flow: FlowOf) -> bool {
        let Some(attempts) = self.attempts.get(&flow.coflow) else { return false };
        let attempt = |of: u32| FlowOf { flow: of, ..flow };
        let is_first = self.carried.insert(attempt(attempts.transfer(flow.flow)));
        self.needless.extend(attempts.others(flow.flow).map(attempt));
        !is_first
    }

    /// Whether a flow was cancelled before its coflow was there, or before it started.
    pub fn is_cancelled(&self, flow: FlowOf) -> bool {
        self.cancelled.contains(&flow)
    }

    /// A flow is cancelled before its coflow is there, or before it starts.
    pub fn cancel_early(&mut self, flow: FlowOf) {
        self.cancelled.insert(flow);
    }

    /// A flow goes between other ports from now on.
    pub fn move_flow(&mut self, in_trace: FlowOf, flow: &Flow, src: Option<u32>, dst: Option<u32>) {
        let ends = self.moved.entry(in_trace).or_insert_with(|| Ends::of(flow));
        *ends = Ends { src: src.unwrap_or(ends.src), dst: dst.unwrap_or(ends.dst) };
    }

    /// A flow as it is at present, or when its coflow comes.
    pub fn spec(&self, in_trace: FlowOf, flow: &Flow) -> FlowSpec {
        let Ends { src, dst } = self.moved.get(&in_trace).copied().unwrap_or(Ends::of(flow));
        let bytes = if self.cancelled.contains(&in_trace) { 0.0 } else { flow.bytes };
        FlowSpec { src: PortId(src), dst: PortId(dst), bytes }
    }
}

/// The links of a flow's path.
fn path(state: &State, flow: FlowId) -> impl Iterator<Item = LinkId> {
    let demand = state.coflow(flow.coflow).demand();
    demand.path(demand.position(flow.index)).map(|l| demand.links()[l])
}
