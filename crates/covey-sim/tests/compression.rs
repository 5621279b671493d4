//! Compression: the claims of Swallow (IPDPS 2018), rules for random workloads, and a slow and
//! obvious counterpart that steps through time.

use std::ops::ControlFlow;

use crate::common::{COMPRESSED, as_trace, ccts, flow, policies, policy, run, served};
use covey_core::{
    Answer, AnyPolicy, CODECS, Codec, Compress, Fabric, Group, NonClairvoyant, Plan, Policy, Share,
    Time, View,
};
use covey_sim::{Observer, Round, Simulator};
use covey_trace::results::Outcome;
use covey_trace::{Availability, Change, Coflow, Flow, Workload};
use proptest::collection::vec;
use proptest::prelude::*;

/// Runs with processors that are available at times.
fn run_with(
    workload: &Workload,
    fabric: &Fabric,
    processors: &Availability,
    policy: &mut AnyPolicy,
    observer: &mut dyn Observer,
) -> Outcome {
    let mut simulator = Simulator::new(fabric.clone()).with_processors(processors.clone());
    simulator.run(workload, "policy", policy, observer).unwrap_or_else(|error| panic!("{error}"))
}

/// One flow of `bytes` bytes over one link.
fn alone(bytes: f64) -> Workload {
    let coflow = Coflow::new("a".to_owned(), 0.0, vec![flow(0, 0, bytes)]);
    Workload::new(1, vec![coflow])
}

// Claims.

/// The speed-up of one flow with each codec.
fn speed_ups(rate: f64, overlap: bool) -> Vec<f64> {
    let fabric = Fabric::big_switch(1, rate).unwrap();
    let cct = |spec: &str| ccts(&run(&alone(1e9), &fabric, spec))[0];
    let plain = cct("sebf");
    let spec = |name| format!("fvdf:codec={name},overlap={overlap}");
    CODECS[..5].iter().map(|(name, _)| plain / cct(&spec(name))).collect()
}

fn rounded(numbers: &[f64]) -> Vec<f64> {
    numbers.iter().map(|number| (number * 100.0).round() / 100.0).collect()
}

#[test]
fn one_flow_is_faster_by_the_bandwidth_over_speed_plus_ratio() {
    // 1 / (B / R + ξ), for LZ4, LZO, Snappy, LZF and Zstandard.
    assert_eq!(rounded(&speed_ups(12.5e6, false)), [1.57, 1.88, 1.92, 1.88, 2.59]);
    assert_eq!(rounded(&speed_ups(125e6, false)), [1.28, 1.25, 1.16, 1.02, 1.38]);
}

#[test]
fn a_later_coflow_is_compressed_too_though_one_plan_serves_all() {
    let coflow = |name: &str, arrival_s, port| {
        Coflow::new(name.to_owned(), arrival_s, vec![flow(port, port, 1e9)])
    };
    let workload = Workload::new(2, vec![coflow("a", 0.0, 0), coflow("b", 1.0, 1)]);
    let fabric = Fabric::big_switch(2, 12.5e6).unwrap();
    let found = ccts(&run(&workload, &fabric, "fair:compress=lz4"));
    assert_eq!(rounded(&found), rounded(&[found[0]; 2]));
    assert!(found[0] < 1e9 / 12.5e6 / 1.5);
}

#[test]
fn compression_is_disabled_when_bandwidth_is_sufficient() {
    assert_eq!(speed_ups(1250e6, false), [1.0; 5]);
}

#[test]
fn sent_while_it_is_compressed_a_flow_is_faster_by_up_to_the_inverse_ratio() {
    let speed_ups = speed_ups(12.5e6, true);
    for (speed_up, (name, codec)) in speed_ups.iter().zip(CODECS) {
        let compressed = 1.0 / codec.ratio;
        assert!(*speed_up <= compressed * (1.0 + 1e-9) && *speed_up > compressed * 0.999, "{name}");
    }
}

#[test]
fn a_network_faster_than_the_processor_sends_raw_bytes_beside_compressed_ones() {
    // V falls at B + R (1 - ξ) to the end: LZ4 takes 297 MB/s on top of 1250.
    let fabric = Fabric::big_switch(1, 1250e6).unwrap();
    let outcome = run(&alone(1e9), &fabric, "fvdf:overlap=true");
    let expected = 1e9 / (1250e6 + 785e6 * (1.0 - 0.6215));
    assert!((ccts(&outcome)[0] - expected).abs() < 1e-9);
    let wire = 1e9 - outcome.compression[0].saved_bytes;
    assert!((wire - 1250e6 * expected).abs() < 1.0);
}

