//! Loads a coordinator in another process and prints what that cost it, as lines of a Markdown
//! table. docs/measurements/coordinator.md says what is measured; `make measure WHAT=coordinator`
//! runs it.

mod crowd;
mod garbage;
mod viewers;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use covey_load::{Coordinator, LoadError, Metrics, Relay, register, registration};
use covey_trace::{Coflow, Flow};
use tokio::time::{sleep, sleep_until, timeout};

use crate::crowd::{Crowd, Part, Work};
use crate::viewers::Viewers;

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
    /// Connect agents, and register coflows at a steady rate
    Agents {
        #[arg(long, default_value_t = 10_000)]
        agents: u32,
        #[arg(long, default_value_t = 100.0)]
        registrations_per_s: f64,
        #[arg(long, default_value_t = 60.0)]
        seconds: f64,
        /// Coflows that stay until the end
        #[arg(long, default_value_t = 0)]
        present: u32,
        /// People who look at the coordinator's page
        #[arg(long, default_value_t = 0)]
        viewers: u32,
        /// With mutual TLS
        #[arg(long)]
        tls: bool,
        /// Through so many relays, with the agents of each in a process of their own
        #[arg(long, default_value_t = 0)]
        relays: u32,
        /// How often agents say something, in seconds; a host counts as lost after five times that
        #[arg(long, default_value_t = 1.0)]
        heartbeat_s: f64,
    },
    /// Hosts behind a relay: a process that others start
    #[command(hide = true)]
    Hosts(Part),
    /// Connect agents, and send schedules to a given number of them at a time
    Push {
        #[arg(long, default_value_t = 10_000)]
        agents: u32,
        #[arg(long, default_value_t = 540)]
        changed: u32,
        /// With mutual TLS
        #[arg(long)]
        tls: bool,
        /// Through so many relays, with the agents of each in a process of their own
        #[arg(long, default_value_t = 0)]
        relays: u32,
    },
    /// Send garbage to the port for agents of a running coordinator
    Garbage {
        /// Its port for agents, and its port for clients
        #[arg(long)]
        coordinator: SocketAddr,
        #[arg(long)]
        clients: SocketAddr,
        /// Its folder, for the token
        #[arg(long)]
        data: PathBuf,
        #[arg(long, default_value_t = 300.0)]
        seconds: f64,
    },
    /// Register many coflows of one flow, and measure how others come and go then
    Many {
        #[arg(long, default_value_t = 100_000)]
        coflows: u64,
        #[arg(long, default_value_t = 900)]
        ports: u32,
        #[arg(long, default_value = "covey")]
        policy: String,
        #[arg(long, default_value_t = 64)]
        clients: u64,
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        #[arg(long, default_value_t = 500.0)]
        steady_per_s: f64,
    },
    /// Register coflows as fast as clients can, and then at a steady rate
    Register {
        #[arg(long, default_value_t = 64)]
        clients: u64,
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        #[arg(long, default_value_t = 500.0)]
        steady_per_s: f64,
        /// Register coflows that stay until the end, of so many flows each, instead of coflows that
        /// end at once
        #[arg(long, default_value_t = 0)]
        stay: u32,
    },
}

/// Starts a coordinator for so many agents. Its journal is on the disk of the current folder.
fn start(covey: &Path, tls: bool, arguments: &[&str]) -> Result<Coordinator> {
    Ok(Coordinator::start(covey, Path::new("."), tls, arguments)?)
}

/// Starts a coordinator that is patient with many agents: they all connect at once to a busy
/// machine.
fn crowd(covey: &Path, tls: bool, agents: u32, more: &[&str]) -> Result<Coordinator> {
    let ports = agents.to_string();
    let crowd = ["--ports", &ports, "--max-agents", &ports, "--log", "error"];
    // All of them have one address.
    let one_peer = ["--max-agents-per-peer", &ports];
    start(covey, tls, &[&crowd, &one_peer[..], more].concat())
}

fn transport(tls: bool) -> &'static str {
    if tls { "mutual TLS" } else { "plain TCP" }
}

/// Starts so many relays of a coordinator.
fn start_relays(covey: &Path, coordinator: &Coordinator, count: u32) -> Result<Vec<Relay>> {
    Ok((0..count)
        .map(|_| Relay::start(covey, coordinator))
        .collect::<std::result::Result<_, _>>()?)
}

/// The resident memory of relays in KiB, and the CPU that they have used in seconds.
fn used(relays: &[Relay]) -> (f64, f64) {
    relays.iter().map(Relay::used).fold((0.0, 0.0), |(a, b), (kib, cpu_s)| (a + kib, b + cpu_s))
}

