//! A kept plan that is changed in place leads to the same rates as a new plan with the same
//! entries.

use covey_core::{Rank, Time};

use super::*;

/// Rules whose rates do not depend on which flows ran before, not even with backfill.
const FORGETFUL: [Share<Clairvoyant>; 5] =
    [Share::MAX_MIN, Share::EQUAL, Share::MADD, Share::PROPORTIONAL, Share::HOLD];

/// An event between two plans. Numbers are taken modulo the number of choices.
#[derive(Debug, Clone)]
enum Step {
    End(usize),
    Arrive(Vec<FlowSpec>, Stand),
    /// A coflow gets another rank, or another rule.
    Move(usize, Stand),
    /// A flow has an entry of its own.
    Single(usize, Stand),
    /// Two coflows exchange their ranks.
    Swap(usize, usize),
    /// The entry of a coflow is removed.
    Drop(usize),
    /// The kept findings about a coflow are no longer valid.
    Forget(usize),
}

/// The rank of an entry, and its rule.
#[derive(Debug, Clone, Copy)]
struct Stand {
    layer: u32,
    key: u32,
    share: Share<Clairvoyant>,
}

fn stands(shares: &'static [Share<Clairvoyant>]) -> impl Strategy<Value = Stand> {
    let share = proptest::sample::select(shares);
    (0..3_u32, 0..6_u32, share).prop_map(|(layer, key, share)| Stand { layer, key, share })
}

fn steps(singles: u32) -> impl Strategy<Value = Vec<Step>> {
    let stand = || stands(&FORGETFUL);
    let step = prop_oneof![
        8 => any::<usize>().prop_map(Step::End),
        3 => (random::flows(1), stand()).prop_map(|(flows, stand)| Step::Arrive(flows, stand)),
        3 => (any::<usize>(), stand()).prop_map(|(k, stand)| Step::Move(k, stand)),
        singles => (any::<usize>(), stands(&FORGETFUL[..2]))
            .prop_map(|(k, stand)| Step::Single(k, stand)),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Step::Swap(a, b)),
        1 => any::<usize>().prop_map(Step::Drop),
        1 => any::<usize>().prop_map(Step::Forget),
    ];
    proptest::collection::vec(step, 1..40)
}

/// A world with a kept plan, and the rank of each entry in it.
struct Kept {
    world: World,
    allocator: Allocator,
    plan: Plan<Clairvoyant>,
    standing: BTreeMap<(CoflowId, Option<u32>), Rank>,
    /// Arrivals so far, to distinguish ranks.
    arrivals: u64,
}

impl Kept {
    fn rank(&mut self, stand: Stand) -> Rank {
        self.arrivals += 1;
        Rank::new(stand.layer, f64::from(stand.key), (Time::ZERO, self.arrivals))
    }

    fn stand(&mut self, coflow: CoflowId, flow: Option<u32>, stand: Stand) {
        let rank = self.rank(stand);
        if let Some(before) = self.standing.insert((coflow, flow), rank) {
            self.plan.remove(before);
        }
        let group = match flow {
            Some(index) => Group::Flow(FlowId { coflow, index }),
            None => Group::Coflow(coflow),
        };
        self.plan.insert(rank, group, stand.share);
    }

    fn fall(&mut self, coflow: CoflowId) {
        let of_coflow = (coflow, None)..=(coflow, Some(u32::MAX));
        let gone: Vec<_> =
            self.standing.range(of_coflow).map(|(key, rank)| (*key, *rank)).collect();
        for (key, rank) in gone {
            self.standing.remove(&key);
            self.plan.remove(rank);
        }
    }

    fn step(&mut self, step: &Step) {
        let present = self.world.state.present().to_vec();
        let some_coflow = |k: usize| present.get(k % present.len().max(1)).copied();
        let flows = self.world.flows();
        let some_flow = |k: usize| flows.get(k % flows.len().max(1)).map(|flow| flow.id);
        match step {
            Step::End(k) => {
                let Some(flow) = some_flow(*k) else { return };
                self.world.end(flow, &mut self.allocator);
                if !self.world.state.is_present(flow.coflow) {
                    self.fall(flow.coflow);
                }
            }
            Step::Arrive(flows, stand) => {
                let id = self.world.arrive(flows);
                self.allocator.touch(id);
                self.stand(id, None, *stand);
            }
            Step::Move(k, stand) => {
                if let Some(coflow) = some_coflow(*k) {
                    self.stand(coflow, None, *stand);
                }
            }
            Step::Single(k, stand) => {
                if let Some(flow) = some_flow(*k) {
                    self.stand(flow.coflow, Some(flow.index), *stand);
                }
            }
            Step::Swap(a, b) => {
                let ranked = some_coflow(*a).zip(some_coflow(*b)).and_then(|(a, b)| {
                    let stand = |coflow| Some((coflow, *self.standing.get(&(coflow, None))?));
                    stand(a).zip(stand(b)).filter(|_| a != b)
                });
                let Some(((a, at_a), (b, at_b))) = ranked else { return };
                self.plan.remove(at_a);
                self.plan.remove(at_b);
                for (coflow, rank) in [(a, at_b), (b, at_a)] {
                    self.plan.insert(rank, Group::Coflow(coflow), Share::MAX_MIN);
                    self.standing.insert((coflow, None), rank);
                }
            }
            Step::Drop(k) => {
                if let Some(coflow) = some_coflow(*k) {
                    self.fall(coflow);
                }
            }
            Step::Forget(k) => {
                if let Some(coflow) = some_coflow(*k) {
                    self.allocator.forget(&self.world.state, coflow);
                }
            }
        }
    }

