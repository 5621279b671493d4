//! All flows in order of priority, against one flow after the other, through histories.

use super::*;

/// An event between two allocations. Numbers are taken modulo the number of choices.
#[derive(Debug, Clone)]
enum Step {
    /// Flows send for this share of the time to the next end.
    Run(f64),
    /// A flow ends, whatever is left of it.
    End(usize),
    /// A flow loses what it has sent and joins again.
    Restart(usize),
    Arrive(Vec<FlowSpec>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Run(1.0)),
        3 => (0.1..0.9).prop_map(Step::Run),
        3 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Restart),
        3 => random::flows(1).prop_map(Step::Arrive),
    ];
    proptest::collection::vec(step, 1..40)
}

/// Flows in the order in which they joined, and their allocator, which keeps what is left of those
/// that run.
struct Orderly {
    world: World,
    kept: Allocator,
    share: Share<Clairvoyant>,
    joined: Vec<FlowId>,
}

impl Orderly {
    fn new((fabric, coflows): Network, share: Share<Clairvoyant>) -> Orderly {
        let world = World::new(fabric, &coflows);
        let joined = world.state.present().iter().zip(&coflows);
        let joined = joined.flat_map(|(&id, flows)| flows_of(id, flows)).collect();
        Orderly { world, kept: Allocator::default(), share, joined }
    }

    fn plan(&self) -> Plan<Clairvoyant> {
        plan_of(&[(Group::AllFlows, self.share)])
    }

    /// Allocates, and compares the rates of all flows with those of the definition. Returns false,
    /// without a comparison, if the order depends on rounding.
    fn check(&mut self) -> bool {
        self.write_back();
        self.world.state.note_event_everywhere();
        self.kept.allocate(&self.world.state, self.plan().ranking()).unwrap();
        let stopped = self.kept.priority_flows().unwrap().stopped().to_vec();
        stopped.iter().for_each(|flow| self.set_left(flow.coflow, flow.position, flow.left));
        let flows = self.world.flows();
        let is_close = |a: &Flow, b: &Flow| a.left != b.left && (a.left - b.left).abs() < 1e-6;
        if flows.iter().any(|a| flows.iter().any(|b| is_close(a, b))) {
            return false;
        }
        let expected = self.one_by_one(&flows);
        assert_same(&self.world.rates(&self.kept), &expected);
        let mut running = vec![0.0; flows.len()];
        for flow in self.kept.priority_flows().unwrap().iter() {
            let is_it = |f: &Flow| {
                (f.id.coflow, self.world.position(f.id)) == (flow.coflow, flow.position as usize)
            };
            running[flows.iter().position(is_it).unwrap()] = flow.rate;
        }
        assert_same(&running, &expected);
        true
    }

    /// The rates if each flow, in order, takes all that is free on its links.
    fn one_by_one(&self, flows: &[Flow]) -> Vec<f64> {
        let capacity = self.world.state.fabric().capacity();
        let key = |f: &Flow| match self.share == Share::SHORTEST_FIRST {
            true => f.left,
            false => 0.0,
        };
        let turn = |f: &Flow| self.joined.iter().position(|id| *id == f.id);
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&flows[a], &flows[b]);
            key(a).total_cmp(&key(b)).then(turn(a).cmp(&turn(b)))
        });
        let (mut free, mut rates) = (capacity.to_vec(), vec![0.0; flows.len()]);
        for f in order {
            let left = flows[f].path.iter().map(|&l| free[l]).fold(f64::INFINITY, f64::min);
            rates[f] = if left > 1e-9 { left } else { 0.0 };
            flows[f].path.iter().for_each(|&l| free[l] -= rates[f]);
        }
        rates
    }

    /// Writes down what is left of the flows that run.
    fn write_back(&mut self) {
        let running: Vec<_> =
            self.kept.priority_flows().into_iter().flat_map(|f| f.iter()).collect();
        running.iter().for_each(|flow| self.set_left(flow.coflow, flow.position, flow.left));
    }

    fn set_left(&mut self, id: CoflowId, position: u32, left: f64) {
        self.world.state.progress_mut(id).1.left[position as usize] = left;
    }

    fn end(&mut self, flow: FlowId) {
        self.world.end(flow, &mut self.kept);
        self.joined.retain(|id| *id != flow);
    }

    fn step(&mut self, step: &Step) {
        let some = |k: &usize| self.joined.get(k % self.joined.len().max(1)).copied();
        match step {
            Step::Run(share) => self.run(*share),
            Step::End(k) => some(k).into_iter().for_each(|flow| self.end(flow)),
            Step::Restart(k) => {
                let Some(flow) = some(k) else { return };
                self.write_back();
                self.world.state.restart(flow);
                let position = self.world.position(flow);
                for by in [-1.0, 1.0] {
                    self.kept.adjust(&self.world.state, flow.coflow, position, by);
                }
                self.joined.retain(|id| *id != flow);
                self.joined.push(flow);
            }
            Step::Arrive(flows) => {
                let id = self.world.arrive(flows);
                self.kept.touch(id);
                for flow in flows_of(id, flows) {
                    let position = self.world.position(flow);
                    self.kept.adjust(&self.world.state, id, position, 1.0);
                    self.joined.push(flow);
                }
            }
        }
    }

    /// Flows send for a share of the time to the next end; those that have sent all end.
    fn run(&mut self, share: f64) {
        let Some(running) = self.kept.priority_flows_mut() else { return };
        let (left, rates) = running.left_mut();
        let seconds = left.iter().zip(rates).map(|(left, rate)| left / rate);
        let seconds = share * seconds.fold(f64::INFINITY, f64::min);
        left.iter_mut().zip(rates).for_each(|(left, rate)| *left -= rate * seconds);
        let ended: Vec<FlowId> = running
            .iter()
            .filter(|flow| flow.left <= flow.rate * 1e-9)
            .map(|flow| {
                let demand = self.world.state.coflow(flow.coflow).demand();
                FlowId { coflow: flow.coflow, index: demand.index(flow.position as usize) }
            })
            .collect();
        ended.into_iter().for_each(|flow| self.end(flow));
    }
}

