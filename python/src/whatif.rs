//! What scheduling or a faster network would have saved, from event logs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use covey_report::{CoflowSums, Column, JobTimes, LogSums, Replay, Values, whatif_page};
use covey_whatif::{Offsets, Question};
use pyo3::prelude::*;

use crate::errors::{InputError, raised};
use crate::frame::Frame;
use crate::html;
use crate::json::as_python;
use crate::run::{Watch, in_thread, write_page};

/// What applications would have gained, and what their logs say.
#[pyclass(frozen, module = "covey")]
pub struct WhatIf {
    found: covey_report::WhatIf,
}

/// Reads event logs, and replays them.
#[pyfunction]
#[pyo3(signature = (logs, *, link_rates, fabric, hosts, policies, offsets, codecs, seed, jobs, anonymise))]
#[allow(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn whatif(
    py: Python<'_>,
    logs: Vec<PathBuf>,
    link_rates: String,
    fabric: String,
    hosts: Option<u32>,
    policies: String,
    offsets: &str,
    codecs: String,
    seed: u64,
    jobs: Option<usize>,
    anonymise: bool,
) -> PyResult<WhatIf> {
    if hosts == Some(0) {
        return Err(crate::errors::bad("hosts", "a number above 0", "0"));
    }
    let question = Question {
        link_rates,
        fabric,
        hosts,
        policies,
        offsets: Offsets::parse(offsets).map_err(raised)?,
        codecs,
        seed,
        jobs: jobs.unwrap_or_else(covey_experiment::cores).max(1),
    };
    question.check().map_err(raised)?;
    let read = || -> Result<Vec<covey_spark::Log>, String> {
        let mut all = Vec::new();
        for path in &logs {
            let found =
                covey_spark::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            all.extend(found);
        }
        if anonymise {
            covey_spark::anonymise(&mut all);
        }
        Ok(all)
    };
    let logs = py.detach(read).map_err(InputError::new_err)?;
    let watch = Arc::new(Watch::default());
    let found = in_thread(py, &watch, 0, None, {
        let watch = Arc::clone(&watch);
        move || question.answer(&logs, watch.as_ref())
    })?;
    Ok(WhatIf { found: found.map_err(raised)? })
}

/// A coflow and its log.
type CoflowRow<'a> = (&'a LogSums, &'a CoflowSums);

/// The columns that name a coflow.
fn named<'a>(rows: &[CoflowRow<'a>]) -> Vec<Column<'a>> {
    let files = rows.iter().map(|(log, _)| Some(log.file.as_str())).collect();
    let count = |of: fn(&CoflowSums) -> u32| {
        Values::Count(rows.iter().map(|(_, coflow)| of(coflow)).collect())
    };
    vec![
        Column { name: "file", values: Values::Text(files) },
        Column { name: "stage", values: count(|coflow| coflow.stage) },
        Column { name: "attempt", values: count(|coflow| coflow.attempt) },
    ]
}

impl WhatIf {
    fn coflow_rows(&self) -> Vec<CoflowRow<'_>> {
        let logs = self.found.logs.iter();
        logs.flat_map(|log| log.coflow_list.iter().map(move |coflow| (log, coflow))).collect()
    }
}

#[pymethods]
impl WhatIf {
    /// The answer in a sentence or two.
    #[getter]
    fn answer(&self) -> String {
        self.found.answer.clone()
    }

    /// A table with a row for each log: its status, the reason, and its sums.
    #[getter]
    fn logs(&self) -> PyResult<Frame> {
        let logs = &self.found.logs;
        let text =
            |of: fn(&LogSums) -> &str| Values::Text(logs.iter().map(|log| Some(of(log))).collect());
        let number = |of: fn(&LogSums) -> u64| {
            Values::Number(logs.iter().map(|log| of(log) as f64).collect())
        };
        let ceiling =
            |k: usize| Values::Maybe(logs.iter().map(|log| log.ceiling.map(|it| it[k])).collect());
        Frame::of(vec![
            Column { name: "file", values: text(|log| &log.file) },
            Column { name: "status", values: text(|log| &log.status) },
            Column { name: "reason", values: text(|log| &log.reason) },
            Column { name: "coflows", values: number(|log| log.coflows as u64) },
            Column { name: "written_bytes", values: number(|log| log.written) },
            Column { name: "remote_bytes", values: number(|log| log.remote) },
            Column { name: "local_bytes", values: number(|log| log.local) },
            Column { name: "wait_ms", values: number(|log| log.wait_ms) },
            Column { name: "run_ms", values: number(|log| log.run_ms) },
            Column { name: "ceiling_least", values: ceiling(0) },
            Column { name: "ceiling_most", values: ceiling(1) },
        ])
    }

