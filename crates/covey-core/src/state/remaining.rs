//! Bandwidth that remains for a coflow (Swallow, IPDPS 2018, Eq. 2).
//!
//! Compressing is compared with sending over what is left of a flow's path. Coflows take capacity
//! in the order of the plan: what remains for one is the capacity of each link less other traffic
//! there, and less what the flows of earlier coflows take that are sent. How much these take
//! depends on the sharing rule and on sizes, which may not be known. Here each link divides what
//! remains equally among the flows of one coflow that cross it, and a flow takes the least of its
//! links.

use crate::demand::Demand;
use crate::state::State;
use crate::values::ids::LinkId;

/// What remains of each link for the coflow that is next in the plan.
#[derive(Debug, Default)]
pub struct Remaining {
    /// Bytes per second, by link.
    free: Vec<f64>,
    /// Working memory: number of flows that are sent, by local link of a coflow.
    count: Vec<u32>,
    /// Working memory: the flows that are sent, by position.
    sent: Vec<usize>,
    /// Working memory: what each of these flows takes.
    taken: Vec<f64>,
}

impl Remaining {
    /// Begins before the first coflow: other traffic alone uses links.
    pub fn begin(&mut self, state: &State) {
        self.free.clear();
        let capacity = state.fabric().capacity().iter().enumerate();
        self.free.extend(capacity.map(|(link, capacity)| {
            (capacity - state.other_traffic().get(link).copied().unwrap_or(0.0)).max(0.0)
        }));
    }

    /// Bytes per second that remain of a link.
    pub fn at(&self, link: LinkId) -> f64 {
        self.free[link.index()]
    }

    /// Bytes per second that remain on the path of the flow at a position.
    pub fn of(&self, demand: &Demand, position: usize) -> f64 {
        let free = |l: usize| self.at(demand.links()[l]);
        demand.path(position).map(free).fold(f64::INFINITY, f64::min)
    }

    /// Goes on to the next coflow: takes what the flows of `demand` at `positions`, which are sent,
    /// take.
    pub fn take(&mut self, demand: &Demand, positions: impl Iterator<Item = usize>) {
        let Remaining { free, count, sent, taken } = self;
        sent.clear();
        sent.extend(positions);
        count.clear();
        count.resize(demand.links().len(), 0);
        sent.iter().flat_map(|&position| demand.path(position)).for_each(|l| count[l] += 1);
        let share = |l: usize| free[demand.links()[l].index()] / f64::from(count[l]);
        let least =
            |&position: &usize| demand.path(position).map(share).fold(f64::INFINITY, f64::min);
        taken.clear();
        taken.extend(sent.iter().map(least));
        for (&position, rate) in sent.iter().zip(taken.iter()) {
            for l in demand.path(position) {
                let free = &mut free[demand.links()[l].index()];
                *free = (*free - rate).max(0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Fabric;
    use crate::state::{FlowSpec, Registration};
    use crate::values::ids::{FlowId, PortId};

    /// Two senders and two receivers of capacity 1.
    fn state(coflows: &[&[(u32, u32)]]) -> State {
        let mut state = State::new(Fabric::big_switch(2, 1.0).unwrap());
        for (seq, pairs) in coflows.iter().enumerate() {
            let flow = |&(src, dst): &(u32, u32)| FlowSpec {
                src: PortId(src),
                dst: PortId(dst),
                bytes: 1.0,
            };
            let registration = Registration { seq: seq as u64, ..Registration::default() };
            let id = state.register(registration, pairs.iter().map(flow));
            (0..pairs.len() as u32).for_each(|index| state.start(FlowId { coflow: id, index }));
        }
        state
    }

    #[test]
    fn a_coflow_gets_what_those_before_it_leave() {
        // The first coflow sends from 0 to both: a half each. The second sends from 1 to 0.
        let state = state(&[&[(0, 0), (0, 1)], &[(1, 0)]]);
        let mut remaining = Remaining::default();
        remaining.begin(&state);
        let demand = |k: usize| state.coflow(state.present()[k]).demand();
        assert_eq!(remaining.of(demand(0), 0), 1.0);
        remaining.take(demand(0), 0..2);
        assert_eq!(remaining.of(demand(1), 0), 0.5);
        remaining.take(demand(1), 0..1);
        assert_eq!(remaining.of(demand(1), 0), 0.0);
    }

    #[test]
    fn a_flow_that_is_compressed_takes_nothing_and_other_traffic_takes_its_part() {
        let mut state = state(&[&[(0, 0)], &[(0, 1)]]);
        let mut remaining = Remaining::default();
        remaining.begin(&state);
        let first = state.present()[0];
        remaining.take(state.coflow(first).demand(), std::iter::empty());
        let second = state.present()[1];
        assert_eq!(remaining.of(state.coflow(second).demand(), 0), 1.0);
        state.set_other_traffic(LinkId(0), 0.75);
        remaining.begin(&state);
        assert_eq!(remaining.of(state.coflow(second).demand(), 0), 0.25);
    }
}