fn flows_of(coflow: CoflowId, flows: &[FlowSpec]) -> impl Iterator<Item = FlowId> + use<> {
    (0..flows.len() as u32).map(move |index| FlowId { coflow, index })
}

/// The number of hosts under an edge switch, of edge switches in a pod, and of half of all pods.
const HALF: u32 = 2;

/// A fat tree with four pods and 16 hosts. The way up is chosen by the sum of source and
/// destination. `uplink` is the capacity of the links up and down between switches.
fn fat_tree(uplink: f64) -> Fabric {
    let (edges, hosts) = (2 * HALF * HALF, 2 * HALF * HALF * HALF);
    // By tier: edge to aggregation, aggregation to core, core to aggregation, aggregation to edge.
    let tier = edges * HALF;
    let pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst)));
    let routes = pairs.map(|(src, dst)| {
        let (from, to) = (src / HALF, dst / HALF);
        let (up, core) = ((src + dst) % HALF, (from + to) % HALF);
        let (out, back) = (from * HALF + up, to * HALF + up);
        let over = |pod: u32| pod * HALF * HALF + up * HALF + core;
        let path = if from == to {
            vec![]
        } else if from / HALF == to / HALF {
            vec![out, 3 * tier + back]
        } else {
            vec![out, tier + over(from / HALF), 2 * tier + over(to / HALF), 3 * tier + back]
        };
        (PortId(src), PortId(dst), path)
    });
    let routes = Routes::new(4 * tier, routes).unwrap();
    let ports = vec![1.0; hosts as usize];
    Fabric::new(&ports, &ports, &vec![uplink; 4 * tier as usize], routes).unwrap()
}

fn fabrics() -> impl Strategy<Value = Fabric> {
    let uplink = prop_oneof![Just(0.5), Just(1.0), Just(0.7), Just(3.0)];
    prop_oneof![3 => random::any_fabric(), 1 => uplink.prop_map(fat_tree)]
}

proptest! {
    #![proptest_config(random::cases(2000))]

    #[test]
    fn each_flow_takes_all_that_is_free_in_order(
        network in random::network(fabrics()),
        share in proptest::sample::select(&[Share::OLDEST_FIRST, Share::SHORTEST_FIRST]),
        steps in steps(),
    ) {
        let mut orderly = Orderly::new(network, share);
        orderly.check();
        for step in &steps {
            orderly.step(step);
            if !orderly.check() {
                break;
            }
        }
    }
}

/// Three flows, each of which shares a link with the next: see the example in `priority_paths`.
#[test]
fn a_flow_that_gets_a_link_takes_the_next_link_from_the_flow_behind_it() {
    let pairs = [(0, 1, vec![0, 1]), (2, 3, vec![1, 2]), (4, 5, vec![2])];
    let routes = pairs.map(|(src, dst, path)| (PortId(src), PortId(dst), path));
    let (ports, inner) = (vec![9.0; 6], vec![1.0; 3]);
    let fabric = Fabric::new(&ports, &ports, &inner, Routes::new(3, routes).unwrap()).unwrap();
    let flows = vec![flow(0, 1, 1.0), flow(2, 3, 2.0), flow(4, 5, 3.0)];
    let mut orderly = Orderly::new((fabric, vec![flows]), Share::OLDEST_FIRST);
    assert!(orderly.check());
    assert_eq!(orderly.world.rates(&orderly.kept), [1.0, 0.0, 1.0]);
    orderly.step(&Step::Run(1.0));
    assert!(orderly.check());
    assert_eq!(orderly.world.rates(&orderly.kept), [1.0, 0.0]);
    let stopped = orderly.kept.priority_flows().unwrap().stopped();
    assert_eq!((stopped.len(), stopped[0].left), (1, 2.0));
}