    /// A table with a row for each coflow of each log: what an attempt of a stage read.
    #[getter]
    fn coflows(&self) -> PyResult<Frame> {
        let rows = self.coflow_rows();
        let number = |of: fn(&CoflowSums) -> u64| {
            Values::Number(rows.iter().map(|(_, it)| of(it) as f64).collect())
        };
        let closed = rows.iter().map(|(_, it)| Some(it.closed)).collect();
        let mut columns = named(&rows);
        columns.extend([
            Column {
                name: "tasks",
                values: Values::Count(rows.iter().map(|(_, it)| it.tasks as u32).collect()),
            },
            Column {
                name: "written_bytes",
                values: number(|it| it.written_by_host.values().sum()),
            },
            Column {
                name: "remote_bytes",
                values: number(|it| it.remote_in_by_host.values().sum()),
            },
            Column { name: "local_bytes", values: number(|it| it.local_by_host.values().sum()) },
            Column { name: "wait_ms", values: number(|it| it.fetch_wait_ms) },
            Column { name: "first_launch_ms", values: number(|it| it.first_launch_ms) },
            Column { name: "last_finish_ms", values: number(|it| it.last_finish_ms) },
            Column { name: "closed", values: Values::Flag(closed) },
        ]);
        Frame::of(columns)
    }

    /// A table with a row for each host of each coflow. What it sent is null if that is unknown.
    #[getter]
    fn hosts(&self) -> PyResult<Frame> {
        let coflows = self.coflow_rows();
        let (mut rows, mut hosts) = (Vec::new(), Vec::new());
        for &(log, coflow) in &coflows {
            for host in coflow.written_by_host.keys() {
                rows.push((log, coflow));
                hosts.push(host);
            }
        }
        let number = |of: fn(&CoflowSums) -> &BTreeMap<String, u64>| {
            let values = rows.iter().zip(&hosts).map(|((_, it), &host)| of(it)[host] as f64);
            Values::Number(values.collect())
        };
        let sent = rows.iter().zip(&hosts);
        let sent = sent.map(|((_, it), &host)| Some(it.remote_out_by_host.as_ref()?[host] as f64));
        let sent = Values::Maybe(sent.collect());
        let mut columns = named(&rows);
        columns.extend([
            Column {
                name: "host",
                values: Values::Text(hosts.iter().map(|host| Some(host.as_str())).collect()),
            },
            Column { name: "written_bytes", values: number(|it| &it.written_by_host) },
            Column { name: "local_bytes", values: number(|it| &it.local_by_host) },
            Column { name: "received_bytes", values: number(|it| &it.remote_in_by_host) },
            Column { name: "sent_bytes", values: sent },
        ]);
        Frame::of(columns)
    }

    /// A table with a row for each link rate, codec and policy, with times of jobs.
    #[getter]
    fn replays(&self) -> PyResult<Frame> {
        let rows = &self.found.replays;
        let text =
            |of: fn(&Replay) -> &str| Values::Text(rows.iter().map(|row| Some(of(row))).collect());
        let number = |of: fn(&Replay) -> f64| Values::Number(rows.iter().map(of).collect());
        Frame::of(vec![
            Column { name: "link_rate_bps", values: number(|row| row.link_rate_bps) },
            Column { name: "codec", values: text(|row| &row.codec) },
            Column { name: "policy", values: text(|row| &row.policy) },
            Column { name: "job_least_s", values: number(|row| row.job_s[0]) },
            Column { name: "job_most_s", values: number(|row| row.job_s[1]) },
            Column { name: "sooner_least", values: number(|row| row.sooner[0]) },
            Column { name: "sooner_most", values: number(|row| row.sooner[1]) },
            Column { name: "best_job_sooner", values: number(|row| row.best_job_sooner) },
            Column { name: "busy_least", values: number(|row| row.busy[0]) },
            Column { name: "busy_most", values: number(|row| row.busy[1]) },
        ])
    }

    /// A table with the times of each job in each row of `replays`, in the first draw.
    #[getter]
    fn jobs(&self) -> PyResult<Frame> {
        let jobs = &self.found.jobs;
        let row = |job: &JobTimes| &self.found.replays[job.replay];
        let number = |of: &dyn Fn(&JobTimes) -> f64| Values::Number(jobs.iter().map(of).collect());
        Frame::of(vec![
            Column {
                name: "file",
                values: Values::Text(jobs.iter().map(|job| Some(job.file.as_str())).collect()),
            },
            Column { name: "job", values: Values::Count(jobs.iter().map(|job| job.job).collect()) },
            Column { name: "logged_s", values: number(&|job| job.logged_s) },
            Column { name: "link_rate_bps", values: number(&|job| row(job).link_rate_bps) },
            Column {
                name: "codec",
                values: Values::Text(
                    jobs.iter().map(|job| Some(row(job).codec.as_str())).collect(),
                ),
            },
            Column {
                name: "policy",
                values: Values::Text(
                    jobs.iter().map(|job| Some(row(job).policy.as_str())).collect(),
                ),
            },
            Column { name: "job_least_s", values: number(&|job| job.job_s[0]) },
            Column { name: "job_most_s", values: number(&|job| job.job_s[1]) },
        ])
    }

    /// Give all that was found, as of ``covey whatif --json``.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        as_python(py, &self.found)
    }

    /// Write a page with the answer, stages and links over time, and the times of jobs.
    #[pyo3(signature = (path, command="a Python program"))]
    fn report(&self, path: PathBuf, command: &str) -> PyResult<()> {
        write_page(&path, &whatif_page(&self.found, command))
    }

    /// The text of `covey whatif`.
    fn __str__(&self) -> String {
        self.found.to_string()
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let table = Bound::new(py, self.replays()?)?.call_method0("_repr_html_")?.to_string();
        Ok(table + &html::notes([&self.found.answer]))
    }
}
