//! Rates do not depend on earlier rounds: an allocator that keeps state is compared with a new one.

use super::*;

/// Pseudo-random numbers below a bound.
fn numbers() -> impl FnMut(u32) -> u32 {
    let mut seed = 1_u32;
    move |below| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % below
    }
}

#[test]
fn backfill_of_many_coflows_equals_a_whole_pass() {
    const PORTS: u32 = 20;
    let mut next = numbers();
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
        let expected = naive::rates_after(&world, plan.ranking(), &mut running).unwrap();
        let (flows, rates) = (world.flows(), world.rates(&kept));
        let differs = (0..flows.len()).find(|&f| (rates[f] - expected[f]).abs() > 1e-9);
        assert_eq!(differs, None, "after {step} ends");
        // A running flow that is not the last one of its coflow.
        let others = |f: usize| {
            flows.iter().any(|o| o.id.coflow == flows[f].id.coflow && o.id != flows[f].id)
        };
        let runs: Vec<_> = (0..flows.len()).filter(|&f| rates[f] > 0.0 && others(f)).collect();
        world.end(flows[runs[next(runs.len() as u32) as usize]].id, &mut kept);
    }
}

/// Shuffles wide enough for changes to run through many links, and links of many capacities.
#[test]
fn levels_of_wide_shuffles_equal_those_from_scratch() {
    const PORTS: u32 = 16;
    let mut next = numbers();
    let capacities: Vec<f64> = (0..2 * PORTS).map(|_| 0.5 + f64::from(next(8)) / 4.0).collect();
    let (egress, ingress) = capacities.split_at(PORTS as usize);
    let fabric = Fabric::big_switch_with(egress, ingress).unwrap();
    let coflows: Vec<Vec<FlowSpec>> = (0..5)
        .map(|k| {
            let (senders, receivers) = (6 + next(10), 6 + next(10));
            let pairs = (0..senders).flat_map(|s| (0..receivers).map(move |r| (s, r)));
            pairs.map(|(s, r)| flow((s + k) % PORTS, (r + 3 * k) % PORTS, 1.0)).collect()
        })
        .collect();
    let mut world = World::new(fabric, &coflows);
    let entries: Vec<_> =
        world.state.present().iter().map(|&id| (Group::Coflow(id), Share::MAX_MIN)).collect();
    let plan = plan_of(&entries);
    let mut kept = Allocator::default();
    let (mut went_on, mut moved) = (0, 0);
    loop {
        kept.allocate(&world.state, plan.ranking()).unwrap();
        assert_same(&world.rates(&kept), &fresh(&world, &plan).unwrap());
        for &id in kept.changed() {
            let changes = kept.allocation(id).water_level_changes().unwrap_or_default();
            went_on += changes.len();
            moved += kept.allocation(id).moved_flows().len();
        }
        // All coflows stay present, so that the plan stays in force.
        let flows = world.flows();
        let others = |id| flows.iter().filter(|flow| flow.id.coflow == id).count() > 1;
        let may_end: Vec<_> = flows.iter().filter(|flow| others(flow.id.coflow)).collect();
        if may_end.is_empty() {
            break;
        }
        world.end(may_end[next(may_end.len() as u32) as usize].id, &mut kept);
    }
    assert!(went_on > 1000 && moved > 100, "{went_on} and {moved}");
}

/// Coflows that cross all of 64 neighbouring links again and again, whose amounts are worked out at
/// once; one of them has its senders in another order.
#[test]
fn rates_of_wide_coflows_on_a_fat_tree_equal_those_from_scratch() {
    let mut next = numbers();
    let ecmp = Ecmp { mode: EcmpMode::Flow, seed: 1 };
    let fabric = FatTree::new(8, ecmp).unwrap().fabric(1.0, 1.0).unwrap();
    let wide = |senders: &[u32], flows_each: u32| {
        let pairs = (0..flows_each).flat_map(|k| senders.iter().map(move |&s| (s, s + 37 * k)));
        pairs.map(|(s, r)| flow(s, r % 128, 1.0)).collect::<Vec<_>>()
    };
    let (all, mut mixed): (Vec<u32>, Vec<u32>) = ((0..128).collect(), (0..128).rev().collect());
    mixed.swap(7, 90);
    let coflows = [wide(&all, 20), wide(&mixed, 6), wide(&all[..70], 8), wide(&all, 6)];
    let shares = [0.0, 0.2, 0.9, 0.5, 0.7];
    for kind in 0..4 {
        let mut world = World::new(fabric.clone(), &coflows);
        let mut kept = Allocator::default();
        for step in 0..40 {
            let mut plan = Plan::default();
            match kind {
                0 => {}
                1 => plan.set_backfill(Backfill::Greedy),
                2 => plan = divided(&world, Share::MAX_MIN, &shares),
                _ => plan.set_layers(Layers::Weighted),
            }
            for (k, &id) in world.state.present().iter().enumerate().filter(|_| kind != 2) {
                if kind == 3 && k % 2 == 0 {
                    plan.open_layer(1.0 + k as f64);
                }
                plan.push(Group::Coflow(id), Share::MAX_MIN);
            }
            kept.allocate(&world.state, plan.ranking()).unwrap();
            assert_same(&world.rates(&kept), &fresh(&world, &plan).unwrap());
            let flows = world.flows();
            assert!(flows.len() > 2000, "step {step}");
            for _ in 0..1 + step % 3 {
                world.end(flows[next(flows.len() as u32) as usize].id, &mut kept);
            }
        }
    }
}

