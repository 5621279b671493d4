//! The spans of a timeline add up to the bytes that ports send and receive.

use crate::common::{Kind, as_trace, policies, policy};
use covey_core::{Fabric, LinkId, PortId};
use covey_sim::{Timeline, simulate};
use covey_trace::results::Span;
use covey_trace::{Flow, Workload};
use proptest::prelude::*;

/// Bytes in the trace that a coflow sends over a link of a port.
fn bytes(workload: &Workload, coflow: usize, link: LinkId, fabric: &Fabric) -> f64 {
    let flows = workload.coflows[coflow].flows.iter();
    let ends = |flow: &Flow| [fabric.egress(PortId(flow.src)), fabric.ingress(PortId(flow.dst))];
    flows.filter(|flow| ends(flow).contains(&link)).map(|flow| flow.bytes).sum()
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
            let mut both = Timeline::at_both_ends();
            simulate(&workload, &fabric, spec, &mut policy(spec), &mut both).unwrap();
            let spans = both.into_spans();
            prop_assert!(spans.is_sorted_by(|a, b| a.end_s <= b.end_s), "{}", spec);
            for coflow in 0..workload.coflows.len() {
                for link in (0..2 * workload.ports).map(LinkId) {
                    let expected = bytes(&workload, coflow, link, &fabric);
                    let found =
                        sent(&spans, |span| (span.coflow as usize, span.link) == (coflow, link));
                    let same = (found - expected).abs() <= 1e-6;
                    let trace = || as_trace(&workload);
                    prop_assert!(same, "{spec}: {coflow} at {link:?}: {found} of {expected}\n{}", trace());
                }
            }
        }
    }
}