/// Two coflows over one link of 10 bytes a second, with a processor of 4. Compressing takes 2 bytes
/// of volume a second.
fn one_behind_the_other(spec: &str) -> Vec<f64> {
    let coflow = |name: &str, bytes| Coflow::new(name.to_owned(), 0.0, vec![flow(0, 0, bytes)]);
    let workload = Workload::new(1, vec![coflow("a", 100.0), coflow("b", 200.0)]);
    ccts(&run(&workload, &Fabric::big_switch(1, 10.0).unwrap(), spec))
}

#[test]
fn what_waits_is_compressed_since_no_bandwidth_remains_for_it() {
    // Eq. 2 and 3. While a is sent, b shrinks by 20 bytes. Then 10 bytes a second remain for b, and
    // it is sent.
    let remaining = one_behind_the_other("fvdf:codec=32bps:0.5");
    assert_eq!(rounded(&remaining), [10.0, 28.0]);
    let capacity = one_behind_the_other("fvdf:codec=32bps:0.5,bandwidth=capacity");
    assert_eq!(rounded(&capacity), [10.0, 30.0]);
}

#[test]
fn a_flow_has_the_ratio_of_its_data() {
    // Table I: applications differ. At 1 byte a second everything that can be compressed is.
    let fabric = Fabric::big_switch(2, 1.0).unwrap();
    let made = |change: &dyn Fn(&mut Coflow)| {
        let mut coflow =
            Coflow::new("a".to_owned(), 0.0, vec![flow(0, 0, 100.0), flow(1, 1, 100.0)]);
        change(&mut coflow);
        let workload = Workload::new(2, vec![coflow]);
        run(&workload, &fabric, "fvdf:codec=32bps:0.5").compression[0].saved_bytes.round()
    };
    assert_eq!(made(&|_| ()), 100.0);
    assert_eq!(made(&|coflow| coflow.compressible.ratio = Some(0.2)), 160.0);
    assert_eq!(made(&|coflow| coflow.compressible.flows = vec![(1, 0.2)]), 130.0);
    // Pseudocode 1: only if the flow is compatible with compression.
    assert_eq!(made(&|coflow| coflow.compressible.flows = vec![(1, 1.0)]), 50.0);
    // smartCompress: the application has switched it off.
    assert_eq!(made(&|coflow| coflow.compressible.off = true), 0.0);
}

#[test]
fn a_bounded_wait_serves_a_large_coflow_among_small_ones() {
    // A link of which small coflows take 96 % for 2000 seconds; the large one needs 40 alone.
    let mut coflows = vec![Coflow::new("large".to_owned(), 0.0, vec![flow(0, 0, 40.0)])];
    for k in 0..2000 {
        coflows.push(Coflow::new(format!("small {k}"), f64::from(k), vec![flow(0, 0, 0.99)]));
    }
    let workload = Workload::new(1, coflows);
    let fabric = Fabric::big_switch(1, 1.0).unwrap();
    let large = |starvation: &str| {
        let spec = format!("fvdf:codec=1bps:0.9,{starvation}");
        run(&workload, &fabric, &spec).coflows[0].completion_s
    };
    assert!(large("logbase=1") > 1990.0);
    // Overdue after 30 s and 16 times its 40 s. From then on it has 5 % of the time, and what is
    // left over.
    let waits = large("starvation=wait");
    assert!(waits > 670.0 && waits < 670.0 + 2.0 + 40.0 / 0.05, "{waits}");
}

#[test]
fn priority_serves_a_large_coflow_among_small_ones() {
    // A link that small coflows fill by themselves for 200 seconds.
    let mut coflows = vec![Coflow::new("large".to_owned(), 0.0, vec![flow(0, 0, 50.0)])];
    for k in 0..200 {
        let name = format!("small {k}");
        coflows.push(Coflow::new(name, f64::from(k), vec![flow(0, 0, 1.0)]));
    }
    let workload = Workload::new(1, coflows);
    let fabric = Fabric::big_switch(1, 1.0).unwrap();
    let large = |logbase: f64| {
        // Nothing is compressed; this tests the order alone.
        let spec = format!("fvdf:codec=1bps:0.9,bandwidth=capacity,logbase={logbase}");
        run(&workload, &fabric, &spec).coflows[0].completion_s
    };
    assert_eq!(large(1.0), 250.0);
    // Priority grows twice a second: 50 / 1.2^n < 1 from n = 22 on.
    assert!(large(1.2) < 100.0, "{}", large(1.2));
}

