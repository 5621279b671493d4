//! Sends data that no agent and no relay would send to the port for agents.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use covey_api::Client;
use covey_core::SplitMix;
use covey_load::Metrics;
use covey_proto::{
    CodecName, Compressor, Ended, FlowName, FromAgent, FromRelay, Hello, Links, Processor,
    RELAY_VERSION, RelayHello, Sent, Use, Uses, VERSION, encode,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::Result;

/// Number of connections at a time.
const AT_A_TIME: u64 = 64;
/// Number of ports of the coordinator's fabric.
const PORTS: u64 = 16;

/// What no agent and no relay would say.
struct Garbage(SplitMix);

impl Garbage {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    fn bytes(&mut self, max: u64) -> Vec<u8> {
        (0..1 + self.below(max)).map(|_| self.next() as u8).collect()
    }

    /// A number that is mostly valid.
    fn key(&mut self) -> FlowName {
        match self.below(10) {
            0 => FlowName::decoded(self.next(), self.next() as u32),
            _ => FlowName::decoded(self.below(4000), self.below(5) as u32),
        }
    }

    fn amount(&mut self) -> f64 {
        match self.below(10) {
            0 => f64::from_bits(self.next()),
            1 => f64::MAX,
            _ => self.below(1 << 30) as f64,
        }
    }

    fn message(&mut self) -> FromAgent {
        let count = self.below(20);
        match self.below(10) {
            0 => FromAgent::Applied { epoch: self.below(3), version: self.below(50) },
            1 => FromAgent::Ended(
                (0..count)
                    .map(|_| Ended { key: self.key(), bytes: self.amount(), wire: self.amount() })
                    .collect(),
            ),
            2 => FromAgent::Sent(
                (0..count)
                    .map(|_| Sent { key: self.key(), bytes: self.amount(), wire: self.amount() })
                    .collect(),
            ),
            3 => FromAgent::Resync,
            4 => self.hello(Vec::new()),
            5 => FromAgent::Processor(Processor {
                share: self.amount(),
                compressors: (0..count)
                    .map(|_| Compressor {
                        codec: CodecName::ALL[self.below(4) as usize],
                        speed: self.amount(),
                        ratio: self.amount(),
                    })
                    .collect(),
            }),
            6 => {
                let all = self.below(4) == 0;
                let of = [Use::Moves, Use::Idle, Use::Closed];
                let flows = (0..count).map(|_| (self.key(), of[self.below(3) as usize])).collect();
                let unopened = (0..count).map(|_| self.key().encoded().0).collect();
                FromAgent::Uses(Uses { all, flows, unopened })
            }
            8 => FromAgent::Links(Links { sent: self.amount(), received: self.amount() }),
            7 => FromAgent::Keeps((0..count).map(|_| self.key().encoded().0).collect()),
            _ => FromAgent::Alive,
        }
    }

    /// What a relay says of a few sessions: pieces of messages, most of them whole.
    fn relayed(&mut self) -> FromRelay {
        let session = self.below(9);
        let mut bytes = Vec::new();
        match self.below(12) {
            0 => return FromRelay::Left(vec![session, self.below(9)]),
            1 => return FromRelay::Delivered((0..self.below(20)).collect()),
            2 => return FromRelay::Alive,
            3 => bytes = self.bytes(100),
            4 => return FromRelay::Said { session: self.next(), bytes: self.bytes(100) },
            5..8 => encode(&self.hello(Vec::new()), &mut bytes),
            _ => encode(&self.message(), &mut bytes),
        }
        if self.below(10) == 0 {
            bytes.truncate(self.below(bytes.len() as u64) as usize);
        }
        FromRelay::Said { session, bytes }
    }

    fn hello(&mut self, token: Vec<u8>) -> FromAgent {
        let holds = match self.below(4) {
            0 => (self.next(), self.next()),
            1 => (1, self.below(9)),
            _ => (0, 0),
        };
        let port = self.below(PORTS + 1) as u32;
        FromAgent::Hello(Hello { version: VERSION, port, holds, token })
    }
}

#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    admitted: AtomicU64,
    bytes: AtomicU64,
}

