//! Topologies: known sizes, and what every path keeps.

use std::collections::BTreeSet;

use covey_core::{
    Ecmp, EcmpMode, Fabric, FabricError, FatTree, Graph, GraphParts, LeafSpine, LinkId, PortId,
    Routes, SplitMix,
};
use proptest::prelude::*;

const CHOOSING: [EcmpMode; 3] = [EcmpMode::Flow, EcmpMode::Pair, EcmpMode::Modulo];

fn ecmp(mode: EcmpMode) -> Ecmp {
    Ecmp { mode, seed: 7 }
}

fn fat_tree(k: u32, mode: EcmpMode) -> Fabric {
    FatTree::new(k, ecmp(mode)).unwrap().fabric(1.0, 1.0).unwrap()
}

fn leaf_spine(leaves: u32, spines: u32, hosts: u32, mode: EcmpMode) -> Fabric {
    LeafSpine::new(leaves, spines, hosts, ecmp(mode)).unwrap().fabric(1.0, 1.0).unwrap()
}

fn path(fabric: &Fabric, src: u32, dst: u32, flow: u64) -> Vec<LinkId> {
    let mut path = Vec::new();
    fabric.path(PortId(src), PortId(dst), flow, &mut path);
    path
}

/// The path in words: `host 0 up`, `edge 0 to agg 1`, …
fn names(fabric: &Fabric, src: u32, dst: u32, flow: u64) -> Vec<String> {
    path(fabric, src, dst, flow).iter().map(|&link| fabric.link_name(link)).collect()
}

/// A FatTree listed link by link, in the order of the switches.
fn listed_fat_tree(k: u32, mode: EcmpMode) -> Fabric {
    let m = k / 2;
    let (edges, aggs) = (k * m, k * m);
    let mut parts = GraphParts {
        node_of: (0..edges * m).map(|host| host / m).collect(),
        edge_of: (0..edges * m).map(|host| host / m).collect(),
        hosts: (0..edges * m).map(|host| format!("host {host}")).collect(),
        tiers: ["edge up", "agg up", "agg down", "edge down"].map(str::to_owned).to_vec(),
        ..GraphParts::default()
    };
    for (name, count) in [("edge", edges), ("agg", aggs), ("core", m * m)] {
        parts.switches += count;
        parts.nodes.extend((0..count).map(|n| format!("{name} {n}")));
    }
    let mut link = |from, to, tier| {
        parts.links.push((from, to));
        parts.tier_of.push(tier);
        parts.speeds.push(1.0);
    };
    for n in 0..edges * m {
        let (edge, agg) = (n / m, edges + n / m / m * m + n % m);
        link(edge, agg, 0);
        link(agg, edge, 3);
        let (agg, core) = (edges + n / m, edges + aggs + n / m % m * m + n % m);
        link(agg, core, 1);
        link(core, agg, 2);
    }
    let (hosts, inner) = (parts.hosts.len(), parts.links.len());
    let graph = Graph::new(parts, Routes::default(), ecmp(mode)).unwrap();
    Fabric::new(&vec![1.0; hosts], &vec![1.0; hosts], &vec![1.0; inner], graph).unwrap()
}

#[test]
fn fat_trees_have_the_published_sizes() {
    for (k, hosts, links) in [(4, 16, 96), (8, 128, 768), (48, 27_648, 165_888)] {
        let fabric = fat_tree(k, EcmpMode::Flow);
        assert_eq!((fabric.ports(), fabric.links()), (hosts, links), "k = {k}");
    }
    let largest = fat_tree(128, EcmpMode::Flow);
    assert_eq!((largest.ports(), largest.links()), (524_288, 3_145_728));
    // Sprayed, only the hosts' links grow with k³.
    assert_eq!(fat_tree(8, EcmpMode::Spray).inner_links().len(), 2 * 32 + 2 * 8);
}

#[test]
fn k_is_even_and_at_most_254() {
    for k in [0, 1, 3, 255, 256, u32::MAX] {
        let expected = "an even number from 2 to 254";
        let error = FatTree::new(k, Ecmp::default()).unwrap_err();
        assert_eq!(error, FabricError::Parameter { name: "k", expected, found: k });
    }
    assert!(FatTree::new(254, Ecmp::default()).is_ok());
}

