//! Random networks and plans.

use covey_core::state::FlowSpec;
use covey_core::{
    Backfill, Clairvoyant, CoflowId, Fabric, FlowId, Group, Layers, Plan, PortId, Routes, Share,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{World, flow};

/// This many random inputs; a failing one is printed, and no file is written.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Capacities whose sums are often equal.
fn capacity() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(2.0), Just(0.5), 0.1..5.0]
}

/// Big switches with equal or different capacities.
pub fn big_switch() -> impl Strategy<Value = Fabric> {
    let ports = prop_oneof![8 => 1..6_usize, 1 => 66..70_usize];
    ports.prop_flat_map(|ports| {
        prop_oneof![Just(vec![1.0; 2 * ports]), vec(capacity(), 2 * ports),].prop_map(|links| {
            let (egress, ingress) = links.split_at(links.len() / 2);
            Fabric::big_switch_with(egress, ingress).unwrap()
        })
    })
}

/// Fabrics where paths cross up to three of three inner links.
pub fn with_inner_links() -> impl Strategy<Value = Fabric> {
    with_inner_links_and_unused(0)
}

/// The same with so many more inner links that no path crosses.
pub fn with_inner_links_and_unused(unused: usize) -> impl Strategy<Value = Fabric> {
    (1..6_u32, vec(capacity(), 3), vec(0..8_u32, 25)).prop_map(move |(ports, mut inner, masks)| {
        inner.resize(3 + unused, 1.0);
        let paths = masks.iter().enumerate().map(|(pair, mask)| {
            let path = (0..3).filter(|l| mask >> l & 1 == 1).collect();
            (PortId(pair as u32 / 5), PortId(pair as u32 % 5), path)
        });
        let (links, routes) = (vec![1.0; ports as usize], Routes::new(3, paths).unwrap());
        Fabric::new(&links, &links, &inner, routes).unwrap()
    })
}

pub fn any_fabric() -> impl Strategy<Value = Fabric> {
    prop_oneof![big_switch(), with_inner_links()]
}

/// Flows of a coflow on `ports` ports: scattered ones, some between the same ports, or a whole
/// shuffle.
pub fn flows(ports: u32) -> impl Strategy<Value = Vec<FlowSpec>> {
    let bytes = || prop_oneof![Just(1.0), Just(3.0), 0.01..100.0];
    let one = (0..ports, 0..ports, bytes()).prop_map(|(src, dst, bytes)| flow(src, dst, bytes));
    let scattered = vec(one, 1..8);
    let shuffle =
        (1..=ports.min(4), 1..=ports, bytes(), bytes()).prop_map(|(senders, receivers, a, b)| {
            let pairs = (0..senders).flat_map(|s| (0..receivers).map(move |r| (s, r)));
            pairs.map(|(s, r)| flow(s, r, if (s + r) % 3 == 0 { a } else { b })).collect()
        });
    prop_oneof![scattered, shuffle]
}

/// A fabric and coflows on it.
pub fn network(
    fabric: impl Strategy<Value = Fabric>,
) -> impl Strategy<Value = (Fabric, Vec<Vec<FlowSpec>>)> {
    fabric.prop_flat_map(|fabric| {
        let coflows = vec(flows(fabric.ports()), 1..6);
        (Just(fabric), coflows)
    })
}

/// A description of a plan, for any set of present coflows.
#[derive(Debug, Clone)]
pub struct Recipe {
    pub entries: Vec<EntryRecipe>,
    pub weighted: bool,
    pub backfill: Backfill,
}

/// One entry. Numbers are taken modulo the number of choices.
#[derive(Debug, Clone)]
pub struct EntryRecipe {
    coflow: usize,
    part: Part,
    share: Share<Clairvoyant>,
    /// Weight of a layer opened before it.
    layer: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Whole,
    AtLink(usize),
    OneFlow(usize),
}

/// Whole coflows, with a choice of rules.
pub fn whole(shares: &'static [Share<Clairvoyant>]) -> impl Strategy<Value = EntryRecipe> {
    let layer = proptest::option::weighted(0.3, prop_oneof![Just(1.0), Just(10.0), 0.1..3.0]);
    (0..8_usize, proptest::sample::select(shares), layer)
        .prop_map(|(coflow, share, layer)| EntryRecipe { coflow, part: Part::Whole, share, layer })
}

/// Parts of coflows; any rule but MADD.
pub fn part(shares: &'static [Share<Clairvoyant>]) -> impl Strategy<Value = EntryRecipe> {
    let part =
        prop_oneof![(0..8_usize).prop_map(Part::AtLink), (0..8_usize).prop_map(Part::OneFlow)];
    (whole(shares), part).prop_map(|(entry, part)| EntryRecipe { part, ..entry })
}

pub const PARTIAL: [Share<Clairvoyant>; 6] = [
    Share::MAX_MIN,
    Share::EQUAL,
    Share::ALL_OR_NONE,
    Share::MATCHING,
    Share::HOLD,
    Share::rate(0.05),
];
pub const ALL: [Share<Clairvoyant>; 8] = [
    Share::MAX_MIN,
    Share::EQUAL,
    Share::ALL_OR_NONE,
    Share::MATCHING,
    Share::HOLD,
    Share::rate(0.05),
    Share::MADD,
    Share::PROPORTIONAL,
];
/// Rules whose rates do not depend on which flows ran before.
pub const FORGETFUL: [Share<Clairvoyant>; 6] = [
    Share::MAX_MIN,
    Share::EQUAL,
    Share::ALL_OR_NONE,
    Share::MADD,
    Share::PROPORTIONAL,
    Share::HOLD,
];

pub fn recipe(entry: impl Strategy<Value = EntryRecipe>) -> impl Strategy<Value = Recipe> {
    let backfill = prop_oneof![
        2 => Just(Backfill::None),
        1 => Just(Backfill::Greedy),
        1 => Just(Backfill::Skipped),
    ];
    (vec(entry, 1..10), any::<bool>(), backfill).prop_map(|(entries, weighted, backfill)| Recipe {
        entries,
        weighted,
        backfill,
    })
}

impl Recipe {
    /// The plan for the coflows present. A coflow as a whole is named once.
    pub fn plan(&self, world: &World) -> Plan<Clairvoyant> {
        let mut plan = Plan::default();
        let present = world.state.present();
        let mut named: Vec<CoflowId> = Vec::new();
        if self.weighted {
            plan.set_layers(Layers::Weighted);
        }
        plan.set_backfill(self.backfill);
        for entry in self.entries.iter().filter(|_| !present.is_empty()) {
            let coflow = present[entry.coflow % present.len()];
            let demand = world.state.coflow(coflow).demand();
            let group = match entry.part {
                Part::Whole if named.contains(&coflow) => continue,
                Part::Whole => {
                    named.push(coflow);
                    Group::Coflow(coflow)
                }
                Part::AtLink(k) => {
                    Group::CoflowAt(coflow, demand.links()[k % demand.links().len()])
                }
                Part::OneFlow(k) => {
                    Group::Flow(FlowId { coflow, index: (k % demand.width()) as u32 })
                }
            };
            if let Some(weight) = entry.layer {
                plan.open_layer(weight);
            }
            plan.push(group, entry.share);
        }
        plan
    }
}
