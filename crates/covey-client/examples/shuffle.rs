//! A shuffle whose flows Covey schedules. docs/quickstart-live.md shows its use.
//!
//!     shuffle receive 127.0.0.1:9000
//!     shuffle send 127.0.0.1:9000 --name report --megabytes 200
//!
//! The receiver takes flows of any coflow until it is stopped, and prints the checksum of each. The
//! sender is the driver of an application: it registers a coflow of a few flows from its host to
//! the receiver's, sends them, and waits for its end.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use covey_client::{
    Client, Coflow, CoflowSpec, Flow, FlowReceiver, Incoming, Mode, Options, Scheduled, TlsFiles,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "usage: shuffle receive ADDRESS [--mode coordinator|stream[:key=value,…]] [--tls FOLDER]
       shuffle send ADDRESS [--name shuffle] [--megabytes 100] [--flows 2] [--to-port 1]
               [--mode coordinator|stream[:key=value,…]] [--tls FOLDER]
               [--agent covey-data/agent.sock] [--coordinator 127.0.0.1:7420] [--credentials covey-data]";

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shuffle: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let (Some(command), Some(address)) = (words.next(), words.next()) else {
        return Err(USAGE.into());
    };
    let mut options = BTreeMap::new();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").ok_or(USAGE)?.to_owned();
        options.insert(name, words.next().ok_or(USAGE)?);
    }
    match command.as_str() {
        "receive" => receive(&address, &options).await,
        "send" => send(&address, &options).await,
        _ => Err(USAGE.into()),
    }
}

/// Reads flows as they come, each in a task of its own.
async fn receive(address: &str, given: &BTreeMap<String, String>) -> Result<()> {
    // A receiver needs neither agent nor coordinator: flows are scheduled where they are sent. In
    // mode stream it decides itself.
    let options = Options {
        mode: mode(given)?,
        tls: tls(given),
        agent: None,
        coordinator: None,
        ..Options::default()
    };
    let client = Client::start(options).await?;
    let mut listener = client.listen(address).await?;
    println!("listening at {}", listener.local_addr());
    loop {
        if let Incoming::Flow(flow) = listener.accept().await? {
            tokio::spawn(async move {
                if let Err(error) = read(flow).await {
                    eprintln!("{error}");
                }
            });
        }
    }
}

fn mode(given: &BTreeMap<String, String>) -> Result<Mode> {
    let text = given.get("mode").map_or("coordinator", String::as_str);
    match text.split_once(':').unwrap_or((text, "")) {
        ("coordinator", "") => Ok(Mode::Coordinator),
        ("stream", settings) => Ok(Mode::Stream(covey_sched::stream::settings(settings)?)),
        _ => {
            Err(format!("mode: expected coordinator, stream or stream:key=value,…, found '{text}'")
                .into())
        }
    }
}

/// The certificates in a folder like that of an agent.
fn tls(given: &BTreeMap<String, String>) -> Option<TlsFiles> {
    given.get("tls").map(|folder| TlsFiles::of_agent(Path::new(folder)))
}

/// Reads a flow to its end.
async fn read(mut flow: FlowReceiver) -> Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let (mut got, mut crc) = (0, crc32fast::Hasher::new());
    loop {
        match flow.read(&mut buffer).await? {
            0 => break,
            count => {
                crc.update(&buffer[..count]);
                got += count;
            }
        }
    }
    let (number, coflow, crc) = (flow.flow(), flow.coflow(), crc.finalize());
    println!("flow {number} of coflow {coflow}: {got} bytes, crc {crc:08x}");
    Ok(())
}

/// Bytes of a piece of a flow.
const PIECE: usize = 1 << 16;

/// A piece of a flow's bytes. No other flow has the same piece, and no other position of the flow.
fn piece(coflow: u64, flow: u32, number: u64) -> Vec<u8> {
    let name = coflow.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mark = name.wrapping_add(u64::from(flow).wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
    let mark = mark.wrapping_add(number);
    (0..PIECE as u64 / 8).flat_map(|word| (word ^ mark).to_le_bytes()).collect()
}

/// Registers a coflow, sends its flows side by side, and waits for its end.
async fn send(address: &str, given: &BTreeMap<String, String>) -> Result<()> {
    let text = |name, default: &str| given.get(name).map_or(default, String::as_str).to_owned();
    let number = |name, default: u32| given.get(name).map_or(Ok(default), |text| text.parse());
    let name = text("name", "shuffle");
    let count = number("flows", 2)?;
    let size = u64::from(number("megabytes", 100)?) * 1_000_000 / u64::from(count);
    let client = Client::start(Options {
        mode: mode(given)?,
        tls: tls(given),
        agent: Some(PathBuf::from(text("agent", "covey-data/agent.sock"))),
        coordinator: Some(text("coordinator", "127.0.0.1:7420").parse()?),
        credentials: PathBuf::from(text("credentials", "covey-data")),
        ..Options::default()
    })
    .await?;

    // The agent knows which port of the fabric this host is.
    let src = client.port().unwrap_or_default();
    let flow = Flow::new(src, number("to-port", 1)?, Some(size as f64));
    let flows = vec![flow; count as usize];
    let spec = CoflowSpec { name: Some(name.clone()), ..CoflowSpec::of(flows) };
    let coflow = client.register(&spec).await?;
    let scheduled = client.scheduled();
    match coflow.is_registered() {
        true => println!("{name}: coflow {}, scheduled: {scheduled}", coflow.id()),
        false if scheduled == Scheduled::ByReceivers => println!("{name}: scheduled: {scheduled}"),
        false => println!("{name}: not registered, scheduled: no"),
    }
    let mut sending = JoinSet::new();
    for place in 0..count {
        sending.spawn(send_flow(coflow.clone(), place, address.to_owned(), size));
    }
    while let Some(sent) = sending.join_next().await {
        if let Err(error) = sent? {
            // A coflow that will not be sent must not hold up others.
            coflow.deregister().await?;
            return Err(error);
        }
    }
    // The coordinator never hears of the ends of unscheduled flows.
    if client.scheduled() == Scheduled::Yes {
        match coflow.ended().await {
            Ok(None) => {}
            Ok(Some(status)) => match status.cct_s() {
                Some(cct_s) => println!("{name}: ended after {cct_s:.3} s"),
                None => println!("{name}: {:?}", status.state),
            },
            // All bytes have arrived, even if the coordinator is gone.
            Err(error) => println!("{name}: ended; {error}"),
        }
    }
    // If the program exited before the coordinator knew of the ends, the coflow would not end.
    client.settled().await;
    Ok(())
}

/// Sends one flow of so many bytes.
async fn send_flow(coflow: Coflow, place: u32, to: String, size: u64) -> Result<()> {
    let mut flow = coflow.open(place, to, Some(size), b"").await?;
    for (number, from) in (0..).zip((0..size).step_by(PIECE)) {
        let count = (size - from).min(PIECE as u64) as usize;
        flow.write_all(&piece(coflow.id(), place, number)[..count]).await?;
    }
    flow.finish().await?;
    Ok(())
}
