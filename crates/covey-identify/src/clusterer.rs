//! Groups of the flows that are alive, kept up to date as flows start and end.
//!
//! Flows follow leaders, as in Rough-DBSCAN. Groups are the connected components of leaders, where
//! two are connected if they are at most the radius apart (`min_points` = 1). An event marks what
//! it may change:
//! - a flow becomes a leader, or follows one: it may connect groups;
//! - the peers of a burst change: its leaders may also lose connections;
//! - the last flow of a leader ends: its group may fall apart.
//!
//! [`Clusterer::refresh`] looks at marked leaders and groups only. A tree of connections holds each
//! group together: every leader but one knows the leader *via* which it belongs. If the peers of a
//! burst have changed, only the connections of its leaders in the tree are tested; as long as they
//! hold, the group does. Otherwise the group is searched from leader to leader, which makes a new
//! tree. Then marked leaders are compared with leaders of other groups whose start is near enough.
//!
//! The result depends on the live flows and on what their bursts have seen, not on when `refresh`
//! is called.

mod near;

use crate::attributes::Attribute;
use crate::dbscan::{dbscan, follows, is_within, rough_dbscan};
use crate::identify::Algorithm;
use crate::metric::Metric;
use crate::observer::{Observer, Point};
use crate::time_order::TimeOrder;
use covey_core::Observed;

/// A live flow: a small number, which is used again after the flow has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowNumber(pub u32);

/// A group of live flows: a small number, which is used again after the group has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupNumber(pub u32);

/// A flow whose group is not the one that was last reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The flow.
    pub flow: FlowNumber,
    /// Its group at the last refresh; nothing if it has started since.
    pub from: Option<GroupNumber>,
    /// Its group now.
    pub to: GroupNumber,
}

/// No leader, or no flow.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Flow {
    point: Point,
    leader: u32,
    /// Neighbours in the list of the leader's flows.
    previous: u32,
    next: u32,
    reported: Option<GroupNumber>,
}

#[derive(Debug, Clone)]
struct Leader {
    point: Point,
    /// The first of its flows, and their number. A leader without flows is gone.
    first_flow: u32,
    flows: u32,
    /// Neighbours in the list of the burst's leaders, newest first.
    newer: u32,
    older: u32,
    /// Its place in the group's list.
    place: u32,
    /// The leader by which it is connected with its group; none for one leader of each group.
    via: u32,
    is_marked: bool,
    /// Whether the peers of its burst have changed since the last refresh.
    is_shaken: bool,
}

#[derive(Debug, Clone, Default)]
struct Group {
    leaders: Vec<u32>,
    /// Whether it may have fallen apart since the last refresh.
    is_loose: bool,
}

/// The clusterer. It allocates only while the numbers of live flows, leaders, bursts or groups
/// grow, and when a group has more leaders than any before it of the same number.
#[derive(Debug, Clone)]
pub struct Clusterer {
    metric: Metric,
    observer: Observer,
    /// The observer's time scale when leaders were last compared.
    gap_s: f64,
    flows: Vec<Flow>,
    free_flows: Vec<u32>,
    leaders: Vec<Leader>,
    free_leaders: Vec<u32>,
    /// The group and the burst of each leader; apart from the rest, because most comparisons end
    /// here.
    group_of: Vec<u32>,
    burst_of: Vec<u32>,
    groups: Vec<Group>,
    free_groups: Vec<u32>,
    /// The newest leader of each burst.
    newest: Vec<u32>,
    order: TimeOrder,
    /// No leader spans a longer time.
    span_s: f64,
    /// Leaders to compare with others, and groups that may have fallen apart.
    marked: Vec<u32>,
    loose: Vec<u32>,
    /// Flows that started, and leaders whose group has changed, since the last refresh.
    started: Vec<u32>,
    regrouped: Vec<u32>,
    moves: Vec<Move>,
    /// Groups without leaders, since the last refresh.
    emptied: Vec<u32>,
    /// Where the components of a group end, while it is split.
    ends: Vec<usize>,
}

