//! `covey`: the project's own policy: least estimated bottleneck first, with a guarantee.
//!
//! - *Order*: by the time that the rest of the coflow needs alone, as SEBF (Varys §5.1), with
//!   lengths [estimated] from the coflow's own finished flows in place of sizes. A coflow none of
//!   whose flows has ended is taken to have flows of `prior` bytes, or of twice what a flow of it
//!   has sent, if that is more.
//! - *Pilots* (Philae §4.2) stand in the same order with what is left of one flow. So they do not
//!   go before coflows that are nearly done, and a coflow's first estimate comes early.
//! - *Rates*: one flow per port at full rate, most loaded ports first, in order; so no capacity
//!   idles that anybody could use.
//! - *Guarantee*: overdue coflows go first in a share of the time ([`guard`](crate::guard) has the
//!   bound).
//!
//! [estimated]: crate::estimate

use std::cmp::Ordering;

use covey_core::{
    Answer, AnyPolicy, CoflowId, FlowId, Group, NonClairvoyant, Plan, Policy, Share, Time, View,
    Wants,
};

use crate::estimate::Lengths;
use crate::guard::Guard;
use crate::registry::{Info, Param};
use crate::sampling::{PilotCount, PilotLoad, PilotPorts};

/// A flow of a coflow without a finished one is taken to be this many times as long as what it has
/// sent.
const GROWTH: f64 = 2.0;
/// A flow that has sent more than its estimate has this share of that yet to send.
const OVERTIME: f64 = 0.2;
/// A coflow without a finished flow is looked at again when it has sent this many times as much.
const LOOK_AGAIN: f64 = 1.25;
/// Lengths are estimated anew when this many times as many flows have ended, and the rest of a
/// coflow when no more than this share of its unfinished flows is left.
const REFIT: f64 = 1.05;
const REASSESS: f64 = 0.97;

pub(crate) const INFO: Info = Info {
    name: "covey",
    knows: "unsized",
    summary: "least estimated bottleneck first, with a bound on every completion time",
    params: &[
        Param {
            name: "pilots",
            default: "senders:0.05",
            help: "const:N, senders:X or flows:X (a share of the coflow's senders or flows)",
        },
        Param { name: "prior", default: "4MiB", help: "length of a flow before any has ended" },
        Param {
            name: "phi",
            default: "0.05",
            help: "share of the time in which overdue coflows go first; 0 for no guarantee",
        },
        Param { name: "T", default: "2s", help: "length of the window that phi is a share of" },
        Param { name: "d0", default: "30s", help: "age at which any coflow may be overdue" },
        Param {
            name: "d",
            default: "16",
            help: "age allowed beyond, as a multiple of the time the coflow needs alone",
        },
    ],
    source: "Covey; order of Varys (SIGCOMM 2014) 5.1, pilots of Philae (USENIX ATC 2019) 4.2",
    make: |settings| {
        let window_s = settings.duration("T")?;
        if window_s < 1e-3 {
            return Err(settings.bad("T", "a duration from 1ms to a day"));
        }
        Ok(AnyPolicy::Unsized(Box::new(Covey {
            pilots: PilotCount::from_settings(settings, "pilots")?,
            prior: settings.size("prior")?,
            guard: Guard {
                share: settings.number("phi", 0.0, 1.0)?,
                window_s,
                grace_s: settings.duration("d0")?,
                stretch: settings.number("d", 0.0, 1e6)?,
            },
            tracks: Vec::new(),
            pilot_load: PilotLoad::new(PilotPorts::LeastBusy, 0),
            order: Vec::new(),
            overdue: Vec::new(),
            grown: Vec::new(),
            stale: true,
        })))
    },
};

/// What is known of a coflow.
#[derive(Debug, Default)]
struct Track {
    pilots: Vec<FlowId>,
    lengths: Lengths,
    /// Finished flows at the last estimate, and unfinished ones when the rest was last assessed.
    fitted: usize,
    assessed: usize,
    /// Bytes of finished flows by link, and the most seconds that a link has needed for them.
    finished: Vec<f64>,
    finished_s: f64,
    /// Bytes per second that all its senders, or all its receivers, can carry at most.
    rate: f64,
}

/// A place in the order: a coflow, or one of its pilots.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Estimated seconds left.
    left_s: f64,
    /// Breaks ties: arrival, pilots before their coflow.
    rank: u32,
    coflow: CoflowId,
    pilot: Option<FlowId>,
}

impl Place {
    fn compare(a: &Place, b: &Place) -> Ordering {
        a.left_s.total_cmp(&b.left_s).then(a.rank.cmp(&b.rank))
    }
}

