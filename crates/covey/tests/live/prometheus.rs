//! Metrics, alert rules and dashboard against a real Prometheus and a coordinator.
//!
//! `promtool` must accept the metrics and the rules, and the tests of the rules must pass.
//! Prometheus must carry out every expression of the rules and of the dashboard, and have every
//! metric that they name. When an agent is killed, the alerts on it and on the coflow that stalls
//! must fire.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::time::Duration;

use covey_api::{Client, Credentials};
use serde_json::Value;

use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, Relay, block_on, joined, register, token, until};

/// Values for the variables of the dashboard.
const VARIABLES: [(&str, &str); 3] =
    [("$__rate_interval", "20s"), ("$job", ".+"), ("$instance", ".+")];
/// Agents that join without the relay.
const DIRECT: u32 = 3;
/// Agents that join through it.
const RELAYED: u32 = 2;
/// Where the relay listens.
const RELAY: &str = "127.0.0.1";

/// A file of the folder `scripts`.
fn script(name: &str) -> String {
    format!("{}/../../scripts/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(script(name)).expect(name)
}

/// Runs `promtool`, which must be content. It may get something to read.
fn promtool(arguments: &[&str], input: &str) {
    let mut command = Command::new("promtool");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("promtool; Debian's package `prometheus` has it");
    process.stdin.take().expect("its input").write_all(input.as_bytes()).expect("it reads");
    let ran = process.wait_with_output().expect("it ends");
    let said = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(ran.status.success(), "promtool {}: {said}", arguments.join(" "));
}

/// A coordinator with certificates, which have a metric of their own, a relay, and agents.
struct Live {
    folder: TestFolder,
    coordinator: Coordinator,
    _relay: Relay,
    agents: Vec<Killed>,
}

impl Live {
    fn start() -> Live {
        let folder = TestFolder::new();
        folder.results(&["serve", "--init", "--data", "data", "--relay", RELAY]);
        let settings = ["--ports", "8", "--heartbeat", "200ms", "--lost-after", "1s"];
        let coordinator = Coordinator::new(&folder, &settings);
        let credentials = format!("data/relays/{RELAY}");
        let mut command = Relay::command(&folder, coordinator.agents, "127.0.0.1:0", &credentials);
        let relay = Relay::spawn(&mut command);
        let agent = |port: u32| {
            let to = if port < DIRECT { coordinator.agents } else { relay.agents }.to_string();
            let (number, socket) = (port.to_string(), format!("{port}.sock"));
            let mut command = folder.command(&["agent", "--port", &number, "--coordinator", &to]);
            command.args(["--credentials", "data", "--socket", &socket]);
            Killed(command.stderr(Stdio::null()).spawn().expect("covey agent"))
        };
        let agents = (0..DIRECT + RELAYED).map(agent).collect();
        Live { folder, coordinator, _relay: relay, agents }
    }

    async fn client(&self) -> Client {
        let tls = Credentials::of(&self.folder.path("data")).client().expect("certificates");
        let token = token(&self.folder);
        Client::connect(self.coordinator.clients, &token, Some(tls)).await.expect("a connection")
    }
}

/// A Prometheus that reads the metrics of a coordinator, and evaluates the rules, each second.
struct Prometheus {
    address: SocketAddr,
    process: Killed,
}

impl Prometheus {
    fn start(folder: &TestFolder, coordinator: SocketAddr) -> Prometheus {
        folder.write("token", token(folder));
        let rules = read("prometheus/covey.rules.yml");
        // An alert that has to last for minutes lasts for two seconds here.
        let rules = rules.lines().map(|line| match line.split_once("for: ") {
            Some((indent, _)) => format!("{indent}for: 2s\n"),
            None => format!("{line}\n"),
        });
        folder.write("covey.rules.yml", rules.collect::<String>());
        let encrypted = "scheme: https\n    tls_config:\n      ca_file: data/ca.pem\n    ";
        let config = read("prometheus/prometheus.yml")
            .replace("127.0.0.1:7420", &coordinator.to_string())
            .replace("_interval: 5s", "_interval: 1s\n  evaluation_interval: 1s")
            .replace("authorization:", &format!("{encrypted}authorization:"));
        folder.write("prometheus.yml", config);
        let path = |name: &str| folder.path(name).display().to_string();
        promtool(&["check", "config", &path("prometheus.yml")], "");
        // A port that is free now.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        drop(listener);
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", path("prometheus.yml")));
        command.arg(format!("--storage.tsdb.path={}", path("tsdb")));
        command.arg(format!("--web.listen-address={address}"));
        let process = command.stderr(Stdio::null()).spawn();
        let process = Killed(process.expect("Debian's package `prometheus` has it"));
        Prometheus { address, process }
    }

    /// What Prometheus answers.
    async fn ask(&self, path: &str) -> Result<Value, String> {
        let mut client =
            Client::connect(self.address, b"", None).await.map_err(|error| error.to_string())?;
        let answer = client.get(&format!("/api/v1/{path}")).await;
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status == 200 {
            Ok(answer.json()["data"].take())
        } else {
            Err(String::from_utf8_lossy(&answer.body).into_owned())
        }
    }

    /// Whether an expression has a value.
    async fn has(&self, expression: &str) -> Result<bool, String> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let found = self.ask(&format!("query?query={encoded}")).await?;
        Ok(found["result"].as_array().is_some_and(|it| !it.is_empty()))
    }

    /// The expressions of its rules.
    async fn rules(&self) -> Vec<String> {
        let rules = self.ask("rules").await.expect("rules");
        let groups = rules["groups"].as_array().expect("groups");
        let rules = groups.iter().flat_map(|group| group["rules"].as_array().expect("rules"));
        rules.map(|rule| rule["query"].as_str().expect("an expression").to_owned()).collect()
    }

    /// The alerts that fire.
    async fn firing(&self) -> BTreeSet<String> {
        let alerts = self.ask("alerts").await.expect("alerts");
        let alerts = alerts["alerts"].as_array().expect("alerts").iter();
        let alerts = alerts.filter(|alert| alert["state"] == "firing");
        alerts.map(|it| it["labels"]["alertname"].as_str().expect("a name").to_owned()).collect()
    }
}