#[test]
fn paths_have_names_and_tiers() {
    let fabric = fat_tree(4, EcmpMode::Modulo);
    let across = ["host 0 up", "edge 0 to agg 0", "agg 0 to core 0", "core 0 to agg 4"];
    assert_eq!(
        names(&fabric, 0, 8, 0),
        [&across[..], &["agg 4 to edge 4", "host 8 down"]].concat()
    );
    let in_a_pod = ["host 0 up", "edge 0 to agg 1", "agg 1 to edge 1", "host 3 down"];
    assert_eq!(names(&fabric, 0, 3, 0), in_a_pod);
    assert_eq!(names(&fabric, 0, 1, 0), ["host 0 up", "host 1 down"]);
    assert_eq!(names(&fabric, 5, 5, 0), ["host 5 up", "host 5 down"]);
    let tiers = path(&fabric, 0, 8, 0).into_iter().map(|link| fabric.tier(link).to_owned());
    let all = ["host up", "edge up", "agg up", "agg down", "edge down", "host down"];
    assert_eq!(tiers.collect::<Vec<_>>(), all);
    let sprayed = fat_tree(4, EcmpMode::Spray);
    let bundles = ["edge 0 to its 2 aggs", "pod 0 to all cores", "all cores to pod 2"];
    assert_eq!(names(&sprayed, 0, 8, 0)[1..4], bundles);
    let fabric = leaf_spine(3, 2, 4, EcmpMode::Modulo);
    assert_eq!(names(&fabric, 1, 8, 0)[1..3], ["leaf 0 to spine 1", "spine 1 to leaf 2"]);
}

#[test]
fn no_two_links_share_a_name() {
    for fabric in [
        fat_tree(6, EcmpMode::Flow),
        fat_tree(6, EcmpMode::Spray),
        leaf_spine(3, 2, 4, EcmpMode::Flow),
        leaf_spine(3, 2, 4, EcmpMode::Spray),
        listed_fat_tree(4, EcmpMode::Flow),
    ] {
        let links = 0..fabric.links() as u32;
        let names: BTreeSet<String> = links.map(|link| fabric.link_name(LinkId(link))).collect();
        assert_eq!(names.len(), fabric.links());
    }
}

#[test]
fn capacities_follow_oversubscription_and_bundles() {
    let capacity = |mode, tier: &str| {
        let fabric = FatTree::new(8, ecmp(mode)).unwrap().fabric(10.0, 2.0).unwrap();
        let links = fabric.inner_links().filter(|&l| fabric.tier(LinkId(l as u32)) == tier);
        let found: Vec<f64> = links.map(|link| fabric.capacity()[link]).collect();
        assert!(found.iter().all(|c| *c == found[0]));
        found[0]
    };
    for (tier, one, bundle) in
        [("edge up", 5.0, 20.0), ("agg up", 10.0, 160.0), ("agg down", 10.0, 160.0)]
    {
        assert_eq!(capacity(EcmpMode::Flow, tier), one);
        assert_eq!(capacity(EcmpMode::Spray, tier), bundle);
    }
    assert_eq!(capacity(EcmpMode::Flow, "edge down"), 5.0);
}

#[test]
fn flow_hashes_use_all_links_alike() {
    let fabric = fat_tree(8, EcmpMode::Flow);
    let mut times = vec![0_u32; fabric.links()];
    // From each host to the one half-way round: every host link carries 1,000 flows.
    for flow in 0..128_000 {
        let src = (flow % 128) as u32;
        path(&fabric, src, (src + 64) % 128, flow).iter().for_each(|l| times[l.index()] += 1);
    }
    // 1,000 are expected; the standard deviation is at most 31.
    let inner = &times[fabric.inner_links()];
    assert!(inner.iter().all(|n| (800..1200).contains(n)), "{inner:?}");
}

#[test]
fn modulo_polarises_where_the_fact_sheet_says_so() {
    // Every host of 16 sends to the one half-way round: only every fourth pair of uplinks is used.
    let fabric = fat_tree(4, EcmpMode::Modulo);
    let mut times = vec![0; fabric.links()];
    for src in 0..16 {
        path(&fabric, src, (src + 8) % 16, 0).iter().for_each(|l| times[l.index()] += 1);
    }
    assert_eq!(times[fabric.inner_links()].iter().max(), Some(&4));
}

