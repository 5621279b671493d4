//! Allocators against their definitions, on random networks.

mod common;

use std::collections::BTreeMap;
use std::slice;

use common::random::{self, Recipe};
use common::{NaiveFlow, World, flow, load, naive};
use covey_core::alloc::{Allocator, PlanError, Single};
use covey_core::state::FlowSpec;
use covey_core::{
    Backfill, Clairvoyant, CoflowId, Fabric, FlowId, Group, Layers, LinkId, Plan, Share,
};
use proptest::prelude::*;

/// The first coflow of a world.
const A: CoflowId = CoflowId(0);
const B: CoflowId = CoflowId(1);

type Network = (Fabric, Vec<Vec<FlowSpec>>);

fn plan_of(entries: &[(Group, Share<Clairvoyant>)]) -> Plan<Clairvoyant> {
    let mut plan = Plan::default();
    entries.iter().for_each(|&(group, share)| plan.push(group, share));
    plan
}

/// Rates from an allocator that remembers nothing.
fn fresh(world: &World, plan: &Plan<Clairvoyant>) -> Result<Vec<f64>, PlanError> {
    let mut allocator = Allocator::default();
    allocator.allocate(&world.state, plan.ranking())?;
    Ok(world.rates(&allocator))
}

/// Rates on a switch whose links carry 1.
fn on_unit_switch(
    ports: u32,
    coflows: &[Vec<FlowSpec>],
    entries: &[(Group, Share<Clairvoyant>)],
) -> Result<Vec<f64>, PlanError> {
    let world = World::new(Fabric::big_switch(ports, 1.0).unwrap(), coflows);
    fresh(&world, &plan_of(entries))
}

/// Capacities in these tests are of the order of 1, so differences are absolute.
fn assert_same(found: &[f64], expected: &[f64]) {
    let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-8;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(same),
        "found    {found:?}\nexpected {expected:?}"
    );
}

// Known answers.

/// KA4: with C1 first, MADD leaves 2/3 of the port that greedy filling leaves whole.
#[test]
fn madd_takes_the_least_that_ends_all_flows_together_and_greedy_takes_all() {
    let c1 = vec![flow(1, 3, 2.0), flow(2, 3, 1.0)];
    let c2 = vec![flow(2, 4, 2.0)];
    let rates = |share| {
        let both = [(Group::Coflow(A), share), (Group::Coflow(B), share)];
        on_unit_switch(5, &[c1.clone(), c2.clone()], &both).unwrap()
    };
    assert_same(&rates(Share::MADD), &[2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0]);
    assert_same(&rates(Share::MATCHING), &[1.0, 0.0, 1.0]);
}

#[test]
fn max_min_is_not_equal_shares() {
    // Port 0 sends to 0 and 1; port 1 sends to 1 three times: receiver 1 is the bottleneck.
    let coflow =
        vec![flow(0, 0, 1.0), flow(0, 1, 1.0), flow(1, 1, 1.0), flow(1, 1, 1.0), flow(1, 1, 1.0)];
    let rates =
        |share| on_unit_switch(2, slice::from_ref(&coflow), &[(Group::Coflow(A), share)]).unwrap();
    assert_same(&rates(Share::MAX_MIN), &[0.75, 0.25, 0.25, 0.25, 0.25]);
    assert_same(&rates(Share::EQUAL), &[0.5, 0.25, 0.25, 0.25, 0.25]);
}

/// A flow gets what both of its ends give it; what one end gives and the other does not is for all.
#[test]
fn both_ends_decide_where_nodes_divide_their_links() {
    let coflows = [vec![flow(0, 0, 1.0), flow(1, 1, 1.0)], vec![flow(0, 0, 1.0), flow(1, 2, 1.0)]];
    let world = World::new(Fabric::big_switch(3, 1.0).unwrap(), &coflows);
    let mut plan =
        plan_of(&[(Group::Coflow(A), Share::MAX_MIN), (Group::Coflow(B), Share::MAX_MIN)]);
    plan.set_layers(Layers::ByNode);
    // Port 0 prefers A on its way out and B on its way in; port 1 gives B three quarters.
    plan.give(A, LinkId(0), 1.0);
    plan.give(B, LinkId(3), 1.0);
    plan.give(A, LinkId(1), 0.25);
    plan.give(B, LinkId(1), 0.75);
    plan.give(A, LinkId(4), 1.0);
    plan.give(B, LinkId(5), 1.0);
    // A is first in the plan, so it takes what nobody uses.
    assert_same(&fresh(&world, &plan).unwrap(), &[1.0, 0.25, 0.0, 0.75]);
    plan.give(B, LinkId(0), 0.5);
    let too_much = PlanError::Portion { link: LinkId(0), share: 1.5 };
    assert_eq!(fresh(&world, &plan), Err(too_much));
}

