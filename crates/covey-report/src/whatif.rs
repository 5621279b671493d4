//! What applications would have gained, as text, JSON and CSV.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use serde::Serialize;

use crate::units::{bytes, counted, fixed, rate};

/// The least and the greatest value of what is estimated.
pub type Range = [f64; 2];

/// What applications would have gained. `Serialize` gives the object of `whatif --json`, `Display`
/// the text for a terminal.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct WhatIf {
    /// The logs, in the order in which they were given.
    pub logs: Vec<LogSums>,
    /// Number of applications that were replayed together.
    pub applications: usize,
    /// Number of hosts on which they were replayed.
    pub replay_hosts: usize,
    /// The network.
    pub fabric: String,
    /// How the applications were laid over one another.
    pub offsets: String,
    /// Number of replays of each row below: ways to lay the applications over one another.
    pub draws: usize,
    /// Times of jobs under each policy, at each link rate; the first of each link rate is the one
    /// to compare with.
    pub replays: Vec<Replay>,
    /// The answer in a sentence or two.
    pub answer: String,
    /// What was assumed, left out or not reached.
    pub notes: Vec<String>,
    /// The jobs under each row of `replays`, in the first draw.
    #[serde(skip)]
    pub jobs: Vec<JobTimes>,
    /// Stages and transfers over time, for the page: at the first link rate, without scheduling.
    #[serde(skip)]
    pub timeline: Vec<Bar>,
    /// The use of each host's link over the same time, for the page.
    #[serde(skip)]
    pub links: Vec<LinkUse>,
}

/// What one log says. All numbers are exact, unless the name says otherwise.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LogSums {
    /// The file or folder.
    pub file: String,
    /// `success`, `skipped`, `failed` or `unknown`.
    pub status: String,
    /// Why.
    pub reason: String,
    /// The application's id.
    pub application: String,
    /// The version of Spark; null if the log has none.
    pub version: Option<String>,
    /// Whether the log has the application's end.
    pub ended: bool,
    /// Number of hosts that ran tasks.
    pub hosts: usize,
    /// Number of executors that ran tasks.
    pub execs: usize,
    /// Number of jobs.
    pub jobs: usize,
    /// Number of attempts of stages.
    pub stages: usize,
    /// Number of attempts of tasks.
    pub tasks: usize,
    /// Number of those that did not succeed.
    pub failed: usize,
    /// Number of stages that wrote shuffles.
    pub maps: usize,
    /// Number of coflows: attempts of stages that read shuffles.
    pub coflows: usize,
    /// Number of these whose reads equal what was written.
    pub closed: usize,
    /// Shuffle bytes written, once for each map.
    pub written: u64,
    /// Shuffle bytes read from other hosts.
    pub remote: u64,
    /// Shuffle bytes read on the same host.
    pub local: u64,
    /// Blocks read from other hosts.
    pub rblocks: u64,
    /// Blocks read on the same host.
    pub lblocks: u64,
    /// Milliseconds that tasks waited for fetches, as logged.
    pub wait_ms: u64,
    /// Milliseconds of tasks in executors.
    pub run_ms: u64,
    /// Milliseconds of tasks in their slots.
    pub slot_ms: u64,
    /// Number of lines that could not be read.
    pub bad: u64,
    /// The share of `run_ms` in which tasks waited for fetches: as logged, and with up to one more
    /// millisecond for each block, because Spark cuts each to whole milliseconds. No network saves
    /// more. Null if nothing ran.
    pub ceiling: Option<Range>,
    /// The codec of shuffles.
    pub codec: String,
    /// Bytes of SQL's shuffles before compression; null if the log does not say.
    pub raw: Option<u64>,
    /// The bytes that these shuffles wrote, as compressed.
    pub raw_written: Option<u64>,
    /// The largest error of the end of a stage or job in the replay at the first link rate without
    /// scheduling, as a share of the application's time, for the two assumptions about tasks; null
    /// if it was not replayed alone.
    pub replay_error: Option<Range>,
    /// The coflows.
    pub coflow_list: Vec<CoflowSums>,
}