#[test]
fn ratios_of_table_iii_decide_what_is_saved() {
    let fabric = Fabric::big_switch(1, 125e6).unwrap();
    let outcome = run(&alone(1.01e6), &fabric, "fvdf:ratio=size");
    let saved = 1.01e6 * (1.0 - 0.4124);
    assert!((outcome.compression[0].saved_bytes - saved).abs() < 1e-3);
}

#[test]
fn a_codec_that_never_pays_changes_nothing_under_any_policy() {
    let pairs = (0..4).flat_map(|s| (0..4).map(move |r| (s, r)));
    let coflow = |k: u32| {
        let flows = pairs.clone().filter(|(s, r)| !(s + r + k).is_multiple_of(3));
        let bytes = |s, r| f64::from(1 + (k * 7 + s * 3 + r * 11) % 13);
        let flows = flows.map(|(s, r)| flow(s, r, bytes(s, r))).collect();
        Coflow::new(k.to_string(), f64::from(k) * 2.5, flows)
    };
    let workload = Workload::new(4, (0..12).map(coflow).collect());
    let fabric = Fabric::big_switch(4, 1.0).unwrap();
    for spec in policies().filter(|spec| !policy(spec).wants().regroups) {
        let separator = if spec.contains(':') { ',' } else { ':' };
        let plain = run(&workload, &fabric, spec);
        let found = run(&workload, &fabric, &format!("{spec}{separator}compress=1bps:0.9"));
        assert_eq!(found.coflows, plain.coflows, "{spec}");
        assert_eq!(found.flow_completion_s, plain.flow_completion_s, "{spec}");
        assert!(found.compression.iter().all(|c| c.saved_bytes == 0.0 && c.cpu_s == 0.0));
    }
}

// Rules.

/// Sums the bytes that each coflow sends.
struct Wire {
    last: Time,
    rates: Vec<f64>,
    sent: Vec<f64>,
}

impl Observer for Wire {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        for (sent, rate) in self.sent.iter_mut().zip(&self.rates) {
            *sent += rate * (round.now - self.last);
        }
        self.last = round.now;
        self.rates.fill(0.0);
        for flow in served(round) {
            self.rates[flow.trace_index] += flow.rate;
        }
        ControlFlow::Continue(())
    }
}

/// Processors that are available in part, at times.
fn processors() -> impl Strategy<Value = Availability> {
    let change = (0.0..12.0, proptest::option::of(0..3_u32), 0..=4_u32);
    vec(change, 0..8).prop_map(|changes| {
        let changes = changes.into_iter().map(|(time_s, port, quarters)| Change {
            time_s,
            port,
            share: f64::from(quarters) / 4.0,
        });
        Availability::new(changes.collect())
    })
}

/// A few coflows on three ports.
fn workload() -> impl Strategy<Value = Workload> {
    let flow = (0..3_u32, 0..3_u32, 0.5..6.0).prop_map(|(src, dst, bytes)| flow(src, dst, bytes));
    vec((0.0..6.0, vec(flow, 1..6)), 1..5).prop_map(|coflows| {
        let coflow = |(trace_index, (arrival_s, flows)): (usize, (f64, Vec<Flow>))| {
            Coflow::new(format!("c{trace_index}"), arrival_s, flows)
        };
        Workload::new(3, coflows.into_iter().enumerate().map(coflow).collect())
    })
}

fn fabric() -> impl Strategy<Value = Fabric> {
    (vec(0.5..3.0, 3), vec(0.5..3.0, 3))
        .prop_map(|(egress, ingress)| Fabric::big_switch_with(&egress, &ingress).unwrap())
}

proptest! {
    #![proptest_config(crate::common::cases(300))]

    #[test]
    fn raw_bytes_are_sent_or_saved_and_processors_did_it(
        workload in workload(), fabric in fabric(), processors in processors(),
    ) {
        for spec in COMPRESSED {
            let codec = Codec { speed: 4.0, ratio: 0.5 };
            let n = workload.coflows.len();
            let mut wire = Wire { last: Time::ZERO, rates: vec![0.0; n], sent: vec![0.0; n] };
            let outcome = run_with(&workload, &fabric, &processors, &mut policy(spec), &mut wire);
            for (trace_index, coflow) in workload.coflows.iter().enumerate() {
                let bytes = coflow.size_bytes();
                let found = outcome.compression[trace_index];
                let context = format!("{spec}, {}\n{processors:?}\n{}", coflow.id, as_trace(&workload));
                let sum = wire.sent[trace_index] + found.saved_bytes;
                prop_assert!((sum - bytes).abs() < 1e-6, "{sum} of {bytes}: {context}");
                let min_share = bytes * codec.ratio;
                prop_assert!(wire.sent[trace_index] > min_share - 1e-6, "{} {context}", wire.sent[trace_index]);
                let made = found.cpu_s * codec.threshold();
                prop_assert!((made - found.saved_bytes).abs() < 1e-6, "{made}, {found:?}: {context}");
            }
            let again = run_with(&workload, &fabric, &processors, &mut policy(spec), &mut ());
            prop_assert_eq!(format!("{outcome:?}"), format!("{again:?}"));
        }
    }
}