/// The expressions of the dashboard, with values for its variables.
fn dashboard() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&read("grafana/covey.json")).expect("JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let targets = list(&dashboard["panels"]).into_iter().flat_map(|it| list(&it["targets"]));
    let annotations = list(&dashboard["annotations"]["list"]);
    let text = |it: Value| it["expr"].as_str().expect("an expression").to_owned();
    let filled =
        |text: String| VARIABLES.iter().fold(text, |text, (name, value)| text.replace(name, value));
    targets.chain(annotations).map(text).map(filled).collect()
}

/// The metrics that an expression names.
fn metrics(expression: &str) -> impl Iterator<Item = String> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_ours = |word: &&str| word.starts_with("covey_") || word.starts_with("process_");
    words.filter(is_ours).map(str::to_owned)
}

#[test]
#[ignore = "needs Debian's package prometheus; make slow WHAT=prometheus"]
fn prometheus_has_the_metrics_that_rules_and_dashboard_name() {
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    assert!(
        ["prometheus", "promtool"].into_iter().all(is_there),
        "expected prometheus and promtool, which Debian's package `prometheus` has"
    );
    promtool(&["check", "rules", &script("prometheus/covey.rules.yml")], "");
    promtool(&["test", "rules", &script("prometheus/covey.rules.test.yml")], "");
    let mut live = Live::start();
    block_on(async {
        let mut client = live.client().await;
        for port in 0..3 {
            register(&mut client, &[(port, port + 1), (3, port)]).await;
        }
        // There is a metric of refusals.
        assert_eq!(client.get("/v1/coflows/99").await.expect("an answer").status, 404);
        let agents = (DIRECT + RELAYED) as usize;
        until(20, "agents join", async || joined(&mut client).await == agents).await;
        let page = client.get("/metrics").await.expect("an answer").body;
        promtool(&["check", "metrics"], &String::from_utf8(page).expect("text"));

        let mut prometheus = Prometheus::start(&live.folder, live.coordinator.clients);
        until(30, "Prometheus reads metrics", async || {
            assert_eq!(prometheus.process.0.try_wait().expect("a process"), None);
            prometheus.has("covey_agents").await == Ok(true)
        })
        .await;
        // Rates need several values.
        tokio::time::sleep(Duration::from_secs(5)).await;
        let (rules, dashboard) = (prometheus.rules().await, dashboard());
        let (mut names, mut wrong, mut empty) = (BTreeSet::new(), Vec::new(), Vec::new());
        for expression in rules.iter().chain(&dashboard) {
            names.extend(metrics(expression));
            match prometheus.has(expression).await {
                Err(error) => wrong.push(format!("{expression}: {error}")),
                Ok(false) if dashboard.contains(expression) => empty.push(expression),
                Ok(_) => {}
            }
        }
        for name in &names {
            if prometheus.has(name).await != Ok(true) {
                wrong.push(format!("the coordinator has no metric {name}"));
            }
        }
        let counts = [rules.len(), dashboard.len(), names.len()];
        println!("rules, expressions of the dashboard, metrics that they name: {counts:?}");
        println!("expressions of the dashboard without a value here: {empty:#?}");
        assert!(counts.iter().all(|count| *count > 0), "something was not found");
        assert!(wrong.is_empty(), "{wrong:#?}");

        println!("firing before: {:?}", prometheus.firing().await);
        drop(live.agents.remove(1));
        let expected = ["CoveyAgentsLost", "CoveyCoflowsStalled"];
        until(40, "alerts", async || {
            let firing = prometheus.firing().await;
            expected.iter().all(|name| firing.contains(*name))
        })
        .await;
        println!("firing after an agent was killed: {:?}", prometheus.firing().await);
    });
}
