//! The exact JSON, CSV and text, on which other programs rely.

use crate::common::{comparison, fair, scf, workload};
use covey_report::{
    Comparison, Error, Run, Summary, write_json, write_per_coflow_csv, write_per_flow_csv,
};
use covey_trace::Workload;
use covey_trace::results::Outcome;
use std::io;

fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn json_of_one_run() {
    let summary = Summary::of(&scf(&workload()));
    insta::assert_snapshot!(written(|out| write_json(&summary, out)));
}

#[test]
fn json_of_a_comparison() {
    let workload = workload();
    insta::assert_snapshot!(written(|out| write_json(&comparison(&workload), out)));
}

#[test]
fn csv_of_coflows() {
    insta::assert_snapshot!(written(|out| write_per_coflow_csv(&scf(&workload()), out)));
}

#[test]
fn csv_of_flows() {
    insta::assert_snapshot!(written(|out| write_per_flow_csv(&scf(&workload()), out)));
}

#[test]
fn a_flow_that_was_cancelled_has_no_completion_time() {
    let workload = workload();
    let run = scf(&workload);
    let outcome = Outcome { cancelled: vec![0], ..run.outcome().clone() };
    let run = Run::new(&workload, outcome, run.info().clone()).unwrap();
    let text = written(|out| write_per_flow_csv(&run, out));
    let fct = |row: usize| text.lines().nth(row).unwrap().rsplit(',').next().unwrap();
    assert_eq!((fct(0), fct(1)), ("fct_s", ""), "{text}");
    assert_ne!(fct(2), "", "{text}");
}

#[test]
fn text_of_one_run() {
    insta::assert_snapshot!(Summary::of(&scf(&workload())).to_string());
}

#[test]
fn text_of_a_comparison() {
    insta::assert_snapshot!(comparison(&workload()).to_string());
}

#[test]
fn a_label_too_long_for_the_table_has_its_own_line() {
    let workload = workload();
    let run = scf(&workload);
    let mut info = run.info().clone();
    info.label = format!("scf:{}", "x=1,".repeat(20));
    let long = Run::new(&workload, run.outcome().clone(), info).unwrap();
    let text = Comparison::new(&[fair(&workload), long], 0).unwrap().to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.lines().any(|line| line.trim_end().ends_with("x=1,")), "{text}");
}

#[test]
fn equal_times_have_the_ratio_one() {
    let workload = workload();
    let comparison = comparison(&workload);
    let ratios: Vec<f64> = comparison.ratios(1).collect();
    assert_eq!(ratios, [1.0, 2.0, 1.0]);
}

#[test]
fn an_empty_workload_gives_null_and_dashes() {
    let workload = Workload::default();
    let run =
        || Run::new(&workload, Outcome::default(), scf(&crate::common::workload()).info().clone());
    let comparison = Comparison::new(&[run().unwrap()], 0).unwrap();
    let json = written(|out| write_json(&comparison, out));
    assert!(json.contains("\"mean\": null"), "{json}");
    assert!(comparison.to_string().contains(" - "), "{comparison}");
    let csv = written(|out| write_per_coflow_csv(&run().unwrap(), out));
    assert_eq!(csv.lines().count(), 1);
}

#[test]
fn inconsistent_input_is_an_error() {
    let (workload, other) = (workload(), Workload { ports: 3, ..workload() });
    let info = || fair(&workload).info().clone();
    let outcome = || fair(&workload).outcome().clone();

    let error = Run::new(&workload, Outcome::default(), info()).unwrap_err();
    assert_eq!(error, Error::CoflowCount { expected: 3, found: 0 });
    let short = Outcome { flow_start_s: vec![0.0], ..outcome() };
    let error = Run::new(&workload, short, info()).unwrap_err();
    assert_eq!(error, Error::FlowCount { expected: 4, found: 1 });

    assert_eq!(Comparison::new(&[], 0).unwrap_err(), Error::NoRuns);
    let error = Comparison::new(&[fair(&workload)], 1).unwrap_err();
    assert_eq!(error, Error::Baseline { index: 1, runs: 1 });
    let error = Comparison::new(&[fair(&workload), scf(&other)], 0).unwrap_err();
    assert!(matches!(error, Error::WorkloadsDiffer { .. }));
}

/// A job q of two stages; the other coflows have no job. There is one weight, and two deadlines.
fn with_jobs() -> Workload {
    let mut workload = workload();
    workload.coflows[0].job = Some("q".to_owned());
    workload.coflows[0].weight = 3.0;
    workload.coflows[0].deadline_s = Some(5.5);
    workload.coflows[1].job = Some("q".to_owned());
    workload.coflows[1].parents = vec![0];
    workload.coflows[1].deadline_s = Some(1.0);
    workload
}

#[test]
fn jobs_weights_and_deadlines_are_in_all_outputs() {
    let workload = with_jobs();
    let run = scf(&workload);
    let summary = Summary::of(&run);
    let ccts: Vec<f64> = run.ccts_s().collect();
    let others = workload.coflows.len() - 2;
    assert_eq!(summary.jobs, Some(1 + others));
    let jcts = covey_report::Jobs::of(&workload).map(|jobs| jobs.jcts_s(&run)).unwrap();
    let ends = run.outcome().coflows.iter().map(|c| c.completion_s);
    assert_eq!(jcts[0], ends.take(2).fold(0.0, f64::max));
    let weighted = (3.0 * ccts[0] + ccts[1..].iter().sum::<f64>()) / (2.0 + ccts.len() as f64);
    assert_eq!(summary.weighted_mean_cct_s, Some(weighted));
    // The deadline 5.5 is met to the nanosecond; 1.0 is not met.
    assert_eq!((summary.deadlines, summary.deadlines_met), (Some(2), Some(1)));
    let text = summary.to_string();
    for part in ["JCT (s)", "Mean CCT by the trace's weights", "Deadlines met: 1 of 2", "jobs of"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let csv = written(|out| write_per_coflow_csv(&run, out));
    assert!(csv.lines().next().unwrap().contains(",job,weight,deadline_s,deadline_met"));
    assert!(csv.lines().nth(1).unwrap().contains(",q,3,5.5,true"), "{csv}");
    let compared = comparison(&workload);
    let (table, page) = (compared.to_string(), covey_report::html_page(&compared, "covey"));
    for part in ["JCT", "weighted", "deadlines"] {
        assert!(table.contains(part) && page.contains(part), "{part}");
    }
    assert_eq!(compared.speedups()[0].jct.as_ref().map(|jct| jct.mean_of_means), Some(1.0));
}

#[test]
fn shares_of_time_in_shuffle_make_jcts() {
    let workload = workload();
    let plain = comparison(&workload);
    assert_eq!(plain.summaries()[1].jct_s, None);
    let shared = plain.clone().with_jct_shares(1);
    let shares = covey_trace::shuffle_shares(workload.coflows.len(), 1);
    let [base, other] = &shared.coflows().cct_s[..] else { panic!("two policies") };
    let jcts = covey_report::jcts_by_share_s(base, other, &shares);
    let saved: Vec<f64> = base.iter().zip(other).map(|(b, o)| b - o).collect();
    for ((jct, cct), (share, saved)) in jcts.iter().zip(base).zip(shares.iter().zip(saved)) {
        assert!((jct - (cct / share - saved)).abs() < 1e-9);
    }
    let mean = jcts.iter().sum::<f64>() / jcts.len() as f64;
    assert_eq!(shared.summaries()[1].jct_s.map(|d| d.mean), Some(mean));
    assert_eq!(shared.jct_shares(), Some(1));
}
