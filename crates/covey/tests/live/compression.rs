//! Whether compressing pays depends on what the links of hosts carry besides.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use covey_api::Client;
use serde_json::{Value, json};

use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, agent, block_on, joined, until};

/// Traffic over loopback, as fast as it goes, until it is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn start() -> Load {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = is_over.clone();
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        sender.connect(receiver.local_addr().expect("an address")).expect("loopback");
        let datagram = vec![0; 60_000];
        thread::spawn(move || {
            // Nobody reads: the kernel drops what the receiver has no place for.
            while !until.load(Ordering::Relaxed) {
                let _ = sender.send(&datagram);
            }
            drop(receiver);
        });
        Load(is_over)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the only flow is compressed with (null: nothing), if it has a rate.
async fn codec(client: &mut Client) -> Option<Value> {
    let page = client.get("/v1/schedule").await.unwrap().json();
    page["items"].get(0).map(|flow| flow["codec"].clone())
}

/// What the hosts send over their links besides, in bytes per second, if both have said so.
async fn other_sent(client: &mut Client) -> Option<f64> {
    let page = client.get("/v1/agents").await.unwrap().json();
    let of = |port: usize| page["items"][port]["other_sent"].as_f64();
    Some(of(0)?.max(of(1)?))
}

#[test]
fn a_loaded_link_makes_compression_pay() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &["--policy", "fvdf", "--port-rate", "800mbps"]);
    // With so little of a processor no compressor is as fast as an idle link. Loopback is the link
    // of both hosts.
    let more = ["--enforcer", "recorded", "--cpu", "0.02", "--address", "127.0.0.1"];
    let start = |port: &str| {
        let mut command = agent(&folder, &coordinator, port, &folder.path("data"));
        let record = folder.path(&format!("record-{port}"));
        Killed(command.args(more).arg("--record").arg(record).spawn().expect("covey agent"))
    };
    let _agents = ["0", "1"].map(start);
    let raw = || Some(Value::Null);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        until(10, "agents join", async || joined(&mut client).await == 2).await;
        let spec = json!({"flows": [{"src": 0, "dst": 1, "bytes": 1e12}]}).to_string();
        let answer = client.ask("POST", "/v1/coflows", &[], spec).await.unwrap();
        assert_eq!(answer.status, 201);
        until(20, "links are idle", async || {
            other_sent(&mut client).await.is_some_and(|rate| rate < 50e6)
        })
        .await;
        until(20, "an idle link sends raw", async || codec(&mut client).await == raw()).await;
        let load = Load::start();
        until(20, "a loaded link compresses", async || {
            codec(&mut client).await == Some(json!("lz4"))
        })
        .await;
        // A rate is at most the link's.
        assert!(other_sent(&mut client).await.is_some_and(|rate| rate <= 100e6));
        drop(load);
        until(20, "an idle link sends raw again", async || codec(&mut client).await == raw()).await;
    });
}
