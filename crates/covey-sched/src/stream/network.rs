//! The network of `stream`: it runs a receiver for each sub-coflow, and carries what hosts tell
//! each other.
//!
//! A priority travels to the senders with an ACK, and arrives after half a round trip. Relays are
//! taken up by an ACK and ride on data, so that they take a round trip. The size of a sub-coflow
//! that has completed goes to the receivers of those that depend on it in half a round trip. Links
//! serve the marked packets strictly by priority: each priority is a class of the plan
//! ([`Layers::Classes`]).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use covey_core::sorted::Sorted;
use covey_core::{
    Answer, CoflowId, Criterion, FlowId, Group, Layers, LinkId, NonClairvoyant, Plan, Policy, Rank,
    Sender, Share, Time, View, Wake, Wants,
};
use covey_stream::{Input, Setup, sub_coflow_id};

use super::ended::Ended;
use super::present::Present;
use super::relay::{Hearing, Relay, has_sent, next_look};

/// A sub-coflow: its coflow, the serial number of the coflow's registration, and the number of the
/// sub-coflow in the coflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Address {
    coflow: CoflowId,
    seq: u64,
    sub: usize,
}

/// What is known of the bytes of a DAG.
#[derive(Debug, Clone, Copy)]
struct Dag {
    /// Bytes of its coflows that have ended.
    ended_bytes: f64,
    /// Bytes that all of its coflows had sent when relays were last looked at.
    bytes: f64,
    /// When a coflow of the DAG last came or ended. A look at this very time is left out, and the
    /// next one is set: rounding decides whether such a look comes first, last or never.
    changed: Time,
    /// The number of its relays.
    relays: usize,
}

/// Something under way. What took off later arrives no earlier.
type UnderWay<T> = VecDeque<(Time, Address, T)>;

/// What comes at a time.
#[derive(Debug, Default)]
struct Coming {
    /// Priorities on their way to senders.
    acks: UnderWay<u32>,
    /// When relays of a DAG have been told.
    relays: VecDeque<(Time, u64)>,
    /// Sizes on their way to receivers.
    sizes: UnderWay<Input>,
    /// When senders look whether flows starve.
    looks: Sorted<(Time, CoflowId, usize), ()>,
}

impl Coming {
    /// The time of the first.
    fn next(&self) -> Option<Time> {
        let Coming { acks, relays, sizes, looks } = self;
        let told = [acks.front().map(|ack| ack.0), relays.front().map(|dag| dag.0)];
        let others = [sizes.front().map(|news| news.0), looks.first().map(|look| look.0.0)];
        told.into_iter().chain(others).flatten().min()
    }
}

/// What the next plan has to carry out.
#[derive(Debug, Default)]
struct ToDo {
    /// Coflows of which flows have started.
    started: Vec<CoflowId>,
    /// Sub-coflows about which something has changed.
    touched: Vec<(CoflowId, usize)>,
    /// Ranks of sub-coflows that have ended.
    left: Vec<Rank>,
    /// Coflows that have ended.
    gone: Vec<CoflowId>,
    /// DAGs whose next look at relays is to be set.
    to_watch: Vec<u64>,
}

/// All receivers, as a policy for the network.
pub(super) struct Network {
    setup: Setup,
    /// By [`CoflowId`].
    coflows: Vec<Present>,
    /// The coflows of each DAG.
    members: Sorted<(u64, CoflowId), ()>,
    dags: Sorted<u64, Dag>,
    ended: Ended,
    coming: Coming,
    /// The relays of each DAG, by number.
    relays: Vec<Relay>,
    /// Numbers of relays that no DAG has. The lowest is taken first, so that the memory of a run
    /// fits the next one.
    vacant: BinaryHeap<Reverse<usize>>,
    to_do: ToDo,
    /// Working memory.
    hearing: Hearing,
    /// Working memory: coflows.
    some: Vec<CoflowId>,
}

/// The coflows of a DAG.
fn of_dag(
    members: &Sorted<(u64, CoflowId), ()>,
    external: u64,
) -> impl Iterator<Item = CoflowId> + '_ {
    let from = members.from((external, CoflowId(0))).map(|&(member, ())| member);
    from.take_while(move |(dag, _)| *dag == external).map(|(_, coflow)| coflow)
}

