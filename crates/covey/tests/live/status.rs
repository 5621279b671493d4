//! What `covey status` and `covey top` show of a coordinator.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::TestFolder;
use crate::harness::{Coordinator, Fluid, Killed, Relay, block_on, connect, joined, token, until};

/// So slow that nothing ends meanwhile.
const SLOW: [&str; 8] =
    ["--policy", "sebf", "--port-rate", "80kbps", "--lost-after", "600ms", "--heartbeat", "100ms"];

/// A coordinator with three agents, one of them behind a relay. The fourth host has none. Of its
/// four coflows one is served, one waits for it, one is stalled, and one has no flows.
async fn coflows(folder: &TestFolder, coordinator: &Coordinator) -> Relay {
    let token = token(folder);
    let relay = Relay::new(folder, coordinator.agents);
    for (port, to) in [(0, coordinator.agents), (1, coordinator.agents), (2, relay.agents)] {
        Fluid::of(1e9).join(to, &token, port);
    }
    let mut client = coordinator.client(folder).await;
    until(10, "agents join", async || joined(&mut client).await == 3).await;
    for spec in [
        json!({"name": "small", "flows": [{"src": 0, "dst": 1, "bytes": 1e6}]}),
        json!({"name": "large\u{1b}[31m\u{202e}", "flows": [{"src": 0, "dst": 1, "bytes": 9e6}]}),
        json!({"flows": [{"src": 2, "dst": 3, "bytes": 1e6}]}),
        json!({"flows": [], "open": true}),
    ] {
        let answer = client.ask("POST", "/v1/coflows", &[], spec.to_string()).await.unwrap();
        assert_eq!(answer.status, 201);
    }
    until(10, "one stalls", async || {
        client.get("/v1/coordinator").await.unwrap().json()["coflows_stalled"] == 1
    })
    .await;
    until(10, "one is served", async || {
        client.get("/v1/coflows/0").await.unwrap().json()["rate"].as_f64() > Some(0.0)
    })
    .await;
    relay
}

/// The arguments of a command that asks a coordinator.
fn asking<'a>(command: &'a str, address: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command, "--coordinator", address, "--credentials", "data"], more].concat()
}

/// The line of a text that has this in it.
fn line<'a>(text: &'a str, part: &str) -> &'a str {
    text.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}: {text}"))
}

#[test]
fn a_coflow_is_explained_while_it_runs() {
    let folder = TestFolder::new();
    // Each takes a second, one after the other.
    let options = ["--policy", "sebf", "--port-rate", "8mbps"];
    let coordinator = Coordinator::new(&folder, &options);
    block_on(async {
        let token = token(&folder);
        for port in [0, 1] {
            Fluid::of(1e6).join(coordinator.agents, &token, port);
        }
        let mut client = coordinator.client(&folder).await;
        until(10, "agents join", async || joined(&mut client).await == 2).await;
        for (name, bytes) in [("small\u{1b}[31m", 1e6), ("large", 2e6)] {
            let spec = json!({"name": name, "flows": [{"src": 0, "dst": 1, "bytes": bytes}]});
            let answer = client.ask("POST", "/v1/coflows", &[], spec.to_string()).await.unwrap();
            assert_eq!(answer.status, 201);
        }
        is_explained(&folder, &coordinator);
    });
}

/// The coflow 1 is explained, which waits for the coflow 0.
fn is_explained(folder: &TestFolder, coordinator: &Coordinator) {
    let address = coordinator.clients.to_string();
    let live = ["--live", "1", "--every", "20ms"];
    let ran = folder.covey(&asking("explain", &address, &[&live[..], &["--json"]].concat()));
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.err.contains("watches large until it ends"), "{}", ran.err);
    let text = ran.out;
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&found["coflow"], &found["policy"]), (&"large".into(), &"sebf".into()));
    let parts = found["parts"].as_array().unwrap();
    let of = |kind: &str| -> f64 {
        let of_kind = parts.iter().filter(|part| part["kind"] == kind);
        of_kind.map(|part| part["s"].as_f64().unwrap()).sum()
    };
    let all: f64 = parts.iter().map(|part| part["s"].as_f64().unwrap()).sum();
    assert!((all - found["cct_s"].as_f64().unwrap()).abs() < 1e-9, "{text}");
    assert!(of("sending") > 0.7 && of("waiting") + of("unseen") > 0.5, "{text}");
    if let Some(waiting) = parts.iter().find(|part| part["kind"] == "waiting") {
        assert_eq!(
            (&waiting["coflow"], &waiting["port"]),
            (&"small\u{fffd}[31m".into(), &"port 0 out".into())
        );
    }
    let refusal = |more: &[&str]| folder.refusal(&asking("explain", &address, more));
    assert!(refusal(&["--live", "1"]).contains("a coflow that has not ended"));
    assert!(refusal(&["--live", "99"]).contains("99"));
    assert!(refusal(&["--live", "1", "--every", "0"]).contains("--every"));
    assert!(refusal(&["--live", "1", "tiny.txt"]).contains("cannot be used with"));
    assert!(refusal(&[]).contains("TRACE"));
}

