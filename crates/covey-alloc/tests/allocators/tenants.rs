//! Capacity divided among tenants.

use covey_alloc::TenantShares;
use covey_core::{Ranking, TenantId, TenantPlan};
use proptest::collection::vec;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;

/// Coflows of tenants: a world, and the tenant of each of its coflows.
fn world_of(network: &Network, tenants: &[u32]) -> World {
    let mut world = World::new(network.0.clone(), &[]);
    for (flows, tenant) in network.1.iter().zip(tenants) {
        world.arrive_for(TenantId(*tenant), flows);
    }
    world
}

/// The part of a plan that is for the coflows of a tenant.
fn part_of(world: &World, plan: &Plan<Clairvoyant>, tenant: u32) -> Ranking {
    let mut part = plan.ranking().clone();
    part.entries.clear();
    for &(rank, entry) in plan.ranking().entries.iter() {
        let coflow = match entry.group {
            Group::AllFlows => None,
            Group::Coflow(id) | Group::CoflowAt(id, _) => Some(id),
            Group::Flow(flow) => Some(flow.coflow),
        };
        let tenant_of = |id| world.state.coflow(id).registration.tenant;
        if coflow.is_none_or(|id| tenant_of(id) == TenantId(tenant)) {
            part.entries.push(rank, entry);
        }
    }
    part
}

fn plans_of(world: &World, plan: &Plan<Clairvoyant>, weights: &[f64]) -> Vec<TenantPlan> {
    let plan_of = |(tenant, &weight)| TenantPlan { weight, ranking: part_of(world, plan, tenant) };
    (0..).zip(weights).map(plan_of).collect()
}

fn shared(world: &mut World, plans: &[TenantPlan]) -> Result<Vec<f64>, PlanError> {
    let (mut shares, mut allocator) = (TenantShares::default(), Allocator::default());
    shares.share(&mut world.state, &mut allocator, plans)?;
    Ok(world.rates(&allocator))
}

/// All coflows in order, max-min, so that no flow could send more.
fn in_order(world: &World) -> Plan<Clairvoyant> {
    let mut plan = Plan::default();
    world.state.present().iter().for_each(|&id| plan.push(Group::Coflow(id), Share::MAX_MIN));
    plan
}

/// Rates of flows between ports of a switch whose links carry 1, a coflow each, all max-min.
fn rates(flows: &[(u32, u32, u32)], weights: &[f64]) -> Vec<f64> {
    let coflows = flows.iter().map(|&(_, src, dst)| vec![flow(src, dst, 1.0)]).collect();
    let network = (Fabric::big_switch(6, 1.0).unwrap(), coflows);
    let tenants: Vec<u32> = flows.iter().map(|&(tenant, ..)| tenant).collect();
    let mut world = world_of(&network, &tenants);
    let plan = in_order(&world);
    let plans = plans_of(&world, &plan, weights);
    shared(&mut world, &plans).unwrap()
}

#[test]
fn a_link_is_divided_by_weight_whoever_has_how_many_coflows() {
    assert_same(&rates(&[(0, 0, 1), (1, 0, 2)], &[3.0, 1.0]), &[0.75, 0.25]);
    // The plan serves the first of a tenant's coflows.
    let many = [(0, 0, 1), (1, 0, 2), (1, 0, 3), (1, 0, 4)];
    assert_same(&rates(&many, &[3.0, 1.0]), &[0.75, 0.25, 0.0, 0.0]);
    // A tenant without flows has no part.
    assert_same(&rates(&[(0, 0, 1), (2, 0, 2)], &[1.0, 5.0, 1.0]), &[0.5, 0.5]);
}