/// Saath, 3: a coflow that finds one of its links full sends nothing, and the one behind it does.
#[test]
fn all_or_none_of_a_coflows_flows_are_served() {
    let coflows = [
        vec![flow(0, 0, 1.0), flow(0, 1, 1.0)],
        vec![flow(1, 1, 1.0), flow(0, 2, 1.0)],
        vec![flow(2, 1, 1.0), flow(2, 2, 1.0)],
    ];
    let entries = [0, 1, 2].map(|coflow| (Group::Coflow(CoflowId(coflow)), Share::ALL_OR_NONE));
    let rates = on_unit_switch(3, &coflows, &entries).unwrap();
    assert_same(&rates, &[0.5, 0.5, 0.0, 0.0, 0.5, 0.5]);
}

/// What is left over goes to those that all-or-none has passed over, and not to those it has served.
#[test]
fn backfill_of_the_skipped_leaves_the_served_as_they_are() {
    let coflows = [
        vec![flow(0, 0, 1.0), flow(0, 1, 1.0), flow(1, 2, 1.0)],
        vec![flow(0, 2, 1.0), flow(2, 2, 1.0)],
    ];
    let mut plan =
        plan_of(&[(Group::Coflow(A), Share::ALL_OR_NONE), (Group::Coflow(B), Share::ALL_OR_NONE)]);
    plan.set_backfill(Backfill::Skipped);
    let world = World::new(Fabric::big_switch(3, 1.0).unwrap(), &coflows);
    assert_same(&fresh(&world, &plan).unwrap(), &[0.5, 0.5, 0.5, 0.0, 0.5]);
    plan.set_backfill(Backfill::Greedy);
    assert_same(&fresh(&world, &plan).unwrap(), &[0.5, 0.5, 1.0, 0.0, 0.0]);
}

#[test]
fn equal_shares_do_not_count_flows_that_cannot_send() {
    let first = vec![flow(1, 1, 1.0)];
    let second = vec![flow(0, 0, 1.0), flow(0, 1, 1.0)];
    let both = [(Group::Coflow(A), Share::MAX_MIN), (Group::Coflow(B), Share::EQUAL)];
    assert_same(&on_unit_switch(2, &[first, second], &both).unwrap(), &[1.0, 1.0, 0.0]);
}

#[test]
fn weighted_layers_divide_the_links_where_they_meet() {
    let first = vec![flow(0, 0, 1.0), flow(1, 1, 1.0)];
    let second = vec![flow(0, 2, 1.0), flow(2, 3, 1.0)];
    let world = World::new(Fabric::big_switch(4, 1.0).unwrap(), &[first, second]);
    let mut plan = Plan::default();
    plan.set_layers(Layers::Weighted);
    plan.open_layer(10.0);
    plan.push(Group::Coflow(A), Share::MAX_MIN);
    plan.open_layer(1.0);
    plan.push(Group::Coflow(B), Share::MAX_MIN);
    assert_same(&fresh(&world, &plan).unwrap(), &[10.0 / 11.0, 1.0, 1.0 / 11.0, 1.0]);
}

