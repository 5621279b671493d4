//! Loads a coordinator in another process and prints what that cost it, as lines of a Markdown table.
//! docs/live.md says what is measured; `make live-bench` runs it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use covey_load::{Coordinator, Hosts, LoadError, Metrics, Sizes, register, registration};
use covey_trace::{Coflow, Flow};
use tokio::time::{sleep, sleep_until, timeout};

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
        /// With mutual TLS
        #[arg(long)]
        tls: bool,
    },
    /// Connect agents, and change the schedules of a part of them again and again
    Push {
        #[arg(long, default_value_t = 10_000)]
        agents: u32,
        #[arg(long, default_value_t = 540)]
        changed: u32,
        #[arg(long, default_value_t = 100)]
        times: u32,
        /// With mutual TLS
        #[arg(long)]
        tls: bool,
    },
    /// Register coflows as fast as clients can, and then at a steady rate
    Register {
        #[arg(long, default_value_t = 64)]
        clients: u64,
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        #[arg(long, default_value_t = 500.0)]
        steady_per_s: f64,
        /// Coflows that stay until the end, so many flows each, instead of some that end at once
        #[arg(long, default_value_t = 0)]
        stay: u32,
    },
}

/// A coordinator for so many agents. Its journal is on the disk on which this is started.
fn start(covey: &Path, tls: bool, arguments: &[&str]) -> Result<Coordinator> {
    Ok(Coordinator::start(covey, Path::new("."), tls, arguments)?)
}

/// One for a crowd, of which nobody is to be missed because all come at once to a busy machine.
fn crowd(covey: &Path, tls: bool, agents: u32, more: &[&str]) -> Result<Coordinator> {
    let ports = agents.to_string();
    let crowd = ["--policy", "philae", "--ports", &ports, "--max-agents", &ports, "--log", "error"];
    start(covey, tls, &[&crowd, more].concat())
}

fn transport(tls: bool) -> &'static str {
    if tls { "mutual TLS" } else { "plain TCP" }
}

async fn agents(covey: &Path, agents: u32, per_s: f64, seconds: f64, tls: bool) -> Result<()> {
    let coordinator = crowd(covey, tls, agents, &[])?;
    let mut client = coordinator.client().await?;
    let before_kib = coordinator.resident_kib()?;
    // Coflows of 27 flows, each from a host of its own.
    let count = (per_s * seconds) as u32;
    let flow = |k: u32, f: u32| Flow {
        src: (k * 31 + f * 997) % agents,
        dst: (k * 57 + f * 613 + 1) % agents,
        bytes: 1e6,
        start_s: 0.0,
    };
    let coflow = |k: u32| Coflow::new(k.to_string(), 0.0, (0..27).map(|f| flow(k, f)).collect());
    let sizes: Sizes = Arc::new((0..count).map(coflow).collect());
    let hosts = Hosts::start(&coordinator, agents, sizes.clone()).await?;
    let joined_kib = coordinator.resident_kib()?;
    let (begin, cpu_s) = (Instant::now(), coordinator.cpu_s()?);
    let before = Metrics::of(&mut client).await?;
    for (k, coflow) in sizes.iter().enumerate() {
        sleep_until((begin + Duration::from_secs_f64(k as f64 / per_s)).into()).await;
        register(&mut client, registration(coflow)).await?;
    }
    let metrics = Metrics::of(&mut client).await?;
    let p99_ms = |name: &str| metrics.quantile_ms(&before, name, 0.99);
    println!(
        "| {agents} | {} | {:.1} KiB | {:.1} KiB | {} | {} | {} | {:.1} | {:.0} s |",
        transport(tls),
        (joined_kib - before_kib) / f64::from(agents),
        (coordinator.resident_kib()? - before_kib) / f64::from(agents),
        hosts.lost(),
        p99_ms("covey_decide_cpu_seconds"),
        p99_ms("covey_push_cpu_seconds"),
        100.0 * (coordinator.cpu_s()? - cpu_s) / begin.elapsed().as_secs_f64(),
        begin.elapsed().as_secs_f64(),
    );
    Ok(())
}

/// A coflow with a flow of its own for each of `changed` hosts comes and goes: each time exactly these
/// get another schedule.
async fn push(covey: &Path, agents: u32, changed: u32, times: u32, tls: bool) -> Result<()> {
    let coordinator = {
        // No heartbeat is to fall between.
        let quiet = ["--heartbeat", "100s", "--lost-after", "1000s"];
        crowd(covey, tls, agents, &quiet)?
    };
    let mut client = coordinator.client().await?;
    let _hosts = Hosts::start(&coordinator, agents, Sizes::default()).await?;
    let flow = |f: u32| {
        let src = f * (agents / changed);
        Flow { src, dst: (src + 1) % agents, bytes: 1e15, start_s: 0.0 }
    };
    let body = registration(&Coflow::new("0".to_owned(), 0.0, (0..changed).map(flow).collect()));
    let pause = Duration::from_millis(250);
    sleep(pause).await;
    let mut costs_ms = Vec::new();
    let cpu_s = coordinator.cpu_s()?;
    for k in 0..times {
        for comes in [true, false] {
            let before = Metrics::of(&mut client).await?;
            if comes {
                register(&mut client, body.clone()).await?;
            } else {
                client.ask("DELETE", &format!("/v1/coflows/{k}"), &[], "").await?;
            }
            sleep(pause).await;
            let after = Metrics::of(&mut client).await?;
            let since = |name: &str| after.get(name) - before.get(name);
            let (sent, applied) =
                (since("covey_schedules_sent_total"), since("covey_messages_applied_total"));
            if (sent, applied) != (f64::from(changed), f64::from(changed)) {
                return Err(format!("{sent} schedules were sent, {applied} applied").into());
            }
            costs_ms.push(1e3 * since("covey_push_cpu_seconds_sum"));
        }
    }
    let pushes = costs_ms.len();
    let whole_ms = 1e3 * (coordinator.cpu_s()? - cpu_s) / pushes as f64;
    costs_ms.sort_by(f64::total_cmp);
    let at = |q: f64| costs_ms[((costs_ms.len() - 1) as f64 * q) as usize];
    println!(
        "| {agents} | {} | {changed} | {pushes} | {:.2} | {:.2} | {:.2} | {whole_ms:.1} |",
        transport(tls),
        at(0.5),
        at(0.99),
        at(1.0),
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
        "--log",
        "warn",
        "--max-coflows",
        "1000000",
        "--max-requests",
        "1000000",
        "--policy",
        "philae",
    ];
    // A flow without bytes ends at once: it is the way to the disk that is measured, not a policy with
    // more coflows every second.
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
    let begin = Instant::now();
    let mut pool = Vec::new();
    for _ in 0..clients {
        pool.push(coordinator.client().await?);
    }
    let pool = Arc::new(tokio::sync::Mutex::new(pool));
    let mut tasks = Vec::new();
    for k in 0..(steady * seconds) as u64 {
        sleep_until((begin + Duration::from_secs_f64(k as f64 / steady)).into()).await;
        let (pool, body, asked) = (pool.clone(), body.clone(), Instant::now());
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
        What::Agents { agents: count, registrations_per_s, seconds, tls } => {
            agents(&covey, count, registrations_per_s, seconds, tls).await
        }
        What::Push { agents, changed, times, tls } => {
            push(&covey, agents, changed, times, tls).await
        }
        What::Register { clients, seconds, steady_per_s, stay } => {
            registrations(&covey, clients, seconds, steady_per_s, stay).await
        }
    }
}
