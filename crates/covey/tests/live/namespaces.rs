//! Hosts with a network namespace each, and a switch between them. Making them needs root.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::TestFolder;
use crate::harness::Coordinator;

/// Hosts with a port each.
pub const HOSTS: [u32; 3] = [0, 1, 2];
/// The host of the coordinator.
pub const COORDINATOR: u32 = 9;
/// Where the coordinator answers clients.
pub const CLIENTS: &str = "10.77.0.10:7420";
/// Where agents join the coordinator.
pub const AGENTS: &str = "10.77.0.10:7421";

/// Network namespaces, which are removed when it is dropped: hosts, and a switch between them.
pub struct Namespaces(String);

impl Namespaces {
    /// Makes them; `None`, with a line that says so, if this user may not.
    pub fn new() -> Option<Namespaces> {
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var_os("SKIP_NOTHING").is_none(), "it needs root");
            println!("skipped: hosts are made by root only");
            return None;
        }
        let it = Namespaces(format!("covey-{}", std::process::id()));
        let mut all = format!("netns add {}\n", it.name("s"));
        let mut switch = "link add name switch type bridge\nlink set switch up\n".to_owned();
        for host in hosts() {
            let (name, at) = (it.name(host), it.name("s"));
            all += &format!("netns add {name}\n");
            all += &format!("link add h{host} netns {at} type veth peer name eth netns {name}\n");
            switch += &format!("link set h{host} master switch up\n");
        }
        batch("ip", &[], &all);
        it.within("s", &switch);
        for host in hosts() {
            let address = format!("addr add {}/24 dev eth\n", address(host));
            it.within(host, &(address + "link set lo up\nlink set eth up\n"));
        }
        Some(it)
    }

    /// The name of a host's namespace, or of the switch's (`s`).
    fn name(&self, which: impl std::fmt::Display) -> String {
        format!("{}-{which}", self.0)
    }

    /// The file that stands for a host's namespace.
    pub fn file(&self, host: u32) -> String {
        format!("/run/netns/{}", self.name(host))
    }

    /// Gives `ip` lines that are for one namespace.
    pub fn within(&self, which: impl std::fmt::Display, lines: &str) {
        batch("ip", &["-n", &self.name(which)], lines);
    }

    /// Limits the links of [`HOSTS`] to a rate, both ways.
    pub fn limit(&self, rate: &str) {
        let line = |device: &str| {
            format!("qdisc add dev {device} root tbf rate {rate} burst 64k limit 400k\n")
        };
        let switch: String = HOSTS.iter().map(|host| line(&format!("h{host}"))).collect();
        batch("tc", &["-n", &self.name("s")], &switch);
        HOSTS.iter().for_each(|host| batch("tc", &["-n", &self.name(host)], &line("eth")));
    }

    /// The command, on a host. It sees the machine's control groups, unlike under `ip netns exec`.
    pub fn on(&self, host: u32, command: &Command) -> Command {
        let mut there = Command::new("nsenter");
        there.arg(format!("--net={}", self.file(host)));
        there.arg(command.get_program()).args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            there.current_dir(folder);
        }
        there
    }

    /// Starts a coordinator of [`HOSTS`] with these settings, at [`CLIENTS`] and [`AGENTS`]. The
    /// folder gets credentials, and `data/agents` those of each host.
    pub fn serve(&self, folder: &TestFolder, settings: &[&str]) -> Coordinator {
        let init = ["serve", "--data", "data", "--init", "--name", "10.77.0.10", "--agent", "0-2"];
        let made = folder.covey(&init);
        assert_eq!(made.status, Some(0), "{}", made.err);
        let settings = [&["--ports", "3"], settings].concat();
        let command = Coordinator::command(folder, CLIENTS, AGENTS, &settings);
        Coordinator::spawn(self.on(COORDINATOR, &command).stderr(Stdio::null()))
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for which in hosts().map(|host| host.to_string()).chain(["s".to_owned()]) {
            // The test has failed if it is not there.
            let _ = Command::new("ip").args(["netns", "del", &self.name(which)]).status();
        }
    }
}

/// The address of a host.
pub fn address(host: u32) -> String {
    format!("10.77.0.{}", host + 1)
}

/// All hosts, that of the coordinator among them.
fn hosts() -> impl Iterator<Item = u32> {
    HOSTS.into_iter().chain([COORDINATOR])
}

/// Gives lines to `ip` or `tc`.
fn batch(program: &str, arguments: &[&str], lines: &str) {
    let mut command = Command::new(program);
    command.args(arguments).args(["-batch", "-"]).stdin(Stdio::piped());
    let mut process = command.spawn().expect("it comes with iproute2");
    process.stdin.take().expect("its input").write_all(lines.as_bytes()).expect("it reads");
    assert!(process.wait().expect("it ends").success(), "{program}: {lines}");
}
