//! What `covey attach` costs, and how soon a rate is in force. Two hosts and a switch are network
//! namespaces, with links of 10 Gbit/s:
//!
//! - the part of a processor that `covey attach` takes to watch 1,000 and 10,000 sockets, each of
//!   which sends a kilobyte every few seconds, with `--observe` and as an agent;
//! - the time from when the coordinator sends a schedule until it is in force at 1,000 sockets that
//!   send as fast as they can;
//! - how fast a flow is that is watched and not scheduled, beside one that is not, in pairs.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use clap::Args;
use serde_json::Value;

use crate::Result;
use crate::namespace::{Namespace, tc};
use crate::program::{Background, Covey, open_many_files, output};
use crate::scratch::Scratch;
use crate::table::Table;

/// Measure what `covey attach` costs; needs root, iproute2, util-linux and BPF
#[derive(Args)]
pub struct Arguments {
    /// How long each number of sockets is watched, in seconds
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// How many pairs of flows are compared
    #[arg(long, default_value = "8", value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
}

/// The addresses of the host that sends, the one that receives, and the switch.
const SENDER: &str = "10.77.0.1";
const RECEIVER: &str = "10.77.0.2";
const SWITCH: &str = "10.77.0.100";
/// Where the receiver accepts connections.
const SINK: &str = "10.77.0.2:9911";

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        open_many_files()?;
        let bench = Bench::new()?;
        let _sink = bench.traffic(&bench.receiver, &format!("sink {SINK}"))?;
        print!("{}", bench.costs(Duration::from_secs(self.seconds))?);
        println!("{}", bench.delays()?);
        println!("{}", bench.throughput(self.pairs)?);
        Ok(())
    }
}

/// The hosts, and a coordinator on the switch.
struct Bench {
    covey: Covey,
    scratch: Scratch,
    sender: Namespace,
    receiver: Namespace,
    switch: Namespace,
}

impl Bench {
    fn new() -> Result<Self> {
        let covey = Covey::find()?;
        let switch = Namespace::new("switch")?;
        switch.ip("link add name sw0 type bridge")?;
        switch.ip(&format!("addr add {SWITCH}/24 dev sw0"))?;
        switch.ip("link set dev sw0 up")?;
        let host = |word: &str, address: &str| -> Result<Namespace> {
            let host = Namespace::new(word)?;
            let peer = format!("type veth peer name {word} netns {}", switch.name);
            host.ip(&format!("link add eth0 {peer}"))?;
            host.ip(&format!("addr add {address}/24 dev eth0"))?;
            host.ip("link set eth0 up")?;
            switch.ip(&format!("link set {word} master sw0"))?;
            switch.ip(&format!("link set {word} up"))?;
            for (place, device) in [(&switch, word), (&host, "eth0")] {
                let shape = "root tbf rate 10gbit burst 64k limit 400k";
                tc(place, &format!("qdisc add dev {device} {shape}"))?;
            }
            Ok(host)
        };
        let (sender, receiver) = (host("sender", SENDER)?, host("receiver", RECEIVER)?);
        let bench = Self { covey, scratch: Scratch::new()?, sender, receiver, switch };
        let data = bench.scratch.path("data")?;
        let init = ["serve", "--data", &data, "--init", "--name", SWITCH, "--agent", "0-1"];
        output(&mut bench.covey.command(init))?;
        Ok(bench)
    }

    /// Starts a program of [`crate::traffic`] on a host.
    fn traffic(&self, host: &Namespace, words: &str) -> Result<Started> {
        let mut command = host.command(env::current_exe()?);
        Started::new(command.arg("traffic").args(words.split(' ')))
    }

    /// Starts a command of Covey on a host, whose log goes to a file.
    fn logged(&self, host: &Namespace, log: &str, words: &[&str]) -> Result<Command> {
        let mut command = host.command(&self.covey.path);
        command.args(words).args(["--log", "debug", "--log-json"]);
        command.stderr(File::create(self.scratch.path(log)?)?);
        Ok(command)
    }

    /// The log of a command that has ended.
    fn log(&self, name: &str) -> Result<String> {
        Ok(fs::read_to_string(self.scratch.path(name)?)?)
    }

