//! The HTML pages: their content, that they load nothing, and that names are escaped.

use crate::common::{comparison, fair, scf, workload};
use covey_report::{
    Appendix, Cell, CellKind, Comparison, Figure, Grid, Part, Plot, Row, Run, appendix_page,
    html_page,
};
use covey_trace::Workload;
use covey_trace::results::Outcome;
use std::collections::HashSet;

/// The page without style sheet, script and version, with one line for each opening tag.
fn skeleton(page: &str) -> String {
    let (before, rest) = page.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    let after = match after.split_once("<script>") {
        Some((data, rest)) => format!("{data}{}", rest.split_once("</script>").unwrap().1),
        None => after.to_owned(),
    };
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
    let page = html_page(&Comparison::new(&runs, 1).unwrap(), evil);
    assert!(page.contains("&lt;script&gt;"));
    let (before, data) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    assert!(!before.contains("<script") && !before.contains("(\"&\")"));
    assert!(!data.split_once("</script>").unwrap().0.contains('<'));
    // All attributes are in double quotes, and names cannot contain an unescaped one.
    assert!(page.contains("aria-label=\"Cumulative distribution of the speed-up over &lt;script"));
}

#[test]
fn the_page_loads_nothing() {
    let workload = workload();
    let page = html_page(&comparison(&workload), "covey compare tiny");
    for outside in ["http:", "https:", "src=", "href=\"", "url(", "@import", "fetch("] {
        assert!(!page.replace("href=\"#", "").contains(outside), "{outside}");
    }
}

#[test]
fn each_of_ten_policies_looks_different() {
    let workload = workload();
    let runs: Vec<Run<'_>> = (0..10).map(|_| fair(&workload)).collect();
    let page = html_page(&Comparison::new(&runs, 4).unwrap(), "");
    let classes = page.split("<line class=\"curve ").skip(1).filter_map(|s| s.split('"').next());
    assert_eq!(classes.collect::<HashSet<_>>().len(), 10);
}

#[test]
fn one_policy_has_no_speedups() {
    let workload = workload();
    let page = html_page(&Comparison::new(&[fair(&workload)], 0).unwrap(), "");
    assert_eq!(page.matches("<figure>").count(), 1);
}

#[test]
fn an_empty_workload_gives_a_page() {
    let workload = Workload::default();
    let info = fair(&crate::common::workload()).info().clone();
    let run = || Run::new(&workload, Outcome::default(), info.clone()).unwrap();
    let page = html_page(&Comparison::new(&[run(), run()], 0).unwrap(), "");
    let (before, _) = page.split_once("<script>").unwrap();
    assert!(!before.contains("NaN") && page.ends_with("</html>"));
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
    let short = |text: &str| Cell::new(CellKind::Short, text);
    let row = |what: &str, note: &str| {
        let cells = vec![
            Cell::new(CellKind::Words, what).with("fair comparison"),
            short("1.51×").with("within 6 %"),
            short("1.26×").with("-16.8 %"),
            Cell::new(CellKind::Verdict(Some(note.is_empty())), "a verdict"),
        ];
        Row { cells, note: note.to_owned() }
    };
    let columns = [("what", "setting"), ("published", "rule"), ("ours", ""), ("verdict", "")];
    let table = |rows| {
        let columns = columns.map(|(text, detail)| short(text).with(detail)).into();
        Some(Grid { columns, rows })
    };
    let orders = Part {
        name: "Table 3".to_owned(),
        shows: "orders".to_owned(),
        contents_cells: vec!["1".to_owned(), "2".to_owned()],
        before: vec!["What was done.".to_owned()],
        table: table(vec![row("A", "Why it differs."), row("B", "Why."), row("D", "")]),
        figures,
        terms: vec![("aalo".to_owned(), "with all its parameters".to_owned())],
    };
    let others = Part {
        name: "Figure 4(a)".to_owned(),
        shows: "others".to_owned(),
        contents_cells: vec!["–".to_owned(), "2".to_owned()],
        table: table(vec![row("Aalo", "Why it differs."), row("FIFO", "Why it differs.")]),
        ..Part::default()
    };
    Appendix {
        title: "The evaluation repeated".to_owned(),
        lead: vec!["Two parts.".to_owned()],
        contents_columns: ["holds", "differs"].map(str::to_owned).into(),
        parts: vec![orders, others],
    }
}

#[test]
fn page_of_an_appendix() {
    insta::assert_snapshot!(skeleton(&appendix_page(&appendix(), "covey reproduce philae")));
}

