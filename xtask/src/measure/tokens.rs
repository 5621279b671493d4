//! Flows without tokens, with tokens, and with tokens and TLS, by turns. Four coordinators have two
//! agents each, so that two rows show what differs anyway. An example of covey-client measures it.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::Result;
use crate::program::{Background, Covey, example, output, run};
use crate::scratch::Scratch;

/// Measure flows with and without tokens
#[derive(Args)]
pub struct Arguments {}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let covey = Covey::find()?;
        let bench = example("covey-client", "token_bench")?;
        run(&mut Command::new("uptime"))?;
        // Before `processes`, so that they end first.
        let scratch = Scratch::new()?;
        let mut processes = Vec::new();
        let mut all = Vec::new();
        for (name, mode) in [("off", "off"), ("off-again", "off"), ("on", "on"), ("on-again", "on")]
        {
            let data = scratch.path(name)?;
            let (coordinator, clients, agents) = serve(&covey, &data, mode)?;
            processes.push(coordinator);
            for port in ["0", "1"] {
                processes.push(agent(&covey, &data, port, &agents)?);
            }
            all.push((name, format!("{clients}={data}")));
        }
        let ca = scratch.path("ca")?;
        output(&mut covey.command(["serve", "--init", "--data", &ca]))?;
        let mut bench = Command::new(bench);
        bench.args(all.iter().map(|(name, hosts)| format!("{name}={hosts}")));
        bench.args(all.last().map(|(_, hosts)| format!("tls={hosts}={ca}")));
        run(&mut bench)
    }
}

/// Starts a coordinator; returns its addresses for clients and for agents, too.
fn serve(covey: &Covey, data: &str, mode: &str) -> Result<(Background, String, String)> {
    let mut command =
        covey.command(["serve", "--data", data, "--ports", "2", "--port-rate", "100gbps"]);
    command.args(["--policy", "fair", "--flow-tokens", mode, "--log", "warn"]);
    command.args(["--clients", "127.0.0.1:0", "--agents", "127.0.0.1:0"]);
    let out = format!("{data}.out");
    let coordinator = Background(command.stdout(File::create(&out)?).spawn()?);
    let address = |of: &str| {
        let text = fs::read_to_string(&out).ok()?;
        // The last line is whole if another follows, or the line's end.
        let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let mut found = lines.filter_map(|line| line.strip_prefix(of)?.strip_prefix(' '));
        found.next().map(str::to_owned)
    };
    let agents = wait_for(&format!("{data}: an address for agents"), || address("agents"))?;
    let clients = wait_for(&format!("{data}: an address for clients"), || address("clients"))?;
    Ok((coordinator, clients, agents))
}

/// Starts the agent of a port, and waits for its socket.
fn agent(covey: &Covey, data: &str, port: &str, coordinator: &str) -> Result<Background> {
    let socket = format!("{data}/{port}.sock");
    let mut command = covey.command(["agent", "--port", port, "--coordinator", coordinator]);
    command.args(["--credentials", data, "--socket", &socket, "--log", "warn"]);
    let agent = Background(command.spawn()?);
    wait_for(&socket, || Path::new(&socket).exists().then_some(()))?;
    Ok(agent)
}

/// Waits until something is there, for at most ten seconds.
fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> Result<T> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(10) {
        if let Some(found) = found() {
            return Ok(found);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Err(format!("{what} is not there after ten seconds").into())
}
