//! Loads a coordinator in another process and prints what that cost it, as lines of a Markdown table.
//! docs/live.md says what is measured; `make live-bench` runs it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use covey_agent::{Agent, Progress};
use covey_coordinator::{Client, read_token};
use covey_proto::{Decoder, Ended, FlowKey, Sent, ToAgent, encode};
use covey_trace::{Coflow, transform};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep_until, timeout};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Parser)]
struct Load {
    /// The program
    #[arg(long, default_value = "target/release/covey")]
    covey: PathBuf,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Replay the beginning of a trace, replicated across ports, with an agent for each port
    Trace {
        trace: PathBuf,
        #[arg(long, default_value = "philae")]
        policy: String,
        #[arg(long, default_value_t = 6)]
        replicate: u32,
        #[arg(long, default_value_t = 600.0)]
        seconds: f64,
        /// The scheduling interval δ, in milliseconds
        #[arg(long, default_value_t = 48)]
        interval_ms: u32,
    },
    /// Connect agents, and register coflows at a steady rate
    Agents {
        #[arg(long, default_value_t = 10_000)]
        agents: u32,
        #[arg(long, default_value_t = 100.0)]
        registrations_per_s: f64,
        #[arg(long, default_value_t = 60.0)]
        seconds: f64,
    },
    /// Register coflows as fast as clients can, and then at a steady rate
    Register {
        #[arg(long, default_value_t = 64)]
        clients: u64,
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        #[arg(long, default_value_t = 500.0)]
        steady_per_s: f64,
    },
}

/// The coordinator under load.
struct Coordinator {
    process: Child,
    clients: SocketAddr,
    agents: SocketAddr,
    token: Vec<u8>,
    /// With its journal; on the disk that the program is started on.
    _folder: tempfile::TempDir,
}

impl Coordinator {
    fn start(covey: &Path, arguments: &[&str]) -> Result<Coordinator> {
        let folder = tempfile::tempdir_in(".")?;
        let data = folder.path().join("data");
        let mut process = Command::new(covey)
            .args(["serve", "--log", "warn", "--clients", "127.0.0.1:0", "--agents", "127.0.0.1:0"])
            .arg("--data")
            .arg(&data)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()?;
        let out = process.stdout.take().ok_or("no output")?;
        let mut lines = BufReader::new(out).lines();
        let mut address = |name: &str| -> Result<SocketAddr> {
            let line = lines.next().ok_or("the coordinator has not started")??;
            Ok(line.trim_start_matches(name).trim().parse()?)
        };
        let (clients, agents) = (address("clients")?, address("agents")?);
        let token = read_token(&data.join("token"))?;
        Ok(Coordinator { process, clients, agents, token, _folder: folder })
    }

    async fn client(&self) -> Result<Client> {
        Ok(Client::connect(self.clients, &self.token, None).await?)
    }

    /// Resident memory in KiB.
    fn resident_kib(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?;
        Ok(number.parse()?)
    }

    /// User and system CPU of the whole process, in seconds.
    fn cpu_s(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let fields = stat.rsplit_once(')').ok_or("no stat")?.1;
        let ticks = |k: usize| fields.split_whitespace().nth(k).and_then(|f| f.parse::<f64>().ok());
        let ticks = ticks(11).zip(ticks(12)).ok_or("no ticks")?;
        // A tick is 10 ms wherever Linux runs today.
        Ok((ticks.0 + ticks.1) / 100.0)
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What /metrics says, by name with labels.
struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    async fn of(client: &mut Client) -> Result<Metrics> {
        let text = String::from_utf8(client.get("/metrics").await?.body)?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| line.rsplit_once(' '));
        Ok(Metrics(pairs.filter_map(|(k, v)| Some((k.to_owned(), v.parse().ok()?))).collect()))
    }

    fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    /// The upper end, in milliseconds, of the bucket in which a quantile falls.
    fn quantile_ms(&self, name: &str, quantile: f64) -> f64 {
        let goal = quantile * self.get(&format!("{name}_count"));
        let prefix = format!("{name}_bucket{{le=\"");
        let ends = self.0.iter().filter_map(|(key, count)| {
            let end = key.strip_prefix(&prefix)?.strip_suffix("\"}")?;
            Some((end.parse::<f64>().ok()?, *count))
        });
        let reach = ends.filter(|(_, count)| *count >= goal).map(|(end, _)| end);
        1e3 * reach.fold(f64::INFINITY, f64::min)
    }

