//! Silent, slow and half-closed connections, in thousands: who shows a credential is served, and
//! probes are answered.
//!
//! `make slow WHAT=door` runs this for a minute and prints its numbers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UnixStream};

use crate::common::TestFolder;
use crate::harness::{
    Coordinator, Fluid, Killed, Relay, agent, block_on, connect, joined, metric, token, until,
};

/// Addresses that they come from, from 127.0.0.2 on.
const ADDRESSES: u64 = 10;

/// A flood of connections that show no credential.
struct Flood {
    connections: u64,
    seconds: f64,
    /// The most that an answer to a probe may take.
    patience: Duration,
    /// The limits of the coordinator, where they are not the usual ones.
    limits: &'static [&'static str],
}

impl Flood {
    fn new() -> Flood {
        match std::env::var("COVEY_DOOR_SECONDS").ok().and_then(|text| text.parse().ok()) {
            Some(seconds) => {
                let patience = Duration::from_millis(100);
                Flood { connections: 5000, seconds, patience, limits: &[] }
            }
            // Other tests run at the same time.
            None => {
                let patience = Duration::from_secs(2);
                let limits = &["--max-clients", "200", "--max-agents", "2000"];
                Flood { connections: 1500, seconds: 3.0, patience, limits }
            }
        }
    }
}

/// What a connection without a credential says at first; it then says a byte each second, or
/// nothing.
fn first_words(k: u64) -> &'static [u8] {
    match k % 4 {
        // The beginning of a request, of a handshake, and of a long frame.
        0 => b"GET /v1/coflows HTTP/1.1\r\nHost: covey\r\nX: ",
        1 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        2 => b"\xff\xff\x00\x00\x01",
        _ => b"",
    }
}