/// The load of many agents.
#[derive(Clone, Copy)]
struct Steady {
    agents: u32,
    relays: u32,
    present: u32,
    viewers: u32,
    per_s: f64,
    seconds: f64,
    tls: bool,
    heartbeat_s: f64,
}

async fn agents(covey: &Path, load: Steady) -> Result<()> {
    let Steady { agents, per_s, seconds, tls, present, .. } = load;
    let [heartbeat, lost_after] = [1.0, 5.0].map(|times| format!("{}s", times * load.heartbeat_s));
    let times = ["--heartbeat", &heartbeat, "--lost-after", &lost_after];
    let more = ["--policy", "philae", "--max-coflows", "1000000", "--max-requests", "1000000"];
    let coordinator = crowd(covey, tls, agents, &[&more, &times[..]].concat())?;
    let relays = start_relays(covey, &coordinator, load.relays)?;
    let mut client = coordinator.client().await?;
    sleep(Duration::from_millis(500)).await;
    let start = Metrics::of(&mut client).await?;
    let (relays_start_kib, _) = used(&relays);
    let count = (per_s * seconds) as u32;
    let work = Work { present, coflows: count, agents };
    let coflows = work.all();
    let (stay, come) = coflows.split_at(present as usize);
    let hosts = Crowd::join(&coordinator, &relays, work, true).await?;
    // The coordinator has closed a connection that was idle for so long.
    let mut client = coordinator.client().await?;
    for coflow in stay {
        register(&mut client, registration(coflow)).await?;
    }
    let viewers = Viewers::start(&coordinator, load.viewers).await?;
    let begin = Instant::now();
    let before = Metrics::of(&mut client).await?;
    let (_, relays_before_s) = used(&relays);
    let mut fewest = f64::INFINITY;
    for (k, coflow) in come.iter().enumerate() {
        sleep_until((begin + Duration::from_secs_f64(k as f64 / per_s)).into()).await;
        register(&mut client, registration(coflow)).await?;
        if k % 100 == 99 {
            fewest = fewest.min(Metrics::of(&mut client).await?.get("covey_agents"));
        }
    }
    let took_s = begin.elapsed().as_secs_f64();
    let metrics = Metrics::of(&mut client).await?;
    let (relays_kib, relays_s) = used(&relays);
    let p99_ms = |name: &str| metrics.quantile_ms(&before, name, 0.99);
    let kib_each = |now: &Metrics| {
        let name = "process_resident_memory_bytes";
        (now.get(name) - start.get(name)) / 1024.0 / f64::from(agents)
    };
    let name = "process_cpu_seconds_total";
    let cpu_s = metrics.get(name) - before.get(name);
    let viewed = viewers.end().await?;
    let lost = hosts.end()?;
    // Agents are counted each second, too: one that joins again is not away for long.
    let lost = lost.max((f64::from(agents) - fewest).max(0.0) as u64);
    let behind = match load.relays {
        0 => String::new(),
        count => format!(
            " {count} | {:.1} KiB | {:.1} |",
            (relays_kib - relays_start_kib) / f64::from(agents),
            100.0 * (relays_s - relays_before_s) / took_s,
        ),
    };
    println!(
        "| {agents} | {} | {:.1} KiB | {:.1} KiB | {lost} | {} | {} | {:.1} | {took_s:.0} s |{behind}{viewed}",
        transport(tls),
        kib_each(&before),
        kib_each(&metrics),
        p99_ms("covey_decide_cpu_seconds"),
        p99_ms("covey_push_cpu_seconds"),
        100.0 * cpu_s / took_s,
    );
    Ok(())
}