/// What one coflow moved.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CoflowSums {
    /// Id of the stage that reads.
    pub stage: u32,
    /// Number of its attempt.
    pub attempt: u32,
    /// Ids of the stages whose outputs it reads.
    pub parents: Vec<u32>,
    /// Number of tasks that read.
    pub tasks: usize,
    /// Bytes that each host wrote.
    pub written_by_host: BTreeMap<String, u64>,
    /// Bytes that each host read from itself.
    pub local_by_host: BTreeMap<String, u64>,
    /// Bytes that each host received from others.
    pub remote_in_by_host: BTreeMap<String, u64>,
    /// Bytes that each host sent to others; null if the coflow is not closed.
    pub remote_out_by_host: Option<BTreeMap<String, i64>>,
    /// Milliseconds that readers waited for fetches, as logged.
    pub fetch_wait_ms: u64,
    /// The first launch of a reader, in milliseconds of the cluster's clock.
    pub first_launch_ms: u64,
    /// The last finish of a reader.
    pub last_finish_ms: u64,
    /// Whether what was read equals what was written.
    pub closed: bool,
}

/// The times of jobs under one policy, codec and link rate. All are estimated.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Replay {
    /// Speed of each host's link in bits per second.
    pub link_rate_bps: f64,
    /// The codec of shuffles; `logged` for those in use.
    pub codec: String,
    /// The policy.
    pub policy: String,
    /// Mean time of a job, in seconds.
    pub job_s: Range,
    /// Share of all jobs' time that is saved in comparison with the first row of this link rate.
    pub sooner: Range,
    /// The same of the job that gains most.
    pub best_job_sooner: f64,
    /// Time from the first start to the last end of an application, in seconds.
    pub makespan_s: Range,
    /// Share of this time in which the busiest link would be busy.
    pub busy: Range,
}

/// A job under one row of the replays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobTimes {
    /// The log.
    pub file: String,
    /// The job's id.
    pub job: u32,
    /// Its time by the log, in seconds.
    pub logged_s: f64,
    /// Index of the row in [`WhatIf::replays`].
    pub replay: usize,
    /// Its time, in seconds.
    pub job_s: Range,
}

/// A stage on the timeline of the page, in seconds after the first start.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    /// The log and the stage.
    pub name: String,
    /// Number of the application among those that were replayed.
    pub application: usize,
    /// Its start.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// Bytes that it received from other hosts.
    pub remote: u64,
}

/// How much of a host's link is in use over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkUse {
    /// The host.
    pub host: String,
    /// Length of each interval below, in seconds; the first begins at the first start.
    pub interval_s: f64,
    /// Share of the way out that is in use in each interval, from 0 to 1; empty if nothing is ever
    /// sent or received.
    pub sent: Vec<f64>,
    /// The same of the way in.
    pub received: Vec<f64>,
}

impl LinkUse {
    /// The mean share of the busier direction.
    pub(crate) fn busy(&self) -> f64 {
        let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        mean(&self.sent).max(mean(&self.received))
    }
}

impl LogSums {
    /// The log, its status and the reason for it.
    pub(crate) fn judgement(&self) -> String {
        let LogSums { file, status, reason, .. } = self;
        // A reason that names a line names its file.
        let file =
            if reason.starts_with(file.as_str()) { String::new() } else { format!("{file}: ") };
        format!("{file}{status}: {reason}.")
    }
}

impl WhatIf {
    /// Writes a line for each job under each policy, codec and link rate.
    ///
    /// # Errors
    /// The errors of writing to `out`.
    pub fn write_per_job_csv(&self, out: impl Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        let columns = [
            "file",
            "job",
            "logged_s",
            "link_rate_bps",
            "codec",
            "policy",
            "job_s_least",
            "job_s_most",
        ];
        csv.write_record(columns)?;
        for job in &self.jobs {
            let row = &self.replays[job.replay];
            csv.write_record([
                &job.file,
                &job.job.to_string(),
                &job.logged_s.to_string(),
                &row.link_rate_bps.to_string(),
                &row.codec,
                &row.policy,
                &job.job_s[0].to_string(),
                &job.job_s[1].to_string(),
            ])?;
        }
        csv.flush()
    }

