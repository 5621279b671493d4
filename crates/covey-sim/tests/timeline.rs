//! The spans of a timeline add up to the bytes sent, and no port exceeds its capacity.

use crate::common::{Kind, as_trace, policies, policy};
use covey_sim::{Timeline, simulate};
use covey_trace::Workload;
use covey_trace::results::Span;
use proptest::prelude::*;

/// Bytes in the trace that a coflow sends out of a port.
fn bytes(workload: &Workload, coflow: usize, port: u32) -> f64 {
    let flows = workload.coflows[coflow].flows.iter();
    flows.filter(|flow| flow.src == port).map(|flow| flow.bytes).sum()
}

/// Bytes in the spans for which `meant` holds.
fn sent(spans: &[Span], meant: impl Fn(&Span) -> bool) -> f64 {
    let of = |span: &Span| span.rate * (span.end_s - span.start_s);
    spans.iter().filter(|span| meant(span)).map(of).sum()
}

proptest! {
    #![proptest_config(crate::common::cases(100))]

    #[test]
    fn spans_add_up_to_the_bytes_sent(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        for spec in policies() {
            let mut timeline = Timeline::default();
            simulate(&workload, &fabric, spec, &mut policy(spec), &mut timeline).unwrap();
            let spans = timeline.into_spans();
            prop_assert!(spans.is_sorted_by(|a, b| a.end_s <= b.end_s), "{}", spec);
            for coflow in 0..workload.coflows.len() {
                for port in 0..workload.ports {
                    let expected = bytes(&workload, coflow, port);
                    let found =
                        sent(&spans, |span| (span.coflow as usize, span.port) == (coflow, port));
                    let same = (found - expected).abs() <= 1e-6;
                    let trace = || as_trace(&workload);
                    prop_assert!(same, "{spec}: {coflow} at {port}: {found} of {expected}\n{}", trace());
                }
            }
        }
    }
}
