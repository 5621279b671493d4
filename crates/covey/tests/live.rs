//! The live system as processes: a coordinator that is killed, agents that go, wrong credentials.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::Place;
use covey_agent::{Enforcer, Joining, Progress, Share};
use covey_coordinator::{Client, Credentials, read_token};
use covey_proto::{Ended, FlowKey, Sent};
use serde_json::{Value, json};

/// A coordinator in a process of its own. It is killed when it is dropped.
struct Coordinator {
    process: Child,
    clients: SocketAddr,
    agents: SocketAddr,
}

impl Coordinator {
    fn start(place: &Place, clients: &str, agents: &str, more: &[&str]) -> Coordinator {
        let mut arguments = vec!["serve", "--data", "data", "--ports", "4", "--log", "warn"];
        arguments.extend(["--clients", clients, "--agents", agents]);
        arguments.extend(more);
        let mut command = place.command(&arguments);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("covey serve");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut address = |name: &str| -> SocketAddr {
            let line = lines.next().expect("an address").expect("text");
            line.strip_prefix(name).expect(name).trim().parse().expect("an address")
        };
        Coordinator { clients: address("clients"), agents: address("agents"), process }
    }

    fn new(place: &Place, more: &[&str]) -> Coordinator {
        Coordinator::start(place, "127.0.0.1:0", "127.0.0.1:0", more)
    }

    /// Kills it and starts it again at the same addresses.
    fn restart(&mut self, place: &Place, more: &[&str]) {
        self.process.kill().expect("a process");
        self.process.wait().expect("a process");
        let (clients, agents) = (self.clients.to_string(), self.agents.to_string());
        *self = Coordinator::start(place, &clients, &agents, more);
    }