#[test]
fn the_last_minutes_are_recorded() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &["--policy", "sebf", "--port-rate", "8mbps"]);
    let address = coordinator.clients.to_string();
    block_on(async {
        let token = token(&folder);
        for port in [0, 1] {
            Fluid::of(3e6).join(coordinator.agents, &token, port);
        }
        let mut client = coordinator.client(&folder).await;
        until(10, "agents join", async || joined(&mut client).await == 2).await;
        for (name, bytes) in [("small\u{1b}[31m", 3e6), ("large", 6e6)] {
            let spec = json!({"name": name, "flows": [{"src": 0, "dst": 1, "bytes": bytes}]});
            let answer = client.ask("POST", "/v1/coflows", &[], spec.to_string()).await.unwrap();
            assert_eq!(answer.status, 201);
        }
        let mut all = json!(null);
        until(10, "the first ends", async || {
            all = client.get("/v1/recording").await.unwrap().json();
            all["items"][1]["end_s"].is_number()
        })
        .await;
        let [large, small] = [&all["items"][0], &all["items"][1]];
        assert_eq!((&small["id"], &small["did"][0]["what"]), (&json!(0), &json!("sending")));
        assert_eq!(
            (&small["sent"][0]["port"], &small["sent"][0]["rate"]),
            (&json!(0), &json!(1e6))
        );
        let waits = large["did"].as_array().unwrap().iter().find(|did| did["what"] == "behind");
        let waits = waits.unwrap_or_else(|| panic!("it waited: {all}"));
        assert_eq!((&waits["behind"], &waits["port"]), (&json!(0), &json!(0)));
        for wrong in ["?limit=0", "?cursor=x", "?state=all"] {
            let answer = client.get(&format!("/v1/recording{wrong}")).await.unwrap();
            assert_eq!(answer.status, 400, "{wrong}");
        }

        // An explanation that begins now knows of it.
        let ran = folder.covey(&asking("explain", &address, &["--live", "1", "--json"]));
        assert_eq!(ran.status, Some(0), "{}", ran.err);
        let text = ran.out;
        let explained: Value = serde_json::from_str(&text).unwrap();
        let parts = explained["parts"].as_array().unwrap();
        let of = |kind: &str| -> f64 {
            let of_kind = parts.iter().filter(|part| part["kind"] == kind);
            of_kind.map(|part| part["s"].as_f64().unwrap()).sum()
        };
        assert!(of("waiting") > 1.0 && of("unseen") < 2.0, "{text}");
        let cct_s = explained["cct_s"].as_f64().unwrap();
        let all_s: f64 = parts.iter().map(|part| part["s"].as_f64().unwrap()).sum();
        assert!((all_s - cct_s).abs() < 1e-9, "{text}");

        let refusal = folder.refusal(&asking("status", &address, &["--trace-out", "run.txt"]));
        assert!(refusal.contains("--trace-out"), "{refusal}");
        folder.results(&asking("status", &address, &["--trace-out", "run.pftrace"]));
        let trace = fs::read(folder.path("run.pftrace")).unwrap();
        let has = |text: &str| trace.windows(text.len()).any(|it| it == text.as_bytes());
        assert!(has("small\u{fffd}[31m (0)") && has("large (1)") && has("capacity in use"));
    });
}

