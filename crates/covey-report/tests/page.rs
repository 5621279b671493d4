//! The HTML page: what is on it, that it needs nothing else, and that names stay names.

use crate::common::{comparison, fair, scf, workload};
use covey_report::{
    Appendix, Cell, Comparison, Figure, Grid, Part, Plot, Row, Run, appendix_page, html_page,
};
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
    let info = fair(&crate::common::workload()).info().clone();
    let run = || Run::new(&workload, Outcome::default(), info.clone()).unwrap();
    let page = html_page(&Comparison::new(vec![run(), run()], 0).unwrap(), "");
    assert!(!page.contains("NaN") && page.ends_with("</html>"));
}

/// A page with a figure of each kind, and a table.
fn appendix() -> Appendix {
    let figure = |title: &str, plot: Plot| Figure {
        title: title.to_owned(),
        caption: "How to read it.".to_owned(),
        plot,
    };
    let curve = vec![("first".to_owned(), vec![[1.0, 2.0], [10.0, 4.0], [100.0, f64::NAN]])];
    let figures = vec![
        figure(
            "Distribution",
            Plot::Cdf {
                x: "CCT (s)".to_owned(),
                of: "flows".to_owned(),
                mark: None,
                curves: vec![("a <b>".to_owned(), vec![1.0, 2.0])],
            },
        ),
        figure(
            "Ratios",
            Plot::Bars {
                x: "speed-up".to_owned(),
                unit: "×".to_owned(),
                series: vec!["published".to_owned(), "ours".to_owned()],
                groups: vec![("Aalo".to_owned(), vec![f64::NAN, 0.5])],
            },
        ),
        figure(
            "Points",
            Plot::Scatter {
                x: "actual (MB)".to_owned(),
                y: "estimated (MB)".to_owned(),
                points: curve.clone(),
            },
        ),
        figure("Curve", Plot::Curves { x: "K".to_owned(), y: "gain".to_owned(), curves: curve }),
    ];
    let cells = vec![
        Cell::Words("order D".to_owned()),
        Cell::Label("fair comparison".to_owned()),
        Cell::Short("1.51×".to_owned()),
        Cell::Verdict(Some(false), "differs".to_owned()),
    ];
    let plain = Row { cells: cells.clone(), note: String::new() };
    let rows = vec![plain, Row { cells, note: "Why it differs.".to_owned() }];
    let columns = ["what", "setting", "published", "verdict"].map(str::to_owned).into();
    let part = Part {
        heading: "Table 3: orders".to_owned(),
        before: vec!["What was done.".to_owned()],
        table: Some(Grid { columns, rows }),
        figures,
        terms: vec![("aalo".to_owned(), "with all its parameters".to_owned())],
    };
    Appendix { title: "The evaluation again".to_owned(), parts: vec![part], ..Appendix::default() }
}

#[test]
fn page_of_an_appendix() {
    insta::assert_snapshot!(skeleton(&appendix_page(&appendix(), "covey reproduce philae")));
}

#[test]
fn figures_of_nothing_are_figures_too() {
    let mut appendix = appendix();
    for figure in &mut appendix.parts[0].figures {
        match &mut figure.plot {
            Plot::Cdf { curves, .. } => curves[0].1.clear(),
            Plot::Bars { groups, .. } => groups.clear(),
            Plot::Scatter { points: curves, .. } | Plot::Curves { curves, .. } => curves.clear(),
        }
    }
    let page = appendix_page(&appendix, "");
    assert!(!page.contains("NaN") && page.matches("<figure>").count() == 4);
}
