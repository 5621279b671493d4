//! What is known of one coflow, and how long the rest of it is estimated to take.

use covey_core::{CoflowId, FlowId, NonClairvoyant, PortLoad, View};

use super::shown::Shown;
use crate::estimate::Lengths;

/// While no flow of a coflow has ended, the length of a flow is taken to be this many times the
/// bytes that it has sent.
const GROWTH: f64 = 2.0;
/// A flow that has sent more than its estimate is taken to have left this share of what it has
/// sent.
const OVERTIME: f64 = 0.2;
/// A coflow without a finished flow is assessed again when it has sent this many times as much.
const LOOK_AGAIN: f64 = 1.25;
/// A coflow is assessed again when this many times as many of its flows have ended as at the last
/// fit, or when at most the second share of the flows left then is left.
const MORE_ENDED: f64 = 1.05;
const FEWER_LEFT: f64 = 0.97;

/// What is known of a coflow. It depends on the coflow's own flows alone.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub pilots: Vec<FlowId>,
    pub shown: Shown,
    lengths: Lengths,
    /// Numbers of flows that had ended, and that were left, when the lengths were last fitted.
    ended: f64,
    left: f64,
    /// A coflow without a finished flow is assessed again when it has sent so many bytes.
    next_look: f64,
    /// Estimated seconds that the rest of the coflow needs alone, and that a pilot needs.
    pub left_s: f64,
    pub pilot_s: f64,
}

impl Track {
    /// Starts again for a coflow that has arrived, whose flows are taken to have `prior` bytes.
    pub fn clear(&mut self, coflow: CoflowId, prior: f64, view: &View<'_, NonClairvoyant>) {
        self.pilots.clear();
        self.shown.clear(coflow, view);
        self.lengths.clear();
        (self.ended, self.left) = (0.0, 0.0);
        self.next_look = prior / GROWTH;
    }

    /// The number of bytes sent at which the coflow is assessed again, if no flow of it has ended.
    pub fn next_look(&self) -> Option<f64> {
        (self.lengths.samples() == 0).then_some(self.next_look)
    }

    /// Notes that the coflow has sent so many bytes.
    pub fn sent(&mut self, bytes: f64) {
        self.next_look = self.next_look.max(bytes * LOOK_AGAIN);
    }

    /// Adds a flow that has ended. Returns whether the coflow has to be assessed again.
    pub fn flow_ended(&mut self, flow: FlowId, view: &View<'_, NonClairvoyant>) -> bool {
        let bytes = view.finished_size(flow).unwrap_or(0.0);
        self.shown.flow_ended(flow, bytes, view);
        self.lengths.add(view.ends(flow), bytes);
        let (ended, left) = (self.lengths.samples() as f64, view.unfinished(flow.coflow) as f64);
        // Where all flows end at once, none is left when the first is told.
        let has_fewer = left < self.left && left <= self.left * FEWER_LEFT;
        let fit = ended >= self.ended * MORE_ENDED || has_fewer;
        if fit {
            (self.ended, self.left) = (ended, left);
            self.lengths.fit();
        }
        fit
    }

    /// Estimates the seconds that the rest of the coflow needs alone, and those of a pilot. Each
    /// link sends one unfinished flow at a time: the current one has sent its part of the bytes in
    /// flight, and all others wait with their whole length.
    pub fn assess(&mut self, coflow: CoflowId, prior: f64, view: &View<'_, NonClairvoyant>) {
        let in_flight = (view.attained(coflow).bytes - view.finished(coflow).1).max(0.0);
        let (running, mean_factors) = self.unfinished_flows(coflow, view);
        let sent = in_flight / running;
        // A flow's length is this times the factors of its ports: bytes while these are all 1,
        // because no flow has ended, and then the raise by what is in flight.
        let unit = match self.lengths.samples() {
            0 => prior.max(GROWTH * sent),
            _ => self.lengths.censoring(in_flight),
        };
        // If lengths vary as an exponential distribution does, what a flow has sent says nothing
        // about what it has left.
        let counted = sent * (1.0 - self.lengths.inequality());
        (self.left_s, self.pilot_s) = (0.0, 0.0);
        for (side, PortLoad { link, unfinished }) in busy_links(coflow, view) {
            let length = unit
                * match side {
                    Some(side) => self.lengths.number(side, link) * mean_factors[1 - side],
                    None => mean_factors[0] * mean_factors[1],
                };
            let current = (length - counted).max(OVERTIME * sent);
            let waiting = f64::from(unfinished - 1) * length;
            let capacity = view.fabric().capacity()[link.index()];
            self.left_s = self.left_s.max((waiting + current) / capacity);
            self.pilot_s = self.pilot_s.max(current / capacity);
        }
    }

    /// Returns how many flows can run at most, with one flow per port, and the mean factors of the
    /// senders and of the receivers of unfinished flows.
    fn unfinished_flows(
        &self,
        coflow: CoflowId,
        view: &View<'_, NonClairvoyant>,
    ) -> (f64, [f64; 2]) {
        let unfinished = view.unfinished(coflow).max(1) as f64;
        let (mut ports, mut numbers) = ([0.0_f64; 2], [0.0; 2]);
        for (side, load) in busy_links(coflow, view) {
            if let Some(side) = side {
                ports[side] += 1.0;
                let share = f64::from(load.unfinished) / unfinished;
                numbers[side] += share * self.lengths.number(side, load.link);
            }
        }
        (ports[0].min(ports[1]).max(1.0), numbers)
    }
}

/// Links where the coflow has unfinished flows, with their side: 0 for senders, 1 for receivers,
/// none for links between.
fn busy_links<'a>(
    coflow: CoflowId,
    view: &View<'a, NonClairvoyant>,
) -> impl Iterator<Item = (Option<usize>, PortLoad)> + 'a {
    let senders = view.senders(coflow);
    let ports = senders + view.receivers(coflow);
    let side = move |k: usize| (k < ports).then_some(usize::from(k >= senders));
    let loads = view.loads(coflow).enumerate().filter(|(_, load)| load.unfinished > 0);
    loads.map(move |(k, load)| (side(k), load))
}
