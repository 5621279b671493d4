//! Snapshots of every verdict and every number, which show each change of a result. `make slow
//! WHAT=ignored` checks those on the whole Facebook trace.

use std::fmt::Write;

use crate::common::facebook;
use covey_facebook_test::facebook_test;
use covey_reproduce::Selection;
use covey_reproduce::finding::Verdict;
use covey_reproduce::plan::{Platform, RunResult, TCP, TestbedRun};
use covey_reproduce::published::{Paper, papers};
use covey_reproduce::report::{Method, Report};
use covey_reproduce::reproduction::{Reproduction, Scope, items};
use covey_trace::{Workload, builtin};

fn published(paper: &str) -> Paper {
    let papers = papers();
    papers.into_iter().find(|one| one.name == paper).expect("the paper")
}

fn reproduce(paper: &str, selection: &Selection, name: &str, workload: Workload) -> Report {
    let scope = Scope::Simulation;
    let reproduction = Reproduction::new(published(paper), selection, name, workload, scope);
    let results = reproduction.runs().map(|run| reproduction.measure(run, &mut ()));
    let results = results.collect();
    reproduction.finish(results)
}

/// A synthetic trace of sixteen coflows.
fn small() -> Workload {
    builtin("fb-like:coflows=16").expect("a workload")
}

/// One line for each finding; our number has five digits.
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

/// The report on a small trace. Each item has findings, or a reason why it has none. Values that
/// depend on the trace are not compared.
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
fn stream_small() {
    insta::assert_snapshot!(lines(&on_a_small_trace("stream")));
}

#[test]
fn coda_small() {
    insta::assert_snapshot!(lines(&on_a_small_trace("coda")));
}

#[test]
fn all_six_pairs_of_swallows_figure_4_and_the_sums_of_coflowsim() {
    for selection in [Selection::Figure("4".to_owned()), Selection::Table("VI".to_owned())] {
        let report = reproduce("swallow", &selection, "small", small());
        let verdicts = report.sections[0].findings.iter().map(|found| found.verdict);
        let verdicts: Vec<Verdict> = verdicts.filter(|v| *v != Verdict::NotPublished).collect();
        assert!(verdicts.len() >= 12, "{selection:?}");
        assert!(
            verdicts.iter().all(|v| matches!(v, Verdict::Holds | Verdict::Check)),
            "{selection:?}"
        );
    }
}

/// The report of a testbed model with links only and no headers. Shuffles share their links under
/// TCP; under a policy, larger shuffles wait for smaller ones.
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
    // No finding uses the substitute for the paper's trace.
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
fn items_that_only_a_testbed_measures_refer_to_it_in_simulation() {
    for item in items("swallow", Method::Testbed) {
        let simulated = items("swallow", Method::Simulation);
        let simulated = simulated.iter().find(|it| it.place == item.place).expect("it");
        let number = simulated.place.split_once(' ').expect("a number").1.to_owned();
        let selection = match simulated.place.starts_with("Table") {
            true => Selection::Table(number),
            false => Selection::Figure(number),
        };
        let report = reproduce("swallow", &selection, "small", small());
        // Simulation has codecs too, with the paper's numbers.
        if item.place == "Table II" {
            assert!(report.sections[0].cannot.is_none());
            continue;
        }
        let cannot = report.sections[0].cannot.as_ref().expect("it cannot be simulated");
        assert!(cannot.contains("--testbed"), "{cannot}");
    }
}

