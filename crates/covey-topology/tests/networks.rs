//! Networks by name: their text, their files, and hosts for ports.

use std::io::Write;

use covey_core::{Ecmp, EcmpMode, Fabric, LinkId, PortId};
use covey_topology::{LinkLoad, Network, Tier, read};
use covey_trace::{Coflow, Flow, Workload};
use proptest::prelude::*;

const RATE: f64 = 125e6;

fn open(spec: &str) -> Network {
    Network::open(spec, 150, RATE).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn error(spec: &str) -> String {
    Network::open(spec, 150, RATE).expect_err(spec).to_string()
}

/// The network of a topology file with this text.
fn listed(text: &str) -> Fabric {
    let listed = read(text.as_bytes(), "site.txt", RATE).unwrap_or_else(|e| panic!("{e}"));
    let ecmp = Ecmp { mode: listed.ecmp(), seed: 1 };
    listed.fabric("site.txt", ecmp).unwrap_or_else(|e| panic!("{e}"))
}

/// The error of a topology file with this text.
fn broken(text: &str) -> String {
    let fabric = read(text.as_bytes(), "site.txt", RATE).and_then(|listed| {
        let ecmp = Ecmp { mode: listed.ecmp(), seed: 1 };
        listed.fabric("site.txt", ecmp)
    });
    fabric.expect_err(text).to_string()
}

fn names(fabric: &Fabric, src: u32, dst: u32, flow: u64) -> Vec<String> {
    let mut path = Vec::new();
    fabric.path(PortId(src), PortId(dst), flow, &mut path);
    path.iter().map(|&link| fabric.link_name(link)).collect()
}

#[test]
fn texts_name_networks() {
    for (spec, canonical, hosts) in [
        ("big-switch", "big-switch", 150),
        (" Fat-Tree:k=8 , ecmp=pair", "fat-tree:k=8,ecmp=pair", 128),
        ("fat-tree:k=8,oversub=1,ecmp=flow,place=spread", "", 128),
        ("leaf-spine:leaves=8,spines=4,hosts=16,uplink=10gbps", "", 128),
        ("leaf-spine:leaves=1,spines=1,hosts=3", "", 3),
    ] {
        let network = open(spec);
        let canonical = if canonical.is_empty() { spec } else { canonical };
        assert_eq!((network.spec(), network.fabric().ports()), (canonical, hosts));
    }
    let network = open("leaf-spine:leaves=2,spines=1,hosts=1,uplink=10gbps,latency=2us");
    assert_eq!(network.fabric().capacity()[4], 1.25e9);
    assert_eq!(network.fabric().path_latency(PortId(0), PortId(1), 0), 8e-6);
}

#[test]
fn wrong_texts_say_what_was_expected() {
    for (spec, expected) in [
        ("ring", "expected one of big-switch, fat-tree, leaf-spine, file, found \"ring\""),
        ("fat-tre:k=4", "found \"fat-tre\"; did you mean 'fat-tree'?"),
        ("fat-tree", "fat-tree: k: expected a number, found nothing"),
        ("fat-tree:k=7", "fat-tree: k: expected an even number from 2 to 254, found 7"),
        ("fat-tree:k=256", "fat-tree: k: expected an even number from 2 to 254, found 256"),
        ("fat-tree:k=x", "fat-tree: k: expected a number from 0 to 4294967295, found \"x\""),
        (
            "fat-tree:k=4,oversubs=2",
            "fat-tree: expected one of k, oversub, ecmp, place, seed, latency, found \"oversubs\"; did \
             you mean 'oversub'?",
        ),
        ("fat-tree:k=4,oversub=0", "oversub: expected a number from 0.001 to 1000, found \"0\""),
        ("fat-tree:k=4,k=6", "fat-tree: expected each parameter once, found \"k\" twice"),
        (
            "fat-tree:k=4,ecmp=flows",
            "ecmp: expected one of flow, pair, modulo, spray, found \"flows\"",
        ),
        ("fat-tree:k=4,place=racks", "place: expected one of pack, spread, rack, found \"racks\""),
        ("fat-tree:k=4,latency=x", "fat-tree: latency: 'x' is not a duration"),
        ("leaf-spine:leaves=8,spines=4", "leaf-spine: hosts: expected a number, found nothing"),
        (
            "leaf-spine:leaves=0,spines=4,hosts=1",
            "leaf-spine: leaves: expected at least 1, found 0",
        ),
        (
            "leaf-spine:leaves=65536,spines=65536,hosts=1",
            "leaf-spine: spines: expected no more than",
        ),
        ("leaf-spine:leaves=1,spines=1,hosts=1,uplink=0", "uplink: '0' is not a speed above zero"),
        ("big-switch:k=4", "big-switch: expected one of place, found \"k\""),
        ("file:", "file: expected the path of a topology file, found nothing"),
        ("file:/nowhere/a.txt,plce=pack", "did you mean 'place=pack' at its end?"),
        ("file:/nowhere/a.txt", "/nowhere/a.txt: "),
    ] {
        let found = error(spec);
        assert!(found.contains(expected), "{spec}: {found}");
        assert_eq!(found.lines().count(), 1);
    }
}

const SITE: &str = "\
covey-topology 1
# Two racks; the second has a faster way out.
ecmp modulo
default 1gbps latency=1us
hosts a b c
switches x y z
link a -- x
link b -- x 100mbps
link c -> y
link y -> c 2gbps
link x -- y tier=direct
link y -- z 10gbps latency=0 tier=core
link z -- x 10gbps tier=core
route a c x z y
";

#[test]
fn a_file_lists_nodes_links_and_routes() {
    let fabric = listed(SITE);
    assert_eq!((fabric.ports(), fabric.links()), (3, 12));
    assert_eq!(names(&fabric, 0, 2, 0), ["a up", "x to z", "z to y", "c down"]);
    assert_eq!(names(&fabric, 1, 2, 0), ["b up", "x to y", "c down"]);
    assert_eq!(names(&fabric, 0, 1, 0), ["a up", "b down"]);
    let capacity = |name: &str| {
        let link = (0..12).find(|&link| fabric.link_name(LinkId(link)) == name).unwrap();
        (fabric.capacity()[link as usize], fabric.tier(LinkId(link)).to_owned())
    };
    assert_eq!(capacity("b up"), (12.5e6, "host up".to_owned()));
    assert_eq!(capacity("c down"), (250e6, "host down".to_owned()));
    assert_eq!(capacity("x to y"), (125e6, "direct".to_owned()));
    assert_eq!(capacity("z to y"), (1.25e9, "core".to_owned()));
    let latency = fabric.path_latency(PortId(0), PortId(2), 0);
    assert!((latency - 3e-6).abs() < 1e-12, "{latency}");
}

#[test]
fn a_file_may_be_compressed_or_begin_with_a_byte_order_mark() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(SITE.as_bytes()).unwrap();
    let marked = format!("\u{feff}{SITE}").into_bytes();
    let zstd = zstd::encode_all(SITE.as_bytes(), 1).unwrap();
    for (name, bytes) in [("gzip", gzip.finish().unwrap()), ("zstd", zstd), ("mark", marked)] {
        let fabric = read(bytes.as_slice(), "site.txt", RATE).and_then(|listed| {
            let ecmp = Ecmp { mode: listed.ecmp(), seed: 1 };
            listed.fabric("site.txt", ecmp)
        });
        assert_eq!(fabric.unwrap_or_else(|e| panic!("{name}: {e}")).links(), 12);
    }
    let cut = &zstd::encode_all(SITE.as_bytes(), 1).unwrap()[..20];
    let error = read(cut, "site.txt", RATE).expect_err("a file that ends early").to_string();
    assert!(error.starts_with("site.txt: expected a whole zstd file, found: "), "{error}");
}