    /// Mean and standard deviation by interval, in milliseconds.
    fn by_interval(&self, part: &str) -> (f64, f64) {
        let count = self.get("covey_intervals_total");
        let of =
            |name: &str| self.get(&format!("covey_interval_cpu_seconds_{name}{{part=\"{part}\"}}"));
        let mean = of("sum") / count;
        (1e3 * mean, 1e3 * (of("squares") / count - mean * mean).max(0.0).sqrt())
    }
}

/// What a simulated host knows of its flows.
type Sizes = Arc<Vec<Coflow>>;

/// A flow that the host is sending.
struct Sending {
    sent: f64,
    rate: f64,
}

/// The agent of a host that is simulated: it sends as it is told, flows of the sizes in the trace.
async fn host(
    coordinator: SocketAddr,
    token: Vec<u8>,
    port: u32,
    sizes: Sizes,
    begin: Instant,
) -> Result<()> {
    let mut stream = TcpStream::connect(coordinator).await?;
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = stream.split();
    let mut agent = Agent::new(port, token);
    let mut decoder = Decoder::default();
    let mut buffer = [0; 4096];
    let mut sending: BTreeMap<FlowKey, Sending> = BTreeMap::new();
    let size = |key: &FlowKey| {
        let coflow = sizes.get(key.coflow as usize);
        coflow.and_then(|c| c.flows.get(key.flow as usize)).map_or(f64::INFINITY, |f| f.bytes)
    };
    let mut at = Instant::now();
    let mut next = at;
    let mut out = vec![agent.hello()];
    loop {
        if !out.is_empty() {
            let mut bytes = Vec::new();
            out.drain(..).for_each(|message| encode(&message, &mut bytes));
            writer.write_all(&bytes).await?;
        }
        let due = tokio::select! {
            count = reader.read(&mut buffer) => {
                let count = count?;
                if count == 0 {
                    return Ok(());
                }
                decoder.push(&buffer[..count]);
                false
            }
            () = sleep_until(next.into()) => true,
        };
        let now = Instant::now();
        let dt = (now - std::mem::replace(&mut at, now)).as_secs_f64();
        let mut progress = Progress::default();
        for (&key, flow) in &mut sending {
            flow.sent += flow.rate * dt;
            let size = size(&key);
            // Timers are a little late, never early: what is missing is rounding.
            if flow.sent >= size * (1.0 - 1e-9) {
                progress.ended.push(Ended { key, bytes: size });
            } else if flow.rate > 0.0 {
                progress.sent.push(Sent { key, bytes: flow.sent });
            }
        }
        for ended in &progress.ended {
            sending.remove(&ended.key);
        }
        agent.happened(&progress, begin.elapsed().as_secs_f64(), &mut out);
        while let Some(message) = decoder.take::<ToAgent>()? {
            agent.heard(message, &mut out).map_err(|refusal| format!("{refusal:?}"))?;
        }
        sending.values_mut().for_each(|flow| flow.rate = 0.0);
        for (&key, share) in agent.flows() {
            sending.entry(key).or_insert(Sending { sent: 0.0, rate: 0.0 }).rate = share.rate;
        }
        let welcome = agent.welcome();
        let heartbeat_s = welcome.map_or(1.0, |w| w.heartbeat_s);
        let report_s = welcome.map_or(0.0, |w| w.report_every_s);
        let ends = sending.iter().filter(|(_, flow)| flow.rate > 0.0);
        let mut wait_s =
            ends.map(|(key, flow)| (size(key) - flow.sent) / flow.rate).fold(heartbeat_s, f64::min);
        if report_s > 0.0 && !agent.flows().is_empty() {
            wait_s = wait_s.min(report_s);
        }
        if due && out.is_empty() {
            out.push(covey_proto::FromAgent::Alive);
        }
        next = now + Duration::from_secs_f64(wait_s.max(0.0));
    }
}

/// How long it may take until all agents have joined.
const JOINING: Duration = Duration::from_secs(60);

