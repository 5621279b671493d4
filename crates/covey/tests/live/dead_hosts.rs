//! A host that is cut off in the middle of a shuffle holds no port at the other end. Each host has
//! a network namespace of its own.

use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::common::TestFolder;
use crate::dead_holders::{HALF_WAY, MOST_REPORTED_S, check};
use crate::harness::{Coordinator, Killed, block_on, until};
use crate::namespaces::{AGENTS, CLIENTS, COORDINATOR, HOSTS, Namespaces, address};
use crate::shuffles::{Application, ENDLESS, MEGABYTES, Receiver, program, quiet};

/// A coordinator and three hosts.
struct Network {
    _coordinator: Coordinator,
    _agents: Vec<Killed>,
    namespaces: Namespaces,
    folder: TestFolder,
}

impl Network {
    async fn new(namespaces: Namespaces) -> Network {
        let folder = TestFolder::new();
        let coordinator = namespaces.serve(&folder, &["--port-rate", "200mbps"]);
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
            let mut command = namespaces.on(port, &command);
            Killed(command.stderr(Stdio::null()).spawn().expect("covey agent"))
        };
        let agents = HOSTS.into_iter().map(agent).collect();
        let it = Network { _coordinator: coordinator, _agents: agents, namespaces, folder };
        until(5, "agents join", async || it.status().contains("3 of 3 joined")).await;
        it
    }

    fn receiver(&self, host: u32) -> Receiver {
        let mut command = Command::new(program());
        command.args(["receive", &format!("{}:0", address(host))]);
        Receiver::spawn(&mut self.namespaces.on(host, &command))
    }

    fn send(&self, from: u32, to: u32, address: &str, name: &str, megabytes: u32) -> Application {
        let mut command = Command::new(program());
        command.args(["send", address, "--name", name, "--megabytes", &megabytes.to_string()]);
        command.args(["--to-port", &to.to_string(), "--agent", &format!("{from}.sock")]);
        command.args(["--coordinator", CLIENTS, "--credentials", "data"]);
        let mut command = self.namespaces.on(from, &command);
        let application = Application::spawn(command.current_dir(self.folder.path("")));
        assert!(application.is_scheduled(), "{name}");
        application
    }

    /// What `covey status` says.
    fn status(&self) -> String {
        let status = ["status", "--coordinator", CLIENTS, "--credentials", "data"];
        let mut command = self.namespaces.on(COORDINATOR, &self.folder.command(&status));
        let said = command.output().expect("covey status");
        String::from_utf8(said.stdout).expect("text")
    }
}

/// Cuts a host off in the middle of a shuffle from host 0 to host 1. Others use the port at the
/// other end when it is free: they send from a host to another.
fn cut_off(cut: u32, (from, to): (u32, u32), free_s: u64, case: &str, is_shown: fn(&str) -> bool) {
    let _quiet = quiet();
    let Some(namespaces) = Namespaces::new() else { return };
    block_on(async {
        let it = Network::new(namespaces).await;
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