struct Covey {
    pilots: PilotCount,
    prior: f64,
    guard: Guard,
    /// By coflow.
    tracks: Vec<Track>,
    pilot_load: PilotLoad,
    order: Vec<Place>,
    /// Coflows that go first, in order of arrival.
    overdue: Vec<CoflowId>,
    /// Coflows whose own flows have ended since the last plan.
    grown: Vec<CoflowId>,
    /// Whether all places have to be found anew.
    stale: bool,
}

impl Track {
    fn clear(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        let capacity = view.fabric().capacity();
        self.pilots.clear();
        self.lengths.clear(capacity.len());
        (self.fitted, self.assessed) = (0, 0);
        self.finished.clear();
        self.finished.resize(capacity.len(), 0.0);
        self.finished_s = 0.0;
        let senders = view.senders(coflow);
        let rate = |load: covey_core::PortLoad| capacity[load.link.index()];
        let out: f64 = view.loads(coflow).take(senders).map(rate).sum();
        let into: f64 = view.loads(coflow).skip(senders).map(rate).sum();
        self.rate = out.min(into);
    }

    /// A flow has ended. Returns whether the rest of the coflow should be assessed anew.
    fn ended(&mut self, flow: FlowId, view: &View<'_, NonClairvoyant>) -> bool {
        let bytes = view.finished_size(flow).unwrap_or(0.0);
        let (egress, ingress) = view.ends(flow);
        for link in [egress, ingress] {
            let sum = &mut self.finished[link.index()];
            *sum += bytes;
            self.finished_s = self.finished_s.max(*sum / view.fabric().capacity()[link.index()]);
        }
        self.lengths.add((egress, ingress), bytes);
        let (ended, unfinished) = (self.lengths.samples(), view.unfinished(flow.coflow));
        let refit = ended as f64 >= self.fitted as f64 * REFIT;
        if refit {
            self.fitted = ended;
            self.lengths.fit();
        }
        let assess = refit || unfinished as f64 <= self.assessed as f64 * REASSESS;
        if assess {
            self.assessed = unfinished;
        }
        assess
    }

    /// Seconds that the coflow needs at least when it is alone, as far as it has shown: its busiest
    /// port has carried what ended flows sent there, and no less than an even part of everything.
    fn alone_s(&self, attained: f64) -> f64 {
        self.finished_s.max(attained / self.rate)
    }
}

impl Covey {
    /// Estimated seconds that the rest of a coflow needs alone; and, while no flow of it has ended,
    /// that a pilot needs.
    fn left_s(&self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) -> (f64, Option<f64>) {
        let lengths = &self.tracks[coflow.index()].lengths;
        let unfinished = view.unfinished(coflow).max(1) as f64;
        let in_flight = (view.attained(coflow).bytes - view.finished(coflow).1).max(0.0);
        let (senders, grouped) = (view.senders(coflow), lengths.side());
        let mut busy = [0_u32; 2];
        let (mut length, mut factor) = (0.0, 0.0);
        for (k, load) in view.loads(coflow).enumerate().filter(|(_, load)| load.unfinished > 0) {
            let side = usize::from(k >= senders);
            busy[side] += 1;
            if side == grouped {
                length += f64::from(load.unfinished) * lengths.length(load.link);
            } else {
                factor += f64::from(load.unfinished) * lengths.factor(load.link);
            }
        }
        // Means over the unfinished flows.
        (length, factor) = (length / unfinished, factor / unfinished);
        // One flow runs at each port, so bytes in flight are those of at most so many flows.
        let sent = in_flight / f64::from(busy[0].min(busy[1]).max(1));
        let sampled = lengths.samples() > 0;
        let unsampled = self.prior.max(GROWTH * sent);
        let capacity = view.fabric().capacity();
        let (mut left_s, mut pilot_s) = (0.0_f64, 0.0_f64);
        for (k, load) in view.loads(coflow).enumerate().filter(|(_, load)| load.unfinished > 0) {
            let expected = if !sampled {
                unsampled
            } else if usize::from(k >= senders) == grouped {
                lengths.length(load.link) * factor
            } else {
                length * lengths.factor(load.link)
            };
            let running = (expected - sent).max(OVERTIME * sent);
            let waiting = f64::from(load.unfinished - 1) * expected;
            let rate = capacity[load.link.index()];
            left_s = left_s.max((waiting + running) / rate);
            pilot_s = pilot_s.max(running / rate);
        }
        (left_s, (!sampled).then_some(pilot_s))
    }

