//! Who uses a link, as far as that keeps a flow from using it.

use covey_core::state::State;
use covey_core::{CoflowId, Demand, FlowId, LinkId};

use super::standing::{Standing, Standings};
use crate::observer::Round;

/// A part of a link's capacity below which a rate is rounding.
const ROUNDING: f64 = 1e-13;

/// Another coflow at a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    /// Index in the workload.
    pub coflow: u32,
    /// Whether it is served before the flow, or beside it.
    pub is_before: bool,
    /// Bytes per second of its flows that are served so.
    pub rate: f64,
    /// One of these flows: the fastest, or the first where all flows of the coflow stand alike.
    pub flow: FlowId,
    fastest: f64,
}

/// Who uses a link, as seen by the last flow of a coflow.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// Bytes per second of the coflow's own flows.
    pub own: f64,
    /// Other coflows, in order of the workload, those beside the flow first.
    pub others: Vec<User>,
}

impl Users {
    /// The users of a link. If `last` is none, only the coflow's own flows count.
    pub fn at(
        link: LinkId,
        coflow: u32,
        last: Option<FlowId>,
        round: &Round<'_>,
        standings: &Standings<'_>,
    ) -> Users {
        let mut users = Users::default();
        each_use(link, round, standings, |named, flow, rate| {
            if named == coflow {
                users.own += rate;
            } else if let Some(last) = last {
                match standings.compare(flow, last, link) {
                    Standing::Before => users.add(named, true, flow, rate),
                    Standing::Beside => users.add(named, false, flow, rate),
                    Standing::Behind => {}
                }
            }
        });
        users
    }

    fn add(&mut self, coflow: u32, is_before: bool, flow: FlowId, rate: f64) {
        let key = |user: &User| (user.is_before, user.coflow);
        match self.others.binary_search_by_key(&(is_before, coflow), key) {
            Ok(k) => {
                let user = &mut self.others[k];
                user.rate += rate;
                if rate > user.fastest {
                    (user.flow, user.fastest) = (flow, rate);
                }
            }
            Err(k) => {
                self.others.insert(k, User { coflow, is_before, rate, flow, fastest: rate });
            }
        }
    }

    /// Bytes per second of all flows that count.
    pub fn counted(&self) -> f64 {
        self.own + self.others.iter().map(|user| user.rate).sum::<f64>()
    }
}

/// Calls `visit` with what is sent over a link: the coflow of the workload, a flow, and bytes per
/// second. Flows of a coflow that stand alike come together.
fn each_use(
    link: LinkId,
    round: &Round<'_>,
    standings: &Standings<'_>,
    mut visit: impl FnMut(u32, FlowId, f64),
) {
    let (state, rates) = (round.state, round.allocator.rates());
    let least = ROUNDING * state.fabric().capacity()[link.index()];
    let mut visit = |id: CoflowId, position: usize, rate: f64| {
        let present = state.coflow(id);
        let index = present.demand().index(position);
        if rate > least {
            visit(present.named_place(index).0, FlowId { coflow: id, index }, rate);
        }
    };
    if round.allocator.priority_flows().is_some() {
        for flow in standings.running_at(link) {
            visit(flow.coflow, flow.position as usize, flow.rate);
        }
        return;
    }
    for &id in state.present() {
        let demand = state.coflow(id).demand();
        let Some(l) = demand.set().get(link.index()) else { continue };
        if !standings.stand_alike(id) {
            demand
                .each_active_at(l, |position| visit(id, position, rates.rate(state, id, position)));
        } else if let Some(first) = first_active_at(demand, l) {
            visit(id, first, rates.link_rate(state, id, l));
        }
    }
}

/// The position of the first active flow that crosses local link `l`.
fn first_active_at(demand: &Demand, l: usize) -> Option<usize> {
    let mut first = None;
    demand.each_active_at(l, |position| first = first.or(Some(position)));
    first
}

/// What all flows use of each link, in bytes per second, where the plan serves coflows.
pub(super) fn all_used(round: &Round<'_>) -> Vec<f64> {
    let state = round.state;
    let mut used = vec![0.0; state.fabric().links()];
    let mut rates = Vec::new();
    for &id in state.present() {
        round.allocator.rates().link_rates(state, id, &mut rates);
        let links = state.coflow(id).demand().links();
        links.iter().zip(&rates).for_each(|(link, rate)| used[link.index()] += rate);
    }
    used
}

/// The id of the unfinished flow that the trace names `(coflow, flow)`, if its coflow is present.
/// `known` is the id at which the last call found the flow.
pub(super) fn last_flow(state: &State, named: (u32, u32), known: Option<FlowId>) -> Option<FlowId> {
    let is_it = |id: FlowId| {
        let coflow = state.coflow(id.coflow);
        let is_there = (id.index as usize) < coflow.demand().width();
        is_there
            && coflow.named_place(id.index) == named
            && coflow.unfinished().is_active(coflow.demand().position(id.index))
    };
    let found = known.filter(|&id| state.is_present(id.coflow) && is_it(id));
    found.or_else(|| {
        state.present().iter().find_map(|&coflow| {
            let here = |index: u32| FlowId { coflow, index };
            if !state.coflow(coflow).has_joined_flows() {
                return Some(here(named.1)).filter(|&id| is_it(id));
            }
            let width = state.coflow(coflow).demand().width() as u32;
            (0..width).map(here).find(|&id| is_it(id))
        })
    })
}