/// Starts hosts, and waits until all have joined.
async fn start_hosts(
    coordinator: &Coordinator,
    ports: u32,
    sizes: &Sizes,
    failed: &Arc<AtomicU64>,
) -> Result<()> {
    let begin = Instant::now();
    for port in 0..ports {
        let (address, token) = (coordinator.agents, coordinator.token.clone());
        let (sizes, failed) = (sizes.clone(), failed.clone());
        tokio::spawn(async move {
            // All come at once, and not all find a place in the queue of new connections.
            let mut result = host(address, token.clone(), port, sizes.clone(), begin).await;
            while result.is_err() && begin.elapsed() < JOINING {
                tokio::time::sleep(Duration::from_millis(200)).await;
                result = host(address, token.clone(), port, sizes.clone(), begin).await;
            }
            if let Err(error) = result {
                failed.fetch_add(1, Ordering::Relaxed);
                eprintln!("agent {port}: {error}");
            }
        });
        if port % 100 == 99 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let mut client = coordinator.client().await?;
    loop {
        let joined = Metrics::of(&mut client).await?.get("covey_agents");
        if joined >= f64::from(ports) {
            return Ok(());
        }
        if begin.elapsed() > JOINING {
            return Err(format!("only {joined} agents have joined").into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn spec_of(coflow: &Coflow) -> String {
    let flows: Vec<_> = coflow
        .flows
        .iter()
        .map(|f| json!({"src": f.src, "dst": f.dst, "bytes": f.bytes}))
        .collect();
    json!({ "flows": flows }).to_string()
}

async fn register(client: &mut Client, body: String) -> Result<()> {
    let answer = client.ask("POST", "/v1/coflows", &[], body).await?;
    if answer.status == 201 {
        return Ok(());
    }
    Err(format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body)).into())
}

async fn trace(
    covey: &Path,
    path: &Path,
    policy: &str,
    replicate: u32,
    seconds: f64,
    interval_ms: u32,
) -> Result<()> {
    let workload = transform::replicate(&covey_trace::read_path(path)?, replicate)?;
    let mut coflows = workload.coflows;
    coflows.retain(|coflow| coflow.arrival_s < seconds);
    coflows.sort_by(|a, b| a.arrival_s.total_cmp(&b.arrival_s));
    let (ports, interval) = (workload.ports.to_string(), format!("{interval_ms}ms"));
    let coordinator = Coordinator::start(
        covey,
        &[
            "--policy",
            policy,
            "--ports",
            &ports,
            "--interval",
            &interval,
            "--report-every",
            &interval,
        ],
    )?;
    let sizes: Sizes = Arc::new(coflows);
    let failed = Arc::new(AtomicU64::new(0));
    start_hosts(&coordinator, workload.ports, &sizes, &failed).await?;
    let mut client = coordinator.client().await?;
    let (begin, cpu_s) = (Instant::now(), coordinator.cpu_s()?);
    // One after the other, so that the k-th of the trace gets the number k.
    for coflow in sizes.iter() {
        tokio::time::sleep_until((begin + Duration::from_secs_f64(coflow.arrival_s)).into()).await;
        register(&mut client, spec_of(coflow)).await?;
    }
    tokio::time::sleep_until((begin + Duration::from_secs_f64(seconds)).into()).await;
    let metrics = Metrics::of(&mut client).await?;
    let intervals = metrics.get("covey_intervals_total");
    let each = |part| {
        let (mean, deviation) = metrics.by_interval(part);
        format!("{mean:.2} ({deviation:.2})")
    };
    let share = |name: &str| 100.0 * metrics.get(name) / intervals;
    let per_interval = |name: &str| metrics.get(name) / intervals;
    println!(
        "| {policy} | {} | {} | {} | {} | {:.1} | {:.1} % | {:.1} % | {} | {} | {:.1} | {} |",
        each("calculate"),
        each("send"),
        each("receive"),
        each("all"),
        per_interval("covey_messages_ended_total") + per_interval("covey_messages_sent_total"),
        share("covey_intervals_missed_total"),
        share("covey_intervals_without_flush_total"),
        metrics.quantile_ms("covey_decide_cpu_seconds", 0.99),
        metrics.quantile_ms("covey_push_cpu_seconds", 0.99),
        100.0 * (coordinator.cpu_s()? - cpu_s) / begin.elapsed().as_secs_f64(),
        failed.load(Ordering::Relaxed),
    );
    Ok(())
}

async fn agents(covey: &Path, agents: u32, per_s: f64, seconds: f64) -> Result<()> {
    let ports = agents.to_string();
    let coordinator = Coordinator::start(
        covey,
        &["--policy", "philae", "--ports", &ports, "--max-agents", &ports],
    )?;
    let mut client = coordinator.client().await?;
    let before_kib = coordinator.resident_kib()?;
    // Coflows of 27 flows, each from a host of its own.
    let count = (per_s * seconds) as u32;
    let flow = |k: u32, f: u32| covey_trace::Flow {
        src: (k * 31 + f * 997) % agents,
        dst: (k * 57 + f * 613 + 1) % agents,
        bytes: 1e6,
        start_s: 0.0,
    };
    let coflow = |k: u32| Coflow::new(k.to_string(), 0.0, (0..27).map(|f| flow(k, f)).collect());
    let sizes: Sizes = Arc::new((0..count).map(coflow).collect());
    let failed = Arc::new(AtomicU64::new(0));
    start_hosts(&coordinator, agents, &sizes, &failed).await?;
    let joined_kib = coordinator.resident_kib()?;
    let (begin, cpu_s) = (Instant::now(), coordinator.cpu_s()?);
    for (k, coflow) in sizes.iter().enumerate() {
        tokio::time::sleep_until((begin + Duration::from_secs_f64(k as f64 / per_s)).into()).await;
        register(&mut client, spec_of(coflow)).await?;
    }
    let metrics = Metrics::of(&mut client).await?;
    println!(
        "| {agents} | {:.1} KiB | {:.1} KiB | {} | {} | {} | {:.1} | {:.0} s |",
        (joined_kib - before_kib) / f64::from(agents),
        (coordinator.resident_kib()? - before_kib) / f64::from(agents),
        failed.load(Ordering::Relaxed),
        metrics.quantile_ms("covey_decide_cpu_seconds", 0.99),
        metrics.quantile_ms("covey_push_cpu_seconds", 0.99),
        100.0 * (coordinator.cpu_s()? - cpu_s) / begin.elapsed().as_secs_f64(),
        begin.elapsed().as_secs_f64(),
    );
    Ok(())
}

async fn registrations(covey: &Path, clients: u64, seconds: f64, steady: f64) -> Result<()> {
    let most = ["--max-coflows", "1000000", "--max-requests", "1000000", "--policy", "philae"];
    // A flow without bytes ends at once: it is the way to the disk that is measured, not a policy with
    // more coflows every second.
    let body = json!({"flows": [{"src": 0, "dst": 1, "bytes": 0}]}).to_string();
    let coordinator = Coordinator::start(covey, &most)?;
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let mut tasks = Vec::new();
    for _ in 0..clients {
        let (mut client, body) = (coordinator.client().await?, body.clone());
        tasks.push(tokio::spawn(async move {
            let mut count = 0_u64;
            while Instant::now() < until {
                register(&mut client, body.clone()).await?;
                count += 1;
            }
            Result::Ok(count)
        }));
    }
    let mut total = 0;
    for task in tasks {
        total += task.await??;
    }
    drop(coordinator);

    let coordinator = Coordinator::start(covey, &most)?;
    let begin = Instant::now();
    let mut pool = Vec::new();
    for _ in 0..clients {
        pool.push(coordinator.client().await?);
    }
    let pool = Arc::new(tokio::sync::Mutex::new(pool));
    let mut tasks = Vec::new();
    for k in 0..(steady * seconds) as u64 {
        tokio::time::sleep_until((begin + Duration::from_secs_f64(k as f64 / steady)).into()).await;
        let (pool, body, asked) = (pool.clone(), body.clone(), Instant::now());
        tasks.push(tokio::spawn(async move {
            let mut client = loop {
                if let Some(client) = pool.lock().await.pop() {
                    break client;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            };
            timeout(Duration::from_secs(10), register(&mut client, body)).await??;
            pool.lock().await.push(client);
            Result::Ok(asked.elapsed().as_secs_f64())
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.push(task.await??);
    }
    times.sort_by(f64::total_cmp);
    let at = |q: f64| 1e3 * times[((times.len() - 1) as f64 * q) as usize];
    println!(
        "| {clients} | {:.0} /s | {steady} /s | {:.1} ms | {:.1} ms |",
        total as f64 / seconds,
        at(0.5),
        at(0.99)
    );
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let Load { covey, what } = Load::parse();
    match what {
        What::Trace { trace: path, policy, replicate, seconds, interval_ms } => {
            trace(&covey, &path, &policy, replicate, seconds, interval_ms).await
        }
        What::Agents { agents: count, registrations_per_s, seconds } => {
            agents(&covey, count, registrations_per_s, seconds).await
        }
        What::Register { clients, seconds, steady_per_s } => {
            registrations(&covey, clients, seconds, steady_per_s).await
        }
    }
}
