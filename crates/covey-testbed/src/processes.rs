//! The processes of a testbed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;

use crate::error::TestbedError;

/// A line of a process's output, or its end.
#[derive(Debug)]
pub struct Said {
    /// Number of the process.
    pub by: usize,
    /// The line; `None` at the end of the output.
    pub line: Option<String>,
}

/// A process. It is killed when this is dropped.
pub struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Process {
    /// Starts a process in a group of its own: signals from the terminal do not reach it. Its
    /// output goes to `listener`, with a number.
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
                // The receiver may be gone.
                let _ = sender.send(Said { by, line: None });
            });
        }
        Ok(Process { name, child, stdin })
    }

    /// Writes a line to the process's input.
    pub fn tell(&mut self, line: &str) -> Result<(), TestbedError> {
        let written = match &mut self.stdin {
            Some(stdin) => writeln!(stdin, "{line}"),
            None => Ok(()),
        };
        written.map_err(|error| self.failed(error.to_string()))
    }

    /// The error that this process has failed.
    pub fn failed(&self, what: impl Into<String>) -> TestbedError {
        TestbedError::Process { process: self.name.clone(), what: what.into() }
    }

    /// Seconds of CPU that the process has used so far; 0 if the system does not report them.
    pub fn cpu_s(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        // User and system time, in ticks, are the 12th and 13th field after the name, which ends
        // with the last parenthesis.
        let stat = stat.unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let ticks = after.split_whitespace().skip(11).take(2);
        let ticks: f64 = ticks.filter_map(|field| field.parse::<f64>().ok()).sum();
        ticks / rustix::param::clock_ticks_per_second() as f64
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