#[test]
fn what_a_tenant_cannot_use_goes_to_others() {
    // Tenant 1 shares the link into port 3 with tenant 2, so it uses 1/2 of its part of the link
    // out of port 0.
    let flows = [(0, 0, 1), (1, 0, 3), (2, 2, 3), (2, 2, 3), (2, 4, 3)];
    let weights = [1.0, 3.0, 3.0];
    assert_same(&rates(&flows, &weights), &[0.5, 0.5, 0.5, 0.0, 0.0]);
    // The same if the one who leaves it comes last.
    let turned = [(2, 0, 1), (1, 0, 3), (0, 2, 3)];
    assert_same(&rates(&turned, &[3.0, 3.0, 1.0]), &[0.5, 0.5, 0.5]);
}

#[test]
fn a_weight_is_a_number_above_0() {
    let network = (Fabric::big_switch(2, 1.0).unwrap(), vec![vec![flow(0, 1, 1.0)]]);
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut world = world_of(&network, &[0]);
        let plan = in_order(&world);
        let plans = plans_of(&world, &plan, &[weight]);
        assert!(matches!(shared(&mut world, &plans), Err(PlanError::TenantWeight(_))));
    }
}

fn weights() -> impl Strategy<Value = Vec<f64>> {
    vec(prop_oneof![Just(1.0), Just(3.0), 0.1..20.0], 3)
}

fn tenants() -> impl Strategy<Value = Vec<u32>> {
    vec(0..3_u32, 8)
}

/// A tenant that is offered more may send other flows, and so leave something elsewhere that nobody
/// has taken by the last round. That is rare; in all other cases each flow crosses a full link.
#[test]
fn hardly_anything_is_idle_that_a_flow_could_use() {
    const CASES: usize = 4000;
    let mut runner = TestRunner::deterministic();
    let case = (random::network(random::any_fabric()), tenants(), weights());
    let is_idle = |_| {
        let (network, tenants, weights) = case.new_tree(&mut runner).unwrap().current();
        let mut world = world_of(&network, &tenants);
        let plan = in_order(&world);
        let plans = plans_of(&world, &plan, &weights);
        let rates = shared(&mut world, &plans).unwrap();
        let flows = world.flows();
        let load = load(&flows, &rates, world.state.fabric().links());
        !flows.iter().all(|flow| flow.path.iter().any(|&l| is_full(&world, &load, l)))
    };
    let idle: Vec<bool> = (0..CASES).map(is_idle).collect();
    let idle = idle.iter().filter(|idle| **idle).count();
    assert!(idle <= CASES / 1000, "{idle} of {CASES}");
}

