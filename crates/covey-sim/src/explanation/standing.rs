//! Which flow a plan serves before which, and why.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use covey_alloc::{Running, RunningFlows};
use covey_core::state::State;
use covey_core::{CoflowId, Criterion, FlowId, Group, Layers, LinkId, Ranking, Rule, Time};

use crate::observer::Round;
use covey_trace::results::{Kind, Reason};

/// How another flow stands to a flow in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The other flow is served first.
    Before,
    /// Both flows share.
    Beside,
    /// The other flow gets what the flow leaves.
    Behind,
}

impl Standing {
    fn of(order: Ordering) -> Standing {
        match order {
            Ordering::Less => Standing::Before,
            Ordering::Equal => Standing::Beside,
            Ordering::Greater => Standing::Behind,
        }
    }
}

/// The layer and the number of an entry in its plan.
type Place = (u32, u32);

/// The places of flows in one plan.
struct Places<'a> {
    ranking: &'a Ranking,
    /// The first entry for all flows of a coflow, by [`CoflowId`].
    whole: Vec<Option<Place>>,
    /// Entries for some flows of a coflow.
    some: BTreeMap<CoflowId, Vec<(Group, Place)>>,
}

impl<'a> Places<'a> {
    fn new(ranking: &'a Ranking, slots: usize) -> Places<'a> {
        let mut whole = vec![None; slots];
        let mut some: BTreeMap<CoflowId, Vec<(Group, Place)>> = BTreeMap::new();
        for (number, (_, entry)) in (0..).zip(ranking.entries.iter()) {
            let place = (entry.layer, number);
            match entry.group {
                Group::AllFlows => {}
                Group::Coflow(id) => {
                    whole[id.index()].get_or_insert(place);
                }
                Group::CoflowAt(id, _) => some.entry(id).or_default().push((entry.group, place)),
                Group::Flow(flow) => {
                    some.entry(flow.coflow).or_default().push((entry.group, place));
                }
            }
        }
        Places { ranking, whole, some }
    }

    /// The rule by which all flows share, if the plan serves them as one group.
    fn rule_for_all(&self) -> Option<Rule> {
        let (_, first) = self.ranking.entries.first()?;
        (first.group == Group::AllFlows).then_some(first.rule)
    }

    /// The first entry for a flow.
    fn of(&self, flow: FlowId, state: &State) -> Option<Place> {
        let is_meant = |group: &Group| match *group {
            Group::Flow(other) => other == flow,
            Group::CoflowAt(_, link) => {
                let demand = state.coflow(flow.coflow).demand();
                demand.path(demand.position(flow.index)).any(|l| demand.links()[l] == link)
            }
            Group::AllFlows | Group::Coflow(_) => false,
        };
        let some = self.some.get(&flow.coflow).into_iter().flatten();
        let some = some.filter(|(group, _)| is_meant(group)).map(|&(_, place)| place);
        some.chain(self.whole[flow.coflow.index()]).min_by_key(|&(_, number)| number)
    }
}

/// The plan in force, for questions about the order of flows.
pub(super) struct Standings<'a> {
    state: &'a State,
    now: Time,
    /// By tenant; one if links are not divided among tenants.
    plans: Vec<Places<'a>>,
    starts_s: &'a [f64],
    first_flow: &'a [usize],
    /// The flows that run, if all flows are served in order.
    running: Option<&'a RunningFlows>,
    /// These flows by each link of their paths, in order of links.
    by_link: Vec<(LinkId, Running)>,
}