    /// The table of the logs: two lines of heading, and the rows.
    pub(crate) fn log_table(&self) -> ([[&'static str; 2]; 7], Vec<[String; 7]>) {
        let headings = [
            ["log", ""],
            ["status", ""],
            ["hosts", ""],
            ["shuffles", "exact"],
            ["remote", "exact"],
            ["waited, % of", "task time"],
            ["raw / written", "exact"],
        ];
        let row = |log: &LogSums| {
            let ratio = log.raw.zip(log.raw_written).filter(|(_, written)| *written > 0);
            [
                log.file.clone(),
                log.status.clone(),
                log.hosts.to_string(),
                log.coflows.to_string(),
                bytes(log.remote as f64),
                log.ceiling.map_or("-".to_owned(), percent),
                ratio
                    .map_or("-".to_owned(), |(raw, written)| fixed(raw as f64 / written as f64, 2)),
            ]
        };
        (headings, self.logs.iter().map(row).collect())
    }

    /// The table of the replays: two lines of heading, and the rows.
    pub(crate) fn replay_table(&self) -> ([[&'static str; 2]; 7], Vec<[String; 7]>) {
        let headings = [
            ["link rate", ""],
            ["codec", ""],
            ["policy", ""],
            ["mean job, s", "estimated"],
            ["sooner, %", "estimated"],
            ["best job, %", "at most"],
            ["busiest link, %", "estimated"],
        ];
        let row = |replay: &Replay| {
            [
                rate(replay.link_rate_bps),
                replay.codec.clone(),
                replay.policy.clone(),
                range(replay.job_s, 2),
                percent(replay.sooner),
                fixed(tidy(100.0 * replay.best_job_sooner, 1), 1),
                percent(replay.busy),
            ]
        };
        (headings, self.replays.iter().map(row).collect())
    }

    /// How the applications were replayed.
    pub(crate) fn method(&self) -> Option<String> {
        if self.applications == 0 {
            return None;
        }
        let draws = match self.draws {
            0 | 1 => String::new(),
            draws => format!(", {}", counted(draws, "replay")),
        };
        Some(format!(
            "{} on {} of {}; starts: {}{draws}.",
            counted(self.applications, "application"),
            counted(self.replay_hosts, "host"),
            self.fabric,
            self.offsets,
        ))
    }
}

/// Two numbers, or one if they look alike.
fn range([low, high]: Range, decimals: usize) -> String {
    let [low, high] = [low, high].map(|value| fixed(tidy(value, decimals), decimals));
    if low == high { low } else { format!("{low} to {high}") }
}

/// Without the sign of a zero.
fn tidy(value: f64, decimals: usize) -> f64 {
    if value.abs() < 0.5 * 0.1_f64.powi(decimals as i32) { 0.0 } else { value }
}

/// Two shares in percent. Small ones have more decimals.
pub fn percent(shares: Range) -> String {
    let [low, high] = shares.map(|share| 100.0 * share);
    let decimals = if (1e-4..0.1).contains(&low) { 3 } else { 1 };
    range([low, high], decimals)
}

impl fmt::Display for WhatIf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (headings, rows) = self.log_table();
        table(out, &headings, &rows)?;
        for log in self.logs.iter().filter(|log| !log.reason.is_empty()) {
            writeln!(out, "{}", log.judgement())?;
        }
        if let Some(method) = self.method() {
            writeln!(out, "\n{method}")?;
            let (headings, rows) = self.replay_table();
            table(out, &headings, &rows)?;
        }
        if !self.notes.is_empty() {
            writeln!(out)?;
        }
        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        writeln!(out, "\n{}", self.answer)
    }
}

/// Writes a table whose first column is at the left and whose others are at the right.
fn table<const N: usize>(
    out: &mut fmt::Formatter<'_>,
    headings: &[[&str; 2]; N],
    rows: &[[String; N]],
) -> fmt::Result {
    let length = |text: &str| text.chars().count();
    let widths: Vec<usize> = (0..N)
        .map(|column| {
            let cells = rows.iter().map(|row| length(&row[column]));
            let heading = headings[column].iter().map(|text| length(text));
            cells.chain(heading).max().unwrap_or(0)
        })
        .collect();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (column, (cell, &width)) in cells.zip(&widths).enumerate() {
            match column {
                0 => text += &format!("{cell:width$}"),
                _ => text += &format!("  {cell:>width$}"),
            }
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(&mut headings.iter().map(|heading| heading[0]))?;
    line(&mut headings.iter().map(|heading| heading[1]))?;
    rows.iter().try_for_each(|row| line(&mut row.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_as_many_decimals_as_they_need() {
        assert_eq!(percent([0.000_008, 0.0204]), "0.001 to 2.040");
        assert_eq!(percent([0.04, 0.12]), "4.0 to 12.0");
        assert_eq!(percent([-1e-9, 0.0]), "0.0");
        assert_eq!(percent([0.3, 0.3]), "30.0");
    }
}
