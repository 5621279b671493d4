//! Coordinators and agents in processes of their own, and simulated hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use covey_agent::{CoordinatorEvent, Enforcer, Joining, Processors, Progress};
use covey_api::{Client, read_token};
use covey_proto::{Appearance, Ended, FlowName, Sent, Service};
use serde_json::{Value, json};

use crate::common::TestFolder;

/// A coordinator in a process of its own. It is killed when it is dropped.
pub struct Coordinator {
    pub process: Child,
    pub clients: SocketAddr,
    pub agents: SocketAddr,
    /// For probes, where `--health` asks for it.
    pub health: Option<SocketAddr>,
}

impl Coordinator {
    /// The command that starts a coordinator, of 4 ports unless it says how many.
    pub fn command(folder: &TestFolder, clients: &str, agents: &str, more: &[&str]) -> Command {
        let mut arguments = vec!["serve", "--data", "data", "--log", "warn"];
        if !more.contains(&"--ports") {
            arguments.extend(["--ports", "4"]);
        }
        arguments.extend(["--clients", clients, "--agents", agents]);
        arguments.extend(more);
        folder.command(&arguments)
    }

    /// Starts a coordinator, and waits until it listens.
    pub fn spawn(command: &mut Command) -> Coordinator {
        let has_health = command.get_args().any(|argument| argument == "--health");
        let mut process = command.stdout(Stdio::piped()).spawn().expect("covey serve");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut address = |name: &str| -> SocketAddr {
            let line = lines.next().expect("an address").expect("text");
            line.strip_prefix(name).expect(name).trim().parse().expect("an address")
        };
        let (clients, agents) = (address("clients"), address("agents"));
        let health = has_health.then(|| address("health"));
        Coordinator { clients, agents, health, process }
    }

    pub fn start(folder: &TestFolder, clients: &str, agents: &str, more: &[&str]) -> Coordinator {
        Coordinator::spawn(&mut Coordinator::command(folder, clients, agents, more))
    }

    pub fn new(folder: &TestFolder, more: &[&str]) -> Coordinator {
        Coordinator::start(folder, "127.0.0.1:0", "127.0.0.1:0", more)
    }

    /// Starts a coordinator that logs to the file `log`.
    pub fn logged(folder: &TestFolder, more: &[&str]) -> Coordinator {
        let mut command = Coordinator::command(folder, "127.0.0.1:0", "127.0.0.1:0", more);
        Coordinator::spawn(command.stderr(File::create(folder.path("log")).expect("a file")))
    }

    /// Kills it and starts it again at the same addresses.
    pub fn restart(&mut self, folder: &TestFolder, more: &[&str]) {
        self.process.kill().expect("a process");
        self.process.wait().expect("a process");
        let (clients, agents) = (self.clients.to_string(), self.agents.to_string());
        *self = Coordinator::start(folder, &clients, &agents, more);
    }

