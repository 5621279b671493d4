//! Flows that the host sends and that no application has named.
//!
//! A coordinator that finds coflows by itself is told of them. Nobody holds them before it has
//! taken them, nor while it is away.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use covey_proto::{Appearance, FlowName, Service};

/// How a flow is served that the coordinator has taken and that has to wait.
const WAITS: Service = Service { layer: u32::MAX, rate: 0.0, codec: None };

#[derive(Debug, Clone, Copy)]
struct Flow {
    protocol: u8,
    from: SocketAddr,
    to: SocketAddr,
    since_s: f64,
    /// Whether the coordinator schedules it.
    is_taken: bool,
    /// When the coordinator has let it go, if it has.
    released_s: Option<f64>,
}

/// A flow that sends again this many seconds after its release, or later, is reported again.
const AGAIN_S: f64 = 5.0;

/// The flows by the numbers that the enforcer has given to them.
#[derive(Debug, Default)]
pub struct Unnamed {
    flows: BTreeMap<u64, Flow>,
}

impl Unnamed {
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// A flow is there, at `now_s`.
    pub fn appeared(&mut self, flow: &Appearance, now_s: f64) {
        let Appearance { number, protocol, from, to, age_s } = *flow;
        let flow =
            Flow { protocol, from, to, since_s: now_s - age_s, is_taken: false, released_s: None };
        self.flows.insert(number, flow);
    }

    /// All of them, at `now_s`.
    pub fn appearances(&self, now_s: f64) -> impl Iterator<Item = Appearance> {
        self.flows.iter().map(move |(&number, flow)| {
            let Flow { protocol, from, to, since_s, .. } = *flow;
            Appearance { number, protocol, from, to, age_s: (now_s - since_s).max(0.0) }
        })
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = FlowName> {
        self.flows.keys().map(|number| FlowName::Number(*number))
    }

    /// Whether a flow is none of these, or one that the coordinator schedules.
    pub fn may_schedule(&self, key: FlowName) -> bool {
        let of_number = key.number().map(|number| self.flows.get(&number));
        of_number.is_none_or(|flow| flow.is_some_and(|flow| flow.is_taken))
    }

    /// The coordinator schedules a flow from now on.
    pub fn taken(&mut self, number: u64) {
        if let Some(flow) = self.flows.get_mut(&number) {
            (flow.is_taken, flow.released_s) = (true, None);
        }
    }

    /// The coordinator schedules a flow no more, from `now_s` on; the flow goes on.
    pub fn released(&mut self, number: u64, now_s: f64) {
        if let Some(flow) = self.flows.get_mut(&number) {
            (flow.is_taken, flow.released_s) = (false, Some(now_s));
        }
    }

    /// A flow has sent something. Returns it if it was released some time ago: it appears again.
    pub fn again(&mut self, key: FlowName, now_s: f64) -> Option<Appearance> {
        let number = key.number()?;
        let flow = self.flows.get_mut(&number)?;
        flow.released_s.take_if(|at_s| now_s - *at_s >= AGAIN_S)?;
        let Flow { protocol, from, to, since_s, .. } = *flow;
        Some(Appearance { number, protocol, from, to, age_s: (now_s - since_s).max(0.0) })
    }

    /// A flow has ended. Returns whether it was one of these.
    pub fn ended(&mut self, key: FlowName) -> bool {
        key.number().is_some_and(|number| self.flows.remove(&number).is_some())
    }

    /// There is no coordinator any more that schedules flows.
    pub fn disconnected(&mut self) {
        self.flows.values_mut().for_each(|flow| flow.is_taken = false);
    }

    /// Adds those to `served` that have to wait.
    pub fn hold(&self, served: &mut BTreeMap<FlowName, Service>) {
        let taken = self.flows.iter().filter(|(_, flow)| flow.is_taken);
        for (&number, _) in taken {
            served.entry(FlowName::Number(number)).or_insert(WAITS);
        }
    }
}
