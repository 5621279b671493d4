//! The meaning of the three formats. JSON lines lose nothing.

use covey_trace::{
    Attempt, Coflow, Compressible, Flow, MB, Restart, Workload, read, transform::replicate, write,
};
use proptest::prelude::*;

fn parse(text: &str) -> Workload {
    read(text.as_bytes(), "t").expect("a good trace")
}

/// `(src, dst, MB)` of each flow.
fn flows(coflow: &Coflow) -> Vec<(u32, u32, f64)> {
    let of = |f: &Flow| (f.src, f.dst, f.bytes / MB);
    coflow.flows.iter().map(of).collect()
}

fn written(workload: &Workload) -> String {
    let mut file = Vec::new();
    write(workload, &mut file).expect("writing to memory");
    String::from_utf8(file).expect("UTF-8")
}

#[test]
fn coflow_benchmark_splits_reducers_among_mappers() {
    let trace = parse("4 2\r\n7 1500 2 3 0 2 1:6.0 2:0\r\n\r\nx 0 1 0 1 0:0.5");
    assert_eq!(trace.ports, 4);
    let [a, b] = trace.coflows.as_slice() else { panic!("two coflows") };
    assert_eq!((a.id.as_str(), a.arrival_s), ("7", 1.5));
    let expected = [(3, 1, 3.0), (3, 2, 0.0), (0, 1, 3.0), (0, 2, 0.0)];
    assert_eq!(flows(a), expected);
    assert_eq!((b.id.as_str(), b.arrival_s), ("x", 0.0));
    assert_eq!(flows(b), [(0, 0, 0.5)]);
}

#[test]
fn sincronia_lists_flows() {
    let trace = parse("4 2\n0 0 2 2 1 0 3 7 1 3 2.5\n1 250 1 1 1 2 2 1\n");
    assert_eq!(flows(&trace.coflows[0]), [(0, 3, 7.0), (1, 3, 2.5)]);
    assert_eq!(flows(&trace.coflows[1]), [(2, 2, 1.0)]);
    assert_eq!(trace.coflows[1].arrival_s, 0.25);
}

#[test]
fn json_lines_have_all_fields() {
    let text = concat!(
        r#"{"covey_trace":1,"ports":3,"coflows":2}"#,
        "\n",
        r#"{"id":"b","arrival_s":1.5,"flows":[{"src":0,"dst":1,"bytes":0.1,"start_s":2.5}],"#,
        r#""parents":["a"],"weight":2.5,"deadline_s":9.0,"job":"q42","tenant":"etl"}"#,
        "\n",
        r#"{"id":"a","arrival_s":0,"flows":[{"src":2,"dst":2,"bytes":0}]}"#,
        "\n",
    );
    let trace = parse(text);
    let b = &trace.coflows[0];
    assert_eq!((b.parents.as_slice(), b.weight), ([1].as_slice(), 2.5));
    assert_eq!((b.deadline_s, b.job.as_deref()), (Some(9.0), Some("q42")));
    assert_eq!((b.tenant.as_deref(), &trace.coflows[1].tenant), (Some("etl"), &None));
    assert_eq!(b.flows[0].start_s, 2.5);
    assert_eq!(trace.coflows[1].weight, 1.0);
    assert_eq!(written(&trace), text);
}

#[test]
fn no_coflows() {
    for text in ["3 0\n", "{\"covey_trace\":1,\"ports\":3}"] {
        let trace = parse(text);
        assert_eq!((trace.ports, trace.coflows.len()), (3, 0));
        // Statistics have nothing to divide by.
        assert!(!covey_trace::Stats::of(&trace).to_string().contains("NaN"));
    }
}

#[test]
fn an_unknown_parent_is_not_written() {
    let mut trace = parse("3 1\n1 0 1 0 1 1:1\n");
    trace.coflows[0].parents.push(7);
    let error = write(&trace, Vec::new()).map_err(|e| e.to_string());
    assert_eq!(error, Err("coflow 1: no coflow at position 7".to_owned()));
}

#[test]
fn replicas_stand_side_by_side() {
    let mut trace = parse("4 2\n7 1500 1 3 1 1:6\n8 0 1 0 1 0:1");
    trace.coflows[0].parents.push(1);
    trace.coflows[0].job = Some("q".to_owned());
    trace.coflows[0].tenant = Some("etl".to_owned());
    let double = replicate(&trace, 2).expect("two copies");
    assert_eq!(double.ports, 8);
    let ids: Vec<&str> = double.coflows.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["7.0", "7.1", "8.0", "8.1"]);
    assert_eq!(flows(&double.coflows[1]), [(7, 5, 6.0)]);
    assert_eq!(double.coflows[1].arrival_s, 1.5);
    assert_eq!(double.coflows[1].parents, [3]);
    assert_eq!(double.coflows[1].job.as_deref(), Some("q.1"));
    assert_eq!(double.coflows[1].tenant.as_deref(), Some("etl"));
    assert_eq!(replicate(&trace, 1).ok(), Some(trace.clone()));
    let error = replicate(&trace, 0).map_err(|e| e.to_string());
    let expected = "copies: expected 1 to 250000, found 0";
    assert_eq!(error, Err(expected.to_owned()));
    assert!(replicate(&trace, u32::MAX).is_err());
}

