//! Allocators against their definitions, on random networks.

mod classes;
mod common;
mod definitions;
mod histories;
mod kept;
mod known_answers;
mod orders;
mod tenants;

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use common::random::{self, Recipe};
use common::{World, flow, load, naive};
use covey_alloc::reference::Flow;
use covey_alloc::{Allocator, PlanError};
use covey_core::state::FlowSpec;
use covey_core::{
    Backfill, Clairvoyant, CoflowId, Ecmp, EcmpMode, Fabric, FatTree, FlowId, Group, Layers,
    LinkId, Plan, PortId, Routes, Share,
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

/// Rates from a new allocator.
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

/// Whether a link is full.
fn is_full(world: &World, load: &[f64], link: usize) -> bool {
    load[link] >= world.state.fabric().capacity()[link] * (1.0 - 1e-6)
}

fn assert_within_capacity(world: &World, flows: &[Flow], rates: &[f64]) {
    let capacity = world.state.fabric().capacity();
    for (link, used) in load(flows, rates, capacity.len()).into_iter().enumerate() {
        assert!(used <= capacity[link] * (1.0 + 1e-9), "link {link}: {used} > {}", capacity[link]);
    }
    assert!(rates.iter().all(|rate| *rate >= 0.0), "{rates:?}");
}

/// Each flow is limited by a link that its own coflow and those before it in the plan fill. So no
/// usable capacity is idle, and no coflow is skipped.
fn assert_maximal_in_order(world: &World, plan: &Plan<Clairvoyant>, rates: &[f64]) {
    let flows = world.flows();
    assert_within_capacity(world, &flows, rates);
    let mut load = vec![0.0; world.state.fabric().links()];
    for (_, entry) in plan.ranking().entries.iter() {
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

/// A plan in which nodes give coflows some of the `shares` of their links.
fn divided(world: &World, share: Share<Clairvoyant>, shares: &[f64]) -> Plan<Clairvoyant> {
    let mut plan = Plan::default();
    plan.set_layers(Layers::PerPort);
    let present = world.state.present();
    for (c, &coflow) in present.iter().enumerate() {
        plan.push(Group::Coflow(coflow), share);
        for link in 0..world.state.fabric().links() as u32 {
            let share = shares[(7 * c + link as usize) % shares.len()] / present.len() as f64;
            plan.set_link_share(coflow, LinkId(link), share);
        }
    }
    plan
}

/// Both orders of matching.
fn matchings() -> impl Strategy<Value = Share<Clairvoyant>> {
    prop_oneof![Just(Share::MATCHING), Just(Share::MATCHING_BY_LOAD)]
}
