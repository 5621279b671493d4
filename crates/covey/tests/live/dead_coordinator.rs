//! Applications deliver all their bytes whatever their coordinator does. Each test prints a row: a
//! shuffle of 100 MB takes four seconds if it is scheduled.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Once;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::time::sleep;

use crate::common::TestFolder;
use crate::harness::block_on;
use crate::hosts::{Hosts, signal};
use crate::shuffles::{Application, MEGABYTES, PORTS, Receiver, head_once, program, quiet};

/// The deadline of a call (`Options::deadline`), in seconds.
const DEADLINE_S: f64 = 2.0;
/// Time until an agent has noticed a silent coordinator and told its applications, in seconds: five
/// heartbeats and a second.
const NOTICED_S: f64 = 8.0;

/// A coordinator, and what an application is told of it.
struct Setting {
    hosts: Hosts,
    to: Receiver,
    coordinator: SocketAddr,
    credentials: PathBuf,
    agent: PathBuf,
    folder: TestFolder,
}

impl Setting {
    fn send(&self, to: &Receiver) -> Application {
        let mut command = Command::new(program());
        command.args(["send", &to.address, "--megabytes", &MEGABYTES.to_string()]);
        command.args(["--coordinator", &self.coordinator.to_string()]);
        command.arg("--agent").arg(&self.agent).arg("--credentials").arg(&self.credentials);
        Application::spawn(&mut command)
    }

    /// Waits for the end of a shuffle, and prints it.
    async fn check(&self, mut application: Application, case: &str, most_s: f64) -> Option<u64> {
        static HEAD: Once = Once::new();
        head_once(&HEAD, "| coordinator | coflow | register | in all | bytes |");
        let took_s = application.ended(120.0).await;
        self.to.has(&application, MEGABYTES).await;
        let Application { registered_s, .. } = application;
        let coflow = application.coflow();
        let how = coflow.map_or("not registered", |_| "scheduled");
        println!("| {case} | {how} | {registered_s:.2} s | {took_s:.2} s | {MEGABYTES},000,000 |");
        assert!(took_s <= most_s, "at most {most_s} s");
        assert!(registered_s < DEADLINE_S + 1.5);
        coflow
    }

    /// The same of a coflow that is scheduled.
    async fn scheduled(&self, application: Application, case: &str, most_s: f64) {
        assert!(self.check(application, case, most_s).await.is_some());
    }

    /// The same of a shuffle that is not registered.
    async fn unscheduled(&self, case: &str, most_s: f64) {
        assert!(self.check(self.send(&self.to), case, most_s).await.is_none());
    }
}

/// Runs a test with a coordinator.
fn with(more: &[&str], test: impl AsyncFnOnce(Setting)) {
    let _quiet = quiet();
    let folder = TestFolder::new();
    block_on(async {
        let hosts = Hosts::start(&folder, &[&PORTS[..], more].concat()).await;
        let (coordinator, to) = (hosts.coordinator.clients, Receiver::start());
        let (credentials, agent) = (folder.path("data"), folder.path("data/agent.sock"));
        test(Setting { hosts, to, coordinator, credentials, agent, folder }).await;
    });
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn one_that_works() {
    with(&[], async |it| it.scheduled(it.send(&it.to), "works", 5.5).await);
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn one_that_is_stopped_in_the_middle() {
    with(&[], async |it| {
        let sent = it.send(&it.to);
        sleep(Duration::from_secs(1)).await;
        signal(&it.hosts.coordinator.process, "STOP");
        it.scheduled(sent, "stopped (SIGSTOP) in the middle", 4.0 + NOTICED_S + DEADLINE_S).await;
    });
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn one_that_is_stopped_before() {
    with(&[], async |it| {
        signal(&it.hosts.coordinator.process, "STOP");
        it.unscheduled("stopped before", NOTICED_S + DEADLINE_S).await;
    });
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn one_that_is_killed_before() {
    with(&[], async |mut it| {
        it.hosts.coordinator.process.kill().expect("a process");
        sleep(Duration::from_secs(2)).await;
        it.unscheduled("killed before", 5.0).await;
    });
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn one_that_ends_in_the_middle() {
    with(&[], async |it| {
        let sent = it.send(&it.to);
        sleep(Duration::from_secs(1)).await;
        signal(&it.hosts.coordinator.process, "TERM");
        it.scheduled(sent, "ends in the middle (SIGTERM)", 8.0).await;
    });
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn one_whose_address_answers_nothing() {
    with(&[], async |mut it| {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        it.coordinator = listener.local_addr().expect("an address");
        it.unscheduled("its address answers nothing", DEADLINE_S + 3.0).await;
    });
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn one_whose_address_is_a_black_hole() {
    with(&[], async |mut it| {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        // The queue is full: further connections wait for ever.
        let listener = socket.listen(0).expect("a port");
        it.coordinator = listener.local_addr().expect("an address");
        for _ in 0..8 {
            let connect = TcpSocket::new_v4().expect("a socket").connect(it.coordinator);
            tokio::spawn(async {
                let _held = connect.await;
                std::future::pending::<()>().await;
            });
        }
        sleep(Duration::from_millis(200)).await;
        it.unscheduled("its address is a black hole", DEADLINE_S + 3.0).await;
    });
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn one_that_refuses_the_token() {
    with(&[], async |mut it| {
        it.credentials = it.folder.path("other");
        fs::create_dir(&it.credentials).expect("a folder");
        it.folder.write("other/token", "wrong");
        it.unscheduled("401", 3.0).await;
    });
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn one_that_is_full() {
    with(&["--max-coflows", "1"], async |it| {
        let other = Receiver::start();
        let _only = it.send(&other);
        it.unscheduled("full", 3.0).await;
    });
}

#[test]
#[ignore = "takes seconds; make slow WHAT=dead-coordinator"]
fn none_and_no_agent() {
    with(&[], async |mut it| {
        it.coordinator = "127.0.0.1:1".parse().expect("an address");
        it.agent = it.folder.path("nowhere");
        it.unscheduled("none, and no agent", 3.0).await;
    });
}
