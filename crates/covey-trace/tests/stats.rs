//! Statistics of small workloads, by hand.

use covey_trace::{Coflow, Flow, MB, Stats, Workload};

/// A coflow of flows `(src, dst, MB)`.
fn coflow(id: &str, arrival_s: f64, flows: &[(u32, u32, f64)]) -> Coflow {
    let flow = |&(src, dst, mb): &(u32, u32, f64)| Flow { src, dst, bytes: mb * MB, start_s: 0.0 };
    Coflow::new(id.to_owned(), arrival_s, flows.iter().map(flow).collect())
}

fn small() -> Workload {
    let wide: Vec<_> = (0..51).map(|i| (i % 3, i % 2, 4.0)).collect();
    // Not in order of arrival.
    Workload::new(
        3,
        vec![
            coflow("a", 9.0, &[(0, 0, 1.0), (0, 1, 4.0), (0, 2, 0.0)]),
            coflow("b", 1.0, &[(1, 2, 5.0)]),
            coflow("c", 2.0, &wide),
            coflow("d", 4.0, &[(2, 1, 101.0)]),
            coflow("e", 4.0, &[(2, 2, 0.0)]),
        ],
    )
}

#[test]
fn counts() {
    let stats = Stats::of(&small());
    assert_eq!((stats.coflows, stats.flows), (5, 57));
    assert_eq!(stats.single_flow_coflows, 3);
    // One of a, one of e, and of c those with i % 3 = i % 2: i % 6 is 0 or 1.
    assert_eq!(stats.same_port_flows, 2 + 18);
    assert_eq!((stats.first_arrival_s.as_secs(), stats.last_arrival_s.as_secs()), (1.0, 9.0));
    assert_eq!(stats.bytes, (5.0 + 5.0 + 204.0 + 101.0) * MB);
}

#[test]
fn percentiles_interpolate() {
    let stats = Stats::of(&small());
    let gap = stats.gap_s.expect("gaps");
    // 0, 1, 2, 5.
    assert_eq!((gap.min, gap.p50, gap.max, gap.mean), (0.0, 1.5, 5.0, 2.0));
    assert_eq!((gap.p25, gap.p75), (0.75, 2.75));
}

#[test]
fn skew_leaves_out_empty_flows() {
    let skew = Stats::of(&small()).skew.expect("coflows");
    assert_eq!((skew.min, skew.max), (1.0, 4.0));
}

#[test]
fn limits_of_bins() {
    let stats = Stats::of(&small());
    // 4 MB is short, 5 MB is long; 51 flows are wide.
    let aalo = stats.by_length_and_width.map(|b| (b.name, b.coflows));
    let expected = [("short narrow", 2), ("long narrow", 2), ("short wide", 1), ("long wide", 0)];
    assert_eq!(aalo, expected);
    let philae = stats.by_width_and_size.map(|b| (b.name, b.coflows));
    let expected = [("thin small", 3), ("wide small", 0), ("thin large", 1), ("wide large", 1)];
    assert_eq!(philae, expected);
}

#[test]
fn busiest_ports() {
    let stats = Stats::of(&small());
    // c sends 17 × 4 MB from each port; d 101 MB from 2 to 1.
    assert_eq!(stats.busiest_egress.port, 2);
    assert_eq!(stats.busiest_egress.bytes, (68.0 + 101.0) * MB);
    assert_eq!(stats.busiest_ingress.port, 1);
    assert_eq!(stats.busiest_ingress.bytes, (100.0 + 4.0 + 101.0) * MB);
    assert_eq!(stats.mean_port_bytes, 105.0 * MB);
}

#[test]
fn page() {
    let page = Stats::of(&small()).to_string();
    for line in [
        "ports     3",
        "coflows   5, 3 of a single flow, 0 with parents",
        "arrivals  1.000 s to 9.000 s",
        "  short narrow       2 coflows  40.0 %  bytes  1.587 %",
        "busiest egress  port   169 MB at port 2, 1.61 × the mean",
    ] {
        assert!(page.lines().any(|l| l == line), "{line:?} not in\n{page}");
    }
}
