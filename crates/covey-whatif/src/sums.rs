//! What a log says, for reports.

use std::collections::BTreeMap;

use covey_report::{CoflowSums, LogSums};
use covey_spark::{Application, Log, SparkCoflow, Status};

use crate::codec;

/// The sums of a log. Those of a log that failed are of what was read of it.
pub(crate) fn sums(log: &Log) -> LogSums {
    let it = &log.application;
    let raw: Vec<(u64, u64)> = it
        .outputs
        .iter()
        .filter_map(|(&stage, outputs)| {
            Some((it.raw_bytes(stage)?, outputs.values().map(|output| output.bytes).sum()))
        })
        .collect();
    let has_raw = !raw.is_empty() && log.status == Status::Success;
    LogSums {
        file: log.file.clone(),
        status: log.status.to_string(),
        reason: log.reason.clone(),
        application: it.id.clone(),
        version: it.version.clone(),
        ended: it.ended,
        hosts: it.hosts.len(),
        execs: it.executors.len(),
        jobs: it.jobs.len(),
        stages: it.stages.len(),
        tasks: it.tasks.len(),
        failed: it.failed(),
        maps: it.outputs.len(),
        coflows: log.coflows.len(),
        closed: log.coflows.iter().filter(|coflow| coflow.is_closed()).count(),
        written: it.written(),
        remote: it.remote(),
        local: it.local(),
        rblocks: it.remote_blocks(),
        lblocks: it.local_blocks(),
        wait_ms: it.wait_ms(),
        run_ms: it.run_ms(),
        slot_ms: it.slot_ms(),
        bad: log.broken_lines,
        ceiling: it.ceiling(),
        codec: codec::in_use(it).to_owned(),
        raw: has_raw.then(|| raw.iter().map(|(raw, _)| raw).sum()),
        raw_written: has_raw.then(|| raw.iter().map(|(_, written)| written).sum()),
        replay_error: None,
        coflow_list: log.coflows.iter().map(|coflow| coflow_sums(it, coflow)).collect(),
    }
}

fn coflow_sums(it: &Application, coflow: &SparkCoflow) -> CoflowSums {
    let sent: Vec<i64> = coflow.remote_out().collect();
    CoflowSums {
        stage: coflow.stage.0,
        attempt: coflow.stage.1,
        parents: coflow.parents.clone(),
        tasks: coflow.readers.len(),
        written_by_host: by_host(it, &coflow.written),
        local_by_host: by_host(it, &coflow.local),
        remote_in_by_host: by_host(it, &coflow.remote_in),
        remote_out_by_host: coflow.is_closed().then(|| by_host(it, &sent)),
        fetch_wait_ms: coflow.wait_ms,
        first_launch_ms: coflow.first_launch_ms,
        last_finish_ms: coflow.last_finish_ms,
        closed: coflow.is_closed(),
    }
}

fn by_host<T: Copy>(it: &Application, values: &[T]) -> BTreeMap<String, T> {
    it.hosts.iter().cloned().zip(values.iter().copied()).collect()
}