#[test]
fn every_published_table_has_an_item() {
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

/// A part of a limit by which rounding may miss it: it must not decide a verdict.
const ROUNDING: f64 = 1e-12;

/// Whether a number satisfies its rule, calculated only from the printed texts and values.
fn satisfies(rule: &str, ours: f64, published: Option<f64>) -> bool {
    let number = |text: &str| text.parse::<f64>().expect("a number");
    if let Some((close, gain)) = rule.split_once(", ") {
        return satisfies(close, ours, published) && satisfies(gain, ours, published);
    }
    let off = published.map(|published| (ours / published - 1.0).abs());
    if let Some(percent) = rule.strip_prefix("within ").and_then(|rule| rule.strip_suffix(" %")) {
        return off.expect("a published number") <= number(percent) / 100.0 + ROUNDING;
    }
    if let Some((min, max)) = rule.strip_prefix("from ").and_then(|r| r.split_once(" to ")) {
        return ours >= number(min) - ROUNDING && ours <= number(max) + ROUNDING;
    }
    match rule.rsplit_once(' ') {
        Some(("at least", min)) => ours >= number(min) - ROUNDING,
        Some(("at most", max)) => ours <= number(max) + ROUNDING,
        Some(("more than", limit)) => ours > number(limit) + ROUNDING,
        Some(("but for", "rounding")) => off.expect("a published number") < 1e-3,
        None if rule == "exactly" => off.expect("a published number") < ROUNDING,
        _ => panic!("an unknown rule: {rule}"),
    }
}

#[test]
fn rounding_decides_no_verdict() {
    let just_above = 1.0 + 1.44e-14;
    assert!(!satisfies("more than 1", just_above, None));
    assert!(satisfies("more than 1", 1.0 + 1e-11, None));
    assert!(!satisfies("within 10 %, at least 1.02", 1.0, Some(1.1)));
    for rule in ["at most 1", "at least 1", "from 1 to 1"] {
        for ours in [just_above, 1.0, 1.0 - 1.44e-14] {
            assert!(satisfies(rule, ours, None), "{rule}: {ours}");
        }
    }
    assert!(satisfies("within 10 %", 1.1 + 1e-14, Some(1.0)));
    assert!(!satisfies("within 10 %", 1.1 + 1e-11, Some(1.0)));
}

/// Checks that each verdict follows from the rule, the published value and ours; that a number of a
/// paper is not given as words; and that only differing values have a reason, which does not
/// contradict the sign of the difference. Returns the number of verdicts that hold or differ.
fn verdicts_follow(report: &Report) -> usize {
    let mut judged = 0;
    for found in report.sections.iter().flat_map(|section| &section.findings) {
        let context = format!("{}: {} ({}), {}", found.what, found.ours, found.rule, found.why);
        let holds = match found.verdict {
            Verdict::Holds | Verdict::Check => true,
            Verdict::Differs => false,
            Verdict::NotComparable | Verdict::NotPublished => {
                assert!(found.why.is_empty(), "{context}");
                continue;
            }
        };
        judged += 1;
        let satisfied = satisfies(&found.rule, found.ours, found.published);
        assert_eq!(satisfied, holds, "{context}");
        assert!(!holds || found.why.is_empty(), "{context}");
        let is_number = |says: &String| says.starts_with(|letter: char| letter.is_ascii_digit());
        assert!(!found.says.as_ref().is_some_and(is_number), "{context}");
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
            assert!(!found.why.contains(words) || agrees, "{context}");
        }
    }
    judged
}

#[test]
fn verdicts_follow_from_what_is_printed() {
    let judged = |paper| verdicts_follow(&on_a_small_trace(paper));
    // Values on workloads that the papers define have verdicts on any trace.
    assert!(judged("swallow") > 60);
    assert_eq!(judged("philae"), 7);
    assert_eq!(judged("aalo"), 0);
    assert!(judged("stream") > 30);
    let (all, scope) = (&Selection::All, Scope::Testbed { every: 1, seconds: None });
    let testbed = Reproduction::new(published("swallow"), all, "small", small(), scope);
    assert!(verdicts_follow(&links_alone(testbed)) > 10);
}

/// The table of docs/papers.md: how many verdicts of each kind the snapshots on the Facebook trace
/// have.
fn table_of_verdicts() -> String {
    let mut table =
        "| paper | checks | holds | differs | ours only |\n|---|--:|--:|--:|--:|\n".to_owned();
    for (name, paper) in [
        ("Philae", "philae"),
        ("Swallow", "swallow"),
        ("Aalo", "aalo"),
        ("CODA", "coda"),
        ("Stream", "stream"),
    ] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
        let file = format!("{folder}/reproduce__verdicts__{paper}_on_facebook.snap");
        let lines = std::fs::read_to_string(file).expect("a snapshot");
        let count = |verdict: Verdict| {
            let end = format!(" | {}", verdict.name());
            lines.lines().filter(|line| line.ends_with(&end)).count()
        };
        let kinds = [Verdict::Check, Verdict::Holds, Verdict::Differs, Verdict::NotPublished];
        let [checks, holds, differs, ours] = kinds.map(count);
        let _ = writeln!(table, "| {name} | {checks} | {holds} | {differs} | {ours} |");
    }
    table
}

#[test]
fn the_page_on_papers_counts_verdicts() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/papers.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let table = table_of_verdicts();
    assert!(page.contains(&table), "docs/papers.md must have this table:\n{table}");
}

/// The findings on the Facebook trace, for a snapshot. Each difference has a reason.
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

#[facebook_test("takes minutes; make slow WHAT=ignored")]
fn philae_on_facebook() {
    insta::assert_snapshot!(on_facebook("philae"));
}

#[facebook_test("takes minutes; make slow WHAT=ignored")]
fn swallow_on_facebook() {
    insta::assert_snapshot!(on_facebook("swallow"));
}

#[facebook_test("takes minutes; make slow WHAT=ignored")]
fn aalo_on_facebook() {
    insta::assert_snapshot!(on_facebook("aalo"));
}

#[facebook_test("takes minutes; make slow WHAT=ignored")]
fn stream_on_facebook() {
    insta::assert_snapshot!(on_facebook("stream"));
}

#[facebook_test("takes minutes; make slow WHAT=ignored")]
fn coda_on_facebook() {
    insta::assert_snapshot!(on_facebook("coda"));
}