/// Connects from one of several addresses, and again whenever the other side closes.
async fn crowd(k: u64, target: SocketAddr, connected: Arc<AtomicU64>) {
    loop {
        let socket = TcpSocket::new_v4().expect("a socket");
        let address = Ipv4Addr::new(127, 0, 0, 2 + (k % ADDRESSES) as u8);
        socket.bind(SocketAddr::new(IpAddr::V4(address), 0)).expect("an address of loopback");
        if let Ok(mut stream) = socket.connect(target).await {
            connected.fetch_add(1, Ordering::Relaxed);
            // It may be closed at any time.
            let _ = linger(k, &mut stream).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn linger(k: u64, stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(first_words(k)).await?;
    if k.is_multiple_of(3) {
        // Half-closed: the other side reads an end, and may write.
        stream.shutdown().await?;
    }
    loop {
        let mut buffer = [0; 64];
        match tokio::time::timeout(Duration::from_secs(1), stream.read(&mut buffer)).await {
            Ok(Ok(0)) => return Ok(()),
            Ok(count) => drop(count?),
            Err(_) if k % 3 == 1 => stream.write_all(b"x").await?,
            Err(_) => {}
        }
    }
}

/// The seconds that a probe takes on a connection of its own, and whether it is answered well.
async fn probe(address: SocketAddr, path: &str) -> (Duration, bool) {
    let begin = Instant::now();
    let ask = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: covey\r\n\r\n").as_bytes()).await?;
        let mut buffer = [0; 512];
        let count = stream.read(&mut buffer).await?;
        std::io::Result::Ok(buffer[..count].starts_with(b"HTTP/1.1 200"))
    };
    let is_good = tokio::time::timeout(Duration::from_secs(10), ask).await;
    (begin.elapsed(), matches!(is_good, Ok(Ok(true))))
}

/// The sum of a counter's lines that have this in their labels.
async fn refusals(client: &mut covey_api::Client, labels: &str) -> f64 {
    let metrics = client.get("/metrics").await.expect("an answer").body;
    let metrics = String::from_utf8(metrics).expect("text");
    let lines = metrics.lines().filter(|line| line.starts_with("covey_refusals_total{"));
    let values =
        lines.filter(|line| line.contains(labels)).filter_map(|line| line.split_once("} "));
    values.filter_map(|(_, value)| value.parse::<f64>().ok()).sum()
}

#[test]
fn thousands_of_silent_connections_shut_nobody_out() {
    let folder = TestFolder::new();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("a limit");
    let Flood { connections, seconds, patience, limits } = Flood::new();
    let more = ["--health", "127.0.0.1:0", "--auth-timeout", "2s"];
    let coordinator = Coordinator::logged(&folder, &[&more, limits].concat());
    let health = coordinator.health.expect("an address");
    let arguments = ["--auth-timeout", "2s", "--max-agents", "400"];
    let mut relay = Relay::command(&folder, coordinator.agents, "127.0.0.1:0", "data");
    let relay = Relay::spawn(relay.args(arguments));
    block_on(async {
        // It shows its token now; one that did not would make room for others.
        let mut client = coordinator.client(&folder).await;
        assert_eq!(joined(&mut client).await, 0);
        let token = token(&folder);
        let connected = Arc::new(AtomicU64::new(0));
        let targets = [coordinator.clients, coordinator.agents, relay.agents, health];
        for k in 0..connections {
            // Most of them at the ports of clients and agents.
            let target = targets[[0, 1, 0, 1, 0, 1, 0, 1, 2, 3][(k / 13 % 10) as usize]];
            tokio::spawn(crowd(k, target, connected.clone()));
        }
        let begin = Instant::now();
        let (mut times, mut asked) = ([Vec::new(), Vec::new()], Vec::new());
        let fluids = [Fluid::default(), Fluid::default()];
        while begin.elapsed().as_secs_f64() < seconds {
            for (k, (address, path)) in
                [(coordinator.clients, "/livez"), (health, "/readyz")].into_iter().enumerate()
            {
                let (time, is_good) = probe(address, path).await;
                assert!(is_good, "{path} after {time:?}");
                times[k].push(time);
            }
            // Clients with a token come and go, and one stays.
            let since = Instant::now();
            let mut new = connect(coordinator.clients, &token).await.expect("a connection");
            assert_eq!(new.get("/v1/coflows").await.expect("an answer").status, 200);
            assert_eq!(client.get("/v1/agents").await.expect("an answer").status, 200);
            asked.push(since.elapsed());
            if asked.len() == 1 {
                fluids[0].join(coordinator.agents, &token, 0);
                fluids[1].join(relay.agents, &token, 1);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        until(20, "agents join", async || joined(&mut client).await == 2).await;
        // Requests of clients take two connections each, and the work of other threads.
        let [shared, own] = &mut times;
        for (times, patience) in [(shared, patience), (own, patience), (&mut asked, 10 * patience)]
        {
            times.sort_unstable();
            let most = times[times.len() - 1];
            println!(
                "{} answers: median {:.1} ms, 99 % {:.1} ms, most {:.1} ms",
                times.len(),
                1e3 * times[times.len() / 2].as_secs_f64(),
                1e3 * times[times.len() * 99 / 100].as_secs_f64(),
                1e3 * most.as_secs_f64()
            );
            assert!(most <= patience, "{most:?}");
        }
        for labels in ["door=\"clients\"", "door=\"agents\"", "door=\"health\""] {
            let late = refusals(&mut client, &format!("{labels},reason=\"late\"")).await;
            let displaced = refusals(&mut client, &format!("{labels},reason=\"displaced\"")).await;
            println!("{labels}: late {late}, displaced {displaced}");
            assert!(late + displaced > 0.0, "{labels}");
        }
        assert!(metric(&mut client, "covey_refused_connections_total").await > 0.0);
        println!("{} connections in {seconds} s", connected.load(Ordering::Relaxed));
    });
    let log = folder.read("log");
    let lines = log.lines().count();
    println!("{lines} lines of log");
    for reason in ["late", "displaced"] {
        assert!(log.contains(&format!("reason=\"{reason}\"")), "{log}");
    }
    assert!(log.contains("peer=127.0.0.") && lines < 60 + 2 * seconds as usize, "{lines}: {log}");
}

#[test]
fn a_relay_answers_probes_and_counts_its_refusals() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &[]);
    let mut relay = Relay::command(&folder, coordinator.agents, "127.0.0.1:0", "data");
    let relay = Relay::spawn(relay.args(["--health", "127.0.0.1:0", "--auth-timeout", "300ms"]));
    let health = relay.health.expect("an address");
    block_on(async {
        until(10, "it joins", async || probe(health, "/readyz").await.1).await;
        let mut silent = TcpStream::connect(relay.agents).await.expect("a connection");
        assert_eq!(silent.read(&mut [0; 1]).await.expect("an end"), 0);
        let mut client = connect(health, b"").await.expect("a connection");
        assert_eq!(refusals(&mut client, "door=\"agents\",reason=\"late\"").await, 1.0);
        assert_eq!(metric(&mut client, "covey_relay_joined").await, 1.0);
        coordinator.process.kill().expect("it runs");
        until(10, "it has left", async || !probe(health, "/readyz").await.1).await;
        assert!(probe(health, "/livez").await.1);
    });
}

#[test]
fn silent_applications_leave_room_at_the_agents_socket() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    let mut agent = agent(&folder, &coordinator, "0", &folder.path("data"));
    let log = std::fs::File::create(folder.path("log")).expect("a file");
    let _agent = Killed(agent.stderr(log).spawn().expect("an agent"));
    block_on(async {
        let socket = folder.path("data/agent.sock");
        until(10, "it listens", async || socket.exists()).await;
        let mut silent = Vec::new();
        for _ in 0..300 {
            silent.push(UnixStream::connect(&socket).await.expect("a connection"));
        }
        // One that says hello is answered.
        let mut bytes = Vec::new();
        covey_proto::encode(&covey_proto::FromApp::Hello(covey_proto::LOCAL_VERSION), &mut bytes);
        let mut good = UnixStream::connect(&socket).await.expect("a connection");
        good.write_all(&bytes).await.expect("it is taken");
        assert!(good.read(&mut [0; 64]).await.expect("an answer") > 0);
        // The oldest silent one has made room.
        assert_eq!(silent[0].read(&mut [0; 1]).await.expect("an end"), 0);
    });
    let log = folder.read("log");
    assert!(log.contains("door=\"applications\" reason=\"displaced\""), "{log}");
}

#[test]
fn limits_of_connections_are_checked() {
    let folder = TestFolder::new();
    for (arguments, expected) in [
        (["--max-clients", "0"], "--max-clients: expected from 1 to 1000000, found 0"),
        (
            ["--max-agents-per-peer", "0"],
            "--max-agents-per-peer: expected from 1 to 1000000, found 0",
        ),
        (
            ["--max-unauthenticated", "0"],
            "--max-unauthenticated: expected from 1 to 1000000, found 0",
        ),
        (["--auth-timeout", "0s"], "--auth-timeout: expected from 10ms to 60min, found '0s'"),
        (["--health", "0.0.0.0:0"], "0.0.0.0:0 is not a loopback address"),
    ] {
        let refusal = folder.refusal(&[&["serve", "--data", "data"], &arguments[..]].concat());
        assert!(refusal.starts_with(expected), "{refusal}");
    }
}