impl<'a> Standings<'a> {
    /// The plan of a round. `starts_s` has the starts of all flows of the workload, and
    /// `first_flow` the number of the first flow of each coflow.
    pub fn new(round: &Round<'a>, starts_s: &'a [f64], first_flow: &'a [usize]) -> Standings<'a> {
        let (state, ranking) = (round.state, round.ranking);
        let slots = state.slots();
        let plans = match ranking.tenants.as_slice() {
            [] => vec![Places::new(ranking, slots)],
            tenants => tenants.iter().map(|plan| Places::new(&plan.ranking, slots)).collect(),
        };
        let running = round.allocator.priority_flows();
        let mut by_link = Vec::new();
        for flow in running.into_iter().flat_map(RunningFlows::iter) {
            let demand = state.coflow(flow.coflow).demand();
            let path = demand.path(flow.position as usize);
            by_link.extend(path.map(|l| (demand.links()[l], flow)));
        }
        by_link.sort_by_key(|&(link, _)| link);
        Standings { state, now: round.now, plans, starts_s, first_flow, running, by_link }
    }

    /// The flows that run over a link, if all flows are served in order.
    pub fn running_at(&self, link: LinkId) -> impl Iterator<Item = Running> + '_ {
        let first = self.by_link.partition_point(|&(other, _)| other < link);
        let here = self.by_link[first..].iter().take_while(move |&&(other, _)| other == link);
        here.map(|&(_, flow)| flow)
    }

    fn tenant(&self, id: CoflowId) -> usize {
        if self.plans.len() == 1 { 0 } else { self.state.coflow(id).registration.tenant.index() }
    }

    /// When a flow of the workload started, in seconds.
    fn start_s(&self, (coflow, flow): (u32, u32)) -> f64 {
        let number = self.first_flow[coflow as usize] + flow as usize;
        self.starts_s.get(number).copied().unwrap_or(0.0)
    }

    /// What keeps a flow from being sent that is not among the unfinished flows of any coflow.
    pub fn outside(&self, coflow: u32, flow: u32) -> Kind {
        let has_started = self.start_s((coflow, flow)) <= self.now.as_secs();
        if has_started { Kind::Undecided } else { Kind::Start }
    }

    /// What keeps an unfinished flow from being sent, if anything does.
    pub fn hindrance(&self, flow: FlowId) -> Option<Kind> {
        let coflow = self.state.coflow(flow.coflow);
        let position = coflow.demand().position(flow.index);
        if !coflow.demand().is_active(position) {
            return Some(Kind::Compression);
        }
        let is_planned = self.plans.get(self.tenant(flow.coflow)).is_some_and(|places| {
            places.rule_for_all().is_some() || places.of(flow, self.state).is_some()
        });
        (!is_planned).then_some(Kind::Undecided)
    }

    /// Whether the plan for a flow serves all flows as one group.
    pub fn serves_all_flows(&self, flow: FlowId) -> bool {
        let places = self.plans.get(self.tenant(flow.coflow));
        places.is_some_and(|places| places.rule_for_all().is_some())
    }

    /// Whether all flows of a coflow stand alike at a link, and belong to one coflow of the
    /// workload.
    pub fn stand_alike(&self, id: CoflowId) -> bool {
        let is_whole = self.plans.get(self.tenant(id)).is_none_or(|places| {
            let in_order =
                matches!(places.rule_for_all(), Some(Rule::OldestFirst | Rule::ShortestFirst));
            !in_order && !places.some.contains_key(&id)
        });
        is_whole && !self.state.coflow(id).has_joined_flows()
    }

    /// How `other` stands to a flow at a link.
    pub fn compare(&self, other: FlowId, flow: FlowId, link: LinkId) -> Standing {
        let tenant = self.tenant(flow.coflow);
        if self.tenant(other.coflow) != tenant {
            return Standing::Beside;
        }
        let Some(places) = self.plans.get(tenant) else { return Standing::Beside };
        match places.rule_for_all() {
            Some(Rule::OldestFirst) => return Standing::of(self.by_start(other, flow)),
            Some(Rule::ShortestFirst) => return Standing::of(self.by_left(other, flow)),
            Some(_) => return Standing::Beside,
            None => {}
        }
        if places.ranking.layers == Layers::PerPort {
            return self.by_share(places.ranking, other.coflow, flow.coflow, link);
        }
        let (Some(other), Some(own)) = (places.of(other, self.state), places.of(flow, self.state))
        else {
            return Standing::Behind;
        };
        match places.ranking.layers {
            Layers::Classes => Standing::of(other.0.cmp(&own.0)),
            Layers::Weighted if other.0 != own.0 => Standing::Beside,
            _ => Standing::of(other.1.cmp(&own.1)),
        }
    }

