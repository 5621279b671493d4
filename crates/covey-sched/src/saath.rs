//! `saath`: all or none, least contention first, and a queue by the longest flow (Saath, CoNEXT
//! 2017).
//!
//! Three changes to Aalo. A coflow is served only when all its ports have free capacity, and then
//! all its flows get the same rate; coflows that were passed over share what is left, in order.
//! Inside a queue the coflow that meets the fewest others of the queue goes first. And a coflow of
//! `N` flows is demoted when any one of them has sent an `N`-th of its queue's limit, which an
//! uneven start cannot delay.
//!
//! Queues go strictly, upper ones first. Deadlines prevent starvation: a coflow that has been in
//! its queue for longer than `d` times the number of coflows there times the queue's span at port
//! rate goes before all others, first come first served, until it changes queues.
//!
//! With `dynamics=true`, once flows of a coflow have ended, its queue follows from an estimate of
//! what is left: the median of their lengths for each unfinished flow, less what these have sent so
//! far.
//!
//! The published system decides every few milliseconds. Here every event takes effect at once, as
//! in `aalo` with `delta=0`.

use covey_core::{
    Answer, AnyPolicy, Backfill, CoflowId, Criterion, FlowId, Group, LinkId, NonClairvoyant, Plan,
    Policy, Promises, Share, Time, View, Wants,
};

use crate::contention::Contention;
use crate::info::Info;
use crate::queues::{self, Queues};
use crate::sampling::RunningMedian;
use crate::spec::Param;

/// Values of the parameter `work_conservation`.
const BACKFILL: &[(&str, Backfill)] =
    &[("skipped", Backfill::Skipped), ("all", Backfill::Greedy), ("none", Backfill::None)];

pub(crate) const INFO: Info = Info {
    name: "saath",
    knows: "unsized",
    summary: "all or none of a coflow's flows, least contention first, queues by the longest flow",
    params: &[
        queues::K,
        queues::E_OF_LIMITS,
        queues::Q1,
        Param {
            name: "threshold",
            default: "flow",
            help: "what demotes: flow (any flow has sent its part of the limit) or coflow (all have sent the limit)",
        },
        Param {
            name: "order",
            default: "contention",
            help: "inside a queue: contention, width or fifo",
        },
        Param {
            name: "d",
            default: "2",
            help: "deadline in a queue, as a multiple of what serving the queue takes; 0 for none",
        },
        Param {
            name: "work_conservation",
            default: "skipped",
            help: "who shares what is left over, flow by flow: skipped (coflows that were passed over), all or none",
        },
        Param {
            name: "dynamics",
            default: "false",
            help: "queues by an estimate of what is left once flows have ended: true or false",
        },
    ],
    source: "Saath (CoNEXT 2017) 3, 4",
    promises: |settings| {
        Ok(Promises {
            conserves_work: settings.choice("work_conservation", BACKFILL)? == Backfill::Greedy,
            starves_nobody: settings.number("d", 0.0, 1e6)? > 0.0,
            ..Promises::default()
        })
    },
    make: |settings| {
        Ok(AnyPolicy::NonClairvoyant(Box::new(Saath::new(Rules {
            queues: Queues::from_settings(settings)?,
            per_flow: settings.choice("threshold", &[("flow", true), ("coflow", false)])?,
            order: settings.choice(
                "order",
                &[
                    ("contention", Order::Contention),
                    ("width", Order::Width),
                    ("fifo", Order::Arrival),
                ],
            )?,
            deadline: settings.number("d", 0.0, 1e6)?,
            backfill: settings.choice("work_conservation", BACKFILL)?,
            dynamics: settings.choice("dynamics", &[("true", true), ("false", false)])?,
        }))))
    },
};

/// Which coflow goes first inside a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The coflow that meets the fewest others of the queue.
    Contention,
    /// The coflow with the fewest flows.
    Width,
    /// The coflow that arrived first.
    Arrival,
}

/// What is known of a coflow.
#[derive(Debug, Clone, Default)]
struct Track {
    queue: u32,
    /// The queue and the link at which [`Members`] counts the coflow.
    member: Option<(u32, LinkId)>,
    /// When the coflow goes before all others.
    deadline: Option<Time>,
    /// Lengths of ended flows.
    ended: RunningMedian,
}

/// Counts the coflows of each queue, each at its first link. Those that a coflow can meet are found
/// through links, of which there are fewer than coflows.
#[derive(Debug, Default)]
struct Members {
    /// By queue, and by link.
    at: Vec<Vec<u32>>,
}

impl Members {
    fn add(&mut self, queue: u32, link: LinkId) {
        let queue = queue as usize;
        self.at.resize_with(self.at.len().max(queue + 1), Vec::new);
        let at = &mut self.at[queue];
        at.resize(at.len().max(link.index() + 1), 0);
        at[link.index()] += 1;
    }