#[test]
fn what_a_weighted_layer_cannot_use_goes_down_and_by_backfill_up() {
    // A shares sender 0 with B, but is held back by its receiver, which C fills.
    let coflows = [vec![flow(0, 0, 1.0)], vec![flow(0, 1, 1.0)], vec![flow(1, 0, 1.0)]];
    let world = World::new(Fabric::big_switch(2, 1.0).unwrap(), &coflows);
    let mut plan = Plan::default();
    plan.set_layers(Layers::Weighted);
    for (weight, coflow) in [(1.0, 2), (1.0, 0), (3.0, 1)] {
        plan.open_layer(weight);
        plan.push(Group::Coflow(CoflowId(coflow)), Share::MAX_MIN);
    }
    // A has 1/4 of sender 0, so 1/4 of receiver 0's half is spare; C is above A.
    assert_same(&fresh(&world, &plan).unwrap(), &[0.25, 0.75, 0.5]);
    plan.set_backfill(Backfill::Greedy);
    assert_same(&fresh(&world, &plan).unwrap(), &[0.25, 0.75, 0.75]);
    // Upside down, A finds what C has left of receiver 0, but B's part of sender 0 is kept back.
    let mut plan = Plan::default();
    plan.set_layers(Layers::Weighted);
    for (weight, coflow) in [(1.0, 0), (3.0, 1), (1.0, 2)] {
        plan.open_layer(weight);
        plan.push(Group::Coflow(CoflowId(coflow)), Share::MAX_MIN);
    }
    assert_same(&fresh(&world, &plan).unwrap(), &[0.25, 0.75, 0.75]);
}

#[test]
fn hold_gets_nothing_even_from_backfill() {
    let coflows = [vec![flow(0, 0, 1.0)], vec![flow(1, 1, 1.0)]];
    let world = World::new(Fabric::big_switch(2, 1.0).unwrap(), &coflows);
    let mut plan =
        plan_of(&[(Group::Coflow(A), Share::HOLD), (Group::Coflow(B), Share::rate(0.25))]);
    plan.set_backfill(Backfill::Greedy);
    assert_same(&fresh(&world, &plan).unwrap(), &[0.0, 1.0]);
}

#[test]
fn a_coflow_at_a_port_and_a_single_flow_are_served_alone() {
    let coflow = vec![flow(0, 0, 1.0), flow(0, 1, 1.0), flow(1, 1, 1.0), flow(1, 0, 1.0)];
    let rates =
        |group| on_unit_switch(2, slice::from_ref(&coflow), &[(group, Share::MAX_MIN)]).unwrap();
    // Links 0 and 1 are the ports' egress, 2 and 3 their ingress.
    assert_same(&rates(Group::CoflowAt(A, LinkId(0))), &[0.5, 0.5, 0.0, 0.0]);
    assert_same(&rates(Group::CoflowAt(A, LinkId(3))), &[0.0, 0.5, 0.5, 0.0]);
    assert_same(&rates(Group::Flow(FlowId { coflow: A, index: 2 })), &[0.0, 0.0, 1.0, 0.0]);
}

// Wrong plans.

#[test]
fn a_rate_that_does_not_fit_is_an_error() {
    let coflow = vec![flow(0, 0, 1.0), flow(0, 1, 1.0)];
    let asked = |rate| {
        on_unit_switch(2, slice::from_ref(&coflow), &[(Group::Coflow(A), Share::rate(rate))])
    };
    assert_same(&asked(0.5).unwrap(), &[0.5, 0.5]);
    let overbooked = PlanError::Overbooked { link: LinkId(0), asked: 0.75, free: 0.25 };
    assert_eq!(asked(0.75), Err(overbooked.clone()));
    assert_eq!(
        overbooked.to_string(),
        "asks for 0.75 bytes/s on link 0 of which 0.25 bytes/s are free"
    );
    for nonsense in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(matches!(asked(nonsense), Err(PlanError::Overbooked { .. })), "{nonsense}");
    }
}

#[test]
fn plans_that_make_no_sense_are_errors() {
    let coflows = [vec![flow(0, 0, 1.0)], vec![flow(0, 0, 1.0)]];
    let whole = |id| (Group::Coflow(id), Share::MAX_MIN);
    let of = |entries: &[_]| on_unit_switch(1, &coflows, entries).map(|_| ());
    assert_eq!(of(&[whole(A), whole(B), whole(A)]), Err(PlanError::Twice(A)));
    assert_eq!(of(&[whole(CoflowId(2))]), Err(PlanError::Absent(CoflowId(2))));
    let beyond = Group::Flow(FlowId { coflow: A, index: 1 });
    assert_eq!(of(&[(beyond, Share::MAX_MIN)]), Err(PlanError::Absent(A)));
    let first = Group::Flow(FlowId { coflow: A, index: 0 });
    assert_eq!(of(&[(first, Share::MADD)]), Err(PlanError::MaddOfAPart));
    let part = Group::CoflowAt(A, LinkId(0));
    assert_eq!(of(&[(part, Share::MADD)]), Err(PlanError::MaddOfAPart));
    let everything = (Group::Everything, Share::MAX_MIN);
    assert_eq!(of(&[everything]), Ok(()));
    assert_eq!(of(&[everything, whole(A)]), Err(PlanError::Everything));
    assert_eq!(of(&[whole(A), everything]), Err(PlanError::Everything));
    assert_eq!(of(&[(Group::Everything, Share::EQUAL)]), Err(PlanError::Everything));
    assert_eq!(of(&[(Group::Everything, Share::BY_SIZE)]), Ok(()));
    assert_eq!(of(&[(Group::Coflow(A), Share::BY_SIZE)]), Err(PlanError::BySizeOfAPart));
}

