//! What applications took and sent on a cluster of Spark, as `examples/spark/swallow.py` measures
//! it.

use serde::Deserialize;

use crate::numbers::mean;

/// Runs on a cluster of Spark.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SparkRuns {
    /// The version of Spark.
    pub spark: String,
    /// Number of hosts.
    pub hosts: u32,
    /// Speed of each host's link in bits per second.
    pub link_bps: f64,
    /// Number of rows of the largest tables.
    pub rows: u64,
    /// The runs, in any order.
    pub runs: Vec<SparkRun>,
}

/// One run of an application.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SparkRun {
    /// The application's name, as in Swallow's Table I where it has it.
    pub application: String,
    /// How shuffles are compressed.
    pub mode: Mode,
    /// From the beginning to the end of the job, in seconds.
    pub job_s: f64,
    /// Stages that write shuffles, together, in seconds.
    pub map_s: f64,
    /// The other stages, together, in seconds.
    pub result_s: f64,
    /// Bytes of all shuffles, as they were written.
    pub written_bytes: f64,
    /// Bytes of shuffles that were read from other hosts.
    pub remote_bytes: f64,
    /// Time of garbage collection in a task that writes shuffles, in seconds: the quartiles and the
    /// maximum.
    pub gc_map_s: [f64; 4],
    /// The same in the other tasks.
    pub gc_result_s: [f64; 4],
}

/// How shuffles are compressed and scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Not at all.
    None,
    /// By Spark itself, with its default codec.
    Lz4,
    /// By Spark itself, with zstd.
    Zstd,
    /// By the plug-in: smart codec, and requests that wait, under the policy fvdf.
    Swallow,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 4] = [Mode::None, Mode::Lz4, Mode::Zstd, Mode::Swallow];
}

impl SparkRuns {
    /// Reads runs from JSON.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        let found: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if found.runs.is_empty() {
            return Err("expected at least one run, found none".to_owned());
        }
        let is_time = |time: &f64| time.is_finite() && *time >= 0.0;
        for (index, run) in found.runs.iter().enumerate() {
            let times = [run.job_s, run.map_s, run.result_s, run.written_bytes, run.remote_bytes];
            let all = times.iter().chain(&run.gc_map_s).chain(&run.gc_result_s);
            if !all.clone().all(is_time) || run.job_s == 0.0 {
                return Err(format!("run {index}: expected times and bytes that are not negative"));
            }
            for mode in Mode::ALL {
                if found.of(&run.application, mode).next().is_none() {
                    let name = &run.application;
                    return Err(format!(
                        "runs: expected {name} in each mode, found none in {mode:?}"
                    ));
                }
            }
        }
        Ok(found)
    }

    /// The runs of an application in a mode.
    fn of(&self, application: &str, mode: Mode) -> impl Iterator<Item = &SparkRun> {
        self.in_mode(mode).filter(move |run| run.application == application)
    }

    /// All runs in a mode.
    pub fn in_mode(&self, mode: Mode) -> impl Iterator<Item = &SparkRun> {
        self.runs.iter().filter(move |run| run.mode == mode)
    }

    /// The applications, in the order of their first runs.
    pub fn applications(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !names.contains(&run.application.as_str()) {
                names.push(&run.application);
            }
        }
        names
    }

    /// The mean of a value over the runs of an application in a mode.
    pub fn mean(&self, application: &str, mode: Mode, value: fn(&SparkRun) -> f64) -> f64 {
        mean(&self.of(application, mode).map(value).collect::<Vec<_>>())
    }

    /// The sum of [`mean`](Self::mean) over all applications.
    pub fn sum(&self, mode: Mode, value: fn(&SparkRun) -> f64) -> f64 {
        self.applications().iter().map(|name| self.mean(name, mode, value)).sum()
    }
}
