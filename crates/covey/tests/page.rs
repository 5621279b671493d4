//! The page of a comparison in a browser: what is chosen stands in its address, and the page shows
//! it.
//!
//! Skipped where there is no Chromium.

use crate::common::TestFolder;

/// The page with this in its address.
fn shown(folder: &TestFolder, chosen: &str, width: u32) -> Option<String> {
    let page = folder.path("page.html");
    folder.shown(&format!("file://{}#{chosen}", page.display()), width)
}

/// The texts of the cells of the first column of the table of policies.
fn policies(page: &str) -> Vec<String> {
    let results = page.split_once("id=\"results\"").expect("results").1;
    let body =
        results.split_once("<tbody>").expect("a body").1.split_once("</tbody>").expect("its end").0;
    let keys = body.split("<span>").skip(1);
    keys.map(|rest| rest.split('<').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn timelines_show_a_coflow_and_explain_it_as_the_command_does() {
    let folder = TestFolder::new();
    let trace = "builtin:fb-like:coflows=60";
    let compare = ["compare", trace, "--policies", "fair,aalo", "--report", "page.html"];
    folder.results(&[&compare[..], &["--timelines", "--coflow", "7"]].concat());
    let page = folder.read("page.html");
    assert!(page.contains("shorter pauses and changes of rate are left out."), "{page}");
    let Some(shown) = shown(&folder, "coflow=7", 1400) else { return };
    assert!(shown.contains("<h3>Coflow 7</h3>"), "{shown}");
    for policy in ["fair", "aalo"] {
        let told = folder.results(&["explain", trace, "--policy", policy, "--coflow", "7"]);
        let sentence = told.lines().next().expect("a sentence");
        assert!(shown.contains(sentence), "{sentence} in {shown}");
    }
    let plain = folder.results(&compare);
    assert!(!plain.is_empty() && !folder.read("page.html").contains("id=\"timelines\""));
}

#[test]
fn timelines_that_cannot_be_are_refused() {
    let folder = TestFolder::new();
    let refused = |more: &[&str]| folder.refusal(&[&["compare", "tiny.txt"][..], more].concat());
    let report = ["--report", "page.html", "--timelines"];
    let emulated = [&report[..], &["--policies", "sebf", "--sim", "coflowsim"]].concat();
    assert_eq!(refused(&emulated), "--timelines: expected --sim exact with it, found another");
    let unknown = [&report[..], &["--policies", "fair", "--coflow", "no"]].concat();
    assert!(refused(&unknown).starts_with("--coflow: expected the id of one of"));
    assert!(refused(&["--timelines"]).contains("--report"));
}

#[test]
fn the_page_answers_in_a_browser() {
    let folder = TestFolder::new();
    let policies_asked = "fair,sebf,fifo,aalo";
    let trace = "builtin:fb-like:coflows=60";
    folder.results(&["compare", trace, "--policies", policies_asked, "--report", "page.html"]);
    let Some(plain) = shown(&folder, "", 1400) else { return };
    assert_eq!(policies(&plain), ["fair", "sebf", "fifo", "aalo"]);
    assert!(plain.contains("60 of 60 coflows"), "{plain}");

    // By speed-up of the mean, downwards: as the command's own numbers say.
    let found = folder.results(&["compare", trace, "--policies", policies_asked, "--json"]);
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    let mut by_mean: Vec<(f64, String)> = found["speedups"]
        .as_array()
        .expect("speed-ups")
        .iter()
        .map(|row| {
            (
                row["mean_of_means"].as_f64().expect("a number"),
                row["label"].as_str().expect("a label").to_owned(),
            )
        })
        .collect();
    by_mean.sort_by(|a, b| b.0.total_cmp(&a.0));
    let sorted = shown(&folder, "sort=-2", 1400).expect("a page");
    let expected: Vec<String> = by_mean.iter().map(|(_, label)| label.clone()).collect();
    assert_eq!(policies(&sorted), expected);
    assert!(sorted.contains("aria-sort=\"descending\""));

    // Another baseline: the cell of `fair` says what the command says.
    let over = ["compare", trace, "--policies", policies_asked, "--baseline", "sebf", "--json"];
    let over: serde_json::Value = serde_json::from_str(&folder.results(&over)).expect("JSON");
    let fair = &over["speedups"][0];
    assert_eq!(fair["label"], "fair");
    let rebased = shown(&folder, "baseline=sebf", 1400).expect("a page");
    for key in ["mean_of_means", "p50"] {
        let cell = format!("<td>{:.2}</td>", fair[key].as_f64().expect("a number"));
        let row =
            rebased.split_once("<tbody>").expect("a body").1.split_once("</tr>").expect("a row").0;
        assert!(row.contains(&cell), "{key}: {cell} in {row}");
    }
    assert!(rebased.contains("speed-up of a coflow over sebf"));

    // A policy that is brought out, a linear axis, and a coflow that is looked for.
    let chosen = shown(&folder, "policy=aalo&cct-axis=linear&find=59", 1400).expect("a page");
    assert!(chosen.contains("aria-pressed=\"true\""), "{chosen}");
    assert!(chosen.contains("curve c0 d0 dim") || chosen.contains(" dim\""), "{chosen}");
    assert!(chosen.contains("1 of 60 coflows"), "{chosen}");
    let width = |page: &str| page.matches("class=\"grid major\"").count();
    assert_ne!(width(&chosen), width(&plain));
}

/// The part of a page of several comparisons that is about one of them.
fn comparison<'a>(page: &'a str, at: &str) -> &'a str {
    let part = page.split_once(&format!("id=\"{at}comparison\"")).expect("a comparison").1;
    part.split_once("</article>").expect("its end").0
}