#[test]
fn an_ended_coflow_cannot_be_served() {
    let fabric = Fabric::big_switch(1, 1.0).unwrap();
    let mut world = World::new(fabric, &[vec![flow(0, 0, 1.0)]]);
    world.end(FlowId { coflow: A, index: 0 }, &mut Allocator::default());
    let plan = plan_of(&[(Group::Coflow(A), Share::MAX_MIN)]);
    assert_eq!(fresh(&world, &plan), Err(PlanError::Absent(A)));
}

#[test]
fn everything_needs_a_big_switch() {
    let fabric = Fabric::with_paths(2, 1.0, &[1.0], |_, _| vec![0]).unwrap();
    let world = World::new(fabric, &[vec![flow(0, 1, 1.0)]]);
    let plan = plan_of(&[(Group::Everything, Share::MAX_MIN)]);
    assert_eq!(fresh(&world, &plan), Err(PlanError::Everything));
}

#[test]
fn weights_of_layers_are_above_zero() {
    let world = World::new(Fabric::big_switch(1, 1.0).unwrap(), &[vec![flow(0, 0, 1.0)]]);
    for weight in [0.0, -1.0, f64::INFINITY] {
        let mut plan = Plan::default();
        plan.set_layers(Layers::Weighted);
        plan.open_layer(weight);
        plan.push(Group::Coflow(A), Share::MAX_MIN);
        assert_eq!(fresh(&world, &plan), Err(PlanError::Weight(weight)));
    }
}

// Definitions, on random networks.

/// Whether a link is full.
fn is_full(world: &World, load: &[f64], link: usize) -> bool {
    load[link] >= world.state.fabric().capacity()[link] * (1.0 - 1e-6)
}

fn assert_within_capacity(world: &World, flows: &[NaiveFlow], rates: &[f64]) {
    let capacity = world.state.fabric().capacity();
    for (link, used) in load(flows, rates, capacity.len()).into_iter().enumerate() {
        assert!(used <= capacity[link] * (1.0 + 1e-9), "link {link}: {used} > {}", capacity[link]);
    }
    assert!(rates.iter().all(|rate| *rate >= 0.0), "{rates:?}");
}

/// In the order of the entries, each flow is stopped only by a link that those served no later than
/// its coflow have filled. So nothing is left idle, and nobody is passed over.
fn assert_maximal_in_order(world: &World, plan: &Plan<Clairvoyant>, rates: &[f64]) {
    let flows = world.flows();
    assert_within_capacity(world, &flows, rates);
    let mut load = vec![0.0; world.state.fabric().links()];
    for entry in &plan.ranking().entries {
        let Group::Coflow(coflow) = entry.group else { unreachable!("only whole coflows") };
        let members = || (0..flows.len()).filter(|&f| flows[f].id.coflow == coflow);
        for f in members() {
            flows[f].path.iter().for_each(|&l| load[l] += rates[f]);
        }
        for f in members() {
            let stopped = flows[f].path.iter().any(|&l| is_full(world, &load, l));
            assert!(stopped, "{:?} could send more", flows[f].id);
        }
    }
}

/// The property that defines max-min fairness: each flow crosses a full link on which no flow has
/// more.
fn assert_max_min(world: &World, rates: &[f64]) {
    let flows = world.flows();
    assert_within_capacity(world, &flows, rates);
    let load = load(&flows, rates, world.state.fabric().links());
    for (flow, rate) in flows.iter().zip(rates) {
        let most = |link: usize| {
            let there = flows.iter().zip(rates).filter(|(f, _)| f.path.contains(&link));
            there.map(|(_, rate)| *rate).fold(0.0, f64::max)
        };
        let is_bottleneck =
            |&link: &usize| is_full(world, &load, link) && most(link) <= rate + 1e-9;
        assert!(flow.path.iter().any(is_bottleneck), "{:?} at {rate} has no bottleneck", flow.id);
    }
}

