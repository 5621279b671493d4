//! D-CLAS among coflows, and inside a coflow queues by what each flow has sent (CODA §4.2.2,
//! Algorithm 2).

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use covey_core::sorted::Sorted;
use covey_core::{
    Answer, CoflowId, Criterion, Destination, FlowId, Knowledge, Layers, Lineage, Member, OwnGroup,
    Plan, Rank, Regrouping, Sender, Share, Time, View,
};

use super::setup::Setup;
use crate::aalo::next_tick;
use crate::kept_ranks::KeptRanks;
use crate::queues::{self, Queues};

/// The policy looks at the flows of a group no more often than a port can send this share of the
/// limit of their flow queue. Demoting each flow exactly at the limit would cost a round for each.
const OVERSHOOT: f64 = 0.5;

/// Nor does it look before these flows have sent this share of the limit on average. So the cost of
/// looking is in proportion to the bytes sent.
const PROGRESS: f64 = 0.125;

/// A coflow, by a number that no other one has or had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Coflow(pub u32);

/// Where a flow is served: in a flow queue of a coflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat {
    pub coflow: Coflow,
    pub flow_queue: u32,
}

/// The place of a coflow in its queue. Coflows with names go by lineage, as in Aalo; others by the
/// time at which they began, and then in the order in which they were found.
type Place = (u64, u32);

/// Groups of flows, one for each flow queue of a coflow that has flows.
#[derive(Debug)]
struct Groups {
    lineage: Lineage,
    arrival: Time,
    /// Its place among the coflows of its queue, least first.
    place: Place,
    by_queue: Vec<Option<CoflowId>>,
    /// Whether it stays although it has no flows.
    is_open: bool,
}

/// The coflows whose bytes are counted together: those of a DAG, or one that was found.
#[derive(Debug, Clone, Copy, Default)]
struct Dag {
    queue: u32,
    /// Bytes that flows had sent elsewhere when they joined, less those that flows had sent when
    /// they left.
    credit: f64,
}

/// What was known of the flows of a group when they were last looked at.
#[derive(Debug, Clone, Copy, Default)]
struct Look {
    /// Bytes that the group had sent in all.
    attained: f64,
    /// No flow of it had sent more than this many bytes.
    most: f64,
    /// When the group is to be looked at again, if that is planned.
    next: Option<Time>,
}

/// Which group goes first.
pub(super) struct Priorities<K> {
    coflow_queues: Queues,
    flow_queues: Queues,
    layers: Layers,
    delta_s: f64,
    coflows: BTreeMap<Coflow, Groups>,
    dags: Sorted<u64, Dag>,
    members: Sorted<(u64, Coflow), ()>,
    /// The seat for which a group is, by [`CoflowId`].
    seats: Vec<Option<Seat>>,
    ranks: KeptRanks,
    next_coflow: u32,
    next_group: u32,
    /// The seats of the flows that are on their way, in the order of the [`Regrouping`].
    on_the_way: Vec<(Seat, Option<Seat>)>,
    /// Groups that have begun in it, by seat.
    begun: BTreeMap<Seat, Destination>,
    /// What is known of the flows of each group, by [`CoflowId`].
    last_looks: Vec<Look>,
    /// When groups are to be looked at again, if they have sent enough by then.
    looks: BTreeSet<(Time, CoflowId)>,
    /// Groups of which a flow may have sent the limit of its flow queue.
    crossing: Vec<CoflowId>,
    /// Groups to rank again, DAGs and groups whose wake-ups are to be asked for again, and groups
    /// that have ended.
    to_rank: Vec<CoflowId>,
    to_watch: Vec<u64>,
    to_look_at: Vec<CoflowId>,
    ended: Vec<CoflowId>,
    /// Whether any event could have changed the plan.
    is_stale: bool,
    /// Whether any has come since the last tick.
    waits: bool,
    knowledge: PhantomData<K>,
}

impl<K: Knowledge> Priorities<K> {
    pub fn new(setup: &Setup) -> Priorities<K> {
        Priorities {
            coflow_queues: setup.coflow_queues,
            flow_queues: setup.flow_queues,
            layers: setup.layers,
            delta_s: setup.delta_s,
            coflows: BTreeMap::new(),
            dags: Sorted::default(),
            members: Sorted::default(),
            seats: Vec::new(),
            ranks: KeptRanks::default(),
            next_coflow: 0,
            next_group: 0,
            on_the_way: Vec::new(),
            begun: BTreeMap::new(),
            last_looks: Vec::new(),
            looks: BTreeSet::new(),
            crossing: Vec::new(),
            to_rank: Vec::new(),
            to_watch: Vec::new(),
            to_look_at: Vec::new(),
            ended: Vec::new(),
            is_stale: false,
            waits: false,
            knowledge: PhantomData,
        }
    }