    /// Finds everybody's place anew.
    fn rank_all(&mut self, view: &View<'_, NonClairvoyant>) {
        self.order.clear();
        for &coflow in view.coflows() {
            let (left_s, pilot_s) = self.left_s(coflow, view);
            if let Some(left_s) = pilot_s {
                let pilots = &self.tracks[coflow.index()].pilots;
                for &pilot in pilots.iter().filter(|&&pilot| view.is_active(pilot)) {
                    let rank = self.order.len() as u32;
                    self.order.push(Place { left_s, rank, coflow, pilot: Some(pilot) });
                }
            }
            let rank = self.order.len() as u32;
            self.order.push(Place { left_s, rank, coflow, pilot: None });
        }
        self.sort();
    }

    /// Finds the places of `grown` anew. Returns whether the order has changed.
    fn rank_grown(&mut self, view: &View<'_, NonClairvoyant>) -> bool {
        while let Some(coflow) = self.grown.pop() {
            let (left_s, _) = self.left_s(coflow, view);
            self.order.iter_mut().filter(|p| p.coflow == coflow).for_each(|p| p.left_s = left_s);
        }
        let changed = !self.order.is_sorted_by(|a, b| Place::compare(a, b).is_le());
        if changed {
            self.sort();
        }
        changed
    }

    fn sort(&mut self) {
        self.order.sort_unstable_by(Place::compare);
    }

    /// Finds who is overdue and goes first now. Returns when to look again.
    fn find_overdue(&mut self, view: &View<'_, NonClairvoyant>) -> Time {
        self.overdue.clear();
        if self.guard.share == 0.0 {
            return Time::NEVER;
        }
        let (now, phase) = (view.now(), self.guard.phase(view.now()));
        let mut first = Time::NEVER;
        for &coflow in view.coflows() {
            let alone_s = self.tracks[coflow.index()].alone_s(view.attained(coflow).bytes);
            let due = self.guard.due(view.arrival(coflow), alone_s);
            if due.due(now) && phase.in_slot {
                self.overdue.push(coflow);
            }
            first = first.min(due);
        }
        if first.due(now) { phase.until } else { self.guard.next_slot(first) }
    }
}

impl Policy<NonClairvoyant> for Covey {
    fn wants(&self) -> Wants {
        Wants { flow_ends: true, attained: true, ..Wants::default() }
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.stale = true;
        self.tracks.resize_with(view.slots(), Track::default);
        let track = &mut self.tracks[coflow.index()];
        track.clear(coflow, view);
        if view.width(coflow) > 1 {
            let count = self.pilots.pilots(view.senders(coflow), view.width(coflow));
            self.pilot_load.choose(coflow, count, view, &mut track.pilots);
        }
    }

    fn flows_started(&mut self, _: CoflowId, _: &View<'_, NonClairvoyant>) {
        self.stale = true;
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, NonClairvoyant>) {
        let track = &mut self.tracks[flow.coflow.index()];
        self.stale |= track.lengths.samples() == 0;
        if track.pilots.contains(&flow) {
            self.pilot_load.ended(flow, view);
        }
        if track.ended(flow, view) && self.grown.last() != Some(&flow.coflow) {
            self.grown.push(flow.coflow);
        }
    }

    fn coflow_ended(&mut self, _: CoflowId, _: &View<'_, NonClairvoyant>) {
        self.stale = true;
    }

    fn bytes_reached(&mut self, _: CoflowId, _: f64, _: &View<'_, NonClairvoyant>) {
        self.stale = true;
    }

    fn woke(&mut self, _: &View<'_, NonClairvoyant>) {
        self.stale = true;
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        if std::mem::take(&mut self.stale) {
            self.grown.clear();
            self.rank_all(view);
        } else if !self.rank_grown(view) {
            return Answer::Unchanged;
        }
        plan.clear();
        let look_again = self.find_overdue(view);
        if look_again.comes() {
            plan.wake_at(look_again);
        }
        for &coflow in &self.overdue {
            plan.push(Group::Coflow(coflow), Share::MATCHING_BY_LOAD);
        }
        plan.open_layer(1.0);
        for place in self.order.iter().filter(|place| !self.overdue.contains(&place.coflow)) {
            match place.pilot {
                Some(pilot) => plan.push(Group::Flow(pilot), Share::MATCHING),
                None => plan.push(Group::Coflow(place.coflow), Share::MATCHING_BY_LOAD),
            }
        }
        for &coflow in view.coflows() {
            if self.tracks[coflow.index()].lengths.samples() == 0 {
                let sent = view.attained(coflow).bytes;
                plan.wake_when_sent(coflow, (sent * LOOK_AGAIN).max(self.prior / GROWTH));
            }
        }
        Answer::Replaced
    }
}
