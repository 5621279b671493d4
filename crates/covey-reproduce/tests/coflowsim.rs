//! The sums of CCTs that CoflowSim prints, in its milliseconds.

use crate::common::facebook;
use covey_facebook_test::facebook_test;
use covey_reproduce::emulate::coflowsim::{Policy, run};
use covey_trace::{Workload, builtin};

/// The sum of CCTs in milliseconds, 1024 a second.
fn sum_ms(workload: &Workload, policy: Policy) -> f64 {
    let outcome = run(workload, policy).unwrap_or_else(|error| panic!("{error}"));
    outcome.coflows.iter().map(|c| c.cct_s() * 1024.0).sum()
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

/// What the program prints is not known for these; `naive.rs` does as it does on small workloads.
#[facebook_test]
fn facebook_otherwise() {
    let trace = facebook();
    assert_eq!(sum_ms(&trace, Policy::Fifo), 43_473_352.0);
    assert_eq!(sum_ms(&trace, Policy::Ncf), 21_937_472.0);
    assert_eq!(sum_ms(&trace, Policy::Lcf), 16_123_600.0);
    assert_eq!(sum_ms(&trace, Policy::DarkOracle), 18_928_288.0);
}

#[facebook_test("takes ten seconds; make slow")]
fn facebook_by_flows() {
    let trace = facebook();
    assert_eq!(sum_ms(&trace, Policy::Pfp), 52_216_912.0);
    assert_eq!(sum_ms(&trace, Policy::Fair), 37_131_824.0);
}