    /// Starts the coordinator.
    fn serve(&self) -> Result<Started> {
        let (data, clients) = (self.scratch.path("data")?, format!("{SWITCH}:7420"));
        let agents = format!("{SWITCH}:7421");
        let words = ["serve", "--data", &data, "--ports", "2", "--port-rate", "10gbps"];
        let more = ["--policy", "coda", "--clients", &clients, "--agents", &agents];
        Started::new(&mut self.logged(&self.switch, "serve", &[&words[..], &more].concat())?)
    }

    /// Starts the agent of a host.
    fn agent(&self, host: &Namespace, port: &str) -> Result<Background> {
        let credentials = self.scratch.path(&format!("data/agents/{port}"))?;
        let agents = format!("{SWITCH}:7421");
        let words = ["attach", "--host", "--port", port, "--coordinator", &agents];
        let words = [&words[..], &["--credentials", &credentials]].concat();
        Ok(Background(self.logged(host, port, &words)?.spawn()?))
    }

    /// Starts a coordinator and the agents of the sender and the receiver.
    fn scheduled(&self) -> Result<(Background, Background, Started)> {
        let coordinator = self.serve()?;
        let receiver = self.agent(&self.receiver, "1")?;
        let sender = self.agent(&self.sender, "0")?;
        thread::sleep(Duration::from_secs(1));
        Ok((sender, receiver, coordinator))
    }

    /// Starts to watch the sender.
    fn observe(&self) -> Result<Background> {
        let mut command = self.sender.command(&self.covey.path);
        command.args(["attach", "--observe", "--host", "--output", "/dev/null"]);
        let watcher = Background(command.stderr(Stdio::null()).spawn()?);
        thread::sleep(Duration::from_secs(1));
        Ok(watcher)
    }

    /// What it costs to watch.
    fn costs(&self, time: Duration) -> Result<Table> {
        let mut table = Table::new(0, ["sockets", "", "of a processor"]);
        for count in [1_000, 10_000] {
            let _crowd = self.traffic(&self.sender, &format!("crowd {SINK} {count} 5"))?;
            let mut row = |how: &str, watcher: &Background| -> Result {
                let share = processor_share(watcher.0.id(), time)?;
                table.row([count.to_string(), how.to_owned(), format!("{:.2} %", 100.0 * share)]);
                Ok(())
            };
            row("`--observe`", &self.observe()?)?;
            row("agent", &self.scheduled()?.0)?;
        }
        Ok(table)
    }

    /// The time from a schedule's way out until it is in force.
    fn delays(&self) -> Result<String> {
        let processes = self.scheduled()?;
        let large = self.traffic(&self.sender, &format!("stream {SINK} 1000 15"))?;
        for _ in 0..10 {
            thread::sleep(Duration::from_secs(1));
            self.traffic(&self.sender, &format!("stream {SINK} 5 0.3"))?.line()?;
        }
        large.line()?;
        drop(processes);
        let sent_s = times(&self.log("serve")?, "a schedule is sent")?;
        let in_force_s = times(&self.log("0")?, "a schedule is in force")?;
        let both = in_force_s.iter().filter_map(|(key, end)| Some((sent_s.get(key)?, end)));
        let mut delays_ms: Vec<f64> =
            both.map(|(sent, end)| 1e3 * (end - sent).rem_euclid(DAY_S)).collect();
        delays_ms.sort_by(f64::total_cmp);
        let count = delays_ms.len();
        if count == 0 {
            return Err("no schedule was in force".into());
        }
        let (median, p95) = (median(&delays_ms), delays_ms[count * 95 / 100]);
        Ok(format!(
            "\nA schedule is in force {median:.1} ms after it was sent (median; p95 {p95:.1} ms, \
             {count} schedules)."
        ))
    }

