//! CSV: a line a coflow, a line a flow. Numbers are written with as few digits as give the same
//! `f64` when read back.

use crate::Run;
use std::io::{self, Write};

/// Writes a line for each coflow, in the order of the workload, under the header
/// `coflow_id,arrival_s,completion_s,cct_s,width,size_bytes,length_bytes,release_s,job,weight,deadline_s,deadline_met,saved_bytes,cpu_s`.
///
/// `cct_s` runs from `release_s`, which is the arrival unless a parent ended later; `width` is the
/// number of flows, `size_bytes` the sum of their bytes and `length_bytes` the longest of them. `job`
/// and `deadline_s` are empty where the trace gives none; `deadline_met` is then empty too, else
/// `true` or `false`. `saved_bytes` need not be sent thanks to compression, which took `cpu_s`
/// seconds of processors.
///
/// # Errors
///
/// Those of `out`.
pub fn write_per_coflow_csv(run: &Run<'_>, out: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "coflow_id",
        "arrival_s",
        "completion_s",
        "cct_s",
        "width",
        "size_bytes",
        "length_bytes",
        "release_s",
        "job",
        "weight",
        "deadline_s",
        "deadline_met",
        "saved_bytes",
        "cpu_s",
    ])?;
    let coflows = run.workload().coflows.iter().zip(&run.outcome().coflows);
    for (place, ((coflow, outcome), met)) in coflows.zip(run.deadlines_met()).enumerate() {
        let compression = run.outcome().compression.get(place).copied().unwrap_or_default();
        csv.write_record([
            coflow.id.as_str(),
            &coflow.arrival_s.to_string(),
            &outcome.completion_s.to_string(),
            &outcome.cct_s().to_string(),
            &coflow.width().to_string(),
            &coflow.size_bytes().to_string(),
            &coflow.length_bytes().to_string(),
            &outcome.release_s.to_string(),
            coflow.job.as_deref().unwrap_or_default(),
            &coflow.weight.to_string(),
            &coflow.deadline_s.map(|d| d.to_string()).unwrap_or_default(),
            &met.map(|met| met.to_string()).unwrap_or_default(),
            &compression.saved_bytes.to_string(),
            &compression.cpu_s.to_string(),
        ])?;
    }
    csv.flush()
}

/// Writes a line for each flow, in the order of the workload, under the header
/// `coflow_id,flow,src,dst,bytes,start_s,completion_s,fct_s`.
///
/// `flow` counts from 0 within its coflow; `start_s` and `completion_s` are seconds since the start
/// of the trace, and `fct_s` is their difference.
///
/// # Errors
///
/// Those of `out`.
pub fn write_per_flow_csv(run: &Run<'_>, out: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "coflow_id",
        "flow",
        "src",
        "dst",
        "bytes",
        "start_s",
        "completion_s",
        "fct_s",
    ])?;
    let outcome = run.outcome();
    let mut times = outcome.flow_start_s.iter().zip(&outcome.flow_completion_s);
    for coflow in &run.workload().coflows {
        for ((number, flow), (start_s, end_s)) in coflow.flows.iter().enumerate().zip(&mut times) {
            csv.write_record([
                &coflow.id,
                &number.to_string(),
                &flow.src.to_string(),
                &flow.dst.to_string(),
                &flow.bytes.to_string(),
                &start_s.to_string(),
                &end_s.to_string(),
                &(end_s - start_s).to_string(),
            ])?;
        }
    }
    csv.flush()
}
