//! The workloads of Stream's evaluation, made from the Facebook trace.

use covey_trace::transform::{
    Scale, Shape, Waves, WavesOf, burst, dag, every, scale, split_receivers, waves,
};
use covey_trace::{TraceError, Workload};

use crate::item::Planner;
use crate::plan::TraceId;

/// Only every `THIN`-th coflow is simulated.
pub const THIN: usize = 5;

/// How workloads are made, for notes.
pub const NOTE: &str = "Only every fifth coflow of the trace is simulated. Arrivals are five times \
    as dense, so that the load stays near that of the trace: these coflows have 24 % of its bytes. \
    Each receiver of a coflow has a coflow of its own (many-to-one). A coflow's time lasts until \
    its last receiver has all.";

/// How jobs are made, for notes.
pub const JOBS_NOTE: &str = "Every fifth coflow of the trace becomes a job of six copies, at its \
    own arrival. The time of a job lasts until its last stage has ended. The paper's Figure 4, \
    which draws the stages, is missing in the text we have; docs/workloads.md has ours.";

/// Every fifth coflow, with arrivals as they are.
fn fifth(planner: &mut Planner) -> Result<TraceId, TraceError> {
    planner.plan.derived("every fifth coflow", planner.trace, |trace| every(trace, THIN))
}

/// Every fifth coflow at the load of the trace.
fn dense(trace: &Workload) -> Result<Workload, TraceError> {
    let by = Scale { time: 1.0 / THIN as f64, size: 1.0, ports: None };
    scale(&every(trace, THIN)?, by)
}

/// Many-to-one coflows.
pub fn many_to_one(planner: &mut Planner) -> Result<TraceId, TraceError> {
    planner.plan.derived("many-to-one", planner.trace, |trace| split_receivers(&dense(trace)?))
}

/// Many-to-one coflows whose flows start in up to `max` waves (Table 2).
pub fn in_waves(planner: &mut Planner, max: u32) -> Result<TraceId, TraceError> {
    let how = Waves { max, rate: 125e6, of: WavesOf::Flows, seed: 1 };
    let name = format!("many-to-one in {max} waves");
    planner.plan.derived(&name, planner.trace, |trace| {
        // Waves are dealt within a coflow of one receiver.
        waves(&split_receivers(&dense(trace)?)?, how)
    })
}

/// How the burst is made, for notes.
pub const BURST_NOTE: &str = "Only every tenth coflow of the trace is simulated, none of which is \
    in class V: all are present at once, which takes the simulator long. Each receiver of a coflow \
    has a coflow of its own. A coflow's time lasts until its last receiver has all.";

/// Many-to-one coflows that all arrive at once.
pub fn in_a_burst(planner: &mut Planner) -> Result<TraceId, TraceError> {
    planner.plan.derived("many-to-one in a burst", planner.trace, |trace| {
        let workload = split_receivers(&every(trace, 2 * THIN)?)?;
        let all = workload.coflows.len().max(1);
        burst(&workload, all)
    })
}

/// Jobs of six stages.
pub fn jobs(planner: &mut Planner, shape: Shape) -> Result<TraceId, TraceError> {
    let base = fifth(planner)?;
    let name = match shape {
        Shape::Query42 => "TPC-DS query 42",
        Shape::Tao => "FB-Tao",
    };
    planner.plan.derived(name, base, |trace| dag(trace, shape))
}
