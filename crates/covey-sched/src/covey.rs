//! `covey`: the project's own policy: least estimated bottleneck first, with a guarantee.
//!
//! - *Order*: by the time that the rest of the coflow needs alone, as SEBF (Varys §5.1), with
//!   lengths [estimated] from the coflow's own finished flows in place of sizes. While none of its
//!   flows has ended, each is taken to have `prior` bytes, or twice what a flow of the coflow has
//!   sent if that is more.
//! - *Pilots* (Philae §4.2) are in the same order, by what is left of one flow. So they do not go
//!   before coflows that are nearly done, and a coflow's first estimates come early.
//! - *Rates*: one flow per port at full rate, most loaded ports first, in order. No capacity idles
//!   that a flow could use.
//! - *Guarantee*: overdue coflows go first in a share of the time ([`guard`](crate::guard) has the
//!   bound).
//!
//! A coflow is assessed when its own flows start or end or have sent enough, and when a coflow on
//! one of its links arrives or leaves. Coflows on other links have no influence on it. A coflow
//! that has not changed since it was assessed would be assessed the same, so it is skipped.
//!
//! [estimated]: crate::estimate

mod overdue;
mod shown;
mod standing;
mod to_assess;
mod track;

use covey_core::{
    Answer, AnyPolicy, CoflowId, Criterion, FlowId, LinkId, NonClairvoyant, Plan, Policy, Promises,
    Sender, View, Wants,
};

use crate::guard::Guard;
use crate::info::Info;
use crate::sampling::{PILOTS, PilotCount, PilotLoad, PilotPorts};
use crate::spec::Param;
use overdue::Overdue;
use standing::Standing;
use to_assess::ToAssess;
use track::Track;

pub(crate) const INFO: Info = Info {
    name: "covey",
    knows: "unsized",
    summary: "least estimated bottleneck first, with a bound on every completion time",
    params: &[
        PILOTS,
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
    promises: |_| Ok(Promises::default()),
    make: |settings| {
        let window_s = settings.duration("T")?;
        if window_s < 1e-3 {
            return Err(settings.bad("T", "a duration from 1ms to a day"));
        }
        Ok(AnyPolicy::NonClairvoyant(Box::new(Covey {
            pilots: PilotCount::from_settings(settings)?,
            prior: settings.size("prior")?,
            overdue: Overdue::new(Guard {
                share: settings.number("phi", 0.0, 1.0)?,
                window_s,
                grace_s: settings.duration("d0")?,
                stretch: settings.number("d", 0.0, 1e6)?,
            }),
            tracks: Vec::new(),
            pilot_load: PilotLoad::new(PilotPorts::LeastBusy, 0),
            standing: Standing::default(),
            to_assess: ToAssess::default(),
            to_watch: Vec::new(),
            is_stale: true,
        })))
    },
};

struct Covey {
    pilots: PilotCount,
    prior: f64,
    /// By coflow.
    tracks: Vec<Track>,
    pilot_load: PilotLoad,
    /// Ranks of coflows and pilots in the plan.
    standing: Standing,
    overdue: Overdue,
    to_assess: ToAssess,
    /// Coflows whose wake-up by bytes is to be set again, or cleared.
    to_watch: Vec<CoflowId>,
    /// Whether a coflow has arrived or left, or a pilot has ended, or a slot may have begun or
    /// ended.
    is_stale: bool,
}

impl Covey {
    /// Assesses the coflows whose estimates may have changed.
    fn assess(&mut self, view: &View<'_, NonClairvoyant>) {
        let Covey { tracks, standing, prior, .. } = self;
        self.to_assess.take(view, |coflow| {
            let track = &mut tracks[coflow.index()];
            track.assess(coflow, *prior, view);
            standing.set(coflow, track, view);
        });
    }

    /// Requests wake-ups for coflows that are to be assessed again.
    fn look_again(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) {
        for coflow in self.to_watch.drain(..) {
            plan.clear_wakes_of(Sender::Coflow(coflow));
            let next_look = self.tracks[coflow.index()].next_look();
            if let Some(bytes) = next_look.filter(|_| view.is_present(coflow)) {
                plan.wake_when_sent(coflow, bytes);
            }
        }
    }
}

impl Policy<NonClairvoyant> for Covey {
    fn wants(&self) -> Wants {
        Wants { flow_ends: true, attained: true, ..Wants::default() }
    }

    fn ranked_by(
        &self,
        flow: FlowId,
        _: LinkId,
        view: &View<'_, NonClairvoyant>,
    ) -> Vec<Criterion> {
        let Some(track) = self.tracks.get(flow.coflow.index()) else { return Vec::new() };
        if self.standing.is_overdue(flow.coflow) {
            let arrival = view.arrival(flow.coflow).as_secs();
            vec![Criterion::property("overdue"), Criterion::seconds("arrival", arrival)]
        } else if track.pilots.contains(&flow) {
            vec![Criterion::seconds("estimated time of a pilot flow", track.pilot_s)]
        } else {
            vec![Criterion::seconds("estimated bottleneck", track.left_s)]
        }
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.tracks.resize_with(view.slots(), Track::default);
        let track = &mut self.tracks[coflow.index()];
        track.clear(coflow, self.prior, view);
        if view.width(coflow) > 1 {
            let count = self.pilots.pilots(view.senders(coflow), view.width(coflow));
            self.pilot_load.choose(coflow, count, view, &mut track.pilots);
        }
        self.to_watch.push(coflow);
        self.overdue.watch(coflow, view);
        self.to_assess.add(coflow);
        self.to_assess.add_neighbours(coflow, view);
        self.is_stale = true;
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        // A pilot may be among them.
        self.to_assess.add(coflow);
        self.to_assess.add_neighbours(coflow, view);
        self.is_stale = true;
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, NonClairvoyant>) {
        let track = &mut self.tracks[flow.coflow.index()];
        if track.pilots.contains(&flow) {
            self.pilot_load.ended(flow, view);
            self.standing.pilot_ended(flow.coflow);
            self.is_stale = true;
        }
        if track.next_look().is_some() {
            self.to_watch.push(flow.coflow);
        }
        if track.flow_ended(flow, view) {
            self.to_assess.add(flow.coflow);
        }
    }

    fn coflow_ended(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.to_assess.remove(coflow);
        self.to_assess.add_neighbours(coflow, view);
        self.overdue.remove(coflow);
        self.to_watch.push(coflow);
        self.standing.leave(coflow);
        self.is_stale = true;
    }

    fn bytes_reached(&mut self, coflow: CoflowId, bytes: f64, _: &View<'_, NonClairvoyant>) {
        let track = &mut self.tracks[coflow.index()];
        // A wake-up that was requested before a flow ended is no longer valid.
        if track.next_look().is_some() {
            track.sent(bytes);
            self.to_assess.add(coflow);
            self.to_watch.push(coflow);
        }
    }

    fn woke(&mut self, _: &View<'_, NonClairvoyant>) {
        self.is_stale = true;
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        self.assess(view);
        self.look_again(view, plan);
        let is_stale = std::mem::take(&mut self.is_stale);
        if !self.standing.write(&self.tracks, view, plan) && !is_stale {
            return Answer::Unchanged;
        }
        let Covey { overdue, standing, tracks, .. } = self;
        let alone_s = |coflow: CoflowId, sent| tracks[coflow.index()].shown.alone_s(sent);
        let look_again = overdue.find(view, alone_s, standing);
        plan.clear_times();
        if look_again.comes() {
            plan.wake_at(look_again);
        }
        self.standing.write(&self.tracks, view, plan);
        Answer::Replaced
    }
}