/// Flows of wide coflows on paths with inner links: few can run, and most wait at a full link.
/// Links are looked up 64 at a time. Each coflow ends whole at some time, and another takes its
/// place.
#[test]
fn matching_of_wide_coflows_on_a_fat_tree_equals_that_of_the_definition() {
    let mut next = numbers();
    // The definition does not know the numbers of flows.
    let ecmp = Ecmp { mode: EcmpMode::Pair, seed: 1 };
    let fabric = FatTree::new(8, ecmp).unwrap().fabric(1.0, 1.0).unwrap();
    let mut wide = |senders: u32, flows_each: u32| {
        let pairs = (0..flows_each).flat_map(|k| (0..senders).map(move |s| (s, s + 37 * k)));
        pairs.map(|(s, r)| flow((s + next(2)) % 128, r % 128, 1.0)).collect::<Vec<_>>()
    };
    let coflows = [wide(128, 6), wide(90, 4), wide(128, 3)];
    let newcomers = [wide(128, 4), wide(70, 5)];
    let mut next = numbers();
    let kinds: [(Share<Clairvoyant>, Backfill); 3] = [
        (Share::MATCHING, Backfill::None),
        (Share::MATCHING_BY_LOAD, Backfill::None),
        (Share::ALL_OR_NONE, Backfill::Skipped),
    ];
    for (share, backfill) in kinds {
        let mut world = World::new(fabric.clone(), &coflows);
        let (mut kept, mut running) = (Allocator::default(), naive::Running::default());
        let mut newcomers = newcomers.iter();
        let mut looked_up = 0;
        for step in 0..60 {
            let mut plan = Plan::default();
            plan.set_backfill(backfill);
            world.state.present().iter().for_each(|&id| plan.push(Group::Coflow(id), share));
            kept.allocate(&world.state, plan.ranking()).unwrap();
            let rates = world.rates(&kept);
            if share == Share::MATCHING_BY_LOAD {
                // Which flows ran before matters, and the definition does not tell how.
                assert_maximal_in_order(&world, &plan, &rates);
            } else {
                let expected = naive::rates_after(&world, plan.ranking(), &mut running).unwrap();
                let differs = (0..rates.len()).find(|&f| (rates[f] - expected[f]).abs() > 1e-9);
                assert_eq!(differs, None, "{share:?} after {step} steps");
            }
            let flows = world.flows();
            looked_up += rates.iter().filter(|rate| **rate == 0.0).count();
            let runs: Vec<usize> = (0..flows.len()).filter(|&f| rates[f] > 0.0).collect();
            let mut ending: Vec<FlowId> = (0..1 + step % 3)
                .map(|_| flows[runs[next(runs.len() as u32) as usize]].id)
                .collect();
            match step % 20 {
                18 => {
                    let first = world.state.present()[0];
                    ending = flows.iter().map(|flow| flow.id).collect();
                    ending.retain(|flow| flow.coflow == first);
                }
                19 => newcomers.next().into_iter().for_each(|flows| _ = world.arrive(flows)),
                _ => {}
            }
            ending.sort_unstable();
            ending.dedup();
            ending.into_iter().for_each(|flow| world.end(flow, &mut kept));
            if step % 20 >= 18 {
                replan(&mut kept);
            }
        }
        assert!(looked_up > 10_000, "{looked_up}");
    }
}

/// An event between two plans. Numbers are taken modulo the number of choices.
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

