//! Rates have their defining properties, on random networks.

use super::*;

/// The defining property of max-min fairness: each flow crosses a full link on which no flow has a
/// higher rate.
fn assert_max_min(world: &World, rates: &[f64]) {
    let flows = world.flows();
    assert_within_capacity(world, &flows, rates);
    let load = load(&flows, rates, world.state.fabric().links());
    for (flow, rate) in flows.iter().zip(rates) {
        let max_rate = |link: usize| {
            let there = flows.iter().zip(rates).filter(|(f, _)| f.path.contains(&link));
            there.map(|(_, rate)| *rate).fold(0.0, f64::max)
        };
        let is_bottleneck =
            |&link: &usize| is_full(world, &load, link) && max_rate(link) <= rate + 1e-9;
        assert!(flow.path.iter().any(is_bottleneck), "{:?} at {rate} has no bottleneck", flow.id);
    }
}

/// Rates are those of the definition, if the plan can be executed.
fn assert_by_definition(network: &Network, recipe: &Recipe) {
    let world = World::new(network.0.clone(), &network.1);
    let plan = recipe.plan(&world);
    match (fresh(&world, &plan), naive::rates(&world, plan.ranking())) {
        (Ok(found), Some(expected)) => assert_same(&found, &expected),
        (Err(PlanError::Overbooked { .. }), None) => {}
        (found, expected) => panic!("found {found:?}, expected {expected:?}"),
    }
}

proptest! {
    #![proptest_config(random::cases(1000))]

    #[test]
    fn whole_coflows_get_the_rates_of_the_definition(
        network in random::network(random::any_fabric()),
        recipe in random::recipe(random::whole(&random::ALL)),
    ) {
        assert_by_definition(&network, &recipe);
    }

    #[test]
    fn parts_of_coflows_beside_whole_ones_get_the_rates_of_the_definition(
        network in random::network(random::any_fabric()),
        recipe in random::recipe(prop_oneof![random::whole(&random::ALL), random::part(&random::PARTIAL)]),
    ) {
        assert_by_definition(&network, &recipe);
    }

    #[test]
    fn links_divided_by_their_nodes_give_the_rates_of_the_definition(
        network in random::network(random::any_fabric()),
        shares in proptest::collection::vec(prop_oneof![1 => Just(0.0), 2 => 0.1..1.0], 64),
        share in proptest::sample::select(&[Share::MAX_MIN, Share::ALL_OR_NONE]),
    ) {
        let world = World::new(network.0.clone(), &network.1);
        let plan = divided(&world, share, &shares);
        let expected = naive::rates(&world, plan.ranking()).unwrap();
        assert_same(&fresh(&world, &plan).unwrap(), &expected);
    }

    #[test]
    fn max_min_gives_each_flow_a_bottleneck(
        network in random::network(random::any_fabric()),
    ) {
        let world = World::new(network.0, &network.1[..1]);
        let rates = fresh(&world, &plan_of(&[(Group::Coflow(A), Share::MAX_MIN)])).unwrap();
        assert_max_min(&world, &rates);
    }

    #[test]
    fn everything_is_max_min_over_all_flows(network in random::network(random::big_switch())) {
        let world = World::new(network.0, &network.1);
        let plan = plan_of(&[(Group::AllFlows, Share::MAX_MIN)]);
        let rates = fresh(&world, &plan).unwrap();
        assert_max_min(&world, &rates);
        assert_same(&rates, &naive::rates(&world, plan.ranking()).unwrap());
    }

    #[test]
    fn everything_by_size_divides_each_link_in_proportion(
        network in random::network(random::big_switch()),
    ) {
        let world = World::new(network.0, &network.1);
        let plan = plan_of(&[(Group::AllFlows, Share::BY_SIZE)]);
        let rates = fresh(&world, &plan).unwrap();
        assert_within_capacity(&world, &world.flows(), &rates);
        assert_same(&rates, &naive::rates(&world, plan.ranking()).unwrap());
    }

    #[test]
    fn under_madd_all_flows_end_together_and_the_slowest_link_is_full(
        network in random::network(random::any_fabric()),
    ) {
        let world = World::new(network.0, &network.1[..1]);
        let rates = fresh(&world, &plan_of(&[(Group::Coflow(A), Share::MADD)])).unwrap();
        let flows = world.flows();
        assert_within_capacity(&world, &flows, &rates);
        let seconds: Vec<f64> = flows.iter().zip(&rates).map(|(f, rate)| f.left / rate).collect();
        prop_assert!(seconds.iter().all(|s| (s / seconds[0] - 1.0).abs() < 1e-9), "{:?}", seconds);
        let load = load(&flows, &rates, world.state.fabric().links());
        prop_assert!((0..load.len()).any(|l| is_full(&world, &load, l)));
    }

    #[test]
    fn matching_by_load_serves_the_most_loaded_ports_first(
        network in random::network(random::any_fabric()),
    ) {
        let world = World::new(network.0, &network.1);
        let plan = plan_of(&[(Group::Coflow(A), Share::MATCHING_BY_LOAD)]);
        let found = fresh(&world, &plan).unwrap();
        assert_same(&found, &naive::rates(&world, plan.ranking()).unwrap());
    }

    #[test]
    fn matching_leaves_no_capacity_idle_and_skips_no_coflow(
        network in random::network(random::any_fabric()),
        order in Just([0, 1, 2, 3, 4]).prop_shuffle(),
        share in matchings(),
    ) {
        let world = World::new(network.0, &network.1);
        let present = order.into_iter().filter(|&c| c < network.1.len());
        let entries: Vec<_> =
            present.map(|c| (Group::Coflow(CoflowId(c as u32)), share)).collect();
        let plan = plan_of(&entries);
        assert_maximal_in_order(&world, &plan, &fresh(&world, &plan).unwrap());
    }
}
