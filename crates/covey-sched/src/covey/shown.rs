//! A lower bound of the time that a coflow needs alone, from what it has sent.

use covey_core::{CoflowId, FlowId, LinkSet, NonClairvoyant, PortLoad, View};

/// The load that a coflow has shown so far.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// Links of finished flows with their bytes there, and the largest number of seconds that a
    /// link needed for them.
    links: LinkSet,
    finished: Vec<f64>,
    finished_s: f64,
    /// Upper limit of what all its senders, or all its receivers, can carry together, in bytes per
    /// second.
    rate: f64,
}

impl Shown {
    /// Starts again for a coflow that has arrived.
    pub fn clear(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        let capacity = view.fabric().capacity();
        self.links.clear();
        self.finished.clear();
        self.finished_s = 0.0;
        let (senders, receivers) = (view.senders(coflow), view.receivers(coflow));
        let rate = |load: PortLoad| capacity[load.link.index()];
        let out: f64 = view.loads(coflow).take(senders).map(rate).sum();
        let into: f64 = view.loads(coflow).skip(senders).take(receivers).map(rate).sum();
        self.rate = out.min(into);
    }

    /// Adds a flow of so many bytes that has ended.
    pub fn flow_ended(&mut self, flow: FlowId, bytes: f64, view: &View<'_, NonClairvoyant>) {
        let (egress, ingress) = view.ends(flow);
        for link in [egress, ingress] {
            let local = self.links.insert(link.index());
            self.finished.resize(self.links.count(), 0.0);
            let sum = &mut self.finished[local];
            *sum += bytes;
            self.finished_s = self.finished_s.max(*sum / view.fabric().capacity()[link.index()]);
        }
    }

    /// The smallest number of seconds that the coflow can need alone. Its busiest port has carried
    /// what ended flows sent there, and at least an even part of all bytes sent.
    pub fn alone_s(&self, sent: f64) -> f64 {
        self.finished_s.max(sent / self.rate)
    }
}
