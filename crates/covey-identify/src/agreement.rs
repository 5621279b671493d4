//! The slow and obvious twin: DBSCAN over all pairs. The fast forms are compared with it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use crate::dbscan::{dbscan, rough_dbscan};
use crate::identify::Recorded;
use crate::{
    Address, Attribute, Clusterer, FlowNumber, GroupNumber, Metric, Observed, Observer, Point,
    accuracy, identify,
};

/// The group of each point: the number of the first core point that is connected with it.
fn naive_dbscan(
    points: &[Point],
    observer: &Observer,
    metric: &Metric,
    min_points: usize,
) -> Vec<u32> {
    let distance =
        |x: usize, y: usize| metric.distance(&observer.differences(&points[x], &points[y]));
    let all = || 0..points.len();
    let near = |x: usize| all().filter(move |&y| distance(x, y) <= metric.radius);
    let is_core: Vec<bool> = all().map(|x| near(x).count() >= min_points).collect();
    let mut group = vec![None; points.len()];
    for first in all().filter(|&x| is_core[x]) {
        let mut frontier = vec![first];
        while let Some(x) = frontier.pop() {
            if group[x].is_none() {
                group[x] = Some(first);
                frontier.extend(near(x).filter(|&y| is_core[y]));
            }
        }
    }
    let of_border = |x: usize| {
        let cores = near(x).filter(|&y| is_core[y]);
        cores.min_by(|&a, &b| distance(x, a).total_cmp(&distance(x, b)))
    };
    let groups = all().map(|x| match group[x] {
        Some(group) => group as u32,
        None => of_border(x).map_or(x, |core| group[core].unwrap_or(core)) as u32,
    });
    groups.collect()
}

/// Whether two lists put the same flows together.
fn are_equal(a: &[u32], b: &[u32]) -> bool {
    let mut pairs = [BTreeMap::new(), BTreeMap::new()];
    let mut is_function = |k: usize, from: u32, to: u32| *pairs[k].entry(from).or_insert(to) == to;
    a.iter().zip(b).all(|(&a, &b)| is_function(0, a, b) && is_function(1, b, a))
}

/// The default with leaders that gather only flows without any difference: nothing is lost.
fn lossless() -> Metric {
    let mut metric = Metric::default();
    metric.leader_radius = 0.0;
    metric
}

/// A metric with a full matrix, in which attributes work together.
fn full() -> Metric {
    let mut matrix = *Metric::default().matrix();
    let (start, peers) = (Attribute::Start as usize, Attribute::Peers as usize);
    matrix[(start, peers)] = 1.5;
    matrix[(peers, start)] = 1.5;
    let mut metric = Metric::new(matrix, [1.0; crate::ATTRIBUTES]);
    metric.leader_radius = 0.0;
    metric
}

/// Flows of three hosts of each side, two programs and a shared service, close in time.
fn flows() -> impl Strategy<Value = Vec<Observed>> {
    let address = |k: u32| Address::from(IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + k)));
    let sports = prop::sample::select(vec![0_u16, 13_562, 40_001, 40_002]);
    let flow = (0_u32..60, 0_u32..3, 2_u32..6, sports, 50_000_u16..50_003);
    let observed = move |(ms, src, dst, sport, dport): (u32, u32, u32, u16, u16)| Observed {
        start_s: f64::from(ms * ms) * 1e-3,
        src: address(src),
        dst: address(dst),
        sport,
        dport: if sport == 0 { 0 } else { dport },
        protocol: 6,
        community: None,
    };
    prop::collection::vec(flow.prop_map(observed), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn recorded_flows_are_grouped_as_by_all_pairs(flows in flows(), min_points in 1_u32..4) {
        for metric in [lossless(), full()] {
            let recorded = Recorded::new(&flows);
            let Recorded { points, observer, .. } = &recorded;
            let naive = naive_dbscan(points, observer, &metric, min_points as usize);
            let weights = vec![1; points.len()];
            let fast = dbscan(points, &weights, observer, &metric, min_points);
            prop_assert!(are_equal(&naive, &fast), "{naive:?} {fast:?}");
            if min_points == 1 {
                let rough = rough_dbscan(points, observer, &metric, 1);
                prop_assert!(are_equal(&naive, &rough), "{naive:?} {rough:?}");
            }
        }
    }

    #[test]
    fn live_flows_are_grouped_as_by_all_pairs(
        mut flows in flows(),
        choices in prop::collection::vec((0_u32..3, any::<prop::sample::Index>()), 60),
        in_order in any::<bool>(),
    ) {
        if in_order {
            flows.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        }
        for metric in [lossless(), full()] {
            let mut mirror = Mirror::new(metric);
            for (flow, (ends, which)) in flows.iter().zip(&choices) {
                mirror.start(flow);
                for _ in 0..*ends {
                    mirror.end(which);
                }
                if *ends != 1 {
                    mirror.check()?;
                }
            }
            while !mirror.live.is_empty() {
                mirror.end(&choices[0].1);
                mirror.check()?;
            }
        }
    }
}

