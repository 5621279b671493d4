//! Readers of lists and large bodies beside clients that register.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use covey_api::Client;
use serde_json::Value;

use crate::common::TestFolder;
use crate::harness::{Coordinator, block_on, coflow, connect, fill, metric, token, until};

/// Coflows that are present; 100,000 with `make slow WHAT=lists`.
fn present() -> u64 {
    std::env::var("COVEY_PRESENT").ok().and_then(|count| count.parse().ok()).unwrap_or(2_000)
}

/// How long a registration may take, of a hundred all but one.
fn most() -> Duration {
    let ms = std::env::var("COVEY_P99_MS").ok().and_then(|ms| ms.parse().ok());
    Duration::from_millis(ms.unwrap_or(1_000))
}

const LISTS: [&str; 4] = ["coflows", "waiting", "schedule", "agents"];
const READERS: usize = 8;
const BODIES: usize = 4;
const REGISTERING: u32 = 6;
/// Registrations a second, together.
const RATE: u32 = 300;
const SECONDS: f64 = 6.0;

/// A body of 64 MiB with more flows than any coflow may have.
fn large() -> &'static [u8] {
    let flow = br#"{"src":0,"dst":1},"#;
    let mut body = br#"{"flows":["#.to_vec();
    while body.len() + flow.len() + 2 < 64 << 20 {
        body.extend(flow);
    }
    body.pop();
    body.extend(b"]}");
    body.leak()
}

/// Registers at the rate, and tells how long each registration took. In a runtime of its own, so
/// that none waits for a reader that is at its page.
fn registrations(address: SocketAddr, token: &[u8]) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let one = |_| {
            let token = token.to_vec();
            tokio::spawn(async move {
                let mut client = connect(address, &token).await.expect("a connection");
                let every = Duration::from_secs(1) * REGISTERING / RATE;
                let (mut times, begun) = (Vec::new(), Instant::now());
                while begun.elapsed().as_secs_f64() < SECONDS {
                    let at = Instant::now();
                    let answer = client.ask("POST", "/v1/coflows", &[], coflow(&[(0, 1)])).await;
                    let answer = answer.expect("an answer");
                    assert_eq!(answer.status, 201);
                    times.push(at.elapsed());
                    if times.len().is_multiple_of(50) {
                        shows(&mut client, &answer.json()["id"]).await;
                    }
                    tokio::time::sleep(every.saturating_sub(at.elapsed())).await;
                }
                times
            })
        };
        let mut times = Vec::new();
        for one in (0..REGISTERING).map(one).collect::<Vec<_>>() {
            times.extend(one.await.expect("they are registered"));
        }
        times
    })
}

/// A list that is asked for after the answer has what was registered.
async fn shows(client: &mut Client, id: &Value) {
    let page = client.get(&format!("/v1/coflows?limit=1&cursor={id}")).await.expect("an answer");
    assert_eq!(&page.json()["items"][0]["id"], id);
}

#[test]
fn readers_and_large_bodies_delay_no_registration() {
    let folder = TestFolder::new();
    let more = ["--max-requests", "1000000", "--max-coflows", "1000000"];
    let coordinator = Coordinator::new(&folder, &more);
    block_on(async {
        let (address, token) = (coordinator.clients, token(&folder));
        fill(address, &token, present(), 4).await;
        let (stop, read) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let refused = Arc::new(AtomicU64::new(0));
        let mut others = Vec::new();
        for k in 0..READERS {
            let (token, stop, read) = (token.clone(), stop.clone(), read.clone());
            others.push(tokio::spawn(async move {
                let mut client = connect(address, &token).await.expect("a connection");
                let (mut cursor, list) = (String::new(), LISTS[k % LISTS.len()]);
                while !stop.load(Ordering::Relaxed) {
                    let path = format!("/v1/{list}?limit=1000{cursor}");
                    let page = client.get(&path).await.expect("an answer");
                    assert_eq!(page.status, 200);
                    let next = page.json()["next"].as_str().map(ToOwned::to_owned);
                    cursor = next.map_or_else(String::new, |next| format!("&cursor={next}"));
                    read.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        let large = large();
        for _ in 0..BODIES {
            let (token, stop, refused) = (token.clone(), stop.clone(), refused.clone());
            others.push(tokio::spawn(async move {
                let mut client = connect(address, &token).await.expect("a connection");
                while !stop.load(Ordering::Relaxed) {
                    let answer = client.ask("POST", "/v1/coflows", &[], large).await;
                    assert_eq!(answer.expect("an answer").status, 413);
                    refused.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        let registering = std::thread::spawn({
            let token = token.clone();
            move || registrations(address, &token)
        });
        let registering = tokio::task::spawn_blocking(|| registering.join());
        let mut times = registering.await.expect("a thread").expect("they are registered");
        stop.store(true, Ordering::Relaxed);
        for other in others {
            other.await.expect("all are answered");
        }
        times.sort_unstable();
        let at = |part: f64| times[(part * (times.len() - 1) as f64) as usize];
        let mut client = coordinator.client(&folder).await;
        let memory = metric(&mut client, "process_resident_memory_bytes").await;
        println!(
            "{} registrations, median {:?}, 99 % {:?}, longest {:?}; {} pages, {} bodies refused, {:.0} MB",
            times.len(),
            at(0.5),
            at(0.99),
            at(1.0),
            read.load(Ordering::Relaxed),
            refused.load(Ordering::Relaxed),
            memory / 1e6
        );
        assert!(at(0.99) <= most(), "{:?}", at(0.99));
        assert!(read.load(Ordering::Relaxed) > 0 && refused.load(Ordering::Relaxed) > 0);
        until(1, "it lives", async || client.get("/livez").await.unwrap().status == 200).await;
    });
}
