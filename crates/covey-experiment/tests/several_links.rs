//! Hosts with several links: known answers, and a slow and obvious max-min over the links that
//! exist.

use std::io::Write;

use covey_core::state::Registration;
use covey_core::{Fabric, LinkId, PortId, SplitMix};
use covey_experiment::Setup;
use covey_topology::{Network, Tier};
use covey_trace::{Coflow, Flow, Workload};

/// Every host has a link to each of the switches, of a byte per second; `c` has one.
const TWO_SWITCHES: &str = "covey-topology 1
default 8bps
hosts a b c
switches x y
link a -- x
link a -- y
link b -- x
link b -- y
link c -- x
link x -- y
route a b y
";
/// Four hosts in a ring.
const RING: &str = "covey-topology 1
ecmp modulo
default 8bps
hosts h0 h1 h2 h3
link h0 -- h1
link h1 -- h2
link h2 -- h3
link h3 -- h0
";
/// GPUs with a link to the NVSwitch of their server and one to a leaf.
const GPUS: &str = "covey-topology 1
default 100gbps
hosts g0 g1 g2 g3
switches nv0 nv1 leaf
link g0 -- nv0 1600gbps
link g1 -- nv0 1600gbps
link g2 -- nv1 1600gbps
link g3 -- nv1 1600gbps
link g0 -- leaf
link g1 -- leaf
link g2 -- leaf
link g3 -- leaf
";

fn network(text: &str) -> Network {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let spec = format!("file:{}", file.path().display());
    Network::open(&spec, 0, 1.0).unwrap_or_else(|error| panic!("{error}"))
}

/// Coflows of one flow each, all at once: source, destination, bytes.
fn workload(ports: u32, flows: &[(u32, u32, f64)]) -> Workload {
    let coflow = |(n, &(src, dst, bytes)): (usize, &(u32, u32, f64))| {
        Coflow::new(n.to_string(), 0.0, vec![Flow { src, dst, bytes, start_s: 0.0 }])
    };
    let coflows = flows.iter().enumerate().map(coflow).collect();
    Workload { ports, coflows, ..Workload::default() }
}

/// Completion times of all coflows.
fn ends(network: &Network, workload: &Workload, spec: &str) -> Vec<f64> {
    let mut policy = covey_sched::build(spec).unwrap().policy;
    let outcome = covey_sim::simulate(workload, network.fabric(), spec, &mut policy, &mut ());
    outcome
        .unwrap_or_else(|e| panic!("{spec}: {e}"))
        .coflows
        .iter()
        .map(|c| c.completion_s)
        .collect()
}

fn names(fabric: &Fabric, src: u32, dst: u32, flow: u64) -> Vec<String> {
    let mut path = Vec::new();
    fabric.path(PortId(src), PortId(dst), flow, &mut path);
    let real = path.iter().filter(|link| fabric.is_link(**link));
    real.map(|&link| fabric.link_name(link)).collect()
}

/// Two flows of 4 bytes leave `a` over different links, so each takes 4 seconds, whatever the
/// policy.
#[test]
fn no_policy_lets_the_links_of_a_host_share() {
    let (network, workload) = (network(TWO_SWITCHES), workload(3, &[(0, 2, 4.0), (0, 1, 4.0)]));
    assert_eq!(names(network.fabric(), 0, 1, 0), ["a to y", "y to b"]);
    assert_eq!(names(network.fabric(), 0, 2, 0), ["a to x", "c down"]);
    for info in covey_sched::policies() {
        // A flow that is compressed is shorter.
        if covey_sched::build(info.name).unwrap().compression.is_some() {
            continue;
        }
        // Coordination of some policies takes milliseconds.
        let found = ends(&network, &workload, info.name);
        assert!(found.iter().all(|end| (4.0..4.1).contains(end)), "{}: {found:?}", info.name);
    }
    let isolated_s = covey_sim::bound::bounds(&workload, network.fabric()).isolated_s;
    assert!((isolated_s - 4.0).abs() < 1e-6, "{isolated_s}");
}

#[test]
fn hosts_of_a_ring_pass_on_traffic() {
    let network = network(RING);
    // Of two ways of two links modulo takes the first.
    assert_eq!(names(network.fabric(), 0, 2, 0), ["h0 to h1", "h1 to h2"]);
    assert_eq!(names(network.fabric(), 3, 0, 0), ["h3 to h0"]);
    assert_eq!(names(network.fabric(), 1, 1, 0), ["h1 to h0", "h0 to h1"]);
    // The link from h1 to h2 is shared until 4 s; then 2 bytes are left.
    let found = ends(&network, &workload(4, &[(0, 2, 4.0), (1, 2, 2.0)]), "fair");
    assert_eq!(found, [6.0, 4.0]);
    // In order, the small one goes first.
    let found = ends(&network, &workload(4, &[(0, 2, 4.0), (1, 2, 2.0)]), "sebf");
    assert_eq!(found, [6.0, 2.0]);
}

#[test]
fn a_host_sends_on_the_fastest_of_its_links_on_shortest_paths() {
    let network = network(GPUS);
    for flow in 0..20 {
        assert_eq!(names(network.fabric(), 0, 1, flow), ["g0 to nv0", "nv0 to g1"]);
        assert_eq!(names(network.fabric(), 0, 2, flow), ["g0 to leaf", "leaf to g2"]);
    }
    let workload = workload(4, &[(0, 1, 2e11), (0, 2, 1.25e10)]);
    assert_eq!(ends(&network, &workload, "fair"), [1.0, 1.0]);
    // Hosts' links are inner links of their own tiers, and the ports that stand for them are none.
    let tiers = Tier::loads(&workload, network.fabric());
    let found: Vec<_> = tiers.iter().map(|t| (t.tier.as_str(), t.links, t.max_busy_s)).collect();
    assert_eq!(found, [("host up", 8, 1.0), ("host down", 8, 1.0)]);
    // The bound of a coflow alone is a second on either path.
    let isolated_s = covey_sim::bound::bounds(&workload, network.fabric()).isolated_s;
    assert!((isolated_s - 1.0).abs() < 1e-6, "{isolated_s}");
}