/// A clusterer, and what its reports say.
struct Mirror {
    clusterer: Clusterer,
    live: Vec<(FlowNumber, Point)>,
    groups: BTreeMap<FlowNumber, GroupNumber>,
}

impl Mirror {
    fn new(metric: Metric) -> Mirror {
        Mirror { clusterer: Clusterer::new(metric), live: Vec::new(), groups: BTreeMap::new() }
    }

    fn start(&mut self, flow: &Observed) {
        let number = self.clusterer.start(flow);
        self.live.push((number, self.clusterer.point(number)));
    }

    fn end(&mut self, which: &prop::sample::Index) {
        if !self.live.is_empty() {
            let (number, _) = self.live.swap_remove(which.index(self.live.len()));
            self.clusterer.end(number);
            self.groups.remove(&number);
        }
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        for moved in self.clusterer.refresh() {
            prop_assert_eq!(self.groups.insert(moved.flow, moved.to), moved.from);
        }
        let clusterer = &self.clusterer;
        let points: Vec<Point> = self.live.iter().map(|(_, point)| *point).collect();
        let naive = naive_dbscan(&points, clusterer.observer(), clusterer.metric(), 1);
        let found: Vec<u32> = self.live.iter().map(|(flow, _)| self.groups[flow].0).collect();
        prop_assert!(are_equal(&naive, &found), "{:?} {:?}", naive, found);
        let mut near = Vec::new();
        for (flow, point) in &self.live {
            let group = self.groups[flow];
            prop_assert_eq!(clusterer.group(*flow), Some(group));
            prop_assert!(clusterer.flows(group).any(|member| member == *flow));
            clusterer.near(*flow, 1.4, &mut near);
            let mut expected = BTreeMap::<GroupNumber, f64>::new();
            for (other, there) in &self.live {
                let differences = clusterer.observer().differences(point, there);
                let distance = clusterer.metric().distance(&differences);
                let least = expected.entry(self.groups[other]).or_insert(f64::INFINITY);
                *least = least.min(distance);
            }
            expected.remove(&group);
            expected.retain(|_, distance| *distance < 1.4);
            let found: BTreeMap<GroupNumber, f64> = near.iter().copied().collect();
            prop_assert_eq!(found, expected);
        }
        Ok(())
    }
}

/// Shuffles of 6 × 8 hosts, four applications, starts with noise.
fn shuffles(noise_s: f64) -> (Vec<Observed>, Vec<u32>) {
    let mut random = covey_core::SplitMix::new(7);
    let mut flows = Vec::new();
    for coflow in 0..200_u32 {
        let application = random.below(4) as u16;
        let (first_src, first_dst) = (random.below(10) as u32, random.below(10) as u32);
        for (src, dst) in (0..6).flat_map(|src| (0..8).map(move |dst| (src, dst))) {
            let noise: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            let observed = Observed {
                start_s: f64::from(coflow) + noise_s * noise,
                src: Address::host(first_src + src),
                dst: Address::host(first_dst + dst),
                sport: 40_000 + application,
                dport: 50_000 + random.below(1_000) as u16,
                protocol: 6,
                community: None,
            };
            flows.push((observed, coflow));
        }
    }
    flows.into_iter().unzip()
}