/// A history as a driver makes it: the recipe in force holds while coflows arrive and end.
struct History {
    world: World,
    kept: Allocator,
    recipe: Option<Recipe>,
    /// The share of all flows if there is no recipe.
    together: Share<Clairvoyant>,
}

/// Notifies an allocator that the plan is another one.
fn replan(kept: &mut Allocator) {
    let mut plan = Plan::<Clairvoyant>::default();
    plan.clear();
    kept.read_edits(&mut plan);
}

impl History {
    /// No coflow is served before the first recipe.
    fn start((fabric, coflows): Network) -> History {
        let empty = Recipe { entries: Vec::new(), weighted: false, backfill: Backfill::None };
        History {
            world: World::new(fabric, &coflows),
            kept: Allocator::default(),
            recipe: Some(empty),
            together: Share::MAX_MIN,
        }
    }

    /// Makes a step and allocates again. Returns the coflow that has arrived, if any.
    fn share_after(&mut self, step: &Step) -> Option<CoflowId> {
        self.step(step);
        let plan = self.plan();
        self.kept.allocate(&self.world.state, plan.ranking()).unwrap();
        let newcomer = self.world.state.present().last().copied();
        newcomer.filter(|_| matches!(step, Step::Arrive(_)))
    }

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
            replan(kept);
        }
    }

    fn plan(&self) -> Plan<Clairvoyant> {
        match &self.recipe {
            Some(recipe) => recipe.plan(&self.world),
            None => plan_of(&[(Group::AllFlows, self.together)]),
        }
    }
}

