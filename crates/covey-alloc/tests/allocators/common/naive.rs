//! A plan's rates in a world, by the reference.

use covey_alloc::reference;
use covey_core::{Ranking, TenantPlan};

pub use reference::Running;

use super::World;

/// Rates in the order of [`World::flows`] if no flow ran before; `None` if an explicit rate does
/// not fit.
pub fn rates(world: &World, ranking: &Ranking) -> Option<Vec<f64>> {
    rates_after(world, ranking, &mut Running::default())
}

/// Like [`rates`], under strict layers, if flows ran before. `running` contains these flows, and
/// afterwards the flows that run now.
pub fn rates_after(world: &World, ranking: &Ranking, running: &mut Running) -> Option<Vec<f64>> {
    reference::rates(&world.flows(), world.state.fabric().capacity(), ranking, running)
}

/// Rates of flows whose coflows belong to tenants.
pub fn by_tenant(world: &World, plans: &[TenantPlan]) -> Option<Vec<f64>> {
    by_tenant_after(world, plans, &mut Vec::new())
}

/// Like [`by_tenant`], under strict layers, if flows of tenants ran before, as [`rates_after`] has
/// it.
pub fn by_tenant_after(
    world: &World,
    plans: &[TenantPlan],
    running: &mut Vec<Running>,
) -> Option<Vec<f64>> {
    let tenant = |coflow| world.state.coflow(coflow).registration.tenant.index();
    reference::rates_by_tenant(
        &world.flows(),
        world.state.fabric().capacity(),
        plans,
        tenant,
        running,
    )
}
