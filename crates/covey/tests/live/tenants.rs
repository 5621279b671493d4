//! A tenant whose applications do what they can to get more, beside one that does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use covey_api::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::certificates::hang_up;
use crate::common::TestFolder;
use crate::harness::{
    Coordinator, Fluid, block_on, connect, joined, spawn_agents, state, token, until,
};

/// What the honest tenant sends, with true sizes: each of five coflows.
const HONEST: [(u32, u32); 2] = [(0, 2), (0, 3)];
const SIZE: f64 = crate::harness::SIZE;
/// The flows of a hostile coflow, which declares one byte for each.
const HOSTILE: [(u32, u32); 4] = [(0, 2), (0, 3), (1, 2), (1, 3)];

/// Makes a token for a tenant of the same name, and connects with it.
async fn tenant(folder: &TestFolder, coordinator: &Coordinator, name: &str) -> Client {
    let arguments = ["token", "new", name, "--rights", "read,register", "--data", "data"];
    let token = folder.results(&arguments).trim().to_owned();
    hang_up(coordinator);
    let mut client = connect(coordinator.clients, token.as_bytes()).await.unwrap();
    until(10, "the token is read", async || {
        client.get("/v1/coflows").await.is_ok_and(|answer| answer.status == 200)
    })
    .await;
    client
}

fn body(flows: &[(u32, u32)], bytes: f64) -> String {
    let flow = |(src, dst): &(u32, u32)| json!({"src": src, "dst": dst, "bytes": bytes});
    json!({"flows": flows.iter().map(flow).collect::<Vec<Value>>()}).to_string()
}

async fn register(client: &mut Client, flows: &[(u32, u32)], bytes: f64) -> u64 {
    let answer = client.ask("POST", "/v1/coflows", &[], body(flows, bytes)).await.unwrap();
    assert_eq!(answer.status, 201);
    answer.json()["id"].as_u64().unwrap()
}

/// Registers five coflows of the honest tenant, waits for their ends, and returns their mean
/// completion time.
async fn mean_cct_s(client: &mut Client, flows: &[(u32, u32)]) -> f64 {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(register(client, flows, SIZE).await);
    }
    let mut sum_s = 0.0;
    for &id in &ids {
        until(60, "it ends", async || state(client, id).await == "ended").await;
        let status = client.get(&format!("/v1/coflows/{id}")).await.unwrap().json();
        sum_s += status["end_s"].as_f64().unwrap() - status["arrival_s"].as_f64().unwrap();
    }
    sum_s / ids.len() as f64
}

