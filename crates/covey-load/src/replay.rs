//! Drives a workload through a live coordinator and measures its cost.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covey_api::Client;
use covey_report::{Live, Spread};
use covey_trace::{Coflow, Workload};
use serde_json::json;

use crate::coordinator::Coordinator;
use crate::error::LoadError;
use crate::host::{Hosts, Sizes};
use crate::metrics::Metrics;

/// A workload to replay, and how.
#[derive(Debug, Clone, Copy)]
pub struct Replay<'a> {
    /// Coflows in order of arrival; each is registered at its arrival time.
    pub workload: &'a Workload,
    /// The policy, as for `covey serve`.
    pub policy: &'a str,
    /// The scheduling interval δ in seconds: CPU is reported per interval, and agents report at it.
    pub interval_s: f64,
    /// Whether agents report in every interval what flows have sent, even if the policy does not
    /// need it.
    pub reports_always: bool,
    /// When to stop, in seconds after the beginning.
    pub seconds: f64,
}

/// Replays a workload against the program `covey` in real time. Calls `progress` with the number of
/// seconds that have passed since the last call.
///
/// # Errors
/// When the coordinator fails.
pub async fn replay(
    covey: &Path,
    what: &Replay<'_>,
    progress: &dyn Fn(f64),
) -> Result<Live, LoadError> {
    let ports = what.workload.ports.to_string();
    let interval = format!("{}ms", 1e3 * what.interval_s);
    let reports = if what.reports_always { "always" } else { "needed" };
    let coordinator = Coordinator::start(
        covey,
        &std::env::temp_dir(),
        false,
        &[
            ["--log", "warn"],
            ["--policy", what.policy],
            ["--ports", &ports],
            ["--interval", &interval],
            ["--report-every", &interval],
            ["--reports", reports],
        ]
        .concat(),
    )?;
    let sizes: Sizes = Arc::new(what.workload.coflows.clone());
    let hosts = Hosts::start(&coordinator, what.workload.ports, sizes, true).await?;
    let mut client = coordinator.client().await?;
    let before = Metrics::of(&mut client).await?;
    let begin = Instant::now();
    let mut late_s = 0.0_f64;
    // One after the other, so that the k-th coflow of the trace gets the id k.
    for coflow in what.workload.coflows.iter().filter(|c| c.arrival_s < what.seconds) {
        wait(begin, coflow.arrival_s, progress).await;
        late_s = late_s.max(begin.elapsed().as_secs_f64() - coflow.arrival_s);
        register(&mut client, registration(coflow)).await?;
    }
    wait(begin, what.seconds, progress).await;
    let after = Metrics::of(&mut client).await?;
    let since = |name: &str| after.get(name) - before.get(name);
    let intervals = since("covey_intervals_total");
    let spread = |part: &str| {
        let of = |sum: &str| {
            since(&format!("covey_interval_cpu_seconds_{sum}total{{part=\"{part}\"}}")) / intervals
        };
        let mean_s = of("");
        let deviation_s = (of("squared_") - mean_s * mean_s).max(0.0).sqrt();
        Spread { mean_ms: 1e3 * mean_s, deviation_ms: 1e3 * deviation_s }
    };
    let each = |name: &str| since(name) / intervals;
    let p99_ms = |name: &str| after.quantile_ms(&before, name, 0.99);
    Ok(Live {
        intervals,
        coflows: since("covey_coflows_registered_total"),
        calculate: spread("calculate"),
        send: spread("send"),
        receive: spread("receive"),
        all: spread("all"),
        missed: each("covey_intervals_missed_total"),
        unflushed: each("covey_intervals_without_flush_total"),
        agents_heard: each("covey_interval_agents_total"),
        ends: each("covey_messages_ended_total"),
        reports: each("covey_messages_sent_total"),
        schedules: each("covey_schedules_sent_total"),
        decisions: each("covey_decisions_total"),
        decide_p99_ms: p99_ms("covey_decide_cpu_seconds"),
        push_p99_ms: p99_ms("covey_push_cpu_seconds"),
        process_cpu: since("process_cpu_seconds_total") / begin.elapsed().as_secs_f64(),
        late_s,
        agents_lost: hosts.lost(),
    })
}

/// Waits until so many seconds after `begin`, and reports each second.
async fn wait(begin: Instant, until_s: f64, progress: &dyn Fn(f64)) {
    loop {
        let left_s = until_s - begin.elapsed().as_secs_f64();
        if left_s <= 0.0 {
            return;
        }
        let step_s = left_s.min(1.0);
        tokio::time::sleep(Duration::from_secs_f64(step_s)).await;
        progress(step_s);
    }
}

/// The body that registers a coflow.
pub fn registration(coflow: &Coflow) -> String {
    let flows: Vec<_> = coflow
        .flows
        .iter()
        .map(|f| json!({"src": f.src, "dst": f.dst, "bytes": f.bytes}))
        .collect();
    json!({ "flows": flows }).to_string()
}

/// Registers a coflow.
///
/// # Errors
/// When the coordinator refuses the coflow, or does not answer.
pub async fn register(client: &mut Client, body: String) -> Result<(), LoadError> {
    let answer = client.ask("POST", "/v1/coflows", &[], body).await?;
    if answer.status == 201 {
        return Ok(());
    }
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    Err(LoadError::Refused { status: answer.status, body })
}
