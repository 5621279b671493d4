//! Flows that agents have reported and that no application has named.
//!
//! The journal holds nothing of them: agents report them again when they join. So an id that the
//! coordinator gives to such a flow is none of the journal's, and means something in this epoch
//! only.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use covey_core::{Address, Observed, Time};
use covey_proto::{Appearance, FlowId, FlowName};
use imbl::OrdMap;

use crate::record::Registrant;

/// The id of the first of them. The ids in the journal go up from 0, and do not get here.
const FIRST: u64 = 1 << 52;

/// A flow that no application has named.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnnouncedFlow {
    /// The port that sends it.
    pub src: u32,
    /// The port that receives it.
    pub dst: u32,
    /// The number that its agent has given to it.
    pub number: u64,
    pub observed: Observed,
    /// The sender's end.
    pub from: SocketAddr,
    /// The receiver's.
    pub to: SocketAddr,
    /// Bytes that it had sent when it was put into a group.
    pub sent: f64,
    /// Bytes on the wire for these.
    pub wire: f64,
    /// Whether it is scheduled: its agent holds or paces it.
    pub is_taken: bool,
    /// When it last sent something, or had to wait.
    pub active: Time,
    /// The id that it had before it was told to be another flow to the policy.
    former: Option<FlowId>,
}

/// Flows that no application has named, by id. A copy shares them until they change.
pub(super) type AnnouncedFlows = OrdMap<u64, AnnouncedFlow>;

/// The flows that no application has named, and the addresses of hosts.
#[derive(Debug, Default)]
pub(super) struct Announced {
    given: u64,
    /// By id.
    flows: AnnouncedFlows,
    /// Their ids, by the sending port and the number.
    ids: BTreeMap<(u32, u64), u64>,
    /// Ids by those that the flows had before: their agents use them until they have heard of the
    /// new ones.
    former: BTreeMap<u64, FlowId>,
    /// The ports of hosts.
    hosts: BTreeMap<IpAddr, u32>,
    /// Flows to hosts that no agent has claimed yet, by the sending port and the number; and when
    /// they started.
    elsewhere: BTreeMap<(u32, u64), (Appearance, Time)>,
    /// The same by the receiver's address.
    awaiting: BTreeSet<(IpAddr, u32, u64)>,
    /// Ids by the ends of flows.
    by_ends: BTreeMap<(SocketAddr, SocketAddr), u64>,
    /// The communities of flows that have not appeared, by their ends.
    told: BTreeMap<(SocketAddr, SocketAddr), Told>,
    /// Tenants who have told communities, each with its number. Whoever belongs to no tenant is one
    /// more.
    tellers: BTreeMap<Option<String>, u32>,
}

/// To what community a flow belongs that has not appeared.
#[derive(Debug)]
struct Told {
    /// The number that the teller's tenant gives it, after the number of the tenant in the upper
    /// half.
    community: u64,
    /// Who told it, if that is a token's holder.
    by: Option<Registrant>,
    at: Time,
}

impl Announced {
    /// A new id, also for the place that a flow has left.
    pub fn give(&mut self) -> FlowId {
        self.given += 1;
        FlowId(FIRST + self.given - 1)
    }

    pub fn get(&self, id: FlowId) -> Option<&AnnouncedFlow> {
        self.flows.get(&id.0)
    }

    pub fn get_mut(&mut self, id: FlowId) -> Option<&mut AnnouncedFlow> {
        self.flows.get_mut(&id.0)
    }

    /// A copy of all of them.
    pub fn flows(&self) -> AnnouncedFlows {
        self.flows.clone()
    }

    /// The next flow between these ends belongs to a community, as this client says. Tenants number
    /// their communities independently of each other.
    pub fn tell(
        &mut self,
        (from, to): (SocketAddr, SocketAddr),
        community: u32,
        by: Option<Registrant>,
        at: Time,
    ) {
        let tenant = by.as_ref().map(|by| by.tenant.clone());
        let next = self.tellers.len() as u32;
        let teller = *self.tellers.entry(tenant).or_insert(next);
        let community = u64::from(teller) << 32 | u64::from(community);
        self.told.insert((from, to), Told { community, by, at });
    }

