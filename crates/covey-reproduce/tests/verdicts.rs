//! Every verdict and every number behind it, as they were found: a change that moves one of them
//! shows here. `make slow` finds those on the whole Facebook trace.

use std::fmt::Write;

use crate::common::facebook;
use covey_facebook_test::facebook_test;
use covey_reproduce::Selection;
use covey_reproduce::finding::Verdict;
use covey_reproduce::plan::{Platform, RunResult, TCP, TestbedRun};
use covey_reproduce::published::{Paper, papers};
use covey_reproduce::report::{Method, Number, Report};
use covey_reproduce::reproduction::{Reproduction, Scope, items};
use covey_trace::{Workload, builtin};

fn published(paper: &str) -> Paper {
    let papers = papers();
    papers.into_iter().find(|one| one.name == paper).expect("the paper")
}

fn reproduce(paper: &str, selection: &Selection, name: &str, workload: Workload) -> Report {
    let scope = Scope::Simulation;
    let reproduction = Reproduction::new(published(paper), selection, name, workload, scope);
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

/// A testbed without headers, where shuffles wait for their links alone, and a larger one for the smaller:
/// under TCP they share them instead.
fn links_alone(reproduction: Reproduction) -> Report {
    let measured = reproduction.runs().map(|run| {
        let (run, workload) = reproduction.get(run);
        let Platform::Testbed(TestbedRun { ratio, .. }) = run.platform else { panic!("{run:?}") };
        let left = if run.policy == "fvdf" { ratio } else { 1.0 };
        let waits = |k: usize| workload.coflows[..=k].iter().map(|it| it.size_bytes()).sum();
        let shares = |k: usize| {
            let own = workload.coflows[k].size_bytes();
            workload.coflows.iter().map(|it| it.size_bytes().min(own)).sum()
        };
        let cct_s = |k: usize| {
            let bytes: f64 = if run.policy == TCP { shares(k) } else { waits(k) };
            left * bytes / 92e6
        };
        let ccts_s = (0..workload.coflows.len()).map(cct_s).collect();
        let wire_bytes = Some(left * workload.bytes());
        Ok(RunResult { ccts_s, wire_bytes, ..RunResult::default() })
    });
    let measured = measured.collect();
    reproduction.finish(measured)
}

#[test]
fn swallow_on_a_testbed_of_links_alone() {
    let plan = |selection: &Selection, every| {
        let scope = Scope::Testbed { every, seconds: None };
        Reproduction::new(published("swallow"), selection, "small", small(), scope)
    };
    let whole = plan(&Selection::All, 1);
    // Eleven applications at two scales, each under three policies.
    assert_eq!(whole.runs().len(), 11 * 2 * 3);
    let report = links_alone(whole);
    insta::assert_snapshot!(lines(&report));
    let findings = |report: &Report| -> Vec<_> {
        report.sections.iter().flat_map(|section| section.findings.clone()).collect()
    };
    for found in findings(&report) {
        let explained = found.verdict != Verdict::Differs || !found.why.is_empty();
        assert!(explained, "{} differs without a reason", found.what);
    }
    // The trace that stands in for the paper's is in none of it.
    assert!(!report.to_string().contains("only indicative"));

    let some = links_alone(plan(&Selection::All, 4));
    let sums = some.sections.iter().find(|section| section.place == "Table VII").expect("it");
    assert!(sums.findings.iter().all(|found| found.verdict == Verdict::NotPublished));
    assert_eq!(plan(&Selection::Table("i".to_owned()), 4).runs().len(), 3 * 3);
}

#[test]
fn a_testbed_replays_the_first_seconds_of_a_trace() {
    let hour = builtin("fb-like:coflows=100").expect("a workload");
    let plan = |seconds| {
        let (all, scope) = (&Selection::All, Scope::Testbed { every: 1, seconds });
        Reproduction::new(published("philae"), all, "hour", hour.clone(), scope)
    };
    // The first run is of the whole trace, others of its wide coflows.
    let coflows = |plan: &Reproduction| plan.runs().next().map(|run| plan.coflows(run));
    assert_eq!(coflows(&plan(None)), Some(100));
    let early = hour.coflows.iter().filter(|coflow| coflow.arrival_s < 60.0).count();
    assert!(early > 0 && early < 20, "{early}");
    let short = plan(Some(60.0));
    assert_eq!(coflows(&short), Some(early));
    let last_s = |run| short.get(run).1.coflows.iter().fold(0.0, |s: f64, it| s.max(it.arrival_s));
    assert!(short.runs().all(|run| last_s(run) < 60.0));
    let nothing = short.runs().map(|_| Ok(RunResult::default())).collect();
    assert_eq!(short.finish(nothing).trace, "first 60 s of hour");
}

#[test]
fn what_is_measured_on_a_testbed_says_so_where_it_is_not_simulated() {
    for item in items("swallow", Method::Testbed) {
        let simulated = items("swallow", Method::Simulation);
        let simulated = simulated.iter().find(|it| it.place == item.place).expect("it");
        let number = simulated.place.split_once(' ').expect("a number").1.to_owned();
        let selection = match simulated.place.starts_with("Table") {
            true => Selection::Table(number),
            false => Selection::Figure(number),
        };
        let report = reproduce("swallow", &selection, "small", small());
        let cannot = report.sections[0].cannot.as_ref().expect("it cannot be simulated");
        assert!(cannot.contains("--testbed"), "{cannot}");
    }
}

#[test]
fn everything_published_is_shown_or_said_not_to_be() {
    for paper in papers() {
        let items = items(&paper.name, Method::Simulation);
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
        let heading = format!("{}: {}", section.place, section.shows);
        assert!(page.contains(&format!("<h2>{heading}</h2>")));
        assert!(page.contains(&format!("{}</a>: {}", section.place, section.shows)), "{heading}");
    }
    let page = page.replace("href=\"#", "");
    for outside in ["http:", "https:", "src=", "href=\"", "url(", "@import", "<script", "NaN"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("only indicative"));
}

/// Whether a number keeps to its rule, from nothing but what is printed.
fn keeps_to(found: &Number) -> bool {
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let off = found.published.map(|published| (found.ours / published - 1.0).abs());
    let rule = found.rule.as_str();
    if let Some(percent) = rule.strip_prefix("within ").and_then(|rule| rule.strip_suffix(" %")) {
        return off.expect("a published number") <= number(percent) / 100.0;
    }
    if let Some((least, most)) = rule.strip_prefix("from ").and_then(|r| r.split_once(" to ")) {
        return found.ours >= number(least) && found.ours <= number(most);
    }
    match rule.rsplit_once(' ') {
        Some(("at least", least)) => found.ours >= number(least),
        Some(("at most", most)) => found.ours <= number(most),
        Some(("more than", limit)) => found.ours > number(limit),
        Some(("but for", "rounding")) => off.expect("a published number") < 1e-3,
        None if rule == "exactly" => off.expect("a published number") < 1e-12,
        _ => panic!("a rule that says nothing: {rule}"),
    }
}

/// Every verdict is the one that rule, published value and ours give; a number that a paper has is a number
/// here, not words with a limit beside it; a reason is told for what differs alone, and does not say the
/// opposite of its number. How many verdicts there were.
fn verdicts_follow(report: &Report) -> usize {
    let mut judged = 0;
    for found in report.sections.iter().flat_map(|section| &section.findings) {
        let told = format!("{}: {} ({}), {}", found.what, found.ours, found.rule, found.why);
        let holds = match found.verdict {
            Verdict::Holds => true,
            Verdict::Differs => false,
            Verdict::NotComparable | Verdict::NotPublished => {
                assert!(found.why.is_empty(), "{told}");
                continue;
            }
        };
        judged += 1;
        assert_eq!(keeps_to(found), holds, "{told}");
        assert!(!holds || found.why.is_empty(), "{told}");
        let is_number = |says: &String| says.starts_with(|letter: char| letter.is_ascii_digit());
        assert!(!found.says.as_ref().is_some_and(is_number), "{told}");
        let more = found.difference.map(|difference| difference > 0.0);
        for (words, is_more) in [
            ("arger than published", true),
            ("ore than published", true),
            ("ore coflows than published", true),
            ("arger part than published", true),
            ("less than published", false),
            ("maller loss than published", false),
            ("alf of the published", false),
            ("gains less", false),
        ] {
            let agrees = more.is_none_or(|more| more == is_more);
            assert!(!found.why.contains(words) || agrees, "{told}");
        }
    }
    judged
}

#[test]
fn verdicts_follow_from_what_is_printed() {
    let judged = |paper| verdicts_follow(&on_a_small_trace(paper));
    // What papers define themselves is judged on any trace.
    assert!(judged("swallow") > 60);
    assert_eq!(judged("philae"), 7);
    assert_eq!(judged("aalo"), 0);
    let (all, scope) = (&Selection::All, Scope::Testbed { every: 1, seconds: None });
    let testbed = Reproduction::new(published("swallow"), all, "small", small(), scope);
    assert!(verdicts_follow(&links_alone(testbed)) > 10);
}

/// On the trace of the papers: the snapshot, and a reason for each difference.
fn on_facebook(paper: &str) -> String {
    let report = reproduce(paper, &Selection::All, "the trace", facebook());
    assert!(report.comparable);
    for found in report.sections.iter().flat_map(|section| &section.findings) {
        let explained = found.verdict != Verdict::Differs || !found.why.is_empty();
        assert!(explained, "{}: {} differs without a reason", paper, found.what);
    }
    assert!(verdicts_follow(&report) > 0);
    lines(&report)
}

#[facebook_test("takes minutes; make slow")]
fn philae_on_facebook() {
    insta::assert_snapshot!(on_facebook("philae"));
}

#[facebook_test("takes half a minute; make slow")]
fn swallow_on_facebook() {
    insta::assert_snapshot!(on_facebook("swallow"));
}

#[facebook_test("takes minutes; make slow")]
fn aalo_on_facebook() {
    insta::assert_snapshot!(on_facebook("aalo"));
}