    /// A new plan with the same entries.
    fn written(&self) -> Plan<Clairvoyant> {
        let ranking = self.plan.ranking();
        let mut plan = Plan::default();
        plan.set_layers(ranking.layers);
        plan.set_backfill(ranking.backfill);
        let mut opened = 0;
        for (rank, entry) in ranking.entries.iter() {
            while opened <= rank.layer() {
                plan.open_layer(ranking.weights[opened as usize]);
                opened += 1;
            }
            let share = random::ALL.iter().find(|share| {
                plan_of(&[(entry.group, **share)]).ranking().entries.first().unwrap().1.rule
                    == entry.rule
            });
            plan.push(entry.group, *share.unwrap());
        }
        plan
    }
}

fn follow(network: Network, weighted: bool, backfill: Backfill, stands: &[Stand], steps: &[Step]) {
    let mut plan = Plan::default();
    plan.set_backfill(backfill);
    if weighted {
        plan.set_layers(Layers::Weighted);
        [1.0, 0.5, 0.1]
            .into_iter()
            .zip(0..)
            .for_each(|(weight, layer)| plan.set_weight(layer, weight));
    }
    let mut kept = Kept {
        world: World::new(network.0, &network.1),
        allocator: Allocator::by_steps_above(0),
        plan,
        standing: BTreeMap::new(),
        arrivals: 0,
    };
    for (k, id) in kept.world.state.present().to_vec().into_iter().enumerate() {
        kept.stand(id, None, stands[k % stands.len()]);
    }
    for step in steps {
        kept.step(step);
        kept.allocator.read_edits(&mut kept.plan);
        kept.allocator.allocate(&kept.world.state, kept.plan.ranking()).unwrap();
        let expected = fresh(&kept.world, &kept.written()).unwrap();
        assert_same(&kept.world.rates(&kept.allocator), &expected);
    }
}

fn backfills() -> impl Strategy<Value = Backfill> {
    proptest::sample::select(&[Backfill::None, Backfill::Greedy, Backfill::Skipped])
}

/// More coflows than links: most of them wait.
fn crowded() -> impl Strategy<Value = Network> {
    let coflows = |ports| proptest::collection::vec(random::flows(ports), 1..24);
    (1..5_u32)
        .prop_flat_map(move |ports| (Just(Fabric::big_switch(ports, 1.0).unwrap()), coflows(ports)))
}

/// While the plan has no entries the allocator keeps nothing, and coflow A ends. Another coflow
/// then gets its id.
#[test]
fn a_coflow_does_not_inherit_the_rank_of_an_earlier_one_with_its_id() {
    let network = Fabric::big_switch(2, 1.0).unwrap();
    let coflows = vec![vec![flow(0, 1, 1.0)], vec![flow(0, 1, 1.0)]];
    let [high, low] = [0, 1].map(|layer| Stand { layer, key: 0, share: Share::MAX_MIN });
    let steps = [
        Step::Move(0, high),
        Step::Drop(0),
        Step::Drop(1),
        Step::End(0),
        Step::Move(0, low),
        Step::Arrive(vec![flow(0, 1, 1.0)], high),
    ];
    follow((network, coflows), true, Backfill::None, &[high, low], &steps);
}

/// Coflow 0 had something by what is left of its flows, and coflow 2 takes all of that. What
/// remains of it by rounding is nothing, so backfill is for coflow 0.
#[test]
fn a_coflow_of_which_rounding_is_left_gets_backfill() {
    let inner = [((0, 1), vec![]), ((0, 0), vec![]), ((1, 0), vec![0, 2])];
    let paths = inner.into_iter().map(|((src, dst), path)| (PortId(src), PortId(dst), path));
    let routes = Routes::new(3, paths).unwrap();
    let network = Fabric::new(&[1.0; 2], &[1.0; 2], &[1.0; 3], routes).unwrap();
    let first = vec![flow(1, 0, 27.202_081_459_388_342), flow(0, 1, 1.0)];
    let second = vec![flow(0, 0, 1.0), flow(1, 0, 1.0)];
    let stand = |layer, key, share| Stand { layer, key, share };
    let stands = [stand(0, 4, Share::HOLD), stand(2, 0, Share::PROPORTIONAL)];
    let steps = [
        Step::Arrive(vec![flow(0, 0, 1.0)], stand(1, 3, Share::EQUAL)),
        Step::Move(0, stand(0, 5, Share::PROPORTIONAL)),
        Step::Move(2, stand(0, 1, Share::HOLD)),
        Step::Move(2, stand(0, 1, Share::PROPORTIONAL)),
    ];
    follow((network, vec![first, second]), true, Backfill::Skipped, &stands, &steps);
}

proptest! {
    #![proptest_config(random::cases(1000))]

    #[test]
    fn a_kept_plan_leads_to_the_rates_of_a_new_plan(
        network in prop_oneof![3 => crowded(), 1 => random::network(random::any_fabric())],
        weighted in any::<bool>(),
        backfill in backfills(),
        stands in proptest::collection::vec(stands(&FORGETFUL), 1..8),
        steps in steps(1),
    ) {
        follow(network, weighted, backfill, &stands, &steps);
    }
}