    fn remove(&mut self, queue: u32, link: LinkId) {
        self.at[queue as usize][link.index()] -= 1;
    }

    /// Number of coflows of a queue that a coflow can have met, itself included if it is one of
    /// them.
    fn met(&self, queue: u32, coflow: CoflowId, view: &View<'_, NonClairvoyant>) -> u32 {
        let at = self.at.get(queue as usize).into_iter().flatten().enumerate();
        let reached = |&(link, count): &(usize, &u32)| {
            *count > 0 && view.reaches(coflow, LinkId(link as u32))
        };
        at.filter(reached).map(|(_, count)| count).sum()
    }
}

/// The parameters.
pub(crate) struct Rules {
    pub queues: Queues,
    /// Whether a queue's limit is divided among the flows; otherwise it is for all flows together.
    pub per_flow: bool,
    pub order: Order,
    /// `d`; 0 for no deadlines.
    pub deadline: f64,
    pub backfill: Backfill,
    pub dynamics: bool,
}

pub(crate) struct Saath {
    rules: Rules,
    contention: Contention,
    members: Members,
    /// By coflow.
    tracks: Vec<Track>,
    /// Whether any event could have changed the plan.
    stale: bool,
    expired: Vec<(Time, CoflowId)>,
    ranked: Vec<(u32, u32, CoflowId)>,
}

impl Saath {
    pub(crate) fn new(rules: Rules) -> Saath {
        Saath {
            rules,
            contention: Contention::default(),
            members: Members::default(),
            tracks: Vec::new(),
            stale: false,
            expired: Vec::new(),
            ranked: Vec::new(),
        }
    }

    /// What a flow, or all flows together, may send before a coflow is demoted.
    fn limit(&self, coflow: CoflowId, queue: u32, view: &View<'_, NonClairvoyant>) -> f64 {
        let flows = if self.rules.per_flow { view.width(coflow).max(1) as f64 } else { 1.0 };
        self.rules.queues.limit(queue) / flows
    }

    /// Puts a coflow into a queue, with a deadline for leaving it.
    fn join(&mut self, coflow: CoflowId, queue: u32, view: &View<'_, NonClairvoyant>) {
        self.stale = true;
        self.tracks[coflow.index()].queue = queue;
        self.contention.join(coflow, queue);
        self.leave(coflow);
        if let Some(load) = view.loads(coflow).next() {
            self.members.add(queue, load.link);
            self.tracks[coflow.index()].member = Some((queue, load.link));
        }
        let track = &mut self.tracks[coflow.index()];
        if self.rules.deadline > 0.0 {
            let coflows = f64::from(self.members.met(queue, coflow, view));
            let capacity = view.fabric().capacity();
            let rates = view.loads(coflow).map(|load| capacity[load.link.index()]);
            let rate = rates.fold(f64::INFINITY, f64::min);
            let wait_s = self.rules.deadline * coflows * self.rules.queues.span(queue) / rate;
            track.deadline = Some(view.now() + wait_s);
        }
    }

    /// Takes a coflow out of its queue.
    fn leave(&mut self, coflow: CoflowId) {
        if let Some((queue, link)) = self.tracks[coflow.index()].member.take() {
            self.members.remove(queue, link);
        }
    }

    fn move_to(&mut self, coflow: CoflowId, queue: u32, view: &View<'_, NonClairvoyant>) {
        let before = self.tracks[coflow.index()].queue;
        if queue != before {
            self.join(coflow, queue, view);
        }
    }

    /// The queue that follows from what is left, once flows have ended.
    fn estimated_queue(&self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) -> Option<u32> {
        let ended = &self.tracks[coflow.index()].ended;
        let unfinished = view.unfinished(coflow) as f64;
        let (_, finished) = view.finished(coflow);
        let median = ended.median()?;
        let sent = view.attained(coflow).bytes - finished;
        let left = (median * unfinished - sent).max(0.0);
        // Limits are divided by the number of flows: the largest rest of a flow, times that number.
        let key = if self.rules.per_flow {
            left / unfinished.max(1.0) * view.width(coflow) as f64
        } else {
            left
        };
        Some(self.rules.queues.queue_of(key))
    }

    fn is_estimated(&self, coflow: CoflowId) -> bool {
        self.rules.dynamics && !self.tracks[coflow.index()].ended.is_empty()
    }

    /// Demotes a coflow that has reached a limit of its queue.
    fn demote(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        // The coflow may have ended at the same time. Once one of its flows has ended, estimates
        // decide.
        if !view.is_present(coflow) || self.is_estimated(coflow) {
            return;
        }
        let next = (self.tracks[coflow.index()].queue + 1).min(self.rules.queues.count - 1);
        self.move_to(coflow, next, view);
    }