prop_compose! {
    fn flow()(
        src in 0..5_u32,
        dst in 0..5_u32,
        bytes in prop_oneof![0.0..1e18, Just(0.0), (0..u64::MAX >> 5).prop_map(|b| b as f64)],
        start_s in prop_oneof![Just(0.0), 0.0..1e12],
    ) -> Flow {
        Flow { src, dst, bytes, start_s }
    }
}

prop_compose! {
    fn coflow()(
        arrival_s in 0.0..1e12,
        mut flows in prop::collection::vec(flow(), 1..6),
        parents in prop::collection::hash_set(0..20_u32, 0..3),
        weight in prop_oneof![Just(1.0), 1e-300..1e18],
        deadline_s in prop::option::of(0.0..1e12),
        job in prop::option::of("\\PC{1,9}"),
        tenant in prop::option::of("\\PC{1,9}"),
        restarts in prop::collection::vec(prop::option::of(0.0..1e12), 0..6),
        twice in any::<bool>(),
        off in any::<bool>(),
        ratio in prop::option::of(1e-300..=1.0),
        ratios in prop::collection::vec(prop::option::of(1e-3..=1.0), 0..6),
    ) -> Coflow {
        let id = String::new();
        let parents = parents.into_iter().collect();
        let restarts = (0..).zip(restarts).filter(|&(flow, _)| flow < flows.len() as u32);
        let restarts = restarts.filter_map(|(flow, at_s)| Some(Restart { flow, at_s: at_s? }));
        let restarts = restarts.collect();
        let ratios = (0..).zip(ratios).filter(|&(flow, _)| flow < flows.len() as u32);
        let ratios = ratios.filter_map(|(flow, ratio)| Some((flow, ratio?))).collect();
        let compressible = Compressible { off, ratio, flows: ratios };
        let mut attempts = Vec::new();
        if twice && flows.len() > 1 {
            flows[1].bytes = flows[0].bytes;
            attempts.push(Attempt { flow: 1, of: 0 });
        }
        Coflow {
            id,
            arrival_s,
            flows,
            parents,
            weight,
            deadline_s,
            job,
            tenant,
            restarts,
            compressible,
            attempts,
        }
    }
}

prop_compose! {
    /// A workload in which parents come earlier or, with `backwards`, later.
    fn workload()(
        mut coflows in prop::collection::vec(coflow(), 0..20),
        suffix in any::<String>(),
        backwards in any::<bool>(),
    ) -> Workload {
        for (i, coflow) in coflows.iter_mut().enumerate() {
            coflow.id = format!("{i}{suffix}");
            coflow.parents.retain(|&p| (p as usize) < i);
        }
        if backwards {
            let last = coflows.len().wrapping_sub(1) as u32;
            coflows.reverse();
            for parent in coflows.iter_mut().flat_map(|c| &mut c.parents) {
                *parent = last - *parent;
            }
        }
        Workload::new(5, coflows).from_first_arrival()
    }
}

/// A good file of one of the formats.
fn good_file() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just("4 2\n7 1500 2 3 0 2 1:6.0 2:0\nx 0 1 0 1 0:0.5\n".to_owned()),
        Just("4 2\n0 0 2 2 1 0 3 7 1 3 2.5\n1 250 1 1 1 2 2 1\n".to_owned()),
        workload().prop_map(|w| written(&w)),
    ]
    .prop_map(String::into_bytes)
}

/// Checks the rules for every workload that a reader accepts.
fn check(workload: &Workload) {
    for (i, coflow) in workload.coflows.iter().enumerate() {
        assert!(!coflow.flows.is_empty());
        assert!((0.0..=1e12).contains(&coflow.arrival_s));
        assert!(coflow.weight > 0.0 && coflow.weight.is_finite());
        assert!(coflow.parents.iter().all(|&p| (p as usize) < workload.coflows.len()));
        assert!(!coflow.parents.contains(&(i as u32)));
        for flow in &coflow.flows {
            assert!(flow.src < workload.ports && flow.dst < workload.ports);
            assert!((0.0..=1e18).contains(&flow.bytes));
            assert!((0.0..=1e12).contains(&flow.start_s));
        }
    }
    assert_eq!(parse(&written(workload)), *workload);
}

proptest! {
    #[test]
    fn comes_back_the_same(workload in workload()) {
        prop_assert_eq!(parse(&written(&workload)), workload);
    }

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(workload) = read(bytes.as_slice(), "t") {
            check(&workload);
        }
    }

    #[test]
    fn damaged_files(
        mut file in good_file(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..4),
        end in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        for (at, byte, how) in damage {
            let at = at.index(file.len());
            // Digits and separators do more harm than most other bytes.
            let byte = [b"0123456789 :\n.-e\"{}[],"[byte as usize % 22], byte][usize::from(byte > 127)];
            match how {
                0 => file[at] = byte,
                1 => file.insert(at, byte),
                _ => file.truncate(file.len().max(2) - 1),
            }
        }
        if cut {
            file.truncate(end.index(file.len()));
        }
        match read(file.as_slice(), "t") {
            Ok(workload) => check(&workload),
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
        }
    }
}