impl Clusterer {
    /// A clusterer without flows.
    pub fn new(metric: Metric) -> Clusterer {
        let observer = Observer::new();
        Clusterer {
            metric,
            gap_s: observer.gap_s(),
            observer,
            flows: Vec::new(),
            free_flows: Vec::new(),
            leaders: Vec::new(),
            free_leaders: Vec::new(),
            group_of: Vec::new(),
            burst_of: Vec::new(),
            groups: Vec::new(),
            free_groups: Vec::new(),
            newest: Vec::new(),
            order: TimeOrder::default(),
            span_s: 0.0,
            marked: Vec::new(),
            loose: Vec::new(),
            started: Vec::new(),
            regrouped: Vec::new(),
            moves: Vec::new(),
            emptied: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The metric.
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// The observer, with its time scale.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }

    /// A flow starts. Its group is known after the next [`refresh`](Self::refresh).
    pub fn start(&mut self, observed: &Observed) -> FlowNumber {
        let (point, peers_changed) = self.observer.start(observed);
        if self.newest.len() <= point.burst() {
            self.newest.resize(point.burst() + 1, NONE);
        }
        if peers_changed {
            self.mark_burst(point.burst());
        }
        let leader = self.leader_for(&point);
        let next = self.leaders[leader as usize].first_flow;
        let flow = Flow { point, leader, previous: NONE, next, reported: None };
        let number = put(&mut self.flows, &mut self.free_flows, flow);
        if next != NONE {
            self.flows[next as usize].previous = number;
        }
        self.leaders[leader as usize].first_flow = number;
        self.leaders[leader as usize].flows += 1;
        self.started.push(number);
        FlowNumber(number)
    }

    /// A flow ends.
    ///
    /// # Panics
    /// If no flow has the number.
    pub fn end(&mut self, flow: FlowNumber) {
        let Flow { point, leader, previous, next, .. } = self.flows[flow.0 as usize];
        assert!(leader != NONE, "flow {} has ended before", flow.0);
        match previous {
            NONE => self.leaders[leader as usize].first_flow = next,
            _ => self.flows[previous as usize].next = next,
        }
        if next != NONE {
            self.flows[next as usize].previous = previous;
        }
        self.flows[flow.0 as usize].leader = NONE;
        self.free_flows.push(flow.0);
        self.leaders[leader as usize].flows -= 1;
        if self.leaders[leader as usize].flows == 0 {
            self.remove_leader(leader);
        }
        self.observer.end(&point);
    }

    /// Brings all groups up to date. Returns the flows whose group has changed since the last
    /// refresh: those that started, and those of groups that merged or fell apart. When groups
    /// merge, the one with more leaders keeps its number; when one falls apart, its largest part
    /// does.
    pub fn refresh(&mut self) -> &[Move] {
        if self.gap_s != self.observer.gap_s() {
            self.gap_s = self.observer.gap_s();
            self.mark_all();
        }
        // By index: none of these marks leaders.
        for k in 0..self.marked.len() {
            self.test(self.marked[k]);
        }
        for k in 0..self.loose.len() {
            self.split(self.loose[k]);
        }
        self.loose.clear();
        for k in 0..self.marked.len() {
            self.connect(self.marked[k]);
        }
        self.marked.clear();
        self.report();
        &self.moves
    }

    /// The group of a flow, as of the last refresh; nothing if the flow has started since.
    pub fn group(&self, flow: FlowNumber) -> Option<GroupNumber> {
        self.flows[flow.0 as usize].reported
    }

    /// The flows of a group, as of the last refresh, without those that have started since.
    pub fn flows(&self, group: GroupNumber) -> impl Iterator<Item = FlowNumber> + '_ {
        let leaders = self.groups[group.0 as usize].leaders.iter();
        let flows = leaders.flat_map(|&leader| self.flows_of(leader));
        flows.filter(|&flow| self.flows[flow as usize].reported.is_some()).map(FlowNumber)
    }

    /// The groups of the live flows, all clustered from scratch: what the kept groups are compared
    /// with.
    pub fn anew(&self, algorithm: Algorithm) -> Vec<(FlowNumber, u32)> {
        let live = (0..).zip(&self.flows).filter(|(_, flow)| flow.leader != NONE);
        let mut live: Vec<(FlowNumber, Point)> =
            live.map(|(number, flow)| (FlowNumber(number), flow.point)).collect();
        live.sort_by(|a, b| a.1.start_s.total_cmp(&b.1.start_s));
        let points: Vec<Point> = live.iter().map(|(_, point)| *point).collect();
        let groups = match algorithm {
            Algorithm::Dbscan { min_points } => {
                let weights = vec![1; points.len()];
                dbscan(&points, &weights, &self.observer, &self.metric, min_points)
            }
            Algorithm::Rough { min_points } => {
                rough_dbscan(&points, &self.observer, &self.metric, min_points)
            }
        };
        live.into_iter().map(|(flow, _)| flow).zip(groups).collect()
    }

    /// The point of a live flow.
    #[cfg(test)]
    pub(crate) fn point(&self, flow: FlowNumber) -> Point {
        self.flows[flow.0 as usize].point
    }

    /// The flows of a leader, newest first.
    fn flows_of(&self, leader: u32) -> impl Iterator<Item = u32> + '_ {
        let some = |flow: u32| (flow != NONE).then_some(flow);
        let first = some(self.leaders[leader as usize].first_flow);
        std::iter::successors(first, move |&flow| some(self.flows[flow as usize].next))
    }

