//! Plans with rates computed by hand, and invalid plans.

use super::*;

/// KA4: with C1 first, MADD leaves 2/3 of a port, and greedy filling leaves all of it.
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

/// The end of a flow changes only the levels that depend on it; the allocation lists them.
#[test]
fn max_min_levels_go_on_from_the_previous_ones() {
    let coflow: Vec<_> = (0..2).flat_map(|s| (0..3).map(move |r| flow(s, r, 1.0))).collect();
    // Only the last receiver, which is slow, limits flows.
    let fabric = Fabric::big_switch_with(&[1.0, 1.0, 1.0], &[5.0, 5.0, 0.2]).unwrap();
    let mut world = World::new(fabric, &[coflow]);
    let plan = plan_of(&[(Group::Coflow(A), Share::MAX_MIN)]);
    let mut kept = Allocator::default();
    kept.allocate(&world.state, plan.ranking()).unwrap();
    assert_eq!(kept.allocation(A).water_level_changes(), None);
    assert_same(&world.rates(&kept), &[0.45, 0.45, 0.1, 0.45, 0.45, 0.1]);
    let mut end = |index, rates: &[f64]| {
        world.end(FlowId { coflow: A, index }, &mut kept);
        kept.allocate(&world.state, plan.ranking()).unwrap();
        assert_same(&world.rates(&kept), rates);
        let changes = kept.allocation(A).water_level_changes().map(BTreeSet::from_iter);
        changes.map(|changes: BTreeSet<&u32>| changes.into_iter().copied().collect::<Vec<_>>())
    };
    // The first sender has one flow less.
    assert_eq!(end(0, &[0.9, 0.1, 0.45, 0.45, 0.1]), Some(vec![0]));
    // The slow receiver's other flow gets twice as much, and its sender has less for the others.
    assert_eq!(end(2, &[1.0, 0.4, 0.4, 0.2]), Some(vec![0, 1, 4]));
    // The first sender has no flows any more.
    assert_eq!(end(1, &[0.4, 0.4, 0.2]), Some(vec![0]));
    assert_eq!(end(3, &[0.8, 0.2]), Some(vec![1]));
    // The slow receiver has no flows either, so the last flow gets its sender's whole capacity.
    assert_eq!(end(5, &[1.0]), Some(vec![1, 4]));
}

/// A flow gets the smaller of the shares of its two ports. The rest of the larger share is free for
/// all flows.
#[test]
fn both_ends_decide_where_nodes_divide_their_links() {
    let coflows = [vec![flow(0, 0, 1.0), flow(1, 1, 1.0)], vec![flow(0, 0, 1.0), flow(1, 2, 1.0)]];
    let world = World::new(Fabric::big_switch(3, 1.0).unwrap(), &coflows);
    let mut plan =
        plan_of(&[(Group::Coflow(A), Share::MAX_MIN), (Group::Coflow(B), Share::MAX_MIN)]);
    plan.set_layers(Layers::PerPort);
    // Port 0 prefers A on its way out and B on its way in; port 1 gives B three quarters.
    plan.set_link_share(A, LinkId(0), 1.0);
    plan.set_link_share(B, LinkId(3), 1.0);
    // A quarter, in two shares.
    plan.set_link_share(A, LinkId(1), 0.125);
    plan.set_link_share(A, LinkId(1), 0.125);
    plan.set_link_share(B, LinkId(1), 0.75);
    plan.set_link_share(A, LinkId(4), 1.0);
    plan.set_link_share(B, LinkId(5), 1.0);
    // A is first in the plan, so it takes the unused capacity.
    assert_same(&fresh(&world, &plan).unwrap(), &[1.0, 0.25, 0.0, 0.75]);
    plan.set_link_share(B, LinkId(0), 0.5);
    let too_much = PlanError::LinkShare { link: LinkId(0), share: 1.5 };
    assert_eq!(fresh(&world, &plan), Err(too_much));
}

