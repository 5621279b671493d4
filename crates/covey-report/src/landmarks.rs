//! Lower bounds and estimates of the mean completion time of a workload, for comparison with
//! policies.

use crate::run::weighted_mean;
use crate::stats::mean;
use crate::units::{counted, decimals, fixed, rate};
use covey_trace::Workload;
use covey_trace::results::Bounds;
use serde::Serialize;
use std::fmt;

/// Lower bounds and an estimate of the mean CCT of a workload. `Serialize` gives the object of
/// `bound --json`, `Display` the text for a terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Landmarks {
    /// Name of the trace.
    pub trace: String,
    /// Name of the fabric.
    pub fabric: String,
    /// Speed of each port in each direction, bits per second.
    pub port_rate_bps: f64,
    /// Number of ports.
    pub ports: u32,
    /// Number of coflows.
    pub coflows: usize,
    /// A lower bound in seconds: the mean over coflows of the time that each needs alone.
    pub isolated_mean_cct_s: f64,
    /// A lower bound in seconds that considers one port alone.
    pub single_port_mean_cct_s: f64,
    /// The best lower bound in seconds, which considers all ports.
    pub lower_bound_mean_cct_s: f64,
    /// The mean CCT in seconds of the offline order (BSSI) if ports were independent. It is no
    /// bound.
    pub uncoupled_mean_cct_s: f64,
    /// `uncoupled_mean_cct_s` weighted by the trace's weights, if the trace has weights.
    pub uncoupled_weighted_mean_cct_s: Option<f64>,
}

impl Landmarks {
    /// The landmarks of a workload, with the names of `[trace, fabric]`. `uncoupled` is each
    /// coflow's CCT in seconds if ports were independent.
    pub fn of(
        workload: &Workload,
        [trace, fabric]: [&str; 2],
        port_rate_bps: f64,
        bounds: &Bounds,
        uncoupled: &[f64],
    ) -> Landmarks {
        Landmarks {
            trace: trace.to_owned(),
            fabric: fabric.to_owned(),
            port_rate_bps,
            ports: workload.ports,
            coflows: workload.coflows.len(),
            isolated_mean_cct_s: bounds.isolated_s,
            single_port_mean_cct_s: bounds.single_port_s,
            lower_bound_mean_cct_s: bounds.mean_cct_s,
            uncoupled_mean_cct_s: mean(uncoupled),
            uncoupled_weighted_mean_cct_s: weighted_mean(workload, uncoupled.iter().copied()),
        }
    }
}

impl fmt::Display for Landmarks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("isolated", Some(self.isolated_mean_cct_s), "bound: each coflow alone"),
            ("single port", Some(self.single_port_mean_cct_s), "bound: one port counts"),
            ("lower bound", Some(self.lower_bound_mean_cct_s), "bound: all ports count"),
            ("uncoupled", Some(self.uncoupled_mean_cct_s), "no bound: BSSI, each port by itself"),
            ("  by weight", self.uncoupled_weighted_mean_cct_s, "the same by the trace's weights"),
        ];
        let digits = decimals(rows.iter().filter_map(|(_, value, _)| *value));
        writeln!(out, "{:<11}  {:>12}", "", "mean CCT, s")?;
        for (what, value, meaning) in rows {
            if let Some(value) = value {
                writeln!(out, "{what:<11}  {:>12}  {meaning}", fixed(value, digits))?;
            }
        }
        let (coflows, ports) =
            (counted(self.coflows, "coflow"), counted(self.ports as usize, "port"));
        let rate = rate(self.port_rate_bps);
        let (trace, fabric) = (&self.trace, &self.fabric);
        writeln!(out, "\nTrace {trace}: {coflows}; {ports} of {rate}, {fabric}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_missing_values_have_no_row() {
        let landmarks = Landmarks {
            trace: "t".to_owned(),
            fabric: "big-switch".to_owned(),
            port_rate_bps: 1e9,
            ports: 2,
            coflows: 1,
            isolated_mean_cct_s: 1.0,
            single_port_mean_cct_s: 2.5,
            lower_bound_mean_cct_s: 10.0,
            uncoupled_mean_cct_s: 12.0,
            uncoupled_weighted_mean_cct_s: None,
        };
        let text = landmarks.to_string();
        assert!(text.contains("isolated            1.000  bound: each coflow alone\n"), "{text}");
        assert!(text.contains("\nTrace t: 1 coflow; 2 ports of 1 Gbps, big-switch.\n"), "{text}");
        assert!(!text.contains("weight"), "{text}");
        let weighted = Landmarks { uncoupled_weighted_mean_cct_s: Some(0.0), ..landmarks };
        assert!(weighted.to_string().contains("  by weight         0.000  "), "{weighted}");
    }
}
