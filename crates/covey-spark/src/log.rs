//! Reads logs, each with a status: one broken log never ends a run.

use std::fmt;
use std::io::{self, BufRead};
use std::path::Path;

use crate::application::Application;
use crate::builder::Builder;
use crate::coflow::SparkCoflow;
use crate::event::Event;
use crate::files::{self, LogFiles};
use crate::framing;
use crate::lines::{self, Line, MAX_LINE_BYTES};

/// Broken lines in a row, from the first on, after which a file is no log.
const HOPELESS: u64 = 1_000;

/// What a log is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Its shuffles are known.
    Success,
    /// It is a log, but has nothing on the network that could be told.
    Skipped,
    /// It cannot be read.
    Failed,
    /// It is a log, but too little of it is there.
    Unknown,
}

impl Status {
    /// Its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::Skipped => "skipped",
            Status::Failed => "failed",
            Status::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A log that was read, or could not be.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The file or folder.
    pub file: String,
    /// What it is good for.
    pub status: Status,
    /// Why, in a sentence or several.
    pub reason: String,
    /// Lines that are no events, or lack what counts.
    pub broken_lines: u64,
    /// What was read of the application, also if the log is of no use.
    pub application: Application,
    /// Its coflows.
    pub coflows: Vec<SparkCoflow>,
}

/// How far the reading of a log went.
#[derive(Debug, Default)]
struct Progress {
    events: u64,
    broken: u64,
    /// The first broken line: its file, number, and what is wrong.
    first_broken: Option<String>,
    too_long: u64,
    /// Why the rest of the log was not read.
    stopped: Option<Stop>,
}

#[derive(Debug)]
enum Stop {
    /// The data is cut off, as in the log of a running application.
    CutOff(String),
    /// The data is broken, or no log.
    Broken(String),
}

/// Reads the logs that a path means: a file, a rolling folder, or a folder of logs.
///
/// # Errors
/// The path cannot be read. What is wrong with a log is in its status.
pub fn read(path: &Path) -> io::Result<Vec<Log>> {
    Ok(files::find(path)?.iter().map(read_log).collect())
}

fn read_log(log: &LogFiles) -> Log {
    let (mut builder, mut progress) = (Builder::default(), Progress::default());
    for part in &log.parts {
        let name = part.display().to_string();
        match framing::open(part) {
            Ok(mut source) => read_events(source.as_mut(), &name, &mut builder, &mut progress),
            Err(error) => progress.stop(&name, &error),
        }
        if progress.stopped.is_some() {
            break;
        }
    }
    finish(log.path.display().to_string(), builder, &progress, log.note.as_deref())
}

/// Reads a log from `source`, which is called `name` and may be compressed. For data that is in no
/// file.
pub fn read_from(source: impl io::Read + 'static, name: &str) -> Log {
    let (mut builder, mut progress) = (Builder::default(), Progress::default());
    match framing::unframed(source) {
        Ok(mut source) => read_events(source.as_mut(), name, &mut builder, &mut progress),
        Err(error) => progress.stop(name, &error),
    }
    finish(name.to_owned(), builder, &progress, None)
}

impl Progress {
    fn stop(&mut self, name: &str, error: &io::Error) {
        self.stopped = Some(match error.kind() {
            io::ErrorKind::UnexpectedEof => Stop::CutOff(format!("{name} is cut off")),
            _ => Stop::Broken(format!("{name}: {error}")),
        });
    }
}

fn read_events(
    source: &mut dyn BufRead,
    name: &str,
    builder: &mut Builder,
    progress: &mut Progress,
) {
    let mut line = Vec::new();
    for number in 1_u64.. {
        let (kind, failed) = match lines::next(source, &mut line, MAX_LINE_BYTES) {
            Ok(kind) => (kind, None),
            // What was decompressed before the end is read as far as it goes.
            Err(error) => (Line::Last, Some(error)),
        };
        match kind {
            Line::End => break,
            Line::TooLong => progress.too_long += 1,
            Line::Whole | Line::Last if line.trim_ascii().is_empty() => {}
            Line::Whole | Line::Last => match Event::parse(&line) {
                Ok(event) => {
                    progress.events += 1;
                    builder.take(event);
                }
                Err(_) if kind == Line::Last && progress.events > 0 => {
                    let cut_off = format!("{name} is cut off at line {number}");
                    progress.stopped = Some(Stop::CutOff(cut_off));
                }
                Err(error) => {
                    progress.broken += 1;
                    let text = || {
                        format!(
                            "{name}:{number}: expected an event of Spark, found {}",
                            short(&error)
                        )
                    };
                    progress.first_broken.get_or_insert_with(text);
                }
            },
        }
        if let Some(error) = failed {
            return progress.stop(name, &error);
        }
        if progress.events == 0 && progress.broken >= HOPELESS {
            let text = progress.first_broken.clone().unwrap_or_default();
            progress.stopped = Some(Stop::Broken(text));
            return;
        }
    }
}