#[test]
fn the_page_says_the_same_in_a_browser() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &SLOW);
    block_on(async {
        let _relay = coflows(&folder, &coordinator).await;
        let mut client = coordinator.client(&folder).await;
        let hostile = json!({"name": "<b id=bad>bold", "flows": [], "open": true}).to_string();
        assert_eq!(client.ask("POST", "/v1/coflows", &[], hostile).await.unwrap().status, 201);
        until(10, "all are seen", async || {
            let recording: Value = client.get("/v1/recording").await.unwrap().json();
            recording["items"].as_array().is_some_and(|all| all.len() == 5)
        })
        .await;
        let mut stranger = connect(coordinator.clients, b"wrong").await.unwrap();
        let page = stranger.get("/").await.unwrap();
        assert_eq!(page.status, 200);
        let text = String::from_utf8(page.body).unwrap();
        assert!(!text.contains("small"), "a page without a token shows nothing");
        let secret = String::from_utf8(token(&folder)).unwrap();
        let address = format!("http://{}/#token={}", coordinator.clients, secret.trim());
        let Some(shown) = folder.shown(&address, 1400) else { return };
        for part in [
            "behind coflow 0 at port 0 (out) and coflow 0 at port 1 (in)",
            "1 of 1 flows stalled: the agent of port 3 is lost",
            "open: it waits for flows",
            "3 of 4",
            " of 5 coflows",
            "&lt;b id=bad&gt;bold",
            "80 kbps",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains(secret.trim()), "the token is in no page");
        let wrong = format!("http://{}/#token=wrong", coordinator.clients);
        let refused = folder.shown(&wrong, 390).expect("a browser");
        assert!(refused.contains("refused: "), "{refused}");
    });
}

#[test]
fn status_says_why_coflows_wait_and_who_has_joined() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &SLOW);
    let address = coordinator.clients.to_string();
    block_on(async {
        let _relay = coflows(&folder, &coordinator).await;
        let text = folder.results(&asking("status", &address, &[]));
        assert!(text.starts_with("coordinator  ready; covey "), "{text}");
        assert!(line(&text, "coordinator ").contains("policy sebf, 4 ports of 10.0 kB/s, epoch 1"));
        assert_eq!(line(&text, "present"), "coflows      4 present: 1 stalled, 0 idle, 0 expired");
        assert!(line(&text, " small ").contains("10.0 kB/s"), "{text}");
        let waits = "behind coflow 0 at port 0 (out) and coflow 0 at port 1 (in)";
        assert!(line(&text, "large").contains(waits), "{text}");
        let bad = ['\u{1b}', '\u{202e}'];
        assert!(!text.contains(bad), "a name cannot control the terminal, nor turn its text round");
        let stalled = line(&text, "stalled: ");
        assert!(stalled.ends_with("1 of 1 flows stalled: the agent of port 3 is lost"), "{text}");
        assert!(text.contains("open: it waits for flows"), "{text}");
        assert_eq!(line(&text, "agents   "), "agents       3 of 4 joined");
        assert!(line(&text, " 3  lost").contains('-'), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let relays = lines.iter().position(|line| *line == "relays").expect("a list of relays");
        assert!(lines[relays + 2].contains("127.0.0.1:"), "{text}");

        let all: Value =
            serde_json::from_str(&folder.results(&asking("status", &address, &["--json"])))
                .unwrap();
        assert_eq!(
            (all["ready"].as_bool(), &all["coordinator"]["policy"]),
            (Some(true), &json!("sebf"))
        );
        let waiting = &all["waiting"][0];
        assert_eq!((&waiting["coflow"], &waiting["why"]), (&json!(1), &json!("behind")));
        assert!(waiting["place"].as_u64() > Some(0), "the one before it has a place, too: {all}");
        let behind = json!({"port": 0, "direction": "out", "coflows": [0], "served": 1});
        assert_eq!(waiting["behind"][0], behind);
        assert_eq!(all["waiting"][1]["lost"], json!([3]));
        let agents = all["agents"].as_array().unwrap();
        let relayed: Vec<bool> = agents.iter().map(|agent| agent["relay"].is_u64()).collect();
        assert_eq!(relayed, [false, false, true, false]);
        assert_eq!(agents[2]["relay"], all["relays"][0]["session"]);
        assert!(agents[0]["joined_s"].as_f64() >= agents[0]["heard_s"].as_f64(), "{all}");
        assert_eq!(agents[3]["heard_s"], Value::Null, "it was never heard");
    });
}

