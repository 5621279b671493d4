//! Clients, agents and applications that say anything: the state of the coordinator stays one that
//! it can start with.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use covey_api::Client;
use covey_core::SplitMix;
use covey_proto::{
    Compressor, Ended, FlowKey, FlowName, FlowOpening, FromAgent, FromApp, Hello, LOCAL_VERSION,
    Links, MAX_BYTES, Message, Passing, Processor, Sent, Side, Use, Uses, VERSION, encode,
};
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, agent, block_on, connect, token, until};

/// Messages in all; more with `make slow WHAT=hostile`.
fn messages() -> u64 {
    std::env::var("COVEY_HOSTILE").ok().and_then(|count| count.parse().ok()).unwrap_or(3_000)
}

/// Kills and starts meanwhile.
const STARTS: u64 = 4;

/// Bytes, rates, seconds, as only a liar would say them, and some as anybody would.
fn number(random: &mut SplitMix) -> f64 {
    const NUMBERS: [f64; 14] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1e9,
        MAX_BYTES,
        2.0 * MAX_BYTES,
        f64::MAX,
        1.7e308,
        f64::MIN_POSITIVE,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    NUMBERS[random.below(NUMBERS.len() as u64) as usize]
}

/// The number of a flow, a coflow or a port.
fn name(random: &mut SplitMix, known: u64) -> u64 {
    match random.below(12) {
        0 => u64::MAX,
        1 => u64::from(u32::MAX),
        2 => 1 << 53,
        3 => random.below(1 << 20),
        _ => random.below(known.max(1)),
    }
}

fn flow_name(random: &mut SplitMix, known: u64) -> FlowName {
    match random.below(8) {
        0 => FlowName::Id(covey_proto::FlowId(name(random, 3 * known))),
        1 => FlowName::Number(name(random, known)),
        2 => FlowName::Key(FlowKey { coflow: name(random, known), flow: u32::MAX - 2 }),
        _ => FlowName::Key(FlowKey { coflow: name(random, known), flow: random.below(4) as u32 }),
    }
}

/// The same bytes where a flow is named by its coflow and its index alone.
fn as_key(name: FlowName) -> FlowKey {
    let (coflow, flow) = name.encoded();
    FlowKey { coflow, flow }
}

/// A JSON value that stands where a number should.
fn value(random: &mut SplitMix) -> Value {
    match random.below(12) {
        0 => Value::Null,
        1 => json!("1"),
        2 => json!([1]),
        3 => json!({}),
        4 => json!(u64::MAX),
        5 => json!(true),
        // JSON has no infinite numbers: null.
        _ => json!(number(random)),
    }
}

fn flow(random: &mut SplitMix) -> Value {
    let mut flow = json!({"src": random.below(4), "dst": random.below(4), "bytes": 1e9});
    for name in ["src", "dst", "bytes", "attempt", "ratio"] {
        if random.below(12) == 0 {
            flow[name] = value(random);
        }
    }
    flow
}

fn flows(random: &mut SplitMix) -> Vec<Value> {
    (0..random.below(4)).map(|_| flow(random)).collect()
}

/// A request: method, path, body.
fn request(random: &mut SplitMix, known: u64) -> (&'static str, String, Value) {
    let coflow = format!("/v1/coflows/{}", name(random, known));
    match random.below(10) {
        0 => ("DELETE", coflow, Value::Null),
        1 => ("POST", coflow + "/keep", json!({"lease_s": value(random)})),
        2..=4 => {
            let mut change = json!({});
            for field in ["restart", "cancel", "take"] {
                if random.below(4) == 0 {
                    change[field] = json!([name(random, 4)]);
                }
            }
            match random.below(5) {
                0 => change["open"] = value(random),
                1 => change["move"] = json!([{"flow": name(random, 4), "to": flow(random)}]),
                _ => change["add"] = json!(flows(random)),
            }
            ("PATCH", coflow, change)
        }
        _ => {
            let mut spec = json!({"flows": flows(random), "open": random.below(3) == 0});
            for field in ["weight", "deadline_s", "lease_s", "ratio", "parents", "name", "barrier"]
            {
                if random.below(10) == 0 {
                    spec[field] = match field {
                        "parents" => json!([name(random, known)]),
                        _ => value(random),
                    };
                }
            }
            ("POST", "/v1/coflows".to_owned(), spec)
        }
    }
}

