//! `covey whatif`: what scheduling or a faster network would have saved.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Args;
use covey_experiment::{FABRIC, Silent, cores};
use covey_report::{whatif_page, write_json};
use covey_spark::{Log, Status};
use covey_trace::Workload;
use covey_whatif::{Offsets, Question};

use crate::failure::Failure;
use crate::invocation;
use crate::output;

/// Say what scheduling or a faster network would have saved, from event logs of Spark
#[derive(Debug, Args)]
#[command(after_help = "\
Logs are those of Spark 3 and 4: plain, or compressed by gzip, zstd, lz4, snappy or lzf; rolling
folders (eventlog_v2_…), logs of running applications, and folders of logs. A log that cannot be
read or has nothing on the network gets a status and the reason; the others count.

Bytes are exact. Times are estimated by replaying the tasks: a task takes its slot, fetches and
computes, so what it delays follows later. Each estimate is given from the least to the most.
Several applications are replayed together, on hosts that they share.

Examples:
  covey whatif eventlog_v2_app-20260101-0001
  covey whatif spark-events --offsets random:20 --hosts 4 --link-rate 10gbps,1gbps
  covey whatif app.zstd --codecs zstd,none --report gain.html --json
  covey whatif app.zstd -o trace.jsonl && covey compare trace.jsonl --port-rate 10gbps
docs/start-engineer.md has an example; docs/whatif.md says what is exact, what is assumed, and how far to trust it.")]
pub struct WhatIf {
    /// Event logs: files, rolling folders, or folders of logs
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Speeds of the hosts' links; the first is that of the cluster
    #[arg(long, alias = "port-rate", value_name = "RATE,…", default_value = "10gbps,1gbps")]
    link_rate: String,
    /// The network, as in `covey simulate`
    #[arg(long, value_name = "FABRIC", default_value = FABRIC)]
    fabric: String,
    /// Number of hosts, which applications share in turn [default: hosts of the same name are the
    /// same]
    #[arg(long, value_name = "N")]
    hosts: Option<NonZeroU32>,
    /// The policies, each NAME[:key=value,…]; gains are over fair, or else over the first
    #[arg(long, value_name = "LIST", default_value = "fair,covey,sebf")]
    policies: String,
    /// Starts of several applications: clock for those of the logs, random:N for N draws, or a time
    /// for each such as 0s,30s
    #[arg(long, value_name = "OFFSETS", default_value = "clock")]
    offsets: String,
    /// Other codecs of shuffles to try: lz4, lzf, snappy, zstd, none
    #[arg(long, value_name = "LIST", default_value = "")]
    codecs: String,
    /// Seed of random offsets, and of policies with a parameter `seed`
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Take the names of hosts, applications and files out of all results, so that they can be
    /// shared
    #[arg(long)]
    anonymise: bool,
    /// Write the coflows of a single log as a trace, with its arrivals; - for standard output,
    /// without the tables
    #[arg(short, long, value_name = "TRACE")]
    output: Option<PathBuf>,
    /// Write a CSV file with the times of each job
    #[arg(long, value_name = "FILE.csv")]
    per_job: Option<PathBuf>,
    /// Write a page with the answer, stages and links over time, and the times of jobs
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Number of replays at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl WhatIf {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let question = Question {
            link_rates: self.link_rate.clone(),
            fabric: self.fabric.clone(),
            hosts: self.hosts.map(NonZeroU32::get),
            policies: self.policies.clone(),
            offsets: Offsets::parse(&self.offsets)?,
            codecs: self.codecs.clone(),
            seed: self.seed,
            jobs: self.jobs.map_or_else(cores, NonZeroUsize::get),
        };
        question.check()?;
        self.check_outputs()?;
        let mut logs = self.read()?;
        let files: Vec<String> = logs.iter().map(|log| log.file.clone()).collect();
        if self.anonymise {
            covey_spark::anonymise(&mut logs);
        }
        if let Some(file) = &self.output {
            output::write_trace(file, &files, || trace(&logs))?;
            if file.as_os_str() == "-" {
                return Ok(());
            }
        }
        let answer = question.answer(&logs, &Silent)?;
        if let Some(file) = &self.per_job {
            output::write(file, |out| answer.write_per_job_csv(out))?;
        }
        if let Some(file) = &self.report {
            let page = whatif_page(&answer, &invocation::command());
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        output::print(
            |out| if self.json { write_json(&answer, out) } else { write!(out, "{answer}") },
        )
    }

    fn check_outputs(&self) -> Result<(), Failure> {
        if let Some(file) = &self.output {
            if self.json && file.as_os_str() == "-" {
                return Err(Failure::argument(
                    "--output",
                    "a file beside --json",
                    "standard output",
                ));
            }
            output::check_trace(file)?;
        }
        if let Some(file) = &self.per_job {
            output::check_format("--per-job", file, output::TABLE)?;
        }
        if let Some(file) = &self.report {
            output::check_format("--report", file, output::PAGE)?;
        }
        let outputs =
            [("--output", &self.output), ("--per-job", &self.per_job), ("--report", &self.report)];
        for (option, file) in
            outputs.into_iter().filter_map(|(option, file)| Some((option, file.as_ref()?)))
        {
            for log in &self.logs {
                output::check_apart(option, file, &log.to_string_lossy())?;
            }
        }
        Ok(())
    }

    /// Reads all logs. A path that is not there is an error; a log that cannot be read is a status.
    fn read(&self) -> Result<Vec<Log>, Failure> {
        let mut logs = Vec::new();
        for path in &self.logs {
            let found =
                covey_spark::read(path).map_err(|error| no_logs(path, &error.to_string()))?;
            if found.is_empty() {
                return Err(no_logs(
                    path,
                    "expected event logs of Spark, found a folder without any",
                ));
            }
            logs.extend(found);
        }
        if logs.iter().all(|log| log.status == Status::Failed) {
            if let Some(what) = covey_trace::flows_in(&logs[0].file) {
                let expected = "an event log of Spark, with the tasks that wait for flows";
                let found = format!(
                    "{what} (covey compare {0} says what policies do for its flows alone)",
                    logs[0].file
                );
                return Err(Failure::Input(format!(
                    "{}: expected {expected}, found {found}",
                    logs[0].file
                )));
            }
            let Log { file, reason, .. } = &logs[0];
            let file = if reason.starts_with(file) { String::new() } else { format!("{file}: ") };
            let more = match logs.len() {
                1 => String::new(),
                all => format!("; nor can the other {} logs be read", all - 1),
            };
            return Err(Failure::Input(format!("{file}{reason}{more}")));
        }
        Ok(logs)
    }
}

fn no_logs(path: &Path, why: &str) -> Failure {
    Failure::Input(format!("{}: {why}", path.display()))
}

/// The trace of the only log.
fn trace(logs: &[Log]) -> Result<Workload, Failure> {
    match logs {
        [log] if log.status == Status::Success => Ok(covey_spark::workload(log)),
        [log] => Err(Failure::Input(format!("{}: {}: {}", log.file, log.status, log.reason))),
        _ => Err(Failure::argument("--output", "a single log", format!("{} logs", logs.len()))),
    }
}
