//! What others rely on: the JSON, the CSV and the text, to the letter.

mod common;

use common::{comparison, fair, scf, workload};
use covey_report::{
    Comparison, Error, Run, Summary, write_json, write_per_coflow_csv, write_per_flow_csv,
};
use covey_sim::Outcome;
use covey_trace::Workload;
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
fn text_of_one_run() {
    insta::assert_snapshot!(Summary::of(&scf(&workload())).to_string());
}

#[test]
fn text_of_a_comparison() {
    insta::assert_snapshot!(comparison(&workload()).to_string());
}

#[test]
fn a_label_too_long_for_the_table_has_a_line_of_its_own() {
    let workload = workload();
    let run = scf(&workload);
    let mut info = run.info().clone();
    info.label = format!("scf:{}", "x=1,".repeat(20));
    let long = Run::new(&workload, run.outcome().clone(), info).unwrap();
    let text = Comparison::new(vec![fair(&workload), long], 0).unwrap().to_string();
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    assert!(text.lines().any(|line| line.trim_end().ends_with("x=1,")), "{text}");
}

#[test]
fn equal_times_have_the_ratio_one() {
    let workload = workload();
    let comparison = comparison(&workload);
    let ratios: Vec<f64> = comparison.ratios(&comparison.runs()[1]).collect();
    assert_eq!(ratios, [1.0, 2.0, 1.0]);
}

#[test]
fn nothing_gives_null_and_dashes() {
    let workload = Workload::default();
    let run = || Run::new(&workload, Outcome::default(), scf(&common::workload()).info().clone());
    let comparison = Comparison::new(vec![run().unwrap()], 0).unwrap();
    let json = written(|out| write_json(&comparison, out));
    assert!(json.contains("\"mean\": null"), "{json}");
    assert!(comparison.to_string().contains(" - "), "{comparison}");
    let csv = written(|out| write_per_coflow_csv(&run().unwrap(), out));
    assert_eq!(csv.lines().count(), 1);
}

#[test]
fn what_does_not_belong_together_is_an_error() {
    let (workload, other) = (workload(), Workload { ports: 3, ..workload() });
    let info = || fair(&workload).info().clone();
    let outcome = || fair(&workload).outcome().clone();

    let error = Run::new(&workload, Outcome::default(), info()).unwrap_err();
    assert_eq!(error, Error::CoflowCount { expected: 3, found: 0 });
    let short = Outcome { flow_start_s: vec![0.0], ..outcome() };
    let error = Run::new(&workload, short, info()).unwrap_err();
    assert_eq!(error, Error::FlowCount { expected: 4, found: 1 });

    assert_eq!(Comparison::new(vec![], 0).unwrap_err(), Error::NoRuns);
    let error = Comparison::new(vec![fair(&workload)], 1).unwrap_err();
    assert_eq!(error, Error::Baseline { index: 1, runs: 1 });
    let error = Comparison::new(vec![fair(&workload), scf(&other)], 0).unwrap_err();
    assert!(matches!(error, Error::WorkloadsDiffer { .. }));
}
