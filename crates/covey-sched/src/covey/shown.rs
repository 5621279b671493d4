//! How long a coflow needs alone, as far as what it has sent shows it.

use covey_core::{CoflowId, FlowId, LinkSet, NonClairvoyant, PortLoad, View};

/// What a coflow has shown of its load.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// LinkSet of finished flows, their bytes there, and the most seconds that a link has needed for them.
    links: LinkSet,
    finished: Vec<f64>,
    finished_s: f64,
    /// Bytes per second that all its senders, or all its receivers, can carry at most.
    rate: f64,
}

impl Shown {
    /// A coflow has arrived.
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

    /// A flow of so many bytes has ended.
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

    /// The least number of seconds that the coflow needs when it is alone: its busiest port has
    /// carried what ended flows sent there, and no less than an even part of all that was sent.
    pub fn alone_s(&self, sent: f64) -> f64 {
        self.finished_s.max(sent / self.rate)
    }
}