    pub async fn client(&self, folder: &TestFolder) -> Client {
        connect(self.clients, &token(folder)).await.expect("a connection")
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A relay in a process of its own. It is killed when it is dropped.
pub struct Relay {
    _process: Killed,
    pub agents: SocketAddr,
    /// For probes, where `--health` asks for it.
    pub health: Option<SocketAddr>,
}

impl Relay {
    /// The command that starts a relay.
    pub fn command(
        folder: &TestFolder,
        coordinator: SocketAddr,
        listen: &str,
        credentials: &str,
    ) -> Command {
        let coordinator = coordinator.to_string();
        let arguments = ["relay", "--coordinator", &coordinator, "--listen", listen];
        folder.command(&[&arguments[..], &["--credentials", credentials, "--log", "warn"]].concat())
    }

    /// Starts a relay, and waits until it listens.
    pub fn spawn(command: &mut Command) -> Relay {
        let has_health = command.get_args().any(|argument| argument == "--health");
        let mut process = command.stdout(Stdio::piped()).spawn().expect("covey relay");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut address = |name: &str| -> SocketAddr {
            let line = lines.next().expect("an address").expect("text");
            line.strip_prefix(name).expect(name).trim().parse().expect("an address")
        };
        let agents = address("agents");
        let health = has_health.then(|| address("health"));
        Relay { _process: Killed(process), agents, health }
    }

    pub fn new(folder: &TestFolder, coordinator: SocketAddr) -> Relay {
        Relay::spawn(&mut Relay::command(folder, coordinator, "127.0.0.1:0", "data"))
    }
}

pub fn token(folder: &TestFolder) -> Vec<u8> {
    read_token(&folder.path("data/token")).expect("a token")
}

pub async fn connect(address: SocketAddr, token: &[u8]) -> Option<Client> {
    Client::connect(address, token, None).await.ok()
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().expect("a runtime").block_on(future)
}

/// Waits until `is` returns true, for at most `seconds` seconds.
pub async fn until(seconds: u64, what: &str, mut is: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while !is().await {
        assert!(begin.elapsed() < Duration::from_secs(seconds), "{what}: not after {seconds} s");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Reads a stream of events until a line that contains `what`. Fails after ten seconds without a
/// line.
pub fn watch(coordinator: &Coordinator, token: &[u8], more: &str, what: &str) -> String {
    let mut stream = TcpStream::connect(coordinator.clients).unwrap();
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

/// Capacity of a simulated host's link, in bytes per second.
const LINK: f64 = 125e6;

/// Bytes of each flow of the simulated hosts, by default.
pub const SIZE: f64 = 200e3;

/// A simulated host that sends by its schedule.
#[derive(Clone, Default)]
pub struct Fluid(pub Arc<Mutex<Flows>>);

pub struct Flows {
    /// Bytes of each flow.
    pub size: f64,
    pub holds: (u64, u64),
    pub rates: BTreeMap<FlowName, f64>,
    sent: BTreeMap<FlowName, f64>,
    at: Option<Instant>,
    /// Flows that have begun since the last report, and that no application has named.
    appeared: Vec<Appearance>,
    /// All flows that no application has named. While no schedule has one, it sends as fast as a
    /// link of 1 Gbps.
    unnamed: BTreeSet<FlowName>,
}

impl Default for Flows {
    fn default() -> Flows {
        let (holds, rates, sent, at, appeared, unnamed) = Default::default();
        Flows { size: SIZE, holds, rates, sent, at, appeared, unnamed }
    }
}

impl Fluid {
    /// A host whose flows have `size` bytes.
    pub fn of(size: f64) -> Fluid {
        let fluid = Fluid::default();
        fluid.flows().size = size;
        fluid
    }

    pub fn flows(&self) -> MutexGuard<'_, Flows> {
        self.0.lock().expect("nobody panics")
    }

    /// A flow begins that no application has named.
    pub fn begin(&self, flow: Appearance) {
        let mut it = self.flows();
        it.unnamed.insert(FlowName::Number(flow.number));
        it.appeared.push(flow);
    }

    /// Starts its agent, in this process.
    pub fn join(&self, coordinator: SocketAddr, token: &[u8], port: u32) {
        self.join_from(coordinator, token, port, Vec::new());
    }

    /// The same for a host with these addresses.
    pub fn join_from(
        &self,
        coordinator: SocketAddr,
        token: &[u8],
        port: u32,
        addresses: Vec<IpAddr>,
    ) {
        let (mut enforcer, token) = (self.clone(), token.to_vec());
        tokio::spawn(async move {
            let ask_every = Duration::from_millis(5);
            let processors = Processors::None;
            let coordinator = coordinator.into();
            let (tls, devices) = (None, Vec::new());
            let joining = Joining {
                coordinator,
                port,
                token,
                tls,
                ask_every,
                processors,
                addresses,
                devices,
            };
            covey_agent::run(&joining, &mut enforcer).await
        });
    }
}

impl Enforcer for Fluid {
    fn apply(
        &mut self,
        holds: (u64, u64),
        flows: &BTreeMap<FlowName, Service>,
    ) -> std::io::Result<()> {
        let mut it = self.flows();
        it.rates = flows.iter().map(|(key, service)| (*key, service.rate)).collect();
        it.holds = holds;
        Ok(())
    }

    fn progress(&mut self) -> Progress {
        let mut it = self.flows();
        let now = Instant::now();
        let dt = it.at.replace(now).map_or(0.0, |at| (now - at).as_secs_f64());
        let size = it.size;
        let appeared = std::mem::take(&mut it.appeared);
        let mut progress = Progress { appeared, ..Progress::default() };
        let unscheduled = it.unnamed.iter().map(|key| (*key, LINK));
        let rates: BTreeMap<FlowName, f64> = unscheduled.chain(it.rates.clone()).collect();
        for (key, rate) in rates {
            let sent = it.sent.entry(key).or_default();
            *sent += rate * dt;
            if *sent < size {
                progress.sent.push(Sent { key, bytes: *sent, wire: *sent });
            } else {
                progress.ended.push(Ended { key, bytes: size, wire: size });
                it.rates.remove(&key);
                it.unnamed.remove(&key);
                it.sent.remove(&key);
            }
        }
        progress
    }

    fn sees_uses(&self) -> bool {
        false
    }

    fn heard(&mut self, _: CoordinatorEvent<'_>) {}
}

pub fn spawn_agents(coordinator: SocketAddr, token: &[u8], ports: u32) -> Vec<Fluid> {
    let join = |port| {
        let fluid = Fluid::default();
        fluid.join(coordinator, token, port);
        fluid
    };
    (0..ports).map(join).collect()
}

pub fn coflow(flows: &[(u32, u32)]) -> Vec<u8> {
    let flows: Vec<Value> =
        flows.iter().map(|(src, dst)| json!({"src": src, "dst": dst, "bytes": SIZE})).collect();
    json!({ "flows": flows }).to_string().into_bytes()
}

/// A pseudo-random number, for random times.
pub fn scatter(n: u64) -> u64 {
    let z = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

pub fn agent(
    folder: &TestFolder,
    coordinator: &Coordinator,
    port: &str,
    credentials: &Path,
) -> Command {
    let address = coordinator.agents.to_string();
    let credentials = credentials.to_str().expect("text");
    folder.command(&[
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
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub async fn state(client: &mut Client, id: u64) -> String {
    let status = client.get(&format!("/v1/coflows/{id}")).await.unwrap().json();
    status["state"].as_str().unwrap().to_owned()
}

/// Registers a coflow and returns its number.
pub async fn register(client: &mut Client, flows: &[(u32, u32)]) -> u64 {
    let answer = client.ask("POST", "/v1/coflows", &[], coflow(flows)).await.unwrap();
    assert_eq!(answer.status, 201);
    answer.json()["id"].as_u64().unwrap()
}

/// The number of agents that have joined.
pub async fn joined(client: &mut Client) -> usize {
    let page = client.get("/v1/agents").await.unwrap().json();
    page["items"].as_array().unwrap().iter().filter(|agent| agent["state"] == "joined").count()
}

/// A value of `/metrics`.
pub async fn metric(client: &mut Client, name: &str) -> f64 {
    let metrics = client.get("/metrics").await.unwrap().body;
    let metrics = String::from_utf8(metrics).unwrap();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).expect(name)
}

/// Registers about so many coflows of one flow at this many ports, by 50 clients.
pub async fn fill(clients: SocketAddr, token: &[u8], count: u64, ports: u32) {
    let fill = |k: u32| {
        let token = token.to_vec();
        tokio::spawn(async move {
            let mut client = connect(clients, &token).await.expect("a connection");
            for n in 0..count.div_ceil(50) as u32 {
                let src = (50 * n + k) % ports;
                register(&mut client, &[(src, (src + 1 + n % (ports - 1)) % ports)]).await;
            }
        })
    };
    for filled in (0..50).map(fill).collect::<Vec<_>>() {
        filled.await.expect("they are registered");
    }
}
