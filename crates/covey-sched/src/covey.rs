//! `covey`: the project's own policy: least estimated bottleneck first, with a guarantee.
//!
//! - *Order*: by the time that the rest of the coflow needs alone, as SEBF (Varys §5.1), with
//!   lengths [estimated] from the coflow's own finished flows in place of sizes. A coflow none of
//!   whose flows has ended is taken to have flows of `prior` bytes, or of twice what a flow of it
//!   has sent, if that is more.
//! - *Pilots* (Philae §4.2) stand in the same order with what is left of one flow. So they do not
//!   go before coflows that are nearly done, and a coflow's first estimates come early.
//! - *Rates*: one flow per port at full rate, most loaded ports first, in order; so no capacity
//!   idles that anybody could use.
//! - *Guarantee*: overdue coflows go first in a share of the time ([`guard`](crate::guard) has the
//!   bound).
//!
//! A coflow is assessed when its own flows start or end or have sent enough, and when a coflow that
//! it shares a link with comes or goes. Coflows at other links have no influence on it.
//!
//! [estimated]: crate::estimate

mod shown;
mod track;

use covey_core::{
    Answer, AnyPolicy, CoflowId, FlowId, Group, NonClairvoyant, Plan, Policy, Share, Time, View,
    Wants,
};

use crate::guard::Guard;
use crate::rank::{self, Tie};
use crate::registry::{Info, Param};
use crate::sampling::{PilotCount, PilotLoad, PilotPorts};
use track::Track;

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
        Param {
            name: "T",
            default: "2s",
            help: "length of the windows that phi is a share of; overdue coflows are found as one begins",
        },
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
            ranks: Vec::new(),
            overdue: Vec::new(),
            dirty: Vec::new(),
            looked_at: Vec::new(),
            dirty_links: Vec::new(),
            is_stale: true,
        })))
    },
};

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

struct Covey {
    pilots: PilotCount,
    prior: f64,
    guard: Guard,
    /// By coflow.
    tracks: Vec<Track>,
    pilot_load: PilotLoad,
    order: Vec<Place>,
    /// Working memory: ranks in the order before.
    ranks: Vec<u32>,
    /// Coflows that go first in this slot, in order of arrival.
    overdue: Vec<CoflowId>,
    /// Coflows to assess because of their own flows.
    dirty: Vec<CoflowId>,
    /// Those of them that are to be assessed again when they have sent more.
    looked_at: Vec<CoflowId>,
    /// Whether to assess all coflows at a link, because some coflow there has come or gone.
    dirty_links: Vec<bool>,
    /// Whether the plan has to be made again even if the order stays.
    is_stale: bool,
}

impl Covey {
    /// A coflow comes or goes: all coflows that share a link with it are to be assessed.
    fn touch(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.is_stale = true;
        self.dirty_links.resize(view.fabric().links(), false);
        view.loads(coflow).for_each(|load| self.dirty_links[load.link.index()] = true);
    }

    /// Assesses the coflows that are dirty, or at a dirty link.
    fn assess(&mut self, view: &View<'_, NonClairvoyant>) {
        if self.dirty_links.contains(&true) {
            let at_dirty_link = |coflow: CoflowId| {
                view.loads(coflow).any(|load| self.dirty_links[load.link.index()])
            };
            self.dirty.extend(view.coflows().iter().filter(|&&coflow| at_dirty_link(coflow)));
            self.dirty_links.fill(false);
        }
        for coflow in self.dirty.drain(..) {
            self.tracks[coflow.index()].assess(coflow, self.prior, view);
        }
    }

    /// Lists the coflows and their unfinished pilots, by rank.
    fn list(&mut self, view: &View<'_, NonClairvoyant>) {
        self.order.clear();
        for &coflow in view.coflows() {
            let pilots = self.tracks[coflow.index()].pilots.iter().copied();
            let active = pilots.filter(|&pilot| view.is_active(pilot)).map(Some);
            for pilot in active.chain([None]) {
                let rank = self.order.len() as u32;
                self.order.push(Place { left_s: 0.0, rank, coflow, pilot });
            }
        }
    }