proptest! {
    #![proptest_config(random::cases(1000))]

    #[test]
    fn rates_are_those_by_definition(
        network in random::network(random::any_fabric()),
        recipe in random::recipe(random::whole(&random::FORGETFUL)),
        tenants in tenants(),
        weights in weights(),
    ) {
        let mut world = world_of(&network, &tenants);
        let plan = recipe.plan(&world);
        let plans = plans_of(&world, &plan, &weights);
        let expected = naive::by_tenant(&world, &plans).unwrap();
        let found = shared(&mut world, &plans).unwrap();
        assert_within_capacity(&world, &world.flows(), &found);
        assert_same(&found, &expected);
    }

    #[test]
    fn all_flows_of_a_tenant_may_be_one_group(
        network in random::network(random::any_fabric()),
        tenants in tenants(),
        weights in weights(),
        share in prop_oneof![
            Just(Share::MAX_MIN), Just(Share::BY_SIZE), Just(Share::SHORTEST_FIRST)
        ],
    ) {
        let mut world = world_of(&network, &tenants);
        let plan = plan_of(&[(Group::AllFlows, share)]);
        let plans = plans_of(&world, &plan, &weights);
        let found = shared(&mut world, &plans).unwrap();
        assert_within_capacity(&world, &world.flows(), &found);
        // The shortest flow is not told from others of its size.
        if share != Share::SHORTEST_FIRST {
            assert_same(&found, &naive::by_tenant(&world, &plans).unwrap());
        }
    }

    #[test]
    fn flows_that_run_by_matching_go_on(
        network in random::network(random::any_fabric()),
        tenants in tenants(),
        weights in weights(),
    ) {
        let mut world = world_of(&network, &tenants);
        let (mut shares, mut allocator) = (TenantShares::default(), Allocator::default());
        let mut running = Vec::new();
        for _ in 0..4 {
            let mut plan = Plan::default();
            let present = world.state.present();
            present.iter().for_each(|&id| plan.push(Group::Coflow(id), Share::MATCHING));
            let plans = plans_of(&world, &plan, &weights);
            shares.share(&mut world.state, &mut allocator, &plans).unwrap();
            let expected = naive::by_tenant_after(&world, &plans, &mut running).unwrap();
            assert_same(&world.rates(&allocator), &expected);
            let Some(first) = world.flows().first().map(|flow| flow.id) else { break };
            world.end(first, &mut allocator);
            if !world.state.is_present(first.coflow) {
                shares.forget(&world.state, first.coflow);
            }
        }
    }

    /// At a link into which all flows go, each tenant gets at least its part.
    #[test]
    fn nobody_gets_less_than_its_part_of_a_link(
        flows in vec(vec((0..5_u32, 0.1..9.0), 1..6), 3..9),
        tenants in vec(0..3_u32, 9),
        weights in weights(),
    ) {
        let one = |&(src, bytes): &(u32, f64)| flow(src, 5, bytes);
        let coflows = flows.iter().map(|flows| flows.iter().map(one).collect()).collect();
        let network = (Fabric::big_switch(6, 1.0).unwrap(), coflows);
        let mut world = world_of(&network, &tenants);
        let plan = in_order(&world);
        let plans = plans_of(&world, &plan, &weights);
        let rates = shared(&mut world, &plans).unwrap();
        let mut got = [0.0; 3];
        for (flow, rate) in world.flows().iter().zip(&rates) {
            got[world.state.coflow(flow.id.coflow).registration.tenant.index()] += rate;
        }
        let is_there = |k: usize| tenants[..flows.len()].contains(&(k as u32));
        let all: f64 = (0..3).filter(|&k| is_there(k)).map(|k| weights[k]).sum();
        for k in (0..3).filter(|&k| is_there(k)) {
            // Senders limit nobody: each carries as much as the receiver.
            assert!((got[k] - weights[k] / all).abs() < 1e-9, "{got:?} {weights:?}");
        }
    }

    /// With whole networks of tenants that share fairly inside, it does not matter in how many
    /// coflows a tenant's flows are, and only the proportions of weights count.
    #[test]
    fn splitting_coflows_and_scaling_weights_change_nothing(
        network in random::network(random::any_fabric()),
        tenants in tenants(),
        weights in weights(),
    ) {
        let plan = plan_of(&[(Group::AllFlows, Share::MAX_MIN)]);
        let mut world = world_of(&network, &tenants);
        let plans = plans_of(&world, &plan, &weights);
        let rates = shared(&mut world, &plans).unwrap();
        let scaled: Vec<f64> = weights.iter().map(|weight| weight * 8.0).collect();
        let plans = plans_of(&world, &plan, &scaled);
        prop_assert_eq!(&shared(&mut world, &plans).unwrap(), &rates);
        let mut by_flow = BTreeMap::new();
        for (flow, rate) in world.flows().iter().zip(&rates) {
            by_flow.insert((flow.id.coflow.0, flow.id.index), *rate);
        }
        // Each flow is a coflow.
        let (mut coflows, mut owners) = (Vec::new(), Vec::new());
        for (flows, tenant) in network.1.iter().zip(&tenants) {
            coflows.extend(flows.iter().map(|&flow| vec![flow]));
            owners.extend(flows.iter().map(|_| *tenant));
        }
        let mut split = world_of(&(network.0.clone(), coflows), &owners);
        let plans = plans_of(&split, &plan, &weights);
        let found = shared(&mut split, &plans).unwrap();
        let expected: Vec<f64> = by_flow.into_values().collect();
        assert_same(&found, &expected);
    }
}
