//! The sums of CCTs that CoflowSim prints, in its milliseconds.

use std::path::Path;

use covey_reproduce::emulate::coflowsim::{Custom, Policy, run};
use covey_trace::{Workload, read_path};

/// The sum of CCTs in milliseconds, 1024 a second.
fn sum_ms(workload: &Workload, policy: Policy) -> f64 {
    let outcome = run(workload, policy).unwrap_or_else(|error| panic!("{error}"));
    outcome.coflows.iter().map(|c| c.cct_s() * 1024.0).sum()
}

/// The public Facebook trace, or `None` with a printed reason.
fn facebook() -> Option<Workload> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("../shared/data/FB2010-1Hr-150-0.txt");
    if !path.exists() {
        eprintln!("skipped: the Facebook trace is not in ../shared/data");
        return None;
    }
    Some(read_path(&path).expect("the Facebook trace"))
}

#[test]
fn custom_as_in_swallow_table_vi() {
    let custom = Custom::default().generate();
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

#[test]
fn facebook_dark() {
    let Some(trace) = facebook() else { return };
    assert_eq!(sum_ms(&trace, Policy::Dark), 24_247_392.0);
}

#[test]
fn facebook_sebf_with_its_drift() {
    let Some(trace) = facebook() else { return };
    assert_eq!(sum_ms(&trace, Policy::Sebf), 15_005_968.0);
}

#[test]
fn facebook_scf_with_its_drift() {
    let Some(trace) = facebook() else { return };
    assert_eq!(sum_ms(&trace, Policy::Scf), 15_578_368.0);
}

#[test]
fn facebook_others() {
    let Some(trace) = facebook() else { return };
    for p in [Policy::Pfp, Policy::Fair, Policy::Fifo, Policy::Ncf, Policy::Lcf, Policy::DarkOracle]
    {
        let t = std::time::Instant::now();
        eprintln!("{p:?} {} {:?}", sum_ms(&trace, p), t.elapsed());
    }
}
