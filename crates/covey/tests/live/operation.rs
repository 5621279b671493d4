//! What operators rely on: the audit log, and the metrics that rules, dashboard and documentation
//! name.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use covey_api::{Client, Credentials};
use serde_json::Value;

use crate::common::TestFolder;
use crate::harness::{Coordinator, block_on, connect, register, spawn_agents, state, token, until};

/// The lines of an audit log, each without its time, which must be there.
fn entries(text: &str) -> Vec<Value> {
    let entry = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).expect("JSON");
        let time = entry.as_object_mut().and_then(|it| it.remove("time")).expect("a time");
        assert!(
            time.as_str().is_some_and(|it| it.starts_with("20") && it.ends_with('Z')),
            "{time}"
        );
        entry
    };
    text.lines().map(entry).collect()
}

#[test]
fn the_audit_log_says_who_has_changed_what() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &["--audit-log", "audit"]);
    let client_at = block_on(async {
        let mut client = coordinator.client(&folder).await;
        spawn_agents(coordinator.agents, &token(&folder), 4);
        let first = register(&mut client, &[(0, 1)]).await;
        until(10, "it ends", async || state(&mut client, first).await == "ended").await;
        client.ask("PATCH", "/v1/coflows/7", &[], "{\"open\":true}").await.unwrap();
        // A thread of its own writes.
        let is_written = async || folder.read("audit").matches('\n').count() == 4;
        until(10, "it is written", is_written).await;
        fs::rename(folder.path("audit"), folder.path("audit.1")).unwrap();
        let open = "{\"flows\":[],\"open\":true}";
        client.ask("POST", "/v1/coflows", &[], open).await.unwrap();
        client.ask("POST", "/v1/coflows", &[], "{").await.unwrap();
        client.ask("DELETE", "/v1/coflows/1", &[], "").await.unwrap();
        client.get("/v1/coflows").await.unwrap();
        let mut stranger = connect(coordinator.clients, b"wrong").await.unwrap();
        stranger.ask("DELETE", "/v1/coflows/1", &[], "").await.unwrap();
        coordinator.clients
    });
    let id = coordinator.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(coordinator.process.wait().unwrap().success());
    let old = entries(&folder.read("audit.1"));
    let new = entries(&folder.read("audit"));
    let short = |entries: &[Value]| -> Vec<String> {
        let word = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
        let of = |it: &Value| {
            ["action", "coflow", "status", "problem"].map(|name| word(&it[name])).join(" ")
        };
        entries.iter().map(of).collect()
    };
    assert_eq!(
        short(&old),
        [
            "start null null null",
            "register 0 201 null",
            "ended 0 null null",
            "update 7 404 no such coflow",
        ]
    );
    // The answer and the effect may come in either order.
    let mut changes = short(&new);
    changes[2..4].sort();
    assert_eq!(
        changes,
        [
            "register 1 201 null",
            "register null 400 malformed body",
            "remove 1 204 null",
            "removed 1 null null",
            "drain null null null",
            "stop null null null",
        ]
    );
    let peer = old[1]["peer"].as_str().expect("who asked");
    assert!(peer.starts_with("127.0.0.1:") && peer != client_at.to_string(), "{peer}");
    assert!(old.iter().chain(&new).all(|entry| entry["epoch"] == 1));
    assert_eq!(old[0].get("peer"), None);
    let mode = fs::metadata(folder.path("audit")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let secret = String::from_utf8(token(&folder)).unwrap();
    assert!(!(folder.read("audit") + &folder.read("audit.1")).contains(&secret));

    let refused = folder.refusal(&[
        "serve",
        "--data",
        "other",
        "--audit-log",
        "none/audit",
        "--log",
        "error",
    ]);
    assert!(refused.starts_with("audit log none/audit: No such file"), "{refused}");
}

/// The names in a text that begin as those of metrics do.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c| !is_part(c));
    let is_metric = |word: &&str| word.starts_with("covey_") || word.starts_with("process_");
    words.filter(is_metric).map(str::to_owned).collect()
}

