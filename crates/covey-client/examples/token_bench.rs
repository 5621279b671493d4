//! Measures docs/measurements/client-library.md: large and small flows between two hosts, under
//! coordinators that differ in `--flow-tokens`, by turns. `make measure WHAT=tokens` starts them,
//! and runs it.
//!
//!     token_bench NAME=ADDRESS=FOLDER[=CERTIFICATES] …
//!
//! At each address a coordinator listens for clients; the folder has its `token`, and the sockets
//! `0.sock` and `1.sock` of its agents. With a folder of certificates, flows have TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covey_client::{
    Client, Coflow, CoflowSpec, Flow, FlowReceiver, Incoming, Listener, Options, Scheduled,
    TlsFiles,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const ROUNDS: usize = 25;
const PIECE: usize = 64 << 10;
const LARGE: u64 = 512 << 20;
/// Flows of a small coflow, bytes of each, and how many are under way at a time.
const FLOWS: u32 = 2000;
const SMALL: u64 = 10_000;
const AT_A_TIME: usize = 100;
/// Flows that are opened one after the other, for the time that each takes to begin.
const SINGLE: u32 = 200;

/// Two hosts under one coordinator.
struct Hosts {
    name: String,
    sender: Client,
    receiver: Client,
}

impl Hosts {
    async fn join(text: &str) -> Result<Hosts, Failure> {
        let fields: Vec<&str> = text.split('=').collect();
        let [name, address, folder, rest @ ..] = &fields[..] else {
            return Err("usage: token_bench NAME=ADDRESS=FOLDER[=CERTIFICATES] …".into());
        };
        let (name, folder) = ((*name).to_owned(), Path::new(folder));
        let tls = rest.first().map(|folder| TlsFiles::of_agent(Path::new(folder)));
        let client = async |socket: &str| {
            let options = Options {
                agent: Some(folder.join(socket)),
                coordinator: Some(address.parse()?),
                credentials: folder.to_owned(),
                tls: tls.clone(),
                ..Options::default()
            };
            let client = Client::start(options).await?;
            while client.scheduled() != Scheduled::Yes {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok::<Client, Failure>(client)
        };
        Ok(Hosts { name, sender: client("0.sock").await?, receiver: client("1.sock").await? })
    }

    async fn coflow(&self, flows: u32, bytes: u64) -> Result<Coflow, Failure> {
        let flow = Flow::new(0, 1, Some(bytes as f64));
        let coflow = self.sender.register(&CoflowSpec::of(vec![flow; flows as usize])).await?;
        if !coflow.is_registered() {
            return Err("the coordinator does not answer".into());
        }
        Ok(coflow)
    }
}

async fn next(listener: &mut Listener) -> Result<FlowReceiver, Failure> {
    match listener.accept().await? {
        Incoming::Flow(flow) => Ok(flow),
        Incoming::Request(_) => Err("nobody asks for a flow".into()),
    }
}

async fn drain(mut flow: FlowReceiver) -> std::io::Result<u64> {
    let (mut buffer, mut had) = (vec![0; PIECE], 0);
    loop {
        match flow.read(&mut buffer).await? {
            0 => return Ok(had),
            count => had += count as u64,
        }
    }
}

/// Bytes per second of a large flow, from its first byte on.
async fn large(hosts: &Hosts) -> Result<f64, Failure> {
    let mut listener = hosts.receiver.listen("127.0.0.1:0").await?;
    let coflow = hosts.coflow(1, LARGE).await?;
    let mut flow = coflow.open(0, listener.local_addr(), Some(LARGE), b"").await?;
    let reader = tokio::spawn(drain(next(&mut listener).await?));
    let piece = vec![7; PIECE];
    flow.write_all(&piece).await?;
    let began = Instant::now();
    for _ in 1..LARGE / PIECE as u64 {
        flow.write_all(&piece).await?;
    }
    flow.finish().await?;
    let rate = LARGE as f64 / began.elapsed().as_secs_f64();
    assert_eq!(reader.await??, LARGE);
    hosts.sender.settled().await;
    Ok(rate)
}

/// Small flows per second.
async fn small(hosts: &Hosts) -> Result<f64, Failure> {
    let mut listener = hosts.receiver.listen("127.0.0.1:0").await?;
    let coflow = hosts.coflow(FLOWS, SMALL).await?;
    let to = listener.local_addr();
    let receiving = tokio::spawn(async move {
        let mut flows = JoinSet::new();
        for _ in 0..FLOWS {
            flows.spawn(drain(next(&mut listener).await?));
        }
        while let Some(had) = flows.join_next().await {
            assert_eq!(had??, SMALL);
        }
        Ok::<(), Failure>(())
    });
    let began = Instant::now();
    let mut sending = JoinSet::new();
    let room = Arc::new(Semaphore::new(AT_A_TIME));
    for index in 0..FLOWS {
        let (coflow, room) = (coflow.clone(), room.clone().acquire_owned().await?);
        sending.spawn(async move {
            let _room = room;
            let mut flow = coflow.open(index, to, Some(SMALL), b"").await?;
            flow.write_all(&[7; SMALL as usize]).await?;
            flow.finish().await
        });
    }
    while let Some(sent) = sending.join_next().await {
        sent??;
    }
    let rate = f64::from(FLOWS) / began.elapsed().as_secs_f64();
    receiving.await??;
    hosts.sender.settled().await;
    Ok(rate)
}

/// The time that a flow takes to be there, in seconds: from the call to the listener's application.
async fn begin(hosts: &Hosts) -> Result<f64, Failure> {
    let mut listener = hosts.receiver.listen("127.0.0.1:0").await?;
    let coflow = hosts.coflow(SINGLE, SMALL).await?;
    let (mut flows, mut times) = (Vec::new(), Vec::new());
    for index in 0..SINGLE {
        let began = Instant::now();
        let flow = coflow.open(index, listener.local_addr(), Some(SMALL), b"").await?;
        flows.push((flow, next(&mut listener).await?));
        times.push(began.elapsed().as_secs_f64());
    }
    coflow.deregister().await?;
    Ok(median(&mut times))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let mut all = Vec::new();
    for text in std::env::args().skip(1) {
        all.push(Hosts::join(&text).await?);
    }
    let mut found = vec![[const { Vec::new() }; 3]; all.len()];
    for round in 0..ROUNDS {
        for k in 0..all.len() {
            // The setups take turns at going first.
            let k = (k + round) % all.len();
            let of = [large(&all[k]).await?, small(&all[k]).await?, begin(&all[k]).await?];
            found[k].iter_mut().zip(of).for_each(|(values, value)| values.push(value));
        }
    }
    println!(
        "| | a large flow, Gbit/s | of the first | small flows a second | of the first | a flow begins within, ms |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    let first = found[0].clone();
    for (hosts, mut values) in all.iter().zip(found) {
        let beside = |k: usize| {
            let pairs = values[k].iter().zip(&first[k]);
            let mut ratios: Vec<f64> = pairs.map(|(value, first)| value / first).collect();
            median(&mut ratios)
        };
        let (of_large, of_small) = (beside(0), beside(1));
        let [large, small, begin] = &mut values;
        println!(
            "| {} | {:.1} | {of_large:.3} | {:.0} | {of_small:.3} | {:.2} |",
            hosts.name,
            median(large) * 8e-9,
            median(small),
            median(begin) * 1e3
        );
    }
    println!(
        "\nMedians of {ROUNDS} rounds, by turns; a quotient is the median of the rounds' quotients."
    );
    println!(
        "Large: {} MiB. Small: {FLOWS} flows of {SMALL} bytes, {AT_A_TIME} at a time.",
        LARGE >> 20
    );
    Ok(())
}
