//! Classes against progressive filling of each class in turn, through histories of arrivals, ends
//! and changes of the plan.

use covey_core::{Rank, Time};

use super::*;

/// What happens between two plans. Numbers are taken modulo the number of choices.
#[derive(Debug, Clone)]
enum Step {
    End(usize),
    Arrive(Vec<FlowSpec>, u32),
    /// A coflow, the flows of a coflow at one link, or one flow gets an entry in a class, or
    /// another one.
    Move(usize, Part, u32),
    /// The entry is removed.
    Drop(usize, Part),
    /// Nothing that was found out about a coflow holds any more.
    Forget(usize),
    /// The plan counts as written again.
    Rewrite,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Whole,
    At(usize),
    Flow(usize),
}

fn parts() -> impl Strategy<Value = Part> {
    prop_oneof![
        3 => Just(Part::Whole),
        2 => any::<usize>().prop_map(Part::At),
        1 => any::<usize>().prop_map(Part::Flow),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => any::<usize>().prop_map(Step::End),
        4 => (random::flows(1), 0..4_u32).prop_map(|(flows, class)| Step::Arrive(flows, class)),
        6 => (any::<usize>(), parts(), 0..4_u32)
            .prop_map(|(k, part, class)| Step::Move(k, part, class)),
        2 => (any::<usize>(), parts()).prop_map(|(k, part)| Step::Drop(k, part)),
        1 => any::<usize>().prop_map(Step::Forget),
        1 => Just(Step::Rewrite),
    ];
    proptest::collection::vec(step, 1..60)
}

struct Classes {
    world: World,
    allocator: Allocator,
    plan: Plan<Clairvoyant>,
    standing: Vec<(Group, Rank)>,
    arrivals: u64,
}

impl Classes {
    fn new(fabric: Fabric, coflows: &[Vec<FlowSpec>]) -> Classes {
        let mut plan = Plan::default();
        plan.set_layers(Layers::Classes);
        let world = World::new(fabric, coflows);
        let (allocator, standing) = (Allocator::default(), Vec::new());
        Classes { world, allocator, plan, standing, arrivals: 0 }
    }

    fn put(&mut self, group: Group, class: u32) {
        self.drop(group);
        self.arrivals += 1;
        let rank = Rank::new(class, 0.0, (Time::ZERO, self.arrivals));
        self.plan.insert(rank, group, Share::MAX_MIN);
        self.standing.push((group, rank));
    }

    fn drop(&mut self, group: Group) {
        if let Some(k) = self.standing.iter().position(|(other, _)| *other == group) {
            let (_, rank) = self.standing.swap_remove(k);
            self.plan.remove(rank);
        }
    }

    fn group(&self, k: usize, part: Part) -> Option<Group> {
        let present = self.world.state.present();
        let id = *present.get(k % present.len().max(1))?;
        let demand = self.world.state.coflow(id).demand();
        Some(match part {
            Part::Whole => Group::Coflow(id),
            Part::At(l) => Group::CoflowAt(id, demand.links()[l % demand.links().len()]),
            Part::Flow(f) => Group::Flow(FlowId { coflow: id, index: (f % demand.width()) as u32 }),
        })
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::End(k) => {
                let flows = self.world.flows();
                let Some(flow) = flows.get(k % flows.len().max(1)) else { return };
                let id = flow.id.coflow;
                self.world.end(flow.id, &mut self.allocator);
                if !self.world.state.is_present(id) {
                    let is_of_it = |group: &Group| match group {
                        Group::Coflow(of) | Group::CoflowAt(of, _) => *of == id,
                        Group::Flow(flow) => flow.coflow == id,
                        Group::AllFlows => false,
                    };
                    let groups = self.standing.iter().map(|(group, _)| *group).filter(is_of_it);
                    for group in groups.collect::<Vec<_>>() {
                        self.drop(group);
                    }
                }
            }
            Step::Arrive(flows, class) => {
                let id = self.world.arrive(flows);
                for position in 0..flows.len() {
                    self.allocator.adjust(&self.world.state, id, position, 1.0);
                }
                self.put(Group::Coflow(id), *class);
            }
            Step::Move(k, part, class) => {
                if let Some(group) = self.group(*k, *part) {
                    self.put(group, *class);
                }
            }
            Step::Drop(k, part) => {
                if let Some(group) = self.group(*k, *part) {
                    self.drop(group);
                }
            }
            Step::Forget(k) => {
                let present = self.world.state.present();
                if let Some(id) = present.get(k % present.len().max(1)) {
                    self.allocator.forget(&self.world.state, *id);
                }
            }
            Step::Rewrite => {
                // What is set last is what was set before.
                self.plan.set_layers(Layers::Strict);
                self.plan.set_layers(Layers::Classes);
            }
        }
    }

    fn check(&mut self) {
        self.allocator.read_edits(&mut self.plan);
        self.allocator.allocate(&self.world.state, self.plan.ranking()).unwrap();
        let expected = naive::rates(&self.world, self.plan.ranking()).unwrap();
        assert_same(&self.world.rates(&self.allocator), &expected);
    }
}

