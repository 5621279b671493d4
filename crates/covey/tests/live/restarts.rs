//! A coordinator that stops, or is killed, and starts again: how soon its agents are back.

use std::time::{Duration, Instant};

use covey_agent::{Joining, Processors};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use crate::common::TestFolder;
use crate::harness::{Coordinator, Fluid, block_on, connect, fill, metric, token};

/// Agents; 1,000 with `make slow WHAT=restart`.
fn agents() -> u32 {
    std::env::var("COVEY_AGENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(50)
}

/// How long it may take from the stop until all are back.
fn most() -> Duration {
    let ms = std::env::var("COVEY_BACK_MS").ok().and_then(|ms| ms.parse().ok());
    Duration::from_millis(ms.unwrap_or(3_000))
}

const ROUNDS: usize = 5;

/// Starts an agent of a host without flows.
fn join(coordinator: &Coordinator, token: &[u8], port: u32) {
    let joining = Joining {
        coordinator: coordinator.agents.into(),
        port,
        token: token.to_vec(),
        tls: None,
        ask_every: Duration::from_millis(100),
        processors: Processors::None,
        addresses: Vec::new(),
        devices: Vec::new(),
    };
    tokio::spawn(async move { covey_agent::run(&joining, &mut Fluid::default()).await });
}

/// Waits until so many agents have joined.
async fn joined(coordinator: &Coordinator, token: &[u8], agents: u32) {
    let begin = Instant::now();
    let mut client = connect(coordinator.clients, token).await.expect("a connection");
    while client.get("/v1/coordinator").await.expect("an answer").json()["agents"] != agents {
        assert!(begin.elapsed() < Duration::from_secs(60), "all agents are back");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn agents_are_back_soon_after_a_stop_and_after_a_kill() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("a limit");
    let (folder, agents) = (TestFolder::new(), agents());
    let ports = agents.to_string();
    let mut coordinator = Coordinator::new(&folder, &["--ports", &ports]);
    block_on(async {
        let token = token(&folder);
        (0..agents).for_each(|port| join(&coordinator, &token, port));
        joined(&coordinator, &token, agents).await;
        for (signal, name) in [(Signal::TERM, "stop"), (Signal::KILL, "kill")] {
            let mut times = Vec::new();
            for _ in 0..ROUNDS {
                // Their waits begin anew after some time.
                tokio::time::sleep(Duration::from_millis(300)).await;
                let begin = Instant::now();
                let id = Pid::from_child(&coordinator.process);
                kill_process(id, signal).expect("it runs");
                coordinator.process.wait().expect("it ends");
                let ended = begin.elapsed();
                coordinator.restart(&folder, &["--ports", &ports]);
                let listens = begin.elapsed();
                joined(&coordinator, &token, agents).await;
                times.push([begin.elapsed(), listens, ended]);
            }
            times.sort_unstable();
            let [back, listens, ended] = times[ROUNDS / 2];
            let longest = times[ROUNDS - 1][0];
            println!(
                "{name}: {agents} agents are back {back:?} after it (median; longest {longest:?}); the \
                 process ended after {ended:?}, the next listened after {listens:?}"
            );
            assert!(longest <= most(), "{longest:?}");
        }
    });
}

/// Coflows that are present at the kill; 99,000 with `make slow WHAT=restart`.
fn present() -> u64 {
    std::env::var("COVEY_PRESENT").ok().and_then(|count| count.parse().ok()).unwrap_or(500)
}

/// Seconds that a recovery may take.
fn most_s() -> f64 {
    std::env::var("COVEY_RECOVERY_S").ok().and_then(|s| s.parse().ok()).unwrap_or(30.0)
}

#[test]
fn a_start_reads_many_coflows_and_plans_once() {
    for policy in ["aalo", "covey", "philae"] {
        let folder = TestFolder::new();
        let more = ["--ports", "900", "--policy", policy];
        let more = [&more[..], &["--max-requests", "1000000", "--max-coflows", "1000000"]].concat();
        let mut coordinator = Coordinator::new(&folder, &more);
        block_on(async {
            fill(coordinator.clients, &token(&folder), present(), 900).await;
            let begin = Instant::now();
            coordinator.restart(&folder, &more);
            let listens = begin.elapsed();
            let mut client = coordinator.client(&folder).await;
            assert_eq!(client.get("/readyz").await.expect("an answer").status, 200);
            let ready = begin.elapsed();
            let cpu_s = metric(&mut client, "process_cpu_seconds_total").await;
            let status = client.get("/v1/coordinator").await.expect("an answer").json();
            println!(
                "{policy}: {} coflows, listens after {listens:?}, ready after {ready:?}, {cpu_s:.1} s of CPU",
                status["coflows"]
            );
            assert!(status["coflows"].as_u64() >= Some(present()));
            assert!(ready.as_secs_f64() <= most_s(), "{policy}: {ready:?}");
        });
    }
}