/// Measures the cost of pushing schedules. Coflows arrive one after the other, each with a flow at
/// each of `changed` other hosts: exactly these hosts are sent a schedule. They do not confirm it,
/// since that would cost CPU that is not the cost of pushing. After each coflow another arrives at
/// the same ports, which gets no rate and changes nothing: the difference in CPU is the cost of
/// pushing.
async fn push(covey: &Path, agents: u32, changed: u32, relays: u32, tls: bool) -> Result<()> {
    // So that no heartbeat falls into the measurement.
    let quiet = ["--policy", "fifo", "--heartbeat", "1000s", "--lost-after", "10000s"];
    let coordinator = crowd(covey, tls, agents, &quiet)?;
    let relays = start_relays(covey, &coordinator, relays)?;
    let work = Work { present: 0, coflows: 0, agents };
    let _hosts = Crowd::join(&coordinator, &relays, work, false).await?;
    let mut client = coordinator.client().await?;
    let pause = Duration::from_millis(500);
    let (mut thread_ms, mut whole_ms) = (Vec::new(), Vec::new());
    let groups = agents / changed;
    for k in 0..groups {
        let flow = |f: u32| {
            let src = f * groups + k;
            Flow { src, dst: (src + groups) % agents, bytes: 1e15, start_s: 0.0 }
        };
        let flows = (0..changed).map(flow).collect();
        let body = registration(&Coflow::new(k.to_string(), 0.0, flows));
        let mut used_ms = [0.0; 2];
        for (changed, used_ms) in [changed, 0].into_iter().zip(&mut used_ms) {
            sleep(pause).await;
            let before = Metrics::of(&mut client).await?;
            register(&mut client, body.clone()).await?;
            sleep(pause).await;
            let after = Metrics::of(&mut client).await?;
            let since = |name: &str| after.get(name) - before.get(name);
            let sent = since("covey_schedules_sent_total");
            if sent != f64::from(changed) {
                return Err(format!("{sent} schedules were sent, not {changed}").into());
            }
            if changed > 0 {
                thread_ms.push(1e3 * since("covey_push_cpu_seconds_sum"));
            }
            *used_ms = 1e3 * since("process_cpu_seconds_total");
        }
        whole_ms.push(used_ms[0] - used_ms[1]);
    }
    let median_and_most = |mut costs_ms: Vec<f64>| {
        costs_ms.sort_by(f64::total_cmp);
        format!("{:.2} | {:.2}", costs_ms[costs_ms.len() / 2], costs_ms[costs_ms.len() - 1])
    };
    println!(
        "| {agents} | {} | {changed} | {groups} | {} | {} |",
        transport(tls),
        median_and_most(thread_ms),
        median_and_most(whole_ms),
    );
    Ok(())
}

async fn registrations(
    covey: &Path,
    clients: u64,
    seconds: f64,
    steady: f64,
    stay: u32,
) -> Result<()> {
    let most = [
        ["--log", "error"],
        ["--max-coflows", "1000000"],
        ["--max-requests", "1000000"],
        // There are no agents.
        ["--lost-after", "1000s"],
        ["--policy", "philae"],
    ]
    .concat();
    // A flow without bytes ends at once: this measures the way to the disk, not a policy with more
    // coflows every second.
    let flow = |f| Flow { src: f % 16, dst: (f + 1) % 16, bytes: 1e15, start_s: 0.0 };
    let flows = match stay {
        0 => vec![Flow { bytes: 0.0, ..flow(0) }],
        _ => (0..stay).map(flow).collect(),
    };
    let body = registration(&Coflow::new("0".to_owned(), 0.0, flows));
    let coordinator = start(covey, false, &most)?;
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
            std::result::Result::<u64, LoadError>::Ok(count)
        }));
    }
    let mut total = 0;
    for task in tasks {
        total += task.await??;
    }
    drop(coordinator);

    let coordinator = start(covey, false, &most)?;
    let times = steadily(&coordinator, clients, steady, seconds, move |_| body.clone()).await?;
    println!(
        "| {clients} | {:.0} /s | {steady} /s | {:.1} ms | {:.1} ms |",
        total as f64 / seconds,
        quantile_ms(&times, 0.5),
        quantile_ms(&times, 0.99)
    );
    Ok(())
}

/// A quantile of times that are in ascending order.
fn quantile_ms(times: &[f64], q: f64) -> f64 {
    1e3 * times[((times.len() - 1) as f64 * q) as usize]
}