/// The metrics of a coordinator, without the endings of the series of histograms.
fn metrics() -> BTreeSet<String> {
    let folder = TestFolder::new();
    // Certificates have a metric of their own.
    folder.results(&["serve", "--init", "--data", "data"]);
    // This policy alone has a confidence.
    let coordinator = Coordinator::new(&folder, &["--policy", "coda"]);
    let text = block_on(async {
        let tls = Credentials::of(&folder.path("data")).client().unwrap();
        let client = Client::connect(coordinator.clients, &token(&folder), Some(tls)).await;
        let mut client = client.unwrap();
        // Series of requests begin with a request.
        client.get("/v1/coflows").await.unwrap();
        String::from_utf8(client.get("/metrics").await.unwrap().body).unwrap()
    });
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn rules_dashboard_and_documentation_name_metrics_that_there_are() {
    let metrics = metrics();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(top.join(path)).expect(path);
    let base = |name: &String| {
        let histogram = name.strip_suffix("_bucket").filter(|name| metrics.contains(*name));
        histogram.map_or_else(|| name.clone(), str::to_owned)
    };
    for path in [
        "scripts/prometheus/covey.rules.yml",
        "scripts/prometheus/covey.rules.test.yml",
        "scripts/grafana/covey.json",
    ] {
        let named: BTreeSet<String> = named(&read(path)).iter().map(base).collect();
        assert!(named.len() >= 10, "{path}: {named:?}");
        let unknown: Vec<&String> = named.difference(&metrics).collect();
        assert!(unknown.is_empty(), "{path}: {unknown:?}");
    }
    let page = read("docs/coordinator.md");
    let (_, section) = page.split_once("## Metrics").unwrap();
    let (table, _) = section.split_once("A relay with").unwrap();
    assert_eq!(named(table), metrics);
    // Each alert is explained, and each that is explained is one.
    let alerts = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let is_alert = |word: &&str| word.len() > 5 && word.starts_with("Covey");
        words.filter(is_alert).map(str::to_owned).collect()
    };
    let rules = read("scripts/prometheus/covey.rules.yml");
    let rules: String = rules.lines().filter(|line| line.contains("- alert: ")).collect();
    assert_eq!(alerts(&read("docs/operate.md")), alerts(&rules));
    assert_eq!(alerts(&read("scripts/prometheus/covey.rules.test.yml")), alerts(&rules));
}

/// The units of Grafana that the dashboard uses.
const UNITS: [&str; 6] = ["short", "percentunit", "bytes", "s", "cps", "reqps"];

/// What the rules of Grafana's dashboard-linter ask for.
#[test]
fn the_dashboard_is_sound() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/grafana/covey.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["datasource", "job", "instance"]);
    assert_eq!(variables[0]["label"], "Data source");
    for (variable, label) in variables[1..].iter().zip(["Job", "Instance"]) {
        assert_eq!((&variable["label"], &variable["allValue"]), (&label.into(), &".+".into()));
        assert_eq!(variable["datasource"]["uid"], "${datasource}");
        assert_eq!(variable["type"], "query");
        assert_eq!(variable["multi"], true);
        // When the time range changes.
        assert_eq!(variable["refresh"], 2);
    }
    // Who changes it saves a copy.
    assert_eq!(dashboard["editable"], false);
    let panels = dashboard["panels"].as_array().unwrap();
    let (mut ids, mut titles, mut cells) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let at = &panel["gridPos"];
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|name| at[name].as_u64().unwrap());
        assert!(w > 0 && h > 0 && x + w <= 24, "{at}");
        let own = (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y)));
        own.for_each(|cell| assert!(cells.insert(cell), "panels overlap: {panel}"));
        if panel["type"] == "row" {
            continue;
        }
        assert!(titles.insert(panel["title"].as_str().unwrap()), "{panel}");
        assert!(panel["description"].as_str().is_some_and(|it| it.len() > 10), "{panel}");
        let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().expect("a unit");
        assert!(UNITS.contains(&unit), "{unit}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty());
        for target in targets {
            assert_eq!(target["datasource"]["uid"], "${datasource}");
            let expression = target["expr"].as_str().unwrap();
            let selectors = expression.matches('{').count();
            let matched = "{job=~\"$job\", instance=~\"$instance\"}";
            assert_eq!(expression.matches(matched).count(), selectors, "{expression}");
            assert!(selectors > 0, "{expression}");
            // A rate over another time would miss scrapes, or show less than there is.
            assert_eq!(
                expression.matches('[').count(),
                expression.matches("[$__rate_interval]").count()
            );
            // Counters only grow: what is of interest is how fast.
            let counters =
                expression.matches("_total{").count() + expression.matches("_bucket{").count();
            let rates =
                expression.matches("rate(").count() + expression.matches("increase(").count();
            assert_eq!(counters, rates, "{expression}");
        }
    }
}