/// Registers coflows of these flows, which declare one byte each, until it `is_over`.
fn flood(
    mut client: Client,
    flows: &'static [(u32, u32)],
    is_over: &Arc<AtomicBool>,
) -> JoinHandle<()> {
    let is_over = Arc::clone(is_over);
    tokio::spawn(async move {
        while !is_over.load(Ordering::Relaxed) {
            register(&mut client, flows, 1.0).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
}

/// Starts a coordinator and four hosts.
async fn start(folder: &TestFolder, more: &[&str]) -> (Coordinator, Vec<Fluid>) {
    let coordinator = Coordinator::new(folder, &[&["--policy", "sebf"], more].concat());
    let hosts = spawn_agents(coordinator.agents, &token(folder), 4);
    let mut client = coordinator.client(folder).await;
    until(10, "agents join", async || joined(&mut client).await == 4).await;
    (coordinator, hosts)
}

#[test]
fn a_hostile_tenant_takes_nothing_of_another_ones_part() {
    let alone_s = block_on(async {
        let folder = TestFolder::new();
        // Half of each link.
        let (coordinator, _) = start(&folder, &["--port-rate", "4mbps"]).await;
        let mut client = tenant(&folder, &coordinator, "honest").await;
        mean_cct_s(&mut client, &HONEST).await
    });
    let folder = TestFolder::new();
    folder.write("covey.toml", "[serve]\ntenants = { honest = 1, hostile = 1 }\n");
    let beside_s = block_on(async {
        let config = ["--port-rate", "8mbps", "--config", "covey.toml"];
        let (coordinator, _) = start(&folder, &config).await;
        let mut all = coordinator.client(&folder).await;
        let mut client = tenant(&folder, &coordinator, "honest").await;
        let mut other = tenant(&folder, &coordinator, "hostile").await;
        // It lies about sizes, splits what it sends, and goes on to register coflows.
        for k in 0..100 {
            let flows = if k % 2 == 0 { &HOSTILE[..] } else { &HOSTILE[k % 4..][..1] };
            register(&mut other, flows, 1.0).await;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let flood = flood(other, &HOSTILE, &is_over);
        let beside_s = mean_cct_s(&mut client, &HONEST).await;
        // Without weights, whoever says that everything is tiny is served first.
        let set = async |all: &mut Client, tenants: Value| {
            let body = json!({ "tenants": tenants }).to_string();
            let answer = all.ask("PATCH", "/v1/admin/settings", &[], body).await.unwrap();
            assert_eq!(answer.status, 200);
            assert_eq!(answer.json()["settings"]["tenants"], tenants);
        };
        set(&mut all, json!({})).await;
        let id = register(&mut client, &HONEST, SIZE).await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(state(&mut client, id).await, "active", "it alone would take 0.4 s");
        set(&mut all, json!({"honest": 1.0, "hostile": 1.0})).await;
        until(10, "it ends", async || state(&mut client, id).await == "ended").await;
        is_over.store(true, Ordering::Relaxed);
        flood.await.expect("all are registered");
        beside_s
    });
    println!(
        "mean CCT: {alone_s:.3} s alone with half of each link, {beside_s:.3} s beside a hostile tenant"
    );
    assert!(beside_s <= 1.1 * alone_s, "{beside_s} s instead of {alone_s} s");
}

/// How many times larger than declared the flows of a tenant are taken to be.
async fn size_factor(client: &mut Client, tenant: &str) -> f64 {
    let metrics = String::from_utf8(client.get("/metrics").await.unwrap().body).unwrap();
    let name = format!("covey_tenant_size_factor{{tenant=\"{tenant}\"}} ");
    let factor = metrics.lines().find_map(|line| line.strip_prefix(&name));
    factor.map_or(1.0, |factor| factor.parse().unwrap())
}

#[test]
fn who_declares_a_byte_and_sends_far_more_is_served_after_the_honest() {
    // Both send to the same host. Links are not divided, and the policy serves the smallest coflow.
    let (true_ones, lies) = (&[(0, 2)], &[(1, 2)]);
    let measure = async |liar_sends: Option<f64>| {
        let folder = TestFolder::new();
        let (coordinator, hosts) = start(&folder, &["--port-rate", "8mbps"]).await;
        let mut client = tenant(&folder, &coordinator, "honest").await;
        let Some(liar_sends) = liar_sends else { return mean_cct_s(&mut client, true_ones).await };
        hosts[1].flows().size = 1e15;
        let mut liar = tenant(&folder, &coordinator, "liar").await;
        let first = register(&mut liar, lies, 1.0).await;
        let mut all = coordinator.client(&folder).await;
        until(30, "it is found out", async || size_factor(&mut all, "liar").await >= liar_sends)
            .await;
        let is_over = Arc::new(AtomicBool::new(false));
        let flood = flood(liar, lies, &is_over);
        let beside_s = mean_cct_s(&mut client, true_ones).await;
        is_over.store(true, Ordering::Relaxed);
        flood.await.expect("all are registered");
        assert_eq!(state(&mut all, first).await, "active");
        assert_eq!(size_factor(&mut all, "honest").await, 1.0);
        // What is left goes to the liar.
        until(10, "it goes on", async || !hosts[1].flows().rates.is_empty()).await;
        beside_s
    };
    let (alone_s, beside_s) =
        block_on(async { (measure(None).await, measure(Some(5.0 * SIZE)).await) });
    println!(
        "mean CCT: {alone_s:.3} s alone, {beside_s:.3} s beside a tenant that lies about sizes"
    );
    assert!(beside_s <= 1.1 * alone_s, "{beside_s} s instead of {alone_s} s");
}

#[test]
fn weights_that_cannot_be_are_refused() {
    let folder = TestFolder::new();
    for (arguments, problem) in [
        (&["--tenants", "a"][..], "--tenants: expected NAME=WEIGHT,…, found 'a'"),
        (&["--tenants", "a=1", "--policy", "coda"], "policy coda cannot serve tenants"),
    ] {
        let run = folder.covey(&[&["serve", "--data", "data"], arguments].concat());
        assert_eq!(run.status, Some(2), "{arguments:?}");
        assert!(run.err.contains(problem), "{}", run.err);
    }
}
