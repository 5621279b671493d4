//! Every verdict and every number behind it, as they were found: a change that moves one of them
//! shows here. `make slow` finds those on the whole Facebook trace.

use std::fmt::Write;

use crate::common::facebook;
use covey_reproduce::finding::Verdict;
use covey_reproduce::published::papers;
use covey_reproduce::report::Report;
use covey_reproduce::reproduction::{Reproduction, Selection, items};
use covey_trace::{Workload, builtin};

fn reproduce(paper: &str, selection: &Selection, name: &str, workload: Workload) -> Report {
    let papers = papers().expect("the file");
    let paper = papers.into_iter().find(|one| one.name == paper).expect("the paper");
    let reproduction = Reproduction::new(paper, selection, name, workload);
    let measured = reproduction.runs().map(|run| reproduction.measure(run, &mut ()));
    let measured = measured.collect();
    reproduction.finish(measured)
}

/// A synthetic trace of sixteen coflows.
fn small() -> Workload {
    builtin("fb-like:coflows=16").expect("a workload")
}

/// A line for each finding, with five digits of ours.
fn lines(report: &Report) -> String {
    let mut text = String::new();
    for section in &report.sections {
        let cannot = section.cannot.as_ref().map_or(String::new(), |why| format!(": {why}"));
        let _ = writeln!(text, "{}{cannot}", section.place);
        for found in &section.findings {
            let (what, setting) = (&found.what, found.setting.name());
            let verdict = found.verdict.name();
            let _ = writeln!(text, "  {what} | {setting} | {:.4e} | {verdict}", found.ours);
        }
    }
    text
}

/// What the paper defines itself holds on any trace, what depends on the trace is not compared.
fn on_a_small_trace(paper: &str) -> Report {
    let report = reproduce(paper, &Selection::All, "small", small());
    assert!(!report.comparable);
    for section in &report.sections {
        assert!(!section.findings.is_empty() || section.cannot.is_some(), "{}", section.place);
    }
    report
}

#[test]
fn philae_small() {
    insta::assert_snapshot!(lines(&on_a_small_trace("philae")));
}

#[test]
fn swallow_small() {
    insta::assert_snapshot!(lines(&on_a_small_trace("swallow")));
}

#[test]
fn aalo_small() {
    insta::assert_snapshot!(lines(&on_a_small_trace("aalo")));
}

#[test]
fn all_six_pairs_of_swallows_figure_4_and_the_sums_of_coflowsim() {
    for selection in [Selection::Figure("4".to_owned()), Selection::Table("VI".to_owned())] {
        let report = reproduce("swallow", &selection, "small", small());
        let verdicts = report.sections[0].findings.iter().map(|found| found.verdict);
        let told: Vec<Verdict> = verdicts.filter(|v| *v != Verdict::NotPublished).collect();
        assert!(told.len() >= 12 && told.iter().all(|v| *v == Verdict::Holds), "{selection:?}");
    }
}

#[test]
fn everything_published_is_shown_or_said_not_to_be() {
    for paper in papers().expect("the file") {
        let items = items(&paper.name);
        for table in &paper.tables {
            let shown = items.iter().any(|item| item.place.starts_with(&table.place));
            assert!(shown || items.is_empty(), "{}: {}", paper.name, table.place);
        }
    }
}

#[test]
fn the_page_shows_every_part_and_loads_nothing() {
    let report = on_a_small_trace("swallow");
    let page = report.html_page("covey reproduce swallow");
    for section in &report.sections {
        assert!(page.contains(&format!("<h2>{}: {}</h2>", section.place, section.shows)));
    }
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "NaN"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("only indicative"));
}

/// On the trace of the papers: the snapshot, and a reason for each difference.
fn on_facebook(paper: &str) -> Option<String> {
    let report = reproduce(paper, &Selection::All, "the trace", facebook()?);
    assert!(report.comparable);
    for found in report.sections.iter().flat_map(|section| &section.findings) {
        let explained = found.verdict != Verdict::Differs || !found.why.is_empty();
        assert!(explained, "{}: {} differs without a reason", paper, found.what);
    }
    Some(lines(&report))
}

#[test]
#[ignore = "takes minutes; make slow"]
fn philae_on_facebook() {
    let Some(found) = on_facebook("philae") else { return };
    insta::assert_snapshot!(found);
}

#[test]
#[ignore = "takes half a minute; make slow"]
fn swallow_on_facebook() {
    let Some(found) = on_facebook("swallow") else { return };
    insta::assert_snapshot!(found);
}

#[test]
#[ignore = "takes minutes; make slow"]
fn aalo_on_facebook() {
    let Some(found) = on_facebook("aalo") else { return };
    insta::assert_snapshot!(found);
}