    /// Who told the community of a flow that has not appeared.
    pub fn told_by(&self, from: SocketAddr, to: SocketAddr) -> Option<&Registrant> {
        self.told.get(&(from, to))?.by.as_ref()
    }

    /// The flow between two ends.
    pub fn between(&self, from: SocketAddr, to: SocketAddr) -> Option<&AnnouncedFlow> {
        self.by_ends.get(&(from, to)).and_then(|id| self.flows.get(id))
    }

    /// How many communities wait for their flows.
    pub fn waiting(&self) -> usize {
        self.told.len()
    }

    /// Forgets communities that were told before a time.
    pub fn forget_told_before(&mut self, time: Time) {
        self.told.retain(|_, told| told.at >= time);
    }

    /// How many there are, those to unknown hosts included.
    pub fn len(&self) -> usize {
        self.flows.len() + self.elsewhere.len()
    }

    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// The id of a flow that an agent names by its number or its id.
    pub fn id(&self, port: u32, name: FlowName) -> Option<FlowId> {
        match name {
            FlowName::Number(number) => self.ids.get(&(port, number)).map(|id| FlowId(*id)),
            FlowName::Id(id) => {
                let id = self.former.get(&id.0).copied().unwrap_or(id);
                self.get(id).filter(|flow| flow.src == port).map(|_| id)
            }
            FlowName::Key(_) => None,
        }
    }

    /// A flow had another id before.
    pub fn set_former(&mut self, id: FlowId, former: FlowId) {
        if let Some(flow) = self.flows.get_mut(&id.0) {
            flow.former = Some(former);
            self.former.insert(former.0, id);
        }
    }

    /// The numbers of a port's flows that are in a range, those to unknown hosts included.
    pub fn numbers(&self, port: u32, range: RangeInclusive<u64>) -> BTreeSet<u64> {
        let all = (port, *range.start())..=(port, *range.end());
        let (known, elsewhere) = (self.ids.range(all.clone()), self.elsewhere.range(all));
        let known = known.map(|((_, number), _)| *number);
        known.chain(elsewhere.map(|((_, number), _)| *number)).collect()
    }

    /// The port of a host.
    pub fn host(&self, address: IpAddr) -> Option<u32> {
        self.hosts.get(&address).copied()
    }

    /// A host has this address. Returns the flows to it that were waiting for that, and when they
    /// started.
    pub fn claim(&mut self, address: IpAddr, port: u32) -> Vec<(u32, Appearance, Time)> {
        self.hosts.insert(address, port);
        let all = (address, 0, 0)..=(address, u32::MAX, u64::MAX);
        let waiting: Vec<(IpAddr, u32, u64)> = self.awaiting.range(all).copied().collect();
        let flow = |(_, from, number): (IpAddr, u32, u64)| {
            let (appearance, start) = self.remove_elsewhere(from, number)?;
            Some((from, appearance, start))
        };
        waiting.into_iter().filter_map(flow).collect()
    }

    /// Forgets the flows of a port to unknown hosts.
    pub fn forget_elsewhere(&mut self, port: u32) {
        let all = (port, 0)..=(port, u64::MAX);
        let numbers: Vec<u64> = self.elsewhere.range(all).map(|((_, number), _)| *number).collect();
        numbers.into_iter().for_each(|number| _ = self.remove_elsewhere(port, number));
    }

    /// The flows to a port.
    pub fn to(&self, port: u32) -> Vec<FlowId> {
        let to = self.flows.iter().filter(|(_, flow)| flow.dst == port);
        to.map(|(id, _)| FlowId(*id)).collect()
    }

    /// Forgets the addresses of a host.
    pub fn disclaim(&mut self, port: u32) {
        self.hosts.retain(|_, of| *of != port);
    }