/// Sends garbage for some time while coflows come and go, and prints how much.
pub async fn send(
    coordinator: SocketAddr,
    clients: SocketAddr,
    token: &[u8],
    seconds: f64,
) -> Result<()> {
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let counts = Arc::new(Counts::default());
    for seed in 0..AT_A_TIME {
        let (counts, token) = (counts.clone(), token.to_vec());
        tokio::spawn(async move {
            let mut random = Garbage(SplitMix::new(seed));
            while Instant::now() < until {
                // The coordinator is expected to close the connection.
                let _ = connection(coordinator, &token, &mut random, &counts).await;
            }
        });
    }
    let mut client = Client::connect(clients, token, None).await?;
    let mut random = SplitMix::new(AT_A_TIME);
    let mut requests = 0;
    while Instant::now() < until {
        let mut port = || random.below(PORTS);
        let flows: Vec<_> = (0..5).map(|_| json!({"src": port(), "dst": port()})).collect();
        let body = json!({ "flows": flows }).to_string();
        let answer = client.ask("POST", "/v1/coflows", &[], body).await?;
        if answer.status >= 500 {
            return Err(format!("{}: {}", answer.status, answer.json()).into());
        }
        if answer.status == 429 {
            let page = client.get("/v1/coflows?limit=100").await?.json();
            for coflow in page["items"].as_array().into_iter().flatten() {
                client.ask("DELETE", &format!("/v1/coflows/{}", coflow["id"]), &[], "").await?;
            }
        }
        requests += 1;
        sleep(Duration::from_millis(5)).await;
    }
    sleep(Duration::from_secs(1)).await;
    let ready = client.get("/readyz").await?.status;
    let metrics = Metrics::of(&mut client).await?;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{} connections, {} of them with a right hello, {} bytes; {requests} registrations beside; \
         refused: {} credentials, {} garbage, {} epochs; readyz says {ready}",
        count(&counts.connections),
        count(&counts.admitted),
        count(&counts.bytes),
        metrics.get("covey_refused_credentials_total"),
        metrics.get("covey_refused_garbage_total"),
        metrics.get("covey_refused_epochs_total"),
    );
    if ready == 200 { Ok(()) } else { Err("it is not ready".into()) }
}

async fn connection(
    coordinator: SocketAddr,
    token: &[u8],
    random: &mut Garbage,
    counts: &Counts,
) -> Result<()> {
    let mut stream = TcpStream::connect(coordinator).await?;
    counts.connections.fetch_add(1, Ordering::Relaxed);
    let mut bytes = Vec::new();
    let is_relay = random.below(4) == 0;
    match random.below(4) {
        0 => bytes = random.bytes(2000),
        // A length, allowed or not, and fewer bytes than that.
        1 => {
            let length = random.below(1 << 21) as u32;
            bytes.extend(length.to_le_bytes());
            bytes.append(&mut random.bytes(5000));
        }
        _ if is_relay => {
            counts.admitted.fetch_add(1, Ordering::Relaxed);
            let version = RELAY_VERSION + u16::from(random.below(10) == 0);
            let hello = RelayHello { version, token: token.to_vec() };
            encode(&FromRelay::Hello(hello), &mut bytes);
        }
        _ => {
            counts.admitted.fetch_add(1, Ordering::Relaxed);
            encode(&random.hello(token.to_vec()), &mut bytes);
        }
    }
    let frames = random.below(50);
    for _ in 0..frames {
        stream.write_all(&bytes).await?;
        counts.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let mut answer = [0; 4096];
        if let Ok(count) = timeout(Duration::from_millis(2), stream.read(&mut answer)).await
            && count? == 0
        {
            return Ok(());
        }
        bytes.clear();
        match is_relay {
            true => encode(&random.relayed(), &mut bytes),
            false => encode(&random.message(), &mut bytes),
        }
        if random.below(10) == 0 {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
    }
    Ok(())
}