proptest! {
    #![proptest_config(random::cases(2000))]

    #[test]
    fn classes_share_as_one_after_the_other_filled_slowly(
        // The allocator keeps no tables for fabrics with many links.
        network in prop_oneof![
            3 => random::network(random::any_fabric()),
            1 => random::network(random::with_inner_links_and_unused(2000)),
        ],
        classes in proptest::collection::vec(0..4_u32, 1..8),
        steps in steps(),
    ) {
        let mut them = Classes::new(network.0, &network.1);
        for (k, id) in them.world.state.present().to_vec().into_iter().enumerate() {
            them.put(Group::Coflow(id), classes[k % classes.len()]);
        }
        them.check();
        for step in &steps {
            them.step(step);
            them.check();
        }
    }

    #[test]
    fn all_flows_on_inner_links_share_as_filled_slowly(
        network in random::network(random::with_inner_links()),
        ends in proptest::collection::vec(any::<usize>(), 0..30),
    ) {
        let mut world = World::new(network.0, &network.1);
        let mut allocator = Allocator::default();
        let plan = plan_of(&[(Group::AllFlows, Share::MAX_MIN)]);
        for end in ends {
            allocator.allocate(&world.state, plan.ranking()).unwrap();
            assert_same(&world.rates(&allocator), &naive::rates(&world, plan.ranking()).unwrap());
            let flows = world.flows();
            let Some(flow) = flows.get(end % flows.len().max(1)) else { return Ok(()) };
            world.end(flow.id, &mut allocator);
        }
    }
}

/// Three links of 1 in a row; a long flow crosses all of them, and a short one each.
fn parking_lot(class_of_short: u32) -> Vec<f64> {
    let routes = [(PortId(0), PortId(1), vec![0, 1, 2])];
    let short = (0..3).map(|l| (PortId(2 + l), PortId(2 + l), vec![l]));
    let routes = Routes::new(3, routes.into_iter().chain(short)).unwrap();
    let fabric = Fabric::new(&[10.0; 5], &[10.0; 5], &[1.0; 3], routes).unwrap();
    let short = (2..5).map(|port| flow(port, port, 1.0)).collect();
    let mut them = Classes::new(fabric, &[vec![flow(0, 1, 1.0)], short]);
    them.put(Group::Coflow(CoflowId(0)), 1);
    them.put(Group::Coflow(CoflowId(1)), class_of_short);
    them.check();
    them.world.rates(&them.allocator)
}

#[test]
fn a_long_flow_gets_half_of_a_parking_lot_and_nothing_behind_a_class_that_fills_it() {
    assert_same(&parking_lot(1), &[0.5; 4]);
    assert_eq!(parking_lot(0), [0.0, 1.0, 1.0, 1.0]);
}
