//! The process of one host: the application that sends and receives the replayed flows.
//!
//! It reads commands from standard input, one a line, and prints events:
//!
//! | input | output |
//! |---|---|
//! | | `ready ADDRESS`: it accepts flows, and an agent schedules those that it sends |
//! | `hosts ADDRESS…` | |
//! | `register COFLOW PARENT,…` (the coordinator's ids, or `-`) | `registered COFLOW NUMBER`, or `unregistered COFLOW NUMBER` while there is no coordinator |
//! | `deregister COFLOW NUMBER` | |
//! | `settle` | `settled`: the coordinator has acknowledged the ends of all flows from here |
//! | `start COFLOW NUMBER`: send this host's flows of the coflow | |
//! | | `ended COFLOW FLOW TIME`: all of a flow has arrived here, as it was sent |
//! | | `failed COFLOW FLOW WHY` |

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use covey_client::{
    Client, CoflowSpec, Flow, Incoming, Listener, Mode, Options, Scheduled, StreamSetup,
};
use covey_proto::{Direction, FlowHeader, FlowKey, HEADER};
use covey_trace::Workload;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::background;
use crate::error::TestbedError;
use crate::network::BACKGROUND;
use crate::pattern::Pattern;

/// A host.
#[derive(Debug, Clone)]
pub struct Host {
    /// The trace that is replayed, folded.
    pub trace: PathBuf,
    /// The host's port in the trace.
    pub host: u32,
    /// The address where it listens for flows.
    pub listen: SocketAddr,
    /// Compression ratio of the flows' bytes; 1 if they cannot be compressed.
    pub ratio: f64,
    /// The scheduler of its flows; `None` in a network without Covey.
    pub scheduling: Option<Scheduling>,
}

/// The scheduler of a host's flows.
#[derive(Debug, Clone)]
pub enum Scheduling {
    /// A coordinator.
    Coordinator {
        /// The agent's socket.
        agent: PathBuf,
        /// The coordinator's address for clients.
        coordinator: SocketAddr,
        /// The coordinator's credentials.
        credentials: PathBuf,
    },
    /// Nobody: receivers decide, as Stream's do.
    Receivers(StreamSetup),
}

/// Number of bytes that must have arrived before the kernel wakes a reader. It is large because
/// many hosts share a machine.
const WAKE_FOR: u32 = 64 << 10;

/// Nanoseconds on a clock that all processes of a machine share.
pub fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // If the reader of the output is gone, this process ends soon.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The state that all flows of the host share.
struct Shared {
    host: u32,
    workload: Workload,
    pattern: Pattern,
    /// `None` in a network without Covey.
    client: Option<Client>,
}