#[test]
fn a_path_may_have_commas() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a,b=1,site.txt");
    std::fs::File::create(&path).unwrap().write_all(SITE.as_bytes()).unwrap();
    let spec = format!("file:{},ecmp=pair,place=spread", path.display());
    let network = open(&spec);
    assert_eq!(network.spec(), spec);
    let sprayed = error(&format!("file:{},ecmp=spray", path.display()));
    assert!(sprayed.starts_with("file: ecmp: spray needs a fat-tree or a leaf-spine"), "{sprayed}");
}

#[test]
fn broken_files_name_line_and_field() {
    let after = |line: &str| format!("{SITE}{line}\n");
    let small = "covey-topology 1\nhosts a b\nswitches x y\n";
    for (text, expected) in [
        (String::new(), "site.txt: line 1: header: expected 'covey-topology 1', or"),
        ("{}".to_owned(), "site.txt: line 1: header: expected 'covey-topology 1', or"),
        (
            "<!DOCTYPE html>".to_owned(),
            "as in a .topo file of htsim, found an HTML or XML file: save",
        ),
        (
            "Nodes 4\nConnections 1\n".to_owned(),
            "line 2: key: expected a topology (.topo), found a connection matrix (.cm)",
        ),
        (
            after("link a -- nowhere"),
            "line 15: to: expected the name of a host or switch, found \"nowhere\"",
        ),
        (
            after("link x -- z fast"),
            "line 15: capacity: expected a speed like 10gbps, from 1bps to",
        ),
        (after("link x -- z nan"), "line 15: capacity: expected a speed like 10gbps"),
        (after("link x -- z 0gbps"), "line 15: capacity: expected a speed like 10gbps"),
        (after("link x <- z"), "line 15: direction: expected -- (both) or -> (one), found \"<-\""),
        (
            after("link x -- z 1gbps latency=soon"),
            "line 15: latency: expected a time like 1us or 0",
        ),
        (after("link x -- z colour=red"), "line 15: link: expected CAPACITY, then latency=TIME"),
        (after("link x -- x"), "line 15: link: expected two different nodes, found one node twice"),
        (after("link a -- a"), "line 15: link: expected two different nodes, found one node twice"),
        (
            after("route a b y"),
            "line 15: route: expected the switch of host \"a\" at its end, found \"y\"",
        ),
        (
            after("route a c x"),
            "line 15: route: expected the switch of host \"c\" at its end, found \"x\"",
        ),
        (
            after("route b c x y x y"),
            "line 15: route: expected each link once, found \"x\" to \"y\" twice",
        ),
        (after("route a c x y"), "line 15: route: expected one route for each pair of hosts"),
        (after("route a z x"), "line 15: route: expected the name of a host, found \"z\""),
        (after("hosts a"), "line 15: hosts: expected each name once, found \"a\" twice"),
        (
            after("host d"),
            "line 15: first word: expected one of ecmp, default, hosts, switches, link, \
            route, found \"host\"; did you mean 'hosts'?",
        ),
        (after("ecmp spray"), "line 15: ecmp: expected one of flow, pair, modulo, found \"spray\""),
        (
            after("hosts d\nlink d -> x"),
            "line 15: host \"d\": expected a link out of it and one into it",
        ),
        (
            format!("{small}link a -- x\nlink b -- y\n"),
            "line 2: host \"a\": expected a path to every \
            host, found none to \"b\"",
        ),
        (
            format!("{small}link a -- x\nlink b -- y\nlink x -> y"),
            "line 2: host \"b\": expected a path \
            to every host, found none to \"a\"",
        ),
        (
            format!("{small}link a -- x\nlink b -- y\nroute a b x y"),
            "line 6: route: expected links that \
            exist, found \"x\" to \"y\"",
        ),
        (
            format!("{small}link a -- x\n"),
            "line 2: host \"b\": expected a link out of it and one into it, \
            found none out of it",
        ),
        ("covey-topology 1\n".to_owned(), "line 1: hosts: expected at least one, found none"),
    ] {
        let found = broken(&text);
        assert!(found.starts_with("site.txt: line "), "{found}");
        assert!(found.contains(expected), "{found}\nexpected {expected}");
        assert_eq!(found.lines().count(), 1);
    }
}