#[test]
fn each_comparison_of_a_page_of_several_answers_for_itself() {
    let folder = TestFolder::new();
    let traces = r#"["builtin:fb-like:coflows=30", "builtin:fb-like:coflows=20,seed=2"]"#;
    let study =
        format!("traces = {traces}\npolicies = \"fair,sebf,fifo\"\nreport = \"page.html\"\n");
    folder.write("experiment.toml", &study);
    folder.results(&["study", "experiment.toml"]);
    let chosen = "trace-1-sort=-2&trace-1-baseline=sebf&trace-2-policy=fifo&trace-2-find=19";
    let Some(page) = shown(&folder, chosen, 390) else { return };
    let [first, second] = ["trace-1-", "trace-2-"].map(|at| comparison(&page, at));
    assert!(first.contains("aria-sort=\"descending\""), "{first}");
    assert!(!second.contains("aria-sort=\"descending\""), "{second}");
    assert!(first.contains("speed-up of a coflow over sebf"), "{first}");
    assert!(second.contains("speed-up of a coflow over fair"), "{second}");
    assert!(!first.contains(" dim\"") && second.contains(" dim\""), "{second}");
    assert!(first.contains("30 of 30 coflows"), "{first}");
    assert!(second.contains("1 of 20 coflows"), "{second}");
}

#[test]
fn a_comparison_over_seeds_answers_in_a_browser() {
    let folder = TestFolder::new();
    let compare = ["compare", "builtin:fb-like:coflows=20", "--policies", "fair,sebf,fifo"];
    folder.results(&[&compare[..], &["--seeds", "4", "--report", "page.html"]].concat());
    let Some(plain) = shown(&folder, "", 1400) else { return };
    assert_eq!(policies(&plain), ["fair", "sebf", "fifo"]);
    // By the mean CCT, upwards; the speed-ups of each seed stay.
    let page = shown(&folder, "sort=1&policy=sebf&seeds-axis=linear", 1400).expect("a page");
    assert_eq!(policies(&page)[0], "sebf");
    assert!(page.contains("aria-pressed=\"true\"") && page.contains(" dim\""), "{page}");
    assert!(!page.contains("id=\"baseline\""), "there is no other baseline");
    let curve = |page: &str| {
        let path = page.split_once("<path class=\"curve").expect("a curve").1;
        path.split_once(" d=\"").expect("its way").1.split('"').next().map(str::to_owned)
    };
    assert_ne!(curve(&page), curve(&plain), "a linear axis");
}