/// Runs a host until standard input ends.
///
/// # Errors
/// The host cannot listen, or cannot read the trace.
pub async fn host(config: Host) -> Result<(), TestbedError> {
    let workload = covey_trace::open(&config.trace.display().to_string())?;
    let options = config.scheduling.map(|scheduling| match scheduling {
        Scheduling::Coordinator { agent, coordinator, credentials } => Options {
            agent: Some(agent),
            coordinator: Some(coordinator.into()),
            credentials,
            hold_max: None,
            ..Options::default()
        },
        Scheduling::Receivers(setup) => Options { mode: Mode::Stream(setup), ..Options::default() },
    });
    let client = match options {
        None => None,
        Some(options) => Some(Client::start(options).await?),
    };
    let pattern = Pattern::new(config.ratio);
    let shared = Arc::new(Shared { host: config.host, workload, pattern, client });
    let address = match &shared.client {
        Some(client) => {
            let listener = client.listen(config.listen).await?;
            let address = listener.local_addr();
            tokio::spawn(receive(listener, shared.clone()));
            while !matches!(client.scheduled(), Scheduled::Yes | Scheduled::ByReceivers) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            address
        }
        None => {
            let listener = TcpListener::bind(config.listen).await?;
            let address = listener.local_addr()?;
            tokio::spawn(receive_plain(listener, shared.clone()));
            address
        }
    };
    let mut lines = lines();
    say(&format!("ready {address}"));
    let mut hosts: Arc<[SocketAddr]> = Arc::new([]);
    while let Some(line) = lines.recv().await {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |k: usize| words.get(k).and_then(|word| word.parse::<u64>().ok());
        match (words.first().copied(), number(1), number(2)) {
            (Some("hosts"), ..) => {
                hosts = words[1..].iter().filter_map(|word| word.parse().ok()).collect();
            }
            (Some("background"), Some(rate), _) => {
                let next = (config.host as usize + 1) % hosts.len().max(1);
                let to =
                    |host: usize| hosts.get(host).map(|at| SocketAddr::new(at.ip(), BACKGROUND));
                if let (Some(own), Some(to)) = (to(config.host as usize), to(next)) {
                    background::drop_all(own)?;
                    background::send(own.ip(), to, rate as f64)?;
                }
            }
            (Some("delays"), ..) => {
                let delays = shared.client.as_ref().map(Client::decision_delays);
                let delays = delays.unwrap_or_default().into_iter();
                let words: String = delays.map(|delay| format!(" {}", delay.as_nanos())).collect();
                say(&format!("delays{words}"));
            }
            (Some("register"), Some(coflow), _) => {
                let parents = words.get(2).map_or("", |word| *word).split(',');
                let parents = parents.filter_map(|id| id.parse().ok()).collect();
                tokio::spawn(register(shared.clone(), coflow as usize, parents));
            }
            (Some("deregister"), Some(_), Some(id)) => {
                tokio::spawn(deregister(shared.clone(), id));
            }
            (Some("settle"), ..) => {
                tokio::spawn(settle(shared.clone()));
            }
            (Some("start"), Some(coflow), Some(id)) => {
                start(&shared, &hosts, coflow as usize, id);
            }
            _ => say(&format!("failed 0 0 unknown command '{line}'")),
        }
    }
    Ok(())
}

/// The lines of standard input.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

async fn register(shared: Arc<Shared>, coflow: usize, parents: Vec<u64>) {
    let (Some(client), Some(it)) = (&shared.client, shared.workload.coflows.get(coflow)) else {
        return say(&format!("failed {coflow} 0 no such coflow, or no coordinator"));
    };
    let flow = |flow: &covey_trace::Flow| Flow::new(flow.src, flow.dst, Some(flow.bytes));
    let spec = CoflowSpec {
        name: Some(it.id.clone()),
        parents,
        weight: it.weight,
        deadline_s: it.deadline_s,
        compress: !it.compressible.off,
        ratio: it.compressible.ratio,
        ..CoflowSpec::of(it.flows.iter().map(flow).collect())
    };
    match client.register(&spec).await {
        Ok(registered)
            if registered.is_registered() || client.scheduled() == Scheduled::ByReceivers =>
        {
            say(&format!("registered {coflow} {}", registered.id()));
        }
        Ok(alone) => say(&format!("unregistered {coflow} {}", alone.id())),
        Err(error) => say(&format!("failed {coflow} 0 {error}")),
    }
}