/// Bytes without an end and without a line break.
struct Garbage(u64);

impl std::io::Read for Garbage {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0 += buffer.len() as u64;
        assert!(self.0 < 1 << 22, "the reader stops early");
        buffer.fill(b'x');
        Ok(buffer.len())
    }
}

#[test]
fn endless_garbage_is_refused_early() {
    let found = read(std::io::BufReader::new(Garbage(0)), "site.txt", RATE).unwrap_err();
    assert_eq!(
        found.to_string(),
        "site.txt: line 1: line: expected at most 1 MiB, found a longer line"
    );
}

const TOPO: &str = "\
# Sixteen hosts in four pods
Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 1
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 1
radix_down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 500
Tier 2
Queue_Down 7
Downlink_speed_Gbps 1
Radix_Down 4
Downlink_Latency_ns 1000
Oversubscribed 1
";

#[test]
fn a_topo_file_is_a_tree() {
    let (tree, known) = (listed(TOPO), open("fat-tree:k=4,ecmp=modulo"));
    assert_eq!((tree.ports(), tree.links()), (16, 96));
    assert!(tree.capacity().iter().all(|c| *c == RATE));
    let with = |mode| {
        let listed = read(TOPO.as_bytes(), "", RATE).unwrap();
        listed.fabric("", Ecmp { mode, seed: 1 }).unwrap()
    };
    let modulo = with(EcmpMode::Modulo);
    for (src, dst) in (0..16).flat_map(|src| (0..16).map(move |dst| (src, dst))) {
        let expected = names(known.fabric(), src, dst, 0).join(" ");
        let expected = ["host", "edge", "agg", "core"]
            .iter()
            .fold(expected, |text, word| text.replace(&format!("{word} "), word));
        assert_eq!(names(&modulo, src, dst, 0).join(" "), expected);
    }
    // Six links of 1,000 ns, and two switches of 500 ns on the way.
    let latency = tree.path_latency(PortId(0), PortId(15), 0);
    assert!((latency - 7e-6).abs() < 1e-12, "{latency}");
}

