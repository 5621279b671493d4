//! Measures docs/measurements/client-library.md: the library beside plain TCP, compression, pacing,
//! reaction, and an agent with a thousand flows; with the argument `beside-tcp` or `rates` that
//! part alone. `make measure WHAT=flows` runs it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use covey_agent::{CoordinatorEvent, Enforcer, Joining, Local, Processors};
use covey_client::{Client, FlowReceiver, FlowSender, Incoming, Listener, Options, TlsFiles};
use covey_proto::{
    CodecName, Decoder, Entry, FlowKey, FromAgent, Means, Schedule, Service, ToAgent, VERSION,
    Welcome, encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const PIECE: usize = 64 << 10;
const REPORT_EVERY: Duration = Duration::from_millis(20);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let part = std::env::args().nth(1);
    if part.as_deref() == Some("rates") {
        return pacing(folder.path()).await;
    }
    beside_tcp().await?;
    if part.as_deref() == Some("beside-tcp") {
        return Ok(());
    }
    compressed(folder.path()).await?;
    incompressible(folder.path()).await?;
    pacing(folder.path()).await?;
    reaction(folder.path()).await?;
    thousand(folder.path()).await
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

async fn client(agent: Option<PathBuf>, tls: Option<TlsFiles>) -> Result<Client, Failure> {
    let options = Options { agent, coordinator: None, hold_max: None, tls, ..Options::default() };
    Ok(Client::start(options).await?)
}

/// A certificate that is its own CA.
fn certificate(folder: &Path) -> Result<TlsFiles, Failure> {
    let made = rcgen::generate_simple_self_signed(vec!["bench".to_owned()])?;
    let files = TlsFiles::of_agent(folder);
    std::fs::write(&files.certificate, made.cert.pem())?;
    std::fs::write(&files.ca, made.cert.pem())?;
    std::fs::write(&files.key, made.signing_key.serialize_pem())?;
    std::fs::set_permissions(&files.key, std::fs::Permissions::from_mode(0o600))?;
    Ok(files)
}

async fn next(listener: &mut Listener) -> Result<FlowReceiver, Failure> {
    match listener.accept().await? {
        Incoming::Flow(flow) => Ok(flow),
        Incoming::Request(_) => Err("nobody asks for a flow".into()),
    }
}

/// Reads to the end; returns the number of bytes.
async fn drain(mut from: impl tokio::io::AsyncRead + Unpin) -> std::io::Result<u64> {
    let mut buffer = vec![0; PIECE];
    let mut had = 0;
    loop {
        match from.read(&mut buffer).await? {
            0 => return Ok(had),
            count => had += count as u64,
        }
    }
}

/// One flow over loopback at full speed, with and without the library in turns.
async fn beside_tcp() -> Result<(), Failure> {
    const BYTES: u64 = 512 << 20;
    const ROUNDS: usize = 15;
    let client = client(None, None).await?;
    let mut listener = client.listen("127.0.0.1:0").await?;
    let plain = TcpListener::bind("127.0.0.1:0").await?;
    let piece = vec![7; PIECE];
    let (mut tcp, mut sized, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut stream = TcpStream::connect(plain.local_addr()?).await?;
        let (other, _) = plain.accept().await?;
        let began = Instant::now();
        let reader = tokio::spawn(drain(other));
        for _ in 0..BYTES / PIECE as u64 {
            stream.write_all(&piece).await?;
        }
        stream.shutdown().await?;
        assert_eq!(reader.await??, BYTES);
        tcp.push(BYTES as f64 / began.elapsed().as_secs_f64());
        for (length, rates) in [(Some(BYTES), &mut sized), (None, &mut chunks)] {
            let coflow = client.join(1 << 63);
            let mut flow = coflow.open(0, listener.local_addr(), length, b"").await?;
            let other = next(&mut listener).await?;
            let began = Instant::now();
            let reader = tokio::spawn(drain(other));
            for _ in 0..BYTES / PIECE as u64 {
                flow.write_all(&piece).await?;
            }
            flow.finish().await?;
            assert_eq!(reader.await??, BYTES);
            rates.push(BYTES as f64 / began.elapsed().as_secs_f64());
        }
    }
    let beside = |rates: &[f64]| -> Vec<f64> {
        rates.iter().zip(&tcp).map(|(rate, tcp)| rate / tcp).collect()
    };
    let mut beside = [beside(&sized), beside(&chunks)];
    println!("| one unscheduled flow over loopback | Gbit/s | of plain TCP |");
    println!("|---|--:|--:|");
    println!("| plain TCP, a copy loop of 64 KiB | {:.1} | 1 |", median(&mut tcp) * 8e-9);
    let rows = [("of a known length", &mut sized), ("in chunks", &mut chunks)];
    for ((name, rates), beside) in rows.into_iter().zip(&mut beside) {
        println!("| the library, {name} | {:.1} | {:.3} |", median(rates) * 8e-9, median(beside));
    }
    println!("\nMedians of {ROUNDS} rounds of {} MiB, by turns.\n", BYTES >> 20);
    Ok(())
}

/// A flow with an agent that sends for ever, and the times at which its bytes arrive.
struct Paced {
    agent: Local,
    key: FlowKey,
    began: Instant,
    codec: Option<CodecName>,
    /// Nanoseconds since `began`, and the bytes that have arrived until then.
    arrivals: Arc<std::sync::Mutex<Vec<(u64, u64)>>>,
    version: u64,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Paced {
    async fn start(folder: &Path) -> Result<Paced, Failure> {
        Paced::sending(folder, vec![7; PIECE], None, None).await
    }

    /// Sends `data` again and again.
    async fn sending(
        folder: &Path,
        data: Vec<u8>,
        codec: Option<CodecName>,
        tls: Option<TlsFiles>,
    ) -> Result<Paced, Failure> {
        let socket = folder.join("agent.sock");
        let mut agent = Local::listen(&socket, 0, Means::Pacing, REPORT_EVERY).await?;
        agent.heard(CoordinatorEvent::Joined { codec, openings: false });
        let client = client(Some(socket), tls).await?;
        let mut listener = client.listen("127.0.0.1:0").await?;
        let key = FlowKey { coflow: 1, flow: 0 };
        let mut flow: FlowSender =
            client.join(1).open(0, listener.local_addr(), Some(1 << 50), b"").await?;
        let mut other = next(&mut listener).await?;
        let (began, arrivals) = (Instant::now(), Arc::default());
        let sender = tokio::spawn(async move { while flow.write_all(&data).await.is_ok() {} });
        let log: Arc<std::sync::Mutex<Vec<(u64, u64)>>> = Arc::clone(&arrivals);
        let receiver = tokio::spawn(async move {
            let (_client, _listener) = (client, listener);
            let mut buffer = vec![0; PIECE];
            let mut had = 0;
            while let Ok(count) = other.read(&mut buffer).await {
                had += count as u64;
                let now = began.elapsed().as_nanos() as u64;
                log.lock().expect("nobody panics").push((now, had));
            }
        });
        let tasks = vec![sender, receiver];
        Ok(Paced { agent, key, began, codec, arrivals, version: 0, tasks })
    }

    /// Gives the flow a rate in bytes per second, or none. Returns the time.
    fn rate(&mut self, rate: Option<f64>) -> std::io::Result<u64> {
        self.version += 1;
        let service =
            rate.map(|rate| (self.key.into(), Service { layer: 0, rate, codec: self.codec }));
        let now = self.began.elapsed().as_nanos() as u64;
        self.agent.apply((1, self.version), &service.into_iter().collect())?;
        Ok(now)
    }

    fn log(&self) -> Vec<(u64, u64)> {
        self.arrivals.lock().expect("nobody panics").clone()
    }

    /// Bytes that had arrived at a time.
    fn had(log: &[(u64, u64)], at: u64) -> u64 {
        let place = log.partition_point(|(time, _)| *time <= at);
        if place == 0 { 0 } else { log[place - 1].1 }
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// The CPU that this process has used, in seconds.
fn process_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// A compressed flow at 100 Mbit/s.
async fn compressed(folder: &Path) -> Result<(), Failure> {
    const RATE: f64 = 100e6 / 8.0;
    let speeds = covey_codec::measure();
    println!("| compressed with | speed R, MB/s | ratio | received at 100 Mbit/s | times | CPU |");
    println!("|---|--:|--:|--:|--:|--:|");
    let mut plain = f64::NAN;
    for codec in std::iter::once(None).chain(CodecName::ALL.map(Some)) {
        let mut paced = Paced::sending(folder, covey_codec::sample(4 << 20), codec, None).await?;
        let given = paced.rate(Some(RATE))?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let cpu = process_cpu_s();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let cpu = 20.0 * (process_cpu_s() - cpu);
        let log = paced.log();
        let (from, to) = (given + 1_000_000_000, given + 6_000_000_000);
        let come = (Paced::had(&log, to) - Paced::had(&log, from)) as f64 / 5.0;
        if codec.is_none() {
            plain = come;
        }
        let measured = speeds.iter().find(|it| Some(it.codec) == codec);
        let (speed, ratio) = measured.map_or_else(
            || ("–".to_owned(), "1".to_owned()),
            |it| (format!("{:.0}", it.speed * 1e-6), format!("{:.3}", it.ratio)),
        );
        println!(
            "| {} | {speed} | {ratio} | {:.1} Mbit/s | {:.2} | {cpu:.1} % |",
            codec.map_or("nothing", CodecName::name),
            come * 8e-6,
            come / plain
        );
    }
    println!(
        "\nMade-up records; bytes of the flow that came in 5 s. CPU of a core, at both ends.\n"
    );
    Ok(())
}

/// The cost of finding out that a flow does not shrink.
async fn incompressible(folder: &Path) -> Result<(), Failure> {
    const BYTES: usize = 64 << 20;
    const PAIRS: usize = 300;
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(8 << 20).collect();
    let socket = folder.join("agent.sock");
    let mut agent = Local::listen(&socket, 0, Means::Pacing, REPORT_EVERY).await?;
    agent.heard(CoordinatorEvent::Joined { codec: Some(CodecName::Lz4), openings: false });
    let client = client(Some(socket), None).await?;
    let mut listener = client.listen("127.0.0.1:0").await?;
    // Seconds and CPU seconds, of flows that compression is tried for and of others.
    let mut found = vec![[[0.0; 2]; 2]; PAIRS];
    for flow in 0..2 * PAIRS as u32 {
        // Flows with and without compression take turns at going first.
        let is_tried = matches!(flow % 4, 1 | 2);
        let codec = is_tried.then_some(CodecName::Lz4);
        let key = FlowKey { coflow: 1, flow };
        let service = Service { layer: 0, rate: 1e12, codec };
        agent.apply((1, u64::from(flow) + 1), &[(key.into(), service)].into())?;
        let coflow = client.join(1);
        let mut sender = coflow.open(flow, listener.local_addr(), Some(BYTES as u64), b"").await?;
        let reader = tokio::spawn(drain(next(&mut listener).await?));
        // By now the schedule has come.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let (began, cpu) = (Instant::now(), process_cpu_s());
        for piece in noise.chunks(PIECE).cycle().take(BYTES / PIECE) {
            sender.write_all(piece).await?;
        }
        sender.finish().await?;
        assert_eq!(reader.await??, BYTES as u64);
        let used = [began.elapsed().as_secs_f64(), process_cpu_s() - cpu];
        found[flow as usize / 2][usize::from(is_tried)] = used;
    }
    println!("| bytes that do not shrink, with LZ4 | median of {PAIRS} pairs | standard error |");
    println!("|---|--:|--:|");
    for (k, name) in [(0, "more time"), (1, "more CPU, at both ends")] {
        let ratios = found.iter().map(|[plain, tried]| 100.0 * (tried[k] / plain[k] - 1.0));
        let mut ratios: Vec<f64> = ratios.collect();
        let middle = median(&mut ratios);
        let mut deviations: Vec<f64> = ratios.iter().map(|ratio| (ratio - middle).abs()).collect();
        // Standard error of the median of normally distributed numbers.
        let error = 1.2533 * 1.4826 * median(&mut deviations) / (PAIRS as f64).sqrt();
        println!("| {name} | {middle:+.1} % | {error:.1} % |");
    }
    println!(
        "\nFlows of {} MiB as fast as they go, in chunks, each beside one that is not to be compressed.\n",
        BYTES >> 20
    );
    Ok(())
}

/// Scheduled and received rates.
async fn pacing(folder: &Path) -> Result<(), Failure> {
    let tls = certificate(folder)?;
    println!("| scheduled, Mbit/s | received, Mbit/s | error | with TLS, Mbit/s | error |");
    println!("|--:|--:|--:|--:|--:|");
    for mbps in [1.0, 10.0, 100.0, 500.0] {
        print!("| {mbps}");
        for tls in [None, Some(tls.clone())] {
            let mut paced = Paced::sending(folder, vec![7; PIECE], None, tls).await?;
            let rate = mbps * 1e6 / 8.0;
            let given = paced.rate(Some(rate))?;
            tokio::time::sleep(Duration::from_secs(6)).await;
            let log = paced.log();
            let (from, to) = (given + 1_000_000_000, given + 6_000_000_000);
            let come = (Paced::had(&log, to) - Paced::had(&log, from)) as f64 / 5.0;
            let error = 100.0 * (come / rate - 1.0);
            print!(" | {:.2} | {error:+.2} %", come * 8e-6);
        }
        println!(" |");
    }
    println!("\nBytes of the flow that came in 5 s, from the second after the schedule on.\n");
    Ok(())
}

/// How long it takes from a schedule to its effect at the receiver.
async fn reaction(folder: &Path) -> Result<(), Failure> {
    const ROUNDS: usize = 40;
    /// The time over which a rate is measured.
    const WINDOW: u64 = 5_000_000;
    let mut paced = Paced::start(folder).await?;
    let (lowest, low, high) = (0.1e6, 5e6, 20e6);
    let (mut from_low, mut from_lowest) = (Vec::new(), Vec::new());
    let (mut stopped, mut resumed) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS as u64 {
        // At all phases of anything periodic.
        let settle = Duration::from_millis(150) + Duration::from_micros(round * 373);
        paced.rate(Some(low))?;
        tokio::time::sleep(settle).await;
        let up = paced.rate(Some(high))?;
        tokio::time::sleep(settle).await;
        let off = paced.rate(None)?;
        tokio::time::sleep(settle).await;
        let on = paced.rate(Some(lowest))?;
        tokio::time::sleep(settle).await;
        let again = paced.rate(Some(high))?;
        tokio::time::sleep(settle).await;
        let log = paced.log();
        let ms = |from: u64, to: u64| to.saturating_sub(from) as f64 * 1e-6;
        let fast = |from: u64, until: u64| {
            let at = (from..until).step_by(100_000).find(|&at| {
                let come = Paced::had(&log, at + WINDOW) - Paced::had(&log, at);
                come as f64 >= 0.9 * high * WINDOW as f64 * 1e-9
            });
            ms(from, at.unwrap_or(until))
        };
        from_low.push(fast(up, off));
        from_lowest.push(fast(again, again + settle.as_nanos() as u64));
        let last = log.iter().rev().find(|(time, _)| *time < on);
        stopped.push(ms(off, last.map_or(off, |(time, _)| *time)));
        let first = log.iter().find(|(time, _)| *time > on);
        resumed.push(ms(on, first.map_or(on + 1_000_000_000, |(time, _)| *time)));
        paced.arrivals.lock().expect("nobody panics").clear();
    }
    println!("| after a schedule | median, ms | most, ms |");
    println!("|---|--:|--:|");
    for (name, times) in [
        ("a rate that was raised (40 to 160 Mbit/s) shows", &mut from_low),
        ("one that was raised from 0.8 to 160 Mbit/s", &mut from_lowest),
        ("a flow that was to stop has sent its last byte", &mut stopped),
        ("a flow that was to go on has sent its first", &mut resumed),
    ] {
        println!("| {name} | {:.1} | {:.1} |", median(times), most(times));
    }
    println!(
        "\n{ROUNDS} times each, where bytes arrive; rates over 5 ms, at nine tenths of the new one.\n"
    );
    Ok(())
}

fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// An agent with a thousand flows that send while schedules change.
async fn thousand(folder: &Path) -> Result<(), Failure> {
    const FLOWS: u32 = 1000;
    const SCHEDULES_A_SECOND: u64 = 100;
    const CHANGED: usize = 20;
    const SECONDS: u64 = 10;
    let coordinator = TcpListener::bind("127.0.0.1:0").await?;
    let address = coordinator.local_addr()?;
    let socket = folder.join("agent.sock");
    let used = Arc::new(AtomicU64::new(0));
    let (path, measured) = (socket.clone(), used.clone());
    // The agent has a thread of its own, whose CPU is measured.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let local = Local::listen(&path, 0, Means::Pacing, REPORT_EVERY).await;
            let mut local = local.expect("a socket");
            let woken = local.ended();
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    measured.store((cpu_s() * 1e9) as u64, Ordering::Relaxed);
                }
            });
            let ask_every = Duration::from_millis(10);
            let joining = Joining {
                coordinator: address.into(),
                port: 0,
                token: Vec::new(),
                tls: None,
                ask_every,
                processors: Processors::None,
                addresses: Vec::new(),
                devices: Vec::new(),
            };
            covey_agent::run_woken(&joining, &mut local, &woken).await.expect("for ever");
        });
    });
    let (stream, _) = coordinator.accept().await?;
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = stream.into_split();
    let heard = Arc::new(AtomicU64::new(0));
    let counted = heard.clone();
    tokio::spawn(async move {
        let (mut decoder, mut buffer) = (Decoder::default(), vec![0; PIECE]);
        while let Ok(count @ 1..) = reader.read(&mut buffer).await {
            decoder.push(&buffer[..count]);
            while let Ok(Some(_)) = decoder.take::<FromAgent>() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let welcome = Welcome {
        version: VERSION,
        epoch: 1,
        report_every_s: 0.02,
        heartbeat_s: 1.0,
        codec: None,
        // The cost without reports of how flows are used.
        idle_after_s: f64::INFINITY,
        groups: false,
    };
    let mut bytes = Vec::new();
    encode(&ToAgent::Welcome(welcome), &mut bytes);
    let entry = |flow: u32, rate: f64| Entry {
        key: FlowKey { coflow: 1, flow }.into(),
        service: Service { layer: 0, rate, codec: None },
    };
    let mut set = |version: u64, set: Vec<Entry>| {
        let schedule = Schedule { epoch: 1, version, base: version - 1, set, removed: Vec::new() };
        encode(&ToAgent::Schedule(schedule), &mut bytes);
        std::mem::take(&mut bytes)
    };
    writer.write_all(&set(1, (0..FLOWS).map(|flow| entry(flow, 100e3)).collect())).await?;

    let client = client(Some(socket), None).await?;
    let mut listener = client.listen("127.0.0.1:0").await?;
    let coflow = client.join(1);
    for flow in 0..FLOWS {
        let mut sender = coflow.open(flow, listener.local_addr(), Some(1 << 50), b"").await?;
        let receiver = next(&mut listener).await?;
        tokio::spawn(drain(receiver));
        tokio::spawn(async move {
            let piece = vec![7; 16 << 10];
            while sender.write_all(&piece).await.is_ok() {}
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (cpu, began, messages) =
        (used.load(Ordering::Relaxed), Instant::now(), heard.load(Ordering::Relaxed));
    for tick in 0..SECONDS * SCHEDULES_A_SECOND {
        let first = (tick as usize * CHANGED) as u32;
        let rate = 80e3 + (tick % 50) as f64 * 1e3;
        let changed = (0..CHANGED as u32).map(|k| entry((first + k) % FLOWS, rate)).collect();
        writer.write_all(&set(tick + 2, changed)).await?;
        let until = began + Duration::from_millis((tick + 1) * 1000 / SCHEDULES_A_SECOND);
        tokio::time::sleep_until(until.into()).await;
    }
    let seconds = began.elapsed().as_secs_f64();
    let share = (used.load(Ordering::Relaxed) - cpu) as f64 * 1e-7 / seconds;
    let messages = (heard.load(Ordering::Relaxed) - messages) as f64 / seconds;
    println!(
        "| flows | schedules a second | changed in each | messages to the coordinator a second | CPU of the agent |"
    );
    println!("|--:|--:|--:|--:|--:|");
    println!(
        "| {FLOWS} | {SCHEDULES_A_SECOND} | {CHANGED} | {messages:.0} | {share:.1} % of a core |"
    );
    Ok(())
}
