//! A host that is cut off in the middle of a shuffle holds no port at the other end. Each host has
//! a network namespace of its own.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::common::TestFolder;
use crate::dead_holders::{HALF_WAY, MOST_REPORTED_S, check};
use crate::harness::{Coordinator, Killed, block_on, until};
use crate::shuffles::{Application, ENDLESS, MEGABYTES, Receiver, program, quiet};

/// Three hosts with a port each, and that of the coordinator.
const HOSTS: [u32; 4] = [0, 1, 2, 9];
const CLIENTS: &str = "10.77.0.10:7420";
const AGENTS: &str = "10.77.0.10:7421";

/// Network namespaces, which are removed when it is dropped: hosts, and a switch between them.
struct Namespaces(String);

impl Namespaces {
    fn new() -> Namespaces {
        let it = Namespaces(format!("covey-{}", std::process::id()));
        let Namespaces(name) = &it;
        let mut all = format!("netns add {name}-s\n");
        let mut switch = "link add name switch type bridge\nlink set switch up\n".to_owned();
        for host in HOSTS {
            all += &format!("netns add {name}-{host}\n");
            all += &format!(
                "link add h{host} netns {name}-s type veth peer name eth netns {name}-{host}\n"
            );
            switch += &format!("link set h{host} master switch up\n");
        }
        ip(&[], &all);
        it.within("s", &switch);
        for host in HOSTS {
            let address = format!("addr add 10.77.0.{}/24 dev eth\n", host + 1);
            it.within(&host.to_string(), &(address + "link set lo up\nlink set eth up\n"));
        }
        it
    }

