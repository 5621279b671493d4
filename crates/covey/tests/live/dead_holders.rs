//! Dead and stopped applications, agents and receivers hold no ports. An application sends 100 MB
//! alone; a second one fails half-way; two seconds later the same ports carry 100 MB again. Each
//! test prints the times as a row.

use std::process::Command;
use std::sync::Once;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::common::TestFolder;
use crate::harness::{block_on, joined, token, until, watch};
use crate::hosts::{Hosts, signal};
use crate::shuffles::{
    Application, ENDLESS, MEGABYTES, PORTS, Receiver, head_once, program, quiet,
};

/// How many times as long as alone a shuffle may take.
const MOST: f64 = 1.3;
/// The time until a failure is reported, in seconds.
pub const MOST_REPORTED_S: f64 = 5.0;
/// The time after which the ports are free.
const FREE: Duration = Duration::from_secs(2);
/// When an application fails.
pub const HALF_WAY: Duration = Duration::from_millis(1500);

/// Prints a shuffle alone, and one after a failure that was reported after a time.
pub fn check(case: &str, alone_s: f64, after_s: f64, reported_s: Option<f64>) {
    static HEAD: Once = Once::new();
    head_once(&HEAD, "| case | alone | after | × | reported |");
    let times = after_s / alone_s;
    let reported = reported_s.map_or(String::new(), |reported_s| format!("{reported_s:.1} s"));
    println!("| {case} | {alone_s:.2} s | {after_s:.2} s | {times:.2} | {reported} |");
    assert!(times <= MOST, "at most {MOST} times as long");
}

/// A coordinator with two hosts and two receivers, where a shuffle has been sent alone.
struct Setting {
    hosts: Hosts,
    to: Receiver,
    other: Receiver,
    alone_s: f64,
    folder: TestFolder,
}

impl Setting {
    async fn with(policy: &str) -> Setting {
        let folder = TestFolder::new();
        let hosts = Hosts::start(&folder, &[&PORTS[..], &["--policy", policy]].concat()).await;
        let [to, other] = [Receiver::start(), Receiver::start()];
        let mut it = Setting { hosts, to, other, alone_s: 30.0, folder };
        it.alone_s = it.another("alone").await;
        it
    }

    /// Starts a shuffle from port 0 to port 1.
    fn send(&self, to: &Receiver, name: &str, megabytes: u32) -> Application {
        let mut command = Command::new(program());
        command.args(["send", &to.address, "--name", name, "--megabytes", &megabytes.to_string()]);
        command.args(["--coordinator", &self.hosts.coordinator.clients.to_string()]);
        command.arg("--agent").arg(self.folder.path("data/agent.sock"));
        command.arg("--credentials").arg(self.folder.path("data"));
        let application = Application::spawn(&mut command);
        assert!(application.is_scheduled(), "{name}");
        application
    }

    /// Sends a shuffle, and returns how many seconds it took.
    async fn another(&self, name: &str) -> f64 {
        let mut application = self.send(&self.to, name, MEGABYTES);
        let took_s = application.ended(20.0 * self.alone_s).await;
        self.to.has(&application, MEGABYTES).await;
        took_s
    }

    /// Starts a shuffle that does not end, and waits until it is half-way.
    async fn half_way(&self, to: &Receiver) -> Application {
        let application = self.send(to, "dead", ENDLESS);
        sleep(HALF_WAY).await;
        application
    }

    fn kill_agent(&mut self) {
        drop(self.hosts.agents.remove(0));
    }

    async fn start_agent(&mut self) {
        until(5, "it goes", async || joined(&mut self.hosts.client).await == 1).await;
        self.hosts.start_agent(&self.folder, "0").await;
    }