/// Rates by definition, where the plan can be carried out.
fn assert_by_definition(network: &Network, recipe: &Recipe) {
    let world = World::new(network.0.clone(), &network.1);
    let plan = recipe.plan(&world);
    match (fresh(&world, &plan), naive::rates(&world, plan.ranking())) {
        (Ok(found), Some(expected)) => assert_same(&found, &expected),
        (Err(PlanError::Overbooked { .. }), None) => {}
        (found, expected) => panic!("found {found:?}, expected {expected:?}"),
    }
}

/// Shares with single rates, and those that may come before or after them.
const BY_CHANGE: [Share<Clairvoyant>; 5] =
    [Share::MADD, Share::madd_within(3.0), Share::MATCHING, Share::MAX_MIN, Share::HOLD];

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
        let plan = plan_of(&[(Group::Everything, Share::MAX_MIN)]);
        let rates = fresh(&world, &plan).unwrap();
        assert_max_min(&world, &rates);
        assert_same(&rates, &naive::rates(&world, plan.ranking()).unwrap());
    }

    #[test]
    fn everything_by_size_divides_each_link_in_proportion(
        network in random::network(random::big_switch()),
    ) {
        let world = World::new(network.0, &network.1);
        let plan = plan_of(&[(Group::Everything, Share::BY_SIZE)]);
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
    fn matching_leaves_nothing_idle_and_passes_nobody_over(
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

/// In time leftovers fall into pieces so small that they are handed out anew.
#[test]
fn leftovers_of_many_coflows_equal_those_worked_out_whole() {
    const PORTS: u32 = 20;
    // Some numbers without order.
    let mut seed = 1_u32;
    let mut next = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % below
    };
    let mut some_flow = || flow(next(PORTS), next(PORTS), 1.0 + f64::from(next(1000)) / 500.0);
    let coflows: Vec<Vec<FlowSpec>> =
        (0..30).map(|_| (0..60).map(|_| some_flow()).collect()).collect();
    let mut world = World::new(Fabric::big_switch(PORTS, 1.0).unwrap(), &coflows);
    let entries: Vec<_> =
        world.state.present().iter().map(|&id| (Group::Coflow(id), Share::MADD)).collect();
    let mut plan = plan_of(&entries);
    plan.set_backfill(Backfill::Greedy);
    let (mut kept, mut running) = (Allocator::default(), naive::Running::default());
    for step in 0..400 {
        kept.allocate(&world.state, plan.ranking()).unwrap();
        let expected = naive::rates_after(&world, plan.ranking(), step == 0, &mut running).unwrap();
        let (flows, rates) = (world.flows(), world.rates(&kept));
        let differs = (0..flows.len()).find(|&f| (rates[f] - expected[f]).abs() > 1e-9);
        assert_eq!(differs, None, "after {step} ends");
        // Of those that run, one that is not the last of its coflow.
        let others = |f: usize| {
            flows.iter().any(|o| o.id.coflow == flows[f].id.coflow && o.id != flows[f].id)
        };
        let runs: Vec<_> = (0..flows.len()).filter(|&f| rates[f] > 0.0 && others(f)).collect();
        world.end(flows[runs[next(runs.len() as u32) as usize]].id, &mut kept);
    }
    assert!(running.crowded > 0, "never");
}

/// A plan by which nodes give coflows some of the `shares` of their links.
fn divided(world: &World, share: Share<Clairvoyant>, shares: &[f64]) -> Plan<Clairvoyant> {
    let mut plan = Plan::default();
    plan.set_layers(Layers::ByNode);
    let present = world.state.present();
    for (c, &coflow) in present.iter().enumerate() {
        plan.push(Group::Coflow(coflow), share);
        for link in 0..2 * world.state.fabric().ports() {
            let share = shares[(7 * c + link as usize) % shares.len()] / present.len() as f64;
            plan.give(coflow, LinkId(link), share);
        }
    }
    plan
}

/// Both orders of matching.
fn matchings() -> impl Strategy<Value = Share<Clairvoyant>> {
    prop_oneof![Just(Share::MATCHING), Just(Share::MATCHING_BY_LOAD)]
}

// Memory: rates do not depend on how one got there.

/// Something that happens between two plans; numbers are taken modulo what there is to choose from.
#[derive(Debug, Clone)]
enum Step {
    End(usize),
    Send(usize, f64),
    Arrive(Vec<FlowSpec>),
    Replan(Recipe),
    Everything(Share<Clairvoyant>),
}

fn steps(recipe: impl Strategy<Value = Recipe> + 'static) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => any::<usize>().prop_map(Step::End),
        2 => (any::<usize>(), 0.1..0.9).prop_map(|(k, share)| Step::Send(k, share)),
        1 => random::flows(1).prop_map(Step::Arrive),
        3 => recipe.prop_map(Step::Replan),
        1 => Just(Step::Everything(Share::MAX_MIN)),
        1 => Just(Step::Everything(Share::BY_SIZE)),
    ];
    proptest::collection::vec(step, 1..25)
}