/// Notes that something about a sub-coflow has changed.
fn touch(
    touched: &mut Vec<(CoflowId, usize)>,
    coflows: &mut [Present],
    coflow: CoflowId,
    number: usize,
) {
    let sub = &mut coflows[coflow.index()].subs_mut()[number];
    if !std::mem::replace(&mut sub.is_touched, true) {
        touched.push((coflow, number));
    }
}

impl Network {
    pub fn new(setup: Setup) -> Network {
        Network {
            setup,
            coflows: Vec::new(),
            members: Sorted::default(),
            dags: Sorted::default(),
            ended: Ended::default(),
            coming: Coming::default(),
            relays: Vec::new(),
            vacant: BinaryHeap::new(),
            to_do: ToDo::default(),
            hearing: Hearing::default(),
            some: Vec::new(),
        }
    }

    /// A receiver learns something.
    fn learn(&mut self, coflow: CoflowId, number: usize, inputs: impl IntoIterator<Item = Input>) {
        let sub = &mut self.coflows[coflow.index()].subs_mut()[number];
        sub.learn(inputs, &self.setup.rules);
        touch(&mut self.to_do.touched, &mut self.coflows, coflow, number);
    }

    fn is_current(&self, to: Address) -> bool {
        let present = &self.coflows[to.coflow.index()];
        present.is_present && present.seq == to.seq
    }

    /// What has arrived by `now`.
    fn deliver(&mut self, now: Time) {
        while self.coming.acks.front().is_some_and(|(arrival, ..)| arrival.due(now)) {
            let Some((_, to, priority)) = self.coming.acks.pop_front() else { return };
            if self.is_current(to) {
                let sub = &mut self.coflows[to.coflow.index()].subs_mut()[to.sub];
                sub.class = priority;
                touch(&mut self.to_do.touched, &mut self.coflows, to.coflow, to.sub);
            }
        }
        let mut sizes = std::mem::take(&mut self.coming.sizes);
        while let Some(&(_, to, _)) = sizes.front().filter(|(arrival, ..)| arrival.due(now)) {
            let same = sizes.iter().take_while(|next| next.0.due(now) && next.1 == to).count();
            let inputs = sizes.drain(..same).map(|(_, _, input)| input);
            if self.is_current(to) {
                self.learn(to.coflow, to.sub, inputs);
                watch(&mut self.to_do.to_watch, self.coflows[to.coflow.index()].external);
            }
        }
        self.coming.sizes = sizes;
    }

    /// Reads what the receivers of a DAG have had. Returns the sum, in bytes.
    fn read_relays(&mut self, external: u64, view: &View<'_, NonClairvoyant>) -> f64 {
        let Network { dags, relays, members, coflows, .. } = self;
        let Some(dag) = dags.get(&external) else { return 0.0 };
        relays[dag.relays].read(of_dag(members, external), coflows, view)
    }

    /// Senders tell the receivers of a DAG what others have had at the last mark, or by now if
    /// `latest`.
    fn relay(&mut self, external: u64, latest: bool) {
        let Network { dags, relays, coflows, setup, to_do, hearing, .. } = self;
        let Some(dag) = dags.get(&external) else { return };
        let relay = &mut relays[dag.relays];
        relay.tell(coflows, &setup.rules, latest, hearing, |sub, coflow, number| {
            if !std::mem::replace(&mut sub.is_touched, true) {
                to_do.touched.push((coflow, number));
            }
        });
        watch(&mut to_do.to_watch, external);
    }

    /// Other flows of a DAG are there from now on, or some are not.
    fn change_flows(&mut self, external: u64) {
        if let Some(dag) = self.dags.get(&external) {
            self.relays[dag.relays].put_back(&mut self.coflows);
        }
    }

    /// Senders look whether flows starve.
    fn look_for_starving(&mut self, view: &View<'_, NonClairvoyant>) {
        let Some(rules) = self.setup.escape else { return };
        while let Some(&((time, coflow, number), ())) = self.coming.looks.first() {
            if !time.due(view.now()) {
                break;
            }
            self.coming.looks.remove(&(time, coflow, number));
            self.coflows[coflow.index()].subs_mut()[number].looks = Some(false);
            if !self.some.contains(&coflow) {
                self.some.push(coflow);
            }
        }
        while let Some(coflow) = self.some.pop() {
            let present = &mut self.coflows[coflow.index()];
            for flow in view.flows(coflow) {
                let Some(number) = present.sub_at(view.ends(flow).1) else { continue };
                if present.subs()[number].looks.is_some() {
                    let sent = view.sent(flow);
                    let before = present.memory_of(flow).looked_at.replace(sent);
                    let starves = before.is_some_and(|before| !has_sent(before, sent));
                    let looks = &mut present.subs_mut()[number].looks;
                    *looks = looks.map(|others| others || starves);
                }
            }
            for number in 0..present.subs().len() {
                let sub = &mut self.coflows[coflow.index()].subs_mut()[number];
                let Some(starves) = sub.looks.take() else { continue };
                sub.escape.look(&rules, sub.class, starves, view.now());
                self.coming.looks.insert((sub.escape.next, coflow, number), ());
                touch(&mut self.to_do.touched, &mut self.coflows, coflow, number);
            }
        }
    }

