//! Applications, agents and the coordinator are killed at random, and nothing is stuck at the end.
//!
//! The memory of a coordinator grows while it lives, for a minute. So the trend of the
//! coordinators' maxima counts: the median of the slopes between any two, which ignores a single
//! peak. Memory is flat if the trend adds at most 5 % from the end of the warm-up to the end of the
//! run. In the warm-up, a third of the run and at least five minutes, the coordinator reaches its
//! limits, which are low. A run of less than ten minutes is too short for a trend.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, agent, block_on, metric, scatter};
use crate::shuffles::{Receiver, coflow_of, program, quiet, spawn};

const PORTS: usize = 16;
/// Settings of the coordinator, with low limits.
const SETTINGS: &str =
    "--ports 16 --port-rate 100mbps --max-gone 4000 --max-expired 100 --compact-above 2MiB";
/// The least warm-up, in seconds.
const WARM_UP_S: f64 = 300.0;
/// The most that memory may grow after the warm-up.
const MAX_GROWTH: f64 = 0.05;

/// Shuffles that are over.
#[derive(Default)]
struct Over {
    ended: usize,
    killed: usize,
    wrong: usize,
}

/// Hosts with receivers and applications.
struct Soak<'a> {
    folder: &'a TestFolder,
    clients: String,
    receivers: Vec<Receiver>,
    /// The shuffle that each host sends.
    running: [Mutex<Option<Killed>>; PORTS],
    over: Mutex<Over>,
    /// When the last shuffles begin.
    end: Instant,
    drawn: AtomicU64,
}

impl Soak<'_> {
    /// A number below another, at random.
    fn draw(&self, below: usize) -> usize {
        scatter(self.drawn.fetch_add(1, Ordering::Relaxed)) as usize % below
    }

    /// Sends one shuffle after the other from a host to others.
    fn send(&self, port: usize) {
        while Instant::now() < self.end {
            let to = (port + 1 + self.draw(PORTS - 1)) % PORTS;
            let megabytes = 1 + self.draw(8);
            let mut command = Command::new(program());
            command.args(["send", &self.receivers[to].address, "--name", &format!("from-{port}")]);
            command.args(["--megabytes", &megabytes.to_string(), "--to-port", &to.to_string()]);
            command.arg("--agent").arg(self.folder.path(&socket(port)));
            command.arg("--credentials").arg(self.folder.path("data"));
            command.args(["--coordinator", &self.clients]).stderr(Stdio::null());
            let (process, lines) = spawn(&mut command);
            *self.running[port].lock().expect("nobody panics") = Some(process);
            let named = lines.map_while(Result::ok).filter_map(|line| coflow_of(&line)).last();
            let ended = self.running[port].lock().expect("nobody panics").take();
            let status = ended.expect("it ran").0.wait().expect("a process");
            let bytes = 1_000_000 * megabytes as u64;
            let is_right = match (status.code(), named) {
                (Some(0), Some(coflow)) => self.has(to, coflow, bytes),
                (code, _) => code.is_none_or(|code| code == 0),
            };
            let mut over = self.over.lock().expect("nobody panics");
            match status.code() {
                Some(_) => over.ended += 1,
                None => over.killed += 1,
            }
            if !is_right {
                over.wrong += 1;
                println!("coflow {named:?}: {status}, or not all of its {bytes} bytes");
            }
        }
    }

    /// Whether a receiver has had these bytes of a coflow, or soon has.
    fn has(&self, to: usize, coflow: u64, bytes: u64) -> bool {
        let has = || self.receivers[to].got().bytes.get(&coflow) == Some(&bytes);
        let begun = Instant::now();
        while !has() && begun.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(20));
        }
        has()
    }

    /// Kills the shuffle of a host, if one runs.
    fn kill(&self, port: usize) {
        if let Some(process) = &mut *self.running[port].lock().expect("nobody panics") {
            // It may have ended.
            let _ = process.0.kill();
        }
    }
}

fn kill(process: &mut Child) {
    process.kill().expect("a process");
    process.wait().expect("a process");
}

