use super::*;
use covey_core::SplitMix;

/// What flows between senders 0.. and receivers 100.. of these lengths tell.
fn lengths(flows: &[(u32, u32, f64)]) -> Lengths {
    let mut lengths = Lengths::default();
    lengths.clear();
    flows.iter().for_each(|&(s, r, bytes)| lengths.add((LinkId(s), LinkId(100 + r)), bytes));
    lengths.fit();
    lengths
}

fn of(lengths: &Lengths, sender: u32, receiver: u32) -> f64 {
    lengths.number(0, LinkId(sender)) * lengths.number(1, LinkId(100 + receiver))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn one_flow_tells_of_all() {
    let known = lengths(&[(0, 0, 7.0)]);
    assert!(near(of(&known, 3, 4), 7.0));
}

/// Logarithms 0, 0 at one receiver and ln 16, ln 16 at another have no variance within receivers,
/// so `k` is at its lower limit, 0.02, and a receiver of two flows keeps 2 / 2.02 of its distance
/// from the middle, ln 4. Nothing is left for senders. The scale makes the estimates add up to 34.
#[test]
fn flows_to_one_receiver_are_taken_to_be_alike_when_they_are() {
    let known = lengths(&[(0, 0, 1.0), (1, 0, 1.0), (0, 1, 16.0), (1, 1, 16.0)]);
    let kept = 4.0_f64.powf(2.0 / 2.02);
    let scale = 34.0 / (2.0 * (4.0 / kept + 4.0 * kept));
    assert!(near(of(&known, 2, 0), scale * 4.0 / kept), "{}", of(&known, 2, 0));
    assert!(near(of(&known, 2, 1), scale * 4.0 * kept));
    assert!(near(of(&known, 2, 2), scale * 4.0), "a receiver of which nothing is known");
}

#[test]
fn flows_from_one_sender_are_taken_to_be_alike_when_they_are() {
    let known = lengths(&[(0, 0, 1.0), (0, 1, 1.0), (1, 0, 9.0), (1, 1, 9.0)]);
    assert!((of(&known, 1, 2) - 9.0).abs() < 0.3);
    assert!((of(&known, 0, 2) - 1.0).abs() < 0.1);
}

#[test]
fn lengths_are_products_when_both_ends_matter() {
    let pairs = (0..4).flat_map(|s| (0..4).map(move |r| (s, r)));
    let product = |s: u32, r: u32| f64::from((1 + s) * (1 + 3 * r));
    let flows: Vec<_> = pairs.map(|(s, r)| (s, r, product(s, r))).collect();
    let known = lengths(&flows);
    let error = |length: &dyn Fn(u32, u32) -> f64| -> f64 {
        flows.iter().map(|&(s, r, bytes)| (length(s, r) - bytes).abs()).sum()
    };
    let by_product = error(&|s, r| of(&known, s, r));
    // Exact means of the flows to a receiver.
    let by_receiver = error(&|_, r| 2.5 * f64::from(1 + 3 * r));
    assert!(by_product < by_receiver / 2.0, "{by_product} instead of {by_receiver}");
}

#[test]
fn groups_that_differ_by_chance_are_trusted_little() {
    let known = lengths(&[(0, 0, 2.0), (1, 0, 8.0), (2, 1, 3.0), (3, 1, 7.0), (4, 1, 5.0)]);
    assert!((of(&known, 9, 0) - 5.0).abs() < 0.5, "{}", of(&known, 9, 0));
}

/// A sender with many giants among senders with many tiny flows.
#[test]
fn a_heavy_sender_is_seen() {
    let flows = (0..10).flat_map(|r| (0..10).map(move |s| (s, r, if s == 0 { 1e9 } else { 1.0 })));
    let known = lengths(&flows.collect::<Vec<_>>());
    assert!((of(&known, 0, 20) / 1e9 - 1.0).abs() < 0.05, "{}", of(&known, 0, 20));
    assert!(of(&known, 5, 20) < 10.0, "{}", of(&known, 5, 20));
}

/// With lengths of an exponential distribution, the likelihood of a mean m is Π e^(-finished / m) /
/// m · Π e^(-in flight / m), which is greatest where m is all bytes over the number of finished
/// flows.
#[test]
fn censoring_finds_the_most_likely_mean_of_an_exponential_distribution() {
    let finished = [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.5, 9.0];
    let flows: Vec<_> = (0..200).map(|k| (0, 0, finished[k % 10])).collect();
    let known = lengths(&flows);
    assert!(near(known.inequality(), 1.0), "{}", known.inequality());
    let (bytes, in_flight) = (flows.iter().map(|flow| flow.2).sum::<f64>(), 100.0);
    let estimate = of(&known, 0, 0) * known.censoring(in_flight);
    let log_likelihood = |mean: f64| -(bytes + in_flight) / mean - 200.0 * mean.ln();
    for other in [0.9, 0.99, 1.01, 1.1] {
        assert!(
            log_likelihood(estimate) > log_likelihood(estimate * other),
            "{estimate} × {other}"
        );
    }
}

#[test]
fn equal_flows_are_not_unequal() {
    let flows: Vec<_> = (0..100).map(|k| (k % 10, k / 10, 5.0)).collect();
    let known = lengths(&flows);
    // 100 flows and 20 ports: 81 spare flows with no variation, and 5 as is usual.
    assert!(near(known.inequality(), 5.0 * 0.5 / 86.0), "{}", known.inequality());
    assert!(near(known.censoring(250.0), 1.0 + known.inequality() * 0.5));
    assert_eq!(known.censoring(0.0), 1.0);
}

#[test]
fn nothing_is_known_at_first() {
    let mut known = lengths(&[(0, 0, 7.0), (1, 1, 8.0)]);
    known.clear();
    assert_eq!((of(&known, 0, 0), known.inequality(), known.samples()), (1.0, 0.0, 0));
}

#[test]
fn flows_of_no_bytes_tell_that_others_have_none() {
    let known = lengths(&[(0, 0, 0.0), (1, 0, 0.0), (1, 1, 0.0)]);
    assert_eq!(of(&known, 2, 2), 0.0);
    assert!(known.censoring(5.0).is_finite() && known.inequality().is_finite());
}

/// Flows whose lengths depend on both ports and on chance, by different amounts from seed to seed.
fn random_flows(seed: u64) -> Vec<(u32, u32, f64)> {
    let mut random = SplitMix::new(seed);
    let ports = 1.0 + random.unit() * 9.0;
    let spread = [0; 3].map(|_| (random.unit() * 3.0 - 1.0).max(0.0) * 3.0);
    let of_port: Vec<f64> = (0..20).map(|_| random.unit()).collect();
    let mut flow = || {
        let [s, r] = [0; 2].map(|_| (random.unit() * ports) as usize);
        let noise = spread[2] * random.unit();
        let log = 3.0 + spread[0] * of_port[s] + spread[1] * of_port[10 + r] + noise;
        (s as u32, r as u32, log.exp())
    };
    (0..60).map(|_| flow()).collect()
}

/// Shrunk means by their definition, from the values themselves; `None` for a group without any.
fn shrunk(values: &[(u32, f64)]) -> (impl Fn(u32) -> f64 + use<>, f64) {
    let mut groups: std::collections::BTreeMap<u32, Vec<f64>> = std::collections::BTreeMap::new();
    values.iter().for_each(|&(group, value)| groups.entry(group).or_default().push(value));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (n, g) = (values.len() as f64, groups.len() as f64);
    let overall = mean(&values.iter().map(|value| value.1).collect::<Vec<_>>());
    let square = |x: f64| x * x;
    let (mut k, mut between) = (0.5, 0.0);
    if g > 1.0 && n > g {
        let inside = |of: &Vec<f64>| of.iter().map(|v| square(v - mean(of))).sum::<f64>();
        let within = groups.values().map(inside).sum::<f64>() / (n - g);
        let apart = |of: &Vec<f64>| of.len() as f64 * square(mean(of) - overall);
        let among = groups.values().map(apart).sum::<f64>() / (g - 1.0);
        let sizes = groups.values().map(|of| square(of.len() as f64)).sum::<f64>();
        between = ((among - within) / ((n - sizes / n) / (g - 1.0))).max(0.0);
        k = if between > 0.0 { (within / between).clamp(0.02, 50.0) } else { 50.0 };
    }
    let weight = move |of: &Vec<f64>| of.len() as f64 / (of.len() as f64 + k);
    let grand = groups.values().map(|of| weight(of) * mean(of)).sum::<f64>()
        / groups.values().map(weight).sum::<f64>();
    let of_group = move |group: u32| {
        groups.get(&group).map_or(grand, |of| grand + weight(of) * (mean(of) - grand))
    };
    (of_group, between)
}

/// The slow and obvious twin: the length of any flow, and the inequality, from all finished flows.
fn twin(flows: &[(u32, u32, f64)]) -> (impl Fn(u32, u32) -> f64 + use<>, f64) {
    let by_sender: Vec<_> = flows.iter().map(|f| (f.0, f.2.max(1.0).ln())).collect();
    let by_receiver: Vec<_> = flows.iter().map(|f| (f.1, f.2.max(1.0).ln())).collect();
    let receivers_first = shrunk(&by_receiver).1 * (1.0 + 1e-9) >= shrunk(&by_sender).1;
    let (own, other) =
        if receivers_first { (by_receiver, by_sender) } else { (by_sender, by_receiver) };
    let means = shrunk(&own).0;
    let residual = |(own, other): (&(u32, f64), &(u32, f64))| (other.0, other.1 - means(own.0));
    let factors = shrunk(&own.iter().zip(&other).map(residual).collect::<Vec<_>>()).0;
    let shape = move |s: u32, r: u32| {
        let (own, other) = if receivers_first { (r, s) } else { (s, r) };
        (means(own) + factors(other)).exp()
    };
    let sum = |of: &dyn Fn(&(u32, u32, f64)) -> f64| flows.iter().map(of).sum::<f64>();
    let scale = sum(&|f| f.2) / sum(&|f| shape(f.0, f.1));
    let length = move |s: u32, r: u32| scale * shape(s, r);
    let error = |f: &(u32, u32, f64)| f.2 - length(f.0, f.1);
    let cv2 = sum(&|f| error(f) * error(f)) / sum(&|f| length(f.0, f.1) * length(f.0, f.1));
    let ports = |of: &dyn Fn(&(u32, u32, f64)) -> u32| {
        flows.iter().map(of).collect::<std::collections::BTreeSet<_>>().len() as f64
    };
    let n = flows.len() as f64;
    let spare = (n + 1.0 - ports(&|f| f.0) - ports(&|f| f.1)).max(0.0);
    // cv² for as many degrees of freedom as there are, weighed against 5 flows with 0.5.
    let own = if spare > 0.0 { cv2 * n / spare } else { 0.0 };
    (length, ((spare * own + 5.0 * 0.5) / (spare + 5.0)).min(1.0))
}

#[test]
fn sums_kept_up_to_date_tell_the_same_as_all_flows_looked_at_again() {
    for seed in 0..300 {
        let flows = random_flows(seed);
        let mut known = Lengths::default();
        known.clear();
        for (k, &(s, r, bytes)) in flows.iter().enumerate() {
            known.add((LinkId(s), LinkId(100 + r)), bytes);
            if k % 7 != 0 {
                continue;
            }
            known.fit();
            let (length, inequality) = twin(&flows[..=k]);
            for (s, r) in (0..11).flat_map(|s| (0..11).map(move |r| (s, r))) {
                let (fast, slow) = (of(&known, s, r), length(s, r));
                assert!((fast / slow - 1.0).abs() < 1e-6, "seed {seed}, {k}: {fast}, {slow}");
            }
            let found = known.inequality();
            assert!((found - inequality).abs() < 1e-6, "seed {seed}, {k}: {found}, {inequality}");
        }
    }
}

#[test]
fn estimates_grow_as_sizes_do() {
    for seed in 0..100 {
        let flows = random_flows(seed);
        let once = lengths(&flows);
        for factor in [3.0, 1e6] {
            let scaled: Vec<_> =
                flows.iter().map(|&(s, r, bytes)| (s, r, bytes * factor)).collect();
            let known = lengths(&scaled);
            let ratio = of(&known, 1, 1) / of(&once, 1, 1) / factor;
            assert!((ratio - 1.0).abs() < 1e-6, "seed {seed}: {ratio}");
            assert!((known.inequality() - once.inequality()).abs() < 1e-6);
            let raise = known.censoring(1e4 * factor) / once.censoring(1e4);
            assert!((raise - 1.0).abs() < 1e-6, "seed {seed}: {raise}");
        }
    }
}