#[test]
fn leaders_and_increments_lose_little() {
    let (flows, coflows) = shuffles(0.1);
    let f1 = |groups: &[u32]| accuracy(groups, &coflows).per_coflow.f1();
    let exact =
        f1(&identify(&flows, &Metric::default(), crate::Algorithm::Dbscan { min_points: 1 }));
    let rough = f1(&identify(&flows, &Metric::default(), crate::Algorithm::DEFAULT));
    assert!(exact > 0.95, "{exact}");

    assert!((exact - rough).abs() <= 0.01, "{exact} {rough}");
    // The observer does not know the flows in advance: it learns services and the time scale as it
    // goes.
    let live = f1(&live(&flows));
    assert!((exact - live).abs() <= 0.05, "{exact} {live}");
}

/// The group of each flow two seconds after its start, when it ends.
fn live(flows: &[Observed]) -> Vec<u32> {
    let mut in_order: Vec<usize> = (0..flows.len()).collect();
    in_order.sort_by(|&a, &b| flows[a].start_s.total_cmp(&flows[b].start_s));
    let mut clusterer = Clusterer::new(Metric::default());
    let mut groups = vec![0; flows.len()];
    // A group's name is its first flow, because its number is used again.
    let mut names = BTreeMap::new();
    let mut live = std::collections::VecDeque::<(usize, FlowNumber)>::new();
    let mut end = |clusterer: &mut Clusterer, (place, flow): (usize, FlowNumber)| {
        clusterer.refresh();
        let group = clusterer.group(flow).expect("it is refreshed");
        let members = clusterer.flows(group).count();
        groups[place] = *names.entry(group).or_insert(place as u32);
        if members == 1 {
            names.remove(&group);
        }
        clusterer.end(flow);
    };
    for place in in_order {
        while let Some(&(first, flow)) = live.front()
            && flows[first].start_s + 2.0 < flows[place].start_s
        {
            live.pop_front();
            end(&mut clusterer, (first, flow));
        }
        live.push_back((place, clusterer.start(&flows[place])));
    }
    live.into_iter().for_each(|flow| end(&mut clusterer, flow));
    groups
}

#[test]
fn times_in_another_unit_give_the_same_groups() {
    let (flows, _) = shuffles(0.1);
    let groups = |factor: f64| {
        let scaled = |flow: &Observed| Observed { start_s: factor * flow.start_s, ..*flow };
        let flows: Vec<Observed> = flows.iter().map(scaled).collect();
        identify(&flows, &Metric::default(), crate::Algorithm::DEFAULT)
    };
    // Powers of two of an octave's two bins: rounding cannot move a gap to another bin.
    assert!(are_equal(&groups(1.0), &groups(1024.0)));
    assert!(are_equal(&groups(1.0), &groups(1.0 / 64.0)));
}

/// A coordinator that starts anew hears of all flows again, from one sender after another.
#[test]
fn flows_that_come_late_are_grouped_as_if_in_order() {
    let flow = |(coflow, src, dst): (u32, u32, u32)| Observed {
        start_s: 0.3 * f64::from(coflow) + 1e-3 * f64::from(4 * dst - src),
        src: Address::host(src),
        dst: Address::host(10 + dst),
        sport: 40_000 + coflow as u16,
        dport: 9_000,
        protocol: 6,
        community: None,
    };
    let all = |src| (0..3).flat_map(move |coflow| (1..3).map(move |dst| flow((coflow, src, dst))));
    let by_sender: Vec<Observed> = (0..4).flat_map(all).collect();
    let groups = |flows: &[Observed]| {
        let mut clusterer = Clusterer::new(Metric::default());
        let numbers: Vec<FlowNumber> = flows.iter().map(|flow| clusterer.start(flow)).collect();
        clusterer.refresh();
        let group = |flow: FlowNumber| clusterer.group(flow).expect("it is refreshed").0;
        numbers.into_iter().map(group).collect::<Vec<u32>>()
    };
    let coflows =
        |flows: &[Observed]| flows.iter().map(|flow| u32::from(flow.sport)).collect::<Vec<u32>>();
    let mut in_order = by_sender.clone();
    in_order.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    let mut backwards = in_order.clone();
    backwards.reverse();
    for flows in [in_order, by_sender, backwards] {
        assert!(are_equal(&groups(&flows), &coflows(&flows)), "{:?}", groups(&flows));
    }
}