#[test]
fn empty_plots_are_drawn() {
    let mut appendix = appendix();
    for figure in &mut appendix.parts[0].figures {
        match &mut figure.plot {
            Plot::Cdf { curves, .. } | Plot::Tail { curves, .. } => curves[0].1.clear(),
            Plot::Bars { groups, .. } => groups.clear(),
            Plot::Scatter { points: curves, .. } | Plot::Curves { curves, .. } => curves.clear(),
        }
    }
    let page = appendix_page(&appendix, "");
    assert!(!page.contains("NaN") && page.matches("<figure>").count() == 4);
}

#[test]
fn the_contents_link_to_every_part_and_no_link_is_broken() {
    let page = appendix_page(&appendix(), "");
    let after = |start: &str| -> Vec<String> {
        let found = page.split(start).skip(1).filter_map(|rest| rest.split('"').next());
        found.map(str::to_owned).collect()
    };
    let (ids, links) = (after(" id=\""), after("href=\"#"));
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:?}");
    assert!(links.iter().all(|link| ids.contains(link)), "{links:?} {ids:?}");
    let contents = page.split("<nav").nth(1).and_then(|rest| rest.split("</nav>").next()).unwrap();
    for target in ["#table-3", "#figure-4-a", "#notes"] {
        assert!(contents.contains(&format!("href=\"{target}\"")), "{contents}");
    }
}

#[test]
fn rows_with_the_same_reason_share_a_footnote() {
    let page = appendix_page(&appendix(), "");
    assert_eq!(page.matches("Why it differs.").count(), 1);
    assert_eq!(page.matches("href=\"#note-1\"").count(), 3);
    let back = "<a href=\"#table-3\">Table 3</a>, <a href=\"#figure-4-a\">Figure 4(a)</a>";
    assert!(page.contains(back));
}

#[test]
fn the_list_of_runs_is_folded() {
    let page = appendix_page(&appendix(), "");
    let folded = page.split("<details>").nth(1).and_then(|rest| rest.split("</details>").next());
    assert!(folded.is_some_and(|it| it.contains("with all its parameters")));
}

/// The texts of all plots: class, horizontal coordinate and content.
fn texts(page: &str) -> Vec<(String, f64, String)> {
    let attribute = |tag: &str, name: &str| {
        let value = tag.split(&format!("{name}=\"")).nth(1)?;
        value.split('"').next().map(str::to_owned)
    };
    let text = |rest: &str| {
        let (tag, rest) = rest.split_once('>')?;
        let x = attribute(tag, " x")?.parse().ok()?;
        Some((attribute(tag, "class").unwrap_or_default(), x, rest.split('<').next()?.to_owned()))
    };
    page.split("<text").skip(1).filter_map(text).collect()
}

#[test]
fn no_text_of_a_plot_is_cut_off() {
    let mut appendix = appendix();
    let far = vec![[1e-4, 1e-4], [1e5, 1e5]];
    for figure in &mut appendix.parts[0].figures {
        match &mut figure.plot {
            Plot::Cdf { curves, .. } | Plot::Tail { curves, .. } => {
                curves[0].1 = vec![2e-4, 1e5];
            }
            Plot::Bars { groups, .. } => groups[0].1 = vec![1e-4, 1e5],
            Plot::Scatter { points: curves, .. } | Plot::Curves { curves, .. } => {
                curves[0].1.clone_from(&far);
            }
        }
    }
    let page = appendix_page(&appendix, "");
    let texts = texts(&page);
    assert!(texts.iter().any(|(.., text)| text == "100000"));
    for (class, x, text) in texts {
        // The width of a digit at a font size of 20 pixels, as on a narrow screen.
        let width = 12.8 * text.chars().count() as f64;
        let left = match class.as_str() {
            "middle" => x - width / 2.0,
            "end" => x - width,
            _ => x,
        };
        assert!(left >= 0.0 && left + width <= 560.0, "{text} from {left} to {}", left + width);
    }
}

#[test]
fn long_labels_are_not_shortened() {
    let workload = workload();
    let long = "philae:pilots=senders:0.05,thin=7,queues=weighted,order=";
    let runs = ["A", "B"].map(|order| {
        let run = fair(&workload);
        let info = covey_report::RunInfo { label: format!("{long}{order}"), ..run.info().clone() };
        Run::new(&workload, run.outcome().clone(), info).unwrap()
    });
    let page = html_page(&Comparison::new(&runs, 0).unwrap(), "");
    assert!(!page.contains('…'));
    let names: Vec<_> = texts(&page).into_iter().map(|(.., text)| text).collect();
    for order in ["order=A", "order=B"] {
        assert!(names.iter().any(|name| name.ends_with(order)), "{order} in {names:?}");
    }
}