    async fn client(&self, place: &Place) -> Client {
        connect(self.clients, &token(place)).await.expect("a connection")
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn token(place: &Place) -> Vec<u8> {
    read_token(&place.path("data/token")).expect("a token")
}

async fn connect(address: SocketAddr, token: &[u8]) -> Option<Client> {
    Client::connect(address, token, None).await.ok()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().expect("a runtime").block_on(future)
}

/// Waits until something is so, for at most so many seconds.
async fn until(seconds: u64, what: &str, mut is: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while !is().await {
        assert!(begin.elapsed() < Duration::from_secs(seconds), "{what}: not after {seconds} s");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Bytes of each flow of the hosts that are simulated.
const SIZE: f64 = 200e3;

/// A host that sends as it is told.
#[derive(Clone, Default)]
struct Fluid(Arc<Mutex<Flows>>);

#[derive(Default)]
struct Flows {
    holds: (u64, u64),
    rates: BTreeMap<FlowKey, f64>,
    sent: BTreeMap<FlowKey, f64>,
    at: Option<Instant>,
}

impl Enforcer for Fluid {
    fn apply(
        &mut self,
        holds: (u64, u64),
        flows: &BTreeMap<FlowKey, Share>,
    ) -> std::io::Result<()> {
        let mut it = self.0.lock().expect("nobody panics");
        it.rates = flows.iter().map(|(key, share)| (*key, share.rate)).collect();
        it.holds = holds;
        Ok(())
    }

    fn progress(&mut self) -> Progress {
        let mut it = self.0.lock().expect("nobody panics");
        let now = Instant::now();
        let dt = it.at.replace(now).map_or(0.0, |at| (now - at).as_secs_f64());
        let mut progress = Progress::default();
        for (key, rate) in it.rates.clone() {
            let sent = it.sent.entry(key).or_default();
            *sent += rate * dt;
            if *sent < SIZE {
                progress.sent.push(Sent { key, bytes: *sent });
            } else {
                progress.ended.push(Ended { key, bytes: SIZE });
                it.rates.remove(&key);
                it.sent.remove(&key);
            }
        }
        progress
    }
}

fn spawn_agents(coordinator: SocketAddr, token: &[u8], ports: u32) -> Vec<Fluid> {
    (0..ports)
        .map(|port| {
            let fluid = Fluid::default();
            let mut enforcer = fluid.clone();
            let token = token.to_vec();
            tokio::spawn(async move {
                let ask_every = Duration::from_millis(5);
                let joining = Joining { coordinator, port, token, tls: None, ask_every };
                covey_agent::run(&joining, &mut enforcer).await
            });
            fluid
        })
        .collect()
}

fn coflow(flows: &[(u32, u32)]) -> Vec<u8> {
    let flows: Vec<Value> =
        flows.iter().map(|(src, dst)| json!({"src": src, "dst": dst, "bytes": SIZE})).collect();
    json!({ "flows": flows }).to_string().into_bytes()
}

#[test]
fn coflows_are_registered_read_changed_and_removed() {
    let place = Place::new();
    let coordinator = Coordinator::new(&place, &[]);
    block_on(async {
        let mut client = coordinator.client(&place).await;
        let body = coflow(&[(0, 1), (0, 2)]);
        let key = [("Idempotency-Key", "one")];
        let first = client.ask("POST", "/v1/coflows", &key, body.clone()).await.unwrap();
        assert_eq!((first.status, first.json()["state"].as_str()), (201, Some("active")));
        let id = first.json()["id"].as_u64().unwrap();
        let again = client.ask("POST", "/v1/coflows", &key, body).await.unwrap();
        assert_eq!((again.status, again.json()["id"].as_u64()), (201, Some(id)));
        let other = client.ask("POST", "/v1/coflows", &key, coflow(&[(1, 2)])).await.unwrap();
        assert_eq!(other.status, 422);
        let child = json!({"parents": [id], "flows": [{"src": 3, "dst": 1}]}).to_string();
        let child = client.ask("POST", "/v1/coflows", &[], child).await.unwrap().json();
        assert_eq!((child["lineage"].as_str(), child["id"].as_u64()), (Some("0.1"), Some(id + 1)));

        let path = format!("/v1/coflows/{id}");
        let tag = client.get(&path).await.unwrap().etag.unwrap();
        let update = json!({"add": [{"src": 2, "dst": 3}], "restart": [0]}).to_string();
        let headers = [("If-Match", tag.as_str())];
        let changed = client.ask("PATCH", &path, &headers, update.clone()).await.unwrap();
        assert_eq!((changed.status, changed.json()["flows"].as_u64()), (200, Some(3)));
        let late = client.ask("PATCH", &path, &headers, update).await.unwrap();
        assert_eq!(late.status, 412);
        let moved = json!({"move": [{"flow": 1, "to": {"src": 3, "dst": 2}}]}).to_string();
        let moved = client.ask("PATCH", &path, &[], moved).await.unwrap().json();
        assert_eq!((moved["flows"].as_u64(), moved["flows_ended"].as_u64()), (Some(4), Some(1)));

        let page = client.get("/v1/coflows?limit=1").await.unwrap().json();
        assert_eq!((page["items"].as_array().unwrap().len(), &page["next"]), (1, &json!("1")));
        let page = client.get("/v1/coflows?limit=1&cursor=1").await.unwrap().json();
        assert_eq!((page["items"][0]["id"].as_u64(), page.get("next")), (Some(id + 1), None));
        let rates = client.get("/v1/schedule").await.unwrap().json();
        assert!(!rates["items"].as_array().unwrap().is_empty());

        for _ in 0..2 {
            let removed = client.ask("DELETE", &path, &[], "").await.unwrap();
            assert_eq!(removed.status, 204);
        }
        assert_eq!(client.get(&path).await.unwrap().json()["state"], "removed");
        let metrics = client.get("/metrics").await.unwrap();
        let metrics = String::from_utf8(metrics.body).unwrap();
        assert!(metrics.contains("\ncovey_coflows_registered_total 2\n"), "{metrics}");
        assert!(metrics.contains("\ncovey_coflows_gone_total 1\n"), "{metrics}");
    });
}

#[test]
fn what_makes_no_sense_is_a_problem_and_changes_nothing() {
    let place = Place::new();
    let coordinator = Coordinator::new(&place, &["--policy", "sebf", "--max-coflows", "1"]);
    block_on(async {
        let mut client = coordinator.client(&place).await;
        for (method, path, body, status, says) in [
            ("POST", "/v1/coflows", "{", 400, "malformed body"),
            ("POST", "/v1/coflows", "{\"flows\":[],\"x\":1}", 400, "unknown field `x`"),
            ("POST", "/v1/coflows", "{\"flows\":[]}", 422, "at least one"),
            (
                "POST",
                "/v1/coflows",
                "{\"flows\":[{\"src\":0,\"dst\":4}]}",
                422,
                "a port below 4, found 4",
            ),
            ("POST", "/v1/coflows", "{\"flows\":[{\"src\":0,\"dst\":1}]}", 422, "must know sizes"),
            (
                "POST",
                "/v1/coflows",
                "{\"flows\":[],\"open\":true,\"parents\":[9]}",
                422,
                "coflow 9 is not known",
            ),
            ("POST", "/v1/coflows", "{\"flows\":[],\"open\":true,\"weight\":0}", 422, "weight"),
            ("GET", "/v1/coflows/7", "", 404, "coflow 7 is not known"),
            ("GET", "/v1/coflows/x", "", 404, "'x' is no number"),
            ("PATCH", "/v1/coflows/7", "{}", 404, "coflow 7"),
            ("DELETE", "/v1/coflows/7", "", 404, "coflow 7"),
            ("GET", "/v1/coflows?limit=0", "", 400, "limit"),
            ("GET", "/v1/coflows?cursor=x", "", 400, "cursor"),
            ("GET", "/v1/agents?x=1", "", 400, "unknown parameter 'x'"),
            ("PUT", "/v1/coflows", "", 405, "openapi"),
            ("GET", "/v2", "", 404, "openapi"),
        ] {
            let answer = client.ask(method, path, &[], body.to_owned()).await.unwrap();
            let text = String::from_utf8(answer.body.clone()).unwrap();
            assert_eq!(answer.status, status, "{method} {path} {body}: {text}");
            assert!(text.contains(says), "{method} {path} {body}: {text}");
            assert_eq!(answer.json()["status"], status);
        }
        let open = json!({"flows": [], "open": true}).to_string();
        assert_eq!(client.ask("POST", "/v1/coflows", &[], open.clone()).await.unwrap().status, 201);
        assert_eq!(client.ask("POST", "/v1/coflows", &[], open).await.unwrap().status, 429);

        let mut stranger = connect(coordinator.clients, b"wrong").await.unwrap();
        assert_eq!(stranger.get("/v1/coflows").await.unwrap().status, 401);
        assert_eq!(stranger.get("/metrics").await.unwrap().status, 401);
        assert_eq!(stranger.get("/livez").await.unwrap().status, 200);
        let metrics = client.get("/metrics").await.unwrap().body;
        assert!(String::from_utf8(metrics).unwrap().contains("covey_refused_tokens_total 2\n"));
    });
}

/// How often the coordinator is killed; more by `make soak`.
fn kills() -> u32 {
    std::env::var("COVEY_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5)
}

/// A number that looks random, for moments that are.
fn scatter(n: u64) -> u64 {
    let z = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

/// Registers coflows one after the other, and again what was not answered. Returns the ids.
async fn register_all(
    address: SocketAddr,
    token: Vec<u8>,
    client: u64,
    until: Instant,
) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let mut number = 0;
    let mut connection = None;
    while Instant::now() < until {
        if connection.is_none() {
            connection = connect(address, &token).await;
        }
        let Some(open) = &mut connection else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let key = format!("{client}-{number}");
        let n = scatter(client * 1_000_000 + number) as u32;
        let body = coflow(&[(n % 4, n / 4 % 4), (n / 16 % 4, n / 64 % 4)]);
        match open.ask("POST", "/v1/coflows", &[("Idempotency-Key", &key)], body).await {
            Ok(answer) if answer.status == 201 => {
                acknowledged.push(answer.json()["id"].as_u64().expect("an id"));
                number += 1;
                // Fewer in all than are remembered after they have ended.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(answer) => panic!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body)),
            Err(_) => connection = None,
        }
    }
    acknowledged
}

#[test]
fn a_coordinator_that_is_killed_loses_nothing_that_it_acknowledged() {
    let place = Place::new();
    // Compacts all the time.
    let more = ["--policy", "philae", "--compact-above", "20000"];
    let mut coordinator = Coordinator::new(&place, &more);
    block_on(async {
        let token = token(&place);
        let agents = spawn_agents(coordinator.agents, &token, 4);
        let end = Instant::now() + Duration::from_millis(600) * kills();
        let clients: Vec<_> = (0..4)
            .map(|k| tokio::spawn(register_all(coordinator.clients, token.clone(), k, end)))
            .collect();
        let mut slowest = Duration::ZERO;
        for kill in 0..kills() {
            let moment = 100 + scatter(kill.into()) % 400;
            tokio::time::sleep(Duration::from_millis(moment)).await;
            coordinator.restart(&place, &more);
            // Agents are back on a schedule of the new epoch in a second.
            let up = Instant::now();
            let epoch = u64::from(kill) + 2;
            until(10, "agents are back", async || {
                agents.iter().all(|agent| agent.0.lock().unwrap().holds.0 == epoch)
            })
            .await;
            slowest = slowest.max(up.elapsed());
        }
        let mut acknowledged = Vec::new();
        for client in clients {
            acknowledged.extend(client.await.expect("no panic"));
        }
        let count = acknowledged.len();
        acknowledged.sort_unstable();
        acknowledged.dedup();
        assert_eq!(acknowledged.len(), count, "a number was given twice");
        assert!(count as u32 >= 10 * kills(), "only {count} registrations");
        let mut client = coordinator.client(&place).await;
        until(60, "nothing is stuck", async || {
            let page = client.get("/v1/coflows").await.unwrap().json();
            page["items"].as_array().unwrap().is_empty()
        })
        .await;
        for id in acknowledged {
            let status = client.get(&format!("/v1/coflows/{id}")).await.unwrap();
            assert_eq!(status.json()["state"], "ended", "coflow {id}");
        }
        eprintln!("{} kills, {count} registrations, agents back after {slowest:?}", kills());
        assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    });
}

fn agent(place: &Place, coordinator: &Coordinator, port: &str, credentials: &Path) -> Command {
    let address = coordinator.agents.to_string();
    let credentials = credentials.to_str().expect("text");
    place.command(&[
        "agent",
        "--port",
        port,
        "--coordinator",
        &address,
        "--credentials",
        credentials,
    ])
}

/// A process that is killed when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn state(client: &mut Client, id: u64) -> String {
    let status = client.get(&format!("/v1/coflows/{id}")).await.unwrap().json();
    status["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_host_that_dies_stalls_its_coflows_and_no_others() {
    let place = Place::new();
    let times = ["--lost-after", "600ms", "--heartbeat", "100ms"];
    let coordinator = Coordinator::new(&place, &times);
    block_on(async {
        let folder = place.path("data");
        let start = |port: &str| {
            let mut command = agent(&place, &coordinator, port, &folder);
            Killed(command.stderr(Stdio::null()).spawn().expect("covey agent"))
        };
        let mut agents: Vec<Killed> = ["0", "1", "2", "3"].map(start).into();
        let mut client = coordinator.client(&place).await;
        let register = async |client: &mut Client, flows| {
            let answer = client.ask("POST", "/v1/coflows", &[], coflow(flows)).await.unwrap();
            answer.json()["id"].as_u64().unwrap()
        };
        let joined = async |client: &mut Client, count| {
            let page = client.get("/v1/agents").await.unwrap().json();
            let agents = page["items"].as_array().unwrap();
            agents.iter().filter(|agent| agent["state"] == "joined").count() == count
        };
        until(10, "agents join", async || joined(&mut client, 4).await).await;
        let touched = register(&mut client, &[(0, 1)]).await;
        let other = register(&mut client, &[(2, 1)]).await;
        drop(agents.remove(0));
        until(10, "it stalls", async || state(&mut client, touched).await == "stalled").await;
        assert_eq!(state(&mut client, other).await, "active");
        // What the dead host held of port 1 is the other's now.
        until(10, "the other has all", async || {
            let rate = client.get(&format!("/v1/coflows/{other}")).await.unwrap().json();
            rate["rate"].as_f64() == Some(125e6)
        })
        .await;
        let _again = start("0");
        until(10, "it goes on", async || state(&mut client, touched).await == "active").await;

        let ran = place.command(&[
            "status",
            "--coordinator",
            &coordinator.clients.to_string(),
            "--credentials",
            "data",
        ]);
        let ran = { ran }.output().unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        assert!(text.starts_with("ready    yes\ncoflows\n"), "{text}");
        assert!(text.contains("active    0 of 1 flows ended"), "{text}");
        assert!(text.contains("joined"), "{text}");
    });
}

#[test]
fn without_the_right_credential_nobody_joins() {
    let place = Place::new();
    let coordinator = Coordinator::new(&place, &[]);
    std::fs::create_dir(place.path("wrong")).unwrap();
    place.write("wrong/token", "nonsense\n");
    let run =
        |folder: &str| agent(&place, &coordinator, "0", &place.path(folder)).output().unwrap();
    // Others could read it.
    let open = run("wrong");
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8(open.stderr).unwrap().contains("expected mode 0600"));
    use std::os::unix::fs::PermissionsExt;
    let secret = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(place.path("wrong/token"), secret).unwrap();
    let wrong = run("wrong");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("the credential is wrong"));
    block_on(async {
        let mut client = coordinator.client(&place).await;
        let metrics = client.get("/metrics").await.unwrap().body;
        assert!(
            String::from_utf8(metrics).unwrap().contains("covey_refused_credentials_total 1\n")
        );
    });
}

#[test]
fn with_certificates_only_those_of_the_private_ca_count() {
    let place = Place::new();
    let init = |folder: &str| {
        let ran = place.command(&["serve", "--init", "--data", folder]).output().unwrap();
        assert!(ran.status.success());
    };
    init("data");
    init("others");
    let coordinator = Coordinator::new(&place, &[]);
    block_on(async {
        let tls = Credentials::of(&place.path("data")).client().unwrap();
        let mut client =
            Client::connect(coordinator.clients, &token(&place), Some(tls)).await.unwrap();
        assert_eq!(client.get("/v1/coflows").await.unwrap().status, 200);
        let good = agent(&place, &coordinator, "1", &place.path("data")).spawn();
        let _good = Killed(good.unwrap());
        let bad = agent(&place, &coordinator, "2", &place.path("others")).spawn();
        let _bad = Killed(bad.unwrap());
        let mut page = Value::Null;
        until(10, "one joins, one is refused", async || {
            page = client.get("/v1/agents").await.unwrap().json();
            let metrics = client.get("/metrics").await.unwrap().body;
            let metrics = String::from_utf8(metrics).unwrap();
            page["items"][1]["state"] == "joined"
                && !metrics.contains("covey_refused_credentials_total 0\n")
        })
        .await;
        assert_eq!(page["items"][2]["state"], "awaited");
    });
}

#[test]
fn a_public_address_needs_certificates() {
    let place = Place::new();
    for address in ["--clients", "--agents"] {
        let refusal = place.refusal(&["serve", "--data", "data", address, "0.0.0.0:0"]);
        assert!(refusal.starts_with("0.0.0.0:0 is not a loopback address"), "{refusal}");
    }
}

#[test]
fn asked_to_end_it_ends_well() {
    let place = Place::new();
    let mut coordinator = Coordinator::new(&place, &[]);
    let id = block_on(async {
        let mut client = coordinator.client(&place).await;
        let answer = client.ask("POST", "/v1/coflows", &[], coflow(&[(0, 1)])).await.unwrap();
        answer.json()["id"].as_u64().unwrap()
    });
    let process = coordinator.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    assert_eq!(coordinator.process.wait().unwrap().code(), Some(0));
    let coordinator = Coordinator::new(&place, &[]);
    block_on(async {
        let mut client = coordinator.client(&place).await;
        assert_eq!(state(&mut client, id).await, "active");
    });
}

#[test]
fn garbage_on_the_port_of_agents_harms_nobody() {
    use std::io::Write;
    let place = Place::new();
    let coordinator = Coordinator::new(&place, &[]);
    for k in 0..200_u64 {
        let mut stream = std::net::TcpStream::connect(coordinator.agents).unwrap();
        let garbage: Vec<u8> = (0..200).map(|i| scatter(k * 1000 + i) as u8).collect();
        // It may have been cut off meanwhile.
        let _ = stream.write_all(&garbage[..(k as usize % 200)]);
    }
    block_on(async {
        let mut client = coordinator.client(&place).await;
        until(20, "it is counted", async || {
            let metrics = client.get("/metrics").await.unwrap().body;
            !String::from_utf8(metrics).unwrap().contains("covey_refused_garbage_total 0\n")
        })
        .await;
        assert_eq!(client.get("/readyz").await.unwrap().status, 200);
    });
}

/// Reads a stream of events until a line that contains `what`.
fn watch(coordinator: &Coordinator, token: &[u8], more: &str, what: &str) -> String {
    use std::io::Write;
    let mut stream = std::net::TcpStream::connect(coordinator.clients).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let token = std::str::from_utf8(token).unwrap();
    let head = "GET /v1/events HTTP/1.1\r\nHost: covey\r\nAuthorization: Bearer";
    write!(stream, "{head} {token}\r\n{more}\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("an event in time"));
    let mut all = String::new();
    while !all.contains(what) {
        all += &lines.next().expect("an event");
        all.push('\n');
    }
    all
}

#[test]
fn who_watches_is_told_what_happens_and_what_was_missed() {
    let place = Place::new();
    let coordinator = Coordinator::new(&place, &[]);
    block_on(async {
        let mut client = coordinator.client(&place).await;
        for _ in 0..2 {
            client.ask("POST", "/v1/coflows", &[], coflow(&[(0, 1)])).await.unwrap();
        }
        client.ask("DELETE", "/v1/coflows/0", &[], "").await.unwrap();
    });
    let token = token(&place);
    // After the first of this epoch, which was the registration of coflow 0.
    let missed = watch(&coordinator, &token, "Last-Event-ID: 1-0\r\n", "removed");
    assert!(!missed.contains(r#"{"type":"registered","id":0}"#), "{missed}");
    assert!(missed.contains(r#"{"type":"registered","id":1}"#), "{missed}");
    assert!(missed.contains("id: 1-2\n"), "{missed}");
    // An event of another epoch.
    let gone = watch(&coordinator, &token, "Last-Event-ID: 0-7\r\n", "HTTP");
    assert!(gone.starts_with("HTTP/1.1 410"), "{gone}");
}
