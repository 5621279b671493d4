//! The HTML page: what is on it, that it needs nothing else, and that names stay names.

mod common;

use common::{comparison, fair, scf, workload};
use covey_report::{Comparison, Run, html_page};
use covey_sim::Outcome;
use covey_trace::Workload;
use std::collections::HashSet;

/// The page without its style sheet and its version, a line for each element that begins.
fn skeleton(page: &str) -> String {
    let (before, rest) = page.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    let version = concat!("covey ", env!("CARGO_PKG_VERSION"));
    format!("{before}{after}").replace(version, "covey VERSION").replace("><", ">\n<")
}

#[test]
fn page_of_a_comparison() {
    let workload = workload();
    let page = html_page(&comparison(&workload), "covey compare tiny --policies fair,scf");
    insta::assert_snapshot!(skeleton(&page));
}

#[test]
fn names_are_escaped_everywhere() {
    let evil = "<script>alert(\"&\")</script>' onload='x";
    let workload = workload();
    let runs = [fair(&workload), scf(&workload)].map(|run| {
        let mut info = run.info().clone();
        for text in [&mut info.policy, &mut info.label, &mut info.trace, &mut info.fabric] {
            *text = evil.to_owned();
        }
        info.params = vec![(evil.to_owned(), evil.to_owned())];
        Run::new(&workload, run.outcome().clone(), info).unwrap()
    });
    let page = html_page(&Comparison::new(runs.into(), 1).unwrap(), evil);
    assert!(page.contains("&lt;script&gt;"));
    assert!(!page.contains("<script") && !page.contains("(\"&\")"));
    // All attributes stand in double quotes, which a name cannot end.
    assert!(page.contains("aria-label=\"Cumulative distribution of the speed-up over &lt;script"));
}

#[test]
fn the_page_loads_nothing() {
    let workload = workload();
    let page = html_page(&comparison(&workload), "covey compare tiny");
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn each_of_ten_policies_looks_different() {
    let workload = workload();
    let runs = (0..10).map(|_| fair(&workload)).collect();
    let page = html_page(&Comparison::new(runs, 4).unwrap(), "");
    let classes = page.split("<line class=\"curve ").skip(1).filter_map(|s| s.split('"').next());
    assert_eq!(classes.collect::<HashSet<_>>().len(), 10);
}

#[test]
fn one_policy_has_no_speedups() {
    let workload = workload();
    let page = html_page(&Comparison::new(vec![fair(&workload)], 0).unwrap(), "");
    assert_eq!(page.matches("<figure>").count(), 1);
}

#[test]
fn nothing_is_a_page_too() {
    let workload = Workload::default();
    let info = fair(&common::workload()).info().clone();
    let run = || Run::new(&workload, Outcome::default(), info.clone()).unwrap();
    let page = html_page(&Comparison::new(vec![run(), run()], 0).unwrap(), "");
    assert!(!page.contains("NaN") && page.ends_with("</html>"));
}