    /// How fast a flow is that is watched only.
    fn throughput(&self, pairs: u32) -> Result<String> {
        let stream = || -> Result<f64> {
            Ok(self.traffic(&self.sender, &format!("stream {SINK} 1 2"))?.line()?.parse()?)
        };
        let mut ratios = Vec::new();
        for _ in 0..pairs {
            let plain = stream()?;
            let _watcher = self.observe()?;
            ratios.push(stream()? / plain);
        }
        ratios.sort_by(f64::total_cmp);
        let (median, least, most) = (median(&ratios), ratios[0], ratios[ratios.len() - 1]);
        Ok(format!(
            "\nA flow that is watched has {median:.3} of the throughput of one that is not (median of \
             {pairs} pairs, from {least:.3} to {most:.3})."
        ))
    }
}

/// A process that prints a line when it is ready.
struct Started {
    _process: Background,
    lines: BufReader<ChildStdout>,
}

impl Started {
    /// Starts a command, and waits until it is ready.
    fn new(command: &mut Command) -> Result<Self> {
        let mut process = command.stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(process.stdout.take().ok_or("the process has no output")?);
        let mut started = Self { _process: Background(process), lines };
        started.read()?;
        Ok(started)
    }

    /// The next line that it prints, after which the process ends.
    fn line(mut self) -> Result<String> {
        self.read()
    }

    fn read(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.lines.read_line(&mut line)? == 0 {
            return Err("a process has ended too early".into());
        }
        Ok(line.trim_end().to_owned())
    }
}

/// The part of a processor that a process takes for some time.
fn processor_share(process: u32, time: Duration) -> Result<f64> {
    thread::sleep(Duration::from_secs(3));
    let (before_s, begin) = (cpu_s(process)?, Instant::now());
    thread::sleep(time);
    Ok((cpu_s(process)? - before_s) / begin.elapsed().as_secs_f64())
}

/// The processor time of a process so far, in seconds.
fn cpu_s(process: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name, in parentheses, may have spaces.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
    let mut times = fields.ok_or("a process has no times")?.skip(11).map(str::parse::<f64>);
    let mut next = || times.next().ok_or("a process has no times");
    Ok((next()?? + next()??) / rustix::param::clock_ticks_per_second() as f64)
}

fn median(sorted: &[f64]) -> f64 {
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

/// The port, epoch and version of a schedule.
type Schedule = [u64; 3];
const DAY_S: f64 = 86400.0;

/// When a message was first logged of each schedule, in seconds of the day.
fn times(log: &str, message: &str) -> Result<HashMap<Schedule, f64>> {
    let mut found = HashMap::new();
    for line in log.lines().filter(|line| line.contains(message)) {
        let entry: Value = serde_json::from_str(line)?;
        let fields = entry.get("fields").unwrap_or(&entry);
        let [port, epoch, version] = ["port", "epoch", "version"].map(|name| fields[name].as_u64());
        let schedule =
            port.zip(epoch).zip(version).map(|((port, epoch), version)| [port, epoch, version]);
        let time_s = entry["timestamp"].as_str().and_then(second_of_day);
        let (schedule, time_s) =
            schedule.zip(time_s).ok_or_else(|| format!("no schedule: {line}"))?;
        found.entry(schedule).or_insert(time_s);
    }
    Ok(found)
}

/// The second of the day of a time such as `2026-11-29T17:31:05.25Z`.
fn second_of_day(time: &str) -> Option<f64> {
    let (_, clock) = time.trim_end_matches('Z').split_once('T')?;
    clock.split(':').try_fold(0.0, |sum, part| Some(60.0 * sum + part.parse::<f64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_first_message_of_a_schedule() -> Result {
        let line = |second: &str, message: &str| {
            let fields = format!(r#""message":"{message}","port":0,"epoch":1,"version":7"#);
            format!(
                r#"{{"timestamp":"2026-11-29T01:02:{second}Z","level":"DEBUG","fields":{{{fields}}}}}"#
            )
        };
        let log = [line("03.5", "other"), line("04.25", "sent"), line("05", "sent")].join("\n");
        assert_eq!(times(&log, "sent")?, HashMap::from([([0, 1, 7], 3724.25)]));
        Ok(())
    }

    #[test]
    fn the_median_of_an_even_number_is_between_two() {
        assert_eq!((median(&[1.0, 2.0, 9.0]), median(&[1.0, 2.0, 4.0, 9.0])), (2.0, 3.0));
    }
}