/// A history as a driver makes it: the recipe in force is followed as coflows come and go.
struct History {
    world: World,
    kept: Allocator,
    recipe: Option<Recipe>,
    /// How all flows share where there is no recipe.
    together: Share<Clairvoyant>,
}

impl History {
    fn step(&mut self, step: &Step) {
        let History { world, kept, recipe, together } = self;
        match step {
            Step::End(k) | Step::Send(k, _) => {
                let flows = world.flows();
                let Some(flow) = flows.get(k % flows.len().max(1)) else { return };
                match step {
                    Step::Send(_, share) => world.send(flow.id, *share, kept),
                    _ => world.end(flow.id, kept),
                }
            }
            Step::Arrive(flows) => {
                let id = world.arrive(flows);
                kept.touch(id);
                for position in 0..flows.len() {
                    kept.adjust(&world.state, id, position, 1.0);
                }
            }
            Step::Replan(new) => *recipe = Some(new.clone()),
            Step::Everything(share) => {
                *recipe = None;
                *together = *share;
            }
        }
        if matches!(step, Step::Arrive(_) | Step::Replan(_) | Step::Everything(_)) {
            kept.replan();
        }
    }

    fn plan(&self) -> Plan<Clairvoyant> {
        match &self.recipe {
            Some(recipe) => recipe.plan(&self.world),
            None => plan_of(&[(Group::Everything, self.together)]),
        }
    }
}