    /// A flow goes to a host that no agent has claimed.
    pub fn note_elsewhere(&mut self, port: u32, appearance: Appearance, start: Time) {
        self.elsewhere.insert((port, appearance.number), (appearance, start));
        self.awaiting.insert((appearance.to.ip(), port, appearance.number));
    }

    /// Whether a port's flow with this number is already known with these ends.
    pub fn knows(&self, port: u32, appearance: &Appearance) -> bool {
        let known = self.id(port, FlowName::Number(appearance.number)).and_then(|id| self.get(id));
        let ends = ends_of(appearance);
        let is_same = known.is_some_and(|flow| {
            let Observed { src, dst, sport, dport, protocol, .. } = flow.observed;
            (src, dst, sport, dport, protocol) == ends
        });
        let waits = self.elsewhere.get(&(port, appearance.number));
        is_same || waits.is_some_and(|(known, _)| ends_of(known) == ends)
    }

    /// A flow has appeared between two ports, and started then. Returns its id.
    pub fn insert(
        &mut self,
        src: u32,
        dst: u32,
        appearance: &Appearance,
        start: Time,
        now: Time,
    ) -> FlowId {
        let &Appearance { number, from, to, .. } = appearance;
        let (sender, receiver, sport, dport, protocol) = ends_of(appearance);
        let observed = Observed {
            start_s: start.as_secs(),
            src: sender,
            dst: receiver,
            sport,
            dport,
            protocol,
            community: self.told.remove(&(from, to)).map(|told| told.community),
        };
        let id = self.give();
        let (sent, wire, active) = (0.0, 0.0, now);
        let (former, is_taken) = (None, false);
        let flow = AnnouncedFlow {
            src,
            dst,
            number,
            observed,
            from,
            to,
            sent,
            wire,
            is_taken,
            active,
            former,
        };
        self.flows.insert(id.0, flow);
        self.ids.insert((src, number), id.0);
        self.by_ends.insert((from, to), id.0);
        id
    }

    /// A flow has sent so much.
    pub fn sent(&mut self, id: FlowId, bytes: f64, wire: f64, now: Time) {
        if let Some(flow) = self.flows.get_mut(&id.0)
            && (bytes > flow.sent || wire > flow.wire)
        {
            (flow.sent, flow.wire) = (flow.sent.max(bytes), flow.wire.max(wire));
            flow.active = now;
        }
    }

    /// A flow is scheduled from now on, or left alone.
    pub fn set_taken(&mut self, id: FlowId, is_taken: bool) {
        if let Some(flow) = self.flows.get_mut(&id.0) {
            flow.is_taken = is_taken;
        }
    }

    /// The ids of all of them.
    pub fn ids(&self) -> Vec<FlowId> {
        self.flows.keys().map(|id| FlowId(*id)).collect()
    }

    /// Forgets a flow.
    pub fn remove(&mut self, id: FlowId) -> Option<AnnouncedFlow> {
        let flow = self.flows.remove(&id.0)?;
        self.ids.remove(&(flow.src, flow.number));
        flow.former.and_then(|former| self.former.remove(&former.0));
        // Its ends may be those of a later flow by now.
        if self.by_ends.get(&(flow.from, flow.to)) == Some(&id.0) {
            self.by_ends.remove(&(flow.from, flow.to));
        }
        Some(flow)
    }

    /// Forgets a flow to an unknown host.
    pub fn remove_elsewhere(&mut self, port: u32, number: u64) -> Option<(Appearance, Time)> {
        let (appearance, start) = self.elsewhere.remove(&(port, number))?;
        self.awaiting.remove(&(appearance.to.ip(), port, number));
        Some((appearance, start))
    }
}

/// What tells flows apart: both ends, and the protocol.
fn ends_of(appearance: &Appearance) -> (Address, Address, u16, u16, u8) {
    let Appearance { from, to, protocol, .. } = *appearance;
    (from.ip().into(), to.ip().into(), from.port(), to.port(), protocol)
}