#[test]
fn latency_is_the_sum_over_the_path() {
    let fabric = fat_tree(4, EcmpMode::Flow).with_latency(1e-6).unwrap();
    let latency = |src, dst| fabric.path_latency(PortId(src), PortId(dst), 3);
    for (dst, links) in [(0, 2.0), (1, 2.0), (2, 4.0), (4, 6.0)] {
        assert!((latency(0, dst) - links * 1e-6).abs() < 1e-15, "{dst}");
    }
    let fabric = leaf_spine(2, 1, 1, EcmpMode::Flow);
    assert_eq!(fabric.path_latency(PortId(0), PortId(1), 0), 0.0);
    // Out of hosts 0 and 1, into them, up from leaves, down to leaves.
    let each = vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
    let fabric = fabric.with_latencies(each).unwrap();
    assert_eq!(fabric.path_latency(PortId(0), PortId(1), 0), 1.0 + 16.0 + 128.0 + 8.0);
    assert_eq!(fabric.with_latencies(vec![0.0]).unwrap_err(), FabricError::Latency);
    let fabric = leaf_spine(1, 1, 1, EcmpMode::Flow);
    assert_eq!(fabric.with_latency(f64::NAN).unwrap_err(), FabricError::Latency);
}

#[test]
fn a_graph_without_a_path_needs_a_route() {
    let parts = GraphParts {
        node_of: vec![0, 1, 1],
        edge_of: vec![0, 1, 1],
        hosts: ["a", "b", "c"].map(str::to_owned).to_vec(),
        nodes: ["x", "y"].map(str::to_owned).to_vec(),
        switches: 2,
        links: vec![(0, 1)],
        speeds: vec![1.0],
        tiers: vec!["inner".to_owned()],
        tier_of: vec![0],
    };
    let graph = |routes| Graph::new(parts.clone(), routes, Ecmp::default());
    let none = graph(Routes::default()).unwrap_err();
    assert_eq!(none, FabricError::NoPath { src: 1, dst: 0 });
    let one = Routes::new(1, [(PortId(1), PortId(0), vec![])]).unwrap();
    assert_eq!(graph(one).unwrap_err(), FabricError::NoPath { src: 2, dst: 0 });
    let both = [(PortId(1), PortId(0), vec![]), (PortId(2), PortId(0), vec![])];
    assert!(graph(Routes::new(1, both).unwrap()).is_ok());
    let sprayed = Graph::new(parts.clone(), Routes::default(), ecmp(EcmpMode::Spray));
    assert_eq!(sprayed.unwrap_err(), FabricError::Spray);
}

/// Where a link named `x to y` begins and ends; a host's link has `edge` or `leaf` and its switch.
fn ends(fabric: &Fabric, link: LinkId, switch: &str) -> [String; 2] {
    let name = fabric.link_name(link);
    if let Some((from, to)) = name.split_once(" to ") {
        return [from.to_owned(), to.to_owned()];
    }
    let port = fabric.port_of(link).unwrap();
    let mut ends = [format!("host {}", port.0), format!("{switch} {}", fabric.edge_switch(port))];
    if name.ends_with("down") {
        ends.reverse();
    }
    ends
}

/// Checks that a path goes from host to host without a gap, uses each link once, and has `length`
/// links.
fn check(fabric: &Fabric, [src, dst]: [u32; 2], flow: u64, switch: &str, length: usize) {
    let links = path(fabric, src, dst, flow);
    assert_eq!(links, path(fabric, src, dst, flow), "the same call gives the same path");
    assert_eq!(links.len(), length);
    assert_eq!(links.iter().collect::<BTreeSet<_>>().len(), length, "each link once");
    assert!(links.iter().all(|link| link.index() < fabric.links()));
    let mut at = format!("host {src}");
    for link in links {
        let [from, to] = ends(fabric, link, switch);
        assert_eq!(from, at);
        at = to;
    }
    assert_eq!(at, format!("host {dst}"));
}

