//! Results do not depend on where the clock of a trace starts, nor on how long the trace lasts.

use crate::common::{COMPRESSED, Kind, flow, policies, policy};
use covey_conformance::the_clock_does_not_matter;
use covey_core::{Ecmp, EcmpMode, Fabric, FatTree};
use covey_sim::{SimError, simulate};
use covey_trace::{Coflow, Workload, read};
use proptest::prelude::*;

/// Seconds from 1970 to a day in 2023.
const UNIX_S: u32 = 1_700_000_000;
/// 400 Gbps in bytes per second.
const FAST: f64 = 50e9;

proptest! {
    #![proptest_config(crate::common::cases(20))]

    #[test]
    fn the_clock_may_start_in_1970_under_every_policy(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        let tree = FatTree::new(4, Ecmp { mode: EcmpMode::Flow, seed: 0 });
        let tree = tree.and_then(|tree| tree.fabric(1.0, 2.0)).expect("a FatTree");
        for spec in policies().chain(COMPRESSED) {
            for fabric in [&fabric, &tree] {
                let checked = the_clock_does_not_matter(&workload, fabric, UNIX_S, &|| policy(spec));
                prop_assert!(checked.is_ok(), "{}: {}", spec, checked.unwrap_err());
            }
        }
    }
}

/// Coflows of one flow out of port 0: name, arrival as text, receiver, bytes.
fn trace(coflows: &[(&str, &str, u32, u32)]) -> Workload {
    let lines = coflows.iter().map(|(id, arrival, dst, bytes)| {
        format!(
            "{{\"id\":\"{id}\",\"arrival_s\":{arrival},\"flows\":[{{\"src\":0,\"dst\":{dst},\"bytes\":{bytes}}}]}}\n"
        )
    });
    let text = "{\"covey_trace\":1,\"ports\":4}\n".to_owned() + &lines.collect::<String>();
    read(text.as_bytes(), "t").expect("a trace")
}

fn ccts_s(workload: &Workload, spec: &str, rate: f64) -> Result<Vec<f64>, SimError> {
    let fabric = Fabric::big_switch(workload.ports, rate).expect("a network");
    let outcome = simulate(workload, &fabric, spec, &mut policy(spec), &mut ())?;
    Ok(outcome.coflows.iter().map(|coflow| coflow.cct_s()).collect())
}

#[test]
fn microseconds_count_on_a_clock_that_starts_in_1970() {
    // At 100 Gbps, 15 kB take 1.2 µs; 150 kB leave port 0 in 12 µs, the last ones at 12.8 µs.
    let at = |arrivals: [&str; 4]| {
        let dst = [1, 2, 3, 1];
        let coflows: Vec<_> = (0..4)
            .map(|k| (["0", "1", "2", "3"][k], arrivals[k], dst[k], 15_000 * (k as u32 + 1)))
            .collect();
        ccts_s(&trace(&coflows), "fair", 12.5e9).expect("a run")
    };
    let relative = at(["0", "2e-6", "4e-6", "6e-6"]);
    let unix = at(["1700000000.0", "1700000000.000002", "1700000000.000004", "1700000000.000006"]);
    assert_eq!(unix, relative);
    assert!((unix.iter().sum::<f64>() / 4.0 - 4.2e-6).abs() < 1e-12, "{unix:?}");
    assert!((unix[3] - 6.8e-6).abs() < 1e-12, "{unix:?}");
    // In the other order, with the first arrival last.
    let last = [("b", "1700000000.000000009", 2, 50_000), ("a", "1700000000", 1, 50_000)];
    let ccts = ccts_s(&trace(&last), "fifo", FAST).expect("a run");
    assert!((ccts[1] - 1e-6).abs() < 1e-15 && (ccts[0] - 1.991e-6).abs() < 1e-15, "{ccts:?}");
}

#[test]
fn a_week_of_microseconds_is_exact_to_a_nanosecond() {
    // A coflow of a microsecond every hour, between flows that last the whole week.
    let times: Vec<String> = (0..168).map(|h| format!("{}.000000{h:03}", h * 3600 + 1)).collect();
    let names: Vec<String> = (0..168).map(|h| format!("h{h}")).collect();
    let small = names.iter().zip(&times).map(|(id, at)| (id.as_str(), at.as_str(), 1, 50_000));
    for spec in ["fair", "sebf", "fifo", "aalo:delta=0", "philae", "covey"] {
        let coflows: Vec<_> = small.clone().collect();
        let mut week = trace(&coflows);
        let around = vec![flow(2, 3, FAST * 604_800.0), flow(3, 2, FAST * 604_800.0)];
        week.coflows.push(Coflow::new("week".to_owned(), 0.0, around));
        let ccts = ccts_s(&week, spec, FAST).expect("a run");
        for cct in &ccts[..168] {
            assert!((cct - 1e-6).abs() < 1e-9, "{spec}: {cct}");
        }
        assert!((ccts[168] - 604_800.0).abs() < 1e-6, "{spec}: {}", ccts[168]);
    }
}

#[test]
fn what_is_too_long_for_its_flows_is_refused() {
    let years = |bytes| trace(&[("a", "0", 1, bytes), ("b", "100000000", 1, bytes)]);
    let error = ccts_s(&years(50_000), "fair", FAST).expect_err("microseconds over three years");
    assert_eq!(
        error.to_string(),
        "the last flow starts 100000000 s after the origin, where 64-bit numbers of seconds are 1.5e-8 s apart, and the shortest flow takes 1.0e-6 s: expected a shorter trace (cut it into parts, each of which starts at its first arrival)"
    );
    // Flows of a tenth of a second are longer than what cannot be told apart.
    assert!(ccts_s(&years(50_000), "fair", 500e3).is_ok());
    // A workload made in memory on the UNIX clock can be told apart once it starts at its first
    // arrival.
    let mut workload = trace(&[("a", "0", 1, 50_000), ("b", "1", 1, 50_000)]);
    workload.coflows.iter_mut().for_each(|coflow| coflow.arrival_s += f64::from(UNIX_S));
    assert!(ccts_s(&workload, "fair", FAST).is_err());
    assert!(ccts_s(&workload.from_first_arrival(), "fair", FAST).is_ok());
}