#[test]
fn a_backfilled_and_compressed_flow_keeps_its_rate_when_its_provisional_rate_changes() {
    let flows = |flows: &[(u32, u32, f64)]| flows.iter().map(|&(s, d, b)| flow(s, d, b)).collect();
    let a = [(2, 2, 5.1355725713907185), (2, 0, 5.339341232546607)];
    let b = [(2, 1, 4.11604857425362), (1, 0, 0.5)];
    let c = [
        (0, 0, 4.243760640059131),
        (1, 2, 5.608030428337584),
        (0, 1, 2.0307793195040396),
        (1, 0, 1.5918168313562722),
    ];
    let coflows = vec![
        Coflow::new("a".to_owned(), 3.686309369129371, flows(&a)),
        Coflow::new("b".to_owned(), 4.258874348047346, flows(&b)),
        Coflow::new("c".to_owned(), 3.2639553102811023, flows(&c)),
    ];
    let workload = Workload::new(3, coflows);
    let egress = [2.1428186031156584, 1.6427843331433105, 1.9974165511438222];
    let ingress = [2.2323230929075204, 1.7021980854363492, 1.3840732866185952];
    let fabric = Fabric::big_switch_with(&egress, &ingress).unwrap();
    let at = |time_s| Change { time_s, port: None, share: 0.75 };
    let processors = Availability::new(vec![at(0.0), at(4.84290206886601)]);
    let mut wire = Wire { last: Time::ZERO, rates: vec![0.0; 3], sent: vec![0.0; 3] };
    let mut policy = policy("fvdf:codec=32bps:0.5,overlap=true");
    let outcome = run_with(&workload, &fabric, &processors, &mut policy, &mut wire);
    let sums =
        wire.sent.iter().zip(&outcome.compression).map(|(sent, made)| sent + made.saved_bytes);
    for (sum, coflow) in sums.zip(&workload.coflows) {
        assert!((sum - coflow.size_bytes()).abs() < 1e-6, "{}: {sum}", coflow.id);
    }
}

// The counterpart.

/// First in first out with max-min inside a coflow, and everything compressed.
struct Fifo(Compress<NonClairvoyant>);

impl Policy<NonClairvoyant> for Fifo {
    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        plan.clear();
        plan.compress(self.0);
        view.coflows().iter().for_each(|&c| plan.push(Group::Coflow(c), Share::MAX_MIN));
        Answer::Replaced
    }
}

/// A flow of the counterpart: raw and compressed bytes left.
struct Fluid {
    coflow: usize,
    src: usize,
    dst: usize,
    raw: f64,
    made: f64,
}

/// Completion times under [`Fifo`], in steps of `dt` seconds.
fn stepped(
    workload: &Workload,
    capacity: &[f64],
    processors: &Availability,
    (codec, overlap): (Codec, bool),
    dt: f64,
) -> Vec<f64> {
    let ports = capacity.len() / 2;
    let mut order: Vec<usize> = (0..workload.coflows.len()).collect();
    let arrival = |c: usize| workload.coflows[c].arrival_s;
    order.sort_by(|&a, &b| arrival(a).total_cmp(&arrival(b)));
    // In the order of service: by arrival, then as registered.
    let mut flows: Vec<Fluid> = Vec::new();
    for &coflow in &order {
        flows.extend(workload.coflows[coflow].flows.iter().map(|f| Fluid {
            coflow,
            src: f.src as usize,
            dst: ports + f.dst as usize,
            raw: f.bytes,
            made: 0.0,
        }));
    }
    let mut end = vec![f64::NAN; order.len()];
    let mut step = 0.0;
    while end.iter().any(|end| end.is_nan()) {
        let now = step * dt;
        let share = |host: usize| {
            let of_host =
                |c: &&Change| c.time_s <= now && c.port.is_none_or(|p| p as usize == host);
            processors.changes().iter().rfind(of_host).map_or(1.0, |c| c.share)
        };
        let here = |flow: &Fluid| arrival(flow.coflow) <= now && flow.raw + flow.made > 0.0;
        let pays = |flow: &Fluid| {
            let bandwidth = if overlap { 0.0 } else { capacity[flow.src].min(capacity[flow.dst]) };
            flow.raw > 0.0 && share(flow.src) * codec.threshold() > bandwidth
        };
        let jobs: Vec<Option<usize>> = (0..ports)
            .map(|host| flows.iter().position(|f| f.src == host && here(f) && pays(f)))
            .collect();
        let sent: Vec<bool> = flows.iter().map(|f| here(f) && (overlap || !pays(f))).collect();
        let rates = max_min_in_order(&flows, &sent, capacity);
        for (host, job) in jobs.iter().enumerate() {
            if let Some(job) = *job {
                let raw = (codec.speed * share(host) * dt).min(flows[job].raw);
                flows[job].raw -= raw;
                flows[job].made += raw * codec.ratio;
            }
        }
        for (flow, rate) in flows.iter_mut().zip(rates) {
            let made = (rate * dt).min(flow.made);
            flow.made -= made;
            flow.raw = (flow.raw - (rate * dt - made)).max(0.0);
            // Residues of rounding.
            if flow.raw + flow.made < 1e-9 {
                (flow.raw, flow.made) = (0.0, 0.0);
            }
        }
        step += 1.0;
        for (coflow, end) in end.iter_mut().enumerate() {
            let over = flows.iter().filter(|f| f.coflow == coflow).all(|f| f.raw + f.made == 0.0);
            if over && end.is_nan() {
                *end = step * dt;
            }
        }
    }
    end.iter().enumerate().map(|(coflow, end)| end - arrival(coflow)).collect()
}