    /// The leader that a flow follows; a new one if there is none.
    fn leader_for(&mut self, point: &Point) -> u32 {
        let mut number = self.newest[point.burst()];
        while number != NONE {
            let leader = &mut self.leaders[number as usize];
            if follows(&self.observer, &self.metric, point, &leader.point) {
                if point.start_s > leader.point.last_start_s {
                    leader.point.last_start_s = point.start_s;
                    self.order.extend(leader.point.start_s, number, point.start_s);
                    self.span_s = self.span_s.max(point.start_s - leader.point.start_s);
                    self.mark(number);
                }
                return number;
            }
            number = leader.older;
        }
        self.add_leader(point)
    }

    /// Adds a leader, in a group of its own, and marks it.
    fn add_leader(&mut self, point: &Point) -> u32 {
        let group = self.new_group();
        let older = self.newest[point.burst()];
        let leader = Leader {
            point: *point,
            first_flow: NONE,
            flows: 0,
            newer: NONE,
            older,
            place: 0,
            via: NONE,
            is_marked: false,
            is_shaken: false,
        };
        let number = put(&mut self.leaders, &mut self.free_leaders, leader);
        self.group_of.resize(self.leaders.len(), NONE);
        self.burst_of.resize(self.leaders.len(), NONE);
        self.burst_of[number as usize] = point.burst() as u32;
        if older != NONE {
            self.leaders[older as usize].newer = number;
        }
        self.newest[point.burst()] = number;
        self.join(number, group);
        self.order.insert(point.start_s, number);
        self.mark(number);
        number
    }

    fn remove_leader(&mut self, number: u32) {
        let Leader { point, newer, older, .. } = self.leaders[number as usize];
        let group = self.group_of[number as usize];
        self.order.remove(point.start_s, number);
        match newer {
            NONE => self.newest[point.burst()] = older,
            _ => self.leaders[newer as usize].older = older,
        }
        if older != NONE {
            self.leaders[older as usize].newer = newer;
        }
        self.leave_group(number);
        self.loosen(group);
        // A group of one has no connection left.
        if let [last] = self.groups[group as usize].leaders[..] {
            self.leaders[last as usize].via = NONE;
        }
        self.free_leaders.push(number);
    }

    /// Marks the leaders of a burst whose peers have changed.
    fn mark_burst(&mut self, burst: usize) {
        let mut leader = self.newest[burst];
        while leader != NONE {
            self.mark(leader);
            self.leaders[leader as usize].is_shaken = true;
            leader = self.leaders[leader as usize].older;
        }
    }