    /// The seconds until an event, a metric and `covey status` report an application.
    async fn reported_s(&mut self, dead: &Application) -> f64 {
        let began = Instant::now();
        let coflow = dead.coflow().expect("it is registered");
        let event = format!(r#""type":"idle","id":{coflow},"#);
        let token = token(&self.folder);
        watch(&self.hosts.coordinator, &token, "Last-Event-ID: 1-0\r\n", &event);
        until(5, "a metric", async || {
            let metrics = self.hosts.client.get("/metrics").await.expect("an answer").body;
            let metrics = String::from_utf8(metrics).expect("text");
            metrics
                .lines()
                .any(|line| line.starts_with("covey_flows_idle{") && !line.ends_with(" 0"))
        })
        .await;
        let coordinator = self.hosts.coordinator.clients.to_string();
        let status = ["status", "--coordinator", &coordinator, "--credentials", "data"];
        until(5, "a line of the status", async || {
            let status = self.folder.results(&status);
            status
                .lines()
                .any(|line| line.contains(" idle   dead ") && line.contains(" unused for "))
        })
        .await;
        let reported_s = began.elapsed().as_secs_f64();
        assert!(reported_s <= MOST_REPORTED_S, "reported after {reported_s:.1} s");
        reported_s
    }
}

/// Lets a shuffle fail under a policy; another has the ports two seconds later.
fn fails(case: &str, policy: &str, fail: impl AsyncFnOnce(&mut Setting) -> Application) {
    let _quiet = quiet();
    block_on(async {
        let mut it = Setting::with(policy).await;
        let dead = fail(&mut it).await;
        let free = Instant::now() + FREE;
        let reported_s = it.reported_s(&dead).await;
        sleep_until(free).await;
        check(case, it.alone_s, it.another("after").await, Some(reported_s));
    });
}

#[test]
#[ignore = "takes ten seconds for each policy; make slow WHAT=dead-holders"]
fn killed_applications_under_every_policy() {
    // Under `stream` receivers decide, and policies without labels take no registered coflows.
    let policies = covey_sched::policies().iter().map(|it| (it.name, it.knows));
    let policies = policies.filter(|(name, knows)| *name != "stream" && *knows != "unlabelled");
    let fails = |name: &str| {
        fails(&format!("killed, `{name}`"), name, async |it| {
            let mut dead = it.half_way(&it.to).await;
            dead.process.0.kill().expect("a process");
            dead
        });
    };
    // The others are tried, too.
    let failed = policies.filter(|(name, _)| std::panic::catch_unwind(|| fails(name)).is_err());
    assert_eq!(failed.collect::<Vec<_>>(), []);
}

#[test]
#[ignore = "takes ten seconds; make slow WHAT=dead-holders"]
fn an_agent_that_is_back_without_its_application() {
    fails("agent back without it", "covey", async |it| {
        let mut dead = it.half_way(&it.to).await;
        it.kill_agent();
        dead.process.0.kill().expect("a process");
        sleep(Duration::from_millis(500)).await;
        it.start_agent().await;
        dead
    });
}

#[test]
#[ignore = "takes ten seconds; make slow WHAT=dead-holders"]
fn an_application_that_ended_while_its_agent_was_away() {
    fails("ended while its agent was away", "covey", async |it| {
        let mut dead = it.send(&it.to, "dead", 50);
        sleep(Duration::from_millis(500)).await;
        it.kill_agent();
        dead.ended(60.0).await;
        it.to.has(&dead, 50).await;
        it.start_agent().await;
        dead
    });
}

#[test]
#[ignore = "takes ten seconds; make slow WHAT=dead-holders"]
fn a_receiver_that_is_stopped() {
    fails("receiver stopped", "covey", async |it| {
        let dead = it.half_way(&it.other).await;
        signal(&it.other.process.0, "STOP");
        dead
    });
}

#[test]
#[ignore = "takes ten seconds; make slow WHAT=dead-holders"]
fn a_receiver_that_is_killed() {
    let _quiet = quiet();
    block_on(async {
        let mut it = Setting::with("covey").await;
        let mut dead = it.half_way(&it.other).await;
        it.other.process.0.kill().expect("a process");
        until(10, "its sender ends", async || {
            dead.process.0.try_wait().expect("a process").is_some()
        })
        .await;
        check("receiver killed", it.alone_s, it.another("after").await, None);
    });
}

#[test]
#[ignore = "takes ten seconds; make slow WHAT=dead-holders"]
fn an_agent_that_is_back_with_its_application() {
    let _quiet = quiet();
    block_on(async {
        let mut it = Setting::with("covey").await;
        let mut application = it.send(&it.to, "goes-on", MEGABYTES);
        sleep(Duration::from_secs(1)).await;
        it.kill_agent();
        sleep(Duration::from_millis(500)).await;
        it.start_agent().await;
        let took_s = application.ended(20.0 * it.alone_s).await;
        it.to.has(&application, MEGABYTES).await;
        check("agent back, with it", it.alone_s, took_s, None);
    });
}

#[test]
#[ignore = "takes a minute; make slow WHAT=dead-holders"]
fn an_application_that_is_stopped_for_half_a_minute() {
    let _quiet = quiet();
    block_on(async {
        let stop = Duration::from_secs(30);
        let mut it = Setting::with("covey").await;
        let mut stopped = it.send(&it.to, "dead", MEGABYTES);
        sleep(HALF_WAY).await;
        signal(&stopped.process.0, "STOP");
        let since = Instant::now();
        let reported_s = it.reported_s(&stopped).await;
        sleep_until(since + FREE).await;
        check("stopped: others meanwhile", it.alone_s, it.another("after").await, Some(reported_s));
        sleep_until(since + stop).await;
        signal(&stopped.process.0, "CONT");
        let took_s = stopped.ended(60.0).await - stop.as_secs_f64();
        it.to.has(&stopped, MEGABYTES).await;
        check("stopped: it, less the stop", it.alone_s, took_s, None);
    });
}
