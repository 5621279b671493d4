//! Capacity divided among tenants.
//!
//! Let w be the weights. Tenants are served one after the other, each from a network of its own:
//! its plan is carried out by an allocator of its own, as if the capacity that the tenant is
//! offered were that of the links. At each link tenant k is offered the part w_k / Σ w_j of what
//! the tenants before it have left, where the sum is over the tenants j ≥ k that *want* the link. A
//! tenant wants a link if it has an active flow there all of whose links have spare capacity.
//!
//! In the first round everything is spare, so a tenant wants every link where it has active flows.
//! If the tenants from k on have in all a share of the link, they still have at least that share of
//! it after tenant k has taken at most its part. So each tenant is offered at least w_k / Σ w_j of
//! each of its links, over all tenants with active flows there, however many coflows or flows these
//! have.
//!
//! In each later round a tenant that wants any link is offered what it uses, and its part of what
//! is spare there; or all of that, where no tenant j ≥ k wants the link. The last tenant that wants
//! links is offered all of it, and mostly wants nothing afterwards, so that there are about as many
//! rounds as tenants. A tenant that is offered more at one link may send other flows, and so leave
//! something at another one that a tenant before it wants. After [`ROUNDS`] that stays spare.
//!
//! Rates are decided from nothing in each scheduling round; only which flows run by matching is
//! remembered. `by_tenant` in `tests/allocators/common/naive.rs` is the same in its slow and
//! obvious form.

use super::allocator::Allocator;
use super::error::PlanError;
use super::free_capacity::usable_amount;
use covey_core::CoflowId;
use covey_core::state::{Part, State};
use covey_core::{Ranking, Rule, TenantPlan};

/// The greatest number of rounds for each tenant. With three tenants and random coflows, something
/// is spare after the last one that a flow could use in less than one case of a thousand.
const ROUNDS: usize = 4;

/// The allocators of tenants, and working memory.
#[derive(Debug, Default)]
pub struct TenantShares {
    tenants: Vec<Tenant>,
    /// What no tenant uses, by link.
    spare: Vec<f64>,
    /// Working memory: what a coflow uses, by local link.
    uses: Vec<f64>,
}

/// One tenant.
#[derive(Debug, Default)]
struct Tenant {
    allocator: Allocator,
    /// What it is offered, and its coflows.
    part: Part,
    /// What it uses, by link.
    used: Vec<f64>,
    /// Whether it wants a link.
    wants: Vec<bool>,
    /// Whether it was served in this scheduling round.
    is_served: bool,
}

impl TenantShares {
    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.tenants.iter_mut().for_each(|tenant| tenant.allocator.clear());
    }

    /// To be called when [`Allocator::forget`] is, and before the positions of a coflow's flows
    /// change.
    pub fn forget(&mut self, state: &State, id: CoflowId) {
        self.tenants.iter_mut().for_each(|tenant| tenant.allocator.forget(state, id));
    }

    /// Shares all links among the tenants' coflows as their plans say, and has `allocator` take
    /// over the rates.
    ///
    /// # Errors
    /// When a plan is wrong, or the weight of a tenant; rates are then undefined.
    pub fn share(
        &mut self,
        state: &mut State,
        allocator: &mut Allocator,
        plans: &[TenantPlan],
    ) -> Result<(), PlanError> {
        if let Some(plan) = plans.iter().find(|p| !(p.weight.is_finite() && p.weight > 0.0)) {
            return Err(PlanError::TenantWeight(plan.weight));
        }
        let first_rule = |plan: &TenantPlan| plan.ranking.entries.first().map(|(_, it)| it.rule);
        if plans.iter().any(|plan| first_rule(plan) == Some(Rule::OldestFirst)) {
            return Err(PlanError::StartsOfATenant);
        }
        self.start(state, plans.len());
        for _ in 0..ROUNDS * plans.len() {
            if !self.find_wants(state) {
                break;
            }
            for (k, plan) in plans.iter().enumerate() {
                if self.tenants[k].wants.contains(&true) {
                    self.offer(plans, k);
                    self.serve(state, k, &plan.ranking)?;
                }
            }
        }
        let tenants = &self.tenants;
        allocator.take_over(state, |id, rates| {
            let tenant = state.coflow(id).registration.tenant.index();
            match tenants.get(tenant).filter(|tenant| tenant.is_served) {
                Some(tenant) => tenant.allocator.rates().flow_rates(state, id, rates),
                None => rates.clear(),
            }
        });
        Ok(())
    }

    /// Begins a scheduling round: everything is spare.
    fn start(&mut self, state: &State, count: usize) {
        let capacity = state.fabric().capacity();
        self.tenants.resize_with(self.tenants.len().max(count), Tenant::default);
        self.spare.clear();
        self.spare.extend_from_slice(capacity);
        for tenant in &mut self.tenants {
            tenant.part.present.clear();
            tenant.is_served = false;
            for numbers in [&mut tenant.used, &mut tenant.part.capacity] {
                numbers.clear();
                numbers.resize(capacity.len(), 0.0);
            }
            tenant.wants.clear();
            tenant.wants.resize(capacity.len(), false);
        }
        for &id in state.present() {
            let tenant = state.coflow(id).registration.tenant.index();
            if let Some(tenant) = self.tenants.get_mut(tenant) {
                tenant.part.present.push(id);
            }
        }
    }

    /// Finds out which links each tenant wants. Returns whether any wants one.
    fn find_wants(&mut self, state: &State) -> bool {
        let capacity = state.fabric().capacity();
        let has_spare = |link: usize| usable_amount(self.spare[link], capacity[link]) > 0.0;
        let mut any = false;
        for tenant in &mut self.tenants {
            tenant.wants.fill(false);
            for &id in &tenant.part.present {
                let demand = state.coflow(id).demand();
                let links = demand.links();
                for position in demand.active() {
                    let path = demand.path(position).map(|l| links[l].index());
                    if path.clone().all(has_spare) {
                        path.for_each(|link| tenant.wants[link] = true);
                        any = true;
                    }
                }
            }
        }
        any
    }

    /// Works out what a tenant is offered.
    fn offer(&mut self, plans: &[TenantPlan], k: usize) {
        for (link, spare) in self.spare.iter().enumerate() {
            let weight = |j: usize| if self.tenants[j].wants[link] { plans[j].weight } else { 0.0 };
            let own = weight(k);
            let after: f64 = (k + 1..plans.len()).map(weight).sum();
            // The last one gets all that is spare, to the last bit.
            let part = if own + after > 0.0 { own / (own + after) } else { 1.0 };
            let tenant = &mut self.tenants[k];
            tenant.part.capacity[link] = tenant.used[link] + (spare * part).max(0.0);
        }
    }

    /// Serves a tenant from what it is offered.
    fn serve(&mut self, state: &mut State, k: usize, ranking: &Ranking) -> Result<(), PlanError> {
        let TenantShares { tenants, spare, uses } = self;
        let Tenant { allocator, part, used, is_served, .. } = &mut tenants[k];
        *is_served = true;
        spare.iter_mut().zip(&*used).for_each(|(spare, used)| *spare += used);
        used.fill(0.0);
        state.swap(part);
        allocator.start_over();
        let result = allocator.allocate(state, ranking);
        state.swap(part);
        result?;
        for &id in &part.present {
            allocator.rates().link_rates(state, id, uses);
            for (link, rate) in state.coflow(id).demand().links().iter().zip(&*uses) {
                used[link.index()] += rate;
            }
        }
        spare.iter_mut().zip(&*used).for_each(|(spare, used)| *spare -= used);
        Ok(())
    }
}
