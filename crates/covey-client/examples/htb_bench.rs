//! Measures docs/measurements/client-library.md, rates kept by HTB and priorities by DSCP: flows of
//! the library from one network namespace to another. `make measure WHAT=htb` makes these, and runs
//! it.
//!
//!     htb_bench sink ADDRESS
//!     htb_bench rates DEVICE ADDRESS COMMAND-OF-THE-SINK…
//!     htb_bench marks ADDRESS COMMAND-OF-THE-SINK…

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use covey_agent::{CoordinatorEvent, Ends, Enforcer, Htb, Local, Tree};
use covey_client::{Client, FlowReceiver, FlowSender, Incoming, Options};
use covey_proto::{FlowKey, Means, Service};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const EVERY: Duration = Duration::from_millis(20);
/// A coflow that no coordinator knows.
const UNREGISTERED: u64 = 1 << 63;
/// Speed of the link in bytes per second.
const LINK: f64 = 1e9 / 8.0;
/// The time over which arrivals are summed to find a change of rate.
const WINDOW_S: f64 = 0.005;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["sink", address] => sink(address).await,
        ["rates", device, address, sink @ ..] => {
            let mut sink = Sink::start(sink)?;
            rates(device, address, &mut sink).await?;
            changes(device)
        }
        ["marks", address, sink @ ..] => marks(address, &mut Sink::start(sink)?).await,
        _ => Err("see the beginning of the source".into()),
    }
}

/// Seconds on a clock that all processes share.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

async fn client(agent: Option<std::path::PathBuf>) -> Result<Client, Failure> {
    let options = Options { agent, coordinator: None, hold_max: None, ..Options::default() };
    Ok(Client::start(options).await?)
}

/// Reads flows and prints what arrived: for each flow a line for each millisecond with bytes.
async fn sink(address: &str) -> Result<(), Failure> {
    let client = client(None).await?;
    let mut listener = client.listen(address).await?;
    println!("listening");
    loop {
        if let Incoming::Flow(flow) = listener.accept().await? {
            tokio::spawn(async move {
                if let Err(error) = record(flow).await {
                    eprintln!("{error}");
                }
            });
        }
    }
}

async fn record(mut flow: FlowReceiver) -> Result<(), Failure> {
    let mut came = BTreeMap::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = flow.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        *came.entry((now() * 1e3) as u64).or_insert(0) += count;
    }
    let mut out = std::io::stdout().lock();
    for (at_ms, count) in came {
        writeln!(out, "{} {at_ms} {count}", flow.flow())?;
    }
    writeln!(out, "end")?;
    Ok(out.flush()?)
}

/// The process that receives.
struct Sink {
    process: Child,
    lines: Receiver<String>,
}

/// Arrivals of a flow: the end of each millisecond in seconds, and its bytes.
type Came = BTreeMap<u32, Vec<(f64, f64)>>;

impl Sink {
    fn start(command: &[&str]) -> Result<Sink, Failure> {
        let (program, words) = command.split_first().ok_or("no command of the sink")?;
        let mut process = Command::new(program).args(words).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(process.stdout.take().ok_or("no output")?);
        // Output is read at once: a sink that waited for room in its pipe would receive nothing
        // meanwhile.
        let (to, lines) = channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| to.send(line))
        });
        lines.recv()?;
        Ok(Sink { process, lines })
    }

    /// Arrivals of `count` flows that have ended.
    fn came(&mut self, flows: usize) -> Result<Came, Failure> {
        let mut came = Came::new();
        let mut ended = 0;
        while ended < flows {
            let line = self.lines.recv()?;
            let Ok([flow, at_ms, count]) =
                <[&str; 3]>::try_from(line.split(' ').collect::<Vec<_>>())
            else {
                ended += 1;
                continue;
            };
            let at_s = (at_ms.parse::<f64>()? + 1.0) / 1e3;
            came.entry(flow.parse()?).or_default().push((at_s, count.parse()?));
        }
        Ok(came)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Bytes between two times.
fn between(came: &[(f64, f64)], from: f64, to: f64) -> f64 {
    came.iter().filter(|(at, _)| *at > from && *at <= to).map(|(_, count)| count).sum()
}

/// Seconds from `from` until the rate is nearly `rate`.
fn shows(came: &[(f64, f64)], from: f64, rate: f64) -> Option<f64> {
    let late = came.iter().filter(|(at, _)| *at > from).map(|(at, _)| *at);
    late.take_while(|at| *at < from + 1.0)
        .find(|at| between(came, (at - WINDOW_S).max(from), *at) >= 0.9 * rate * WINDOW_S)
        .map(|at| at - from)
}

fn quantiles(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[values.len() - 1])
}