proptest! {
    #![proptest_config(random::cases(1000))]

    #[test]
    fn kept_rates_equal_rates_from_scratch(
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
    fn kept_rates_with_link_shares_equal_rates_from_scratch(
        network in random::network(random::any_fabric()),
        mut shares in proptest::collection::vec(prop_oneof![2 => Just(0.0), 2 => 0.1..1.0], 64),
        share in proptest::sample::select(&[Share::MAX_MIN, Share::ALL_OR_NONE, Share::MADD]),
        steps in proptest::collection::vec((any::<usize>(), proptest::option::of(0.0..1.0)), 1..25),
    ) {
        let mut world = World::new(network.0, &network.1);
        let mut kept = Allocator::default();
        for (k, new_share) in steps {
            let flows = world.flows();
            match (new_share, flows.get(k % flows.len().max(1))) {
                (Some(share), _) => {
                    let at = k % shares.len();
                    shares[at] = share;
                    replan(&mut kept);
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
    fn kept_matching_and_backfill_equal_a_whole_pass(
        network in random::network(random::any_fabric()),
        steps in steps(
            random::recipe(random::whole(&[
                Share::MADD, Share::PROPORTIONAL, Share::MATCHING, Share::MAX_MIN,
                Share::ALL_OR_NONE, Share::HOLD,
            ]))
                .prop_map(|recipe| Recipe { weighted: false, ..recipe })
        ),
    ) {
        let world = World::new(network.0, &network.1);
        let first = Recipe { entries: Vec::new(), weighted: false, backfill: Backfill::Greedy };
        let mut history = History { world, kept: Allocator::default(), recipe: Some(first), together: Share::MAX_MIN };
        let mut running = naive::Running::default();
        for step in steps.iter().filter(|step| !matches!(step, Step::Everything(_))) {
            history.step(step);
            let plan = history.plan();
            history.kept.allocate(&history.world.state, plan.ranking()).unwrap();
            let expected = naive::rates_after(&history.world, plan.ranking(), &mut running);
            assert_same(&history.world.rates(&history.kept), &expected.unwrap());
        }
    }

    /// The changes alone determine all levels, and the link that limits each flow.
    #[test]
    fn changes_of_levels_lead_from_one_allocation_to_the_next(
        network in random::network(random::big_switch()),
        steps in steps(random::recipe(random::whole(&[
            Share::MAX_MIN, Share::MAX_MIN, Share::MAX_MIN, Share::MATCHING, Share::HOLD,
        ]))),
    ) {
        let mut history = History::start(network);
        let mut known: BTreeMap<CoflowId, (Vec<f64>, Vec<usize>)> = BTreeMap::new();
        for step in steps.iter().filter(|step| !matches!(step, Step::Everything(_))) {
            if let Some(newcomer) = history.share_after(step) {
                known.remove(&newcomer);
            }
            for &id in history.kept.changed() {
                let allocation = history.kept.allocation(id);
                let (levels, limits) = known.entry(id).or_default();
                let demand = history.world.state.coflow(id).demand();
                match allocation.water_level_changes() {
                    None => {
                        *levels = allocation.water_levels().to_vec();
                        let limit = |p| if demand.is_active(p) { allocation.limit(demand, p) } else { 0 };
                        *limits = (0..demand.width()).map(limit).collect();
                    }
                    Some(changes) => {
                        for l in changes.iter().map(|&l| l as usize) {
                            levels[l] = allocation.water_levels()[l];
                        }
                        for p in allocation.moved_flows().iter().map(|&p| p as usize) {
                            limits[p] = allocation.limit(demand, p);
                        }
                    }
                }
                prop_assert_eq!(&*levels, allocation.water_levels());
                if levels.is_empty() {
                    continue;
                }
                for p in demand.active() {
                    let limit = allocation.limit(demand, p);
                    prop_assert_eq!(limits[p], limit);
                    let least = demand.path(p).map(|l| levels[l]).fold(f64::INFINITY, f64::min);
                    prop_assert!(levels[limit] <= least * (1.0 + 1e-12));
                }
            }
        }
    }

    #[test]
    fn allocations_not_listed_as_changed_have_not_changed(
        network in random::network(random::any_fabric()),
        steps in steps(random::recipe(random::whole(&[
            Share::MAX_MIN, Share::EQUAL, Share::MADD, Share::MATCHING,
            Share::MATCHING_BY_LOAD, Share::HOLD,
        ]))),
    ) {
        let mut history = History::start(network);
        let ids = history.world.flows().into_iter().map(|flow| flow.id);
        let mut before: Vec<(FlowId, f64)> = ids.map(|id| (id, 0.0)).collect();
        for step in steps.iter().filter(|step| !matches!(step, Step::Everything(_))) {
            let arrived = history.share_after(step).is_some();
            let ids = history.world.flows().into_iter().map(|flow| flow.id);
            let now: Vec<_> = ids.zip(history.world.rates(&history.kept)).collect();
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
            let mut by_allocations = vec![0.0; links];
            for &id in world.state.present() {
                let demand = world.state.coflow(id).demand();
                for (l, link) in demand.links().iter().enumerate() {
                    by_allocations[link.index()] += allocator.allocation(id).used(l);
                }
                let mut uses = Vec::new();
                allocator.allocation(id).link_rates(demand, &mut uses);
                let one_by_one = (0..uses.len()).map(|l| allocator.allocation(id).used(l));
                assert_same(&uses, &one_by_one.collect::<Vec<f64>>());
            }
            assert_same(&by_allocations, &by_flows);
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
        let first = Recipe { entries: Vec::new(), weighted: false, backfill: Backfill::Greedy };
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
            let allocation = kept.allocation(A);
            for flow in running {
                let rate = allocation.rate(world.state.coflow(A), world.position(flow));
                prop_assert_eq!(rate, 1.0, "{:?} was interrupted", flow);
            }
        }
    }
}

/// A coflow is served at a link first and whole later. Before, its only entry was whole and got no
/// rate.
#[test]
fn an_idle_coflow_is_named_at_a_link_too() {
    let fabric = Fabric::big_switch(1, 1.0).unwrap();
    let one = vec![flow(0, 0, 1.0)];
    let two = vec![flow(0, 0, 1.0); 2];
    let mut world = World::new(fabric, &[two, one.clone(), one.clone()]);
    let mut kept = Allocator::default();
    let check = |world: &World, kept: &mut Allocator, plan: &Plan<Clairvoyant>| {
        kept.allocate(&world.state, plan.ranking()).unwrap();
        assert_same(&world.rates(kept), &fresh(world, plan).unwrap());
    };
    let at = |id| (Group::CoflowAt(id, LinkId(0)), Share::MAX_MIN);
    let whole = |id| (Group::Coflow(id), Share::MAX_MIN);
    let first = plan_of(&[at(B), whole(A)]);
    replan(&mut kept);
    check(&world, &mut kept, &first);
    world.end(FlowId { coflow: A, index: 0 }, &mut kept);
    check(&world, &mut kept, &first);
    replan(&mut kept);
    check(&world, &mut kept, &plan_of(&[at(A), whole(A)]));
    world.end(FlowId { coflow: B, index: 0 }, &mut kept);
    check(&world, &mut kept, &plan_of(&[at(CoflowId(2)), whole(A)]));
}