fn from_agent(random: &mut SplitMix, known: u64) -> FromAgent {
    let count = random.below(4);
    let keys =
        |random: &mut SplitMix| (0..count).map(|_| flow_name(random, known)).collect::<Vec<_>>();
    match random.below(12) {
        0 => FromAgent::Applied { epoch: name(random, 9), version: name(random, 99) },
        1 => FromAgent::Written(keys(random)),
        2 => FromAgent::Keeps((0..count).map(|_| name(random, known)).collect()),
        3 => {
            let of = |random: &mut SplitMix| {
                [Use::Moves, Use::Idle, Use::Closed][random.below(3) as usize]
            };
            let flows = keys(random).into_iter().map(|key| (key, of(random))).collect();
            let unopened = (0..count).map(|_| name(random, known)).collect();
            FromAgent::Uses(Uses { all: random.below(2) == 0, flows, unopened })
        }
        4 => FromAgent::Links(Links { sent: number(random), received: number(random) }),
        5 => {
            let codec = covey_proto::CodecName::ALL[0];
            let compressor = Compressor { codec, speed: number(random), ratio: number(random) };
            let share = number(random);
            FromAgent::Processor(Processor { share, compressors: vec![compressor] })
        }
        6 => FromAgent::Passed(
            (0..count)
                .map(|_| Passing { from: flow_name(random, known), to: flow_name(random, known) })
                .collect(),
        ),
        7 => {
            let side = if random.below(2) == 0 { Side::Sends } else { Side::Receives };
            let opening = |key| FlowOpening { key, side, bytes: 1e9 };
            FromAgent::Opened(keys(random).into_iter().map(as_key).map(opening).collect())
        }
        8 => FromAgent::Checked { refused: u64::MAX, unproven: name(random, 9) },
        9 | 10 => {
            let sent = |random: &mut SplitMix, key| Sent {
                key,
                bytes: number(random),
                wire: number(random),
            };
            FromAgent::Sent(keys(random).into_iter().map(|key| sent(random, key)).collect())
        }
        _ => {
            let end = |random: &mut SplitMix, key| Ended {
                key,
                bytes: number(random),
                wire: number(random),
            };
            FromAgent::Ended(keys(random).into_iter().map(|key| end(random, key)).collect())
        }
    }
}

fn from_app(random: &mut SplitMix, known: u64) -> FromApp {
    let names: Vec<FlowName> = (0..random.below(4)).map(|_| flow_name(random, known)).collect();
    let keys = || names.iter().copied().map(as_key).collect();
    let mut bytes = || number(random);
    match names.len() % 4 {
        0 => FromApp::Opened(keys()),
        1 => FromApp::Ended(
            names.into_iter().map(|key| Ended { key, bytes: bytes(), wire: bytes() }).collect(),
        ),
        2 => FromApp::Sent(
            names.into_iter().map(|key| Sent { key, bytes: bytes(), wire: bytes() }).collect(),
        ),
        _ => FromApp::Gone(keys()),
    }
}

/// Sends a message, now and then with some bytes that are others. Returns whether the connection
/// may go on.
async fn send(
    out: &mut (impl AsyncWrite + Unpin),
    message: &impl Message,
    random: &mut SplitMix,
) -> bool {
    let mut bytes = Vec::new();
    encode(message, &mut bytes);
    if random.below(30) == 0 {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
    }
    out.write_all(&bytes).await.is_ok()
}

/// A connection of an agent that has said hello. What it hears is dropped.
async fn joined(coordinator: &Coordinator, token: &[u8], port: u32) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(coordinator.agents).await.ok()?;
    let mut bytes = Vec::new();
    let hello = Hello { version: VERSION, port, holds: (0, 0), token: token.to_vec() };
    encode(&FromAgent::Hello(hello), &mut bytes);
    stream.write_all(&bytes).await.ok()?;
    Some(stream)
}

