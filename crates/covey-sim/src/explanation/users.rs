//! Who uses a link, as far as that keeps a flow from using it.

use covey_core::state::State;
use covey_core::{FlowId, LinkId};

use super::standing::{Standing, Standings};
use crate::observer::Round;

/// Another coflow at a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    /// Index in the workload.
    pub coflow: u32,
    /// Whether it is served before the flow, or beside it.
    pub is_before: bool,
    /// Bytes per second of its flows that are served so.
    pub rate: f64,
    /// The fastest of these flows.
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
        let (state, rates) = (round.state, round.allocator.rates());
        let mut users = Users::default();
        for &id in state.present() {
            let present = state.coflow(id);
            let demand = present.demand();
            let Some(l) = demand.set().get(link.index()) else { continue };
            demand.each_active_at(l, |position| {
                let rate = rates.rate(state, id, position);
                let index = demand.index(position);
                let (named, _) = present.named_place(index);
                if rate <= 0.0 {
                } else if named == coflow {
                    users.own += rate;
                } else if let Some(last) = last {
                    let flow = FlowId { coflow: id, index };
                    match standings.compare(flow, last, link) {
                        Standing::Before => users.add(named, true, flow, rate),
                        Standing::Beside => users.add(named, false, flow, rate),
                        Standing::Behind => {}
                    }
                }
            });
        }
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

/// What all flows use of each link, in bytes per second.
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

/// The id of an unfinished flow that the trace names so, `(coflow, flow)`, if it is in a coflow that is present. `known`
/// is where it was found before.
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
