//! `fvdf`: fastest volume disposal first (Swallow, IPDPS 2018, §IV).
//!
//! A flow's volume shrinks by compression or by sending. Coflows are ordered by the time that the
//! slowest of their flows is expected to need (Eq. 7 and 8): one slice δ with the present choice,
//! then sending alone, because the processors' future load is not known. With `B` the smaller
//! capacity of the flow's two links, which is what the first coflow finds, and β = 1 if compressing
//! is faster than `B`,
//!
//! ```text
//! Γ(flow) = δ + (V - (β R (1 - ξ) + (1 - β) B) δ) / B
//! Γ(coflow) = max over its flows
//! ```
//!
//! Where flows are sent while they are compressed, both take their part of the slice.
//!
//! Whether a flow is compressed is decided in this order, by the bandwidth that remains of its
//! links (Eq. 2 and 3, [`Remaining`](covey_core::Remaining)): what coflows before and other traffic
//! leave. So coflows are compressed while they wait. With `bandwidth=capacity` Eq. 3 compares with
//! `B`.
//!
//! To prevent starvation, Γ is divided by a priority `P`, which grows by the factor `logbase` at
//! every arrival and end of a coflow (Pseudocode 3). The order changes at these times only. With
//! `starvation=wait` the order is that of Γ alone, and a [`Guard`] bounds how long a coflow waits.
//! Rates are `V / Γ`, which is MADD. Spare capacity is offered in the same order
//! ([`Backfill::Greedy`]); the paper serves the first coflow alone, which would leave most of a
//! fabric idle.

use covey_core::{
    Answer, AnyPolicy, Backfill, Clairvoyant, CoflowId, Compress, Compression, Criterion, FlowId,
    Group, LinkId, Plan, Policy, PortId, Promises, Share, Time, View,
};

use crate::guard::Guard;
use crate::info::Info;
use crate::rank::{self, Tie};
use crate::settings::Settings;
use crate::spec::{Param, SpecError};

pub(crate) const INFO: Info = Info {
    name: "fvdf",
    knows: "sized",
    summary: "fastest volume disposal first: flows are compressed where that is faster than sending",
    params: &[
        Param {
            name: "codec",
            default: "lz4",
            help: "lz4, lzo, snappy, lzf, zstd, or SPEED:RATIO like 785MB/s:0.62",
        },
        Param { name: "delta", default: "10ms", help: "slice of which the choice is known" },
        Param {
            name: "logbase",
            default: "1.2",
            help: "growth of priority at every arrival and end of a coflow; 1 for none",
        },
        Param {
            name: "starvation",
            default: "priority",
            help: "priority (grows by logbase) or wait (order by time alone; a coflow older than 30 s and 16 times what it needs alone goes first in 5 % of the time)",
        },
        Param {
            name: "bandwidth",
            default: "remaining",
            help: "what compressing has to be faster than (Eq. 3): remaining (what coflows before and other traffic leave of the path, Eq. 2) or capacity (that of the path)",
        },
        Param {
            name: "overlap",
            default: "false",
            help: "true to send flows while they are compressed; false: compress, then send",
        },
        Param {
            name: "ratio",
            default: "codec",
            help: "compressed size: codec (the codec's ratio) or size (by the flow's size, Table III)",
        },
        Param {
            name: "gamma",
            default: "flow",
            help: "a coflow's time: flow (that of its slowest flow, Eq. 8) or port (no less than its busiest port needs for all of its flows there)",
        },
        Param {
            name: "share",
            default: "madd",
            help: "madd (on what is left, then greedy backfill in the same order) or matching (one flow per port at full rate)",
        },
    ],
    source: "Swallow (IPDPS 2018) IV",
    promises: |_| Ok(Promises::default()),
    make: |settings| {
        let (share, backfill) = settings.choice(
            "share",
            &[
                ("madd", (Share::MADD, Backfill::Greedy)),
                ("matching", (Share::MATCHING, Backfill::None)),
            ],
        )?;
        Ok(AnyPolicy::Clairvoyant(Box::new(Fvdf {
            compress: compress(settings)?,
            delta_s: settings.duration("delta")?,
            log_of_base: libm::log(settings.number("logbase", 1.0, 1e6)?),
            overdue: settings
                .choice("starvation", &[("priority", false), ("wait", true)])?
                .then(Overdue::default),
            by_port: settings.choice("gamma", &[("flow", false), ("port", true)])?,
            share,
            backfill,
            upgrades: 0,
            upgrades_due: false,
            arrived_at: Vec::new(),
            gammas: Vec::new(),
            order: Vec::new(),
        })))
    },
};