proptest! {
    #![proptest_config(random::cases(1000))]

    #[test]
    fn rates_that_are_kept_equal_rates_from_scratch(
        network in random::network(random::big_switch()),
        steps in steps(
            random::recipe(prop_oneof![
                3 => random::whole(&random::FORGETFUL),
                1 => random::part(&random::FORGETFUL[..2]),
            ])
                .prop_map(|recipe| Recipe { backfill: Backfill::None, ..recipe })
        ),
    ) {
        let world = World::new(network.0, &network.1);
        let mut history = History { world, kept: Allocator::default(), recipe: None, together: Share::MAX_MIN };
        for step in &steps {
            history.step(step);
            let plan = history.plan();
            let fresh = fresh(&history.world, &plan);
            let kept = history.kept.allocate(&history.world.state, plan.ranking());
            match fresh {
                Ok(fresh) => {
                    prop_assert_eq!(kept, Ok(()));
                    assert_same(&history.world.rates(&history.kept), &fresh);
                }
                // Rates are undefined from here on.
                Err(error) => {
                    prop_assert_eq!(kept, Err(error));
                    return Ok(());
                }
            }
        }
    }

    #[test]
    fn rates_that_are_kept_where_nodes_divide_their_links_equal_rates_from_scratch(
        network in random::network(random::any_fabric()),
        mut shares in proptest::collection::vec(prop_oneof![2 => Just(0.0), 2 => 0.1..1.0], 64),
        share in proptest::sample::select(&[Share::MAX_MIN, Share::ALL_OR_NONE]),
        steps in proptest::collection::vec((any::<usize>(), proptest::option::of(0.0..1.0)), 1..25),
    ) {
        let mut world = World::new(network.0, &network.1);
        let mut kept = Allocator::default();
        for (k, divided_anew) in steps {
            let flows = world.flows();
            match (divided_anew, flows.get(k % flows.len().max(1))) {
                (Some(share), _) => {
                    let at = k % shares.len();
                    shares[at] = share;
                    kept.replan();
                }
                (None, Some(flow)) => world.end(flow.id, &mut kept),
                (None, None) => break,
            }
            let plan = divided(&world, share, &shares);
            kept.allocate(&world.state, plan.ranking()).unwrap();
            assert_same(&world.rates(&kept), &fresh(&world, &plan).unwrap());
        }
    }

    #[test]
    fn matching_and_backfill_that_are_kept_equal_those_worked_out_whole(
        network in random::network(random::any_fabric()),
        steps in steps(
            random::recipe(random::whole(&[
                Share::MADD, Share::MATCHING, Share::MAX_MIN, Share::HOLD,
            ]))
                .prop_map(|recipe| Recipe { weighted: false, ..recipe })
        ),
    ) {
        let world = World::new(network.0, &network.1);
        let first = Recipe { lines: Vec::new(), weighted: false, backfill: Backfill::Greedy };
        let mut history = History { world, kept: Allocator::default(), recipe: Some(first), together: Share::MAX_MIN };
        let mut running = naive::Running::default();
        let mut is_new = true;
        for step in steps.iter().filter(|step| !matches!(step, Step::Everything(_))) {
            let present = history.world.state.present().len();
            history.step(step);
            is_new |= matches!(step, Step::Replan(_)) || history.world.state.present().len() != present;
            let plan = history.plan();
            history.kept.allocate(&history.world.state, plan.ranking()).unwrap();
            let expected = naive::rates_after(&history.world, plan.ranking(), is_new, &mut running);
            is_new = false;
            assert_same(&history.world.rates(&history.kept), &expected.unwrap());
        }
    }

    /// Who goes by the changes alone knows all single rates, in order.
    #[test]
    fn changes_of_single_rates_lead_from_one_grant_to_the_next(
        network in random::network(random::any_fabric()),
        steps in steps(random::recipe(prop_oneof![
            3 => random::whole(&BY_CHANGE),
            1 => random::part(&random::FORGETFUL[..2]),
        ])),
    ) {
        let world = World::new(network.0, &network.1);
        let nobody_is_served = Recipe { lines: Vec::new(), weighted: false, backfill: Backfill::None };
        let mut history =
            History { world, kept: Allocator::default(), recipe: Some(nobody_is_served), together: Share::MAX_MIN };
        let mut known: BTreeMap<CoflowId, Vec<Single>> = BTreeMap::new();
        for step in steps.iter().filter(|step| !matches!(step, Step::Everything(_))) {
            history.step(step);
            if let Step::Arrive(_) = step {
                let newcomer = history.world.state.present().last().unwrap();
                known.remove(newcomer);
            }
            history.kept.allocate(&history.world.state, history.plan().ranking()).unwrap();
            for &id in history.kept.changed() {
                let grant = history.kept.grant(id);
                let known = known.entry(id).or_default();
                match grant.changes() {
                    None => *known = grant.singles().collect(),
                    Some(changes) => for change in changes {
                        let at = known.iter().position(|s| s.position == change.position);
                        match at {
                            Some(k) if change.rate > 0.0 => known[k] = change,
                            Some(k) => drop(known.remove(k)),
                            None => known.push(change),
                        }
                    }
                }
            }
            for &id in history.world.state.present() {
                let singles: Vec<Single> = history.kept.grant(id).singles().collect();
                prop_assert_eq!(known.get(&id).map_or(&[][..], Vec::as_slice), singles);
            }
        }
    }

    #[test]
    fn grants_not_listed_as_changed_have_not_changed(
        network in random::network(random::any_fabric()),
        steps in steps(random::recipe(random::whole(&[
            Share::MAX_MIN, Share::EQUAL, Share::MADD, Share::MATCHING,
            Share::MATCHING_BY_LOAD, Share::HOLD,
        ]))),
    ) {
        let world = World::new(network.0, &network.1);
        let nobody_is_served = Recipe { lines: Vec::new(), weighted: false, backfill: Backfill::None };
        let mut history =
            History { world, kept: Allocator::default(), recipe: Some(nobody_is_served), together: Share::MAX_MIN };
        let ids = history.world.flows().into_iter().map(|flow| flow.id);
        let mut before: Vec<(FlowId, f64)> = ids.map(|id| (id, 0.0)).collect();
        for step in steps.iter().filter(|step| !matches!(step, Step::Everything(_))) {
            history.step(step);
            history.kept.allocate(&history.world.state, history.plan().ranking()).unwrap();
            let ids = history.world.flows().into_iter().map(|flow| flow.id);
            let now: Vec<_> = ids.zip(history.world.rates(&history.kept)).collect();
            let arrived = matches!(step, Step::Arrive(_));
            for (flow, rate) in now.iter().filter(|_| !arrived) {
                if !history.kept.changed().contains(&flow.coflow) {
                    prop_assert!(before.contains(&(*flow, *rate)), "{:?} has now {}", flow, rate);
                }
            }
            before = now;
        }
    }

    #[test]
    fn the_use_of_a_link_is_the_sum_of_the_rates_on_it(
        network in random::network(random::any_fabric()),
        recipe in random::recipe(prop_oneof![random::whole(&random::ALL), random::part(&random::PARTIAL)]),
    ) {
        let world = World::new(network.0, &network.1);
        let mut allocator = Allocator::default();
        if allocator.allocate(&world.state, recipe.plan(&world).ranking()).is_ok() {
            let (flows, links) = (world.flows(), world.state.fabric().links());
            let by_flows = load(&flows, &world.rates(&allocator), links);
            let mut by_grants = vec![0.0; links];
            for &id in world.state.present() {
                let demand = world.state.coflow(id).demand();
                for (l, link) in demand.links().iter().enumerate() {
                    by_grants[link.index()] += allocator.grant(id).used(demand, l);
                }
                let mut uses = Vec::new();
                allocator.grant(id).uses(demand, &mut uses);
                let one_by_one = (0..uses.len()).map(|l| allocator.grant(id).used(demand, l));
                assert_same(&uses, &one_by_one.collect::<Vec<f64>>());
            }
            assert_same(&by_grants, &by_flows);
        }
    }

    #[test]
    fn matching_stays_maximal_and_in_order_through_a_history(
        network in random::network(random::any_fabric()),
        steps in steps(
            random::recipe(random::whole(&[Share::MATCHING, Share::MATCHING_BY_LOAD]))
                .prop_map(|recipe| Recipe { weighted: false, ..recipe })
        ),
    ) {
        let world = World::new(network.0, &network.1);
        let first = Recipe { lines: Vec::new(), weighted: false, backfill: Backfill::Greedy };
        let mut history = History { world, kept: Allocator::default(), recipe: Some(first), together: Share::MAX_MIN };
        for step in steps.iter().filter(|step| !matches!(step, Step::Everything(_))) {
            history.step(step);
            let plan = history.plan();
            history.kept.allocate(&history.world.state, plan.ranking()).unwrap();
            let rates = history.world.rates(&history.kept);
            assert_maximal_in_order(&history.world, &plan, &rates);
        }
    }

    #[test]
    fn under_matching_a_running_flow_is_not_interrupted_for_another_of_its_coflow(
        ports in 1..6_u32,
        flows in (1..6_u32).prop_flat_map(random::flows),
        ends in proptest::collection::vec(any::<usize>(), 1..8),
        share in matchings(),
    ) {
        let ports = flows.iter().map(|f| f.src.0.max(f.dst.0) + 1).max().unwrap().max(ports);
        let mut world = World::new(Fabric::big_switch(ports, 1.0).unwrap(), &[flows]);
        let mut kept = Allocator::default();
        let plan = plan_of(&[(Group::Coflow(A), share)]);
        kept.allocate(&world.state, plan.ranking()).unwrap();
        for end in ends {
            let rates = world.rates(&kept);
            let flows = world.flows();
            let running = |f: &usize| rates[*f] > 0.0;
            let mut running: Vec<FlowId> =
                (0..flows.len()).filter(running).map(|f| flows[f].id).collect();
            let ended = running.remove(end % running.len());
            world.end(ended, &mut kept);
            if !world.state.is_present(A) {
                break;
            }
            kept.allocate(&world.state, plan.ranking()).unwrap();
            let grant = kept.grant(A);
            for flow in running {
                let rate = grant.rate(world.state.coflow(A), world.position(flow));
                prop_assert_eq!(rate, 1.0, "{:?} was interrupted", flow);
            }
        }
    }
}