/// Removes a coflow that has failed and will not end by itself.
async fn deregister(shared: Arc<Shared>, id: u64) {
    let Some(client) = &shared.client else { return };
    while client.join(id).deregister().await.is_err_and(|error| error.is_away()) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn settle(shared: Arc<Shared>) {
    while shared.client.as_ref().is_some_and(|client| client.unsettled() > 0) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    say("settled");
}

fn start(shared: &Arc<Shared>, hosts: &Arc<[SocketAddr]>, coflow: usize, id: u64) {
    let Some(it) = shared.workload.coflows.get(coflow) else { return };
    for (index, flow) in (0_u32..).zip(&it.flows).filter(|(_, flow)| flow.src == shared.host) {
        let Some(&to) = hosts.get(flow.dst as usize) else { continue };
        let (shared, bytes) = (shared.clone(), flow.bytes as u64);
        tokio::spawn(async move {
            let name = (coflow as u32, index);
            let sent = match &shared.client {
                Some(client) => send(&shared.pattern, client, id, name, bytes, to).await,
                None => send_plain(&shared.pattern, name, bytes, to).await,
            };
            if let Err(error) = sent {
                say(&format!("failed {coflow} {index} sending: {error}"));
            }
        });
    }
}

async fn send(
    pattern: &Pattern,
    client: &Client,
    id: u64,
    name: (u32, u32),
    bytes: u64,
    to: SocketAddr,
) -> std::io::Result<()> {
    let label = name.0.to_le_bytes();
    let mut flow = client.join(id).open(name.1, to, Some(bytes), &label).await?;
    pattern.send(name, bytes, &mut flow).await?;
    flow.finish().await
}

async fn receive(mut listener: Listener, shared: Arc<Shared>) {
    while let Ok(incoming) = listener.accept().await {
        let Incoming::Flow(mut flow) = incoming else { continue };
        let shared = shared.clone();
        tokio::spawn(async move {
            let Ok(coflow) = flow.label().try_into().map(u32::from_le_bytes) else { return };
            let name = (coflow, flow.flow());
            flow.wake_for(WAKE_FOR);
            let checked = shared.pattern.check(name, &mut flow).await;
            report_arrival(&shared, name, checked);
        });
    }
}

/// A flow without Covey: a connection, a header that names the flow, and its bytes.
async fn send_plain(
    pattern: &Pattern,
    name: (u32, u32),
    bytes: u64,
    to: SocketAddr,
) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    say(&format!("opened {} {} {}", name.0, name.1, stream.local_addr()?));
    let key = FlowKey { coflow: name.0.into(), flow: name.1 };
    let header = FlowHeader {
        key,
        direction: Direction::Pushed,
        bytes: Some(bytes),
        chunked: false,
        with_notes: false,
        label: Vec::new(),
    };
    let mut first = Vec::new();
    header.encode(&mut first);
    stream.write_all(&first).await?;
    pattern.send(name, bytes, &mut stream).await?;
    stream.shutdown().await?;
    // Waits until the other side has read everything: a socket that is closed with unread bytes is
    // reset.
    stream.read_to_end(&mut Vec::new()).await.map(|_| ())
}

async fn receive_plain(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let shared = shared.clone();
        tokio::spawn(async move {
            let mut fixed = [0; HEADER];
            let header = match stream.read_exact(&mut fixed).await {
                Ok(_) => FlowHeader::decode(&fixed).ok(),
                Err(_) => None,
            };
            let Some((header, _)) = header else { return };
            let name = (header.key.coflow as u32, header.key.flow);
            let checked = shared.pattern.check(name, &mut stream).await;
            report_arrival(&shared, name, checked);
        });
    }
}

/// Prints that a flow has arrived, or has failed.
fn report_arrival(shared: &Shared, (coflow, flow): (u32, u32), checked: std::io::Result<u64>) {
    let now = now_ns();
    let expected = shared.workload.coflows.get(coflow as usize);
    let expected = expected.and_then(|it| it.flows.get(flow as usize));
    let line = match (checked, expected) {
        (Ok(had), Some(flow_of)) if had as f64 == flow_of.bytes && flow_of.dst == shared.host => {
            format!("ended {coflow} {flow} {now}")
        }
        (Ok(had), Some(flow_of)) => {
            let (bytes, dst) = (flow_of.bytes, flow_of.dst);
            format!("failed {coflow} {flow} {had} bytes arrived, of {bytes} to host {dst}")
        }
        (Ok(_), None) => format!("failed {coflow} {flow} there is no such flow"),
        (Err(error), _) => format!("failed {coflow} {flow} receiving: {error}"),
    };
    say(&line);
}