struct Fvdf {
    compress: Compress<Clairvoyant>,
    delta_s: f64,
    /// ln of the growth of priorities. Priorities themselves would soon overflow.
    log_of_base: f64,
    /// What bounds the wait in the place of priorities, if anything does.
    overdue: Option<Overdue>,
    by_port: bool,
    share: Share<Clairvoyant>,
    backfill: Backfill,
    /// Number of times that priorities have grown.
    upgrades: u64,
    upgrades_due: bool,
    /// By coflow, `upgrades` when it arrived.
    arrived_at: Vec<u64>,
    /// By coflow, ln Γ when it was last calculated.
    gammas: Vec<f64>,
    order: Vec<(f64, CoflowId)>,
}

/// Γ of a flow (Eq. 7) in seconds. `gain` is the volume that compression removes in a second; 0 if
/// the flow is not to be compressed.
fn expected_s(volume: f64, bandwidth: f64, gain: f64, overlap: bool, delta_s: f64) -> f64 {
    let sends = gain == 0.0 || overlap;
    let decrement = (gain + if sends { bandwidth } else { 0.0 }) * delta_s;
    delta_s + (volume - decrement).max(0.0) / bandwidth
}

impl Fvdf {
    /// Γ of a coflow (Eq. 8) in seconds.
    fn gamma_s(&self, view: &View<'_, Clairvoyant>, coflow: CoflowId) -> f64 {
        let capacity = view.fabric().capacity();
        let compression = self.compress.compression();
        let mut slowest: f64 = 0.0;
        for sender in 0..view.senders(coflow) {
            for flow in view.flows_of_sender(coflow, sender) {
                let (egress, ingress) = view.ends(flow);
                let bandwidth = capacity[egress.index()].min(capacity[ingress.index()]);
                let share = view.processor(PortId(egress.0));
                let raw = view.raw_left(flow);
                let ratio = view.ratio(flow, &compression);
                let gain = gain(&compression, share, ratio, raw, bandwidth);
                let volume = view.left(flow);
                slowest = slowest.max(expected_s(
                    volume,
                    bandwidth,
                    gain,
                    compression.overlap,
                    self.delta_s,
                ));
            }
        }
        slowest
    }
}

/// Which flows are compressed, and how.
pub(crate) fn compress(settings: &Settings) -> Result<Compress<Clairvoyant>, SpecError> {
    let codec = settings.codec("codec")?;
    let overlap = settings.choice("overlap", &[("true", true), ("false", false)])?;
    let by_size = settings.choice("ratio", &[("codec", false), ("size", true)])?;
    let remaining = settings.choice("bandwidth", &[("remaining", true), ("capacity", false)])?;
    let compress = Compress::longest_first(codec).overlapping(overlap).ratio_by_size(by_size);
    Ok(compress.comparing_remaining(remaining))
}

/// The volume that compression removes from a flow in a second, if it is to be compressed.
fn gain(compression: &Compression, share: f64, ratio: f64, raw: f64, bandwidth: f64) -> f64 {
    let pays = raw > 0.0 && compression.pays(share, ratio, bandwidth);
    if pays { compression.gain(share, ratio) } else { 0.0 }
}

/// The bound of `starvation=wait`: that of `covey` with its defaults.
const GUARD: Guard = Guard { share: 0.05, window_s: 2.0, grace_s: 30.0, stretch: 16.0 };

/// The coflows that go first because they have waited too long.
#[derive(Default)]
struct Overdue {
    /// By coflow, when it is overdue.
    due: Vec<Time>,
    /// The coflows that go first in this slot.
    first: Vec<CoflowId>,
}

impl Overdue {
    fn watch(&mut self, coflow: CoflowId, view: &View<'_, Clairvoyant>) {
        self.due.resize(view.slots(), Time::NEVER);
        self.due[coflow.index()] = GUARD.due(view.arrival(coflow), view.bottleneck_s(coflow));
    }

    /// Finds the coflows that go first in this slot, in order of arrival, if one begins. Returns
    /// when to look again.
    fn find(&mut self, view: &View<'_, Clairvoyant>) -> Time {
        let (now, phase) = (view.now(), GUARD.phase(view.now()));
        let Overdue { due, first } = self;
        first.retain(|&coflow| view.is_present(coflow));
        if phase.begins || !phase.in_slot {
            first.clear();
        }
        if phase.begins {
            first.extend(view.coflows().iter().filter(|coflow| due[coflow.index()].due(now)));
        }
        if !first.is_empty() {
            return phase.until;
        }
        let next = view.coflows().iter().map(|coflow| due[coflow.index()]).min();
        // What is overdue now goes first in the next window.
        let slot = |next: Time| if next.due(now) { phase.until } else { GUARD.next_slot(next) };
        next.map_or(Time::NEVER, slot)
    }
}