    /// Tells the receivers of a coflow how much the sub-coflows of a coflow on which it depends
    /// have had.
    fn tell_sizes(&mut self, to: CoflowId, of: u64, now: Time) {
        let arrival = now + self.setup.rtt_s / 2.0;
        let present = &self.coflows[to.index()];
        for sub in 0..present.subs().len() {
            let address = Address { coflow: to, seq: present.seq, sub };
            let inputs = self.ended.of(of).map(|(predecessor, bytes)| {
                (arrival, address, Input::Completed { predecessor, bytes })
            });
            self.coming.sizes.extend(inputs);
        }
        if self.setup.rtt_s == 0.0 {
            self.deliver(now);
        }
    }

    /// Looks at the flows that have started in a coflow.
    fn see_started(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.change_flows(self.coflows[coflow.index()].external);
        let Network { coflows, to_do, setup, .. } = self;
        let present = &mut coflows[coflow.index()];
        present.see(coflow, view, |sub, number, flows, is_new| {
            sub.learn([Input::Seen { flows }], &setup.rules);
            if is_new || !sub.is_touched {
                sub.is_touched = true;
                to_do.touched.push((coflow, number));
            }
        });
        watch(&mut self.to_do.to_watch, self.coflows[coflow.index()].external);
    }

    /// Carries out what a receiver has decided. Returns whether the plan has changed.
    fn carry_out(
        &mut self,
        coflow: CoflowId,
        number: usize,
        view: &View<'_, NonClairvoyant>,
        plan: &mut Plan<NonClairvoyant>,
    ) -> bool {
        let present = &mut self.coflows[coflow.index()];
        if !present.is_present || number >= present.subs().len() {
            return false;
        }
        let seq = present.seq;
        let sub = &mut present.subs_mut()[number];
        sub.is_touched = false;
        let priority = sub.receiver.priority();
        if priority != sub.told {
            sub.told = priority;
            let half_s = self.setup.rtt_s / 2.0;
            if half_s > 0.0 {
                let to = Address { coflow, seq, sub: number };
                self.coming.acks.push_back((view.now() + half_s, to, priority));
            } else {
                sub.class = priority;
            }
        }
        let next = sub.next_bytes;
        if next < sub.asked {
            // Relays lower the number again and again. If all of them stayed, a hundred would wait
            // for each receiver on a large FatTree, and each would be a round.
            sub.asked = next;
            plan.wake_instead(Wake::WhenPassed(coflow, sub.link, next));
        }
        if let Some(rules) = self.setup.escape.filter(|_| sub.class > 0 && !sub.escape.next.comes())
        {
            sub.escape.begin(&rules, view.now());
            self.coming.looks.insert((sub.escape.next, coflow, number), ());
        }
        let layer = sub.class.saturating_sub(sub.escape.raised);
        let rank = Rank::of_numbers(layer, [0, 0], view.order(coflow)).numbered(number as u32);
        let before = sub.rank.replace(rank);
        if before == Some(rank) {
            return false;
        }
        before.into_iter().for_each(|before| plan.remove(before));
        plan.insert(rank, Group::CoflowAt(coflow, sub.link), Share::MAX_MIN);
        true
    }

    /// Sets when relays of a DAG are looked at next.
    fn set_look(&self, external: u64, plan: &mut Plan<NonClairvoyant>) {
        plan.clear_wakes_of(Sender::Dag(external));
        let Some(&Dag { bytes, .. }) = self.dags.get(&external) else { return };
        let several = of_dag(&self.members, external).nth(1).is_some();
        let rules = &self.setup.rules;
        let members = of_dag(&self.members, external);
        let all = members.map(|coflow| &self.coflows[coflow.index()]);
        let sharing = all.filter(|present| several || present.shares_senders);
        let missing = sharing
            .flat_map(|present| present.subs())
            .map(|sub| (sub.next_bytes - sub.had.max(sub.receiver.bytes())) / rules.beta.max(1.0));
        let least = missing.fold(f64::INFINITY, f64::min);
        if least.is_finite() {
            plan.wake_when_dag_sent(external, next_look(bytes, least));
        }
    }
}