    /// Marks all leaders: the time scale has changed.
    fn mark_all(&mut self) {
        self.span_s = 0.0;
        for number in 0..self.leaders.len() as u32 {
            let Leader { ref point, flows, .. } = self.leaders[number as usize];
            if flows > 0 {
                self.span_s = self.span_s.max(point.last_start_s - point.start_s);
                self.mark(number);
                self.loosen(self.group_of[number as usize]);
            }
        }
    }

    fn mark(&mut self, leader: u32) {
        let it = &mut self.leaders[leader as usize];
        if !it.is_marked {
            it.is_marked = true;
            self.marked.push(leader);
        }
    }

    fn loosen(&mut self, group: u32) {
        let it = &mut self.groups[group as usize];
        if !it.is_loose && it.leaders.len() > 1 {
            it.is_loose = true;
            self.loose.push(group);
        }
    }

    /// Moves a leader out of its group's list, and frees the group with the last one.
    fn leave_group(&mut self, number: u32) {
        let place = self.leaders[number as usize].place;
        let group = self.group_of[number as usize];
        let leaders = &mut self.groups[group as usize].leaders;
        leaders.swap_remove(place as usize);
        if let Some(&moved) = leaders.get(place as usize) {
            self.leaders[moved as usize].place = place;
        }
        if leaders.is_empty() {
            self.emptied.push(group);
        }
    }

    /// Loosens the group of a leader whose burst has other peers, if a connection of the tree is
    /// lost.
    fn test(&mut self, number: u32) {
        let leader = &mut self.leaders[number as usize];
        if !std::mem::take(&mut leader.is_shaken) || leader.flows == 0 {
            return;
        }
        let (via, group) = (leader.via, self.group_of[number as usize]);
        let it = &self.groups[group as usize];
        let is_held = it.is_loose
            || (via == NONE || self.are_near(number, via))
                && it.leaders.iter().all(|&other| {
                    self.leaders[other as usize].via != number || self.are_near(number, other)
                });
        if !is_held {
            self.loosen(group);
        }
    }

    /// Splits a group into its connected components. The one with most flows keeps the number; of
    /// equal ones the first found.
    fn split(&mut self, group: u32) {
        self.groups[group as usize].is_loose = false;
        let mut leaders = std::mem::take(&mut self.groups[group as usize].leaders);
        self.ends.clear();
        let (mut most, mut largest, mut first) = (0, 0..0, 0);
        while first < leaders.len() {
            let end = self.component(&mut leaders, first);
            let flows = leaders[first..end].iter().map(|&l| self.leaders[l as usize].flows).sum();
            if flows > most {
                (most, largest) = (flows, first..end);
            }
            self.ends.push(end);
            first = end;
        }
        let mut first = 0;
        for k in 0..self.ends.len() {
            let end = self.ends[k];
            if first != largest.start {
                let part = self.new_group();
                leaders[first..end].iter().for_each(|&leader| self.join(leader, part));
            }
            first = end;
        }
        leaders.truncate(largest.end);
        leaders.drain(..largest.start);
        for (place, &leader) in (0..).zip(&leaders) {
            self.leaders[leader as usize].place = place;
        }
        self.groups[group as usize].leaders = leaders;
    }

    /// Moves the leaders connected with that at `first`, among those from there on, to the places
    /// from `first`; returns where they end.
    fn component(&mut self, leaders: &mut [u32], first: usize) -> usize {
        self.leaders[leaders[first] as usize].via = NONE;
        let (mut searched, mut end) = (first, first + 1);
        while searched < end {
            let mut next = end;
            while next < leaders.len() {
                if self.are_near(leaders[searched], leaders[next]) {
                    self.leaders[leaders[next] as usize].via = leaders[searched];
                    leaders.swap(end, next);
                    end += 1;
                }
                next += 1;
            }
            searched += 1;
        }
        end
    }