/// Max-min inside each coflow, on the capacity that the coflows before it leave.
fn max_min_in_order(flows: &[Fluid], sent: &[bool], capacity: &[f64]) -> Vec<f64> {
    let mut free = capacity.to_vec();
    let mut rates = vec![0.0; flows.len()];
    for of_coflow in
        (0..flows.len()).collect::<Vec<_>>().chunk_by(|&a, &b| flows[a].coflow == flows[b].coflow)
    {
        let mut open: Vec<usize> = of_coflow.iter().copied().filter(|&f| sent[f]).collect();
        while !open.is_empty() {
            let users =
                |l: usize| open.iter().filter(|&&f| flows[f].src == l || flows[f].dst == l).count();
            let shares = (0..free.len())
                .filter(|&l| users(l) > 0)
                .map(|l| (free[l].max(0.0) / users(l) as f64, l));
            let (min_share, link) =
                shares.fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a });
            for f in open
                .extract_if(.., |f| flows[*f].src == link || flows[*f].dst == link)
                .collect::<Vec<_>>()
            {
                rates[f] = min_share;
                free[flows[f].src] -= min_share;
                free[flows[f].dst] -= min_share;
            }
        }
    }
    rates
}

proptest! {
    #![proptest_config(crate::common::cases(40))]

    #[test]
    fn steps_through_time_lead_to_the_same(
        workload in workload(),
        fabric in fabric(),
        processors in processors(),
        overlap in any::<bool>(),
        ratio in 0.2..0.8,
        speed in 0.5..12.0,
    ) {
        let codec = Codec { speed, ratio };
        let compress = Compress::with(codec).overlapping(overlap);
        let mut policy = AnyPolicy::NonClairvoyant(Box::new(Fifo(compress)));
        let outcome = run_with(&workload, &fabric, &processors, &mut policy, &mut ());
        let expected = stepped(&workload, fabric.capacity(), &processors, (codec, overlap), 1e-3);
        for (found, expected) in ccts(&outcome).iter().zip(&expected) {
            prop_assert!(
                (found - expected).abs() < 0.05,
                "{found} s, expected about {expected} s: {codec:?}, {overlap}, {:?}, {processors:?}\n{}",
                fabric.capacity(),
                as_trace(&workload)
            );
        }
    }
}

#[test]
fn a_raised_flow_beside_another_is_compressed_to_its_end() {
    let c0 = vec![flow(0, 1, 4.112191695365953)];
    let c1 = vec![flow(2, 0, 0.5), flow(2, 2, 1.6005461596636679)];
    let coflows = vec![
        Coflow::new("c0".to_owned(), 4.530851748127292, c0),
        Coflow::new("c1".to_owned(), 3.6666238525430375, c1),
    ];
    let workload = Workload::new(3, coflows);
    let egress = [0.5, 0.5, 2.2943329805549744];
    let fabric = Fabric::big_switch_with(&egress, &[0.5, 0.5, 2.9379214600640298]).unwrap();
    for spec in COMPRESSED {
        let outcome = run(&workload, &fabric, spec);
        assert!(outcome.coflows.iter().all(|coflow| coflow.completion_s < 20.0), "{spec}");
    }
}