fn key(flow: u32) -> FlowKey {
    FlowKey { coflow: 1, flow }
}

/// Sends until `stop` is set.
async fn send(mut flow: FlowSender, stop: Arc<AtomicBool>) -> std::io::Result<()> {
    let piece = vec![0; 64 << 10];
    while !stop.load(Ordering::Relaxed) {
        flow.write_all(&piece).await?;
    }
    flow.finish().await
}

/// Flows that send, under an enforcer.
struct Flows {
    stop: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<std::io::Result<()>>>,
}

impl Flows {
    async fn open(client: &Client, address: &str, count: u32) -> Result<Flows, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::new();
        for flow in 0..count {
            let flow = client.join(1).open(flow, address, None, b"").await?;
            tasks.push(tokio::spawn(send(flow, stop.clone())));
        }
        // By then the agent has heard of them.
        tokio::time::sleep(EVERY).await;
        Ok(Flows { stop, tasks })
    }

    async fn end(self) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await??;
        }
        Ok(())
    }
}

fn schedule(to: &mut dyn Enforcer, version: u64, services: &[Service]) -> std::io::Result<()> {
    let flows =
        services.iter().zip(0..).map(|(service, flow)| (key(flow).into(), *service)).collect();
    to.apply((1, version), &flows)
}

async fn rates(device: &str, address: &str, sink: &mut Sink) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("agent.sock");
    let local = Local::listen(&socket, 0, Means::Shaping, EVERY).await?;
    let mut htb = local.with_shaper(Box::new(Htb::new(Tree::make(device, LINK)?)));
    htb.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    let client = client(Some(socket)).await?;
    let mut version = 0;
    let mut set = |htb: &mut Local, mbps: f64| -> std::io::Result<()> {
        version += 1;
        // In place of the session, which asks for progress when a flow is opened.
        htb.progress();
        schedule(htb, version, &[Service { layer: 0, rate: mbps * 1e6 / 8.0, codec: None }])
    };

    println!("| scheduled, Mbit/s | received, Mbit/s | error |\n|--:|--:|--:|");
    for mbps in [10.0, 100.0, 500.0] {
        let flows = Flows::open(&client, address, 1).await?;
        set(&mut htb, mbps)?;
        let begin = now() + 1.0;
        tokio::time::sleep(Duration::from_secs(6)).await;
        let end = now();
        set(&mut htb, 500.0)?;
        flows.end().await?;
        let came = between(&sink.came(1)?[&0], begin, end) * 8.0 / 1e6 / (end - begin);
        println!("| {mbps} | {came:.2} | {:+.2} % |", (came / mbps - 1.0) * 100.0);
    }

    // Beside an unscheduled flow, which takes as much as it can.
    let flows = Flows::open(&client, address, 1).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let other = client.join(UNREGISTERED).open(1, address, None, b"").await?;
    let other = tokio::spawn(send(other, stop.clone()));
    set(&mut htb, 500.0)?;
    let begin = now() + 1.0;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let end = now();
    stop.store(true, Ordering::Relaxed);
    other.await??;
    flows.end().await?;
    let came = sink.came(2)?;
    let [one, other] =
        [0, 1].map(|flow| between(&came[&flow], begin, end) * 8.0 / 1e6 / (end - begin));
    println!(
        "| 500, beside one that nobody schedules ({other:.0}) | {one:.2} | {:+.2} % |",
        one / 5.0 - 100.0
    );

    let flows = Flows::open(&client, address, 1).await?;
    let mut at = [Vec::new(), Vec::new()];
    let rates = [40.0, 160.0];
    for _ in 0..40 {
        for (at, mbps) in at.iter_mut().zip(rates) {
            at.push(now());
            set(&mut htb, mbps)?;
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
    flows.end().await?;
    let came = &sink.came(1)?[&0];
    println!("\n| after a schedule | median, ms | most, ms |\n|---|--:|--:|");
    let raised = at[1].iter().filter_map(|at| shows(came, *at, rates[1] * 1e6 / 8.0));
    let (median, most) = quantiles(raised.map(|s| s * 1e3).collect());
    println!("| a rate that was raised (40 to 160 Mbit/s) shows | {median:.1} | {most:.1} |");
    // Bytes beyond the new rate, as time at the old rate.
    let lowered = at[0].iter().map(|at| {
        let excess = between(came, *at, at + 0.2) * 8.0 / 1e6 - rates[0] * 0.2;
        excess.max(0.0) / (rates[1] - rates[0])
    });
    let (median, most) = quantiles(lowered.map(|s| s * 1e3).collect());
    println!("| a rate that was lowered (160 to 40 Mbit/s) goes on | {median:.1} | {most:.1} |");
    Ok(())
}

/// User and system time of this process, in seconds.
fn cpu_s() -> f64 {
    let it = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    it.tv_sec as f64 + it.tv_nsec as f64 / 1e9
}

/// The cost of a thousand changes.
fn changes(device: &str) -> Result<(), Failure> {
    let mut tree = Tree::make(device, LINK)?;
    let ends = |flow: u32| -> Result<Ends, Failure> {
        let from = format!("10.9.0.1:{}", 10_000 + flow).parse()?;
        Ok(Ends { from, to: "10.9.0.2:9000".parse()? })
    };
    let mut rows: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for round in 0..20 {
        let mut step = |name, tree: &mut Tree| -> std::io::Result<()> {
            let (begin, cpu) = (Instant::now(), cpu_s());
            tree.commit()?;
            let took = (begin.elapsed().as_secs_f64() * 1e3, (cpu_s() - cpu) * 1e3);
            rows.entry(name).or_default().push(took);
            Ok(())
        };
        for (name, rate) in [("1,000 flows opened", 1e5), ("1,000 rates changed", 2e5)] {
            for flow in 0..1000 {
                let service = Service { layer: 0, rate: rate + f64::from(round), codec: None };
                tree.set(key(flow).into(), ends(flow)?, service);
            }
            step(name, &mut tree)?;
        }
        tree.set(key(0).into(), ends(0)?, Service { layer: 0, rate: 3e5, codec: None });
        step("1 rate changed", &mut tree)?;
        (0..1000).for_each(|flow| tree.remove(key(flow).into()));
        step("1,000 flows ended", &mut tree)?;
    }
    println!("\n| in one batch | median, ms | most, ms | CPU, median, ms |\n|---|--:|--:|--:|");
    for (name, took) in rows {
        let (median, most) = quantiles(took.iter().map(|(wall, _)| *wall).collect());
        let (cpu, _) = quantiles(took.iter().map(|(_, cpu)| *cpu).collect());
        println!("| {name} | {median:.2} | {most:.2} | {cpu:.2} |");
    }
    Ok(())
}

/// Two marked flows over a link with classes. They swap their priorities.
async fn marks(address: &str, sink: &mut Sink) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("agent.sock");
    let mut local = Local::listen(&socket, 0, Means::Marks, EVERY).await?;
    local.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    let client = client(Some(socket)).await?;
    let flows = Flows::open(&client, address, 2).await?;
    let mut at = Vec::new();
    let (high, low) = (
        Service { layer: 0, rate: 1.0, codec: None },
        Service { layer: 5, rate: 1.0, codec: None },
    );
    let turns = 40;
    for turn in 0..turns {
        let services = if turn % 2 == 0 { [high, low] } else { [low, high] };
        at.push(now());
        schedule(&mut local, turn + 1, &services)?;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    at.push(now());
    flows.end().await?;
    let came = sink.came(2)?;
    let (mut taken, mut parts) = (Vec::new(), Vec::new());
    for (turn, span) in at.windows(2).enumerate().skip(1) {
        let high = &came[&(turn as u32 % 2)];
        taken.extend(shows(high, span[0], 90e6 / 8.0).map(|s| s * 1e3));
        let held = between(high, span[0] + 0.1, span[1]) * 8.0 / 1e6;
        parts.push(held / (span[1] - span[0] - 0.1));
    }
    let shown = taken.len();
    let (median, most) = quantiles(taken);
    println!(
        "the high class has 0.9 of 90 Mbit/s after {median:.1} ms, at most {most:.1} ({shown} times)"
    );
    let (median, _) = quantiles(parts.clone());
    let least = parts.into_iter().fold(f64::INFINITY, f64::min);
    println!("from 100 ms on it has {median:.1} of 100 Mbit/s, at least {least:.1}");
    Ok(())
}
