//! The rates in force, for everybody who does not integrate them in bulk.

use super::all_flows::priority_paths::PriorityPaths;
use super::classes::class_shares::ClassShares;
use super::flow_rate::FlowRate;
use super::kept::allocations::Allocations;
use covey_core::CoflowId;
use covey_core::state::State;

/// Rates in bulk: the allocator decides one number for many flows, in one of three forms.
///
/// The simulator integrates each form in a way of its own. Everybody else asks here for the rates
/// of flows and links, whatever the form: nobody but its implementations decodes a form.
pub trait BulkRates {
    /// Rate of the active flow at `position` of a coflow, in bytes per second.
    fn rate(&self, state: &State, id: CoflowId, position: usize) -> f64;

    /// Replaces `rates` by those of a coflow's active flows, each flow once, by position. Flows
    /// that get nothing may be left out.
    fn flow_rates(&self, state: &State, id: CoflowId, rates: &mut Vec<FlowRate>) {
        let flow = |p: usize| FlowRate { position: p as u32, rate: self.rate(state, id, p) };
        rates.clear();
        rates.extend(state.coflow(id).demand().active().map(flow));
    }

    /// What a coflow sends over its local link `l`, in bytes per second.
    fn link_rate(&self, state: &State, id: CoflowId, l: usize) -> f64 {
        let mut all = 0.0;
        let demand = state.coflow(id).demand();
        demand.each_active_at(l, |position| all += self.rate(state, id, position));
        all
    }

    /// Replaces `rates` by what a coflow sends over each of its local links, in bytes per second.
    fn link_rates(&self, state: &State, id: CoflowId, rates: &mut Vec<f64>) {
        let demand = state.coflow(id).demand();
        rates.clear();
        rates.resize(demand.links().len(), 0.0);
        for position in demand.active() {
            let rate = self.rate(state, id, position);
            demand.path(position).for_each(|l| rates[l] += rate);
        }
    }
}

/// Coflow by coflow.
impl BulkRates for Allocations {
    fn rate(&self, state: &State, id: CoflowId, position: usize) -> f64 {
        self[id].rate(state.coflow(id), position)
    }

    fn flow_rates(&self, state: &State, id: CoflowId, rates: &mut Vec<FlowRate>) {
        self[id].flow_rates(state.coflow(id), rates);
    }

    fn link_rate(&self, _: &State, id: CoflowId, l: usize) -> f64 {
        self[id].used(l)
    }

    fn link_rates(&self, state: &State, id: CoflowId, rates: &mut Vec<f64>) {
        self[id].link_rates(state.coflow(id).demand(), rates);
    }
}

/// All flows by priority: few run, each at a rate of its own.
impl BulkRates for PriorityPaths {
    fn rate(&self, state: &State, id: CoflowId, position: usize) -> f64 {
        self.rate_of(state, id, position)
    }
}

/// All flows in classes: a flow gets the water level of the link that limits it, times its measure.
impl BulkRates for ClassShares {
    fn rate(&self, state: &State, id: CoflowId, position: usize) -> f64 {
        let unit = self.measure().of(state.coflow(id).progress().size[position]);
        self.bundle(id, position).map_or(0.0, |bundle| unit * self.rate_of(bundle))
    }
}