/// Saath, 3: a coflow that finds one of its links full sends nothing, and the next coflow sends.
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

/// Backfill goes to coflows that all-or-none has skipped, and not to those that it has served.
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
    // A shares its rates and the spare capacity max-min fairly, and leaves nothing of receiver 2.
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
fn unused_capacity_of_a_weighted_layer_goes_down_and_by_backfill_up() {
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
    // In reverse order, A finds the rest that C leaves of receiver 0, but B's part of sender 0 is
    // kept back.
    let mut plan = Plan::default();
    plan.set_layers(Layers::Weighted);
    for (weight, coflow) in [(1.0, 0), (3.0, 1), (1.0, 2)] {
        plan.open_layer(weight);
        plan.push(Group::Coflow(CoflowId(coflow)), Share::MAX_MIN);
    }
    assert_same(&fresh(&world, &plan).unwrap(), &[0.25, 0.75, 0.75]);
}

#[test]
fn backfill_does_not_change_explicit_rates_and_held_flows() {
    let coflows = [vec![flow(0, 0, 1.0)], vec![flow(1, 1, 1.0)]];
    let world = World::new(Fabric::big_switch(2, 1.0).unwrap(), &coflows);
    let mut plan =
        plan_of(&[(Group::Coflow(A), Share::HOLD), (Group::Coflow(B), Share::rate(0.25))]);
    plan.set_backfill(Backfill::Greedy);
    assert_same(&fresh(&world, &plan).unwrap(), &[0.0, 0.25]);
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

// Invalid plans.

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
fn invalid_plans_are_errors() {
    let coflows = [vec![flow(0, 0, 1.0)], vec![flow(0, 0, 1.0)]];
    let whole = |id| (Group::Coflow(id), Share::MAX_MIN);
    let of = |entries: &[_]| on_unit_switch(1, &coflows, entries).map(|_| ());
    assert_eq!(of(&[whole(A), whole(B), whole(A)]), Err(PlanError::Twice(A)));
    assert_eq!(of(&[whole(CoflowId(2))]), Err(PlanError::Absent(CoflowId(2))));
    let beyond = Group::Flow(FlowId { coflow: A, index: 1 });
    assert_eq!(of(&[(beyond, Share::MAX_MIN)]), Err(PlanError::Absent(A)));
    let first = Group::Flow(FlowId { coflow: A, index: 0 });
    assert_eq!(of(&[(first, Share::MADD)]), Err(PlanError::BytesLeftOfAPart));
    let part = Group::CoflowAt(A, LinkId(0));
    assert_eq!(of(&[(part, Share::MADD)]), Err(PlanError::BytesLeftOfAPart));
    let everything = (Group::AllFlows, Share::MAX_MIN);
    assert_eq!(of(&[everything]), Ok(()));
    assert_eq!(of(&[everything, whole(A)]), Err(PlanError::AllFlows));
    assert_eq!(of(&[whole(A), everything]), Err(PlanError::AllFlows));
    assert_eq!(of(&[(Group::AllFlows, Share::EQUAL)]), Err(PlanError::AllFlows));
    assert_eq!(of(&[(Group::AllFlows, Share::BY_SIZE)]), Ok(()));
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
fn shares_by_size_divide_inner_links_too() {
    // Both flows cross the inner link; the larger one also enters port 3, whose link is slow.
    let ways = [(PortId(0), PortId(2), vec![0]), (PortId(1), PortId(3), vec![0])];
    let routes = Routes::new(1, ways).unwrap();
    let fabric = Fabric::new(&[1.0; 4], &[1.0, 1.0, 1.0, 0.5], &[1.0], routes).unwrap();
    let world = World::new(fabric, &[vec![flow(0, 2, 1.0), flow(1, 3, 3.0)]]);
    let plan = plan_of(&[(Group::AllFlows, Share::BY_SIZE)]);
    // What the larger one cannot use of the inner link is left idle.
    assert_eq!(fresh(&world, &plan), Ok(vec![0.25, 0.5]));
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