fn socket(port: usize) -> String {
    format!("data/agent-of-{port}.sock")
}

fn serve(folder: &TestFolder, clients: &str, agents: &str) -> Coordinator {
    let settings: Vec<&str> = SETTINGS.split(' ').collect();
    let mut command = Coordinator::command(folder, clients, agents, &settings);
    Coordinator::spawn(command.stderr(Stdio::null()))
}

fn join(folder: &TestFolder, coordinator: &Coordinator, port: usize) -> Killed {
    let mut command = agent(folder, coordinator, &port.to_string(), &folder.path("data"));
    command.args(["--socket", &socket(port)]).stderr(Stdio::null());
    Killed(command.spawn().expect("covey agent"))
}

/// Memory that a process has allocated, in MiB, without pages of the program, which the system
/// loads and drops.
fn taken_mib(process: &Child) -> f64 {
    let path = format!("/proc/{}/status", process.id());
    let status = fs::read_to_string(path).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line");
    line.trim_end_matches("kB").trim().parse::<f64>().expect("a number") / 1024.0
}

/// Memory at a time.
struct Sample {
    at_s: f64,
    mib: f64,
    /// Which coordinator it is.
    life: usize,
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: Vec<f64>) -> f64 {
    let values = sorted(values);
    values[values.len() / 2]
}

/// How much the coordinators' maxima grow during these samples, by their trend.
fn growth(samples: &[&Sample]) -> f64 {
    let mut peaks: BTreeMap<usize, &Sample> = BTreeMap::new();
    for sample in samples {
        let peak = peaks.entry(sample.life).or_insert(sample);
        if sample.mib > peak.mib {
            *peak = sample;
        }
    }
    let peaks: Vec<&Sample> = peaks.into_values().collect();
    let pairs = peaks.iter().enumerate().flat_map(|(n, a)| peaks[..n].iter().map(move |b| (a, b)));
    let slope = median(pairs.map(|(a, b)| (a.mib - b.mib) / (a.at_s - b.at_s)).collect());
    let time_s = samples[samples.len() - 1].at_s - samples[0].at_s;
    slope * time_s / median(peaks.iter().map(|peak| peak.mib).collect())
}

/// Prints memory by time, and returns its growth if the run was long enough.
fn tell(samples: &[Sample], seconds: f64) -> f64 {
    println!("| minutes | least, MiB | median | most |\n|--:|--:|--:|--:|");
    let step_s = (300.0 * (seconds / 3600.0).round()).max(60.0);
    for part in samples.chunk_by(|a, b| (a.at_s / step_s) as u32 == (b.at_s / step_s) as u32) {
        let minute = (part[0].at_s / step_s).floor() * step_s / 60.0;
        let all = sorted(part.iter().map(|sample| sample.mib).collect());
        let (least, middle, most) = (all[0], all[all.len() / 2], all[all.len() - 1]);
        let end = minute + step_s / 60.0;
        println!("| {minute:.0} to {end:.0} | {least:.1} | {middle:.1} | {most:.1} |");
    }
    if seconds < 2.0 * WARM_UP_S {
        println!("too short to tell whether memory is flat");
        return 0.0;
    }
    let warm_s = WARM_UP_S.max(seconds / 3.0);
    let warm: Vec<&Sample> = samples.iter().filter(|sample| sample.at_s >= warm_s).collect();
    let growth = growth(&warm);
    println!("memory after the warm-up: {} samples, trend {:+.1} %", warm.len(), 100.0 * growth);
    growth
}

#[test]
fn a_leak_is_a_trend_and_a_peak_is_none() {
    let growth = |mib: fn(u32) -> f64| {
        let sample = |n| Sample { at_s: f64::from(5 * n), mib: mib(n), life: n as usize / 12 };
        let samples: Vec<Sample> = (0..600).map(sample).collect();
        growth(&samples.iter().collect::<Vec<_>>())
    };
    let leak = growth(|n| 7.0 + f64::from(n) / 600.0);
    assert!(leak > 0.12 && leak < 0.14, "{leak}");
    assert_eq!(growth(|n| if n == 300 { 70.0 } else { 7.0 }), 0.0);
}