    /// Fills `expired` and `ranked`.
    fn rank(&mut self, view: &View<'_, NonClairvoyant>) {
        self.expired.clear();
        self.ranked.clear();
        for &coflow in view.coflows() {
            let Track { queue, deadline, .. } = self.tracks[coflow.index()];
            if let Some(deadline) = deadline.filter(|deadline| deadline.due(view.now())) {
                self.expired.push((deadline, coflow));
                continue;
            }
            let key = match self.rules.order {
                Order::Contention => self.contention.met(coflow),
                Order::Width => view.width(coflow) as u32,
                Order::Arrival => 0,
            };
            self.ranked.push((queue, key, coflow));
        }
        // The sort is stable: ties stay in order of arrival.
        self.expired.sort_by_key(|&(deadline, _)| deadline);
        self.ranked.sort_by_key(|&(queue, key, _)| (queue, key));
    }
}

impl Policy<NonClairvoyant> for Saath {
    fn wants(&self) -> Wants {
        let dynamics = self.rules.dynamics;
        Wants { flow_ends: dynamics, port_drains: true, attained: dynamics, ..Wants::default() }
    }

    fn ranked_by(
        &self,
        flow: FlowId,
        _: LinkId,
        view: &View<'_, NonClairvoyant>,
    ) -> Vec<Criterion> {
        let coflow = flow.coflow;
        if let Some((deadline, _)) = self.expired.iter().find(|&&(_, expired)| expired == coflow) {
            let deadline = Criterion::seconds("deadline in its queue", deadline.as_secs());
            return vec![Criterion::property("too long in its queue"), deadline];
        }
        let place = self.ranked.iter().find(|&&(.., ranked)| ranked == coflow);
        let Some(&(queue, key, _)) = place else { return Vec::new() };
        let inside = match self.rules.order {
            Order::Contention => Criterion::number("contention", key),
            Order::Width => Criterion::number("width", key),
            Order::Arrival => Criterion::seconds("arrival", view.arrival(coflow).as_secs()),
        };
        vec![queues::criterion(queue), inside]
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.contention.add(coflow, view);
        self.tracks.resize_with(view.slots(), Track::default);
        self.tracks[coflow.index()].ended.clear();
        self.join(coflow, 0, view);
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.contention.add(coflow, view);
        self.stale = true;
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, NonClairvoyant>) {
        // A coflow ends with its last flow, and is in no queue then.
        if !view.is_present(flow.coflow) {
            return;
        }
        let Some(length) = view.finished_size(flow) else { return };
        self.tracks[flow.coflow.index()].ended.add(length);
        if let Some(queue) = self.estimated_queue(flow.coflow, view) {
            self.move_to(flow.coflow, queue, view);
        }
    }

    fn port_drained(&mut self, coflow: CoflowId, link: LinkId, _: &View<'_, NonClairvoyant>) {
        self.contention.drained(coflow, link);
        self.stale = true;
    }

    fn coflow_ended(&mut self, coflow: CoflowId, _: &View<'_, NonClairvoyant>) {
        self.contention.remove(coflow);
        self.leave(coflow);
        self.stale = true;
    }

    fn bytes_reached(&mut self, coflow: CoflowId, _: f64, view: &View<'_, NonClairvoyant>) {
        self.demote(coflow, view);
    }

    fn flow_bytes_reached(&mut self, coflow: CoflowId, _: f64, view: &View<'_, NonClairvoyant>) {
        self.demote(coflow, view);
    }

    fn woke(&mut self, _: &View<'_, NonClairvoyant>) {
        self.stale = true;
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        if !std::mem::take(&mut self.stale) {
            return Answer::Unchanged;
        }
        self.rank(view);
        plan.clear();
        plan.set_backfill(self.rules.backfill);
        for &(_, coflow) in &self.expired {
            plan.push(Group::Coflow(coflow), Share::ALL_OR_NONE);
        }
        for queue in self.ranked.chunk_by(|a, b| a.0 == b.0) {
            plan.open_layer(1.0);
            for &(.., coflow) in queue {
                plan.push(Group::Coflow(coflow), Share::ALL_OR_NONE);
            }
        }
        for &coflow in view.coflows() {
            let track = &self.tracks[coflow.index()];
            let deadline = track.deadline.filter(|deadline| !deadline.due(view.now()));
            if let Some(deadline) = deadline {
                plan.wake_at(deadline);
            }
            let limit = self.limit(coflow, track.queue, view);
            if limit.is_finite() && !self.is_estimated(coflow) {
                if self.rules.per_flow {
                    plan.wake_when_flow_sent(coflow, limit);
                } else {
                    plan.wake_when_sent(coflow, limit);
                }
            }
        }
        Answer::Replaced
    }
}