proptest! {
    #[test]
    fn fat_tree_paths_are_whole_and_shortest(
        half in 1_u32..6, pick in any::<[u32; 2]>(), flow in any::<u64>(), mode in 0..3_usize,
    ) {
        let fabric = fat_tree(2 * half, CHOOSING[mode]);
        let [src, dst] = pick.map(|n| n % fabric.ports());
        let length = match (src / half == dst / half, src / half / half == dst / half / half) {
            (true, _) => 2,
            (_, true) => 4,
            _ => 6,
        };
        check(&fabric, [src, dst], flow, "edge", length);
    }

    #[test]
    fn leaf_spine_paths_are_whole_and_shortest(
        leaves in 1_u32..5, spines in 1_u32..5, hosts in 1_u32..5, pick in any::<[u32; 2]>(),
        flow in any::<u64>(), mode in 0..3_usize,
    ) {
        let fabric = leaf_spine(leaves, spines, hosts, CHOOSING[mode]);
        let [src, dst] = pick.map(|n| n % fabric.ports());
        let length = if src / hosts == dst / hosts { 2 } else { 4 };
        check(&fabric, [src, dst], flow, "leaf", length);
    }

    #[test]
    fn a_listed_fat_tree_has_the_paths_of_the_structure(
        half in 1_u32..5, pick in any::<[u32; 2]>(), flow in any::<u64>(), mode in 0..3_usize,
    ) {
        let (known, listed) =
            (fat_tree(2 * half, CHOOSING[mode]), listed_fat_tree(2 * half, CHOOSING[mode]));
        let [src, dst] = pick.map(|n| n % known.ports());
        // Switches have the same numbers in both, so that they also hash alike.
        assert_eq!(names(&known, src, dst, flow), names(&listed, src, dst, flow));
    }

    #[test]
    fn modulo_is_the_formula(half in 1_u32..6, pick in any::<[u32; 2]>()) {
        let (k, m) = (2 * half, half);
        let fabric = fat_tree(k, EcmpMode::Modulo);
        let [src, dst] = pick.map(|n| n % fabric.ports());
        let (a, c) = ((src + dst) % m, (src / m + dst / m) % m);
        let [from, to] = [src, dst].map(|host| (host / m, host / m / m));
        let mut expected = vec![format!("host {src} up")];
        if from.0 != to.0 {
            let [up, down] = [from, to].map(|(_, pod)| pod * m + a);
            expected.push(format!("edge {} to agg {up}", from.0));
            if from.1 != to.1 {
                let core = a * m + c;
                expected.push(format!("agg {up} to core {core}"));
                expected.push(format!("core {core} to agg {down}"));
            }
            expected.push(format!("agg {down} to edge {}", to.0));
        }
        expected.push(format!("host {dst} down"));
        assert_eq!(names(&fabric, src, dst, 0), expected);
    }

    #[test]
    fn bundles_carry_what_all_shortest_paths_carry(half in 1_u32..4, seed in any::<u64>()) {
        // A flow divided by hand over all shortest paths loads each link of a bundle with its
        // share.
        let (k, m) = (2 * half, half);
        let (one, bundled) = (fat_tree(k, EcmpMode::Modulo), fat_tree(k, EcmpMode::Spray));
        let mut random = SplitMix::new(seed);
        let mut by_link = vec![0.0; one.links()];
        let mut by_bundle = vec![0.0; bundled.links()];
        for _ in 0..20 {
            let mut host = || random.below(u64::from(one.ports())) as u32;
            let [src, dst] = [host(), host()];
            path(&bundled, src, dst, 0).iter().for_each(|l| by_bundle[l.index()] += 1.0);
            // The paths by way of each aggregation switch and core, by the names of their links.
            for way in 0..m * m {
                let share = 1.0 / f64::from(m * m);
                for link in divided(&one, [src, dst], m, way) {
                    by_link[link] += share;
                }
            }
        }
        for (tier, links) in [("edge up", m), ("agg up", m * m), ("agg down", m * m), ("edge down", m)] {
            let of = |fabric: &Fabric| -> Vec<usize> {
                let inner = fabric.inner_links();
                inner.filter(|&link| fabric.tier(LinkId(link as u32)) == tier).collect()
            };
            for (n, link) in of(&one).into_iter().enumerate() {
                let bundle = of(&bundled)[n / links as usize];
                let (found, expected) = (by_link[link], by_bundle[bundle] / f64::from(links));
                prop_assert!((found - expected).abs() < 1e-9, "{tier} {n}: {found}, {expected}");
            }
        }
    }
}

/// The links of the path by way of core port `way % m` of aggregation switch `way / m`.
fn divided(fabric: &Fabric, [src, dst]: [u32; 2], m: u32, way: u32) -> Vec<usize> {
    let (a, c) = (way / m, way % m);
    let (inner, hosts) = (2 * fabric.ports(), fabric.ports());
    let [from, to] = [src / m, dst / m];
    let mut links = vec![fabric.egress(PortId(src)).index(), fabric.ingress(PortId(dst)).index()];
    if from != to {
        links.extend([inner + from * m + a, inner + 3 * hosts + to * m + a].map(|l| l as usize));
        if from / m != to / m {
            let [up, down] = [from, to].map(|edge| (edge / m * m + a) * m + c);
            links.extend([inner + hosts + up, inner + 2 * hosts + down].map(|l| l as usize));
        }
    }
    links
}