    /// The key by which flows are in order of their starts.
    fn named(&self, flow: FlowId) -> (u32, u32) {
        self.state.coflow(flow.coflow).named_place(flow.index)
    }

    fn ties(&self, flow: FlowId) -> ((Time, u64), u32) {
        (self.state.order(flow.coflow), flow.index)
    }

    fn by_start(&self, other: FlowId, flow: FlowId) -> Ordering {
        let start = |flow| self.start_s(self.named(flow));
        start(other).total_cmp(&start(flow)).then(self.ties(other).cmp(&self.ties(flow)))
    }

    fn by_left(&self, other: FlowId, flow: FlowId) -> Ordering {
        let (a, b) = (self.left(other), self.left(flow));
        // Bytes left are equal if the fastest link carries the difference in a nanosecond.
        let fastest = self.state.fabric().capacity().iter().copied().fold(0.0, f64::max);
        let by_left = match (a - b).abs() <= fastest * Time::RESOLUTION_S {
            true => Ordering::Equal,
            false => a.total_cmp(&b),
        };
        by_left.then(self.ties(other).cmp(&self.ties(flow)))
    }

    /// Bytes left of a flow, where all flows are served in order.
    fn left(&self, flow: FlowId) -> f64 {
        let coflow = self.state.coflow(flow.coflow);
        let position = coflow.demand().position(flow.index);
        let mut running = self.running.into_iter().flat_map(RunningFlows::iter);
        let here = (flow.coflow, position as u32);
        let found = running.find(|it| (it.coflow, it.position) == here);
        found.map_or_else(|| coflow.left(position), |it| it.left)
    }

    fn by_share(
        &self,
        ranking: &Ranking,
        other: CoflowId,
        own: CoflowId,
        link: LinkId,
    ) -> Standing {
        let has_share = |id| ranking.link_shares.of(link).any(|(c, share)| c == id && share > 0.0);
        match (has_share(other), has_share(own)) {
            (true, true) => Standing::Beside,
            (true, false) => Standing::Before,
            (false, true) => Standing::Behind,
            (false, false) => Standing::of(self.state.order(other).cmp(&self.state.order(own))),
        }
    }

    /// Why `other` is served before a flow at a link.
    pub fn reason(
        &self,
        other: FlowId,
        flow: FlowId,
        link: LinkId,
        round: &Round<'_>,
    ) -> Option<Reason> {
        let rule = self.plans.get(self.tenant(flow.coflow))?.rule_for_all();
        let criteria = |flow: FlowId| match rule {
            Some(Rule::OldestFirst) => {
                vec![Criterion::seconds("start", self.start_s(self.named(flow)))]
            }
            Some(Rule::ShortestFirst) => vec![Criterion::bytes("bytes left", self.left(flow))],
            _ => round.ranked_by(flow, link),
        };
        let (others, own) = (criteria(other), criteria(flow));
        let differs = |(other, own): &(&Criterion, &Criterion)| other != own;
        if let Some((criterion, own)) = others.iter().zip(&own).find(differs) {
            let own = own.value.filter(|_| criterion.name == own.name);
            return Some(Reason { criterion: *criterion, own });
        }
        // Flows with equal criteria go by arrival.
        let arrival_s = |flow: FlowId| self.state.order(flow.coflow).0.as_secs();
        let [other_s, own_s] = [arrival_s(other), arrival_s(flow)];
        let by_arrival = !others.is_empty() && !own.is_empty() && other_s < own_s;
        by_arrival
            .then(|| Reason { criterion: Criterion::seconds("arrival", other_s), own: Some(own_s) })
    }
}