/// Reads what has come, and returns whether the other side is still there.
fn is_open(read: std::io::Result<usize>) -> bool {
    match read {
        Ok(count) => count > 0,
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}

/// What the coordinator has acknowledged.
#[derive(Default)]
struct Known(BTreeSet<u64>);

async fn ask(client: &mut Client, random: &mut SplitMix, known: &mut Known) {
    let next = known.0.last().map_or(1, |last| last + 1);
    let (method, path, body) = request(random, next);
    let Ok(answer) = client.ask(method, &path, &[], body.to_string()).await else { return };
    assert!(answer.status < 500, "{method} {path} {body}: {}", answer.json());
    if answer.status == 201 {
        known.0.insert(answer.json()["id"].as_u64().expect("an id"));
    }
}

#[test]
fn whatever_is_said_a_start_knows_all_that_was_acknowledged() {
    let folder = TestFolder::new();
    // So that the journal is compacted all the time, and nothing is forgotten.
    let more = ["--compact-above", "16KiB", "--max-gone", "1000000", "--max-expired", "1000000"];
    let mut coordinator = Coordinator::new(&folder, &more);
    let mut known = Known::default();
    let mut random = SplitMix::new(1);
    for _ in 0..STARTS {
        block_on(async {
            let token = token(&folder);
            let mut client = connect(coordinator.clients, &token).await.expect("a connection");
            let data = folder.path("data");
            let mut command = agent(&folder, &coordinator, "3", &data);
            let _agent = Killed(command.stderr(Stdio::null()).spawn().expect("covey agent"));
            let socket = data.join("agent.sock");
            until(10, "the agent listens", async || UnixStream::connect(&socket).await.is_ok())
                .await;
            let (mut agents, mut app) = ([None, None, None], None);
            for _ in 0..messages() / STARTS {
                let next = known.0.last().map_or(1, |last| last + 1);
                match random.below(10) {
                    0..=3 => ask(&mut client, &mut random, &mut known).await,
                    4..=7 => {
                        let port = random.below(3) as usize;
                        let stream: &mut Option<TcpStream> = &mut agents[port];
                        let is_there = stream
                            .as_mut()
                            .is_some_and(|stream| is_open(stream.try_read(&mut [0; 4096])));
                        if !is_there {
                            *stream = joined(&coordinator, &token, port as u32).await;
                        }
                        let message = from_agent(&mut random, next);
                        if let Some(out) = stream
                            && !send(out, &message, &mut random).await
                        {
                            *stream = None;
                        }
                    }
                    _ => {
                        let stream: &mut Option<UnixStream> = &mut app;
                        let is_there = stream
                            .as_mut()
                            .is_some_and(|stream| is_open(stream.try_read(&mut [0; 4096])));
                        if !is_there {
                            *stream = UnixStream::connect(&socket).await.ok();
                            if let Some(out) = stream {
                                send(out, &FromApp::Hello(LOCAL_VERSION), &mut random).await;
                            }
                        }
                        let message = from_app(&mut random, next);
                        if let Some(out) = stream
                            && !send(out, &message, &mut random).await
                        {
                            *stream = None;
                        }
                    }
                }
            }
            // What agents have said last is heard.
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert_eq!(client.get("/livez").await.expect("an answer").status, 200);
        });
        coordinator.process.kill().expect("a process");
        coordinator.process.wait().expect("a process");
        let verified = folder.covey(&["journal", "verify", "--data", "data"]);
        assert_eq!(verified.status, Some(0), "{}", verified.err);
        coordinator.restart(&folder, &more);
        block_on(async {
            let mut client = coordinator.client(&folder).await;
            for id in &known.0 {
                let answer = client.get(&format!("/v1/coflows/{id}")).await.expect("an answer");
                assert_eq!(answer.status, 200, "coflow {id}: {}", answer.json());
            }
        });
    }
    println!("{} messages, {} coflows", messages(), known.0.len());
    assert!(known.0.len() as u64 > messages() / 50);
}