    /// Gives `ip` lines that are for one namespace.
    fn within(&self, which: &str, lines: &str) {
        ip(&["-n", &format!("{}-{which}", self.0)], lines);
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        let hosts = HOSTS.map(|host| host.to_string());
        for which in hosts.iter().map(String::as_str).chain(["s"]) {
            // The test has failed if it is not there.
            let name = format!("{}-{which}", self.0);
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}

fn ip(arguments: &[&str], lines: &str) {
    let mut command = Command::new("ip");
    command.args(arguments).args(["-batch", "-"]).stdin(Stdio::piped());
    let mut process = command.spawn().expect("ip");
    process.stdin.take().expect("its input").write_all(lines.as_bytes()).expect("it reads");
    assert!(process.wait().expect("ip").success(), "{lines}");
}

/// A coordinator and three hosts.
struct Network {
    _coordinator: Coordinator,
    _agents: Vec<Killed>,
    namespaces: Namespaces,
    folder: TestFolder,
}

impl Network {
    async fn new() -> Network {
        let (folder, namespaces) = (TestFolder::new(), Namespaces::new());
        let certificates = ["--init", "--name", "10.77.0.10", "--agent", "0-2"];
        let made = folder.covey(&[&["serve", "--data", "data"], &certificates[..]].concat());
        assert_eq!(made.status, Some(0), "{}", made.err);
        let on = |host, command: &Command| on(&namespaces, &folder, host, command);
        let settings = ["--ports", "3", "--port-rate", "200mbps"];
        let mut serve = on(9, &Coordinator::command(&folder, CLIENTS, AGENTS, &settings));
        let coordinator = Coordinator::spawn(serve.stderr(Stdio::null()));
        let agent = |port: u32| {
            let (socket, credentials) = (format!("{port}.sock"), format!("data/agents/{port}"));
            let command = folder.command(&[
                "agent",
                "--port",
                &port.to_string(),
                "--coordinator",
                AGENTS,
                "--credentials",
                &credentials,
                "--socket",
                &socket,
            ]);
            Killed(on(port, &command).stderr(Stdio::null()).spawn().expect("covey agent"))
        };
        let agents = (0..3).map(agent).collect();
        let it = Network { _coordinator: coordinator, _agents: agents, namespaces, folder };
        until(5, "agents join", async || it.status().contains("3 of 3 joined")).await;
        it
    }

    fn on(&self, host: u32, command: &Command) -> Command {
        on(&self.namespaces, &self.folder, host, command)
    }

    fn receiver(&self, host: u32) -> Receiver {
        let address = format!("10.77.0.{}:0", host + 1);
        let mut command = Command::new(program());
        Receiver::spawn(&mut self.on(host, command.args(["receive", &address])))
    }

    fn send(&self, from: u32, to: u32, address: &str, name: &str, megabytes: u32) -> Application {
        let mut command = Command::new(program());
        command.args(["send", address, "--name", name, "--megabytes", &megabytes.to_string()]);
        command.args(["--to-port", &to.to_string(), "--agent", &format!("{from}.sock")]);
        command.args(["--coordinator", CLIENTS, "--credentials", "data"]);
        let application = Application::spawn(&mut self.on(from, &command));
        assert!(application.is_scheduled(), "{name}");
        application
    }

    /// What `covey status` says.
    fn status(&self) -> String {
        let status = ["status", "--coordinator", CLIENTS, "--credentials", "data"];
        let said = self.on(9, &self.folder.command(&status)).output().expect("covey status");
        String::from_utf8(said.stdout).expect("text")
    }
}

/// The command, on a host.
fn on(namespaces: &Namespaces, folder: &TestFolder, host: u32, command: &Command) -> Command {
    let mut there = Command::new("ip");
    there.args(["netns", "exec", &format!("{}-{host}", namespaces.0)]);
    there.arg(command.get_program()).args(command.get_args()).current_dir(folder.path(""));
    there
}

/// Cuts a host off in the middle of a shuffle from host 0 to host 1. Others use the port at the
/// other end when it is free: they send from a host to another.
fn cut_off(cut: u32, (from, to): (u32, u32), free_s: u64, case: &str, is_shown: fn(&str) -> bool) {
    if !rustix::process::geteuid().is_root() {
        assert!(std::env::var_os("SKIP_NOTHING").is_none(), "it needs root");
        println!("skipped: hosts are cut off by root only");
        return;
    }
    let _quiet = quiet();
    block_on(async {
        let it = Network::new().await;
        let receivers = [it.receiver(1), it.receiver(2)];
        let receiver = &receivers[to as usize - 1];
        let another = async || {
            let mut application = it.send(from, to, &receiver.address, "other", MEGABYTES);
            let took_s = application.ended(120.0).await;
            receiver.has(&application, MEGABYTES).await;
            took_s
        };
        let alone_s = another().await;
        let _dead = it.send(0, 1, &receivers[0].address, "dead", ENDLESS);
        sleep(HALF_WAY).await;
        it.namespaces.within("s", &format!("link set h{cut} down\n"));
        let began = Instant::now();
        until(10, "a line of the status", async || is_shown(&it.status())).await;
        let reported_s = began.elapsed().as_secs_f64();
        sleep_until(began + Duration::from_secs(free_s)).await;
        check(case, alone_s, another().await, Some(reported_s));
        assert!(reported_s <= MOST_REPORTED_S.max(free_s as f64));
    });
}

#[test]
#[ignore = "needs root; make slow WHAT=dead-holders"]
fn a_receivers_host_that_is_cut_off() {
    cut_off(1, (0, 2), 2, "receiver's host cut off, from 2 s on", |status| {
        status.lines().any(|line| line.contains(" dead ") && line.contains(" unused for "))
    });
}

#[test]
#[ignore = "needs root; make slow WHAT=dead-holders"]
fn a_senders_host_that_is_cut_off() {
    // A host that says nothing is lost after `--lost-after`, 5 s.
    cut_off(0, (2, 1), 6, "sender's host cut off, from 6 s on", |status| {
        status.lines().any(|line| line.contains(" stalled ") && line.contains(" dead "))
    });
}