/// Notes that the next look at relays of a DAG is to be set.
fn watch(to_watch: &mut Vec<u64>, external: u64) {
    if !to_watch.contains(&external) {
        to_watch.push(external);
    }
}

impl Policy<NonClairvoyant> for Network {
    fn wants(&self) -> Wants {
        let progress = self.setup.relays || self.setup.escape.is_some();
        Wants { flow_ends: true, progress, ..Wants::default() }
    }

    fn reads_flows_of(&self, wake: Wake, now: Time, coflows: &mut Vec<CoflowId>) {
        match wake {
            Wake::WhenDagSent(external, _) => coflows.extend(of_dag(&self.members, external)),
            Wake::At(_) => {
                let relays = self.coming.relays.iter().take_while(|(time, _)| time.due(now));
                coflows.extend(relays.flat_map(|&(_, external)| of_dag(&self.members, external)));
                let looks = self.coming.looks.iter().map(|&(look, ())| look);
                let looks = looks.take_while(|(time, ..)| time.due(now));
                coflows.extend(looks.map(|(_, coflow, _)| coflow));
            }
            _ => {}
        }
    }

    fn ranked_by(
        &self,
        flow: FlowId,
        _: LinkId,
        view: &View<'_, NonClairvoyant>,
    ) -> Vec<Criterion> {
        let Some(present) = self.coflows.get(flow.coflow.index()) else { return Vec::new() };
        let sub = present.sub_at(view.ends(flow).1).map(|number| &present.subs()[number]);
        let rank = sub.and_then(|sub| sub.rank);
        rank.map(|rank| Criterion::number("priority", rank.layer() + 1)).into_iter().collect()
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        if self.coflows.len() < view.slots() {
            self.coflows.resize_with(view.slots(), Present::default);
        }
        let mut present = std::mem::take(&mut self.coflows[coflow.index()]);
        present.begin(coflow, view);
        let external = present.external;
        let of_parent = |&parent: &u64| {
            let mut others =
                of_dag(&self.members, external).map(|other| &self.coflows[other.index()]);
            let there = others.find(|other| other.seq == parent).map(|other| other.id);
            there.or_else(|| self.ended.id(parent)).unwrap_or(view.lineage(coflow).internal)
        };
        let proposals = present.parents.iter().map(of_parent).map(|id| self.setup.proposal.of(id));
        present.id = sub_coflow_id(proposals);
        self.coflows[coflow.index()] = present;
        self.members.insert((external, coflow), ());
        if self.dags.get(&external).is_none() {
            let vacant = self.vacant.pop().map(|Reverse(number)| number);
            let relays = vacant.unwrap_or_else(|| {
                self.relays.push(Relay::default());
                self.relays.len() - 1
            });
            let bytes = view.inherited(coflow);
            let changed = view.now();
            self.dags.insert(external, Dag { ended_bytes: bytes, bytes, changed, relays });
        } else if let Some(dag) = self.dags.get_mut(&external) {
            dag.changed = view.now();
        }
        self.see_started(coflow, view);
        if self.setup.tells_sizes {
            for k in 0..self.coflows[coflow.index()].parents.len() {
                let parent = self.coflows[coflow.index()].parents[k];
                self.tell_sizes(coflow, parent, view.now());
            }
        }
    }

    fn flows_started(&mut self, coflow: CoflowId, _: &View<'_, NonClairvoyant>) {
        if !self.to_do.started.contains(&coflow) {
            self.to_do.started.push(coflow);
        }
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, NonClairvoyant>) {
        let present = &mut self.coflows[flow.coflow.index()];
        let Some(number) = present.sub_at(view.ends(flow).1) else { return };
        let sub = &mut present.subs_mut()[number];
        sub.ended_bytes += view.finished_size(flow).unwrap_or(0.0);
        // The end of a flow can only put off the next fall of the priority, which is seen when that
        // comes.
        sub.learn([Input::FlowEnded], &self.setup.rules);
    }

