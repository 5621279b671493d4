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
