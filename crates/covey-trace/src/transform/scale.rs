//! More or less load, larger or smaller coflows, fewer ports.

use super::shared::{bad, only_static};
use crate::error::TraceError;
use crate::limits::{MAX_BYTES, MAX_TIME_S};
use crate::workload::Workload;

/// Factors, and the number of ports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Factor of all times: arrivals and events after the origin, later starts, restarts,
    /// deadlines. 0.5 doubles the load.
    pub time: f64,
    /// Factor of all sizes.
    pub size: f64,
    /// New number of ports, if any: port p becomes p modulo this number, and flows are not merged.
    pub ports: Option<u32>,
}

/// `workload` with times, sizes and ports scaled.
///
/// # Errors
/// [`TraceError::Argument`] for factors that are not above zero or lead beyond the limits, and for
/// more ports than there are. The trace has no traffic for new ports;
/// [`replicate`](super::replicate()) fills them with copies.
pub fn scale(workload: &Workload, by: Scale) -> Result<Workload, TraceError> {
    for (name, factor) in [("time", by.time), ("size", by.size)] {
        if !(factor > 0.0 && factor.is_finite()) {
            return Err(bad(name, "a factor above 0", factor));
        }
    }
    let ports = by.ports.unwrap_or(workload.ports);
    if ports == 0 || ports > workload.ports {
        let expected = format!(
            "1 to {}, the ports of the trace (replicate makes copies for more)",
            workload.ports
        );
        return Err(bad("ports", expected, ports));
    }
    if by.ports.is_some() {
        only_static(workload)?;
    }
    let mut workload = Workload { ports, ..workload.clone() };
    if by.ports.is_some() {
        // A port stands for several hosts.
        workload.hosts.clear();
    }
    let (mut latest, mut largest) = (0.0_f64, 0.0_f64);
    for coflow in &mut workload.coflows {
        let starts = coflow.flows.iter_mut().map(|flow| &mut flow.start_s);
        let restarts = coflow.restarts.iter_mut().map(|restart| &mut restart.at_s);
        for time in starts.chain(restarts).chain(&mut coflow.deadline_s) {
            *time *= by.time;
            latest = latest.max(*time);
        }
        coflow.arrival_s *= by.time;
        latest = latest.max(coflow.arrival_s);
        for flow in &mut coflow.flows {
            flow.bytes *= by.size;
            largest = largest.max(flow.bytes);
            flow.src %= ports;
            flow.dst %= ports;
        }
    }
    for event in &mut workload.events {
        event.at_s *= by.time;
        latest = latest.max(event.at_s);
    }
    if latest > MAX_TIME_S {
        return Err(bad("time", format!("times up to {MAX_TIME_S:e} s"), format!("{latest:e} s")));
    }
    if largest > MAX_BYTES {
        let expected = format!("flows up to {MAX_BYTES:e} bytes");
        return Err(bad("size", expected, format!("{largest:e}")));
    }
    Ok(workload)
}