#[test]
#[ignore = "takes SOAK_SECONDS; make slow WHAT=dead-soak"]
fn nothing_is_stuck_after_kills_at_random() {
    let _quiet = quiet();
    let seconds = std::env::var("SOAK_SECONDS").map_or(60.0, |text| text.parse().expect("seconds"));
    let folder = TestFolder::new();
    let mut coordinator = serve(&folder, "127.0.0.1:0", "127.0.0.1:0");
    let (clients, agents_at) = (coordinator.clients.to_string(), coordinator.agents.to_string());
    let mut agents: Vec<Killed> =
        (0..PORTS).map(|port| join(&folder, &coordinator, port)).collect();
    let began = Instant::now();
    let soak = Soak {
        folder: &folder,
        clients: clients.clone(),
        receivers: (0..PORTS).map(|_| Receiver::start()).collect(),
        running: Default::default(),
        over: Mutex::default(),
        end: began + Duration::from_secs_f64(seconds),
        drawn: AtomicU64::new(0),
    };
    let (mut samples, mut life, mut stuck) = (Vec::new(), 0, 0);
    scope(|scope| {
        let soak = &soak;
        let send = |port| scope.spawn(move || soak.send(port));
        let hosts: Vec<_> = (0..PORTS).map(send).collect();
        for round in 1.. {
            sleep(Duration::from_secs(2));
            let at_s = began.elapsed().as_secs_f64();
            if at_s >= seconds {
                break;
            }
            let mib = taken_mib(&coordinator.process);
            samples.push(Sample { at_s, mib, life });
            soak.kill(soak.draw(PORTS));
            if round % 30 == 10 {
                let port = soak.draw(PORTS);
                kill(&mut agents[port].0);
                agents[port] = join(&folder, &coordinator, port);
            }
            if round % 30 == 25 {
                kill(&mut coordinator.process);
                sleep(Duration::from_secs(1));
                coordinator = serve(&folder, &clients, &agents_at);
                life += 1;
                let over = soak.over.lock().expect("nobody panics");
                println!("{at_s:.0} s: {} ended, {} killed, {mib:.1} MiB", over.ended, over.killed);
            }
        }
        let at_most = Instant::now() + Duration::from_secs(120);
        while Instant::now() < at_most && hosts.iter().any(|host| !host.is_finished()) {
            sleep(Duration::from_millis(100));
        }
        stuck = hosts.iter().filter(|host| !host.is_finished()).count();
        (0..PORTS).for_each(|port| soak.kill(port));
    });
    // The coordinator keeps flows with bytes on their way for `--lost-after`.
    sleep(Duration::from_secs(8));
    let (rates, present, idle) = block_on(async {
        let mut client = coordinator.client(&folder).await;
        let schedule = client.get("/v1/schedule").await.expect("an answer").json();
        let rates = schedule["items"].as_array().expect("a list").len();
        let present = metric(&mut client, "covey_coflows").await;
        (rates, present, metric(&mut client, "covey_coflows_idle").await)
    });
    let (compared, differ) = soak.receivers.iter().fold((0, 0), |(compared, differ), receiver| {
        let got = receiver.got();
        (compared + got.compared, differ + got.wrong)
    });
    let Over { ended, killed, wrong } = *soak.over.lock().expect("nobody panics");
    println!("at the end: {ended} ended, {killed} killed, {wrong} wrong, {stuck} stuck");
    println!("{compared} flows compared, {differ} differ");
    println!("{present} coflows have not ended, {idle} of them idle, {rates} rates");
    let growth = tell(&samples, seconds);
    assert_eq!((wrong, stuck, differ, rates), (0, 0, 0, 0));
    assert_eq!(present, idle);
    // Flows of a killed shuffle may have ended before, so there may be more.
    assert!(compared >= 2 * ended, "some are missing");
    assert!(growth <= MAX_GROWTH, "memory grows");
}