/// What is wrong in a line, without the place in it that follows after " at line 1".
fn short(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    let what = if error.is_data() { "one with an error" } else { "a line that is no JSON" };
    format!("{what} at column {}: {text}", error.column())
}

fn finish(file: String, builder: Builder, progress: &Progress, note: Option<&str>) -> Log {
    let (left_out, has_application) = (builder.left_out, builder.has_application());
    let application = builder.finish();
    let coflows = application.coflows();
    let (status, mut reasons) = judge(progress, has_application, &application, &coflows);
    if let Some(Stop::CutOff(text)) = &progress.stopped {
        reasons.push(format!("{text}: sums are of what is there"));
    } else if status == Status::Success && !application.ended {
        reasons.push("the application has not ended: sums are of what is there".to_owned());
    }
    reasons.extend(note.map(str::to_owned));
    if let (Status::Success, Some(first)) = (status, &progress.first_broken) {
        reasons.push(format!(
            "{} not read, the first is {first}",
            counted(progress.broken, "line was", "lines were")
        ));
    }
    if progress.too_long > 0 {
        let lines = counted(progress.too_long, "line was", "lines were");
        reasons.push(format!("{lines} passed over: longer than {} MiB", MAX_LINE_BYTES >> 20));
    }
    if left_out > 0 {
        reasons.push(format!(
            "{} left out: the log has too many",
            counted(left_out, "task is", "tasks are")
        ));
    }
    Log {
        file,
        status,
        reason: reasons.join("; "),
        broken_lines: progress.broken,
        application,
        coflows,
    }
}

/// What a log is good for, and why.
fn judge(
    progress: &Progress,
    has_application: bool,
    application: &Application,
    coflows: &[SparkCoflow],
) -> (Status, Vec<String>) {
    let because = |status: Status, reason: String| (status, vec![reason]);
    if let Some(Stop::Broken(text)) = &progress.stopped {
        return because(Status::Failed, text.clone());
    }
    if progress.events == 0 {
        return match &progress.first_broken {
            Some(text) => because(Status::Failed, text.clone()),
            None => because(Status::Unknown, "the log has no events yet".to_owned()),
        };
    }
    if !has_application || application.tasks.is_empty() {
        return because(Status::Unknown, "the log has no task that has ended".to_owned());
    }
    let property = |name: &str| application.properties.get(name).map_or("", String::as_str);
    if property("spark.databricks.clusterUsageTags.sparkVersion").contains("photon") {
        return because(Status::Skipped, PHOTON.to_owned());
    }
    let manager = property("spark.shuffle.manager");
    if ["celeborn", "uniffle", "rss"].iter().any(|it| manager.to_ascii_lowercase().contains(it)) {
        let text =
            format!("{manager} carries its shuffles past Spark's: who sent them is not in the log");
        return because(Status::Skipped, text);
    }
    if coflows.is_empty() {
        return because(Status::Skipped, "no stage read a shuffle".to_owned());
    }
    if application.hosts.len() == 1 {
        let text =
            "all executors are on one host, or have its name: nothing is seen to cross the network";
        return because(Status::Skipped, text.to_owned());
    }
    let closed = coflows.iter().filter(|coflow| coflow.is_closed()).count();
    if application.version.is_none() && closed < coflows.len() {
        let reads = counted(coflows.len() as u64, "stage reads", "stages read");
        let text = format!("{reads} shuffles, {closed} what was written: {PHOTON}");
        return because(Status::Skipped, text);
    }
    if application.remote() == 0 {
        return because(Status::Skipped, "no shuffle crossed the network".to_owned());
    }
    let mut reasons = Vec::new();
    if closed < coflows.len() {
        let open = coflows.len() - closed;
        reasons.push(format!(
            "senders are estimated for {} whose reads differ from what was written",
            counted(open as u64, "coflow", "coflows")
        ));
    }
    (Status::Success, reasons)
}

const PHOTON: &str = "Photon's task metrics are incomplete";

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