    /// The next tick of the coordinator, no earlier than `now`.
    pub fn next_tick(&self, now: Time) -> Time {
        next_tick(self.delta_s, now)
    }

    /// Something has happened that may change the plan.
    pub fn note(&mut self) {
        (self.is_stale, self.waits) = (true, true);
    }

    /// Whether it is a tick, and anything has happened since the last one.
    pub fn is_due(&self, now: Time) -> bool {
        self.waits && self.next_tick(now).due(now)
    }

    /// A coflow was found that began at `arrival`. It stays until it is [closed](Priorities::close)
    /// and has no flows.
    pub fn find(&mut self, arrival: Time) -> Coflow {
        let external = u64::from(self.next_coflow);
        let place = (arrival.as_key(), self.next_coflow);
        self.add(Lineage { external, internal: 0 }, arrival, place, 0.0)
    }

    /// A coflow with a name has arrived; its flows are in its first flow queue. Coflows of its DAG
    /// that have ended had sent `inherited` bytes.
    pub fn arrive(&mut self, id: CoflowId, lineage: Lineage, now: Time, inherited: f64) {
        let place = (lineage.external, lineage.internal);
        let coflow = self.add(lineage, now, place, inherited);
        self.coflows.get_mut(&coflow).expect("it was added").is_open = false;
        self.seat(id, Seat { coflow, flow_queue: 0 });
    }

    fn add(&mut self, lineage: Lineage, arrival: Time, place: Place, inherited: f64) -> Coflow {
        let coflow = Coflow(self.next_coflow);
        self.next_coflow += 1;
        let by_queue = vec![None; self.flow_queues.count as usize];
        self.coflows.insert(coflow, Groups { lineage, arrival, place, by_queue, is_open: true });
        if self.dags.get(&lineage.external).is_none() {
            let queue = self.coflow_queues.left_at(inherited);
            self.dags.insert(lineage.external, Dag { queue, credit: 0.0 });
            self.to_watch.push(lineage.external);
        }
        self.members.insert((lineage.external, coflow), ());
        coflow
    }

    /// A coflow that was found gets no more flows by itself.
    pub fn close(&mut self, coflow: Coflow) {
        if let Some(groups) = self.coflows.get_mut(&coflow) {
            groups.is_open = false;
            self.drop_if_over(coflow);
        }
    }

    fn drop_if_over(&mut self, coflow: Coflow) {
        let Some(groups) = self.coflows.get(&coflow) else { return };
        if groups.is_open || groups.by_queue.iter().any(Option::is_some) {
            return;
        }
        let external = groups.lineage.external;
        self.coflows.remove(&coflow);
        self.members.remove(&(external, coflow));
        if self.of_dag(external).next().is_none() {
            self.dags.remove(&external);
            self.to_watch.push(external);
        }
    }

