//! The processes of a testbed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;

use crate::error::TestbedError;

/// A line that a process has said, or its end.
#[derive(Debug)]
pub struct Said {
    /// Which process.
    pub by: usize,
    /// The line; `None` at the end.
    pub line: Option<String>,
}

/// A process, which is killed when this is dropped.
pub struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Process {
    /// Starts a process in a group of its own, so that what is typed at the terminal does not end it.
    /// What it says goes to `listener`, under a number.
    pub fn start(
        name: impl Into<String>,
        command: &mut Command,
        listener: Option<(usize, Sender<Said>)>,
    ) -> Result<Process, TestbedError> {
        let name = name.into();
        let output = || if listener.is_some() { Stdio::piped() } else { Stdio::null() };
        let spawned = command.process_group(0).stdin(Stdio::piped()).stdout(output()).spawn();
        let mut child = spawned.map_err(|source| TestbedError::Process {
            process: name.clone(),
            what: source.to_string(),
        })?;
        let stdin = child.stdin.take();
        if let (Some((by, sender)), Some(stdout)) = (listener, child.stdout.take()) {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines() {
                    let Ok(line) = line else { break };
                    if sender.send(Said { by, line: Some(line) }).is_err() {
                        return;
                    }
                }
                // Nobody may listen any more.
                let _ = sender.send(Said { by, line: None });
            });
        }
        Ok(Process { name, child, stdin })
    }

    /// Tells it a line.
    pub fn tell(&mut self, line: &str) -> Result<(), TestbedError> {
        let written = match &mut self.stdin {
            Some(stdin) => writeln!(stdin, "{line}"),
            None => Ok(()),
        };
        written.map_err(|error| self.failed(error.to_string()))
    }

    /// It has not done what it should.
    pub fn failed(&self, what: impl Into<String>) -> TestbedError {
        TestbedError::Process { process: self.name.clone(), what: what.into() }
    }

    /// Seconds of CPU that it has used so far; 0 where the system does not tell.
    pub fn cpu_s(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        // Behind the name, which ends with the last parenthesis: user and system time are the 12th and
        // 13th field, in ticks.
        let stat = stat.unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let ticks = after.split_whitespace().skip(11).take(2);
        let ticks: f64 = ticks.filter_map(|field| field.parse::<f64>().ok()).sum();
        ticks / rustix::param::clock_ticks_per_second() as f64
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