    fn link_bytes_reached(
        &mut self,
        coflow: CoflowId,
        link: LinkId,
        bytes: f64,
        _: &View<'_, NonClairvoyant>,
    ) {
        let present = &mut self.coflows[coflow.index()];
        let Some(number) = present.sub_at(link) else { return };
        let sub = &mut present.subs_mut()[number];
        // Sums of bytes are rounded, so `bytes` may be just below those for which the plan waited.
        sub.asked = f64::INFINITY;
        self.learn(coflow, number, [Input::Received { bytes }]);
    }

    fn dag_bytes_reached(&mut self, external: u64, bytes: f64, view: &View<'_, NonClairvoyant>) {
        if let Some(dag) = self.dags.get_mut(&external).filter(|dag| dag.changed == view.now()) {
            dag.bytes = dag.bytes.max(bytes);
            return watch(&mut self.to_do.to_watch, external);
        }
        let present_bytes = self.read_relays(external, view);
        if let Some(dag) = self.dags.get_mut(&external) {
            dag.bytes = bytes.max(dag.ended_bytes + present_bytes);
        }
        if self.setup.rtt_s == 0.0 {
            self.relay(external, true);
        } else {
            self.coming.relays.push_back((view.now() + self.setup.rtt_s, external));
        }
        if let Some(dag) = self.dags.get(&external) {
            self.relays[dag.relays].mark();
        }
    }

    fn coflow_ended(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.change_flows(self.coflows[coflow.index()].external);
        let mut present = std::mem::take(&mut self.coflows[coflow.index()]);
        present.is_present = false;
        let mut ended_bytes = 0.0;
        for number in 0..present.subs().len() {
            let name = present.name(number, view);
            let sub = &mut present.subs_mut()[number];
            self.to_do.left.extend(sub.rank.take());
            self.coming.looks.remove(&(sub.escape.next, coflow, number));
            ended_bytes += sub.ended_bytes;
            let bytes = sub.ended_bytes;
            self.ended.add(name, present.id, bytes);
        }
        let (external, seq) = (present.external, present.seq);
        self.coflows[coflow.index()] = present;
        self.members.remove(&(external, coflow));
        self.to_do.started.retain(|&other| other != coflow);
        self.to_do.touched.retain(|&(other, _)| other != coflow);
        self.to_do.gone.push(coflow);
        if of_dag(&self.members, external).next().is_none() {
            self.vacant.extend(self.dags.remove(&external).map(|dag| Reverse(dag.relays)));
        } else if let Some(dag) = self.dags.get_mut(&external) {
            dag.ended_bytes += ended_bytes;
            dag.changed = view.now();
        }
        watch(&mut self.to_do.to_watch, external);
        if self.setup.tells_sizes {
            let mut children = std::mem::take(&mut self.some);
            let depends = |child: &CoflowId| self.coflows[child.index()].parents.contains(&seq);
            children.extend(of_dag(&self.members, external).filter(depends));
            for child in children.drain(..) {
                self.tell_sizes(child, seq, view.now());
            }
            self.some = children;
        }
    }

    fn woke(&mut self, view: &View<'_, NonClairvoyant>) {
        self.deliver(view.now());
        while let Some(&(_, external)) =
            self.coming.relays.front().filter(|(time, _)| time.due(view.now()))
        {
            self.coming.relays.pop_front();
            self.read_relays(external, view);
            self.relay(external, false);
        }
        self.look_for_starving(view);
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        plan.set_layers(Layers::Classes);
        let mut changed = !self.to_do.left.is_empty();
        self.to_do.left.drain(..).for_each(|rank| plan.remove(rank));
        self.to_do.gone.drain(..).for_each(|coflow| plan.clear_wakes_of(Sender::Coflow(coflow)));
        while let Some(coflow) = self.to_do.started.pop() {
            self.see_started(coflow, view);
        }
        for k in 0..self.to_do.touched.len() {
            let (coflow, number) = self.to_do.touched[k];
            changed |= self.carry_out(coflow, number, view, plan);
        }
        self.to_do.touched.clear();
        while let Some(external) = self.to_do.to_watch.pop() {
            if self.setup.relays {
                self.set_look(external, plan);
            }
        }
        plan.clear_times();
        let next = self.coming.next();
        next.into_iter().for_each(|time| plan.wake_at(time));
        if changed { Answer::Replaced } else { Answer::Unchanged }
    }
}