    /// Brings the order up to date. Returns whether it is another.
    fn sort(&mut self) -> bool {
        self.ranks.clear();
        self.ranks.extend(self.order.iter().map(|place| place.rank));
        for place in &mut self.order {
            let track = &self.tracks[place.coflow.index()];
            place.left_s = if place.pilot.is_some() { track.pilot_s } else { track.left_s };
        }
        rank::sort(&mut self.order, Tie::Absolute, |place| place.left_s, |place| place.rank);
        !self.ranks.iter().eq(self.order.iter().map(|place| &place.rank))
    }

    /// Finds the coflows that go first in this slot, if one begins. Returns when to look again.
    fn find_overdue(&mut self, view: &View<'_, NonClairvoyant>) -> Time {
        if self.guard.share == 0.0 {
            return Time::NEVER;
        }
        let (now, phase) = (view.now(), self.guard.phase(view.now()));
        if phase.begins || !phase.in_slot {
            self.overdue.clear();
        }
        let mut first = Time::NEVER;
        for &coflow in view.coflows() {
            let alone_s = self.tracks[coflow.index()].shown.alone_s(view.attained(coflow).bytes);
            let due = self.guard.due(view.arrival(coflow), alone_s);
            if phase.begins && due.due(now) {
                self.overdue.push(coflow);
            }
            first = first.min(due);
        }
        if self.overdue.is_empty() { self.guard.next_slot(first.max(now)) } else { phase.until }
    }

    /// Writes the plan.
    fn write(&self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) {
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
            self.look_again(coflow, plan);
        }
    }

    /// Asks to be called when the coflow is to be assessed again.
    fn look_again(&self, coflow: CoflowId, plan: &mut Plan<NonClairvoyant>) {
        if let Some(bytes) = self.tracks[coflow.index()].next_look() {
            plan.wake_when_sent(coflow, bytes);
        }
    }
}

impl Policy<NonClairvoyant> for Covey {
    fn wants(&self) -> Wants {
        Wants { flow_ends: true, attained: true, ..Wants::default() }
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.tracks.resize_with(view.slots(), Track::default);
        let track = &mut self.tracks[coflow.index()];
        track.clear(coflow, self.prior, view);
        if view.width(coflow) > 1 {
            let count = self.pilots.pilots(view.senders(coflow), view.width(coflow));
            self.pilot_load.choose(coflow, count, view, &mut track.pilots);
        }
        self.touch(coflow, view);
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.touch(coflow, view);
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, NonClairvoyant>) {
        let track = &mut self.tracks[flow.coflow.index()];
        if track.pilots.contains(&flow) {
            self.pilot_load.ended(flow, view);
            self.is_stale = true;
        }
        if track.flow_ended(flow, view) && self.dirty.last() != Some(&flow.coflow) {
            self.dirty.push(flow.coflow);
        }
    }

    fn coflow_ended(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.dirty.retain(|&dirty| dirty != coflow);
        self.looked_at.retain(|&looked_at| looked_at != coflow);
        self.overdue.retain(|&overdue| overdue != coflow);
        self.touch(coflow, view);
    }

    fn bytes_reached(&mut self, coflow: CoflowId, bytes: f64, _: &View<'_, NonClairvoyant>) {
        let track = &mut self.tracks[coflow.index()];
        // A wake-up that a plan asked for before a flow ended counts no more.
        if track.next_look().is_some() {
            track.sent(bytes);
            self.dirty.push(coflow);
            self.looked_at.push(coflow);
        }
    }

    fn woke(&mut self, _: &View<'_, NonClairvoyant>) {
        self.is_stale = true;
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        if !self.is_stale && self.dirty.is_empty() {
            return Answer::Unchanged;
        }
        self.assess(view);
        let is_stale = std::mem::take(&mut self.is_stale);
        if is_stale {
            self.list(view);
        }
        if !self.sort() && !is_stale {
            self.looked_at.iter().for_each(|&coflow| self.look_again(coflow, plan));
            self.looked_at.clear();
            return Answer::Unchanged;
        }
        self.looked_at.clear();
        plan.clear();
        let look_again = self.find_overdue(view);
        if look_again.comes() {
            plan.wake_at(look_again);
        }
        self.write(view, plan);
        Answer::Replaced
    }
}
