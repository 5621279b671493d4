//! The coflows that are present, each with the receivers of its sub-coflows.

use covey_core::{CoflowId, FlowId, LinkId, NonClairvoyant, Rank, View};
use covey_stream::{Escape, Input, Receiver, Rules, SubCoflow};

/// A coflow at one receiver: the receiver, and what the network knows of its senders.
#[derive(Debug)]
pub(super) struct Sub {
    pub receiver: Receiver,
    /// The receiver's ingress link.
    pub link: LinkId,
    /// The priority that the receiver has told its senders.
    pub told: u32,
    /// The priority that has arrived at its senders. They mark their packets with it.
    pub class: u32,
    pub escape: Escape,
    /// Its rank in the plan.
    pub rank: Option<Rank>,
    /// The number of bytes for which the plan waits; infinite if it does not.
    pub asked: f64,
    /// Bytes of its flows that have ended.
    pub ended_bytes: f64,
    /// Bytes that it had received when relays were last looked at.
    pub had: f64,
    /// The number of received bytes at which its priority falls, if its receiver learns nothing
    /// else.
    pub next_bytes: f64,
    /// Whether it is on the list of those whose plan may have to change.
    pub is_touched: bool,
    /// Working memory: whether its senders look for starving flows now, and whether one starves.
    pub looks: Option<bool>,
}

impl Sub {
    fn new(link: LinkId, receiver: Receiver) -> Sub {
        Sub {
            receiver,
            link,
            told: 0,
            class: 0,
            escape: Escape::default(),
            rank: None,
            asked: f64::INFINITY,
            ended_bytes: 0.0,
            had: 0.0,
            next_bytes: f64::INFINITY,
            is_touched: false,
            looks: None,
        }
    }

    /// Its receiver learns something.
    pub fn learn(&mut self, inputs: impl IntoIterator<Item = Input>, rules: &Rules) {
        self.receiver.take_all(inputs, rules);
        self.next_bytes = self.receiver.next_bytes(rules);
    }
}

/// What senders know of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowMemory {
    /// Bytes that it had sent when relays were last looked at.
    pub marked: f64,
    /// Bytes that its receiver had acknowledged in all when the flow last sent.
    pub acknowledged: f64,
    /// Bytes that it had sent when its sender last looked whether it starves.
    pub looked_at: Option<f64>,
}

/// A coflow that is present.
#[derive(Debug, Default)]
pub(super) struct Present {
    pub is_present: bool,
    /// Serial number of its registration.
    pub seq: u64,
    /// The id that Algorithm 1 gives its sub-coflows.
    pub id: u32,
    /// Its DAG, which is one coflow in the paper's words.
    pub external: u64,
    pub parents: Vec<u64>,
    /// Whether a sender serves several of its receivers.
    pub shares_senders: bool,
    /// By index of the flow.
    pub flows: Vec<FlowMemory>,
    /// Sub-coflows, in the order in which they were seen; behind `count`, memory of earlier ones.
    subs: Vec<Sub>,
    count: usize,
    /// The number of each sub-coflow, by its link.
    by_link: Vec<(LinkId, u32)>,
}

impl Present {
    /// Begins with another coflow.
    pub fn begin(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.is_present = true;
        self.seq = view.order(coflow).1;
        self.external = view.lineage(coflow).external;
        self.parents.clear();
        self.parents.extend_from_slice(view.parents(coflow));
        self.shares_senders = false;
        self.flows.clear();
        self.by_link.clear();
        self.count = 0;
    }

    pub fn subs(&self) -> &[Sub] {
        &self.subs[..self.count]
    }

    pub fn subs_mut(&mut self) -> &mut [Sub] {
        &mut self.subs[..self.count]
    }

    /// The number of the sub-coflow at an ingress link.
    pub fn sub_at(&self, link: LinkId) -> Option<usize> {
        let k = self.by_link.binary_search_by_key(&link, |at| at.0).ok()?;
        Some(self.by_link[k].1 as usize)
    }

    /// The name of a sub-coflow.
    pub fn name(&self, k: usize, view: &View<'_, NonClairvoyant>) -> SubCoflow {
        let port = view.fabric().port_of(self.subs[k].link).expect("a receiver's link is a port's");
        SubCoflow { coflow: self.seq, port: port.0 }
    }

    /// Looks at the flows that have started: calls `seen` with each sub-coflow, its number of flows
    /// so far, and whether it is new.
    pub fn see(
        &mut self,
        coflow: CoflowId,
        view: &View<'_, NonClairvoyant>,
        mut seen: impl FnMut(&mut Sub, usize, u32, bool),
    ) {
        let receivers = view.loads(coflow).skip(view.senders(coflow)).take(view.receivers(coflow));
        for load in receivers {
            let (k, is_new) = match self.by_link.binary_search_by_key(&load.link, |at| at.0) {
                Ok(at) => (self.by_link[at].1 as usize, false),
                Err(at) => {
                    self.by_link.insert(at, (load.link, self.count as u32));
                    self.add(load.link);
                    (self.count - 1, true)
                }
            };
            let sub = &mut self.subs[k];
            let flows = load.unfinished + sub.receiver.ended();
            seen(sub, k, flows, is_new);
        }
        self.shares_senders |= {
            let mut last = None;
            view.flows(coflow).map(|flow| view.ends(flow)).any(|(from, to)| {
                let before = last.replace((from, to));
                before.is_some_and(|before| before.0 == from && before.1 != to)
            })
        };
    }

    fn add(&mut self, link: LinkId) {
        let used = self.subs.get_mut(self.count).map(|sub| std::mem::take(&mut sub.receiver));
        let mut receiver = used.unwrap_or_default();
        receiver.begin(self.id);
        let sub = Sub::new(link, receiver);
        match self.subs.get_mut(self.count) {
            Some(used) => *used = sub,
            None => self.subs.push(sub),
        }
        self.count += 1;
    }

    /// What senders know of a flow.
    pub fn memory_of(&mut self, flow: FlowId) -> &mut FlowMemory {
        let index = flow.index as usize;
        if self.flows.len() <= index {
            self.flows.resize(index + 1, FlowMemory::default());
        }
        &mut self.flows[index]
    }
}