    fn of_dag(&self, external: u64) -> impl Iterator<Item = Coflow> + '_ {
        let from = self.members.from((external, Coflow(0))).map(|&(member, ())| member);
        from.take_while(move |(dag, _)| *dag == external).map(|(_, coflow)| coflow)
    }

    /// The key by which coflows are in order of precedence, least first.
    pub fn precedence(&self, coflow: Coflow) -> (u32, Place, Coflow) {
        let Some(groups) = self.coflows.get(&coflow) else { return (0, (0, 0), coflow) };
        let queue = self.dags.get(&groups.lineage.external).map_or(0, |dag| dag.queue);
        (queue, groups.place, coflow)
    }

    /// What the flows of a group are ranked by.
    pub fn ranked_by(&self, group: CoflowId) -> Vec<Criterion> {
        let Some(Seat { coflow, flow_queue }) = self.seat_of(group) else { return Vec::new() };
        let began = self.coflows.get(&coflow).map_or(Time::ZERO, |groups| groups.arrival);
        let (queue, ..) = self.precedence(coflow);
        vec![
            queues::criterion(queue),
            Criterion::seconds("begin of its coflow", began.as_secs()),
            Criterion::number("queue of flows", flow_queue + 1),
        ]
    }

    /// The seat for which a group is.
    pub fn seat_of(&self, group: CoflowId) -> Option<Seat> {
        *self.seats.get(group.index())?
    }

    /// A group is for a seat from now on.
    fn seat(&mut self, group: CoflowId, seat: Seat) {
        if self.seats.len() <= group.index() {
            self.seats.resize(group.index() + 1, None);
        }
        self.seats[group.index()] = Some(seat);
        self.last_looks.resize(self.seats.len(), Look::default());
        self.last_looks[group.index()] = Look::default();
        let groups = self.coflows.get_mut(&seat.coflow).expect("a coflow that is present");
        groups.by_queue[seat.flow_queue as usize] = Some(group);
        self.to_rank.push(group);
        self.to_look_at.push(group);
    }

    /// The last flow of a group has ended, or has gone elsewhere.
    pub fn leave(&mut self, group: CoflowId) {
        let Some(seat) = self.seats.get_mut(group.index()).and_then(Option::take) else { return };
        if let Some(groups) = self.coflows.get_mut(&seat.coflow) {
            groups.by_queue[seat.flow_queue as usize] = None;
        }
        self.ranks.leave(group);
        for list in [&mut self.crossing, &mut self.to_rank, &mut self.to_look_at] {
            list.retain(|&other| other != group);
        }
        if let Some(next) = self.last_looks[group.index()].next.take() {
            self.looks.remove(&(next, group));
        }
        self.ended.push(group);
        self.drop_if_over(seat.coflow);
    }

    /// The coflows of a DAG have sent so many bytes.
    pub fn dag_bytes_reached(&mut self, external: u64, bytes: f64) {
        let Some(&Dag { queue, credit }) = self.dags.get(&external) else { return };
        let reached = self.coflow_queues.left_at(bytes + credit);
        self.to_watch.push(external);
        if reached > queue {
            self.dags.insert(external, Dag { queue: reached, credit });
            let coflows = self.of_dag(external).filter_map(|coflow| self.coflows.get(&coflow));
            let groups = coflows.flat_map(|groups| groups.by_queue.iter().flatten().copied());
            self.to_rank.extend(groups.collect::<Vec<_>>());
        }
    }

    /// Notes that a group has sent enough for one of its flows to have reached the limit of its
    /// flow queue.
    pub fn bytes_reached(&mut self, group: CoflowId) {
        self.crossing.push(group);
    }

    /// Groups whose flows may have reached the limit of their flow queue. The policy has to read
    /// the bytes that these flows have sent.
    pub fn crossing(&self) -> &[CoflowId] {
        &self.crossing
    }

    /// Takes the flows that have sent the limit of their flow queues, with the seats to which they
    /// move.
    pub fn take_crossed(&mut self, view: &View<'_, K>) -> Vec<(FlowId, Seat)> {
        let mut crossed = Vec::new();
        let mut groups = std::mem::take(&mut self.crossing);
        groups.sort_unstable();
        groups.dedup();
        for &group in &groups {
            let Some(seat) = self.seat_of(group) else { continue };
            // What is sent within the resolution of time does not decide.
            let slack_bytes = 4.0 * view.now().slack_s() * fastest(group, view);
            let mut most = 0.0_f64;
            for flow in view.flows(group) {
                let sent = view.sent(flow);
                let flow_queue = self.flow_queues.left_at(sent + slack_bytes);
                if flow_queue > seat.flow_queue {
                    crossed.push((flow, Seat { flow_queue, ..seat }));
                } else {
                    most = most.max(sent);
                }
            }
            self.last_looks[group.index()] =
                Look { attained: view.attained(group).bytes, most, next: None };
            self.to_look_at.push(group);
        }
        groups.clear();
        self.crossing = groups;
        crossed
    }

    /// Puts a flow into a seat, in which it is not yet. `from` is where it comes from, if from
    /// anywhere.
    pub fn put(&mut self, member: Member, from: Option<Seat>, seat: Seat, to: &mut Regrouping) {
        let groups = &self.coflows[&seat.coflow];
        let destination = match groups.by_queue[seat.flow_queue as usize] {
            Some(group) => Destination::Coflow(group),
            None => *self.begun.entry(seat).or_insert_with(|| {
                self.next_group += 1;
                let number = self.next_group - 1;
                to.begin(OwnGroup { number, arrival: groups.arrival, lineage: groups.lineage })
            }),
        };
        to.put(member, destination);
        self.on_the_way.push((seat, from));
    }

    /// Flows have got to their seats, in the order in which they were put.
    pub fn regrouped(&mut self, flows: &[FlowId], view: &View<'_, K>) {
        self.begun.clear();
        let arrived = std::mem::take(&mut self.on_the_way);
        for (&flow, &(seat, from)) in flows.iter().zip(&arrived) {
            if self.seat_of(flow.coflow).is_none() {
                self.seat(flow.coflow, seat);
            }
            let Some(from) = from else { continue };
            let sent = view.sent(flow);
            let look = &mut self.last_looks[flow.coflow.index()];
            look.most = look.most.max(sent);
            if from.coflow != seat.coflow {
                self.give_credit(from.coflow, -sent);
                self.give_credit(seat.coflow, sent);
            }
        }
        self.on_the_way = arrived;
        self.on_the_way.clear();
    }

    fn give_credit(&mut self, coflow: Coflow, bytes: f64) {
        let Some(groups) = self.coflows.get(&coflow) else { return };
        let external = groups.lineage.external;
        if let Some(&Dag { queue, credit }) = self.dags.get(&external)
            && bytes != 0.0
        {
            self.dags.insert(external, Dag { queue, credit: credit + bytes });
            self.to_watch.push(external);
        }
    }

    /// Ranks groups, and asks for wake-ups. Between ticks only what has ended leaves the plan.
    pub fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        if !std::mem::take(&mut self.is_stale) {
            return Answer::Unchanged;
        }
        let tick = self.next_tick(view.now());
        let is_tick = tick.due(view.now());
        plan.clear_times();
        plan.set_layers(self.layers);
        self.ranks.clear_left(plan);
        for group in self.ended.drain(..) {
            plan.clear_wakes_of(Sender::Coflow(group));
        }
        if is_tick {
            for group in std::mem::take(&mut self.to_rank) {
                self.rank(group, view, plan);
            }
            self.plan_looks(view, plan);
        }
        self.to_watch.sort_unstable();
        self.to_watch.dedup();
        for external in std::mem::take(&mut self.to_watch) {
            plan.clear_wakes_of(Sender::Dag(external));
            let Some(dag) = self.dags.get(&external) else { continue };
            let limit = self.coflow_queues.limit(dag.queue);
            if limit.is_finite() {
                plan.wake_when_dag_sent(external, limit - dag.credit);
            }
        }
        self.waits &= !is_tick;
        let next_look = || self.looks.first().map(|&(time, _)| self.next_tick(time));
        if let Some(next) = self.waits.then_some(tick).or_else(next_look) {
            plan.wake_at(next);
        }
        Answer::Replaced
    }

    fn rank(&mut self, group: CoflowId, view: &View<'_, K>, plan: &mut Plan<K>) {
        let Some(Seat { coflow, flow_queue }) = self.seat_of(group) else { return };
        let (queue, (first, second), _) = self.precedence(coflow);
        plan.set_weight(queue, libm::pow(self.coflow_queues.factor, -f64::from(queue)));
        let keys = [first, u64::from(second) << 32 | u64::from(flow_queue)];
        let rank = Rank::of_numbers(queue, keys, view.order(group));
        self.ranks.put(plan, group, rank, Share::MAX_MIN);
    }

    /// Plans when to look at the flows of groups: not before the fastest flow can have sent the
    /// limit of its flow queue, nor before the group has sent that much.
    fn plan_looks(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) {
        for group in std::mem::take(&mut self.to_look_at) {
            let Some(seat) = self.seat_of(group) else { continue };
            let limit = self.flow_queues.limit(seat.flow_queue);
            let look = &mut self.last_looks[group.index()];
            if limit.is_finite() && look.next.is_none() {
                let seconds = (limit - look.most).max(OVERSHOOT * limit) / fastest(group, view);
                let next = view.now() + seconds;
                look.next = Some(next);
                self.looks.insert((next, group));
            }
        }
        while let Some(&(time, group)) = self.looks.first()
            && time.due(view.now())
        {
            self.looks.pop_first();
            let Some(seat) = self.seat_of(group) else { continue };
            let look = &mut self.last_looks[group.index()];
            look.next = None;
            let limit = self.flow_queues.limit(seat.flow_queue);
            let progress = PROGRESS * limit * view.unfinished(group) as f64;
            plan.wake_when_sent(group, look.attained + progress.max(limit - look.most));
        }
    }
}

/// The capacity of the fastest link of a group, in bytes per second.
fn fastest<K: Knowledge>(group: CoflowId, view: &View<'_, K>) -> f64 {
    let capacity = view.fabric().capacity();
    view.loads(group).map(|load| capacity[load.link.index()]).fold(0.0, f64::max)
}
