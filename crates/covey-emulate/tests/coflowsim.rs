//! The sums of CCTs that CoflowSim prints, in its milliseconds.

use crate::common::facebook;
use covey_emulate::coflowsim::{Policy, run};
use covey_facebook_test::facebook_test;
use covey_trace::{Coflow, Flow, MB, Workload, builtin};

/// The CCTs in milliseconds, 1024 a second.
fn ccts_ms(workload: &Workload, policy: Policy) -> Vec<f64> {
    let outcome = run(workload, policy).unwrap_or_else(|error| panic!("{error}"));
    outcome.coflows.iter().map(|c| c.cct_s() * 1024.0).collect()
}

fn sum_ms(workload: &Workload, policy: Policy) -> f64 {
    ccts_ms(workload, policy).iter().sum()
}

#[test]
fn custom_as_in_swallow_table_vi() {
    let custom = builtin("coflowsim-custom").expect("the workload");
    assert_eq!(custom.coflows.len(), 8);
    let sum_ms = |policy| sum_ms(&custom, policy);
    assert_eq!(sum_ms(Policy::Sebf), 894_472.0);
    assert_eq!(sum_ms(Policy::Scf), 1_093_032.0);
    assert_eq!(sum_ms(Policy::Ncf), 1_093_032.0);
    assert_eq!(sum_ms(Policy::Lcf), 1_093_032.0);
    assert_eq!(sum_ms(Policy::Fifo), 1_093_032.0);
    assert_eq!(sum_ms(Policy::Fair), 1_560_512.0);
    assert_eq!(sum_ms(Policy::Pfp), 1_802_368.0);
    assert_eq!(sum_ms(Policy::Dark), 1_132_304.0);
}

#[facebook_test]
fn facebook_as_the_program_prints_it() {
    let trace = facebook();
    assert_eq!(sum_ms(&trace, Policy::Dark), 24_247_392.0);
    // These depend on the drift of its counters.
    assert_eq!(sum_ms(&trace, Policy::Sebf), 15_005_968.0);
    assert_eq!(sum_ms(&trace, Policy::Scf), 15_578_368.0);
}

/// When coflow 89 ends, coflow 90 has sent exactly 10 MiB, without rounding. CoflowSim's sum of
/// sent bytes has drifted above the limit, so coflow 90 moves to the second queue, and 102 goes
/// before it.
#[test]
fn a_drifted_sum_passes_a_limit() {
    let senders = [1, 3, 4, 7, 14, 15, 19, 20, 23, 28, 36, 37, 38, 39, 41, 43, 44, 49, 50, 59];
    let coflows = vec![
        shuffle("89", &[57], &[(31, 3.0)]),
        shuffle("90", &senders, &[(6, 20.0), (7, 20.0)]),
        shuffle("91", &[47], &[(31, 3.0), (35, 3.0), (48, 3.0)]),
        shuffle("102", &[54], &[(7, 7.0)]),
        shuffle("103", &[40], &[(31, 1.0)]),
    ];
    let workload = Workload::new(60, coflows);
    assert_eq!(ccts_ms(&workload, Policy::Dark), [24.0, 216.0, 96.0, 96.0, 40.0]);
}

/// CoflowSim makes a flow of 1 MiB from each mapper of a reducer with nothing to receive, and the
/// reducer ends with the first of them. The others still take their quanta.
#[test]
fn a_reducer_without_bytes_ends_with_its_first_flow() {
    let coflows = vec![shuffle("1", &[0, 1, 2], &[(3, 0.0)]), shuffle("2", &[3], &[(3, 1.0)])];
    let workload = Workload::new(4, coflows);
    assert_eq!(ccts_ms(&workload, Policy::Pfp), [8.0, 32.0]);
    // Four flows share the receiver.
    assert_eq!(ccts_ms(&workload, Policy::Fair), [8.0, 32.0]);
}

/// A coflow that arrives at 0: from each of `senders`, an equal part of the MB of each receiver.
fn shuffle(id: &str, senders: &[u32], receivers: &[(u32, f64)]) -> Coflow {
    let part = MB / senders.len() as f64;
    let to = |&src: &u32| {
        receivers.iter().map(move |&(dst, mb)| Flow { src, dst, bytes: mb * part, start_s: 0.0 })
    };
    Coflow::new(id.to_owned(), 0.0, senders.iter().flat_map(to).collect())
}

/// The program's output is not known for these policies; `naive.rs` checks them on small workloads.
#[facebook_test]
fn facebook_otherwise() {
    let trace = facebook();
    assert_eq!(sum_ms(&trace, Policy::Fifo), 43_473_352.0);
    assert_eq!(sum_ms(&trace, Policy::Ncf), 21_937_472.0);
    assert_eq!(sum_ms(&trace, Policy::Lcf), 16_123_600.0);
    assert_eq!(sum_ms(&trace, Policy::DarkOracle), 18_928_288.0);
}

#[facebook_test("takes ten seconds; make slow WHAT=ignored")]
fn facebook_by_flows() {
    let trace = facebook();
    assert_eq!(sum_ms(&trace, Policy::Pfp), 52_216_912.0);
    assert_eq!(sum_ms(&trace, Policy::Fair), 37_131_824.0);
}