#[test]
fn bundles_of_a_topo_file_are_parallel_links() {
    let text = TOPO.replace("Nodes 16", "Nodes 8").replace("Queue_Down 7", "Bundle 2");
    // Two pods, and each aggregation switch has both uplinks to one core.
    let fabric = listed(&text);
    assert_eq!(fabric.ports(), 8);
    let tier = |name: &str| {
        let inner = fabric.inner_links();
        inner.filter(|&link| fabric.tier(LinkId(link as u32)) == name).count()
    };
    assert_eq!((tier("edge up"), tier("agg up"), tier("agg down")), (8, 8, 8));
    assert!((0..100).any(|flow| names(&fabric, 0, 7, flow)[2].ends_with("(2)")));
}

#[test]
fn broken_topo_files_name_line_and_field() {
    for (from, to, expected) in [
        ("Nodes 16", "Nodes 15", "line 4: podsize: expected a divisor of Nodes, found 4"),
        (
            "Nodes 16",
            "Nodes many",
            "line 2: Nodes: expected a number from 0 to 1e12, found \"many\"",
        ),
        ("Nodes 16\n", "", "podsize"),
        ("Tiers 3", "Tiers 4", "line 3: tiers: expected 2 or 3, found 4"),
        ("Tier 2", "Tier 3", "line 16: Tier: expected a number from 0 to 2, found \"3\""),
        (
            "Radix_Down 4",
            "Radix_Down 5",
            "line 19: tier 2: radix_down: expected 4 switches below it",
        ),
        ("Radix_Down 2\n", "Radix 2\n", "line 7: key: expected one of downlink_speed_gbps"),
        (
            "Downlink_speed_Gbps 1\nradix_down",
            "Downlink_speed_Gbps 0\nradix_down",
            "line 11: Downlink",
        ),
        (
            "Switch_Latency_ns 500",
            "Oversubscribed 3",
            "line 15: Oversubscribed: expected the speed",
        ),
    ] {
        let text = TOPO.replacen(from, to, 1);
        assert_ne!(text, TOPO);
        let found = broken(&text);
        assert!(found.contains(expected) || expected == "podsize", "{found}\nexpected {expected}");
        assert_eq!(found.lines().count(), 1);
    }
}

fn flow(src: u32, dst: u32) -> Flow {
    Flow { src, dst, bytes: 1e6, start_s: 0.0 }
}

fn placed(spec: &str, ports: u32, flows: Vec<Flow>) -> (Vec<[u32; 2]>, Option<String>) {
    let coflows = vec![Coflow::new("c".to_owned(), 0.0, flows)];
    let (workload, note) = open(spec).place(Workload::new(ports, coflows));
    let ends = workload.coflows[0].flows.iter().map(|flow| [flow.src, flow.dst]);
    (ends.collect(), note)
}