    /// Merges the group of a leader with all groups that have a leader within the radius.
    fn connect(&mut self, number: u32) {
        let leader = &mut self.leaders[number as usize];
        leader.is_marked = false;
        if leader.flows == 0 {
            return;
        }
        let Point { start_s, last_start_s, .. } = leader.point;
        let radius = self.metric.radius;
        let window_s = self.metric.reach(Attribute::Start, radius) * self.gap_s;
        let peers = self.metric.reach(Attribute::Peers, radius);
        let burst = leader.point.burst();
        let from_s = start_s - window_s - self.span_s;
        for place in self.order.between(from_s, last_start_s + window_s) {
            let Some(other) = self.order.at(place, start_s - window_s) else { continue };
            let [own, others] = [number, other].map(|leader| self.group_of[leader as usize]);
            let other_burst = self.burst_of[other as usize] as usize;
            if own != others
                && self.observer.least_peer_difference(burst, other_burst) <= peers
                && self.are_near(number, other)
            {
                self.hang(number, other);
                self.merge(own, others);
            }
        }
    }

    /// Connects the tree of a leader with that of another: the leader becomes the root of its tree,
    /// which turns the connections on the way there, and belongs via the other.
    fn hang(&mut self, mut number: u32, mut via: u32) {
        while number != NONE {
            let next = std::mem::replace(&mut self.leaders[number as usize].via, via);
            (number, via) = (next, number);
        }
    }

    fn are_near(&self, x: u32, y: u32) -> bool {
        let [x, y] = [x, y].map(|leader| &self.leaders[leader as usize].point);
        is_within(&self.observer, &self.metric, x, y, self.metric.radius)
    }

    /// Merges two groups. The one with more leaders keeps its number; of equal ones the lower
    /// number.
    fn merge(&mut self, a: u32, b: u32) {
        let leaders = |group: u32| self.groups[group as usize].leaders.len();
        let a_stays = (leaders(b), a) < (leaders(a), b);
        let (from, to) = if a_stays { (b, a) } else { (a, b) };
        let mut moving = std::mem::take(&mut self.groups[from as usize].leaders);
        moving.iter().for_each(|&leader| self.join(leader, to));
        moving.clear();
        self.groups[from as usize].leaders = moving;
        self.emptied.push(from);
    }

    /// Puts a leader that is in no list into a group's.
    fn join(&mut self, number: u32, group: u32) {
        let leaders = &mut self.groups[group as usize].leaders;
        let leader = &mut self.leaders[number as usize];
        self.group_of[number as usize] = group;
        leader.place = leaders.len() as u32;
        leaders.push(number);
        self.regrouped.push(number);
    }

    fn new_group(&mut self) -> u32 {
        self.free_groups.pop().unwrap_or_else(|| {
            self.groups.push(Group::default());
            self.groups.len() as u32 - 1
        })
    }

    /// Lists the flows whose group has changed. Numbers of emptied groups are free only afterwards.
    fn report(&mut self) {
        self.moves.clear();
        for k in 0..self.regrouped.len() {
            let leader = self.regrouped[k];
            let mut flow = self.leaders[leader as usize].first_flow;
            while flow != NONE {
                self.report_flow(flow);
                flow = self.flows[flow as usize].next;
            }
        }
        self.regrouped.clear();
        for k in 0..self.started.len() {
            self.report_flow(self.started[k]);
        }
        self.started.clear();
        self.free_groups.append(&mut self.emptied);
    }

    fn report_flow(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        if flow.leader == NONE {
            return; // has ended
        }
        let to = GroupNumber(self.group_of[flow.leader as usize]);
        let from = flow.reported.replace(to);
        if from != Some(to) {
            self.moves.push(Move { flow: FlowNumber(number), from, to });
        }
    }
}

/// Puts an item into a free slot; returns its number.
fn put<T>(items: &mut Vec<T>, free: &mut Vec<u32>, item: T) -> u32 {
    match free.pop() {
        Some(number) => {
            items[number as usize] = item;
            number
        }
        None => {
            items.push(item);
            items.len() as u32 - 1
        }
    }
}
