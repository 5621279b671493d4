//! A coordinator that is killed loses nothing.

use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::TestFolder;
use crate::harness::{Coordinator, block_on, coflow, connect, scatter, spawn_agents, token, until};

/// The number of kills; more with `make slow WHAT=kills`.
fn kills() -> u32 {
    std::env::var("COVEY_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5)
}

/// Registers coflows one after the other, and repeats requests without an answer. Returns the ids.
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
                // Fewer than the coordinator remembers after their ends.
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
    let folder = TestFolder::new();
    // The coordinator compacts its journal all the time.
    let more = ["--policy", "philae", "--compact-above", "20kB"];
    let mut coordinator = Coordinator::new(&folder, &more);
    block_on(async {
        let token = token(&folder);
        let agents = spawn_agents(coordinator.agents, &token, 4);
        let end = Instant::now() + Duration::from_millis(600) * kills();
        let clients: Vec<_> = (0..4)
            .map(|k| tokio::spawn(register_all(coordinator.clients, token.clone(), k, end)))
            .collect();
        let mut slowest = Duration::ZERO;
        for kill in 0..kills() {
            let moment = 100 + scatter(kill.into()) % 400;
            tokio::time::sleep(Duration::from_millis(moment)).await;
            coordinator.restart(&folder, &more);
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
        let mut client = coordinator.client(&folder).await;
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

/// Kills right after the journal's file has grown: the record may be on disk or not, and the client
/// has no answer yet, or is about to get it.
#[test]
fn a_coordinator_that_is_killed_between_journal_and_answer_keeps_its_word() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &[]);
    let journal = folder.path("data/journal");
    let length = || fs::metadata(&journal).expect("a journal").len();
    let (mut between, mut kept, mut ids) = (0, 0, Vec::new());
    block_on(async {
        let token = token(&folder);
        let flows: Vec<(u32, u32)> = (0..500).map(|k| (k % 4, k / 4 % 4)).collect();
        let body = coflow(&flows);
        // A quarter of all kills.
        for kill in 0..kills().div_ceil(4) {
            let key = kill.to_string();
            let mut client = connect(coordinator.clients, &token).await.expect("a connection");
            let before = length();
            let asking = tokio::spawn({
                let (key, body) = (key.clone(), body.clone());
                async move {
                    let headers = [("Idempotency-Key", key.as_str())];
                    client.ask("POST", "/v1/coflows", &headers, body).await
                }
            });
            tokio::task::block_in_place(|| {
                while length() == before {
                    std::hint::spin_loop();
                }
                coordinator.process.kill().expect("a process");
            });
            let answer = asking.await.expect("no panic");
            coordinator.restart(&folder, &[]);
            let mut client = connect(coordinator.clients, &token).await.expect("a connection");
            let page = client.get("/v1/coflows?limit=1000").await.unwrap().json();
            let there = page["items"].as_array().unwrap().len();
            let headers = [("Idempotency-Key", key.as_str())];
            let again = client.ask("POST", "/v1/coflows", &headers, body.clone()).await.unwrap();
            assert_eq!(again.status, 201);
            let id = again.json()["id"].as_u64().expect("an id");
            match answer {
                Ok(answer) => {
                    assert_eq!(answer.json()["id"].as_u64(), Some(id), "acknowledged and lost");
                    assert_eq!(there, ids.len() + 1, "acknowledged and lost");
                }
                Err(_) => {
                    between += 1;
                    kept += there - ids.len();
                }
            }
            ids.push(id);
            let page = client.get("/v1/coflows?limit=1000").await.unwrap().json();
            assert_eq!(page["items"].as_array().unwrap().len(), ids.len(), "registered twice");
        }
        ids.dedup();
        eprintln!("{} kills, {between} before the answer, {kept} of these kept", ids.len());
        assert_eq!(ids.len() as u32, kills().div_ceil(4), "a number was given twice");
        // One request may be answered before the kill arrives, but not many.
        assert!(between > 0 || ids.len() < 10);
    });
}