#[test]
fn ports_become_hosts() {
    let flows = || vec![flow(0, 1), flow(9, 17)];
    let (packed, note) = placed("fat-tree:k=4,place=pack", 18, flows());
    assert_eq!(packed, [[0, 1], [9, 1]]);
    let note = note.expect("18 ports are more than 16 hosts");
    assert_eq!(note, "fat-tree:k=4,place=pack: 18 ports on 16 hosts: port p is number p mod 16");
    // Eight edge switches of two hosts: port 1 is the first host of the second.
    let (spread, _) = placed("fat-tree:k=4", 18, flows());
    assert_eq!(spread, [[0, 2], [3, 2]]);
    assert_eq!(placed("fat-tree:k=4", 16, flows()[..1].to_vec()).1, None);
    assert_eq!(placed("big-switch", 18, flows()[..1].to_vec()), (vec![[0, 1]], None));
}

#[test]
fn racks_deal_flows_to_their_hosts() {
    // Mappers 0 and 1, reducers 2 and 3, in the order of the text format: mapper by mapper.
    let flows = || vec![flow(0, 2), flow(0, 3), flow(1, 2), flow(1, 3)];
    let (ends, _) = placed("fat-tree:k=4,place=rack", 4, flows());
    // Dealt receiver by receiver: (0, 2), (1, 2), (0, 3), (1, 3).
    assert_eq!(ends, [[0, 4], [1, 6], [2, 5], [3, 7]]);
    let (_, note) = placed("fat-tree:k=4,place=rack", 9, flows());
    assert!(note.expect("9 racks").contains("9 ports on 8 edge switches"));
    // A rack of a file is a switch with hosts.
    let fabric = listed(SITE);
    assert_eq!(fabric.edge_switch(PortId(1)), fabric.edge_switch(PortId(0)));
}

#[test]
fn tiers_sum_up_busy_seconds() {
    let flows = vec![flow(0, 8), flow(0, 2), flow(0, 1)];
    let workload = Workload::new(16, vec![Coflow::new("c".to_owned(), 0.0, flows)]);
    let network = open("fat-tree:k=4,ecmp=modulo");
    let tiers = Tier::loads(&workload, network.fabric());
    let shown = tiers.iter().map(|t| (t.tier.as_str(), t.links, t.busiest.as_str()));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            ("host up", 16, "host 0 up"),
            ("edge up", 16, "edge 0 to agg 0"),
            ("agg up", 16, "agg 0 to core 0"),
            ("agg down", 16, "core 0 to agg 4"),
            ("edge down", 16, "agg 0 to edge 1"),
            ("host down", 16, "host 1 down"),
        ]
    );
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
    assert!(near(tiers[0].max_busy_s, 0.024) && near(tiers[0].mean_busy_s, 0.0015));
    assert!(near(tiers[1].max_busy_s, 0.016) && near(tiers[1].mean_busy_s, 0.001));
    assert!(near(tiers[2].max_busy_s, 0.008));

    let links = LinkLoad::all(&workload, network.fabric());
    assert_eq!(links.len(), 6 * 16);
    for tier in &tiers {
        let of_tier = || links.iter().filter(|link| link.tier == tier.tier);
        let sum: f64 = of_tier().map(|link| link.busy_s).sum();
        assert!(near(sum, tier.mean_busy_s * of_tier().count() as f64));
        let busiest = of_tier().find(|link| link.link == tier.busiest);
        assert!(busiest.is_some_and(|link| near(link.busy_s, tier.max_busy_s)));
    }
    assert_eq!(links[0].bytes, 3e6);
}

proptest! {
    #[test]
    fn any_text_gives_a_network_or_one_line(text in "(covey-topology 1\n|Nodes 4\n)?(.|\n){0,200}") {
        let found = read(text.as_bytes(), "site.txt", RATE).and_then(|listed| {
            listed.fabric("site.txt", Ecmp::default())
        });
        if let Err(error) = found {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    #[test]
    fn any_spec_gives_a_network_or_one_line(text in "(fat-tree|leaf-spine|file|big-switch)?:?.{0,40}") {
        if let Err(error) = Network::open(&text, 4, RATE) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}