/// Registers so many coflows a second. Returns the time of each registration, ascending.
async fn steadily(
    coordinator: &Coordinator,
    clients: u64,
    steady: f64,
    seconds: f64,
    body: impl Fn(u64) -> String,
) -> Result<Vec<f64>> {
    let begin = Instant::now();
    let mut pool = Vec::new();
    for _ in 0..clients {
        pool.push(coordinator.client().await?);
    }
    let pool = Arc::new(tokio::sync::Mutex::new(pool));
    let mut tasks = Vec::new();
    for k in 0..(steady * seconds) as u64 {
        sleep_until((begin + Duration::from_secs_f64(k as f64 / steady)).into()).await;
        let (pool, body, asked) = (pool.clone(), body(k), Instant::now());
        tasks.push(tokio::spawn(async move {
            let mut client = loop {
                if let Some(client) = pool.lock().await.pop() {
                    break client;
                }
                sleep(Duration::from_millis(1)).await;
            };
            timeout(Duration::from_secs(60), register(&mut client, body)).await??;
            pool.lock().await.push(client);
            Result::Ok(asked.elapsed().as_secs_f64())
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.push(task.await??);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// Measures how many present coflows slow others down: registrations per second while the last
/// tenth of them arrives, a DELETE, and a decision and an answer while others arrive at a steady
/// rate.
struct Many {
    coflows: u64,
    ports: u32,
    policy: String,
    clients: u64,
    seconds: f64,
    steady: f64,
}

impl Many {
    async fn run(&self, covey: &Path) -> Result<()> {
        let Many { coflows, ports, clients, .. } = *self;
        let (of_ports, most) = (ports.to_string(), (2 * coflows).to_string());
        let coordinator = start(
            covey,
            false,
            &[
                ["--log", "error"],
                ["--ports", &of_ports],
                ["--max-coflows", &most],
                ["--max-requests", "1000000"],
                // There are no agents.
                ["--lost-after", "10000s"],
                ["--lease", "1440min"],
                ["--policy", &self.policy],
            ]
            .concat(),
        )?;
        let body = move |k: u64| {
            let (src, dst) = (k as u32 % ports, (k as u32 / ports * 7 + k as u32 + 1) % ports);
            let flow = Flow { src, dst, bytes: 1e9 + k as f64, start_s: 0.0 };
            registration(&Coflow::new(k.to_string(), 0.0, vec![flow]))
        };
        let (mut tasks, last) = (Vec::new(), coflows - coflows / 10);
        let at_last = Arc::new(std::sync::OnceLock::new());
        let next = Arc::new(std::sync::atomic::AtomicU64::new(0));
        for _ in 0..clients {
            let mut client = coordinator.client().await?;
            let (next, at_last) = (next.clone(), at_last.clone());
            tasks.push(tokio::spawn(async move {
                loop {
                    let k = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if k >= coflows {
                        return std::result::Result::<(), LoadError>::Ok(());
                    }
                    if k >= last {
                        at_last.get_or_init(Instant::now);
                    }
                    register(&mut client, body(k)).await?;
                }
            }));
        }
        for task in tasks {
            task.await??;
        }
        let took = at_last.get().map_or(f64::NAN, |at| at.elapsed().as_secs_f64());
        let mut client = coordinator.client().await?;
        let resident = Metrics::of(&mut client).await?.get("process_resident_memory_bytes");
        let mut deleted = Vec::new();
        for id in 0..200 {
            let asked = Instant::now();
            let path = format!("/v1/coflows/{}", id * coflows / 200);
            client.ask("DELETE", &path, &[], "").await?;
            deleted.push(asked.elapsed().as_secs_f64());
        }
        deleted.sort_by(f64::total_cmp);
        let (seconds, steady) = (self.seconds, self.steady);
        let more = move |k| body(coflows + k);
        let before = Metrics::of(&mut client).await?;
        let times = steadily(&coordinator, clients, steady, seconds, more).await?;
        let decided = Metrics::of(&mut client).await?;
        println!(
            "| `{}` | {coflows} | {ports} | {:.0} MiB | {:.0} /s | {:.1} ms | {:.1} ms | {} ms | {:.1} ms | {:.1} ms |",
            self.policy,
            resident / f64::from(1 << 20),
            (coflows / 10) as f64 / took,
            quantile_ms(&deleted, 0.5),
            quantile_ms(&deleted, 0.99),
            decided.quantile_ms(&before, "covey_decide_cpu_seconds", 0.99),
            quantile_ms(&times, 0.5),
            quantile_ms(&times, 0.99),
        );
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let Load { covey, what } = Load::parse();
    match what {
        What::Agents {
            agents: count,
            registrations_per_s: per_s,
            seconds,
            present,
            viewers,
            tls,
            relays,
            heartbeat_s,
        } => {
            let agents_and = Steady {
                agents: count,
                relays,
                present,
                viewers,
                per_s,
                seconds,
                tls,
                heartbeat_s,
            };
            agents(&covey, agents_and).await
        }
        What::Hosts(part) => part.run().await,
        What::Push { agents, changed, tls, relays } => {
            push(&covey, agents, changed, relays, tls).await
        }
        What::Garbage { coordinator, clients, data, seconds } => {
            let token = covey_api::read_token(&data.join("token"))?;
            garbage::send(coordinator, clients, &token, seconds).await
        }
        What::Many { coflows, ports, policy, clients, seconds, steady_per_s: steady } => {
            Many { coflows, ports, policy, clients, seconds, steady }.run(&covey).await
        }
        What::Register { clients, seconds, steady_per_s, stay } => {
            registrations(&covey, clients, seconds, steady_per_s, stay).await
        }
    }
}