impl Policy<Clairvoyant> for Fvdf {
    fn ranked_by(&self, flow: FlowId, _: LinkId, view: &View<'_, Clairvoyant>) -> Vec<Criterion> {
        let is_first = |overdue: &Overdue| overdue.first.contains(&flow.coflow);
        if self.overdue.as_ref().is_some_and(is_first) {
            let arrival = view.arrival(flow.coflow).as_secs();
            return vec![Criterion::property("overdue"), Criterion::seconds("arrival", arrival)];
        }
        let place = self.order.iter().find(|&&(_, coflow)| coflow == flow.coflow);
        let name = match self.overdue {
            Some(_) => "expected time",
            None => "expected time over priority",
        };
        place.map(|&(key, _)| Criterion::seconds(name, libm::exp(key))).into_iter().collect()
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, Clairvoyant>) {
        self.arrived_at.resize(view.slots(), 0);
        self.arrived_at[coflow.index()] = self.upgrades;
        self.upgrades_due = true;
        if let Some(overdue) = &mut self.overdue {
            overdue.watch(coflow, view);
        }
    }

    fn coflow_ended(&mut self, _: CoflowId, _: &View<'_, Clairvoyant>) {
        self.upgrades_due = true;
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        if let Some(codec) = view.measured_codec() {
            self.compress = self.compress.by(codec);
        }
        self.upgrades += u64::from(std::mem::take(&mut self.upgrades_due));
        self.gammas.resize(view.slots(), 0.0);
        for &coflow in view.coflows().iter().filter(|&&coflow| view.is_dirty(coflow)) {
            let gamma = self.gamma_s(view, coflow);
            let by_port = if self.by_port { view.bottleneck_s(coflow) } else { 0.0 };
            self.gammas[coflow.index()] = libm::log(gamma.max(by_port));
        }
        self.order.clear();
        self.order.extend(view.coflows().iter().map(|&coflow| {
            let grown = match self.overdue {
                Some(_) => 0.0,
                None => (self.upgrades - self.arrived_at[coflow.index()]) as f64,
            };
            (self.gammas[coflow.index()] - grown * self.log_of_base, coflow)
        }));
        let arrival = |&(_, coflow): &(f64, CoflowId)| view.order(coflow);
        rank::sort(&mut self.order, Tie::Absolute, |&(key, _)| key, arrival);
        plan.clear();
        plan.set_backfill(self.backfill);
        plan.compress(self.compress);
        let look_again = self.overdue.as_mut().map_or(Time::NEVER, |overdue| overdue.find(view));
        if look_again.comes() {
            plan.wake_at(look_again);
        }
        let first = self.overdue.as_ref().map_or(&[][..], |overdue| &overdue.first);
        let others = self.order.iter().map(|&(_, coflow)| coflow);
        for coflow in first.iter().copied().chain(others.filter(|other| !first.contains(other))) {
            plan.push(Group::Coflow(coflow), self.share);
        }
        Answer::Replaced
    }
}

#[cfg(test)]
mod tests {
    use covey_core::Codec;

    use super::*;

    #[test]
    fn the_first_slice_of_eq_7() {
        // KA9: V = 10, B = 1, R = 4, ξ = 0.5, δ = 0.01.
        let compress = Compress::longest_first(Codec { speed: 4.0, ratio: 0.5 });
        let gain = gain(&compress.compression(), 1.0, 0.5, 10.0, 1.0);
        assert!((expected_s(10.0, 1.0, gain, false, 0.01) - 9.99).abs() < 1e-12);
        // With R = 2 compressing is no faster than sending, and 10 seconds of sending are left.
        let compress = Compress::longest_first(Codec { speed: 2.0, ratio: 0.5 });
        let gain = super::gain(&compress.compression(), 1.0, 0.5, 10.0, 1.0);
        assert_eq!(expected_s(10.0, 1.0, gain, false, 0.01), 10.0);
        // Both at once: 0.01 for the slice, in which 0.01 is sent and 0.02 compressed away.
        assert!((expected_s(10.0, 1.0, 2.0, true, 0.01) - 9.98).abs() < 1e-12);
    }

    #[test]
    fn what_is_compressed_within_the_slice_takes_the_slice() {
        assert_eq!(expected_s(0.01, 1.0, 2.0, false, 0.01), 0.01);
    }
}