#[test]
fn top_shows_first_what_needs_somebody() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &SLOW);
    let address = coordinator.clients.to_string();
    block_on(async {
        let _relay = coflows(&folder, &coordinator).await;
        let order = |more: &[&str]| -> Vec<String> {
            let text = folder.results(&asking("top", &address, &[&["--once"], more].concat()));
            let rows = text.lines().skip_while(|line| !line.contains("coflow  state")).skip(1);
            let numbers = rows.take(4).map(|row| row.split_whitespace().next().unwrap().to_owned());
            numbers.collect()
        };
        assert_eq!(order(&[]), ["2", "1", "3", "0"]);
        assert_eq!(order(&["--sort", "rate"])[0], "0");
        assert_eq!(order(&["--sort", "number"]), ["0", "1", "2", "3"]);
        let text = folder.results(&asking("top", &address, &["--once"]));
        let lines: Vec<&str> = text.lines().collect();
        let agents = lines.iter().position(|line| line.starts_with("agents ")).unwrap();
        assert!(lines[agents + 2].contains(" 3  lost"), "{text}");
    });
    let refused = folder.refusal(&asking("top", &address, &[]));
    assert_eq!(refused, "standard input or output is no terminal: expected --once");
    drop(coordinator);
    let ran = folder.covey(&asking("top", &address, &["--once"]));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains(&address) && ran.err.lines().count() == 1, "{}", ran.err);
}

/// A command at a terminal of its own.
struct Terminal {
    process: Killed,
    output: Receiver<Vec<u8>>,
    shown: Vec<u8>,
}

impl Terminal {
    /// Runs a line of shell.
    fn run(folder: &TestFolder, line: &str) -> Terminal {
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", line, "/dev/null"]);
        command.current_dir(folder.path("")).env("TERM", "xterm").env("SHELL", "/bin/sh");
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script of util-linux");
        let mut out = process.stdout.take().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                let _ = sender.send(buffer[..count].to_vec());
            }
        });
        Terminal { process: Killed(process), output, shown: Vec::new() }
    }

    fn press(&mut self, keys: &str) {
        self.process.0.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this is shown, and forgets what came before.
    fn shows(&mut self, part: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let text = String::from_utf8_lossy(&self.shown).into_owned();
            if let Some(at) = text.find(part) {
                self.shown = text.as_bytes()[at + part.len()..].to_vec();
                return;
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.shown.extend(bytes),
                Err(_) => panic!("{part}: not shown: {text:?}"),
            }
        }
    }
}

/// What leaves the page, and shows the cursor again.
const LEFT: &str = "\u{1b}[?25h\u{1b}[?1049l";

#[test]
fn top_waits_for_a_coordinator_that_is_away_and_gives_the_terminal_back() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &SLOW);
    let address = coordinator.clients.to_string();
    let covey = env!("CARGO_BIN_EXE_covey");
    let top = format!("{covey} top --coordinator {address} --credentials data --every 100ms");
    let mut terminal = Terminal::run(&folder, &format!("{top}; echo status $?; stty -a"));
    terminal.shows("\u{1b}[?1049h");
    terminal.shows("sorted by trouble");
    terminal.shows("epoch 1");
    terminal.press("s");
    terminal.shows("sorted by rate");
    coordinator.process.kill().unwrap();
    terminal.shows("no answer, and this is");
    coordinator.restart(&folder, &SLOW);
    terminal.shows("epoch 2");
    terminal.press("q");
    terminal.shows(LEFT);
    terminal.shows("status 0");
    terminal.shows(" icanon");
    terminal.shows(" echo ");

    // A signal ends it in the same way, and so does Ctrl-C, which is a key.
    let killed = format!("sh -c '(sleep 1; kill $$) & exec {top}'; echo status $?; stty -a");
    let mut terminal = Terminal::run(&folder, &killed);
    terminal.shows(LEFT);
    terminal.shows("status 0");
    terminal.shows(" icanon");
    let mut terminal = Terminal::run(&folder, &format!("{top}; echo status $?; stty -a"));
    terminal.shows("epoch 2");
    terminal.press("\u{3}");
    terminal.shows(LEFT);
    terminal.shows("status 0");
    terminal.shows(" icanon");
}