/// Rates of flows over paths, by filling all links that exist step by step.
fn max_min(paths: &[Vec<usize>], capacity: &[f64]) -> Vec<f64> {
    let mut rates = vec![None; paths.len()];
    while rates.contains(&None) {
        let level = |link: usize| {
            let of = |n: &usize| paths[*n].contains(&link);
            let fixed: f64 = (0..paths.len()).filter(of).filter_map(|n| rates[n]).sum();
            let open = (0..paths.len()).filter(of).filter(|n| rates[*n].is_none()).count();
            (open > 0).then(|| ((capacity[link] - fixed) / open as f64, link))
        };
        let least = (0..capacity.len()).filter_map(level);
        let (rate, full) = least.min_by(|a, b| a.0.total_cmp(&b.0)).expect("a link");
        for (n, path) in paths.iter().enumerate() {
            if path.contains(&full) && rates[n].is_none() {
                rates[n] = Some(rate);
            }
        }
    }
    rates.into_iter().flatten().collect()
}

/// When flows that start together end, with rates from scratch at every end.
fn naive_ends(paths: &[Vec<usize>], bytes: &[f64], capacity: &[f64]) -> Vec<f64> {
    let (mut left, mut ends, mut now) = (bytes.to_vec(), vec![0.0; bytes.len()], 0.0);
    let mut open: Vec<usize> = (0..bytes.len()).collect();
    while !open.is_empty() {
        let of: Vec<_> = open.iter().map(|&n| paths[n].clone()).collect();
        let rates = max_min(&of, capacity);
        let step =
            open.iter().zip(&rates).map(|(&n, rate)| left[n] / rate).fold(f64::INFINITY, f64::min);
        now += step;
        open.iter().zip(&rates).for_each(|(&n, rate)| left[n] -= rate * step);
        let (ended, others) = open.iter().partition(|n| left[**n] <= 1e-9 * bytes[**n]);
        open = others;
        let ended: Vec<usize> = ended;
        ended.into_iter().for_each(|n| ends[n] = now);
    }
    ends
}

#[test]
fn fair_is_max_min_over_the_links_that_exist() {
    let mut random = SplitMix::new(51);
    let mut pick = |of: u64| random.below(of);
    for _ in 0..200 {
        // Hosts with one to three links to switches, some of them in a ring as well; speeds of 1 to
        // 4 bytes per second.
        let (hosts, switches) = (3 + pick(4), 2 + pick(2));
        let mut text = String::from("covey-topology 1\nhosts");
        (0..hosts).for_each(|h| text += &format!(" h{h}"));
        text += "\nswitches";
        (0..switches).for_each(|s| text += &format!(" s{s}"));
        text += "\n";
        (1..switches).for_each(|s| text += &format!("link s0 -- s{s} {}bps\n", 8 * (1 + pick(4))));
        for h in 0..hosts {
            for _ in 0..1 + pick(3) {
                text += &format!("link h{h} -- s{} {}bps\n", pick(switches), 8 * (1 + pick(4)));
            }
            if pick(2) == 0 {
                text += &format!("link h{h} -- h{} {}bps\n", (h + 1) % hosts, 8 * (1 + pick(4)));
            }
        }
        let network = network(&text);
        let fabric = network.fabric();
        let flows: Vec<_> = (0..1 + pick(8))
            .map(|_| (pick(hosts) as u32, pick(hosts) as u32, 1.0 + pick(20) as f64))
            .collect();
        let mut paths = Vec::new();
        for (n, &(src, dst, _)) in (0..).zip(&flows) {
            let mut path = Vec::new();
            let number = Registration { seq: n, ..Registration::default() }.flow_number(0);
            fabric.path(PortId(src), PortId(dst), number, &mut path);
            let real = path.into_iter().filter(|link| fabric.is_link(*link));
            paths.push(real.map(LinkId::index).collect::<Vec<_>>());
        }
        let bytes: Vec<f64> = flows.iter().map(|flow| flow.2).collect();
        let expected = naive_ends(&paths, &bytes, fabric.capacity());
        let found = ends(&network, &workload(hosts as u32, &flows), "fair");
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{text}{flows:?}: {found} {expected}");
        }
    }
}

#[test]
fn hosts_pass_nothing_on_between_switches_unless_a_route_says_so() {
    const CHAIN: &str = "covey-topology 1\nhosts a b c\nswitches x y\nlink a -- x\nlink b -- x\nlink b -- y\nlink c -- y\n";
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(CHAIN.as_bytes()).unwrap();
    let spec = format!("file:{}", file.path().display());
    let setup = Setup { fabric: spec, ..Setup::default() };
    let error = setup.network(3).expect_err("no path").to_string();
    assert!(
        error.ends_with("line 2: host \"a\": expected a path to every host, found none to \"c\""),
        "{error}"
    );
    let network = network(&format!("{CHAIN}route a c x b y\nroute c a y b x\n"));
    assert_eq!(names(network.fabric(), 0, 2, 0), ["a up", "x to b", "b to y", "c down"]);
}
